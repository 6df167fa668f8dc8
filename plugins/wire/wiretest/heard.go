package wiretest

import (
	"encoding/json"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// Heard is what a request says, whichever wire it came by: the system text, the
// messages and the schema of the answer.
func Heard(r Request) *sdk.CompletionRequest {
	body := node{r.Body}
	heard := &sdk.CompletionRequest{}
	for _, m := range append(body.list("messages"), append(body.list("input"), body.list("contents")...)...) {
		text := m.texts("content") + m.texts("parts")
		switch role := m.text("role"); role {
		case "system", "developer":
			heard.System = text
		case "model":
			heard.Messages = append(heard.Messages, says("assistant", text))
		default:
			heard.Messages = append(heard.Messages, says(role, text))
		}
	}
	heard.System += body.texts("system") + body.text("instructions") + body.at("systemInstruction").texts("parts")
	for _, path := range [][]string{
		{"response_format", "json_schema", "schema"}, {"text", "format", "schema"}, {"output_config", "format", "schema"},
		{"generationConfig", "responseJsonSchema"}, {"format"},
	} {
		at := body
		for _, name := range path {
			at = at.at(name)
		}
		if at.is != nil {
			heard.Schema, _ = json.Marshal(at.is) // what was decoded can be encoded
		}
	}
	for _, tool := range body.list("tools") {
		heard.Schema, _ = json.Marshal(tool.at("input_schema").is)
	}
	return heard
}

func says(role, text string) *sdk.Message {
	return &sdk.Message{Role: role, Parts: []*sdk.Part{{Type: "text", Text: text}}}
}

// node is a place in a document; what is not there is a node of nil.
type node struct{ is any }

func (n node) at(name string) node {
	object, _ := n.is.(map[string]any)
	return node{object[name]}
}

func (n node) text(name string) string {
	text, _ := n.at(name).is.(string)
	return text
}

func (n node) list(name string) []node {
	list, _ := n.at(name).is.([]any)
	nodes := make([]node, len(list))
	for i, v := range list {
		nodes[i] = node{v}
	}
	return nodes
}

// texts is a text, or the texts of a list of parts.
func (n node) texts(name string) string {
	all := n.text(name)
	for _, part := range n.list(name) {
		all += part.text("text")
	}
	return all
}
