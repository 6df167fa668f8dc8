package completion

import (
	"slices"
	"strings"
	"time"
)

// ProviderCounts tell what a run asked of a provider, and where the time of those
// went that waited for it.
type ProviderCounts struct {
	Provider   string
	Calls      int // requests that were sent, those in vain among them
	Refused    int // of Calls: the provider had no room for them
	Unanswered int // of Calls: they timed out, or their connection broke
	Troubles   int // times in which it answered nothing, and was left alone between its calls

	// The time in which somebody waited, by what for. Of these no two are counted for
	// one moment.
	Paused time.Duration // it refused, or did not answer
	Paced  time.Duration // its block's limits a minute
	Full   time.Duration // as many calls as may be were under way

	Waited time.Duration // of all requests together: of two that wait for a second, two seconds
}

// Wait is a provider that requests wait for now.
type Wait struct {
	Provider string
	Requests int       // that wait
	Why      WaitsOn   // never empty
	Since    time.Time // when the first of them began to
	Until    time.Time // when the next call goes; zero: when another has ended
	Said     string    // by the provider, where that is why
}

// WaitsOn is what a provider's next request waits for.
type WaitsOn string

// What requests wait for. Their words are shown to people, and stand in JSON.
const (
	WaitsOnTrouble WaitsOn = "refused"    // the provider refuses calls
	WaitsOnSilence WaitsOn = "unanswered" // it does not answer
	WaitsOnPace    WaitsOn = "pace"       // the limits a minute
	WaitsOnOthers  WaitsOn = "full"       // the calls that are under way
)

// waits is the book on a limiter's queue: on what its front has waited since when.
type waits struct {
	counts ProviderCounts
	on     WaitsOn // empty: nobody waits
	since  time.Time
}

// until books the time that has passed since it was last told.
func (w *waits) until(now time.Time) {
	passed := now.Sub(w.since)
	w.since = now
	switch w.on {
	case WaitsOnTrouble, WaitsOnSilence:
		w.counts.Paused += passed
	case WaitsOnPace:
		w.counts.Paced += passed
	case WaitsOnOthers:
		w.counts.Full += passed
	}
}

// waitsOn tells what the front of the queue waits for; empty: there is none.
func (l *limiter) waitsOn(now time.Time) WaitsOn {
	switch {
	case len(l.queue) == 0:
		return ""
	case l.trouble.level > 0 && (l.probe != 0 || l.trouble.until.After(now)):
		if capacity(l.trouble.kind) {
			return WaitsOnTrouble
		}
		return WaitsOnSilence
	case l.trouble.until.After(now):
		return WaitsOnSilence // a hint of a call that failed
	case l.queue[0].at.After(now):
		return WaitsOnPace
	}
	return WaitsOnOthers
}

// waiting tells who waits now; false: nobody.
func (l *limiter) waiting() (Wait, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	on := l.waitsOn(l.clock.now())
	if on == "" {
		return Wait{}, false
	}
	w := Wait{Provider: l.name, Requests: len(l.queue), Why: on, Since: l.queue[0].asked}
	for _, t := range l.queue {
		if t.asked.Before(w.Since) {
			w.Since = t.asked
		}
	}
	switch on {
	case WaitsOnTrouble, WaitsOnSilence:
		w.Said = l.trouble.said
		if l.trouble.level > 0 && l.trouble.since.Before(w.Since) {
			w.Since = l.trouble.since
		}
		if l.probe == 0 {
			w.Until = l.trouble.until
		}
	case WaitsOnPace:
		w.Until = l.queue[0].at
	}
	return w, true
}

func (l *limiter) counts() ProviderCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits.until(l.clock.now())
	c := l.waits.counts
	c.Provider = l.name
	return c
}

// all gives the limiters there are, by the name of their provider.
func (s *Service) all() []*limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*limiter, 0, len(s.limiters))
	for _, l := range s.limiters {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *limiter) int { return strings.Compare(a.name, b.name) })
	return all
}

// ByProvider tells what was asked of each provider so far, and waited for, by name.
func (s *Service) ByProvider() []ProviderCounts {
	var all []ProviderCounts
	for _, l := range s.all() {
		all = append(all, l.counts())
	}
	return all
}

// Waiting tells which providers requests wait for at this moment, by name.
func (s *Service) Waiting() []Wait {
	var all []Wait
	for _, l := range s.all() {
		if w, ok := l.waiting(); ok {
			all = append(all, w)
		}
	}
	return all
}
