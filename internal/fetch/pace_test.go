package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func TestTurns(t *testing.T) {
	var p pace
	for i, step := range []struct {
		host string
		at   time.Duration // after the start
		want time.Duration
	}{
		{"a", 0, 0},
		{"a", 0, interval},
		{"b", 0, 0},
		{"a", 100 * time.Millisecond, 900 * time.Millisecond},
		{"a", 1400 * time.Millisecond, 100 * time.Millisecond},
		{"a", 5 * time.Second, 0}, // what was not used is not saved up
		{"a", 5 * time.Second, interval},
		{"b", 499 * time.Millisecond, time.Millisecond},
	} {
		if got := p.turn(step.host, start.Add(step.at)); got != step.want {
			t.Errorf("step %d: %s waits %s; want %s", i, step.host, got, step.want)
		}
	}
	for i := range 5000 {
		p.turn(fmt.Sprint(i), start.Add(time.Duration(i)*time.Second))
	}
	if len(p.next) > 1024 {
		t.Errorf("%d hosts are remembered", len(p.next))
	}
}

// TestPaceOfManyReaders: twenty readers of one host have a turn each.
func TestPaceOfManyReaders(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	var mu sync.Mutex
	var waits []time.Duration
	r.sleep = func(_ context.Context, d time.Duration) error { // the clock stands still
		mu.Lock()
		defer mu.Unlock()
		waits = append(waits, d)
		return nil
	}
	var want []time.Duration
	var readers sync.WaitGroup
	for i := range 20 {
		want = append(want, time.Duration(i)*interval)
		readers.Go(func() {
			if page, err := r.Read(t.Context(), fmt.Sprintf("%s/%d", s.URL, i), 0); err != nil || page.Verdict != dag.PageLive {
				t.Errorf("%+v, %v", page, err)
			}
		})
	}
	readers.Wait()
	slices.Sort(waits)
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestPaceOfRedirects: each hop has its host's turn, and the hosts have their own.
func TestPaceOfRedirects(t *testing.T) {
	r := newInternet(t, Options{})
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Host + r.URL.Path {
		case "a.example/1":
			http.Redirect(w, r, "/2", http.StatusFound)
		case "a.example/2":
			http.Redirect(w, r, "http://b.example/3", http.StatusFound)
		default:
			_, _ = io.WriteString(w, "here")
		}
	})
	r.host("a.example", "93.184.216.34", s)
	r.host("b.example", "93.184.216.35", s)
	if page := r.read(t, "http://a.example/1"); page.Verdict != dag.PageLive || r.clock.asked() != "500ms" {
		t.Errorf("%+v after %q; want one wait of 500ms", page, r.clock.asked())
	}
}

// TestWaitForATurnIsNoServersTime: a turn that comes after the whole time of an
// attempt takes nothing from it.
func TestWaitForATurnIsNoServersTime(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	const timeout = time.Second
	for range 10 {
		r.pace.turn("127.0.0.1", start)
	}
	page, err := r.Read(t.Context(), s.URL, timeout)
	if err != nil || page.Verdict != dag.PageLive || r.clock.asked() != "5s" {
		t.Errorf("%+v, %v after %q; want it live after 5s", page, err, r.clock.asked())
	}
}
