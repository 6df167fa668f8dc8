package dag

// compile prepares what a traversal looks up at each step. It needs the arms
// numbered.
func (x *index) compile(g *Graph) {
	x.codes = make(map[Code]*FailureCode, len(g.Codes))
	for _, c := range g.Codes {
		x.codes[c.Code] = c
	}
	x.routeOf = make([]*Route, len(x.stages))
	for s, r := range x.routes {
		x.routeOf[x.num[s]] = r
	}
	x.countOf = make([]int, len(x.arms))
	for i, a := range x.arms {
		x.countOf[i] = -1
		if c, ok := x.counter[a]; ok {
			x.countOf[i] = c
		}
	}
	x.keep = make([]bool, len(x.stages))
	g.exprs(func(e Expr) {
		for _, n := range e.Names() {
			switch {
			case n.Root == "origin":
				x.keepOrig = true
			case n.Root == "artifact" && n.Member == "":
				for i := range x.keep {
					x.keep[i] = true
				}
			case n.Root == "artifact":
				if s, ok := x.byName[n.Member]; ok {
					x.keep[x.num[s]] = true
				}
			}
		}
	})
}

// triageOf is the triage that a code comes to where a finding names none.
func (x *index) triageOf(code Code, named Triage) Triage {
	if named != "" {
		return named
	}
	if c := x.codes[code]; c != nil && c.Triage != "" {
		return c.Triage
	}
	return Reject
}

// failure picks the arm for a failure: by its cause first, then by its code,
// then the one for every failure that is not named. Nil: none.
func (r *Route) failure(f *Failure) *Arm {
	if f.Cause != "" {
		for i := range r.Fail {
			if r.Fail[i].Code == f.Cause {
				return r.Fail[i].Arm
			}
		}
	}
	var rest *Arm
	for i := range r.Fail {
		switch r.Fail[i].Code {
		case f.Code:
			return r.Fail[i].Arm
		case "":
			if rest == nil {
				rest = r.Fail[i].Arm
			}
		}
	}
	return rest
}
