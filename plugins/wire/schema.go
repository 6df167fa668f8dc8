package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Subset is what a server takes of JSON Schema. What it does not is taken out of
// the schema that it is sent, so that whatever the whole one takes, the weaker one
// takes as well; the answer is validated against the whole one all the same, by
// whoever asked.
//
// Closed is where that does not hold: a server that wants closed objects is sent
// such, and its answers have no members but those that are described.
type Subset struct {
	Keywords  []string                             // that the server takes
	Values    func(keyword string, value any) bool // of those; nil: with any value
	Closed    bool                                 // an object must say additionalProperties: false
	Object    bool                                 // the root must be an object
	Bare      bool                                 // nothing stands beside a $ref
	Named     bool                                 // a $ref leads to a definition, and not to the root
	Typed     bool                                 // a schema of any value at all lists all types
	Recursion Recursion
}

// Recursion is how a server takes a schema that contains itself.
type Recursion int

// Ways to take one.
const (
	Anywhere Recursion = iota
	Optional           // below a member that may be left out
	Nowhere
)

// Fit is a schema as a server gets it.
type Fit struct {
	Schema  []byte   // nil: as it came
	Wrapped bool     // the answer comes as the member of an object
	Changes []string // that were made, sorted
	// Cannot are the reasons for which the server cannot be sent one, sorted; with
	// any, nothing else is set.
	Cannot []string
}

// Sent is the schema to send, the one asked for where it is taken whole.
func (f *Fit) Sent(asked []byte) json.RawMessage {
	if f.Schema != nil {
		return f.Schema
	}
	return asked
}

// Notes are what to tell of the schema that was sent.
func (f *Fit) Notes() []string {
	var notes []string
	if f.Wrapped {
		notes = append(notes, Wrapped)
	}
	if len(f.Changes) > 0 {
		notes = append(notes, "the schema was sent "+strings.Join(f.Changes, ", "))
	}
	return notes
}

// Fit makes a schema fit the subset.
func (s Subset) Fit(schema []byte) (*Fit, error) {
	fit := &Fit{}
	if s.Object && !IsObject(schema) {
		inside, err := Wrap(schema)
		if err != nil {
			return nil, err
		}
		schema, fit.Wrapped, fit.Schema = inside, true, inside
	}
	document, err := decoded(schema)
	if err != nil {
		return nil, err
	}
	w := weakening{subset: s, changes: map[string]int{}, cannot: map[string]bool{}}
	if s.Named {
		document = w.named(document)
	}
	w.cycles = recursion(document)
	w.prune(document)
	if s.Recursion == Nowhere && w.cycles.any() {
		w.cannot["it contains itself"] = true
	}
	document = w.schema(document, place{within: "#"})
	if len(w.cannot) > 0 {
		return &Fit{Cannot: slices.Sorted(maps.Keys(w.cannot))}, nil
	}
	if len(w.changes) == 0 {
		return fit, nil
	}
	for _, change := range slices.Sorted(maps.Keys(w.changes)) {
		fit.Changes = append(fit.Changes, fmt.Sprintf("%s (%d)", change, w.changes[change]))
	}
	fit.Schema, err = json.Marshal(document)
	return fit, err
}

// weakening is one schema on its way to a subset.
type weakening struct {
	subset  Subset
	cycles  *cycles
	changes map[string]int
	cannot  map[string]bool
}

// place is where a schema stands.
type place struct {
	within   string // what a reference leads to that holds it: "#", "#/$defs/a"
	optional bool   // below a member that may be left out
}

// named moves a root that is referred to into the definitions.
func (w *weakening) named(document any) any {
	referred := false
	each(document, func(object map[string]any) {
		ref, _ := object["$ref"].(string)
		referred = referred || throughRoot(ref)
	})
	if !referred {
		return document
	}
	w.changes["with its root among its definitions"]++
	name := member
	if root, ok := document.(map[string]any); ok {
		defs, _ := root["$defs"].(map[string]any)
		for defs[name] != nil {
			name += "_"
		}
	}
	root := lift(document, "#/$defs/"+name)
	defs, _ := root["$defs"].(map[string]any)
	if defs == nil {
		defs = map[string]any{}
	}
	defs[name] = document
	root["$defs"], root["$ref"] = defs, "#/$defs/"+name
	return root
}

// prune takes out the definitions that nothing leads to, which a server would count.
func (w *weakening) prune(document any) {
	root, _ := document.(map[string]any)
	for _, keyword := range definitions {
		defined, _ := root[keyword].(map[string]any)
		for name := range defined {
			if !w.cycles.leadsTo("#/" + keyword + "/" + escape.Replace(name)) {
				delete(defined, name)
				w.changes["without a definition that nothing refers to"]++
			}
		}
		if defined != nil && len(defined) == 0 {
			delete(root, keyword)
		}
	}
}

// schema is a schema, weakened.
func (w *weakening) schema(node any, at place) any {
	object, ok := node.(map[string]any)
	if !ok {
		w.changes[fmt.Sprintf("any for %v", node)]++
		return w.anything(map[string]any{})
	}
	if ref, ok := object["$ref"].(string); ok && w.cut(ref, at) {
		w.changes["without some of a $ref to what contains it"]++
		out := map[string]any{}
		if target, _ := resolve(w.cycles.root, ref).(map[string]any); target["type"] != nil {
			out["type"] = target["type"]
		}
		return w.anything(out)
	}
	if w.subset.Closed {
		w.closes(object)
	}
	out := make(map[string]any, len(object))
	for _, keyword := range slices.Sorted(maps.Keys(object)) {
		w.keyword(object, out, keyword, at)
	}
	if w.subset.Closed && describesObject(out) && out["additionalProperties"] == nil {
		w.changes["with additionalProperties: false"]++
		out["additionalProperties"] = false
	}
	return w.anything(out)
}

// keyword takes a keyword over, if the server takes it.
func (w *weakening) keyword(object, out map[string]any, keyword string, at place) {
	value, to := object[keyword], keyword
	switch {
	case keyword == "const" && !w.takes("const", value):
		value, to = []any{value}, "enum"
	case keyword == "oneOf" && !w.takes("oneOf", value):
		to = "anyOf"
	}
	_, twice := object[to]
	if to != keyword && twice || !w.takes(to, value) || w.loses(object, keyword) {
		w.changes["without "+keyword]++
		return
	}
	if to != keyword {
		w.changes[to+" for "+keyword]++
	}
	switch {
	case keyword == "additionalProperties" && (value == false || value == true):
		out[to] = value
	case slices.Contains(underOne, keyword):
		out[to] = w.schema(value, at)
	case slices.Contains(underList, keyword):
		out[to] = w.list(value, at)
	case slices.Contains(underName, keyword):
		out[to] = w.members(object, keyword, at)
	default:
		out[to] = value
	}
}

func (w *weakening) takes(keyword string, value any) bool {
	return slices.Contains(w.subset.Keywords, keyword) && (w.subset.Values == nil || w.subset.Values(keyword, value))
}

// loses tells whether a keyword says more without another that is taken out, or
// stands beside a reference, where the server takes none.
func (w *weakening) loses(object map[string]any, keyword string) bool {
	beside := func(other string) bool {
		value, ok := object[other]
		return ok && !w.takes(other, value)
	}
	switch {
	case keyword == "additionalProperties":
		return beside("patternProperties")
	case keyword == "items":
		return beside("prefixItems")
	}
	if w.subset.Closed && describesObject(object) && slices.Contains(applied, keyword) {
		return true
	}
	return w.subset.Bare && object["$ref"] != nil && !strings.HasPrefix(keyword, "$") && !slices.Contains(definitions, keyword)
}

func (w *weakening) list(value any, at place) any {
	list, _ := value.([]any)
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = w.schema(v, at)
	}
	return out
}

func (w *weakening) members(object map[string]any, keyword string, at place) any {
	members, _ := object[keyword].(map[string]any)
	_, wanted := names(object)
	out := make(map[string]any, len(members))
	for name, v := range members {
		inside := at
		switch keyword {
		case "properties":
			inside.optional = at.optional || !slices.Contains(wanted, name)
		case "$defs", "definitions":
			inside = place{within: "#/" + keyword + "/" + escape.Replace(name)}
		}
		out[name] = w.schema(v, inside)
	}
	return out
}

// cut tells whether a reference has to go: the server cannot follow it, or it leads
// to what contains it where the server takes no such.
func (w *weakening) cut(ref string, at place) bool {
	if !w.takes("$ref", ref) {
		return true
	}
	if w.subset.Recursion != Optional || at.optional {
		return false
	}
	if throughRoot(ref) {
		return w.cycles.recursive(ref, true)
	}
	return ref == at.within || w.cycles.reaches(ref, at.within, true)
}

// anything writes out the schema of any value for servers that read an empty one as
// something else.
func (w *weakening) anything(out map[string]any) any {
	says := func(keywords ...string) bool {
		return slices.ContainsFunc(keywords, func(keyword string) bool { return out[keyword] != nil })
	}
	if says("$ref", "anyOf", "oneOf", "type", "properties") || hasMember(out, "const", "enum") {
		return out
	}
	if w.subset.Closed {
		w.cannot["it takes a value of any type in some place"] = true
	}
	if !w.subset.Typed || says("items", "prefixItems", "allOf") {
		return out
	}
	w.changes["with all types named"]++
	all := map[string]any{"type": []any{"object", "array", "string", "number", "boolean", "null"}}
	for _, keyword := range append([]string{"title", "description"}, definitions...) {
		if value, ok := out[keyword]; ok {
			all[keyword] = value
		}
	}
	return all
}

func hasMember(object map[string]any, keywords ...string) bool {
	return slices.ContainsFunc(keywords, func(keyword string) bool { _, ok := object[keyword]; return ok })
}

// closes notes why an object cannot be sent closed: it would be another one.
func (w *weakening) closes(object map[string]any) {
	if !describesObject(object) {
		if branches := below(object, "allOf"); slices.ContainsFunc(branches, mentionsMembers) {
			w.cannot["it puts objects together with allOf"] = true
		}
		return
	}
	described, wanted := names(object)
	additional, said := object["additionalProperties"]
	switch {
	case said && additional != false, object["patternProperties"] != nil, !said && len(described) == 0:
		w.cannot["it has an object whose members may have any name"] = true
	case slices.ContainsFunc(wanted, func(name string) bool { _, ok := described[name]; return !ok }):
		w.cannot["it requires a member that it does not describe"] = true
	}
	if object["$ref"] != nil {
		w.cannot["it puts objects together with $ref"] = true
	}
	for _, keyword := range applied {
		if slices.ContainsFunc(below(object, keyword), mentionsMembers) {
			w.cannot["it puts objects together with "+keyword] = true
		}
	}
}

// mentionsMembers tells whether a schema says what members the value has at which it
// stands.
func mentionsMembers(node any) bool {
	object, ok := node.(map[string]any)
	if !ok {
		return false
	}
	if describesObject(object) || hasMember(object, "$ref", "additionalProperties", "patternProperties") {
		return true
	}
	return slices.ContainsFunc(applied, func(keyword string) bool { return slices.ContainsFunc(below(object, keyword), mentionsMembers) })
}
