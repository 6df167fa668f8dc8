package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
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
