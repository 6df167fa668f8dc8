package completion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// schedule is what a run may meet: who asks whom and when, and what comes of it.
type schedule struct {
	providers []*dag.Provider
	asks      []asking
	calls     []calling     // of the calls, in the order in which they are made, over and over
	places    int           // visits at a time
	ends      time.Duration // when no call waits any more; 0: never
}

type asking struct {
	provider int
	at       time.Duration
	text     string
	givesUp  time.Duration // after so long; 0: never
}

type calling struct {
	takes time.Duration
	kind  proto.ProviderError_Kind // UNSPECIFIED: an answer
	hint  time.Duration
	lost  bool // the connection breaks
}

func drawSchedule(r *rapid.T) schedule {
	seconds := func(most int, name string) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(r, name)) * time.Second
	}
	s := schedule{places: rapid.IntRange(1, 8).Draw(r, "places")}
	for i := range rapid.IntRange(1, 3).Draw(r, "providers") {
		s.providers = append(s.providers, &dag.Provider{Name: fmt.Sprint("p", i), Limits: dag.Limits{
			Concurrency:       rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(r, "concurrency"),
			RequestsPerMinute: rapid.SampledFrom([]int{0, 1, 7, 150}).Draw(r, "rpm"),
			TokensPerMinute:   rapid.SampledFrom([]int{0, 40, 1000}).Draw(r, "tpm"),
			IgnoreLatency:     rapid.Bool().Draw(r, "deaf"),
		}})
	}
	for i := range rapid.IntRange(1, 40).Draw(r, "asks") {
		a := asking{provider: rapid.IntRange(0, len(s.providers)-1).Draw(r, "provider"), at: seconds(90, "at")}
		a.text = fmt.Sprint(i, strings.Repeat("a", rapid.IntRange(0, 300).Draw(r, "length")))
		if rapid.IntRange(0, 5).Draw(r, "same") == 0 {
			a.text = "the same"
		}
		if rapid.IntRange(0, 3).Draw(r, "patient") == 0 {
			a.givesUp = time.Millisecond + seconds(60, "gives up")
		}
		s.asks = append(s.asks, a)
	}
	kinds := []proto.ProviderError_Kind{0, 0, 0, proto.ProviderError_RATE_LIMITED, proto.ProviderError_OVERLOADED,
		proto.ProviderError_TIMEOUT, proto.ProviderError_UNAVAILABLE, proto.ProviderError_INVALID_REQUEST}
	for range rapid.IntRange(1, 20).Draw(r, "calls") {
		c := calling{takes: seconds(12, "takes"), kind: rapid.SampledFrom(kinds).Draw(r, "kind"), lost: rapid.IntRange(0, 9).Draw(r, "lost") == 0}
		if c.kind != 0 && rapid.Bool().Draw(r, "hints") {
			c.hint = seconds(70, "hint")
		}
		s.calls = append(s.calls, c)
	}
	if rapid.IntRange(0, 4).Draw(r, "interrupted") == 0 {
		s.ends = seconds(120, "ends")
	}
	return s
}

// watched is a schedule under way, with all that must hold of it.
type watched struct {
	*Service
	schedule
	places *places
	wrong  func(format string, args ...any)

	mu     sync.Mutex
	made   int
	under  map[string]int           // calls under way, by provider
	probes map[string]int           // of those, sent in a time of trouble
	sent   map[string][]amount      // by provider
	all    map[context.Context]bool // calls under way
}

func (w *watched) call(p *dag.Provider) Caller {
	return func(ctx context.Context, request *proto.CompletionRequest) (*proto.CompletionReply, error) {
		now := time.Now()
		l := w.limiter(p)
		l.mu.Lock()
		trouble, size := l.trouble, l.window.size
		// A call that was let go at the very moment when a trouble began is no probe of it.
		probe := trouble.level > 0 && l.probe != 0
		l.mu.Unlock()
		r, err := newRequest(request, schemaDigest)
		if err != nil {
			w.wrong("%v", err)
		}
		w.mu.Lock()
		c := w.calls[w.made%len(w.calls)]
		w.made++
		w.under[p.Name]++
		w.all[ctx] = true
		all := 0
		for ctx := range w.all {
			if ctx.Err() == nil { // else nobody waits for it any more
				all++
			}
		}
		w.sent[p.Name] = append(w.sent[p.Name], amount{now, r.inputTokens()})
		if probe {
			w.probes[p.Name]++
		}
		most := p.Limits.Concurrency
		if most == 0 {
			most = windowDefault
		}
		switch {
		case w.under[p.Name] > most:
			w.wrong("%d calls of %s at a time, of %d", w.under[p.Name], p.Name, most)
		case w.probes[p.Name] > 1:
			w.wrong("%d calls of %s probe it at a time", w.probes[p.Name], p.Name)
		case probe && now.Before(trouble.until):
			w.wrong("%s is called %s before its pause ends", p.Name, trouble.until.Sub(now))
		case size < 1 || size > most:
			w.wrong("the window of %s is %d, of %d", p.Name, size, most)
		case all > w.places.most:
			w.wrong("%d calls at a time, where there is room for %d", all, w.places.most)
		}
		w.mu.Unlock()
		select {
		case <-time.After(c.takes):
		case <-ctx.Done():
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.under[p.Name]--
		delete(w.all, ctx)
		if probe {
			w.probes[p.Name]--
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case c.lost:
			return nil, errors.New("lost")
		case c.kind != 0:
			return &proto.CompletionReply{Error: &proto.ProviderError{Kind: c.kind, Message: "told", RetryAfterMillis: c.hint.Milliseconds()}}, nil
		}
		return &proto.CompletionReply{Text: "done", FinishReason: "stop", Usage: &proto.Usage{Input: 10, Output: 10}}, nil
	}
}

// minutes looks at every minute that begins with a call.
func (w *watched) minutes() {
	for _, p := range w.providers {
		sent := w.sent[p.Name]
		for i := range sent {
			requests, tokens := 0, 0
			for _, s := range sent[i:] {
				if s.at.Sub(sent[i].at) >= time.Minute {
					break
				}
				requests++
				tokens += s.n
			}
			l := p.Limits
			if l.RequestsPerMinute > 0 && requests > l.RequestsPerMinute {
				w.wrong("%d requests of %s in a minute, of %d", requests, p.Name, l.RequestsPerMinute)
			}
			if l.TokensPerMinute > 0 && tokens > l.TokensPerMinute && requests > 1 {
				w.wrong("%d tokens of %s in a minute, of %d", tokens, p.Name, l.TokensPerMinute)
			}
		}
	}
}

// Whatever comes of calls, whoever gives up and when: everybody is answered, no limit is
// passed, and nothing is left behind.
func TestSchedules(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := drawSchedule(r)
		jitter := rapid.IntRange(0, 100).Draw(r, "jitter")
		var wrong []string
		synctest.Test(t, func(t *testing.T) {
			w := &watched{schedule: s, places: &places{most: s.places}, under: map[string]int{}, probes: map[string]int{}, sent: map[string][]amount{}, all: map[context.Context]bool{}}
			w.wrong = func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
			service, err := New(Options{Queued: w.places.queued, Room: w.places})
			if err != nil {
				t.Fatal(err)
			}
			w.Service = service
			w.jitter = func(below time.Duration) time.Duration { return below * time.Duration(jitter) / 100 }
			began := time.Now()
			var all sync.WaitGroup
			for _, a := range s.asks {
				all.Go(func() {
					time.Sleep(a.at)
					w.places.enter()
					defer w.places.Give()
					ctx := t.Context()
					if a.givesUp > 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, a.givesUp)
						defer cancel()
					}
					p := s.providers[a.provider]
					if reply := w.Complete(ctx, p, w.call(p), userSays(a.text)); reply.GetError() == nil && reply.GetText() != "done" {
						w.wrong("an answer says %q", reply.GetText())
					}
				})
			}
			if s.ends > 0 {
				all.Go(func() { time.Sleep(s.ends); w.EndWaits("the run ended") })
			}
			all.Wait()
			synctest.Wait()
			if s.ends > 0 && time.Since(began) > max(s.ends, 90*time.Second)+12*time.Second+time.Duration(len(s.asks))*12*time.Second {
				w.wrong("it went on until %s", time.Since(began))
			}
			w.minutes()
			for _, l := range w.Service.all() {
				if len(l.queue) != 0 || l.stop != nil || l.inFlight != 0 || l.probe != 0 || l.waits.on != "" {
					w.wrong("%s: %d wait, %d are under way, a timer: %v, a probe: %v, waits on %q", l.name, len(l.queue), l.inFlight, l.stop != nil, l.probe, l.waits.on)
				}
				if c := l.counts(); c.Calls != len(w.sent[l.name]) {
					w.wrong("%d calls are counted of %d", c.Calls, len(w.sent[l.name]))
				}
			}
			if len(w.flights) != 0 || w.places.taken != 0 || len(w.places.wanted) != 0 || w.budget.held != (cost{}) {
				w.wrong("%d flights, %d places and %+v of the budget are left, %d want a place", len(w.flights), w.places.taken, w.budget.held, len(w.places.wanted))
			}
		})
		if len(wrong) > 0 {
			r.Fatalf("%s", strings.Join(slices.Compact(wrong), "\n"))
		}
	})
}

// places are those of a run: a visit has one while its request does not wait.
type places struct {
	mu          sync.Mutex
	most, taken int
	wanted      []func()
	beginning   []chan struct{}
}

// enter waits for the place that a visit begins with.
func (p *places) enter() {
	p.mu.Lock()
	if p.taken < p.most && len(p.wanted) == 0 {
		p.taken++
		p.mu.Unlock()
		return
	}
	ready := make(chan struct{})
	p.beginning = append(p.beginning, ready)
	p.mu.Unlock()
	<-ready
}

func (p *places) queued(context.Context) (running func()) {
	p.Give()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken++
	}
}

func (p *places) Take(free func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.most {
		p.wanted = append(p.wanted, free)
		return false
	}
	p.taken++
	return true
}

func (p *places) Give() {
	p.mu.Lock()
	p.taken--
	p.mu.Unlock()
	for {
		p.mu.Lock()
		var free func()
		switch {
		case p.taken >= p.most:
		case len(p.wanted) > 0:
			free, p.wanted = p.wanted[0], p.wanted[1:]
		case len(p.beginning) > 0:
			p.taken++
			ready := p.beginning[0]
			p.beginning = p.beginning[1:]
			free = func() { close(ready) }
		}
		p.mu.Unlock()
		if free == nil {
			return
		}
		free()
	}
}
