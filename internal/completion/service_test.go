package completion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// memory is a Cache in memory.
type memory struct {
	mu sync.Mutex
	m  map[dag.Digest][]byte
}

func (c *memory) Get(key dag.Digest) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.m[key]
	return b, ok
}

func (c *memory) Put(key dag.Digest, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[dag.Digest][]byte{}
	}
	c.m[key] = b
}

// fakeTime moves only when the service sleeps.
type fakeTime struct {
	mu    sync.Mutex
	t     time.Time
	slept []time.Duration
}

func (f *fakeTime) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.t
}

func (f *fakeTime) sleep(ctx context.Context, d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slept = append(f.slept, d)
	f.t = f.t.Add(d)
	return ctx.Err()
}

func newService(t *testing.T, o Options) (*Service, *fakeTime) {
	t.Helper()
	f := &fakeTime{t: time.Date(2026, 1, 15, 10, 15, 0, 0, time.UTC)}
	o.Now = f.now
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.clock.sleep = f.sleep
	s.jitter = func(below time.Duration) time.Duration { return below }
	return s, f
}

func answers(text string) Caller {
	return func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		return &proto.CompletionReply{Text: text, FinishReason: "stop", Model: "m-2026", RequestId: "r1", Usage: &proto.Usage{Input: 10, CachedInput: 4, Output: 5}}, nil
	}
}

func never(t *testing.T) Caller {
	return func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		t.Error("the provider was called")
		return nil, errors.New("called")
	}
}

var writer = &dag.Provider{Name: "writer", Plugin: &dag.Plugin{Source: "builtin/openai"}, Model: "m"}

func TestReplayNeverCalls(t *testing.T) {
	path := write(t, "c.jsonl", recorded)
	cache := &memory{}
	s, _ := newService(t, Options{Replay: path, Cache: cache})
	request := userSays("Write five topics.\nCategory: history, easy.\nAnswer as JSON.")
	request.System = "You write trivia."
	request.Sampling = &proto.Sampling{Temperature: ptr(0.2)}
	got := s.Complete(context.Background(), &dag.Provider{Name: "judge", Model: "another"}, never(t), request)
	if got.GetText() != `{"topics":[]}` || got.GetOrigin() != OriginCassette || got.GetModel() != "gpt-5-mini" || got.GetFinishReason() != "stop" {
		t.Errorf("got %v", got)
	}
	if len(cache.m) != 0 {
		t.Error("a replayed answer was cached: a live run would be given it")
	}
	s.Complete(context.Background(), writer, never(t), userSays("never recorded"))
	if c := s.Counters(); c.Replayed != 1 || c.Misses != 1 || c.Calls != 0 {
		t.Errorf("counters are %+v", c)
	}
}

func TestLiveIgnoresTheCassette(t *testing.T) {
	path := write(t, "c.jsonl", `{"request":{"messages":[{"role":"user","text":"hi"}]},"reply":{"text":"recorded","finish_reason":"stop"}}`)
	s, _ := newService(t, Options{Replay: path, Live: true})
	got := s.Complete(context.Background(), writer, answers("live"), userSays("hi"))
	if got.GetText() != "live" || got.GetOrigin() != OriginLive || got.GetRequestId() != "r1" {
		t.Errorf("got %v", got)
	}
}

func TestCache(t *testing.T) {
	cache := &memory{}
	s, _ := newService(t, Options{Cache: cache})
	first := s.Complete(context.Background(), writer, answers("one"), userSays("hi"))
	again, _ := newService(t, Options{Cache: cache})
	second := again.Complete(context.Background(), writer, never(t), userSays("hi"))
	if first.GetOrigin() != OriginLive || second.GetOrigin() != OriginCache || second.GetText() != "one" || second.GetModel() != "m-2026" {
		t.Errorf("first %v, second %v", first, second)
	}
	second.Text = "changed by its caller"
	if third := again.Complete(context.Background(), writer, never(t), userSays("hi")); third.GetText() != "one" {
		t.Errorf("the cached answer was changed: %v", third)
	}
	if c := again.Counters(); c.Cached != 2 || c.Calls != 0 || c.Usage != (Usage{}) {
		t.Errorf("counters are %+v", c)
	}

	for name, p := range map[string]*dag.Provider{
		"another model":         {Name: "writer", Plugin: writer.Plugin, Model: "other"},
		"another plugin":        {Name: "writer", Plugin: &dag.Plugin{Source: "builtin/anthropic"}, Model: "m"},
		"another configuration": {Name: "writer", Plugin: writer.Plugin, Model: "m", Config: dag.NewDoc([]byte(`{"base_url":"http://127.0.0.1:1"}`))},
	} {
		if got := again.Complete(context.Background(), p, answers("two"), userSays("hi")); got.GetText() != "two" {
			t.Errorf("%s was given the answer of the first: %v", name, got)
		}
	}
	other, _ := newService(t, Options{Cache: cache, Providers: map[string]ProviderInfo{"writer": {Recipe: Recipe(writer, dag.Digest{}, "2")}}})
	if got := other.Complete(context.Background(), writer, answers("three"), userSays("hi")); got.GetText() != "three" {
		t.Errorf("another wire version was given the answer of the first: %v", got)
	}
}

func TestCachedAnswersAreCanonical(t *testing.T) {
	const text = `{"b":1.0,"a":"\u00e9"}`
	cache := &memory{}
	s, _ := newService(t, Options{Cache: cache})
	s.Complete(context.Background(), writer, answers(text), userSays("hi"))
	for _, got := range cache.m {
		want := `{"finish_reason":"stop","model":"m-2026","text":"{\"b\":1.0,\"a\":\"\\u00e9\"}","usage":{"cached_input":4,"input":10,"output":5}}`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if got := s.Complete(context.Background(), writer, never(t), userSays("hi")); got.GetText() != text {
		t.Errorf("it came back as %s", got.GetText())
	}
}

func TestOnlyWholeAnswersAreCached(t *testing.T) {
	tests := []struct {
		name  string
		reply *proto.CompletionReply
	}{
		{"cut off", &proto.CompletionReply{Text: `{"q":"Wh`, FinishReason: "length"}},
		{"refused", &proto.CompletionReply{FinishReason: "refusal", Refusal: "no"}},
		{"refused with reason stop", &proto.CompletionReply{Text: "x", FinishReason: "stop", Refusal: "no"}},
		{"filtered", &proto.CompletionReply{FinishReason: "content_filter"}},
		{"empty", &proto.CompletionReply{FinishReason: "stop"}},
		{"no reason", &proto.CompletionReply{Text: "x"}},
		{"error", failure(proto.ProviderError_AUTH, "bad key")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cache := &memory{}
			s, _ := newService(t, Options{Cache: cache})
			s.Complete(context.Background(), writer, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
				return test.reply, nil
			}, userSays("hi"))
			if len(cache.m) != 0 {
				t.Errorf("it was cached: %v", cache.m)
			}
		})
	}
}

func TestDamagedCacheIsAskedAnew(t *testing.T) {
	cache := &memory{}
	s, _ := newService(t, Options{Cache: cache})
	s.Complete(context.Background(), writer, answers("one"), userSays("hi"))
	for key := range cache.m {
		cache.m[key] = []byte(`{"text":"o`)
	}
	if got := s.Complete(context.Background(), writer, answers("two"), userSays("hi")); got.GetText() != "two" {
		t.Errorf("got %v", got)
	}
}

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

func TestRetries(t *testing.T) {
	e := func(kind proto.ProviderError_Kind, seconds int64) *proto.ProviderError {
		return &proto.ProviderError{Kind: kind, Message: "told", RetryAfterMillis: seconds * 1000}
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
		{"one of each that passes", []*proto.ProviderError{e(overloaded, 0), e(proto.ProviderError_TIMEOUT, 0), e(proto.ProviderError_UNAVAILABLE, 0)}, 4, []time.Duration{s / 2, s, 2 * s}, ""},
		{"each hint is its own", []*proto.ProviderError{e(limited, 1), e(limited, 5), e(limited, 20)}, 4, []time.Duration{s, 5 * s, 20 * s}, ""},
		{"for ever", []*proto.ProviderError{e(limited, 1), e(limited, 1), e(limited, 1), e(limited, 1), e(limited, 1)}, 4, []time.Duration{s, s, 2 * s}, "RATE_LIMITED: told (after 4 attempts)"},
		{"tomorrow", []*proto.ProviderError{e(limited, 86400)}, 1, nil, "RATE_LIMITED: told (asked to wait 24h0m0s; at most 1m0s are waited)"},
		{"auth", []*proto.ProviderError{e(proto.ProviderError_AUTH, 0)}, 1, nil, "AUTH: told"},
		{"quota", []*proto.ProviderError{e(proto.ProviderError_QUOTA, 0)}, 1, nil, "QUOTA: told"},
		{"invalid", []*proto.ProviderError{e(proto.ProviderError_INVALID_REQUEST, 0)}, 1, nil, "INVALID_REQUEST: told"},
		{"filtered", []*proto.ProviderError{e(proto.ProviderError_CONTENT_FILTERED, 0)}, 1, nil, "CONTENT_FILTERED: told"},
		{"too long", []*proto.ProviderError{e(proto.ProviderError_CONTEXT_TOO_LONG, 0)}, 1, nil, "CONTEXT_TOO_LONG: told"},
		{"unspecified", []*proto.ProviderError{e(proto.ProviderError_UNSPECIFIED, 0)}, 1, nil, "UNSPECIFIED: told"},
		{"a kind of a later version", []*proto.ProviderError{e(99, 0)}, 1, nil, "99: told"},
		{"final after one that passes", []*proto.ProviderError{e(limited, 0), e(proto.ProviderError_AUTH, 0)}, 2, []time.Duration{s / 2}, "AUTH: told"},
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
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
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

func TestConnectionErrorsAreRetried(t *testing.T) {
	s, _ := newService(t, Options{Retry: dag.Retry{Attempts: 2}})
	calls := 0
	reply := s.Complete(context.Background(), writer, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		calls++
		if calls == 1 {
			return nil, nil
		}
		return nil, errors.New("connection reset")
	}, userSays("hi"))
	if got, want := reply.GetError().GetMessage(), "provider writer: connection reset (after 2 attempts)"; got != want || reply.GetError().GetKind() != proto.ProviderError_UNAVAILABLE {
		t.Errorf("got %v %q, want UNAVAILABLE %q", reply.GetError().GetKind(), got, want)
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
	s.Complete(context.Background(), p, big, userSays(strings.Repeat("b", 400))) // waits for its 101
	if len(clock.slept) != 1 || clock.slept[0].Round(100*time.Millisecond) != 10100*time.Millisecond {
		t.Errorf("slept %v, want 10.1s", clock.slept)
	}
}

// A server that says when to come back says it to all callers of the provider.
func TestHintHoldsTheProvider(t *testing.T) {
	s, clock := newService(t, Options{Retry: dag.Retry{Attempts: 1}})
	limited := func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		return &proto.CompletionReply{Error: &proto.ProviderError{Kind: proto.ProviderError_RATE_LIMITED, RetryAfterMillis: 7000}}, nil
	}
	s.Complete(context.Background(), writer, limited, userSays("a"))
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
		{"calls", dag.Budget{Calls: 2}, nil, 2, "the run's budget of 2 calls is spent; raise `calls` in the pipeline's budget block"},
		{"tokens", dag.Budget{Tokens: 100}, nil, 5, "the run's budget of 100 tokens does not cover this call: 75 are spent, and it may take 31 (raise `tokens` in the pipeline's budget block, or bound the answer with max_tokens)"},
		{"dollars", dag.Budget{USD: 0.0001}, price, 3, "the run's budget of $0.00 does not cover this call: $0.0000 are spent, and it may take $0.0001 (raise `usd` in the pipeline's budget block, or bound the answer with max_tokens)"},
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

func TestCost(t *testing.T) {
	price := &dag.Price{Input: 3, CachedInput: 0.3, Output: 15}
	tests := []struct {
		usage Usage
		want  float64
	}{
		{Usage{Input: 1_000_000}, 3},
		{Usage{Input: 1_000_000, CachedInput: 1_000_000}, 0.3},
		{Usage{Input: 1_000_000, CachedInput: 500_000, Output: 100_000, Reasoning: 90_000}, 3.15},
		{Usage{Input: 10, CachedInput: 1_000_000}, 0.000003}, // cached is a part of input, whatever the server says
	}
	for _, test := range tests {
		if got := actual(test.usage, price).usd; got < test.want-1e-12 || got > test.want+1e-12 {
			t.Errorf("%+v costs %v, want %v", test.usage, got, test.want)
		}
	}
}

func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	cache := &memory{}
	run := func(o Options, caller Caller, texts ...string) string {
		t.Helper()
		o.Record, o.Cache = path, cache
		s, _ := newService(t, o)
		for _, text := range texts {
			s.Complete(context.Background(), writer, caller, userSays(text))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	line := func(text, reply string) string {
		return `{"key":"` + mustKey(t, userSays(text)).String() + `","request":{"messages":[{"role":"user","text":"` + text + `"}]},"reply":{` + reply +
			`,"finish_reason":"stop","model":"m-2026","usage":{"input":10,"cached_input":4,"output":5}},"recorded_at":"2026-01-15T10:15:00Z"}` + "\n"
	}
	first := run(Options{}, answers(`{"n":1}`), "b", "a")
	if diff := cmp.Diff(line("a", `"json":{"n":1}`)+line("b", `"json":{"n":1}`), first); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if second := run(Options{}, never(t), "b"); second != first {
		t.Errorf("recording the same anew changed the file:\n%s", cmp.Diff(first, second))
	}
	cache.m = nil
	third := run(Options{}, answers("plain"), "b", "c")
	if diff := cmp.Diff(line("a", `"json":{"n":1}`)+line("b", `"text":"plain"`)+line("c", `"text":"plain"`), third); diff != "" {
		t.Errorf("recorded anew (-want +got):\n%s", diff)
	}
	os.Remove(path)
	if fromCache := run(Options{}, never(t), "b"); fromCache != line("b", `"text":"plain"`) {
		t.Errorf("an answer from the cache was recorded as:\n%s", fromCache)
	}

	s, _ := newService(t, Options{Replay: path})
	if got := s.Complete(context.Background(), writer, nil, userSays("b")); got.GetText() != "plain" {
		t.Errorf("the recording replays as %v", got)
	}
}

// What was paid for is in the file before the run ends.
func TestRecordSurvivesACrash(t *testing.T) {
	path := write(t, "c.jsonl", `{"request":{"messages":[{"role":"user","text":"old"}]},"reply":{"text":"x","finish_reason":"stop"}}`) // no newline
	s, _ := newService(t, Options{Record: path})
	s.Complete(context.Background(), writer, answers("new"), userSays("new"))
	c, err := ReadCassette(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Lookup(mustKey(t, userSays("new"))); !ok || c.Len() != 2 {
		t.Errorf("the file holds %d completions without Close, want both", c.Len())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTwoRecordersKeepEachOthersLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	a, _ := newService(t, Options{Record: path})
	b, _ := newService(t, Options{Record: path})
	a.Complete(context.Background(), writer, answers("1"), userSays("a"))
	b.Complete(context.Background(), writer, answers("2"), userSays("b"))
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := ReadCassette(path)
	if err != nil || c.Len() != 2 {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestSecretsAreNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	var log []string
	s, _ := newService(t, Options{Record: path, Retry: dag.Retry{Attempts: 2}, Log: func(level, message string) { log = append(log, level+": "+message) }})
	p := &dag.Provider{Name: "p", Secrets: map[string]string{"api_key": "sk-canary", "unset": ""}}
	s.Complete(context.Background(), p, answers("your key is sk-canary"), userSays("a"))
	s.Complete(context.Background(), p, answers("x"), userSays("my key is sk-canary"))
	refused := s.Complete(context.Background(), p, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		return nil, errors.New("key sk-canary is unknown")
	}, userSays("b"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := refused.GetError().GetMessage(), "provider p: key (sensitive) is unknown (after 2 attempts)"; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) != 0 {
		t.Errorf("the cassette holds %s (%v)", b, err)
	}
	for _, l := range log {
		if strings.Contains(l, "canary") {
			t.Errorf("logged: %s", l)
		}
	}
	if len(log) != 3 || !strings.HasPrefix(log[0], "warn: a completion of provider p was not recorded: it holds a secret") {
		t.Errorf("log is %q", log)
	}
}

func TestRecordWhileReplaying(t *testing.T) {
	_, err := New(Options{Replay: "c.jsonl", Record: "d.jsonl"})
	if dag.KindOf(err) != dag.KindConfig || err.Error() != "record completions d.jsonl: nothing is called while c.jsonl is replayed, so there is nothing to record" {
		t.Errorf("got %v", err)
	}
}

func TestRecordIntoNoFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "c.jsonl")
	_, err := New(Options{Record: path})
	var e *dag.Error
	if !errors.As(err, &e) || err.Error() != "record completions "+path+": its folder does not exist" || e.Hint != "make the folder first: mkdir -p "+filepath.Dir(path) {
		t.Errorf("got %v, hint %q", err, e.Hint)
	}
}

func TestNoCallerAndNoCassette(t *testing.T) {
	s, _ := newService(t, Options{})
	reply := s.Complete(context.Background(), writer, nil, userSays("hi"))
	if e := reply.GetError(); e.GetKind() != proto.ProviderError_UNAVAILABLE || e.GetMessage() != "provider writer was not started, and no cassette is replayed" {
		t.Errorf("got %v", e)
	}
	bad := userSays("hi")
	bad.Schema = []byte(`{"type":`)
	if e := s.Complete(context.Background(), writer, nil, bad).GetError(); e.GetKind() != proto.ProviderError_INVALID_REQUEST {
		t.Errorf("got %v", e)
	}
}
