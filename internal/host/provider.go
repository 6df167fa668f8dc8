package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// Caller is a configured provider that answers requests, one attempt each.
type Caller struct {
	host     *Host
	pool     *pool
	provider *dag.Provider
}

// providerHandle is a provider block in one process.
type providerHandle struct {
	done  chan struct{}
	id    uint32
	peer  dag.Peer
	model *proto.Model // nil: nothing is known
	err   *dag.Error
}

// Provider gives a caller for a provider block: its plugin is started and the
// block is configured, with its secrets. The error is a *ConfigError where the
// plugin refuses the configuration.
func (h *Host) Provider(ctx context.Context, provider *dag.Provider) (*Caller, error) {
	pool, failure := h.pool(provider.Plugin, true)
	if failure != nil {
		return nil, failure
	}
	c := &Caller{host: h, pool: pool, provider: provider}
	if _, _, failure := c.configured(ctx); failure != nil {
		return nil, failure
	}
	return c, nil
}

// Complete makes one attempt. What the provider refuses is in the reply's
// error; an error is the plugin's own failure, its process started anew by the
// next call.
func (c *Caller) Complete(ctx context.Context, request *proto.CompletionRequest) (*proto.CompletionReply, error) {
	p, h, failure := c.configured(ctx)
	if failure != nil {
		return nil, failure
	}
	if lacking := lacks(h.model, request); lacking != "" {
		return &proto.CompletionReply{Error: &proto.ProviderError{Kind: proto.ProviderError_INVALID_REQUEST,
			Message: fmt.Sprintf("the model %q of provider %q takes no %s, as its plugin says; ask without, or name another model", c.provider.Model, c.provider.Name, lacking)}}, nil
	}
	p.slot.load.Add(1)
	defer p.slot.load.Add(-1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.ctx, func() { cancel(context.Cause(p.ctx)) })()
	reply, err := proto.NewProviderClient(p.conn).Complete(ctx, &proto.CompletionRequest{
		System: request.System, Messages: request.Messages, Schema: request.Schema,
		Sampling: request.Sampling, Sample: request.Sample, Handle: h.id,
	})
	if err != nil {
		return nil, p.callError("complete by provider", c.provider.Name, err)
	}
	return reply, nil
}

// Peer is whom the block calls, as its plugin says once it is configured; the
// zero Peer where it does not say.
func (c *Caller) Peer(ctx context.Context) dag.Peer {
	_, h, failure := c.configured(ctx)
	if failure != nil {
		return dag.Peer{}
	}
	return h.peer
}

// lacks is what a request asks of a model that does not take it. The plugins that
// Penstock knows without a start have said so when the pipeline was read.
func lacks(model *proto.Model, r *proto.CompletionRequest) string {
	if !model.GetKnown() {
		return ""
	}
	s := r.GetSampling()
	for _, asked := range []struct {
		name string
		is   bool
	}{
		{"schema", len(r.Schema) > 0}, {"seed", s != nil && s.Seed != nil}, {"temperature", s != nil && s.Temperature != nil},
		{"top_p", s != nil && s.TopP != nil}, {"stop", len(s.GetStop()) > 0},
	} {
		if asked.is && !slices.Contains(model.Takes, asked.name) {
			return asked.name
		}
	}
	return ""
}

// configured gives a process in which the provider is configured.
func (c *Caller) configured(ctx context.Context) (*process, *providerHandle, *dag.Error) {
	p, failure := c.pool.least().running(ctx)
	if failure != nil {
		return nil, nil, failure
	}
	p.providerMu.Lock()
	h := p.providers[c.provider]
	if h == nil {
		h = &providerHandle{done: make(chan struct{})}
		p.providers[c.provider] = h
		go p.configureProvider(c.provider, h)
	}
	p.providerMu.Unlock()
	select {
	case <-h.done:
		return p, h, h.err
	case <-ctx.Done():
		return nil, nil, &dag.Error{Op: "configure provider", Subject: c.provider.Name, Kind: dag.KindInterrupted, Err: context.Cause(ctx)}
	}
}

func (p *process) configureProvider(provider *dag.Provider, h *providerHandle) {
	defer close(h.done)
	p.host.secrets.tell(provider.Secrets)
	config, err := dag.WholeConfig(provider.Config, provider.Unkeyed, provider.Secrets)
	if err != nil {
		h.err = &dag.Error{Op: "configure provider", Subject: provider.Name, Kind: dag.KindBug, Err: err}
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.host.opts.StartTimeout)
	defer cancel()
	reply, err := proto.NewProviderClient(p.conn).Configure(ctx, &proto.ConfigureProviderRequest{
		Provider: provider.Name, Model: provider.Model, Config: config, RunId: p.host.opts.RunID,
	})
	if h.err = p.configured("configure provider", provider.Name, reply, err); h.err == nil {
		h.id, h.model = reply.Handle, reply.Model
		h.peer = dag.Peer{System: reply.GetPeer().GetSystem(), Address: reply.GetPeer().GetAddress(), Port: reply.GetPeer().GetPort()}
		return
	}
	if h.err.Kind != dag.KindConfig {
		p.providerMu.Lock()
		delete(p.providers, provider) // whoever comes next may have more luck
		p.providerMu.Unlock()
	}
}
