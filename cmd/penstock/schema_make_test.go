package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// schemaObject is a JSON object of a schema.
type schemaObject = map[string]any

// schemaMaker makes JSON Schemas of Go types: members and their types by reflection,
// what they mean from the comments in the source.
type schemaMaker struct {
	t        *testing.T
	root     string
	packages map[string]*packageDocs // by import path
	defs     schemaObject
	names    map[string]reflect.Type // of defs
	bare     map[string]bool         // members that nothing describes
}

// packageDocs is what the source of a package says of its types.
type packageDocs struct {
	types  map[string]string            // what each is
	fields map[string]map[string]string // by type, by Go name
	words  map[string][]string          // constants of each named type of texts
}

func newSchemaMaker(t *testing.T) *schemaMaker {
	return &schemaMaker{t: t, root: root(t), packages: map[string]*packageDocs{}, bare: map[string]bool{}}
}

// schema is that of one document.
func (m *schemaMaker) schema(d document) schemaObject {
	m.defs, m.names = schemaObject{}, map[string]reflect.Type{}
	title := "What penstock prints with --json"
	if d.command != "" {
		title = "What `penstock " + d.command + " --json` prints"
	}
	if d.when != "" {
		title += ": " + d.when
	}
	s := m.structure(d.shapeOf())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = fmt.Sprintf("penstock/%s/%d", d.name, d.version)
	s["title"] = title
	delete(s, "description")
	version, ok := s["properties"].(schemaObject)["version"].(schemaObject)
	if !ok {
		m.t.Fatalf("%s: the document has no member `version`", d.name)
	}
	version["const"] = d.version
	version["description"] = "version of this shape; members may be added to it"
	if len(m.defs) > 0 {
		s["$defs"] = m.defs
	}
	return s
}

// of is the schema of a type.
func (m *schemaMaker) of(t reflect.Type) schemaObject {
	name := t.String()
	if s, ok := foreignShapes[name]; ok {
		return clone(s)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.of(t.Elem())
	case reflect.Struct:
		return schemaObject{"$ref": "#/$defs/" + m.define(t)}
	case reflect.Slice, reflect.Array:
		return schemaObject{"type": "array", "items": m.of(t.Elem())}
	case reflect.Map:
		return schemaObject{"type": "object", "additionalProperties": m.of(t.Elem())}
	case reflect.String:
		s := schemaObject{"type": "string"}
		if words := m.docs(t).words[t.Name()]; len(words) > 0 {
			s["examples"] = words
		}
		return s
	case reflect.Bool:
		return schemaObject{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Int32:
		return schemaObject{"type": "integer"}
	case reflect.Uint64, reflect.Uint32, reflect.Uint:
		return schemaObject{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return schemaObject{"type": "number"}
	}
	m.t.Fatalf("a member of the type %s: say in foreignShapes how it is written", name)
	return nil
}

func clone(s schemaObject) schemaObject {
	c := schemaObject{}
	for k, v := range s {
		c[k] = v
	}
	return c
}

// define puts a struct among the definitions and gives its name there.
func (m *schemaMaker) define(t reflect.Type) string {
	name := t.Name()
	if name == "" {
		m.t.Fatalf("%v: a struct that is printed needs a name", t)
	}
	name = strings.ToUpper(name[:1]) + name[1:]
	if other := m.names[name]; other != nil && other != t {
		name = strings.ToUpper(filepath.Base(t.PkgPath())[:1]) + filepath.Base(t.PkgPath())[1:] + name
	}
	if m.names[name] == nil {
		m.names[name] = t
		m.defs[name] = m.structure(t)
	}
	return name
}

// structure is the schema of a struct's members.
func (m *schemaMaker) structure(t reflect.Type) schemaObject {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if custom, ok := t.MethodByName("MarshalJSON"); ok {
		m.t.Fatalf("%v has a method %s: say in foreignShapes how it is written", t, custom.Name)
	}
	properties, required := schemaObject{}, []string{}
	m.members(t, properties, &required)
	slices.Sort(required)
	s := schemaObject{"type": "object", "properties": properties, "required": required}
	if text := m.docs(t).types[t.Name()]; text != "" {
		s["description"] = inJSON(t, strings.TrimPrefix(strings.TrimPrefix(text, t.Name()+" is "), t.Name()+" are "))
	}
	return s
}

// inJSON is a comment with the names that JSON has for members, and for nothing.
func inJSON(t reflect.Type, text string) string {
	text = strings.ReplaceAll(text, "nil:", "null:")
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			text = regexp.MustCompile(`\b`+f.Name+`\b`).ReplaceAllString(text, name)
		}
	}
	return text
}

func (m *schemaMaker) members(t reflect.Type, properties schemaObject, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if name == "" && inner.Kind() == reflect.Struct && (f.Anonymous || strings.Contains(options, "inline")) {
			m.members(inner, properties, required)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			m.t.Fatalf("%v.%s is printed under its Go name: give it a tag", t, f.Name)
		}
		s := m.of(f.Type)
		if f.Type.Kind() == reflect.Pointer && !omitted(f.Type, options) {
			s = schemaObject{"anyOf": []any{s, schemaObject{"type": "null"}}}
		}
		text := m.docs(t).fields[t.Name()][f.Name]
		if text == "" {
			text = glossary[t.Name()+"."+name]
		}
		if text == "" {
			text = glossary[name]
		}
		if text == "" && name != "version" {
			m.bare[fmt.Sprintf("%v.%s %q", t, f.Name, name)] = true
		}
		if text != "" {
			text = inJSON(t, text)
			if omitted(f.Type, options) {
				text = strings.ReplaceAll(text, "null:", "absent:")
			}
			s["description"] = text
		}
		if !omitted(f.Type, options) {
			*required = append(*required, name)
		}
		properties[name] = s
	}
}

// omitted tells whether a member may be absent.
func omitted(t reflect.Type, options string) bool {
	if strings.Contains(options, "omitzero") {
		return true
	}
	if !strings.Contains(options, "omitempty") {
		return false
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64, reflect.Uint64:
		return false // a number is never empty
	}
	return true
}

// docs reads the source of a type's package.
func (m *schemaMaker) docs(t reflect.Type) *packageDocs {
	path := t.PkgPath()
	if d := m.packages[path]; d != nil {
		return d
	}
	d := &packageDocs{types: map[string]string{}, fields: map[string]map[string]string{}, words: map[string][]string{}}
	m.packages[path] = d
	dir, ours := strings.CutPrefix(path, module+"/")
	if path == "main" {
		dir, ours = "cmd/penstock", true
	}
	if !ours {
		return d
	}
	files, err := filepath.Glob(filepath.Join(m.root, dir, "*.go"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok {
				d.read(decl)
			}
		}
	}
	return d
}

func (d *packageDocs) read(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = decl.Doc
			}
			d.types[spec.Name.Name] = sentence(doc)
			if s, ok := spec.Type.(*ast.StructType); ok {
				d.fields[spec.Name.Name] = fieldTexts(s)
			}
		case *ast.ValueSpec:
			d.constants(decl.Tok, spec)
		}
	}
}

// constants collects the words of a named type: const A T = "x".
func (d *packageDocs) constants(tok token.Token, spec *ast.ValueSpec) {
	of, ok := spec.Type.(*ast.Ident)
	if tok != token.CONST || !ok || of.Name == "Code" { // codes are an open list, with a command of its own
		return
	}
	for _, v := range spec.Values {
		if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if word, err := strconv.Unquote(lit.Value); err == nil {
				d.words[of.Name] = append(d.words[of.Name], word)
			}
		}
	}
}

func fieldTexts(s *ast.StructType) map[string]string {
	texts := map[string]string{}
	for _, f := range s.Fields.List {
		parts := []string{sentence(f.Doc), sentence(f.Comment)}
		text := strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
		for _, name := range f.Names {
			texts[name.Name] = text
		}
	}
	return texts
}

// sentence is a comment on one line.
func sentence(c *ast.CommentGroup) string {
	if c == nil {
		return ""
	}
	return strings.Join(strings.Fields(c.Text()), " ")
}
