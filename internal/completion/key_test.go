package completion

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/encoding/protojson"
	pb "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// keyed says of each field that a request has whether the answer depends on it. A
// field that is added later fails the test until somebody has decided.
var keyed = map[protoreflect.FullName]bool{
	"penstock.plugin.v1.CompletionRequest.system":   true,
	"penstock.plugin.v1.CompletionRequest.messages": true,
	"penstock.plugin.v1.CompletionRequest.schema":   true,
	"penstock.plugin.v1.CompletionRequest.sampling": true,
	"penstock.plugin.v1.CompletionRequest.sample":   true,
	"penstock.plugin.v1.CompletionRequest.handle":   false, // of a process
	"penstock.plugin.v1.Message.role":               true,
	"penstock.plugin.v1.Message.parts":              true,
	"penstock.plugin.v1.Part.type":                  true,
	"penstock.plugin.v1.Part.text":                  true,
	"penstock.plugin.v1.Sampling.temperature":       true,
	"penstock.plugin.v1.Sampling.top_p":             true,
	"penstock.plugin.v1.Sampling.seed":              true,
	"penstock.plugin.v1.Sampling.max_tokens":        true,
	"penstock.plugin.v1.Sampling.stop":              true,
}

// plainRequest sets nothing, so that absent and zero can be told apart by it.
const plainRequest = `{"messages":[{"role":"user","parts":[{"type":"text","text":"hi"}]}]}`

// flips are requests that differ from plainRequest in the field that each stands
// under, and from each other.
var flips = map[protoreflect.FullName][]string{
	"penstock.plugin.v1.CompletionRequest.system": {`{"system":"s","messages":[{"role":"user","parts":[{"type":"text","text":"hi"}]}]}`},
	"penstock.plugin.v1.CompletionRequest.messages": {
		`{"messages":[]}`,
		`{"messages":[{"role":"user","parts":[{"type":"text","text":"hi"}]},{"role":"user","parts":[{"type":"text","text":"hi"}]}]}`,
	},
	"penstock.plugin.v1.CompletionRequest.schema":   {plus(`"schema":"e30="`), plus(`"schema":"eyJ0eXBlIjoib2JqZWN0In0="`)},
	"penstock.plugin.v1.CompletionRequest.sampling": {plus(`"sampling":{"temperature":0.5,"seed":"1"}`)},
	"penstock.plugin.v1.CompletionRequest.sample":   {plus(`"sample":1`), plus(`"sample":2`)},
	"penstock.plugin.v1.CompletionRequest.handle":   {plus(`"handle":7`)},
	"penstock.plugin.v1.Message.role":               {`{"messages":[{"role":"assistant","parts":[{"type":"text","text":"hi"}]}]}`},
	"penstock.plugin.v1.Message.parts": {
		`{"messages":[{"role":"user"}]}`,
		`{"messages":[{"role":"user","parts":[{"type":"text","text":"h"},{"type":"text","text":"i"}]}]}`,
		`{"messages":[{"role":"user","parts":[{"type":"text","text":"hi"},{"type":"text","text":""}]}]}`,
	},
	"penstock.plugin.v1.Part.type":            {`{"messages":[{"role":"user","parts":[{"type":"image","text":"hi"}]}]}`},
	"penstock.plugin.v1.Part.text":            {`{"messages":[{"role":"user","parts":[{"type":"text","text":"ho"}]}]}`},
	"penstock.plugin.v1.Sampling.temperature": {plus(`"sampling":{"temperature":0}`), plus(`"sampling":{"temperature":0.1}`)},
	"penstock.plugin.v1.Sampling.top_p":       {plus(`"sampling":{"topP":0}`), plus(`"sampling":{"topP":0.1}`)},
	"penstock.plugin.v1.Sampling.seed":        {plus(`"sampling":{"seed":"0"}`), plus(`"sampling":{"seed":"1"}`)},
	// A higher limit than one that was asked with is a hit: see raised.go.
	"penstock.plugin.v1.Sampling.max_tokens": {plus(`"sampling":{"maxTokens":"16"}`), plus(`"sampling":{"maxTokens":"0"}`)},
	"penstock.plugin.v1.Sampling.stop":       {plus(`"sampling":{"stop":[""]}`), plus(`"sampling":{"stop":["a"]}`), plus(`"sampling":{"stop":["a","b"]}`)},
}

func plus(member string) string { return plainRequest[:len(plainRequest)-1] + "," + member + "}" }

// TestKeyCoversEachField flips each field of a request and sees a miss, but for
// what says nothing of the answer.
func TestKeyCoversEachField(t *testing.T) {
	cache := &memory{}
	s, _ := newService(t, Options{Cache: cache})
	calls := 0
	ask := func(document string) (hit bool) {
		t.Helper()
		var r proto.CompletionRequest
		if err := protojson.Unmarshal([]byte(document), &r); err != nil {
			t.Fatalf("%s: %v", document, err)
		}
		calls++
		reply := s.Complete(t.Context(), writer, answers(fmt.Sprint(calls)), &r)
		if e := reply.GetError(); e != nil {
			t.Fatalf("%s: %v", document, e)
		}
		return reply.GetOrigin() == OriginCache
	}
	if ask(plainRequest) || !ask(plainRequest) {
		t.Fatal("the first request was a hit, or the second a miss")
	}
	for _, name := range fields((&proto.CompletionRequest{}).ProtoReflect().Descriptor()) {
		covered, decided := keyed[name]
		if !decided {
			t.Errorf("nobody has decided whether an answer depends on %s: see keyed, and completion.Request", name)
			continue
		}
		if len(flips[name]) == 0 {
			t.Errorf("%s is never flipped", name)
		}
		for _, flipped := range flips[name] {
			if hit := ask(flipped); hit == covered {
				t.Errorf("%s: %s was a hit: %v", name, flipped, hit)
			}
			if !ask(flipped) {
				t.Errorf("%s: %s was a miss the second time", name, flipped)
			}
		}
	}
}

// fields lists those of a message and of the messages in it.
func fields(d protoreflect.MessageDescriptor) []protoreflect.FullName {
	var all []protoreflect.FullName
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		all = append(all, f.FullName())
		if f.Message() != nil {
			all = append(all, fields(f.Message())...)
		}
	}
	return all
}

// A field that this version does not know would reach the provider and not the key.
func TestWhatIsNotKnownIsNotAsked(t *testing.T) {
	request := userSays("hi")
	request.Messages[0].ProtoReflect().SetUnknown(protoreflect.RawFields{0x98, 0x06, 0x01}) // field 99
	s, _ := newService(t, Options{})
	reply := s.Complete(t.Context(), writer, never(t), request)
	if e := reply.GetError(); e.GetKind() != proto.ProviderError_INVALID_REQUEST {
		t.Errorf("got %v", reply)
	}
}

// What ended by itself within a limit answers a request with a higher one, and none
// with a lower one or without.
func TestARaisedLimitCostsWhatWasCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		finish  string
		limit   *int64
		another bool
	}{
		"raised, whole":           {"stop", ptr(int64(200)), false},
		"the same, whole":         {"stop", ptr(int64(100)), false},
		"lowered, whole":          {"stop", ptr(int64(50)), true},
		"none, whole":             {"stop", nil, true},
		"raised, cut off":         {"length", ptr(int64(200)), true},
		"raised, a lower between": {"stop", ptr(int64(150)), false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newService(t, Options{Cache: &memory{}})
			ask := func(limit *int64, text string) *proto.CompletionReply {
				r := userSays("hi")
				r.Sampling = &proto.Sampling{MaxTokens: limit, Temperature: ptr(0.5)}
				return s.Complete(t.Context(), writer, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
					return &proto.CompletionReply{Text: text, FinishReason: c.finish}, nil
				}, r)
			}
			ask(ptr(int64(100)), "first")
			if got := ask(c.limit, "second").GetText(); (got == "second") != c.another {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestAskedTwiceInOneVisit: the second time is another request, for another answer;
// a visit that is made once more gets both from the cache.
func TestAskedTwiceInOneVisit(t *testing.T) {
	var given []dag.Completion
	s, _ := newService(t, Options{
		Cache:   &memory{},
		Given:   func(_ context.Context, c dag.Completion) { given = append(given, c) },
		Earlier: func(context.Context) []dag.Completion { return given },
	})
	for range 3 { // the visit, and twice once more
		given = nil
		for n, want := range []string{"one", "two", "three"} {
			if got := s.Complete(t.Context(), writer, answers(want), userSays("hi")); got.GetText() != want {
				t.Errorf("the %d. answer is %s", n+1, got.GetText())
			}
		}
	}
	if c := s.Counters(); c.Calls != 3 || c.Cached != 6 {
		t.Errorf("counters are %+v", c)
	}
}

// Equal requests that are under way at once are one, and those of another sample are
// not equal.
func TestAskedTwiceAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		samples [2]uint32
		calls   int
	}{
		"equal": {[2]uint32{0, 0}, 1}, "two samples": {[2]uint32{1, 2}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := newService(t, Options{Cache: &memory{}})
				answered := make(chan struct{})
				slow := func(ctx context.Context, r *proto.CompletionRequest) (*proto.CompletionReply, error) {
					<-answered
					return answers("one")(ctx, r)
				}
				var all sync.WaitGroup
				for _, sample := range tt.samples {
					all.Go(func() {
						r := userSays("hi")
						r.Sample = sample
						if got := s.Complete(t.Context(), writer, slow, r); got.GetText() != "one" {
							t.Errorf("the answer is %v", got)
						}
					})
				}
				synctest.Wait()
				close(answered)
				all.Wait()
				if c := s.Counters(); c.Calls != tt.calls {
					t.Errorf("%d calls, want %d", c.Calls, tt.calls)
				}
			})
		})
	}
}

// recipeOf says of each field of a provider block whether it is part of what answers.
var recipeOf = map[string]bool{
	"Plugin": true, "Model": true, "Config": true,
	"Name": false, "Unkeyed": false, "Secrets": false, "Limits": false, "Price": false, "Longest": false, "Replaying": false, "Pos": false,
}

func TestRecipeCoversTheProvider(t *testing.T) {
	base := func() *dag.Provider {
		return &dag.Provider{Name: "p", Model: "m", Plugin: &dag.Plugin{Source: "builtin/openai"}, Config: dag.NewDoc([]byte(`{"base_url":"http://a/v1","dialect":{"seed":true}}`))}
	}
	plugin := dag.Sum([]byte("plugin and wire version"))
	for i := range reflect.TypeFor[dag.Provider]().NumField() {
		name := reflect.TypeFor[dag.Provider]().Field(i).Name
		if _, decided := recipeOf[name]; !decided {
			t.Errorf("nobody has decided whether what answers depends on a provider's %s", name)
		}
	}
	for _, c := range []struct {
		field, what string
		change      func(*dag.Provider)
	}{
		{"Model", "another", func(p *dag.Provider) { p.Model = "n" }},
		{"Config", "another host", func(p *dag.Provider) {
			p.Config = dag.NewDoc([]byte(`{"base_url":"http://b/v1","dialect":{"seed":true}}`))
		}},
		{"Config", "another path", func(p *dag.Provider) {
			p.Config = dag.NewDoc([]byte(`{"base_url":"http://a/v2","dialect":{"seed":true}}`))
		}},
		{"Config", "within a block", func(p *dag.Provider) {
			p.Config = dag.NewDoc([]byte(`{"base_url":"http://a/v1","dialect":{"seed":false}}`))
		}},
		{"Config", "absent and zero", func(p *dag.Provider) {
			p.Config = dag.NewDoc([]byte(`{"base_url":"http://a/v1","dialect":{"seed":true},"temperature":0}`))
		}},
		{"Name", "another", func(p *dag.Provider) { p.Name = "q" }},
		{"Unkeyed", "longer", func(p *dag.Provider) { p.Unkeyed = dag.NewDoc([]byte(`{"stall_timeout":"9m"}`)) }},
		{"Secrets", "a key, a header", func(p *dag.Provider) { p.Secrets = map[string]string{"api_key": "k", "headers.x-team": "cards"} }},
		{"Limits", "lower", func(p *dag.Provider) { p.Limits.Concurrency = 1 }},
		{"Price", "known", func(p *dag.Provider) { p.Price = &dag.Price{Input: 1} }},
		{"Replaying", "it is", func(p *dag.Provider) { p.Replaying = true }},
		{"Longest", "known", func(p *dag.Provider) { p.Longest = 9 }},
		{"Pos", "moved", func(p *dag.Provider) { p.Pos.Line = 9 }},
	} {
		p := base()
		c.change(p)
		if changed := Recipe(p, plugin) != Recipe(base(), plugin); changed != recipeOf[c.field] {
			t.Errorf("%s, %s: the recipe is another: %v", c.field, c.what, changed)
		}
	}
	if Recipe(base(), plugin) == Recipe(base(), dag.Sum([]byte("another wire version"))) {
		t.Error("another plugin or wire version has the same recipe")
	}
}

// What one caller does to its answer is not seen by the next.
func TestAnswersAreNotShared(t *testing.T) {
	s, _ := newService(t, Options{Cache: &memory{}})
	first := s.Complete(t.Context(), writer, answers("one"), userSays("hi"))
	for range 2 {
		got := s.Complete(t.Context(), writer, never(t), userSays("hi"))
		want := pb.Clone(first).(*proto.CompletionReply)
		want.Origin = OriginCache
		if !pb.Equal(want, got) {
			t.Errorf("got %v, want %v", got, want)
		}
		got.Text, got.Usage.Input = "changed", 99
	}
}
