package completion

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// Where an answer came from, as the trail tells it.
const (
	OriginLive     = "live"
	OriginCache    = "cache"
	OriginCassette = "cassette"
)

// maxSchemas bounds how many schemas are known by heart.
const maxSchemas = 1000

// Caller makes one live attempt, with no retry of its own. An error is one of
// the connection; what the provider says of itself stands in the reply.
type Caller func(ctx context.Context, request *proto.CompletionRequest) (*proto.CompletionReply, error)

// Cache keeps what came of completions, and answers equal requests across runs:
// each under keys, digests of all that the answer depends on. It is called by
// several goroutines at once.
type Cache interface {
	// Get gives the Answer that is kept under a key, and what else is kept of it.
	// The context is that of the request.
	Get(ctx context.Context, key dag.Digest) ([]byte, dag.Completion, bool)
	// Keep keeps what came of a request, under no key where it is to answer no other
	// one, and tells under which digests. What cannot be kept is told as zero: it is
	// the cache's own matter, since the answer is given all the same.
	Keep(keys []dag.Digest, kept *Kept) dag.Completion
}

// ProviderInfo is what the service must know of a provider beyond its block.
type ProviderInfo struct {
	// Recipe identifies what answers: plugin, wire version, model, configuration.
	// See Recipe. Answers of one recipe are never given for another.
	Recipe dag.Digest
}

// Options of a Service.
type Options struct {
	Replay string // cassette to answer from; empty: none
	Live   bool   // call the providers although Replay names a cassette
	Record string // cassette to record answers and pages to; empty: none

	Cache     Cache                                  // nil: none
	Given     func(context.Context, dag.Completion)  // hears what is kept of each answer, with the context of the request that got it; nil: nobody listens
	Refusals  Refusals                               // nil: none are remembered
	Earlier   func(context.Context) []dag.Completion // what the visit that asks was given before; nil: nothing is known of visits
	Providers map[string]ProviderInfo                // by name; one that is missing gets the recipe of its block
	Withhold  []*dag.Provider                        // whose secrets no recorded page may hold
	Budget    dag.Budget
	// Billed hears of each live attempt what it cost, with the context of the
	// request that it was made for, before the request is answered; nil: nobody does.
	Billed func(ctx context.Context, bill dag.Bill)
	Now    func() time.Time // nil: time.Now
	Log    func(level, message string)
	// Queued is told the context of each request that waits, and what it gives is
	// called when the request is sent; nil: nobody asks. See host.Queued.
	Queued func(ctx context.Context) (running func())
	// Room bounds the calls of those that waited; nil: nothing does but the limits of
	// their providers.
	Room Room
}

// Room is what the run has room for. A request that waits for its provider has
// given up its place in the run (Options.Queued), and needs one again to be sent.
type Room interface {
	// Take takes a place; where there is none, it reports false, and free is called
	// once when there may be one. It never calls free itself.
	Take(free func()) bool
	// Give gives back a place that was taken.
	Give()
}

// Counters tell what a run's completions came to.
type Counters struct {
	Live      int // answers of providers
	Cached    int // answers from the cache, those of an equal request in flight among them
	Replayed  int // answers from the cassette
	Misses    int // requests that the cassette does not hold
	Failed    int // requests that ended in another error
	Calls     int // live attempts: what providers were asked, those in vain among them
	Usage     Usage
	USD       float64 // of those providers whose price is known
	Unpriced  int     // of Calls: those whose price is not known
	Estimated int     // of Calls: those that the server did not tell the usage of

	PagesRead     int // pages that were read now
	PagesReplayed int // pages from the cassette
}

// Service answers the completions of one run. Several goroutines may use it.
type Service struct {
	options  Options
	replay   *Cassette // nil: live
	recorder *recorder // nil: nothing is recorded
	budget   *budget
	clock    clock
	jitter   func(below time.Duration) time.Duration

	mu        sync.Mutex
	limiters  map[string]*limiter
	flights   map[dag.Digest]*flight
	counters  Counters
	explained int
	told      map[string]bool       // what was warned of
	schemas   map[string]dag.Digest // by their text: a stage asks for the same one every time
	over      string                // why waits are over; empty: they are not
}

// New reads the cassettes that the options name. Close the Service, also to
// have the recording put in order.
func New(o Options) (*Service, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = func(string, string) {}
	}
	if o.Given == nil {
		o.Given = func(context.Context, dag.Completion) {}
	}
	if o.Earlier == nil {
		o.Earlier = func(context.Context) []dag.Completion { return nil }
	}
	if o.Queued == nil {
		o.Queued = func(context.Context) func() { return func() {} }
	}
	s := &Service{
		options: o, budget: newBudget(o.Budget), clock: clock{now: o.Now, after: after}, jitter: fullJitter,
		limiters: map[string]*limiter{}, flights: map[dag.Digest]*flight{}, schemas: map[string]dag.Digest{},
	}
	if o.Replay != "" && !o.Live {
		if o.Record != "" {
			return nil, &dag.Error{Op: "record completions", Subject: o.Record, Kind: dag.KindConfig,
				Err:  errors.New("nothing is called while " + o.Replay + " is replayed, so there is nothing to record"),
				Hint: dag.Command("penstock", "run", "--live", "--record", o.Record)}
		}
		cassette, err := ReadCassette(o.Replay)
		if err != nil {
			return nil, err
		}
		s.replay = cassette
		if cassette.torn > 0 {
			o.Log("warn", fmt.Sprintf("%s:%d: the last line is torn, as a recorder that was killed leaves it, and counts as absent", o.Replay, cassette.torn))
		}
	}
	if o.Record != "" {
		r, err := newRecorder(o.Record)
		if err != nil {
			return nil, err
		}
		s.recorder = r
		if r.mended {
			o.Log("warn", o.Record+": its last line was torn, as a recorder that was killed leaves it, and was cut off")
		}
	}
	return s, nil
}

// Close ends the recording: the file is written anew, sorted, without doubles.
func (s *Service) Close() error {
	if s.recorder == nil {
		return nil
	}
	return s.recorder.close()
}

// Counters tell what came of the requests so far.
func (s *Service) Counters() Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counters
}

// Recipe identifies what answers for a provider: its plugin (by digest, which for
// a bundled one is that of its behaviour and of the wire version that it speaks),
// the model and the configuration without secrets.
func Recipe(p *dag.Provider, plugin dag.Digest) dag.Digest {
	parts := struct {
		Config  dag.Digest `json:"config"`
		Model   string     `json:"model"`
		Plugin  dag.Digest `json:"plugin"`
		Source  string     `json:"source"`
		Command []string   `json:"command"`
	}{Config: p.Config.Digest, Model: p.Model, Plugin: plugin}
	if plugin.IsZero() && p.Plugin != nil {
		parts.Source, parts.Command = p.Plugin.Source, p.Plugin.Command
	}
	b, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("completion: the parts of a recipe are plain text: %v", err))
	}
	return dag.Sum(b)
}

// Complete answers one request of a stage for a provider: from the cassette
// while a run replays, else from the cache, else by calling. The reply is the
// caller's own; an error stands in it, typed. caller may be nil under replay.
func (s *Service) Complete(ctx context.Context, p *dag.Provider, caller Caller, wire *proto.CompletionRequest) *proto.CompletionReply {
	request, err := newRequest(wire, s.schemaDigest)
	if err != nil {
		return s.failed(failure(proto.ProviderError_INVALID_REQUEST, err.Error()))
	}
	if s.replay != nil {
		return s.replayed(ctx, p, request)
	}
	keys, err := s.keysOf(p, request)
	if err != nil {
		return s.failed(failure(proto.ProviderError_INVALID_REQUEST, err.Error()))
	}
	keys = another(keys, s.options.Earlier(ctx))
	if a, kept, ok := s.known(ctx, request, keys); ok {
		s.count(func(c *Counters) { c.Cached++ })
		s.record(p, request, &a.Reply)
		s.given(ctx, kept, OriginCache)
		return a.wire(OriginCache)
	}
	if caller == nil {
		return s.failed(failure(proto.ProviderError_UNAVAILABLE, "provider "+p.Name+" was not started, and no cassette is replayed"))
	}
	if refused := s.unsupported(ctx, p, request); refused != nil {
		return s.failed(refused)
	}
	return s.join(ctx, keys[0], func(ctx context.Context, f *flight) (*proto.CompletionReply, dag.Completion) {
		var a *Answer
		var kept dag.Completion
		reply, note := s.call(ctx, p, caller, wire, request, f, func(reply *proto.CompletionReply) {
			redactReply(p, reply)
			a, kept = s.keep(p, request, reply, keys)
		})
		if reply.GetError() != nil {
			return reply, dag.Completion{}
		}
		s.record(p, request, &a.Reply)
		reply.Origin, reply.Raw, reply.WireSchema = OriginLive, nil, nil // a stage gets the same from the cache
		if note != "" {
			reply.Notes = append(reply.Notes, note) // of this time, and not of the answer that is kept
		}
		return reply, kept
	})
}

func (s *Service) schemaDigest(schema []byte) (dag.Digest, error) {
	s.mu.Lock()
	known, ok := s.schemas[string(schema)]
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	digest, err := schemaDigest(schema)
	if err != nil {
		return dag.Digest{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.schemas) < maxSchemas { // a plugin may make up a schema for each item
		s.schemas[string(schema)] = digest
	}
	return digest, nil
}

func (s *Service) replayed(ctx context.Context, p *dag.Provider, r *Request) *proto.CompletionReply {
	key, err := r.Key()
	if err != nil {
		return s.failed(failure(proto.ProviderError_INVALID_REQUEST, err.Error()))
	}
	if e, ok := s.replay.Lookup(key); ok {
		s.count(func(c *Counters) { c.Replayed++ })
		reply := e.Reply.wire(OriginCassette)
		_, kept := s.keep(p, r, reply, nil) // under no key: a live run is not to be given it
		s.given(ctx, kept, OriginCassette)
		return reply
	}
	const explainedAtMost = 100 // each costs a comparison with all that is recorded
	var explain bool
	s.count(func(c *Counters) {
		c.Misses++
		explain = s.explained < explainedAtMost
		s.explained++
	})
	message := fmt.Sprintf("no recorded completion answers this request (%s; only the first %d such requests are compared with it)", s.options.Replay, explainedAtMost)
	if explain {
		message = s.replay.explain(r)
	}
	return failure(proto.ProviderError_REPLAY_MISS, message)
}

// cacheKey covers all that the request on the wire depends on. The kind tells keys
// of one meaning from those of another.
func (s *Service) cacheKey(p *dag.Provider, r *Request, kind string) (dag.Digest, error) {
	recipe := s.options.Providers[p.Name].Recipe
	if recipe.IsZero() {
		recipe = Recipe(p, dag.Digest{})
	}
	b, err := r.canonical()
	if err != nil {
		return dag.Digest{}, fmt.Errorf("the request is not valid text: %w", err)
	}
	return dag.Sum(append(append([]byte(kind), recipe[:]...), b...)), nil
}

func (s *Service) cached(ctx context.Context, key dag.Digest) (*Answer, dag.Completion, bool) {
	if s.options.Cache == nil {
		return nil, dag.Completion{}, false
	}
	b, kept, ok := s.options.Cache.Get(ctx, key)
	if !ok {
		return nil, dag.Completion{}, false
	}
	a, err := ReadAnswer(b)
	if err != nil || !whole(&a.Reply) {
		s.options.Log("warn", "a cached completion cannot be read and is asked for anew: "+key.Short())
		return nil, dag.Completion{}, false
	}
	return a, kept, true
}

func whole(r *Reply) bool { return r.FinishReason == "stop" && r.Refusal == "" && r.text() != "" }

func (s *Service) count(change func(*Counters)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.counters)
}

func (s *Service) failed(reply *proto.CompletionReply) *proto.CompletionReply {
	s.count(func(c *Counters) { c.Failed++ })
	return reply
}

func failure(kind proto.ProviderError_Kind, message string) *proto.CompletionReply {
	return &proto.CompletionReply{Error: &proto.ProviderError{Kind: kind, Message: message}}
}
