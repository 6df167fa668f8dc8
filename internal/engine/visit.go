package engine

import (
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/internal/telemetry"
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
	anew     bool // the model is asked anew, whatever completions are kept
	waiters  []waiter
	trace    *telemetry.Visit // of the attempt that is under way
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
	if e.Rehearsal != nil {
		if answered, goesOn := e.rehearsed(it, step); answered {
			return goesOn
		}
	}
	recipe := &e.recipes[step.Stage.Index]
	for sample := range max(1, step.Stage.Samples) {
		action := dag.ActionDigest(recipe.digest, step.Input.Digest, sample)
		if v := e.inflight[action]; e.planning == nil && v != nil && e.joins(it, step, v) {
			v.join(it)
			return false
		}
		if m, ok := e.answered(it, step, action); ok {
			if step.Stage.Samples == 0 {
				return e.apply(it, step, m)
			}
			continue
		}
		if e.planning != nil {
			e.planVisit(it, step, sample)
			return false
		}
		if e.stop.visits {
			e.park(it, e.stop.reason())
			return false
		}
		if e.Frozen {
			e.park(it, notFrozen([]string{step.Stage.Name + "[" + it.key + "]"}))
			return false
		}
		if err := e.begin(it, step, action, sample); err != nil {
			e.park(it, err)
		}
		return false
	}
	return e.applySamples(it, step)
}

// answered looks an action up in staging. What is there counts only where the
// flags of the run and the stage's max_age and cache allow it, and where its
// output can still be read.
func (e *engine) answered(it *item, step dag.Step, action dag.Digest) (made, bool) {
	s, rule := step.Stage, e.anewBy(it, step.Stage.Name, step.Pass)
	if old := e.kept[action]; old != nil && rule == nil {
		return made{Action: old}, true
	}
	if e.planning != nil && !e.recipes[s.Index].made {
		return made{}, false // without the index of all actions
	}
	a, ok, err := e.store.Action(action)
	if err != nil || !ok {
		return made{}, false
	}
	if a.Run != e.runID && (!e.counts(s, a.Facts.EndedAt) || rule != nil && !a.Facts.EndedAt.After(e.started)) {
		return made{}, false
	}
	e.planning.keepAction(action)
	return made{Action: a}, true
}

// counts reports whether an answer of an earlier run is used for a visit that
// no flag names.
func (e *engine) counts(s *dag.Stage, made time.Time) bool {
	return (e.Record == "" || s.Provider == nil) && e.reusable(s, made)
}

// overruled reports whether it is a rule that has a visit made anew: not where
// staging has no answer, or where the whole run takes none from there.
func (e *engine) overruled(rule *anewRule, s *dag.Stage, action dag.Digest) bool {
	if rule == nil || e.Force || e.Record != "" && s.Provider != nil {
		return false
	}
	_, ok, err := e.store.Action(action)
	return rule.retry || err == nil && ok
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
			v := &visit{stage: step.Stage, action: action, waiters: []waiter{{it}}}
			e.inflight[action] = v // whoever needs it waits with this one, not each by itself
			e.later(v, claimPoll)
			return nil
		}
		if _, ok := e.answered(it, step, action); ok {
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
	if rule := e.anewBy(it, step.Stage.Name, step.Pass); rule != nil {
		v.anew = rule.model
		e.keepOld(rule, step.Stage, action)
	}
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
		delete(e.inflight, v.action)
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
		for n < len(q.visits) && (q.stage.Concurrency == 0 || q.running < q.stage.Concurrency) && e.slots.take(q.stage.Provider) {
			if v := q.visits[n]; e.turnedAway(v) {
				e.slots.Give()
			} else {
				e.submit(v)
			}
			n++
		}
		if n == len(q.visits) {
			q.visits = q.visits[:0]
		} else if n > 0 {
			q.visits = append(q.visits[:0], q.visits[n:]...)
		}
	}
}

// turnedAway ends the items that this visit would start in a bucket whose
// breaker is open, and reports whether that leaves nobody to make it for.
func (e *engine) turnedAway(v *visit) bool {
	if e.Graph.Gate.Breaker == nil || v.attempts > 0 {
		return false
	}
	left := v.waiters[:0]
	for _, w := range v.waiters {
		if !w.item.started && e.gate.Tripped(w.item.family.bucket.name) {
			e.ended(w.item, dag.NotStarted)
			continue
		}
		w.item.started = true
		left = append(left, w)
	}
	if v.waiters = left; len(left) == 0 {
		e.release(v)
	}
	return len(left) == 0
}

func (e *engine) submit(v *visit) {
	v.attempts++
	e.lastID++
	v.id = e.lastID // a new one each time: a plugin may not have noticed yet that the last attempt was given up
	e.visits[v.id] = v
	e.running++
	e.slots.begin(v.id, v.stage.Provider)
	e.work[v.stage.Index].running++
	e.traceVisit(v)
	e.host.Submit(host.Task{
		Visit: v.id, Stage: v.stage, Key: v.key, Pass: v.pass, Sample: v.sample,
		Action: v.action, Attempt: v.attempts, Input: v.input.Bytes, Timeout: v.stage.Timeout, Alone: v.alone, Anew: v.anew,
	})
}
