package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
)

// rig is a host with what it says kept.
type rig struct {
	*host.Host
	t    *testing.T
	dir  string
	next uint64

	mu      sync.Mutex
	changed chan struct{} // closed and renewed at each result and each line
	results map[uint64]host.Result
	twice   []uint64
	log     []string
}

func newRig(t *testing.T, change func(*host.Options)) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), changed: make(chan struct{}), results: map[uint64]host.Result{}}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opts := host.Options{
		Dir: r.dir, RunID: "20260115T101500Z-4f2a91", Self: []string{self, "plugin", "serve"},
		Log:     func(plugin, level, message string) { r.say(plugin + " " + level + " " + message) },
		Deliver: r.deliver,
	}
	if change != nil {
		change(&opts)
	}
	r.Host = host.New(opts)
	t.Cleanup(func() {
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) say(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, line)
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *rig) deliver(batch []host.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, result := range batch {
		if _, ok := r.results[result.Visit]; ok {
			r.twice = append(r.twice, result.Visit)
		}
		r.results[result.Visit] = result
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// until waits for a condition on what the host has said.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	limit := time.After(30 * time.Second)
	for {
		r.mu.Lock()
		ok, changed := holds(), r.changed
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-limit:
			r.mu.Lock()
			defer r.mu.Unlock()
			r.t.Fatalf("waited in vain for %s; the log says:\n%s", what, strings.Join(r.log, "\n"))
		}
	}
}

func (r *rig) logged(part string) bool {
	for _, line := range r.log {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

func (r *rig) submit(stage *dag.Stage, input string, timeout time.Duration) uint64 {
	r.next++
	r.Submit(host.Task{Visit: r.next, Stage: stage, Key: fmt.Sprintf("item%d", r.next), Pass: 1, Input: []byte(input), Timeout: timeout})
	return r.next
}

func (r *rig) result(visit uint64) host.Result {
	r.t.Helper()
	r.until(fmt.Sprintf("the result of visit %d", visit), func() bool { _, ok := r.results[visit]; return ok })
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.results[visit]
}

// run is one visit.
func (r *rig) run(stage *dag.Stage, input string) host.Result {
	r.t.Helper()
	return r.result(r.submit(stage, input, 0))
}

func bundledStage(name string) *dag.Stage {
	return &dag.Stage{Name: "s", Plugin: &dag.Plugin{Name: name, Source: "builtin/" + name, Processes: 1}}
}

// vice is a stage of a user's plugin: this test binary, by path.
func vice(t *testing.T, args ...string) *dag.Stage {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &dag.Stage{Name: "s", Plugin: &dag.Plugin{
		Name: args[0], Command: append([]string{self, "vice"}, args...), Processes: 1,
	}}
}

func TestVisit(t *testing.T) {
	r := newRig(t, nil)
	got := r.run(bundledStage("echo"), `{"a":1}`)
	if got.Err != nil || got.Word != "ok" || string(got.Output) != `{"a":1}` {
		t.Fatalf("%+v", got)
	}
	if got.Facts.StartedAt.IsZero() || got.Facts.EndedAt.Before(got.Facts.StartedAt) {
		t.Errorf("facts %+v", got.Facts)
	}
	if err := r.Close(context.Background()); err != nil {
		t.Error(err)
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "penstock-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
