package lang

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSyntaxGolden compares what is said of each file that cannot be read, whole.
// It is one complaint a file: behind the first the parser guesses.
func TestSyntaxGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/syntax/*.hcl")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".hcl"), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, diags := parse("pipeline.hcl", src, formPipeline)
			if len(diags) != 1 {
				t.Fatalf("%d complaints, want one: %v", len(diags), diags)
			}
			got := render(t, &Files{Sources: map[string][]byte{"pipeline.hcl": src}}, diags)
			for _, word := range []string{"token", "sequence", "argument", "traversal", "constructor", "cty", "hcl"} {
				if strings.Contains(strings.ReplaceAll(got, "pipeline.hcl", ""), word) {
					t.Errorf("%q is a word of the parser's: %s", word, got)
				}
			}
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
