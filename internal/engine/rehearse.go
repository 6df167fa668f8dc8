package engine

import (
	"os"
	"path/filepath"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/source"
	"github.com/penstock-run/penstock/internal/staging"
)

// Rehearsal makes a run one under test: it is the run that it would be, but for
// where it writes, where its items come from and who answers for some stages.
// It never calls a provider and never reads the web, and no plugin of it has a
// network: what is not recorded is missed.
type Rehearsal struct {
	Workspace string  // staging and the corpus lie there, and not beside the pipeline
	Records   Records // the items, in the place of the sources'
	// Answer answers for a stage; nil without an error: the stage is visited.
	Answer func(key string, step dag.Step, scope dag.Scope) (*Answer, error)
	// Ended hears of every item that came to its end.
	Ended func(Ended)
}

// Records yields the records of a run, io.EOF after the last.
type Records interface {
	Next() (*source.Record, error)
	Close() error
}

// Answer is what a stage's plugin would have given.
type Answer struct {
	Word     string // the outcome as the plugin says it; empty: none said
	Output   dag.Doc
	Failure  *dag.Failure // instead of an output
	Findings []dag.PluginFinding
}

// Ended is an item that came to its end, with all that is known of it.
type Ended struct {
	Problem
	Record    string         // id of the accepted record
	Traversal *dag.Traversal // nil: refused before its first visit
	Refused   *dag.Failure
	Origin    dag.Doc // of one that was refused
	Verdict   gate.Verdict
	Seq       uint64 // place in source order, from 1
	Index     int    // in the family: 0 the source's item, then those of its fan-out
}

// Unrecorded is the cassette, in its workspace, of a rehearsal for which nothing
// was recorded.
const Unrecorded = "no-cassette"

// workspace is the directory that the run writes in.
func (e *engine) workspace() string {
	if e.Rehearsal != nil {
		return e.Rehearsal.Workspace
	}
	return e.Dir
}

// records opens what the items come from.
func (e *engine) records() (Records, error) {
	if e.Rehearsal != nil {
		return e.Rehearsal.Records, nil
	}
	readers, err := source.OpenAll(e.Dir, e.Graph.Sources)
	if err != nil {
		return nil, err // and no reader in the place of none
	}
	return readers, nil
}

// rehearsed answers for a stage where the rehearsal does. It reports whether it
// did, and whether the item can go on at once.
func (e *engine) rehearsed(it *item, step dag.Step) (answered, goesOn bool) {
	a, err := e.Rehearsal.Answer(it.key, step, it.t)
	if a == nil && err == nil {
		return false, false
	}
	if err == nil && e.Graph.Gate.Breaker != nil && !it.started && e.gate.Tripped(it.family.bucket.name) {
		e.ended(it, dag.NotStarted)
		return true, false
	}
	var m made
	if err == nil {
		m, err = e.played(step, a)
	}
	if err != nil {
		e.park(it, err)
		return true, false
	}
	it.started = true
	e.tally.Visits++
	return true, e.apply(it, step, m)
}

// played is an answer as if the stage's plugin had given it, under the stage's
// own rules.
func (e *engine) played(step dag.Step, a *Answer) (made, error) {
	s := step.Stage
	now := e.Now().UTC()
	m := made{Action: &staging.Action{
		Digest: dag.ActionDigest(e.recipes[s.Index].digest, step.Input.Digest, 0), Stage: s.Name, Input: step.Input.Digest,
		Word: a.Word, Failure: a.Failure, Findings: a.Findings, Run: e.runID, Facts: dag.Facts{StartedAt: now, EndedAt: now},
	}}
	if s.Provider != nil {
		m.Facts.Model = s.Provider.Model // who would have been asked: the gate asks for that
	}
	if _, err := e.store.Put(step.Input); err != nil {
		return made{}, err
	}
	switch {
	case m.Failure != nil:
		return m, nil
	case s.Samples > 0: // a list of outputs, each of which has the schema
		m.doc = a.Output
	default:
		if m.doc, m.Failure = e.output(s, &host.Result{Output: a.Output.Bytes}, m.Action); m.Failure != nil {
			return m, nil
		}
	}
	ref, err := e.store.Put(m.doc)
	m.Output, m.OutputRef = m.doc.Digest, ref
	return m, err
}

// tellEnded tells a rehearsal of an item that came to its end.
func (e *engine) tellEnded(it *item) {
	if e.Rehearsal == nil {
		return
	}
	e.Rehearsal.Ended(Ended{
		Problem: problemOf(it), Record: it.verdict.Record, Traversal: it.t, Refused: it.refused, Origin: it.origin,
		Verdict: it.verdict, Seq: it.family.seq, Index: it.index,
	})
}

// rehearsalCassette is what answers a rehearsal: the pipeline's cassette, or one
// that holds nothing.
func (e *engine) rehearsalCassette() string {
	if replay := e.Graph.Pipeline.Replay; replay != "" {
		return filepath.Join(e.Dir, replay)
	}
	return filepath.Join(e.Rehearsal.Workspace, Unrecorded)
}

// prepare makes what a rehearsal needs to be there.
func (r *Rehearsal) prepare() error {
	return os.WriteFile(filepath.Join(r.Workspace, Unrecorded), nil, 0o600)
}
