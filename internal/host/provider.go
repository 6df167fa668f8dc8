package host

import (
	"context"

	"github.com/go-json-experiment/json"

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
	done chan struct{}
	id   uint32
	peer dag.Peer
	err  *dag.Error
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
	p, handle, failure := c.configured(ctx)
	if failure != nil {
		return nil, failure
	}
	p.slot.load.Add(1)
	defer p.slot.load.Add(-1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.ctx, func() { cancel(context.Cause(p.ctx)) })()
	reply, err := proto.NewProviderClient(p.conn).Complete(ctx, &proto.CompletionRequest{
		System: request.System, Messages: request.Messages, Schema: request.Schema,
		Sampling: request.Sampling, Sample: request.Sample, Handle: handle,
	})
	if err != nil {
		return nil, p.callError("complete by provider", c.provider.Name, err)
	}
	return reply, nil
}

// Peer is whom the block calls, as its plugin says once it is configured; the
// zero Peer where it does not say.
func (c *Caller) Peer(ctx context.Context) dag.Peer {
	p, _, failure := c.configured(ctx)
	if failure != nil {
		return dag.Peer{}
	}
	p.providerMu.Lock()
	defer p.providerMu.Unlock()
	if h := p.providers[c.provider]; h != nil {
		return h.peer
	}
	return dag.Peer{}
}

func (c *Caller) configured(ctx context.Context) (*process, uint32, *dag.Error) {
	p, failure := c.pool.least().running(ctx)
	if failure != nil {
		return nil, 0, failure
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
		return p, h.id, h.err
	case <-ctx.Done():
		return nil, 0, &dag.Error{Op: "configure provider", Subject: c.provider.Name, Kind: dag.KindInterrupted, Err: context.Cause(ctx)}
	}
}

func (p *process) configureProvider(provider *dag.Provider, h *providerHandle) {
	defer close(h.done)
	p.host.secrets.tell(provider.Secrets)
	config, err := withSecrets(provider.Config.Bytes, provider.Secrets)
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
		h.id = reply.Handle
		h.peer = dag.Peer{System: reply.GetPeer().GetSystem(), Address: reply.GetPeer().GetAddress(), Port: reply.GetPeer().GetPort()}
		return
	}
	if h.err.Kind != dag.KindConfig {
		p.providerMu.Lock()
		delete(p.providers, provider) // whoever comes next may have more luck
		p.providerMu.Unlock()
	}
}

// withSecrets puts the sensitive values back into a configuration, on their way
// to the only process that may see them.
func withSecrets(config []byte, secrets map[string]string) ([]byte, error) {
	members := map[string]any{}
	if len(config) > 0 {
		if err := json.Unmarshal(config, &members); err != nil {
			return nil, err
		}
	}
	for path, secret := range secrets {
		put(members, path, secret)
	}
	return json.Marshal(members, json.Deterministic(true))
}

// put sets a member by its path. Objects along it are there, since they stay
// when what is secret is taken out of them; a point elsewhere belongs to a name.
func put(object map[string]any, path, secret string) {
	for i := range path {
		if inner, ok := object[path[:i]].(map[string]any); ok && path[i] == '.' {
			put(inner, path[i+1:], secret)
			return
		}
	}
	object[path] = secret
}
