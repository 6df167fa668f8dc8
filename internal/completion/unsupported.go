package completion

import (
	"context"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// Refusals remembers across runs that a server cannot use a schema, under a digest of
// the two. It is called by several goroutines at once.
type Refusals interface {
	// Refused gives what the server said; the context is that of the request.
	Refused(ctx context.Context, key dag.Digest) (string, bool)
	// Refuse remembers it. What cannot be remembered costs one more request.
	Refuse(key dag.Digest, said string)
}

// advice is what helps where a server cannot use the schema of an answer.
const advice = "make the schema smaller, name another model, or let the answer be held to it here alone (dialect { schema = \"none\" } of builtin/openai)"

// unsupported is an error where this provider's server has said before that it cannot
// use the schema of the request: a server says so of each item alike. Another
// model, configuration or schema is asked again, and so is the same one with -B.
func (s *Service) unsupported(ctx context.Context, p *dag.Provider, r *Request) *proto.CompletionReply {
	if r.Schema.IsZero() || s.options.Refusals == nil {
		return nil
	}
	key, err := s.schemaKey(p, r)
	if err != nil {
		return nil // the request's own key says so
	}
	said, ok := s.options.Refusals.Refused(ctx, key)
	if !ok {
		return nil
	}
	return failure(proto.ProviderError_SCHEMA_UNSUPPORTED, said+" (it said so before, and was not asked again; -B asks)")
}

// learn remembers an error about the schema, and says what helps.
func (s *Service) learn(p *dag.Provider, r *Request, e *proto.ProviderError) {
	if e.GetKind() != proto.ProviderError_SCHEMA_UNSUPPORTED || r.Schema.IsZero() {
		return
	}
	e.Message += ": " + advice
	if key, err := s.schemaKey(p, r); err == nil && s.options.Refusals != nil {
		s.options.Refusals.Refuse(key, e.Message)
	}
}

func (s *Service) schemaKey(p *dag.Provider, r *Request) (dag.Digest, error) {
	return s.cacheKey(p, &Request{Schema: r.Schema}, "schema unsupported/1\n")
}
