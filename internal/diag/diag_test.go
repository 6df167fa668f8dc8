package diag

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
)

const file = "stage \"b\" {\n\tplugin = plugin.promt\n}\nroute \"é\" { to = stage.x }\n"

func source(name string) []byte {
	if name == "pipeline.hcl" {
		return []byte(file)
	}
	return nil
}

func at(line, from, to int) hcl.Range {
	return hcl.Range{Filename: "pipeline.hcl", Start: hcl.Pos{Line: line, Column: from}, End: hcl.Pos{Line: line, Column: to}}
}

func TestNearest(t *testing.T) {
	tests := []struct {
		name, word string
		candidates []string
		want       []string
	}{
		{"one edit", "verifer", []string{"verifier", "crafter"}, []string{"verifier"}},
		{"a swap is one edit", "itme", []string{"item", "time1"}, []string{"item"}},
		{"a short word needs a near name", "abc", []string{"b", "xyz"}, []string{}},
		{"two edits are too many up to four runes", "dpht", []string{"deptz"}, []string{}},
		{"two edits up to eight", "pathsx", []string{"pats"}, []string{"pats"}},
		{"three edits above eight", "evidences_recrod", []string{"evidence_record"}, []string{"evidence_record"}},
		{"the nearest wins, not the first", "crafter", []string{"drafters", "krafter"}, []string{"krafter"}},
		{"a tie shows two, sorted", "bat", []string{"cat", "hat", "bad"}, []string{"bad", "cat"}},
		{"case alone is nearest", "r_schema", []string{"R_SCHEMB", "R_SCHEMA"}, []string{"R_SCHEMA"}},
		{"runes, not bytes", "перевірк", []string{"перевірка"}, []string{"перевірка"}},
		{"no candidates", "x", nil, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := append([]string{}, Nearest(tt.word, tt.candidates)...)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Nearest(%q, %q) (-want +got):\n%s", tt.word, tt.candidates, d)
			}
		})
	}
}

func TestDidYouMean(t *testing.T) {
	tests := []struct {
		name, word string
		candidates []string
		want       string
	}{
		{"near and few", "acept", []string{"accept", "repair", "reject"}, `Did you mean "accept"? There are "accept", "reject" and "repair".`},
		{"far and few", "zzz", []string{"b", "a"}, `There are "a" and "b".`},
		{"only one, near", "foo", []string{"fop"}, `Did you mean "fop"?`},
		{"only one, far", "zzz", []string{"fop"}, `There is only "fop".`},
		{"near among many", "ab", []string{"ac", "d", "e", "f", "g", "hh"}, `Did you mean "ac"?`},
		{"a tie among many", "aa", []string{"ab", "ac", "e", "f", "g", "hh"}, `Did you mean "ab" or "ac"?`},
		{"far among many", "zzzz", []string{"ac", "d", "e", "f", "g", "hh"}, ""},
		{"none", "x", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := DidYouMean(tt.word, tt.candidates); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestRender(t *testing.T) {
	tests := []struct {
		name  string
		diags hcl.Diagnostics
		opts  Options
		want  string
	}{
		{
			name: "sorted, addressed, with a second place",
			diags: hcl.Diagnostics{
				With(Error(at(4, 18, 25), "Unknown stage", "There is no stage \"x\"."), Info{Related: []Related{{"first declared here", at(1, 1, 10)}}}),
				With(Warning(at(2, 11, 23), "Unknown plugin", "Write another."), Info{Address: `stage "b"`}),
			},
			want: `warning: Unknown plugin
  pipeline.hcl:2,11, in stage "b":
    2 |  plugin = plugin.promt
      |           ^^^^^^^^^^^^
  Write another.

error: Unknown stage
  pipeline.hcl:4,18:
    4 | route "é" { to = stage.x }
      |                  ^^^^^^^
  There is no stage "x".
  first declared here: pipeline.hcl:1,1:
    1 | stage "b" {
      | ^^^^^^^^^
`,
		},
		{
			name:  "an empty range marks the word",
			diags: hcl.Diagnostics{Error(at(4, 18, 18), "S", "")},
			want: `error: S
  pipeline.hcl:4,18:
    4 | route "é" { to = stage.x }
      |                  ^^^^^^^
`,
		},
		{
			name:  "foreign text cannot move the cursor",
			diags: hcl.Diagnostics{Error(hcl.Range{Filename: "gone.hcl", Start: hcl.Pos{Line: 1, Column: 1}}, "A \x1b[31mred\x07 word", "reversed \u202e text")},
			want:  "error: A \uFFFD[31mred\uFFFD word\n  gone.hcl:1,1\n  reversed \uFFFD text\n",
		},
		{
			name:  "colour when asked",
			diags: hcl.Diagnostics{Error(at(1, 1, 6), "S", "D")},
			opts:  Options{Colour: true},
			want:  "\x1b[1;31merror:\x1b[0m \x1b[1mS\x1b[0m\n  pipeline.hcl:1,1:\n    1 | stage \"b\" {\n      | \x1b[31m^^^^^\x1b[0m\n  D\n",
		},
		{
			name:  "wrapped, but a command is not",
			diags: hcl.Diagnostics{Error(at(9, 1, 1), "S", "one two three four five six\n    penstock plugin lock --accept everything\nseven")},
			opts:  Options{Width: 20},
			want:  "error: S\n  pipeline.hcl:9,1\n  one two three four\n  five six\n      penstock plugin lock --accept everything\n  seven\n",
		},
		{
			name: "cascades and copies are not printed",
			diags: hcl.Diagnostics{
				With(Error(at(1, 1, 2), "Cascade", ""), Info{Cascade: true}),
				{Severity: hcl.DiagError, Summary: "Same"}, {Severity: hcl.DiagError, Summary: "Same"},
			},
			want: "error: Same\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.Source = source
			var got strings.Builder
			if err := Render(&got, tt.diags, tt.opts); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got.String()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestLongLineIsCutAroundTheMark(t *testing.T) {
	long := strings.Repeat("x", 500) + "HERE" + strings.Repeat("y", 500)
	var got strings.Builder
	r := hcl.Range{Filename: "f", Start: hcl.Pos{Line: 1, Column: 501}, End: hcl.Pos{Line: 1, Column: 505}}
	err := Render(&got, hcl.Diagnostics{Error(r, "S", "")}, Options{Source: func(string) []byte { return []byte(long) }})
	if err != nil {
		t.Fatal(err)
	}
	want := "error: S\n  f:1,501:\n    1 | … " + strings.Repeat("x", 40) + "HERE" + strings.Repeat("y", 116) + " …\n      |   " + strings.Repeat(" ", 40) + "^^^^\n"
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestJSON(t *testing.T) {
	r := at(2, 11, 23)
	r.Start.Byte, r.End.Byte = 22, 34
	got, err := JSON(hcl.Diagnostics{
		With(Error(r, "Unknown plugin", "bad \xff byte"), Info{Address: `stage "b"`, Related: []Related{{"see", at(1, 1, 6)}}}),
	}, source)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/report.json")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	got, err = JSON(nil, source)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), `"diagnostics": []`) {
		t.Errorf("diagnostics must be an array, got %s", got)
	}
}

func FuzzRender(f *testing.F) {
	f.Add("stage \"b\" {}", "d\x1betail", 1, 3, 1, 5)
	f.Add("\xff\xfe\n\n", "", 2, 0, -1, 9)
	f.Fuzz(func(t *testing.T, src, detail string, line, column, endLine, endColumn int) {
		r := hcl.Range{Filename: "f", Start: hcl.Pos{Line: line % 99, Column: column}, End: hcl.Pos{Line: endLine % 99, Column: endColumn}}
		var out strings.Builder
		if err := Render(&out, hcl.Diagnostics{Error(r, "S", detail)}, Options{Source: func(string) []byte { return []byte(src) }}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(out.String(), "\x1b\x07\r\x00") {
			t.Errorf("control characters in %q", out.String())
		}
	})
}
