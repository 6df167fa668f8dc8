package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/staging"
)

// visit is one action that has to be executed. Items that need the very same
// action while it is under way wait for it.
type visit struct {
	id       uint64
	stage    *dag.Stage
	action   dag.Digest
	sample   int
	input    dag.Doc
	key      string
	pass     int
	attempts int
	alone    bool // its process crashed under it once: it runs by itself
	waiters  []waiter
}

// waiter is an item that waits for a visit, or for one sample of several.
type waiter struct {
	item *item
}

// made is what an action came to, with the output at hand where it was made now.
type made struct {
	*staging.Action
	doc dag.Doc
}

// stageQueue holds the visits of a stage that wait for capacity.
type stageQueue struct {
	stage   *dag.Stage
	visits  []*visit
	running int
}

// visit answers a stage's visit from staging, or has it made. It reports
// whether the item can go on at once.
func (e *engine) visit(it *item, step dag.Step) bool {
	recipe := &e.recipes[step.Stage.Index]
	for sample := range max(1, step.Stage.Samples) {
		action := dag.ActionDigest(recipe.digest, step.Input.Digest, sample)
		if e.planning == nil && e.inflight[action] != nil {
			e.inflight[action].join(it)
			return false
		}
		if m, ok := e.answered(step.Stage, action); ok {
			if step.Stage.Samples <= 1 {
				return e.apply(it, step, m)
			}
			continue
		}
		if e.planning != nil {
			e.planning.visit(step.Stage, e.missing(step, sample))
			it.end = dag.NotStarted // of this walk: what follows depends on the visit
			e.items.open--
			return false
		}
		if e.stop.visits {
			e.park(it, e.stop.reason())
			return false
		}
		if err := e.begin(it, step, action, sample); err != nil {
			e.park(it, err)
		}
		return false
	}
	return e.applySamples(it, step)
}

// missing counts the samples of a visit that are to be made, the first of them
// known.
func (e *engine) missing(step dag.Step, first int) int {
	n := 1
	for sample := first + 1; sample < step.Stage.Samples; sample++ {
		if _, ok := e.answered(step.Stage, dag.ActionDigest(e.recipes[step.Stage.Index].digest, step.Input.Digest, sample)); !ok {
			n++
		}
	}
	return n
}

// answered looks an action up in staging. What is there counts only where the
// stage's max_age and cache allow it, and where its output can still be read.
func (e *engine) answered(s *dag.Stage, action dag.Digest) (made, bool) {
	a, ok, err := e.store.Action(action)
	if err != nil || !ok {
		return made{}, false
	}
	if a.Run == e.runID {
		return made{Action: a}, true
	}
	if (e.Record != "" && s.Provider != nil) || !e.reusable(s, a.Facts.EndedAt) {
		return made{}, false
	}
	return made{Action: a}, true
}

// begin queues an action to be made, for the first item that needs it.
func (e *engine) begin(it *item, step dag.Step, action dag.Digest, sample int) error {
	if step.Stage.Provider != nil && !e.replaying() {
		// An action that costs money is claimed, so that two processes never pay for one call.
		got, err := e.store.Claim([]dag.Digest{action})
		if err != nil {
			return err
		}
		if !got[0] {
			e.later(&visit{stage: step.Stage, action: action, waiters: []waiter{{it}}}, claimPoll)
			return nil
		}
		if _, ok := e.answered(step.Stage, action); ok {
			e.ready = append(e.ready, it)
			return e.store.Release([]dag.Digest{action})
		}
	}
	if _, err := e.store.Put(step.Input); err != nil {
		return err
	}
	e.lastID++
	v := &visit{
		id: e.lastID, stage: step.Stage, action: action, sample: sample, input: step.Input,
		key: it.key, pass: step.Pass, waiters: []waiter{{it}},
	}
	it.started = true
	e.inflight[action] = v
	e.enqueue(v)
	return nil
}

func (v *visit) join(it *item) { v.waiters = append(v.waiters, waiter{it}) }

// claimPoll is how often an action that another process is paying for is looked for.
const claimPoll = 200 * time.Millisecond

// enqueue puts a visit behind those of its stage that wait for capacity. A
// visit without an id waits for another process: its item looks again.
func (e *engine) enqueue(v *visit) {
	if v.id == 0 {
		for _, w := range v.waiters {
			e.ready = append(e.ready, w.item)
		}
		return
	}
	if e.stop.visits {
		e.abandon(v, e.stop.reason())
		return
	}
	q := e.work[v.stage.Index]
	q.visits = append(q.visits, v)
}

// dispatch submits what capacity allows, the last stages first: what was begun
// is finished before more is begun.
func (e *engine) dispatch() {
	if e.stop.visits {
		e.parkWaiting()
		return
	}
	for i := len(e.work) - 1; i >= 0; i-- {
		q := e.work[i]
		n := 0
		for n < len(q.visits) && e.running < e.Jobs && (q.stage.Concurrency == 0 || q.running < q.stage.Concurrency) {
			e.submit(q.visits[n])
			n++
		}
		if n == len(q.visits) {
			q.visits = q.visits[:0]
		} else if n > 0 {
			q.visits = append(q.visits[:0], q.visits[n:]...)
		}
	}
}

func (e *engine) submit(v *visit) {
	v.attempts++
	e.lastID++
	v.id = e.lastID // a new one each time: a plugin may not have noticed yet that the last attempt was given up
	e.visits[v.id] = v
	e.running++
	e.work[v.stage.Index].running++
	e.host.Submit(host.Task{
		Visit: v.id, Stage: v.stage, Key: v.key, Pass: v.pass, Sample: v.sample,
		Input: v.input.Bytes, Timeout: v.stage.Timeout, Alone: v.alone,
	})
}

// visited takes a result: it becomes an action in the store and an event for
// every item that waited, or the visit is tried again.
func (e *engine) visited(r *host.Result) {
	v := e.visits[r.Visit]
	if v == nil {
		return
	}
	delete(e.visits, v.id)
	e.running--
	e.work[v.stage.Index].running--
	if r.Err != nil {
		e.failed(v, r)
		return
	}
	m, err := e.record(v, r)
	if err != nil {
		e.abandon(v, err)
		return
	}
	e.tally.Visits++
	e.tally.Calls += r.Facts.Calls
	e.release(v)
	for _, w := range v.waiters {
		if w.item.end != "" {
			continue
		}
		// The item asks again and finds the action in the store; the first of
		// them is spared the look-up.
		step, err := w.item.t.Next()
		if err == nil && v.stage.Samples <= 1 {
			if e.apply(w.item, step, m) {
				e.ready = append(e.ready, w.item)
			}
			continue
		}
		e.ready = append(e.ready, w.item)
	}
}

func (e *engine) release(v *visit) {
	delete(e.inflight, v.action)
	if v.stage.Provider != nil && !e.replaying() {
		// A claim that cannot be given back dies with this process.
		_ = e.store.Release([]dag.Digest{v.action})
	}
}

// record stores what a visit gave. A misfit is a content failure and as much an
// answer as any: it was paid for.
func (e *engine) record(v *visit, r *host.Result) (made, error) {
	m := made{Action: &staging.Action{
		Digest: v.action, Recipe: e.recipes[v.stage.Index].digest, Stage: v.stage.Name, Input: v.input.Digest,
		Word: r.Word, Failure: r.Failure, Findings: r.Findings, Notes: r.Notes, Facts: r.Facts, Run: e.runID, Sample: v.sample,
	}}
	if r.Failure == nil {
		m.doc, m.Failure = e.output(v.stage, r, m.Action)
		if m.Failure == nil {
			ref, err := e.store.Put(m.doc)
			if err != nil {
				return made{}, err
			}
			m.Output, m.OutputRef = m.doc.Digest, ref
		}
	}
	if m.Failure != nil && m.Failure.Code == dag.EPluginCrash {
		return m, nil // about one process on one day: not an answer to keep
	}
	return m, e.store.PutAction(m.Action)
}

// output checks a plugin's document: strict JSON, the stage's schema, and
// without what the stage calls volatile.
func (e *engine) output(s *dag.Stage, r *host.Result, a *staging.Action) (dag.Doc, *dag.Failure) {
	canonical, err := canon.Canonical(e.scratch[:0], r.Output)
	if err != nil {
		return dag.Doc{}, dag.Fail(dag.EOutput, "the output is not one strict JSON document: %v", err)
	}
	e.scratch = canonical
	if bytes.Equal(canonical, r.Output) {
		canonical = r.Output // the plugin wrote it so: no copy is needed
	} else {
		canonical = bytes.Clone(canonical)
	}
	if s.Schema != nil {
		if err := s.Schema.Validate(canonical); err != nil {
			return dag.Doc{}, dag.Fail(dag.EOutput, "the output does not fit %s: %v", s.Schema.Name(), err)
		}
	}
	if len(s.Volatile) > 0 {
		kept, removed, err := withoutVolatile(canonical, s.Volatile)
		if err != nil {
			return dag.Doc{}, dag.Fail(dag.EOutput, "volatile: %v", err)
		}
		canonical = kept
		a.Notes = append(a.Notes, removed...)
	}
	return dag.NewDoc(canonical), nil
}

// apply tells an item what its visit gave. It reports whether the item goes on.
func (e *engine) apply(it *item, step dag.Step, m made) bool {
	event := &dag.Visited{Word: m.Word, Failure: m.Failure, Findings: m.Findings, Action: m.Digest, Facts: m.Facts}
	event.Facts.Reused = m.Run != e.runID
	if m.Failure == nil {
		doc, err := e.outputOf(m)
		if errors.Is(err, staging.ErrAbsent) {
			return e.visit(it, step) // damaged or gone, and the store knows it now: made again
		}
		if err != nil {
			e.park(it, err)
			return false
		}
		event.Output = doc
		it.family.record.Need(m.OutputRef, m.Output)
	}
	if event.Facts.Reused {
		e.tally.Reused++
		if e.planning != nil {
			e.planning.reuse(step.Stage)
		}
	}
	if err := it.t.Apply(event); err != nil {
		e.park(it, err)
		return false
	}
	return true
}

func (e *engine) outputOf(m made) (dag.Doc, error) {
	if !m.doc.IsNull() {
		return m.doc, nil
	}
	b, err := e.store.Read(m.OutputRef, m.Output)
	return dag.Doc{Digest: m.Output, Bytes: b}, err
}

// applySamples makes one output of several: the list of them.
func (e *engine) applySamples(it *item, step dag.Step) bool {
	recipe := &e.recipes[step.Stage.Index]
	all := made{Action: &staging.Action{Run: e.runID}}
	list := []byte{'['}
	for sample := range step.Stage.Samples {
		m, ok := e.answered(step.Stage, dag.ActionDigest(recipe.digest, step.Input.Digest, sample))
		if !ok {
			return e.visit(it, step)
		}
		if m.Failure != nil {
			return e.apply(it, step, m)
		}
		doc, err := e.outputOf(m)
		if err != nil {
			return e.visit(it, step)
		}
		if sample == 0 {
			all.Digest, all.Facts, all.Run = m.Digest, m.Facts, m.Run
		} else {
			list = append(list, ',')
			all.Facts.Calls += m.Facts.Calls
			all.Facts.Input += m.Facts.Input
			all.Facts.OutTokens += m.Facts.OutTokens
		}
		all.Findings = append(all.Findings, m.Findings...)
		list = append(list, doc.Bytes...)
	}
	all.doc = dag.NewDoc(append(list, ']'))
	if e.planning == nil {
		ref, err := e.store.Put(all.doc)
		if err != nil {
			e.park(it, err)
			return false
		}
		all.Output, all.OutputRef = all.doc.Digest, ref
	}
	return e.apply(it, step, all)
}

// failed takes a visit that failed for want of infrastructure: it is tried
// again as the stage's retry says, else its items are parked.
func (e *engine) failed(v *visit, r *host.Result) {
	switch {
	case (r.Crashed || r.Shared) && !v.alone:
		v.alone = true // whose fault it was shows when each of them runs by itself
		v.attempts--   // and is judged by that, not by the number of attempts
		e.enqueue(v)
		return
	case r.Crashed:
		e.guilty(v, r)
		return
	}
	if !retriable(r.Err.Code) || v.attempts >= max(1, v.stage.Retry.Attempts) || e.stop.visits {
		e.abandon(v, r.Err)
		return
	}
	e.later(v, backoff(v.stage.Retry, v.attempts, r.RetryAfter))
}

// guilty fails the items whose visit crashed its plugin a second time, alone.
func (e *engine) guilty(v *visit, r *host.Result) {
	r.Failure = dag.Fail(dag.EPluginCrash, "%v", r.Err)
	m, err := e.record(v, r)
	if err != nil {
		e.abandon(v, err)
		return
	}
	e.release(v)
	for _, w := range v.waiters {
		if step, err := w.item.t.Next(); err == nil && e.apply(w.item, step, m) {
			e.ready = append(e.ready, w.item)
		}
	}
}

// retriable reports whether asking again may help.
func retriable(code dag.Code) bool {
	switch code {
	case dag.EAuth, dag.EQuota, dag.EReplayMiss, dag.EStore, dag.EPlugin:
		return false
	}
	return true
}

// abandon parks the items of a visit that is not made.
func (e *engine) abandon(v *visit, err error) {
	e.release(v)
	for _, w := range v.waiters {
		e.park(w.item, stageError(v.stage, err))
	}
}

// stageError names the stage once, and lets a provider without quota or
// credentials end the run.
func stageError(s *dag.Stage, err error) error {
	named := &dag.Error{Op: "stage", Subject: s.Name, Kind: dag.KindOf(err), Err: err}
	var cause *dag.Error
	if errors.As(err, &cause) {
		named.Code, named.Hint = cause.Code, cause.Hint
		if cause.Subject == s.Name && cause.Err != nil {
			named.Err = cause.Err
		}
	}
	if named.Code == dag.EAuth || named.Code == dag.EQuota {
		named.Kind = dag.KindStopped
	}
	return named
}

func (e *engine) later(v *visit, wait time.Duration) {
	e.waiting[v] = time.AfterFunc(wait, func() { e.send(retryNow{v}) })
}

// backoff is full jitter over a doubling bound, never less than what the
// server asked for.
func backoff(r dag.Retry, attempt int, asked time.Duration) time.Duration {
	base, most := r.Backoff, r.MaxBackoff
	if base <= 0 {
		base = time.Second
	}
	if most <= 0 {
		most = 30 * time.Second
	}
	bound := min(most, base<<min(attempt-1, 20))
	if bound <= 0 {
		bound = most
	}
	return max(asked, time.Duration(rand.Int64N(int64(bound)+1)))
}

// pluginLog passes on what a plugin said on its standard error.
func (e *engine) pluginLog(plugin, level, message string) {
	switch level {
	case "warn", "error":
		e.Report.Warn(fmt.Sprintf("plugin %s: %s", plugin, message))
	}
}
