package expr

import (
	"strings"
	"testing"

	"github.com/penstock-run/penstock/internal/schema"
)

// written is a type in full, for tests.
func written(t *Type, depth int) string {
	if depth > 6 {
		return "…"
	}
	s := t.describe()
	switch t.kind {
	case kindList:
		s = "[" + written(t.elem, depth+1) + "]"
	case kindObject:
		var parts []string
		for _, name := range t.names() {
			parts = append(parts, name+": "+written(t.props[name], depth+1))
		}
		if t.rest != nil {
			parts = append(parts, "*: "+written(t.rest, depth+1))
		}
		s = "{" + strings.Join(parts, ", ") + "}"
	}
	if t.nullable && (t.kind == kindList || t.kind == kindObject) {
		s += "?"
	}
	return s
}

func TestFromSchema(t *testing.T) {
	for _, tt := range []struct{ name, schema, want string }{
		{"nothing said", `{}`, `any`},
		{"scalars", `{"type":"object","required":["a","b","c"],"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"},"d":{"type":"null"}}}`, `{a: text, b: number, c: bool, d: null}`},
		{"optional is nullable", `{"properties":{"a":{"type":"string"}}}`, `{a: text or null}`},
		{"open by word", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true}`, `{a: text, *: any}`},
		{"others by schema", `{"type":"object","additionalProperties":{"type":"number"}}`, `{*: number}`},
		{"patterns", `{"type":"object","properties":{"a":true},"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{a: any, *: any}`},
		{"an object of which nothing is said", `{"type":"object"}`, `{*: any}`},
		{"required but not described", `{"type":"object","required":["a"],"properties":{"b":{"type":"string"}}}`, `{a: any, b: text or null}`},
		{"enum", `{"enum":["a","b"]}`, `one of "a", "b"`},
		{"enum with null", `{"enum":["a",null]}`, `"a" or null`},
		{"enum of kinds", `{"enum":["a",1]}`, `any`},
		{"const", `{"const":1.0}`, `1`},
		{"two types", `{"type":["string","null"]}`, `text or null`},
		{"types that have nothing in common", `{"type":["string","number"]}`, `any`},
		{"list", `{"type":"array","items":{"type":"array","items":{"type":"string"}}}`, `[[text]]`},
		{"list of anything", `{"type":"array"}`, `[any]`},
		{"tuple", `{"type":"array","prefixItems":[{"enum":["a"]},{"enum":["b"]}],"items":false}`, `[one of "a", "b"]`},
		{"reference", `{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"string"}}}`, `text`},
		{"reference with more beside it", `{"$ref":"#/$defs/x","properties":{"b":{"type":"string"}},"$defs":{"x":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}}}`, `{a: number, b: text or null}`},
		{"a schema in itself", `{"type":"object","properties":{"next":{"$ref":"#"}}}`, `{next: {next: any}?}`},
		{"one of two shapes", `{"oneOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"number"}},"required":["k","x"]},{"type":"object","properties":{"k":{"const":"b"}},"required":["k"]}]}`, `{k: one of "a", "b", x: number or null}`},
		{"any of with null", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `text or null`},
		{"all of", `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}}}]}`, `{a: text, b: text or null}`},
		{"names that depend on one", `{"type":"object","properties":{"a":{"type":"string"}},"dependentSchemas":{"a":{"properties":{"b":{"type":"number"}}}}}`, `{a: text or null, b: number or null}`},
		{"a reference by a name of its own", `{"$ref":"#base","properties":{"b":{"type":"string"}},"$defs":{"x":{"$anchor":"base","properties":{"a":{"type":"string"}}}}}`, `{b: text or null, *: any}`},
		{"then", `{"type":"object","properties":{"a":{"type":"string"}},"if":{"required":["a"]},"then":{"properties":{"b":{"type":"number"}}}}`, `{a: text or null, b: number or null}`},
		{"all of that contradicts itself", `{"allOf":[{"type":"string"},{"type":"number"}]}`, `any`},
		{"unresolved anchor", `{"$ref":"#here","$defs":{"x":{"$anchor":"here","type":"string"}}}`, `any`},
		{"a text in two Unicode forms", `{"const":"e\u0301"}`, `"é"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := schema.Compile("s.json", []byte(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			if got := written(FromSchema(s), 0); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if FromSchema(nil) != Any() {
		t.Error("no schema is not any")
	}
}

func TestJoin(t *testing.T) {
	for _, tt := range []struct {
		a, b *Type
		want string
	}{
		{nil, String(), `any`},
		{String(), String(), `text`},
		{String(), Number(), `any`},
		{String(), Nullable(String()), `text or null`},
		{typeNull, Bool(), `bool or null`},
		{Enum("a"), Enum("b", "a"), `one of "a", "b"`},
		{Enum("a"), String(), `text`},
		{List(Number()), List(Nullable(Number())), `[number or null]`},
		{Object(map[string]*Type{"a": String(), "b": Number()}), Object(map[string]*Type{"a": Enum("x")}), `{a: text, b: number or null}`},
	} {
		if got := written(Join(tt.a, tt.b), 0); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
		if ab, ba := written(Join(tt.a, tt.b), 0), written(Join(tt.b, tt.a), 0); len(ab) != len(ba) {
			t.Errorf("%s and %s", ab, ba)
		}
	}
}
