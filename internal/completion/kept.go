package completion

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/plugins/proto"
)

// Kept is what stays of one answer, whatever it was: each part is a JSON document
// in canonical form.
type Kept struct {
	Request []byte // the Request
	Answer  []byte // the Answer
	Raw     []byte // the server's own bytes, see RawBytes; nil: none
	Schema  []byte // of the answer as the server got it; nil: as it was asked for
}

// Answer is an answer as it is kept.
type Answer struct {
	Reply
	Asked     string `json:"asked,omitzero"`      // the model that the provider block names
	MaxTokens *int64 `json:"max_tokens,omitzero"` // that it was allowed to have; nil: the request did not say
	RequestID string `json:"request_id,omitzero"` // the server's own name of the call
}

// ReadAnswer reads an answer as Keep was given it.
func ReadAnswer(document []byte) (*Answer, error) {
	var a Answer
	if err := json.Unmarshal(document, &a, json.RejectUnknownMembers(true)); err != nil {
		return nil, plainJSONError(err, "a kept answer", document)
	}
	return &a, nil
}

// canonical is the answer in RFC 8785 form, as documents are stored. A document
// in it would not come back byte for byte, so it stands as text.
func (a *Answer) canonical() ([]byte, error) {
	plain := *a
	plain.Text, plain.JSON = a.text(), nil
	b, err := json.Marshal(&plain)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(b)
	err = value.Canonicalize()
	return value, err
}

// wire is the reply as a plugin gets it.
func (a *Answer) wire(origin string) *proto.CompletionReply {
	out := a.Reply.wire(origin)
	out.RequestId = a.RequestID
	return out
}

// newKept takes an answer to a request apart. What cannot be a document, because it is
// not valid text, is an error.
func newKept(asked string, r *Request, wire *proto.CompletionReply) (*Answer, *Kept, error) {
	a := &Answer{Reply: newReply(wire), Asked: asked, RequestID: wire.GetRequestId()}
	if r.Sampling != nil {
		a.MaxTokens = r.Sampling.MaxTokens
	}
	var k Kept
	var err error
	if k.Request, err = r.canonical(); err != nil {
		return a, nil, fmt.Errorf("the request is not valid text: %w", err)
	}
	if k.Answer, err = a.canonical(); err != nil {
		return a, nil, fmt.Errorf("the answer is not valid text: %w", err)
	}
	if raw := wire.GetRaw(); len(raw) > 0 {
		k.Raw = rawDocument(raw)
	}
	if schema := wire.GetWireSchema(); len(schema) > 0 {
		if k.Schema, err = canon.Canonical(nil, schema); err != nil {
			return a, nil, fmt.Errorf("the schema that the provider sent: %w", err)
		}
	}
	return a, &k, nil
}

// rawDocument holds bytes as a document: as a text where they are one, else in
// base64.
func rawDocument(raw []byte) []byte {
	var document any = string(raw)
	if !utf8.Valid(raw) {
		document = struct {
			Base64 string `json:"base64"`
		}{base64.StdEncoding.EncodeToString(raw)}
	}
	b, err := json.Marshal(document)
	if err != nil {
		panic(fmt.Sprintf("completion: valid text is a JSON string: %v", err))
	}
	value := jsontext.Value(b)
	if err := value.Canonicalize(); err != nil {
		panic(fmt.Sprintf("completion: a JSON string has a canonical form: %v", err))
	}
	return value
}

// RawBytes are the bytes that a document of raw bytes holds.
func RawBytes(document []byte) ([]byte, error) {
	var text string
	if json.Unmarshal(document, &text) == nil {
		return []byte(text), nil
	}
	var binary struct {
		Base64 []byte `json:"base64"`
	}
	if err := json.Unmarshal(document, &binary, json.RejectUnknownMembers(true)); err != nil {
		return nil, errors.New("the document holds no bytes of a server")
	}
	return binary.Base64, nil
}

// keep stores what came of a request. An answer that is whole answers equal
// requests from now on; one that was cut off or refused is kept all the same, and
// asked for anew by the next run: its settings may have changed, or its luck.
func (s *Service) keep(p *dag.Provider, r *Request, wire *proto.CompletionReply, keys []dag.Digest) (*Answer, dag.Completion) {
	a, kept, err := newKept(p.Model, r, wire)
	if err != nil {
		s.options.Log("warn", "a completion of provider "+p.Name+" cannot be kept: "+err.Error())
		return a, dag.Completion{}
	}
	if s.options.Cache == nil {
		return a, dag.Completion{}
	}
	if !whole(&a.Reply) {
		keys = nil
	}
	return a, s.options.Cache.Keep(keys, kept)
}

// given tells whose answer it was.
func (s *Service) given(ctx context.Context, c dag.Completion, origin string) {
	if c.Answer.IsZero() {
		return // nothing is kept of it
	}
	c.Origin = origin
	s.options.Given(ctx, c)
}
