package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/internal/staging"
)

// Where the time of a run went is told a line for each cause, and nothing is told of
// what took none.
func TestWaitLines(t *testing.T) {
	for _, test := range []struct {
		name  string
		waits *staging.RunWaits
		want  []string
	}{
		{"nothing", nil, nil},
		{"a moment", &staging.RunWaits{Providers: []staging.ProviderWaits{{Provider: "p", Calls: 9, Paused: 0.9, Paced: 0.9, Full: 9.9}}, OtherRuns: 0.9}, nil},
		{"refusals", &staging.RunWaits{Providers: []staging.ProviderWaits{{Provider: "p", Calls: 9, Refused: 2, Paused: 61.04, Full: 120}}},
			[]string{"provider p: 2 of 9 requests refused, left alone for 1m1s while items waited, as many requests as may be were under way for 2m while more waited"}},
		{"silence", &staging.RunWaits{Providers: []staging.ProviderWaits{{Provider: "p", Calls: 1, Unanswered: 1}, {Provider: "q", Paced: 4.25}}},
			[]string{"provider p: 1 of 1 request not answered", "provider q: its limits a minute were waited for 4.3s"}},
		{"retries", &staging.RunWaits{Retries: []staging.RetryWaits{{Stage: "a", Retries: 1, Seconds: 0.5}, {Stage: "b", Retries: 3, Seconds: 12.2}}, OtherRuns: 7},
			[]string{"stage a: tried again 1 time", "stage b: tried again 3 times, after waits of 12s", "another run had begun what was waited for: 7s"}},
	} {
		if diff := cmp.Diff(test.want, WaitLines(test.waits)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// What a run waits for is told with why, since when, and until when where that is known.
func TestWaitingText(t *testing.T) {
	now := time.Date(2026, 1, 15, 10, 15, 0, 0, time.UTC)
	for _, test := range []struct {
		waiting staging.Waiting
		want    string
	}{
		{staging.Waiting{Provider: "p", Requests: 3, Why: "refused", Since: now.Add(-90 * time.Second), Until: now.Add(25 * time.Second), Said: "HTTP\n 429\n"},
			"3 requests for provider p, for 1m30s: it refuses requests (HTTP 429), the next one goes in 25s"},
		{staging.Waiting{Provider: "p", Requests: 1, Why: "unanswered", Since: now.Add(-4 * time.Second)},
			"1 request for provider p, for 4s: it does not answer"},
		{staging.Waiting{Provider: "p", Requests: 2, Why: "pace", Since: now.Add(time.Second), Until: now.Add(-time.Second)},
			"2 requests for provider p, for 0s: its limits a minute"},
	} {
		if diff := cmp.Diff(test.want, WaitingText(test.waiting, now)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A book of waits counts each, and the time in which there was one or more.
func TestWaitBook(t *testing.T) {
	var b waitBook
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	b.begin(at(0))
	b.begin(at(2))
	b.end(at(5))
	b.end(at(6))
	b.begin(at(10))
	b.end(at(11))
	if want := (waitBook{times: 3, since: at(10), total: 7 * time.Second}); b != want {
		t.Errorf("got %+v, want %+v", b, want)
	}
}
