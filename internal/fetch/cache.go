package fetch

import (
	"context"
	"slices"
	"time"

	"github.com/penstock-run/penstock/dag"
)

const (
	keep     = 10 * time.Minute // how long a live answer stands; a dead one is asked again
	maxPages = 1024             // 64 MiB of text at the most
)

// request is what makes two reads one.
type request struct {
	url     string
	timeout time.Duration
}

// anew marks a context of Anew.
type anew struct{}

// Anew gives a context in which a page is asked for whatever was live lately: a
// page that is to tell whether the net is there now. A read of it that is under
// way is joined.
func Anew(ctx context.Context) context.Context { return context.WithValue(ctx, anew{}, true) }

// flight is a read that several callers wait for.
type flight struct {
	done    chan struct{}
	page    *dag.Page // once done is closed; nil where err is not
	err     error
	waiting int // under Client.mu
	cancel  context.CancelFunc
}

// kept is a live page and when it came.
type kept struct {
	url  string
	page *dag.Page
	at   time.Time
}

// join gives the page of a request: kept, from a read that is under way, or read
// now. A read goes on while anybody waits for it: who began it may give up without
// failing the others.
func (c *Client) join(ctx context.Context, key request, read func(context.Context) (*dag.Page, error)) (*dag.Page, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, errClosed
	}
	if page := c.recall(key.url); page != nil && ctx.Value(anew{}) == nil {
		c.mu.Unlock()
		return page, nil
	}
	f, under := c.flights[key]
	if !under {
		f = c.depart(ctx, key, read)
	}
	f.waiting++
	c.mu.Unlock()

	select {
	case <-f.done:
		return f.page, f.err
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if f.waiting--; f.waiting == 0 {
			c.leave(key, f) // or the next read would join one that is being cancelled
			f.cancel()
		}
		return nil, ctx.Err()
	}
}

// depart starts a read. Client.mu is held.
func (c *Client) depart(ctx context.Context, key request, read func(context.Context) (*dag.Page, error)) *flight {
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{done: make(chan struct{}), cancel: cancel}
	c.flights[key] = f
	c.reading.Go(func() {
		defer cancel()
		page, err := read(shared)
		c.mu.Lock()
		if f.page, f.err = page, err; err != nil && c.closed {
			f.err = errClosed
		}
		c.leave(key, f)
		if err == nil && page.Verdict == dag.PageLive {
			c.remember(key.url, page)
		}
		c.mu.Unlock()
		close(f.done)
	})
	return f
}

// leave takes a flight off the board, once. Client.mu is held.
func (c *Client) leave(key request, f *flight) {
	if c.flights[key] == f {
		delete(c.flights, key)
	}
}

// recall is the page that was live lately, or nil. Client.mu is held.
func (c *Client) recall(url string) *dag.Page {
	now := c.now()
	old := 0
	for old < len(c.pages) && now.Sub(c.pages[old].at) >= keep {
		old++
	}
	c.pages = slices.Delete(c.pages, 0, old)
	for _, k := range c.pages {
		if k.url == url {
			return k.page
		}
	}
	return nil
}

// remember keeps a live page; the oldest makes room. Client.mu is held.
func (c *Client) remember(url string, page *dag.Page) {
	if len(c.pages) == maxPages {
		c.pages = slices.Delete(c.pages, 0, 1)
	}
	c.pages = append(c.pages, kept{url, page, c.now()})
}
