package gate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// The model check of the commit: what is committed on a disk that loses power and
// by processes that die, at every step, is there afterwards, wholly and once.

// modelBatches are commits over two data files and the evidence. Records of the
// same length stand in the journal's space one after the other, so that behind the
// last of an epoch the next of an older one begins.
var modelBatches = [][]write{
	{{path: "meta/e", data: []byte("e1 evidence\n")}, {path: "data/a", data: []byte("a1 record\n")}},
	{{path: "meta/e", data: []byte("e2 evidence\n")}, {path: "data/a", data: []byte("a2 record\n")}},
	{{path: "meta/e", data: []byte("e3 evidence\n")}, {path: "data/b", data: []byte("b3 record\n")}},
	{{path: "meta/e", data: []byte("e4 evidence\ne5 evidence\n")}, {path: "data/a", data: []byte("a4 record\n")}, {path: "data/b", data: []byte("b5 record\n")}},
	{{path: "meta/e", data: []byte("e6 evidence\n")}, {path: "data/b", data: []byte("b6 record\n")}},
}

// modelCheckpoints are the batches after which there is a checkpoint.
var modelCheckpoints = []uint64{2, 4}

var modelFiles = []string{"meta/e", "data/a", "data/b"}

// protocol is the commit, or one that looks like it and is wrong.
type protocol struct {
	checkpoint  func(*store) error     // nil: the store's own
	lazy        func(path string) bool // files that are not synced
	lazyAgain   func(path string) bool // files that a recovery does not sync
	appendAgain bool                   // a recovery appends to data files
}

// process is a store of one process of the model.
func (p protocol) process(d *modelDisk) (*store, error) {
	silent := func(string) {}
	s, err := openStore(d, silent, silent)
	if err != nil {
		return nil, err
	}
	s.first = 96 // less than a record: room is made in several epochs
	return s, nil
}

// run lets processes commit in turn what is not committed yet. It gives how many
// batches somebody was told of.
func (p protocol) run(stores ...*store) (told uint64, err error) {
	told, _, err = p.turns(stores...)
	return told, err
}

// turns is run, and gives the process whose turn would be next.
func (p protocol) turns(stores ...*store) (told uint64, next *store, err error) {
	for turn := 0; ; turn++ {
		s := stores[turn%len(stores)]
		next = stores[(turn+1)%len(stores)]
		if err := s.begin(); err != nil {
			return told, next, err
		}
		told = max(told, s.sequence) // what is known is answered with
		if s.sequence == uint64(len(modelBatches)) {
			return told, next, nil
		}
		var writes []write
		for _, w := range modelBatches[s.sequence] {
			if w.off, err = s.settle(w.path); err != nil {
				return told, next, err
			}
			writes = append(writes, w)
		}
		err := s.commit(writes)
		var committed *errCommitted
		if err == nil || errors.As(err, &committed) {
			told = s.sequence
		}
		if err == nil && slices.Contains(modelCheckpoints, s.sequence) {
			if p.checkpoint != nil {
				err = p.checkpoint(s)
			} else {
				err = s.checkpoint()
			}
		}
		if err != nil {
			return told, next, err
		}
	}
}

// recover opens what is left and settles every file.
func (p protocol) recover(d *modelDisk) (*store, error) {
	d.lazy = p.lazyAgain
	if p.appendAgain {
		d.appends = func(path string) bool { return slices.Contains(modelFiles, path) }
	}
	s, err := p.process(d)
	if err == nil {
		err = s.begin()
	}
	for _, path := range modelFiles {
		if err == nil {
			_, err = s.settle(path)
		}
	}
	d.lazy, d.appends = nil, nil
	return s, err
}

// verify says what is wrong with a recovered disk: every batch must be there
// wholly or not at all, in order, and those that somebody was told of wholly.
func modelVerify(d *modelDisk, told uint64) error {
	for n := len(modelBatches); n >= int(told); n-- {
		want := map[string]string{}
		for _, batch := range modelBatches[:n] {
			for _, w := range batch {
				want[w.path] += string(w.data)
			}
		}
		all := true
		for _, path := range modelFiles {
			have, _ := d.read(path)
			all = all && string(have) == want[path]
		}
		if all {
			return nil
		}
	}
	var b strings.Builder
	for path, f := range d.files {
		fmt.Fprintf(&b, "\n%s: %q", path, f.live)
	}
	return fmt.Errorf("after %d acknowledged batches the disk holds%s", told, b.String())
}

// effort bounds what is tried: disks that may be left at a step of the run, and at
// a step of a recovery; zero is none.
type effort struct{ left, again, killed int }

// modelCheck tries a protocol. A disk that was recovered once is not tried again.
type modelCheck struct {
	protocol
	effort
	seen   map[dag.Digest]bool
	states int // disks that were recovered, each another
}

// isNew reports whether a disk is met for the first time with what was told of it.
func (c *modelCheck) isNew(d *modelDisk, told uint64, why string) bool {
	b := fmt.Appendf(nil, "%s %d", why, told)
	for _, path := range slices.Sorted(maps.Keys(d.files)) {
		b = fmt.Appendf(b, "\n%s %d ", path, len(d.files[path].live))
		b = append(b, d.files[path].live...)
	}
	digest := dag.Sum(b)
	if c.seen == nil {
		c.seen = map[dag.Digest]bool{}
	}
	known := c.seen[digest]
	c.seen[digest] = true
	return !known
}

// losesPower lets processes run in turn and the power go at every step.
func (c *modelCheck) losesPower(processes int) error {
	for steps := 1; ; steps++ {
		d := newModelDisk()
		told, err := c.runFor(d, steps, processes)
		if err != nil && !errors.Is(err, errPower) {
			return fmt.Errorf("with nothing lost, after step %d: %w", steps, err)
		}
		if err := c.everyLoss(d, told, c.left); err != nil {
			return fmt.Errorf("power gone after step %d of %d processes: %w", steps, processes, err)
		}
		if err == nil {
			return modelVerify(d, uint64(len(modelBatches)))
		}
	}
}

func (c *modelCheck) runFor(d *modelDisk, steps, processes int) (told uint64, err error) {
	d.lazy = c.lazy
	var stores []*store
	for range processes {
		s, err := c.process(d)
		if err != nil {
			return 0, err
		}
		stores = append(stores, s)
	}
	d.steps = steps
	return c.run(stores...)
}

// isKilled lets one of two processes die at every step, the other go on with what
// it had in memory, and the power go at some of its steps.
func (c *modelCheck) isKilled() error {
	for steps := 1; ; steps++ {
		for more := 1 + steps%5; ; more += 5 {
			d := newModelDisk()
			d.lazy = c.lazy
			a, errA := c.process(d)
			b, errB := c.process(d)
			if err := errors.Join(errA, errB); err != nil {
				return err
			}
			d.steps = steps
			told, survivor, first := c.turns(a, b)
			if first == nil {
				return nil
			}
			if !errors.Is(first, errPower) {
				return fmt.Errorf("with nothing lost, after step %d: %w", steps, first)
			}
			d.steps = more
			again, err := c.run(survivor)
			if err != nil && !errors.Is(err, errPower) {
				return fmt.Errorf("one died at step %d, and the other: %w", steps, err)
			}
			if err := c.everyLoss(d, max(told, again), c.killed); err != nil {
				return fmt.Errorf("one died at step %d, power gone %d steps later: %w", steps, more, err)
			}
			if err == nil {
				break
			}
		}
	}
}

// everyLoss recovers every disk that may be left.
func (c *modelCheck) everyLoss(d *modelDisk, told uint64, limit int) (err error) {
	d.crashes(limit, func(left *modelDisk) {
		if err == nil {
			err = c.recovers(left, told)
		}
	})
	return err
}

// recovers recovers a disk, with the power going again at every step of it.
func (c *modelCheck) recovers(left *modelDisk, told uint64) error {
	if !c.isNew(left, told, "recovers") {
		return nil
	}
	for steps := 1; c.again > 0; steps++ {
		d := left.copy()
		d.steps = steps
		s, err := c.recover(d)
		known := told
		if err == nil {
			known = max(told, s.sequence)
		} else if !errors.Is(err, errPower) {
			return fmt.Errorf("recovery: %w", err)
		}
		var second error
		d.crashes(c.again, func(left *modelDisk) {
			if second == nil {
				second = c.recoversAtLast(left, known)
			}
		})
		if second != nil {
			return fmt.Errorf("and again after step %d of the recovery: %w", steps, second)
		}
		if err == nil {
			break
		}
	}
	return c.recoversAtLast(left, told)
}

// recoversAtLast recovers a disk, goes on with the work on it, and recovers it
// without the state of the last checkpoint.
func (c *modelCheck) recoversAtLast(left *modelDisk, told uint64) error {
	if !c.isNew(left, told, "at last") {
		return nil
	}
	c.states++
	d := left.copy()
	s, err := c.recover(d)
	if err != nil {
		return fmt.Errorf("recovery: %w", err)
	}
	if err := modelVerify(d, max(told, s.sequence)); err != nil {
		return err
	}
	if _, err := c.run(s); err != nil {
		return fmt.Errorf("going on: %w", err)
	}
	if err := modelVerify(d, uint64(len(modelBatches))); err != nil {
		return fmt.Errorf("going on: %w", err)
	}
	if err := c.readsAgain(d.copy(), uint64(len(modelBatches))); err != nil {
		return err
	}
	d = left.copy()
	delete(d.files, statePath)
	if err := c.readsAgain(d, told); err != nil {
		return fmt.Errorf("without the state: %w", err)
	}
	return nil
}

func (c *modelCheck) readsAgain(d *modelDisk, told uint64) error {
	if _, err := c.recover(d); err != nil {
		return err
	}
	return modelVerify(d, told)
}

func (c *modelCheck) all() error {
	if err := c.losesPower(1); err != nil {
		return err
	}
	if err := c.losesPower(2); err != nil {
		return err
	}
	return c.isKilled()
}

func TestCommitSurvivesEveryLossOfPower(t *testing.T) {
	c := &modelCheck{effort: effort{left: 150, again: 4, killed: 5}}
	if testing.Short() {
		c.effort = effort{left: 30, again: 2, killed: 1}
	}
	if err := c.all(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d states", c.states)
	if c.states < 3000 {
		t.Errorf("the model only saw %d states", c.states)
	}
}

// The model must be able to see a protocol that is wrong.
func TestModelSeesLookalikes(t *testing.T) {
	data := func(path string) bool { return strings.HasPrefix(path, "data/") }
	for _, tt := range []struct {
		name string
		protocol
	}{
		{"the journal is not synced", protocol{lazy: func(path string) bool { return path == journalPath }}},
		{"the journal is begun anew before the data is durable", protocol{lazy: data}},
		{"the same of the evidence", protocol{lazy: func(path string) bool { return path == "meta/e" }}},
		{"recovery begins the journal anew before the data is durable", protocol{lazyAgain: data}},
		{"recovery appends instead of writing at the offset", protocol{appendAgain: true}},
		{"space is used again in the same epoch", protocol{checkpoint: withoutEpoch}},
		{"the header is written before the state", protocol{checkpoint: headerFirst}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &modelCheck{protocol: tt.protocol, effort: effort{left: 60, again: 1, killed: 1}}
			err := c.all()
			if err == nil {
				t.Fatalf("%d states and no violation", c.states)
			}
			why, _, _ := strings.Cut(err.Error(), "\n")
			t.Log(why)
		})
	}
}

// withoutEpoch is a checkpoint after which records are told apart by nothing but
// their place.
func withoutEpoch(s *store) error {
	if err := s.checkpoint(); err != nil {
		return err
	}
	s.epoch--
	return errors.Join(writeState(s, s.epoch), s.reset())
}

func writeState(s *store, epoch uint64) error {
	text, err := json.Marshal(checkpointed{1, epoch, s.sequence, s.files, s.seals})
	if err == nil {
		err = s.d.replace(statePath, text)
	}
	if err == nil {
		s.state, err = s.d.id(statePath)
	}
	return err
}

// headerFirst is a checkpoint that begins the journal anew, and then writes the
// state that tells how far the files go.
func headerFirst(s *store) error {
	for name := range s.touched {
		if err := s.targets[name].f.sync(); err != nil {
			return err
		}
	}
	s.epoch++
	if err := s.reset(); err != nil {
		return err
	}
	return s.checkpoint()
}
