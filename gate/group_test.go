package gate

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// countedDisk counts the syncs of each file.
type countedDisk struct {
	disk
	mu    sync.Mutex
	syncs map[string]int
}

type countedFile struct {
	diskFile
	d    *countedDisk
	path string
}

func (d *countedDisk) open(path string, create bool) (diskFile, error) {
	f, err := d.disk.open(path, create)
	if err != nil {
		return nil, err
	}
	return &countedFile{f, d, path}, nil
}

func (d *countedDisk) syncDir(dir string) error {
	d.count(dir)
	return d.disk.syncDir(dir)
}

func (d *countedDisk) count(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs[path]++
}

func (f *countedFile) sync() error {
	f.d.count(f.path)
	return f.diskFile.sync()
}

// countingSyncs opens a gate whose syncs are counted from its second commit on.
func countingSyncs(t *testing.T) (*Gate, *countedDisk) {
	t.Helper()
	g := mustOpen(t, options(t, t.TempDir(), plain(uniqueQuestion())))
	judge(t, g, question("first", "First?")) // makes the journal's room
	d := &countedDisk{disk: g.store.d, syncs: map[string]int{}}
	g.store.d, g.store.journal = d, &countedFile{g.store.journal, d, journalPath}
	return g, d
}

// However many wait, they are made durable with one sync; whoever came first has
// begun without them.
func TestOneSyncForAllThatWait(t *testing.T) {
	g, d := countingSyncs(t)
	ctx := context.Background()
	const callers = 64
	g.writing.Lock()
	var wg sync.WaitGroup
	var accepted atomic.Int32
	for i := range callers + 1 {
		e := g.Evaluate(ctx, question(fmt.Sprint(i), fmt.Sprintf("Question %d?", i)))
		wg.Go(func() {
			v, err := g.Commit(ctx, []*Evaluation{e})
			if err == nil && v[0].End == dag.Accepted && !v[0].Known {
				accepted.Add(1)
			}
		})
		for waits := false; !waits; runtime.Gosched() { // until it is in the queue, or leads
			g.queue.mu.Lock()
			waits = g.queue.busy && len(g.queue.waiting) == i
			g.queue.mu.Unlock()
		}
	}
	g.writing.Unlock()
	wg.Wait()
	if got := accepted.Load(); got != callers+1 {
		t.Errorf("%d were accepted", got)
	}
	if diff := cmp.Diff(map[string]int{journalPath: 2}, d.syncs); diff != "" {
		t.Errorf("syncs of %d callers that waited for one:\n%s", callers, diff)
	}
}

// A candidate costs one sync; one that is known, or asks what another has asked in
// vain, costs what it writes.
func TestSyncsOfACommit(t *testing.T) {
	g, d := countingSyncs(t)
	twin := question("twin", "One?")
	twin.Scope = docs{"item": `{"q":"One?","n":2}`}
	for _, tt := range []struct {
		name       string
		candidates []*Candidate
		want       map[string]int
	}{
		{"one", []*Candidate{question("1", "One?")}, map[string]int{journalPath: 1}},
		{"the same again", []*Candidate{question("1", "One?")}, map[string]int{}},
		{"a duplicate is recorded", []*Candidate{twin}, map[string]int{journalPath: 1}},
		{"the duplicate again", []*Candidate{twin}, map[string]int{}},
		{"three in a batch, one of them twice", []*Candidate{question("2", "Two?"), question("3", "Three?"), question("3", "Three?")}, map[string]int{journalPath: 1}},
	} {
		clear(d.syncs)
		judge(t, g, tt.candidates...)
		if diff := cmp.Diff(tt.want, d.syncs); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
	if b := g.Breakers(); len(b) != 1 || b[0].Accepted != 4 || b[0].Stopped != 1 {
		t.Errorf("%+v", b)
	}
	// A checkpoint syncs the folders of new files and leaves the journal to the next commit.
	clear(d.syncs)
	if err := g.store.checkpoint(); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"data", "meta", "."} {
		if d.syncs[folder] != 1 {
			t.Errorf("the folder %s was synced %d times", folder, d.syncs[folder])
		}
	}
	if d.syncs[journalPath] != 0 {
		t.Errorf("the journal was synced %d times in a checkpoint", d.syncs[journalPath])
	}
}
