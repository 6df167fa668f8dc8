package bundled

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/internal/schema"
	"github.com/penstock-run/penstock/plugins/echo"
	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// wires are all that a bundled provider speaks, each as a block of a pipeline.
var wires = []struct {
	name, plugin, model, base string
	config                    map[string]any
	closed                    bool // it is sent closed objects alone, and gives none with other members
}{
	{name: "chat", plugin: "openai", model: "m", base: "/v1"},
	{name: "chat, loose", plugin: "openai", model: "m", base: "/v1", config: map[string]any{"dialect": map[string]any{"schema": "loose"}}},
	{name: "responses", plugin: "openai", model: "m", base: "/v1", config: map[string]any{"dialect": map[string]any{"api": "responses"}}},
	{name: "anthropic", plugin: "anthropic", model: "claude-new-9", closed: true},
	{name: "anthropic, tools besides", plugin: "anthropic", model: "claude-sonnet-4-5", closed: true},
	{name: "anthropic, by tool", plugin: "anthropic", model: "claude-3-opus"},
	{name: "gemini", plugin: "gemini", model: "gemini-2.5-flash"},
	{name: "ollama", plugin: "ollama", model: "llama3.2"},
}

// completer is a provider of a wire that calls a server.
func completer(t *testing.T, n int, server string) sdk.Completer {
	t.Helper()
	w := wires[n]
	config := map[string]any{"base_url": server + w.base, "api_key": "k"}
	for name, value := range w.config {
		config[name] = value
	}
	document, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	ask, err := plugins[w.plugin].provider().Configure(t.Context(), sdk.ProviderConfig{Provider: "p", Model: w.model, JSON: document})
	if err != nil {
		t.Fatal(err)
	}
	return ask
}

func asks(schema []byte, text string) *sdk.CompletionRequest {
	return &sdk.CompletionRequest{Schema: schema, Messages: []*sdk.Message{{Role: "user", Parts: []*sdk.Part{{Type: "text", Text: text}}}}}
}

// schemas draws one with definitions that may lead anywhere, the root included.
func schemas() *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		root := anySchema(t, 3)
		root["$defs"] = map[string]any{"a": anySchema(t, 2), "b/~": anySchema(t, 1)}
		return root
	})
}

// once tells of one in so many times that it is so.
func once(t *rapid.T, in int) bool { return rapid.IntRange(1, in).Draw(t, "once") == 1 }

// some adds each of some members once in so many times.
func some(t *rapid.T, s map[string]any, in int, members map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if once(t, in) {
			s[name] = members[name]
		}
	}
}

func among[T any](t *rapid.T, of ...T) T { return rapid.SampledFrom(of).Draw(t, "of") }

func anySchema(t *rapid.T, depth int) map[string]any {
	kinds := []func(*rapid.T, int) map[string]any{text, text, number, plain, object, object, object, list, union, reference}
	if depth == 0 {
		kinds = []func(*rapid.T, int) map[string]any{text, number, plain, reference}
	}
	s := among(t, kinds...)(t, depth)
	if once(t, 4) {
		s[among(t, "title", "description", "x-own", "$comment")] = "of no weight"
	}
	return s
}

func text(t *rapid.T, _ int) map[string]any {
	s := map[string]any{"type": "string"}
	some(t, s, 8, map[string]any{
		"minLength": 1, "maxLength": 9, "pattern": among(t, "^[a-z]{1,3}$", "b", "^a"), "format": among(t, "uuid", "regex"), "enum": []any{"x", "y"}, "const": "x",
	})
	return s
}

func number(t *rapid.T, _ int) map[string]any {
	s := map[string]any{"type": among(t, "integer", "number")}
	some(t, s, 4, map[string]any{"minimum": 1, "maximum": 9, "exclusiveMinimum": 0, "multipleOf": 2})
	return s
}

func plain(t *rapid.T, _ int) map[string]any {
	return among(t, map[string]any{"type": "boolean"}, map[string]any{"type": "null"}, map[string]any{"type": []any{"string", "null"}},
		map[string]any{"enum": []any{1, "x", nil}}, map[string]any{"const": map[string]any{"a": []any{1}}}, map[string]any{"minLength": 2},
		map[string]any{"const": nil}, map[string]any{"type": "object"}, map[string]any{"type": "array"}, map[string]any{})
}

func object(t *rapid.T, depth int) map[string]any {
	members, wanted := map[string]any{}, []any{}
	for _, name := range []string{"a", "b", "items"}[:rapid.IntRange(0, 3).Draw(t, "members")] {
		members[name] = anySchema(t, depth-1)
		if once(t, 2) {
			wanted = append(wanted, name)
		}
	}
	s := map[string]any{"type": "object", "properties": members, "required": wanted}
	if once(t, 2) {
		s["additionalProperties"] = among[any](t, false, false, true, map[string]any{"type": "string"})
	}
	some(t, s, 8, map[string]any{
		"patternProperties": map[string]any{"^x": map[string]any{"type": "null"}}, "minProperties": 1, "maxProperties": 3,
		"dependentRequired": map[string]any{"a": []any{"b"}}, "anyOf": []any{map[string]any{"required": []any{"a"}}, map[string]any{"type": "object"}},
		"allOf": []any{map[string]any{"properties": map[string]any{"b": true}}}, "not": map[string]any{"required": []any{"z"}},
		"if": map[string]any{"required": []any{"a"}}, "then": map[string]any{"minProperties": 1}, "propertyNames": map[string]any{"maxLength": 8},
	})
	return s
}

func list(t *rapid.T, depth int) map[string]any {
	s := map[string]any{"type": "array"}
	if once(t, 2) {
		s["items"] = anySchema(t, depth-1)
	}
	if once(t, 4) {
		s["prefixItems"] = []any{anySchema(t, depth-1), true}
		s["items"] = among[any](t, false, true, map[string]any{"type": "null"})
	}
	some(t, s, 4, map[string]any{"minItems": 2, "maxItems": 3, "uniqueItems": true, "contains": map[string]any{"type": "string"}})
	return s
}

func union(t *rapid.T, depth int) map[string]any {
	s := map[string]any{}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if len(s) == 0 || once(t, 4) {
			s[among(t, keyword, "anyOf")] = []any{anySchema(t, depth-1), map[string]any{"type": "null"}}
		}
	}
	return s
}

func reference(t *rapid.T, _ int) map[string]any {
	s := map[string]any{"$ref": among(t, "#", "#/$defs/a", "#/$defs/a", "#/$defs/b~1~0")}
	if once(t, 4) {
		s["minLength"] = 1
	}
	return s
}

// TestWhatFitsTheSchemaFitsWhatIsSent draws schemas, and instances of them, and sees
// over each wire that the server takes what it is sent, by the rules of its vendor,
// and that what it is sent takes each instance. An answer that is as the server was
// asked for it comes back as it was meant.
func TestWhatFitsTheSchemaFitsWhatIsSent(t *testing.T) {
	var answer []byte // of the next request
	server := wiretest.ServeFunc(t, func(int, wiretest.Request) wiretest.Step { return wiretest.Step{Text: string(answer), Pieces: 1} })
	model, err := echo.Provider().Configure(t.Context(), sdk.ProviderConfig{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	completers := make([]sdk.Completer, len(wires))
	for i := range wires {
		completers[i] = completer(t, i, server.URL)
	}
	instances, told := 0, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		drawn, err := json.Marshal(schemas().Draw(rt, "schema"))
		if err != nil {
			rt.Fatal(err)
		}
		if _, err := schema.Compile("drawn", drawn); err != nil {
			rt.Fatalf("%s: %v", drawn, err)
		}
		for n := range 3 {
			reply, err := model(t.Context(), asks(drawn, fmt.Sprint(n)))
			if err != nil {
				return // nothing fits, or nothing that is easily found
			}
			instances++
			instance := []byte(reply.Text)
			for i, w := range wires {
				answer = instance
				reply, err := completers[i](t.Context(), asks(drawn, "x"))
				if err != nil {
					rt.Fatalf("%s: %s: %v", w.name, drawn, err)
				}
				asked := server.Asked()
				sent := wiretest.Heard(asked[len(asked)-1]).Schema
				if sent == nil {
					if !slices.ContainsFunc(reply.Notes, func(note string) bool { return strings.HasPrefix(note, "the server was not told the schema") }) {
						rt.Fatalf("%s: %s was not sent, and no note says so: %q", w.name, drawn, reply.Notes)
					}
					told[w.name]++
					continue
				}
				if !same(sent, drawn) && !same(sent, reply.WireSchema) {
					rt.Fatalf("%s: of %s it was sent %s, and kept is %s", w.name, drawn, sent, reply.WireSchema)
				}
				wrapped := slices.ContainsFunc(reply.Notes, func(note string) bool { return strings.Contains(note, "only member of an object") })
				if wrapped {
					instance = []byte(`{"answer":` + string(instance) + `}`)
				}
				if err := takes(sent, instance); err != nil {
					open := bytes.ReplaceAll(sent, []byte(`"additionalProperties":false`), []byte(`"$comment":""`))
					if !w.closed || takes(open, instance) != nil {
						rt.Fatalf("%s: of %s it was sent %s, which does not take %s: %v", w.name, drawn, sent, instance, err)
					}
				}
				if wrapped {
					answer = instance
					if reply, err = completers[i](t.Context(), asks(drawn, "x")); err != nil {
						rt.Fatal(err)
					}
				}
				if instance = []byte(answerOf(answer, wrapped)); reply.Text != string(instance) {
					rt.Fatalf("%s: %s came back as %s", w.name, instance, reply.Text)
				}
			}
		}
	})
	if instances < 50 {
		t.Errorf("%d instances were drawn: too few to tell anything", instances)
	}
	for name := range told {
		if name != "anthropic" {
			t.Errorf("%s: a schema was not sent", name)
		}
	}
	t.Logf("%d instances; not sent: %v", instances, told)
}

func answerOf(answer []byte, wrapped bool) string {
	var object struct{ Answer json.RawMessage }
	if wrapped && json.Unmarshal(answer, &object) == nil {
		return string(object.Answer)
	}
	return string(answer)
}

func same(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

func takes(source, instance []byte) error {
	compiled, err := schema.Compile("sent", source)
	if err != nil {
		return err
	}
	return compiled.Validate(instance)
}
