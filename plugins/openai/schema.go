package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire"
)

// wireSchema is the schema as the server gets it.
type wireSchema struct {
	mode    string // "strict", "loose", "json_object" or "none"; empty: none was asked for
	asked   []byte
	wrapped []byte   // in place of asked, where the answer itself is no object
	unfit   []string // why it is not strict where that was left to this provider
}

// refusedWhenStrict are keywords that a strict schema may not use.
var refusedWhenStrict = []string{
	"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties", "propertyNames",
	"unevaluatedProperties", "unevaluatedItems", "contains", "minContains", "maxContains", "uniqueItems", "prefixItems", "minProperties", "maxProperties", "default",
}

// What a strict schema may have at most.
const (
	mostProperties = 5000
	mostDepth      = 10
	mostEnums      = 1000
	mostText       = 120_000
)

// schema decides how a schema is sent.
func (d *dialect) schema(schema []byte) (*wireSchema, error) {
	s := &wireSchema{mode: *d.Schema, asked: schema}
	if s.mode == "none" {
		return s, nil
	}
	sent := schema
	if !wire.IsObject(schema) {
		if s.mode == "json_object" {
			return nil, sdk.InvalidRequest("%s", onlyObjects)
		}
		inside, err := wire.Wrap(schema)
		if err != nil {
			return nil, sdk.InvalidRequest("%v", err)
		}
		s.wrapped, sent = inside, inside
	}
	if s.mode == "auto" {
		s.mode = "strict"
		if s.unfit = unfitForStrict(sent); len(s.unfit) > 0 {
			s.mode = "loose"
		}
	}
	return s, nil
}

const onlyObjects = "the answer is no object, and a server that is told only that it is JSON (dialect { schema = \"json_object\" }) gives objects; write dialect { schema = \"none\" }, or let the answer be an object"

// unfitForStrict are the reasons for which a schema is no strict one.
func unfitForStrict(schema []byte) []string {
	var unfit []string
	most := func(n, most int, what string) {
		if n > most {
			unfit = append(unfit, fmt.Sprintf("it has %d %s, where the server takes %d", n, what, most))
		}
	}
	if used := wire.Uses(schema, refusedWhenStrict...); len(used) > 0 {
		unfit = append(unfit, "it uses "+strings.Join(used, ", "))
	}
	c := wire.Count(schema)
	if c.Optional > 0 {
		unfit = append(unfit, fmt.Sprintf("%d of its %d properties are not required", c.Optional, c.Properties))
	}
	if c.Open > 0 {
		unfit = append(unfit, "it has an object without additionalProperties: false")
	}
	most(c.Properties, mostProperties, "properties")
	most(c.Depth, mostDepth, "objects and lists in each other")
	most(c.Enums, mostEnums, "values of enums")
	most(c.Text, mostText, "bytes of names and values of enums")
	return unfit
}

// notes are what to tell of the schema that was sent.
func (s *wireSchema) notes() []string {
	var notes []string
	switch {
	case s.mode == "json_object":
		return []string{"the server was told that the answer is JSON, not its schema"}
	case s.mode == "none":
		return []string{"the server was not told the schema of the answer"}
	case len(s.unfit) > 0:
		notes = append(notes, "the schema was sent as a hint, and not as a strict one: "+strings.Join(s.unfit, "; "))
	}
	if s.wrapped != nil {
		notes = append(notes, wire.Wrapped)
	}
	return notes
}

// format is the member that asks for the schema; nil where none is sent.
func (s *wireSchema) format() map[string]any {
	if s.mode != "strict" && s.mode != "loose" {
		return nil
	}
	sent := s.asked
	if s.wrapped != nil {
		sent = s.wrapped
	}
	return map[string]any{"name": "answer", "strict": s.mode == "strict", "schema": json.RawMessage(sent)}
}

// told is what to say of a schema before it is sent: that a server of OpenAI's own
// holds no answer to it, where nobody has said that this is meant.
func told(_ string, document, schema []byte) sdk.Diagnostics {
	var c config
	if (sdk.ProviderConfig{JSON: document}).Into(&c) != nil {
		return nil
	}
	var unheard wire.Check
	d := c.Dialect.filled(&unheard, official(c.Settings))
	s, err := d.schema(schema)
	switch {
	case err != nil && *d.Schema == "json_object":
		return sdk.Diagnostics{{Detail: "T" + onlyObjects[1:] + "."}}
	case err != nil || !official(c.Settings):
		return nil
	case len(s.unfit) > 0:
		return sdk.Diagnostics{{Warning: true, Detail: fmt.Sprintf("OpenAI holds answers to a schema only in its strict mode, and this one does not fit that: %s. It is sent as a hint, with \"strict\": false; answers are held to it here, and what does not fit is asked for again.%s If this is meant, say so with\n    dialect { schema = \"loose\" }\nin the config of the provider.", strings.Join(s.unfit, "; "), s.mend())}}
	case s.mode == "strict" && *d.Schema == "strict":
		if s.wrapped != nil {
			schema = s.wrapped
		}
		if unfit := unfitForStrict(schema); len(unfit) > 0 {
			return sdk.Diagnostics{{Detail: fmt.Sprintf("OpenAI refuses this schema in its strict mode, which the dialect asks for: %s. Write\n    dialect { schema = \"loose\" }\nor change the schema.", strings.Join(unfit, "; "))}}
		}
	}
	return nil
}

// mend says how members that may be missing are written in a strict schema.
func (s *wireSchema) mend() string {
	for _, reason := range s.unfit {
		if strings.HasSuffix(reason, "are not required") {
			return " A property that may be missing is written as one that may be null: required, and of the type [\"string\", \"null\"]."
		}
	}
	return ""
}
