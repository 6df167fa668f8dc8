package dag

import "slices"

// Stage finds a stage by its name; nil where there is none.
func (g *Graph) Stage(name string) *Stage { return g.indexed().byName[name] }

// RouteFrom is the route that leads out of a stage; nil where there is none.
// Where a faulty pipeline has two, it is the first.
func (g *Graph) RouteFrom(s *Stage) *Route { return g.indexed().routes[s] }

// FailureCode finds a declared code; nil where there is none.
func (g *Graph) FailureCode(code Code) *FailureCode {
	for _, c := range g.Codes {
		if c.Code == code {
			return c
		}
	}
	return nil
}

// Downstream lists, in order of declaration, the stages that an item can still
// visit after it has visited s. It holds s itself only where a loop leads back.
func (g *Graph) Downstream(s *Stage) []*Stage {
	x := g.indexed()
	from, ok := x.num[s]
	if !ok {
		return nil
	}
	seen := x.reach(from, nil)
	var out []*Stage
	for i, stage := range x.stages {
		if seen[i] {
			out = append(out, stage)
		}
	}
	return out
}

// indexed is the index that Prove made. Before Prove it is made anew on each
// call and kept nowhere, since the graph may still be growing.
func (g *Graph) indexed() *index {
	if g.index != nil {
		return g.index
	}
	return newIndex(g)
}

// exprs calls f for every expression of the graph, gate included, that is there.
func (g *Graph) exprs(f func(Expr)) {
	visit := func(list ...Expr) {
		for _, e := range list {
			if e != nil {
				f(e)
			}
		}
	}
	findings := func(rules []FindingRule) {
		for _, r := range rules {
			visit(r.If, r.Figure, r.Evidence)
		}
	}
	for _, s := range g.Stages {
		visit(s.Input, s.Outcome, s.Forward, s.MayChange)
		if s.FanOut != nil {
			visit(s.FanOut.Each, s.FanOut.Key)
		}
		if s.Decide != nil {
			for _, r := range s.Decide.Rules {
				visit(r.If, r.Output)
			}
			findings(s.Decide.Findings)
		}
	}
	for _, a := range g.Arms {
		for _, b := range a.Branches {
			visit(b.If)
		}
		findings(a.Findings)
		if a.Ask != nil {
			visit(a.Ask.Question, a.Ask.ResumeTo)
		}
	}
	if g.Gate != nil {
		g.Gate.exprs(visit)
	}
}

func (gate *Gate) exprs(visit func(...Expr)) {
	for _, m := range gate.Candidate {
		visit(m.Expr)
	}
	visit(gate.Bucket)
	for _, c := range gate.Checks {
		visit(c.If)
		names := make([]string, 0, len(c.Args))
		for name := range c.Args {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			visit(c.Args[name])
		}
	}
	if c := gate.Corpus; c != nil {
		visit(c.Data, c.ID, c.Record, c.EvidenceRecord)
	}
	if r := gate.Review; r != nil {
		visit(r.Subject, r.Target, r.Question, r.Purpose)
	}
}
