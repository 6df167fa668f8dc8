package dag

// Unbounded is a count without a bound that is known before the run.
const Unbounded = -1

// noBound stands for Unbounded inside, and everything above it: sums and
// products of counts stay far from an overflow.
const noBound = 1 << 40

// exactStates is up to how many (stage, counters) states of a knot of loops
// are searched; past that a bound by formula serves.
const exactStates = 1 << 14

// longestTrail is the length of the longest trail from a stage, itself counted
// in: exact while the knots of loops are small, an upper bound otherwise. It is
// never above (1 + Σ max) × the longest way without bounded edges.
func (x *index) longestTrail(from int) int {
	m := &measure{x: x, weigh: func(int) int { return 1 }, fresh: true}
	m.run()
	if m.best[from] >= noBound {
		return noBound
	}
	return m.best[from]
}

// MaxVisitsFrom tells how often each stage can be visited at most on the trail
// of one item that is about to visit s, that visit counted in. A child's trail
// goes on where its parent's ended, so a fan-out counts as one way on. Stages
// that cannot be visited any more are not in it. The map is shared: it must not
// be written to.
func (g *Graph) MaxVisitsFrom(s *Stage) map[*Stage]int {
	x := g.indexed()
	x.visitOnce.Do(func() { x.visits = x.countVisits(false) })
	return x.visits[s]
}

// MaxVisitsInAll is as MaxVisitsFrom, with the visits of all items together
// that fan-outs make of this one. Unbounded stands where a fan-out before the
// stage has no `max`.
func (g *Graph) MaxVisitsInAll(s *Stage) map[*Stage]int {
	x := g.indexed()
	x.inAllOnce.Do(func() { x.inAll = x.countVisits(true) })
	return x.inAll[s]
}

func (x *index) countVisits(children bool) map[*Stage]map[*Stage]int {
	visits := make(map[*Stage]map[*Stage]int, len(x.stages))
	for _, s := range x.stages {
		visits[s] = map[*Stage]int{}
	}
	for counted, stage := range x.stages {
		m := &measure{x: x, children: children, weigh: func(s int) int {
			if s == counted {
				return 1
			}
			return 0
		}}
		m.run()
		for s, n := range m.best {
			switch {
			case n >= noBound && children:
				visits[x.stages[s]][stage] = Unbounded
			case n > 0:
				visits[x.stages[s]][stage] = n
			}
		}
	}
	return visits
}

// measure finds, for each stage, the heaviest trail that starts there with no
// counter spent. Bounded edges that leave a knot of loops are taken once at
// most by the nature of the graph, so a knot needs to know its own counters
// only, and what comes after it is measured before it.
type measure struct {
	x        *index
	weigh    func(stage int) int
	children bool // a fan-out counts its children's trails, not one of them
	// fresh is set where the trail is known to begin with no counter spent:
	// then an arm that comes after an exhausted one waits for that.
	fresh bool
	best  []int
}

func (m *measure) run() {
	x := m.x
	m.best = make([]int, len(x.stages))
	target := func(e *edge) bool { return e.to >= 0 && x.open(e) }
	groups := x.components(target)
	group := make([]int, len(x.stages))
	for i, g := range groups {
		for _, s := range g {
			group[s] = i
		}
	}
	for i, stages := range groups {
		k := m.knot(stages, i, group)
		for _, s := range stages {
			m.best[s] = k.from(s)
		}
	}
}

// open reports whether the edge can be taken at all: none of its counters has
// the maximum 0.
func (x *index) open(e *edge) bool {
	for _, c := range e.takes {
		if x.maximum(c) == 0 {
			return false
		}
	}
	return true
}

// knot is a group of stages that loops tie together, with its own counters as
// the digits of one number.
type knot struct {
	m      *measure
	group  int
	of     []int // group by stage
	pos    map[int]int
	stages []int
	places map[int]int // counter: its place value in a state
	waits  map[int]bool
	states int   // 0: too many to search
	memo   []int // by state × stage; -1: not yet
}

func (m *measure) knot(stages []int, group int, of []int) *knot {
	k := &knot{m: m, group: group, of: of, stages: stages, pos: map[int]int{}, places: map[int]int{}, waits: map[int]bool{}}
	for i, s := range stages {
		k.pos[s] = i
	}
	k.states = 1
	for i := range m.x.edges {
		e := &m.x.edges[i]
		if !k.inner(e) {
			continue
		}
		for _, c := range e.takes {
			if _, known := k.places[c]; known {
				continue
			}
			k.places[c] = k.states
			if k.states == 0 {
				continue
			}
			if n := m.x.maximum(c) + 1; n > exactStates/(k.states*len(stages)) {
				k.states = 0
			} else {
				k.states *= n
			}
		}
	}
	if k.states > 0 {
		k.findWaits()
		k.memo = make([]int, k.states*len(stages))
		for i := range k.memo {
			k.memo[i] = -1
		}
	}
	return k
}

// findWaits marks the counters whose exhaustion an arm of this knot waits for:
// those that nothing outside the knot can spend.
func (k *knot) findWaits() {
	if !k.m.fresh {
		return
	}
	for c := range k.m.x.counters {
		k.waits[c] = true
	}
	for i := range k.m.x.edges {
		if e := &k.m.x.edges[i]; k.of[e.from] != k.group {
			for _, c := range e.takes {
				delete(k.waits, c)
			}
		}
	}
}

// inner reports whether the edge stays in the knot.
func (k *knot) inner(e *edge) bool {
	return e.to >= 0 && k.of[e.from] == k.group && k.of[e.to] == k.group && k.m.x.open(e)
}

// from measures the trails that start at a stage of the knot.
func (k *knot) from(s int) int {
	if k.states > 0 {
		return k.exact(s, 0)
	}
	return k.formula()
}

// exact is the heaviest trail from a stage with these counters spent.
func (k *knot) exact(s, spent int) int {
	at := spent*len(k.stages) + k.pos[s]
	if k.memo[at] >= 0 {
		return k.memo[at]
	}
	longest := 0
	for _, i := range k.m.x.out[s] {
		e := &k.m.x.edges[i]
		if e.to < 0 || !k.m.x.open(e) {
			continue
		}
		next, ok := k.spend(e, spent)
		switch {
		case !ok:
		case k.inner(e):
			longest = max(longest, k.exact(e.to, next))
		default:
			longest = max(longest, k.m.best[e.to])
		}
	}
	k.memo[at] = k.m.add(s, longest)
	return k.memo[at]
}

// spend is the state after the edge; not ok where its counters do not allow it.
func (k *knot) spend(e *edge, spent int) (int, bool) {
	used := func(c, place int) int { return spent / place % (k.m.x.maximum(c) + 1) }
	for _, c := range e.after {
		if !k.waits[c] {
			continue
		}
		// A counter without a place is spent by leaving the knot: not yet.
		if place, ok := k.places[c]; ok && used(c, place) < k.m.x.maximum(c) || !ok && k.m.x.maximum(c) > 0 {
			return 0, false
		}
	}
	next := spent
	for _, c := range e.takes {
		if place, ok := k.places[c]; ok {
			if used(c, place) >= k.m.x.maximum(c) {
				return 0, false
			}
			next += place
		}
	}
	return next, true
}

// add is a visit of s and what comes after it.
func (m *measure) add(s, after int) int {
	times := 1
	if f := m.x.stages[s].FanOut; f != nil && m.children && after > 0 {
		times = f.Max
		if times <= 0 {
			return noBound
		}
		if after > noBound/times {
			return noBound
		}
	}
	return min(m.weigh(s)+times*after, noBound)
}

// formula bounds the trails of a knot that is too large to search: between two
// bounded edges a trail follows a way without any, so (1 + Σ max) of the
// heaviest of those, and the heaviest of what comes after the knot.
func (k *knot) formula() int {
	x := k.m.x
	turns, after, fans := 1, 0, false
	for c := range k.places {
		turns = min(turns+x.maximum(c), noBound)
	}
	for _, s := range k.stages {
		fans = fans || x.stages[s].FanOut != nil
		for _, i := range x.out[s] {
			if e := &x.edges[i]; e.to >= 0 && !k.inner(e) && x.open(e) {
				after = max(after, k.m.best[e.to])
			}
		}
	}
	if fans && k.m.children {
		return noBound
	}
	way := 0
	memo := map[int]int{}
	for _, s := range k.stages {
		way = max(way, k.straight(s, memo))
	}
	if way > 0 && turns > noBound/way {
		return noBound
	}
	return min(turns*way+after, noBound)
}

// straight is the heaviest way inside the knot over edges without a bound.
func (k *knot) straight(s int, memo map[int]int) int {
	if n, ok := memo[s]; ok {
		return n
	}
	n := 0
	for _, i := range k.m.x.out[s] {
		if e := &k.m.x.edges[i]; k.inner(e) && !e.bounded {
			n = max(n, k.straight(e.to, memo))
		}
	}
	memo[s] = n + k.m.weigh(s)
	return memo[s]
}
