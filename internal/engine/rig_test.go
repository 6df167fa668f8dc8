package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/staging"
)

// listener keeps what a run says.
type listener struct {
	mu     sync.Mutex
	warned []string
	ends   []ItemEnd
	aloud  bool // on standard error, too
}

func (l *listener) Started(string) {}

func (l *listener) Item(i ItemEnd) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ends) < 10_000 {
		l.ends = append(l.ends, i)
	}
}

func (l *listener) Progress(Tally, int, []staging.Waiting) {}

func (l *listener) Warn(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warned = append(l.warned, line)
	if l.aloud {
		fmt.Fprintln(os.Stderr, line)
	}
}

func (l *listener) said(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.warned, func(line string) bool { return strings.Contains(line, part) })
}

// workspace is a pipeline's directory with a director behind its plugins.
type workspace struct {
	*director
	t    testing.TB
	dir  string
	last *listener // of the latest run in this process
}

// newWorkspace writes a pipeline and its items, a line each.
func newWorkspace(t testing.TB, pipeline string, items []string, play func(*call) answer) *workspace {
	t.Helper()
	w := &workspace{director: newDirector(t, play), t: t, dir: t.TempDir()}
	w.write("director", w.listener.Addr().String())
	w.write("pipeline.hcl", head+strings.ReplaceAll(pipeline, "$DIRECTOR", w.listener.Addr().String()))
	w.write("items.jsonl", strings.Join(items, "\n")+"\n")
	t.Cleanup(w.nothingLeft)
	return w
}

// head stands before every pipeline of these tests.
const head = `
pipeline "test" {}
plugin "actor" {
  source  = "builtin/actor"
  network = true # to ask its director
}
`

func (w *workspace) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) read(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// edit replaces text in the pipeline.
func (w *workspace) edit(from, to string) {
	w.t.Helper()
	text := w.read("pipeline.hcl")
	if !strings.Contains(text, from) {
		w.t.Fatalf("the pipeline has no %q", from)
	}
	w.write("pipeline.hcl", strings.ReplaceAll(text, from, to))
}

func (w *workspace) graph() *dag.Graph {
	w.t.Helper()
	g, err := load(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	return g
}

func (w *workspace) options(change []func(*Options)) Options {
	w.t.Helper()
	w.ready()
	w.last = &listener{}
	o := Options{Dir: w.dir, Graph: w.graph(), Self: self(), Bundled: info, Report: w.last}
	for _, c := range change {
		c(&o)
	}
	return o
}

// ready lets the plays see what the test has written so far.
func (w *workspace) ready() {
	w.mu.Lock()
	defer w.mu.Unlock()
}

// attempt runs in this process. What every run must be is checked.
func (w *workspace) attempt(change ...func(*Options)) (*Summary, error) {
	w.t.Helper()
	s, err := Run(w.t.Context(), w.options(change))
	if s != nil {
		w.addsUp(s.Tally)
	}
	return s, err
}

// run is an attempt that must not end in an error.
func (w *workspace) run(change ...func(*Options)) *Summary {
	w.t.Helper()
	s, err := w.attempt(change...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.sound()
	return s
}

// addsUp is item conservation, counted here anew.
func (w *workspace) addsUp(t Tally) {
	w.t.Helper()
	sum := 0
	for end, n := range t.Ends {
		if !slices.Contains(dag.Ends, end) || n < 0 {
			w.t.Errorf("%d items ended as %q", n, end)
		}
		sum += n
	}
	if t.TakenIn+t.Spawned != sum {
		w.t.Errorf("%d taken in and %d spawned, but %d ended: %v", t.TakenIn, t.Spawned, sum, t.Ends)
	}
	if t.Settled > sum {
		w.t.Errorf("%d of %d items were finished before", t.Settled, sum)
	}
}

// sound audits the corpus and the trails.
func (w *workspace) sound() {
	w.t.Helper()
	g := w.graph()
	report, err := gate.Audit(w.t.Context(), gate.Options{Dir: w.dir, Pipeline: g.Pipeline.Name, Gate: g.Gate})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range report.Faults {
		w.t.Errorf("the corpus: %s", f)
	}
	if report.Records != report.Evidence {
		w.t.Errorf("%d records, %d rows of evidence", report.Records, report.Evidence)
	}
	for _, m := range w.members() {
		if m.Trail == nil {
			continue
		}
		if m.Trail.End != m.End && m.End.Final() {
			w.t.Errorf("%s ended %s, its trail says %q", m.Key, m.End, m.Trail.End)
		}
		if n := len(m.Trail.Visits); n > g.LongestTrail {
			w.t.Errorf("the trail of %s has %d visits, %d were proved", m.Key, n, g.LongestTrail)
		}
	}
}

// store opens the store to read.
func (w *workspace) store() *staging.Store {
	w.t.Helper()
	s, err := staging.Open(filepath.Join(w.dir, "staging"), staging.Options{ReadOnly: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// members are all items of the latest trails, by key.
func (w *workspace) members() map[string]Member {
	w.t.Helper()
	s := w.store()
	defer func() { _ = s.Close() }()
	all := map[string]Member{}
	err := s.Trails(func(t *staging.Trail) bool {
		members, err := DecodeFamily(t.Body)
		if err != nil {
			w.t.Errorf("the record of %s: %v", t.ItemKey, err)
		}
		for _, m := range members {
			all[m.Key] = m
		}
		return true
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// ends are the ends of all items, by key.
func (w *workspace) ends() map[string]dag.End {
	ends := map[string]dag.End{}
	for key, m := range w.members() {
		ends[key] = m.End
	}
	return ends
}

// rows reads a JSONL file of the corpus; none where it is not there.
func (w *workspace) rows(name string) []jsontext.Value {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var rows []jsontext.Value
	for line := range bytes.Lines(b) {
		rows = append(rows, jsontext.Value(bytes.TrimSuffix(line, []byte("\n"))).Clone())
	}
	return rows
}

// texts are one member of each row.
func texts(rows []jsontext.Value, name string) []string {
	var all []string
	for _, row := range rows {
		all = append(all, fmt.Sprint(member(row, name)))
	}
	return all
}

// process is a run in a process of its own.
type process struct {
	*exec.Cmd
	w        *workspace
	out, err buffer
	done     chan struct{}
	failed   error
	killed   bool
}

func (w *workspace) start(f flags) *process {
	w.t.Helper()
	w.ready()
	f.Dir = w.dir
	p := &process{Cmd: exec.Command(self()[0], "run", string(jsonOf(f))), w: w, done: make(chan struct{})}
	p.Stdout, p.Stderr = &p.out, &p.err
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { p.failed = p.Wait(); close(p.done); w.over() }()
	w.t.Cleanup(func() { _ = p.Process.Kill(); <-p.done })
	return p
}

// buffer is written by one goroutine and read by another.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// result waits for the end and reads what the run says.
func (p *process) result() ended {
	p.w.t.Helper()
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		p.w.t.Fatalf("a run does not end:\n%s", p.err.String())
	}
	var e ended
	if err := json.Unmarshal([]byte(p.out.String()), &e); err != nil {
		p.w.t.Fatalf("a run ended with %v and says %q:\n%s", p.failed, p.out.String(), p.err.String())
	}
	p.w.addsUp(e.Tally)
	return e
}

func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended by itself
	<-p.done
	p.killed = true
}

func (p *process) interrupt() {
	p.w.t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		p.w.t.Fatal(err)
	}
}

// nothingLeft finds processes of plugins and folders that outlived their run. A
// killed engine's plugins end by themselves, so it waits for them.
func (w *workspace) nothingLeft() {
	w.t.Helper()
	w.mu.Lock()
	pids := w.pids
	w.mu.Unlock()
	for pid := range pids {
		if !eventually(func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || !isOurs(pid) }) {
			w.t.Errorf("the plugin's process %d is left", pid)
		}
	}
	left := func() []string {
		names, _ := filepath.Glob(filepath.Join(os.TempDir(), "penstock-*"))
		return names
	}
	if names := left(); len(names) > 0 {
		w.t.Errorf("left in the temporary folder: %v", names)
	}
}

// isOurs tells a plugin of this test from a process that has its number now.
func isOurs(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(line, []byte("serve"))
}

// eventually polls what no channel tells: the end of a process that is not a
// child of this one.
func eventually(holds func() bool) bool {
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	return false
}

// numbered gives n items, each with a member id and what more says.
func numbered(n int, more string) []string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"i%04d","n":%d%s}`, i, i, more)
	}
	return items
}

// keep is a play that answers each visit with its input.
func keep(*call) answer { return answer{} }

func jobs(n int) func(*Options) { return func(o *Options) { o.Jobs = n } }
