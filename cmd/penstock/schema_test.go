package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestSchemas: docs/schemas holds what the Go types say, one file a document.
func TestSchemas(t *testing.T) {
	dir := filepath.Join(root(t), "docs", "schemas")
	maker := newSchemaMaker(t)
	var names []string
	for _, d := range documents {
		name := d.name + ".schema.json"
		names = append(names, name)
		want := encodeSchema(t, maker.schema(d))
		path := filepath.Join(dir, name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%v: go test ./cmd/penstock -run Schemas -update", err)
			continue
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("docs/schemas/%s: go test ./cmd/penstock -run Schemas -update (-program +file):\n%s", name, diff)
		}
	}
	for member := range maker.bare {
		t.Errorf("nothing describes %s: give the field a comment, with its unit and what zero means", member)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() && !slices.Contains(names, e.Name()) {
			t.Errorf("docs/schemas/%s is the schema of no document", e.Name())
		}
	}
}

// encodeSchema writes what a reader looks for first at the top.
func encodeSchema(t *testing.T, schema schemaObject) []byte {
	t.Helper()
	top := struct {
		Schema     any `json:"$schema"`
		ID         any `json:"$id"`
		Title      any `json:"title"`
		Type       any `json:"type"`
		Properties any `json:"properties"`
		Required   any `json:"required"`
		Defs       any `json:"$defs,omitempty"`
	}{schema["$schema"], schema["$id"], schema["title"], schema["type"], schema["properties"], schema["required"], schema["$defs"]}
	out, err := json.Marshal(top, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// TestEveryCommandHasASchema: every command has --json, so each says what that is.
func TestEveryCommandHasASchema(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), "penstock ")
		has := slices.ContainsFunc(documents, func(d document) bool { return d.command == name })
		exempt := slices.Contains(withoutDocument, name)
		switch {
		case cmd == cmd.Root():
		case has && exempt:
			t.Errorf("%q is among withoutDocument and has a schema", name)
		case !has && !exempt:
			t.Errorf("`penstock %s --json` has no schema: name the type that it prints, add it to documents (documents_test.go), and go test ./cmd/penstock -run 'Schemas|Tables' -update", name)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&command{}).root())
}
