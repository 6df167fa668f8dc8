package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// A backoff that is written as none is none, and one that is not written is the usual.
func TestBackoff(t *testing.T) {
	for _, test := range []struct {
		name    string
		retry   dag.Retry
		attempt int
		asked   time.Duration
		most    time.Duration // of a thousand draws none is longer, and one is past a half
	}{
		{"the usual", dag.Retry{}, 1, 0, time.Second},
		{"doubled", dag.Retry{}, 4, 0, 8 * time.Second},
		{"bounded", dag.Retry{}, 1 << 40, 0, 30 * time.Second},
		{"its own", dag.Retry{Backoff: new(3 * time.Second)}, 2, 0, 6 * time.Second},
		{"none", dag.Retry{Backoff: new(time.Duration(0))}, 9, 0, 0},
		{"bounded by none", dag.Retry{MaxBackoff: new(time.Duration(0))}, 9, 0, 0},
		{"no more than the bound", dag.Retry{Backoff: new(time.Hour), MaxBackoff: new(time.Minute)}, 1, 0, time.Minute},
		{"as long as the server asks", dag.Retry{Backoff: new(time.Duration(0))}, 1, 40 * time.Second, 40 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			var longest time.Duration
			for range 1000 {
				longest = max(longest, backoff(test.retry, test.attempt, test.asked))
			}
			if longest > test.most || longest < test.most/2 {
				t.Errorf("the longest of 1000 is %s, want no more than %s", longest, test.most)
			}
		})
	}
}

// Who asks to be tried again tomorrow is tried again by tomorrow's run, and its items are
// parked at once.
func TestAskedForTooLong(t *testing.T) {
	w := newWorkspace(t, retrying(chain("work"), "work", 5, ""), numbered(2, ""), func(c *call) answer {
		if c.Key == "i0001" {
			return answer{}
		}
		return answer{Infra: true, Code: "E_RATE_LIMITED", Message: "tomorrow", RetryAfter: 86_400_000}
	})
	s := w.run()
	if s.Kind != dag.KindInfrastructure {
		t.Errorf("the run ended with kind %d, want infrastructure", s.Kind)
	}
	if diff := cmp.Diff(map[string]int{"i0000": 1, "i0001": 1}, w.tries("work")); diff != "" {
		t.Errorf("tries (-want +got):\n%s", diff)
	}
	const why = "tomorrow; it asks to be tried again in 24h, and no longer than 1m is waited (`max_backoff` of the stage's retry): run again then"
	if got := problem(t, s, "i0000").Reason; !strings.HasSuffix(got, why) {
		t.Errorf("the reason is %q, want it to end with %q", got, why)
	}
	w.direct(keep)
	if s := w.run(); s.Kind != 0 || s.Tally.Ends[dag.Accepted] != 2 {
		t.Errorf("the next run: %+v", s)
	}
	stage := &dag.Stage{Retry: dag.Retry{MaxBackoff: new(2 * time.Hour)}}
	for _, test := range []struct {
		want time.Duration
		of   *dag.Stage
	}{
		{time.Minute, &dag.Stage{}},
		{2 * time.Hour, stage},
		{3 * time.Hour, &dag.Stage{Retry: stage.Retry, Provider: &dag.Provider{Limits: dag.Limits{MaxWait: new(3 * time.Hour)}}}},
	} {
		if got := longestAsked(test.of); got != test.want {
			t.Errorf("it may ask for %s, want %s", got, test.want)
		}
	}
}
