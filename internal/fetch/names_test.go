package fetch

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/penstock-run/penstock/dag"
)

// nameServer is a server of names on loopback, and the standard library's resolver
// that asks it: what is told apart of failures is told apart of its errors.
type nameServer struct {
	mu      sync.Mutex
	answers map[string][]string // as those of names; "silent" is no answer
}

func newNameServer(t *testing.T, answers map[string][]string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	n := &nameServer{answers: answers}
	go func() {
		for buf := make([]byte, 1500); ; {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := n.reply(buf[:size]); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *nameServer) reply(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	answer := n.next(strings.TrimSuffix(q.Name.String(), "."), q.Type)
	m.Header = dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true}
	m.Additionals = nil
	switch answer {
	case "silent":
		return nil
	case "servfail":
		m.RCode = dnsmessage.RCodeServerFailure
	case "nxdomain":
		m.RCode = dnsmessage.RCodeNameError
	case "":
	default:
		if q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(answer).To4())},
			}}
		}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil
	}
	return reply
}

// next is the name's answer. A name is asked for twice in each look-up; the
// question for IPv4 is the one that moves on.
func (n *nameServer) next(name string, kind dnsmessage.Type) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	left := n.answers[name]
	if len(left) == 0 {
		return "nxdomain"
	}
	if len(left) > 1 && kind == dnsmessage.TypeA {
		n.answers[name] = left[1:]
	}
	return left[0]
}

func TestNamesByAServer(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		why          string // empty: live
		attempts     int
	}{
		{"an address", "93.184.216.34", "", 1},
		{"does not exist", "nxdomain", "the name a.example does not exist", 1},
		{"has no address", "", "the name a.example does not exist", 1},
		{"the server fails", "servfail", "the name a.example could not be looked up", 3},
		{"the server is silent", "silent", "the name a.example could not be looked up", 3},
		{"loopback", "127.0.0.1", "the address 127.0.0.1 is not public (loopback)", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newInternet(t, Options{Resolver: newNameServer(t, map[string][]string{"a.example": {tt.answer}})})
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
			r.host("a.example", "93.184.216.34", s)
			if tt.answer == "silent" {
				r.limits.connect = 20 * time.Millisecond
			}
			page := r.read(t, "http://a.example/x")
			if (page.Verdict == dag.PageLive) != (tt.why == "") || page.Why != tt.why || page.Attempts != tt.attempts {
				t.Errorf("%+v; want %d attempts and %q", page, tt.attempts, tt.why)
			}
			if n := len(r.trap.requests()); n != 0 {
				t.Errorf("%d requests went where they must not", n)
			}
		})
	}
}

// TestRebinding: a server of names that answers with a public address first and
// with loopback from then on.
func TestRebinding(t *testing.T) {
	r := newInternet(t, Options{Resolver: newNameServer(t, map[string][]string{"a.example": {"93.184.216.34", "127.0.0.1"}})})
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
	r.host("a.example", "93.184.216.34", s)
	page := r.read(t, "http://a.example/x")
	if page.Verdict != dag.PageDead || page.Why != "the address 127.0.0.1 is not public (loopback)" || page.Status != 302 {
		t.Errorf("%+v; want it refused at its second hop", page)
	}
	if len(s.requests()) != 1 || len(r.trap.requests()) != 0 {
		t.Errorf("%d requests to the public address, %d to the other; want 1 and 0", len(s.requests()), len(r.trap.requests()))
	}
}
