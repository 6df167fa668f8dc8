package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// member holds an answer that a server gives only inside an object.
const member = "answer"

// IsObject tells whether a schema says by its root alone that the answer is an object.
func IsObject(schema []byte) bool {
	document, err := decoded(schema)
	if err != nil {
		return false
	}
	object, _ := document.(map[string]any)
	return object != nil && object["type"] == "object"
}

// Wrap is the schema of an object whose only member is an answer of a schema.
func Wrap(schema []byte) ([]byte, error) {
	document, err := decoded(schema)
	if err != nil {
		return nil, err
	}
	defs := lift(document, "#/properties/"+member)
	defs["type"], defs["additionalProperties"], defs["required"] = "object", false, []any{member}
	defs["properties"] = map[string]any{member: document}
	return json.Marshal(defs)
}

// lift takes the definitions out of a schema's root, which moves to another place:
// what refers to the root, or through it, refers to it there.
func lift(document any, to string) map[string]any {
	each(document, func(object map[string]any) {
		if ref, ok := object["$ref"].(string); ok && throughRoot(ref) {
			object["$ref"] = to + ref[1:]
		}
	})
	defs := map[string]any{}
	if root, ok := document.(map[string]any); ok {
		for _, keyword := range append([]string{"$schema", "$id"}, definitions...) {
			if value, ok := root[keyword]; ok {
				delete(root, keyword)
				if slices.Contains(definitions, keyword) {
					defs[keyword] = value
				}
			}
		}
	}
	return defs
}

// throughRoot tells whether a reference is one to the root or to what stands in it
// besides its definitions.
func throughRoot(ref string) bool {
	return ref == "#" || strings.HasPrefix(ref, "#/") && !strings.HasPrefix(ref, "#/$defs/") && !strings.HasPrefix(ref, "#/definitions/")
}

// unwrapReply takes a whole answer out of its object. What it came in is kept where
// nothing else holds it: the pieces of a stream are.
func unwrapReply(reply *sdk.CompletionReply, streamed bool) {
	if reply.FinishReason != "stop" || reply.Refusal != "" {
		return // nobody reads it as JSON
	}
	inside, ok := unwrap(reply.Text)
	if !ok {
		reply.Notes = append(reply.Notes, "the answer did not come in the object that it was asked for in, and was taken as it is")
		return
	}
	if streamed && len(reply.Raw)+len(reply.Text) < mostRaw {
		reply.Raw = append(append(slices.Clip(reply.Raw), '\n'), reply.Text...)
	}
	reply.Text = inside
}

// unwrap takes an answer out of the object that it was asked for in. A model that
// is not held to its schema may give it without one, or in a code fence: then false,
// and the text is as it came, for whoever asked to judge.
func unwrap(text string) (string, bool) {
	bare := strings.TrimSpace(text)
	if strings.HasPrefix(bare, "```") && strings.HasSuffix(bare, "```") {
		if _, inner, ok := strings.Cut(strings.TrimSuffix(bare, "```"), "\n"); ok {
			bare = inner
		}
	}
	d := json.NewDecoder(strings.NewReader(bare))
	next := func(want json.Token) bool {
		token, err := d.Token()
		return err == nil && token == want
	}
	var answer json.RawMessage
	if !next(json.Delim('{')) || !next(member) || d.Decode(&answer) != nil || !next(json.Delim('}')) {
		return text, false
	}
	if _, err := d.Token(); err != io.EOF {
		return text, false
	}
	return string(answer), true
}

// Wrapped is the note of a schema that is sent wrapped.
var Wrapped = fmt.Sprintf("the schema was sent as that of the only member of an object, {%q: …}, since the server gives objects only", member)
