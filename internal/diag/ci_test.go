package diag

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// forCI are diagnostics of every shape: with and without a place, of a file alone,
// of several lines, behind characters that are no single code point or UTF-16 unit.
func forCI() (hcl.Diagnostics, Site) {
	files := map[string]string{
		"pipeline.hcl":             file,
		"cards, 100%.pipeline.hcl": "# 👍🏽 é 𝒳 = x\nstage \"a\" {\n  plugin = 1\n}\n",
	}
	site := Site{
		Source: func(name string) []byte { return []byte(files[name]) },
		Path:   func(name string) string { return "examples/my cards/" + name },
	}
	other := func(startLine, from, endLine, to int) hcl.Range {
		return hcl.Range{Filename: "cards, 100%.pipeline.hcl", Start: hcl.Pos{Line: startLine, Column: from}, End: hcl.Pos{Line: endLine, Column: to}}
	}
	return hcl.Diagnostics{
		With(Error(at(2, 11, 23), "Unknown plugin", "There is no plugin \"promt\": 50%, or 100%?\nWrite plugin.prompt."),
			Info{Address: `stage "b"`, Related: []Related{{"first declared here", at(1, 1, 6)}, {"see also", other(2, 1, 2, 6)}}}),
		Error(other(1, 9, 1, 10), "Unknown word", "The x, behind: characters\r\x1b[31m"),
		Warning(other(2, 7, 4, 2), "Unused code", ""),
		Warning(other(2, 7, 4, 2), "Unused code", "another of the same line"),
		Error(hcl.Range{Filename: "gone.hcl", Start: hcl.Pos{Line: 3, Column: 5}, End: hcl.Pos{Line: 3, Column: 5}}, "Unknown plugin", "a file that is not at hand"),
		Error(hcl.Range{Filename: "pipeline.hcl"}, "File too large", "a file alone"),
		{Severity: hcl.DiagError, Summary: "No pipeline", Detail: "no place"},
	}, site
}

// update writes the golden files, for a person to look through.
var update = flag.Bool("update", false, "write what is printed into testdata")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile("testdata/"+name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("testdata/%s (-want +got):\n%s", name, d)
	}
}

func TestGitHub(t *testing.T) {
	diags, site := forCI()
	var out strings.Builder
	if err := GitHub(&out, diags, site); err != nil {
		t.Fatal(err)
	}
	golden(t, "github.txt", out.String())
}

func TestGitHubError(t *testing.T) {
	var out strings.Builder
	if err := GitHubError(&out, "a: b, c", "50%\nof it: x, y"); err != nil {
		t.Fatal(err)
	}
	if want := "::error title=a%3A b%2C c::50%25%0Aof it: x, y\n"; out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
}

func TestSARIF(t *testing.T) {
	diags, site := forCI()
	for _, tt := range []struct {
		name  string
		diags hcl.Diagnostics
		tool  Tool
	}{
		{"results.sarif", diags, Tool{Name: "penstock", Version: "1.2.3", Command: "penstock validate", Exit: 1}},
		{"nothing.sarif", nil, Tool{Name: "penstock", Version: "1.2.3", Command: "penstock validate"}},
		{"failure.sarif", nil, Tool{Name: "penstock", Version: "1.2.3", Command: "penstock validate", Exit: 1, Failure: "there is no such file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if err := SARIF(&out, tt.diags, site, tt.tool); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name, out.String())
			essential(t, out.String())
		})
	}
}

// essential validates a log against what SARIF 2.1.0 requires of the part that is
// written: testdata/sarif-essentials.schema.json, which stands in for the standard's
// own schema, and is stricter in what it lets be there.
func essential(t *testing.T, log string) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("testdata/sarif-essentials.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Error(err)
	}
	run := doc.(map[string]any)["runs"].([]any)[0].(map[string]any)
	rules := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
	prints := map[string]bool{}
	for i, r := range run["results"].([]any) {
		result := r.(map[string]any)
		index, err := result["ruleIndex"].(interface{ Int64() (int64, error) }).Int64()
		if err != nil || rules[index].(map[string]any)["id"] != result["ruleId"] {
			t.Errorf("result %d: ruleIndex %v does not lead to rule %v", i, result["ruleIndex"], result["ruleId"])
		}
		print := result["partialFingerprints"].(map[string]any)[fingerprintName].(string)
		if prints[print] {
			t.Errorf("result %d has the fingerprint of another", i)
		}
		prints[print] = true
	}
}

// TestFingerprintsStay: what stands above a line does not change whose result it is.
func TestFingerprintsStay(t *testing.T) {
	d := Error(at(2, 11, 23), "Unknown plugin", "x")
	below := Error(at(4, 11, 23), "Unknown plugin", "x")
	moved := Site{Source: func(string) []byte { return []byte("# one\n# two\n" + file) }}
	if a, b := (Site{Source: source}).fingerprint(d, "r"), moved.fingerprint(below, "r"); a != b {
		t.Errorf("the fingerprint is %s and behind two more lines %s", a, b)
	}
	if a, b := (Site{Source: source}).fingerprint(d, "r"), (Site{Source: source}).fingerprint(d, "other"); a == b {
		t.Error("two rules have one fingerprint")
	}
}

// FuzzGitHub: whatever a diagnostic says, it is one workflow command a line.
func FuzzGitHub(f *testing.F) {
	f.Add("stage \"b\" {}", "S", "d\x1b::error::tail\n::set-output name=x::y", "a,b:c", 1, 3, 1, 5)
	f.Fuzz(func(t *testing.T, src, summary, detail, name string, line, column, endLine, endColumn int) {
		r := hcl.Range{Filename: name, Start: hcl.Pos{Line: line % 99, Column: column}, End: hcl.Pos{Line: endLine % 99, Column: endColumn}}
		site := Site{Source: func(string) []byte { return []byte(src) }}
		var out, log strings.Builder
		if err := GitHub(&out, hcl.Diagnostics{Error(r, summary, detail)}, site); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "::error file=") || strings.ContainsAny(text, "\r\x1b") {
			t.Errorf("not one command: %q", text)
		}
		if err := SARIF(&log, hcl.Diagnostics{Error(r, summary, detail)}, site, Tool{Name: "p"}); err != nil {
			t.Fatal(err)
		}
	})
}
