package staging

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/penstock-run/penstock/dag"
)

// Collection says what a collection keeps. Whatever is reachable from its roots
// stays; of the rest the latest, as the bounds allow.
type Collection struct {
	MaxAge   time.Duration // what was not used for longer goes; 0: no age is too great
	MaxBytes int64         // of staging/ in all; 0: no bound
	KeepRuns int           // all that the last so many runs made are roots
	Now      time.Time

	// Trail tells what a trail stands on. An error: its body is another
	// version's; then the trail stays, with all that it needs.
	Trail func(*Trail) (Reach, error)
	// Roots besides those that the records tell of: what a run of the pipeline
	// as it is would be answered from.
	Trails, Actions, Artifacts map[dag.Digest]struct{}

	// step is called before each change on disk, by tests that end there.
	step func(what string)
}

// Reach is what a trail stands on.
type Reach struct {
	Root      bool // it belongs to a record of the corpus
	Actions   []dag.Digest
	Artifacts []dag.Digest
}

// Collected is what a collection did, or would do.
type Collected struct {
	Kinds  []KindCount `json:"kinds"`
	Before int64       `json:"bytes_before"` // of all files of staging/
	After  int64       `json:"bytes_after"`
	Roots  int64       `json:"bytes_of_roots"` // at most: what had to stay
	Bound  int64       `json:"max_bytes"`      // 0: none
	Over   bool        `json:"over"`           // what had to stay is more than the bound
}

// KindCount is a line of what is collected.
type KindCount struct {
	Kind        string `json:"kind"`
	Keep        int    `json:"keep"`
	KeepBytes   int64  `json:"keep_bytes"`
	Remove      int    `json:"remove"`
	RemoveBytes int64  `json:"remove_bytes"`
}

// Empty reports whether nothing is to be removed.
func (c *Collected) Empty() bool {
	for _, k := range c.Kinds {
		if k.Remove > 0 {
			return false
		}
	}
	return true
}

// Kinds of what lies in a store, in the order in which they are told.
const (
	kindOfArtifacts = iota
	kindOfActions
	kindOfTrails
	kindOfRecipes
	kindOfRuns
	kindOfClaims
	kindOfLeftovers
	kindOfOthers
	kindOfLogs
)

var kindNames = [...]string{"artifacts", "actions", "trails", "recipes", "runs", "claims", "leftovers", "others", "logs"}

// Survey says what Collect would do, and writes nothing.
func (s *Store) Survey(o Collection) (*Collected, error) {
	c, err := s.collection(o)
	if err != nil {
		return nil, err
	}
	return c.report, nil
}

// Collect removes from the store what is not to stay. The store must have been
// opened Alone, and is good for nothing but Close afterwards.
//
// It writes new files beside the old ones, swaps the logs by rename, one after
// the other, and removes the old files last: at each moment what the logs refer
// to is there, in one copy or in two.
func (s *Store) Collect(o Collection) (*Collected, error) {
	if s.presence == nil {
		return s.Survey(o) // there is no store, or none that may be written
	}
	c, err := s.collection(o)
	if err != nil {
		return nil, err
	}
	return c.report, c.apply()
}

// collector is one collection under way.
type collector struct {
	Collection
	store  *Store
	report *Collected

	// What lies there.
	lines    []line              // sorted by key, copies by place
	segments map[uint32]*gcPlace // by number
	trails   []gcTrail           // in the order of the log
	actions  []gcAction          // in the order of the log
	byAction map[uint64]int32    // key → the latest record of an action
	refs     []uint64            // of trails and actions, sliced by them
	recipes  []gcRecipe          // in the order of the log
	runs     []gcRun             // in the order of the log
	runAt    map[uint64]int32    // hash of a run's id → its place in runs
	leftover []gcFile            // temporary and torn files
	runLogs  []gcRunLog          // what plugins said
	sizes    [len(kindNames)]int64

	highest uint32 // segment number that was ever used
	newLogs []gcLog
	moved   []move // lines that go into new segments, in their order
}

// line is an artifact: a line of a segment, or a file of its own.
type line struct {
	key     uint64 // the digest's first 64 bits: enough among the documents of a store
	segment uint32
	offset  uint32
	length  uint32
	keep    bool
	copy    bool // the same document lies at an earlier place, too
}

type gcPlace struct {
	size, index int64
	lines       int   // whole lines
	live        int   // of them that stay
	liveBytes   int64 // with their line feeds
	fixed       bool  // a record that cannot be rewritten points into it
	stays       bool  // as it is
}

type gcTrail struct {
	pos         int64
	size        uint32 // of the frame
	flags       uint8
	key, item   uint64
	run         uint64 // hash of its id
	when        int64
	ends        Tally
	needs       []segmentEnd // of one that is kept as it is
	from, split int32        // refs[from:split] are actions,
	to          int32        // refs[split:to] artifacts
}

const (
	trailFinal    = 1 << iota
	trailRoot     // by the caller's word
	trailDangling // an artifact that it needs is gone
	trailForeign  // its body cannot be read
	trailKeep
)

type gcAction struct {
	pos        int64
	size       uint32
	keep       bool
	dangling   bool
	completion bool // an answer of a provider, which belongs to a visit
	failed     bool
	samples    bool
	key, group uint64 // group: of the samples of one visit
	in, out    uint64 // 0: none
	from, to   int32  // refs[from:to] is what is kept of its completions
	run        uint64
	recipe     dag.Digest
	when       int64
}

type gcRecipe struct {
	kind    byte
	payload []byte
	recipe  dag.Digest
	keep    bool
}

type gcRun struct {
	kind    byte
	payload []byte
	hash    uint64
	when    int64
	outline uint64 // the artifact that tells what the pipeline said; 0: there is none
	keep    bool
}

// gcRunLog is what the plugins of a run said.
type gcRunLog struct {
	gcFile
	run uint64 // hash of its id
}

type gcFile struct {
	path string
	size int64
	gone bool
}

// gcLog is a log that is written anew.
type gcLog struct {
	name string
	size int64
	// each yields the frames in order.
	each func(yield func(kind byte, payload []byte) error) error
}

// move is a line that gets another place.
type move struct {
	line    int32 // in collector.lines, which bears the new place
	segment uint32
	offset  uint32
}

func key64(d dag.Digest) uint64 { return binary.BigEndian.Uint64(d[:]) }

// collection works out what stays and where it comes to lie.
func (s *Store) collection(o Collection) (*collector, error) {
	if o.Trail == nil {
		return nil, &dag.Error{Op: "collect", Subject: s.dir, Kind: dag.KindBug, Err: errors.New("nobody says what a trail stands on")}
	}
	if o.step == nil {
		o.step = func(string) {}
	}
	c := &collector{Collection: o, store: s, segments: map[uint32]*gcPlace{}, byAction: map[uint64]int32{}, runAt: map[uint64]int32{}}
	for _, take := range []func() error{c.takeFiles, c.takeLines, c.takeRuns, c.takeRecipes, c.takeActions, c.takeTrails} {
		if err := take(); err != nil {
			return nil, err
		}
	}
	c.dangle()
	c.choose()
	c.layout()
	return c, c.measure()
}
