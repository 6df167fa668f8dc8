package gate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/fetch"
)

// ownPages reads the web for a gate that nobody gave a reader. Its client is made
// for the first page: a gate whose candidates never come so far has none.
type ownPages struct {
	allow []string // hosts exempt from the address rule

	mu     sync.Mutex
	client *fetch.Client
	closed bool
}

// Source implements Pages: the web.
func (p *ownPages) Source() dag.Digest { return dag.Digest{} }

// Read implements Pages.
func (p *ownPages) Read(ctx context.Context, address string, timeout time.Duration) (*dag.Page, error) {
	client, err := p.open()
	if err != nil {
		return nil, err
	}
	return client.Read(ctx, address, timeout)
}

func (p *ownPages) open() (*fetch.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the gate is closed")
	}
	if p.client == nil {
		p.client = fetch.New(fetch.Options{AllowHosts: p.allow})
	}
	return p.client, nil
}

func (p *ownPages) close() error {
	p.mu.Lock()
	client := p.client
	p.closed = true
	p.mu.Unlock()
	if client == nil {
		return nil
	}
	return client.Close()
}
