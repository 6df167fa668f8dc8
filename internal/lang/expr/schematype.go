package expr

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/text/unicode/norm"

	"github.com/penstock-run/penstock/dag"
)

// FromSchema is the type of the documents that fit a JSON Schema. What the
// schema says in a way that a Type cannot hold makes that part Any, never
// something narrower than the schema.
//
// An object that declares properties and says nothing of others is taken at
// its word: another name in an expression is a misspelling. Who means
// otherwise says "additionalProperties": true.
func FromSchema(s dag.Schema) *Type {
	if s == nil {
		return typeAny
	}
	var doc any
	if err := json.Unmarshal(s.Source().Bytes, &doc); err != nil {
		return typeAny
	}
	r := &schemaReader{root: doc, open: map[string]bool{}}
	return r.read(doc)
}

// schemaReader walks one schema. open holds the references that are being
// followed: a schema that contains itself is Any from there on.
type schemaReader struct {
	root  any
	open  map[string]bool
	depth int
}

const maxSchemaDepth = 64

func (r *schemaReader) read(doc any) *Type {
	m, ok := doc.(map[string]any)
	if !ok || r.depth > maxSchemaDepth {
		return typeAny
	}
	r.depth++
	defer func() { r.depth-- }()
	t := r.own(m)
	for _, word := range []string{"oneOf", "anyOf"} {
		if alternatives, ok := m[word].([]any); ok && len(alternatives) > 0 {
			t = meet(t, r.join(alternatives))
		}
	}
	if parts, ok := m["allOf"].([]any); ok {
		for _, part := range parts {
			t = meet(t, r.read(part))
		}
	}
	if ref, ok := m["$ref"].(string); ok {
		if other := r.follow(ref); other.kind == kindAny {
			t = opened(t)
		} else {
			t = meet(t, other)
		}
	}
	if _, ok := m["$dynamicRef"]; ok {
		t = opened(t)
	}
	for _, word := range []string{"then", "else"} {
		if branch, ok := m[word].(map[string]any); ok {
			t = withNames(t, r.read(branch))
		}
	}
	if dependent, ok := m["dependentSchemas"].(map[string]any); ok {
		for _, branch := range dependent {
			t = withNames(t, r.read(branch))
		}
	}
	return t
}

// opened is an object that may have names of which nothing is known here: they
// stand behind a reference that is not followed.
func opened(t *Type) *Type {
	if t.kind != kindObject || t.rest != nil {
		return t
	}
	c := *t
	c.rest = typeAny
	return &c
}

// withNames adds the names that only a conditional part of a schema declares.
func withNames(t, branch *Type) *Type {
	if t.kind != kindObject || branch.kind != kindObject {
		return t
	}
	c := *t
	c.props = maps.Clone(t.props)
	for name, at := range branch.props {
		if _, ok := c.props[name]; !ok {
			c.props[name] = Nullable(at)
		}
	}
	return &c
}

func (r *schemaReader) join(alternatives []any) *Type {
	t := r.read(alternatives[0])
	for _, alternative := range alternatives[1:] {
		t = Join(t, r.read(alternative))
	}
	return t
}

func (r *schemaReader) follow(ref string) *Type {
	target, ok := resolve(r.root, ref)
	if !ok || r.open[ref] {
		return typeAny
	}
	r.open[ref] = true
	defer delete(r.open, ref)
	return r.read(target)
}

// resolve finds what "#/a/b" points to.
func resolve(root any, ref string) (any, bool) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok || (rest != "" && rest[0] != '/') {
		return nil, false
	}
	at := root
	for token := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		if token == "" && rest == "" {
			break
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[token]; !ok {
			return nil, false
		}
	}
	return at, true
}

// own is the type by the schema's own keywords, references and alternatives aside.
func (r *schemaReader) own(m map[string]any) *Type {
	if c, ok := m["const"]; ok {
		return valuesType([]any{c})
	}
	if values, ok := m["enum"].([]any); ok && len(values) > 0 {
		return valuesType(values)
	}
	var t *Type
	for _, word := range typeWords(m) {
		one := r.shape(m, word)
		if t == nil {
			t = one
		} else {
			t = Join(t, one)
		}
	}
	if t == nil {
		return typeAny
	}
	return t
}

// typeWords are the types that the schema allows. Without "type" an object is
// assumed where properties are declared: a schema that lists them means one.
func typeWords(m map[string]any) []string {
	switch word := m["type"].(type) {
	case string:
		return []string{word}
	case []any:
		var words []string
		for _, w := range word {
			if s, ok := w.(string); ok {
				words = append(words, s)
			}
		}
		return words
	}
	if _, ok := m["properties"]; ok {
		return []string{"object"}
	}
	return nil
}

func (r *schemaReader) shape(m map[string]any, word string) *Type {
	switch word {
	case "string":
		return typeString
	case "number", "integer":
		return typeNumber
	case "boolean":
		return typeBool
	case "null":
		return typeNull
	case "array":
		return r.array(m)
	case "object":
		return r.object(m)
	}
	return typeAny
}

func (r *schemaReader) array(m map[string]any) *Type {
	items, hasItems := m["items"]
	prefix, _ := m["prefixItems"].([]any)
	var elem *Type
	if hasItems && items != false {
		elem = r.read(items)
	} else if !hasItems {
		elem = typeAny
	}
	for _, p := range prefix {
		if elem == nil {
			elem = r.read(p)
		} else {
			elem = Join(elem, r.read(p))
		}
	}
	return List(elem)
}

func (r *schemaReader) object(m map[string]any) *Type {
	t := &Type{kind: kindObject, props: map[string]*Type{}}
	required, _ := m["required"].([]any)
	declared, _ := m["properties"].(map[string]any)
	for name, p := range declared {
		at := r.read(p)
		if !slices.Contains(required, any(name)) {
			at = Nullable(at)
		}
		t.props[name] = at
	}
	for _, name := range required {
		if s, ok := name.(string); ok && t.props[s] == nil {
			t.props[s] = typeAny
		}
	}
	_, patterns := m["patternProperties"]
	switch additional := m["additionalProperties"].(type) {
	case map[string]any:
		t.rest = r.read(additional)
	case bool:
		if additional {
			t.rest = typeAny
		}
	default:
		if len(declared) == 0 {
			t.rest = typeAny
		}
	}
	if patterns {
		t.rest = typeAny
	}
	return t
}

// valuesType is the type of one of these values.
func valuesType(values []any) *Type {
	var t *Type
	for _, v := range values {
		one := valueType(v)
		if t == nil {
			t = one
		} else {
			t = Join(t, one)
		}
	}
	return t
}

func valueType(v any) *Type {
	if s, ok := v.(string); ok {
		v = norm.NFC.String(s) // the form in which expressions compare
	}
	b, err := json.Marshal(v)
	if err != nil {
		return typeAny
	}
	switch v.(type) {
	case nil:
		return typeNull
	case string:
		return &Type{kind: kindString, values: []string{string(b)}}
	case float64:
		return &Type{kind: kindNumber, values: []string{string(b)}}
	case bool:
		return &Type{kind: kindBool, values: []string{string(b)}}
	}
	return typeAny
}

// meet is what fits both a and b. Where they disagree on the kind the schema
// fits nothing, or says more than a Type can hold: Any is safe then.
func meet(a, b *Type) *Type {
	switch {
	case a.kind == kindAny:
		return b
	case b.kind == kindAny:
		return a
	case a.kind != b.kind:
		return typeAny
	}
	m := &Type{kind: a.kind, nullable: a.nullable && b.nullable}
	switch {
	case a.values == nil:
		m.values = b.values
	case b.values == nil:
		m.values = a.values
	default:
		m.values = slices.DeleteFunc(slices.Clone(a.values), func(v string) bool { return !slices.Contains(b.values, v) })
	}
	switch a.kind {
	case kindList:
		m.elem = meet(a.elem, b.elem)
	case kindObject:
		m.props, m.rest = meetProps(a, b)
	}
	return m
}

// meetProps takes the names of both: an "allOf" adds properties part by part.
func meetProps(a, b *Type) (map[string]*Type, *Type) {
	props := map[string]*Type{}
	for name, t := range a.props {
		props[name] = t
	}
	for name, t := range b.props {
		if own, ok := props[name]; ok {
			t = meet(own, t)
		}
		props[name] = t
	}
	if a.rest != nil && b.rest != nil {
		return props, meet(a.rest, b.rest)
	}
	return props, nil
}

// fromCty is the type of a value whose cty type is known.
func fromCty(t cty.Type) *Type {
	switch {
	case t == cty.String:
		return typeString
	case t == cty.Number:
		return typeNumber
	case t == cty.Bool:
		return typeBool
	case t.IsListType() || t.IsSetType():
		return List(fromCty(t.ElementType()))
	case t.IsTupleType():
		var elem *Type
		for _, e := range t.TupleElementTypes() {
			if elem == nil {
				elem = fromCty(e)
			} else {
				elem = Join(elem, fromCty(e))
			}
		}
		return List(elem)
	case t.IsMapType():
		return &Type{kind: kindObject, props: map[string]*Type{}, rest: fromCty(t.ElementType())}
	case t.IsObjectType():
		props := map[string]*Type{}
		for name, at := range t.AttributeTypes() {
			props[name] = fromCty(at)
		}
		return &Type{kind: kindObject, props: props}
	}
	return typeAny
}
