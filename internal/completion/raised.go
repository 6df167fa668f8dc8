package completion

import (
	"context"

	"github.com/penstock-run/penstock/dag"
)

// A model does not write another answer because it may write a longer one: what
// ended by itself within a limit is an answer within any higher limit, too. So
// whoever raises max_tokens since some answers were cut off pays for those alone.

// keysOf are the keys under which an answer to a request is kept: that of the very
// request, and where it bounds the answer that of the request without the bound.
func (s *Service) keysOf(p *dag.Provider, r *Request) ([]dag.Digest, error) {
	key, err := s.cacheKey(p, r, "completion/1\n")
	if err != nil || !r.bounded() {
		return []dag.Digest{key}, err
	}
	unbounded, sampling := *r, *r.Sampling
	sampling.MaxTokens = nil
	unbounded.Sampling = sampling.orNil()
	within, err := s.cacheKey(p, &unbounded, "completion within/1\n")
	return []dag.Digest{key, within}, err
}

func (r *Request) bounded() bool { return r.Sampling != nil && r.Sampling.MaxTokens != nil }

// known finds an answer of the cache to a request. Under its second key it is one
// only if its bound was no higher.
func (s *Service) known(ctx context.Context, r *Request, keys []dag.Digest) (*Answer, dag.Completion, bool) {
	a, kept, ok := s.cached(ctx, keys[0])
	if ok || len(keys) == 1 {
		return a, kept, ok
	}
	a, kept, ok = s.cached(ctx, keys[1])
	return a, kept, ok && a.MaxTokens != nil && *a.MaxTokens <= *r.Sampling.MaxTokens
}
