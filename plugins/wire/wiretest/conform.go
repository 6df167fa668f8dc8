package wiretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
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
	ours := &suite{Wire: w, player: own{}}
	ours.group(t, "bills", ours.bills) // by faults that no other server plays all of
	if left := ConformOn(t, w, own{}); len(left) > 0 {
		t.Errorf("not played: %q", left)
	}
}

// ConformOn runs the suite on a server that may not be able to do all that the
// suite asks of one, and gives the names of the cases that were left out for that,
// sorted: who calls it says which they are.
func ConformOn(t *testing.T, w Wire, p Player) (left []string) {
	s := &suite{Wire: w, player: p}
	s.group(t, "answers", s.answers)
	s.group(t, "ends", s.ends)
	s.group(t, "broken answers", s.broken)
	s.group(t, "refusals", s.refusals)
	s.group(t, "usage", s.usage)
	s.group(t, "calls", s.calls)
	slices.Sort(s.left)
	return s.left
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

func (s *suite) answers(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	for name, step := range map[string]Step{
		"in pieces":               {Text: `{"a": "b"}`},
		"a byte at a time":        {Text: `{"a": "ü🙂"}`, Bytes: true},
		"in one piece":            {Text: `{"a": "b"}`, Whole: true},
		"one byte a piece":        {Text: "ab\n\ndata: c", Pieces: 11},
		"with thoughts":           {Text: "answer", Thoughts: "let me think"},
		"thoughts, whole":         {Text: "answer", Thoughts: "let me think", Whole: true},
		"empty":                   {Text: ""},
		"a megabyte":              {Text: long, Pieces: 100},
		"line separators":         {Text: "a\u2028b\u2029c\u0085d", Pieces: 7},
		"of another model":        {Text: "a", Model: "another-2026"},
		"of another model, whole": {Text: "a", Model: "another-2026", Whole: true},
		"in a fence":              {Text: "```json\n{}\n```"},
		"with escapes":            {Text: "\"\\\t\u0000\u001f</script>"},
		"names of the wire":       {Text: "data: [DONE]\n\nevent: message_stop\n\n{\"done\":true}", Pieces: 5},
	} {
		s.run(t, name, func(t *testing.T, at Played) {
			reply, err := s.ask(t, at)
			if err != nil {
				t.Fatal(err)
			}
			if reply.Text != step.Text {
				t.Errorf("got the text %.100q, want %.100q", reply.Text, step.Text)
			}
			if reply.FinishReason != "stop" || reply.Refusal != "" {
				t.Errorf("got finish reason %q, refusal %q", reply.FinishReason, reply.Refusal)
			}
			if step.Model != "" && reply.Model != step.Model {
				t.Errorf("got the model %q, want %q", reply.Model, step.Model)
			}
			if asked := at.Asked(); len(asked) != 1 || !strings.Contains(fmt.Sprint(asked[0].Body), "three") {
				t.Errorf("the server was asked %v", asked)
			}
			if len(reply.Raw) == 0 && len(reply.Notes) == 0 {
				t.Error("nothing is kept of what the server sent, and no note says so")
			}
		}, step)
	}
}

func (s *suite) ends(t *testing.T) {
	type end struct {
		finish string
		told   bool
		want   []string
	}
	for name, e := range map[string]end{
		"cut off, though it looks whole": {"length", true, []string{"length"}},
		"refused and cut off":            {"refusal, cut off", s.Refuses, []string{"refusal", "content_filter"}},
		"refused":                        {"refusal", s.Refuses, []string{"refusal", "content_filter"}},
		"withheld":                       {"content_filter", s.Filters, []string{"content_filter", "refusal"}},
	} {
		if !e.told {
			continue
		}
		for form, whole := range map[string]bool{"streamed": false, "whole": true} {
			s.run(t, name+", "+form, func(t *testing.T, at Played) {
				reply, err := s.ask(t, at)
				if err != nil {
					t.Fatal(err)
				}
				got := reply.FinishReason
				if reply.Refusal != "" {
					got = "refusal"
				}
				if !slices.Contains(e.want, got) {
					t.Errorf("got finish reason %q, refusal %q, want one of %v", reply.FinishReason, reply.Refusal, e.want)
				}
			}, Step{Text: `{"a":"b"}`, Finish: e.finish, Whole: whole})
		}
	}
	s.run(t, "white space without end", func(t *testing.T, at Played) {
		reply, err := s.ask(t, at)
		if err != nil || reply.FinishReason != "length" || len(reply.Notes) == 0 {
			t.Errorf("got %v, %v, want an answer that was cut off, and a note", reply, err)
		}
	}, Step{Text: `{"a":` + strings.Repeat(" \n\t ", 5000), Pieces: 500})
}

func (s *suite) broken(t *testing.T) {
	text := `{"a":"b","c":"d"}`
	for name, after := range map[string]int{"at its start": 0, "in its middle": 2} {
		s.fails(t, "an error in a stream, "+name, s.Overload, Step{Text: text, Fault: Event, After: after})
		s.fails(t, "a stream without its end, "+name, "UNAVAILABLE", Step{Text: text, Fault: Unmarked, After: after})
		s.fails(t, "a stream that is cut, "+name, "UNAVAILABLE", Step{Text: text, Fault: Cut, After: after})
		s.run(t, "a stream that stalls, "+name, func(t *testing.T, at Played) {
			_, err := s.completer(t, at.URL, map[string]any{"stall_timeout": "50ms"})(t.Context(), Prompt())
			var p *sdk.ProviderError
			if !errors.As(err, &p) || p.Kind != proto.ProviderError_TIMEOUT || !strings.Contains(p.Message, "nothing for 50ms") {
				t.Errorf("got %v, want a timeout", err)
			}
		}, Step{Text: text, Fault: Stall, After: after})
	}
	s.fails(t, "a reset", "UNAVAILABLE", Step{Fault: Reset})
	header := http.Header{"Content-Type": {speakerOf(s.path(t)).contentType()}}
	for name, body := range map[string]string{
		"no JSON":          `{malformed json: <<<chaos>>>`,
		"a page":           `<html>sign in</html>`,
		"nothing":          ``,
		"another document": `{"ok":true}`,
		"null":             `null`,
		"no choice":        `{"choices":[],"content":[],"candidates":[],"output":[]}`,
		"null choices":     `{"choices":null,"content":null,"candidates":null,"output":null}`,
	} {
		s.fails(t, "200 with "+name, "UNAVAILABLE", Step{Status: 200, Body: body})
		s.fails(t, "a stream of "+name, "UNAVAILABLE", Step{Status: 200, Header: header, Body: "data: " + body + "\n\n"})
	}
	t.Run("no server", func(t *testing.T) {
		nobody := httptest.NewServer(http.NotFoundHandler())
		nobody.Close()
		_, err := s.ask(t, Played{URL: nobody.URL})
		var p *sdk.ProviderError
		if !errors.As(err, &p) || p.Kind != proto.ProviderError_UNAVAILABLE {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no certificate", func(t *testing.T) {
		unproven := httptest.NewUnstartedServer(http.NotFoundHandler())
		unproven.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake fails, as it should
		unproven.StartTLS()
		t.Cleanup(unproven.Close)
		_, err := s.ask(t, Played{URL: unproven.URL})
		var p *sdk.ProviderError
		if !errors.As(err, &p) || p.Kind != proto.ProviderError_AUTH {
			t.Errorf("got %v, want AUTH", err)
		}
	})
}

// path is where the provider calls.
func (w Wire) path(t *testing.T) string {
	t.Helper()
	s := Serve(t, Step{Text: "a"})
	if _, err := w.completer(t, s.URL, nil)(t.Context(), Prompt()); err != nil {
		t.Fatal(err)
	}
	path, _, _ := strings.Cut(s.Asked()[0].Path, "?")
	return path
}

func (s *suite) refusals(t *testing.T) {
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
		{"account", `{"error":{"message":"pay first"}}`, "QUOTA", 402, nil, 0},
		{"overload", `{}`, "OVERLOADED", 529, nil, 0},
		{"overload, told", `{"error":{"message":"Overloaded","type":"overloaded_error"}}`, "OVERLOADED", 529, nil, 0},
		{"unavailable", `down`, "OVERLOADED", 503, http.Header{"Retry-After": {"3"}}, 3 * time.Second},
		{"unavailable, told", `{"error":{"message":"down"}}`, "OVERLOADED", 503, nil, 0},
		{"error", `{}`, "UNAVAILABLE", 500, nil, 0},
		{"error, told", `{"error":{"message":"oh","type":"server_error"}}`, "UNAVAILABLE", 500, nil, 0},
		{"error that stays", `{}`, "INVALID_REQUEST", 500, http.Header{"X-Should-Retry": {"false"}}, 0},
		{"late", `{}`, "TIMEOUT", 408, nil, 0},
		{"late, told", `{"error":{"message":"too late"}}`, "TIMEOUT", 504, nil, 0},
		{"key", `{}`, "AUTH", 401, nil, 0},
		{"key, told", `{"error":{"message":"Invalid key","type":"authentication_error","code":"invalid_api_key"}}`, "AUTH", 401, nil, 0},
		{"rights", `{}`, "AUTH", 403, nil, 0},
		{"rights, told", `{"error":{"message":"not yours","type":"permission_error"}}`, "AUTH", 403, nil, 0},
		{"model", `{}`, "NOT_FOUND", 404, nil, 0},
		{"model, told", `{"error":{"message":"no such model","type":"not_found_error"}}`, "NOT_FOUND", 404, nil, 0},
		{"field", `{"error":{"message":"Unsupported parameter: 'temperature'"}}`, "INVALID_REQUEST", 400, nil, 0},
		{"grammar", `{"error":{"message":"The compiled grammar is too large"}}`, "SCHEMA_UNSUPPORTED", 400, nil, 0},
		{"length", `{"error":{"message":"prompt is too long: 9 > 8"}}`, "CONTEXT_TOO_LONG", 400, nil, 0},
		{"error inside an answer", `{"error":{"message":"busy","type":"rate_limit_error"}}`, "RATE_LIMITED", 200, nil, 0},
	} {
		s.fails(t, tt.name, tt.kind, Step{Status: tt.status, Header: tt.header, Body: tt.body}, func(t *testing.T, p *sdk.ProviderError) {
			if p.RetryAfter != tt.after {
				t.Errorf("got a wait of %s, want %s", p.RetryAfter, tt.after)
			}
		})
	}
}

func (s *suite) usage(t *testing.T) {
	count := func(u *sdk.Usage) Usage {
		return Usage{Input: u.GetInput(), CacheRead: u.GetCachedInput(), CacheWrite: u.GetCacheWrite(), Output: u.GetOutput(), Reasoning: u.GetReasoning()}
	}
	told := Usage{Input: 100, Output: 20}
	parts := told
	if s.CacheRead {
		parts.CacheRead = 60
	}
	if s.CacheWrite {
		parts.CacheWrite = 30
	}
	if s.Reasoning {
		parts.Reasoning = 5
	}
	for name, step := range map[string]Step{
		"counts": {Text: "a", Usage: &told}, "counts, whole": {Text: "a", Usage: &told, Whole: true},
		"parts": {Text: "a", Usage: &parts}, "parts, whole": {Text: "a", Usage: &parts, Whole: true},
	} {
		s.run(t, name, func(t *testing.T, at Played) {
			reply, err := s.ask(t, at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*step.Usage, count(reply.GetUsage())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(reply.GetUsage().GetRaw()) == 0 {
				t.Error("the server's own words are not kept")
			}
		}, step)
	}
	s.run(t, "none", func(t *testing.T, at Played) {
		if reply, err := s.ask(t, at); err != nil || reply.Usage != nil {
			t.Errorf("got %v, %v, want none", reply.GetUsage(), err)
		}
	}, Step{Text: "a"})
	s.run(t, "that cannot be", func(t *testing.T, at Played) {
		reply, err := s.ask(t, at)
		if err != nil || reply.Usage.GetInput() != 10 || reply.Usage.GetOutput() != 0 || len(reply.Notes) == 0 {
			t.Errorf("got %v, %v, want no output, and a note", reply, err)
		}
	}, Step{Text: "a", Usage: &Usage{Input: 10, Output: -3}})
	if s.CacheRead {
		s.run(t, "a part that cannot be", func(t *testing.T, at Played) {
			reply, err := s.ask(t, at)
			if err != nil || reply.Usage.GetCachedInput() != 0 || len(reply.Notes) == 0 {
				t.Errorf("got %v, %v, want nothing from the cache, and a note", reply, err)
			}
		}, Step{Text: "a", Usage: &Usage{Input: 10, CacheRead: -4, Output: 3}})
	}
}

// calls are about the request: there is one, the key is in its headers and
// nowhere else, it ends when its caller goes away, and it goes nowhere else.
func (s *suite) calls(t *testing.T) {
	s.run(t, "one attempt", func(t *testing.T, at Played) {
		complete := s.completer(t, at.URL, nil)
		if _, err := complete(t.Context(), Prompt()); err == nil {
			t.Error("the refusal was not told")
		}
		if n := len(at.Asked()); n != 1 {
			t.Errorf("%d attempts, want one: retries belong to the host", n)
		}
		if reply, err := complete(t.Context(), Prompt()); err != nil || reply.Text != "a" {
			t.Errorf("got %v, %v", reply, err)
		}
	}, Step{Status: 429, Header: http.Header{"Retry-After": {"0"}}, Body: `{"error":{"message":"m"}}`}, Step{Text: "a"})
	for name, step := range map[string]Step{
		"an answer":     {Text: "a"},
		"a refusal":     {Status: 401, Body: `{"error":{"message":"bad key"}}`},
		"a broken one":  {Text: "abc", Fault: Cut, After: 1},
		"a dead server": {Fault: Reset},
	} {
		s.run(t, "the key, "+name, func(t *testing.T, at Played) {
			reply, err := s.ask(t, at)
			if told := fmt.Sprint(reply, err); strings.Contains(told, Canary) {
				t.Errorf("the key is told: %s", told)
			}
			if len(at.Asked()) != 1 {
				t.Fatalf("the server was asked %v", at.Asked())
			}
			for _, asked := range at.Asked() {
				if strings.Contains(asked.Path, Canary) || strings.Contains(fmt.Sprint(asked.Body), Canary) {
					t.Error("the key stands in the address or in the body")
				}
				if !strings.Contains(fmt.Sprint(asked.Header), Canary) {
					t.Errorf("the key was not sent: %v", asked.Header)
				}
			}
		}, step)
	}
	s.run(t, "cancelled", func(t *testing.T, at Played) {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		complete := s.completer(t, at.URL, nil)
		go func() {
			_, err := complete(ctx, Prompt())
			failed <- err
		}()
		for len(at.Asked()) == 0 {
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
	}, Step{Text: "abc", Fault: Stall, After: 1})
	for what, change := range map[string]func(*sdk.Message){
		"a picture":      func(m *sdk.Message) { m.Parts = append(m.Parts, &sdk.Part{Type: "image", Text: "iVBORw0KGgo="}) },
		"a strange role": func(m *sdk.Message) { m.Role = "tool" },
	} {
		s.run(t, what, func(t *testing.T, at Played) {
			prompt := Prompt()
			change(prompt.Messages[2])
			_, err := s.completer(t, at.URL, nil)(t.Context(), prompt)
			var p *sdk.ProviderError
			if !errors.As(err, &p) || p.Kind != proto.ProviderError_INVALID_REQUEST || !strings.Contains(p.Message, "message 3") {
				t.Errorf("got %v, want the message and INVALID_REQUEST", err)
			}
			if n := len(at.Asked()); n > 0 {
				t.Errorf("the server was asked %d times for less than was meant", n)
			}
		}, Step{Text: "a"})
	}
	other := Serve(t, Step{Text: "a"})
	redirect := Step{Status: 307, Header: http.Header{"Location": {other.URL + "/v1/elsewhere"}}, Body: "x"}
	s.fails(t, "redirected", "INVALID_REQUEST", redirect, func(t *testing.T, _ *sdk.ProviderError) {
		if len(other.Asked()) > 0 {
			t.Error("the key followed a redirect")
		}
	})
}
