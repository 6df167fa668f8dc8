package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/plugins/bundled"
)

// providerEdits flips each attribute that the config of a bundled provider may have,
// and says what is made anew for it: "visits" (and with them the completions),
// "completions" alone where a visit is made for another reason, or nothing. A header
// in the clear may ask for another answer, one that is a secret is as a key.
var providerEdits = map[string]map[string]struct{ from, to, anew string }{
	"builtin/anthropic": {
		"api_key":       {`"k"`, `"l"`, ""},
		"base_url":      {`"http://a"`, `"http://b"`, "completions"},
		"headers":       {`{ A = "b" }`, `{ A = "c" }`, "visits"},
		"stall_timeout": {`"9s"`, `"8s"`, ""},
		"version":       {`"2023-06-01"`, `"2024-06-01"`, "visits"},
		"temperature":   {`0`, `1`, "visits"},
		"top_p":         {`0`, `1`, "visits"},
		"max_tokens":    {`9`, `8`, "visits"},
		"effort":        {`"low"`, `"high"`, "visits"},
		"thinking":      {`"disabled"`, `"adaptive"`, "visits"},
		"schema":        {`"auto"`, `"tool"`, "visits"},
	},
	"builtin/gemini": {
		"api_key":         {`"k"`, `"l"`, ""},
		"base_url":        {`"http://a"`, `"http://b"`, "completions"},
		"headers":         {`{ A = "b" }`, `{ A = "c" }`, "visits"},
		"stall_timeout":   {`"9s"`, `"8s"`, ""},
		"temperature":     {`0`, `1`, "visits"},
		"top_p":           {`0`, `1`, "visits"},
		"max_tokens":      {`9`, `8`, "visits"},
		"thinking_budget": {`0`, `1`, "visits"},
		"thinking_level":  {`"low"`, `"high"`, "visits"},
	},
	"builtin/ollama": {
		"api_key":       {`"k"`, `"l"`, ""},
		"base_url":      {`"http://a"`, `"http://b"`, "completions"},
		"headers":       {`{ A = "b" }`, `{ A = "c" }`, "visits"},
		"stall_timeout": {`"9s"`, `"8s"`, ""},
		"temperature":   {`0`, `1`, "visits"},
		"top_p":         {`0`, `1`, "visits"},
		"max_tokens":    {`9`, `8`, "visits"},
		"num_ctx":       {`4096`, `8192`, "visits"},
		"think":         {`true`, `false`, "visits"},
		"keep_alive":    {`"9m"`, `"8m"`, ""},
	},
	"builtin/openai": {
		"api_key":              {`"k"`, `"l"`, ""},
		"base_url":             {`"http://a"`, `"http://b"`, "completions"},
		"headers":              {`{ A = "b" }`, `{ A = "c" }`, "visits"},
		"stall_timeout":        {`"9s"`, `"8s"`, ""},
		"temperature":          {`0`, `1`, "visits"},
		"top_p":                {`0`, `1`, "visits"},
		"max_tokens":           {`9`, `8`, "visits"},
		"reasoning_effort":     {`"low"`, `"high"`, "visits"},
		"dialect.api":          {`"chat"`, `"responses"`, "visits"},
		"dialect.max_tokens":   {`"max_tokens"`, `"max_completion_tokens"`, "visits"},
		"dialect.schema":       {`"auto"`, `"loose"`, "visits"},
		"dialect.auth_header":  {`"Authorization"`, `"Api-Key"`, ""},
		"dialect.system_role":  {`"system"`, `"developer"`, "visits"},
		"dialect.seed":         {`true`, `false`, "visits"},
		"dialect.stream":       {`true`, `false`, ""},
		"dialect.stream_usage": {`true`, `false`, ""},
		"dialect.body":         {`"{}"`, `"{\"top_k\":4}"`, "visits"},
	},
}

func TestWhatEachProviderAttributeMakesAnew(t *testing.T) {
	for _, name := range bundled.Names() {
		info, _ := bundled.Info(name)
		if info.Kind != "provider" {
			continue
		}
		edits := providerEdits["builtin/"+name]
		seen := 0
		for _, f := range leaves(info.Config, "") {
			edit, decided := edits[f.Name]
			if !decided {
				t.Errorf("builtin/%s: nobody has decided what a change of %s makes anew", name, f.Name)
				continue
			}
			seen++
			if f.Unkeyed != (edit.anew == "" && !f.Sensitive) {
				t.Errorf("builtin/%s: %s is unkeyed: %v", name, f.Name, f.Unkeyed)
			}
			t.Run(name+"/"+f.Name, func(t *testing.T) {
				from, to := withAttribute(t, name, f.Name, edit.from), withAttribute(t, name, f.Name, edit.to)
				got := ""
				if completion.Recipe(from.Provider, dag.Digest{}) != completion.Recipe(to.Provider, dag.Digest{}) {
					got = "completions"
				}
				if from.Recipe() != to.Recipe() {
					got = "visits"
				}
				if got != edit.anew {
					t.Errorf("made anew: %q, want %q", got, edit.anew)
				}
				if from.Provider.Unkeyed.Digest == to.Provider.Unkeyed.Digest && f.Unkeyed {
					t.Error("the plugin is not told")
				}
			})
		}
		if seen != len(edits) {
			t.Errorf("builtin/%s: %d attributes are decided on, %d exist", name, len(edits), seen)
		}
	}
}

// leaves are all attributes of a configuration, those in blocks under their path.
func leaves(fields []dag.ConfigField, path string) []dag.ConfigField {
	var all []dag.ConfigField
	for _, f := range fields {
		f.Name = path + f.Name
		if f.Block != nil {
			all = append(all, leaves(f.Block, f.Name+".")...)
		} else {
			all = append(all, f)
		}
	}
	return all
}

// withAttribute is the stage of a pipeline whose provider has an attribute.
func withAttribute(t *testing.T, plugin, name, value string) *dag.Stage {
	t.Helper()
	line := name + " = " + value
	if block, inner, ok := strings.Cut(name, "."); ok {
		line = fmt.Sprintf("%s {\n%s = %s\n}", block, inner, value)
	}
	if info, _ := bundled.Info(plugin); name != "api_key" && info.Config[0].Required {
		line += "\napi_key = \"k\""
	}
	dir := t.TempDir()
	source := fmt.Sprintf(`
pipeline "p" {}
plugin "live" { source = "builtin/%s" }
plugin "prompt" { source = "builtin/prompt" }
provider "model" {
  plugin = plugin.live
  model  = "m"
  config {
%s
  }
}
source "items" { files = ["items.jsonl"] }
stage "ask" {
  plugin   = plugin.prompt
  provider = provider.model
  config { template = "x" }
}
route "done" {
  from = stage.ask
  to   = gate.accept
}
gate "accept" {
  candidate = { card = item }
  corpus "jsonl" {
    data            = "data/all.jsonl"
    evidence        = "meta/evidence.jsonl"
    record          = card
    evidence_record = {}
  }
}
`, plugin, line)
	if err := os.WriteFile(filepath.Join(dir, "pipeline.hcl"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	graph, _, diags := lang.Load(lang.Options{FS: os.DirFS(dir), Describe: func(p *dag.Plugin) (*dag.PluginInfo, error) {
		info, _ := bundled.Info(strings.TrimPrefix(p.Source, "builtin/"))
		return info, nil
	}})
	if diags.HasErrors() {
		t.Fatal(cmp.Diff("", diags.Error()))
	}
	return graph.Stages[0]
}
