package sdk

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc"

	"github.com/penstock-run/penstock/plugins/proto"
)

// Provider is a provider plugin: it turns completion requests into calls of
// one vendor's API.
type Provider struct {
	Info ProviderInfo
	// Configure prepares one provider block of a pipeline. An error that is
	// Diagnostics is shown at the place of the pipeline that each names.
	Configure func(ctx context.Context, config ProviderConfig) (Completer, error)
	// Model tells what a model can do, from its name and a configuration without
	// secrets; nil: nothing is known of any. It calls nobody.
	Model func(model string, config []byte) Model
	// Schema tells what to say of a schema of answers before it is sent, from the
	// model's name and a configuration without secrets: what cannot be asked for, or,
	// as warnings, what the server will not hold its answers to. nil: nothing. It
	// calls nobody.
	Schema func(model string, config, schema []byte) Diagnostics
	// Peer tells whom a block calls, from a configuration without secrets, for
	// telemetry to name; nil: nobody says. It calls nobody.
	Peer func(config []byte) Peer
}

// Peer is whom a provider block calls.
type Peer struct {
	System  string // as OpenTelemetry's gen_ai.provider.name has it: "openai", "gcp.gemini"
	Address string // host name or IP address; empty: no server is called
	Port    uint32
}

// Model is what a model can do. What it does not take is refused before a run
// begins, where the pipeline asks for it.
type Model struct {
	Known           bool     // false: nothing is refused
	Takes           []string // of "schema", "seed", "temperature", "top_p", "stop"
	ContextTokens   int64    // 0: unknown
	MaxOutputTokens int64    // 0: unknown
}

// Completer answers one request. The host owns retries, limits and caches: make
// one attempt, and say with a *ProviderError what became of it. Any other error
// counts as unavailable.
type Completer func(ctx context.Context, request *CompletionRequest) (*CompletionReply, error)

// ProviderInfo is what a provider plugin says of itself.
type ProviderInfo struct {
	Name      string
	Version   string
	Behaviour string
	Config    []Field
	// WireVersion stands in the action digest of what the provider answers:
	// change it when the same request reaches the model in other words.
	WireVersion string
	Schema      bool // takes a JSON Schema for the answer
	Seed        bool
}

// ProviderConfig is the configuration of one provider block.
type ProviderConfig struct {
	Provider string
	Model    string
	JSON     []byte // an object, secrets in it
	RunID    string
}

// Into decodes the configuration; a member that the target does not have is an error.
func (c ProviderConfig) Into(target any) error { return decodeConfig(c.JSON, target) }

// ServeProvider serves a provider plugin. It is all that main has to do, and it
// returns when the host is done with the process.
func ServeProvider(provider Provider) {
	serve(provider.Info.Name, nil, func(started func(), s *grpc.Server) {
		proto.RegisterProviderServer(s, &providerServer{provider: provider, started: started})
	})
}

// providerServer answers for a Provider.
type providerServer struct {
	proto.UnimplementedProviderServer
	provider Provider
	started  func()

	mu         sync.Mutex
	completers []Completer // by handle, from 1
}

func (s *providerServer) Describe(context.Context, *proto.DescribeRequest) (*proto.ProviderInfo, error) {
	s.started()
	i := s.provider.Info
	return &proto.ProviderInfo{
		Name: i.Name, Version: i.Version, Behaviour: i.Behaviour, Config: fields(i.Config),
		WireVersion: i.WireVersion, Schema: i.Schema, Seed: i.Seed,
	}, nil
}

func (s *providerServer) Configure(ctx context.Context, r *proto.ConfigureProviderRequest) (*proto.ConfigureReply, error) {
	s.started()
	if s.provider.Configure == nil {
		return configureReply(0, errors.New("the plugin has no Configure")), nil
	}
	completer, err := s.provider.Configure(ctx, ProviderConfig{
		Provider: r.Provider, Model: r.Model, JSON: r.Config, RunID: r.RunId,
	})
	if err == nil && completer == nil {
		err = errors.New("the plugin's Configure gave no function")
	}
	if completer == nil {
		return configureReply(0, err), nil
	}
	s.mu.Lock()
	s.completers = append(s.completers, completer)
	reply := configureReply(uint32(len(s.completers)), err)
	s.mu.Unlock()
	if s.provider.Model != nil {
		m := s.provider.Model(r.Model, r.Config)
		reply.Model = &proto.Model{Known: m.Known, Takes: m.Takes, ContextTokens: m.ContextTokens, MaxOutputTokens: m.MaxOutputTokens}
	}
	if s.provider.Peer != nil {
		p := s.provider.Peer(r.Config)
		reply.Peer = &proto.Peer{System: p.System, Address: p.Address, Port: p.Port}
	}
	return reply, nil
}

func (s *providerServer) Complete(ctx context.Context, r *proto.CompletionRequest) (*proto.CompletionReply, error) {
	s.started()
	s.mu.Lock()
	var complete Completer
	if i := int(r.Handle); i >= 1 && i <= len(s.completers) {
		complete = s.completers[i-1]
	}
	s.mu.Unlock()
	if complete == nil {
		return refuse(InvalidRequest("handle %d was never configured", r.Handle)), nil
	}
	reply, err := complete(ctx, r)
	if err != nil {
		return refuse(err), nil
	}
	if reply == nil {
		return refuse(Unavailable("the plugin answered with nothing")), nil
	}
	reply.Text, reply.Refusal = clean(reply.Text), clean(reply.Refusal)
	for i, note := range reply.Notes {
		reply.Notes[i] = clean(note)
	}
	return reply, nil
}

// refuse is a reply that is an error.
func refuse(err error) *proto.CompletionReply {
	var p *ProviderError
	if !errors.As(err, &p) {
		if errors.Is(err, context.DeadlineExceeded) {
			p = Timeout("%v", err)
		} else {
			p = Unavailable("%v", err)
		}
	}
	return &proto.CompletionReply{
		Error:     &proto.ProviderError{Kind: p.Kind, Message: clean(p.Message), RetryAfterMillis: p.RetryAfter.Milliseconds(), Billed: p.Billed},
		RequestId: clean(p.RequestID), Usage: p.Usage,
	}
}
