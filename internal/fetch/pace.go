package fetch

import (
	"context"
	"sync"
	"time"
)

// interval is the time between two requests to one host: two a second.
const interval = 500 * time.Millisecond

// pace gives out turns, one host's after one another. A turn is a time, so that
// who waits holds nothing, and one who gives up leaves a gap and no harm.
type pace struct {
	mu   sync.Mutex
	next map[string]time.Time // of each host that was asked lately: the first free turn
}

// turn takes the host's next turn and says how long it is until then.
func (p *pace) turn(host string, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.next) >= 1024 {
		for h, at := range p.next {
			if !at.After(now) {
				delete(p.next, h)
			}
		}
	}
	if p.next == nil {
		p.next = map[string]time.Time{}
	}
	at := now
	if next, ok := p.next[host]; ok && next.After(now) {
		at = next
	}
	p.next[host] = at.Add(interval)
	return at.Sub(now)
}

// sleep waits by the real clock.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
