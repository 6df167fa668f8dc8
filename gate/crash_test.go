package gate

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// The crash tests run this test binary again as a process that judges a fixed set
// of items, and that kills itself at a named point, or is killed.

const (
	childDir   = "GATE_TEST_DIR"
	childPoint = "GATE_TEST_POINT" // "committed:2" is the second time it comes there
	childOrder = "GATE_TEST_ORDER" // seed of the order of the items
	childWork  = "GATE_TEST_WORK"  // which items
)

// TestMain is the other process of tests, too, where the environment says so.
func TestMain(m *testing.M) {
	var err error
	if dir := os.Getenv(childDir); dir != "" {
		err = child(dir, os.Getenv(childPoint), os.Getenv(childOrder), crashWorks[os.Getenv(childWork)])
	} else if dir := os.Getenv(processDir); dir != "" {
		err = pairProcess(dir)
	} else {
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// crashWork are the items that a process judges. Of the items, those beyond the
// questions ask what another has asked; the stops were stopped by a route.
type crashWork struct {
	name                    string
	items, questions, stops int
	every                   int // batches between two checkpoints
}

var (
	crashSmall = crashWork{"", 48, 36, 6, 3}
	crashLarge = crashWork{"large", 1500, 1200, 100, 7}
	crashWorks = map[string]crashWork{"": crashSmall, "large": crashLarge}
)

func crashGate() *dag.Gate {
	g := plain(uniqueQuestion())
	g.Breaker.Consecutive = 1000
	return g
}

func (w crashWork) candidate(i int) *Candidate {
	bucket := []string{"history/easy", "music/hard", "art/easy"}[i%3]
	c := cardCandidate(fmt.Sprintf("item/%d", i), bucket, fmt.Sprintf(`{"q": "Question %d?", "n": %d}`, i%w.questions, i))
	if i >= w.items {
		c.Stop = &Stop{End: dag.Rejected, Code: "R_STOP", Stage: "verifier", Pass: 1, Item: dag.Sum([]byte(fmt.Sprint(i)))}
	}
	return c
}

// child judges every item, in batches of five, and dies where it is told to. It
// prints a line before the first batch and after each.
func child(dir, point, order string, work crashWork) error {
	name, nth, _ := strings.Cut(point, ":")
	left, _ := strconv.Atoi(nth)
	at := func(here string) {
		if here != name {
			return
		}
		if left--; left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal is there
		}
	}
	ctx := context.Background()
	g, err := open(ctx, Options{Dir: dir, Pipeline: "crash", Gate: crashGate(), RunID: "run-" + order, LockTimeout: 20 * time.Second}, at)
	if err != nil {
		return err
	}
	g.store.every = work.every
	fmt.Println("open")
	seed, _ := strconv.ParseUint(order, 10, 64)
	items := rand.New(rand.NewPCG(seed, 1)).Perm(work.items + work.stops)
	for batch := range slices.Chunk(items, 5) {
		evals := make([]*Evaluation, len(batch))
		for i, item := range batch {
			evals[i] = g.Evaluate(ctx, work.candidate(item))
		}
		verdicts, err := g.Commit(ctx, evals)
		if err != nil {
			return err
		}
		for _, v := range verdicts {
			if v.Err != nil {
				return v.Err
			}
		}
		fmt.Println("committed")
	}
	return g.Close()
}

func childCommand(dir, point string, order int, work crashWork) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childPoint+"="+point, childOrder+"="+strconv.Itoa(order), childWork+"="+work.name)
	return cmd
}

func startChild(t *testing.T, dir, point string, order int) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := childCommand(dir, point, order, crashSmall)
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func killed(err error) bool {
	exit, ok := err.(*exec.ExitError)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// finish lets a process end its work undisturbed, and checks what is there: every
// question accepted once, every item judged once, the audit clean.
func (w crashWork) finish(t *testing.T, dir string) {
	t.Helper()
	if out, err := childCommand(dir, "", 99, w).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.check(t, dir)
}

func finish(t *testing.T, dir string) {
	t.Helper()
	crashSmall.finish(t, dir)
}

func (w crashWork) check(t *testing.T, dir string) {
	t.Helper()
	report, err := Audit(context.Background(), Options{Dir: dir, Gate: crashGate()})
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range report.Faults {
		t.Errorf("audit: %s", fault)
	}
	if report.Records != w.questions || report.Evidence != w.questions {
		t.Errorf("%d records and %d rows of evidence for %d questions", report.Records, report.Evidence, w.questions)
	}
	if want := w.items - w.questions + w.stops; report.Rejections != want {
		t.Errorf("%d rejections, want %d", report.Rejections, want)
	}
	judged := map[string]int{}
	for _, path := range []string{"meta/verification.jsonl", "meta/rejections.jsonl"} {
		for _, line := range lines(t, dir, path) {
			var row struct {
				Item string `json:"item"`
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			judged[row.Item]++
		}
	}
	for item, n := range judged {
		if n != 1 {
			t.Errorf("%s has %d verdicts", item, n)
		}
	}
	if len(judged) != w.items+w.stops {
		t.Errorf("%d items are judged", len(judged))
	}
	counted := 0
	for _, state := range breakerStates(t, dir) {
		counted += state.Accepted + state.Stopped
	}
	if counted != w.items+w.stops {
		t.Errorf("the breakers counted %d ends", counted)
	}
}

func breakerStates(t *testing.T, dir string) []Breaker {
	t.Helper()
	b := newBreakers(dir, &dag.Breaker{Consecutive: 1})
	if err := b.refresh(-1); err != nil {
		t.Fatal(err)
	}
	return slices.Collect(maps.Values(b.state))
}

func TestR44KillAtEveryNamedPoint(t *testing.T) {
	for point, times := range map[string][]int{
		"locked": {1, 2, 4}, "room": {1}, "begun": {1, 2, 4}, "journaled": {1, 2, 4}, "committed": {1, 2, 4}, "written": {1, 2, 4},
		"synced": {1, 2, 4}, "state": {1, 2, 4}, "emptied": {1, 2, 4},
	} {
		for _, nth := range times {
			t.Run(fmt.Sprintf("%s:%d", point, nth), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				cmd, out := startChild(t, dir, fmt.Sprintf("%s:%d", point, nth), 1)
				if err := cmd.Wait(); !killed(err) {
					t.Fatalf("the process did not die there: %v\n%s", err, out)
				}
				finish(t, dir)
			})
		}
	}
}

func TestKillInRecovery(t *testing.T) {
	for _, point := range []string{"redo", "redone", "recovered", "synced", "state", "emptied"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd, _ := startChild(t, dir, "committed:2", 1)
			if err := cmd.Wait(); !killed(err) {
				t.Fatalf("the first process did not die: %v", err)
			}
			cmd, out := startChild(t, dir, point+":1", 2)
			if err := cmd.Wait(); !killed(err) {
				t.Fatalf("the second process did not die in its recovery: %v\n%s", err, out)
			}
			crashSmall.finish(t, dir)
		})
	}
}

// Four processes are at the same corpus all the time, each is killed at a random
// moment of its work and another takes its place, 200 times.
func TestKillFourProcessesAtRandom(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 20
	}
	dir := t.TempDir()
	var wg sync.WaitGroup
	for lane := range 4 {
		random := rand.New(rand.NewPCG(uint64(lane), 7))
		wg.Go(func() {
			for n := range kills / 4 {
				if err := killAtRandom(dir, lane*1000+n, random); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	crashLarge.finish(t, dir)
}

// killAtRandom lets a process come to a random batch, and kills it a random time
// later, up to about that of two commits. Where it comes to its end before, nothing is lost.
func killAtRandom(dir string, order int, random *rand.Rand) error {
	cmd := childCommand(dir, "", order, crashLarge)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	complaint := new(bytes.Buffer)
	cmd.Stderr = complaint
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for range random.IntN(8) {
		if !lines.Scan() {
			break
		}
	}
	time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
	_ = cmd.Process.Kill()
	for lines.Scan() { // until the pipe is closed
	}
	if err := cmd.Wait(); err != nil && !killed(err) {
		return fmt.Errorf("%w\n%s", err, complaint)
	}
	return nil
}

func TestFourProcessesAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all []*exec.Cmd
	var outs []*bytes.Buffer
	for i := range 4 {
		cmd, out := startChild(t, dir, "", i)
		all, outs = append(all, cmd), append(outs, out)
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, outs[i])
		}
	}
	finish(t, dir)
}

// A dry run after a crash mends nothing and yet knows what was committed.
func TestDryRunAfterCrash(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := startChild(t, dir, "committed:1", 1)
	if err := cmd.Wait(); !killed(err) {
		t.Fatal(err)
	}
	before := tree(t, dir)
	o := options(t, dir, crashGate())
	o.Pipeline, o.DryRun = "crash", true
	g := mustOpen(t, o)
	known := 0
	for i := range crashSmall.items + crashSmall.stops {
		if judge(t, g, crashSmall.candidate(i))[0].Known {
			known++
		}
	}
	if known != 5 {
		t.Errorf("%d verdicts are known, 5 were committed", known)
	}
	if len(tree(t, dir)) != len(before) {
		t.Error("the dry run wrote")
	}
}
