package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
)

// rig is a host with all that it says kept.
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
	opts := host.Options{
		Dir: r.dir, RunID: "20260115T101500Z-4f2a91", Self: []string{self(t), "plugin", "serve"},
		Log:     func(plugin, level, message string) { r.say(plugin + " " + level + " " + message) },
		Deliver: r.deliver,
	}
	if change != nil {
		change(&opts)
	}
	r.Host = host.New(opts)
	t.Cleanup(r.stop)
	return r
}

// stop closes the host and checks that every task had one result.
func (r *rig) stop() {
	r.t.Helper()
	if err := r.Close(r.t.Context()); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.twice) > 0 {
		r.t.Errorf("visits with two results: %v", r.twice)
	}
	if uint64(len(r.results)) != r.next {
		r.t.Errorf("%d tasks, %d results", r.next, len(r.results))
	}
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

func (r *rig) untilLogged(part string) {
	r.t.Helper()
	r.until(strconv.Quote(part), func() bool { return r.logged(part) })
}

// logged and count are for until.
func (r *rig) logged(part string) bool { return r.count(part) > 0 }

func (r *rig) count(part string) int {
	n := 0
	for _, line := range r.log {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
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

// output is one visit that must succeed.
func (r *rig) output(stage *dag.Stage, input string) string {
	r.t.Helper()
	got := r.run(stage, input)
	if got.Err != nil || got.Failure != nil {
		r.t.Fatalf("err %v, failure %v", got.Err, got.Failure)
	}
	return string(got.Output)
}

// pid is one visit that answers with its process.
func (r *rig) pid(stage *dag.Stage) int {
	r.t.Helper()
	pid, err := strconv.Atoi(r.output(stage, `"pid"`))
	if err != nil {
		r.t.Fatal(err)
	}
	return pid
}

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func bundledStage(name string) *dag.Stage {
	return &dag.Stage{Name: "s", Plugin: &dag.Plugin{Name: name, Source: "builtin/" + name, Processes: 1}}
}

// vice is a stage of a user's plugin: this test binary, with that vice.
func vice(t testing.TB, args ...string) *dag.Stage {
	t.Helper()
	return viceStage(self(t), args...)
}

func viceStage(self string, args ...string) *dag.Stage {
	return &dag.Stage{Name: "s", Plugin: &dag.Plugin{
		Name: args[0], Command: append([]string{self, "vice"}, args...), Processes: 1,
	}}
}

// errorHas checks an infrastructure error's code and words.
func errorHas(t *testing.T, got host.Result, code dag.Code, parts ...string) {
	t.Helper()
	if got.Err == nil {
		t.Fatalf("no error in %+v", got)
	}
	if got.Err.Code != code {
		t.Errorf("code %q, want %q (%v)", got.Err.Code, code, got.Err)
	}
	for _, part := range parts {
		if !strings.Contains(got.Err.Error(), part) {
			t.Errorf("the error does not say %q:\n%v", part, got.Err)
		}
	}
}

// dead tells whether a process is gone, or a zombie that nobody reaps.
func dead(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

// eventually polls what nothing tells of.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// remains tells what the tests have left behind.
func remains(temp string) string {
	limit := time.Now().Add(10 * time.Second)
	for {
		left := children() + goroutines() + folders(temp)
		if left == "" || time.Now().After(limit) {
			return left
		}
		runtime.Gosched()
	}
}

func children() string {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			return "the process " + string(stat)
		}
	}
	return ""
}

func goroutines() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for _, stack := range strings.Split(string(buf), "\n\n")[1:] { // the first is ours
		if strings.Contains(stack, "internal/host.") || strings.Contains(stack, "go-plugin") || strings.Contains(stack, "grpc") {
			return "the goroutine " + stack
		}
	}
	return ""
}

func folders(temp string) string {
	for _, pattern := range []string{filepath.Join(temp, "penstock-*"), filepath.Join(temp, "plugin*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			return fmt.Sprint("the folders ", left)
		}
	}
	return ""
}
