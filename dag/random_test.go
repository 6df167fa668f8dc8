package dag

import (
	"fmt"

	"pgregory.net/rapid"
)

// dice choose in a random graph or run: the same code is driven by rapid, and
// by the bytes of a fuzzer.
type dice interface{ n(sides int) int }

type rapidDice struct{ t *rapid.T }

func (d rapidDice) n(sides int) int { return rapid.IntRange(0, sides-1).Draw(d.t, "d") }

// byteDice take one byte a throw; past the end all throws are 0.
type byteDice struct{ b []byte }

func (d *byteDice) n(sides int) int {
	if len(d.b) == 0 {
		return 0
	}
	v := int(d.b[0]) % sides
	d.b = d.b[1:]
	return v
}

// random is a graph made by throws of dice.
type random struct {
	*build
	d    dice
	wild bool // edges without a bound may lead anywhere, so that much is wrong
	fans bool
	// check is called where a condition of a route is evaluated.
	check func(*Traversal)
}

func randomGraph(d dice, wild, fans bool) *random {
	r := &random{build: newBuild(), d: d, wild: wild, fans: fans}
	n := 1 + d.n(5)
	for i := range n {
		outcomes := []string{"ok", "no"}[:1+d.n(2)]
		s := r.stage(string(rune('a'+i)), outcomes...)
		s.ForwardItem = d.n(2) == 0
		if s.ForwardItem {
			s.Forward = whole("item")
		}
		switch d.n(6) {
		case 0:
			r.decides(s)
		case 1:
			if fans {
				s.FanOut = &FanOut{Each: get("output", "list"), Key: get("each", "key"), Max: 2, Pos: r.pos()}
			}
		case 2:
			s.Code = "BAD"
			s.Findings = &FindingMap{Codes: map[string]Code{"thin": "THIN"}, Mode: r.mode()}
		}
	}
	for i := range n {
		r.way(i)
	}
	for range d.n(3) {
		r.Invariants = append(r.Invariants, &Invariant{
			Text: "random", From: []*Stage{r.Stages[d.n(n)], r.Stages[d.n(n)]}, To: r.Gate, Through: r.Stages[d.n(n)], Pos: r.pos(),
		})
	}
	return r
}

func (r *random) decides(s *Stage) {
	s.Plugin = nil
	s.Decide = &Decide{Rules: []DecideRule{
		{Reason: "odd", If: r.condition(), Outcome: s.Outcomes[len(s.Outcomes)-1], Output: object("was", whole("item"))},
		{Reason: "else", Outcome: s.Outcomes[0]},
	}, Findings: []FindingRule{{If: is(whole("outcome"), "no"), Code: "DUP", Evidence: constant("two\nlines"), Figure: constant(0.5), Mode: r.mode()}}}
}

func (r *random) mode() *Mode {
	if r.d.n(2) == 0 {
		return nil
	}
	return &Mode{Name: "m", Apply: r.d.n(2) == 0}
}

// way gives stage i its route. Its first arm leads on to the next stage, so
// that most graphs hang together.
func (r *random) way(i int) {
	s := r.Stages[i]
	next := func() *Arm {
		if i+1 == len(r.Stages) {
			return r.gate()
		}
		return r.to(r.Stages[i+1])
	}
	var route *Route
	if r.d.n(2) == 0 {
		route = r.on(s)
		for j, o := range s.Outcomes {
			route.Order = append(route.Order, o)
			if j == 0 {
				route.On[o] = next()
			} else {
				route.On[o] = r.arm(i, 2)
			}
		}
	} else {
		route = r.route(r.when(r.condition(), r.arm(i, 2), next()), s)
	}
	if r.d.n(3) == 0 {
		route.Fail = append(route.Fail, FailArm{Code: "BAD", Arm: r.arm(i, 1)})
	}
	if r.d.n(3) == 0 {
		route.Fail = append(route.Fail, FailArm{Arm: r.arm(i, 1)})
	}
}

func (r *random) arm(i, depth int) *Arm {
	n := len(r.Stages)
	kinds := 5
	if depth > 0 {
		kinds = 8
	}
	switch r.d.n(kinds) {
	case 0, 1:
		a := r.max(r.Stages[r.d.n(n)], r.d.n(3))
		if depth > 0 && r.d.n(2) == 0 {
			a.Exhausted = r.arm(i, depth-1)
		}
		if r.d.n(3) == 0 {
			a.Findings = []FindingRule{{Code: "THIN"}}
		}
		return a
	case 2:
		return r.as([]Triage{"", Review, Skip, Reject}[r.d.n(4)], "BAD")
	case 3:
		return r.stop(Rejected, "no")
	case 4:
		j := i + 1 + r.d.n(n)
		if r.wild {
			j = r.d.n(n)
		}
		if j >= n {
			return r.gate()
		}
		return r.to(r.Stages[j])
	case 5:
		return r.when(r.condition(), r.arm(i, depth-1), r.arm(i, depth-1))
	case 6:
		ask := &Ask{Question: object("q", whole("item")), Max: r.d.n(3), Resume: []*Stage{r.Stages[r.d.n(n)]}}
		if r.d.n(2) == 0 {
			ask.Resume = append(ask.Resume, r.Stages[r.d.n(n)])
			ask.ResumeTo = get("answer", "value", "to")
		}
		if r.d.n(2) == 0 {
			ask.Expired = r.arm(i, depth-1)
		}
		if r.d.n(2) == 0 {
			ask.Exhausted = r.arm(i, depth-1)
		}
		return &Arm{Kind: ArmAsk, Ask: ask, Pos: r.pos()}
	default:
		a := r.arm(i, depth-1)
		if a.Mode == nil && a.Kind != ArmWhen {
			a.Mode = &Mode{Name: "m", Apply: r.d.n(2) == 0}
			a.Findings = append(a.Findings, FindingRule{Code: "BAD", Triage: Quarantine})
			a.Shadow = r.arm(i, depth-1)
		}
		return a
	}
}

// condition is true or false by the item and the pass, so that a run is
// repeatable; one in nine items cannot be told.
func (r *random) condition() *fake {
	f := &fake{src: fmt.Sprintf("condition %d", r.line), names: []Name{{Root: "item"}, {Root: "pass"}}, pos: r.pos()}
	f.eval = func(s Scope) (any, error) {
		if t, ok := s.(*Traversal); ok && r.check != nil {
			r.check(t)
		}
		item, err := s.Lookup(Name{Root: "item"})
		if err != nil {
			return nil, err
		}
		pass, err := s.Lookup(Name{Root: "pass"})
		if err != nil {
			return nil, err
		}
		sum := Sum(append(append([]byte(f.src), item.Bytes...), pass.Bytes...))
		if sum[0]%9 == 0 {
			return nil, Fail(EExpr, "cannot be told")
		}
		return sum[1]%2 == 0, nil
	}
	return f
}
