package lang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sources parses the files of a package that are no tests.
func sources(t *testing.T, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// constants gives the texts of the constants of a package by name.
func constants(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, f := range sources(t, dir) {
		for _, decl := range f.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			for _, spec := range group.Specs {
				value := spec.(*ast.ValueSpec)
				for i, name := range value.Names {
					if i >= len(value.Values) {
						continue
					}
					if literal, ok := value.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
						texts[name.Name], _ = strconv.Unquote(literal.Value)
					}
				}
			}
		}
	}
	return texts
}

// complaints are the functions that make diagnostics, with the place of the
// summary among their arguments.
var complaints = map[string]int{
	"diag.Error": 1, "diag.Warning": 1, "l.error": 1, "l.warn": 1, "l.twice": 2, "b.l.error": 1, "b.l.warn": 1, "b.l.twice": 2, "d.l.error": 1, "w.l.error": 1,
	"b.fail": 1, "f.fail": 1, "q.fail": 1, "r.error": 1, "c.error": 1, "u.say": 0, "u.at": 1, "p.complain": 1, "n.f.l.warn": 1,
}

// summaries finds what the complaints of a package are called: names of constants.
// What is a text written out at its place is complained of.
func summaries(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	take := func(where string, e ast.Expr) {
		switch e := e.(type) {
		case *ast.Ident:
			names = append(names, e.Name)
		case *ast.BasicLit:
			t.Errorf("%s, %s: the summary %s is written out at its place; declare it in a const block", dir, where, e.Value)
		}
	}
	for _, f := range sources(t, dir) {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if at, ok := complaints[dotted(n.Fun)]; ok && at < len(n.Args) {
					take(dotted(n.Fun), n.Args[at])
				}
			case *ast.CompositeLit:
				if dotted(n.Type) != "hcl.Diagnostic" {
					break
				}
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok && dotted(kv.Key) == "Summary" {
						take("a hcl.Diagnostic", kv.Value)
					}
				}
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// dotted is an expression of names and dots as it is written.
func dotted(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return dotted(e.X) + "." + e.Sel.Name
	}
	return ""
}

// shownInGoldens are the summaries that the golden files hold.
func shownInGoldens(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, pattern := range []string{"testdata/*.want", "testdata/syntax/*.want", "testdata/locks/*.want", "testdata/files/*.want", "testdata/tests/*.want"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				for _, word := range []string{"error: ", "warning: "} {
					if summary, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), word); ok {
						found[summary] = true
					}
				}
			}
		}
	}
	return found
}

// elsewhere are summaries that no pipeline file can reach, each with the reason.
var elsewhere = map[string]string{
	"sumNoStage":           "the language says first that a stage is missing",
	"sumNoGate":            "the language says first that a gate is missing",
	"sumNamedTwice":        "the language says first that a list names a stage twice",
	"sumRoutedTwice":       "the language says first that an outcome has two arms",
	"sumUndeclaredOutcome": "the language says first that an outcome is unknown",
	"sumDeadEnd":           "the language says first that an arm leads nowhere",
	"notLaidOut":           "it is of fmt, held by TestFormatLeavesATextAsItIs",
	"fileTooLarge":         "TestNothingToRead holds it, without a file of 1 MiB here",
	"noPipeline":           "TestNothingToRead holds it",
	"pluginDiffers":        "it needs the files of a plugin: the script plugin_lock shows it",
	"sumNotConstant":       "the language gives a constant no documents to read",
	"sumSyntax":            "the parser makes no other sort of expression",
}

// TestSummaries holds every summary that is declared to a golden file that shows
// its whole text, and every diagnostic to a summary that is declared.
func TestSummaries(t *testing.T) {
	seen := shownInGoldens(t)
	declared := map[string]bool{}
	for _, dir := range []string{".", "expr", "../../dag"} {
		texts := constants(t, dir)
		used := summaries(t, dir)
		if len(used) < 10 {
			t.Errorf("%s: %d summaries found; does the test still know how diagnostics are made?", dir, len(used))
		}
		for _, name := range used {
			text := texts[name]
			if text == "" {
				continue // a parameter, handed on
			}
			declared[text] = true
			if !seen[text] && elsewhere[name] == "" {
				t.Errorf("%s, %s: no golden file under internal/lang/testdata shows %q", dir, name, text)
			}
			if seen[text] && elsewhere[name] != "" {
				t.Errorf("%s: a golden file shows it, so it need not be excused", name)
			}
		}
	}
	for kind, text := range unknownSummary {
		declared[text] = true
		if !seen[text] && kind != "route" { // only a test names a route
			t.Errorf("no golden file shows %q", text)
		}
	}
	// Those of plugins are theirs.
	for _, of := range []string{"Something lacks", "It will be slow", "Not an address", "Too deep", "Too much", "Function failed"} {
		declared[of] = true
	}
	for text := range seen {
		if !declared[text] {
			t.Errorf("a golden file shows %q, which is declared nowhere", text)
		}
	}
}
