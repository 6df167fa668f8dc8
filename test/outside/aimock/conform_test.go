package aimock

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/anthropic"
	"github.com/penstock-run/penstock/plugins/gemini"
	"github.com/penstock-run/penstock/plugins/ollama"
	"github.com/penstock-run/penstock/plugins/openai"
	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// Cases of the suite that aimock cannot play.
var (
	// Its answers have a text of at least a character, and usage; its errors a body
	// of its own making, the header Retry-After on 429 alone, and a status of failure.
	never = []string{
		"answers/a byte at a time", "answers/empty",
		"broken answers/200 with a page", "broken answers/200 with another document", "broken answers/200 with no choice", "broken answers/200 with nothing",
		"broken answers/200 with null", "broken answers/200 with null choices",
		"broken answers/a stream of a page", "broken answers/a stream of another document", "broken answers/a stream of no JSON",
		"broken answers/a stream of no choice", "broken answers/a stream of nothing", "broken answers/a stream of null", "broken answers/a stream of null choices",
		"broken answers/a stream without its end, at its start", "broken answers/a stream without its end, in its middle",
		"broken answers/an error in a stream, at its start", "broken answers/an error in a stream, in its middle",
		"calls/redirected",
		"refusals/error", "refusals/error inside an answer", "refusals/error that stays", "refusals/key", "refusals/late", "refusals/limit in milliseconds",
		"refusals/limit without a hint", "refusals/model", "refusals/overload", "refusals/rights", "refusals/unavailable",
		"usage/none", "usage/parts", "usage/parts, whole", "usage/that cannot be",
	}
	// Who asks for a stream is given one.
	notWhole = []string{
		"answers/in one piece", "answers/of another model, whole", "answers/thoughts, whole", "ends/cut off, though it looks whole, whole", "usage/counts, whole",
	}
	// An answer in one piece has no middle.
	notStreamed = []string{
		"broken answers/a stream that is cut, at its start", "broken answers/a stream that is cut, in its middle",
		"broken answers/a stream that stalls, at its start", "broken answers/a stream that stalls, in its middle",
		"calls/cancelled", "calls/the key, a broken one",
	}
	noParts   = []string{"usage/a part that cannot be"}
	noRefusal = []string{"ends/refused, streamed", "ends/refused, whole"}
	notBoth   = []string{"ends/refused and cut off, streamed", "ends/refused and cut off, whole"}
	noFilter  = []string{"ends/withheld, streamed", "ends/withheld, whole"}
)

// TestConforms runs the suite of the providers on aimock, as far as aimock can
// play it. What it cannot is named: a case that it learns to play fails here.
func TestConforms(t *testing.T) {
	m := start(t)
	over := func(dialect map[string]any) wiretest.Wire {
		return wiretest.Wire{
			Provider: openai.Provider, Model: "m", Base: "/v1", Config: map[string]any{"dialect": dialect},
			Refuses: true, Filters: true, Overload: "OVERLOADED", CacheRead: true, CacheWrite: true, Reasoning: true,
		}
	}
	for name, tt := range map[string]struct {
		wire   wiretest.Wire
		player player
		left   [][]string
	}{
		"openai, chat": {
			over(map[string]any{}),
			player{streams: true, model: true, usage: true, ends: map[string]string{"length": "length", "content_filter": "content_filter"}},
			[][]string{never, notWhole, noParts, noRefusal, notBoth, {"ends/withheld, whole"}},
		},
		"openai, chat, whole": {
			over(map[string]any{"stream": false}),
			player{model: true, usage: true, ends: map[string]string{"length": "length", "content_filter": "content_filter"}},
			[][]string{never, notStreamed, noParts, noRefusal, notBoth},
		},
		"openai, responses": {
			over(map[string]any{"api": "responses"}),
			player{streams: true, model: true, usage: true, ends: map[string]string{"length": "length"}},
			[][]string{never, notWhole, noParts, noRefusal, notBoth, noFilter},
		},
		"openai, responses, whole": {
			over(map[string]any{"api": "responses", "stream": false}),
			player{model: true, usage: true, ends: map[string]string{"length": "length"}},
			[][]string{never, notStreamed, noParts, noRefusal, notBoth, noFilter},
		},
		"anthropic": {
			wiretest.Wire{
				Provider: anthropic.Provider, Model: "claude-sonnet-4-5", Refuses: true, Filters: true, Overload: "OVERLOADED",
				CacheRead: true, CacheWrite: true, Reasoning: true,
			},
			player{streams: true, model: true, usage: true, ends: map[string]string{"length": "length", "refusal": "refusal"}},
			[][]string{never, notWhole, noParts, notBoth, noFilter, {"ends/refused, whole"}},
		},
		"gemini": {
			wiretest.Wire{
				Provider: gemini.Provider, Model: "gemini-2.5-flash", Refuses: true, Filters: true, Overload: "OVERLOADED", CacheRead: true, Reasoning: true,
			},
			player{streams: true, usage: true, ends: map[string]string{"length": "length", "content_filter": "content_filter", "refusal": "PROHIBITED_CONTENT"}},
			[][]string{never, notWhole, noParts, notBoth, {"answers/of another model", "ends/refused, whole", "ends/withheld, whole"}},
		},
		"ollama": {
			wiretest.Wire{Provider: ollama.Provider, Model: "llama3.2", Overload: "UNAVAILABLE"},
			player{streams: true},
			[][]string{never, notWhole, {"answers/of another model", "ends/cut off, though it looks whole, streamed", "usage/counts"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.player.mock = m
			want := slices.Sorted(slices.Values(slices.Concat(tt.left...)))
			if diff := cmp.Diff(want, wiretest.ConformOn(t, tt.wire, tt.player)); diff != "" {
				t.Errorf("the cases that aimock cannot play (-want +got):\n%s", diff)
			}
		})
	}
}
