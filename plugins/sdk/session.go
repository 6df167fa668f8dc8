package sdk

import (
	"context"
	"runtime"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	gproto "google.golang.org/protobuf/proto"

	"github.com/penstock-run/penstock/plugins/proto"
)

// batchBytes is where a message of many results stops growing; a result that is
// larger alone goes alone. gRPC takes the buffer of a message over 32 KiB from a
// pool of megabytes, and clears all of it each time.
const batchBytes = 30 << 10

// overhead is what a message needs besides the document in it.
const overhead = 64 << 10

// configured is one stage of a pipeline with its function.
type configured struct {
	run    Func
	schema []byte
}

// session is one Work stream.
type session struct {
	stream grpc.BidiStreamingServer[proto.HostMessage, proto.PluginMessage]
	stage  func(handle uint32) *configured
	pool   *pool
	wake   chan struct{} // of the sender; holds one

	mu     sync.Mutex
	visits map[uint64]*Visit // running or queued
	calls  uint64            // the latest call's id
	out    outbox
}

// outbox is what waits to be sent.
type outbox struct {
	results  []*proto.Result
	complete []*proto.Complete
	logs     []*proto.Log
	progress []*proto.Progress
}

func (o *outbox) empty() bool {
	return len(o.results)+len(o.complete)+len(o.logs)+len(o.progress) == 0
}

func newSession(stream grpc.BidiStreamingServer[proto.HostMessage, proto.PluginMessage], stage func(uint32) *configured) *session {
	s := &session{stream: stream, stage: stage, wake: make(chan struct{}, 1), visits: make(map[uint64]*Visit)}
	s.pool = newPool(s.run)
	return s
}

// serve runs the stream until the host closes it. What then still runs is
// cancelled: nobody waits for it.
func (s *session) serve() error {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		s.send(stop)
	}()
	err := s.receive()
	s.mu.Lock()
	for _, v := range s.visits {
		v.ctx.cancel()
	}
	s.mu.Unlock()
	close(stop)
	<-stopped
	return err
}

func (s *session) receive() error {
	for {
		m, err := s.stream.Recv()
		if err != nil {
			return nil // the host is done, or gone
		}
		if len(m.Tasks) > 0 {
			s.accept(m.Tasks)
		}
		if len(m.Completed) > 0 || len(m.Cancel) > 0 {
			s.answer(m)
		}
	}
}

// accept makes tasks visits and hands them to the pool.
func (s *session) accept(tasks []*proto.Task) {
	visits := make([]*Visit, 0, len(tasks))
	s.mu.Lock()
	for _, t := range tasks {
		v := &Visit{
			Key: t.Key, Pass: int(t.Pass), Sample: int(t.Sample), Input: t.Input,
			id: t.Visit, handle: t.Handle, session: s,
		}
		if t.DeadlineUnixNano != 0 {
			v.ctx.deadline = time.Unix(0, t.DeadlineUnixNano)
		}
		s.visits[v.id] = v
		visits = append(visits, v)
	}
	s.mu.Unlock()
	s.pool.push(visits)
}

// answer hands over completions and cancels visits.
func (s *session) answer(m *proto.HostMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range m.Completed {
		if v := s.visits[c.Visit]; v != nil {
			if waiting := v.calls[c.Call]; waiting != nil {
				delete(v.calls, c.Call)
				waiting <- c // holds one
			}
		}
	}
	for _, id := range m.Cancel {
		if v := s.visits[id]; v != nil {
			v.ctx.cancel()
		}
	}
}

// run is one visit, on a worker of the pool.
func (s *session) run(v *Visit) {
	r := &v.result
	r.Visit = v.id
	if failure := s.call(v, r); failure != nil {
		r.Outcome, r.Output, r.Findings = "", nil, nil
		r.Failure = failure.proto()
	}
	v.ctx.cancel() // whatever the function has left running
	s.mu.Lock()
	delete(s.visits, v.id)
	s.out.results = append(s.out.results, r)
	s.mu.Unlock()
	s.ring()
}

func (s *session) call(v *Visit, r *proto.Result) *Failure {
	c := s.stage(v.handle)
	if c == nil {
		return Infra("E_PLUGIN", "the host sent a task for handle %d, which was never configured", v.handle)
	}
	v.Schema = c.schema
	if v.ctx.Err() != nil { // cancelled while it was queued
		return failureOf(v.ctx.Err())
	}
	result, err := c.run(&v.ctx, v)
	for _, note := range result.Notes {
		r.Notes = append(r.Notes, clean(note))
	}
	if err != nil {
		return failureOf(err)
	}
	if !utf8.ValidString(result.Outcome) {
		return Fail("E_OUTCOME", "the outcome %q is not UTF-8", result.Outcome)
	}
	output, err := encode(result.Output)
	if err != nil {
		return Fail("E_OUTPUT", "the output of %s cannot be written as JSON: %v", v.Key, err)
	}
	if len(output) > proto.MaxMessage-overhead {
		return Fail("E_DOCUMENT_SIZE", "the output of %s has %d bytes, a message takes %d at most",
			v.Key, len(output), proto.MaxMessage-overhead)
	}
	r.Outcome, r.Output = result.Outcome, output
	for _, f := range result.Findings {
		r.Findings = append(r.Findings, &proto.Finding{
			Word: clean(f.Word), Triage: clean(f.Triage), Figure: f.Figure, Evidence: clean(f.Evidence),
		})
	}
	return nil
}

// complete asks the host and waits, while another visit uses the processor.
func (s *session) complete(ctx context.Context, v *Visit, request *CompletionRequest) (*proto.Completed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wire, err := gproto.Marshal(request) // refused here, it costs this visit and not the stream
	if err != nil {
		return nil, InvalidRequest("a completion request of %s: %v", v.Key, err)
	}
	if len(wire) > proto.MaxMessage-overhead {
		return nil, InvalidRequest("a completion request of %s has %d bytes, a message takes %d at most",
			v.Key, len(wire), proto.MaxMessage-overhead)
	}
	answer := make(chan *proto.Completed, 1)
	s.mu.Lock()
	s.calls++
	call := s.calls
	if v.calls == nil {
		v.calls = make(map[uint64]chan *proto.Completed)
	}
	v.calls[call] = answer
	s.out.complete = append(s.out.complete, &proto.Complete{Visit: v.id, Call: call, Request: request})
	s.mu.Unlock()
	s.ring()

	s.pool.wait()
	defer s.pool.resume()
	select {
	case c := <-answer:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-v.ctx.Done(): // the author may have passed a context of his own
		return nil, v.ctx.Err()
	}
}

func (s *session) log(l *proto.Log) {
	s.mu.Lock()
	s.out.logs = append(s.out.logs, l)
	s.mu.Unlock()
	s.ring()
}

func (s *session) progress(p *proto.Progress) {
	s.mu.Lock()
	s.out.progress = append(s.out.progress, p)
	s.mu.Unlock()
	s.ring()
}

// ring wakes the sender; a bell that has rung already need not ring twice.
func (s *session) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// send sends what waits, up to a batch a message. It never waits to fill one,
// but lets the workers that can run now run first: that costs no time and makes
// one message of what would be many.
func (s *session) send(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-s.wake:
		}
		runtime.Gosched()
		for {
			m := s.take()
			if m == nil {
				break
			}
			if err := s.stream.Send(m); err != nil {
				if status.Code(err) == codes.Internal {
					panic("sdk: every message can be written: " + err.Error())
				}
				return // the receiver hears of it too
			}
		}
	}
}

// take is the next message, nil where nothing waits.
func (s *session) take() *proto.PluginMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.empty() {
		return nil
	}
	m := &proto.PluginMessage{}
	bytes := 0
	// What a visit says goes before its result, behind which the host knows it no more.
	m.Logs, s.out.logs = split(s.out.logs, &bytes, func(l *proto.Log) int { return len(l.Message) })
	if len(s.out.logs) == 0 {
		m.Results, s.out.results = split(s.out.results, &bytes, func(r *proto.Result) int { return len(r.Output) })
	}
	m.Complete, s.out.complete = split(s.out.complete, &bytes, func(c *proto.Complete) int { return gproto.Size(c.Request) })
	m.Progress, s.out.progress = split(s.out.progress, &bytes, func(p *proto.Progress) int { return len(p.Text) })
	return m
}

// split cuts off what fits into one message, at least one where nothing is in it yet.
func split[T any](waiting []T, bytes *int, size func(T) int) (now, later []T) {
	n := 0
	for n < len(waiting) && n < proto.MaxBatch {
		more := size(waiting[n])
		if *bytes > 0 && *bytes+more > batchBytes {
			break
		}
		*bytes += more
		n++
	}
	if n == len(waiting) {
		return waiting, nil
	}
	return waiting[:n:n], waiting[n:]
}
