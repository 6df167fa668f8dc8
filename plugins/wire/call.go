package wire

import (
	"context"
	"encoding/json"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// Call is one request in the words of an API.
type Call struct {
	Path    string // below the server's base
	Request map[string]any
	Schema  []byte   // as the server gets it, where that is not the one asked for
	Wrapped bool     // the answer comes as the member of an object
	Notes   []string // of what the request leaves to the reader
	Read    func(*Answer) (*sdk.CompletionReply, error)
}

// Completer answers each request by the call that it makes.
func (s *Server) Completer(call func(*sdk.CompletionRequest) (*Call, error)) sdk.Completer {
	return func(ctx context.Context, r *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
		if err := onlyText(r); err != nil {
			return nil, err
		}
		c, err := call(r)
		if err != nil {
			return nil, err
		}
		return s.Ask(ctx, c)
	}
}

// onlyText refuses what a request may hold in a later version of the protocol and
// this one does not send: left out, it would be another request.
func onlyText(r *sdk.CompletionRequest) error {
	for i, m := range r.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return sdk.InvalidRequest("message %d has the role %q; this provider sends user and assistant", i+1, m.Role)
		}
		for _, p := range m.Parts {
			if p.GetType() != "text" && p.GetType() != "" {
				return sdk.InvalidRequest("message %d has a part of the type %q; this provider sends text alone", i+1, p.GetType())
			}
		}
	}
	return nil
}

// Ask makes a call: one attempt.
func (s *Server) Ask(ctx context.Context, c *Call) (*sdk.CompletionReply, error) {
	document, err := json.Marshal(c.Request)
	if err != nil {
		return nil, sdk.InvalidRequest("the request cannot be written as JSON: %v", err)
	}
	answer, err := s.Post(ctx, c.Path, document)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	reply, err := c.Read(answer)
	if err != nil {
		return nil, err
	}
	if reply.RequestId == "" {
		reply.RequestId = requestID(answer.header)
	}
	if c.Wrapped {
		unwrapReply(reply, answer.Streams())
	}
	reply.WireSchema = c.Schema
	reply.Notes = append(c.Notes, reply.Notes...)
	return reply, nil
}

// Defaults are how an answer is drawn where a stage does not say.
type Defaults struct {
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	MaxTokens   *float64 `json:"max_tokens"`
}

// Check complains of defaults out of their bounds.
func (d *Defaults) Check(c *Check, hottest float64) {
	c.Between("temperature", d.Temperature, 0, hottest)
	c.Between("top_p", d.TopP, 0, 1)
	c.Whole("max_tokens", d.MaxTokens, 1)
}

// Sampling is what a request asks for, and what the provider block says where it
// does not. What neither says is nil, and left to the server.
func (d *Defaults) Sampling(r *sdk.CompletionRequest) *sdk.Sampling {
	s := &sdk.Sampling{Temperature: d.Temperature, TopP: d.TopP}
	if d.MaxTokens != nil {
		n := int64(*d.MaxTokens)
		s.MaxTokens = &n
	}
	asked := r.GetSampling()
	if asked == nil {
		return s
	}
	if asked.Temperature != nil {
		s.Temperature = asked.Temperature
	}
	if asked.TopP != nil {
		s.TopP = asked.TopP
	}
	if asked.MaxTokens != nil {
		s.MaxTokens = asked.MaxTokens
	}
	s.Seed, s.Stop = asked.Seed, asked.Stop
	return s
}

// Set sets a member where there is a value for it.
func Set[T any](object map[string]any, name string, value *T) {
	if value != nil {
		object[name] = *value
	}
}

// Text is what a message says, its parts one after the other.
func Text(m *sdk.Message) string {
	text := ""
	for i, p := range m.GetParts() {
		if i > 0 {
			text += "\n"
		}
		text += p.GetText()
	}
	return text
}

// Has tells whether a member of a document is there and not null.
func Has(member json.RawMessage) bool { return len(member) > 0 && string(member) != "null" }
