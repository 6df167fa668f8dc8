package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	gproto "google.golang.org/protobuf/proto"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// batchBytes is where a message of many tasks stops growing; a task that is
// larger alone goes alone. gRPC takes the buffer of a message over 32 KiB from a
// pool of megabytes, and clears all of it each time.
const batchBytes = 30 << 10

type workStream = grpc.BidiStreamingClient[proto.HostMessage, proto.PluginMessage]

// openStream opens the Work stream and starts its reader. It is opened for the
// first message: a plugin that is only asked what it is may serve providers.
func (p *process) openStream() (workStream, error) {
	stream, err := proto.NewStageClient(p.conn).Work(p.ctx)
	if err != nil {
		return nil, err
	}
	p.finished.Add(1)
	go func() {
		err := p.receive(stream)
		p.finished.Done()
		if !p.wanted() {
			p.end(err)
		}
	}()
	return stream, nil
}

// send sends what waits, up to a batch a message, and never waits to fill one.
// It lets goroutines that can run now run first: that costs no time, and what
// they submit goes along.
func (p *process) send() {
	defer p.finished.Done()
	var stream workStream
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-p.wake:
		}
		runtime.Gosched()
		for m := p.take(); m != nil; m = p.take() {
			if stream == nil {
				var err error
				if stream, err = p.openStream(); err != nil {
					go p.end(p.streamEnd(err))
					return
				}
			}
			if err := stream.Send(m); err != nil {
				return // the receiver learns the cause
			}
		}
	}
}

// take makes the next message of what waits, nil where nothing does or the
// window is full.
func (p *process) take() *proto.HostMessage {
	var failed []*visit
	var failure *dag.Error
	s := p.slot
	s.mu.Lock()
	m := &proto.HostMessage{Completed: p.completed, Cancel: p.cancels}
	p.completed, p.cancels = nil, nil
	room := min(proto.Window-len(p.inFlight), proto.MaxBatch, s.queue.len())
	if p.retired || p.alone != nil {
		room = 0
	}
	if room > 0 {
		failed, failure = p.takeTasksLocked(m, room)
	}
	s.mu.Unlock()
	if len(failed) > 0 {
		p.ring() // there may be more
		s.fail(failed, failure)
	}
	if len(m.Tasks) == 0 && len(m.Completed) == 0 && len(m.Cancel) == 0 {
		return nil
	}
	return m
}

// takeTasksLocked moves visits from the queue to the message. Those whose stage
// is not configured yet are parked with it.
func (p *process) takeTasksLocked(m *proto.HostMessage, room int) (failed []*visit, failure *dag.Error) {
	queue := &p.slot.queue
	tasks := make([]proto.Task, room) // one allocation for the batch
	m.Tasks = make([]*proto.Task, 0, room)
	now := time.Now()
	for bytes := 0; len(m.Tasks) < room && queue.len() > 0; {
		v := queue.peek()
		handle := p.stageLocked(v.task.Stage)
		switch {
		case handle.err != nil:
			failed, failure = append(failed, queue.pop()), handle.err
			return failed, failure // one error at a time; the sender comes again
		case handle.id == 0:
			handle.parked = append(handle.parked, queue.pop())
			continue
		}
		if bytes += len(v.task.Input); bytes > batchBytes && len(m.Tasks) > 0 {
			break
		}
		if v.task.Alone {
			if len(p.inFlight) > 0 {
				break // those that run end first, and none is sent after them
			}
			p.alone, room = v, 1
		}
		queue.pop()
		if p.inFlight[v.task.Visit] != nil {
			return []*visit{v}, &dag.Error{Op: "visit stage", Subject: v.task.Stage.Name, Kind: dag.KindBug,
				Err: fmt.Errorf("two tasks bear the number %d", v.task.Visit)}
		}
		v.sent = now
		p.inFlight[v.task.Visit] = v
		p.deadlines.start(v, now)
		t := &tasks[len(m.Tasks)]
		t.Visit, t.Handle, t.Key = v.task.Visit, handle.id, v.task.Key
		t.Pass, t.Sample, t.Input = uint32(v.task.Pass), uint32(v.task.Sample), v.task.Input
		if v.list != nil {
			t.DeadlineUnixNano = v.deadline.UnixNano()
		}
		m.Tasks = append(m.Tasks, t)
	}
	return nil, nil
}

// receive reads the stream to its end and tells why it ended.
func (p *process) receive(stream workStream) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return p.streamEnd(err)
		}
		for _, l := range m.Logs { // first: a result ends its visit
			p.said(l)
		}
		if len(m.Results) > 0 {
			if err := p.results(m.Results); err != nil {
				return err
			}
		}
		for _, c := range m.Complete {
			p.complete(c)
		}
		for _, g := range m.Progress {
			p.slot.log("debug", fmt.Sprintf("%s%.0f%% %s", p.about(g.Visit), 100*g.Fraction, g.Text))
		}
	}
}

func (p *process) streamEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it ended its stream")
	}
	st := status.Convert(err)
	switch st.Code() {
	case codes.Unimplemented:
		return errors.New("it serves no stages")
	case codes.ResourceExhausted:
		return fmt.Errorf("a message is too large for one side (both have to take %d bytes; many libraries take 4 MiB unless they are told): %s",
			proto.MaxMessage, st.Message())
	}
	return fmt.Errorf("its stream ended: %s", st.Message())
}

// said passes on a line of the SDK's log.
func (p *process) said(l *proto.Log) {
	p.slot.log(level(l.Level), p.about(l.Visit)+l.Message)
	p.slot.mu.Lock()
	v := p.inFlight[l.Visit]
	p.slot.mu.Unlock()
	said := Said{Plugin: p.slot.plugin.Name, Level: level(l.Level), Message: printable(strings.ToValidUTF8(l.Message, "\uFFFD"))}
	if v != nil {
		said.Task = &v.task
	}
	p.host.opts.Said(said)
}

// about names the item of a visit, for a log line.
func (p *process) about(id uint64) string {
	if id == 0 {
		return ""
	}
	p.slot.mu.Lock()
	defer p.slot.mu.Unlock()
	if v := p.inFlight[id]; v != nil {
		return v.task.Stage.Name + " " + v.task.Key + ": "
	}
	return ""
}

// results ends visits. A result that breaks the protocol ends its visit with
// that error and no other.
func (p *process) results(batch []*proto.Result) error {
	s := p.slot
	now := time.Now()
	results := make([]Result, 0, len(batch))
	unknown := 0
	s.mu.Lock()
	for _, r := range batch {
		v := p.inFlight[r.Visit]
		if v == nil {
			if _, known := p.deaf[r.Visit]; known {
				delete(p.deaf, r.Visit)
			} else {
				unknown++
			}
			continue
		}
		p.releaseLocked(v)
		results = append(results, p.result(v, r, now))
	}
	more := s.queue.len() > 0 // the window was full, or a visit ran alone
	s.mu.Unlock()
	if more {
		p.ring()
	}
	if unknown > 0 {
		s.log("warn", fmt.Sprintf("%d results for visits that are not running were ignored", unknown))
	}
	s.deliver(results)
	return nil
}

// cancelLocked takes a visit away from the plugin.
func (p *process) cancelLocked(id uint64) *visit {
	if v := p.inFlight[id]; v != nil {
		p.withdrawLocked(v)
		return v
	}
	for _, h := range p.stages {
		for i, v := range h.parked {
			if v.task.Visit == id {
				h.parked = append(h.parked[:i], h.parked[i+1:]...)
				return v
			}
		}
	}
	return nil
}

// releaseLocked takes a visit off the window.
func (p *process) releaseLocked(v *visit) {
	delete(p.inFlight, v.task.Visit)
	p.deadlines.stop(v)
	if p.alone == v {
		p.alone = nil
	}
}

// withdrawLocked ends a visit before the plugin has: the plugin is told.
func (p *process) withdrawLocked(v *visit) {
	p.releaseLocked(v)
	p.cancels = append(p.cancels, v.task.Visit)
	p.deaf[v.task.Visit] = struct{}{}
}

// expire ends the visits whose deadline has passed. A plugin that leaves a
// window's worth of them unanswered hangs, and is ended.
func (p *process) expire() {
	s := p.slot
	s.mu.Lock()
	late := p.deadlines.expired(time.Now())
	for _, v := range late {
		p.withdrawLocked(v)
		if v.cancel != nil {
			v.cancel(context.DeadlineExceeded) // a provider that was asked for it was too slow
		}
	}
	hangs := len(p.deaf) >= proto.Window && len(late) > 0
	s.mu.Unlock()
	if len(late) == 0 {
		return
	}
	p.ring()
	for _, v := range late {
		s.fail([]*visit{v}, &dag.Error{Op: "visit stage", Subject: v.task.Stage.Name, Kind: dag.KindInfrastructure, Code: dag.ETimeout,
			Err: fmt.Errorf("plugin %s did not answer within %s", s.plugin.Name, v.task.Timeout)})
	}
	if hangs {
		go p.end(fmt.Errorf("%w: %d visits are without an answer", errHangs, proto.Window))
	}
}

// abandonLocked empties a dead process: what it was working on, and what it had
// not been sent.
func (p *process) abandonLocked() (inFlight, unsent []*visit) {
	p.retired = true
	for _, v := range p.inFlight {
		p.deadlines.stop(v)
		inFlight = append(inFlight, v)
	}
	clear(p.inFlight)
	for _, h := range p.stages {
		unsent = append(unsent, h.parked...)
		h.parked = nil
	}
	p.deadlines.close()
	return inFlight, unsent
}

func (p *process) dropLocked() []*visit {
	inFlight, unsent := p.abandonLocked()
	return append(inFlight, unsent...)
}

// complete lends a visit its provider.
func (p *process) complete(c *proto.Complete) {
	s := p.slot
	s.mu.Lock()
	v := p.inFlight[c.Visit]
	if v == nil {
		s.mu.Unlock()
		return // it has ended; so has the question
	}
	if v.ctx == nil {
		v.ctx, v.cancel = context.WithCancelCause(context.WithValue(p.ctx, visitKey{}, timed{p, v}))
	}
	ctx, stage := v.ctx, v.task.Stage
	s.mu.Unlock()
	go func() {
		reply := p.lend(ctx, stage, c.Request)
		s.mu.Lock()
		if p.inFlight[c.Visit] == v {
			v.account(reply)
			p.completed = append(p.completed, &proto.Completed{Visit: c.Visit, Call: c.Call, Reply: reply})
		}
		s.mu.Unlock()
		p.ring()
	}()
}

func (p *process) lend(ctx context.Context, stage *dag.Stage, request *proto.CompletionRequest) *proto.CompletionReply {
	if p.host.opts.Complete == nil || request == nil {
		return refusal(proto.ProviderError_INVALID_REQUEST, "this host lends no completions")
	}
	reply := p.host.opts.Complete(ctx, stage, request)
	if reply == nil {
		return refusal(proto.ProviderError_UNAVAILABLE, "the host has no answer")
	}
	wire, err := gproto.Marshal(reply) // refused here, it costs this call and not the stream
	if err != nil {
		return refusal(proto.ProviderError_INVALID_REQUEST, "the completion cannot be sent: "+err.Error())
	}
	if len(wire) > maxDocument {
		return refusal(proto.ProviderError_INVALID_REQUEST,
			fmt.Sprintf("the completion has %d bytes, a plugin takes %d at most", len(wire), maxDocument))
	}
	return reply
}

func refusal(kind proto.ProviderError_Kind, message string) *proto.CompletionReply {
	return &proto.CompletionReply{Error: &proto.ProviderError{Kind: kind, Message: message}}
}

// account keeps the facts of a completion for the trail.
func (v *visit) account(reply *proto.CompletionReply) {
	v.facts.Unpaid = (v.facts.Unpaid || v.facts.Calls == 0) && reply.Origin == "cache"
	v.facts.Calls++
	v.facts.Recorded = v.facts.Recorded || reply.Origin == "cassette"
	if reply.Model != "" {
		v.facts.Model = reply.Model
	}
	if u := reply.Usage; u != nil {
		v.facts.Input += int(u.Input)
		v.facts.Cached += int(u.CachedInput)
		v.facts.OutTokens += int(u.Output)
	}
}
