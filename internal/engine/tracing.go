package engine

import (
	"context"
	"maps"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/telemetry"
	"github.com/penstock-run/penstock/plugins/proto"
)

// beginTrace begins to tell of the run, where anybody wants to hear of it.
func (e *engine) beginTrace() {
	e.trace = e.Telemetry.Begin(telemetry.RunFacts{ID: e.runID, Pipeline: e.Graph.Pipeline.Name, Dry: e.Dry, Started: e.started})
}

// endTrace tells what the run came to. What is under way ends with its items.
func (e *engine) endTrace(exit int) {
	if e.trace == nil {
		return
	}
	e.countTrace()
	word := ""
	if exit != 0 {
		word = exitWords[exit]
	}
	e.trace.End(e.Now(), exit, word)
}

// exitWords name what a run ended with.
var exitWords = map[int]string{
	dag.KindConfig.ExitStatus(): "config", dag.KindInfrastructure.ExitStatus(): "infrastructure", dag.KindStopped.ExitStatus(): "stopped",
	dag.KindDiffers.ExitStatus(): "differs", dag.KindBug.ExitStatus(): "bug", dag.KindInterrupted.ExitStatus(): "interrupted",
}

// countTrace hands the run's figures over.
func (e *engine) countTrace() {
	if e.trace == nil {
		return
	}
	of := e.completions.Counters()
	e.trace.Count(telemetry.Counts{
		Ends: maps.Clone(e.tally.Ends), Executed: e.tally.Visits, Staging: e.tally.Reused,
		Live: of.Live, Cached: of.Cached, Replayed: of.Replayed, Missed: of.Misses, Failed: of.Failed, Calls: of.Calls, USD: e.cost(of),
	})
}

// traceItem begins the trace of an item that was taken in.
func (e *engine) traceItem(it *item) {
	if e.trace != nil {
		it.trace = e.trace.Item(it.key, it.family.bucket.name, it.family.source)
	}
}

// traceEnd ends it, with what the gate's checks said.
func (it *item) traceEnd() {
	if it.trace == nil {
		return
	}
	for _, c := range it.verdict.Checks {
		it.trace.Checked(c.Name, c.State, c.Code, c.Figure)
	}
	it.trace.End(it.end, problemOf(it).Codes)
	it.trace = nil
}

// traceVisit begins the trace of an attempt at a visit, below the first item that
// waits for it.
func (e *engine) traceVisit(v *visit) {
	if e.trace == nil || len(v.waiters) == 0 {
		return
	}
	v.trace = v.waiters[0].item.trace.Visit(v.id, telemetry.VisitFacts{Stage: v.stage, Pass: v.pass, Sample: v.sample, Attempt: v.attempts})
}

// traceVisited ends it, with what the first item made of it.
func (v *visit) traceVisited(m made) {
	if v.trace == nil {
		return
	}
	code := dag.Code("")
	if m.Failure != nil {
		code = m.Failure.Code
	}
	outcome := ""
	if v.stage.Samples == 0 {
		outcome = v.waiters[0].item.outcomeOf(v.stage)
	}
	v.trace.End(outcome, code)
}

// outcomeOf is the outcome of the item's last visit, where it is the stage's.
func (it *item) outcomeOf(s *dag.Stage) string {
	if it.t == nil {
		return ""
	}
	visits := it.t.Trail().Visits
	if n := len(visits); n > 0 && visits[n-1].Stage == s.Name {
		return visits[n-1].Outcome
	}
	return ""
}

// traceKnown tells of a visit that no plugin was asked for on this item's account.
func (it *item) traceKnown(step dag.Step, m made, shared bool) {
	if it.trace == nil {
		return
	}
	code := dag.Code("")
	if m.Failure != nil {
		code = m.Failure.Code
	}
	it.trace.Known(telemetry.VisitFacts{Stage: step.Stage, Pass: step.Pass}, shared, it.outcomeOf(step.Stage), code)
}

// traced answers a completion, and tells of it and of each call of the provider.
func (e *engine) traced(ctx context.Context, p *dag.Provider, request *proto.CompletionRequest, call completion.Caller, answer func(completion.Caller) *proto.CompletionReply) *proto.CompletionReply {
	c := e.trace.Visit(host.VisitID(ctx)).Complete(p, request)
	if c == nil {
		return answer(call)
	}
	heard := call
	if call != nil {
		heard = func(ctx context.Context, request *proto.CompletionRequest) (*proto.CompletionReply, error) {
			attempt := c.Attempt()
			reply, err := call(ctx, request)
			attempt.End(reply, err, ctx.Err() != nil, e.peer(p))
			return reply, err
		}
	}
	reply := answer(heard)
	c.End(reply, e.bundledPeer(p))
	return reply
}

// peer is whom a provider that was just called calls.
func (e *engine) peer(p *dag.Provider) dag.Peer {
	if known := e.bundledPeer(p); known.System != "" {
		return known
	}
	return e.callers.peer(p)
}

// bundledPeer is whom a bundled provider calls, which is known without a start.
func (e *engine) bundledPeer(p *dag.Provider) dag.Peer {
	if name, ok := strings.CutPrefix(p.Plugin.Source, "builtin/"); ok && e.Bundled != nil {
		if info, ok := e.Bundled(name); ok && info.Peer != nil {
			return info.Peer(p.Config.Bytes)
		}
	}
	return dag.Peer{}
}
