package fetch

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// TestVerdictOfAStatus is the table of the live check, a row for each status.
func TestVerdictOfAStatus(t *testing.T) {
	type row struct {
		verdict  dag.PageVerdict
		attempts int
		waits    string
	}
	again := row{dag.PageDead, 3, "1s 4s"} // the host's pace is over by then
	want := map[int]row{
		200: {dag.PageLive, 1, ""}, 203: {dag.PageLive, 1, ""}, 206: {dag.PageLive, 1, ""},
		408: again, 425: again, 500: again, 502: again, 503: again, 504: again,
		429: {dag.PageBlocked, 3, again.waits},
		401: {dag.PageBlocked, 1, ""}, 402: {dag.PageBlocked, 1, ""}, 403: {dag.PageBlocked, 1, ""},
		407: {dag.PageBlocked, 1, ""}, 451: {dag.PageBlocked, 1, ""}, 999: {dag.PageBlocked, 1, ""},
		416: {dag.PageDead, 2, "500ms"},
	}
	for _, status := range []int{
		200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 299, 300, 301, 302, 303, 304, 305, 306, 307, 308, 399,
		400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451, 499,
		500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511, 520, 522, 530, 599, 600, 999,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "here it is")
			})
			r := newRig(t, Options{AllowHosts: []string{s.host}})
			page := r.read(t, s.URL+"/x")
			w, ok := want[status]
			if !ok {
				w = row{dag.PageDead, 1, ""}
			}
			got := row{page.Verdict, page.Attempts, r.clock.asked()}
			if got != w || page.Status != status || page.NoAnswer || len(s.requests()) != w.attempts {
				t.Errorf("%+v after %q; want %+v", page, got.waits, w)
			}
			if page.Verdict == dag.PageLive != (page.Text == "here it is") {
				t.Errorf("the text is %q", page.Text)
			}
			why := fmt.Sprintf("status %d", status)
			if page.Verdict != dag.PageLive && !strings.HasPrefix(page.Why, why) {
				t.Errorf("the reason is %q; want %q", page.Why, why)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       dag.PageVerdict
	}{
		{"none", "", dag.PageDead},
		{"white space", " \r\n\t \n", dag.PageDead},
		{"a byte order mark", "\xef\xbb\xbf", dag.PageDead},
		{"UTF-16 spaces", "\xff\xfe \x00\n\x00", dag.PageDead},
		{"NULs", "\x00\x00\x00", dag.PageDead},
		{"a byte", "\n\nx", dag.PageLive},
		{"elements without words", "<div></div>", dag.PageLive},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.body) })
			r := newRig(t, Options{AllowHosts: []string{s.host}})
			page := r.read(t, s.URL+"/x")
			if page.Verdict != tt.want || page.Attempts != 1 {
				t.Errorf("%+v; want %s", page, tt.want)
			}
			if tt.want == dag.PageDead && page.Why != "status 200 with an empty body" {
				t.Errorf("the reason is %q", page.Why)
			}
		})
	}
}

// TestSecondAttempt: what may be better in a moment is asked again.
func TestSecondAttempt(t *testing.T) {
	for _, tt := range []struct {
		name     string
		statuses []int
		verdict  dag.PageVerdict
		why      string
		waits    string
	}{
		{"503 then 200", []int{503, 200}, dag.PageLive, "", "1s"},
		{"twice 429 then 200", []int{429, 429, 200}, dag.PageLive, "", "1s 4s"},
		{"429 three times", []int{429, 429, 429, 200}, dag.PageBlocked, "status 429", "1s 4s"},
		{"500 then 404", []int{500, 404}, dag.PageDead, "status 404", "1s"},
		{"429, then 503 twice", []int{429, 503, 503}, dag.PageDead, "status 503", "1s 4s"},
		{"416 then 200", []int{416, 200}, dag.PageLive, "", "500ms"},
		{"416 twice", []int{416, 416, 200}, dag.PageDead, "status 416", "500ms"},
		{"503, 416, then 503 twice", []int{503, 416, 503, 503, 200}, dag.PageDead, "status 503", "1s 500ms 4s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s *site
			s = newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.statuses[len(s.requests())-1])
				_, _ = io.WriteString(w, "here")
			})
			r := newRig(t, Options{AllowHosts: []string{s.host}})
			page := r.read(t, s.URL+"/x")
			if page.Verdict != tt.verdict || page.Why != tt.why || r.clock.asked() != tt.waits || page.Attempts != len(s.requests()) {
				t.Errorf("%+v after %q; want %s, %q after %q", page, r.clock.asked(), tt.verdict, tt.why, tt.waits)
			}
		})
	}
}

// TestRangeIsGivenUp: with a status 416 the second request asks for everything.
func TestRangeIsGivenUp(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			w.WriteHeader(416)
			return
		}
		_, _ = io.WriteString(w, "all of it")
	})
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	if page := r.read(t, s.URL); page.Text != "all of it" || page.Attempts != 2 || page.Status != 200 {
		t.Errorf("%+v", page)
	}
}

// TestDigestOfTheLastAnswer: what an earlier answer held is no evidence of the last.
func TestDigestOfTheLastAnswer(t *testing.T) {
	var s *site
	s = newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		if len(s.requests()) == 1 {
			w.WriteHeader(503)
			_, _ = io.WriteString(w, "busy")
			return
		}
		w.WriteHeader(204)
	})
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	if page := r.read(t, s.URL); page.Status != 204 || page.Digest != "" || page.Attempts != 2 {
		t.Errorf("%+v", page)
	}
}

func TestRetryAfter(t *testing.T) {
	at := func(d time.Duration) string { return start.Add(d).UTC().Format(http.TimeFormat) }
	for _, tt := range []struct{ name, value, waits string }{
		{"seconds", "7", "7s 7s"},
		{"more than are waited for", "3600", "30s 30s"},
		{"more than fit", "99999999999999999999999", "30s 30s"},
		{"none", "0", "500ms 500ms"}, // the host's pace alone
		{"a date", at(13 * time.Second), "12.876543211s 500ms"},
		{"a date far away", at(time.Hour), "30s 30s"},
		{"a date that is past", at(-time.Hour), "500ms 500ms"},
		{"negative", "-5", "1s 4s"},
		{"words", "soon", "1s 4s"},
		{"a fraction", "1.5", "1s 4s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", tt.value)
				w.WriteHeader(503)
			})
			r := newRig(t, Options{AllowHosts: []string{s.host}})
			if page := r.read(t, s.URL+"/x"); page.Verdict != dag.PageDead || r.clock.asked() != tt.waits {
				t.Errorf("%+v after %q; want %q", page, r.clock.asked(), tt.waits)
			}
		})
	}
}

// TestRetryAfterOfItsOwnAnswer: the next answer without one is not waited for as
// the one before.
func TestRetryAfterOfItsOwnAnswer(t *testing.T) {
	var s *site
	s = newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		if len(s.requests()) == 1 {
			w.Header().Set("Retry-After", "9")
		}
		w.WriteHeader(503)
	})
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	if r.read(t, s.URL); r.clock.asked() != "9s 4s" {
		t.Errorf("waited for %q; want 9s 4s", r.clock.asked())
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name     string
		answers  []string
		why      string
		attempts int
	}{
		{"does not exist", nil, "the name a.example does not exist", 1},
		{"has no address", []string{""}, "the name a.example does not exist", 1},
		{"the server fails", []string{"servfail"}, "the name a.example could not be looked up", 3},
		{"the server is silent", []string{"timeout"}, "the name a.example could not be looked up", 3},
		{"fails, then is not there", []string{"servfail", ""}, "the name a.example does not exist", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newInternet(t, Options{})
			r.names.answers["a.example"] = tt.answers
			page := r.read(t, "https://a.example/x")
			want := &dag.Page{URL: "https://a.example/x", Verdict: dag.PageDead, Why: tt.why, At: page.At, Attempts: tt.attempts, NoAnswer: true}
			if diff := cmp.Diff(want, page); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestNameThatComesBack: a name server that fails once is no dead page.
func TestNameThatComesBack(t *testing.T) {
	r := newInternet(t, Options{})
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	r.host("a.example", "93.184.216.34", s)
	r.names.answers["a.example"] = []string{"servfail", "93.184.216.34"}
	if page := r.read(t, "http://a.example/x"); page.Verdict != dag.PageLive || page.NoAnswer || page.Attempts != 2 {
		t.Errorf("%+v", page)
	}
}

func TestConnections(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	for _, tt := range []struct {
		name     string
		answer   func(conn *net.TCPConn, n int) // nil: nobody listens
		why      string                         // empty: live
		attempts int
		silent   bool
	}{
		{"nobody listens", nil, "the connection was refused", 3, true},
		{"closed at once", func(*net.TCPConn, int) {}, "the connection broke off", 3, true},
		{"reset", func(c *net.TCPConn, _ int) { _ = c.SetLinger(0) }, "the connection broke off", 3, true},
		{"reset, then an answer", func(c *net.TCPConn, n int) {
			if n == 1 {
				_ = c.SetLinger(0)
				return
			}
			_, _ = io.WriteString(c, head+"Content-Length: 4\r\n\r\nhere")
		}, "", 2, false},
		{"cut in its headers", func(c *net.TCPConn, _ int) { _, _ = io.WriteString(c, head) }, "the connection broke off", 3, true},
		{"cut in its body", func(c *net.TCPConn, _ int) { _, _ = io.WriteString(c, head+"Content-Length: 100\r\n\r\nhere") },
			"the connection broke off, after the first bytes of the page", 3, false},
		{"cut in a chunk", func(c *net.TCPConn, _ int) {
			_, _ = io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n10\r\nhere")
		}, "the connection broke off, after the first bytes of the page", 3, false},
		{"cut in the body of a refusal", func(c *net.TCPConn, _ int) {
			_, _ = io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\nhere")
		}, "status 404", 1, false},
		{"ends with the connection", func(c *net.TCPConn, _ int) { _, _ = io.WriteString(c, head+"\r\nhere") }, "", 1, false},
		{"bad chunks", func(c *net.TCPConn, _ int) {
			_, _ = io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\nzz\r\nhere")
		}, "the answer is not usable as HTTP: invalid byte in chunk length", 1, false},
		{"not HTTP", func(c *net.TCPConn, _ int) { _, _ = io.WriteString(c, "220 mail ESMTP\r\n") },
			`the answer is not usable as HTTP: malformed HTTP status code "mail"`, 1, false},
		{"headers without an end", func(c *net.TCPConn, _ int) {
			_, _ = io.WriteString(c, head)
			for range 100 {
				_, _ = io.WriteString(c, "X-Long: "+strings.Repeat("x", 1000)+"\r\n")
			}
		}, "the answer is not usable as HTTP: server response headers exceeded 65536 bytes; aborted", 1, false},
		{"switching protocols", func(c *net.TCPConn, _ int) {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhere")
		}, "status 101", 1, false},
		{"another status before its own", func(c *net.TCPConn, _ int) {
			_, _ = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"+head+"Content-Length: 4\r\n\r\nhere")
		}, "", 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host := closed.Addr().String()
			if tt.answer != nil {
				host = wireSite(t, tt.answer)
			}
			r := newRig(t, Options{AllowHosts: []string{host}})
			page := r.read(t, "http://"+host+"/x")
			if (page.Verdict == dag.PageLive) != (tt.why == "") || page.Why != tt.why || page.Attempts != tt.attempts || page.NoAnswer != tt.silent {
				t.Errorf("%+v; want %d attempts, silent %v, and %s", page, tt.attempts, tt.silent, tt.why)
			}
		})
	}
}

// TestTime: each part of an answer has its time, and the whole has one.
func TestTime(t *testing.T) {
	hold := func(c *net.TCPConn) { _, _ = c.Read(make([]byte, 1)) } // until the client has had enough
	for _, tt := range []struct {
		name    string
		answer  func(c *net.TCPConn)
		limits  limits
		timeout time.Duration
		silent  bool
	}{
		{"no headers", hold, limits{time.Minute, 20 * time.Millisecond}, time.Minute, true},
		{"no headers in the whole time", hold, limits{time.Minute, time.Minute}, 20 * time.Millisecond, true},
		{"headers by the byte", func(c *net.TCPConn) {
			dribble(c, "HTTP/1.1 200 OK\r\nX: ")
		}, limits{time.Minute, 20 * time.Millisecond}, time.Minute, true},
		{"a body by the byte", func(c *net.TCPConn) {
			dribble(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
		}, limits{time.Minute, time.Minute}, 30 * time.Millisecond, false},
		{"a body that stops", func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhere")
			hold(c)
		}, limits{time.Minute, time.Minute}, 30 * time.Millisecond, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host := wireSite(t, func(c *net.TCPConn, _ int) { tt.answer(c) })
			r := newRig(t, Options{AllowHosts: []string{host}})
			r.limits = tt.limits
			page, err := r.Read(t.Context(), "http://"+host+"/x", tt.timeout)
			if err != nil {
				t.Fatal(err)
			}
			if page.Verdict != dag.PageDead || !strings.HasPrefix(page.Why, "it took too long") || page.Attempts != 3 || page.NoAnswer != tt.silent {
				t.Errorf("%+v", page)
			}
			if tt.silent != (page.Status == 0) {
				t.Errorf("the status is %d", page.Status)
			}
		})
	}
}

// dribble writes one byte after another, a thousand a second at the most, until
// the other side has had enough.
func dribble(c *net.TCPConn, head string) {
	_, err := io.WriteString(c, head)
	for err == nil {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		_, err = io.WriteString(c, "x")
	}
}

func TestTLS(t *testing.T) {
	serve := func(t *testing.T, configure func(*httptest.Server)) (*httptest.Server, string) {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		configure(s)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s, s.Listener.Addr().String()
	}
	s, host := serve(t, func(*httptest.Server) {})
	_, port, _ := net.SplitHostPort(host)
	_, old := serve(t, func(s *httptest.Server) {
		s.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	})
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	plain := wireSite(t, func(c *net.TCPConn, _ int) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nhere") })
	gone := wireSite(t, func(*net.TCPConn, int) {})
	for _, tt := range []struct {
		name, host string
		roots      *x509.CertPool
		why        string // empty: live
		attempts   int
	}{
		{"a trusted certificate", host, roots, "", 1},
		{"its name", "example.com:" + port, roots, "", 1},
		{"nobody's certificate", host, x509.NewCertPool(), "TLS: failed to verify certificate: x509: certificate signed by unknown authority", 1},
		{"another's name", "other.example:" + port, roots, "TLS: failed to verify certificate: x509: certificate is valid for example.com, *.example.com, not other.example", 1},
		{"a version that is too old", old, roots, "TLS: remote error: tls: protocol version not supported", 1},
		{"no TLS at all", plain, roots, "TLS: first record does not look like a TLS handshake", 1},
		{"cut in the handshake", gone, roots, "the connection broke off", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Options{AllowHosts: []string{tt.host}, Roots: tt.roots})
			r.names.answers["example.com"] = []string{"127.0.0.1"}
			r.names.answers["other.example"] = []string{"127.0.0.1"}
			page := r.read(t, "https://"+tt.host+"/x")
			if (page.Verdict == dag.PageLive) != (tt.why == "") || page.Why != tt.why ||
				page.Attempts != tt.attempts || page.NoAnswer != (tt.why != "") {
				t.Errorf("%+v; want %d attempts and %s", page, tt.attempts, tt.why)
			}
		})
	}
}

// TestCap: 64 KiB are read, whatever comes.
func TestCap(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 1<<20)
	for _, tt := range []struct{ name, coding string }{
		{"plain", ""}, {"gzip", "gzip"}, {"zlib", "deflate"}, {"raw deflate", "raw"}, {"gzip twice", "gzip, gzip"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				if tt.coding != "" {
					w.Header().Set("Content-Encoding", strings.ReplaceAll(tt.coding, "raw", "deflate"))
				}
				_, _ = w.Write(pack(t, tt.coding, big))
			})
			r := newRig(t, Options{AllowHosts: []string{s.host}})
			page := r.read(t, s.URL+"/x")
			if page.Verdict != dag.PageLive || page.Text != string(big[:maxBody]) {
				t.Errorf("%s, %q, %d bytes of text", page.Verdict, page.Why, len(page.Text))
			}
			if sum := sha256.Sum256(big[:maxBody]); page.Digest != hex.EncodeToString(sum[:]) {
				t.Errorf("the digest is %q", page.Digest)
			}
		})
	}
}
