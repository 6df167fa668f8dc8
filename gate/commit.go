package gate

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/penstock-run/penstock/dag"
)

// Checkpoints: the journal is emptied after so many batches or bytes.
const (
	checkpointBatches = 4096
	checkpointBytes   = 16 << 20
)

// maxGroup bounds the candidates that are committed together.
const maxGroup = 4096

var errClosed = errors.New("the gate is closed")

// queue gathers callers of Commit: while one group is being synced, the next
// waits, and all that wait are committed together.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	busy    bool
}

type request struct {
	ctx      context.Context
	evals    []*Evaluation
	verdicts []Verdict
	err      error
	done     chan struct{}
}

// Commit brings evaluations to their verdicts, in order, and makes the corpus
// follow. All that callers hand in at the same time is made durable together. An
// error means that no verdict was reached and nothing was written or counted; a
// verdict with Err means that for one candidate.
func (g *Gate) Commit(ctx context.Context, evals []*Evaluation) ([]Verdict, error) {
	if g.o.ReadOnly && !g.o.DryRun {
		return nil, &dag.Error{Op: "commit", Kind: dag.KindBug, Err: errors.New("the gate was opened for reading")}
	}
	if len(evals) == 0 {
		return nil, nil
	}
	r := &request{ctx: ctx, evals: evals, done: make(chan struct{})}
	g.queue.mu.Lock()
	g.queue.waiting = append(g.queue.waiting, r)
	lead := !g.queue.busy
	g.queue.busy = true
	g.queue.mu.Unlock()
	if lead {
		g.lead()
	}
	<-r.done
	return r.verdicts, r.err
}

// lead commits one group, and leaves the next to a goroutine: the caller must not
// wait for others.
func (g *Gate) lead() {
	group := g.queue.take()
	g.commitGroup(group)
	for _, r := range group {
		close(r.done)
	}
	g.queue.gather(len(group))
	g.queue.mu.Lock()
	defer g.queue.mu.Unlock()
	if len(g.queue.waiting) > 0 {
		go g.lead()
		return
	}
	g.queue.busy = false
}

// gather lets those who were just woken come back with their next candidates: a
// group that began before they are in the queue would spend a sync on the few that
// are. Nobody is waited for: whoever has nothing to commit does not hold the others up.
func (q *queue) gather(woken int) {
	const most = 64
	for range min(woken-1, most) {
		q.mu.Lock()
		n := len(q.waiting)
		q.mu.Unlock()
		if n >= woken {
			return
		}
		runtime.Gosched()
	}
}

func (q *queue) take() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, candidates := 0, 0
	for n < len(q.waiting) && (n == 0 || candidates+len(q.waiting[n].evals) <= maxGroup) {
		candidates += len(q.waiting[n].evals)
		n++
	}
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

func (g *Gate) commitGroup(group []*request) {
	g.writing.Lock()
	defer g.writing.Unlock()
	var live []*request
	for _, r := range group {
		if r.err = r.ctx.Err(); r.err == nil {
			live = append(live, r)
		}
	}
	if len(live) == 0 {
		return
	}
	ctx := context.Background()
	if len(live) == 1 {
		ctx = live[0].ctx // nobody else waits with it
	}
	err := g.commitLive(ctx, live)
	if err != nil {
		for _, r := range live {
			r.verdicts, r.err = nil, corpusError(err)
		}
	}
}

func (g *Gate) commitLive(ctx context.Context, live []*request) error {
	switch {
	case g.closed:
		return errClosed
	case g.o.DryRun:
		return g.commitDry(live)
	}
	// A data file that cannot be locked or opened holds up its own candidates and no
	// others: they go on without it.
	unusable := map[string]error{}
	for {
		data, _ := dataOf(live, unusable)
		err := g.locked(ctx, data, func(b *batch) error {
			for _, r := range live {
				r.verdicts = b.decideAll(r.evals, unusable)
			}
			return b.countBreakers()
		})
		var file *errDataFile
		if !errors.As(err, &file) || !slices.Contains(data, file.path) {
			return err
		}
		unusable[file.path] = err
		if _, left := dataOf(live, unusable); left == 0 && len(unusable) == 1 {
			return err
		}
	}
}

// dataOf are the data files that candidates may be written to, but for those that
// are not usable, and how many candidates are left to be decided.
func dataOf(live []*request, unusable map[string]error) (data []string, left int) {
	for _, r := range live {
		for _, e := range r.evals {
			if e.err != nil || e.known != nil || e.j.record != nil && unusable[e.j.record.path] != nil {
				continue
			}
			left++
			if e.j.record != nil {
				data = append(data, e.j.record.path)
			}
		}
	}
	return data, left
}

// errDataFile is what is wrong with one data file, before anything is promised.
type errDataFile struct {
	path string
	err  error
}

func (e *errDataFile) Error() string { return e.err.Error() }
func (e *errDataFile) Unwrap() error { return e.err }

// locked calls fill under the locks with everything up to date, and commits what
// it has put into the batch.
func (g *Gate) locked(ctx context.Context, data []string, fill func(*batch) error) error {
	held, err := g.locker.Lock(ctx)
	if err != nil {
		return err
	}
	defer held.Unlock()
	slices.Sort(data)
	data = slices.Compact(data)
	full := make([]string, len(data))
	for i, path := range data {
		full[i] = filepath.Join(g.o.Dir, path)
	}
	// A bucket that has records is not new, and a folder that is gone is not made
	// again without what was in it.
	isNew := func(file string) bool { return !g.store.knows(data[slices.Index(full, file)]) }
	if err := held.LockBuckets(ctx, full, isNew); err != nil {
		if file, ok := err.(*errDataFile); ok {
			return &errDataFile{data[slices.Index(full, file.path)], file.err}
		}
		return err
	}
	g.store.at("locked")
	sizes, err := g.catchUp()
	if err != nil {
		return err
	}
	b := g.newBatch()
	if err := fill(b); err != nil {
		return err
	}
	return g.write(b, sizes)
}

// catchUp finishes what was interrupted and reads what others have committed. It
// gives the sizes of the files that a batch builds on, whatever it writes: the
// chain of the evidence, and the breakers. The others are looked at when it is
// known that they are written to.
func (g *Gate) catchUp() (map[string]int64, error) {
	if err := g.ledger.load(); err != nil {
		return nil, err
	}
	if err := g.store.begin(); err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, path := range []string{g.spec.Corpus.Evidence, breakersPath} {
		if path == breakersPath && g.spec.Breaker == nil {
			continue
		}
		size, err := g.store.settle(path)
		if err != nil {
			return nil, err
		}
		sizes[path] = size
	}
	err := g.ledger.refresh(func(log *rowLog) (int64, error) {
		if size, ok := sizes[log.path]; ok {
			return size, nil
		}
		return max(log.read, g.store.known(log.path)), nil
	})
	if err == nil {
		err = g.breaker.refresh(sizes[breakersPath])
	}
	return sizes, err
}

// place says where the rows of a batch belong. Evidence stands before data in the
// journal as well: whoever reads the files while they are written never sees a
// record without its evidence.
func (g *Gate) place(b *batch, sizes map[string]int64) ([]write, error) {
	var writes []write
	for _, path := range slices.SortedFunc(maps.Keys(b.writes), g.writeOrder) {
		size, looked := sizes[path]
		if !looked {
			var err error
			if size, err = g.store.settle(path); err != nil {
				return nil, &errDataFile{path, err}
			}
			sizes[path] = size
		}
		writes = append(writes, write{path, size, b.writes[path]})
	}
	// Another program may have added to the logs.
	return writes, g.ledger.refresh(func(log *rowLog) (int64, error) {
		return max(log.read, sizes[log.path]), nil
	})
}

// write commits a batch and takes it into the indexes.
func (g *Gate) write(b *batch, sizes map[string]int64) error {
	if len(b.writes) == 0 {
		return nil
	}
	writes, err := g.place(b, sizes)
	if err != nil {
		return err
	}
	if err := g.store.commit(writes); err != nil {
		return err
	}
	for number, log := range g.ledger.logs {
		if log == nil || len(b.writes[log.path]) == 0 {
			continue
		}
		file, off := g.store.targets[log.path].f.identity(), sizes[log.path]
		if number == evidenceLog {
			err = g.ledger.wroteEvidence(file, off, b.evidence)
		} else {
			err = g.ledger.wrote(uint8(number), file, off, b.writes[log.path])
		}
		if err != nil {
			return &errCommitted{err}
		}
	}
	if lines := b.writes[breakersPath]; len(lines) > 0 {
		g.breaker.wrote(b.breakers, sizes[breakersPath]+int64(len(lines)))
	}
	g.rooms.give(b.writes)
	if g.store.records >= g.store.every || g.store.end >= checkpointBytes {
		if err := g.store.checkpoint(); err != nil {
			// The batch stands in the journal; the next one finds out what is wrong.
			g.o.Log("checkpoint: " + err.Error())
		} else {
			g.keepIndex(indexShareInRun)
		}
	}
	return nil
}

func (g *Gate) writeOrder(a, b string) int {
	rank := func(path string) int {
		if path == g.spec.Corpus.Evidence {
			return 0
		}
		return 1
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	if a < b {
		return -1
	}
	return 1
}

// decideAll decides in order. What goes wrong with one candidate is its own.
func (b *batch) decideAll(evals []*Evaluation, unusable map[string]error) []Verdict {
	verdicts := make([]Verdict, len(evals))
	for i, e := range evals {
		switch {
		case e.err != nil:
			verdicts[i] = Verdict{Err: e.err}
		case e.known != nil:
			verdicts[i] = *e.known
		case e.j.record != nil && unusable[e.j.record.path] != nil:
			verdicts[i] = Verdict{Err: corpusError(unusable[e.j.record.path])}
		default:
			v, err := b.decide(e)
			if err != nil {
				v = Verdict{Err: candidateError(e.c, err)}
			}
			verdicts[i] = v
		}
	}
	return verdicts
}

// commitDry decides as a commit would, and says what it would have written.
func (g *Gate) commitDry(live []*request) error {
	if err := g.ledger.refresh(func(*rowLog) (int64, error) { return -1, nil }); err != nil {
		return err
	}
	if g.dry == nil {
		g.dry = g.newBatch()
		if err := g.dry.takePending(osDisk{g.o.Dir}); err != nil {
			g.dry = nil
			return err
		}
	}
	b := g.dry
	for _, r := range live {
		for _, e := range r.evals {
			v := b.decideAll([]*Evaluation{e}, nil)[0]
			if v.Err == nil {
				v.Dry = true
				if !v.Known {
					v.Would = b.lines
				}
			}
			r.verdicts = append(r.verdicts, v)
		}
	}
	clear(b.writes)
	return nil
}
