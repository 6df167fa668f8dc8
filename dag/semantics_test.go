package dag

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// single is a graph of one stage whose failures go to the gate as review, so
// that a test can see what a visit came to.
func single(change func(*build, *Stage)) *build {
	b := newBuild()
	s := b.stage("s", "ok", "no")
	r := b.route(b.gate(), s)
	r.Fail = []FailArm{{Arm: b.as(Review, "")}}
	if change != nil {
		change(b, s)
	}
	return b
}

// failure is what the first visit of the trail failed with.
func failure(tr *Traversal) *Failure { return tr.Trail().Visits[0].Failure }

func TestAVisitComesToWhatTheStageDeclares(t *testing.T) {
	finite, nan := 0.5, 0.0
	nan /= nan
	findings := func(codes map[string]Code) func(*build, *Stage) {
		return func(_ *build, s *Stage) { s.Findings = &FindingMap{Codes: codes} }
	}
	for name, c := range map[string]struct {
		change  func(*build, *Stage)
		visited Visited
		want    *Failure
		outcome string
	}{
		"no word is ok":                    {nil, Visited{Output: lit("1")}, nil, "ok"},
		"the plugin's word is the outcome": {nil, Visited{Output: lit("1"), Word: "no"}, nil, "no"},
		"a word that is not declared": {nil, Visited{Output: lit("1"), Word: "maybe"},
			&Failure{Code: EOutcome, Message: `stage.s ended with "maybe", which it does not declare: it declares "ok" and "no"`}, ""},
		"the outcome is read from the output": {func(_ *build, s *Stage) { s.Outcome = get("output", "status") },
			Visited{Output: lit(`{"status":"no"}`), Word: "ok"}, nil, "no"},
		"an outcome that cannot be read": {func(_ *build, s *Stage) { s.Outcome = get("output", "status") },
			Visited{Output: lit(`[]`)}, &Failure{Code: EExpr, Message: "pipeline.hcl:7,9: output.status is not there"}, ""},
		"the stage's code replaces the engine's content codes": {func(_ *build, s *Stage) { s.Code = "BAD" },
			Visited{Failure: Fail(ERefused, "no")}, &Failure{Code: "BAD", Cause: ERefused, Message: "no"}, ""},
		"the stage's code does not replace others": {func(_ *build, s *Stage) { s.Code = "BAD" },
			Visited{Failure: Fail(EExec, "status 3")}, &Failure{Code: EExec, Message: "status 3"}, ""},
		"a finding's word that is not mapped": {findings(map[string]Code{"thin": "THIN"}),
			Visited{Output: lit("1"), Findings: []PluginFinding{{Word: "odd"}}},
			&Failure{Code: EFinding, Message: "stage.s left a finding \"odd\", which its `findings` does not map to a code"}, ""},
		"a finding where none is mapped": {nil, Visited{Output: lit("1"), Findings: []PluginFinding{{Word: "odd"}}},
			&Failure{Code: EFinding, Message: "stage.s left a finding \"odd\", which its `findings` does not map to a code"}, ""},
		"a finding with a triage that is none": {findings(map[string]Code{"thin": "THIN"}),
			Visited{Output: lit("1"), Findings: []PluginFinding{{Word: "thin", Triage: "fine"}}},
			&Failure{Code: EFinding, Message: `the finding "thin" of stage.s has the triage "fine", which is none`}, ""},
		"a finding with a figure that is no number": {findings(map[string]Code{"thin": "THIN"}),
			Visited{Output: lit("1"), Findings: []PluginFinding{{Word: "thin", Figure: &nan}}},
			&Failure{Code: EFinding, Message: `the finding "thin" of stage.s has a figure that is no finite number`}, ""},
		"a finding": {findings(map[string]Code{"thin": "THIN"}),
			Visited{Output: lit("1"), Findings: []PluginFinding{{Word: "thin", Figure: &finite}}}, nil, "ok"},
		"what travels on cannot be read": {func(_ *build, s *Stage) { s.Forward = broken("crd") },
			Visited{Output: lit("1")}, &Failure{Code: EExpr, Message: `pipeline.hcl:3,5: item has no attribute "crd"`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tr := proved(t, single(c.change)).Start(Item{Key: "k", Origin: lit(`{"q":1}`)}, Doc{})
			apply(t, tr, &c.visited)
			if step := expect(t, tr, DoGate, ""); (step.As == Review) != (c.want != nil) {
				t.Errorf("the item comes to the gate as %q", step.As)
			}
			if diff := cmp.Diff(c.want, failure(tr)); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			if got := tr.Trail().Visits[0].Outcome; got != c.outcome {
				t.Errorf("the outcome is %q, want %q", got, c.outcome)
			}
			if c.want != nil && tr.Item().Digest != lit(`{"q":1}`).Digest {
				t.Error("after a failure the item is not what it was before the visit")
			}
		})
	}
}

func TestAMaskBoundsWhatAVisitMayChange(t *testing.T) {
	const before = `{"a":1,"n":{"x":1,"y~/":2},"q":"Q","w":["u","v"]}`
	for name, c := range map[string]struct {
		may    any
		must   bool
		code   Code
		output string
		want   string // the message; empty: no failure
	}{
		"a bare name covers its subtree":      {[]any{"n"}, false, "", `{"a":1,"n":{"z":[]},"q":"Q","w":["u","v"]}`, ""},
		"a pointer goes inside":               {[]any{"/n/x"}, false, "", `{"a":1,"n":{"x":9,"y~/":2},"q":"Q","w":["u","v"]}`, ""},
		"a pointer is escaped":                {[]any{"/n/y~0~1"}, false, "", `{"a":1,"n":{"x":1,"y~/":9},"q":"Q","w":["u","v"]}`, ""},
		"a sibling of what may change":        {[]any{"/n/x"}, false, "", `{"a":1,"n":{"x":1,"y~/":9},"q":"Q","w":["u","v"]}`, "changed /n/y~0~1, where only /n/x may"},
		"an element":                          {[]any{"/w/1"}, false, "", `{"a":1,"n":{"x":1,"y~/":2},"q":"Q","w":["u","z"]}`, ""},
		"an element more":                     {[]any{"/w/1"}, false, "", `{"a":1,"n":{"x":1,"y~/":2},"q":"Q","w":["u","v","z"]}`, "changed /w/2, where only /w/1 may"},
		"an element less":                     {[]any{"q"}, false, "", `{"a":1,"n":{"x":1,"y~/":2},"q":"Q","w":["u"]}`, "changed /w/1, where only /q may"},
		"a member more, a member less":        {[]any{"q"}, false, "", `{"a":1,"b":2,"q":"Q","w":["u","v"]}`, "changed /n and /b, where only /q may"},
		"another type":                        {[]any{"/n/x"}, false, "", `{"a":1,"n":[],"q":"Q","w":["u","v"]}`, "changed /n, where only /n/x may"},
		"another document":                    {[]any{"q"}, false, "", `7`, "changed the whole document, where only /q may"},
		"the empty pointer is all of it":      {[]any{""}, false, "", `7`, ""},
		"nothing may":                         {[]any{}, false, "", `{"a":1,"n":{"x":1,"y~/":2},"q":"R","w":["u","v"]}`, "changed /q, where nothing may"},
		"nothing may, and nothing did":        {[]any{}, false, "", before, ""},
		"nothing may, and something must":     {[]any{}, true, "", "", "nothing may change here, and something must"},
		"nothing may, with a code of its own": {[]any{}, false, "DUP", "", "nothing may change here, and something must"},
		"something must, and nothing did":     {[]any{"q"}, true, "", before, "nothing was changed, and something must be"},
		"something must, with its own code":   {[]any{"q"}, false, "DUP", before, "nothing was changed, and something must be"},
		"something must, and did":             {[]any{"q"}, true, "", `{"a":1,"n":{"x":1,"y~/":2},"q":"R","w":["u","v"]}`, ""},
		"something must, wherever":            {nil, true, "", before, "nothing was changed, and something must be"},
		"no list":                             {"q", false, "", "", "`may_change` is a list of texts, this is \"q\""},
		"no texts":                            {[]any{1}, false, "", "", "`may_change` is a list of texts, this is [1]"},
	} {
		t.Run(name, func(t *testing.T) {
			b := single(func(_ *build, s *Stage) {
				s.MustChange, s.MustCode, s.Code = c.must, c.code, "BAD"
				if c.may != nil {
					s.MayChange = constant(c.may)
				}
			})
			tr := proved(t, b).Start(Item{Key: "k", Origin: lit(before)}, Doc{})
			if c.output != "" {
				visit(t, tr, "s", c.output)
			}
			expect(t, tr, DoGate, "")
			f := failure(tr)
			if c.want == "" {
				if f != nil {
					t.Errorf("the visit fails: %v", f)
				}
				return
			}
			want := &Failure{Code: "BAD", Cause: EMask, Message: c.want}
			switch {
			case strings.HasPrefix(c.want, "`may_change`"):
				want = &Failure{Code: EExpr, Message: ": " + c.want}
			case c.code != "":
				want.Code = c.code
			}
			if diff := cmp.Diff(want, f); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			if v := tr.Trail().Visits[0]; c.output == "" && !v.Action.IsZero() {
				t.Error("a visit that was never paid for has an action")
			}
		})
	}
}

func TestAFailureIsRoutedByItsCauseThenItsCodeThenTheRest(t *testing.T) {
	for name, c := range map[string]struct {
		fail []Code // arms, in order
		give *Failure
		want int // the arm that is taken; -1: none
	}{
		"the cause before the code":  {[]Code{"BAD", ERefused, ""}, Fail(ERefused, ""), 1},
		"the code where no cause is": {[]Code{"", "BAD", EOutput}, Fail(ERefused, ""), 1},
		"the rest":                   {[]Code{EOutput, "", "DUP"}, Fail(ERefused, ""), 1},
		"a code of the plugin's own": {[]Code{"", "OTHER"}, Fail("OTHER", ""), 1},
		"nothing that fits":          {[]Code{EOutput}, Fail(ERefused, ""), -1},
		"no arm at all":              {nil, Fail("OTHER", "why"), -1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuild()
			s := b.stage("s")
			s.Code = "BAD"
			r := b.route(b.gate(), s)
			for _, code := range c.fail {
				r.Fail = append(r.Fail, FailArm{Code: code, Arm: b.stop(Rejected, string(code))})
			}
			tr := proved(t, b).Start(Item{Key: "k", Origin: lit("1")}, Doc{})
			apply(t, tr, &Visited{Failure: c.give})
			step := expect(t, tr, DoStop, "")
			if c.want < 0 {
				f := s.renamed(c.give)
				want := Step{Kind: DoStop, End: Failed, Code: f.Code, Failed: f}
				if diff := cmp.Diff(want, step); diff != "" {
					t.Errorf("step (-want +got):\n%s", diff)
				}
				return
			}
			f := s.renamed(c.give)
			want := Step{Kind: DoStop, End: Rejected, Code: f.Code, Status: string(c.fail[c.want]), Failed: f}
			if diff := cmp.Diff(want, step); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStopAfterAFailureTellsItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		code Code // of the stop
		give *Failure
		want *Failure
	}{
		"without a code it keeps the failure's": {"", Fail("OTHER", "why"), &Failure{Code: "OTHER", Message: "why"}},
		"its own code, the failure's as cause":  {"DUP", Fail("OTHER", "why"), &Failure{Code: "DUP", Cause: "OTHER", Message: "why"}},
		"its own code, the cause as cause":      {"DUP", Fail(ERefused, "why"), &Failure{Code: "DUP", Cause: ERefused, Message: "why"}},
		"the same code":                         {"BAD", Fail(ERefused, "why"), &Failure{Code: "BAD", Cause: ERefused, Message: "why"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuild()
			s := b.stage("s")
			s.Code = "BAD"
			stop := b.stop(Failed, "told")
			stop.Code = c.code
			b.route(b.gate(), s).Fail = []FailArm{{Arm: stop}}
			tr := proved(t, b).Start(Item{Key: "k", Origin: lit("1")}, Doc{})
			apply(t, tr, &Visited{Failure: c.give})
			want := Step{Kind: DoStop, End: Failed, Code: c.want.Code, Status: "told", Failed: c.want}
			if diff := cmp.Diff(want, expect(t, tr, DoStop, "")); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

// loop is a → b → c, c goes back to b once; the way on may be any.
func loop() *build {
	b := newBuild()
	a, m, c := b.stage("a"), b.stage("b"), b.stage("c", "ok", "again")
	for _, s := range b.Stages {
		s.Findings = &FindingMap{Codes: map[string]Code{"thin": "THIN", "bad": "BAD", "dup": "DUP"}}
	}
	b.route(b.to(m), a)
	b.route(b.to(c), m)
	b.on(c, "ok", b.gate(), "again", b.max(m, 1))
	b.Gate.Candidate = []Member{{"all", object("a", whole("artifact.a"), "b", whole("artifact.b"), "c", whole("artifact.c"))}}
	return b
}

func TestABoundedEdgeMakesStaleWhatLiesOnTheWaysBack(t *testing.T) {
	tr := proved(t, loop()).Start(Item{Key: "k", Origin: lit("0")}, Doc{})
	names := []string{"artifact.a", "outcome.a", "artifact.b", "outcome.b", "artifact.c", "outcome.c", "finding.THIN", "finding.BAD", "finding.DUP", "triage", "pass"}
	read := func() map[string]string {
		m := map[string]string{}
		for _, n := range names {
			m[n] = lookup(t, tr, n)
		}
		return m
	}
	leave := func(stage, word, output string, said string) {
		expect(t, tr, DoVisit, stage)
		apply(t, tr, &Visited{Output: lit(output), Word: said, Findings: []PluginFinding{{Word: word}}})
	}
	leave("a", "thin", `"A"`, "")
	leave("b", "bad", `"B"`, "")
	expect(t, tr, DoVisit, "c")
	want := map[string]string{
		"artifact.a": `"A"`, "outcome.a": `"ok"`, "artifact.b": `"B"`, "outcome.b": `"ok"`, "artifact.c": "null", "outcome.c": "null",
		"finding.THIN": `{"code":"THIN","evidence":"","figure":null,"mode":"apply","stage":"a","triage":"review"}`,
		"finding.BAD":  `{"code":"BAD","evidence":"","figure":null,"mode":"apply","stage":"b","triage":"reject"}`,
		"finding.DUP":  "null", "triage": `"reject"`, "pass": "1",
	}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("before c (-want +got):\n%s", diff)
	}
	leave("c", "dup", `"C"`, "again")
	expect(t, tr, DoVisit, "b")
	// b is stale; of c, the deciding stage, the artifact stays.
	want["artifact.b"], want["outcome.b"], want["artifact.c"], want["finding.BAD"] = "null", "null", `"C"`, "null"
	want["triage"], want["pass"] = `"review"`, "2"
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("after the edge back (-want +got):\n%s", diff)
	}
	var stale []bool
	for _, v := range tr.Visits() {
		stale = append(stale, v.Stale)
	}
	if diff := cmp.Diff([]bool{false, true, false}, stale); diff != "" {
		t.Errorf("stale visits of a, b, c (-want +got):\n%s", diff)
	}
	apply(t, tr, &Visited{Output: lit(`"B2"`)})
	expect(t, tr, DoVisit, "c")
	if got := lookup(t, tr, "artifact.b"); got != `"B2"` {
		t.Errorf("visited anew, artifact.b is %s", got)
	}
	apply(t, tr, &Visited{Output: lit(`"C2"`), Word: "again"})
	step := expect(t, tr, DoStop, "")
	wantStep := Step{Kind: DoStop, End: Failed, Code: EExhausted, Failed: &Failure{Code: EExhausted, Message: "the edge from stage.c to stage.b may be taken once by one item"}}
	if diff := cmp.Diff(wantStep, step); diff != "" {
		t.Errorf("the edge a second time (-want +got):\n%s", diff)
	}
}

func TestAFailedVisitReplacesWhatTheStageLeft(t *testing.T) {
	b := loop()
	c := b.Stage("c")
	b.Routes[2].Fail = []FailArm{{Arm: b.as(Review, "")}}
	tr := proved(t, b).Start(Item{Key: "k", Origin: lit("0")}, Doc{})
	visit(t, tr, "a", `"A"`)
	visit(t, tr, "b", `"B"`)
	expect(t, tr, DoVisit, "c")
	apply(t, tr, &Visited{Output: lit(`"C"`), Word: "again", Findings: []PluginFinding{{Word: "dup"}}})
	visit(t, tr, "b", `"B2"`)
	expect(t, tr, DoVisit, c.Name)
	apply(t, tr, &Visited{Failure: Fail(ERefused, "no"), Findings: []PluginFinding{{Word: "dup"}}})
	expect(t, tr, DoGate, "")
	for n, want := range map[string]string{
		"artifact.c": "null", "outcome.c": "null", "finding.DUP": "null", "item": `"B2"`, "output": "null",
		"failed.c": `{"cause":null,"code":"E_REFUSED","message":"no"}`, "failed.b": "null",
	} {
		if got := lookup(t, tr, n); got != want {
			t.Errorf("%s is %s, want %s", n, got, want)
		}
	}
}

func TestTheLatestFailureStaysReadableAfterASuccess(t *testing.T) {
	b := newBuild()
	a := b.stage("a")
	b.route(b.gate(), a).Fail = []FailArm{{Arm: b.max(a, 1)}} // once more, told why
	a.Input = object("item", whole("item"), "why", whole("failed.a"))
	tr := proved(t, b).Start(Item{Key: "k", Origin: lit("1")}, Doc{})
	expect(t, tr, DoVisit, "a")
	apply(t, tr, &Visited{Failure: Fail(EMalformed, "no JSON")})
	step := visit(t, tr, "a", "2")
	if got := string(step.Input.Bytes); got != `{"item":1,"why":{"cause":null,"code":"E_MALFORMED","message":"no JSON"}}` {
		t.Errorf("the second visit gets %s", got)
	}
	expect(t, tr, DoGate, "")
	if got := lookup(t, tr, "failed.a"); got != `{"cause":null,"code":"E_MALFORMED","message":"no JSON"}` {
		t.Errorf("after the success failed.a is %s", got)
	}
}

func TestWhatComesFromOutsideIsCutSoThatAStateStaysSmall(t *testing.T) {
	b := loop()
	tr := proved(t, b).Start(Item{Key: "k", Origin: lit("0")}, Doc{})
	long := strings.Repeat("ї\xff\n", 1<<18)
	expect(t, tr, DoVisit, "a")
	apply(t, tr, &Visited{Output: lit(`"A"`), Facts: Facts{Model: long, Calls: -1}, Findings: []PluginFinding{{Word: "thin", Evidence: long}}})
	expect(t, tr, DoVisit, "b")
	apply(t, tr, &Visited{Output: lit(`"B"`), Word: long})
	step := expect(t, tr, DoStop, "")
	if step.Code != EOutcome {
		t.Errorf("the item stops with %q, want %q", step.Code, EOutcome)
	}
	apply(t, tr, &Judged{End: Failed, Message: long, Record: long})
	if n := len(tr.State()); n > 8<<10 {
		t.Errorf("the state has %d bytes", n)
	}
	if _, err := DecodeTrail(AppendTrail(nil, tr.Trail())); err != nil {
		t.Errorf("the trail: %v", err)
	}
}

func TestADecideStageIsRunInsideTheTraversal(t *testing.T) {
	b := newBuild()
	s := b.stage("judge", "keep", "drop")
	s.Decide = &Decide{
		Rules: []DecideRule{
			{Reason: "off_topic", If: is(get("item", "topic"), "off"), Outcome: "drop", Output: object("was", whole("item"))},
			{Reason: "dry", If: is(get("run", "dry"), true), Outcome: "drop"},
			{Reason: "else", Outcome: "keep"},
		},
		Findings: []FindingRule{
			{Name: "off", If: is(whole("outcome"), "drop"), Code: "DUP", Figure: get("item", "p"), Evidence: constant("two\nlines")},
			{Name: "always", Code: "THIN", Mode: &Mode{Name: "m"}},
		},
	}
	b.on(s, "keep", b.gate(), "drop", b.stop(Rejected, "dropped"))
	g := proved(t, b)
	half := 0.5

	tr := g.Start(Item{Key: "k", Origin: lit(`{"topic":"off","p":0.5}`)}, lit(`{"dry":false}`))
	expect(t, tr, DoStop, "")
	in, out := lit(`{"topic":"off","p":0.5}`), lit(`{"was":{"topic":"off","p":0.5}}`)
	want := []Visit{{
		Stage: "judge", Pass: 1, Input: in.Digest, Output: out.Digest, Item: out.Digest, Outcome: "drop", Rule: "off_topic",
		Seen: []Seen{{Path: "item", JSON: in.Bytes}},
		Findings: []Finding{
			{Code: "DUP", Triage: Skip, Stage: "judge", Figure: &half, Evidence: "two lines"},
			{Code: "THIN", Triage: Review, Stage: "judge", Shadow: true},
		},
	}}
	if diff := cmp.Diff(want, tr.Trail().Visits); diff != "" {
		t.Errorf("the visit (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Doc{out}, tr.Made()); diff != "" {
		t.Errorf("documents made (-want +got):\n%s", diff)
	}
	tr = g.Start(Item{Key: "k", Origin: lit(`{"topic":"on"}`)}, lit(`{"dry":true}`))
	expect(t, tr, DoStop, "")
	tr = g.Start(Item{Key: "k", Origin: lit(`{"topic":"on"}`)}, lit(`{"dry":false}`))
	expect(t, tr, DoGate, "")
	if got := tr.Trail().Visits[0].Rule; got != "else" {
		t.Errorf("rule %q matched, want the else", got)
	}
}

func TestAnOutputOfDecideMustFitItsSchema(t *testing.T) {
	b := newBuild()
	s := b.stage("judge")
	s.Schema, s.Code = shape{"status"}, "BAD"
	s.Decide = &Decide{Rules: []DecideRule{{Reason: "else", Outcome: "ok"}}}
	b.route(b.gate(), s)
	tr := proved(t, b).Start(Item{Key: "k", Origin: lit(`{}`)}, Doc{})
	step := expect(t, tr, DoStop, "")
	want := &Failure{Code: "BAD", Cause: EOutput, Message: `the output of rule "else" does not fit status.json: at '': "status" is missing`}
	if diff := cmp.Diff(want, step.Failed); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
}

func TestRunIsReadInRoutesAndDecideOnly(t *testing.T) {
	b := single(func(_ *build, s *Stage) { s.Input = object("run", whole("run")) })
	tr := proved(t, b).Start(Item{Key: "k", Origin: lit("1")}, lit(`{"id":"r"}`))
	if _, err := tr.Next(); KindOf(err) != KindBug {
		t.Errorf("an input that reads run: %v, want a bug", err)
	}
	b = single(nil)
	b.Routes[0].To = b.when(is(get("run", "id"), "r"), b.stop(Rejected, "seen"), b.gate())
	tr = proved(t, b).Start(Item{Key: "k", Origin: lit("1")}, lit(`{"id":"r"}`))
	visit(t, tr, "s", "2")
	expect(t, tr, DoStop, "")
}

func TestAConditionThatCannotBeEvaluatedFailsTheItem(t *testing.T) {
	b := single(nil)
	b.Routes[0].To = b.when(broken("ctg"), b.gate(), b.gate())
	tr := proved(t, b).Start(Item{Key: "k", Origin: lit("1")}, Doc{})
	visit(t, tr, "s", "2")
	step := expect(t, tr, DoStop, "")
	want := Step{Kind: DoStop, End: Failed, Code: EExpr, Failed: &Failure{Code: EExpr, Message: `pipeline.hcl:3,5: item has no attribute "ctg"`}}
	if diff := cmp.Diff(want, step); diff != "" {
		t.Errorf("step (-want +got):\n%s", diff)
	}
}

func TestInShadowAnArmLeavesItsFindingLoweredAndAnotherIsTaken(t *testing.T) {
	for name, c := range map[string]struct {
		mode *Mode
		kind StepKind
		want []Finding
		note string
	}{
		"no mode": {nil, DoStop, []Finding{{Code: "BAD", Triage: Quarantine, Stage: "s"}}, ""},
		"apply":   {&Mode{Name: "m", Apply: true}, DoStop, []Finding{{Code: "BAD", Triage: Quarantine, Stage: "s"}}, ""},
		"shadow":  {&Mode{Name: "m"}, DoGate, []Finding{{Code: "BAD", Triage: Review, Stage: "s", Shadow: true, Noted: Quarantine}}, "quarantine:BAD (s shadow)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := single(nil)
			arm := b.stop(Rejected, "")
			arm.Findings = []FindingRule{{Code: "BAD", Triage: Quarantine}}
			arm.Mode, arm.Shadow = c.mode, b.gate()
			b.Routes[0].To = arm
			tr := proved(t, b).Start(Item{Key: "k", Origin: lit("1")}, Doc{})
			visit(t, tr, "s", "2")
			expect(t, tr, c.kind, "")
			if diff := cmp.Diff(c.want, tr.Findings()); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if got := tr.Findings()[0].Note(); got != c.note {
				t.Errorf("the note is %q, want %q", got, c.note)
			}
		})
	}
}

func TestTheMostSevereFindingWinsOnATieTheEarlier(t *testing.T) {
	b := single(func(_ *build, s *Stage) {
		s.Findings = &FindingMap{Codes: map[string]Code{"thin": "THIN", "dup": "DUP"}}
	})
	tr := proved(t, b).Start(Item{Key: "k", Origin: lit("1")}, Doc{})
	if got := tr.Triage(); got != Accept {
		t.Errorf("without a finding the triage is %q, want accept", got)
	}
	expect(t, tr, DoVisit, "s")
	apply(t, tr, &Visited{Output: lit("1"), Findings: []PluginFinding{
		{Word: "thin", Evidence: "first"}, {Word: "thin", Triage: Quarantine, Evidence: "second"},
		{Word: "thin", Triage: Quarantine, Evidence: "third"}, {Word: "dup", Triage: Accept},
	}})
	expect(t, tr, DoGate, "")
	if got := tr.Triage(); got != Quarantine {
		t.Errorf("the triage is %q, want quarantine", got)
	}
	if got := lookup(t, tr, "finding.THIN"); !strings.Contains(got, `"second"`) {
		t.Errorf("finding.THIN is %s, want the second", got)
	}
}

func TestAFanOutIsCheckedBeforeAnyChildStarts(t *testing.T) {
	for name, c := range map[string]struct {
		code   Code
		min    int
		max    int
		output string
		want   *Failure
	}{
		"too few":            {"BAD", 2, 2, `{"list":[{"key":"x"}]}`, &Failure{Code: "BAD", Cause: EFanOut, Message: "the fan-out has 1 element, where exactly 2 must be"}},
		"too many":           {"", 0, 1, `{"list":[{"key":"x"},{"key":"y"}]}`, &Failure{Code: EFanOut, Message: "the fan-out has 2 elements, where at most 1 may be"}},
		"a key twice":        {"", 0, 0, `{"list":[{"key":"x"},{"key":"x"}]}`, &Failure{Code: EFanOut, Message: `the fan-out has the key "k/x" twice`}},
		"an empty key":       {"", 0, 0, `{"list":[{"key":""}]}`, &Failure{Code: EFanOut, Message: `the fan-out has the key "k/": a key is not empty, has at most 256 bytes and no control characters`}},
		"a control in a key": {"", 0, 0, `{"list":[{"key":"a\tb"}]}`, &Failure{Code: EFanOut, Message: `the fan-out has the key "k/a b": a key is not empty, has at most 256 bytes and no control characters`}},
		"no list":            {"", 0, 0, `{"list":{}}`, &Failure{Code: EExpr, Message: "pipeline.hcl:7,9: `each` is a list, this is {}"}},
		"none":               {"", 0, 0, `{"list":[]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := single(func(_ *build, s *Stage) {
				s.FanOut = &FanOut{Each: get("output", "list"), Key: get("each", "key"), Min: c.min, Max: c.max, Code: c.code}
			})
			tr := proved(t, b).Start(Item{Key: "k", Origin: lit("1")}, Doc{})
			visit(t, tr, "s", c.output)
			kind := DoGate
			if c.want == nil {
				kind = DoSpawn
			}
			expect(t, tr, kind, "")
			if diff := cmp.Diff(c.want, failure(tr)); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAQuestionIsAnsweredExpiredOrAskedTooOften(t *testing.T) {
	make := func(max int, expired, exhausted bool) *Graph {
		b := newBuild()
		a, c := b.stage("a"), b.stage("c")
		b.route(b.to(c), a)
		ask := &Ask{Question: get("output", "q"), Resume: []*Stage{a, c}, ResumeTo: get("answer", "value", "to"), Max: max}
		b.route(&Arm{Kind: ArmAsk, Ask: ask, Pos: b.pos()}, c)
		if expired {
			ask.Expired = b.stop(Rejected, "late")
		}
		if exhausted {
			ask.Exhausted = b.gate()
		}
		b.Gate.Candidate = []Member{{"a", whole("artifact.a")}}
		return proved(t, b)
	}
	start := func(g *Graph) *Traversal {
		tr := g.Start(Item{Key: "k", Origin: lit("1")}, Doc{})
		visit(t, tr, "a", `"A"`)
		visit(t, tr, "c", `{"q":"which?"}`)
		return tr
	}
	t.Run("answered", func(t *testing.T) {
		tr := start(make(1, false, true))
		step := expect(t, tr, DoWait, "")
		if got := string(step.Question.Bytes); got != `"which?"` {
			t.Errorf("the question is %s", got)
		}
		apply(t, tr, &Answered{Value: lit(`{"to":"a"}`)})
		expect(t, tr, DoVisit, "a")
		if got := lookup(t, tr, "answer"); got != `{"count":1,"question":"which?","value":{"to":"a"}}` {
			t.Errorf("answer is %s", got)
		}
		if got := lookup(t, tr, "artifact.a"); got != "null" {
			t.Errorf("after a resume artifact.a is %s, want it stale", got)
		}
		apply(t, tr, &Visited{Output: lit(`"A2"`)})
		visit(t, tr, "c", `{"q":"which?"}`)
		expect(t, tr, DoGate, "") // exhausted
	})
	t.Run("with a stage that is none", func(t *testing.T) {
		tr := start(make(1, false, true))
		expect(t, tr, DoWait, "")
		apply(t, tr, &Answered{Value: lit(`{"to":"b"}`)})
		step := expect(t, tr, DoStop, "")
		want := &Failure{Code: EExpr, Message: `pipeline.hcl:7,9: the stage to resume at is "b", which is none of stage.a and stage.c`}
		if diff := cmp.Diff(want, step.Failed); diff != "" {
			t.Errorf("failure (-want +got):\n%s", diff)
		}
	})
	t.Run("expired", func(t *testing.T) {
		tr := start(make(1, true, true))
		expect(t, tr, DoWait, "")
		apply(t, tr, &Expired{})
		if step := expect(t, tr, DoStop, ""); step.Status != "late" || step.End != Rejected {
			t.Errorf("the step is %+v", step)
		}
	})
	t.Run("expired without an arm", func(t *testing.T) {
		tr := start(make(1, false, true))
		expect(t, tr, DoWait, "")
		apply(t, tr, &Expired{})
		if step := expect(t, tr, DoStop, ""); step.Status != "expired" || step.End != Failed {
			t.Errorf("the step is %+v", step)
		}
	})
	t.Run("never to be asked", func(t *testing.T) {
		b := newBuild()
		a := b.stage("a")
		c := b.stage("c", "ok", "no")
		b.route(b.to(c), a)
		b.on(c, "ok", b.gate(), "no", &Arm{Kind: ArmAsk, Ask: &Ask{Resume: []*Stage{a}}, Pos: b.pos()})
		tr := proved(t, b).Start(Item{Key: "k", Origin: lit("1")}, Doc{})
		visit(t, tr, "a", "1")
		expect(t, tr, DoVisit, "c")
		apply(t, tr, &Visited{Output: lit("1"), Word: "no"})
		step := expect(t, tr, DoStop, "")
		if want := "the question after stage.c may be taken at no time by one item"; step.Code != EExhausted || step.Failed.Message != want {
			t.Errorf("the step is %+v, want %q", step, want)
		}
	})
}

func TestADocumentThatIsGoneIsInfrastructureAndNextMayBeAskedAgain(t *testing.T) {
	b := single(func(b *build, s *Stage) { s.Outcome = get("output", "status") })
	g := proved(t, b)
	tr := g.Start(Item{Key: "k", Origin: lit("1")}, Doc{})
	expect(t, tr, DoVisit, "s")
	output := lit(`{"status":"no"}`)
	gone := true
	tr.WithLoad(func(d Digest) ([]byte, error) {
		if gone || d != output.Digest {
			return nil, errors.New("torn")
		}
		return output.Bytes, nil
	})
	apply(t, tr, &Visited{Output: Doc{Digest: output.Digest}})
	before := string(tr.State())
	_, err := tr.Next()
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindInfrastructure || e.Code != EStore || e.Subject != output.Digest.String() {
		t.Fatalf("a document that is gone: %v, want infrastructure", err)
	}
	if after := string(tr.State()); after != before {
		t.Errorf("the error changed the state from\n%s\nto\n%s", before, after)
	}
	gone = false
	expect(t, tr, DoGate, "")
	if got := tr.Trail().Visits[0].Outcome; got != "no" {
		t.Errorf("the outcome is %q, want no", got)
	}
}

func TestBytesAreHeldOnlyOfWhatIsRead(t *testing.T) {
	tr := proved(t, trivia()).Start(Item{Key: "k", Origin: lit(`{"cat":"music"}`)}, Doc{})
	visit(t, tr, "topic_miner", `{"topics":[{"topic_id":"t1","cat":"music"},{"topic_id":"t2","cat":"music"}]}`)
	spawn := expect(t, tr, DoSpawn, "")
	child := tr.g.Child(tr, spawn.Children[0])
	visit(t, child, "mme_crafter", `{"q":"Q"}`)
	visit(t, child, "verifier", `{"status":"accept"}`)
	expect(t, child, DoGate, "")
	for stage, held := range map[string]bool{"topic_miner": true, "mme_crafter": false, "verifier": true} {
		d := child.stages[child.g.Stage(stage).Index].artifact
		if d.Digest.IsZero() || (d.Bytes != nil) != held {
			t.Errorf("the artifact of %s has %d bytes, want them held: %v", stage, len(d.Bytes), held)
		}
	}
	if tr.origin.Bytes != nil {
		t.Error("the bytes of origin are held, and nothing reads them")
	}
}

func TestATraversalIsNotRestoredAcrossAChangedGraph(t *testing.T) {
	state := proved(t, loop()).Start(Item{Key: "k", Origin: lit("0")}, Doc{}).State()
	b := loop()
	b.Routes[2].On["again"].Max = 2
	_, err := proved(t, b).Restore(state, nil)
	if KindOf(err) != KindDiffers {
		t.Errorf("restored across a changed graph: %v, want that it differs", err)
	}
	for name, damaged := range map[string]string{
		"no JSON":     "{",
		"old version": strings.Replace(string(state), `"version":1`, `"version":0`, 1),
		"no phase":    strings.Replace(string(state), `"phase":"enter"`, `"phase":"begin"`, 1),
		"no stage":    strings.Replace(string(state), `"at":"a"`, `"at":"z"`, 1),
		"no event":    strings.Replace(string(state), `"phase":"enter"`, `"phase":"settle"`, 1),
	} {
		if _, err := proved(t, loop()).Restore([]byte(damaged), nil); KindOf(err) != KindInfrastructure || err == nil {
			t.Errorf("%s: %v, want infrastructure", name, err)
		}
	}
}

func TestAStateThatWasTamperedWithNeverPanics(t *testing.T) {
	g := proved(t, trivia())
	tr := g.Start(Item{Key: "k", Origin: lit(`{"cat":"music"}`)}, lit(`{"id":"r"}`))
	visit(t, tr, "topic_miner", `{"topics":[{"topic_id":"t1","cat":"music"},{"topic_id":"t2","cat":"music"}]}`)
	whole := tr.State()
	load := func(Digest) ([]byte, error) { return []byte(`{"status":"accept"}`), nil }
	rapid.Check(t, func(t *rapid.T) {
		var st state
		if err := json.Unmarshal(whole, &st); err != nil {
			t.Fatal(err)
		}
		st.Phase = rapid.SampledFrom([]phase{phaseEnter, phaseSettle, phaseRoute, phaseGate, phaseSpawn, phaseWait, phaseResume, phaseExpire, phaseStop, phaseDone, ""}).Draw(t, "phase")
		st.At = rapid.SampledFrom([]string{"topic_miner", "crafter", "verifier", "repairer", ""}).Draw(t, "at")
		st.Arm = rapid.IntRange(-2, 12).Draw(t, "arm")
		st.Taken = []stateTaken{{Arm: rapid.IntRange(-1, 12).Draw(t, "counter"), Times: rapid.IntRange(-1, 3).Draw(t, "times")}}
		if rapid.Bool().Draw(t, "settled") {
			st.Event = nil
		}
		if rapid.Bool().Draw(t, "unvisited") {
			st.Stages, st.Output = nil, Digest{}
		}
		b, err := json.Marshal(&st)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := g.Restore(b, load)
		if err != nil {
			return
		}
		for range 3 {
			step, err := tr.Next()
			if err != nil {
				return
			}
			for _, e := range []Event{&Visited{Output: lit("1")}, &Judged{End: Accepted}, &Answered{Value: lit("1")}} {
				if tr.Apply(e) == nil {
					break
				}
			}
			tr.Visits()
			tr.State()
			if step.Kind == Done {
				return
			}
		}
	})
}
