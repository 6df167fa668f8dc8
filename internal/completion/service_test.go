package completion

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// memory is a Cache in memory.
type memory struct {
	mu sync.Mutex
	m  map[dag.Digest][]byte // answers, by their keys

	kept []Kept // all, in the order in which they came
}

func (c *memory) Get(_ context.Context, key dag.Digest) ([]byte, dag.Completion, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.m[key]
	return b, dag.Completion{Answer: dag.Sum(b), Keys: []dag.Digest{key}}, ok
}

func (c *memory) Keep(keys []dag.Digest, kept *Kept) dag.Completion {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[dag.Digest][]byte{}
	}
	for _, key := range keys {
		c.m[key] = kept.Answer
	}
	c.kept = append(c.kept, *kept)
	return dag.Completion{Request: dag.Sum(kept.Request), Answer: dag.Sum(kept.Answer), Keys: keys}
}

// fakeTime moves only when the service waits for a moment: it is that moment then.
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

func (f *fakeTime) after(d time.Duration, then func()) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slept = append(f.slept, d)
	f.t = f.t.Add(d)
	go then()
	return func() {}
}

func newService(t *testing.T, o Options) (*Service, *fakeTime) {
	t.Helper()
	f := &fakeTime{t: time.Date(2026, 1, 15, 10, 15, 0, 0, time.UTC)}
	o.Now = f.now
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.clock.after = f.after
	s.jitter = func(time.Duration) time.Duration { return 0 }
	return s, f
}

func answers(text string) Caller {
	return func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		return &proto.CompletionReply{Text: text, FinishReason: "stop", Model: "m-2026", RequestId: "r1", Usage: &proto.Usage{Input: 10, CachedInput: 4, CacheWrite: 2, Output: 5}}, nil
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
	other, _ := newService(t, Options{Cache: cache, Providers: map[string]ProviderInfo{"writer": {Recipe: Recipe(writer, dag.Sum([]byte("2")))}}})
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
		want := `{"asked":"m","finish_reason":"stop","model":"m-2026","request_id":"r1","text":"{\"b\":1.0,\"a\":\"\\u00e9\"}","usage":{"cache_write":2,"cached_input":4,"input":10,"output":5}}`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if got := s.Complete(context.Background(), writer, never(t), userSays("hi")); got.GetText() != text {
		t.Errorf("it came back as %s", got.GetText())
	}
}

func TestR29OnlyWholeAnswersAreCached(t *testing.T) {
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
