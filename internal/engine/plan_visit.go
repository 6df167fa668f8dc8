package engine

import (
	"slices"

	"github.com/penstock-run/penstock/dag"
)

// gateName stands for the gate where a plan lists what an item meets.
const gateName = "gate"

// note keeps a visit where all of them were asked for.
func (p *Planned) note(v PlannedVisit) {
	if p.how.whole {
		p.Visits = append(p.Visits, v)
	}
}

// reuse notes a visit that is answered from staging.
func (p *Planned) reuse(it *item, step dag.Step, action dag.Digest) {
	p.byStage[step.Stage].Reuse++
	p.note(PlannedVisit{Item: it.key, Stage: step.Stage.Name, Pass: step.Pass, State: PlanReuse, Action: action})
}

// planVisit notes a visit that staging does not answer, from its first sample
// that is missing on. What may follow from it is worked out once for all of them.
func (e *engine) planVisit(it *item, step dag.Step, first int) {
	p, s := e.planning, step.Stage
	it.end = dag.NotStarted // of this walk: what follows depends on the visit
	e.items.open--
	if why := p.barred[s]; why != "" {
		p.block(it, s, step.Pass, why)
		return
	}
	v := PlannedVisit{Item: it.key, Stage: s.Name, Pass: step.Pass, State: PlanRun}
	for sample := first; sample < max(1, s.Samples); sample++ {
		action := dag.ActionDigest(e.recipes[s.Index].digest, step.Input.Digest, sample)
		if sample > first {
			if _, ok := e.answered(it, step, action); ok {
				continue
			}
		} else {
			v.Action = action
		}
		switch p.actions[action] {
		case nil:
			p.actions[action] = s
			v.Actions++
		case s:
		default: // another stage does the very same: which of the two makes it is not told yet
			*p.byStage[s].Maybe++
		}
	}
	p.byStage[s].Run += v.Actions
	p.missing[s]++
	if book := p.reasons[s]; p.how.whole || book.asked < p.how.visits {
		book.asked++
		v.Why, v.Changes = e.whyRun(it, step, first, v.Action)
		if v.Actions == 0 {
			v.Why = "the same call as of an item before"
			v.Changes = nil
		}
		book.add(v.Why, v.Changes)
	}
	p.note(v)
	e.planMaybe(it, s)
}

// planMaybe lists what may follow after a visit that is to run.
func (e *engine) planMaybe(it *item, s *dag.Stage) {
	p := e.planning
	if !p.how.whole {
		return
	}
	waits := s.Name + "[" + it.key + "]"
	follow := mayFollow(e.Graph, s)
	for _, next := range e.Graph.Stages {
		if n, ok := follow[next]; ok {
			p.note(PlannedVisit{Item: it.key, Stage: next.Name, State: PlanMaybe, WaitsOn: waits, Most: most(n)})
		}
	}
	p.note(PlannedVisit{Item: it.key, Stage: gateName, State: PlanMaybe, WaitsOn: waits, Most: most(leavesFrom(e.Graph, s))})
}

// most is a bound, nil where there is none.
func most(n int) *int {
	if n == dag.Unbounded {
		return nil
	}
	return &n
}

// block notes an item that a stage would visit, and will not.
func (p *Planned) block(it *item, s *dag.Stage, pass int, why string) {
	p.Blocked++
	p.byStage[s].Blocked++
	p.reasons[s].block(why)
	p.note(PlannedVisit{Item: it.key, Stage: s.Name, Pass: pass, State: PlanBlocked, Why: why})
}

// planStart notes an item that is taken in and not visited at all, and reports
// whether that is the end of it.
func (e *engine) planStart(it *item, bucket string) (over bool) {
	p, first := e.planning, e.Graph.First
	switch {
	case p.keep != nil: // a collection keeps what items need that wait for a breaker
	case it.refused != nil:
		why := "it is refused with " + string(it.refused.Code)
		if p.how.whole {
			why += ": " + it.refused.Message
		}
		p.block(it, first, 1, why)
	case p.tripped && e.gate.Tripped(bucket):
		p.block(it, first, 1, "the breaker of "+bucket+" is open; `"+dag.Command("penstock", "breaker", "reset", bucket)+"` closes it")
		it.end = dag.NotStarted
		e.items.open--
		return true
	}
	return false
}

// planKnown plans an item whose first visit is sure to be made, without reading
// it: its record was taken in before, and no action of the first stage's recipe
// was ever made.
func (e *engine) planKnown(intake, raw dag.Digest) bool {
	p, first := e.planning, e.Graph.First
	if first.Plugin == nil || first.MayChange != nil || first.Input != nil || e.recipes[first.Index].made ||
		p.how.whole || p.tripped || p.barred[first] != "" || p.reasons[first].asked < p.how.visits {
		return false
	}
	hash, input, ok := e.store.TakenIn(intake)
	if !ok || input.IsZero() {
		return false
	}
	if e.intake.seen != nil {
		switch e.known(hash, raw) {
		case keyAgain:
			e.tally.Duplicates++
			return true
		case keyOther:
			return false
		}
	}
	e.tally.TakenIn++
	p.missing[first]++
	for sample := range max(1, first.Samples) {
		action := dag.ActionDigest(e.recipes[first.Index].digest, input, sample)
		if p.actions[action] == nil { // else an equal document came before
			p.actions[action] = first
			p.byStage[first].Run++
		}
	}
	return true
}

// planGate notes an item that a run would hand to the gate, and whether the gate
// has its verdict on record.
func (e *engine) planGate(it *item, step dag.Step) {
	p := e.planning
	it.end = dag.NotStarted
	e.items.open--
	if p.keep != nil {
		return // a collection leaves the gate's files alone
	}
	v := PlannedVisit{Item: it.key, Stage: gateName, State: PlanRun}
	if e.gate.Evaluate(e.hostCtx, e.candidate(it, step)).Known() {
		p.Gate.Reuse++
		v.State = PlanReuse
	} else {
		p.Gate.Decide++
	}
	p.note(v)
}

// planParked notes an item that cannot be walked further, for want of a document
// that the store does not give, or of a rule that can be told.
func (p *Planned) planParked(it *item, g *dag.Graph) {
	stage, pass := g.First, 1
	if it.t != nil {
		if visits := it.t.Trail().Visits; len(visits) > 0 {
			stage, pass = g.Stage(visits[len(visits)-1].Stage), visits[len(visits)-1].Pass
		}
	}
	p.block(it, stage, pass, it.reason)
}

// reasonsAsked is for how many visits of a stage a plan that lists no items
// looks up why they are made: each costs a look at the item's last trail.
const reasonsAsked = 100

// Reason is why visits of a stage are made, or are not.
type Reason struct {
	Why     string   `json:"why"`
	Blocked bool     `json:"blocked,omitzero"`
	Items   int      `json:"items"`
	Changes []Change `json:"changes,omitempty"` // of the first of them
}

// reasonBook counts the reasons of a stage.
type reasonBook struct {
	asked int // visits whose reason was looked up
	all   []Reason
	index map[string]int
}

func (b *reasonBook) add(why string, changes []Change) {
	text := why
	if len(changes) > 0 {
		text = "changed: " + partsOf(changes)
	}
	b.count(Reason{Why: text, Changes: changes})
}

func (b *reasonBook) block(why string) { b.count(Reason{Why: why, Blocked: true}) }

func (b *reasonBook) count(r Reason) {
	key := r.Why
	if r.Blocked {
		key = "blocked\x00" + key
	}
	i, known := b.index[key]
	if !known {
		if b.index == nil {
			b.index = map[string]int{}
		}
		i = len(b.all)
		b.index[key] = i
		b.all = append(b.all, r)
	}
	b.all[i].Items++
}

// reasonsListed bounds the reasons of a stage that a plan tells.
const reasonsListed = 20

func (b *reasonBook) inOrder() []Reason {
	slices.SortStableFunc(b.all, func(x, y Reason) int { return y.Items - x.Items })
	return b.all[:min(len(b.all), reasonsListed)]
}
