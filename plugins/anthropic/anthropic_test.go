package anthropic

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

func TestConforms(t *testing.T) {
	wiretest.Conform(t, wiretest.Wire{
		Provider: Provider, Model: "claude-sonnet-4-5", Refuses: true, Filters: true, Overload: "OVERLOADED",
		CacheRead: true, CacheWrite: true, Reasoning: true,
	})
}

// TestRequest: what the server is asked, in the API's words.
func TestRequest(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Step{Text: "{}"})
	ask := func(model, config string, change func(*sdk.CompletionRequest)) (wiretest.Request, *sdk.CompletionReply) {
		t.Helper()
		complete, err := Provider().Configure(t.Context(), sdk.ProviderConfig{Model: model, JSON: []byte(`{"api_key":"k","base_url":"` + s.URL + `"` + config + `}`)})
		if err != nil {
			t.Fatal(err)
		}
		r := wiretest.Prompt()
		change(r)
		reply, err := complete(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		asked := s.Asked()
		return asked[len(asked)-1], reply
	}
	temperature, most := 0.0, int64(50)
	asked, reply := ask("claude-sonnet-4-5", `,"effort":"low","thinking":"disabled"`, func(r *sdk.CompletionRequest) {
		r.Sampling = &sdk.Sampling{Temperature: &temperature, MaxTokens: &most, Stop: []string{"END"}}
	})
	messages := []any{
		map[string]any{"role": "user", "content": "one\nmore \u2028"}, map[string]any{"role": "assistant", "content": "two"}, map[string]any{"role": "user", "content": "three"},
	}
	want := map[string]any{
		"model": "claude-sonnet-4-5", "max_tokens": 50.0, "temperature": 0.0, "stop_sequences": []any{"END"}, "stream": true,
		"system": []any{map[string]any{"type": "text", "text": "You are brief."}}, "messages": messages, "thinking": map[string]any{"type": "disabled"},
		"output_config": map[string]any{"effort": "low", "format": map[string]any{"type": "json_schema", "schema": map[string]any{
			"additionalProperties": false, "properties": map[string]any{"a": map[string]any{"type": "string"}}, "required": []any{"a"}, "type": "object",
		}}},
	}
	if diff := cmp.Diff(want, asked.Body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if asked.Path != "/v1/messages" || asked.Header.Get("X-Api-Key") != "k" || asked.Header.Get("Anthropic-Version") != "2023-06-01" {
		t.Errorf("asked %s with %v", asked.Path, asked.Header)
	}
	if diff := cmp.Diff([]string{"the schema was sent without maxLength (1), without minLength (1)"}, reply.Notes); diff != "" || len(reply.WireSchema) == 0 {
		t.Errorf("the notes (-want +got):\n%s", diff)
	}
	asked, _ = ask("claude-3-5-haiku-latest", ``, func(*sdk.CompletionRequest) {})
	if asked.Body["output_config"] != nil || asked.Body["tool_choice"] == nil || asked.Body["max_tokens"] != 8192.0 {
		t.Errorf("an older model was asked %v", asked.Body)
	}
}

func TestToolAnswers(t *testing.T) {
	for name, step := range map[string]wiretest.Step{
		"whole": {Status: 200, Body: `{"type":"message","model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","name":"answer","input":{"a":"b"}}]}`},
		"stream": {Status: 200, Header: map[string][]string{"Content-Type": {"text/event-stream"}}, Body: `data: {"type":"message_start","message":{"id":"i"}}

data: {"type":"content_block_start","content_block":{"type":"tool_use","name":"answer","input":{}}}

data: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}

data: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"\"b\"}"}}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}

data: {"type":"message_stop"}

`},
	} {
		s := wiretest.Serve(t, step)
		complete, err := Provider().Configure(t.Context(), sdk.ProviderConfig{Model: "claude-3-haiku", JSON: []byte(`{"api_key":"k","base_url":"` + s.URL + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := complete(t.Context(), wiretest.Prompt())
		if err != nil || reply.Text != `{"a":"b"}` || reply.FinishReason != "stop" {
			t.Errorf("%s: got %v, %v", name, reply, err)
		}
	}
}

func TestNeverLeftOutInSilence(t *testing.T) {
	seed, temperature := int64(1), 0.5
	for _, tt := range []struct {
		config string
		asks   *sdk.Sampling
		want   string
	}{
		{``, &sdk.Sampling{Seed: &seed}, "the API takes no seed; remove it from the stage"},
		{`,"version":"2026-10-21"`, &sdk.Sampling{Temperature: &temperature}, "version 2026-10-21 of the API takes neither temperature nor top_p; remove them"},
	} {
		complete, err := Provider().Configure(t.Context(), sdk.ProviderConfig{Model: "m", JSON: []byte(`{"api_key":"k"` + tt.config + `}`)})
		if err != nil {
			t.Fatal(err)
		}
		r := wiretest.Prompt()
		r.Sampling = tt.asks
		var p *sdk.ProviderError
		if _, err := complete(t.Context(), r); !errors.As(err, &p) || p.Message != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// A part of the input that is less than none does not take from the others.
func TestInputOfLessThanNone(t *testing.T) {
	m := &message{usage: map[string]json.RawMessage{"input_tokens": json.RawMessage("-5"), "cache_read_input_tokens": json.RawMessage("100"), "output_tokens": json.RawMessage("7")}}
	usage, notes := m.tokens()
	if usage.Input != 100 || usage.CachedInput != 100 || usage.Output != 7 || !usage.Adjusted {
		t.Errorf("counted as %+v", usage)
	}
	want := []string{"the server's usage tells -5 tokens of input that was not cached, which is taken as none"}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
