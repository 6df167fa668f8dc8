package dag

import "sync"

// index is the graph in the form that proofs and traversals walk: numbers
// instead of pointers, arms flattened to edges. It is made once, by Prove.
type index struct {
	stages []*Stage
	num    map[*Stage]int
	byName map[string]*Stage
	routes map[*Stage]*Route

	arms     []*Arm // in order: Arm.ID is the index
	edges    []edge
	out      [][]int      // by stage: its edges, those of a success before those of a failure
	counters []*Arm       // arms that an item may take so many times only
	counter  map[*Arm]int // index in counters
	dead     []deadEnd    // arms that lead nowhere

	gateName  string
	codes     map[Code]*FailureCode
	routeOf   []*Route // by stage
	countOf   []int    // by arm: its counter, -1 where it has none
	stale     map[jump][]int
	keep      []bool // by stage: some expression reads its artifact's bytes
	keepOrig  bool   // some expression reads origin
	digest    Digest // of the graph; see digestOnce
	sumOnce   sync.Once
	visitOnce sync.Once
	inAllOnce sync.Once
	visits    map[*Stage]map[*Stage]int // MaxVisitsFrom
	inAll     map[*Stage]map[*Stage]int // MaxVisitsInAll
}

// edge is one way from a stage to the next, to the gate or to a stop.
type edge struct {
	from, to int   // stages; to is -1 for an end
	arm      *Arm  // the leaf of the arm tree
	fail     bool  // taken after a failure
	bounded  bool  // has a bound of its own: an arm with max, or a resume
	takes    []int // counters that taking it spends one of
	after    []int // counters that must be spent before it can be taken
}

// gate reports whether the edge hands the item to the gate.
func (e *edge) gate() bool { return e.arm.Kind == ArmGate }

// commits reports whether the edge is a way into the corpus: what a route only
// records as skipped or rejected never becomes a record.
func (e *edge) commits() bool { return e.gate() && e.arm.As != Skip && e.arm.As != Reject }

// jump is a bounded edge, or a resume, as a pair: from where, to where.
type jump struct{ from, to int }

// deadEnd is an arm that is not there, or has nothing to lead to.
type deadEnd struct {
	pos  Pos
	what string // what is missing, for the complaint
}

func newIndex(g *Graph) *index {
	x := &index{
		stages:  g.Stages,
		num:     make(map[*Stage]int, len(g.Stages)),
		byName:  make(map[string]*Stage, len(g.Stages)),
		routes:  make(map[*Stage]*Route, len(g.Stages)),
		out:     make([][]int, len(g.Stages)),
		counter: map[*Arm]int{},
		stale:   map[jump][]int{},
	}
	if g.Gate != nil {
		x.gateName = g.Gate.Name
	}
	for i, s := range g.Stages {
		x.num[s] = i
		if x.byName[s.Name] == nil {
			x.byName[s.Name] = s
		}
	}
	seen := map[*Arm]bool{}
	for _, r := range g.Routes {
		for _, a := range r.arms() {
			x.number(a, seen)
		}
		for _, s := range r.From {
			if _, ok := x.num[s]; ok && x.routes[s] == nil {
				x.routes[s] = r
			}
		}
	}
	for i, s := range g.Stages {
		if r := x.routes[s]; r != nil {
			x.flatten(i, r)
		}
	}
	for i := range x.edges {
		if e := &x.edges[i]; e.bounded && e.to >= 0 {
			x.stale[jump{e.from, e.to}] = x.between(e.from, e.to)
		}
	}
	return x
}

// arms lists the arms of a route in the order in which they stand; nil where
// one is missing.
func (r *Route) arms() []*Arm {
	var out []*Arm
	if r.To != nil {
		out = append(out, r.To)
	}
	for _, o := range r.outcomes() {
		out = append(out, r.On[o])
	}
	for _, f := range r.Fail {
		out = append(out, f.Arm)
	}
	return out
}

// number lists a and all arms below it, each once, and gives counters out.
func (x *index) number(a *Arm, seen map[*Arm]bool) {
	if a == nil || seen[a] {
		return
	}
	seen[a] = true
	x.arms = append(x.arms, a)
	if a.Kind == ArmStage && a.Bounded || a.Kind == ArmAsk && a.Ask != nil {
		x.counter[a] = len(x.counters)
		x.counters = append(x.counters, a)
	}
	for _, b := range a.Branches {
		x.number(b.Arm, seen)
	}
	x.number(a.Else, seen)
	x.number(a.Exhausted, seen)
	if a.Ask != nil {
		x.number(a.Ask.Exhausted, seen)
		x.number(a.Ask.Expired, seen)
	}
	x.number(a.Shadow, seen)
}

// maximum is how often a counter may be spent.
func (x *index) maximum(counter int) int {
	a := x.counters[counter]
	if a.Kind == ArmAsk {
		return max(a.Ask.Max, 0)
	}
	return max(a.Max, 0)
}

// flatten turns the arms of a stage's route into edges.
func (x *index) flatten(from int, r *Route) {
	if r.To != nil {
		x.leaves(r.To, edge{from: from}, r.Pos, "a way out")
	}
	for _, o := range r.outcomes() {
		x.leaves(r.On[o], edge{from: from}, r.Pos, "a way on an outcome")
	}
	for _, f := range r.Fail {
		x.leaves(f.Arm, edge{from: from, fail: true}, r.Pos, "a way on a failure")
	}
}

// leaves adds an edge for each leaf under a. e holds what is known on the way
// down; pos and what name the place for an arm that is not there.
func (x *index) leaves(a *Arm, e edge, pos Pos, what string) {
	if a == nil {
		x.deadEnd(pos, what)
		return
	}
	if a.Mode != nil {
		x.leaves(a.Shadow, e, a.Pos, "`shadow`, the way that is taken while the mode is shadow")
	}
	e.arm = a
	switch a.Kind {
	case ArmWhen:
		if len(a.Branches) == 0 && a.Else == nil {
			x.deadEnd(a.Pos, "a branch")
		}
		for _, b := range a.Branches {
			x.leaves(b.Arm, e, a.Pos, "what to do when a condition holds")
		}
		if a.Else != nil {
			x.leaves(a.Else, e, a.Pos, "")
		}
	case ArmStage:
		x.stageLeaf(a, e)
	case ArmAsk:
		x.askLeaves(a, e)
	case ArmGate, ArmStop:
		x.add(e, nil)
	default:
		x.deadEnd(a.Pos, "a `to`, `stop` or `ask`")
	}
}

func (x *index) stageLeaf(a *Arm, e edge) {
	if _, ok := x.num[a.Stage]; !ok {
		x.deadEnd(a.Pos, "a stage of this pipeline")
		return
	}
	if !a.Bounded {
		x.add(e, a.Stage)
		return
	}
	c := x.counter[a]
	taken := e
	taken.bounded = true
	taken.takes = with(e.takes, c)
	x.add(taken, a.Stage)
	if a.Exhausted != nil {
		e.after = with(e.after, c)
		x.leaves(a.Exhausted, e, a.Pos, "")
	}
}

func (x *index) askLeaves(a *Arm, e edge) {
	if a.Ask == nil || len(a.Ask.Resume) == 0 {
		x.deadEnd(a.Pos, "`resume`, the stage to go on from")
		return
	}
	c := x.counter[a]
	asked := e
	asked.takes = with(e.takes, c)
	for _, s := range a.Ask.Resume {
		if _, ok := x.num[s]; !ok {
			x.deadEnd(a.Pos, "a stage of this pipeline to resume at")
			continue
		}
		resume := asked
		resume.bounded = true
		x.add(resume, s)
	}
	if a.Ask.Expired != nil {
		x.leaves(a.Ask.Expired, asked, a.Pos, "")
	}
	if a.Ask.Exhausted != nil {
		e.after = with(e.after, c)
		x.leaves(a.Ask.Exhausted, e, a.Pos, "")
	}
}

func (x *index) deadEnd(pos Pos, what string) {
	d := deadEnd{pos, what}
	for _, known := range x.dead {
		if known == d { // a route from several stages meets it once for each
			return
		}
	}
	x.dead = append(x.dead, d)
}

func (x *index) add(e edge, to *Stage) {
	e.to = -1
	if to != nil {
		e.to = x.num[to]
	}
	x.out[e.from] = append(x.out[e.from], len(x.edges))
	x.edges = append(x.edges, e)
}

// with is list and one more, never written into list's own memory: the edges
// of several arms share its beginning.
func with(list []int, n int) []int { return append(list[:len(list):len(list)], n) }

// reach marks the stages that can be visited after from, over all edges, on
// ways that do not pass through the stage that is avoided (nil: none is). The
// avoided stage itself is marked where it is met.
func (x *index) reach(from int, avoid *int) []bool {
	seen := make([]bool, len(x.stages))
	todo := []int{from}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if avoid != nil && s == *avoid && seen[s] {
			continue
		}
		for _, i := range x.out[s] {
			if to := x.edges[i].to; to >= 0 && !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return seen
}

// between lists the stages, without the deciding stage itself, that lie on the
// ways from a jump's target back to the deciding stage. A way ends where it
// first meets the deciding stage; one that comes to the target again begins
// anew there. Nil where no way leads back.
func (x *index) between(decides, target int) []int {
	if decides == target {
		return []int{}
	}
	met := x.reach(target, &decides)
	if !met[decides] {
		return nil
	}
	list := []int{}
	for s := range x.stages {
		switch {
		case s == decides:
		case s == target:
			list = append(list, s)
		case met[s] && x.reach(s, &target)[decides]:
			list = append(list, s)
		}
	}
	return list
}
