package dag

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is a complaint about a pipeline that must not start.
type Problem struct {
	Pos     Pos
	Summary string // constant words, no name of the user's
	Detail  string // what, why here, what to write instead
	Related []Pos  // other places that belong to it
}

// Prove numbers the arms, fills First, LongestTrail and the look-ups, and
// proves what can be known of a pipeline before it runs: that each stage has
// one way out for each outcome, that all of it can be reached, that every item
// comes to an end, and that the invariants hold. Without a problem the graph
// may be walked; from then on it must not be changed.
//
// What would fail only because something else failed is not complained about.
func (g *Graph) Prove() []Problem {
	x := newIndex(g)
	g.index = x
	g.First, g.LongestTrail = nil, 0
	g.Arms = x.arms
	for i, a := range x.arms {
		a.ID = i
	}
	for i, s := range g.Stages {
		s.Index = i
	}
	x.compile(g)

	p := &prover{g: g, x: x}
	p.declared()
	p.routesOnce()
	p.outcomesOnce()
	p.deadEnds()
	routed := len(p.problems) == 0
	bounded := p.cycles()
	if routed && bounded {
		p.start()
	}
	if g.First != nil && routed && bounded {
		p.reachable()
		g.LongestTrail = x.longestTrail(x.num[g.First])
	}
	if routed {
		p.invariants()
	}
	p.independence()
	p.holding()
	return p.problems
}

// prover collects the problems of one graph.
type prover struct {
	g        *Graph
	x        *index
	problems []Problem
}

func (p *prover) complain(pos Pos, summary, detail string, args ...any) *Problem {
	p.problems = append(p.problems, Problem{Pos: pos, Summary: summary, Detail: fmt.Sprintf(detail, args...)})
	return &p.problems[len(p.problems)-1]
}

func (p *prover) declared() {
	if len(p.g.Stages) == 0 {
		p.complain(p.g.Pipeline.Pos, sumNoStage,
			"An item starts at a stage, and this pipeline declares none. Write at least one `stage \"name\" { … }` and a route from it.")
	}
	if p.g.Gate == nil {
		p.complain(p.g.Pipeline.Pos, sumNoGate,
			"The gate is the only way into a corpus, and it hears of every item that is stopped; this pipeline declares none. Write one `gate \"name\" { … }`.")
	}
}

// routesOnce proves that each stage has its way out in exactly one route.
func (p *prover) routesOnce() {
	routes := map[*Stage][]*Route{}
	for _, r := range p.g.Routes {
		for _, s := range r.From {
			routes[s] = append(routes[s], r)
		}
	}
	for _, s := range p.g.Stages {
		switch list := routes[s]; {
		case len(list) == 0:
			p.complain(s.Pos, sumNoRoute,
				"No route leads out of stage.%s, so an item that has visited it could go nowhere. Name it in the `from` of a route; to end there, write `stop = \"failed\"` or `to = gate.%s` in that route.",
				s.Name, p.gateName())
		case len(list) > 1 && list[0] == list[1]:
			p.complain(list[1].Pos, sumNamedTwice,
				"stage.%s stands twice in the `from` of this route. Name it once.", s.Name)
		case len(list) > 1:
			problem := p.complain(list[1].Pos, sumTwoRoutes,
				"Both route %q and route %q lead out of stage.%s, so it is not decided which one an item takes. Put both into one route, with `when` or `on` to choose.",
				list[0].Name, list[1].Name, s.Name)
			problem.Related = append(problem.Related, list[0].Pos)
		}
	}
}

// outcomesOnce proves that a route with `on` has one way for each outcome that
// its stages declare, and no other.
func (p *prover) outcomesOnce() {
	for _, r := range p.g.Routes {
		if r.To != nil || len(r.On) == 0 {
			continue
		}
		for i, o := range r.Order {
			if slices.Contains(r.Order[:i], o) {
				p.complain(armPos(r.On[o], r.Pos), sumRoutedTwice,
					"Route %q has more than one `on %q`. Keep one; to choose between ways on one outcome, put `when` blocks into it.", r.Name, o)
			}
		}
		for _, s := range r.From {
			p.outcomesOf(r, s)
		}
	}
}

func (p *prover) outcomesOf(r *Route, s *Stage) {
	var missing []string
	for _, o := range s.Outcomes {
		if _, ok := r.On[o]; !ok {
			missing = append(missing, o)
		}
	}
	if len(missing) > 0 {
		problem := p.complain(r.Pos, sumOpenOutcome,
			"stage.%s can end with %s, and route %q does not say where an item goes then. Write in it%s",
			s.Name, quoted(missing, "or"), r.Name, onBlocks(missing))
		problem.Related = append(problem.Related, s.Pos)
	}
	for _, o := range r.outcomes() {
		if !slices.Contains(s.Outcomes, o) {
			problem := p.complain(armPos(r.On[o], r.Pos), sumUndeclaredOutcome,
				"stage.%s never ends with %q: it declares %s. Write one of those, or add %q to its `outcomes`.",
				s.Name, o, quoted(s.Outcomes, "and"), o)
			problem.Related = append(problem.Related, s.Pos)
		}
	}
}

func (p *prover) deadEnds() {
	for _, r := range p.g.Routes {
		if r.To == nil && len(r.On) == 0 && len(r.From) > 0 {
			p.complain(r.Pos, sumDeadEnd,
				"Route %q does not say where an item goes. Write `to = stage.NAME`, `to = gate.%s`, `when { … }` and `else { … }`, or an `on \"outcome\" { … }` for each outcome.",
				r.Name, p.gateName())
		}
	}
	for _, d := range p.x.dead {
		if d.what == "" {
			continue
		}
		p.complain(d.pos, sumDeadEnd,
			"Every way ends at the gate or at a stop; here %s is missing. Write `to = stage.NAME`, `to = gate.%s` or `stop = \"failed\"`.",
			d.what, p.gateName())
	}
}

func (p *prover) gateName() string {
	if p.g.Gate == nil {
		return "NAME"
	}
	return p.g.Gate.Name
}

// outcomes lists the outcomes of On, each once: as written, then by name those
// that Order does not hold.
func (r *Route) outcomes() []string {
	list := make([]string, 0, len(r.On))
	for _, o := range r.Order {
		if _, ok := r.On[o]; ok && !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	if len(list) == len(r.On) {
		return list
	}
	var rest []string
	for o := range r.On {
		if !slices.Contains(list, o) {
			rest = append(rest, o)
		}
	}
	slices.Sort(rest)
	return append(list, rest...)
}

func armPos(a *Arm, otherwise Pos) Pos {
	if a == nil {
		return otherwise
	}
	return a.Pos
}

// quoted is a list for people: `"a", "b" and "c"`.
func quoted(words []string, last string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = fmt.Sprintf("%q", w)
	}
	return enumerate(q, last)
}

func enumerate(words []string, last string) string {
	switch len(words) {
	case 0:
		return "none"
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

func onBlocks(outcomes []string) string {
	var blocks strings.Builder
	for _, o := range outcomes {
		fmt.Fprintf(&blocks, "\n    on %q { stop = \"rejected\" }", o)
	}
	return blocks.String() + "\nor lead it on with `to = stage.NAME`."
}

func stageNames(stages []*Stage) []string {
	names := make([]string, len(stages))
	for i, s := range stages {
		names[i] = "stage." + s.Name
	}
	return names
}
