package gate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// stopped is an item that a route ended.
func stopped(key, bucket string, end dag.End, code dag.Code) *Candidate {
	return &Candidate{Key: key, Bucket: bucket, Scope: docs{}, Stop: &Stop{End: end, Code: code}}
}

func breakersOf(g *Gate) (rows []string) {
	for _, b := range g.Breakers() {
		state := "closed"
		if b.TrippedAt != nil {
			state = "open"
		}
		rows = append(rows, fmt.Sprintf("%s %s: %d in a row, %d accepted, %d stopped", b.Bucket, state, b.Consecutive, b.Accepted, b.Stopped))
	}
	return rows
}

// The breaker opens at the twentieth bad end in a row and not at the twenty-first,
// also where they come in one batch; what comes behind it in the batch is counted,
// and closes it no more.
func TestBreakerOpensAtItsNumber(t *testing.T) {
	for _, n := range []int{19, 20, 21, 25} {
		dir, spec := t.TempDir(), plain()
		spec.Breaker.Consecutive = 20
		g := mustOpen(t, options(t, dir, spec))
		var batch []*Candidate
		for i := range n {
			batch = append(batch, stopped(fmt.Sprint(i), "art", []dag.End{dag.Rejected, dag.Failed}[i%2], "R_X"))
		}
		judge(t, g, append(batch, cardCandidate("good", "art", `{"q":"Good?"}`))...)
		want := fmt.Sprintf("art open: 0 in a row, 1 accepted, %d stopped", n)
		if n < 20 {
			want = strings.Replace(want, "open", "closed", 1)
		}
		if diff := cmp.Diff([]string{want}, breakersOf(g)); diff != "" {
			t.Errorf("%d bad ends: %s", n, diff)
		}
	}
}

// A candidate counts once, at its end: not again when it is handed in again, by
// the same process or another, alone or in a batch with itself.
func TestBreakerCountsOnce(t *testing.T) {
	dir, spec := t.TempDir(), plain(uniqueQuestion())
	spec.Breaker.Consecutive = 20
	g := mustOpen(t, options(t, dir, spec))
	bad := func() []*Candidate {
		return []*Candidate{
			cardCandidate("1", "art", `{"id":"a1","q":"One?"}`),
			cardCandidate("2", "art", `{"id":"a2","q":"One?"}`), // a duplicate
			cardCandidate("3", "art", `{"id":"a3"}`),            // no record can be made of it
			stopped("4", "art", dag.Rejected, "R_X"),
		}
	}
	judge(t, g, append(bad(), bad()...)...)
	judge(t, g, bad()...)
	other := mustOpen(t, options(t, dir, spec))
	judge(t, other, bad()...)
	want := []string{"art closed: 3 in a row, 1 accepted, 3 stopped"}
	for _, g := range []*Gate{g, other} {
		if diff := cmp.Diff(want, breakersOf(g)); diff != "" {
			t.Error(diff)
		}
	}
}

// Only ends by content count, each as the breaker is told: an error of the world, a
// skip, a review and an item that only fanned out neither count nor reset.
func TestBreakerCountsEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    *Candidate
		want int // in a row, after two
	}{
		{"rejected", stopped("x", "art", dag.Rejected, "R_X"), 3},
		{"failed", stopped("x", "art", dag.Failed, "R_X"), 3},
		{"failed by content of a plugin", stopped("x", "art", dag.Failed, dag.EMalformed), 3},
		{"failed for want of time", stopped("x", "art", dag.Failed, dag.ETimeout), 2},
		{"parked", stopped("x", "art", dag.Parked, ""), 2},
		{"waiting", stopped("x", "art", dag.Waiting, ""), 2},
		{"expanded", stopped("x", "art", dag.Expanded, ""), 2},
		{"not started", stopped("x", "art", dag.NotStarted, ""), 2},
		{"skipped", &Candidate{Key: "x", Bucket: "art", Scope: docs{}, As: dag.Skip, Code: "R_X"}, 2},
		{"reviewed", &Candidate{Key: "x", Bucket: "art", Scope: docs{}, As: dag.Review, Code: "R_X"}, 2},
		{"quarantined", &Candidate{Key: "x", Bucket: "art", Scope: docs{}, As: dag.Quarantine, Code: "R_X"}, 2},
		{"accepted", cardCandidate("x", "art", `{"q":"Good?"}`), 0},
		{"of another bucket", stopped("x", "music", dag.Rejected, "R_X"), 2},
		{"of no bucket", stopped("x", "", dag.Rejected, "R_X"), 2},
	} {
		g := mustOpen(t, options(t, t.TempDir(), plain()))
		judge(t, g, stopped("1", "art", dag.Rejected, "R_X"), stopped("2", "art", dag.Failed, "R_X"), tt.c)
		if got := g.Breakers()[0].Consecutive; got != tt.want {
			t.Errorf("%s: %d in a row, want %d", tt.name, got, tt.want)
		}
	}
}

// A breaker that counts rejections alone lets failures pass.
func TestBreakerCountsWhatItIsTold(t *testing.T) {
	spec := plain()
	spec.Breaker = &dag.Breaker{Consecutive: 2, Counts: []dag.End{dag.Rejected}}
	g := mustOpen(t, options(t, t.TempDir(), spec))
	judge(t, g, stopped("1", "art", dag.Rejected, "R_X"), stopped("2", "art", dag.Failed, "R_X"))
	if diff := cmp.Diff([]string{"art closed: 1 in a row, 0 accepted, 1 stopped"}, breakersOf(g)); diff != "" {
		t.Error(diff)
	}
	judge(t, g, stopped("3", "art", dag.Rejected, "R_X"))
	if !g.Tripped("art") {
		t.Error("two rejections with a failure between them do not open it")
	}
}

// A reset waits for the lock, and names who has it.
func TestResetWaitsForTheLock(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir, plain())
	g := mustOpen(t, o)
	judge(t, g, stopped("1", "art", dag.Rejected, "R_X"))
	o.LockTimeout = 30 * time.Millisecond
	late := mustOpen(t, o)
	held, err := g.locker.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = late.ResetBreaker(t.Context(), "art")
	if want := fmt.Sprintf("held by process %d on ", os.Getpid()); dag.KindOf(err) != dag.KindInfrastructure || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%v; want %s", err, want)
	}
	held.Unlock()
	if err := late.ResetBreaker(t.Context(), "art"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"art closed: 0 in a row, 0 accepted, 1 stopped"}, breakersOf(late)); diff != "" {
		t.Error(diff)
	}
	rows := len(lines(t, dir, breakersPath))
	if err := late.ResetBreaker(t.Context(), "art"); err != nil || len(lines(t, dir, breakersPath)) != rows {
		t.Errorf("a reset of what is at its start wrote a row, %v", err)
	}
}

const resetDir, resetPoint = "GATE_TEST_RESET", "GATE_TEST_RESET_POINT"

func init() {
	dir := os.Getenv(resetDir)
	if dir == "" {
		return
	}
	g, err := open(context.Background(), Options{Dir: dir, Pipeline: "test", Gate: plain()}, func(point string) {
		if point == os.Getenv(resetPoint) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal is there
		}
	})
	if err == nil {
		err = g.ResetBreaker(context.Background(), "art")
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1) // it was to be killed
}

// A reset that is killed has closed the breaker or has not: before its commit it
// is open, behind it closed, for those who only look as for those who write.
func TestKillInReset(t *testing.T) {
	for _, tt := range []struct {
		point string
		open  bool
	}{{"locked", true}, {"begun", true}, {"committed", false}, {"written", false}} {
		t.Run(tt.point, func(t *testing.T) {
			dir := t.TempDir()
			g := mustOpen(t, options(t, dir, plain()))
			for i := range 3 {
				judge(t, g, stopped(fmt.Sprint(i), "art", dag.Rejected, "R_X"))
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), resetDir+"="+dir, resetPoint+"="+tt.point)
			if out, err := cmd.CombinedOutput(); !killed(err) {
				t.Fatalf("the process did not die there: %v\n%s", err, out)
			}
			reader := options(t, dir, plain())
			reader.ReadOnly = true
			if got := mustOpen(t, reader).Tripped("art"); got != tt.open {
				t.Errorf("for a reader it is open: %v", got)
			}
			g = mustOpen(t, options(t, dir, plain()))
			if got := g.Tripped("art"); got != tt.open {
				t.Errorf("for a writer it is open: %v", got)
			}
			if err := g.ResetBreaker(t.Context(), "art"); err != nil || g.Tripped("art") {
				t.Errorf("it cannot be closed: %v", err)
			}
		})
	}
}
