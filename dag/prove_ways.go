package dag

import (
	"fmt"
	"strings"
)

// cycles proves that with all bounded edges removed the graph is acyclic. Of
// each knot of stages it prints one shortest cycle.
func (p *prover) cycles() bool {
	x := p.x
	unbounded := func(e *edge) bool { return e.to >= 0 && !e.bounded }
	ok := true
	for _, knot := range x.components(unbounded) {
		cycle := x.shortestCycle(knot, unbounded)
		if cycle == nil {
			continue
		}
		ok = false
		path := "stage." + x.stages[x.edges[cycle[0]].from].Name
		for _, i := range cycle {
			path += x.arrow(i)
		}
		problem := p.complain(x.edges[cycle[0]].arm.Pos, sumUnbounded,
			"An item could go round for ever: %s. Write into one of these arms how often it may be taken, and where an item goes after that:\n    max = 2\n    exhausted { stop = \"failed\" }", path)
		for _, i := range cycle[1:] {
			problem.Related = append(problem.Related, x.edges[i].arm.Pos)
		}
	}
	return ok
}

// arrow is an edge for people: ` → stage.b (pipeline.hcl:12,3)`.
func (x *index) arrow(i int) string {
	e := &x.edges[i]
	return " → " + e.target(x) + " (" + e.arm.Pos.String() + ")"
}

func (e *edge) target(x *index) string {
	if e.to >= 0 {
		return "stage." + x.stages[e.to].Name
	}
	if e.gate() {
		return "gate." + x.gateName
	}
	return "stop"
}

// start finds the one stage where an item starts. A stage that only loops lead
// back to may be it where there is no other, and where it comes to every stage.
func (p *prover) start() {
	candidates := p.x.starts()
	switch len(candidates) {
	case 1:
		p.g.First = candidates[0]
	case 0:
		p.complain(p.g.Pipeline.Pos, sumNoStart,
			"An item starts at the stage that no route leads to, and here some route leads to each. Put a stage before the first one, and a route from it to there:\n    stage \"start\" {\n      decide {\n        else { outcome = \"ok\" }\n      }\n    }")
	default:
		problem := p.complain(candidates[1].Pos, sumSeveralStarts,
			"An item starts at the stage that no route leads to, and that is true of %s. Lead a route to all of them but one; where items must start at different stages, put a stage of `decide` rules before them.",
			enumerate(stageNames(candidates), "and"))
		problem.Related = append(problem.Related, candidates[0].Pos)
		for _, s := range candidates[2:] {
			problem.Related = append(problem.Related, s.Pos)
		}
	}
}

// starts lists the stages where an item may start: those that no route leads
// to from another stage; where there is none, those that only bounded edges
// lead back to and from which every stage can be reached.
func (x *index) starts() []*Stage {
	led, ledUnbounded := make([]bool, len(x.stages)), make([]bool, len(x.stages))
	for i := range x.edges {
		if e := &x.edges[i]; e.to >= 0 && e.to != e.from {
			led[e.to] = true
			if !e.bounded {
				ledUnbounded[e.to] = true
			}
		}
	}
	var first, looped []*Stage
	for i, s := range x.stages {
		switch {
		case !led[i]:
			first = append(first, s)
		case !ledUnbounded[i] && x.reachesAll(i):
			looped = append(looped, s)
		}
	}
	if len(first) == 0 {
		return looped
	}
	return first
}

func (x *index) reachesAll(from int) bool {
	for s, ok := range x.reach(from, nil) {
		if !ok && s != from {
			return false
		}
	}
	return true
}

// reachable proves that every stage, and the gate, can be reached.
func (p *prover) reachable() {
	first := p.x.num[p.g.First]
	seen := p.x.reach(first, nil)
	seen[first] = true
	for i, s := range p.x.stages {
		if !seen[i] {
			p.complain(s.Pos, sumUnreachableStage,
				"No way leads from stage.%s, where an item starts, to stage.%s. Lead a route to it, or delete it with its route.", p.g.First.Name, s.Name)
		}
	}
	for i := range p.x.edges {
		if e := &p.x.edges[i]; e.gate() && seen[e.from] {
			return
		}
	}
	if p.g.Gate != nil {
		p.complain(p.g.Gate.Pos, sumUnreachableGate,
			"No way leads from stage.%s, where an item starts, to gate.%s, so nothing could ever be accepted. Write `to = gate.%s` in the route of the last stage.",
			p.g.First.Name, p.g.Gate.Name, p.g.Gate.Name)
	}
}

// invariants proves each path property, or prints a shortest way that breaks it.
func (p *prover) invariants() {
	for _, inv := range p.g.Invariants {
		if inv.Through == nil || len(inv.From) == 0 {
			continue // a static condition, which the language has decided
		}
		through, ok := p.x.num[inv.Through]
		if !ok {
			continue
		}
		for _, s := range inv.sources() {
			if from, ok := p.x.num[s]; ok {
				p.invariant(inv, from, through)
			}
		}
	}
}

// sources lists the stages from which the way to the gate must lead through
// Through: From, and Through itself where it changes the item.
func (inv *Invariant) sources() []*Stage {
	list := make([]*Stage, 0, len(inv.From)+1)
	for _, s := range inv.From {
		if s != inv.Through {
			list = append(list, s)
		}
	}
	if !inv.Through.ForwardItem {
		list = append(list, inv.Through)
	}
	return list
}

func (p *prover) invariant(inv *Invariant, from, through int) {
	way := p.x.wayToGate(from, through)
	if way == nil {
		return
	}
	var path strings.Builder
	path.WriteString("stage." + p.x.stages[from].Name)
	for _, i := range way {
		path.WriteString(p.x.arrow(i))
	}
	cure := fmt.Sprintf("Lead that way through stage.%s, or state the invariant otherwise.", inv.Through.Name)
	if from == through {
		cure = fmt.Sprintf("What travels on from stage.%s is not the item that came to it, so it counts as one of `from`: write `forward = item` in it, or let another stage look at what it made.", inv.Through.Name)
	}
	problem := p.complain(inv.Pos, sumInvariantBroken,
		"%q: an item can come from stage.%s to gate.%s without passing stage.%s after it: %s. %s",
		inv.Text, p.x.stages[from].Name, p.gateName(), inv.Through.Name, path.String(), cure)
	for _, i := range way {
		problem.Related = append(problem.Related, p.x.edges[i].arm.Pos)
	}
}

// wayToGate is a shortest way from a stage to the gate that does not pass
// through another one, as edges; nil where there is none. Bounded edges count
// whatever their bound, so that the property does not hang on a variable.
func (x *index) wayToGate(from, through int) []int {
	return x.search(from, func(e *edge) (follow, found bool) {
		return e.to >= 0 && e.to != through, e.commits()
	})
}

// search is a shortest way of edges from a stage to the first that is found.
func (x *index) search(from int, visit func(*edge) (follow, found bool)) []int {
	by := make([]int, len(x.stages)) // the edge that led there
	for i := range by {
		by[i] = -1
	}
	back := func(last int) []int {
		way := []int{last}
		for s := x.edges[last].from; s != from; s = x.edges[way[0]].from {
			way = append([]int{by[s]}, way...)
		}
		return way
	}
	todo := []int{from}
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		for _, i := range x.out[s] {
			e := &x.edges[i]
			follow, found := visit(e)
			if found {
				return back(i)
			}
			if follow && e.to != from && by[e.to] < 0 {
				by[e.to] = i
				todo = append(todo, e.to)
			}
		}
	}
	return nil
}

// shortestCycle is a shortest cycle inside a knot, from its first stage in
// order of declaration that lies on one of that length; nil where none is.
func (x *index) shortestCycle(knot []int, use func(*edge) bool) []int {
	in := make([]bool, len(x.stages))
	for _, s := range knot {
		in[s] = true
	}
	var best []int
	for s := range x.stages {
		if !in[s] {
			continue
		}
		cycle := x.search(s, func(e *edge) (follow, found bool) {
			ok := use(e) && in[e.to]
			return ok, ok && e.to == s
		})
		if cycle != nil && (best == nil || len(cycle) < len(best)) {
			best = cycle
		}
	}
	return best
}
