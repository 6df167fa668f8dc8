package lang

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormat(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"alignment", "stage \"a\" {\n plugin=plugin.p\n   timeout   = \"5s\"\n}\n", "stage \"a\" {\n  plugin  = plugin.p\n  timeout = \"5s\"\n}\n"},
		{"last line feed", "locals {}", "locals {}\n"},
		{"comments stay", "# one\nlocals { # two\nx=1  // three\n}\n", "# one\nlocals { # two\n  x = 1  // three\n}\n"},
		{"heredoc", "locals {\nx = <<EOT\n  a\n b\nEOT\n}\n", "locals {\n  x = <<EOT\n  a\n b\nEOT\n}\n"},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, diags := Format("pipeline.hcl", []byte(tt.src))
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A flush heredoc with an interpolation over several lines is moved by the layout,
// and so is all that follows it in its block.
func TestFormatLeavesATextAsItIs(t *testing.T) {
	src := "locals {\na=1\n}\n\nlocals {\n  x = <<-EOT\n    one ${upper(\n      \"two\"\n    )} three\n      four\n  EOT\n  y  = 2\n}\nlocals {\nb=1\n}\n"
	got, diags := Format("pipeline.hcl", []byte(src))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	want := strings.NewReplacer("a=1", "  a = 1", "b=1", "  b = 1").Replace(src)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if len(diags) != 1 || diags[0].Summary != notLaidOut || diags[0].Subject.Start.Line != 5 {
		t.Errorf("diagnostics: %v", diags)
	}
}

func TestFormatRefusesWhatDoesNotParse(t *testing.T) {
	for _, src := range []string{"stage {", "a = \"", "\xEF\xBB\xBFlocals {}\n", "locals {}\r\n", "x = \"\xff\"\n"} {
		if out, diags := Format("pipeline.hcl", []byte(src)); !diags.HasErrors() || out != nil {
			t.Errorf("%q: got %q, %v", src, out, diags)
		}
	}
}

// FuzzFormat holds that a layout changes no token and is its own layout.
func FuzzFormat(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.hcl")
	for _, name := range files {
		if src, err := os.ReadFile(name); err == nil {
			f.Add(src)
		}
	}
	f.Add([]byte("locals {\n  x = <<-EOT\n    one ${upper(\n      \"two\"\n    )} three\n  EOT\n}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		once, diags := Format("x.hcl", src)
		if diags.HasErrors() {
			return
		}
		if !sameTokens("x.hcl", endsLine(src), once) {
			t.Fatalf("the tokens changed:\n%s\n---\n%s", src, once)
		}
		twice, diags := Format("x.hcl", once)
		if diags.HasErrors() {
			t.Fatalf("the layout does not parse: %v\n%s", diags, once)
		}
		if !bytes.Equal(once, twice) {
			t.Fatalf("the layout is not its own layout:\n%s\n---\n%s", once, twice)
		}
	})
}
