package wiretest

import (
	"fmt"
	"slices"
	"strings"
)

// Taste tells what a vendor's server would refuse of the schema in a request, by the
// rules that it publishes: empty, nothing. It is written apart from the providers, so
// that the two agree on more than a mistake.
func Taste(r Request) string {
	body := node{r.Body}
	path, _, _ := strings.Cut(r.Path, "?")
	var t taste
	switch speakerOf(path).(type) {
	case chat:
		format := body.at("response_format").at("json_schema")
		t.openAI(format.at("schema"), format.at("strict").is == true)
	case responses:
		format := body.at("text").at("format")
		t.openAI(format.at("schema"), format.at("strict").is == true)
	case messages:
		for _, tool := range body.list("tools") {
			if tool.at("input_schema").text("type") != "object" {
				t.says("input_schema: type must be object")
			}
		}
		t.anthropic(body.at("output_config").at("format").at("schema"))
	case gemini:
		t.gemini(body.at("generationConfig").at("responseJsonSchema"))
	case ollama:
		t.ollama(body.at("format"))
	}
	return t.said
}

// taste is what was said first.
type taste struct {
	root node
	said string
}

func (t *taste) says(format string, args ...any) {
	if t.said == "" {
		t.said = fmt.Sprintf(format, args...)
	}
}

// under are the places of schemas within a schema.
func under(schema node) []node {
	var all []node
	for _, name := range []string{"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"} {
		if value := schema.at(name); value.is != nil {
			all = append(all, value)
		}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		all = append(all, schema.list(name)...)
	}
	for _, name := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		members, _ := schema.at(name).is.(map[string]any)
		for _, v := range members {
			all = append(all, node{v})
		}
	}
	return all
}

func (t *taste) walk(schema node, look func(object map[string]any, schema node)) {
	if object, ok := schema.is.(map[string]any); ok {
		look(object, schema)
		for _, below := range under(schema) {
			t.walk(below, look)
		}
	}
}

// only refuses keywords that are none of those known.
func (t *taste) only(object map[string]any, known ...string) {
	for keyword := range object {
		if !slices.Contains(known, keyword) {
			t.says("the schema has the keyword %s, which is not supported", keyword)
		}
	}
}

// leads tells whether a reference is a pointer to something in the schema.
func (t *taste) leads(ref string) bool {
	pointer, ok := strings.CutPrefix(ref, "#/")
	at := t.root
	for _, name := range strings.Split(pointer, "/") {
		at = at.at(strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
	}
	return ok && at.is != nil
}

func isObject(object map[string]any) bool {
	list, _ := object["type"].([]any)
	return object["type"] == "object" || slices.Contains(list, any("object"))
}

func (t *taste) openAI(schema node, strict bool) {
	if schema.is == nil {
		return
	}
	if schema.text("type") != "object" {
		t.says("schema must be a JSON Schema of 'type: \"object\"', got 'type: %v'", schema.at("type").is)
	}
	if !strict {
		return
	}
	properties, enums := 0, 0
	t.walk(schema, func(object map[string]any, at node) {
		members, _ := at.at("properties").is.(map[string]any)
		properties += len(members)
		enums += len(at.list("enum"))
		if isObject(object) && (object["additionalProperties"] != false || len(at.list("required")) != len(members)) {
			t.says("'additionalProperties' must be false, and 'required' must name every property")
		}
		for _, keyword := range []string{"allOf", "oneOf", "not", "if", "dependentRequired", "dependentSchemas", "patternProperties", "propertyNames", "contains", "uniqueItems", "prefixItems", "minProperties", "maxProperties", "unevaluatedProperties", "default"} {
			if object[keyword] != nil {
				t.says("'%s' is not permitted", keyword)
			}
		}
	})
	if properties > 5000 || enums > 1000 {
		t.says("the schema is too large")
	}
}

func (t *taste) anthropic(schema node) {
	if schema.is == nil {
		return
	}
	t.root = schema
	if schema.text("type") != "object" {
		t.says("output_config.format.schema: type must be object")
	}
	optional, unions := 0, 0
	t.walk(schema, func(object map[string]any, at node) {
		t.only(object, "$defs", "definitions", "$ref", "type", "title", "description", "enum", "const", "default", "format", "pattern", "items", "minItems",
			"anyOf", "properties", "additionalProperties", "required")
		members, _ := at.at("properties").is.(map[string]any)
		optional += max(0, len(members)-len(at.list("required")))
		if _, several := object["type"].([]any); several || object["anyOf"] != nil {
			unions++
		}
		if isObject(object) && object["additionalProperties"] != false {
			t.says("for 'object' type, 'additionalProperties' must be explicitly set to false")
		}
		if n, ok := object["minItems"].(float64); ok && n > 1 {
			t.says("minItems must be 0 or 1")
		}
		if ref, ok := object["$ref"].(string); ok {
			if !t.leads(ref) {
				t.says("%s leads nowhere", ref)
			}
			t.endless(at, nil)
		}
		for _, v := range at.list("enum") {
			switch v.is.(type) {
			case map[string]any, []any:
				t.says("enums have plain values")
			}
		}
	})
	if optional > 24 || unions > 16 {
		t.says("the compiled grammar is too large")
	}
}

// endless refuses a reference that leads to itself, on ways that it may not.
func (t *taste) endless(schema node, way []string) {
	ref, ok := schema.at("$ref").is.(string)
	if ok && slices.Contains(way, ref) {
		t.says("circular reference to %s", ref)
		return
	}
	if ok {
		to := t.root
		for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			to = to.at(strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
		}
		t.endless(to, append(slices.Clip(way), ref))
	}
	for _, below := range under(schema) {
		t.endless(below, way)
	}
}

func (t *taste) gemini(schema node) {
	if schema.is == nil {
		return
	}
	t.root = schema
	t.walk(schema, func(object map[string]any, at node) {
		t.only(object, "$id", "$defs", "definitions", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems",
			"minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required")
		if ref, ok := object["$ref"].(string); ok {
			if !t.leads(ref) {
				t.says("%s leads nowhere", ref)
			}
			for keyword := range object {
				if !strings.HasPrefix(keyword, "$") && keyword != "definitions" {
					t.says("%s stands beside a $ref", keyword)
				}
			}
			t.required(at, nil)
		}
		for _, v := range at.list("enum") {
			switch v.is.(type) {
			case string, float64:
			default:
				t.says("enums have texts and numbers")
			}
		}
	})
}

// required refuses a reference that leads to itself with no member on the way that
// may be left out.
func (t *taste) required(schema node, way []string) {
	if schema.is == nil {
		return
	}
	if ref, ok := schema.at("$ref").is.(string); ok {
		if slices.Contains(way, ref) {
			t.says("cyclic reference to %s in a required property", ref)
			return
		}
		to := t.root
		for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			to = to.at(strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
		}
		t.required(to, append(slices.Clip(way), ref))
		return
	}
	members, _ := schema.at("properties").is.(map[string]any)
	for _, name := range schema.list("required") {
		text, _ := name.is.(string)
		t.required(node{members[text]}, way)
	}
	for _, name := range []string{"items", "additionalProperties"} {
		t.required(schema.at(name), way)
	}
	for _, name := range []string{"anyOf", "prefixItems"} {
		for _, below := range schema.list(name) {
			t.required(below, way)
		}
	}
}

func (t *taste) ollama(schema node) {
	if schema.is == nil || schema.is == "json" {
		return
	}
	t.root = schema
	t.walk(schema, func(object map[string]any, at node) {
		if ref, ok := object["$ref"].(string); ok && !t.leads(ref) {
			t.says("invalid JSON schema in format: unsupported ref %s", ref)
		}
		if pattern := at.text("pattern"); pattern != "" && (pattern[0] != '^' || pattern[len(pattern)-1] != '$') {
			t.says("invalid JSON schema in format: pattern must start with '^' and end with '$'")
		}
		for _, says := range []string{"type", "$ref", "anyOf", "oneOf", "allOf", "const", "enum", "properties", "items", "prefixItems", "pattern"} {
			if object[says] != nil {
				return
			}
		}
		if _, null := object["const"]; !null && at.is != nil {
			t.says("invalid JSON schema in format: unrecognized schema %v", object)
		}
	})
}
