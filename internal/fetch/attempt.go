package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/penstock-run/penstock/dag"
)

const (
	maxRedirects = 5
	maxHeaders   = 64 << 10
)

// answer is what one server said to one request.
type answer struct {
	from   *target
	status int
	header http.Header
	body   body
	at     time.Time
	seen   *view // once it was read
}

// trip is one attempt: the redirects of an address to where they end.
type trip struct {
	hops   []string
	exempt []string // entries of allow_hosts that were needed
	last   *answer  // nil where no server answered
	err    error    // what ended it, where that was not the last answer's status
}

// attempt asks for an address and follows the redirects, each judged like the
// first. A step from https down to http is followed, as a reader's browser follows
// it: nothing secret is sent either way.
//
// An error is the context's end.
func (c *Client) attempt(ctx context.Context, first *target, timeout time.Duration, ranged bool) (*trip, error) {
	t := &trip{}
	at := *first // each attempt needs its exemptions for itself
	to := &at
	seen := map[string]bool{}
	for {
		if seen[to.url.String()] {
			t.err = refuse("the redirects go round in a loop")
			return t, nil
		}
		seen[to.url.String()] = true
		if err := c.sleep(ctx, c.pace.turn(to.host, c.now())); err != nil {
			return nil, err
		}
		began := time.Now()
		a, err := c.ask(ctx, to, began.Add(timeout), ranged)
		timeout -= time.Since(began)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if to.used && !slices.Contains(t.exempt, to.exempt) {
			t.exempt = append(t.exempt, to.exempt)
		}
		if a != nil {
			t.last = a
		}
		if t.err = err; err != nil || !redirects(a.status) {
			return t, nil
		}
		t.hops = append(t.hops, to.url.String())
		if to, t.err = c.next(a); t.err != nil {
			return t, nil
		}
		if len(t.hops) > maxRedirects {
			t.err = refuse("it redirects more than %d times", maxRedirects)
			return t, nil
		}
	}
}

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// found are the statuses that say that the page is there.
func found(status int) bool { return status == 200 || status == 203 || status == 206 }

// ask sends one request. An answer with an error is one that broke off in its body.
func (c *Client) ask(ctx context.Context, to *target, deadline time.Time, ranged bool) (*answer, error) {
	conn, err := c.connect(ctx, to, deadline)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	given := func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	// One connection, one request: nothing is sent twice, and no connection outlives
	// the judgement of its address. No proxy: the rule would judge only the proxy.
	transport := &http.Transport{
		DialContext:            given,
		DialTLSContext:         given,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaders,
	}
	resp, err := transport.RoundTrip(c.request(ctx, to, ranged))
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	a := &answer{from: to, status: resp.StatusCode, header: resp.Header, at: c.stamp()}
	if redirects(a.status) || a.status == http.StatusSwitchingProtocols {
		return a, nil
	}
	_ = conn.SetDeadline(deadline)
	if a.body, err = readBody(resp); !found(a.status) {
		err = nil // such a status says enough without its body
	}
	return a, err
}

func (c *Client) request(ctx context.Context, to *target, ranged bool) *http.Request {
	header := http.Header{
		"User-Agent": {c.agent},
		"Accept":     {"text/html,application/xhtml+xml,*/*;q=0.8"},
		// A range of a packed page may be the beginning of the packed form or of the
		// page; asking for none leaves one meaning. What is packed anyway is unpacked.
		"Accept-Encoding": {"identity"},
	}
	if ranged {
		header["Range"] = []string{"bytes=0-65535"}
	}
	r := &http.Request{Method: http.MethodGet, URL: to.url, Host: to.url.Host, Header: header, ProtoMajor: 1, ProtoMinor: 1}
	return r.WithContext(ctx)
}

// next is where a redirect leads.
func (c *Client) next(a *answer) (*target, error) {
	location := strings.TrimSpace(a.header.Get("Location"))
	if location == "" {
		return nil, refuse("status %d without a Location", a.status)
	}
	raw, err := resolve(a.from.url, location)
	if err != nil {
		return nil, err
	}
	to, err := c.judge(raw)
	if err != nil {
		return nil, refuse("it redirects to %s: %s", raw, err)
	}
	return to, nil
}

// resolve makes a whole address of a Location, as browsers do.
func resolve(base *url.URL, location string) (string, error) {
	location, _, _ = strings.Cut(location, "#")
	way, query, asks := strings.Cut(location, "?")
	way = escape(strings.ReplaceAll(way, `\`, "/"))
	if asks {
		way += "?" + escape(query)
	}
	switch {
	case strings.HasPrefix(way, "//"):
		return base.Scheme + ":" + way, nil
	case hasScheme(way):
		return way, nil
	}
	ref, err := url.Parse(way)
	if err != nil {
		return "", refuse("it redirects to %q, which is no address", location)
	}
	return base.ResolveReference(ref).String(), nil
}

// hasScheme reports whether an address begins with letters and a colon.
func hasScheme(s string) bool {
	i := strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
	})
	return i > 0 && s[i] == ':'
}

// clip keeps what others wrote fit for a row of evidence.
func clip(s string) string {
	const most = 300
	end := ""
	if len(s) > most {
		s, end = s[:most], "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "")) + end
}

// record writes what an attempt came to into the page. What an earlier attempt
// found stays where this one had no answer.
func (t *trip) record(page *dag.Page) {
	for _, entry := range t.exempt {
		if !slices.Contains(page.Exempt, entry) {
			page.Exempt = append(page.Exempt, entry)
		}
	}
	if t.last == nil {
		return
	}
	page.FinalURL, page.Status, page.At, page.Hops = t.last.from.url.String(), t.last.status, t.last.at, t.hops
	page.Digest = ""
	if len(t.last.body.bytes) > 0 {
		sum := sha256.Sum256(t.last.body.bytes)
		page.Digest = hex.EncodeToString(sum[:])
	}
}
