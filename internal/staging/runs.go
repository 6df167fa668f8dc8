package staging

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/flock"
	"golang.org/x/sys/unix"
)

// Run is one execution of a pipeline.
type Run struct {
	ID       string          `json:"id"`
	PID      int             `json:"pid"`
	Host     string          `json:"host"`
	Pipeline string          `json:"pipeline"`
	Started  time.Time       `json:"started"`
	Flags    []string        `json:"flags,omitempty"`
	Trace    string          `json:"trace,omitzero"`   // its trace in OpenTelemetry, in hexadecimal; empty: none was sent
	Outline  dag.Digest      `json:"outline,omitzero"` // the artifact that tells what the pipeline said then
	Ended    time.Time       `json:"ended,omitzero"`   // zero: it has not said that it ended
	Tally    map[dag.End]int `json:"tally,omitempty"`
	Exit     int             `json:"exit"`
	Counts   *RunCounts      `json:"counts,omitempty"`        // nil: it has not said
	Error    string          `json:"error,omitempty"`         // what ended it before its items did
	Tripped  []string        `json:"open_breakers,omitempty"` // buckets whose breaker was open at its end
	State    RunState        `json:"-"`                       // as Runs finds it
	Waiting  []Waiting       `json:"-"`                       // of one that is under way: what it waits for now
}

// RunCounts is what a run counted. What it found finished, and what providers
// were asked in vain, stands in no trail: only the run knows it.
type RunCounts struct {
	TakenIn        int `json:"taken_in"`                // items that sources gave, those finished before among them
	Spawned        int `json:"spawned"`                 // items that others were fanned out into
	Settled        int `json:"settled"`                 // of TakenIn and Spawned: finished by earlier runs
	Duplicates     int `json:"duplicates,omitzero"`     // records that were skipped: key and bytes stand before
	Visits         int `json:"visits"`                  // made now
	Reused         int `json:"reused"`                  // visits that were answered from staging
	Calls          int `json:"calls"`                   // completions that visits asked for
	Infrastructure int `json:"infrastructure"`          // failures for which an item was parked
	Pages          int `json:"pages,omitzero"`          // that the gate read from the web
	PagesReplayed  int `json:"pages_replayed,omitzero"` // that a cassette gave
	LeftOut        int `json:"left_out,omitzero"`       // records that --only and --limit left out, which count nowhere else

	// Waits tell where the time went; nil: nothing was waited for as long as a second, refused or tried again.
	Waits *RunWaits `json:"waits,omitzero"`

	Asked  int   `json:"asked"` // times that providers were asked, attempts in vain among them
	Input  int64 `json:"input_tokens"`
	Cached int64 `json:"cached_input_tokens"`
	Output int64 `json:"output_tokens"`
	// USD is what they cost; nil: a price is not known.
	USD *float64 `json:"usd"`
}

// RunState tells whether a run is over.
type RunState string

const (
	RunDone        RunState = "done"
	RunRunning     RunState = "running"
	RunInterrupted RunState = "interrupted" // its process is gone, and it never said that it ended
)

// RunEnd is what a run says last.
type RunEnd struct {
	ID    string          `json:"id"`
	Ended time.Time       `json:"ended"`
	Tally map[dag.End]int `json:"tally,omitempty"` // how many items ended how
	Exit  int             `json:"exit"`            // the exit code

	Counts  *RunCounts `json:"counts,omitempty"`
	Error   string     `json:"error,omitempty"`
	Tripped []string   `json:"open_breakers,omitempty"`
}

const (
	kindRunStart = 's'
	kindRunEnd   = 'e'
	kindSegment  = 'g' // a segment number was used
)

type runJournal struct {
	log  appendLog
	list []Run
	at   map[string]int // id → index in list
}

func (x *runJournal) open(s *Store) {
	x.log, x.at = s.newLog("runs.log"), map[string]int{}
	x.log.apply = func(kind byte, payload []byte, at int64) { x.enter(s, kind, payload) }
	x.log.placed = func(kind byte, payload []byte, pending uint64, at int64) {
		if at != 0 {
			x.enter(s, kind, payload)
		}
	}
}

// enter takes a record in; one that does not read is passed over, as the rest
// of a damaged log is.
func (x *runJournal) enter(s *Store, kind byte, payload []byte) {
	switch kind {
	case kindSegment:
		if len(payload) == 4 {
			s.lastSegment = max(s.lastSegment, binary.LittleEndian.Uint32(payload))
		}
	case kindRunStart:
		var run Run
		if json.Unmarshal(payload, &run) != nil {
			return
		}
		x.at[run.ID] = len(x.list)
		x.list = append(x.list, run)
	case kindRunEnd:
		var end RunEnd
		if json.Unmarshal(payload, &end) != nil {
			return
		}
		if i, ok := x.at[end.ID]; ok {
			run := &x.list[i]
			run.Ended, run.Tally, run.Exit = end.Ended, end.Tally, end.Exit
			run.Counts, run.Error, run.Tripped = end.Counts, end.Error, end.Tripped
		}
	}
}

// write appends one record at once: runs are few, and others want to see them.
func (x *runJournal) write(kind byte, payload []byte) error {
	if err := x.log.load(); err != nil {
		return err
	}
	if _, _, err := x.log.add(kind, func(b []byte) []byte { return append(b, payload...) }); err != nil {
		return err
	}
	err := x.log.flush(x.log.mark())
	if err != nil {
		x.log.drop(len(x.log.starts), len(x.log.pending)) // the caller knows that it was not written
	}
	return err
}

func (s *Store) loadRuns() error { return s.runs.log.load() }

// recordSegment notes that a segment number is used, for ever.
func (s *Store) recordSegment(number uint32) error {
	return s.runs.write(kindSegment, binary.LittleEndian.AppendUint32(nil, number))
}

// StartRun enters a run into the journal.
func (s *Store) StartRun(run Run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeRun(kindRunStart, run.ID, run)
}

// EndRun says how a run ended.
func (s *Store) EndRun(end RunEnd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeRun(kindRunEnd, end.ID, end)
}

func (s *Store) writeRun(kind byte, id string, record any) error {
	if err := s.writable(); err != nil {
		return err
	}
	payload, err := json.Marshal(record)
	if err != nil {
		return &dag.Error{Op: "record run", Subject: id, Kind: dag.KindBug, Err: err}
	}
	return s.runs.write(kind, payload)
}

// Runs lists all runs, the oldest first.
func (s *Store) Runs() ([]Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.runs.log.load(); err != nil {
		return nil, err
	}
	if _, err := s.runs.log.refresh(); err != nil {
		return nil, err
	}
	list := make([]Run, len(s.runs.list))
	for i, run := range s.runs.list {
		run.State = s.runState(run)
		if run.State == RunRunning {
			run.Waiting = s.waitingOf(run.ID)
		}
		list[i] = run
	}
	return list, nil
}

// LastRun is the run that started last; false where there was none.
func (s *Store) LastRun() (Run, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.runs.log.load(); err != nil {
		return Run{}, false, err
	}
	if _, err := s.runs.log.refresh(); err != nil || len(s.runs.list) == 0 {
		return Run{}, false, err
	}
	run := s.runs.list[len(s.runs.list)-1]
	run.State = s.runState(run)
	return run, true, nil
}

func (s *Store) runState(run Run) RunState {
	switch {
	case !run.Ended.IsZero():
		return RunDone
	case s.alive(run.ID):
		return RunRunning
	}
	return RunInterrupted
}

// lifeline is the lock that a process holds for as long as it lives. The
// kernel gives it up with the process, however that ends: so nobody has to
// guess from a clock whether a run is still there.
type lifeline struct{ f *os.File }

func (s *Store) lifelinePath(run string) string {
	return filepath.Join(s.dir, "runs", run+".lock")
}

// beAlive takes this run's lifeline, before anything names the run.
func (s *Store) beAlive() error {
	if s.runID != filepath.Base(s.runID) || strings.HasPrefix(s.runID, ".") {
		return &dag.Error{Op: "open store", Subject: s.runID, Kind: dag.KindBug, Err: errors.New("a run id must do as a file name")}
	}
	path := s.lifelinePath(s.runID)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return storeError("make", filepath.Dir(path), err)
	}
	s.sweep(filepath.Dir(path))
	for range 100 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return storeError("open", path, err)
		}
		if err := flock.Lock(f, unix.LOCK_EX, time.Second); err != nil {
			_ = f.Close()
			return storeError("lock", path, fmt.Errorf("a run of this id is alive: %w", err))
		}
		if samePlace(f, path) != nil { // swept between open and lock
			_ = f.Close()
			continue
		}
		s.claims.life = &lifeline{f: f}
		return nil
	}
	return storeError("lock", path, errors.New("it is taken away as often as it is made"))
}

// sweep removes the lifelines of the dead, so that they do not pile up.
func (s *Store) sweep(dir string) {
	entries, _ := os.ReadDir(dir) // a file left behind does no harm
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && samePlace(f, path) == nil {
			_ = os.Remove(path)
		}
		_ = f.Close()
	}
}

func (s *Store) beDead() {
	if life := s.claims.life; life != nil {
		s.claims.life = nil
		_ = os.Remove(s.lifelinePath(s.runID))
		_ = life.f.Close()
	}
}

// alive reports whether the process of a run lives.
func (s *Store) alive(run string) bool {
	if run == s.runID && s.claims.life != nil {
		return true
	}
	f, err := os.Open(s.lifelinePath(run))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		return true // it cannot be known; to wait is the safe side
	}
	defer func() { _ = f.Close() }()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}
