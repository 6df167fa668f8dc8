package completion

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// script answers each attempt with the next error, then well.
func script(calls *atomic.Int64, errs ...*proto.ProviderError) Caller {
	return func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		n := calls.Add(1)
		if int(n) <= len(errs) {
			return &proto.CompletionReply{Error: errs[n-1]}, nil
		}
		return &proto.CompletionReply{Text: "done", FinishReason: "stop"}, nil
	}
}

// What a provider has no room for is asked again by the service, however often;
// every other error goes back at once, to the one who tries again.
func TestAttempts(t *testing.T) {
	e := func(kind proto.ProviderError_Kind, millis int64) *proto.ProviderError {
		return &proto.ProviderError{Kind: kind, Message: "told", RetryAfterMillis: millis}
	}
	const s = time.Second
	limited, overloaded := proto.ProviderError_RATE_LIMITED, proto.ProviderError_OVERLOADED
	tests := []struct {
		name  string
		errs  []*proto.ProviderError
		calls int64
		slept []time.Duration
		want  string // of the error; empty: answered
	}{
		{"each hint is its own", []*proto.ProviderError{e(limited, 1000), e(limited, 5000), e(limited, 20000)}, 4, []time.Duration{s, 5 * s, 20 * s}, ""},
		{"a hint of milliseconds", []*proto.ProviderError{e(limited, 250)}, 2, []time.Duration{s / 4}, ""},
		{"hints that are too short", []*proto.ProviderError{e(limited, 250), e(limited, 250), e(limited, 250), e(limited, 250)}, 5, []time.Duration{s / 4, s, 2 * s, 4 * s}, ""},
		{"no hint", []*proto.ProviderError{e(limited, 0), e(overloaded, 0), e(limited, 0), e(overloaded, 0), e(limited, 0), e(limited, 0), e(limited, 0)}, 8,
			[]time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}, ""},
		{"a hint after none", []*proto.ProviderError{e(overloaded, 0), e(limited, 7000)}, 3, []time.Duration{s, 7 * s}, ""},
		{"just as long as is waited", []*proto.ProviderError{e(limited, 60000)}, 2, []time.Duration{60 * s}, ""},
		{"tomorrow", []*proto.ProviderError{e(limited, 86400000)}, 1, nil,
			"RATE_LIMITED: told; provider writer asks to be left alone for 24h, and no longer than 1m is waited (`max_wait` of its limits): nothing more is asked of it before 2026-01-16 10:15:00 UTC, run again then"},
		{"later than is waited", []*proto.ProviderError{e(overloaded, 0), e(overloaded, 60001)}, 2, []time.Duration{s},
			"OVERLOADED: told; provider writer asks to be left alone for 1m, and no longer than 1m is waited (`max_wait` of its limits): nothing more is asked of it before 10:16:01, run again then"},
		{"no answer", []*proto.ProviderError{e(proto.ProviderError_TIMEOUT, 0)}, 1, nil, "TIMEOUT: told"},
		{"not there", []*proto.ProviderError{e(proto.ProviderError_UNAVAILABLE, 0)}, 1, nil, "UNAVAILABLE: told"},
		{"auth", []*proto.ProviderError{e(proto.ProviderError_AUTH, 0)}, 1, nil, "AUTH: told"},
		{"quota", []*proto.ProviderError{e(proto.ProviderError_QUOTA, 0)}, 1, nil, "QUOTA: told"},
		{"not found", []*proto.ProviderError{e(proto.ProviderError_NOT_FOUND, 0)}, 1, nil, "NOT_FOUND: told"},
		{"invalid", []*proto.ProviderError{e(proto.ProviderError_INVALID_REQUEST, 0)}, 1, nil, "INVALID_REQUEST: told"},
		{"schema", []*proto.ProviderError{e(proto.ProviderError_SCHEMA_UNSUPPORTED, 0)}, 1, nil, "SCHEMA_UNSUPPORTED: told"},
		{"filtered", []*proto.ProviderError{e(proto.ProviderError_CONTENT_FILTERED, 0)}, 1, nil, "CONTENT_FILTERED: told"},
		{"too long", []*proto.ProviderError{e(proto.ProviderError_CONTEXT_TOO_LONG, 0)}, 1, nil, "CONTEXT_TOO_LONG: told"},
		{"unspecified", []*proto.ProviderError{e(proto.ProviderError_UNSPECIFIED, 0)}, 1, nil, "UNSPECIFIED: told"},
		{"a kind of a later version", []*proto.ProviderError{e(99, 0)}, 1, nil, "99: told"},
		{"final after one that passes", []*proto.ProviderError{e(limited, 0), e(proto.ProviderError_AUTH, 0)}, 2, []time.Duration{s}, "AUTH: told"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			service, clock := newService(t, Options{})
			var calls atomic.Int64
			reply := service.Complete(context.Background(), writer, script(&calls, test.errs...), userSays("hi"))
			got := ""
			if e := reply.GetError(); e != nil {
				got = e.GetKind().String() + ": " + e.GetMessage()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if calls.Load() != test.calls {
				t.Errorf("%d calls, want %d", calls.Load(), test.calls)
			}
			if diff := cmp.Diff(test.slept, clock.slept); diff != "" {
				t.Errorf("slept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConnectionErrors(t *testing.T) {
	s, _ := newService(t, Options{})
	for _, test := range []struct {
		err  error
		want string
	}{{nil, "provider writer gave no reply"}, {errors.New("connection reset"), "provider writer: connection reset"}} {
		reply := s.Complete(context.Background(), writer, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
			return nil, test.err
		}, userSays("hi"))
		if got := reply.GetError(); got.GetMessage() != test.want || got.GetKind() != proto.ProviderError_UNAVAILABLE {
			t.Errorf("got %v, want UNAVAILABLE %q", got, test.want)
		}
	}
}

func TestJitterIsWithin(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := fullJitter(10)
		if d < 0 || d > 10 {
			t.Fatalf("jitter below 10 is %d", d)
		}
		seen[d] = true
	}
	if len(seen) != 11 {
		t.Errorf("1000 draws met %d of 11 values", len(seen))
	}
}

func TestRequestsPerMinute(t *testing.T) {
	s, clock := newService(t, Options{})
	p := &dag.Provider{Name: "p", Limits: dag.Limits{RequestsPerMinute: 6}}
	for i := range 4 {
		s.Complete(context.Background(), p, answers("x"), userSays(fmt.Sprint(i)))
	}
	if diff := cmp.Diff([]time.Duration{10 * time.Second, 10 * time.Second, 10 * time.Second}, clock.slept); diff != "" {
		t.Errorf("slept (-want +got):\n%s", diff)
	}
}

func TestTokensPerMinute(t *testing.T) {
	s, clock := newService(t, Options{})
	p := &dag.Provider{Name: "p", Limits: dag.Limits{TokensPerMinute: 600}}
	big := func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		return &proto.CompletionReply{Text: "x", FinishReason: "stop", Usage: &proto.Usage{Input: 101, Output: 499}}, nil
	}
	s.Complete(context.Background(), p, big, userSays(strings.Repeat("a", 400))) // 101 tokens estimated, 600 taken
	s.Complete(context.Background(), p, big, userSays(strings.Repeat("b", 400))) // waits until those are a minute ago
	if diff := cmp.Diff([]time.Duration{time.Minute}, clock.slept); diff != "" {
		t.Errorf("slept (-want +got):\n%s", diff)
	}
}

// A server that says when to come back says it to all callers of the provider.
func TestR52HintHoldsTheProvider(t *testing.T) {
	s, clock := newService(t, Options{})
	ends := func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		return &proto.CompletionReply{Error: &proto.ProviderError{Kind: proto.ProviderError_UNAVAILABLE, RetryAfterMillis: 7000}}, nil
	}
	s.Complete(context.Background(), writer, ends, userSays("a"))
	s.Complete(context.Background(), &dag.Provider{Name: "other"}, answers("x"), userSays("b"))
	if len(clock.slept) != 0 {
		t.Errorf("another provider waited %v", clock.slept)
	}
	s.Complete(context.Background(), writer, answers("x"), userSays("b"))
	if diff := cmp.Diff([]time.Duration{7 * time.Second}, clock.slept); diff != "" {
		t.Errorf("slept (-want +got):\n%s", diff)
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	s, _ := newService(t, Options{})
	p := &dag.Provider{Name: "p", Limits: dag.Limits{Concurrency: 3}}
	var now, most atomic.Int64
	full := make(chan struct{})
	var once sync.Once
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s.Complete(context.Background(), p, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
				n := now.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				if n == 3 {
					once.Do(func() { close(full) })
				}
				<-full // all three slots are taken before any call ends
				now.Add(-1)
				return &proto.CompletionReply{Text: "x", FinishReason: "stop"}, nil
			}, userSays(fmt.Sprint(i)))
		})
	}
	all.Wait()
	if most.Load() != 3 {
		t.Errorf("%d calls at a time, want 3", most.Load())
	}
}

func TestEqualRequestsAreOneCall(t *testing.T) {
	s, _ := newService(t, Options{Cache: &memory{}})
	var calls atomic.Int64
	var all sync.WaitGroup
	started, release := make(chan struct{}), make(chan struct{})
	origins := make(chan string, 10)
	ask := func() {
		reply := s.Complete(context.Background(), writer, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
			if calls.Add(1) == 1 {
				close(started)
			}
			<-release
			return &proto.CompletionReply{Text: "x", FinishReason: "stop", Usage: &proto.Usage{Input: 3}}, nil
		}, userSays("same"))
		reply.Text += "mine alone"
		origins <- reply.GetOrigin()
	}
	all.Go(ask)
	<-started
	for range 9 {
		all.Go(ask)
	}
	wait(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return waiting(s) == 10 })
	close(release)
	all.Wait()
	close(origins)
	count := map[string]int{}
	for o := range origins {
		count[o]++
	}
	if diff := cmp.Diff(map[string]int{OriginLive: 1, OriginCache: 9}, count); diff != "" || calls.Load() != 1 {
		t.Errorf("%d calls, origins (-want +got):\n%s", calls.Load(), diff)
	}
	if c := s.Counters(); c.Usage.Input != 3 || c.Live != 1 || c.Cached != 9 {
		t.Errorf("counters are %+v", c)
	}
}

func waiting(s *Service) int {
	n := 0
	for _, f := range s.flights {
		n += f.waiting
	}
	return n
}

// wait polls until the condition holds, for at most a minute.
func wait(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Fatal("waited a minute in vain")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestOneWaiterMayLeave(t *testing.T) {
	s, _ := newService(t, Options{})
	started, release, cancelled := make(chan struct{}), make(chan struct{}), make(chan struct{})
	call := func(ctx context.Context, _ *proto.CompletionRequest) (*proto.CompletionReply, error) {
		close(started)
		select {
		case <-release:
			return &proto.CompletionReply{Text: "x", FinishReason: "stop"}, nil
		case <-ctx.Done():
			close(cancelled)
			return nil, ctx.Err()
		}
	}
	first, leave := context.WithCancel(context.Background())
	left := make(chan *proto.CompletionReply, 1)
	go func() { left <- s.Complete(first, writer, call, userSays("same")) }()
	<-started
	stayed := make(chan *proto.CompletionReply, 1)
	go func() { stayed <- s.Complete(context.Background(), writer, call, userSays("same")) }()
	wait(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return waiting(s) == 2 })
	leave()
	if got := (<-left).GetError().GetMessage(); got != "the request was cancelled" {
		t.Errorf("the one who left got %q", got)
	}
	close(release)
	if got := <-stayed; got.GetText() != "x" {
		t.Errorf("the one who stayed got %v", got)
	}

	started, release = make(chan struct{}), make(chan struct{})
	only, leave := context.WithCancel(context.Background())
	go func() { left <- s.Complete(only, writer, call, userSays("alone")) }()
	<-started
	leave()
	<-left
	<-cancelled // nobody waits any more, so the call itself is cancelled
}

func TestDeadlineIsATimeout(t *testing.T) {
	s, _ := newService(t, Options{})
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	reply := s.Complete(ctx, writer, func(ctx context.Context, _ *proto.CompletionRequest) (*proto.CompletionReply, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, userSays("hi"))
	if e := reply.GetError(); e.GetKind() != proto.ProviderError_TIMEOUT || e.GetMessage() != "the deadline passed before the provider answered" {
		t.Errorf("got %v", e)
	}
}

func TestBudget(t *testing.T) {
	price := &dag.Price{Input: 1, CachedInput: 0.1, Output: 2}
	tests := []struct {
		name   string
		budget dag.Budget
		price  *dag.Price
		done   int
		want   string
	}{
		{"calls", dag.Budget{Calls: 2}, nil, 2, "the run's budget of 2 calls does not cover this call: 2 are spent, and it may take 1; raise `calls` in the pipeline's budget block"},
		{"tokens", dag.Budget{Tokens: 100}, nil, 3, "the run's budget of 100 tokens does not cover this call: 45 are spent, and it may take 63; raise `tokens` in the pipeline's budget block, or bound the answer with max_tokens"},
		{"dollars", dag.Budget{USD: 0.0001}, price, 1, "the run's budget of $0.0001 does not cover this call: $0.000016 are spent, and it may take $0.000093; raise `usd` in the pipeline's budget block, or bound the answer with max_tokens"},
		{"dollars without a price", dag.Budget{USD: 1}, nil, 0, "the run has a budget in US dollars, but the price of provider p is not known: give it a price block"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, _ := newService(t, Options{Budget: test.budget})
			p := &dag.Provider{Name: "p", Price: test.price}
			for i := range 10 {
				r := userSays(fmt.Sprint(i))
				r.Sampling = &proto.Sampling{MaxTokens: ptr(int64(30))}
				reply := s.Complete(context.Background(), p, answers("x"), r) // 10 in (4 of them cached), 5 out
				if e := reply.GetError(); e != nil {
					if i != test.done || e.GetKind() != proto.ProviderError_QUOTA || e.GetMessage() != test.want {
						t.Errorf("call %d: %v\n got %q\nwant %q", i, e.GetKind(), e.GetMessage(), test.want)
					}
					return
				}
			}
			t.Error("ten calls were within the budget")
		})
	}
}

// Calls at the same time must not each take what is left.
func TestBudgetIsNeverPassed(t *testing.T) {
	s, _ := newService(t, Options{Budget: dag.Budget{Calls: 40, Tokens: 1000}})
	var all sync.WaitGroup
	var answered atomic.Int64
	for i := range 64 {
		all.Go(func() {
			r := userSays(fmt.Sprint(i))
			r.Sampling = &proto.Sampling{MaxTokens: ptr(int64(99))}
			if s.Complete(context.Background(), writer, answers("x"), r).GetError() == nil {
				answered.Add(1)
			}
		})
	}
	all.Wait()
	c := s.Counters()
	if c.Calls > 40 || c.Usage.Input+c.Usage.Output > 1000 {
		t.Errorf("the budget was passed: %+v", c)
	}
	if answered.Load() != 40 {
		t.Errorf("%d calls were answered, want all 40: what is given back must be used", answered.Load())
	}
}

// A block that its plugin refuses is as wrong the next time: no server was asked, so
// nothing is said of one, and no attempt follows.
func TestARefusedBlockIsNoServerThatIsGone(t *testing.T) {
	service, _ := newService(t, Options{})
	refused := &dag.Error{Op: "configure provider", Subject: "writer", Kind: dag.KindConfig, Err: errors.New(`"x" is not the address of a server`)}
	reply := service.Complete(context.Background(), writer, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		return nil, refused
	}, userSays("hi"))
	got := reply.GetError().GetKind().String() + ": " + reply.GetError().GetMessage()
	if want := `INVALID_REQUEST: configure provider writer: "x" is not the address of a server`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
