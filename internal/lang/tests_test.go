package lang

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/penstock-run/penstock/dag"
)

// loadTestFile loads the base pipeline with one test file.
func loadTestFile(t testing.TB, src []byte, set func(*Options)) (*dag.Graph, *Files, hcl.Diagnostics) {
	t.Helper()
	fsys := fstest.MapFS{"case.test.hcl": {Data: src}}
	addTree(t, fsys, "testdata/files", func(name string) string { return name })
	addTree(t, fsys, "testdata/base", func(name string) string { return name })
	more, err := os.ReadFile("testdata/tests/base.pipeline.hcl")
	if err != nil {
		t.Fatal(err)
	}
	fsys["pipeline.hcl"] = &fstest.MapFile{Data: more}
	opts := Options{FS: fsys, Tests: true, Describe: describe, Version: "0.1.0"}
	if set != nil {
		set(&opts)
	}
	return Load(opts)
}

// TestGoldenTests compares every diagnostic of every test file, whole.
func TestGoldenTests(t *testing.T) {
	cases, err := filepath.Glob("testdata/tests/*.test.hcl")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".test.hcl"), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, files, diags := loadTestFile(t, src, nil)
			got := render(t, files, diags)
			want := strings.TrimSuffix(path, ".test.hcl") + ".want"
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

// TestTestsOfAPipeline looks at what a test file comes to.
func TestTestsOfAPipeline(t *testing.T) {
	src, err := os.ReadFile("testdata/tests/ok.test.hcl")
	if err != nil {
		t.Fatal(err)
	}
	graph, files, diags := loadTestFile(t, src, nil)
	if diags.HasErrors() {
		t.Fatal(render(t, files, diags))
	}
	if len(files.Tests) != 3 {
		t.Fatalf("%d tests, want 3", len(files.Tests))
	}
	first := files.Tests[0]
	if first.Graph == graph || first.Graph.Modes[0].Apply || !graph.Modes[0].Apply {
		t.Error("a test with modes of its own has the pipeline as it is for them, and nobody else has")
	}
	if files.Tests[1].Graph != graph {
		t.Error("a test that sets nothing has the pipeline itself")
	}
	var got []string
	for _, w := range first.Expects[0].Wants {
		got = append(got, strings.TrimSpace(w.Name+" "+w.Member)+" "+w.Text)
	}
	want := []string{
		"count 1", "route [stage.sorter, stage.rules, stage.write, stage.judge, gate.accept]", `outcome sorter "left"`,
		`outcome judge ["reject", null]`, "outcome write null", `end "failed"`, "code failure.R_SCHEMA", `codes [failure.R_SCHEMA, "E_REFUSED"]`,
		`cause "E_REFUSED"`, "status null", `triage "review"`, `checks words "held"`, "checks schema null", "figures words 1",
		"figures R_ODD 0.5", "figures R_LENGTH null", "visits write 1", "calls write 0", `record {"q":"x"}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("wants (-want +got):\n%s", d)
	}
	if len(first.Mocks) != 3 || !first.Mocks[2].Shared || first.Mocks[0].If == nil || first.Mocks[1].Code != dag.ERefused {
		t.Errorf("mocks are %+v", first.Mocks)
	}
}

// TestPlansReadNoTests: a wrong test stops no run.
func TestPlansReadNoTests(t *testing.T) {
	graph, files, diags := loadTestFile(t, []byte("test \"x\" {"), func(o *Options) { o.Tests = false })
	if graph == nil {
		t.Fatal(render(t, files, diags))
	}
	if _, ok := files.Sources["case.test.hcl"]; ok {
		t.Error("the test file was read")
	}
}

// FuzzLoadTests gives the loader test files: it must come to an end with a place
// for each complaint.
func FuzzLoadTests(f *testing.F) {
	cases, _ := filepath.Glob("testdata/tests/*.test.hcl")
	for _, path := range cases {
		src, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		graph, files, diags := loadTestFile(t, src, nil)
		if (graph == nil) != diags.HasErrors() {
			t.Errorf("graph %v, errors %v", graph != nil, diags.HasErrors())
		}
		for _, test := range files.Tests {
			if graph != nil && test.Graph == nil {
				t.Errorf("the test %q has no pipeline", test.Name)
			}
		}
		render(t, files, diags)
	})
}

// FuzzRewrite puts a value in the place of another, wherever that is: what comes
// parses, and has the value, or there is an error.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte("test \"x\" {\n  expect { # why\n    end = \"accepted\" # so\n  }\n}\n"), 44, 54, `"failed"`)
	f.Add([]byte("a = [\n  1, # one\n]\n"), 4, 17, "[2]")
	f.Fuzz(func(t *testing.T, src []byte, start, end int, text string) {
		out, _, err := Rewrite("x.test.hcl", src, []Edit{{Place{File: "x.test.hcl", Start: start, End: end}, text}})
		if err != nil {
			return
		}
		if _, diags := Format("x.test.hcl", out); diags.HasErrors() {
			t.Errorf("%q became %q, which does not parse", src, out)
		}
	})
}
