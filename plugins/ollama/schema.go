package ollama

import (
	"regexp"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/plugins/wire"
)

// subset is what the server makes a grammar of. A keyword that it does not know it
// passes over, or gives up for: a pattern that is not anchored, a reference to the
// root, a schema without a type that says anything at all. An empty schema it reads
// as that of an object.
var subset = wire.Subset{
	Named: true, Typed: true, Values: value,
	Keywords: []string{
		"$defs", "definitions", "$ref", "type", "format", "title", "description", "default", "enum", "const", "pattern", "minLength", "maxLength",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "items", "prefixItems", "minItems", "maxItems",
		"allOf", "anyOf", "properties", "additionalProperties", "required",
	},
}

// plain are the regular expressions that it reads as they are meant: whole, without
// marks of groups and classes by letter.
var plain = regexp.MustCompile(`^\^([^\\(]|\\[^A-Za-z0-9]|\((?:[^?]|$))*\$$`)

func value(keyword string, value any) bool {
	switch keyword {
	case "pattern":
		text, _ := value.(string)
		return plain.MatchString(text)
	case "$ref":
		text, _ := value.(string)
		return strings.HasPrefix(text, "#/")
	case "allOf": // of objects alone: it puts their members together
		branches, _ := value.([]any)
		return !slices.ContainsFunc(branches, func(branch any) bool {
			object, _ := branch.(map[string]any)
			return object["properties"] == nil && object["$ref"] == nil
		})
	}
	return true
}
