package echo

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/internal/schema"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// Behaviour stands in the action digest of what the provider answers: raise it
// when the same request may get another answer.
const Behaviour = "echo/1"

// draws is how many instances are tried before a schema is given up: what the
// generator does not know of (not, if, propertyNames) is left to luck.
const draws = 64

// Provider is the plugin, ready to be served.
func Provider() sdk.Provider {
	return sdk.Provider{
		Info: sdk.ProviderInfo{Name: "echo", Version: "1", Behaviour: Behaviour, WireVersion: "1", Schema: true, Seed: true},
		Configure: func(_ context.Context, c sdk.ProviderConfig) (sdk.Completer, error) {
			if err := c.Into(&struct{}{}); err != nil {
				return nil, err
			}
			e := &echo{model: c.Model, schemas: map[string]*asked{}}
			return e.complete, nil
		},
		Peer: func([]byte) sdk.Peer { return sdk.Peer{System: "echo"} },
	}
}

type echo struct {
	model string

	mu      sync.Mutex
	schemas map[string]*asked // by their text; a pipeline has few
}

// asked is a schema that an answer was asked for.
type asked struct {
	compiled *schema.Schema
	document any
}

func (e *echo) complete(_ context.Context, r *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
	for i, m := range r.GetMessages() {
		for _, p := range m.GetParts() {
			if p.GetType() != "text" && p.GetType() != "" {
				return nil, sdk.InvalidRequest("message %d has a part of the type %q; this provider takes text alone", i+1, p.GetType())
			}
		}
	}
	reply := &sdk.CompletionReply{FinishReason: "stop", Model: e.model}
	if len(r.GetSchema()) > 0 {
		instance, err := e.instance(r)
		if err != nil {
			return nil, err
		}
		reply.Text, reply.Json = string(instance), instance
	} else if n := len(r.GetMessages()); n > 0 {
		reply.Text = text(r.GetMessages()[n-1])
	}
	input := words(r.GetSystem())
	for _, m := range r.GetMessages() {
		input += words(text(m))
	}
	reply.Usage = &sdk.Usage{Input: input, Output: words(reply.Text)}
	return reply, nil
}

func text(m *sdk.Message) string {
	var parts []string
	for _, p := range m.GetParts() {
		parts = append(parts, p.GetText())
	}
	return strings.Join(parts, "\n")
}

func words(s string) int64 { return int64(len(strings.Fields(s))) }

// instance draws until the schema itself agrees.
func (e *echo) instance(r *sdk.CompletionRequest) ([]byte, error) {
	want, err := e.schema(r.GetSchema())
	if err != nil {
		return nil, sdk.InvalidRequest("the schema cannot be read: %v", err)
	}
	seed := seedOf(e.model, r)
	var last error
	for n := range draws {
		instance, err := generate(want.document, seed, n)
		if err == nil {
			err = want.compiled.Validate(instance)
		}
		if err == nil {
			return instance, nil
		}
		last = err
	}
	return nil, sdk.InvalidRequest("no instance of the schema was found in %d draws; the last: %v", draws, last)
}

func (e *echo) schema(source []byte) (*asked, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, ok := e.schemas[string(source)]; ok {
		return known, nil
	}
	compiled, err := schema.Compile("the asked schema", source)
	if err != nil {
		return nil, err
	}
	a := &asked{compiled: compiled}
	if err := json.Unmarshal(source, &a.document); err != nil {
		return nil, err
	}
	e.schemas[string(source)] = a
	return a, nil
}

// seedOf hashes all that makes requests differ, each piece with its length.
func seedOf(model string, r *sdk.CompletionRequest) [sha256.Size]byte {
	h := sha256.New()
	piece(h, model, r.GetSystem(), string(r.GetSchema()))
	for _, m := range r.GetMessages() {
		piece(h, m.GetRole(), text(m))
	}
	s := r.GetSampling()
	piece(h, fmt.Sprint(r.GetSample(), s.GetSeed(), s.GetMaxTokens(), math.Float64bits(s.GetTemperature()), math.Float64bits(s.GetTopP())))
	piece(h, s.GetStop()...)
	return [sha256.Size]byte(h.Sum(nil))
}

func piece(h hash.Hash, texts ...string) {
	var length [8]byte
	for _, t := range texts {
		binary.BigEndian.PutUint64(length[:], uint64(len(t)))
		h.Write(length[:])
		h.Write([]byte(t))
	}
}

// canonical writes a generated value in RFC 8785 form.
func canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(b)
	if err := value.Canonicalize(); err != nil {
		return nil, err
	}
	return value, nil
}
