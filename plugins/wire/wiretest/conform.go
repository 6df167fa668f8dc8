package wiretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// Canary is the key that every provider of the suite is given: it may reach the
// server in a header, and nothing else.
const Canary = "sk-canary-0123456789"

// Wire is a provider under test.
type Wire struct {
	Provider func() sdk.Provider
	Model    string
	Base     string         // what its base_url has after the server's address
	Config   map[string]any // besides base_url, api_key and stall_timeout

	Refuses  bool   // it tells a refusal apart from an answer
	Filters  bool   // it tells an answer that was withheld
	Overload string // the kind of an overload that is told inside a stream

	CacheRead, CacheWrite, Reasoning bool // what its usage tells apart
}

// Conform runs the suite: what every provider owes its callers, whichever wire it
// speaks.
func Conform(t *testing.T, w Wire) {
	t.Run("answers", w.answers)
	t.Run("ends", w.ends)
	t.Run("broken answers", w.broken)
	t.Run("refusals", w.refusals)
	t.Run("usage", w.usage)
	t.Run("one attempt", w.attempts)
	t.Run("secrets", w.secrets)
	t.Run("cancelled", w.cancelled)
	t.Run("redirects", w.redirects)
}

// completer is the provider, calling a server.
func (w Wire) completer(t *testing.T, base string, change map[string]any) sdk.Completer {
	t.Helper()
	config := map[string]any{"base_url": base + w.Base, "api_key": Canary, "stall_timeout": "10s"}
	for _, members := range []map[string]any{w.Config, change} {
		for name, value := range members {
			config[name] = value
		}
	}
	complete, err := w.Provider().Configure(t.Context(), sdk.ProviderConfig{Provider: "p", Model: w.Model, JSON: []byte(encode(config))})
	if err != nil {
		t.Fatal(err)
	}
	return complete
}

// ask asks a server that does these steps, once.
func (w Wire) ask(t *testing.T, steps ...Step) (*sdk.CompletionReply, *Server, error) {
	t.Helper()
	s := Serve(t, steps...)
	reply, err := w.completer(t, s.URL, nil)(t.Context(), Prompt())
	return reply, s, err
}

// Prompt is what the suite asks: it has a system text, a schema that no server
// takes whole, and no sampling.
func Prompt() *sdk.CompletionRequest {
	return &sdk.CompletionRequest{
		System: "You are brief.",
		Messages: []*sdk.Message{
			{Role: "user", Parts: []*sdk.Part{{Type: "text", Text: "one"}, {Type: "text", Text: "more \u2028"}}},
			{Role: "assistant", Parts: []*sdk.Part{{Type: "text", Text: "two"}}},
			{Role: "user", Parts: []*sdk.Part{{Type: "text", Text: "three"}}},
		},
		Schema: []byte(`{"additionalProperties":false,"properties":{"a":{"maxLength":9,"minLength":1,"type":"string"}},"required":["a"],"type":"object"}`),
	}
}

func (w Wire) answers(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	for name, step := range map[string]Step{
		"in pieces":         {Text: `{"a": "b"}`},
		"a byte at a time":  {Text: `{"a": "ü🙂"}`, Bytes: true},
		"in one piece":      {Text: `{"a": "b"}`, Whole: true},
		"one byte a piece":  {Text: "ab\n\ndata: c", Pieces: 11},
		"with thoughts":     {Text: "answer", Thoughts: "let me think"},
		"thoughts, whole":   {Text: "answer", Thoughts: "let me think", Whole: true},
		"empty":             {Text: ""},
		"a megabyte":        {Text: long, Pieces: 100},
		"line separators":   {Text: "a\u2028b\u2029c\u0085d", Pieces: 7},
		"of another model":  {Text: "a", Model: "another-2026"},
		"in a fence":        {Text: "```json\n{}\n```"},
		"with escapes":      {Text: "\"\\\t\u0000\u001f</script>"},
		"names of the wire": {Text: "data: [DONE]\n\nevent: message_stop\n\n{\"done\":true}", Pieces: 5},
	} {
		t.Run(name, func(t *testing.T) {
			reply, s, err := w.ask(t, step)
			if err != nil {
				t.Fatal(err)
			}
			if reply.Text != step.Text {
				t.Errorf("got the text %.100q, want %.100q", reply.Text, step.Text)
			}
			if reply.FinishReason != "stop" || reply.Refusal != "" || reply.Model != modelOf(step) {
				t.Errorf("got finish reason %q, refusal %q, model %q", reply.FinishReason, reply.Refusal, reply.Model)
			}
			if asked := s.Asked(); len(asked) != 1 || !strings.Contains(fmt.Sprint(asked[0].Body), "three") {
				t.Errorf("the server was asked %v", asked)
			}
			if len(reply.Raw) == 0 && len(reply.Notes) == 0 {
				t.Error("nothing is kept of what the server sent, and no note says so")
			}
		})
	}
}

func (w Wire) ends(t *testing.T) {
	type end struct {
		finish string
		told   bool
		want   []string
	}
	for name, e := range map[string]end{
		"cut off, though it looks whole": {"length", true, []string{"length"}},
		"refused":                        {"refusal", w.Refuses, []string{"refusal", "content_filter"}},
		"withheld":                       {"content_filter", w.Filters, []string{"content_filter", "refusal"}},
	} {
		if !e.told {
			continue
		}
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, whole %v", name, whole), func(t *testing.T) {
				reply, _, err := w.ask(t, Step{Text: `{"a":"b"}`, Finish: e.finish, Whole: whole})
				if err != nil {
					t.Fatal(err)
				}
				got := reply.FinishReason
				if reply.Refusal != "" {
					got = "refusal"
				}
				for _, want := range e.want {
					if got == want {
						return
					}
				}
				t.Errorf("got finish reason %q, refusal %q, want one of %v", reply.FinishReason, reply.Refusal, e.want)
			})
		}
	}
	t.Run("white space without end", func(t *testing.T) {
		reply, _, err := w.ask(t, Step{Text: `{"a":` + strings.Repeat(" \n\t ", 5000), Pieces: 500})
		if err != nil || reply.FinishReason != "length" || len(reply.Notes) == 0 {
			t.Errorf("got %v, %v, want an answer that was cut off, and a note", reply, err)
		}
	})
}

// fails asks once, for an error of one of these kinds.
func (w Wire) fails(t *testing.T, step Step, kinds ...string) *sdk.ProviderError {
	t.Helper()
	_, s, err := w.ask(t, step)
	var p *sdk.ProviderError
	if !errors.As(err, &p) {
		t.Fatalf("got %v, want a *sdk.ProviderError", err)
	}
	if n := len(s.Asked()); n > 1 {
		t.Errorf("the server was asked %d times", n)
	}
	for _, kind := range kinds {
		if p.Kind.String() == kind {
			return p
		}
	}
	t.Errorf("got %s (%s), want %v", p.Kind, p.Message, kinds)
	return p
}

func (w Wire) broken(t *testing.T) {
	text := `{"a":"b","c":"d"}`
	for _, after := range []int{0, 2} {
		for fault, kind := range map[Fault]string{Event: w.Overload, Unmarked: "UNAVAILABLE", Cut: "UNAVAILABLE"} {
			t.Run(fmt.Sprintf("fault %d after %d pieces", fault, after), func(t *testing.T) {
				w.fails(t, Step{Text: text, Fault: fault, After: after}, kind)
			})
		}
	}
	t.Run("reset", func(t *testing.T) { w.fails(t, Step{Fault: Reset}, "UNAVAILABLE") })
	for name, body := range map[string]string{
		"no JSON":          `{malformed json: <<<chaos>>>`,
		"a page":           `<html>sign in</html>`,
		"nothing":          ``,
		"another document": `{"ok":true}`,
		"null":             `null`,
		"no choice":        `{"choices":[],"content":[],"candidates":[],"output":[]}`,
		"null choices":     `{"choices":null,"content":null,"candidates":null,"output":null}`,
	} {
		t.Run("200 with "+name, func(t *testing.T) { w.fails(t, Step{Status: 200, Body: body}, "UNAVAILABLE") })
		t.Run("a stream of "+name, func(t *testing.T) {
			header := http.Header{"Content-Type": {speakerOf(w.path(t)).contentType()}}
			w.fails(t, Step{Status: 200, Header: header, Body: "data: " + body + "\n\n"}, "UNAVAILABLE")
		})
	}
	t.Run("stalled", func(t *testing.T) {
		for _, after := range []int{0, 2} {
			s := Serve(t, Step{Text: text, Fault: Stall, After: after})
			_, err := w.completer(t, s.URL, map[string]any{"stall_timeout": "50ms"})(t.Context(), Prompt())
			var p *sdk.ProviderError
			if !errors.As(err, &p) || p.Kind != proto.ProviderError_TIMEOUT || !strings.Contains(p.Message, "nothing for 50ms") {
				t.Errorf("after %d pieces: got %v, want a timeout", after, err)
			}
		}
	})
	t.Run("no server", func(t *testing.T) {
		s := httptest.NewServer(http.NotFoundHandler())
		s.Close()
		_, err := w.completer(t, s.URL, nil)(t.Context(), Prompt())
		var p *sdk.ProviderError
		if !errors.As(err, &p) || p.Kind != proto.ProviderError_UNAVAILABLE {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no certificate", func(t *testing.T) {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake fails, as it should
		s.StartTLS()
		t.Cleanup(s.Close)
		_, err := w.completer(t, s.URL, nil)(t.Context(), Prompt())
		var p *sdk.ProviderError
		if !errors.As(err, &p) || p.Kind != proto.ProviderError_AUTH {
			t.Errorf("got %v, want AUTH", err)
		}
	})
}

// path is where the provider calls.
func (w Wire) path(t *testing.T) string {
	t.Helper()
	_, s, _ := w.ask(t, Step{Text: "a"})
	path, _, _ := strings.Cut(s.Asked()[0].Path, "?")
	return path
}

func (w Wire) refusals(t *testing.T) {
	for _, tt := range []struct {
		name, body, kind string
		status           int
		header           http.Header
		after            time.Duration
	}{
		{"limit", `{"error":{"message":"slow down"}}`, "RATE_LIMITED", 429, http.Header{"Retry-After": {"20"}}, 20 * time.Second},
		{"limit in milliseconds", `{}`, "RATE_LIMITED", 429, http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"1"}}, 250 * time.Millisecond},
		{"limit without a hint", ``, "RATE_LIMITED", 429, nil, 0},
		{"quota", `{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}`, "QUOTA", 429, nil, 0},
		{"overload", `{}`, "OVERLOADED", 529, nil, 0},
		{"unavailable", `down`, "OVERLOADED", 503, http.Header{"Retry-After": {"3"}}, 3 * time.Second},
		{"error", `{}`, "UNAVAILABLE", 500, nil, 0},
		{"error that stays", `{}`, "INVALID_REQUEST", 500, http.Header{"X-Should-Retry": {"false"}}, 0},
		{"late", `{}`, "TIMEOUT", 408, nil, 0},
		{"key", `{}`, "AUTH", 401, nil, 0},
		{"rights", `{}`, "AUTH", 403, nil, 0},
		{"model", `{}`, "NOT_FOUND", 404, nil, 0},
		{"field", `{"error":{"message":"Unsupported parameter: 'temperature'"}}`, "INVALID_REQUEST", 400, nil, 0},
		{"grammar", `{"error":{"message":"The compiled grammar is too large"}}`, "SCHEMA_UNSUPPORTED", 400, nil, 0},
		{"length", `{"error":{"message":"prompt is too long: 9 > 8"}}`, "CONTEXT_TOO_LONG", 400, nil, 0},
		{"error inside an answer", `{"error":{"message":"busy","type":"rate_limit_error"}}`, "RATE_LIMITED", 200, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := w.fails(t, Step{Status: tt.status, Header: tt.header, Body: tt.body}, tt.kind)
			if p.RetryAfter != tt.after {
				t.Errorf("got a wait of %s, want %s", p.RetryAfter, tt.after)
			}
		})
	}
}

func (w Wire) usage(t *testing.T) {
	told := Usage{Input: 100, Output: 20}
	if w.CacheRead {
		told.CacheRead = 60
	}
	if w.CacheWrite {
		told.CacheWrite = 30
	}
	if w.Reasoning {
		told.Reasoning = 5
	}
	for _, whole := range []bool{false, true} {
		reply, _, err := w.ask(t, Step{Text: "a", Usage: &told, Whole: whole})
		if err != nil {
			t.Fatal(err)
		}
		u := reply.GetUsage()
		got := Usage{Input: u.GetInput(), CacheRead: u.GetCachedInput(), CacheWrite: u.GetCacheWrite(), Output: u.GetOutput(), Reasoning: u.GetReasoning()}
		if diff := cmp.Diff(told, got); diff != "" {
			t.Errorf("whole %v (-want +got):\n%s", whole, diff)
		}
		if len(u.GetRaw()) == 0 {
			t.Errorf("whole %v: the server's own words are not kept", whole)
		}
	}
	t.Run("none", func(t *testing.T) {
		if reply, _, err := w.ask(t, Step{Text: "a"}); err != nil || reply.Usage != nil {
			t.Errorf("got %v, %v, want none", reply.GetUsage(), err)
		}
	})
	t.Run("that cannot be", func(t *testing.T) {
		reply, _, err := w.ask(t, Step{Text: "a", Usage: &Usage{Input: 10, Output: -3}})
		if err != nil || reply.Usage.GetInput() != 10 || reply.Usage.GetOutput() != 0 || len(reply.Notes) == 0 {
			t.Errorf("got %v, %v, want no output, and a note", reply, err)
		}
		if !w.CacheRead {
			return
		}
		reply, _, err = w.ask(t, Step{Text: "a", Usage: &Usage{Input: 10, CacheRead: -4, Output: 3}})
		if err != nil || reply.Usage.GetCachedInput() != 0 || len(reply.Notes) == 0 {
			t.Errorf("got %v, %v, want nothing from the cache, and a note", reply, err)
		}
	})
}

func (w Wire) attempts(t *testing.T) {
	s := Serve(t, Step{Status: 429, Header: http.Header{"Retry-After": {"0"}}, Body: `{}`}, Step{Text: "a"})
	complete := w.completer(t, s.URL, nil)
	if _, err := complete(t.Context(), Prompt()); err == nil {
		t.Error("the refusal was not told")
	}
	if n := len(s.Asked()); n != 1 {
		t.Errorf("%d attempts, want one: retries belong to the host", n)
	}
	if reply, err := complete(t.Context(), Prompt()); err != nil || reply.Text != "a" {
		t.Errorf("got %v, %v", reply, err)
	}
}

func (w Wire) secrets(t *testing.T) {
	for name, step := range map[string]Step{
		"an answer":     {Text: "a", Usage: &Usage{Input: 1, Output: 1}},
		"a refusal":     {Status: 401, Body: `{"error":{"message":"bad key"}}`},
		"a broken one":  {Text: "abc", Fault: Cut, After: 1},
		"a dead server": {Fault: Reset},
	} {
		reply, s, err := w.ask(t, step)
		if told := fmt.Sprint(reply, err); strings.Contains(told, Canary) {
			t.Errorf("%s: the key is told: %s", name, told)
		}
		for _, asked := range s.Asked() {
			if strings.Contains(asked.Path, Canary) || strings.Contains(fmt.Sprint(asked.Body), Canary) {
				t.Errorf("%s: the key stands in the address or in the body", name)
			}
			if !strings.Contains(fmt.Sprint(asked.Header), Canary) {
				t.Errorf("%s: the key was not sent: %v", name, asked.Header)
			}
		}
	}
}

func (w Wire) cancelled(t *testing.T) {
	s := Serve(t, Step{Text: "abc", Fault: Stall, After: 1})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	complete := w.completer(t, s.URL, nil)
	go func() {
		_, err := complete(ctx, Prompt())
		failed <- err
	}()
	for len(s.Asked()) == 0 {
		select {
		case err := <-failed:
			t.Fatalf("ended before the server was asked: %v", err)
		default:
		}
	}
	cancel()
	var p *sdk.ProviderError
	if err := <-failed; !errors.As(err, &p) || p.Message != "the request was cancelled" {
		t.Errorf("got %v", err)
	}
}

func (w Wire) redirects(t *testing.T) {
	other := Serve(t, Step{Text: "a"})
	s := Serve(t, Step{Status: 307, Header: http.Header{"Location": {other.URL + "/v1/elsewhere"}}, Body: "x"})
	_, err := w.completer(t, s.URL, nil)(t.Context(), Prompt())
	var p *sdk.ProviderError
	if !errors.As(err, &p) || p.Kind != proto.ProviderError_INVALID_REQUEST {
		t.Errorf("got %v, want invalid_request", err)
	}
	if len(other.Asked()) > 0 {
		t.Error("the key followed a redirect")
	}
}
