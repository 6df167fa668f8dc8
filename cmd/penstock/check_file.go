package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/schema"
)

// The file of `penstock check`: a JSON object whose members are the arguments of the
// kind, and what the check reads besides: visits, a corpus, pages.

// checkMember is a member that the file may have.
type checkMember struct {
	name      string
	kind      string // a type of dag.CheckArg, or one of those that stand beside the arguments
	required  bool
	otherwise string // what it is where it is left out, for people
}

// memberForms say of each type what is to be written.
var memberForms = map[string]string{
	"value":     "any JSON value",
	"text":      `a text: "…"`,
	"texts":     `a list of texts: ["…", "…"]`,
	"addresses": `a list of addresses: ["https://…", "https://…"]`,
	"number":    "a number: 3",
	"bool":      "true or false",
	"sources":   `a list of sources: [{"url": "https://…", "quote": "…", "supports": ["claim"]}]`,
	"stage":     `the name of a stage, as the visits have it: "verifier"`,
	"stages":    `a list of stages, as the visits have them: ["crafter"]`,
	"schema":    `a JSON Schema, or the path of its file: "card.json"`,
	"path":      `a path: "card" or "/card"`,
	"duration":  `a duration: "20s"`,
	"rules":     `rules, or the path of their file: "phrases.json"`,
	"word":      `a word: "…"`,
	"visits":    `a list of visits: [{"stage": "verifier", "plugin": "…", "provider": "…", "model": "…", "input": {…}}]`,
	"corpus":    `{"accepted": [{…}]}, of each accepted record the arguments that it had`,
	"pages":     `a list of pages: [{"url": "https://…", "verdict": "live", "status": 200, "text": "…"}]`,
	"hosts":     `a list of hosts: ["localhost"]`,
	"owners":    `a list of lists of domains: [["wikipedia.org", "wikidata.org"]]`,
}

// members are what the file of a kind may have, the arguments first.
func members(info dag.CheckInfo) []checkMember {
	var all []checkMember
	trail := false
	for _, a := range info.Args {
		all = append(all, checkMember{a.Name, a.Type, a.Required, a.Default})
		trail = trail || a.Type == "stage" || a.Type == "stages"
	}
	if trail {
		all = append(all, checkMember{name: "visits", kind: "visits", required: true})
	}
	switch {
	case info.Phase == dag.Locked:
		all = append(all, checkMember{name: "corpus", kind: "corpus", required: true})
	case info.Phase == dag.Network:
		all = append(all, checkMember{name: "pages", kind: "pages", otherwise: "the web"}, checkMember{name: "allow_hosts", kind: "hosts"})
	case info.Kind == "unrelated":
		all = append(all, checkMember{name: "same_owner", kind: "owners"})
	}
	return all
}

func memberNames(info dag.CheckInfo) []string {
	var names []string
	for _, m := range members(info) {
		name := m.name
		if !m.required {
			name += " (if needed)"
		}
		names = append(names, name)
	}
	return names
}

// inWords is a list in words.
func inWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// checkFile reads a file for one check.
type checkFile struct {
	info dag.CheckInfo
	name string
	read func(path string) ([]byte, error)
	out  gate.Single
}

// parseCheck reads what a check is asked about. The error says which member is
// wrong and what to write instead.
func parseCheck(info dag.CheckInfo, name string, src []byte, read func(path string) ([]byte, error)) (gate.Single, error) {
	f := &checkFile{info: info, name: fileName(name), read: read, out: gate.Single{Kind: info.Kind, Args: map[string]jsontext.Value{}}}
	doc, err := canon.Canonical(nil, src)
	if err != nil {
		return gate.Single{}, f.fail("it is not one strict JSON document: %v", err)
	}
	given, err := f.object("", doc)
	if err != nil {
		return gate.Single{}, err
	}
	known := members(info)
	for _, m := range given {
		i := slices.IndexFunc(known, func(k checkMember) bool { return k.name == m.name })
		if i < 0 {
			var names []string
			for _, k := range known {
				names = append(names, k.name)
			}
			return gate.Single{}, f.fail("%s", nearest(m.name, names, "the check %q has no member %q", info.Kind, m.name))
		}
		if string(m.value) == "null" && known[i].kind != "value" && !known[i].required {
			continue
		}
		if err := f.member(known[i], m.value); err != nil {
			return gate.Single{}, err
		}
	}
	for _, m := range known {
		if m.required && !slices.ContainsFunc(given, func(g memberValue) bool { return g.name == m.name }) {
			return gate.Single{}, f.fail("there is no %q: write %s", m.name, memberForms[m.kind])
		}
	}
	return f.out, nil
}

// fileName is what messages call a file of the command line.
func fileName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

func (f *checkFile) fail(format string, args ...any) error {
	return &dag.Error{Op: "read", Subject: f.name, Kind: dag.KindConfig, Err: fmt.Errorf(format, args...)}
}

func (f *checkFile) mistyped(at, kind string, err error) error {
	text := fmt.Sprintf("%q must be %s", at, memberForms[kind])
	var wrong *json.SemanticError
	if err != nil && !errors.As(err, &wrong) {
		text += ": " + err.Error()
	}
	return f.fail("%s", text)
}

type memberValue struct {
	name  string
	value jsontext.Value
}

// object takes an object apart, in the order of its members.
func (f *checkFile) object(at string, doc []byte) ([]memberValue, error) {
	var all []memberValue
	dec := jsontext.NewDecoder(strings.NewReader(string(doc)))
	if dec.PeekKind() != '{' {
		if at == "" {
			return nil, f.fail("it must be a JSON object with %s", inWords(memberNames(f.info)))
		}
		return nil, f.fail("%q must be an object", at)
	}
	_, _ = dec.ReadToken() // the document is sound
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		text := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		all = append(all, memberValue{text, value.Clone()})
	}
	return all, nil
}

// member reads one member.
func (f *checkFile) member(m checkMember, value jsontext.Value) error {
	switch m.kind {
	case "schema":
		return f.schema(m, value)
	case "rules":
		return f.rules(m, value)
	case "visits":
		return f.visits(value)
	case "corpus":
		return f.corpus(value)
	case "pages":
		return f.pages(value)
	case "hosts":
		return f.into(m, value, &f.out.AllowHosts)
	case "owners":
		return f.into(m, value, &f.out.SameOwner)
	}
	if err := f.fits(m, value); err != nil {
		return err
	}
	f.out.Args[m.name] = value
	return nil
}

func (f *checkFile) into(m checkMember, value jsontext.Value, to any) error {
	if err := json.Unmarshal(value, to); err != nil {
		return f.mistyped(m.name, m.kind, nil)
	}
	return nil
}

// fits says whether a value has the type of an argument. What it says is the
// check's business.
func (f *checkFile) fits(m checkMember, value jsontext.Value) error {
	var to any
	switch m.kind {
	case "value":
		return nil
	case "text", "path", "word", "stage", "duration":
		to = new(string)
	case "texts", "stages":
		to = new([]string)
	case "addresses":
		to = new([]*string)
	case "number":
		to = new(float64)
	case "bool":
		to = new(bool)
	case "sources":
		to = new([]map[string]jsontext.Value)
	default:
		return f.fail("this command does not read arguments of the type %q", m.kind)
	}
	if string(value) == "null" || json.Unmarshal(value, to) != nil {
		return f.mistyped(m.name, m.kind, nil)
	}
	if text, ok := to.(*string); ok && m.kind == "duration" {
		if d, err := time.ParseDuration(*text); err != nil || d < 0 {
			return f.mistyped(m.name, m.kind, nil)
		}
	}
	return nil
}

// schema compiles a schema, which stands in the file or beside it.
func (f *checkFile) schema(m checkMember, value jsontext.Value) error {
	name, src, err := f.beside(m, value)
	if err != nil {
		return err
	}
	compiled, err := schema.Compile(name, src)
	if err != nil {
		return f.mistyped(m.name, m.kind, err)
	}
	f.out.Schema = compiled
	return nil
}

func (f *checkFile) rules(m checkMember, value jsontext.Value) error {
	_, src, err := f.beside(m, value)
	if err != nil {
		return err
	}
	f.out.Args[m.name] = src
	return nil
}

// beside gives a value, or what stands in the file that it names.
func (f *checkFile) beside(m checkMember, value jsontext.Value) (name string, src []byte, err error) {
	if value.Kind() != '"' {
		return m.name, value, nil
	}
	var path string
	if err := json.Unmarshal(value, &path); err != nil {
		return "", nil, f.mistyped(m.name, m.kind, nil)
	}
	src, err = f.read(path)
	if err != nil {
		return "", nil, f.fail("%q names the file %s: %v", m.name, path, err)
	}
	doc, err := canon.Canonical(nil, src)
	if err != nil {
		return "", nil, f.fail("%q names the file %s, which is not one strict JSON document: %v", m.name, path, err)
	}
	return path, doc, nil
}
