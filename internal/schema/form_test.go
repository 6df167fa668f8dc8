package schema

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/internal/canon"
)

// TestFormsAgree: what a form says fits, fits by the library's word.
func TestFormsAgree(t *testing.T) {
	fit, left := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		root := genSchema(t, 3)
		if object, ok := root.(map[string]any); ok {
			object["$defs"] = map[string]any{"d": genSchema(t, 2)}
		}
		source, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Compile("s.json", source)
		if err != nil {
			return // no schema
		}
		f := formOf(s.compiled)
		if f == nil {
			left++
			return
		}
		raw, err := json.Marshal(genValue(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := canon.Canonical(nil, raw)
		if err != nil {
			return // no document
		}
		if !f.fits(doc) {
			return
		}
		fit++
		decoded, err := decode(doc)
		if err == nil {
			err = s.compiled.Validate(decoded)
		}
		if err != nil {
			t.Fatalf("%s fits %s by its form: %v", doc, source, err)
		}
	})
	t.Logf("%d fitted a form, %d schemas had none", fit, left)
	if fit == 0 || left == 0 {
		t.Errorf("%d documents fitted a form, %d schemas had none", fit, left)
	}
}

var names = []string{"a", "b", "é", "c d"}

// texts are such that patterns and lengths tell them apart.
var texts = []string{"", "a", "b", "ab", "é", "\U0001f600x", "a\nb", `q"`, "t-01", "1"}

func genSchema(t *rapid.T, depth int) any {
	if rapid.IntRange(0, 15).Draw(t, "bool") == 0 {
		return rapid.Bool().Draw(t, "which")
	}
	s := map[string]any{}
	sub := func() any { return genSchema(t, depth-1) }
	few := func(what string) int { return rapid.IntRange(0, 3).Draw(t, what) }
	number := rapid.SampledFrom([]any{-1, 0, 1, 2, 1.5, 1e21, 9007199254740991})
	leaves := []string{"type", "types", "enum", "const", "lengths", "pattern", "minimum", "maximum", "above", "below", "format", "multipleOf", "$ref"}
	nodes := []string{"properties", "required", "others", "counts", "items", "distinct", "allOf", "anyOf", "not", "prefixItems"}
	if depth > 0 {
		leaves = append(leaves, nodes...)
		leaves = append(leaves, nodes[:8]...)
	}
	for range rapid.IntRange(0, 3).Draw(t, "keywords") {
		switch rapid.SampledFrom(leaves).Draw(t, "keyword") {
		case "type":
			s["type"] = rapid.SampledFrom(types).Draw(t, "type")
		case "types":
			s["type"] = rapid.SliceOfNDistinct(rapid.SampledFrom(types), 1, 3, rapid.ID[string]).Draw(t, "types")
		case "enum":
			s["enum"] = []any{genValue(t, 1), genValue(t, 1), genValue(t, 0)}
		case "const":
			s["const"] = genValue(t, 1)
		case "lengths":
			s["minLength"], s["maxLength"] = few("least"), few("most")
		case "pattern":
			s["pattern"] = rapid.SampledFrom(patterns).Draw(t, "pattern")
		case "minimum":
			s["minimum"] = number.Draw(t, "minimum")
		case "maximum":
			s["maximum"] = number.Draw(t, "maximum")
		case "above":
			s["exclusiveMinimum"] = number.Draw(t, "above")
		case "below":
			s["exclusiveMaximum"] = number.Draw(t, "below")
		case "format":
			s["format"] = "date"
		case "multipleOf":
			s["multipleOf"] = 2
		case "$ref":
			s["$ref"] = rapid.SampledFrom([]string{"#", "#/$defs/d"}).Draw(t, "ref")
		case "properties":
			properties := map[string]any{}
			for _, name := range names {
				properties[name] = sub()
			}
			s["properties"] = properties
		case "required":
			s["required"] = rapid.SliceOfNDistinct(rapid.SampledFrom(append(names, "z")), 0, 2, rapid.ID[string]).Draw(t, "required")
		case "others":
			s["additionalProperties"] = sub()
		case "counts":
			s["minProperties"], s["maxItems"], s["maxProperties"], s["minItems"] = few("p"), few("i"), few("P"), few("I")
		case "items":
			s["items"] = sub()
		case "distinct":
			s["uniqueItems"] = true
		case "allOf":
			s["allOf"] = []any{sub(), sub()}
		case "anyOf":
			s["anyOf"] = []any{sub(), sub()}
		case "not":
			s["not"] = sub()
		case "prefixItems":
			s["prefixItems"] = []any{sub()}
		}
	}
	return s
}

var types = []string{"null", "boolean", "number", "integer", "string", "array", "object"}

func genValue(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 5+min(depth, 1)*6).Draw(t, "kind"); {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind <= 3:
		return rapid.SampledFrom([]any{-1, 0, 1, 2, 3, 0.5, 1.5, -2.5, 1e21, 1e-7, 9007199254740991}).Draw(t, "number")
	case kind <= 5:
		return rapid.SampledFrom(texts).Draw(t, "text")
	case kind <= 8:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, genValue(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(append(names, "z")), 0, 3, rapid.ID[string]).Draw(t, "names") {
		object[name] = genValue(t, depth-1)
	}
	return object
}

// TestFormOf: which schemas have a form, and which documents fit one without the
// library. What is left to it is decided by it.
func TestFormOf(t *testing.T) {
	for _, tt := range []struct {
		schema    string
		fit, left []string // left nil: the schema has no form
	}{
		{`true`, []string{`{}`, `[]`, `"\u0000"`, `1.5`, `-1`, `null`, `true`, `false`, `1e+21`}, []string{``, `{`, `{"a"}`, `[1,]`, `[,1]`, `{,}`, `1 `, ` 1`, `01`, `-`, `-0`, `1.`, `tru`, `nul`, `"`, `"\`, `"\q"`, `[1 ]`, `{"a" :1}`, `{"a":1,}`, `}`, `1]`}},
		{`{"type":"integer"}`, []string{`1`, `-7`, `123456789012345678`}, []string{`1.5`, `1e+21`, `"1"`}},
		{`{"type":["number","null"]}`, []string{`1`, `1.5`, `null`}, []string{`"1"`, `true`}},
		{`{"minimum":0,"exclusiveMaximum":10}`, []string{`0`, `9`, `"x"`}, []string{`-1`, `10`, `0.5`, `1e+21`}},
		{`{"minimum":0.5}`, nil, nil},
		{`{"minLength":2,"maxLength":2}`, []string{`"ab"`, `"éé"`, `"\n\""`, `1`}, []string{`"a"`, `"abc"`, `"\n"`}},
		{`{"enum":["a",1,{"b":[]}]}`, []string{`"a"`, `1`, `{"b":[]}`}, []string{`"b"`, `{"b":[1]}`}},
		{`{"const":"a\nb"}`, []string{`"a\nb"`}, []string{`"ab"`}},
		{`{"uniqueItems":true,"minItems":1,"items":{"type":"string"}}`, []string{`["a"]`, `["a","b"]`}, []string{`[]`, `["a","a"]`, `[1]`}},
		{`{"required":["a"],"properties":{"b":{"type":"null"}},"additionalProperties":{"type":"string"}}`, []string{`{"a":"x"}`, `{"a":"","b":null,"c":"y"}`}, []string{`{}`, `{"a":1}`, `{"a":"x","b":1}`, `{"a":"x","c":2}`}},
		{`{"additionalProperties":false,"properties":{"a":true}}`, []string{`{}`, `{"a":[{}]}`}, []string{`{"b":1}`, `{"a":1,"b":2}`, `{"\u0061":1}`}},
		{`{"$ref":"#/$defs/d","$defs":{"d":{"type":"object","properties":{"in":{"$ref":"#"}}}}}`, []string{`{}`, `{"in":{"in":{}}}`}, []string{`[]`, `{"in":{"in":1}}`}},
		{`{"anyOf":[{"type":"string"},{"type":"object","required":["a"]}]}`, []string{`"x"`, `{"a":1}`}, []string{`{}`, `1`}},
		{`{"allOf":[{"type":"string"}],"maxLength":1}`, []string{`"x"`}, []string{`"xx"`, `1`}},
		{`{"not":{"type":"string"}}`, nil, nil},
		{`{"oneOf":[{"type":"string"}]}`, nil, nil},
		{`{"properties":{"a":{"if":{"type":"string"},"then":false}}}`, nil, nil},
		{`{"unevaluatedProperties":false}`, nil, nil},
		{`{"anyOf":[{"type":"string"},{"$ref":"#/$defs/d"}],"$defs":{"d":{"allOf":[{"$ref":"#"}]}}}`, nil, nil},
		{`{"const":1,"enum":[1]}`, nil, nil},
	} {
		f := formOf(compile(t, tt.schema).compiled)
		if (f != nil) != (tt.left != nil) {
			t.Errorf("%s: a form: %t", tt.schema, f != nil)
			continue
		}
		for _, doc := range tt.fit {
			if !f.fits([]byte(doc)) {
				t.Errorf("%s: %s does not fit", tt.schema, doc)
			}
		}
		for _, doc := range tt.left {
			if f.fits([]byte(doc)) {
				t.Errorf("%s: %s fits", tt.schema, doc)
			}
		}
	}
	deep := strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2)
	if anything.fits([]byte(deep)) {
		t.Error("a document that is nested too deep fits")
	}
}

var patterns = []string{
	"^t-[0-9a-f]{2}$", "a", "^a", "b$", "^$", "", "^[^\\x00-\\x1f]*$", "^[a-z]+(-[a-z]+)*$", "(?i)AB", "a|^b|1$", "^(a|ab)(b|$)", `\bab`, "(?m)^b", "^.*b.?$", "[é-ü]", "$^", "^^a$$", "a{2,3}",
}

// TestPattern: the table says what the engine says, where there is one.
func TestPattern(t *testing.T) {
	var tables []string
	for _, source := range patterns {
		general := regexp.MustCompile(source)
		p := newPattern(general)
		if p.next != nil {
			tables = append(tables, source)
		}
		for _, text := range slices.Concat(texts, []string{"aa", "aaa", "b-a", "-a", "AB", "xab", "x ab", "t-0g", "t-012", "a\x00", "\x7f", "ü", "aé", "ab-cd-e"}) {
			if got, want := p.matches([]byte(text)), general.MatchString(text); got != want && (got || source != "$^") {
				t.Errorf("%q and %q: %t, want %t", source, text, got, want)
			}
		}
	}
	for _, source := range []string{`\bab`, "(?m)^b"} {
		if slices.Contains(tables, source) {
			t.Errorf("%q has a table", source)
		}
	}
	if want := len(patterns) - 2; len(tables) != want {
		t.Errorf("%d patterns have a table, want %d: %q", len(tables), want, tables)
	}
	if p := newPattern(regexp.MustCompile("(a|b)*a(a|b){7}$")); p.next != nil || !p.matches([]byte("abbbbbbb")) || p.matches([]byte("abbbbbb")) {
		t.Error("a pattern of many states is not left to the engine")
	}
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SampledFrom(patterns[:len(patterns)-1]).Draw(t, "pattern")
		general := regexp.MustCompile(source)
		p := newPattern(general)
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab-t01é\nAB \x00"))).Draw(t, "text")
		if got, want := p.matches([]byte(text)), general.MatchString(text); got && !want || got != want && source != "$^" {
			t.Fatalf("%q and %q: %t, want %t", source, text, got, want)
		}
	})
}

// TestCardsFitTheirForm: the documents that pipelines are about do not go through
// the library.
func TestCardsFitTheirForm(t *testing.T) {
	source, err := os.ReadFile("../../examples/trivia-cards/schemas/card.json")
	if err != nil {
		t.Fatal(err)
	}
	s := compile(t, string(source))
	f := formOf(s.compiled)
	if f == nil {
		t.Fatal("the card's schema has no form")
	}
	card := func(q string) []byte {
		return canonical(t, `{"topic_id":"t-b0d720a63c00","cat":"history","diff":"easy","q":`+q+`,"a":"Mehmed II","w":["Suleiman the Magnificent","Bayezid I","Selim III"],"x":"Mehmed II besieged the city."}`)
	}
	for _, q := range []string{`"Which sultan took Constantinople in 1453?"`, `"Who said \"no\"?"`, `"Wer besiegte Köln?"`} {
		if !f.fits(card(q)) {
			t.Errorf("a card with the question %s does not fit its form", q)
		}
	}
	for _, q := range []string{`""`, `"a\nb"`, `" "`, `7`} {
		if f.fits(card(q)) {
			t.Errorf("a card with the question %s fits its form", q)
		}
		var misfit *Misfit
		if err := s.Validate(card(q)); !errors.As(err, &misfit) || misfit.Pointer != "/q" {
			t.Errorf("a card with the question %s: %v", q, err)
		}
	}
}
