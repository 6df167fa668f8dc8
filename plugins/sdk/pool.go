package sdk

import (
	"runtime"
	"sync"
	"time"

	"github.com/penstock-run/penstock/plugins/proto"
)

// pool runs visits. It starts as few goroutines as there are processors, since
// a goroutine for each short visit costs more in wake-ups than the visit does.
// A worker that waits for a completion says so and another takes its place;
// one that blocks without a word is found by the patrol, which gives every
// visit that has waited for a tick a goroutine of its own.
type pool struct {
	run func(*Visit)

	mu      sync.Mutex
	queue   []*Visit
	head    int // of queue
	busy    int // workers that are not known to wait
	workers int // all of them, at most proto.Window
	width   int
	pushed  uint64
	popped  uint64
	patrols bool
}

const patrolTick = time.Millisecond

func newPool(run func(*Visit)) *pool {
	return &pool{run: run, width: runtime.GOMAXPROCS(0)}
}

func (p *pool) push(visits []*Visit) {
	p.mu.Lock()
	p.queue = append(p.queue, visits...)
	p.pushed += uint64(len(visits))
	start := p.start(min(len(p.queue)-p.head, p.width-p.busy))
	if !p.patrols && len(p.queue)-p.head > start {
		p.patrols = true
		go p.patrol()
	}
	p.mu.Unlock()
}

// start starts up to n workers and tells how many it did. The lock is held.
func (p *pool) start(n int) int {
	n = max(0, min(n, proto.Window-p.workers))
	p.busy += n
	p.workers += n
	for range n {
		go p.work()
	}
	return n
}

// work takes visits until there is none, or until too many workers are awake.
func (p *pool) work() {
	for first := true; ; first = false {
		p.mu.Lock()
		if p.head == len(p.queue) || (!first && p.busy > p.width) {
			p.busy--
			p.workers--
			p.mu.Unlock()
			return
		}
		v := p.queue[p.head]
		p.queue[p.head] = nil
		p.head++
		p.popped++
		if p.head == len(p.queue) {
			p.queue, p.head = p.queue[:0], 0
		}
		p.mu.Unlock()
		p.run(v)
	}
}

// wait says that this worker will not use its processor for a while.
func (p *pool) wait() {
	p.mu.Lock()
	p.busy--
	if p.head < len(p.queue) && p.busy < p.width {
		p.start(1)
	}
	p.mu.Unlock()
}

func (p *pool) resume() {
	p.mu.Lock()
	p.busy++
	p.mu.Unlock()
}

func (p *pool) patrol() {
	ticker := time.NewTicker(patrolTick)
	defer ticker.Stop()
	p.mu.Lock()
	mark := p.pushed
	p.mu.Unlock()
	for range ticker.C {
		p.mu.Lock()
		if p.head == len(p.queue) {
			p.patrols = false
			p.mu.Unlock()
			return
		}
		p.start(int(int64(mark) - int64(p.popped)))
		mark = p.pushed
		p.mu.Unlock()
	}
}
