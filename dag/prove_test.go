package dag

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func line1(n int) Pos { return Pos{File: "pipeline.hcl", Line: n, Column: 1} }

func lines(n ...int) []Pos {
	out := make([]Pos, len(n))
	for i, l := range n {
		out[i] = line1(l)
	}
	return out
}

// In each graph the gate stands on line 1; every further thing takes the next
// line in the order in which it is made: arguments come before the route.
func TestEachProofSaysWhatIsWrongWhyAndWhatToWrite(t *testing.T) {
	for name, c := range map[string]struct {
		graph func() *build
		want  []Problem
	}{
		"no stage and no gate": {
			func() *build { b := &build{Graph: &Graph{}}; b.Pipeline.Pos = b.pos(); return b },
			[]Problem{
				{line1(1), "Pipeline without a stage", "An item starts at a stage, and this pipeline declares none. Write at least one `stage \"name\" { … }` and a route from it.", nil},
				{line1(1), "Pipeline without a gate", "The gate is the only way into a corpus, and it hears of every item that is stopped; this pipeline declares none. Write one `gate \"name\" { … }`.", nil},
			},
		},
		"a stage without a route": {
			func() *build {
				b := newBuild()
				a := b.stage("a")
				b.stage("b")
				b.route(b.gate(), a)
				return b
			},
			[]Problem{{line1(3), "Stage without a route", "No route leads out of stage.b, so an item that has visited it could go nowhere. Name it in the `from` of a route; to end there, write `stop = \"failed\"` or `to = gate.accept` in that route.", nil}},
		},
		"a stage with two routes": {
			func() *build {
				b := newBuild()
				a := b.stage("a")
				b.route(b.gate(), a)
				b.route(b.gate(), a).Name = "again"
				return b
			},
			[]Problem{{line1(6), "Stage with two routes", "Both route \"from_a\" and route \"again\" lead out of stage.a, so it is not decided which one an item takes. Put both into one route, with `when` or `on` to choose.", lines(4)}},
		},
		"a stage twice in one route": {
			func() *build {
				b := newBuild()
				a := b.stage("a")
				b.route(b.gate(), a, a)
				return b
			},
			[]Problem{{line1(4), "Stage named twice in a route", "stage.a stands twice in the `from` of this route. Name it once.", nil}},
		},
		"an outcome without a way, and one that is not declared": {
			func() *build {
				b := newBuild()
				a := b.stage("a", "accept", "repair", "reject")
				b.on(a, "accept", b.gate(), "repaired", b.stop(Failed, ""))
				return b
			},
			[]Problem{
				{line1(5), "Outcome without a way", "stage.a can end with \"repair\" or \"reject\", and route \"from_a\" does not say where an item goes then. Write in it\n    on \"repair\" { stop = \"rejected\" }\n    on \"reject\" { stop = \"rejected\" }\nor lead it on with `to = stage.NAME`.", lines(2)},
				{line1(4), "Undeclared outcome", "stage.a never ends with \"repaired\": it declares \"accept\", \"repair\" and \"reject\". Write one of those, or add \"repaired\" to its `outcomes`.", lines(2)},
			},
		},
		"an outcome routed twice": {
			func() *build {
				b := newBuild()
				a := b.stage("a")
				b.on(a, "ok", b.gate()).Order = []string{"ok", "ok"}
				return b
			},
			[]Problem{{line1(3), "Outcome routed twice", "Route \"from_a\" has more than one `on \"ok\"`. Keep one; to choose between ways on one outcome, put `when` blocks into it.", nil}},
		},
		"ways that end nowhere": {
			func() *build {
				b := newBuild()
				a, c, d := b.stage("a"), b.stage("c"), b.stage("d")
				b.route(nil, a)
				shadowless := b.gate()
				shadowless.Mode = &Mode{Name: "m"}
				b.route(b.when(constant(true), shadowless, nil), c)
				b.route(&Arm{Kind: ArmAsk, Ask: &Ask{}, Pos: b.pos()}, d)
				return b
			},
			[]Problem{
				{line1(5), "Way that ends nowhere", "Route \"from_a\" does not say where an item goes. Write `to = stage.NAME`, `to = gate.accept`, `when { … }` and `else { … }`, or an `on \"outcome\" { … }` for each outcome.", nil},
				{line1(6), "Way that ends nowhere", "Every way ends at the gate or at a stop; here `shadow`, the way that is taken while the mode is shadow is missing. Write `to = stage.NAME`, `to = gate.accept` or `stop = \"failed\"`.", nil},
				{line1(9), "Way that ends nowhere", "Every way ends at the gate or at a stop; here `resume`, the stage to go on from is missing. Write `to = stage.NAME`, `to = gate.accept` or `stop = \"failed\"`.", nil},
			},
		},
		"a loop without a bound": {
			func() *build {
				b := newBuild()
				a, c, d := b.stage("a"), b.stage("c", "ok", "no"), b.stage("d")
				b.route(b.to(c), a)
				b.on(c, "ok", b.gate(), "no", b.to(d))
				b.route(b.to(c), d)
				return b
			},
			[]Problem{{line1(8), "Loop without a bound", "An item could go round for ever: stage.c → stage.d (pipeline.hcl:8,1) → stage.c (pipeline.hcl:10,1). Write into one of these arms how often it may be taken, and where an item goes after that:\n    max = 2\n    exhausted { stop = \"failed\" }", lines(10)}},
		},
		"a loop through an exhausted arm has no bound": {
			func() *build {
				b := newBuild()
				a, c := b.stage("a"), b.stage("c", "ok", "no")
				b.route(b.to(c), a)
				again := b.max(c, 1)
				again.Exhausted = b.to(c)
				b.on(c, "ok", b.gate(), "no", again)
				return b
			},
			[]Problem{{line1(7), "Loop without a bound", "An item could go round for ever: stage.c → stage.c (pipeline.hcl:7,1). Write into one of these arms how often it may be taken, and where an item goes after that:\n    max = 2\n    exhausted { stop = \"failed\" }", nil}},
		},
		"two start stages": {
			func() *build {
				b := newBuild()
				a, c, d := b.stage("a"), b.stage("c"), b.stage("d")
				b.route(b.gate(), a, c, d)
				return b
			},
			[]Problem{{line1(3), "More than one start stage", "An item starts at the stage that no route leads to, and that is true of stage.a, stage.c and stage.d. Lead a route to all of them but one; where items must start at different stages, put a stage of `decide` rules before them.", lines(2, 4)}},
		},
		"no start stage": {
			func() *build {
				b := newBuild()
				a, c := b.stage("a"), b.stage("c")
				d, e := b.stage("d"), b.stage("e")
				b.route(b.to(c), a)
				b.route(b.when(constant(true), b.max(a, 1), b.gate()), c)
				b.route(b.to(e), d)
				b.route(b.max(d, 1), e)
				b.Pipeline.Pos = line1(99)
				return b
			},
			[]Problem{{line1(99), "No start stage", "An item starts at the stage that no route leads to, and here some route leads to each. Put a stage before the first one, and a route from it to there:\n    stage \"start\" {\n      decide {\n        else { outcome = \"ok\" }\n      }\n    }", nil}},
		},
		"an unreachable stage, and a gate that nothing reaches": {
			func() *build {
				b := newBuild()
				a, c, d := b.stage("a"), b.stage("c", "ok", "no"), b.stage("d")
				b.route(b.stop(Failed, ""), a)
				b.on(c, "ok", b.max(d, 1), "no", b.stop(Failed, ""))
				b.route(b.max(c, 1), d)
				return b
			},
			[]Problem{
				{line1(3), "Unreachable stage", "No way leads from stage.a, where an item starts, to stage.c. Lead a route to it, or delete it with its route.", nil},
				{line1(4), "Unreachable stage", "No way leads from stage.a, where an item starts, to stage.d. Lead a route to it, or delete it with its route.", nil},
				{line1(1), "Unreachable gate", "No way leads from stage.a, where an item starts, to gate.accept, so nothing could ever be accepted. Write `to = gate.accept` in the route of the last stage.", nil},
			},
		},
		"an invariant that a way gets round": {
			func() *build {
				b := trivia()
				b.Routes[3].To = b.gate() // line 22: what was repaired is not verified again
				return b
			},
			[]Problem{{line1(21), "Invariant does not hold", "\"every card is verified after its last change\": an item can come from stage.repairer to gate.accept without passing stage.verifier after it: stage.repairer → gate.accept (pipeline.hcl:22,1). Lead that way through stage.verifier, or state the invariant otherwise.", lines(22)}},
		},
		"an invariant whose through stage changes the item": {
			func() *build {
				b := trivia()
				b.Stage("verifier").ForwardItem = false
				return b
			},
			[]Problem{{line1(21), "Invariant does not hold", "\"every card is verified after its last change\": an item can come from stage.verifier to gate.accept without passing stage.verifier after it: stage.verifier → gate.accept (pipeline.hcl:15,1). What travels on from stage.verifier is not the item that came to it, so it counts as one of `from`: write `forward = item` in it, or let another stage look at what it made.", lines(15)}},
		},
		"stages that are not independent, whatever their providers are called": {
			func() *build {
				b := newBuild()
				a, c := b.stage("a"), b.stage("c")
				a.Provider = &Provider{Name: "writer", Plugin: &Plugin{Name: "x", Source: "builtin/openai"}, Model: "m"}
				c.Provider = &Provider{Name: "judge", Plugin: &Plugin{Name: "y", Source: "builtin/openai"}, Model: "m"}
				c.Independent = []*Stage{a}
				b.route(b.to(c), a)
				b.route(b.gate(), c)
				return b
			},
			[]Problem{{line1(3), "Stages that are not independent", "stage.c is declared independent of stage.a, and both ask model \"m\" through builtin/openai. Give one of them a provider with another model or another plugin; another name for the block changes nothing.", lines(2)}},
		},
		"independence of a stage that asks nobody": {
			func() *build {
				b := newBuild()
				a, c := b.stage("a"), b.stage("c")
				c.Independent = []*Stage{a}
				b.route(b.to(c), a)
				b.route(b.gate(), c)
				return b
			},
			[]Problem{{line1(3), "Stages that are not independent", "stage.c is declared independent of stage.a, and neither is lent a provider, so nothing tells them apart. Give one of them a `provider`, or take stage.a out of `independent_of`.", lines(2)}},
		},
		"a batch and a question beyond the hold point": {
			func() *build {
				b := newBuild()
				a, c := b.stage("a"), b.stage("c")
				b.Gate.Hold = a
				c.Batch = 20
				b.route(b.to(c), a)
				ask := &Arm{Kind: ArmAsk, Ask: &Ask{Resume: []*Stage{c}, Max: 1, Exhausted: b.gate()}, Pos: b.pos()}
				b.route(ask, c)
				return b
			},
			[]Problem{
				{line1(3), "Batch while a bucket is held", "stage.c waits until its batch is full, and an item holds its bucket there already (its way comes from stage.a), so the items that it waits for could not come. Take `batch` out, or hold from a later stage.", lines(1)},
				{line1(7), "Question while a bucket is held", "After stage.c an item holds its bucket already (its way comes from stage.a), and a person may take days to answer: nothing else could enter that bucket. Ask before it, or hold from a later stage.", lines(1)},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.graph().Prove()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStageThatOnlyLoopsLeadBackToMayBeTheFirst(t *testing.T) {
	b := newBuild()
	write, check := b.stage("write"), b.stage("check", "ok", "no")
	b.route(b.to(check), write)
	b.on(check, "ok", b.gate(), "no", b.max(write, 2))
	if g := proved(t, b); g.First != write || g.LongestTrail != 6 {
		t.Errorf("the first stage is %s and the longest trail %d, want write and 6", g.First.Name, g.LongestTrail)
	}
}

func TestAHoldThatItemsCanBypassIsFine(t *testing.T) {
	b := newBuild()
	a, c := b.stage("a", "ok", "no"), b.stage("c")
	b.on(a, "ok", b.to(c), "no", b.gate())
	b.route(b.gate(), c)
	b.Gate.Hold = c
	a.Batch = 5
	proved(t, b)
}

func TestAWayThatOnlyRecordsASkipNeedsNoProof(t *testing.T) {
	b := trivia()
	b.Stage("crafter").Outcomes = []string{"ok", "dull"}
	b.Routes[1].From = []*Stage{b.Stage("mme_crafter")}
	b.on(b.Stage("crafter"), "ok", b.to(b.Stage("verifier")), "dull", b.as(Skip, "DUP"))
	proved(t, b)
	b.Routes[len(b.Routes)-1].On["dull"] = b.as(Review, "THIN") // a person may accept it
	if problems := b.Prove(); len(problems) != 1 || problems[0].Summary != "Invariant does not hold" {
		t.Errorf("problems: %+v, want one of the invariant", problems)
	}
}

func TestProvingTwiceGivesTheSame(t *testing.T) {
	b := trivia()
	proved(t, b)
	ids, digest := len(b.Arms), b.Digest()
	proved(t, b)
	if len(b.Arms) != ids || b.Digest() != digest {
		t.Errorf("%d arms and %s, then %d and %s", ids, digest.Short(), len(b.Arms), b.Digest().Short())
	}
	for i, a := range b.Arms {
		if a.ID != i {
			t.Errorf("arm %d has the number %d", i, a.ID)
		}
	}
}

func TestDownstreamIsWhatCanStillBeVisited(t *testing.T) {
	b := trivia()
	g := proved(t, b)
	for stage, want := range map[string][]string{
		"topic_miner": {"stage.crafter", "stage.mme_crafter", "stage.verifier", "stage.repairer"},
		"crafter":     {"stage.verifier", "stage.repairer"},
		"verifier":    {"stage.verifier", "stage.repairer"},
	} {
		if diff := cmp.Diff(want, stageNames(g.Downstream(g.Stage(stage)))); diff != "" {
			t.Errorf("downstream of %s (-want +got):\n%s", stage, diff)
		}
	}
}

func TestFanOutsMultiplyTheVisitsOfAllItems(t *testing.T) {
	g := proved(t, trivia())
	visits := func(m map[*Stage]int) map[string]int {
		out := map[string]int{}
		for s, n := range m {
			out[s.Name] = n
		}
		return out
	}
	miner := g.Stage("topic_miner")
	one := map[string]int{"topic_miner": 1, "crafter": 1, "mme_crafter": 1, "verifier": 2, "repairer": 1}
	if diff := cmp.Diff(one, visits(g.MaxVisitsFrom(miner))); diff != "" {
		t.Errorf("one trail (-want +got):\n%s", diff)
	}
	all := map[string]int{"topic_miner": 1, "crafter": 2, "mme_crafter": 2, "verifier": 4, "repairer": 2}
	if diff := cmp.Diff(all, visits(g.MaxVisitsInAll(miner))); diff != "" {
		t.Errorf("all items (-want +got):\n%s", diff)
	}
	b := trivia()
	b.Stage("topic_miner").FanOut.Max = 0
	g = proved(t, b)
	if got := g.MaxVisitsInAll(g.First)[g.Stage("crafter")]; got != Unbounded {
		t.Errorf("without a max, crafter is visited %d times, want no bound", got)
	}
}

func TestVisitedSpeaksOfAGraphWithoutExpressions(t *testing.T) {
	b := trivia() // not proved
	for _, s := range b.Stages {
		s.Input, s.Outcome, s.Forward, s.MayChange = nil, nil, nil, nil
	}
	names := func(set map[*Stage]bool) []string {
		var list []*Stage
		for _, s := range b.Stages {
			if set[s] {
				list = append(list, s)
			}
		}
		return stageNames(list)
	}
	w := b.Visited()
	verifier, repairer := b.Stage("verifier"), b.Stage("repairer")
	for _, c := range []struct {
		where string
		got   map[*Stage]bool
		want  []string
	}{
		{"always before the verifier", w.Before(verifier).Always, []string{"stage.topic_miner"}},
		{"ever before the verifier", w.Before(verifier).Ever, []string{"stage.topic_miner", "stage.crafter", "stage.mme_crafter", "stage.verifier", "stage.repairer"}},
		{"always before the repairer", w.Before(repairer).Always, []string{"stage.topic_miner", "stage.verifier"}},
		{"outcomes before the repairer", w.Before(repairer).Outcome, []string{"stage.topic_miner"}},
		{"always after the repairer", w.After(repairer).Always, []string{"stage.topic_miner", "stage.verifier", "stage.repairer"}},
		{"always after a failed repair", w.AfterFailure(repairer).Always, []string{"stage.topic_miner", "stage.verifier"}},
		{"always at the gate", w.AtGate().Always, []string{"stage.topic_miner", "stage.verifier"}},
	} {
		if diff := cmp.Diff(c.want, names(c.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.where, diff)
		}
	}
}
