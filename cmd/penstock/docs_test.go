package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/lang/expr"
	"github.com/penstock-run/penstock/plugins/bundled"
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLanguageNamesEveryWord looks every block, attribute and name of the language up
// in its specification.
func TestLanguageNamesEveryWord(t *testing.T) {
	text := readDoc(t, "language.md")
	words := shapeWords(t, filepath.Join(root(t), "internal", "lang"))
	if len(words) < 100 {
		t.Errorf("only %d words were found in the shapes of internal/lang", len(words))
	}
	for word, where := range words {
		if !regexp.MustCompile("`[^`]*\\b" + word + "\\b[^`]*`").MatchString(text) {
			t.Errorf("docs/language.md does not tell of %q (%s)", word, where)
		}
	}
}

// tables are the variables of internal/lang that hold words of the language.
var tables = []string{"topNames", "checkCommon", "corpusShapes", "itemRoots", "formats"}

// shapeWords collects the texts in the tables that say what may stand in a block.
func shapeWords(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]string{}
	isWord := regexp.MustCompile(`^[a-z][a-z_]*$`)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		take := func(n ast.Node) {
			ast.Inspect(n, func(n ast.Node) bool {
				if pair, ok := n.(*ast.KeyValueExpr); ok {
					if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "label" {
						return false
					}
				}
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				if word, err := strconv.Unquote(lit.Value); err == nil && isWord.MatchString(word) {
					words[word] = filepath.Base(path)
				}
				return true
			})
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if of, ok := n.Type.(*ast.Ident); ok && (of.Name == "shape" || of.Name == "blockShape") {
					take(n)
				}
			case *ast.ValueSpec:
				if slices.Contains(tables, n.Names[0].Name) {
					take(n)
				}
			}
			return true
		})
	}
	return words
}

// TestCodesAreDocumented looks every code of the engine up.
func TestCodesAreDocumented(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root(t), "dag", "failure.go"))
	if err != nil {
		t.Fatal(err)
	}
	text := readDoc(t, "language.md")
	content, infrastructure, ok := strings.Cut(text, "\n8.2. ")
	if !ok {
		t.Fatal("docs/language.md has no rule 8.2")
	}
	codes := regexp.MustCompile(`Code = "(E_[A-Z_]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(codes) < 20 {
		t.Errorf("only %d codes were found in dag/failure.go", len(codes))
	}
	for _, m := range codes {
		part, rule := content, "8.1"
		if dag.Code(m[1]).Class() == dag.Infrastructure {
			part, rule = infrastructure, "8.2"
		}
		if !strings.Contains(part, "\n| `"+m[1]+"` | ") {
			t.Errorf("docs/language.md, rule %s, has no row for %s", rule, m[1])
		}
	}
}

// TestTables holds the tables that the documentation takes from the program. They
// stand between <!-- NAME: … --> and <!-- end -->.
func TestTables(t *testing.T) {
	for _, table := range []struct {
		file, name string
		rows       func() string
	}{
		{"language.md", "functions", functionRows},
		{"gate.md", "checks", checkRows},
		{"protocol.md", "plugins", pluginRows},
		{"json.md", "schemas", schemaRows},
	} {
		path := filepath.Join(root(t), "docs", table.file)
		text := readDoc(t, table.file)
		parts := regexp.MustCompile(`(?s)(<!-- ` + table.name + `: [^\n]*-->\n)(.*?)(<!-- end -->)`).FindStringSubmatchIndex(text)
		if parts == nil {
			t.Errorf("docs/%s has no place for the table %q", table.file, table.name)
			continue
		}
		rows := "\n" + table.rows() + "\n"
		if *update {
			if err := os.WriteFile(path, []byte(text[:parts[4]]+rows+text[parts[5]:]), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(rows, text[parts[4]:parts[5]]); diff != "" {
			t.Errorf("docs/%s: go test ./cmd/penstock -update (-program +page):\n%s", table.file, diff)
		}
	}
}

// TestPicture: docs/graph.svg is the root pipeline's graph, as the command draws it.
func TestPicture(t *testing.T) {
	dir := t.TempDir()
	if err := copyCheckout(root(t), dir); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if exit := Main([]string{"-C", dir, "graph", "--format", "svg"}, nil, &out, &errs); exit != 0 {
		t.Fatalf("exit %d: %s", exit, errs.String())
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root(t), "docs", "graph.svg"), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(out.String(), readDoc(t, "graph.svg")); diff != "" {
		t.Errorf("docs/graph.svg is another picture: go test ./cmd/penstock -update (-drawn +kept):\n%s", diff)
	}
}

// cell is a text in a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + cell(text) + "`"
}

func functionRows() string {
	text := "| function | gives | example | result |\n| --- | --- | --- | --- |\n"
	for _, f := range expr.FunctionDocs() {
		text += fmt.Sprintf("| %s | %s | %s | %s |\n", code(f.Signature), cell(f.Description), code(f.Example), code(f.Result))
	}
	return text
}

func checkRows() string {
	phases := map[dag.Phase]string{dag.Static: "static", dag.Network: "network", dag.Locked: "locked"}
	text := "| kind | phase | arguments | holds when |\n| --- | --- | --- | --- |\n"
	for _, info := range dag.CheckKinds() {
		var args []string
		for _, a := range info.Args {
			arg := "`" + a.Name + "` (" + a.Type
			if a.Default != "" {
				arg += ", " + a.Default
			}
			if a.Doc != "" {
				arg += ", " + a.Doc
			}
			if !a.Required {
				arg += ", optional"
			}
			args = append(args, arg+")")
		}
		holds := info.Holds
		if !info.Supported {
			holds += "; **not run yet**"
		}
		text += fmt.Sprintf("| `%s` | %s | %s | %s |\n", info.Kind, phases[info.Phase], cell(strings.Join(args, ", ")), cell(holds))
	}
	return text
}

func schemaRows() string {
	text := "| command | document | version | schema |\n| --- | --- | --- | --- |\n"
	for _, d := range documents {
		command := "every command"
		if d.command != "" {
			command = "`penstock " + d.command + "`"
		}
		file := d.name + ".schema.json"
		text += fmt.Sprintf("| %s | %s | %d | [%s](schemas/%s) |\n", command, d.when, d.version, file, file)
	}
	return text
}

func pluginRows() string {
	text := ""
	for _, name := range bundled.Names() {
		info, _ := bundled.Info(name)
		text += fmt.Sprintf("**builtin/%s**, a %s plugin", name, info.Kind)
		if len(info.Config) == 0 {
			text += ", takes no configuration.\n\n"
			continue
		}
		text += ":\n\n| in `config` | type | default | meaning |\n| --- | --- | --- | --- |\n"
		text += fieldRows("", info.Config)
		text += "\n"
	}
	return strings.TrimSuffix(text, "\n")
}

// fieldRows are the rows of a plugin's configuration, those of a block below it.
func fieldRows(block string, fields []dag.ConfigField) string {
	text := ""
	for _, f := range fields {
		standard, kind, doc := code(f.Default), f.Type, f.Doc
		if f.Required {
			standard = "required"
		}
		if f.Block != nil {
			kind = "block"
		}
		if f.Sensitive {
			doc = strings.TrimSpace(doc + " (a secret)")
		}
		text += fmt.Sprintf("| %s | %s | %s | %s |\n", code(block+f.Name), kind, standard, cell(doc))
		text += fieldRows(block+f.Name+".", f.Block)
	}
	return text
}

// TestJSONIsDocumented looks every verb, and every member of what it prints, up.
func TestJSONIsDocumented(t *testing.T) {
	text := readDoc(t, "json.md")
	for _, verb := range (&command{}).root().Commands() {
		switch verb.Name() {
		case "completion", "help", "man":
			continue
		}
		if !strings.Contains(text, "\n## penstock "+verb.Name()+"\n") {
			t.Errorf("docs/json.md has no section `penstock %s`", verb.Name())
		}
	}
	members := map[string]bool{}
	for _, shape := range append(documents, document{shape: dag.Seen{}}) {
		collectMembers(shape.shapeOf(), members)
	}
	if len(members) < 80 {
		t.Errorf("only %d members were found", len(members))
	}
	for name := range members {
		if !regexp.MustCompile("`([a-z]+\\.)?" + name + "`").MatchString(text) {
			t.Errorf("docs/json.md does not tell of the member %q", name)
		}
	}
}

// collectMembers walks the JSON shape of a type.
func collectMembers(of reflect.Type, into map[string]bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || !strings.HasPrefix(of.PkgPath(), module) {
		return
	}
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || into[name] && f.Type == of {
			continue
		}
		into[name] = true
		collectMembers(f.Type, into)
	}
}
