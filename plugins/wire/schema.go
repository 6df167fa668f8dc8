package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Subset is what a server takes of JSON Schema. What it does not is taken out of
// the schema that it is sent; the answer is validated against the whole one all
// the same, by whoever asked.
type Subset struct {
	Only    []string // keywords that the server takes; nil: all
	Without []string // keywords that the server refuses
	Enum    bool     // const is written as an enum of one
	Closed  bool     // an object must say additionalProperties: false
	AnyOf   bool     // oneOf is written as anyOf
}

// Weaken is the schema for the wire, and what was changed for it, a line each. A
// nil one is as it came.
func (s Subset) Weaken(schema []byte) (wire []byte, changes []string, err error) {
	var document any
	if err := json.Unmarshal(schema, &document); err != nil {
		return nil, nil, fmt.Errorf("the schema of the answer: %w", err)
	}
	w := weakening{subset: s}
	document = w.schema(document)
	if len(w.changes) == 0 {
		return nil, nil, nil
	}
	wire, err = json.Marshal(document)
	for _, change := range slices.Sorted(maps.Keys(w.changes)) {
		changes = append(changes, fmt.Sprintf("%s (%d)", change, w.changes[change]))
	}
	return wire, changes, err
}

type weakening struct {
	subset  Subset
	changes map[string]int
}

func (w *weakening) changed(format string, args ...any) {
	if w.changes == nil {
		w.changes = map[string]int{}
	}
	w.changes[fmt.Sprintf(format, args...)]++
}

// Keywords by what stands under them: a schema, a list of them, or schemas by name.
var (
	underOne  = []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
	underList = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	underName = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

func (w *weakening) schema(node any) any {
	object, ok := node.(map[string]any)
	if !ok {
		return node
	}
	out := make(map[string]any, len(object))
	for keyword, value := range object {
		if w.subset.Enum && keyword == "const" && object["enum"] == nil {
			w.changed("enum for const")
			out["enum"] = []any{value}
			continue
		}
		if slices.Contains(w.subset.Without, keyword) || w.subset.Only != nil && !slices.Contains(w.subset.Only, keyword) {
			w.changed("without %s", keyword)
			continue
		}
		if keyword == "oneOf" && w.subset.AnyOf && object["anyOf"] == nil {
			w.changed("anyOf for oneOf")
			keyword, value = "anyOf", w.list(value)
			out[keyword] = value
			continue
		}
		switch {
		case slices.Contains(underOne, keyword):
			value = w.schema(value)
		case slices.Contains(underList, keyword):
			value = w.list(value)
		case slices.Contains(underName, keyword):
			value = w.named(value)
		}
		out[keyword] = value
	}
	if _, said := out["additionalProperties"]; w.subset.Closed && !said && describesObject(out) {
		w.changed("with additionalProperties: false")
		out["additionalProperties"] = false
	}
	return out
}

func (w *weakening) list(value any) any {
	list, ok := value.([]any)
	if !ok {
		return value
	}
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = w.schema(v)
	}
	return out
}

func (w *weakening) named(value any) any {
	members, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := make(map[string]any, len(members))
	for name, v := range members {
		out[name] = w.schema(v)
	}
	return out
}

func describesObject(schema map[string]any) bool {
	return schema["type"] == "object" || schema["properties"] != nil
}

// Every tells whether a condition holds for each schema within a schema that
// describes an object.
func Every(schema []byte, holds func(object map[string]any) bool) bool {
	var document any
	if json.Unmarshal(schema, &document) != nil {
		return false
	}
	var all func(node any) bool
	all = func(node any) bool {
		object, ok := node.(map[string]any)
		if !ok {
			return true
		}
		if describesObject(object) && !holds(object) {
			return false
		}
		for keyword, value := range object {
			var below []any
			switch {
			case slices.Contains(underOne, keyword):
				below = []any{value}
			case slices.Contains(underList, keyword):
				below, _ = value.([]any)
			case slices.Contains(underName, keyword):
				members, _ := value.(map[string]any)
				below = slices.Collect(maps.Values(members))
			}
			if slices.ContainsFunc(below, func(v any) bool { return !all(v) }) {
				return false
			}
		}
		return true
	}
	return all(document)
}

// Uses tells which of some keywords a schema uses.
func Uses(schema []byte, keywords ...string) []string {
	_, changes, err := Subset{Without: keywords}.Weaken(schema)
	if err != nil {
		return nil
	}
	for i, change := range changes {
		change = strings.TrimPrefix(change, "without ")
		changes[i], _, _ = strings.Cut(change, " ")
	}
	return changes
}
