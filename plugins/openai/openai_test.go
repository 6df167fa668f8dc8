package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// serve answers one request with a status and a body, and gives what was asked.
func serve(t *testing.T, status int, kind, body string) (base string, asked *http.Request, document *map[string]any) {
	t.Helper()
	asked, document = &http.Request{}, &map[string]any{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = *r
		if err := json.NewDecoder(r.Body).Decode(document); err != nil {
			t.Errorf("the request is no JSON: %v", err)
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked, document
}

func complete(t *testing.T, config string, r *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
	t.Helper()
	ask, err := Provider().Configure(context.Background(), sdk.ProviderConfig{Model: "m", JSON: []byte(config)})
	if err != nil {
		t.Fatal(err)
	}
	return ask(context.Background(), r)
}

func request() *sdk.CompletionRequest {
	temperature, seed, most := 0.0, int64(7), int64(100)
	return &sdk.CompletionRequest{
		System: "be brief", Messages: []*sdk.Message{{Role: "user", Parts: []*sdk.Part{{Type: "text", Text: "hello"}}}},
		Schema:   []byte(`{"additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`),
		Sampling: &sdk.Sampling{Temperature: &temperature, Seed: &seed, MaxTokens: &most},
	}
}

func TestChat(t *testing.T) {
	base, asked, document := serve(t, 200, "text/event-stream", `data: {"id":"c-1","model":"m-9","choices":[{"delta":{"role":"assistant","content":"{\"a\":"}}]}

data: {"id":"c-1","model":"m-9","choices":[{"delta":{"content":"\"b\"}"}}]}

data: {"id":"c-1","model":"m-9","choices":[{"delta":{},"finish_reason":"stop"}]}

data: {"id":"c-1","model":"m-9","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}

data: [DONE]

`)
	reply, err := complete(t, `{"api_key":" k\n","base_url":"`+base+`","headers":{"X-Team":"t"}}`, request())
	if err != nil {
		t.Fatal(err)
	}
	if asked.URL.Path != "/chat/completions" || asked.Header.Get("Authorization") != "Bearer k" || asked.Header.Get("X-Team") != "t" {
		t.Errorf("asked %s with %v", asked.URL.Path, asked.Header)
	}
	want := map[string]any{
		"model": "m", "temperature": 0.0, "seed": 7.0, "max_tokens": 100.0, "stream": true, "stream_options": map[string]any{"include_usage": true},
		"messages": []any{map[string]any{"role": "system", "content": "be brief"}, map[string]any{"role": "user", "content": "hello"}},
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "answer", "strict": true, "schema": map[string]any{
			"additionalProperties": false, "properties": map[string]any{"a": map[string]any{"type": "string"}}, "required": []any{"a"}, "type": "object",
		}}},
	}
	if diff := cmp.Diff(want, *document); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	if reply.Text != `{"a":"b"}` || reply.FinishReason != "stop" || reply.Model != "m-9" || reply.RequestId != "c-1" {
		t.Errorf("got %v", reply)
	}
	if u := reply.Usage; u.Input != 9 || u.CachedInput != 4 || u.Output != 5 || u.Reasoning != 2 {
		t.Errorf("got %v", u)
	}
}

func TestStreamWithoutItsEndMark(t *testing.T) {
	base, _, _ := serve(t, 200, "text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n")
	_, err := complete(t, `{"base_url":"`+base+`"}`, request())
	var p *sdk.ProviderError
	if !errors.As(err, &p) || p.Kind != proto.ProviderError_UNAVAILABLE || p.Message != "the server's stream ended after 4 bytes of the answer, without its end mark" {
		t.Errorf("got %v", err)
	}
}

func TestResponses(t *testing.T) {
	base, asked, document := serve(t, 200, "text/event-stream", `event: response.created
data: {"type":"response.created","response":{"status":"in_progress"}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"{}"}

event: response.completed
data: {"type":"response.completed","response":{"id":"r-1","model":"m-9","status":"completed","output":[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text","text":"{}"}]}],"usage":{"input_tokens":3,"output_tokens":2,"output_tokens_details":{"reasoning_tokens":1}}}}

`)
	r := request()
	r.Sampling.Seed = nil
	reply, err := complete(t, `{"base_url":"`+base+`","dialect":{"api":"responses","body":"{\"metadata\":{\"a\":1}}"}}`, r)
	if err != nil {
		t.Fatal(err)
	}
	if asked.URL.Path != "/responses" || (*document)["store"] != false || (*document)["instructions"] != "be brief" || (*document)["metadata"] == nil {
		t.Errorf("asked %s: %v", asked.URL.Path, *document)
	}
	if reply.Text != "{}" || reply.FinishReason != "stop" || reply.Usage.GetReasoning() != 1 {
		t.Errorf("got %v", reply)
	}
}

func TestResponsesThatAreIncomplete(t *testing.T) {
	for reason, want := range map[string]string{
		`null`:                           "length: the server left the response incomplete, for the reason \"\"",
		`{"reason":"steered"}`:           "length: the server left the response incomplete, for the reason \"steered\"",
		`{"reason":"max_output_tokens"}`: "length: ",
		`{"reason":"content_filter"}`:    "content_filter: ",
	} {
		base, _, _ := serve(t, 200, "application/json", `{"status":"incomplete","incomplete_details":`+reason+`,"output":[{"type":"message","content":[{"type":"output_text","text":"{}"}]}]}`)
		r := request()
		r.Sampling = nil
		reply, err := complete(t, `{"base_url":"`+base+`","dialect":{"api":"responses"}}`, r)
		if got := reply.GetFinishReason() + ": " + strings.Join(reply.GetNotes(), "; "); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", reason, got, err, want)
		}
	}
}

func TestConfigureRefuses(t *testing.T) {
	_, err := Provider().Configure(context.Background(), sdk.ProviderConfig{JSON: []byte(`{"api_key":"k","base_url":"nowhere","temperature":3,"top_p":-1,"max_tokens":0.5}`)})
	var diags sdk.Diagnostics
	if !errors.As(err, &diags) {
		t.Fatalf("got %v, want diagnostics", err)
	}
	var got []string
	for _, d := range diags {
		got = append(got, strings.Join(d.Path, ".")+": "+d.Summary)
	}
	want := []string{"base_url: Not an address", "temperature: The number is out of range", "top_p: The number is out of range", "max_tokens: The number is out of range", ": The model is missing"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Provider().Configure(context.Background(), sdk.ProviderConfig{Model: "m", JSON: []byte(`{"api_kye":"k"}`)}); err == nil {
		t.Error("a configuration that means nothing was taken")
	}
}

func TestTheKeyIsSensitive(t *testing.T) {
	for _, f := range Provider().Info.Config {
		if (f.Name == "api_key" || f.Name == "headers") && !f.Sensitive {
			t.Errorf("%s is not sensitive", f.Name)
		}
	}
}

// TestWarned: a block that its user is warned of can be called.
func TestWarned(t *testing.T) {
	complete, err := Provider().Configure(t.Context(), sdk.ProviderConfig{Model: "m", JSON: []byte(`{"api_key":"k","headers":{"Authorization":"mine"}}`)})
	if complete == nil || err == nil || err.Error() != "The key is not sent" {
		t.Errorf("got a completer: %t, and %v", complete != nil, err)
	}
}
