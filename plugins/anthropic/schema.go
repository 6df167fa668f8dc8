package anthropic

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire"
)

// native is what structured outputs take of JSON Schema: closed objects, no
// recursion, no bounds of lengths and numbers. Who asked validates the answer
// against the whole schema.
var native = wire.Subset{
	Closed: true, Object: true, Bare: true, Recursion: wire.Nowhere, Values: nativeValue,
	Keywords: []string{
		"$defs", "definitions", "$ref", "type", "title", "description", "enum", "const", "default", "format", "pattern", "items", "minItems",
		"anyOf", "properties", "additionalProperties", "required",
	},
}

var nativeFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}

// beyond are the parts of a regular expression that structured outputs do not take:
// groups with marks, counts, boundaries, classes by property, references back.
var beyond = regexp.MustCompile(`\(\?|\{|\\[bBAzpPkQE1-9]`)

func nativeValue(keyword string, value any) bool {
	text, _ := value.(string)
	switch keyword {
	case "format":
		return slices.Contains(nativeFormats, text)
	case "pattern":
		return !beyond.MatchString(text)
	case "minItems":
		return value == json.Number("0") || value == json.Number("1")
	case "enum":
		values, _ := value.([]any)
		return !slices.ContainsFunc(values, nested)
	case "const":
		return !nested(value)
	case "$ref":
		return strings.HasPrefix(text, "#/")
	}
	return true
}

func nested(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// What structured outputs take at most: the grammar of more is refused as too large.
const (
	mostOptional = 24
	mostUnions   = 16
)

// byTool are prefixes of the names of models that have no structured outputs: a
// tool that must be called takes their place.
var byTool = []string{"claude-3", "claude-2", "claude-instant", "claude-opus-4-0", "claude-opus-4-2", "claude-sonnet-4-0", "claude-sonnet-4-2"}

// forcible are prefixes of the names of those that have them, and may be told to call
// a tool besides; later ones refuse that.
var forcible = []string{"claude-opus-4-1", "claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"}

// toolName is the tool by which models without structured outputs answer.
const toolName = "answer"

// shape is how a schema is sent.
type shape struct {
	mode   string // "native", "tool" or "none"
	fit    *wire.Fit
	asked  []byte
	cannot []string // why it is not sent natively to a model that takes schemas so
}

// shapeOf decides how a schema is sent to a model.
func (c *config) shapeOf(model string, schema []byte) (*shape, error) {
	said := "auto"
	if c.Schema != nil {
		said = *c.Schema
	}
	s := &shape{mode: said, fit: &wire.Fit{}, asked: schema}
	is := func(prefixes []string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(model, p) })
	}
	if said == "auto" && is(byTool) {
		s.mode = "tool"
	}
	if s.mode == "auto" || s.mode == "native" {
		fit, err := fitNative(schema)
		if err != nil {
			return nil, sdk.InvalidRequest("%v", err)
		}
		s.mode, s.fit, s.cannot = "native", fit, fit.Cannot
	}
	if len(s.cannot) > 0 && said == "auto" {
		s.mode, s.fit = "none", &wire.Fit{}
		if is(forcible) && (c.Thinking == nil || *c.Thinking == "disabled") {
			s.mode = "tool"
		}
	}
	if s.mode == "tool" && !wire.IsObject(schema) {
		inside, err := wire.Wrap(schema)
		if err != nil {
			return nil, sdk.InvalidRequest("%v", err)
		}
		s.fit = &wire.Fit{Schema: inside, Wrapped: true}
	}
	return s, nil
}

// fitNative is a schema for structured outputs, within their limits.
func fitNative(schema []byte) (*wire.Fit, error) {
	fit, err := native.Fit(schema)
	if err != nil || len(fit.Cannot) > 0 {
		return fit, err
	}
	c := wire.Count(fit.Sent(schema))
	var cannot []string
	if c.Optional > mostOptional {
		cannot = append(cannot, fmt.Sprintf("it has %d properties that are not required, where the server takes %d", c.Optional, mostOptional))
	}
	if c.Unions > mostUnions {
		cannot = append(cannot, fmt.Sprintf("it has %d values of several types, where the server takes %d", c.Unions, mostUnions))
	}
	if len(cannot) > 0 {
		return &wire.Fit{Cannot: cannot}, nil
	}
	return fit, nil
}

func (b *block) shape(schema []byte) (*shape, error) {
	s, err := b.shapeOf(b.model, schema)
	if err == nil && s.mode == "native" && len(s.cannot) > 0 {
		return nil, sdk.InvalidRequest("structured outputs do not take the schema of the answer: %s; write schema = \"auto\" or \"none\" in the provider's config, or change the schema", strings.Join(s.cannot, "; "))
	}
	return s, err
}

// ask puts the schema of the answer into a call.
func (s *shape) ask(call *wire.Call, output map[string]any) {
	call.Schema, call.Wrapped = s.fit.Schema, s.fit.Wrapped
	because := ""
	if len(s.cannot) > 0 {
		because = ": " + strings.Join(s.cannot, "; ")
	}
	sent := s.fit.Sent(s.asked)
	switch s.mode {
	case "none":
		call.Notes = append(call.Notes, "the server was not told the schema of the answer"+because)
	case "tool":
		call.Request["tools"] = []map[string]any{{"name": toolName, "description": "Gives the answer.", "input_schema": sent}}
		call.Request["tool_choice"] = map[string]any{"type": "tool", "name": toolName}
		call.Notes = append(call.Notes, "the schema was sent as that of a tool, which the model had to call"+because)
	default:
		output["format"] = map[string]any{"type": "json_schema", "schema": sent}
	}
	call.Notes = append(call.Notes, s.fit.Notes()...)
}

// told is what to say of a schema before it is sent: that structured outputs cannot
// be held to it.
func told(model string, document, schema []byte) sdk.Diagnostics {
	var c config
	if (sdk.ProviderConfig{JSON: document}).Into(&c) != nil {
		return nil
	}
	s, err := c.shapeOf(model, schema)
	if err != nil || len(s.cannot) == 0 {
		return nil
	}
	reasons := strings.Join(s.cannot, "; ")
	switch s.mode {
	case "tool":
		return sdk.Diagnostics{{Warning: true, Detail: fmt.Sprintf("Anthropic's structured outputs do not take this schema: %s. It is sent as that of a tool which the model must call, by which answers are led and not held; they are held to it here, and what does not fit is asked for again. If this is meant, say so with\n    schema = \"tool\"\nin the config of the provider.", reasons)}}
	case "none":
		return sdk.Diagnostics{{Warning: true, Detail: fmt.Sprintf("Anthropic's structured outputs do not take this schema: %s. It is not sent at all, so the prompt has to say what the answer looks like; answers are held to it here, and what does not fit is asked for again. If this is meant, say so with\n    schema = \"none\"\nin the config of the provider.", reasons)}}
	}
	return sdk.Diagnostics{{Detail: fmt.Sprintf("Anthropic's structured outputs, which the provider's config asks for, do not take this schema: %s. Write\n    schema = \"auto\"\nthere, or change the schema.", reasons)}}
}
