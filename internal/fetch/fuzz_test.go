package fetch

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// answering is a client whose every connection ends at a server that answers with
// the same bytes.
func answering(b []byte) (*Client, *names) {
	c := &clock{now: start}
	n := &names{answers: map[string][]string{"a.example": {"93.184.216.34"}}}
	client := New(Options{Now: c.Now, Sleep: c.Sleep, Resolver: n})
	client.dial = func(context.Context, *net.Dialer, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer func() { _ = far.Close() }()
			r := bufio.NewReader(far)
			if _, err := http.ReadRequest(r); err == nil {
				_, _ = far.Write(b)
			}
		}()
		return near, nil
	}
	return client, n
}

// unseeable reports whether no byte of a body can be seen.
func unseeable(s string) bool {
	for _, c := range []byte(s) {
		if !bytes.Contains([]byte(" \t\r\n\v\f\x00\xef\xbb\xbf\xfe\xff"), []byte{c}) {
			return false
		}
	}
	return true
}

// FuzzAnswer: whatever a server sends is a verdict; nothing is live without a byte
// that can be seen.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n<title>a</title>b", "HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: /a\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: http://[::1]/\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00",
		"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n\x78\x9c",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-16\r\n\r\n<\x00p\x00>",
		"HTTP/1.1 503 Busy\r\nRetry-After: Thu, 15 Jan 2026 09:15:10 GMT\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<svg><title><table><a><table><template>",
		"HTTP/1.0 200\n\nx", "HTTP/1.1 101 x\r\nUpgrade: y\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, _ := answering(b)
		defer func() { _ = c.Close() }()
		page, err := c.Read(t.Context(), "http://a.example/x", 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		live := page.Verdict == dag.PageLive
		if !live && page.Verdict != dag.PageDead && page.Verdict != dag.PageBlocked {
			t.Fatalf("the verdict is %q", page.Verdict)
		}
		if live != (page.Why == "") || !live && page.Text != "" {
			t.Fatalf("%+v", page)
		}
		if live && (!found(page.Status) || page.Digest == "" || page.NoAnswer) {
			t.Fatalf("live without a page: %+v", page)
		}
		if page.NoAnswer && page.Status != 0 || page.Attempts == 0 || len(page.Hops) > maxRedirects+1 || page.At.IsZero() {
			t.Fatalf("%+v", page)
		}
		if !utf8.ValidString(page.Text) {
			t.Fatalf("the text is not UTF-8: %q", page.Text)
		}
		if row, err := json.Marshal(page); err != nil || len(row) > 128<<10 {
			t.Fatalf("it makes no row of evidence: %v", err)
		}
		head, rest, _ := strings.Cut(string(b), "\n\r\n")
		if live && !strings.Contains(head, "\n\n") && unseeable(rest) {
			t.Fatalf("live on an empty body: %q", b)
		}
	})
}

// FuzzRedirect: wherever a Location leads, only public addresses are connected to,
// and none with credentials or at another port.
func FuzzRedirect(f *testing.F) {
	for _, s := range []string{"/a", "//a.example", "http://127.0.0.1/", `\\0x7f.1`, "http://[::ffff:7f00:1]/", "http://u@a.example", "?%zz", "http://a.example:81", "http:a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, location string) {
		if strings.ContainsAny(location, "\r\n\x00") {
			return
		}
		c, n := answering([]byte("HTTP/1.1 302 Found\r\nLocation: " + location + "\r\n\r\n"))
		defer func() { _ = c.Close() }()
		dial := c.dial
		c.dial = func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
			if err := d.ControlContext(ctx, "tcp", address, nil); err != nil {
				return nil, err
			}
			if !strings.HasSuffix(address, ":80") && !strings.HasSuffix(address, ":443") {
				t.Errorf("%q leads to %s", location, address)
			}
			return dial(ctx, d, address)
		}
		page, err := c.Read(t.Context(), "http://a.example/x", 5*time.Second)
		if err != nil || page.Verdict != dag.PageDead {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, host := range n.asked {
			if publicName(host) != nil {
				t.Errorf("%q has the name %q looked up", location, host)
			}
		}
		for _, hop := range page.Hops {
			if to, err := c.judge(hop); err != nil || to.url.String() != hop || to.url.User != nil {
				t.Errorf("%q leads to %q, which is not what it is judged as: %v", location, hop, err)
			}
		}
	})
}
