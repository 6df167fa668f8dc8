package lang

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/penstock-run/penstock/dag"
)

// TestGuards: what would kill the parser, or hash differently elsewhere, is
// refused with its place.
func TestGuards(t *testing.T) {
	deep := func(open, close string, n int) string {
		return "locals {\n  x = " + strings.Repeat(open, n) + "1" + strings.Repeat(close, n) + "\n}\n"
	}
	tests := []struct {
		name, src string
		summary   string
		at        string // "line,column"; empty: the file
	}{
		{"a megabyte and one byte", strings.Repeat("#", maxFile) + "\n", fileTooLarge, ""},
		{"carriage returns", "locals {\r\n}\r\n", carriageReturn, "1,9"},
		{"not UTF-8", "locals {\n  x = \"a\xffb\"\n}\n", notUTF8, "2,9"},
		{"byte order mark", "\xEF\xBB\xBFlocals {}\n", byteOrderMark, "1,1"},
		{"parentheses", deep("(", ")", 100_000), nestedTooDeep, "2,262"},
		{"brackets that are not closed", deep("[", "", 5000), nestedTooDeep, "2,262"},
		{"templates", deep("\"${", "}\"", 5000), nestedTooDeep, ""},
		{"blocks", strings.Repeat("a {\n", 5000), nestedTooDeep, ""},
		{"negations", deep("!", "", 20_000), expressionTooLong, "2,2006"},
		{"conditionals", deep("true ? 1 : ", "", 20_000), expressionTooLong, ""},
		{"a sum", deep("1+", "", 20_000), expressionTooLong, ""},
		{"attributes", "locals {\n  x = a" + strings.Repeat(".b", 20_000) + "\n}\n", expressionTooLong, ""},
		{"indexes", "locals {\n  x = a" + strings.Repeat("[0]", 20_000) + "\n}\n", expressionTooLong, ""},
		{"template directives", "locals {\n  x = \"" + strings.Repeat("%{if true}", 20_000) + "\"\n}\n", expressionTooLong, ""},
		{"a sum in parentheses over lines", "locals {\n  x = (1\n" + strings.Repeat("+1\n", 20_000) + ")\n}\n", expressionTooLong, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, diags := Load(Options{FS: fstest.MapFS{"pipeline.hcl": {Data: []byte(tt.src)}}})
			if len(diags) != 1 || diags[0].Summary != tt.summary {
				t.Fatalf("got %v, want one diagnostic %q", diags, tt.summary)
			}
			start := diags[0].Subject.Start
			if got := fmt.Sprintf("%d,%d", start.Line, start.Column); tt.at != "" && got != tt.at {
				t.Errorf("at %s, want %s", got, tt.at)
			}
		})
	}
}

// TestGuardsLetPass: what is long or deep in a way that does no harm.
func TestGuardsLetPass(t *testing.T) {
	tests := []struct{ name, src string }{
		{"a long list", "locals {\n  x = [" + strings.Repeat("1, -2, \"a${3}\",\n", 20_000) + "]\n}\n"},
		{"a long object", "locals {\n  x = {\n" + func() string {
			var b strings.Builder
			for i := range 10_000 {
				fmt.Fprintf(&b, "    k%d = !true\n", i)
			}
			return b.String()
		}() + "  }\n}\n"},
		{"many blocks", strings.Repeat("locals {}\n", 20_000)},
		{"deep, but not too deep", "locals {\n  x = " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n}\n"},
		{"brackets in a text", "locals {\n  x = \"" + strings.Repeat("(", 100_000) + "\"\n}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := guard("pipeline.hcl", []byte(tt.src)); d != nil {
				t.Errorf("%s: %s", d.Summary, d.Detail)
			}
		})
	}
}

// TestReadErrors: what is not there is said, with what to do.
func TestReadErrors(t *testing.T) {
	for name, opts := range map[string]Options{
		"no file":      {FS: fstest.MapFS{}},
		"no directory": {FS: fstest.MapFS{}, File: "a/b.hcl"},
		"bad path":     {FS: fstest.MapFS{}, File: "../b.hcl"},
		"a directory":  {FS: fstest.MapFS{"pipeline.hcl/x": {}}},
		"no FS":        {},
	} {
		t.Run(name, func(t *testing.T) {
			graph, files, diags := Load(opts)
			if graph != nil || files == nil || len(diags) != 1 || diags[0].Summary != noPipeline {
				t.Errorf("got %v, %v, %v", graph, files, diags)
			}
		})
	}
}

// FuzzLoad: whatever the bytes, Load comes back with a graph or an error.
func FuzzLoad(f *testing.F) {
	cases, _ := filepath.Glob("testdata/*.hcl")
	more, _ := filepath.Glob("testdata/*/*.hcl")
	for _, path := range append(cases, more...) {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	base := fstest.MapFS{}
	addTree(f, base, "testdata/files", func(name string) string { return name })
	f.Fuzz(func(t *testing.T, src []byte) {
		fsys := fstest.MapFS{"pipeline.hcl": {Data: src}}
		for name, file := range base {
			fsys[name] = file
		}
		graph, files, diags := Load(Options{FS: fs.FS(fsys), Describe: describe, Version: "0.1.0"})
		if (graph == nil) != diags.HasErrors() {
			t.Errorf("graph %v with %v", graph != nil, diags)
		}
		for _, d := range diags {
			if d.Summary == "" || d.Severity == hcl.DiagInvalid {
				t.Errorf("a diagnostic without words: %#v", d)
			}
		}
		render(t, files, diags)
	})
}

// manyStages is a pipeline of n stages, each with a schema, a route and a
// condition.
func manyStages(n int) fstest.MapFS {
	var b strings.Builder
	b.WriteString(`
pipeline "long" {}
plugin "prompt" { source = "builtin/prompt" }
plugin "openai" { source = "builtin/openai" }
provider "p" {
  plugin = plugin.openai
  model  = "m"
}
source "s" { files = ["data/*.jsonl"] }
failure "R_BAD" { meaning = "Bad." }
gate "g" {
  candidate = { card = item }
  check "assert" {
    code      = failure.R_BAD
    condition = card.q != card.a
  }
  corpus "jsonl" {
    evidence = "meta/evidence.jsonl"
    data   = "data.jsonl"
    record = card
  }
}
`)
	for i := range n {
		fmt.Fprintf(&b, `
stage "s%d" {
  plugin   = plugin.prompt
  provider = provider.p
  config { template = file("prompts/write.md") }
  output { schema = "schemas/card.json" }
}
`, i)
		to := fmt.Sprintf("stage.s%d", i+1)
		if i == n-1 {
			to = "gate.g"
		}
		fmt.Fprintf(&b, `
route "r%d" {
  from = stage.s%d
  when {
    if = output.cat == "x" && artifact.s%d.q != artifact.s0.a
    to = %s
  }
  else {
    stop = "rejected"
    code = failure.R_BAD
  }
}
`, i, i, i/2, to)
	}
	return fstest.MapFS{"pipeline.hcl": {Data: []byte(b.String())}}
}

func BenchmarkLoad50Stages(b *testing.B) {
	fsys := manyStages(50)
	addTree(b, fsys, "testdata/files", func(name string) string { return name })
	for b.Loop() {
		graph, files, diags := Load(Options{FS: fsys, Describe: describe})
		if graph == nil {
			b.Fatal(render(b, files, diags))
		}
	}
}

// TestManyStages keeps the benchmark's pipeline right.
func TestManyStages(t *testing.T) {
	fsys := manyStages(50)
	addTree(t, fsys, "testdata/files", func(name string) string { return name })
	asked := 0
	graph, files, diags := Load(Options{FS: fsys, Describe: func(p *dag.Plugin) (*dag.PluginInfo, error) {
		asked++
		return describe(p)
	}})
	if graph == nil {
		t.Fatal(render(t, files, diags))
	}
	if graph.LongestTrail != 50 || asked != 2 {
		t.Errorf("the longest trail is %d, plugins were asked %d times; want 50 and 2", graph.LongestTrail, asked)
	}
}

// TestNothingToRead compares what is said where no file can be parsed, whole.
func TestNothingToRead(t *testing.T) {
	for name, tt := range map[string]struct {
		opts Options
		want string
	}{
		"too large": {Options{FS: fstest.MapFS{"pipeline.hcl": {Data: bytes.Repeat([]byte("#"), maxFile+1)}}}, `error: File too large
  pipeline.hcl
  A pipeline file is at most 1 MiB. Move data to files of their own and read
  them with file, jsondecode or a source block.
`},
		"no file": {Options{FS: fstest.MapFS{}}, `error: No pipeline
  There is no file pipeline.hcl here. Write one, start with
      penstock init
  or name another with -f FILE or -C DIR.
`},
		"a directory": {Options{FS: fstest.MapFS{"pipeline.hcl/x": {}}}, `error: No pipeline
  pipeline.hcl is a directory. Name a file in it with -f FILE, or the
  directory of a pipeline with -C DIR.
`},
		"no directory": {Options{}, `error: No pipeline
  No directory was given to read it from.
`},
	} {
		t.Run(name, func(t *testing.T) {
			_, files, diags := Load(tt.opts)
			if d := cmp.Diff(tt.want, render(t, files, diags)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
