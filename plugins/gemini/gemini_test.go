package gemini

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

func TestConforms(t *testing.T) {
	wiretest.Conform(t, wiretest.Wire{
		Provider: Provider, Model: "gemini-2.5-flash", Refuses: true, Filters: true, Overload: "OVERLOADED", CacheRead: true, Reasoning: true,
	})
}

// TestRequest: what the server is asked, in the API's words.
func TestRequest(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Step{Text: "{}"})
	complete, err := Provider().Configure(t.Context(), sdk.ProviderConfig{Model: "models/gemini 2", JSON: []byte(`{"api_key":"k","base_url":"` + s.URL + `","thinking_budget":0}`)})
	if err != nil {
		t.Fatal(err)
	}
	temperature, seed, most := 0.0, int64(7), int64(50)
	r := wiretest.Prompt()
	r.Schema = []byte(`{"additionalProperties":false,"properties":{"a":{"const":"x"},"b":{"oneOf":[{"minLength":1},{"type":"null"}]}},"type":"object"}`)
	r.Sampling = &sdk.Sampling{Temperature: &temperature, Seed: &seed, MaxTokens: &most, Stop: []string{"END"}}
	reply, err := complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) []any { return []any{map[string]any{"text": s}} }
	want := map[string]any{
		"contents": []any{
			map[string]any{"role": "user", "parts": text("one\nmore \u2028")}, map[string]any{"role": "model", "parts": text("two")}, map[string]any{"role": "user", "parts": text("three")},
		},
		"systemInstruction": map[string]any{"parts": text("You are brief.")},
		"generationConfig": map[string]any{
			"temperature": 0.0, "seed": 7.0, "maxOutputTokens": 50.0, "stopSequences": []any{"END"}, "thinkingConfig": map[string]any{"thinkingBudget": 0.0},
			"responseMimeType": "application/json", "responseJsonSchema": map[string]any{"additionalProperties": false, "type": "object", "properties": map[string]any{
				"a": map[string]any{"enum": []any{"x"}}, "b": map[string]any{"anyOf": []any{map[string]any{}, map[string]any{"type": "null"}}},
			}},
		},
	}
	asked := s.Asked()[0]
	if diff := cmp.Diff(want, asked.Body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if asked.Path != "/v1beta/models/gemini%202:streamGenerateContent?alt=sse" || asked.Header.Get("X-Goog-Api-Key") != "k" {
		t.Errorf("asked %s with %v", asked.Path, asked.Header)
	}
	if diff := cmp.Diff([]string{"the schema was sent anyOf for oneOf (1), enum for const (1), without minLength (1)"}, reply.Notes); diff != "" {
		t.Errorf("the notes (-want +got):\n%s", diff)
	}
}

func TestRefusedPrompt(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Step{Status: 200, Body: `{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4}}`})
	complete, err := Provider().Configure(t.Context(), sdk.ProviderConfig{Model: "m", JSON: []byte(`{"api_key":"k","base_url":"` + s.URL + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := complete(t.Context(), wiretest.Prompt())
	if err != nil || reply.FinishReason != "content_filter" || reply.Usage.GetInput() != 4 {
		t.Errorf("got %v, %v", reply, err)
	}
}
