// Package engine drives the items of a run through a dag.Graph: the local
// scheduler.
//
// cmd/penstock calls Run and Plan; both walk the same code, a plan only stops
// where a run would start a process.
//
// It refuses to decide where an item goes, which is dag.Traversal's, and what
// enters the corpus, which is the gate's. It decides only what happens when.
package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/fetch"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/internal/telemetry"
)

// Options say what to run and how.
type Options struct {
	Dir     string // the pipeline's directory: sources, corpus and staging lie in it
	Graph   *dag.Graph
	Version string
	// Self is the command that serves a bundled plugin when its name is
	// appended: the same binary, executed again.
	Self    []string
	Bundled func(name string) (*dag.PluginInfo, bool)
	Memo    host.Memo // remembers digests of files between runs; may be nil

	Jobs      int    // visits at a time in the whole run; 0: 64
	KeepGoing bool   // start new items after an infrastructure failure, too
	Force     bool   // answer nothing from staging
	Dry       bool   // the gate evaluates and commits nothing
	Live      bool   // call providers and read the web, whatever the pipeline replays
	Record    string // append live completions and pages to this cassette
	Locked    bool   // end where the lock file would have to change
	Frozen    bool   // end where a visit is not answered from staging, before anything is started
	Choice    Choice

	Web fetch.Options // how pages are reached, but for AllowHosts and UserAgent; zero: as this machine reaches them

	Rehearsal *Rehearsal // nil: a run in earnest

	Report    Report
	Telemetry *telemetry.Exporter // nil: nobody is told
	// Interrupt asks for an end: closed once, nothing new is visited and what
	// was paid for finishes. Cancelling the context stops at once.
	Interrupt <-chan struct{}
	Now       func() time.Time // nil: time.Now
}

// DefaultJobs is how many visits are in flight where nobody says.
const DefaultJobs = 64

const (
	flushVisits = 2000 // actions in a batch of the store
	flushEvery  = 100 * time.Millisecond
	commitMost  = 512 // candidates in a group commit
	commitWait  = 20 * time.Millisecond
	claimMost   = 64 // items claimed at a time
)

// engine is one run. Everything in it belongs to the goroutine that runs loop;
// what others have to say comes through events.
type engine struct {
	Options
	runID   string
	started time.Time
	runDoc  dag.Doc // what `run` reads in routes
	trace   *telemetry.Run

	store       *staging.Store
	bills       bills           // of visits that are not recorded yet
	said        *staging.RunLog // what plugins say; nil: nothing is kept
	host        *host.Host
	gate        *gate.Gate
	completions *completion.Service
	unkept      sync.Once     // a paid answer could not be kept, which is told
	pages       gate.Pages    // nil: no check reads any
	web         *fetch.Client // nil: no page is read from the web
	callers     callers
	recipes     []recipe // by stage index
	choice      *choice
	kept        map[dag.Digest]*staging.Action // as they were before this run made them anew; see keepOld
	graphKey    dag.Digest
	aging       bool // a finished item may be unfinished again, with time
	hostCtx     context.Context

	intake   intake
	items    lookahead
	work     []*stageQueue // by stage index
	visits   map[uint64]*visit
	inflight map[dag.Digest]*visit
	lastID   uint64
	scratch  []byte // for one output at a time
	running  int    // visits submitted and not answered
	slots    *slots
	waits    waits
	waiting  map[*visit]*time.Timer // visits that wait for their next attempt

	buckets     map[string]*bucket
	heldBuckets int
	judging     int     // evaluations under way
	decided     []*item // evaluated, in the order of their commit
	committing  bool
	decidedAt   time.Time

	ready   []*item
	events  chan any
	closed  chan struct{} // nobody hears events any more
	tally   Tally
	stop    stopping
	lastOut time.Time

	waitsTold []staging.Waiting // what the run waits for, as it was told last
	flushed   time.Time
	failure   error // what ended the loop early

	planning *Planned // not nil: a plan, which visits nothing
}

// lookahead bounds the items that were taken in and have not ended.
type lookahead struct{ open, most int }

// stopping is why no new items start, or no new visits.
type stopping struct {
	admit     bool     // no new items
	visits    bool     // no new visits
	kind      dag.Kind // what the run exits with, besides what items say
	interrupt bool
	cause     error  // what the run's own error is, though its items were parked in good order
	over      bool   // nothing new is handed to the gate either
	why       string // no new visits are made
	said      string // the first failure for which an item was parked
}

// Run executes a pipeline once. The Summary is good whatever the error; the
// error is what ended the run before its items did.
func Run(ctx context.Context, o Options) (*Summary, error) {
	if o.Frozen {
		if err := CheckFrozen(ctx, o); err != nil {
			return nil, err
		}
	}
	e, err := open(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	e.beginTrace()
	outline, err := e.keepOutline()
	if err == nil {
		err = e.store.StartRun(staging.Run{
			ID: e.runID, PID: os.Getpid(), Host: hostname(), Pipeline: o.Graph.Pipeline.Name, Started: e.started, Flags: e.flags(), Outline: outline, Trace: e.trace.TraceID(),
		})
	}
	if err != nil {
		return nil, errors.Join(err, e.close(ctx))
	}
	e.Report.Started(e.runID)
	runErr := e.loop(ctx)
	return e.finish(ctx, runErr)
}

// flags are those that change what a run does, as they are written. Values of
// variables are not among them: one may be a secret.
func (o *Options) flags() []string {
	var flags []string
	for _, f := range []struct {
		set  bool
		name string
	}{{o.Jobs != DefaultJobs, "-j " + strconv.Itoa(o.Jobs)}, {o.KeepGoing, "-k"}, {o.Force, "-B"}, {o.Dry, "--dry"}, {o.Live, "--live"}, {o.Record != "", "--record"}, {o.Locked, "--locked"}, {o.Frozen, "--frozen"}} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	return append(flags, o.Choice.words()...)
}

// WasDry reports whether a run committed nothing on purpose.
func WasDry(run staging.Run) bool { return slices.Contains(run.Flags, "--dry") }

// hostname stands in the journal for people; a machine without a name has none.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// open gets everything ready; with planned not nil, for a walk that writes nothing.
func open(ctx context.Context, o Options, planned *Planned) (_ *engine, err error) {
	if err := supported(o.Graph); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Jobs <= 0 {
		o.Jobs = DefaultJobs
	}
	if o.Report == nil {
		o.Report = silent{}
	}
	o.Report = &inTurn{to: o.Report}
	e := &engine{
		Options: o, started: o.Now().UTC(),
		aging: ages(o.Graph), visits: map[uint64]*visit{}, inflight: map[dag.Digest]*visit{}, waiting: map[*visit]*time.Timer{},
		buckets: map[string]*bucket{}, events: make(chan any, 256), closed: make(chan struct{}), hostCtx: ctx,
		items: lookahead{most: max(1024, 4*o.Jobs)}, planning: planned,
		slots: newSlots(o.Jobs, len(o.Graph.Providers)), waits: waits{retries: make([]waitBook, len(o.Graph.Stages))},
	}
	planning := planned != nil
	if o.Rehearsal != nil {
		e.Live = false
		if err := o.Rehearsal.prepare(); err != nil {
			return nil, err
		}
	}
	e.runID = newRunID(e.started)
	e.callers.engine = e
	e.tally = newTally()
	e.runDoc = runDocument(e)
	defer func() {
		if err != nil {
			_ = e.close(ctx) // the first error says enough
		}
	}()
	if e.choice, err = o.Choice.compile(o.Graph, e.replaying()); err != nil {
		return nil, err
	}
	// What is wrong with files that others made is found before any is made here.
	if e.intake.reader, err = e.records(); err != nil {
		return nil, err
	}
	if err := e.checkItems(); err != nil {
		return nil, err
	}
	e.host = host.New(host.Options{
		Dir: o.Dir, RunID: e.runID, Self: o.Self, Bundled: o.Bundled, Lock: o.Graph.Lock, Memo: o.Memo, Version: o.Version, Offline: o.Rehearsal != nil, Log: e.pluginLog, Said: e.pluginSaid,
		Complete: e.complete, Deliver: func(results []host.Result) { e.send(results) },
	})
	if err := e.checkLock(); err != nil {
		return nil, err
	}
	e.completions, err = e.openCompletions(planning)
	if err != nil {
		return nil, err
	}
	e.pages = e.openPages()
	e.store, err = staging.Open(filepath.Join(e.workspace(), "staging"), staging.Options{
		ReadOnly: planning, Alone: planned.alone(), Wait: planned.waits(), RunID: e.runID, Log: o.Report.Warn,
	})
	if err != nil {
		return nil, err
	}
	e.said = e.store.RunLog(e.runID)
	e.gate, err = gate.Open(ctx, gate.Options{
		Dir: e.workspace(), Pipeline: o.Graph.Pipeline.Name, Gate: o.Graph.Gate,
		RunID: e.runID, StartedAt: e.started, Pages: e.pages, DryRun: o.Dry, ReadOnly: planning, Now: o.Now, Log: o.Report.Warn,
	})
	if err != nil {
		return nil, err
	}
	return e, e.prepare()
}

// supported refuses what the language knows and this version does not run.
func supported(g *dag.Graph) error {
	if len(g.Unsupported) == 0 {
		return nil
	}
	err := &dag.Error{Op: "run", Subject: g.Pipeline.Name, Kind: dag.KindConfig}
	for _, u := range g.Unsupported {
		err.Err = errors.Join(err.Err, fmt.Errorf("%s: %s is not supported yet", u.Pos, u.What))
	}
	err.Hint = "take it out of the pipeline; `penstock validate` checks the rest"
	return err
}

// loop is the run: take in, dispatch, wait for what comes back.
func (e *engine) loop(ctx context.Context) error {
	ticker := time.NewTicker(commitWait)
	defer ticker.Stop()
	interrupt := e.Interrupt
	for {
		if err := e.admit(); err != nil {
			return err
		}
		e.drainReady()
		e.dispatch()
		e.commit()
		if e.failure != nil {
			return e.failure
		}
		if len(e.ready) > 0 {
			continue
		}
		if e.idle() {
			more, err := e.waitForOthers(ctx)
			if err != nil || !more {
				return err
			}
			continue
		}
		select {
		case ev := <-e.events:
			e.handle(ev)
			e.handleWaiting()
		case <-e.slots.freed:
		case <-ticker.C:
			e.progress()
		case <-interrupt:
			interrupt = nil
			e.interrupted()
		case <-ctx.Done():
			e.stop.interrupt = true
			return nil
		}
		if err := e.flush(false); err != nil {
			return err
		}
	}
}

// handleWaiting takes what else has come in, so that one turn of the loop
// serves many results.
func (e *engine) handleWaiting() {
	for range cap(e.events) {
		select {
		case ev := <-e.events:
			e.handle(ev)
		default:
			return
		}
	}
}

// Events that goroutines of the engine send besides []host.Result.
type (
	evaluated struct {
		item       *item
		evaluation *gate.Evaluation
	}
	committed struct {
		items    []*item
		verdicts []gate.Verdict
		err      error
	}
	retryNow struct{ visit *visit }
)

// send tells the loop something, from any goroutine.
func (e *engine) send(ev any) {
	select {
	case e.events <- ev:
	case <-e.closed:
	}
}

func (e *engine) handle(ev any) {
	switch ev := ev.(type) {
	case []host.Result:
		for i := range ev {
			e.visited(&ev[i])
		}
	case evaluated:
		e.judging--
		ev.item.evaluation = ev.evaluation
		e.inTurn(ev.item.family.bucket)
	case committed:
		e.verdicts(ev)
	case retryNow:
		if e.waiting[ev.visit] != nil {
			delete(e.waiting, ev.visit)
			e.book(ev.visit).end(time.Now())
			e.enqueue(ev.visit)
		}
	default:
		panic(fmt.Sprintf("engine: an event of type %T is nobody's", ev))
	}
}

// idle reports whether nothing will come by itself any more.
func (e *engine) idle() bool {
	return e.running == 0 && len(e.waiting) == 0 && e.judging == 0 && !e.committing && len(e.decided) == 0 &&
		len(e.ready) == 0 && e.intake.done(e) && e.queued() == 0
}

func (e *engine) queued() int {
	n := 0
	for _, q := range e.work {
		n += len(q.visits)
	}
	return n
}

// interrupted is the first SIGINT: nothing new is visited, what was paid for
// finishes, the gate commits what it holds, items between stages are parked.
func (e *engine) interrupted() {
	e.stop.interrupt = true
	e.stopVisits("interrupted")
	e.Report.Warn("interrupted: finishing what was paid for; once more to stop at once")
}

// flush makes the store's batch durable when it is due.
func (e *engine) flush(now bool) error {
	if !now && e.store.Dirty() < flushVisits && time.Since(e.flushed) < flushEvery {
		return nil
	}
	e.flushed = time.Now()
	if e.store.Dirty() == 0 {
		return nil
	}
	return e.store.Flush()
}

func (e *engine) progress() {
	if now := time.Now(); now.Sub(e.lastOut) >= flushEvery {
		e.lastOut = now
		e.tellWaits(now)
		e.Report.Progress(e.tally, e.running, e.waitsTold)
		e.countTrace()
	}
}
