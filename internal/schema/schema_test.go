package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/penstock-run/penstock/internal/canon"
)

func compile(t testing.TB, source string) *Schema {
	t.Helper()
	s, err := Compile("s.json", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func canonical(t testing.TB, text string) []byte {
	t.Helper()
	b, err := canon.Canonical(nil, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const cardSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"required": ["q", "w"],
	"additionalProperties": false,
	"properties": {
		"q": {"type": "string", "minLength": 1},
		"w": {"type": "array", "minItems": 3, "maxItems": 3, "uniqueItems": true, "items": {"type": "string", "maxLength": 8}},
		"n": {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.01},
		"i": {"type": "integer"},
		"cat": {"enum": ["music", "history"]},
		"v": {"const": 1},
		"id": {"type": "string", "pattern": "^[a-z]+$"},
		"src": {"$ref": "#/$defs/source"},
		"any": {"anyOf": [{"$ref": "#/$defs/source"}, {"type": "string"}]},
		"shape": {"oneOf": [
			{"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
			{"type": "object", "properties": {"kind": {"const": "square"}, "a": {"type": "number"}}, "required": ["kind", "a"]}
		]}
	},
	"$defs": {"source": {"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}, "a/b~c": {"type": "null"}}}}
}`

func TestValidate(t *testing.T) {
	s := compile(t, cardSchema)
	const w = `"w":["a","b","c"]`
	for _, tt := range []struct{ doc, want string }{
		{`{"q":"x",` + w + `}`, ""},
		{`{"q":"x",` + w + `,"n":0.29,"i":3,"cat":"music","v":1.0,"any":"s","shape":{"kind":"square","a":1}}`, ""},
		{`{"q":"x",` + w + `,"i":3.0}`, ""},
		{`[]`, `the whole document: expected an object, found an array`},
		{`{}`, `the whole document: the required properties "q", "w" are missing`},
		{`{"q":"x"}`, `the whole document: the required property "w" is missing`},
		{`{"q":5,` + w + `}`, `/q: expected a string, found a number`},
		{`{"q":"",` + w + `}`, `/q: expected at least 1 character, found 0`},
		{`{"q":"x",` + w + `,"x":1}`, `the whole document: the property "x" is not allowed here`},
		{`{"q":"x","w":["a","b"]}`, `/w: expected at least 3 elements, found 2`},
		{`{"q":"x","w":["a","b","a"]}`, `/w: the elements 0 and 2 are equal, and must not be`},
		{`{"q":"x","w":["a","b","much too long"]}`, `/w/2: expected at most 8 characters, found 13`},
		{`{"q":"x",` + w + `,"n":1}`, `/n: expected less than 1, found 1`},
		{`{"q":"x",` + w + `,"n":0.001}`, `/n: expected a multiple of 0.01, found 0.001`},
		{`{"q":"x",` + w + `,"i":1.5}`, `/i: expected an integer, found a number`},
		{`{"q":"x",` + w + `,"cat":"musik"}`, `/cat: expected one of "music", "history", found "musik"`},
		{`{"q":"x",` + w + `,"v":"1"}`, `/v: expected 1, found "1"`},
		{`{"q":"x",` + w + `,"id":"A"}`, `/id: expected a text that matches ^[a-z]+$, found "A"`},
		{`{"q":"x",` + w + `,"src":{}}`, `/src: the required property "url" is missing`},
		{`{"q":"x",` + w + `,"src":{"url":"u","a/b~c":1}}`, `/src/a~1b~0c: expected null, found a number`},
		{`{"q":"x",` + w + `,"any":5}`, `/any: it fits none of the 2 forms that it may have`},
		{`{"q":"x",` + w + `,"any":{"url":5}}`, `/any/url: expected a string, found a number`},
		{`{"q":"x",` + w + `,"shape":{"kind":"circle"}}`, `/shape: the required property "r" is missing`},
		{`{"q":"x",` + w + `,"shape":{"kind":"circle","r":"big"}}`, `/shape/r: expected a number, found a string`},
		{`{"q":1,"w":["a",2,"c"],"i":"x"}`, `/w/1: expected a string, found a number (and 2 more)`},
	} {
		err := s.Validate(canonical(t, tt.doc))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.doc, got, tt.want)
		}
	}
}

func TestNotJSON(t *testing.T) {
	var misfit *Misfit
	if err := compile(t, `{}`).Validate([]byte(`{"a":`)); !errors.As(err, &misfit) {
		t.Errorf("%v", err)
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, tt := range []struct{ source, want string }{
		{`{"type":`, `s.json is not strict JSON: line 1, column 9 (/type): the text ends before the document does`},
		{`{"type":"object","type":"object"}`, `s.json is not strict JSON: line 1, column 18 (/type): the name "type" stands twice in one object`},
		{"type: object\n", `s.json is not JSON: it begins with "type: object"; a schema is written in JSON, such as {"type": "object"}`},
		{`[]`, `s.json is not a JSON Schema: a schema is an object or a bool`},
		{`{"type":"sting"}`, `s.json is not a JSON Schema: /type: expected one of "array", "boolean", "integer", "null", "number", "object", "string", found "sting"`},
		{`{"properties":{"a":{"minimum":"x"}}}`, `s.json is not a JSON Schema: /properties/a/minimum: expected a number, found a string`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `s.json says "$schema": "http://json-schema.org/draft-07/schema#"; only JSON Schema 2020-12 is read, write "https://json-schema.org/draft/2020-12/schema" or leave it out`},
		{`{"$ref":"http://example.com/x.json"}`, `s.json refers to "http://example.com/x.json", which is outside the schema; copy what is needed into its "$defs" and refer to it as "#/$defs/NAME"`},
		{`{"$ref":"file:///etc/passwd"}`, `s.json refers to "file:///etc/passwd", which is outside the schema; copy what is needed into its "$defs" and refer to it as "#/$defs/NAME"`},
		{`{"$ref":"other.json#/a"}`, `s.json refers to "other.json", which is outside the schema; copy what is needed into its "$defs" and refer to it as "#/$defs/NAME"`},
		{`{"$ref":"#/$defs/none"}`, `s.json refers to "#/$defs/none", which is not in it; write it under "$defs"`},
		{`{"pattern":"(?=a)b"}`, "s.json is not a JSON Schema: /pattern: \"(?=a)b\" is no pattern of RE2, which has no look-ahead and no back-references: invalid or unsupported syntax: `(?=`"},
	} {
		_, err := Compile("s.json", []byte(tt.source))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s\n got %v\nwant %s", tt.source, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line", tt.source)
		}
	}
}

func TestSourceIsCanonical(t *testing.T) {
	s := compile(t, "{ \"type\" : \"object\",\n \"minProperties\": 1.0 }")
	if got := string(s.Source().Bytes); got != `{"minProperties":1,"type":"object"}` || s.Name() != "s.json" {
		t.Error(got)
	}
	if s.Source().Digest != compile(t, `{"minProperties":1,"type":"object"}`).Source().Digest {
		t.Error("layout changes the digest")
	}
}

func BenchmarkValidate(b *testing.B) {
	s := compile(b, `{"type":"object","required":["text"],"properties":{"text":{"type":"string"},"cat":{"enum":["music","history"]},"score":{"type":"number","minimum":0},"tries":{"type":"integer"}},"additionalProperties":false}`)
	doc := canonical(b, `{"cat":"music","score":0.91,"text":"`+strings.Repeat("lorem ipsum ", 160)+`","tries":2}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Validate(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{cardSchema, `true`, `{"$ref":"#"}`, `{"$id":"http://a/b","$ref":"c"}`, `{"$dynamicRef":"#x"}`, `{"properties":{"a":{"pattern":"("}}}`} {
		f.Add(s, `{"q":"x","w":[1]}`)
	}
	f.Fuzz(func(t *testing.T, source, doc string) {
		s, err := Compile("s.json", []byte(source))
		if err != nil {
			return
		}
		b, err := canon.Canonical(nil, []byte(doc))
		if err != nil {
			return
		}
		if err := s.Validate(b); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
	})
}

func TestDecodeAgreesWithADecoder(t *testing.T) {
	for _, text := range []string{`null`, `true`, `-1.5e-7`, `""`, `"a\"b\\"`, `"\\\\\""`, `"é😀\n"`, `[]`, `{}`, `[[],{}]`, `{"a":[1,{"b":null,"c":"\u0001"}],"é":false}`, `1e21`} {
		b := canonical(t, text)
		got, err := decode(b)
		if err != nil {
			t.Errorf("%s: %v", b, err)
			continue
		}
		again, err := json.Marshal(got)
		if err != nil || string(canonical(t, string(again))) != string(b) {
			t.Errorf("%s: %s, %v", b, again, err)
		}
	}
	for _, text := range []string{``, ` 1`, `1 `, `[1,]`, `[1`, `{"a"}`, `{"a":1,}`, `{a:1}`, `"a`, `"a\"`, `tru`, `nul`, `[1 ,2]`, `{"a" :1}`, `1,2`, strings.Repeat("[", 5000)} {
		if v, err := decode([]byte(text)); err == nil {
			t.Errorf("%.20q: %v", text, v)
		}
	}
}
