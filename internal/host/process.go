package host

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// process is one running plugin.
type process struct {
	slot   *slot
	host   *Host
	runner *run
	client *plugin.Client
	conn   *grpc.ClientConn
	wake   chan struct{} // of the sender; holds one
	ctx    context.Context
	kill   context.CancelCauseFunc // ends every call on the connection

	ended    sync.Once
	gone     chan struct{} // closed when the slot knows that it has ended
	stopping chan struct{} // closed when the host wants it to end
	stopOnce sync.Once
	finished sync.WaitGroup // the goroutines of the stream

	// Guarded by slot.mu.
	stages    map[*dag.Stage]*stageHandle
	inFlight  map[uint64]*visit
	deaf      map[uint64]struct{} // ended by the host, not yet answered by the plugin
	deadlines deadlines
	completed []*proto.Completed
	cancels   []uint64
	retired   bool   // no visit is sent any more
	alone     *visit // runs with no other beside it

	providerMu sync.Mutex
	providers  map[*dag.Provider]*providerHandle
}

// launch starts a process for a slot, up to the point where calls can be made.
func (h *Host) launch(s *slot) (*process, *dag.Error) {
	t, err := h.target(s.plugin)
	if err != nil {
		return nil, h.startError(s.plugin, err)
	}
	defer t.close()
	folder, err := h.folder()
	if err != nil {
		return nil, h.startError(s.plugin, err)
	}
	h.warnConfinement()
	r := newRun(h, s, t)
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: proto.Version, MagicCookieKey: proto.CookieKey, MagicCookieValue: proto.CookieValue,
		},
		VersionedPlugins: map[int]plugin.PluginSet{proto.Version: {"plugin": connection{}}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		StartTimeout:     h.opts.StartTimeout,
		SkipHostEnv:      true,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: folder.path},
		Logger:           hclog.NewNullLogger(),
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(proto.MaxMessage), grpc.MaxCallSendMsgSize(proto.MaxMessage)),
			grpc.WithStaticStreamWindowSize(proto.StreamWindow), grpc.WithStaticConnWindowSize(proto.ConnWindow),
		},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, scratch string) (runner.Runner, error) {
			r.env, r.scratch = cmd.Env, scratch
			return r, nil
		},
	})
	stopWatching := context.AfterFunc(h.ctx, r.killIfStarted)
	protocol, err := client.Client()
	stopWatching()
	if err != nil {
		return nil, h.failedStart(s.plugin, t, r, client, err)
	}
	raw, err := protocol.Dispense("plugin")
	if err != nil {
		return nil, h.failedStart(s.plugin, t, r, client, err)
	}
	p := &process{
		slot: s, host: h, runner: r, client: client, conn: raw.(*grpc.ClientConn),
		wake: make(chan struct{}, 1), stopping: make(chan struct{}), gone: make(chan struct{}),
		stages: make(map[*dag.Stage]*stageHandle), inFlight: make(map[uint64]*visit),
		deaf: make(map[uint64]struct{}), providers: make(map[*dag.Provider]*providerHandle),
	}
	p.ctx, p.kill = context.WithCancelCause(context.Background())
	p.deadlines.fire = p.expire
	return p, nil
}

// connection hands out go-plugin's connection as it is: our services are
// generated clients on it.
type connection struct{ plugin.NetRPCUnsupportedPlugin }

func (connection) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host is no plugin")
}

func (connection) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}

// failedStart explains why there is no process, from what was seen of it rather
// than from go-plugin's words, and leaves nothing of it.
func (h *Host) failedStart(p *dag.Plugin, t *target, r *run, client *plugin.Client, cause error) *dag.Error {
	if seen := r.explain(h.opts.StartTimeout, cause); seen != nil {
		cause = seen
	}
	r.killIfStarted()
	client.Kill()
	r.cleanUp()
	failure := h.startError(p, fmt.Errorf("%s: %w", t.shown, withTail(cause, r.tail.text())))
	if h.ctx.Err() != nil {
		failure.Kind, failure.Err = dag.KindInterrupted, errClosed
	}
	return failure
}

func (h *Host) startError(p *dag.Plugin, cause error) *dag.Error {
	var own *dag.Error
	if errors.As(cause, &own) {
		return own
	}
	if errors.Is(cause, errClosed) {
		return &dag.Error{Op: "start plugin", Subject: p.Name, Kind: dag.KindInterrupted, Err: cause}
	}
	return &dag.Error{Op: "start plugin", Subject: p.Name, Kind: dag.KindInfrastructure, Code: dag.EUnavailable, Err: cause}
}

// withTail quotes what a process printed last.
func withTail(cause error, tail string) error {
	if tail == "" {
		return cause
	}
	return fmt.Errorf("%w; its last lines were:\n%s", cause, tail)
}

// serve watches over the process, and sends it visits where it serves stages.
func (p *process) serve() {
	if !p.slot.provider {
		p.finished.Add(1)
		go p.send()
		p.ring()
	}
	p.slot.ends.Go(func() {
		<-p.runner.done
		p.end(nil)
	})
}

// end is called once the process is of no use any more: it has died, or it broke
// the protocol (broken is not nil). Its visits end, and so does what is left of it.
func (p *process) end(broken error) {
	p.ended.Do(func() {
		crashed := false
		if broken == nil || !p.alive(processDeath) {
			crashed = true
		}
		p.runner.killIfStarted()
		<-p.runner.done
		visits := p.slot.gone(p)
		close(p.gone)
		failure := p.deathError(broken, crashed)
		p.kill(failure)
		p.slot.failed(visits, Result{Err: failure, Crashed: crashed && !p.wanted(), Shared: !p.wanted() && !errors.Is(broken, errHangs)})
		p.client.Kill()
		p.runner.cleanUp()
		if !p.wanted() {
			p.slot.log("error", failure.Err.Error())
		}
	})
}

// errHangs is a process that is of no use, but not by the visits that it has left.
var errHangs = errors.New("it hangs")

// processDeath is how long a process may take to be seen dead after its
// connection broke.
const processDeath = 500 * time.Millisecond

// alive waits a little for the process to be dead: its connection is often seen
// to break before the process is.
func (p *process) alive(patience time.Duration) bool {
	select {
	case <-p.runner.done:
		return false
	case <-time.After(patience):
		return true
	}
}

func (p *process) wanted() bool {
	select {
	case <-p.stopping:
		return true
	default:
		return false
	}
}

// deathError tells what ended the process.
func (p *process) deathError(broken error, crashed bool) *dag.Error {
	e := &dag.Error{Op: "run plugin", Subject: p.slot.plugin.Name, Kind: dag.KindInfrastructure, Code: dag.EPlugin}
	switch {
	case p.wanted():
		e.Kind, e.Code, e.Err = dag.KindInterrupted, "", errClosed
	case crashed:
		e.Code = dag.EPluginCrash
		e.Err = withTail(fmt.Errorf("%s ended by itself (%s)", p.runner.target.shown, p.runner.status()), p.runner.tail.text())
	default:
		e.Err = withTail(fmt.Errorf("%s broke the protocol: %w", p.runner.target.shown, broken), p.runner.tail.text())
	}
	return e
}

// stop asks the process to end, and after the grace ends it.
func (p *process) stop(ctx context.Context) {
	p.stopOnce.Do(func() { close(p.stopping) })
	p.kill(errClosed)
	timer := time.AfterFunc(p.host.opts.Grace, p.runner.killIfStarted)
	defer timer.Stop()
	release := context.AfterFunc(ctx, p.runner.killIfStarted)
	defer release()
	// Who does not know go-plugin's shutdown may still watch stdin.
	hint := time.AfterFunc(p.host.opts.Grace/10, p.runner.closeStdin)
	defer hint.Stop()
	p.client.Kill() // its own grace is a constant and its calls have no limit: the timer above bounds both
	<-p.runner.done
	p.finished.Wait()
	p.runner.cleanUp()
}

// ring wakes the sender; a bell that has rung already need not ring twice.
func (p *process) ring() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
