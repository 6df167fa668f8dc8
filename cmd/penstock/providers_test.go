package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestProviderBlocks: each block of docs/providers.md stands in a pipeline as it is.
func TestProviderBlocks(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
		t.Setenv(name, "k")
	}
	blocks := regexp.MustCompile("(?s)```hcl\n(.*?)```").FindAllStringSubmatch(readDoc(t, "providers.md"), -1)
	if len(blocks) != 5 {
		t.Fatalf("%d blocks, want 5", len(blocks))
	}
	own := regexp.MustCompile(`(?ms)^provider "model".*?^}\n`)
	for _, block := range blocks {
		dir := t.TempDir()
		penstock := func(args ...string) {
			t.Helper()
			var out, errs bytes.Buffer
			if exit := Main(append([]string{"-C", dir}, args...), nil, &out, &errs); exit != 0 {
				t.Errorf("penstock %v: exit %d: %s\n%s", args, exit, errs.String(), block[1])
			}
		}
		penstock("init")
		path := filepath.Join(dir, "pipeline.hcl")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, own.ReplaceAll(text, []byte(block[1])), 0o644); err != nil {
			t.Fatal(err)
		}
		penstock("validate")
		penstock("plan")
	}
}

// TestFaultsFromElsewhereAreShown: whatever docs/providers.md names as the proof of
// something is there.
func TestFaultsFromElsewhereAreShown(t *testing.T) {
	_, section, found := strings.Cut(readDoc(t, "providers.md"), "## 8. What goes wrong elsewhere")
	if !found {
		t.Fatal("docs/providers.md has no section 8")
	}
	there := map[string]bool{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if filepath.Base(filepath.Dir(path)) == "script" {
			there[e.Name()] = true
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, name := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
			there[string(name[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 || strings.HasPrefix(cells[0], " what") || strings.HasPrefix(cells[0], " ---") {
			continue
		}
		rows++
		for _, name := range strings.Split(cells[2], ", ") {
			if name = strings.TrimSpace(name); !there[name] {
				t.Errorf("%s: there is no %q", strings.TrimSpace(cells[0]), name)
			}
		}
	}
	if rows < 50 {
		t.Errorf("%d rows were read", rows)
	}
}
