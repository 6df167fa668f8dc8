package wire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/sdk"
)

var someKeywords = []string{"$defs", "$ref", "type", "title", "enum", "items", "anyOf", "properties", "additionalProperties", "required"}

func TestFit(t *testing.T) {
	plain := Subset{Keywords: someKeywords}
	closed := Subset{Keywords: someKeywords, Closed: true, Object: true, Bare: true, Recursion: Nowhere}
	for _, tt := range []struct {
		name         string
		subset       Subset
		schema, want string // empty: as it came
		changes      []string
		cannot       []string
	}{
		{"as it came", plain, `{"type":"string"}`, ``, nil, nil},
		{"a bound", plain, `{"type":"string","minLength":2}`, `{"type":"string"}`, []string{"without minLength (1)"}, nil},
		{"a property named as a keyword", plain, `{"properties":{"minLength":{"minLength":1}}}`, `{"properties":{"minLength":{}}}`, []string{"without minLength (1)"}, nil},
		{"a value named as a keyword", plain, `{"enum":[{"minLength":1}]}`, ``, nil, nil},
		{"oneOf", plain, `{"oneOf":[{"minLength":1},{"type":"null"}]}`, `{"anyOf":[{},{"type":"null"}]}`, []string{"anyOf for oneOf (1)", "without minLength (1)"}, nil},
		{"oneOf beside anyOf", plain, `{"oneOf":[{"type":"null"}],"anyOf":[{"type":"null"}]}`, `{"anyOf":[{"type":"null"}]}`, []string{"without oneOf (1)"}, nil},
		{"const", plain, `{"const":null}`, `{"enum":[null]}`, []string{"enum for const (1)"}, nil},
		{"a large number", plain, `{"enum":[9007199254740993],"not":{}}`, `{"enum":[9007199254740993]}`, []string{"without not (1)"}, nil},
		{"patternProperties go with what forbids others", plain, `{"type":"object","patternProperties":{"^x":{}},"additionalProperties":false}`, `{"type":"object"}`,
			[]string{"without additionalProperties (1)", "without patternProperties (1)"}, nil},
		{"prefixItems go with what holds for the rest", plain, `{"prefixItems":[{}],"items":{"type":"null"}}`, `{}`, []string{"without items (1)", "without prefixItems (1)"}, nil},
		{"true and false", plain, `{"properties":{"a":true,"b":false}}`, `{"properties":{"a":{},"b":{}}}`, []string{"any for false (1)", "any for true (1)"}, nil},

		{"closed", closed, `{"type":"object","properties":{"a":{"type":"null"}}}`, `{"additionalProperties":false,"properties":{"a":{"type":"null"}},"type":"object"}`, []string{"with additionalProperties: false (1)"}, nil},
		{"a list, wrapped", closed, `{"type":"array","items":{"type":"string","minLength":1}}`,
			`{"additionalProperties":false,"properties":{"answer":{"items":{"type":"string"},"type":"array"}},"required":["answer"],"type":"object"}`, []string{"without minLength (1)"}, nil},
		{"one of some members", closed, `{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":false,"anyOf":[{"required":["a"]}]}`,
			`{"additionalProperties":false,"properties":{"a":{"type":"null"}},"type":"object"}`, []string{"without anyOf (1)"}, nil},
		{"an open map", closed, `{"type":"object","additionalProperties":{"type":"string"}}`, ``, nil, []string{"it has an object whose members may have any name"}},
		{"any object", closed, `{"type":"object","properties":{"a":{"type":["object","null"]}},"additionalProperties":false}`, ``, nil, []string{"it has an object whose members may have any name"}},
		{"names by pattern", closed, `{"type":"object","properties":{},"patternProperties":{"^x":{"type":"null"}},"additionalProperties":false}`, ``, nil, []string{"it has an object whose members may have any name"}},
		{"any value", closed, `{"type":"object","properties":{"a":{"title":"A"}},"additionalProperties":false}`, ``, nil, []string{"it takes a value of any type in some place"}},
		{"put together", closed, `{"type":"object","allOf":[{"properties":{"b":{"type":"null"}}}],"properties":{"a":{"type":"null"}}}`, ``, nil, []string{"it puts objects together with allOf"}},
		{"a member that is nowhere described", closed, `{"type":"object","required":["b"],"properties":{"a":{"type":"null"}}}`, ``, nil, []string{"it requires a member that it does not describe"}},
		{"itself", closed, `{"type":"object","properties":{"a":{"$ref":"#"}}}`, ``, nil, []string{"it contains itself"}},
		{"itself, by way of another", closed, `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/b"}},"b":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/a"}]}}}`,
			``, nil, []string{"it contains itself"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.subset.Fit([]byte(tt.schema))
			if err != nil || string(got.Schema) != tt.want {
				t.Errorf("got %s, %v, want %s", got.Schema, err, tt.want)
			}
			if diff := cmp.Diff(tt.changes, got.Changes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.cannot, got.Cannot); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := plain.Fit([]byte(`{`)); err == nil {
		t.Error("half a schema was taken")
	}
}

func TestRecursionIsCutWhereItCannotBeLeftOut(t *testing.T) {
	s := Subset{Keywords: someKeywords, Named: true, Recursion: Optional}
	for name, tt := range map[string]struct{ schema, want string }{
		"optional": {`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"next":{"$ref":"#/$defs/a"}},"type":"object"}}}`, ``},
		"required": {`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"next":{"$ref":"#/$defs/a"}},"required":["next"],"type":"object"}}}`,
			`{"$defs":{"a":{"properties":{"next":{"type":"object"}},"required":["next"],"type":"object"}},"$ref":"#/$defs/a"}`},
		"in a list": {`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/a"},"type":"array"}}}`,
			`{"$defs":{"a":{"items":{"type":"array"},"type":"array"}},"$ref":"#/$defs/a"}`},
		"by way of another": {`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/b"},"type":"array"},"b":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}]}}}`,
			`{"$defs":{"a":{"items":{},"type":"array"},"b":{"anyOf":[{"type":"array"},{"type":"null"}]}},"$ref":"#/$defs/a"}`},
		"the root": {`{"type":"object","properties":{"next":{"$ref":"#"}}}`,
			`{"$defs":{"answer":{"properties":{"next":{"$ref":"#/$defs/answer"}},"type":"object"}},"$ref":"#/$defs/answer"}`},
		"a part of the root": {`{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"},"c":{"$ref":"#/$defs/answer"}},"$defs":{"answer":{"type":"null"},"idle":{}}}`,
			`{"$defs":{"answer":{"type":"null"},"answer_":{"properties":{"a":{"type":"string"},"b":{"$ref":"#/$defs/answer_/properties/a"},"c":{"$ref":"#/$defs/answer"}},"type":"object"}},"$ref":"#/$defs/answer_"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Fit([]byte(tt.schema))
			if err != nil || string(got.Schema) != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got.Schema, err, tt.want)
			}
		})
	}
}

func TestTypesAreNamedForWhoReadsNoneAsAnObject(t *testing.T) {
	got, err := Subset{Keywords: someKeywords, Typed: true}.Fit([]byte(`{"type":"object","properties":{"a":{"title":"A","minLength":2},"b":{"type":"null"}}}`))
	want := `{"properties":{"a":{"title":"A","type":["object","array","string","number","boolean","null"]},"b":{"type":"null"}},"type":"object"}`
	if err != nil || string(got.Schema) != want {
		t.Errorf("got %s, %v", got.Schema, err)
	}
}

func TestWrap(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"array"}`: `{"type":"array"}`,
		`true`:             `true`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array","items":{"$ref":"#"}}`: `{"items":{"$ref":"#/properties/answer"},"type":"array"}`,
		`{"type":"array","items":[{"type":"null"},{"$ref":"#/items/0"}],"enum":[{"$ref":"#"}]}`:          `{"enum":[{"$ref":"#"}],"items":[{"type":"null"},{"$ref":"#/items/0"}],"type":"array"}`,
		`{"type":"array","prefixItems":[{"type":"null"},{"$ref":"#/prefixItems/0"}]}`:                    `{"prefixItems":[{"type":"null"},{"$ref":"#/properties/answer/prefixItems/0"}],"type":"array"}`,
	} {
		got, err := Wrap([]byte(schema))
		whole := `{"additionalProperties":false,"properties":{"answer":` + want + `},"required":["answer"],"type":"object"}`
		if err != nil || string(got) != whole {
			t.Errorf("%s: got %s, %v, want %s", schema, got, err, whole)
		}
	}
	got, err := Wrap([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"type":"null"}}}`))
	if want := `{"$defs":{"a":{"type":"null"}},"additionalProperties":false,"properties":{"answer":{"$ref":"#/$defs/a"}},"required":["answer"],"type":"object"}`; err != nil || string(got) != want {
		t.Errorf("definitions: got %s, %v", got, err)
	}
}

func TestUnwrap(t *testing.T) {
	for text, want := range map[string]string{ // empty: it is no wrapped answer
		`{"answer":[1, 2]}`:                `[1, 2]`,
		" {\n\"answer\" : \"a\" }\n":       `"a"`,
		"```json\n{\"answer\": null}\n```": `null`,
		`[1]`:                              ``,
		`{}`:                               ``,
		`{"answer":1,"more":2}`:            ``,
		`{"answer":1,"answer":2}`:          ``,
		`{"Answer":1}`:                     ``,
		`{"answer":1} done`:                ``,
		`{"answer":`:                       ``,
		"``````":                           ``,
		``:                                 ``,
	} {
		got, ok := unwrap(text)
		if ok != (want != "") || ok && got != want || !ok && got != text {
			t.Errorf("%q: got %q, %v, want %q", text, got, ok, want)
		}
	}
}

// What came in an object is kept with the answer, and only what ended by itself is
// taken out of one.
func TestUnwrapReply(t *testing.T) {
	for name, tt := range map[string]struct {
		reply    *sdk.CompletionReply
		streamed bool
		text     string
		raw      string
		notes    int
	}{
		"streamed": {&sdk.CompletionReply{Text: `{"answer":[]}`, FinishReason: "stop", Raw: []byte(`{"id":1}`)}, true, `[]`, "{\"id\":1}\n{\"answer\":[]}", 0},
		"whole":    {&sdk.CompletionReply{Text: `{"answer":[]}`, FinishReason: "stop", Raw: []byte(`{"id":1}`)}, false, `[]`, `{"id":1}`, 0},
		"bare":     {&sdk.CompletionReply{Text: `[]`, FinishReason: "stop"}, true, `[]`, ``, 1},
		"cut off":  {&sdk.CompletionReply{Text: `{"answer":[]}`, FinishReason: "length"}, true, `{"answer":[]}`, ``, 0},
		"refused":  {&sdk.CompletionReply{Text: `{"answer":[]}`, FinishReason: "stop", Refusal: "no"}, true, `{"answer":[]}`, ``, 0},
	} {
		unwrapReply(tt.reply, tt.streamed)
		if tt.reply.Text != tt.text || string(tt.reply.Raw) != tt.raw || len(tt.reply.Notes) != tt.notes {
			t.Errorf("%s: got %q, raw %q, notes %q", name, tt.reply.Text, tt.reply.Raw, tt.reply.Notes)
		}
	}
}

func TestCount(t *testing.T) {
	for schema, want := range map[string]Counts{
		`{"type":"string"}`: {},
		`{"type":"object","properties":{"abc":{"type":["string","null"]},"d":{"enum":["xy",1]}},"required":["d"]}`:                {Properties: 2, Optional: 1, Open: 1, Unions: 1, Enums: 2, Depth: 1, Text: 6},
		`{"type":"array","items":{"type":"array","items":{"properties":{"a":{}},"additionalProperties":false,"required":["a"]}}}`: {Properties: 1, Depth: 3, Text: 1},
		`{"anyOf":[{"const":"x"},{"type":"object","additionalProperties":false}]}`:                                                {Unions: 1, Enums: 1, Depth: 1, Text: 1},
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}}}`:                                        {Depth: 1, Text: 1},
		`{"$ref":"#/$defs/n","$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/m"}},"m":{"type":"array"}}}`:                   {Depth: 2, Text: 2},
		`{"examples":[{"type":"object"}],"const":{"type":"object"}}`:                                                              {Enums: 1},
		`{"type":"object","additionalProperties":false,"properties":{"properties":{"type":"string"}},"required":["properties"]}`:  {Properties: 1, Depth: 1, Text: 10},
	} {
		if diff := cmp.Diff(want, Count([]byte(schema))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", schema, diff)
		}
	}
	if got := Uses([]byte(`{"properties":{"not":{"if":true}},"allOf":[{"not":false}]}`), "allOf", "not", "if", "else"); !cmp.Equal(got, []string{"allOf", "if", "not"}) {
		t.Errorf("got %q", got)
	}
}

// Whatever is no schema at all is told, or passed over, and never a crash.
func FuzzFit(f *testing.F) {
	for _, seed := range []string{
		`{"type":["object",1],"properties":[],"required":{},"$ref":7,"items":[[]]}`, `{"$ref":"#/$defs/a/~1/~0","$defs":{"a":{"/":{"~":true}}}}`,
		`{"$defs":[{"$ref":"#"}],"anyOf":{"a":{}},"enum":{}}`, `[]`, `null`, `{"$defs":{"answer":1},"$ref":"#"}`,
	} {
		f.Add([]byte(seed))
	}
	subsets := []Subset{
		{Keywords: someKeywords, Closed: true, Object: true, Bare: true, Recursion: Nowhere},
		{Keywords: someKeywords, Named: true, Bare: true, Recursion: Optional},
		{Keywords: someKeywords, Named: true, Typed: true},
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		Count(schema)
		for _, s := range subsets {
			fit, err := s.Fit(schema)
			if err == nil && fit.Schema != nil && !json.Valid(fit.Schema) {
				t.Errorf("%s: got %s", schema, fit.Schema)
			}
		}
	})
}
