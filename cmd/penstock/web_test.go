package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/net/dns/dnsmessage"
)

// ownNames lets every name of the net lead to this machine in a process of these
// tests: none of them reaches the net, and a server of a test stands for all hosts.
func ownNames() {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go answerNames(there)
		return here, nil
	}}
}

// answerNames is a name server on one connection, in the form of TCP: each message
// comes after its length.
func answerNames(c net.Conn) {
	defer c.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(c, question); err != nil {
			return
		}
		answer, err := nameAnswer(question)
		if err != nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// nameAnswer gives 127.0.0.1 for every name but those that end in .invalid.
func nameAnswer(question []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil, err
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	for _, q := range m.Questions {
		switch {
		case strings.HasSuffix(q.Name.String(), ".invalid."):
			m.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			})
		}
	}
	return m.Pack()
}

// site is a server that stands for the whole web, and counts who comes.
type site struct {
	*httptest.Server
	mu        sync.Mutex
	connected int
	asked     []string // "host/path"
}

// newSite serves pages with answer, which is told how often the page was asked for
// before.
func newSite(answer func(w http.ResponseWriter, r *http.Request, before int)) *site {
	s := &site{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, before := hostOf(r)+r.URL.Path, 0
		s.mu.Lock()
		for _, other := range s.asked {
			if other == page {
				before++
			}
		}
		s.asked = append(s.asked, page)
		s.mu.Unlock()
		answer(w, r, before)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.connected++
			s.mu.Unlock()
		}
	}
	s.Start()
	return s
}

// hostOf is the host that a request is for, without its port.
func hostOf(r *http.Request) string {
	host, _, _ := strings.Cut(r.Host, ":")
	return host
}

func (s *site) port() string {
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return port
}

// visits are the requests since the last call, sorted, and how many connections
// there were.
func (s *site) visits() (asked []string, connected int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, connected = s.asked, s.connected
	s.asked, s.connected = nil, 0
	slices.Sort(asked)
	return asked, connected
}

// sites are those of scripts, by the script's folder.
type sites struct {
	mu sync.Mutex
	of map[string]*site
}

// web serves the files below a folder, DIR/HOST/PATH, as pages of the web for the
// rest of the script: web DIR. $WEB is its port. A file that begins with "status N"
// is answered with that status and what follows, one that begins with
// "moved HOST/PATH" with a redirect.
func (all *sites) web(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: web DIR")
	}
	dir := ts.MkAbs(args[0])
	s := newSite(func(w http.ResponseWriter, r *http.Request, _ int) {
		content, err := os.ReadFile(filepath.Join(dir, hostOf(r), filepath.FromSlash(r.URL.Path)))
		if err != nil {
			http.Error(w, "there is no such page", http.StatusNotFound)
			return
		}
		head, rest, _ := strings.Cut(string(content), "\n")
		if to, ok := strings.CutPrefix(head, "moved "); ok {
			moved(w, r, to)
			return
		}
		if status, ok := strings.CutPrefix(head, "status "); ok {
			if n, err := strconv.Atoi(status); err == nil {
				w.WriteHeader(n)
				_, _ = io.WriteString(w, rest)
				return
			}
		}
		_, _ = w.Write(content)
	})
	ts.Defer(s.Close)
	ts.Setenv("WEB", s.port())
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.of == nil {
		all.of = map[string]*site{}
	}
	all.of[ts.Getenv("WORK")] = s
}

// asked compares how often the web was asked since the last time: asked N.
func (all *sites) asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked N")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	all.mu.Lock()
	s := all.of[ts.Getenv("WORK")]
	all.mu.Unlock()
	if s == nil {
		ts.Fatalf("asked: no web was started")
	}
	got, connected := s.visits()
	if len(got) != want || want == 0 && connected != 0 {
		ts.Fatalf("the web was asked %d times over %d connections, not %d: %v", len(got), connected, want, got)
	}
}

// The name server of these tests is one as far as the resolver can tell.
func TestOwnNames(t *testing.T) {
	r := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go answerNames(there)
		return here, nil
	}}
	addrs, err := r.LookupNetIP(t.Context(), "ip", "www.nps.gov.")
	if err != nil || fmt.Sprint(addrs) != "[127.0.0.1]" {
		t.Errorf("www.nps.gov leads to %v, %v", addrs, err)
	}
	var no *net.DNSError
	if _, err := r.LookupNetIP(t.Context(), "ip", "nowhere.invalid."); !errors.As(err, &no) || !no.IsNotFound {
		t.Errorf("nowhere.invalid leads to %v", err)
	}
}

// moved redirects to another page of the same web.
func moved(w http.ResponseWriter, r *http.Request, to string) {
	host, path, _ := strings.Cut(to, "/")
	_, port, _ := strings.Cut(r.Host, ":")
	w.Header().Set("Location", "http://"+host+":"+port+"/"+path)
	w.WriteHeader(http.StatusFound)
}

// answerPage is the web of the trivia cards: what a page comes to is its path.
func answerPage(w http.ResponseWriter, r *http.Request, before int) {
	path := r.URL.Path
	status, _ := strconv.Atoi(strings.TrimPrefix(path, "/status/"))
	to, redirected := strings.CutPrefix(path, "/moved/")
	switch {
	case redirected:
		moved(w, r, to)
	case path == "/status/503-once" && before == 0:
		status = http.StatusServiceUnavailable
		fallthrough
	case status != 0:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(status)
	case path == "/blank":
		_, _ = io.WriteString(w, " \n")
	default:
		fmt.Fprintf(w, "<title>%s</title><p>It is so. So it is, says %s.", path, hostOf(r))
	}
}
