package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/penstock-run/penstock/dag"
)

// Options make a Client. The zero value reads the public web.
type Options struct {
	// AllowHosts are exempt from the address rule and from the rule of ports: "host",
	// or "host:port" for that port alone, exactly, in any case, also where a redirect
	// leads. Each use stands in Page.Exempt. An entry that CheckAllowHost refuses
	// exempts nothing.
	AllowHosts []string

	UserAgent string         // who asks; empty: the program without its version
	Roots     *x509.CertPool // whom TLS trusts; nil: whom the machine trusts

	Now      func() time.Time                           // nil: time.Now; of Page.At, the pace, the cache and dates in Retry-After
	Sleep    func(context.Context, time.Duration) error // nil: by the real clock; waits between requests
	Resolver Resolver                                   // nil: the machine's

	// Dial connects to the address of a host; nil: d does. The address rule is d's
	// ControlContext: what connects in another way asks it first.
	Dial func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error)
}

const (
	defaultAgent   = "penstock (+https://github.com/penstock-run/penstock)"
	defaultTimeout = 20 * time.Second
)

// limits are the times that one request has. They go by the real clock, whatever
// Options.Now says.
type limits struct {
	connect time.Duration // for the name and the connection
	headers time.Duration // from the connection to the end of the headers
}

// Client reads pages. Its methods may be called by several goroutines.
type Client struct {
	allowed  allowed
	agent    string
	roots    *x509.CertPool
	now      func() time.Time
	sleep    func(context.Context, time.Duration) error
	resolver Resolver
	absolute bool // public names are looked up as they are, without the machine's search list
	limits   limits
	dial     func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error)
	pace     pace

	reading sync.WaitGroup // the flights

	mu      sync.Mutex
	closed  bool
	flights map[request]*flight
	pages   []kept // live ones, the oldest first
}

var errClosed = errors.New("the reader of pages is closed")

// New makes a client.
func New(o Options) *Client {
	c := &Client{
		allowed:  allowHosts(o.AllowHosts),
		roots:    o.Roots,
		now:      o.Now,
		sleep:    o.Sleep,
		resolver: o.Resolver,
		limits:   limits{connect: 5 * time.Second, headers: 10 * time.Second},
		dial:     o.Dial,
		flights:  map[request]*flight{},
	}
	// A control character would make every request fail, and so every page dead.
	c.agent = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, o.UserAgent))
	if c.agent == "" {
		c.agent = defaultAgent
	}
	if c.dial == nil {
		c.dial = dialTCP
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.sleep == nil {
		c.sleep = sleep
	}
	if c.resolver == nil {
		// With the search list another page could stand under a name that is not there.
		c.resolver, c.absolute = net.DefaultResolver, true
	}
	return c
}

// Source is zero: pages come from the web.
func (c *Client) Source() dag.Digest { return dag.Digest{} }

// Close ends what is being read. After it Read gives errors.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	for _, f := range c.flights {
		f.cancel()
	}
	c.mu.Unlock()
	c.reading.Wait()
	return nil
}

// Read reads the page at an address. The timeout is for one attempt with all its
// redirects, to the last byte, waits for a turn not counted; zero: 20 s. Whatever
// a server does is a verdict; an error is the context's end or a closed client.
func (c *Client) Read(ctx context.Context, address string, timeout time.Duration) (*dag.Page, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	first, err := c.judge(address)
	if err != nil {
		return &dag.Page{URL: address, Verdict: dag.PageDead, Why: clip(err.Error()), At: c.stamp()}, nil
	}
	page, err := c.join(ctx, request{first.url.String(), timeout}, func(ctx context.Context) (*dag.Page, error) {
		return c.read(ctx, first, timeout)
	})
	if err != nil {
		return nil, err
	}
	own := *page
	own.URL = address
	own.Hops = slices.Clone(page.Hops)
	own.Exempt = slices.Clone(page.Exempt)
	return &own, nil
}

func (c *Client) stamp() time.Time { return c.now().UTC().Truncate(time.Millisecond) }

// backoff are the waits before the second and the third attempt, where the answer
// names none.
var backoff = []time.Duration{time.Second, 4 * time.Second}

// read makes the attempts of one address.
func (c *Client) read(ctx context.Context, first *target, timeout time.Duration) (*dag.Page, error) {
	page := &dag.Page{NoAnswer: true}
	ranged, retries := true, 0
	for {
		page.Attempts++
		t, err := c.attempt(ctx, first, timeout, ranged)
		if err != nil {
			return nil, err
		}
		t.record(page)
		o := t.outcome(first, timeout, c.now())
		page.NoAnswer = page.NoAnswer && t.last == nil && o.silent
		switch {
		case o.whole && ranged:
			ranged = false
			continue
		case o.again && retries < len(backoff):
			wait := backoff[retries]
			if o.asked {
				wait = o.wait
			}
			if err := c.sleep(ctx, wait); err != nil {
				return nil, err
			}
			retries++
			continue
		}
		page.Verdict, page.Why, page.Text = o.verdict, clip(o.why), o.text
		if page.At.IsZero() {
			page.At = c.stamp()
		}
		return page, nil
	}
}
