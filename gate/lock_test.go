package gate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/penstock-run/penstock/dag"
)

func newTestLocker(t *testing.T, dir string, timeout time.Duration) *locker {
	t.Helper()
	l := newLocker(filepath.Join(dir, ".state.lock"), timeout, time.Now)
	t.Cleanup(l.close)
	return l
}

func anyIsNew(string) bool { return true }

func TestLockOrder(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	l := newTestLocker(t, dir, time.Second)
	held, err := l.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Lock(ctx); err == nil || err.Error() != "the state is locked already; the state comes before its buckets, and once" {
		t.Errorf("locked twice: %v", err)
	}
	data := []string{filepath.Join(dir, "data/b.jsonl"), filepath.Join(dir, "data/a.jsonl"), filepath.Join(dir, "data/b.jsonl")}
	if err := held.LockBuckets(ctx, data, anyIsNew); err != nil {
		t.Fatal(err)
	}
	if len(held.buckets) != 2 || !strings.HasSuffix(held.buckets[0], "a.jsonl.lock") {
		t.Errorf("locked %v", held.buckets)
	}
	if err := held.LockBuckets(ctx, data, anyIsNew); err == nil {
		t.Error("more buckets were locked while some were held")
	}
	held.Unlock()
	if err := held.LockBuckets(ctx, data, anyIsNew); err == nil || err.Error() != "the lock on the state was given back before the buckets were locked" {
		t.Errorf("a bucket was locked without the state: %v", err)
	}
	for _, name := range []string{".state.lock", "data/a.jsonl.lock", "data/b.jsonl.lock"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("a lock file was deleted: %v", err)
		}
	}
}

func TestR57R58LockNamesItsHolder(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	held, err := newTestLocker(t, dir, time.Second).Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = newTestLocker(t, dir, time.Millisecond).Lock(ctx)
	var timeout *lockTimeout
	if !errors.As(err, &timeout) {
		t.Fatalf("the second lock: %v", err)
	}
	host, _ := os.Hostname()
	if want := fmt.Sprintf("held by process %d on %s since ", os.Getpid(), host); !strings.HasPrefix(timeout.holder, want) {
		t.Errorf("%q does not start with %q", timeout.holder, want)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := newTestLocker(t, dir, time.Hour).Lock(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait: %v", err)
	}
	held.Unlock()
	again, err := newTestLocker(t, dir, time.Second).Lock(ctx)
	if err != nil {
		t.Fatalf("after the unlock: %v", err)
	}
	again.Unlock()
}

// A lock on a file that was deleted meanwhile is a lock on nothing.
func TestLockFollowsTheName(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	l := newTestLocker(t, dir, time.Second)
	held, err := l.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	held.Unlock()
	if err := os.Remove(l.state); err != nil {
		t.Fatal(err)
	}
	if held, err = l.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	defer held.Unlock()
	if _, err := newTestLocker(t, dir, time.Millisecond).Lock(ctx); err == nil {
		t.Error("two hold the lock")
	}
}

// python runs a program that prints a line when it has come to each point, and
// goes on when it is given a line.
type python struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startPython(t *testing.T, program string, args ...string) *python {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	p := &python{cmd: exec.Command(path, append([]string{"-c", program}, args...)...)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	return p
}

func (p *python) says(t *testing.T, want string) {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != want {
		t.Fatalf("python says %q, %v; want %q", line, err, want)
	}
}

func (p *python) goOn(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		t.Fatal(err)
	}
}

const pythonHolds = `
import fcntl, sys
f = open(sys.argv[1], "r+")
fcntl.flock(f, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.readline()
fcntl.flock(f, fcntl.LOCK_UN)
print("free", flush=True)
sys.stdin.readline()
`

const pythonTries = `
import fcntl, sys
f = open(sys.argv[1], "r+")
try:
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("locked", flush=True)
except BlockingIOError:
    print("busy", flush=True)
`

func TestPythonsLockIsHonoured(t *testing.T) {
	for _, tt := range []struct{ name, file string }{{"the state", "meta/.state.lock"}, {"a bucket", "data/history/easy.jsonl.lock"}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			o := options(t, dir, plain())
			o.LockTimeout = 20 * time.Millisecond
			g := mustOpen(t, o)
			judge(t, g, cardCandidate("a", "history/easy", `{"q":"One?"}`)) // makes the lock files
			p := startPython(t, pythonHolds, inDir(dir, tt.file))
			p.says(t, "locked")
			e := g.Evaluate(context.Background(), cardCandidate("b", "history/easy", `{"q":"Two?"}`))
			_, err := g.Commit(context.Background(), []*Evaluation{e})
			if dag.KindOf(err) != dag.KindInfrastructure || !strings.Contains(err.Error(), fmt.Sprintf("held by process %d", p.cmd.Process.Pid)) {
				t.Errorf("while python holds the lock: %v", err)
			}
			if got := len(lines(t, dir, "data/history/easy.jsonl")); got != 1 {
				t.Errorf("%d records", got)
			}
			p.goOn(t)
			p.says(t, "free")
			if v, err := g.Commit(context.Background(), []*Evaluation{e}); err != nil || v[0].End != dag.Accepted {
				t.Errorf("afterwards: %+v, %v", v, err)
			}
		})
	}
}

func TestPythonHonoursOurLock(t *testing.T) {
	dir := t.TempDir()
	g := mustOpen(t, options(t, dir, plain()))
	held, err := g.locker.Lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Unlock()
	if err := held.LockBuckets(context.Background(), []string{inDir(dir, "data/a.jsonl")}, anyIsNew); err != nil {
		t.Fatal(err)
	}
	startPython(t, pythonTries, inDir(dir, "meta/.state.lock")).says(t, "busy")
	startPython(t, pythonTries, inDir(dir, "data/a.jsonl.lock")).says(t, "busy")
}

const pythonAppends = `
import fcntl, sys
with open(sys.argv[1] + ".lock", "a+") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open(sys.argv[1], "a") as f:
        f.write(sys.argv[2])
print("done", flush=True)
`

func TestPythonAppends(t *testing.T) {
	const data = "data/history/easy.jsonl"
	for _, tt := range []struct {
		name, appends string
		kept          []string // of what was appended
		torn          string
	}{
		{"a whole line", `{"id":"py","q":"P?"}` + "\n", []string{`{"id":"py","q":"P?"}`}, ""},
		{"a whole line without its end", `{"id":"py","q":"P?"}`, []string{`{"id":"py","q":"P?"}`}, ""},
		{"half a line", `{"id":"py","q":"P`, nil, `{"id":"py","q":"P` + "\n"},
		{"a line and a half", `{"id":"py"}` + "\n" + `{"id"`, []string{`{"id":"py"}`}, `{"id"` + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			var said []string
			o := options(t, dir, plain())
			o.Log = func(s string) { said = append(said, s) }
			g := mustOpen(t, o)
			first := judge(t, g, cardCandidate("a", "history/easy", `{"id":"one","q":"One?"}`))[0]
			startPython(t, pythonAppends, inDir(dir, data), tt.appends).says(t, "done")
			second := judge(t, g, cardCandidate("b", "history/easy", `{"id":"two","q":"Two?"}`))[0]
			if first.End != dag.Accepted || second.End != dag.Accepted {
				t.Fatalf("%+v %+v", first, second)
			}
			want := append(append([]string{`{"id":"one","q":"One?"}`}, tt.kept...), `{"id":"two","q":"Two?"}`)
			if got := strings.Join(lines(t, dir, data), "\n"); got != strings.Join(want, "\n") {
				t.Errorf("the file holds\n%s", got)
			}
			torn, _ := os.ReadFile(inDir(dir, data+".torn"))
			if string(torn) != tt.torn {
				t.Errorf("set aside: %q, want %q", torn, tt.torn)
			}
			if tt.torn != "" && len(said) != 1 {
				t.Errorf("said %q", said)
			}
		})
	}
}

// A lock file that is replaced while somebody waits for it is another lock.
func TestLockFileReplacedWhileHeld(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	a, b := newTestLocker(t, dir, time.Second), newTestLocker(t, dir, 20*time.Second)
	held, err := a.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.open(b.state, false); err != nil { // b waits for the file that a holds
		t.Fatal(err)
	}
	if err := os.WriteFile(a.state+".new", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(a.state+".new", a.state); err != nil {
		t.Fatal(err)
	}
	held.Unlock()
	if held, err = b.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	defer held.Unlock()
	if _, err := newTestLocker(t, dir, time.Millisecond).Lock(ctx); err == nil {
		t.Error("b holds the file that was replaced")
	}
}

const pythonWaits = `
import fcntl, sys
f = open(sys.argv[1], "r+")
print("waits", flush=True)
fcntl.flock(f, fcntl.LOCK_EX)
print("locked", flush=True)
`

// Python waits while we hold the lock, and has it as soon as we give it back.
func TestPythonWaitsForUs(t *testing.T) {
	dir := t.TempDir()
	l := newTestLocker(t, dir, time.Second)
	held, err := l.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := startPython(t, pythonWaits, l.state)
	p.says(t, "waits")
	// The kernel marks with "->" who waits for a lock.
	waits := fmt.Sprintf("-> FLOCK  ADVISORY  WRITE %d ", p.cmd.Process.Pid)
	for table := ""; !strings.Contains(table, waits); {
		b, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Skip("the kernel does not tell of locks")
		}
		table = string(b)
		runtime.Gosched()
	}
	held.Unlock()
	p.says(t, "locked")
}

// A holder that is killed holds nothing any more.
func TestKilledHolderFrees(t *testing.T) {
	dir := t.TempDir()
	g := mustOpen(t, options(t, dir, plain()))
	p := startPython(t, pythonHolds, inDir(dir, lockPath))
	p.says(t, "locked")
	done := make(chan error, 1)
	e := g.Evaluate(t.Context(), cardCandidate("a", "art", `{"q":"One?"}`))
	go func() {
		_, err := g.Commit(context.Background(), []*Evaluation{e})
		done <- err
	}()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("%v", err)
	}
}

// A program that leaves no note in the lock file is named by the kernel, also where
// the note of somebody else is still in it.
func TestHolderWithoutANote(t *testing.T) {
	dir := t.TempDir()
	l := newTestLocker(t, dir, 10*time.Millisecond)
	held, err := l.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held.Unlock()
	p := startPython(t, pythonHolds, l.state)
	p.says(t, "locked")
	var timeout *lockTimeout
	if _, err = l.Lock(t.Context()); !errors.As(err, &timeout) || timeout.holder != fmt.Sprintf("held by process %d", p.cmd.Process.Pid) {
		t.Errorf("%v", err)
	}
}

// A process that takes the lock again and again signs it once a second, and after
// anybody else.
func TestSignature(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 1, 15, 10, 15, 0, 0, time.UTC)
	l := newLocker(filepath.Join(dir, ".state.lock"), time.Second, func() time.Time { return now })
	defer l.close()
	since := func() string {
		held, err := l.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer held.Unlock()
		_, at, _ := strings.Cut(describeHolder(l.files[l.state].File), " since ")
		return at
	}
	first := since()
	now = now.Add(resign / 2)
	if again := since(); first != "2026-01-15T10:15:00Z" || again != first {
		t.Errorf("%q, then %q", first, again)
	}
	if err := os.WriteFile(l.state, []byte(`{"pid":1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	now = now.Add(resign / 4)
	since()
	now = now.Add(2 * resign)
	if later := since(); later != "2026-01-15T10:15:02Z" {
		t.Errorf("%q", later)
	}
}
