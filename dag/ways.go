package dag

// Ways tells what was visited on the ways to each place of a graph: the
// language types names by it. It needs no expression, no schema and no proof,
// so it can be made of a graph whose expressions are not compiled yet.
type Ways struct {
	x               *index
	before, success []facts
	gate            facts
}

// Place is what is known at one place of a graph, whatever way led there. At a
// place that nothing leads to everything is known: the complaint about that is
// Prove's.
type Place struct {
	// Always holds the stages that every way has visited and whose output is
	// not stale: their artifact is never null here.
	Always map[*Stage]bool
	// Outcome holds those of Always whose outcome is not stale either: taking
	// a bounded edge leaves the deciding stage its artifact only.
	Outcome map[*Stage]bool
	// Ever holds the stages that some way has visited, whatever came of it.
	Ever map[*Stage]bool
}

// facts are the three sets of a Place, by stage.
type facts struct {
	known                 bool // some way leads here
	always, outcome, ever []bool
}

// Visited works out what was visited before, after and at the end of each way.
func (g *Graph) Visited() *Ways {
	x := g.indexed()
	n := len(x.stages)
	w := &Ways{x: x, before: make([]facts, n), success: make([]facts, n)}
	var todo []int
	starts := x.starts()
	if g.First != nil {
		starts = []*Stage{g.First}
	}
	for _, s := range starts {
		i := x.num[s]
		w.before[i].meet(facts{always: make([]bool, n), outcome: make([]bool, n), ever: make([]bool, n)})
		todo = append(todo, i)
	}
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		for _, i := range x.out[s] {
			e := &x.edges[i]
			f := w.along(e)
			if e.to < 0 {
				if e.gate() && e.arm.As == "" {
					w.gate.meet(f)
				}
				continue
			}
			if w.before[e.to].meet(f) {
				todo = append(todo, e.to)
			}
		}
	}
	for i := range w.success {
		w.success[i] = w.after(i, false)
	}
	return w
}

// Before is what is known when s is visited: in its input, in may_change.
func (w *Ways) Before(s *Stage) Place { return w.place(w.before, s) }

// After is what is known after a visit of s that did not fail: in its outcome,
// its forward and its routes.
func (w *Ways) After(s *Stage) Place { return w.place(w.success, s) }

// AfterFailure is what is known after a visit of s that failed: in `fail`.
func (w *Ways) AfterFailure(s *Stage) Place {
	i, ok := w.x.num[s]
	if !ok {
		return w.x.all()
	}
	f := w.after(i, true)
	return w.x.asPlace(f)
}

// AtGate is what is known where the gate runs its checks: on arms that lead to
// it without `as`.
func (w *Ways) AtGate() Place { return w.x.asPlace(w.gate) }

func (w *Ways) place(of []facts, s *Stage) Place {
	i, ok := w.x.num[s]
	if !ok {
		return w.x.all()
	}
	return w.x.asPlace(of[i])
}

// after is what a visit of s adds to what was known before it. A failure
// leaves no artifact, also where an earlier visit did.
func (w *Ways) after(s int, failed bool) facts {
	f := w.before[s].clone()
	if f.known {
		f.always[s], f.outcome[s], f.ever[s] = !failed, !failed, true
	}
	return f
}

// along is what is known after the edge, which may make something stale.
func (w *Ways) along(e *edge) facts {
	f := w.after(e.from, e.fail)
	if !f.known || !e.bounded {
		return f
	}
	if stale := w.x.stale[jump{e.from, e.to}]; stale != nil {
		for _, s := range stale {
			f.always[s], f.outcome[s] = false, false
		}
		f.outcome[e.from] = false
	}
	return f
}

func (f facts) clone() facts {
	c := facts{known: f.known}
	c.always = append(c.always, f.always...)
	c.outcome = append(c.outcome, f.outcome...)
	c.ever = append(c.ever, f.ever...)
	return c
}

// meet takes another way into account and reports whether that changed
// anything: always is what all ways share, ever what any has.
func (f *facts) meet(way facts) bool {
	if !f.known {
		*f = way.clone()
		f.known = true
		return true
	}
	changed := false
	for s := range f.always {
		if f.always[s] && !way.always[s] {
			f.always[s], changed = false, true
		}
		if f.outcome[s] && !way.outcome[s] {
			f.outcome[s], changed = false, true
		}
		if !f.ever[s] && way.ever[s] {
			f.ever[s], changed = true, true
		}
	}
	return changed
}

func (x *index) asPlace(f facts) Place {
	if !f.known {
		return x.all()
	}
	return Place{Always: x.set(f.always), Outcome: x.set(f.outcome), Ever: x.set(f.ever)}
}

func (x *index) all() Place {
	full := make([]bool, len(x.stages))
	for i := range full {
		full[i] = true
	}
	return Place{Always: x.set(full), Outcome: x.set(full), Ever: x.set(full)}
}

func (x *index) set(in []bool) map[*Stage]bool {
	m := make(map[*Stage]bool, len(in))
	for i, ok := range in {
		if ok {
			m[x.stages[i]] = true
		}
	}
	return m
}
