package completion

import (
	"context"
	"sync"

	pb "google.golang.org/protobuf/proto"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// flight is a live call that several equal requests wait for.
type flight struct {
	done    chan struct{}
	reply   *proto.CompletionReply // once done is closed
	kept    dag.Completion         // likewise
	waiting int                    // under Service.mu
	cancel  context.CancelCauseFunc

	mu      sync.Mutex
	running bool // its request is at the provider, and does not wait to be sent
	of      map[*queued]struct{}
}

// queued is one of the requests of a flight. The time of its visit stands still
// while the flight waits.
type queued struct {
	queue   func() (running func())
	running func() // nil: its time runs
}

// run says that the request is sent, wait that it waits to be.
func (f *flight) run() { f.turn(true) }

func (f *flight) wait() { f.turn(false) }

func (f *flight) turn(running bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running == running {
		return
	}
	f.running = running
	for q := range f.of {
		f.tell(q)
	}
}

func (f *flight) tell(q *queued) {
	switch {
	case f.running && q.running != nil:
		q.running()
		q.running = nil
	case !f.running && q.running == nil:
		q.running = q.queue()
	}
}

// join adds a request; what it gives takes it out, and lets its time run.
func (f *flight) join(queue func() (running func())) (leave func()) {
	q := &queued{queue: queue}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of[q] = struct{}{}
	f.tell(q)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.of, q)
		if q.running != nil {
			q.running()
		}
	}
}

// join makes a live call, or waits for one that is under way for an equal
// request. The call goes on while anybody waits: the one who began it may be
// cancelled without failing the others.
func (s *Service) join(ctx context.Context, key dag.Digest, call func(context.Context, *flight) (*proto.CompletionReply, dag.Completion)) *proto.CompletionReply {
	s.mu.Lock()
	f, under := s.flights[key]
	if !under {
		shared, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		// It waits for nothing until the limits say so.
		f = &flight{done: make(chan struct{}), cancel: cancel, running: true, of: map[*queued]struct{}{}}
		s.flights[key] = f
		go func() {
			reply, kept := call(shared, f)
			s.mu.Lock()
			f.reply, f.kept = reply, kept
			s.leave(key, f)
			s.mu.Unlock()
			close(f.done)
			cancel(nil)
		}()
	}
	f.waiting++
	s.mu.Unlock()
	defer f.join(func() func() { return s.options.Queued(ctx) })()

	select {
	case <-f.done:
		reply := pb.Clone(f.reply).(*proto.CompletionReply)
		if under && reply.GetError() == nil {
			reply.Origin = OriginCache // paid for once, by the first
			s.count(func(c *Counters) { c.Cached++ })
		}
		s.given(ctx, f.kept, reply.GetOrigin())
		return reply
	case <-ctx.Done():
		s.mu.Lock()
		f.waiting--
		if f.waiting == 0 {
			s.leave(key, f) // or the next equal request would join a call that is being cancelled
			f.cancel(context.Cause(ctx))
		}
		s.mu.Unlock()
		return interrupted(ctx.Err())
	}
}

// leave takes a flight off the board, once. Service.mu is held.
func (s *Service) leave(key dag.Digest, f *flight) {
	if s.flights[key] == f {
		delete(s.flights, key)
	}
}
