package engine

import (
	"context"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

// toGate hands an item over: its checks run at once, its commit waits for its turn.
func (e *engine) toGate(it *item, step dag.Step) {
	it.step = step
	if e.planning != nil {
		e.planGate(it, step)
		return
	}
	if e.stop.over {
		e.park(it, e.stop.reason())
		return
	}
	c := e.candidate(it, step)
	e.judging++
	go func() { e.send(evaluated{it, e.gate.Evaluate(e.hostCtx, c)}) }()
}

// candidate is what the gate may know of an item: nothing of stages but their
// visits by name.
func (e *engine) candidate(it *item, step dag.Step) *gate.Candidate {
	c := &gate.Candidate{Key: it.key, Bucket: it.family.bucket.name, As: step.As, Code: step.Code, Load: e.store.Get, Anew: e.Force || it.family.again[it.key] != nil}
	if it.t == nil {
		c.Scope = originScope{it.origin}
		c.Stop = &gate.Stop{End: dag.Failed, Code: it.refused.Code, Cause: it.refused.Cause, Message: it.refused.Message, Item: it.origin.Digest}
		return c
	}
	c.Scope = it.t
	c.Findings = it.t.Findings()
	c.Facts = it.t.Visits()
	if step.Kind == dag.DoStop {
		c.Stop = &gate.Stop{End: step.End, Code: step.Code, Status: step.Status, Item: it.t.Item().Digest}
		if step.Failed != nil {
			c.Stop.Cause, c.Stop.Message = step.Failed.Cause, step.Failed.Message
		}
		if n := len(c.Facts); n > 0 {
			c.Stop.Stage, c.Stop.Pass = c.Facts[n-1].Stage, c.Facts[n-1].Pass
		}
	}
	return c
}

// commit hands what was decided to the gate, in order: when enough waits for a
// group commit, when the first has waited long enough, or when nothing else
// could join it.
func (e *engine) commit() {
	if e.committing || len(e.decided) == 0 {
		return
	}
	alone := e.running == 0 && e.judging == 0 && len(e.ready) == 0 && e.queued() == 0
	if len(e.decided) < commitMost && !alone && e.Now().Sub(e.decidedAt) < commitWait {
		return
	}
	batch := e.batch()
	evaluations := make([]*gate.Evaluation, len(batch))
	for i, it := range batch {
		evaluations[i] = it.evaluation
	}
	e.committing = true
	go func() {
		// The visits behind a record are on disk before it is: where there is no room
		// for them, nothing is committed that the next run would pay for again.
		err := e.store.Write()
		var verdicts []gate.Verdict
		if err == nil {
			// What is committed stands, whatever is cancelled meanwhile.
			verdicts, err = e.gate.Commit(context.WithoutCancel(e.hostCtx), evaluations)
		}
		e.send(committed{batch, verdicts, err})
	}()
}

// batch takes the next candidates, of no more buckets than may be held at once.
func (e *engine) batch() []*item {
	most := e.Graph.Gate.Concurrency
	names := map[string]bool{}
	n := 0
	for n < len(e.decided) && n < commitMost {
		name := e.decided[n].family.bucket.name
		if !names[name] && most > 0 && len(names) == most {
			break
		}
		names[name] = true
		n++
	}
	batch := append([]*item(nil), e.decided[:n]...)
	e.decided = append(e.decided[:0], e.decided[n:]...)
	e.decidedAt = e.Now()
	return batch
}

// verdicts gives each item the gate's word.
func (e *engine) verdicts(ev committed) {
	e.committing = false
	for i, it := range ev.items {
		switch {
		case ev.err != nil:
			e.park(it, ev.err)
			continue
		case ev.verdicts[i].Err != nil:
			e.park(it, ev.verdicts[i].Err)
			continue
		}
		v := ev.verdicts[i]
		it.verdict, it.evaluation = v, nil
		if v.Kept {
			e.tally.Kept++
		}
		if it.t == nil {
			e.ended(it, v.End)
			continue
		}
		if err := it.t.Apply(v.Judged()); err != nil {
			e.park(it, err)
			continue
		}
		e.ready = append(e.ready, it)
	}
}

// originScope is a scope of nothing but the item's origin: of keys, buckets and
// of items that were refused before their first visit.
type originScope struct{ origin dag.Doc }

func (s originScope) Lookup(n dag.Name) (dag.Doc, error) {
	switch n.Root {
	case "origin", "item":
		return s.origin, nil
	}
	return dag.Doc{}, nil
}
