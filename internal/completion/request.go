package completion

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/plugins/proto"
)

// Request is a completion request as a cassette shows it: all that the answer
// depends on but the provider. The fields stand in the order of RFC 8785, so
// that their plain encoding is the canonical one that the key is the hash of.
type Request struct {
	Messages []Message  `json:"messages"`
	Sample   uint32     `json:"sample,omitzero"`   // of a stage with samples; 0: the only one
	Sampling *Sampling  `json:"sampling,omitzero"` // nil: the provider's defaults
	Schema   dag.Digest `json:"schema,omitzero"`   // of the canonical schema of the answer; zero: none was asked for
	System   string     `json:"system,omitzero"`
}

// Message is one turn of the conversation: a text, or parts where it is not
// just one text.
type Message struct {
	Parts []Part `json:"parts,omitempty"`
	Role  string `json:"role"` // "user" or "assistant"
	Text  string `json:"text,omitzero"`
}

// Part is a piece of a message.
type Part struct {
	Text string `json:"text"`
	Type string `json:"type"` // "text"
}

// Sampling is how the answer is drawn. Absent and zero are different things:
// a nil field was left to the provider.
type Sampling struct {
	MaxTokens   *int64   `json:"max_tokens,omitzero"`
	Seed        *int64   `json:"seed,omitzero"`
	Stop        []string `json:"stop,omitempty"`
	Temperature *float64 `json:"temperature,omitzero"`
	TopP        *float64 `json:"top_p,omitzero"`
}

func schemaDigest(schema []byte) (dag.Digest, error) {
	canonical, err := canon.Canonical(nil, schema)
	if err != nil {
		return dag.Digest{}, fmt.Errorf("the schema of the answer: %w", err)
	}
	return dag.Sum(canonical), nil
}

// newRequest reads a request off the wire. It fails where the schema is not one
// strict JSON document; schemaDigest may remember those that it has seen.
func newRequest(wire *proto.CompletionRequest, schemaDigest func([]byte) (dag.Digest, error)) (*Request, error) {
	if unknown(wire.ProtoReflect()) {
		return nil, errors.New("the request has fields that this version of Penstock does not know; an answer may depend on them")
	}
	r := &Request{System: wire.GetSystem(), Sample: wire.GetSample(), Messages: make([]Message, 0, len(wire.GetMessages()))}
	for _, m := range wire.GetMessages() {
		r.Messages = append(r.Messages, newMessage(m))
	}
	if schema := wire.GetSchema(); len(schema) > 0 {
		digest, err := schemaDigest(schema)
		if err != nil {
			return nil, err
		}
		r.Schema = digest
	}
	if s := wire.GetSampling(); s != nil {
		sampling := Sampling{MaxTokens: s.MaxTokens, Seed: s.Seed, Stop: s.GetStop(), Temperature: s.Temperature, TopP: s.TopP}
		r.Sampling = sampling.orNil()
	}
	return r, nil
}

// unknown tells whether a message, or one within it, has fields of a later protocol.
func unknown(m protoreflect.Message) bool {
	found := len(m.GetUnknown()) > 0
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				found = found || unknown(v.List().Get(i).Message())
			}
		default:
			found = found || unknown(v.Message())
		}
		return !found
	})
	return found
}

func newMessage(wire *proto.Message) Message {
	m := Message{Role: wire.GetRole()}
	parts := wire.GetParts()
	if len(parts) == 1 && isText(parts[0]) {
		m.Text = parts[0].GetText()
		return m
	}
	for _, p := range parts {
		part := Part{Type: p.GetType(), Text: p.GetText()}
		if isText(p) {
			part.Type = "text"
		}
		m.Parts = append(m.Parts, part)
	}
	return m
}

func isText(p *proto.Part) bool { return p.GetType() == "text" || p.GetType() == "" }

func (s *Sampling) orNil() *Sampling {
	if s == nil || s.MaxTokens == nil && s.Seed == nil && len(s.Stop) == 0 && s.Temperature == nil && s.TopP == nil {
		return nil
	}
	return s
}

// content is the text of a message, its parts one after the other.
func (m *Message) content() string {
	if len(m.Parts) == 0 {
		return m.Text
	}
	var all string
	for i, p := range m.Parts {
		if i > 0 {
			all += "\n"
		}
		all += p.Text
	}
	return all
}

// canonical is the request in RFC 8785 form, the bytes under the key.
func (r *Request) canonical() ([]byte, error) { return json.Marshal(r) }

// Key identifies the request in a cassette: the hash of messages, sample,
// sampling, schema and system. Neither plugin nor model belong to it, so that
// a pipeline whose model was swapped still replays.
func (r *Request) Key() (dag.Digest, error) {
	b, err := r.canonical()
	if err != nil {
		return dag.Digest{}, fmt.Errorf("the request is not valid text: %w", err)
	}
	return dag.Sum(b), nil
}

// size is the length of all text that is sent, in bytes.
func (r *Request) size() int {
	n := len(r.System)
	for i := range r.Messages {
		n += len(r.Messages[i].content())
	}
	return n
}

// inputTokens estimates the tokens that the request costs before it is sent.
// Four bytes a token is the usual figure for English text.
func (r *Request) inputTokens() int { return r.size()/4 + 1 }
