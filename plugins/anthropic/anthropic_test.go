package anthropic

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

func TestCompleteSaysThatItCannot(t *testing.T) {
	complete, err := Provider().Configure(context.Background(), sdk.ProviderConfig{Model: "m", JSON: []byte(`{"api_key":"k","base_url":"http://127.0.0.1:8000/v1","temperature":1,"max_tokens":100}`)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = complete(context.Background(), &sdk.CompletionRequest{})
	var p *sdk.ProviderError
	if !errors.As(err, &p) || p.Kind != proto.ProviderError_UNAVAILABLE {
		t.Fatalf("got %v, want unavailable", err)
	}
	if want := "builtin/anthropic cannot call a server in this version: replay a cassette, or use builtin/echo or a provider plugin of your own"; p.Message != want {
		t.Errorf("got %q, want %q", p.Message, want)
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
