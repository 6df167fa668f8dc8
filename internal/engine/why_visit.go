package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/staging"
)

// VisitWhy is why a visit was made, or why it was not made again: its action
// against an earlier one.
type VisitWhy struct {
	Item string `json:"item"`
	*VisitFacts
	Run     string   `json:"run,omitempty"`     // that made it; empty: nothing was kept of it
	Reason  string   `json:"reason"`            // on one line, of the visit itself
	Against *Against `json:"against,omitempty"` // nil: there is nothing to compare it with
	Because []Cause  `json:"because,omitempty"` // what before it had changed, the first first
	Changes []Change `json:"changes,omitempty"` // of its own action
	Notes   []string `json:"notes,omitempty"`   // of the plugin
	Message string   `json:"message,omitempty"` // of its failure
}

// Against is the visit that another is compared with.
type Against struct {
	Run  string `json:"run"`
	Pass int    `json:"pass,omitzero"`
	// Item tells whether it was a visit of the same item; else it was the latest of
	// the stage, of another item.
	Item bool `json:"same_item"`
}

// Cause is something before a visit that was not as before.
type Cause struct {
	Stage   string   `json:"stage,omitempty"` // empty: the source's record
	Pass    int      `json:"pass,omitzero"`
	New     bool     `json:"new,omitzero"`      // the stage had not visited the item before
	Between bool     `json:"between,omitzero"`  // the visit came between the two passes that are compared
	Changes []Change `json:"changes,omitempty"` // of its output, or of the record
	// Own is what changed of the stage's own action, its input aside.
	Own []Change `json:"own,omitempty"`
}

// WhyVisit tells of each visit of a stage on an item's latest trail. One that it
// did not visit is answered by WhyNotRun.
func WhyVisit(store *staging.Store, dir, stage, key string) ([]VisitWhy, error) {
	p, err := recall(store, dir, key)
	if err != nil {
		return nil, err
	}
	t := p.member(p.last()).Trail
	if err := p.knows(stage, t); err != nil {
		return nil, err
	}
	var all []VisitWhy
	if t == nil {
		return nil, nil
	}
	before, err := p.findActions(t, stage)
	if err != nil {
		return nil, err
	}
	for i := range t.Visits {
		if t.Visits[i].Stage != stage {
			continue
		}
		all = append(all, *p.whyVisit(t, i, before))
	}
	return all, nil
}

// knows refuses a stage that neither the pipeline of the run nor the trail has.
func (p *past) knows(stage string, t *dag.Trail) error {
	known := p.outline(p.last()).stageNames()
	if t != nil {
		for _, v := range t.Visits {
			if !slices.Contains(known, v.Stage) {
				known = append(known, v.Stage)
			}
		}
	}
	if slices.Contains(known, stage) {
		return nil
	}
	return &Unknown{Name: stage, Known: known, text: "the pipeline of run " + p.trails[p.last()].Run + " has no such stage", hint: "penstock graph"}
}

// whyVisit compares the i-th visit of the latest trail.
func (p *past) whyVisit(t *dag.Trail, i int, latest *staging.Action) *VisitWhy {
	v := &t.Visits[i]
	w := &VisitWhy{Item: p.key, VisitFacts: visitFacts(v, p.outline(p.last()))}
	if v.Failure != nil {
		w.Message = v.Failure.Message
	}
	if v.Action.IsZero() {
		w.Reason = whyDecided(v)
		return w
	}
	now := p.actions[v.Action]
	if now != nil {
		w.Run, w.Notes = now.Run, now.Notes
	}
	prior, n := p.before(t, i)
	if prior == nil {
		p.first(w, now, latest)
		return w
	}
	w.Against = &Against{Run: p.trails[n].Run, Pass: prior.Pass, Item: true}
	w.Because = p.causes(t, i, n)
	last := p.actions[prior.Action]
	switch {
	case prior.Action == v.Action:
		w.Reason = p.whySame(t, i, n)
		return w
	case prior.Action.IsZero():
		w.Reason = "its visit before gave no answer to keep"
		return w
	case now == nil || last == nil:
		w.Reason = "what it is to be compared with is gone from staging"
		return w
	}
	w.Changes = p.actionChanges(last, now)
	w.Reason = whyOther(v, prior, w)
	return w
}

// whyDecided is for visits that are no action.
func whyDecided(v *dag.Visit) string {
	if stateOf(v) == VisitRefused {
		return "it failed before anything was executed"
	}
	return "its rules are applied anew each time: it costs nothing and nothing is kept of it"
}

// findActions reads the actions of all visits on the item's trails, and of its
// parents. latest is the stage's latest action before its first visit on t, where
// no earlier trail has one.
func (p *past) findActions(t *dag.Trail, stage string) (latest *staging.Action, err error) {
	wanted := map[dag.Digest]bool{}
	for n := range p.trails {
		old := p.member(n).Trail
		if old == nil {
			continue
		}
		for _, v := range append(p.parents(n, old), old.Visits...) {
			wanted[v.Action] = true
		}
	}
	var first, input dag.Digest
	if i := slices.IndexFunc(t.Visits, func(v dag.Visit) bool { return v.Stage == stage }); i >= 0 {
		if prior, _ := p.before(t, i); prior == nil {
			first, input = t.Visits[i].Action, t.Visits[i].Input
		}
	}
	p.actions, latest, err = p.store.FindActions(wanted, first, stage, input)
	return latest, err
}

// first is for a stage that had not visited the item before: the latest action
// of the stage is what it can be compared with.
func (p *past) first(w *VisitWhy, now, last *staging.Action) {
	w.Reason = "it is the first visit of the stage on this item"
	if now == nil || last == nil {
		return
	}
	if w.Changes = p.recipesOf(last, now); len(w.Changes) > 0 {
		w.Against = &Against{Run: last.Run}
	}
	switch {
	case w.State == VisitReused:
		w.Reason += ", and the very same action was made before for another"
	case last.Input == now.Input:
		w.Reason += "; the same document was visited before under another key"
	case len(w.Changes) == 0:
		w.Reason += "; no action of the stage had this document"
	}
}

// whySame is for an action that is the very one of the visit before.
func (p *past) whySame(t *dag.Trail, i, n int) string {
	if !t.Visits[i].Facts.Reused {
		if n == p.last() {
			return "it is the very action of a pass before, which has no answer that is kept"
		}
		return "nothing of its action changed, but its answer was asked for anew: -B, --record, `cache = false`, max_age, or it was gone from staging"
	}
	for _, v := range append(p.parents(p.last(), t), t.Visits[:i]...) {
		if state := stateOf(&v); state == VisitRun || state == VisitReplayed {
			return "nothing of its action changed: " + v.Stage + " was run anew, and what this visit reads came out the same"
		}
	}
	if n < p.last() && p.runs[p.trails[n].Run].Outline != p.runs[p.trails[p.last()].Run].Outline {
		return "the pipeline was edited, but nothing of this action: its answer came from staging"
	}
	return "nothing of its action changed: its answer came from staging"
}

// whyOther is for an action that is not that of the visit before.
func whyOther(v, prior *dag.Visit, w *VisitWhy) string {
	reason := "changed: " + partsOf(w.Changes)
	if len(w.Changes) == 0 {
		reason = "its action is another one, in what is not on record"
	}
	switch {
	case v.Facts.Reused:
		reason += "; the very same action had been made before, so it was not run again"
	case v.Facts.Unpaid && prior.Output == v.Output && prior.Input == v.Input:
		reason += "; it was run, but what it asked is the same text as before: the completion came from staging"
	case prior.Output == v.Output:
		reason += "; it was run, and gave the same output: what follows is not run again for it"
	}
	return reason
}

// before finds the latest visit of the stage that came before the i-th of the
// latest trail: on an earlier trail of the item, of the same pass where there is
// one, else on this trail. n is the trail's number.
func (p *past) before(t *dag.Trail, i int) (visit *dag.Visit, n int) {
	v := &t.Visits[i]
	for n := p.last() - 1; n >= 0; n-- {
		if old := p.member(n).Trail; old != nil {
			if found := visitOf(old.Visits, v.Stage, v.Pass); found != nil {
				return found, n
			}
		}
	}
	return visitOf(t.Visits[:i], v.Stage, 0), p.last()
}

// visitOf is the visit of a stage with this pass, else its last one.
func visitOf(visits []dag.Visit, stage string, pass int) (found *dag.Visit) {
	for i := range visits {
		if v := &visits[i]; v.Stage == stage && (found == nil || found.Pass != pass) {
			found = v
		}
	}
	return found
}

// causes lists what before the i-th visit was not as on the n-th trail: the
// source's record first, then outputs in the order of the way.
func (p *past) causes(t *dag.Trail, i, n int) []Cause {
	var causes []Cause
	if n == p.last() {
		for k := i - 1; k >= 0 && t.Visits[k].Stage != t.Visits[i].Stage; k-- {
			causes = append(causes, Cause{Stage: t.Visits[k].Stage, Pass: t.Visits[k].Pass, Between: true})
		}
		slices.Reverse(causes)
		return causes
	}
	old := p.member(n).Trail
	if t.Origin != old.Origin {
		causes = append(causes, Cause{Changes: p.documents("origin", old.Origin, t.Origin)})
	}
	now, was := append(p.parents(p.last(), t), t.Visits[:i]...), append(p.parents(n, old), old.Visits...)
	told := map[[2]dag.Digest]bool{{}: true} // a stage that passes on what it got has changed nothing
	if t.Origin != old.Origin {
		told[[2]dag.Digest{old.Origin, t.Origin}] = true
	}
	for k := range now {
		v := &now[k]
		before := visitOf(was, v.Stage, v.Pass)
		switch {
		case before == nil || before.Pass != v.Pass:
			causes = append(causes, Cause{Stage: v.Stage, Pass: v.Pass, New: true})
		case told[[2]dag.Digest{before.Output, v.Output}]:
		case before.Output != v.Output || before.Failure == nil != (v.Failure == nil):
			told[[2]dag.Digest{before.Output, v.Output}] = true
			c := Cause{Stage: v.Stage, Pass: v.Pass, Changes: p.documents("output", before.Output, v.Output)}
			if a, b := p.actions[before.Action], p.actions[v.Action]; a != nil && b != nil {
				c.Own = p.recipesOf(a, b)
			}
			causes = append(causes, c)
		}
	}
	return causes
}

// parents are the visits before an item was fanned out.
func (p *past) parents(n int, t *dag.Trail) []dag.Visit {
	if t.Parent == "" {
		return nil
	}
	m := memberOfFamily(p.families[n], t.Parent)
	if m == nil || m.Trail == nil {
		return nil
	}
	return append(p.parents(n, m.Trail), m.Trail.Visits...)
}

// actionChanges compares two actions, part by part.
func (p *past) actionChanges(old, now *staging.Action) []Change {
	changes := p.recipesOf(old, now)
	if old.Input != now.Input {
		changes = append(changes, p.documents("input", old.Input, now.Input)...)
	}
	if old.Sample != now.Sample {
		changes = append(changes, Change{Part: "sample", Old: fmt.Sprint(old.Sample), New: fmt.Sprint(now.Sample)})
	}
	return changes
}

// recipesOf compares what two actions have in common with all others of theirs.
func (p *past) recipesOf(old, now *staging.Action) []Change {
	if old.Recipe == now.Recipe {
		return nil
	}
	was, okWas := p.store.Recipe(old.Recipe)
	is, okIs := p.store.Recipe(now.Recipe)
	if !okWas || !okIs {
		return []Change{{Part: "recipe", Old: old.Recipe.Short(), New: now.Recipe.Short()}}
	}
	return recipeChanges(was, is, readTold(p.store, was), readTold(p.store, is))
}

// documents compares two artifacts by their paths; by their digests alone where
// one is gone.
func (p *past) documents(part string, old, now dag.Digest) []Change {
	short := func(d dag.Digest) string {
		if d.IsZero() {
			return ""
		}
		return d.Short()
	}
	plain := []Change{{Part: part, Old: short(old), New: short(now)}}
	was, err := p.store.Get(old)
	if err != nil {
		return plain
	}
	is, err := p.store.Get(now)
	if err != nil {
		return plain
	}
	if changes := documentChanges(part, was, is); len(changes) > 0 {
		return changes
	}
	return plain
}

// SplitVisit takes "STAGE[ITEM]" apart; ok is false for anything else.
func SplitVisit(what string) (stage, item string, ok bool) {
	stage, item, ok = strings.Cut(what, "[")
	if !ok || !strings.HasSuffix(item, "]") || stage == "" || strings.ContainsAny(stage, "/.: ") {
		return "", "", false
	}
	return stage, item[:len(item)-1], true
}
