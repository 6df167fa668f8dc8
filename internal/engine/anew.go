package engine

import (
	"slices"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/staging"
)

// anewBy finds what has this visit made anew, nil where staging may answer it.
func (e *engine) anewBy(it *item, stage string, pass int) *anewRule {
	if !e.choice.narrows() {
		return nil
	}
	if r := e.choice.rule(stage, it.key, it.family.members[0].key); r != nil {
		return r
	}
	if again := it.family.again[it.key]; again != nil && again.stage == stage && again.pass == pass {
		return again.rule
	}
	return nil
}

// again is an item that is taken up once more: its last visit is made anew, the
// model asked anew, and the gate judges anew.
type again struct {
	rule  *anewRule
	stage string // empty: no stage visited it
	pass  int
}

// retried finds which members of a family are to be taken up again, by how they
// ended when it last ran.
func (e *engine) retried(members []Member) map[string]*again {
	if len(e.choice.retry) == 0 {
		return nil
	}
	found := map[string]*again{}
	for i := range members {
		m := &members[i]
		class := e.retryClass(m)
		if class == "" {
			continue
		}
		e.choice.met[class] = true
		a := &again{rule: &anewRule{flag: "--retry " + class, model: true, retry: true}}
		if v := e.lastVisit(m); v != nil {
			if v.Facts.EndedAt.After(e.started) {
				continue // a run beside this one has just done so
			}
			a.stage, a.pass = v.Stage, v.Pass
		}
		found[m.Key] = a
	}
	return found
}

// retryClass is the class of --retry that a member belongs to. What is parked
// has a visit to come, which every run makes: it belongs to none.
func (e *engine) retryClass(m *Member) string {
	if !m.End.Final() || m.End == dag.Accepted || m.End == dag.Expanded {
		return ""
	}
	codes := slices.Clone(m.Codes)
	if m.Trail != nil {
		codes = append(codes, m.Trail.Code)
		if f := m.Trail.Failed; f != nil {
			codes = append(codes, f.Code, f.Cause)
		}
		if v := e.lastVisit(m); v != nil && v.Failure != nil {
			codes = append(codes, v.Failure.Code, v.Failure.Cause)
		}
	}
	for _, class := range e.choice.retry {
		switch {
		case class == string(m.End), slices.Contains(codes, dag.Code(class)):
			return class
		case class == transient && slices.Contains(codes, dag.EPluginCrash):
			return class
		}
	}
	return ""
}

// lastVisit is the last one that a plugin made.
func (e *engine) lastVisit(m *Member) *dag.Visit {
	if m.Trail == nil {
		return nil
	}
	for i := len(m.Trail.Visits) - 1; i >= 0; i-- {
		if s := e.Graph.Stage(m.Trail.Visits[i].Stage); s != nil && s.Plugin != nil {
			return &m.Trail.Visits[i]
		}
	}
	return nil
}

// takeUp finds out what of a family that was taken in is to be taken up again.
func (e *engine) takeUp(f *family) {
	if len(e.choice.retry) == 0 {
		return
	}
	var trail *staging.Trail
	if head, ok := e.store.Trail(f.key); ok {
		trail, _ = e.store.LoadTrail(head) // one that cannot be read is none
	}
	if trail == nil {
		trail, _ = e.store.TrailByItem(f.source, f.members[0].key)
	}
	if trail != nil {
		f.again = e.retried(membersOf(trail))
	}
}

// keepOld remembers what an action came to before it is made anew for some items
// and not for others: those are answered as if it were not. So what a run does
// does not hang on which of two items comes first.
func (e *engine) keepOld(rule *anewRule, s *dag.Stage, action dag.Digest) {
	if rule.item == everyItem {
		return
	}
	if a, ok, err := e.store.Action(action); err == nil && ok && e.reusable(s, a.Facts.EndedAt) {
		if e.kept == nil {
			e.kept = map[dag.Digest]*staging.Action{}
		}
		e.kept[action] = a
	}
}

// joins reports whether an item waits for a visit that is under way: not where it
// is made anew for others, and this item has an answer.
func (e *engine) joins(it *item, step dag.Step, v *visit) bool {
	rule := e.anewBy(it, step.Stage.Name, step.Pass)
	if rule == nil {
		return e.kept[v.action] == nil
	}
	v.anew = v.anew || rule.model // without effect once the plugin has it
	return true
}
