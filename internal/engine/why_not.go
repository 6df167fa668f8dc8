package engine

import (
	"slices"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/staging"
)

// NotRun is why a stage was not run for an item.
type NotRun struct {
	Stage string     `json:"stage"`
	Item  string     `json:"item"`
	Cause NotRunKind `json:"cause"`
	// Text is the cause in words.
	Text string `json:"text"`
	// Route is the decision that led elsewhere, and Needs the ways that would have
	// led here, each with what would have had to be so.
	Route *RouteWhy     `json:"route,omitempty"`
	Needs [][]Condition `json:"needs,omitempty"`
	Runs  []string      `json:"runs,omitempty"`     // of reused: that made its answers
	Spawn []string      `json:"children,omitempty"` // of fanned_out: the items that may have been visited
}

// NotRunKind is a closed list.
type NotRunKind string

// Why a stage was not run.
const (
	NotRunRan       NotRunKind = "ran"         // it was: at least one of its visits was made
	NotRunReused    NotRunKind = "reused"      // it visited the item, and the answer came from staging
	NotRunDecided   NotRunKind = "decided"     // it visited the item by its rules: nothing is executed
	NotRunElsewhere NotRunKind = "elsewhere"   // a route led elsewhere
	NotRunParent    NotRunKind = "parent"      // it visited the item that this one was fanned out of
	NotRunUnlinked  NotRunKind = "unlinked"    // no way leads to it from where the item was
	NotRunParked    NotRunKind = "parked"      // the run ended before, for want of infrastructure or by a stop
	NotRunWaiting   NotRunKind = "waiting"     // a person has not answered
	NotRunUnstarted NotRunKind = "not_started" // a breaker, a budget or a limit
	NotRunRefused   NotRunKind = "refused"     // the item was wrong as it came in
	NotRunFannedOut NotRunKind = "fanned_out"  // the item became others before
)

// WhyNotRun tells why a stage was not run for an item; an empty stage asks for
// every stage that was not.
func WhyNotRun(store *staging.Store, dir, stage, key string) ([]NotRun, error) {
	p, err := recall(store, dir, key)
	if err != nil {
		return nil, err
	}
	n := p.last()
	m, o := p.member(n), p.outline(n)
	if m.Trail != nil {
		if _, err := p.findActions(m.Trail, ""); err != nil {
			return nil, err
		}
	}
	if stage != "" {
		if err := p.knows(stage, m.Trail); err != nil {
			return nil, err
		}
		return []NotRun{p.notRun(m, o, stage)}, nil
	}
	all := []NotRun{}
	for _, s := range o.Stages {
		if why := p.notRun(m, o, s.Name); why.Cause != NotRunRan {
			all = append(all, why)
		}
	}
	return all, nil
}

func (p *past) notRun(m *Member, o *outline, stage string) NotRun {
	why := NotRun{Stage: stage, Item: m.Key}
	if m.Trail != nil && p.visited(&why, m.Trail) {
		return why
	}
	if parent := p.parentVisited(m.Trail, stage); parent != "" {
		why.Cause, why.Text = NotRunParent, "it visited "+parent+", which the item was fanned out of"
		return why
	}
	switch {
	case m.End == dag.NotStarted:
		why.Cause, why.Text = NotRunUnstarted, "the item was not started: "+reasonOf(m, "a breaker, a budget or a limit stood before it")
		return why
	case m.Trail == nil:
		why.Cause, why.Text = NotRunRefused, "the item was refused as it came in: "+reasonOf(m, "it is not as its source promises")
		return why
	}
	for i := len(m.Trail.Decisions) - 1; i >= 0; i-- {
		if d := &m.Trail.Decisions[i]; o.leadsTo(d.Stage, stage) {
			if p.onTheWay(m, o, d, stage) {
				break
			}
			why.Cause, why.Route = NotRunElsewhere, routeWhy(d, o)
			why.Text = "the route of stage." + d.Stage + " led to " + d.To
			why.Needs = needs(o, d.Stage, stage)
			return why
		}
	}
	switch {
	case m.End == dag.Parked:
		why.Cause, why.Text = NotRunParked, "the item is parked: "+reasonOf(m, "its run ended before")
	case m.End == dag.Waiting:
		why.Cause, why.Text = NotRunWaiting, "the item waits for an answer: "+reasonOf(m, "`penstock status` lists what is asked")
	case m.End == dag.Expanded:
		why.Cause, why.Text = NotRunFannedOut, "the item fanned out before: ask for one of the items that it became"
		for _, c := range m.Trail.Children {
			why.Spawn = append(why.Spawn, c.Key)
		}
	default:
		why.Cause, why.Text = NotRunUnlinked, "no way leads to it from where the item was"
	}
	return why
}

// parentVisited is the key of the item that a stage visited before it fanned out
// into this one; empty where there is none.
func (p *past) parentVisited(t *dag.Trail, stage string) string {
	for t != nil && t.Parent != "" {
		parent := memberOfFamily(p.families[p.last()], t.Parent)
		if parent == nil || parent.Trail == nil {
			return ""
		}
		if visitOf(parent.Trail.Visits, stage, 0) != nil {
			return parent.Key
		}
		t = parent.Trail
	}
	return ""
}

// visited tells of a stage that did visit the item.
func (p *past) visited(why *NotRun, t *dag.Trail) bool {
	found := false
	for i := range t.Visits {
		v := &t.Visits[i]
		if v.Stage != why.Stage {
			continue
		}
		found = true
		switch state := stateOf(v); {
		case state == VisitRun || state == VisitReplayed:
			why.Cause, why.Text = NotRunRan, "it did run"
			return true
		case state == VisitReused:
			why.Cause, why.Text = NotRunReused, "it visited the item, and its answer came from staging"
			if a := p.actions[v.Action]; a != nil && !slices.Contains(why.Runs, a.Run) {
				why.Runs = append(why.Runs, a.Run)
			}
		case why.Cause == "":
			why.Cause, why.Text = NotRunDecided, "it visited the item, and nothing is executed for that"
		}
	}
	return found
}

// onTheWay reports whether a decision led towards the stage, and the item did
// not get there because it was parked, waits or became others.
func (p *past) onTheWay(m *Member, o *outline, d *dag.Decision, stage string) bool {
	if d.To == "ask" {
		return m.End == dag.Waiting
	}
	a := outlineArm{To: d.To}
	next := a.stage()
	if next != stage && !o.leadsTo(next, stage) {
		return false
	}
	return !m.End.Final() || m.End == dag.Expanded
}

// needs are the ways from one stage that lead to another, directly or by others.
func needs(o *outline, from, to string) [][]Condition {
	var ways [][]Condition
	for i := range o.Arms {
		a := &o.Arms[i]
		next := a.stage()
		if next != "" && a.leaves(from) && (next == to || o.leadsTo(next, to)) {
			under := a.Under
			if under == nil {
				under = []Condition{}
			}
			ways = append(ways, under)
		}
	}
	return ways
}

func reasonOf(m *Member, otherwise string) string {
	if m.Reason != "" {
		return m.Reason
	}
	return otherwise
}
