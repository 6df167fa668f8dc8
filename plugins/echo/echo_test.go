package echo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/internal/schema"
	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

func newEcho(t testing.TB, model string) sdk.Completer {
	t.Helper()
	complete, err := Provider().Configure(context.Background(), sdk.ProviderConfig{Model: model, JSON: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	return complete
}

func says(role, text string) *sdk.Message {
	return &sdk.Message{Role: role, Parts: []*sdk.Part{{Type: "text", Text: text}}}
}

func request(text, schema string) *sdk.CompletionRequest {
	return &sdk.CompletionRequest{Messages: []*sdk.Message{says("user", text)}, Schema: []byte(schema)}
}

func TestWithoutASchema(t *testing.T) {
	reply, err := newEcho(t, "m")(context.Background(), &sdk.CompletionRequest{System: "Be brief.",
		Messages: []*sdk.Message{says("user", "one two"), {Role: "user", Parts: []*sdk.Part{{Text: "three"}, {Text: "four  five"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Text != "three\nfour  five" || reply.FinishReason != "stop" || reply.Model != "m" || reply.Usage.Input != 7 || reply.Usage.Output != 3 {
		t.Errorf("got %v", reply)
	}
}

func TestUnknownConfiguration(t *testing.T) {
	if _, err := Provider().Configure(context.Background(), sdk.ProviderConfig{JSON: []byte(`{"api_key":"x"}`)}); err == nil {
		t.Error("a configuration that means nothing was taken")
	}
}

// schemas that real pipelines ask for, and the corners of what is supported.
var schemas = map[string]string{
	"card": `{"type":"object","additionalProperties":false,"required":["q","a","w","x","cat","diff","topic_id"],"properties":{
		"q":{"type":"string","minLength":10,"maxLength":200},"a":{"type":"string","minLength":1,"maxLength":60},
		"w":{"type":"array","items":{"type":"string","minLength":1},"minItems":3,"maxItems":3,"uniqueItems":true},
		"x":{"type":"string"},"cat":{"enum":["history","music"]},"diff":{"enum":["easy","hard"]},"topic_id":{"type":"string","pattern":"^[a-z0-9]+(-[a-z0-9]+)*$"}}}`,
	"topics":                `{"type":"object","required":["topics"],"properties":{"topics":{"type":"array","minItems":5,"maxItems":5,"items":{"$ref":"#/$defs/topic"}}},"$defs":{"topic":{"type":"object","required":["topic_id","title"],"properties":{"topic_id":{"type":"string","pattern":"^t[0-9]{3}$"},"title":{"type":"string","minLength":3}}}}}`,
	"tree":                  `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["value","children"],"properties":{"value":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`,
	"list by branches":      `{"$defs":{"list":{"anyOf":[{"type":"object","required":["head","tail"],"properties":{"head":{"type":"number"},"tail":{"$ref":"#/$defs/list"}}},{"type":"null"}]}},"$ref":"#/$defs/list"}`,
	"by anchor":             `{"type":"array","minItems":1,"items":{"$ref":"#thing"},"$defs":{"x":{"$anchor":"thing","type":"boolean"}}}`,
	"escaped names":         `{"type":"object","required":["a/b"],"properties":{"a/b":{"$ref":"#/$defs/x~1y%20z"}},"$defs":{"x/y z":{"const":7}}}`,
	"const null":            `{"const":null}`,
	"enum of all kinds":     `{"enum":[null,1,"a",[1],{"a":1}]}`,
	"types":                 `{"type":["string","null","integer","boolean"]}`,
	"no types":              `{"properties":{"a":{"minimum":3},"b":{"items":{"type":"null"}},"c":{"minLength":50},"d":true,"e":{}},"required":["a","b","c","d","e"]}`,
	"true":                  `true`,
	"empty":                 `{}`,
	"integer bounds":        `{"type":"integer","minimum":-3,"exclusiveMaximum":-1}`,
	"one number":            `{"type":"number","minimum":0.5,"maximum":0.5}`,
	"between two steps":     `{"type":"number","exclusiveMinimum":0.001,"exclusiveMaximum":0.002}`,
	"multiples":             `{"type":"integer","multipleOf":7,"minimum":50,"maximum":60}`,
	"halves":                `{"type":"number","multipleOf":0.5,"minimum":0.2,"maximum":0.9}`,
	"open above":            `{"type":"number","exclusiveMinimum":1000}`,
	"open below":            `{"type":"integer","maximum":-1000}`,
	"probability":           `{"type":"number","minimum":0,"maximum":1}`,
	"long text":             `{"type":"string","minLength":500,"maxLength":500}`,
	"short text":            `{"type":"string","maxLength":1}`,
	"empty text":            `{"type":"string","maxLength":0}`,
	"formats":               `{"type":"array","prefixItems":[{"type":"string","format":"date"},{"type":"string","format":"date-time"},{"type":"string","format":"uri"},{"type":"string","format":"email"},{"type":"string","format":"uuid"},{"type":"string","format":"nonsense"},{"type":"string","format":"uri","maxLength":3}],"minItems":7}`,
	"tuple":                 `{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false,"minItems":2}`,
	"contains":              `{"type":"array","items":{"type":"integer","maximum":10},"contains":{"minimum":8},"minContains":2,"minItems":4}`,
	"unique booleans":       `{"type":"array","items":{"type":"boolean"},"uniqueItems":true,"minItems":2}`,
	"empty list":            `{"type":"array","maxItems":0}`,
	"members without names": `{"type":"object","minProperties":3,"additionalProperties":{"type":"integer"}}`,
	"members by pattern":    `{"type":"object","required":["x_1"],"patternProperties":{"^x_":{"type":"integer"}},"additionalProperties":false}`,
	"at most one member":    `{"type":"object","properties":{"a":true,"b":true,"c":true},"maxProperties":1}`,
	"dependent members":     `{"type":"object","required":["a"],"properties":{"a":true},"dependentRequired":{"a":["b"],"b":["c"]}}`,
	"all of":                `{"allOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":5}}},{"required":["b"],"properties":{"a":{"maximum":6},"b":{"type":"string"}}}]}`,
	"one of":                `{"type":"object","required":["kind"],"oneOf":[{"properties":{"kind":{"const":"a"},"n":{"type":"integer"}},"required":["n"]},{"properties":{"kind":{"const":"b"}}}]}`,
	"two choices":           `{"allOf":[{"anyOf":[{"minimum":3},{"minimum":4}]},{"anyOf":[{"maximum":5},{"maximum":6}]}],"type":"integer"}`,
	"if then else":          `{"type":"object","required":["status"],"properties":{"status":{"enum":["accept","reject"]}},"if":{"properties":{"status":{"const":"reject"}}},"then":{"required":["reason"]},"else":{"required":["score"]}}`,
	"two conditions":        `{"type":"object","required":["a"],"properties":{"a":{"type":"boolean"}},"allOf":[{"if":{"properties":{"a":{"const":true}}},"then":{"required":["b"]}},{"if":{"properties":{"a":{"const":false}}},"then":{"required":["c"]}}]}`,
	"not":                   `{"type":"integer","minimum":1,"maximum":4,"not":{"enum":[2,3]}}`,
	"types of all of":       `{"allOf":[{"type":["string","number"]},{"type":["integer","null"]}]}`,
	"patterns":              `{"type":"array","minItems":6,"prefixItems":[{"type":"string","pattern":"^(foo|ba[rz])+$"},{"type":"string","pattern":"\\d{4}-\\d{2}"},{"type":"string","pattern":"^[^a-z]$"},{"type":"string","pattern":"x","minLength":20},{"type":"string","pattern":"^.*$"},{"type":"string","pattern":"^\\p{Greek}+$"}]}`,
}

func TestInstancesValidate(t *testing.T) {
	complete := newEcho(t, "m")
	for name, source := range schemas {
		t.Run(name, func(t *testing.T) {
			want, err := schema.Compile("schema", []byte(source))
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for n := range 200 {
				r := request(fmt.Sprint("request ", n), source)
				reply, err := complete(context.Background(), r)
				if err != nil {
					t.Fatal(err)
				}
				if err := want.Validate([]byte(reply.Text)); err != nil {
					t.Fatalf("%s does not fit: %v", reply.Text, err)
				}
				again, err := complete(context.Background(), r)
				if err != nil || again.Text != reply.Text {
					t.Fatalf("the same request got %s, then %s (%v)", reply.Text, again.GetText(), err)
				}
				seen[reply.Text] = true
			}
			single := map[string]bool{"const null": true, "escaped names": true, "one number": true, "multiples": true, "halves": true, "empty text": true, "empty list": true, "between two steps": true, "integer bounds": true}
			if len(seen) < 2 && !single[name] {
				t.Errorf("200 requests got one answer: %v", seen)
			}
		})
	}
}

func TestSchemasWithoutAnInstance(t *testing.T) {
	for name, test := range map[string]struct{ source, want string }{
		"false":          {`false`, "no instance of the schema was found in 64 draws; the last: nothing fits the schema false"},
		"no number":      {`{"type":"integer","minimum":3,"maximum":2}`, "no instance of the schema was found in 64 draws; the last: no number lies within the bounds"},
		"no text":        {`{"type":"string","minLength":3,"maxLength":2}`, "no instance of the schema was found in 64 draws; the last: no text is at least 3 and at most 2 characters long"},
		"no end":         {`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`, "no instance of the schema was found in 64 draws; the last: the schema has no instance of a finite depth"},
		"a circle":       {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, "no instance of the schema was found in 64 draws; the last: the schema has no instance of a finite depth"},
		"too few values": {`{"type":"array","items":{"type":"boolean"},"uniqueItems":true,"minItems":3}`, "no instance of the schema was found in 64 draws; the last: no 3 different elements were found"},
		"a long list":    {`{"type":"array","minItems":1e9}`, "no instance of the schema was found in 64 draws; the last: the schema wants more than 200000 values in a document, or characters in a text"},
		"a long text":    {`{"type":"string","minLength":1e9}`, "no instance of the schema was found in 64 draws; the last: the schema wants more than 200000 values in a document, or characters in a text"},
		"many members":   {`{"type":"object","minProperties":1e9}`, "no instance of the schema was found in 64 draws; the last: the schema wants more than 200000 values in a document, or characters in a text"},
		"not a schema":   {`{"type":"thing"}`, "the schema cannot be read: …"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newEcho(t, "m")(context.Background(), request("x", test.source))
			var p *sdk.ProviderError
			if !errors.As(err, &p) || p.Kind != proto.ProviderError_INVALID_REQUEST {
				t.Fatalf("got %v, want an invalid request", err)
			}
			if head, _, cut := strings.Cut(test.want, "…"); !strings.HasPrefix(p.Message, head) || !cut && p.Message != test.want {
				t.Errorf("got  %s\nwant %s", p.Message, test.want)
			}
		})
	}
}

// Every part of a request makes another answer.
func TestRequestsDiffer(t *testing.T) {
	const source = `{"type":"string","minLength":200}`
	f, n := 0.5, int64(3)
	requests := map[string]*sdk.CompletionRequest{
		"the request": request("x", source),
		"text":        request("y", source),
		"schema":      request("x", `{"type":"string","minLength":201}`),
		"system":      {System: "s", Messages: []*sdk.Message{says("user", "x")}, Schema: []byte(source)},
		"role":        {Messages: []*sdk.Message{says("assistant", "x")}, Schema: []byte(source)},
		"messages":    {Messages: []*sdk.Message{says("user", "x"), says("user", "x")}, Schema: []byte(source)},
		"sample":      {Messages: []*sdk.Message{says("user", "x")}, Schema: []byte(source), Sample: 1},
		"temperature": {Messages: []*sdk.Message{says("user", "x")}, Schema: []byte(source), Sampling: &sdk.Sampling{Temperature: &f}},
		"seed":        {Messages: []*sdk.Message{says("user", "x")}, Schema: []byte(source), Sampling: &sdk.Sampling{Seed: &n}},
		"stop":        {Messages: []*sdk.Message{says("user", "x")}, Schema: []byte(source), Sampling: &sdk.Sampling{Stop: []string{"."}}},
	}
	seen := map[string]string{}
	for name, r := range requests {
		reply, err := newEcho(t, "m")(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[reply.Text]; ok {
			t.Errorf("%s got the answer of %s", name, other)
		}
		seen[reply.Text] = name
	}
	reply, err := newEcho(t, "another model")(context.Background(), requests["the request"])
	if err != nil {
		t.Fatal(err)
	}
	if other, ok := seen[reply.Text]; ok {
		t.Errorf("another model got the answer of %s", other)
	}
}

// drawSchema draws a schema that has an instance by the way it is made.
func drawSchema(t *rapid.T, depth int) map[string]any {
	kinds := []string{"string", "integer", "number", "boolean", "null", "enum", "const"}
	if depth < 3 {
		kinds = append(kinds, "object", "object", "array", "array", "anyOf", "allOf", "ref")
	}
	size := func(label string, most int) float64 { return float64(rapid.IntRange(0, most).Draw(t, label)) }
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "string":
		least := size("minLength", 40)
		return map[string]any{"type": "string", "minLength": least, "maxLength": least + size("more", 40)}
	case "integer", "number":
		low := float64(rapid.IntRange(-1000, 1000).Draw(t, "minimum"))
		return map[string]any{"type": kind, "minimum": low, "maximum": low + size("more", 50)}
	case "boolean", "null":
		return map[string]any{"type": kind}
	case "enum":
		return map[string]any{"enum": []any{"a", size("value", 9), nil}}
	case "const":
		return map[string]any{"const": []any{size("value", 9)}}
	case "array":
		least := size("minItems", 3)
		return map[string]any{"type": "array", "items": drawSchema(t, depth+1), "minItems": least, "maxItems": least + size("more", 2)}
	case "anyOf":
		return map[string]any{"anyOf": []any{drawSchema(t, depth+1), drawSchema(t, depth+1)}}
	case "allOf":
		return map[string]any{"allOf": []any{drawSchema(t, depth+1), map[string]any{"description": "nothing more"}}}
	case "ref":
		return map[string]any{"$ref": "#/$defs/leaf"}
	}
	properties, required := map[string]any{}, []any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "ö", "long name"}), 0, 4, rapid.ID).Draw(t, "names") {
		properties[name] = drawSchema(t, depth+1)
		if rapid.Bool().Draw(t, "required") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func TestEverySatisfiableSchemaIsSatisfied(t *testing.T) {
	complete := newEcho(t, "m")
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawSchema(t, 0)
		drawn["$defs"] = map[string]any{"leaf": map[string]any{"type": "integer", "minimum": 1, "maximum": 9}}
		source, err := json.Marshal(drawn)
		if err != nil {
			t.Fatal(err)
		}
		want, err := schema.Compile("schema", source)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := complete(context.Background(), request("x", string(source)))
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if err := want.Validate([]byte(reply.Text)); err != nil {
			t.Fatalf("%s does not fit %s: %v", reply.Text, source, err)
		}
	})
}

// FuzzSchema gives the generator whatever compiles: it may give up, but not crash,
// hang, or answer what does not fit.
func FuzzSchema(f *testing.F) {
	for _, source := range schemas {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		want, err := schema.Compile("schema", []byte(source))
		if err != nil {
			return
		}
		reply, err := newEcho(t, "m")(context.Background(), request("x", source))
		if err != nil {
			return
		}
		if err := want.Validate([]byte(reply.Text)); err != nil {
			t.Fatalf("%s does not fit: %v", reply.Text, err)
		}
	})
}

// What fixed requests get may change only together with Behaviour.
func TestBehaviour(t *testing.T) {
	var out strings.Builder
	for _, name := range []string{"card", "topics", "tree", "list by branches", "formats", "patterns", "if then else", "no types", "probability", "open above"} {
		reply, err := newEcho(t, "m")(context.Background(), request("fixed", schemas[name]))
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(fmt.Sprintf("%s %d %d %s\n", name, reply.Usage.Input, reply.Usage.Output, reply.Text))
	}
	golden(t, Behaviour, out.String())
}

// golden compares with what was kept for this behaviour. A behaviour that is
// kept is never written again: changed outputs need a new one.
func golden(t *testing.T, behaviour, got string) {
	t.Helper()
	path := filepath.Join("testdata", "behaviour", strings.ReplaceAll(behaviour, "/", "-")+".golden")
	want, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("KEEP_BEHAVIOUR") != "" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatalf("nothing is kept for behaviour %s (KEEP_BEHAVIOUR=1 go test keeps it): %v", behaviour, err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("behaviour %s gives other outputs than it gave: raise Behaviour, then KEEP_BEHAVIOUR=1 go test (-kept +got):\n%s", behaviour, diff)
	}
}
