package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/penstock-run/penstock/dag"
)

func TestLiveAnswersAreKept(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/dead" {
			w.WriteHeader(404)
			return
		}
		_, _ = io.WriteString(w, "here")
	})
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	for _, step := range []struct {
		name     string
		after    time.Duration
		path     string
		requests int // so far
	}{
		{"first", 0, "/a", 1},
		{"again", 0, "/a", 1},
		{"another fragment", 0, "/a#b", 1},
		{"another query", 0, "/a?b", 2},
		{"just before ten minutes", keep - 501*time.Millisecond, "/a", 2},
		{"after ten minutes", time.Millisecond, "/a", 3},
		{"dead", 0, "/dead", 4},
		{"dead again", 0, "/dead", 5},
	} {
		r.clock.mu.Lock()
		r.clock.now = r.clock.now.Add(step.after)
		r.clock.mu.Unlock()
		page := r.read(t, s.URL+step.path)
		if n := len(s.requests()); n != step.requests {
			t.Errorf("%s: %d requests; want %d", step.name, n, step.requests)
		}
		if page.URL != s.URL+step.path {
			t.Errorf("%s: the page is called %s", step.name, page.URL)
		}
	}
}

// TestKeptPagesAreTheirReaders: who changes a page changes nobody else's.
func TestKeptPagesAreTheirReaders(t *testing.T) {
	s := newSite(t, hopping(map[string]string{"/a": "/b"}, 302))
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	page := r.read(t, s.URL+"/a")
	page.Hops[0], page.Exempt[0], page.Verdict = "x", "y", dag.PageDead
	if page = r.read(t, s.URL+"/a"); page.Hops[0] != s.URL+"/a" || page.Exempt[0] != s.host || page.Verdict != dag.PageLive {
		t.Errorf("%+v", page)
	}
}

func TestFewPagesAreKept(t *testing.T) {
	r := newRig(t, Options{})
	for i := range maxPages + 1 {
		r.remember(fmt.Sprint(i), &dag.Page{})
	}
	if r.recall("0") != nil || r.recall("1") == nil || len(r.pages) != maxPages {
		t.Errorf("%d pages are kept, the oldest among them: %v", len(r.pages), r.recall("0") != nil)
	}
}

// gated is a site that answers when it is let, and tells when a request was given up.
func gated(t *testing.T) (s *site, arrived, let, givenUp chan struct{}) {
	arrived, let, givenUp = make(chan struct{}, 10), make(chan struct{}), make(chan struct{}, 10)
	s = newSite(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-let:
			_, _ = io.WriteString(w, "here")
		case <-r.Context().Done():
			givenUp <- struct{}{}
		}
	})
	return s, arrived, let, givenUp
}

// waitFor waits until so many wait for one flight.
func (r *rig) waitFor(n int) {
	for {
		r.mu.Lock()
		for _, f := range r.flights {
			if f.waiting == n {
				r.mu.Unlock()
				return
			}
		}
		r.mu.Unlock()
		runtime.Gosched()
	}
}

func TestOneFlight(t *testing.T) {
	s, _, let, _ := gated(t)
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			address := fmt.Sprintf("%s/a#%d", s.URL, i)
			page, err := r.Read(t.Context(), address, 0)
			if err != nil || page.Verdict != dag.PageLive || page.URL != address {
				t.Errorf("%+v, %v", page, err)
			}
		})
	}
	r.waitFor(8)
	close(let)
	readers.Wait()
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests; want 1", n)
	}
}

// TestWhoBeganMayGiveUp: the others get their page all the same.
func TestWhoBeganMayGiveUp(t *testing.T) {
	s, arrived, let, _ := gated(t)
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	first, giveUp := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	readers.Go(func() {
		if page, err := r.Read(first, s.URL, 0); !errors.Is(err, context.Canceled) || page != nil {
			t.Errorf("who gave up has %+v, %v", page, err)
		}
	})
	<-arrived
	readers.Go(func() {
		if page, err := r.Read(t.Context(), s.URL, 0); err != nil || page.Verdict != dag.PageLive {
			t.Errorf("who waited has %+v, %v", page, err)
		}
	})
	r.waitFor(2)
	giveUp()
	r.waitFor(1)
	close(let)
	readers.Wait()
}

// TestNobodyWaits: what nobody waits for is not read to its end.
func TestNobodyWaits(t *testing.T) {
	s, arrived, _, givenUp := gated(t)
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	ctx, giveUp := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := r.Read(ctx, s.URL, 0)
		done <- err
	}()
	<-arrived
	giveUp()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want the context's end", err)
	}
	<-givenUp
}

// TestAfterNobodyWaited: who comes next does not join what is being given up.
func TestAfterNobodyWaited(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	begun, goOn := make(chan struct{}, 2), make(chan struct{})
	r.sleep = func(ctx context.Context, _ time.Duration) error {
		begun <- struct{}{}
		<-goOn
		return ctx.Err()
	}
	first, giveUp := context.WithCancel(t.Context())
	go func() {
		<-begun
		giveUp()
	}()
	if _, err := r.Read(first, s.URL, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want the context's end", err)
	}
	go func() {
		<-begun
		close(goOn)
	}()
	if page, err := r.Read(t.Context(), s.URL, 0); err != nil || page.Verdict != dag.PageLive {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestEndOfTheContext(t *testing.T) {
	s, _, _, _ := gated(t)
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if page, err := r.Read(ctx, s.URL, 0); !errors.Is(err, context.DeadlineExceeded) || page != nil {
		t.Errorf("%+v, %v; want no page and the context's end", page, err)
	}
	if page, err := r.Read(ctx, "no address", 0); !errors.Is(err, context.DeadlineExceeded) || page != nil {
		t.Errorf("%+v, %v; want no page and the context's end", page, err)
	}
}

// TestEndWhileWaiting: the wait before another attempt ends with the context.
func TestEndWhileWaiting(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(503)
	})
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	r.sleep = func(ctx context.Context, d time.Duration) error {
		if d == 30*time.Second {
			cancel()
		}
		return sleep(ctx, d)
	}
	if page, err := r.Read(ctx, s.URL, 0); !errors.Is(err, context.Canceled) || page != nil {
		t.Errorf("%+v, %v; want no page and the context's end", page, err)
	}
}

func TestClose(t *testing.T) {
	s, arrived, _, givenUp := gated(t)
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	done := make(chan error)
	go func() {
		_, err := r.Read(t.Context(), s.URL, 0)
		done <- err
	}()
	<-arrived
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, errClosed) {
		t.Errorf("%v; want %v", err, errClosed)
	}
	<-givenUp
	if _, err := r.Read(t.Context(), s.URL, 0); !errors.Is(err, errClosed) {
		t.Errorf("%v; want %v", err, errClosed)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
