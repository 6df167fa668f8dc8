package dag

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// option is one thing that can happen after a visit, found by walking the arms
// themselves: the proofs are held against this, so it shares no code with them.
type option struct {
	to    *Stage // nil: an end
	arm   *Arm
	jump  bool // a bounded edge or a resume
	fail  bool
	taken map[*Arm]int
}

// options lists what can happen after a visit of s. Where free is set, bounds
// are not looked at: every arm can be taken at any time.
func options(g *Graph, s *Stage, taken map[*Arm]int, free bool) []option {
	var out []option
	var walk func(a *Arm, o option)
	spent := func(a *Arm, o option) (option, bool) {
		limit := a.Max
		if a.Kind == ArmAsk {
			limit = a.Ask.Max
		}
		if !free && o.taken[a] >= limit {
			return o, false
		}
		o.taken = maps.Clone(o.taken)
		if o.taken == nil {
			o.taken = map[*Arm]int{}
		}
		o.taken[a]++
		return o, true
	}
	walk = func(a *Arm, o option) {
		if a == nil {
			return
		}
		if a.Mode != nil {
			walk(a.Shadow, o)
		}
		o.arm = a
		switch a.Kind {
		case ArmWhen:
			for _, b := range a.Branches {
				walk(b.Arm, o)
			}
			walk(a.Else, o)
		case ArmStage:
			if !a.Bounded {
				o.to = a.Stage
				out = append(out, o)
				return
			}
			took, ok := spent(a, o)
			if ok {
				took.to, took.jump = a.Stage, true
				out = append(out, took)
			}
			if !ok || free {
				walk(a.Exhausted, o)
			}
		case ArmAsk:
			took, ok := spent(a, o)
			if ok {
				for _, to := range a.Ask.Resume {
					resumed := took
					resumed.to, resumed.jump = to, true
					out = append(out, resumed)
				}
				walk(a.Ask.Expired, took)
			}
			if !ok || free {
				walk(a.Ask.Exhausted, o)
			}
		default:
			out = append(out, o)
		}
	}
	for _, r := range g.Routes {
		if !slices.Contains(r.From, s) {
			continue
		}
		walk(r.To, option{taken: taken})
		for _, a := range r.On {
			walk(a, option{taken: taken})
		}
		for _, f := range r.Fail {
			walk(f.Arm, option{taken: taken, fail: true})
		}
	}
	return out
}

// longest is the longest trail from s, by trying all.
func longest(g *Graph, s *Stage, taken map[*Arm]int, weigh func(*Stage) int, memo map[string]int) int {
	key := s.Name
	for i, a := range g.Arms {
		if n := taken[a]; n > 0 {
			key += fmt.Sprintf(" %d:%d", i, n)
		}
	}
	if n, ok := memo[key]; ok {
		return n
	}
	best := 0
	for _, o := range options(g, s, taken, false) {
		if o.to != nil {
			best = max(best, longest(g, o.to, o.taken, weigh, memo))
		}
	}
	memo[key] = best + weigh(s)
	return memo[key]
}

// reached lists what can be visited after s.
func reached(g *Graph, s *Stage) map[*Stage]bool {
	seen := map[*Stage]bool{}
	var walk func(*Stage)
	walk = func(s *Stage) {
		for _, o := range options(g, s, nil, true) {
			if o.to != nil && !seen[o.to] {
				seen[o.to] = true
				walk(o.to)
			}
		}
	}
	walk(s)
	return seen
}

// loops reports whether some way without a bounded edge comes back to s.
func loops(g *Graph, s *Stage) bool {
	seen := map[*Stage]bool{}
	var walk func(*Stage) bool
	walk = func(at *Stage) bool {
		for _, o := range options(g, at, nil, true) {
			if o.to == nil || o.jump {
				continue
			}
			if o.to == s {
				return true
			}
			if !seen[o.to] {
				seen[o.to] = true
				if walk(o.to) {
					return true
				}
			}
		}
		return false
	}
	return walk(s)
}

// escapes reports whether some way leads from s to a record without through.
func escapes(g *Graph, s, through *Stage) bool {
	seen := map[*Stage]bool{s: true}
	var walk func(*Stage) bool
	walk = func(at *Stage) bool {
		for _, o := range options(g, at, nil, true) {
			switch {
			case o.to == nil:
				if o.arm.Kind == ArmGate && o.arm.As != Skip && o.arm.As != Reject {
					return true
				}
			case o.to != through && !seen[o.to]:
				seen[o.to] = true
				if walk(o.to) {
					return true
				}
			}
		}
		return false
	}
	return walk(s)
}

// searchable reports whether there are so few trails that all can be tried.
func (r *random) searchable() bool {
	n := len(r.Stages)
	for c := range r.index.counters {
		n *= r.index.maximum(c) + 1
	}
	return n < 2000
}

func summaries(problems []Problem, summary string) []Problem {
	var out []Problem
	for _, p := range problems {
		if p.Summary == summary {
			out = append(out, p)
		}
	}
	return out
}

func TestALoopIsComplainedOfWhereAndOnlyWhereItHasNoBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := randomGraph(rapidDice{t}, true, false)
		found := summaries(r.Prove(), "Loop without a bound")
		want := false
		for _, s := range r.Stages {
			want = want || loops(r.Graph, s)
		}
		if (len(found) > 0) != want {
			t.Fatalf("a loop without a bound: %v, complaints: %+v", want, found)
		}
		for _, p := range found { // the printed cycle is one: it ends where it began
			path := p.Detail[len("An item could go round for ever: "):strings.Index(p.Detail, ". Write")]
			steps := strings.Split(path, " → ")
			last, _, _ := strings.Cut(steps[len(steps)-1], " ")
			if steps[0] != last || len(steps) != len(p.Related)+2 {
				t.Fatalf("the cycle %q does not close over %d edges", path, len(p.Related)+1)
			}
		}
	})
}

func TestAStageIsUnreachableWhereNoWayLeadsToIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := randomGraph(rapidDice{t}, true, false)
		problems := r.Prove()
		if r.First == nil {
			return
		}
		seen := reached(r.Graph, r.First)
		var want, got []Pos
		for _, s := range r.Stages {
			if !seen[s] && s != r.First {
				want = append(want, s.Pos)
			}
		}
		for _, p := range summaries(problems, "Unreachable stage") {
			got = append(got, p.Pos)
		}
		if !slices.Equal(want, got) {
			t.Fatalf("unreachable: %v, complaints at %v", want, got)
		}
	})
}

func TestTheLongestTrailIsThatOfAllTrails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := randomGraph(rapidDice{t}, false, false)
		if len(summaries(r.Prove(), "Loop without a bound")) > 0 || r.First == nil || !r.searchable() {
			return
		}
		want := longest(r.Graph, r.First, nil, func(*Stage) int { return 1 }, map[string]int{})
		if r.LongestTrail != want {
			t.Fatalf("the longest trail is %d, proved was %d", want, r.LongestTrail)
		}
	})
}

func TestNoStageIsVisitedMoreOftenThanMaxVisitsFromTells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := randomGraph(rapidDice{t}, false, false)
		if len(summaries(r.Prove(), "Loop without a bound")) > 0 || !r.searchable() {
			return
		}
		for _, from := range r.Stages {
			told := r.MaxVisitsFrom(from)
			for _, s := range r.Stages {
				n := longest(r.Graph, from, nil, func(at *Stage) int {
					if at == s {
						return 1
					}
					return 0
				}, map[string]int{})
				if told[s] < n {
					t.Fatalf("from %s, %s can be visited %d times, told was %d", from.Name, s.Name, n, told[s])
				}
			}
		}
	})
}

func TestAKnotTooLargeToSearchIsBoundedByFormula(t *testing.T) {
	b := newBuild()
	a, c := b.stage("a"), b.stage("c", "ok", "again", "more")
	b.route(b.to(c), a)
	b.on(c, "ok", b.gate(), "again", b.max(a, 1000), "more", b.max(a, 1000))
	g := proved(t, b)
	if want := (1 + 2000) * 2; g.LongestTrail != want {
		t.Errorf("the longest trail is %d, want %d", g.LongestTrail, want)
	}
	if got := g.MaxVisitsFrom(c)[a]; got != 2001 {
		t.Errorf("a is visited %d times at most, want 2001", got)
	}
}

func TestAnInvariantHoldsWhereNoWayEscapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := randomGraph(rapidDice{t}, true, false)
		problems := summaries(r.Prove(), "Invariant does not hold")
		var want []string
		for _, inv := range r.Invariants {
			from := slices.DeleteFunc(slices.Clone(inv.From), func(s *Stage) bool { return s == inv.Through })
			if !inv.Through.ForwardItem {
				from = append(from, inv.Through)
			}
			for _, s := range from {
				if escapes(r.Graph, s, inv.Through) {
					want = append(want, fmt.Sprintf("%v: an item can come from stage.%s to", inv.Pos, s.Name))
				}
			}
		}
		var got []string
		for _, p := range problems {
			_, detail, _ := strings.Cut(p.Detail, ": ")
			got = append(got, fmt.Sprintf("%v: %s", p.Pos, detail[:strings.Index(detail, " gate.")]))
		}
		if !slices.Equal(want, got) {
			t.Fatalf("broken invariants:\n%q\ncomplaints:\n%q", want, got)
		}
	})
}

// known is what one way has visited, as sets of stage numbers.
type known struct {
	at                    int
	always, outcome, ever uint
}

// onWay reports whether x lies on a way from target back to decides: one that
// does not come to the target again, nor past the deciding stage.
// An edge of a stage to itself has no way between.
func onWay(g *Graph, decides, target, x *Stage) bool {
	if decides == target {
		return false
	}
	type point struct {
		s   *Stage
		met bool
	}
	start := point{target, target == x}
	seen := map[point]bool{start: true}
	todo := []point{start}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		for _, o := range options(g, p.s, nil, true) {
			if o.to == decides {
				if p.met {
					return true
				}
				continue
			}
			// A way that comes to the target again begins anew there.
			if o.to == nil || o.to == target && p.met {
				continue
			}
			next := point{o.to, p.met && o.to != target || o.to == x}
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return false
}

func TestVisitedTellsWhatEveryWayAndWhatSomeWayHasVisited(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := randomGraph(rapidDice{t}, rapid.Bool().Draw(t, "wild"), false)
		r.Prove()
		if r.First == nil {
			return
		}
		everything := uint(1)<<len(r.Stages) - 1
		none := known{always: everything, outcome: everything}
		before := make([]known, len(r.Stages))
		for i := range before {
			before[i] = none
		}
		gate, atGate := none, false
		led := make([]bool, len(r.Stages))
		start := known{at: r.First.Index}
		seen := map[known]bool{start: true}
		todo := []known{start}
		for len(todo) > 0 {
			k := todo[0]
			todo = todo[1:]
			led[k.at] = true
			b := &before[k.at]
			b.always, b.outcome, b.ever = b.always&k.always, b.outcome&k.outcome, b.ever|k.ever
			s := r.Stages[k.at]
			for _, o := range options(r.Graph, s, nil, true) {
				next := k
				bit := uint(1) << k.at
				next.always, next.outcome, next.ever = k.always|bit, k.outcome|bit, k.ever|bit
				if o.fail {
					next.always, next.outcome = next.always&^bit, next.outcome&^bit
				}
				if o.to == nil {
					if o.arm.Kind == ArmGate && o.arm.As == "" {
						atGate = true
						gate.always, gate.ever = gate.always&next.always, gate.ever|next.ever
					}
					continue
				}
				if o.jump && (o.to == s || reached(r.Graph, o.to)[s]) {
					for i, x := range r.Stages {
						if x != s && onWay(r.Graph, s, o.to, x) {
							next.always, next.outcome = next.always&^(1<<i), next.outcome&^(1<<i)
						}
					}
					next.outcome &^= bit
				}
				next.at = o.to.Index
				if !seen[next] {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
		w := r.Visited()
		bits := func(set map[*Stage]bool) (n uint) {
			for s := range set {
				n |= 1 << s.Index
			}
			return n
		}
		for i, s := range r.Stages {
			if !led[i] {
				continue
			}
			p := w.Before(s)
			if bits(p.Always) != before[i].always || bits(p.Outcome) != before[i].outcome || bits(p.Ever) != before[i].ever {
				t.Fatalf("before %s: always %b outcome %b ever %b, want %b %b %b", s.Name, bits(p.Always), bits(p.Outcome), bits(p.Ever), before[i].always, before[i].outcome, before[i].ever)
			}
			after := w.After(s)
			if bits(after.Always) != before[i].always|1<<i {
				t.Fatalf("after %s: always %b", s.Name, bits(after.Always))
			}
		}
		if p := w.AtGate(); atGate && (bits(p.Always) != gate.always || bits(p.Ever) != gate.ever) {
			t.Fatalf("at the gate: always %b ever %b, want %b %b", bits(p.Always), bits(p.Ever), gate.always, gate.ever)
		}
	})
}
