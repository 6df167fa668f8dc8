package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// slot is the place of one process: it outlives the process, and holds what the
// next one has to do.
type slot struct {
	host     *Host
	plugin   *dag.Plugin
	provider bool
	load     atomic.Int64   // tasks without a result
	ends     sync.WaitGroup // processes whose end is not dealt with yet

	mu       sync.Mutex
	queue    fifo
	process  *process  // nil: none runs
	starting *starting // not nil while one is being started
	closed   bool
}

// starting is a start that several may wait for.
type starting struct {
	done    chan struct{}
	process *process
	err     *dag.Error
}

// visit is a task on its way.
type visit struct {
	task   Task
	sent   time.Time
	facts  dag.Facts
	given  []dag.Completion
	ctx    context.Context // of its completions; nil until there is one
	cancel context.CancelCauseFunc

	deadline   time.Time
	list       *deadlineList // nil: no deadline runs
	left       time.Duration // of its time, while that stands still
	pauses     int           // how many completions wait for capacity
	prev, next *visit
}

func newSlot(h *Host, p *dag.Plugin, provider bool) *slot {
	return &slot{host: h, plugin: p, provider: provider}
}

// log passes on what a plugin says, less what would move a terminal's cursor.
func (s *slot) log(level, message string) {
	s.host.opts.Log(s.plugin.Name, level, printable(s.host.secrets.redact(message)))
}

func (s *slot) submit(v *visit) {
	s.load.Add(1)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.load.Add(-1)
		s.host.deliverSoon(Result{Visit: v.task.Visit, Err: s.cancelled(v, errClosed)})
		return
	}
	s.queue.push(v)
	p := s.process
	if p == nil {
		s.startLocked()
	}
	s.mu.Unlock()
	if p != nil {
		p.ring()
	}
}

// startLocked starts a process unless one is being started.
func (s *slot) startLocked() *starting {
	if s.starting == nil {
		s.starting = &starting{done: make(chan struct{})}
		go s.start(s.starting)
	}
	return s.starting
}

func (s *slot) start(st *starting) {
	p, failure := s.host.launch(s)
	s.mu.Lock()
	s.starting = nil
	st.process, st.err = p, failure
	var waiting []*visit
	if failure != nil {
		waiting = s.queue.all()
	} else if !s.closed { // else close stops it
		s.process = p
		p.serve()
	}
	s.mu.Unlock()
	close(st.done)
	s.fail(waiting, failure)
}

// running is the slot's process, started where there is none.
func (s *slot) running(ctx context.Context) (*process, *dag.Error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, &dag.Error{Op: "start plugin", Subject: s.plugin.Name, Kind: dag.KindInterrupted, Err: errClosed}
	}
	if p := s.process; p != nil {
		s.mu.Unlock()
		return p, nil
	}
	st := s.startLocked()
	s.mu.Unlock()
	select {
	case <-st.done:
		return st.process, st.err
	case <-ctx.Done():
		return nil, &dag.Error{Op: "start plugin", Subject: s.plugin.Name, Kind: dag.KindInterrupted, Err: context.Cause(ctx)}
	}
}

// fail ends visits that belong to nobody any more with one error.
func (s *slot) fail(visits []*visit, err *dag.Error) { s.failed(visits, Result{Err: err}) }

// failed is fail with all that a result says.
func (s *slot) failed(visits []*visit, as Result) {
	if len(visits) == 0 {
		return
	}
	now := time.Now()
	results := make([]Result, len(visits))
	for i, v := range visits {
		results[i] = as
		results[i].Visit, results[i].Facts = v.task.Visit, v.end(now)
	}
	s.deliver(results)
}

func (s *slot) deliver(results []Result) {
	if len(results) == 0 {
		return
	}
	s.load.Add(int64(-len(results)))
	s.host.opts.Deliver(results)
}

// end closes what belongs to the visit and gives its facts.
func (v *visit) end(now time.Time) dag.Facts {
	if v.cancel != nil {
		v.cancel(nil)
	}
	if !v.sent.IsZero() {
		v.facts.StartedAt, v.facts.EndedAt = v.sent, now
	}
	return v.facts
}

func (s *slot) cancelled(v *visit, cause error) *dag.Error {
	return &dag.Error{Op: "visit stage", Subject: v.task.Stage.Name, Kind: dag.KindInterrupted, Err: cause}
}

// cancel ends one visit, wherever it is, and tells whether it was here.
func (s *slot) cancel(id uint64) bool {
	s.mu.Lock()
	v := s.queue.remove(id)
	p := s.process
	if v == nil && p != nil {
		v = p.cancelLocked(id)
	}
	s.mu.Unlock()
	if v == nil {
		return false
	}
	if p != nil {
		p.ring()
	}
	s.fail([]*visit{v}, s.cancelled(v, context.Canceled))
	return true
}

// close ends everything: what waits, what runs, the process.
func (s *slot) close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	waiting := s.queue.all()
	p, st := s.process, s.starting
	if p != nil {
		waiting = append(waiting, p.dropLocked()...)
		s.process = nil
	}
	s.mu.Unlock()
	for _, v := range waiting {
		s.fail([]*visit{v}, s.cancelled(v, errClosed))
	}
	if st != nil {
		<-st.done // soon: the host's context has ended
		p = st.process
	}
	if p != nil {
		p.stop(ctx)
	}
	s.ends.Wait() // of one that was dying already, too
}

// gone takes a dead process out: what was in flight is given to the caller, what
// was not sent yet waits for the next process.
func (s *slot) gone(p *process) []*visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	inFlight, unsent := p.abandonLocked()
	if s.process != p {
		return inFlight
	}
	s.process = nil
	for i := len(unsent) - 1; i >= 0; i-- {
		s.queue.unshift(unsent[i])
	}
	if s.queue.len() > 0 && !s.closed {
		s.startLocked()
	}
	return inFlight
}

// maxDocument leaves room in a message for what stands beside the document.
const maxDocument = proto.MaxMessage - 64<<10

// fifo is a queue of visits.
type fifo struct {
	list []*visit
	head int
}

func (q *fifo) len() int { return len(q.list) - q.head }

func (q *fifo) push(v *visit) { q.list = append(q.list, v) }

func (q *fifo) unshift(v *visit) {
	if q.head == 0 {
		q.list = append([]*visit{nil}, q.list...)
		q.head = 1
	}
	q.head--
	q.list[q.head] = v
}

func (q *fifo) peek() *visit { return q.list[q.head] }

func (q *fifo) pop() *visit {
	v := q.list[q.head]
	q.list[q.head] = nil
	if q.head++; q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
	} else if q.head >= 1024 && q.head*2 >= len(q.list) {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	return v
}

func (q *fifo) all() []*visit {
	all := append([]*visit(nil), q.list[q.head:]...)
	q.list, q.head = nil, 0
	return all
}

func (q *fifo) remove(id uint64) *visit {
	for i := q.head; i < len(q.list); i++ {
		if v := q.list[i]; v.task.Visit == id {
			q.list = append(q.list[:i], q.list[i+1:]...)
			return v
		}
	}
	return nil
}

// take removes the visits that match.
func (q *fifo) take(match func(*visit) bool) []*visit {
	var taken, left []*visit
	for _, v := range q.list[q.head:] {
		if match(v) {
			taken = append(taken, v)
		} else {
			left = append(left, v)
		}
	}
	q.list, q.head = left, 0
	return taken
}
