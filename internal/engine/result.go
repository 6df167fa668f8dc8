package engine

import (
	"bytes"
	"errors"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/staging"
)

// visited takes a result: it becomes an action in the store and an event for
// every item that waited, or the visit is tried again.
func (e *engine) visited(r *host.Result) {
	v := e.visits[r.Visit]
	if v == nil {
		return
	}
	delete(e.visits, v.id)
	e.running--
	e.slots.end(r.Visit)
	e.work[v.stage.Index].running--
	if r.Err != nil {
		v.trace.Failed(r.Err.Code)
		e.failed(v, r)
		return
	}
	m, err := e.record(v, r)
	if err != nil {
		v.trace.Failed(dag.EStore)
		e.abandon(v, err)
		return
	}
	e.tally.Visits++
	e.tally.Calls += r.Facts.Calls
	e.release(v)
	defer func() { v.traceVisited(m) }()
	for n, w := range v.waiters {
		if w.item.end != "" {
			continue
		}
		w.item.started = true
		// The item asks again and finds the action in the store; the first of
		// them is spared the look-up.
		step, err := w.item.t.Next()
		if err == nil && v.stage.Samples == 0 {
			if e.apply(w.item, step, m) {
				e.ready = append(e.ready, w.item)
			}
			if n > 0 {
				w.item.traceKnown(step, m, true)
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
	if err := e.recipes[v.stage.Index].files.unchanged(); err != nil {
		return made{}, contentError(v.stage, err)
	}
	r.Facts.Paid = e.bills.take(v.action)
	m := made{Action: &staging.Action{
		Digest: v.action, Recipe: e.recipes[v.stage.Index].digest, Stage: v.stage.Name, Input: v.input.Digest,
		Word: r.Word, Failure: r.Failure, Findings: r.Findings, Notes: r.Notes, Facts: r.Facts, Run: e.runID, Sample: v.sample,
		Completions: r.Completions,
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
	if err := e.unfit(m.Failure, r.Completions); err != nil {
		return made{}, err
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
		if errors.Is(err, staging.ErrAbsent) && e.planning != nil {
			doc, err = it.family.held(m.Output, err)
		}
		if errors.Is(err, staging.ErrAbsent) {
			delete(e.kept, m.Digest)
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
			e.planning.reuse(it, step, m.Digest)
		}
	}
	if err := it.t.Apply(event); err != nil {
		e.park(it, err)
		return false
	}
	if event.Facts.Reused {
		it.traceKnown(step, m, false)
	}
	return true
}

// held is a document that is gone from the store, as a run would find it there
// all the same: it stores what it takes in, which may be what a stage gave once.
func (f *family) held(digest dag.Digest, absent error) (dag.Doc, error) {
	for _, doc := range f.docs {
		if doc.Digest == digest {
			return doc, nil
		}
	}
	return dag.Doc{}, absent
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
		m, ok := e.answered(it, step, dag.ActionDigest(recipe.digest, step.Input.Digest, sample))
		if !ok {
			return e.visit(it, step)
		}
		if m.Failure != nil {
			return e.apply(it, step, m)
		}
		doc, err := e.outputOf(m)
		if err != nil {
			delete(e.kept, m.Digest)
			return e.visit(it, step)
		}
		if sample == 0 {
			all.Digest, all.Facts, all.Run = m.Digest, m.Facts, m.Run
		} else {
			list = append(list, ',')
			all.Facts.Calls += m.Facts.Calls
			all.Facts.Input += m.Facts.Input
			all.Facts.Cached += m.Facts.Cached
			all.Facts.OutTokens += m.Facts.OutTokens
			all.Facts.Paid.Add(m.Facts.Paid)
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
