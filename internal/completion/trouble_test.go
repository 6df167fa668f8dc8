package completion

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

const second = time.Second

// timed is a service within a bubble of testing/synctest, whose time only passes
// while all wait for it.
type timed struct {
	*Service
	began time.Time
	mu    sync.Mutex
	asked int
	sent  []time.Duration // when its calls were sent
	lines []string        // what people were told
}

func newTimed(t *testing.T) *timed {
	t.Helper()
	x := &timed{began: time.Now()}
	s, err := New(Options{Log: func(_, line string) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.lines = append(x.lines, line)
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.jitter = func(time.Duration) time.Duration { return 0 }
	x.Service = s
	return x
}

// calls makes each call take its time, and end as a function says of its number,
// counted from 1.
func (x *timed) calls(takes time.Duration, ends func(n int) *proto.ProviderError) Caller {
	return func(ctx context.Context, _ *proto.CompletionRequest) (*proto.CompletionReply, error) {
		x.mu.Lock()
		x.sent = append(x.sent, time.Since(x.began))
		n := len(x.sent)
		x.mu.Unlock()
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if e := ends(n); e != nil {
			return &proto.CompletionReply{Error: e}, nil
		}
		return &proto.CompletionReply{Text: "done", FinishReason: "stop", Usage: &proto.Usage{Input: 1, Output: 1}}, nil
	}
}

// ask has so many requests answered at once, and gives what they ended as.
func (x *timed) ask(ctx context.Context, p *dag.Provider, n int, caller Caller) map[string]int {
	ended := map[string]int{}
	var all sync.WaitGroup
	for range n {
		x.asked++
		request := userSays(fmt.Sprint(x.asked)) // no two are equal
		all.Go(func() {
			reply := x.Complete(ctx, p, caller, request)
			x.mu.Lock()
			defer x.mu.Unlock()
			if e := reply.GetError(); e != nil {
				ended[e.GetKind().String()+": "+e.GetMessage()]++
			} else {
				ended["answered"]++
			}
		})
	}
	all.Wait()
	return ended
}

func told(kind proto.ProviderError_Kind) *proto.ProviderError {
	return &proto.ProviderError{Kind: kind, Message: "told"}
}

// A server that always refuses is sent as many requests as the policy says: the
// first of the window, then one after 1, 2, 4, 8, 16 and 30 seconds, whoever asks
// and however many do, and whatever the jitter.
func TestRequestsToAServerThatRefuses(t *testing.T) {
	inAMinute := func(t *testing.T, callers, bound int, takes time.Duration, jitter func(time.Duration) time.Duration) int {
		var sent int
		synctest.Test(t, func(t *testing.T) {
			x := newTimed(t)
			x.jitter = jitter
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p := &dag.Provider{Name: "writer", Limits: dag.Limits{Concurrency: bound}}
			x.ask(ctx, p, callers, x.calls(takes, func(int) *proto.ProviderError { return told(proto.ProviderError_RATE_LIMITED) }))
			sent = len(x.sent)
			if c := x.ByProvider()[0]; c.Refused != sent || c.Calls != sent || c.Troubles != 1 {
				t.Errorf("%d were sent, counted %+v", sent, c)
			}
		})
		return sent
	}
	none := func(time.Duration) time.Duration { return 0 }
	for _, test := range []struct {
		name           string
		callers, bound int
		want           int
	}{
		{"64 callers", 64, 0, 4 + 5},
		{"64 callers, a bound of 64", 64, 64, 4 + 5},
		{"64 callers, a bound of 2", 64, 2, 2 + 5},
		{"64 callers, one at a time", 64, 1, 1 + 5},
		{"one caller", 1, 0, 1 + 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := inAMinute(t, test.callers, test.bound, second/10, none)
			t.Attr("requests", fmt.Sprintf("%d/%d", got, test.want)) // bench/run makes a row of it
			if got != test.want {
				t.Errorf("%d requests, want %d", got, test.want)
			}
		})
	}
	t.Run("whatever the jitter", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			var mu sync.Mutex
			takes := time.Duration(rapid.IntRange(1, 1000).Draw(r, "ms")) * time.Millisecond
			share := rapid.SliceOfN(rapid.IntRange(0, 100), 8, 8).Draw(r, "jitter")
			i := 0
			got := inAMinute(t, 64, 0, takes, func(below time.Duration) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				i++
				return below * time.Duration(share[i%len(share)]) / 100
			})
			if got != 9 {
				r.Fatalf("%d requests, want 9", got)
			}
		})
	})
}

// After ten minutes without one answer the provider is left alone, and every
// request ends with the reason.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTimed(t)
		refuses := x.calls(0, func(int) *proto.ProviderError { return told(proto.ProviderError_OVERLOADED) })
		ended := x.ask(t.Context(), &dag.Provider{Name: "writer", Limits: dag.Limits{Concurrency: 1, Patience: new(20 * second)}}, 64, refuses)
		const why = "OVERLOADED: told; provider writer has refused every call for 15s, and no longer than 20s is waited (`patience` of its limits): nothing more is asked of it in this run, run again later"
		if diff := cmp.Diff(map[string]int{why: 64}, ended); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]time.Duration{0, 1 * second, 3 * second, 7 * second, 15 * second}, x.sent); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		want := []string{
			"provider writer refuses calls (told): the next call goes in 4s, at 00:00:07",
			"provider writer refuses calls, for 7s (told): the next call goes in 8s, at 00:00:15",
		}
		if diff := cmp.Diff(want, x.lines); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		if got := x.Closed(&dag.Provider{Name: "writer"}); "OVERLOADED: "+got != why {
			t.Errorf("it is closed with %q", got)
		}
		x.ask(t.Context(), &dag.Provider{Name: "writer"}, 64, refuses)
		if len(x.sent) != 5 {
			t.Errorf("%d requests were sent after that", len(x.sent)-5)
		}
		counts := []ProviderCounts{{Provider: "writer", Calls: 5, Refused: 5, Troubles: 1, Paused: 15 * second, Waited: 64 * 15 * second}}
		if diff := cmp.Diff(counts, x.ByProvider()); diff != "" {
			t.Errorf("counted (-want +got):\n%s", diff)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		x := newTimed(t)
		p := &dag.Provider{Name: "writer", Limits: dag.Limits{Concurrency: 1}}
		x.ask(t.Context(), p, 64, x.calls(0, func(int) *proto.ProviderError { return told(proto.ProviderError_OVERLOADED) }))
		// At 0s, five until 31s, and one each 30s from 61s to 571s: 601s would be too late.
		if len(x.sent) != 1+5+18 || time.Since(x.began) != 571*second {
			t.Errorf("%d requests, over at %s", len(x.sent), time.Since(x.began))
		}
	})
}

// None is not the usual: who waits for nothing sends a provider that refuses nothing more.
func TestNoPatience(t *testing.T) {
	refuses := func(hint int64) func(int) *proto.ProviderError {
		return func(int) *proto.ProviderError {
			return &proto.ProviderError{Kind: proto.ProviderError_RATE_LIMITED, Message: "told", RetryAfterMillis: hint}
		}
	}
	for _, test := range []struct {
		name   string
		limits dag.Limits
		hint   int64
		want   string
	}{
		{"no patience", dag.Limits{Concurrency: 1, Patience: new(time.Duration(0))}, 0,
			"RATE_LIMITED: told; provider writer has refused every call for 0s, and no longer than 0s is waited (`patience` of its limits): nothing more is asked of it in this run, run again later"},
		{"no wait that it asks for", dag.Limits{Concurrency: 1, MaxWait: new(time.Duration(0))}, 1,
			"RATE_LIMITED: told; provider writer asks to be left alone for 0s, and no longer than 0s is waited (`max_wait` of its limits): nothing more is asked of it before 00:00:00, run again then"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTimed(t)
				ended := x.ask(t.Context(), &dag.Provider{Name: "writer", Limits: test.limits}, 3, x.calls(0, refuses(test.hint)))
				if diff := cmp.Diff(map[string]int{test.want: 3}, ended); diff != "" || len(x.sent) != 1 {
					t.Errorf("%d requests, ends (-want +got):\n%s", len(x.sent), diff)
				}
			})
		})
	}
}

// A hint that is longer than a run waits keeps the provider shut until then, and
// no longer: a run that still goes on asks again.
func TestShutUntilTheHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTimed(t)
		caller := x.calls(0, func(n int) *proto.ProviderError {
			if n == 1 {
				return &proto.ProviderError{Kind: proto.ProviderError_RATE_LIMITED, Message: "told", RetryAfterMillis: 120_000}
			}
			return nil
		})
		x.ask(t.Context(), &dag.Provider{Name: "writer", Limits: dag.Limits{Concurrency: 1}}, 5, caller)
		if len(x.sent) != 1 {
			t.Errorf("%d requests were sent, want 1", len(x.sent))
		}
		time.Sleep(120 * second)
		if diff := cmp.Diff(map[string]int{"answered": 5}, x.ask(t.Context(), writer, 5, caller)); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
	})
}

// Several refusals of calls that were under way together are one: the window is
// lowered once, there is one pause, and one call tries.
func TestOneBurstIsOneRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTimed(t)
		p := &dag.Provider{Name: "writer", Limits: dag.Limits{Concurrency: 20}}
		x.limiter(p).window.size = 20
		caller := x.calls(second, func(n int) *proto.ProviderError {
			if n <= 5 {
				return told(proto.ProviderError_RATE_LIMITED)
			}
			return nil
		})
		if diff := cmp.Diff(map[string]int{"answered": 20}, x.ask(t.Context(), p, 20, caller)); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
		var want []time.Duration
		for range 20 {
			want = append(want, 0)
		}
		// A second until they are refused and one of pause; the probe takes one more.
		want = append(want, 2*second, 3*second, 3*second, 3*second, 3*second)
		if diff := cmp.Diff(want, x.sent); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		if w := x.limiter(p).window; w.size != 15 || w.ceiling != 20 {
			t.Errorf("the window is %d below %d, want 15 below 20", w.size, w.ceiling)
		}
	})
}

// A server that is gone is sent eight requests and six more, one at a time, however
// many items there are.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTimed(t)
		gone := x.calls(0, func(int) *proto.ProviderError { return told(proto.ProviderError_UNAVAILABLE) })
		ended := x.ask(t.Context(), writer, 64, gone)
		const shut = "UNAVAILABLE: told; 14 calls of provider writer in a row were not answered, over 1m1s: nothing more is asked of it in this run, run again later"
		if diff := cmp.Diff(map[string]int{"UNAVAILABLE: told": 13, shut: 51}, ended); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
		want := []time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 1 * second, 3 * second, 7 * second, 15 * second, 31 * second, 61 * second}
		if diff := cmp.Diff(want, x.sent); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		// Pauses of a second or two are not told: they may end with no call at all.
		if diff := cmp.Diff("provider writer does not answer, 10 calls in a row (told): the next call goes in 4s, at 00:00:07", x.lines[0]); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
	// One answer to a probe, and all is as before.
	synctest.Test(t, func(t *testing.T) {
		x := newTimed(t)
		back := x.calls(0, func(n int) *proto.ProviderError {
			if n <= 10 {
				return told(proto.ProviderError_UNAVAILABLE)
			}
			return nil
		})
		if diff := cmp.Diff(map[string]int{"UNAVAILABLE: told": 10, "answered": 54}, x.ask(t.Context(), writer, 64, back)); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
		want := []string{
			"provider writer does not answer, 10 calls in a row (told): the next call goes in 4s, at 00:00:07",
			"provider writer answers again after 7s",
		}
		if diff := cmp.Diff(want, x.lines); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
	// Failures with an answer between them are those of their items.
	synctest.Test(t, func(t *testing.T) {
		x := newTimed(t)
		some := x.calls(0, func(n int) *proto.ProviderError {
			if n%4 != 0 {
				return told(proto.ProviderError_UNAVAILABLE)
			}
			return nil
		})
		if diff := cmp.Diff(map[string]int{"UNAVAILABLE: told": 48, "answered": 16}, x.ask(t.Context(), &dag.Provider{Name: "writer", Limits: dag.Limits{Concurrency: 1}}, 64, some)); diff != "" || len(x.lines) != 0 {
			t.Errorf("told %q, ends (-want +got):\n%s", x.lines, diff)
		}
	})
}

// Who waits is let go the moment that the run ends, and so is who comes later; a
// call that is under way is not disturbed.
func TestEndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTimed(t)
		caller := x.calls(10*second, func(int) *proto.ProviderError { return nil })
		p := &dag.Provider{Name: "writer", Limits: dag.Limits{Concurrency: 2}}
		var ended map[string]int
		done := make(chan struct{})
		go func() {
			ended = x.ask(t.Context(), p, 20, caller)
			close(done)
		}()
		time.Sleep(5 * second)
		x.EndWaits("the run was interrupted")
		synctest.Wait()
		x.ask(t.Context(), &dag.Provider{Name: "writer"}, 3, caller)
		if got := time.Since(x.began); got != 5*second {
			t.Errorf("they waited until %s", got)
		}
		<-done
		want := map[string]int{"answered": 2, "UNAVAILABLE: it waited for provider writer when the run was interrupted": 18}
		if diff := cmp.Diff(want, ended); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
		if len(x.limiter(p).queue) != 0 || len(x.flights) != 0 {
			t.Error("somebody still waits")
		}
	})
}

// First come, first served: a stage that asks little is not kept back by one that
// asks much, and who is refused keeps the place.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTimed(t)
		p := &dag.Provider{Name: "writer", Limits: dag.Limits{Concurrency: 1}}
		var order []string
		caller := func(_ context.Context, r *proto.CompletionRequest) (*proto.CompletionReply, error) {
			time.Sleep(second)
			text := r.GetMessages()[0].GetParts()[0].GetText()
			order = append(order, text)
			if len(order) == 3 {
				return &proto.CompletionReply{Error: told(proto.ProviderError_RATE_LIMITED)}, nil
			}
			return &proto.CompletionReply{Text: "x", FinishReason: "stop"}, nil
		}
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() { x.Complete(t.Context(), p, caller, userSays(fmt.Sprint(i))) })
			synctest.Wait()
		}
		all.Wait()
		if diff := cmp.Diff("0 1 2 2 3 4 5", strings.Join(order, " ")); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

// The time of a visit stands still while its request waits, also where it waits
// for another's, and runs while the request is at the provider.
func TestTimeOfVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTimed(t)
		type visit struct{}
		var mu sync.Mutex
		ran := map[string]time.Duration{}
		x.options.Queued = func(ctx context.Context) func() {
			name := ctx.Value(visit{}).(string)
			since := time.Now()
			return func() {
				mu.Lock()
				defer mu.Unlock()
				ran[name] -= time.Since(since)
			}
		}
		caller := x.calls(2*second, func(n int) *proto.ProviderError {
			if n <= 2 {
				return told(proto.ProviderError_RATE_LIMITED)
			}
			return nil
		})
		var all sync.WaitGroup
		for _, name := range []string{"first", "equal"} {
			all.Go(func() {
				began := time.Now()
				reply := x.Complete(context.WithValue(t.Context(), visit{}, name), writer, caller, userSays("same"))
				mu.Lock()
				defer mu.Unlock()
				ran[name] += time.Since(began)
				if diff := cmp.Diff([]string{"waited 3s for provider writer, which refused this 2 times, last: told"}, reply.GetNotes()); diff != "" {
					t.Errorf("notes (-want +got):\n%s", diff)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		// Three calls of two seconds; the pauses of one and two are nobody's.
		if diff := cmp.Diff(map[string]time.Duration{"first": 6 * second, "equal": 6 * second}, ran); diff != "" || time.Since(x.began) != 9*second {
			t.Errorf("over after %s, ran (-want +got):\n%s", time.Since(x.began), diff)
		}
	})
}

// A visit whose time is over counts against its provider; one that is given up for
// another reason does not.
func TestGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		cause error
		want  int
	}{"its time is over": {context.DeadlineExceeded, 1}, "the run ends": {errors.New("interrupted"), 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newTimed(t)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(second, func() { cancel(test.cause) })
				x.ask(ctx, writer, 1, x.calls(time.Hour, func(int) *proto.ProviderError { return nil }))
				synctest.Wait()
				if got := x.limiter(writer).failures; got != test.want {
					t.Errorf("%d failures are counted, want %d", got, test.want)
				}
			})
		})
	}
}

// Who leaves the queue gives back what a minute allowed it, and its place.
func TestLeavingTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTimed(t)
		p := &dag.Provider{Name: "writer", Limits: dag.Limits{RequestsPerMinute: 6}}
		caller := x.calls(0, func(int) *proto.ProviderError { return nil })
		x.ask(t.Context(), p, 1, caller)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(second, cancel)
		x.ask(ctx, p, 10, caller)
		synctest.Wait()
		if got := len(x.limiter(p).queue); got != 0 {
			t.Errorf("%d are still in the queue", got)
		}
		x.ask(t.Context(), p, 2, caller)
		if diff := cmp.Diff([]time.Duration{0, 10 * second, 20 * second}, x.sent); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		want := []string{"provider writer: its limits a minute let the next call go in 10s; such waits are not told again"}
		if diff := cmp.Diff(want, x.lines); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
	})
}

// Timers, queues and flights are gone when nobody waits any more.
func TestNothingIsLeft(t *testing.T) {
	s, _ := newService(t, Options{})
	var calls atomic.Int64
	for i := range 100 {
		s.Complete(context.Background(), writer, script(&calls, told(proto.ProviderError_RATE_LIMITED)), userSays(fmt.Sprint(i)))
	}
	l := s.limiter(writer)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) != 0 || l.stop != nil || l.inFlight != 0 || l.probe != 0 || len(s.flights) != 0 {
		t.Errorf("%d wait, %d are under way, %d flights", len(l.queue), l.inFlight, len(s.flights))
	}
}
