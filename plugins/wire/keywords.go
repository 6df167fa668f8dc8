package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Keywords by what stands under them: a schema, a list of them, or schemas by name.
var (
	underOne  = []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
	underList = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	underName = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	// definitions say nothing of a document until something refers to them.
	definitions = []string{"$defs", "definitions"}
	// applied are keywords whose schemas hold for the very value that they stand at.
	applied = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
)

// decoded is a schema as Go values, its numbers as they are written.
func decoded(schema []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	var document any
	if err := d.Decode(&document); err != nil {
		return nil, fmt.Errorf("the schema of the answer: %w", err)
	}
	return document, nil
}

// below are the schemas that stand directly in a schema, by keyword.
func below(object map[string]any, keyword string) []any {
	switch value := object[keyword]; {
	case value == nil:
		return nil
	case slices.Contains(underOne, keyword):
		return []any{value}
	case slices.Contains(underList, keyword):
		list, _ := value.([]any)
		return list
	case slices.Contains(underName, keyword):
		members, _ := value.(map[string]any)
		return slices.Collect(maps.Values(members))
	}
	return nil
}

// each calls a function with every schema in a document that is an object, its own
// definitions among them.
func each(node any, do func(object map[string]any)) {
	object, ok := node.(map[string]any)
	if !ok {
		return
	}
	do(object)
	for keyword := range object {
		for _, schema := range below(object, keyword) {
			each(schema, do)
		}
	}
}

// types are those that a schema names; none: it does not say.
func types(object map[string]any) []string {
	switch is := object["type"].(type) {
	case string:
		return []string{is}
	case []any:
		var all []string
		for _, v := range is {
			if name, ok := v.(string); ok {
				all = append(all, name)
			}
		}
		return all
	}
	return nil
}

// describesObject tells whether a schema says what members an object has.
func describesObject(schema map[string]any) bool {
	_, named := schema["properties"]
	return named || slices.Contains(types(schema), "object")
}

// names are the members that a schema describes, and those that it wants.
func names(object map[string]any) (described map[string]any, wanted []string) {
	described, _ = object["properties"].(map[string]any)
	list, _ := object["required"].([]any)
	for _, v := range list {
		if name, ok := v.(string); ok {
			wanted = append(wanted, name)
		}
	}
	return described, wanted
}

// Uses tells which of some keywords a schema uses, sorted.
func Uses(schema []byte, keywords ...string) []string {
	document, err := decoded(schema)
	if err != nil {
		return nil
	}
	used := map[string]bool{}
	each(document, func(object map[string]any) {
		for _, keyword := range keywords {
			if _, ok := object[keyword]; ok {
				used[keyword] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(used))
}

// Counts is how large a schema is, as servers count.
type Counts struct {
	Properties int // described in all objects together
	Optional   int // of them not required
	Open       int // objects that may have members besides
	Unions     int // anyOf, oneOf, and types of which there are several
	Enums      int // values of all enums together
	Depth      int // objects and lists in each other; what refers to itself counts once
	Text       int // bytes of the names of members and definitions and of the values of enums
}

// Count counts a schema, each definition once.
func Count(schema []byte) Counts {
	document, err := decoded(schema)
	if err != nil {
		return Counts{}
	}
	var c Counts
	each(document, func(object map[string]any) {
		described, wanted := names(object)
		c.Properties += len(described)
		for name := range described {
			c.Text += len(name)
			if !slices.Contains(wanted, name) {
				c.Optional++
			}
		}
		if describesObject(object) && object["additionalProperties"] != false {
			c.Open++
		}
		for _, keyword := range definitions {
			defined, _ := object[keyword].(map[string]any)
			for name := range defined {
				c.Text += len(name)
			}
		}
		if object["anyOf"] != nil || object["oneOf"] != nil || len(types(object)) > 1 {
			c.Unions++
		}
		values, _ := object["enum"].([]any)
		if value, ok := object["const"]; ok {
			values = append(slices.Clip(values), value)
		}
		c.Enums += len(values)
		for _, v := range values {
			if text, ok := v.(string); ok {
				c.Text += len(text)
			}
		}
	})
	d := depth{root: document, at: map[string]int{}}
	c.Depth = d.of(document)
	return c
}

// depth measures how deep documents of a schema go.
type depth struct {
	root any
	at   map[string]int // of what was referred to; 0 while it is measured
}

func (d *depth) of(node any) int {
	object, ok := node.(map[string]any)
	if !ok {
		return 0
	}
	inside, beside := 0, 0
	for keyword := range object {
		if slices.Contains(definitions, keyword) {
			continue
		}
		for _, schema := range below(object, keyword) {
			if slices.Contains(applied, keyword) {
				beside = max(beside, d.of(schema))
			} else {
				inside = max(inside, d.of(schema))
			}
		}
	}
	if to, ok := object["$ref"].(string); ok {
		if _, known := d.at[to]; !known {
			d.at[to] = 0
			d.at[to] = d.of(resolve(d.root, to))
		}
		beside = max(beside, d.at[to])
	}
	if describesObject(object) || object["items"] != nil || object["prefixItems"] != nil || slices.Contains(types(object), "array") {
		inside++
	}
	return max(inside, beside)
}

// Names in JSON Pointers.
var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// resolve is what a pointer from the root of a document leads to; nil: nothing.
func resolve(root any, ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil
	}
	node := root
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = unescape.Replace(token)
		switch at := node.(type) {
		case map[string]any:
			node = at[token]
		case []any:
			node = nil
			for i, v := range at {
				if fmt.Sprint(i) == token {
					node = v
				}
			}
		default:
			return nil
		}
	}
	return node
}
