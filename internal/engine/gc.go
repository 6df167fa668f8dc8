package engine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/staging"
)

// Bounds of what Collect leaves in staging/, besides what has to stay.
type Bounds struct {
	MaxAge   time.Duration // 0: no age is too great
	MaxBytes int64         // 0: no bound
	KeepRuns int           // all that the last so many runs made stays
	Dry      bool          // say what would go, and remove nothing
	Wait     bool          // for living runs to end
}

// Collect removes from staging/ what nobody has need of any more. What stays,
// whatever the bounds:
//
//   - what the accepted records stand on;
//   - what unfinished items came to so far;
//   - what a run of this pipeline over these inputs would be answered from: so a
//     run after it makes no visit that a run before it would not have made,
//     unless what it wanted had no root.
//
// A living run may take anything in the store, so nothing is removed beside one.
func Collect(ctx context.Context, o Options, b Bounds) (*staging.Collected, error) {
	p := newPlanned(o.Graph, looking{})
	p.keep = &keeping{Bounds: b, trails: digests{}, actions: digests{}, artifacts: digests{}, records: map[uint64]struct{}{}}
	e, err := open(ctx, o, p)
	if err != nil {
		return nil, err
	}
	done, err := e.collect(ctx, b)
	return done, errors.Join(err, e.close(ctx))
}

type digests map[dag.Digest]struct{}

// keeping is what a walk for a collection finds.
type keeping struct {
	Bounds
	trails, actions, artifacts digests
	records                    map[uint64]struct{} // of the evidence, by run and id
}

// alone reports whether the store is opened for one process only.
func (p *Planned) alone() bool { return p != nil && p.keep != nil && !p.keep.Dry }

func (p *Planned) waits() bool { return p != nil && p.keep != nil && p.keep.Wait }

// keepTrail notes that a run would be answered by a whole trail.
func (p *Planned) keepTrail(key dag.Digest) {
	if p != nil && p.keep != nil {
		p.keep.trails[key] = struct{}{}
	}
}

// keepAction notes that a run would be answered by an action.
func (p *Planned) keepAction(digest dag.Digest) {
	if p != nil && p.keep != nil {
		p.keep.actions[digest] = struct{}{}
	}
}

func (e *engine) collect(ctx context.Context, b Bounds) (*staging.Collected, error) {
	if err := e.walk(ctx); err != nil {
		return nil, err
	}
	keep := e.planning.keep
	if err := keep.readEvidence(filepath.Join(e.Dir, e.Graph.Gate.Corpus.Evidence)); err != nil {
		return nil, err
	}
	c := staging.Collection{
		MaxAge: b.MaxAge, MaxBytes: b.MaxBytes, KeepRuns: b.KeepRuns, Now: e.Now(),
		Trail: keep.reach, Trails: keep.trails, Actions: keep.actions, Artifacts: keep.artifacts,
	}
	if b.Dry {
		return e.store.Survey(c)
	}
	return e.store.Collect(c)
}

// reach tells what a family's record stands on.
func (k *keeping) reach(t *staging.Trail) (staging.Reach, error) {
	members, err := DecodeFamily(t.Body)
	if err != nil {
		return staging.Reach{}, err
	}
	var r staging.Reach
	add := func(to *[]dag.Digest, all ...dag.Digest) {
		for _, d := range all {
			if !d.IsZero() {
				*to = append(*to, d)
			}
		}
	}
	for _, m := range members {
		if _, ok := k.records[recordHash(t.Run, m.Record)]; ok {
			r.Root = true
		}
		if m.Trail == nil {
			continue
		}
		add(&r.Artifacts, m.Trail.Origin, m.Trail.First)
		for _, v := range m.Trail.Visits {
			add(&r.Artifacts, v.Input, v.Output, v.Item)
			add(&r.Actions, v.Action)
		}
		for _, child := range m.Trail.Children {
			add(&r.Artifacts, child.Item)
		}
	}
	return r, nil
}

func recordHash(run, id string) uint64 { return staging.KeyHash(run + "\x00" + id) }

// readEvidence notes which record each run made, and every digest that the
// evidence names: its members are the pipeline's own, so any may be one.
func (k *keeping) readEvidence(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &dag.Error{Op: "read evidence", Subject: path, Kind: dag.KindInfrastructure, Err: err}
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReaderSize(f, 1<<20)
	for {
		row, err := in.ReadBytes('\n')
		k.evidence(row)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &dag.Error{Op: "read evidence", Subject: path, Kind: dag.KindInfrastructure, Err: err}
		}
	}
}

// evidence takes one row. What does not read is the audit's concern; its
// digests count all the same.
func (k *keeping) evidence(row []byte) {
	var known struct {
		ID  string `json:"id"`
		Run string `json:"run_id"`
	}
	if json.Unmarshal(row, &known) == nil && known.ID != "" {
		k.records[recordHash(known.Run, known.ID)] = struct{}{}
	}
	for word := range bytes.FieldsFuncSeq(row, func(r rune) bool { return r < '0' || r > '9' && r < 'a' || r > 'f' }) {
		if len(word) != 2*len(dag.Digest{}) {
			continue
		}
		if d, err := dag.ParseDigest(string(word)); err == nil {
			k.artifacts[d] = struct{}{}
		}
	}
}
