package openai

import (
	"testing"

	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

func TestConforms(t *testing.T) {
	for _, api := range []string{"chat", "responses"} {
		t.Run(api, func(t *testing.T) {
			wiretest.Conform(t, wiretest.Wire{
				Provider: Provider, Model: "m", Base: "/v1", Config: map[string]any{"dialect": map[string]any{"api": api}},
				Refuses: true, Filters: true, Overload: "OVERLOADED", CacheRead: true, CacheWrite: true, Reasoning: true,
			})
		})
	}
}
