package fetch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-run/penstock/dag"
)

// clock is a clock that only waiting moves.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration // that were asked for, but for those of no time
}

var start = time.Date(2026, 1, 15, 10, 15, 0, 123456789, time.FixedZone("", 3600))

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d > 0 {
		c.waits = append(c.waits, d)
		c.now = c.now.Add(d)
	}
	return ctx.Err()
}

func (c *clock) asked() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Trim(fmt.Sprint(c.waits), "[]")
}

// names is a resolver: each look-up of a name gives the next of its answers, the
// last for ever. An answer is addresses between spaces, or the word that stands
// for an error.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   []string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	left := n.answers[host]
	if len(left) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(left) > 1 {
		n.answers[host] = left[1:]
	}
	switch left[0] {
	case "servfail":
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
	case "timeout":
		return nil, &net.DNSError{Err: "i/o timeout", Name: host, IsTimeout: true}
	}
	var addrs []netip.Addr
	for _, a := range strings.Fields(left[0]) {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	return addrs, nil
}

func (n *names) lookups() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.asked)
}

// rig is a client with a clock and names of the test's own.
type rig struct {
	*Client
	clock *clock
	names *names
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{clock: &clock{now: start}, names: &names{answers: map[string][]string{}}}
	o.Now, o.Sleep = r.clock.Now, r.clock.Sleep
	if o.Resolver == nil {
		o.Resolver = r.names
	}
	r.Client = New(o)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// read reads an address and fails the test on an error.
func (r *rig) read(t *testing.T, address string) *dag.Page {
	t.Helper()
	page, err := r.Read(t.Context(), address, 0)
	if err != nil {
		t.Fatalf("Read(%q): %v", address, err)
	}
	return page
}

// site is a server on loopback that remembers what it was asked.
type site struct {
	*httptest.Server
	host string // with its port
	mu   sync.Mutex
	log  []*http.Request
}

func newSite(t *testing.T, answer http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(s.logged(answer))
	s.host = s.Listener.Addr().String()
	t.Cleanup(s.Close)
	return s
}

func (s *site) logged(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.log = append(s.log, r)
		s.mu.Unlock()
		answer(w, r)
	}
}

func (s *site) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log
}

// wireSite serves TCP: each connection is handed to the answer, which writes what it
// likes, once a request's head has come in.
func wireSite(t *testing.T, answer func(conn *net.TCPConn, request int)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for n := 1; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_, _ = conn.Read(make([]byte, 4096))
				answer(conn.(*net.TCPConn), n)
			}()
		}
	}()
	return l.Addr().String()
}

// htmlPage is a page of some words.
func htmlPage(head, body string) string {
	return "<!doctype html><html><head>" + head + "</head><body>" + body + "</body></html>"
}

// internet leads connections to public addresses to servers on loopback, and all
// others to the trap. What the dialer judges is the address before that.
type internet struct {
	*rig
	routes map[string]string // "93.184.216.34:80" to where a server listens
	trap   *site
}

func newInternet(t *testing.T, o Options) *internet {
	t.Helper()
	n := &internet{rig: newRig(t, o), routes: map[string]string{}}
	n.trap = newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("secret")) })
	n.dial = func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
		to, ok := n.routes[address]
		if !ok {
			to = n.trap.host
		}
		led, judge := *d, d.ControlContext
		led.ControlContext = func(ctx context.Context, network, _ string, c syscall.RawConn) error {
			return judge(ctx, network, address, c)
		}
		return led.DialContext(ctx, "tcp", to)
	}
	return n
}

// host gives a site a name and a public address.
func (n *internet) host(name, address string, s *site) {
	n.names.answers[name] = []string{address}
	n.routes[address+":80"] = s.host
	n.routes[address+":443"] = s.host
}

// pack packs a body by the names of its codings; "raw" is deflate without zlib.
func pack(t *testing.T, codings string, b []byte) []byte {
	t.Helper()
	for coding := range strings.SplitSeq(codings, ", ") {
		var out bytes.Buffer
		var w io.WriteCloser
		switch coding {
		case "gzip":
			w = gzip.NewWriter(&out)
		case "deflate":
			w = zlib.NewWriter(&out)
		case "raw":
			w, _ = flate.NewWriter(&out, flate.DefaultCompression)
		default:
			return b
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b = out.Bytes()
	}
	return b
}
