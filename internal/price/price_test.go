package price

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/schema"
)

func provider(source, model, config string) *dag.Provider {
	p := &dag.Provider{Name: "p", Plugin: &dag.Plugin{Name: "x", Source: source}, Model: model}
	if config != "" {
		p.Config = dag.NewDoc([]byte(config))
	}
	return p
}

func TestOf(t *testing.T) {
	const from = "prices of 2025-11-01"
	mini := &dag.Price{Input: 0.25, CachedInput: 0.025, CacheWrite: new(0.25), Output: 2, From: from}
	official := `{"base_url":"https://api.openai.com/v1"}`
	tests := []struct {
		name string
		p    *dag.Provider
		want *dag.Price
	}{
		{"by its name", provider("builtin/openai", "gpt-5-mini", official), mini},
		{"by its name and a date", provider("builtin/openai", "gpt-5-mini-2025-08-07", official), mini},
		{"a date without dashes", provider("builtin/anthropic", "claude-sonnet-4-5-20250929", `{"base_url":"https://api.anthropic.com"}`),
			&dag.Price{Input: 3, CachedInput: 0.3, CacheWrite: new(3.75), Output: 15, From: from}},
		{"a dated name that stands there itself", provider("builtin/openai", "gpt-4o-2024-05-13", official), &dag.Price{Input: 5, CachedInput: 5, CacheWrite: new(5.0), Output: 15, From: from}},
		{"no price of cached tokens is that of input", provider("builtin/gemini", "gemini-2.5-flash", `{"base_url":"https://generativelanguage.googleapis.com"}`),
			&dag.Price{Input: 0.3, CachedInput: 0.3, CacheWrite: new(0.3), Output: 2.5, From: from}},
		{"local", provider("builtin/ollama", "whatever", `{"base_url":"http://127.0.0.1:11434"}`), &dag.Price{CacheWrite: new(0.0), From: from}},
		{"a machine of one's own", provider("builtin/ollama", "whatever", `{"base_url":"http://big.lan"}`), &dag.Price{CacheWrite: new(0.0), From: from}},
		{"its cloud", provider("builtin/ollama", "whatever", `{"base_url":"https://ollama.com"}`), nil},
		{"no configuration", provider("builtin/echo", "echo", ""), &dag.Price{CacheWrite: new(0.0), From: from}},
		{"another end of the name", provider("builtin/openai", "gpt-5-mini-preview", official), nil},
		{"half a date", provider("builtin/openai", "gpt-5-mini-2025-08", official), nil},
		{"a longer date", provider("builtin/openai", "gpt-5-mini-2025-08-071", official), nil},
		{"a name within another", provider("builtin/openai", "gpt-5-pro", official), nil},
		{"a date alone", provider("builtin/openai", "-2025-08-07", official), nil},
		{"no name", provider("builtin/openai", "", official), nil},
		{"a gateway", provider("builtin/openai", "gpt-5-mini", `{"base_url":"https://gateway.example.com/v1"}`), nil},
		{"another port", provider("builtin/openai", "gpt-5-mini", `{"base_url":"https://api.openai.com:8443/v1"}`), nil},
		{"the vendor's server for a region", provider("builtin/openai", "gpt-5-mini", `{"base_url":"https://eu.api.openai.com/v1"}`), nil},
		{"an address in capitals", provider("builtin/openai", "gpt-5-mini", `{"base_url":"https://API.OpenAI.com/v1"}`), mini},
		{"another tier", provider("builtin/openai", "gpt-5-mini", `{"base_url":"https://api.openai.com/v1","dialect":{"body":"{\"service_tier\":\"priority\"}"}}`), nil},
		{"the same model by another plugin", provider("./mine", "gpt-5-mini", official), nil},
		{"base_url is no text", provider("builtin/openai", "gpt-5-mini", `{"base_url":1}`), nil},
		{"no address", provider("builtin/openai", "gpt-5-mini", `{"base_url":"http://[::1"}`), nil},
		{"no plugin", &dag.Provider{Model: "gpt-5-mini"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Tables{Builtin()}.Of(test.p)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheUsersTableIsAskedFirst(t *testing.T) {
	own, err := Read([]byte(`{"version":"2026-01-31","prices":[{"plugin":"builtin/openai","models":{"gpt-5-mini":{"input":1,"cached_input":0.5,"cache_write":2,"output":3}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	tables := Tables{{own, "prices.json"}, Builtin()}
	gateway := `{"base_url":"https://gateway.example.com/v1"}`
	want := &dag.Price{Input: 1, CachedInput: 0.5, CacheWrite: new(2.0), Output: 3, From: "prices.json of 2026-01-31"}
	if diff := cmp.Diff(want, tables.Of(provider("builtin/openai", "gpt-5-mini", gateway))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := tables.Of(provider("builtin/openai", "gpt-5-nano", `{"base_url":"https://api.openai.com/v1"}`)); got == nil || got.From != "prices of 2025-11-01" {
		t.Errorf("what it does not name is asked of the other: got %v", got)
	}
}

// What the built-in table says is what a run pays by: a price that is out by a
// factor is found by its proportions.
func TestBuiltinIsPlausible(t *testing.T) {
	for _, g := range Builtin().Table.Prices {
		for name, m := range g.Models {
			p := m.price("")
			switch {
			case name == "*":
				if p.Input != 0 || p.Output != 0 {
					t.Errorf("%s: a price for whatever model is known of is none", g.Plugin)
				}
				continue
			case len(g.Hosts) == 0:
				t.Errorf("%s %s: a vendor's price is that of the vendor's own server", g.Plugin, name)
			case p.Output < 3*p.Input || p.Output > 9*p.Input:
				t.Errorf("%s %s: output costs %v times as much as input", g.Plugin, name, p.Output/p.Input)
			case p.CachedInput > p.Input || p.CachedInput < p.Input/10-1e-12:
				t.Errorf("%s %s: cached input costs %v of %v", g.Plugin, name, p.CachedInput, p.Input)
			case p.Written() < p.Input || p.Written() > 1.25*p.Input+1e-12:
				t.Errorf("%s %s: input that is kept costs %v of %v", g.Plugin, name, p.Written(), p.Input)
			}
		}
	}
}

func TestReadComplains(t *testing.T) {
	model := func(m string) string {
		return `{"version":"2026-01-31","prices":[{"plugin":"builtin/openai","models":{"m/1":` + m + `}}]}`
	}
	tests := []struct{ name, src, at, want string }{
		{"nothing", ``, ``, "The file ends before its JSON does."},
		{"cut off", `{"version":`, ``, "The file ends before its JSON does."},
		{"a list", `[]`, `[]`, `The value of "" is of another type than it has in a table of prices.`},
		{"a comma too many", `{"version":"2026-01-31",}`, `,}`, "This is no JSON: invalid character ',' at start of value."},
		{"a misspelt member", `{"version":"2026-01-31","price":[]}`, `"price"`, `A table of prices has no member "price" here.`},
		{"a price as text", model(`{"input":"1","output":2}`), `"1"`, `The value of "input" is of another type than it has in a table of prices.`},
		{"twice", `{"version":"2026-01-31","version":"2026-01-31"}`, `"version":"2026-01-31"}`, "This name stands there twice. Keep the one that is meant."},
		{"no version", `{"prices":[]}`, `{`, `The version is the day that the prices are of, such as "2026-01-31", not "".`},
		{"a version of another kind", `{"version": "v7","prices":[]}`, `"v7"`, `The version is the day that the prices are of, such as "2026-01-31", not "v7".`},
		{"no plugin", `{"version":"2026-01-31","prices":[ {"models":{}}]}`, `{"models"`, "A list of prices names its plugin, as the `source` of the plugin's block does: \"plugin\": \"builtin/openai\"."},
		{"an address for a host", `{"version":"2026-01-31","prices":[{"plugin":"x","hosts":["a","https://b"],"models":{}}]}`, `"https://b"`,
			`"https://b" is no host. Write it in small letters, with its port where base_url has one, and without "https://": "models.example.com:8000".`},
		{"no model", `{"version":"2026-01-31","prices":[{"plugin":"x","models":{}}]}`, `{}`, `A list of prices has models: "models": {"gpt-5-mini": {"input": 0.25, "output": 2}}.`},
		{"half a price", model(`{"input":1}`), `{"input"`, `The price of the model "m/1" has to tell "input" and "output", in dollars for a million tokens.`},
		{"below zero", model(`{"input":1,"cached_input":-1,"output":2}`), `-1`, "A price is in dollars for a million tokens, from 0 to 5000; this is -1."},
		{"too dear", model(`{"input":1,"output":1e9}`), `1e9`, "A price is in dollars for a million tokens, from 0 to 5000; this is 1e+09."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read([]byte(test.src))
			var f *Fault
			if !errors.As(err, &f) {
				t.Fatalf("got %v", err)
			}
			if !strings.HasPrefix(f.Text, test.want) {
				t.Errorf(" got %q\nwant %q", f.Text, test.want)
			}
			if got := test.src[f.Offset:]; !strings.HasPrefix(got, test.at) || test.at == "" && got != "" {
				t.Errorf("it is shown at %q, not at %q", got, test.at)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(builtin)
	f.Add([]byte(`{"version":"2026-01-31","prices":[{"plugin":"x","models":{"a\"b/~":{"input":1}}}]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		table, err := Read(src)
		if err != nil {
			var fault *Fault
			if !errors.As(err, &fault) || fault.Text == "" || fault.Offset < 0 || fault.Offset > len(src) {
				t.Fatalf("fault %+v in %d bytes", fault, len(src))
			}
			return
		}
		for _, g := range table.Prices {
			for name := range g.Models {
				p := Tables{{table, "x"}}.Of(provider(g.Plugin, name, ""))
				if p != nil && (p.Input < 0 || p.Written() > Dearest || math.IsNaN(p.Output)) {
					t.Fatalf("%s %s costs %+v", g.Plugin, name, p)
				}
			}
		}
	})
}

// The published schema refuses what Read refuses, but for what only Read can see.
func TestTheSchemaIsOfTheSameFiles(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("..", "..", "docs", "prices.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile("prices.schema.json", src)
	if err != nil {
		t.Fatal(err)
	}
	canonical, err := canon.Canonical(nil, builtin)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(canonical); err != nil {
		t.Errorf("the built-in table: %v", err)
	}
	for _, wrong := range []string{
		`[]`, `{"prices":[]}`, `{"version":"v7","prices":[]}`, `{"version":"2026-01-31","price":[]}`,
		`{"version":"2026-01-31","prices":[{"plugin":"x","models":{}}]}`,
		`{"version":"2026-01-31","prices":[{"plugin":"","models":{"m":{"input":1,"output":2}}}]}`,
		`{"version":"2026-01-31","prices":[{"plugin":"x","hosts":["https://b"],"models":{"m":{"input":1,"output":2}}}]}`,
		`{"version":"2026-01-31","prices":[{"plugin":"x","models":{"m":{"input":1}}}]}`,
		`{"version":"2026-01-31","prices":[{"plugin":"x","models":{"m":{"input":-1,"output":2}}}]}`,
	} {
		if _, err := Read([]byte(wrong)); err == nil {
			t.Errorf("Read takes %s", wrong)
		}
		canonical, err := canon.Canonical(nil, []byte(wrong))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(canonical) == nil {
			t.Errorf("the schema takes %s", wrong)
		}
	}
}
