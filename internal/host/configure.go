package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// ConfigError is a plugin's refusal of a configuration, with the places.
type ConfigError struct {
	Problems []dag.ConfigProblem
}

func (e *ConfigError) Error() string { return e.At(nil) }

// At is the error with the places of attributes in a pipeline's file; the whole
// block's has no name.
func (e *ConfigError) At(places map[string]dag.Pos) string {
	var lines []string
	for _, d := range e.Problems {
		if d.Warning {
			continue
		}
		line := strings.TrimSuffix(d.Summary, ".")
		if d.Detail != "" {
			line += ": " + strings.TrimSuffix(d.Detail, ".")
		}
		if len(d.Path) > 0 {
			line = "config." + strings.Join(d.Path, ".") + ": " + line
		}
		name := ""
		if len(d.Path) > 0 {
			name = d.Path[0]
		}
		at, ok := places[name]
		if !ok {
			at, ok = places[""]
		}
		if ok {
			line = at.String() + ": " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// stageHandle is a stage in one process. Guarded by slot.mu until done is closed.
type stageHandle struct {
	id     uint32 // 0: not yet
	err    *dag.Error
	parked []*visit
	done   chan struct{}
}

// stageLocked is the handle of a stage; the first to ask has it configured.
func (p *process) stageLocked(stage *dag.Stage) *stageHandle {
	h := p.stages[stage]
	if h == nil {
		h = &stageHandle{done: make(chan struct{})}
		p.stages[stage] = h
		go p.configure(stage, h)
	}
	return h
}

// handle waits until a stage is configured.
func (p *process) handle(ctx context.Context, stage *dag.Stage) (uint32, *dag.Error) {
	p.slot.mu.Lock()
	h := p.stageLocked(stage)
	p.slot.mu.Unlock()
	select {
	case <-h.done:
		return h.id, h.err
	case <-ctx.Done():
		return 0, &dag.Error{Op: "configure stage", Subject: stage.Name, Kind: dag.KindInterrupted, Err: context.Cause(ctx)}
	}
}

func (p *process) configure(stage *dag.Stage, h *stageHandle) {
	request := &proto.ConfigureRequest{
		Stage: stage.Name, Config: stage.Config.Bytes,
		Scratch: p.runner.scratch, RunId: p.host.opts.RunID, Directory: p.host.opts.Dir,
	}
	if stage.Schema != nil {
		request.OutputSchema = stage.Schema.Source().Bytes
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.host.opts.StartTimeout)
	defer cancel()
	var err error
	if !stage.Unkeyed.IsNull() {
		request.Config, err = dag.WholeConfig(stage.Config, stage.Unkeyed, nil)
	}
	var reply *proto.ConfigureReply
	if err == nil {
		reply, err = proto.NewStageClient(p.conn).Configure(ctx, request)
	}
	failure := p.configured("configure stage", stage.Name, reply, err)

	s := p.slot
	s.mu.Lock()
	if failure == nil {
		h.id = reply.Handle
	}
	h.err = failure
	for i := len(h.parked) - 1; i >= 0; i-- {
		s.queue.unshift(h.parked[i])
	}
	h.parked = nil
	close(h.done)
	if failure != nil && failure.Kind != dag.KindConfig {
		delete(p.stages, stage) // whoever comes next may have more luck
	}
	var unlucky []*visit
	if failure != nil {
		unlucky = s.queue.take(func(v *visit) bool { return v.task.Stage == stage })
	}
	s.mu.Unlock()
	s.fail(unlucky, failure)
	p.ring()
}

// configured reads the answer to a Configure of either kind.
func (p *process) configured(op, subject string, reply *proto.ConfigureReply, err error) *dag.Error {
	if err != nil {
		return p.callError(op, subject, err)
	}
	refusal := &ConfigError{}
	refused := false
	for _, d := range reply.Diagnostics {
		d.Summary, d.Detail = p.host.secrets.redact(d.Summary), p.host.secrets.redact(d.Detail)
		refused = refused || !d.Warning
		refusal.Problems = append(refusal.Problems, dag.ConfigProblem{Path: d.Path, Summary: d.Summary, Detail: d.Detail, Warning: d.Warning})
		if d.Warning {
			p.slot.log("warn", subject+": "+d.Summary+": "+d.Detail)
		}
	}
	switch {
	case refused:
		return &dag.Error{Op: op, Subject: subject, Kind: dag.KindConfig, Err: refusal}
	case reply.Handle == 0:
		return &dag.Error{Op: op, Subject: subject, Kind: dag.KindInfrastructure, Code: dag.EPlugin,
			Err: fmt.Errorf("plugin %s gave neither a handle nor a reason", p.slot.plugin.Name)}
	}
	return nil
}

// callError tells why a call failed: where the process has died, that is the cause.
func (p *process) callError(op, subject string, err error) *dag.Error {
	e := &dag.Error{Op: op, Subject: subject, Kind: dag.KindInfrastructure, Code: dag.EUnavailable}
	st := status.Convert(err)
	said := p.host.secrets.redact(st.Message())
	switch {
	case p.wanted():
		e.Kind, e.Code, e.Err = dag.KindInterrupted, "", errClosed
	case p.ctx.Err() != nil: // it has died, and that was said
		e.Err = context.Cause(p.ctx)
		var death *dag.Error
		if errors.As(e.Err, &death) {
			e.Err = death.Err
		}
	case st.Code() == codes.Canceled:
		e.Kind, e.Code, e.Err = dag.KindInterrupted, "", context.Canceled
	case st.Code() == codes.DeadlineExceeded:
		e.Code, e.Err = dag.ETimeout, fmt.Errorf("plugin %s did not answer in time", p.slot.plugin.Name)
	case st.Code() == codes.Unimplemented:
		e.Code, e.Err = dag.EPlugin, fmt.Errorf("plugin %s does not serve this: %s", p.slot.plugin.Name, said)
	case st.Code() == codes.Unavailable && !p.alive(processDeath):
		select { // so that the next call starts another process
		case <-p.gone:
		case <-p.stopping:
		}
		e.Err = p.deathError(nil, true).Err
	default:
		e.Err = fmt.Errorf("plugin %s: %s", p.slot.plugin.Name, said)
	}
	return e
}

// describe asks a running plugin what it is.
func (p *process) describe(ctx context.Context) (*dag.PluginInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, p.host.opts.StartTimeout)
	defer cancel()
	request := &proto.DescribeRequest{HostVersion: p.host.opts.Version}
	stage, err := proto.NewStageClient(p.conn).Describe(ctx, request)
	if err == nil {
		return stageInfo(stage), nil
	}
	if status.Code(err) == codes.Unimplemented {
		provider, err2 := proto.NewProviderClient(p.conn).Describe(ctx, request)
		if err2 == nil {
			return providerInfo(provider), nil
		}
		err = err2
	}
	return nil, p.callError("describe plugin", p.slot.plugin.Name, err)
}
