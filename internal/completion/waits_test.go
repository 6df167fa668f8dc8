package completion

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// Where the time of those went that waited is told by cause, while it lasts and in the
// end.
func TestWaits(t *testing.T) {
	limited := func(to int) func(int) *proto.ProviderError {
		return func(n int) *proto.ProviderError {
			if n <= to {
				return &proto.ProviderError{Kind: proto.ProviderError_RATE_LIMITED, Message: "told", RetryAfterMillis: 20_000}
			}
			return nil
		}
	}
	gone := func(n int) *proto.ProviderError {
		if n <= 9 {
			return told(proto.ProviderError_UNAVAILABLE)
		}
		return nil
	}
	for _, test := range []struct {
		name    string
		limits  dag.Limits
		callers int
		takes   time.Duration
		ends    func(int) *proto.ProviderError
		at      time.Duration // when is asked what is waited for
		now     []Wait
		want    ProviderCounts
	}{
		{"nothing", dag.Limits{}, 4, second, limited(0), second / 2, nil, ProviderCounts{Calls: 4}},
		{"a pause", dag.Limits{Concurrency: 1}, 3, second, limited(1), 11 * second,
			[]Wait{{Requests: 3, Why: WaitsOnTrouble, Since: at(0), Until: at(21 * second), Said: "told"}},
			// Refused after a second; the probe goes after 21, and the others after 22 and 23. The
			// probe's own second is part of the pause, for the two behind it.
			ProviderCounts{Calls: 4, Refused: 1, Troubles: 1, Paused: 21 * second, Full: 2 * second, Waited: 20*second + 22*second + 23*second}},
		{"a probe", dag.Limits{Concurrency: 1}, 2, 5 * second, limited(1), 27 * second,
			[]Wait{{Requests: 1, Why: WaitsOnTrouble, Since: at(0), Said: "told"}},
			ProviderCounts{Calls: 3, Refused: 1, Troubles: 1, Paused: 25 * second, Full: 5 * second, Waited: 20*second + 30*second}},
		{"no answer", dag.Limits{}, 10, second, gone, 5 * second,
			[]Wait{{Requests: 1, Why: WaitsOnSilence, Since: at(0), Until: at(6 * second), Said: "told"}},
			// Four calls, four more, the ninth after a pause of one and the tenth after one of two
			// seconds, counted from the answers.
			ProviderCounts{Calls: 10, Unanswered: 9, Troubles: 1, Paused: 4 * second, Full: 2 * second, Waited: 4*second + 3*second + 6*second}},
		{"a pace", dag.Limits{RequestsPerMinute: 6}, 3, 0, limited(0), 15 * second,
			[]Wait{{Requests: 1, Why: WaitsOnPace, Since: at(0), Until: at(20 * second)}},
			ProviderCounts{Calls: 3, Paced: 20 * second, Waited: 10*second + 20*second}},
		{"others", dag.Limits{Concurrency: 1}, 3, 10 * second, limited(0), 5 * second,
			[]Wait{{Requests: 2, Why: WaitsOnOthers, Since: at(0)}},
			ProviderCounts{Calls: 3, Full: 20 * second, Waited: 10*second + 20*second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTimed(t)
				p := &dag.Provider{Name: "p", Limits: test.limits}
				var now []Wait
				time.AfterFunc(test.at, func() { now = x.Waiting() })
				x.ask(t.Context(), p, test.callers, x.calls(test.takes, test.ends))
				synctest.Wait()
				for i := range test.now {
					test.now[i].Provider = "p"
				}
				if diff := cmp.Diff(test.now, now); diff != "" {
					t.Errorf("waited for (-want +got):\n%s", diff)
				}
				test.want.Provider = "p"
				if diff := cmp.Diff([]ProviderCounts{test.want}, x.ByProvider()); diff != "" {
					t.Errorf("counted (-want +got):\n%s", diff)
				}
				if left := x.Waiting(); left != nil {
					t.Errorf("%v still wait", left)
				}
			})
		})
	}
}

// at is a moment of a bubble, whose time begins with the year 2000.
func at(d time.Duration) time.Time {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d)
}
