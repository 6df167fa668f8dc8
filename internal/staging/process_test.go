package staging

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock-run/penstock/dag"
	"golang.org/x/sys/unix"
)

// The test binary is also the program that the tests start and kill.
func TestMain(m *testing.M) {
	if role := os.Getenv("STAGING_TEST_ROLE"); role != "" {
		if err := roles[role](os.Getenv("STAGING_TEST_DIR"), os.Getenv("STAGING_TEST_RUN")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var roles = map[string]func(dir, run string) error{"write": writeForever, "fill": fillSome, "claim": claimAll, "full": fillDisk, "collect": collectAndDie}

// child is a process of ours.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t *testing.T, role, dir, run string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), "STAGING_TEST_ROLE="+role, "STAGING_TEST_DIR="+dir, "STAGING_TEST_RUN="+run)
	c.cmd.Stderr = os.Stderr
	c.in = must[io.WriteCloser](t)(c.cmd.StdinPipe())
	c.out = bufio.NewScanner(must[io.ReadCloser](t)(c.cmd.StdoutPipe()))
	check(t, c.cmd.Start())
	t.Cleanup(func() { c.kill() })
	return c
}

// kill is kill -9, and waits until the process is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// line is the next line that the child prints; "" where it ended.
func (c *child) line() string {
	if c.out.Scan() {
		return c.out.Text()
	}
	return ""
}

// writeForever stores items and says after each flush how far it came.
func writeForever(dir, run string) error {
	s, err := Open(dir, Options{RunID: run})
	if err != nil {
		return err
	}
	if err := s.StartRun(Run{ID: run, Started: time.Now()}); err != nil {
		return err
	}
	from, err := strconv.Atoi(strings.TrimPrefix(run, "from-"))
	if err != nil {
		return err
	}
	for i := from; ; i++ {
		if err := writeItem(s, i); err != nil {
			return err
		}
		if i%7 == 0 {
			if err := s.Flush(); err != nil {
				return err
			}
			fmt.Println(i)
		}
	}
}

// kill -9 at any instant: what was flushed is there, nothing else is broken,
// and the next process goes on.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	flushed := -1
	for range 12 {
		c := start(t, "write", dir, fmt.Sprintf("from-%d", flushed+1))
		for range 1 + random.IntN(6) {
			line := c.line()
			n, err := strconv.Atoi(line)
			if err != nil {
				t.Fatalf("the child says %q", line)
			}
			flushed = n
		}
		// Not at the flush, but somewhere in what follows it.
		for end := time.Now().Add(time.Duration(random.IntN(3000)) * time.Microsecond); time.Now().Before(end); {
		}
		c.kill()
		for c.out.Scan() { // what it said before it died
			if n, err := strconv.Atoi(c.out.Text()); err == nil {
				flushed = n
			}
		}
		s := open(t, dir, Options{ReadOnly: true})
		for i := range flushed + 1 {
			if got := hasItem(t, s, i); got != all {
				t.Fatalf("item %d of %d flushed: %v", i, flushed, got)
			}
		}
		last, ok, err := s.LastRun()
		if err != nil || !ok || last.State != RunInterrupted {
			t.Fatalf("the killed run is %v, %v", last.State, err)
		}
		check(t, s.Close())
	}
	s := open(t, dir, Options{RunID: "after"})
	check(t, writeItem(s, 1_000_000))
	check(t, s.Close())
	wantWholeLines(t, dir)
}

// fillSome stores 400 items and ends.
func fillSome(dir, run string) error {
	s, err := Open(dir, Options{RunID: run})
	if err != nil {
		return err
	}
	base, err := strconv.Atoi(run)
	if err != nil {
		return err
	}
	for i := range 400 {
		if err := writeItem(s, base+i); err != nil {
			return err
		}
		if i%10 == 0 {
			if err := s.Flush(); err != nil {
				return err
			}
		}
	}
	return s.Close()
}

func TestTwoProcessesAppend(t *testing.T) {
	dir := t.TempDir()
	watcher := open(t, dir, Options{})
	if _, ok, err := watcher.Action(digest("action 0")); ok || err != nil {
		t.Fatal(ok, err)
	}
	if watcher.Settled(digest("trail 0")) {
		t.Fatal("known before it was made")
	}
	children := []*child{start(t, "fill", dir, "0"), start(t, "fill", dir, "200"), start(t, "fill", dir, "10000")}
	for _, c := range children {
		for line := c.line(); line != ""; line = c.line() {
			t.Error(line)
		}
		check(t, c.cmd.Wait())
	}
	check(t, watcher.Refresh())
	for _, s := range []*Store{watcher, open(t, dir, Options{ReadOnly: true})} {
		for i := range 10400 {
			if i == 600 {
				i = 10000
			}
			if i > 600 && i < 10000 {
				continue
			}
			if got := hasItem(t, s, i); got != all {
				t.Fatalf("item %d: %v", i, got)
			}
		}
	}
	for name := range files(t, dir) {
		if strings.HasSuffix(name, ".torn") {
			t.Errorf("somebody tore something: %s", name)
		}
	}
	wantWholeLines(t, dir)
}

const claimKeys = 300

func claimKey(i int) dag.Digest { return digest("claim %d", i) }

// claimAll asks for every key in small batches, says what it got, and holds it
// until it is killed or its input ends.
func claimAll(dir, run string) error {
	s, err := Open(dir, Options{RunID: run})
	if err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	order := rand.New(rand.NewPCG(uint64(os.Getpid()), 1)).Perm(claimKeys)
	for len(order) > 0 {
		batch := order[:min(7, len(order))]
		order = order[len(batch):]
		keys := make([]dag.Digest, len(batch))
		for i, n := range batch {
			keys[i] = claimKey(n)
		}
		got, err := s.Claim(keys)
		if err != nil {
			return err
		}
		for i, ok := range got {
			if ok {
				fmt.Println(batch[i])
			}
		}
		if len(order) == claimKeys-len(batch) {
			fmt.Println("begun") // so that both get something
			if _, err := in.ReadString('\n'); err != nil {
				return err
			}
		}
	}
	fmt.Println("all asked")
	_, _ = io.Copy(io.Discard, in)
	return s.Close()
}

func TestClaimsOfTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{RunID: "parent"})
	own := []dag.Digest{claimKey(0), claimKey(1)}
	if got := must[[]bool](t)(s.Claim(own)); !got[0] || !got[1] {
		t.Fatalf("claims of nobody else's: %v", got)
	}
	a, b := start(t, "claim", dir, "a"), start(t, "claim", dir, "b")
	holder := map[int]string{0: "parent", 1: "parent"}
	take := func(name string, c *child, until string) {
		t.Helper()
		for line := c.line(); line != until; line = c.line() {
			n, err := strconv.Atoi(line)
			if err != nil {
				t.Fatalf("%s says %q", name, line)
			}
			if other, held := holder[n]; held {
				t.Errorf("key %d was granted to %s and to %s", n, other, name)
			}
			holder[n] = name
		}
	}
	children := []*child{a, b}
	for i, name := range []string{"a", "b"} {
		take(name, children[i], "begun")
	}
	for _, c := range children {
		must[int](t)(io.WriteString(c.in, "go\n"))
	}
	for i, name := range []string{"a", "b"} {
		take(name, children[i], "all asked")
	}
	if len(holder) != claimKeys {
		t.Errorf("%d keys of %d were granted", len(holder), claimKeys)
	}
	var ofA, ofB []dag.Digest
	for n, name := range holder {
		switch name {
		case "a":
			ofA = append(ofA, claimKey(n))
		case "b":
			ofB = append(ofB, claimKey(n))
		}
		if run, _, alive := s.Holder(claimKey(n)); run != name || !alive {
			t.Errorf("key %d is held by %s (alive %v), granted to %s", n, run, alive, name)
		}
	}
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.WaitClaims(expired, append(ofA, ofB...)); !errors.Is(err, context.Canceled) {
		t.Errorf("waited for keys that are held: %v", err)
	}

	b.kill()
	check(t, s.WaitClaims(t.Context(), ofB))
	if run, _, alive := s.Holder(ofB[0]); run != "b" || alive {
		t.Errorf("after kill -9 the key is held by %s, alive %v", run, alive)
	}
	for i, ok := range must[[]bool](t)(s.Claim(append(ofB, ofA...))) {
		if want := i < len(ofB); ok != want {
			t.Fatalf("after kill -9 of b, key %d of b's and a's: %v", i, ok)
		}
	}
	check(t, a.in.Close())
	check(t, a.cmd.Wait())
	for i, ok := range must[[]bool](t)(s.Claim(ofA)) {
		if !ok {
			t.Fatalf("after a has ended, its key %d is not free", i)
		}
	}
}

// fillDisk makes every write past some size fail, as a full disk does, then
// lifts that. The limit is the process's, so it is one of its own.
func fillDisk(dir, limit string) error {
	signal.Ignore(syscall.SIGXFSZ)
	size, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return err
	}
	s, err := Open(dir, Options{RunID: "r"})
	if err != nil {
		return err
	}
	if err := errors.Join(writeItem(s, 0), s.Flush()); err != nil {
		return err
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: old.Max}); err != nil {
		return err
	}
	n := 1
	for err = nil; err == nil; n++ {
		if err = writeItem(s, n); err == nil && n%3 == 0 {
			err = s.Flush()
		}
	}
	if !errors.Is(err, &dag.Error{Kind: dag.KindInfrastructure, Code: dag.EStore}) {
		return fmt.Errorf("a full disk says: %w", err)
	}
	if s.Flush() == nil {
		return errors.New("a flush into a full disk succeeds")
	}
	reader, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		return err
	}
	if _, err := reader.Get(document(0).Digest); err != nil || !reader.Settled(digest("trail 0")) {
		return fmt.Errorf("what was stored before is gone: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	for i := n - 1; i < n+5; i++ {
		if err := writeItem(s, i); err != nil {
			return err
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	fmt.Println(n + 5)
	return nil
}

func TestNoSpace(t *testing.T) {
	useMemory(t)
	for limit := 700; limit < 20000; limit += 1997 {
		dir := t.TempDir()
		c := start(t, "full", dir, strconv.Itoa(limit))
		line := c.line()
		n, err := strconv.Atoi(line)
		if err != nil {
			t.Fatalf("at %d bytes: %s", limit, line)
		}
		check(t, c.cmd.Wait())
		s := open(t, dir, Options{ReadOnly: true})
		for i := range n {
			if got := hasItem(t, s, i); got != all {
				t.Fatalf("at %d bytes, item %d of %d: %v", limit, i, n, got)
			}
		}
		wantWholeLines(t, dir)
		for name := range files(t, dir) {
			if strings.HasSuffix(name, ".torn") {
				t.Fatalf("something was half written: %s", name)
			}
		}
	}
}

func TestRelease(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, dir, Options{RunID: "r1"}), open(t, dir, Options{RunID: "r2"})
	keys := []dag.Digest{claimKey(1), claimKey(2), claimKey(3)}
	claim := func(s *Store, want ...bool) {
		t.Helper()
		if diff := cmp.Diff(want, must[[]bool](t)(s.Claim(keys))); diff != "" {
			t.Error(diff)
		}
	}
	if other.Settled(digest("trail 1")) { // so that its index is loaded before
		t.Fatal("known before it was put")
	}
	claim(s, true, true, true)
	claim(s, true, true, true) // one's own, again
	claim(other, false, false, false)
	check(t, writeItem(s, 1))
	check(t, s.Release(keys[:2]))
	claim(other, false, false, false) // not before what was done can be found
	if other.Settled(digest("trail 1")) {
		t.Error("found before it was flushed")
	}
	if got := must[[]bool](t)(s.Claim(keys[1:2])); !got[0] { // wanted after all
		t.Error("one's own key is not granted again")
	}
	check(t, s.Flush())
	claim(other, true, false, false)
	if !other.Settled(digest("trail 1")) {
		t.Error("after a claim, what the earlier holder wrote is not known")
	}
	check(t, other.Release(keys)) // also what it does not hold
	check(t, other.Flush())
	check(t, s.Close())
	claim(other, true, true, true)
}

// The log of claims does not grow for ever, and whoever read it before notices
// that it began anew.
func TestClaimsAreTidied(t *testing.T) {
	dir := t.TempDir()
	watcher := open(t, dir, Options{ReadOnly: true})
	s := open(t, dir, Options{RunID: "r1"})
	for round := range 40 {
		keys := make([]dag.Digest, 1000)
		for i := range keys {
			keys[i] = digest("round %d key %d", round, i)
		}
		must[[]bool](t)(s.Claim(keys))
		if run, _, alive := watcher.Holder(keys[7]); run != "r1" || !alive {
			t.Fatalf("round %d: held by %q, alive %v", round, run, alive)
		}
		check(t, s.Release(keys))
		check(t, s.Flush())
		if run, _, _ := watcher.Holder(keys[7]); run != "" {
			t.Fatalf("round %d: still held by %q", round, run)
		}
		if n := len(files(t, dir)["claims.log"]); n > claimsTidy+100_000 {
			t.Fatalf("round %d: the log has %d bytes", round, n)
		}
	}
}

func TestClaimWithoutARun(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	if _, err := s.Claim([]dag.Digest{claimKey(1)}); dag.KindOf(err) != dag.KindBug {
		t.Errorf("claimed for nobody: %v", err)
	}
}

func TestTwoStoresOfOneRun(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, Options{RunID: "r1"})
	if _, err := Open(dir, Options{RunID: "r1"}); !errors.Is(err, &dag.Error{Kind: dag.KindInfrastructure}) {
		t.Errorf("a second store of a run that is alive: %v", err)
	}
	for _, run := range []string{"a/b", "..", ".hidden"} {
		if _, err := Open(dir, Options{RunID: run}); err == nil {
			t.Errorf("run id %q was taken", run)
		}
	}
}
