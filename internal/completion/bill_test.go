package completion

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/anthropic"
	"github.com/penstock-run/penstock/plugins/gemini"
	"github.com/penstock-run/penstock/plugins/ollama"
	"github.com/penstock-run/penstock/plugins/openai"
	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// What a server tells on its wire, in its own members, is what a call is billed at.
func TestGoldenPrices(t *testing.T) {
	chat := func(usage string) string {
		return `{"id":"1","model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":` + usage + `}`
	}
	claude := func(usage string) string {
		return `{"id":"1","type":"message","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":` + usage + `}`
	}
	tests := []struct {
		name     string
		provider sdk.Provider
		config   string
		body     string
		price    dag.Price
		want     string // dollars
	}{
		{"openai, most of it cached", openai.Provider(), `"api_key":"k"`, chat(`{"prompt_tokens":10000,"completion_tokens":1000,"total_tokens":11000,"prompt_tokens_details":{"cached_tokens":8000}}`),
			dag.Price{Input: 2, CachedInput: 0.5, CacheWrite: new(2.0), Output: 8}, "0.016000"},
		{"openai, cached tokens are not counted twice", openai.Provider(), `"api_key":"k"`, chat(`{"prompt_tokens":100000,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":100000}}`),
			dag.Price{Input: 3, CachedInput: 0.3, CacheWrite: new(3.0), Output: 15}, "0.030000"},
		{"openai, all that is written is paid, not thoughts alone", openai.Provider(), `"api_key":"k"`, chat(`{"prompt_tokens":1000,"completion_tokens":5000,"completion_tokens_details":{"reasoning_tokens":4000}}`),
			dag.Price{Input: 1.25, CachedInput: 0.125, CacheWrite: new(1.25), Output: 10}, "0.051250"},
		{"anthropic, read and written beside the input", anthropic.Provider(), `"api_key":"k"`, claude(`{"input_tokens":1000,"cache_creation_input_tokens":4000,"cache_read_input_tokens":20000,"output_tokens":500}`),
			dag.Price{Input: 3, CachedInput: 0.3, CacheWrite: new(3.75), Output: 15}, "0.031500"},
		{"gemini, thoughts beside the answer", gemini.Provider(), `"api_key":"k"`, `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":2000,"cachedContentTokenCount":500,"candidatesTokenCount":100,"thoughtsTokenCount":900,"totalTokenCount":3000}}`,
			dag.Price{Input: 0.3, CachedInput: 0.075, CacheWrite: new(0.3), Output: 2.5}, "0.002988"},
		{"ollama", ollama.Provider(), ``, `{"model":"m","message":{"role":"assistant","content":"x"},"done":true,"done_reason":"stop","prompt_eval_count":1000,"eval_count":50}`,
			dag.Price{}, "0.000000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, test.body)
			}))
			defer server.Close()
			config := `{"base_url":"` + server.URL + `"`
			if test.config != "" {
				config += "," + test.config
			}
			complete, err := test.provider.Configure(context.Background(), sdk.ProviderConfig{Provider: "p", Model: "m", JSON: []byte(config + "}")})
			if err != nil {
				t.Fatal(err)
			}
			var bill dag.Bill
			s, _ := newService(t, Options{Billed: func(_ context.Context, b dag.Bill) { bill = b }})
			reply := s.Complete(context.Background(), &dag.Provider{Name: "p", Price: &test.price}, func(ctx context.Context, r *proto.CompletionRequest) (*proto.CompletionReply, error) {
				return complete(ctx, r)
			}, userSays("hi"))
			if e := reply.GetError(); e != nil {
				t.Fatal(e)
			}
			if got := fmt.Sprintf("%.6f", bill.USD); got != test.want || bill.Estimated != 0 {
				t.Errorf("billed at $%s, want $%s: %+v", got, test.want, bill)
			}
		})
	}
}

func TestBillOf(t *testing.T) {
	p := &dag.Provider{Name: "p", Price: &dag.Price{Input: 1, CachedInput: 0.1, CacheWrite: new(2.0), Output: 10, From: "prices of 2026-01-31"}}
	reserved := cost{calls: 1, tokens: 300, usd: 0.004, input: 100, output: 200}
	most := dag.Bill{Attempts: 1, Tokens: dag.Tokens{Input: 100, Output: 200}, Estimated: 1, USD: 0.004, Price: "prices of 2026-01-31"}
	failed := func(kind proto.ProviderError_Kind) *proto.CompletionReply { return failure(kind, "m") }
	tests := []struct {
		name  string
		reply *proto.CompletionReply
		want  dag.Bill
	}{
		{"told", &proto.CompletionReply{Usage: &proto.Usage{Input: 10, CachedInput: 4, CacheWrite: 1, Output: 5, Reasoning: 5}},
			dag.Bill{Attempts: 1, Tokens: dag.Tokens{Input: 10, Cached: 4, Written: 1, Output: 5}, USD: 57.4e-6, Price: "prices of 2026-01-31"}},
		{"not told", &proto.CompletionReply{Text: "x"}, most},
		{"told as nothing", &proto.CompletionReply{Text: "x", Usage: &proto.Usage{}}, most},
		{"more of a part than of the whole", &proto.CompletionReply{Usage: &proto.Usage{Input: 10, CachedInput: 40, CacheWrite: 3, Output: 5}},
			dag.Bill{Attempts: 1, Tokens: dag.Tokens{Input: 10, Cached: 10, Output: 5}, Estimated: 1, USD: 51e-6, Price: "prices of 2026-01-31"}},
		{"thoughts that are more than what was written", &proto.CompletionReply{Usage: &proto.Usage{Input: 10, Output: 5, Reasoning: 6}},
			dag.Bill{Attempts: 1, Tokens: dag.Tokens{Input: 10, Output: 5}, Estimated: 1, USD: 60e-6, Price: "prices of 2026-01-31"}},
		{"below zero", &proto.CompletionReply{Usage: &proto.Usage{Input: 10, Output: -5}},
			dag.Bill{Attempts: 1, Tokens: dag.Tokens{Input: 10}, Estimated: 1, USD: 10e-6, Price: "prices of 2026-01-31"}},
		{"refused before it began", failed(proto.ProviderError_RATE_LIMITED), dag.Bill{Attempts: 1}},
		{"no such model", failed(proto.ProviderError_NOT_FOUND), dag.Bill{Attempts: 1}},
		{"never sent, as its plugin says", &proto.CompletionReply{Error: &proto.ProviderError{Kind: proto.ProviderError_UNAVAILABLE, Billed: proto.ProviderError_BILLED_NOT}}, dag.Bill{Attempts: 1}},
		{"timed out before it was sent", &proto.CompletionReply{Error: &proto.ProviderError{Kind: proto.ProviderError_TIMEOUT, Billed: proto.ProviderError_BILLED_NOT}}, dag.Bill{Attempts: 1}},
		{"an overload in the middle of an answer", &proto.CompletionReply{Error: &proto.ProviderError{Kind: proto.ProviderError_OVERLOADED, Billed: proto.ProviderError_BILLED_PERHAPS}}, most},
		{"withheld, by a plugin that does not say", failed(proto.ProviderError_CONTENT_FILTERED), most},
		{"a word of a later version", &proto.CompletionReply{Error: &proto.ProviderError{Kind: proto.ProviderError_UNAVAILABLE, Billed: 9}}, most},
		{"not billed, and yet its usage is told", &proto.CompletionReply{Error: &proto.ProviderError{Kind: proto.ProviderError_AUTH, Billed: proto.ProviderError_BILLED_NOT}, Usage: &proto.Usage{Input: 10}},
			dag.Bill{Attempts: 1, Tokens: dag.Tokens{Input: 10}, USD: 10e-6, Price: "prices of 2026-01-31"}},
		{"made to fit by its plugin", &proto.CompletionReply{Usage: &proto.Usage{Input: 10, Output: 5, Adjusted: true}},
			dag.Bill{Attempts: 1, Tokens: dag.Tokens{Input: 10, Output: 5}, Estimated: 1, USD: 60e-6, Price: "prices of 2026-01-31"}},
		{"less than none, of everything", &proto.CompletionReply{Usage: &proto.Usage{Input: math.MinInt64, CachedInput: math.MinInt64, CacheWrite: -1, Output: -1, Reasoning: -1}}, most},
		{"more than can be", &proto.CompletionReply{Usage: &proto.Usage{Input: math.MaxInt64, CachedInput: math.MaxInt64, Output: math.MaxInt64}},
			dag.Bill{Attempts: 1, Tokens: dag.Tokens{Input: 1 << 40, Cached: 1 << 40, Output: 1 << 40}, Estimated: 1, USD: 11105067.4405376, Price: "prices of 2026-01-31"}},
		{"as much as can be", &proto.CompletionReply{Usage: &proto.Usage{Input: 1 << 40}},
			dag.Bill{Attempts: 1, Tokens: dag.Tokens{Input: 1 << 40}, USD: 1099511.627776, Price: "prices of 2026-01-31"}},
		{"nothing written, which is told", &proto.CompletionReply{Usage: &proto.Usage{Input: 1}},
			dag.Bill{Attempts: 1, Tokens: dag.Tokens{Input: 1}, USD: 1e-6, Price: "prices of 2026-01-31"}},
		{"timed out", failed(proto.ProviderError_TIMEOUT), most},
		{"broken off", failed(proto.ProviderError_UNAVAILABLE), most},
		{"a failure that tells its usage", &proto.CompletionReply{Error: &proto.ProviderError{Kind: proto.ProviderError_UNAVAILABLE}, Usage: &proto.Usage{Input: 10}},
			dag.Bill{Attempts: 1, Tokens: dag.Tokens{Input: 10}, USD: 10e-6, Price: "prices of 2026-01-31"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := billOf(test.reply, reserved, p)
			if d := got.USD - test.want.USD; d > 1e-12+test.want.USD*1e-15 || d < -1e-12-test.want.USD*1e-15 {
				t.Errorf("it costs %v, want %v", got.USD, test.want.USD)
			}
			got.USD = test.want.USD
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := billOf(tests[0].reply, reserved, &dag.Provider{}); got.Unpriced != 1 || got.USD != 0 || got.Cost() != nil {
		t.Errorf("without a price: %+v", got)
	}
}

func TestWorst(t *testing.T) {
	says := func(text string, most *int64) *Request {
		r := &Request{Messages: []Message{{Role: "user", Text: text}}}
		if most != nil {
			r.Sampling = &Sampling{MaxTokens: most}
		}
		return r
	}
	tests := []struct {
		name     string
		r        *Request
		schema   string
		longest  int
		in, outs int
	}{
		{"nothing bounds the answer", says("hi", nil), "", 0, 34, 4096},
		{"the provider's block does", says("hi", nil), "", 900, 34, 900},
		{"the request does", says("hi", ptr(int64(70))), "", 900, 34, 70},
		{"a text of three bytes a letter", says(strings.Repeat("水", 100), ptr(int64(1))), "", 0, 332, 1},
		{"with a schema", says("hi", ptr(int64(1))), `{"type":"object"}`, 0, 563, 1},
	}
	for _, test := range tests {
		got := worst(test.r, []byte(test.schema), &dag.Provider{Longest: test.longest, Price: &dag.Price{Input: 1, CacheWrite: new(2.0), Output: 10}})
		usd := float64(2*test.in+10*test.outs) / 1e6 // as if all of it were written to the cache
		if got.input != test.in || got.output != test.outs || got.tokens != test.in+test.outs || got.usd < usd-1e-12 || got.usd > usd+1e-12 {
			t.Errorf("%s: %+v, want %d in, %d out, $%v", test.name, got, test.in, test.outs, usd)
		}
	}
}

// 64 calls at once, each of which costs what it likes up to its reservation, or
// fails, or does not tell, never pass a budget.
func TestABudgetIsNeverPassedWhateverCallsTake(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := dag.Budget{Calls: rapid.IntRange(1, 80).Draw(rt, "calls"), Tokens: rapid.IntRange(100, 20_000).Draw(rt, "tokens"), USD: rapid.Float64Range(0.001, 0.1).Draw(rt, "usd")}
		p := &dag.Provider{Name: "p", Longest: 300, Price: &dag.Price{Input: 1, CachedInput: 0.1, CacheWrite: new(2.0), Output: 5}}
		seed := rapid.Uint64().Draw(rt, "seed")
		var bills struct {
			sync.Mutex
			all dag.Bill
		}
		s, _ := newService(t, Options{Budget: limit, Billed: func(_ context.Context, b dag.Bill) {
			bills.Lock()
			defer bills.Unlock()
			bills.all.Add(b)
		}})
		var all sync.WaitGroup
		for i := range 64 {
			draw := rand.New(rand.NewPCG(seed, uint64(i)))
			all.Go(func() {
				s.Complete(context.Background(), p, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
					switch draw.IntN(6) {
					case 0:
						return &proto.CompletionReply{Text: "x", FinishReason: "stop"}, nil
					case 1:
						return failure(proto.ProviderError_INVALID_REQUEST, "m"), nil
					case 2:
						return nil, errors.New("broken off")
					}
					in := draw.Int64N(34)
					return &proto.CompletionReply{Text: "x", FinishReason: "stop", Usage: &proto.Usage{Input: in, CachedInput: draw.Int64N(in + 1), Output: draw.Int64N(301)}}, nil
				}, userSays(fmt.Sprint(i%100)))
			})
		}
		all.Wait()
		c := s.Counters()
		tokens := int(c.Usage.Input + c.Usage.Output)
		if c.Calls > limit.Calls || tokens > limit.Tokens || c.USD > limit.USD+1e-9 {
			rt.Fatalf("the budget %+v was passed: %+v", limit, c)
		}
		if bills.all.Attempts != c.Calls || bills.all.Sum() != tokens || bills.all.USD < c.USD-1e-9 || bills.all.USD > c.USD+1e-9 {
			rt.Fatalf("billed %+v, counted %+v", bills.all, c)
		}
	})
}
