package gate

import (
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
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir, os.Getenv(childPoint), os.Getenv(childOrder)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	crashItems     = 48
	crashQuestions = 36 // so 12 items ask what another has asked
	crashStops     = 6
)

func crashGate() *dag.Gate {
	g := plain(uniqueQuestion())
	g.Breaker.Consecutive = 1000
	return g
}

func crashCandidate(i int) *Candidate {
	bucket := []string{"history/easy", "music/hard", "art/easy"}[i%3]
	c := cardCandidate(fmt.Sprintf("item/%d", i), bucket, fmt.Sprintf(`{"q": "Question %d?", "n": %d}`, i%crashQuestions, i))
	if i >= crashItems {
		c.Stop = &Stop{End: dag.Rejected, Code: "R_STOP", Stage: "verifier", Pass: 1, Item: dag.Sum([]byte{byte(i)})}
	}
	return c
}

// child judges every item, in batches of five, and dies where it is told to.
func child(dir, point, order string) error {
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
	g.store.every = 3
	seed, _ := strconv.ParseUint(order, 10, 64)
	items := rand.New(rand.NewPCG(seed, 1)).Perm(crashItems + crashStops)
	for batch := range slices.Chunk(items, 5) {
		evals := make([]*Evaluation, len(batch))
		for i, item := range batch {
			evals[i] = g.Evaluate(ctx, crashCandidate(item))
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
	}
	return g.Close()
}

func startChild(t *testing.T, dir, point string, order int) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childPoint+"="+point, childOrder+"="+strconv.Itoa(order))
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
func finish(t *testing.T, dir string) {
	t.Helper()
	cmd, out := startChild(t, dir, "", 99)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	report, err := Audit(context.Background(), Options{Dir: dir, Gate: crashGate()})
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range report.Faults {
		t.Errorf("audit: %s", fault)
	}
	if report.Records != crashQuestions || report.Evidence != crashQuestions {
		t.Errorf("%d records and %d rows of evidence for %d questions", report.Records, report.Evidence, crashQuestions)
	}
	if want := crashItems - crashQuestions + crashStops; report.Rejections != want {
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
	if len(judged) != crashItems+crashStops {
		t.Errorf("%d items are judged", len(judged))
	}
	counted := 0
	for _, state := range breakerStates(t, dir) {
		counted += state.Accepted + state.Stopped
	}
	if counted != crashItems+crashStops {
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

func TestKillAtEveryNamedPoint(t *testing.T) {
	for _, point := range []string{"locked", "begun", "journaled", "committed", "written", "synced", "state", "emptied"} {
		for _, nth := range []int{1, 2, 4} {
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
			finish(t, dir)
		})
	}
}

func TestKillFourProcessesAtRandom(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			dir := t.TempDir()
			random := rand.New(rand.NewPCG(uint64(round), 7))
			for wave := range 3 {
				type running struct {
					cmd  *exec.Cmd
					out  *bytes.Buffer
					kill *time.Timer
				}
				var all []running
				for i := range 4 {
					cmd, out := startChild(t, dir, "", wave*4+i)
					kill := time.AfterFunc(time.Duration(random.IntN(200))*time.Millisecond, func() { _ = cmd.Process.Kill() })
					all = append(all, running{cmd, out, kill})
				}
				for _, r := range all {
					if err := r.cmd.Wait(); err != nil && !killed(err) {
						t.Errorf("%v\n%s", err, r.out)
					}
					r.kill.Stop()
				}
			}
			finish(t, dir)
		})
	}
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
	for i := range crashItems + crashStops {
		if judge(t, g, crashCandidate(i))[0].Known {
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
