package fetch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-run/penstock/dag"
)

// TestTimesOfAnAttempt goes by a clock that stands still while anything is at work,
// so that the times are exact: connections are pipes, and waits take none.
func TestTimesOfAnAttempt(t *testing.T) {
	drip := func(w io.Writer, head string) {
		_, err := io.WriteString(w, head)
		for err == nil {
			time.Sleep(time.Second)
			_, err = io.WriteString(w, "x")
		}
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
	for _, tt := range []struct {
		name    string
		connect time.Duration // how long a connection takes
		answer  func(w io.Writer, path string)
		each    time.Duration // how long each attempt takes
		live    bool
		silent  bool
	}{
		{"a quick answer", 0, func(w io.Writer, _ string) { _, _ = io.WriteString(w, head+"\r\nhere") }, 0, true, false},
		{"no connection", time.Hour, nil, 5 * time.Second, false, true},
		{"a slow connection", 4 * time.Second, func(w io.Writer, _ string) { _, _ = io.WriteString(w, head+"\r\nhere") }, 4 * time.Second, true, false},
		{"no headers", 0, func(io.Writer, string) { time.Sleep(time.Hour) }, 10 * time.Second, false, true},
		{"headers by the byte", 0, func(w io.Writer, _ string) { drip(w, head+"X: ") }, 10 * time.Second, false, true},
		{"slow headers", 0, func(w io.Writer, _ string) {
			time.Sleep(9 * time.Second)
			_, _ = io.WriteString(w, head+"\r\nhere")
		}, 9 * time.Second, true, false},
		{"a body by the byte", 0, func(w io.Writer, _ string) { drip(w, head+"\r\n") }, 20 * time.Second, false, false},
		{"all of it slow", 4 * time.Second, func(w io.Writer, _ string) {
			time.Sleep(9 * time.Second)
			drip(w, head+"\r\n")
		}, 20 * time.Second, false, false},
		{"a slow body", 0, func(w io.Writer, _ string) {
			_, _ = io.WriteString(w, head+"\r\n")
			time.Sleep(19 * time.Second)
			_, _ = io.WriteString(w, "here")
		}, 19 * time.Second, true, false},
		{"redirects that share the time", 0, func(w io.Writer, path string) {
			time.Sleep(8 * time.Second)
			_, _ = io.WriteString(w, "HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: "+path+"x\r\n\r\n")
		}, 20 * time.Second, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &names{answers: map[string][]string{"a.example": {"93.184.216.34"}}}
				c := New(Options{Resolver: n, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
				var servers sync.WaitGroup
				defer servers.Wait()
				c.dial = func(ctx context.Context, _ *net.Dialer, _ string) (net.Conn, error) {
					if err := sleep(ctx, tt.connect); err != nil {
						return nil, err
					}
					near, far := net.Pipe()
					servers.Go(func() {
						defer func() { _ = far.Close() }()
						if r, err := http.ReadRequest(bufio.NewReader(far)); err == nil {
							tt.answer(far, r.URL.Path)
						}
					})
					return near, nil
				}
				began := time.Now()
				page, err := c.Read(t.Context(), "http://a.example/x", 0)
				if err != nil {
					t.Fatal(err)
				}
				took := time.Since(began) / time.Duration(page.Attempts)
				if live := page.Verdict == dag.PageLive; live != tt.live || took != tt.each || page.NoAnswer != tt.silent || live != (page.Attempts == 1) {
					t.Errorf("%+v after %s an attempt; want live %v, silent %v after %s", page, took, tt.live, tt.silent, tt.each)
				}
				_ = c.Close()
			})
		})
	}
}

// TestAddressesShareTheTime: one that swallows packets leaves the others some, and
// of very many only the first are tried.
func TestAddressesShareTheTime(t *testing.T) {
	for _, tt := range []struct {
		name      string
		addresses int
		answers   int // which of them, from 0
		live      bool
		after     time.Duration
	}{
		{"the second of two", 2, 1, true, 2500 * time.Millisecond},
		{"the third of four", 4, 2, true, 2500 * time.Millisecond},
		{"the last that is tried", 20, 7, true, 4375 * time.Millisecond},
		{"one that is not tried", 20, 8, false, 15 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var addrs []string
				for i := range tt.addresses {
					addrs = append(addrs, fmt.Sprintf("93.184.216.%d", i))
				}
				c, n := answering([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhere"))
				n.answers["a.example"] = []string{strings.Join(addrs, " ")}
				dial := c.dial
				c.dial = func(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
					if address == fmt.Sprintf("93.184.216.%d:80", tt.answers) {
						return dial(ctx, d, address)
					}
					<-ctx.Done()
					return nil, ctx.Err()
				}
				began := time.Now()
				page, err := c.Read(t.Context(), "http://a.example/x", 0)
				if took := time.Since(began); err != nil || (page.Verdict == dag.PageLive) != tt.live || took != tt.after {
					t.Errorf("%+v, %v after %s; want live %v after %s", page, err, took, tt.live, tt.after)
				}
			})
		})
	}
}
