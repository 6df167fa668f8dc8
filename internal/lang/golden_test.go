package lang

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
)

var update = flag.Bool("update", false, "write what the tests get into their .want files")

// described are the plugins that the tests know.
var described = map[string]*dag.PluginInfo{
	"builtin/prompt": {
		Name: "prompt", Kind: "stage", Services: []string{"complete"}, Batches: true,
		Config: []dag.ConfigField{
			{Name: "template", Type: "string", Required: true, Doc: "the prompt, a template over the visit's input"},
			{Name: "system", Type: "string"},
			{Name: "reasks", Type: "number", Default: "2", Doc: "how often a misfit is told to the model"},
		},
	},
	"builtin/exec": {
		Name: "exec", Kind: "stage",
		Config: []dag.ConfigField{
			{Name: "command", Type: "list(string)", Required: true, Doc: "the program and its arguments"},
			{Name: "exits", Type: "map(string)"},
			{Name: "limits", Block: []dag.ConfigField{{Name: "memory", Type: "number", Required: true, Doc: "MiB"}}},
		},
	},
	"builtin/sort":  {Name: "sort", Kind: "stage", Outcomes: []string{"left", "right"}},
	"builtin/grade": {Name: "grade", Kind: "stage", Codes: []dag.Code{"R_GRADE", "R_SCHEMA", dag.EExec}},
	"builtin/fetch": {
		Name: "fetch", Kind: "stage", Services: []string{"fetch"},
	},
	"builtin/dedupe": {
		Name: "dedupe", Kind: "stage", Services: []string{"corpus"},
		Config: []dag.ConfigField{{Name: "keys", Type: "list(string)", Required: true}},
	},
	"builtin/odd": {Kind: "stage", Codes: []dag.Code{"lower"}, Config: []dag.ConfigField{
		{Name: "a b", Type: "string"},
		{Name: "sized", Type: "strin"},
		{Name: "many", Type: "number", Default: "oops"},
		{Name: "many", Type: "number", Default: "1"},
		{Name: "deep", Block: []dag.ConfigField{{Name: "flag", Type: "bool", Default: "7"}}},
	}},
	"builtin/fussy": {Name: "fussy", Kind: "stage",
		Config: []dag.ConfigField{
			{Name: "depth", Type: "number"},
			{Name: "limits", Block: []dag.ConfigField{{Name: "memory", Type: "number"}}},
		},
		CheckConfig: func(config, _ []byte) []dag.ConfigProblem {
			if string(config) == `{"depth":1}` {
				return nil
			}
			return []dag.ConfigProblem{
				{Path: []string{"depth"}, Summary: "Too deep", Detail: "depth is 3 at most."},
				{Path: []string{"limits", "memory"}, Summary: "Too much", Detail: "There are 4 MiB."},
				{Path: []string{"absent"}, Summary: "Something lacks", Detail: "It needs more."},
				{Summary: "It will be slow", Detail: "Deep things are.", Warning: true},
			}
		},
	},
	"builtin/choosy": {Name: "choosy", Kind: "provider", Config: providerConfig,
		CheckProvider: func(model string, config []byte) []dag.ConfigProblem {
			return []dag.ConfigProblem{
				{Path: []string{"base_url"}, Summary: "Not an address", Detail: "Model " + model + " is given " + string(config) + "."},
				{Summary: "It will be slow", Detail: "Choosy ones are.", Warning: true},
			}
		},
	},
	"builtin/sampler": {Name: "sampler", Kind: "stage", Services: []string{"complete"},
		Config: []dag.ConfigField{{Name: "temperature", Type: "number"}, {Name: "seed", Type: "number"}, {Name: "max_tokens", Type: "number"}},
		Asks:   func([]byte) dag.Asked { return dag.Asked{Of: []string{"seed", "temperature"}, MaxTokens: 9000} },
	},
	"builtin/steady": {Name: "steady", Kind: "provider", Config: providerConfig,
		Model: func(name string, _ []byte) dag.Model {
			return dag.Model{Known: name != "new", Takes: []string{"schema", "seed"}, MaxOutputTokens: 8192, ContextTokens: 4096}
		},
		CheckSchema: func(name string, _, _ []byte) []dag.ConfigProblem {
			return []dag.ConfigProblem{{Detail: "it wants something smaller.", Warning: name == "new"}}
		},
	},
	"builtin/openai":    {Name: "openai", Kind: "provider", Config: providerConfig},
	"builtin/anthropic": {Name: "anthropic", Kind: "provider", Config: providerConfig},
}

var providerConfig = []dag.ConfigField{
	{Name: "api_key", Type: "string", Sensitive: true, Doc: "the key of the account"},
	{Name: "base_url", Type: "string"},
	{Name: "temperature", Type: "number"},
	{Name: "max_tokens", Type: "number"},
	{Name: "headers", Type: "map(string)"},
}

func describe(p *dag.Plugin) (*dag.PluginInfo, error) {
	if info, ok := described[p.Source]; ok {
		return info, nil
	}
	switch {
	case strings.HasPrefix(p.Source, "builtin/"):
		return nil, fmt.Errorf("there is no bundled plugin of this name")
	case len(p.Command) > 0 && p.Command[0] == "true":
		return nil, &dag.Error{Op: "start plugin", Subject: p.Name, Err: fmt.Errorf("true: it ended before its handshake (exit status 0)")}
	case len(p.Command) > 0:
		return nil, &dag.Error{Op: "find plugin", Subject: p.Name, Err: fmt.Errorf("exec: %q: executable file not found in $PATH", p.Command[0])}
	case strings.HasSuffix(p.Source, ".py"):
		return nil, &dag.Error{Op: "find plugin", Subject: p.Name, Err: fmt.Errorf("%s is not executable", p.Source)}
	}
	return nil, &dag.Error{Op: "find plugin", Subject: p.Name, Err: fmt.Errorf("there is no file %s", p.Source), Hint: "build it first, or correct the path"}
}

// setting is what the first comments of a case say: `#! without gate`, `#! live`.
type setting struct {
	without []string
	opts    Options
}

func readSetting(t testing.TB, src string) setting {
	s := setting{opts: Options{Vars: map[string]string{}, Describe: describe, Version: "0.1.0"}}
	env := map[string]string{"WRITER_KEY": "w", "JUDGE_KEY": "j"} // of the base's providers
	for line := range strings.Lines(src) {
		rest, ok := strings.CutPrefix(line, "#! ")
		if !ok {
			break
		}
		words := strings.Fields(rest)
		switch words[0] {
		case "without":
			s.without = append(s.without, words[1:]...)
		case "live":
			s.opts.Live = true
			clear(env)
		case "keyless":
			clear(env)
		case "var", "env":
			name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(rest, words[0])), "=")
			if words[0] == "var" {
				s.opts.Vars[name] = value
			} else {
				env[name] = value
			}
		case "varfile":
			src, err := os.ReadFile(filepath.Join("testdata/files", words[1]))
			if err != nil {
				t.Fatal(err)
			}
			s.opts.VarFiles = append(s.opts.VarFiles, VarFile{Name: words[1], Source: src})
		default:
			t.Fatalf("unknown setting %q", line)
		}
	}
	s.opts.Environ = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	return s
}

// loadCase loads a case: its file as pipeline.hcl, what it does not bring of
// the base, and the files that pipelines read.
func loadCase(t testing.TB, path string) (*dag.Graph, *Files, hcl.Diagnostics) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := readSetting(t, string(src))
	fsys := fstest.MapFS{"pipeline.hcl": {Data: src}}
	addTree(t, fsys, "testdata/files", func(name string) string { return name })
	addTree(t, fsys, "testdata/base", func(name string) string {
		if slices.Contains(s.without, "base") || slices.Contains(s.without, strings.TrimSuffix(name, ".pipeline.hcl")) {
			return ""
		}
		return name
	})
	s.opts.FS = fsys
	return Load(s.opts)
}

func addTree(t testing.TB, fsys fstest.MapFS, dir string, rename func(string) string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || rename(name) == "" {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		fsys[rename(name)] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func render(t testing.TB, files *Files, diags hcl.Diagnostics) string {
	t.Helper()
	var b strings.Builder
	if err := diag.Render(&b, diags, diag.Options{Source: files.Source}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestGolden compares every diagnostic of every case, whole. A case of which
// nothing is wrong has an empty want.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.hcl")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".hcl"), func(t *testing.T) {
			graph, files, diags := loadCase(t, path)
			if (graph == nil) != diags.HasErrors() {
				t.Errorf("graph %v, errors %v: there is a graph exactly where there is no error", graph != nil, diags.HasErrors())
			}
			got := render(t, files, diags)
			want := strings.TrimSuffix(path, ".hcl") + ".want"
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			text, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(text), got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
