package network

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/penstock-run/penstock/plugins/anthropic"
	"github.com/penstock-run/penstock/plugins/gemini"
	"github.com/penstock-run/penstock/plugins/ollama"
	"github.com/penstock-run/penstock/plugins/openai"
	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// toxic is what a proxy does to what the server sends.
type toxic struct {
	Type       string           `json:"type"`
	Attributes map[string]int64 `json:"attributes"` // bytes, milliseconds, kilobytes a second
}

// proxy stands before a server, with what is wrong with it, and gives its address.
func proxy(t *testing.T, upstream string, toxics []toxic) string {
	t.Helper()
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(api, "model", "127.0.0.1:0", strings.TrimPrefix(upstream, "http://"))
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	for _, one := range toxics {
		text, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Toxics.AddToxicJson(strings.NewReader(string(text))); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if toxics == nil {
		p.Stop() // the proxy itself is what is wrong
	}
	return "http://" + p.Listen
}

var providers = map[string]struct {
	provider           func() sdk.Provider
	model, base, extra string
}{
	"openai, chat":             {openai.Provider, "m", "/v1", ""},
	"openai, chat, whole":      {openai.Provider, "m", "/v1", `,"dialect":{"stream":false}`},
	"openai, responses":        {openai.Provider, "m", "/v1", `,"dialect":{"api":"responses"}`},
	"openai, responses, whole": {openai.Provider, "m", "/v1", `,"dialect":{"api":"responses","stream":false}`},
	"anthropic":                {anthropic.Provider, "claude-sonnet-4-5", "", ""},
	"gemini":                   {gemini.Provider, "gemini-2.5-flash", "", ""},
	"ollama":                   {ollama.Provider, "llama3.2", "", ""},
}

// TestNetwork: whatever a network does, a call ends as what became of it, and an
// answer is whole or none.
func TestNetwork(t *testing.T) {
	text := `{"a": "` + strings.Repeat("ü🙂\u2028", 40) + `"}`
	answer := wiretest.Step{Text: text, Pieces: 9, Usage: &wiretest.Usage{Input: 100, Output: 20}}
	for name, tt := range map[string]struct {
		toxics []toxic
		stall  string
		want   string // the kind of the error; empty: the answer is whole
		says   string // a part of its message
	}{
		"late":                       {[]toxic{{"latency", map[string]int64{"latency": 100}}}, "30s", "", ""},
		"later than the stall":       {[]toxic{{"latency", map[string]int64{"latency": 60_000}}}, "100ms", "TIMEOUT", "the server sent nothing for 100ms"},
		"slow, and cut anywhere":     {[]toxic{{"bandwidth", map[string]int64{"rate": 50}}, {"slicer", map[string]int64{"average_size": 7, "size_variation": 3}}}, "30s", "", ""},
		"slow, a byte at a time":     {[]toxic{{"slicer", map[string]int64{"average_size": 1}}}, "30s", "", ""},
		"cut in the headers":         {[]toxic{{"limit_data", map[string]int64{"bytes": 60}}}, "30s", "UNAVAILABLE", "closed the connection before its answer was whole"},
		"cut in the body":            {[]toxic{{"limit_data", map[string]int64{"bytes": 400}}}, "30s", "UNAVAILABLE", "closed the connection before its answer was whole"},
		"reset":                      {[]toxic{{"reset_peer", map[string]int64{"timeout": 0}}}, "30s", "UNAVAILABLE", "reset"},
		"silent for ever":            {[]toxic{{"timeout", map[string]int64{"timeout": 0}}}, "100ms", "TIMEOUT", "the server sent nothing for 100ms"},
		"silent, and closed at last": {[]toxic{{"timeout", map[string]int64{"timeout": 100}}}, "30s", "UNAVAILABLE", "closed the connection before its answer was whole"},
		"refused":                    {nil, "30s", "UNAVAILABLE", "connection refused"},
	} {
		for provider, p := range providers {
			t.Run(name+", "+provider, func(t *testing.T) {
				t.Parallel() // most of it is waiting
				at := proxy(t, wiretest.Serve(t, answer).URL, tt.toxics)
				complete, err := p.provider().Configure(t.Context(), sdk.ProviderConfig{
					Model: p.model, JSON: []byte(`{"api_key":"k","base_url":"` + at + p.base + `","stall_timeout":"` + tt.stall + `"` + p.extra + `}`),
				})
				if err != nil {
					t.Fatal(err)
				}
				reply, err := complete(t.Context(), wiretest.Prompt())
				if tt.want == "" {
					if err != nil || reply.Text != text || reply.FinishReason != "stop" || reply.GetUsage().GetOutput() != 20 {
						t.Errorf("got %v, %v, want the answer", reply, err)
					}
					return
				}
				var failed *sdk.ProviderError
				if !errors.As(err, &failed) {
					t.Fatalf("got %v, %v, want an error", reply, err)
				}
				if diff := cmp.Diff(tt.want, failed.Kind.String()); diff != "" || !strings.Contains(failed.Message, tt.says) {
					t.Errorf("got %s: %s, want %s: …%s…", failed.Kind, failed.Message, tt.want, tt.says)
				}
			})
		}
	}
}
