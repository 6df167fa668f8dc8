package completion

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

func userSays(text string) *proto.CompletionRequest {
	return &proto.CompletionRequest{Messages: []*proto.Message{{Role: "user", Parts: []*proto.Part{{Type: "text", Text: text}}}}}
}

func ptr[T any](v T) *T { return &v }

func mustRequest(t *testing.T, wire *proto.CompletionRequest) *Request {
	t.Helper()
	r, err := newRequest(wire, schemaDigest)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustKey(t *testing.T, wire *proto.CompletionRequest) dag.Digest {
	t.Helper()
	key, err := mustRequest(t, wire).Key()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestCanonicalRequest(t *testing.T) {
	wire := &proto.CompletionRequest{
		System: "Be <brief>.\u2028",
		Messages: []*proto.Message{
			{Role: "user", Parts: []*proto.Part{{Text: "a \"card\"\n"}}},
			{Role: "assistant", Parts: []*proto.Part{{Type: "text", Text: "one"}, {Type: "text", Text: "two"}}},
		},
		Schema:   []byte(`{ "type" : "object" }`),
		Sampling: &proto.Sampling{Temperature: ptr(0.0), TopP: ptr(1e-7), Seed: ptr(int64(7)), MaxTokens: ptr(int64(100)), Stop: []string{"END"}},
		Sample:   2,
	}
	got, err := mustRequest(t, wire).canonical()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"messages":[{"role":"user","text":"a \"card\"\n"},{"parts":[{"text":"one","type":"text"},{"text":"two","type":"text"}],"role":"assistant"}],` +
		`"sample":2,"sampling":{"max_tokens":100,"seed":7,"stop":["END"],"temperature":0,"top_p":1e-7},` +
		`"schema":"5fc8a3f9ee37d8e41e0c8a7a9a4b6b42a1a4b9c28a4f3d5b7c0f6b2b6a1c9f00","system":"Be <brief>.` + "\u2028" + `"}`
	want = strings.Replace(want, "5fc8a3f9ee37d8e41e0c8a7a9a4b6b42a1a4b9c28a4f3d5b7c0f6b2b6a1c9f00", dag.Sum([]byte(`{"type":"object"}`)).String(), 1)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("canonical request (-want +got):\n%s", diff)
	}
}

// Everything that the answer depends on must change the key: most caches that
// gave a wrong answer had left one of these out.
func TestKeyCoversTheRequest(t *testing.T) {
	base := func() *proto.CompletionRequest {
		r := userSays("write a card")
		r.System = "You write cards."
		r.Schema = []byte(`{"type":"object"}`)
		r.Sampling = &proto.Sampling{Temperature: ptr(0.5), TopP: ptr(0.9), Seed: ptr(int64(1)), MaxTokens: ptr(int64(100)), Stop: []string{"END"}}
		return r
	}
	changes := map[string]func(*proto.CompletionRequest){
		"system":           func(r *proto.CompletionRequest) { r.System = "" },
		"text":             func(r *proto.CompletionRequest) { r.Messages[0].Parts[0].Text += " " },
		"role":             func(r *proto.CompletionRequest) { r.Messages[0].Role = "assistant" },
		"one message more": func(r *proto.CompletionRequest) { r.Messages = append(r.Messages, r.Messages[0]) },
		"two parts": func(r *proto.CompletionRequest) {
			r.Messages[0].Parts = append(r.Messages[0].Parts, &proto.Part{Text: "x"})
		},
		"schema":              func(r *proto.CompletionRequest) { r.Schema = []byte(`{"type":"array"}`) },
		"no schema":           func(r *proto.CompletionRequest) { r.Schema = nil },
		"temperature":         func(r *proto.CompletionRequest) { r.Sampling.Temperature = ptr(0.6) },
		"temperature zero":    func(r *proto.CompletionRequest) { r.Sampling.Temperature = ptr(0.0) },
		"temperature absent":  func(r *proto.CompletionRequest) { r.Sampling.Temperature = nil },
		"top_p":               func(r *proto.CompletionRequest) { r.Sampling.TopP = nil },
		"seed":                func(r *proto.CompletionRequest) { r.Sampling.Seed = ptr(int64(2)) },
		"seed absent":         func(r *proto.CompletionRequest) { r.Sampling.Seed = nil },
		"max_tokens":          func(r *proto.CompletionRequest) { r.Sampling.MaxTokens = ptr(int64(4000)) },
		"stop":                func(r *proto.CompletionRequest) { r.Sampling.Stop = nil },
		"another sample":      func(r *proto.CompletionRequest) { r.Sample = 1 },
		"no sampling at all":  func(r *proto.CompletionRequest) { r.Sampling = nil },
		"stop with two words": func(r *proto.CompletionRequest) { r.Sampling.Stop = []string{"END", "STOP"} },
	}
	seen := map[dag.Digest]string{mustKey(t, base()): "the request itself"}
	for name, change := range changes {
		r := base()
		change(r)
		key := mustKey(t, r)
		if other, ok := seen[key]; ok {
			t.Errorf("%s: the key is that of %s", name, other)
		}
		seen[key] = name
	}

	same := base()
	same.Schema = []byte(" { \"type\" : \"object\" } ")
	same.Handle = 9
	same.Messages[0].Parts[0].Type = ""
	if mustKey(t, same) != mustKey(t, base()) {
		t.Error("layout of the schema, handle or an untyped text part changed the key")
	}
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadCassette(t *testing.T) {
	const good = `{"request":{"messages":[{"role":"user","text":"hi"}]},"reply":{"text":"hello","finish_reason":"stop"}}`
	tests := []struct{ name, content, want string }{
		{"empty", "", ""},
		{"blank lines and CRLF", "\n" + good + "\r\n\n", ""},
		{"no newline at the end", good, ""},
		{"torn at the end", good + "\n" + good[:40], ""},
		{"cut off", good + "\n" + good[:40] + "\n", "read cassette FILE:2: not JSON at column 41, in /request/messages/0: unexpected EOF"},
		{"two documents on a line", good + good, "read cassette FILE:1: not JSON at column 103: invalid character '{' after top-level value"},
		{"name twice", strings.Replace(good, `"reply"`, `"request"`, 1), `read cassette FILE:1: not JSON at column 55, in /request: duplicate object member name`},
		{"unknown member", strings.Replace(good, `"text":"hello"`, `"txt":"hello"`, 1), "read cassette FILE:1: /reply/txt is not a member of a recorded completion"},
		{"wrong type", strings.Replace(good, `"hello"`, `7`, 1), "read cassette FILE:1: /reply/text cannot be a JSON number"},
		{"bad digest", `{"key":"abc",` + good[1:], "read cassette FILE:1: /key: a digest has 64 hex digits, this has 3 characters"},
		{"another request's key", `{"key":"` + strings.Repeat("0a", 32) + `",` + good[1:],
			"read cassette FILE:1: key is 0a0a0a0a0a0a, but the request's own is KEY: leave the key out after an edit by hand"},
		{"no messages", `{"request":{"messages":[]},"reply":{"finish_reason":"stop"}}`,
			"read cassette FILE:1: request.messages is missing or empty: a recorded request has at least one message"},
		{"no role", `{"request":{"messages":[{"text":"hi"}]},"reply":{"finish_reason":"stop"}}`,
			`read cassette FILE:1: request.messages[0].role is missing: write "user" or "assistant"`},
		{"text and parts", `{"request":{"messages":[{"role":"user","text":"hi","parts":[{"type":"text","text":"hi"}]}]},"reply":{"finish_reason":"stop"}}`,
			"read cassette FILE:1: request.messages[0] has both text and parts: write one of them"},
		{"no finish reason", `{"request":{"messages":[{"role":"user","text":"hi"}]},"reply":{"text":"x"}}`,
			`read cassette FILE:1: reply.finish_reason is "": write one of stop, length, refusal, content_filter`},
		{"text and json", `{"request":{"messages":[{"role":"user","text":"hi"}]},"reply":{"text":"x","json":{},"finish_reason":"stop"}}`,
			"read cassette FILE:1: reply has both text and json: write one of them"},
		{"after letters of several bytes", strings.Replace(good, "hello", "äöü日"+"\x00", 1), "read cassette FILE:1: not JSON at column 76, in /reply/text: invalid character '\\x00' in string (expecting non-control character)"},
		{"lone surrogate", strings.Replace(good, "hello", `\ud800`, 1), "read cassette FILE:1: not JSON at column 72, in /reply/text: invalid surrogate pair `\\ud800\",\"fin` in string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, "cassette.jsonl", test.content)
			_, err := ReadCassette(path)
			got := ""
			if err != nil {
				got = strings.Replace(err.Error(), path, "FILE", 1)
				got = strings.Replace(got, mustKey(t, userSays("hi")).Short(), "KEY", 1)
				if dag.KindOf(err) != dag.KindConfig {
					t.Errorf("kind is %v, want KindConfig", dag.KindOf(err))
				}
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestReadCassetteThatIsNotThere(t *testing.T) {
	_, err := ReadCassette("no/such/cassette.jsonl")
	var e *dag.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *dag.Error", err)
	}
	want := dag.Error{Op: "open cassette", Subject: "no/such/cassette.jsonl", Kind: dag.KindConfig, Hint: "record one with: penstock run --live --record no/such/cassette.jsonl"}
	if got := *e; got.Error() != "open cassette no/such/cassette.jsonl: file does not exist" || got.Hint != want.Hint || !errors.Is(err, &want) {
		t.Errorf("got %q, hint %q", got.Error(), got.Hint)
	}
}

func TestLaterLineHolds(t *testing.T) {
	path := write(t, "c.jsonl", `{"request":{"messages":[{"role":"user","text":"hi"}]},"reply":{"text":"one","finish_reason":"stop"}}
{"request":{"messages":[{"role":"user","text":"hi"}]},"reply":{"text":"two","finish_reason":"stop"}}
`)
	c, err := ReadCassette(path)
	if err != nil {
		t.Fatal(err)
	}
	e, ok := c.Lookup(mustKey(t, userSays("hi")))
	if !ok || e.Reply.Text != "two" || c.Len() != 1 {
		t.Errorf("got %+v of %d, want the later line alone", e, c.Len())
	}
}

// What the model wrote must come back byte for byte, whether the line shows it
// as text or as a document.
func TestReplyRoundTrip(t *testing.T) {
	for _, text := range []string{
		``, `hello`, `{"q":"Who?"}`, "{ \"q\": \"Who?\" }\n", `{"q":"\u00e9"}`, `{"q":"é"}`, `{"a":1,"a":2}`, `{"n":1.0}`, `null`, `"x"`, `12`, `1e2`,
		"```json\n{}\n```", `{"b":1,"a":2}`, `{"q":"a\/b"}`, `[]`, `tru`,
	} {
		e := Entry{Request: *mustRequest(t, userSays("hi")), Reply: newReply(&proto.CompletionReply{Text: text, FinishReason: "stop"})}
		line, err := e.Line()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		back, err := parseEntry(line)
		if err != nil {
			t.Fatalf("%q: %v in %s", text, err, line)
		}
		if got := back.Reply.text(); got != text {
			t.Errorf("%q came back as %q from %s", text, got, line)
		}
	}
}

func TestWriteIsStable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	add := func(order ...string) string {
		c := NewCassette(path)
		for _, text := range order {
			wire := userSays(text)
			if text == "c" {
				wire.System = "s"
			}
			e := Entry{Request: *mustRequest(t, wire), Reply: Reply{Text: "to " + text, FinishReason: "stop", Model: "m"}}
			if err := c.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Write(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	key := func(text string) string { return mustKey(t, userSays(text)).String() }
	withSystem := userSays("c")
	withSystem.System = "s"
	want := `{"key":"` + key("a") + `","request":{"messages":[{"role":"user","text":"a"}]},"reply":{"text":"to a","finish_reason":"stop","model":"m"}}
{"key":"` + key("b") + `","request":{"messages":[{"role":"user","text":"b"}]},"reply":{"text":"to b","finish_reason":"stop","model":"m"}}
{"key":"` + mustKey(t, withSystem).String() + `","request":{"messages":[{"role":"user","text":"c"}],"system":"s"},"reply":{"text":"to c","finish_reason":"stop","model":"m"}}
`
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "b", "a", "b"}} {
		if diff := cmp.Diff(want, add(order...)); diff != "" {
			t.Errorf("order %v (-want +got):\n%s", order, diff)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".c.jsonl.*")); err != nil || len(left) != 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
}

func FuzzReadCassette(f *testing.F) {
	f.Add([]byte(`{"request":{"messages":[{"role":"user","text":"hi"}]},"reply":{"text":"hello","finish_reason":"stop"}}` + "\n"))
	f.Add([]byte(`{"note":"x","request":{"messages":[{"role":"user","parts":[{"type":"text","text":"hi"}]}],"sampling":{"temperature":0}},"reply":{"json":{"a":[1]},"finish_reason":"length","usage":{"input":3}},"recorded_at":"2026-01-15T10:15:00Z"}`))
	f.Add([]byte("\n\n{"))
	f.Fuzz(func(t *testing.T, content []byte) {
		c := NewCassette("c.jsonl")
		if c.read(strings.NewReader(string(content))) != nil {
			return
		}
		var written strings.Builder
		for _, e := range c.Entries() {
			line, err := e.Line()
			if err != nil {
				t.Fatalf("a line that was read cannot be written: %v", err)
			}
			written.Write(line)
		}
		again := NewCassette("c.jsonl")
		if err := again.read(strings.NewReader(written.String())); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written.String())
		}
		if again.Len() != c.Len() {
			t.Fatalf("%d entries were written, %d read", c.Len(), again.Len())
		}
		for key, e := range c.entries {
			if got := again.entries[key]; got == nil || !got.Reply.same(&e.Reply) {
				t.Fatalf("entry %s came back as %+v, was %+v", key, got, e)
			}
		}
	})
}
