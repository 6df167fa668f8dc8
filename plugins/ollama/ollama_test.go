package ollama

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

func TestConforms(t *testing.T) {
	wiretest.Conform(t, wiretest.Wire{Provider: Provider, Model: "llama3.2", Overload: "UNAVAILABLE"})
}

// TestRequest: what the server is asked, in the API's words.
func TestRequest(t *testing.T) {
	s := wiretest.Serve(t, wiretest.Step{Text: "{}", Usage: &wiretest.Usage{Input: 6, Output: 4}})
	complete, err := Provider().Configure(t.Context(), sdk.ProviderConfig{Model: "llama3.2", JSON: []byte(`{"base_url":"` + s.URL + `","num_ctx":10,"keep_alive":"5m"}`)})
	if err != nil {
		t.Fatal(err)
	}
	temperature, seed, most := 0.0, int64(7), int64(50)
	r := wiretest.Prompt()
	r.Schema = []byte(`{"type":"object"}`)
	r.Sampling = &sdk.Sampling{Temperature: &temperature, Seed: &seed, MaxTokens: &most, Stop: []string{"END"}}
	reply, err := complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	says := func(role, text string) any { return map[string]any{"role": role, "content": text} }
	want := map[string]any{
		"model": "llama3.2", "stream": true, "think": false, "keep_alive": "5m", "format": map[string]any{"type": "object"},
		"messages": []any{says("system", "You are brief."), says("user", "one\nmore \u2028"), says("assistant", "two"), says("user", "three")},
		"options":  map[string]any{"num_ctx": 10.0, "temperature": 0.0, "seed": 7.0, "num_predict": 50.0, "stop": []any{"END"}},
	}
	asked := s.Asked()[0]
	if diff := cmp.Diff(want, asked.Body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if asked.Path != "/api/chat" || asked.Header.Get("Authorization") != "" {
		t.Errorf("asked %s with %v", asked.Path, asked.Header)
	}
	if want := []string{"prompt and answer fill the context of 10 tokens, so that one of them was cut; raise num_ctx"}; reply.FinishReason != "length" || !cmp.Equal(want, reply.Notes) {
		t.Errorf("a full context ends %q, %v", reply.FinishReason, reply.Notes)
	}
}

func TestEnds(t *testing.T) {
	for reason, kind := range map[string]string{"": "UNAVAILABLE", "load": "UNAVAILABLE", "unload": "UNAVAILABLE"} {
		s := wiretest.Serve(t, wiretest.Step{Status: 200, Body: `{"model":"m","message":{"content":""},"done":true,"done_reason":"` + reason + `"}`})
		complete, err := Provider().Configure(t.Context(), sdk.ProviderConfig{Model: "m", JSON: []byte(`{"base_url":"` + s.URL + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		var p *sdk.ProviderError
		if _, err := complete(t.Context(), wiretest.Prompt()); !errors.As(err, &p) || p.Kind.String() != kind {
			t.Errorf("%q: got %v", reason, err)
		}
	}
}
