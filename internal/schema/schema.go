// Package schema compiles JSON Schema (2020-12) and validates documents in
// canonical form against it.
//
// It is called by internal/lang when a pipeline is loaded, by the engine for
// every output of a stage that declares a schema, and by the gate's schema
// check.
//
// It refuses other drafts, references to anything but the schema itself (no
// file and no address is ever read on a schema's word), and patterns that
// could backtrack: RE2 is the only engine.
package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// Schema is a compiled schema. It is immutable and may be used by several
// goroutines.
type Schema struct {
	name     string
	source   dag.Doc
	compiled *jsonschema.Schema

	once sync.Once // form is made for the first document: most commands validate none
	form *form     // nil: only the library knows what fits
}

var _ dag.Schema = (*Schema)(nil)

// base is where a schema stands for the library. The scheme has no loader, so
// a relative reference to another file cannot be read.
const base = "penstock:///schema.json"

// draft is the only one that is read. Left out, it is meant.
const draft = "https://json-schema.org/draft/2020-12/schema"

// Compile reads the JSON Schema that stands in source. The name is the file it
// came from, for messages only.
func Compile(name string, source []byte) (s *Schema, err error) {
	// The library panics on some schemas that are wrong in several ways at
	// once; whoever wrote the schema must see a complaint, not a crash.
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("%s is not a JSON Schema that can be read: %v", name, r)
		}
	}()
	canonical, err := canon.Canonical(nil, source)
	if first := strings.TrimSpace(string(source)); err != nil && notJSON().MatchString(first) {
		line, _, _ := strings.Cut(first, "\n")
		return nil, fmt.Errorf("%s is not JSON: it begins with %q; a schema is written in JSON, such as {\"type\": \"object\"}", name, shortened(line))
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not strict JSON: %w", name, err)
	}
	var doc any
	if err := json.Unmarshal(canonical, &doc); err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", name, err)
	}
	if err := onlyDraft(name, doc); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(closed{})
	if err := c.AddResource(base, doc); err != nil {
		return nil, fmt.Errorf("%s is not a JSON Schema: %w", name, err)
	}
	compiled, err := c.Compile(base)
	if err != nil {
		return nil, compileError(name, err)
	}
	return &Schema{name: name, source: dag.NewDoc(canonical), compiled: compiled}, nil
}

// closed loads nothing.
type closed struct{}

func (closed) Load(string) (any, error) { return nil, errors.New("it is outside the schema") }

func onlyDraft(name string, doc any) error {
	switch doc := doc.(type) {
	case bool:
		return nil
	case map[string]any:
		said, ok := doc["$schema"]
		if !ok {
			return nil
		}
		if text, ok := said.(string); ok && strings.TrimSuffix(text, "#") == draft {
			return nil
		}
		return fmt.Errorf("%s says \"$schema\": %v; only JSON Schema 2020-12 is read, write %q or leave it out", name, quoted(said), draft)
	}
	return fmt.Errorf("%s is not a JSON Schema: a schema is an object or a bool", name)
}

// compileError says in one line why the library refused a schema.
func compileError(name string, err error) error {
	var outside *jsonschema.LoadURLError
	if errors.As(err, &outside) {
		return fmt.Errorf("%s refers to %q, which is outside the schema; copy what is needed into its \"$defs\" and refer to it as \"#/$defs/NAME\"",
			name, strings.TrimPrefix(outside.URL, "penstock:///"))
	}
	var meta *jsonschema.SchemaValidationError
	var misfit *jsonschema.ValidationError
	if errors.As(err, &meta) && errors.As(meta.Err, &misfit) {
		return fmt.Errorf("%s is not a JSON Schema: %s", name, ours.Replace(explain(misfit).Error()))
	}
	text := ours.Replace(oneLine(err.Error()))
	if pointer, ok := strings.CutPrefix(text, "json-pointer in "); ok {
		return fmt.Errorf("%s refers to %s, which is not in it; write it under \"$defs\"", name, strings.TrimSuffix(pointer, " not found"))
	}
	return fmt.Errorf("%s is not a JSON Schema: %s", name, text)
}

// notJSON tells a text in another language, whose first word no JSON has.
var notJSON = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_$<#/][^\n]*`) })

// ours leaves out of the library's texts what tells of the library.
var ours = strings.NewReplacer(base+"#", "#", base, "#", "error parsing regexp: ", "", " Perl syntax", " syntax")

// shortened is the beginning of a line, to be recognised by.
func shortened(line string) string {
	if runes := []rune(line); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return line
}

// Validate checks a document in canonical form. The error is a *Misfit.
func (s *Schema) Validate(canonical []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Misfit{Reason: fmt.Sprintf("the document could not be checked against %s: %v", s.name, r)}
		}
	}()
	s.once.Do(func() { s.form = formOf(s.compiled) })
	if s.form != nil && s.form.fits(canonical) {
		return nil
	}
	doc, err := decode(canonical)
	if err != nil {
		return &Misfit{Reason: oneLine(err.Error())}
	}
	err = s.compiled.Validate(doc)
	if err == nil {
		return nil
	}
	var misfit *jsonschema.ValidationError
	if errors.As(err, &misfit) {
		return explain(misfit)
	}
	return &Misfit{Reason: oneLine(err.Error())}
}

// Source is the schema's text in canonical form.
func (s *Schema) Source() dag.Doc { return s.source }

// Name is the file that the schema came from.
func (s *Schema) Name() string { return s.name }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
