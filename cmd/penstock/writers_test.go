package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writers lists the packages that may make, change or remove files, each with what it
// writes. Every other package, the bundled plugins among them, writes none.
var writers = map[string]string{
	"gate":                         "the corpus, and nobody else writes there",
	"internal/staging":             "staging/",
	"internal/host":                "the private folders of plugin processes, under the system's temporary folder",
	"internal/engine":              "the lock file, and in the workspace of a test an empty cassette",
	"internal/completion":          "the cassette that --record names",
	"internal/trial":               "the workspace of a test, under the system's temporary folder",
	"internal/revision":            "the tree of a revision, under the system's temporary folder",
	"cmd/penstock":                 "the pipeline that init makes, and what the user names",
	"examples/trivia-cards/author": "the cassette of the example",
}

// changes are the functions of package os that change what is on the disk.
var changes = strings.Fields("Chmod Chown Create CreateTemp Link Mkdir MkdirAll MkdirTemp OpenFile Remove RemoveAll Rename Symlink Truncate WriteFile")

// TestWhoWritesFiles reads the source of every package but the tests and the
// benchmarks.
func TestWhoWritesFiles(t *testing.T) {
	repo := root(t)
	wrote := map[string]bool{}
	err := filepath.WalkDir(repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(repo, path)
		if err != nil {
			return err
		}
		if d.IsDir() && (rel == "bench" || rel != "." && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), rel, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(filepath.Dir(rel))
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if of, ok := call.X.(*ast.Ident); ok && of.Name == "os" && slices.Contains(changes, call.Sel.Name) {
				wrote[name] = true
				if writers[name] == "" {
					t.Errorf("%s calls os.%s: it may not write files; see the table in writers_test.go", rel, call.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, what := range writers {
		if !wrote[name] {
			t.Errorf("%s writes nothing any more (%s): take it out of the table", name, what)
		}
	}
}
