package staging

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What a run waits for is seen by others while it lives, as it was told last, and not
// after that.
func TestWaitsAreSeen(t *testing.T) {
	dir := t.TempDir()
	run, err := Open(dir, Options{RunID: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.StartRun(Run{ID: "r1", Started: time.Now()}); err != nil {
		t.Fatal(err)
	}
	other, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	seen := func(want []Waiting) {
		t.Helper()
		runs, err := other.Runs()
		if err != nil || len(runs) != 1 {
			t.Fatalf("%d runs: %v", len(runs), err)
		}
		if diff := cmp.Diff(want, runs[0].Waiting); diff != "" {
			t.Errorf("waits for (-want +got):\n%s", diff)
		}
	}
	seen(nil)
	at := time.Date(2026, 1, 15, 10, 15, 0, 0, time.UTC)
	long := []Waiting{{Provider: "p", Requests: 3, Why: "refused", Since: at, Until: at.Add(time.Minute), Said: "HTTP 429\nslow down"}, {Provider: "q", Requests: 1, Why: "pace", Since: at}}
	run.Waits(long)
	seen(long)
	run.Waits(long[1:]) // shorter than what stood there
	seen(long[1:])
	run.Waits(long)
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	seen(nil)
}
