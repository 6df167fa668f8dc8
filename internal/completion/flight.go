package completion

import (
	"context"

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
	cancel  context.CancelFunc
}

// join makes a live call, or waits for one that is under way for an equal
// request. The call goes on while anybody waits: the one who began it may be
// cancelled without failing the others.
func (s *Service) join(ctx context.Context, key dag.Digest, call func(context.Context) (*proto.CompletionReply, dag.Completion)) *proto.CompletionReply {
	s.mu.Lock()
	f, under := s.flights[key]
	if !under {
		shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &flight{done: make(chan struct{}), cancel: cancel}
		s.flights[key] = f
		go func() {
			reply, kept := call(shared)
			s.mu.Lock()
			f.reply, f.kept = reply, kept
			s.leave(key, f)
			s.mu.Unlock()
			close(f.done)
			cancel()
		}()
	}
	f.waiting++
	s.mu.Unlock()

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
			f.cancel()
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
