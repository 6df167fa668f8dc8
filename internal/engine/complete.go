package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/plugins/proto"
)

// replaying reports whether completions are answered from a cassette.
func (e *engine) replaying() bool {
	return e.Rehearsal != nil || e.Graph.Pipeline.Replay != "" && !e.Live
}

// cassette is the path of what is replayed.
func (e *engine) cassette() string {
	if e.Rehearsal != nil {
		return e.rehearsalCassette()
	}
	return filepath.Join(e.Dir, e.Graph.Pipeline.Replay)
}

// openCompletions makes the run's completion service. A plan asks for no
// completion; which pages are recorded it must know.
func (e *engine) openCompletions(planning bool) (*completion.Service, error) {
	if planning {
		if !readsPages(e.Graph.Gate) || !e.replaying() {
			return nil, nil
		}
		return completion.New(completion.Options{Replay: e.cassette()})
	}
	o := completion.Options{
		Live: e.Live, Budget: e.Graph.Pipeline.Budget, Now: e.Now, Cache: answers{e}, Refusals: answers{e}, Given: host.Answered, Earlier: host.Given, Log: e.completionLog, Billed: e.bills.billed,
		// The time that is spent waiting for a provider is not the visit's, and its place
		// in the run is not either.
		Queued: e.slots.queued, Room: e.slots,
		Providers: map[string]completion.ProviderInfo{}, Withhold: e.Graph.Providers,
	}
	for _, p := range e.Graph.Providers {
		digest, err := e.host.Digest(p.Plugin)
		if err != nil {
			return nil, err
		}
		o.Providers[p.Name] = completion.ProviderInfo{Recipe: completion.Recipe(p, digest)}
	}
	if e.replaying() {
		o.Replay = e.cassette()
	}
	if e.Record != "" {
		o.Record = e.Record
	}
	return completion.New(o)
}

func (e *engine) completionLog(level, message string) {
	if level == "warn" || level == "error" {
		e.Report.Warn(message)
	}
}

// replayDigest stands in the recipe of every stage with a provider while a
// cassette answers: what it says is no answer of the provider, and another
// cassette may say something else. Recorded pages are the gate's, not a stage's.
func (e *engine) replayDigest() (dag.Digest, error) {
	if !e.replaying() {
		return dag.Digest{}, nil
	}
	digest, err := completion.Digest(e.cassette())
	var known *dag.Error
	if errors.As(err, &known) {
		known.Hint = "record one with `penstock run --live --record " + e.Graph.Pipeline.Replay + "`, or take `replay` out of the pipeline"
	}
	return digest, err
}

// complete answers a stage's request. Several visits ask at once.
func (e *engine) complete(ctx context.Context, s *dag.Stage, request *proto.CompletionRequest) *proto.CompletionReply {
	if s.Provider == nil {
		return &proto.CompletionReply{Error: &proto.ProviderError{
			Kind:    proto.ProviderError_INVALID_REQUEST,
			Message: fmt.Sprintf("stage %q has no provider; name one in its block at %s", s.Name, s.Pos),
		}}
	}
	var caller completion.Caller
	if !e.replaying() {
		caller = e.callers.of(s.Provider)
		defer e.slots.asks(ctx)()
	}
	return e.traced(ctx, s.Provider, request, caller, func(caller completion.Caller) *proto.CompletionReply {
		return e.completions.Complete(withStage(ctx, s), s.Provider, caller, request)
	})
}

// callers start provider processes, each when the first completion needs it.
type callers struct {
	engine *engine
	mu     sync.Mutex
	made   map[*dag.Provider]completion.Caller
	peers  map[*dag.Provider]dag.Peer // whom they call, as their plugins say
}

// peer is whom a provider that was started calls.
func (c *callers) peer(p *dag.Provider) dag.Peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peers[p]
}

func (c *callers) of(p *dag.Provider) completion.Caller {
	return func(ctx context.Context, request *proto.CompletionRequest) (*proto.CompletionReply, error) {
		call, err := c.start(ctx, p)
		if err != nil {
			return nil, err
		}
		return call(ctx, request)
	}
}

func (c *callers) start(ctx context.Context, p *dag.Provider) (completion.Caller, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.made[p]; call != nil {
		return call, nil
	}
	provider, err := c.engine.host.Provider(ctx, p)
	if err != nil {
		return nil, err
	}
	if c.made == nil {
		c.made, c.peers = map[*dag.Provider]completion.Caller{}, map[*dag.Provider]dag.Peer{}
	}
	c.made[p] = provider.Complete
	if c.engine.trace != nil {
		c.peers[p] = provider.Peer(ctx)
	}
	return provider.Complete, nil
}
