package gemini

import (
	"encoding/json"
	"slices"

	"github.com/penstock-run/penstock/plugins/wire"
)

// subset is what the API takes of JSON Schema; it answers 400 to the rest. What
// contains itself it unrolls, and only below members that may be left out.
var subset = wire.Subset{
	Bare: true, Named: true, Recursion: wire.Optional, Values: value,
	Keywords: []string{ // definitions: what a $ref leads to may not be taken out
		"$id", "$defs", "definitions", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems",
		"minimum", "maximum", "anyOf", "properties", "additionalProperties", "required",
	},
}

// value tells that an enum lists texts and numbers.
func value(keyword string, value any) bool {
	if keyword != "enum" {
		return true
	}
	values, _ := value.([]any)
	return !slices.ContainsFunc(values, func(v any) bool {
		switch v.(type) {
		case string, json.Number:
			return false
		}
		return true
	})
}
