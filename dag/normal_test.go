package dag

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// full is the trivia pipeline with everything that a digest may cover.
func full() *build {
	b := trivia()
	openai := &Plugin{Name: "openai", Source: "builtin/openai"}
	for _, s := range b.Stages {
		s.Provider = &Provider{Name: "writer", Plugin: openai, Model: "m", Config: lit(`{"base_url":"http://a","temperature":0.2}`)}
		s.Config = lit(`{"template":"Write."}`)
		s.Schema = shape{"q"}
	}
	b.Sources = []*Source{{Name: "buckets", Schema: shape{"cat"}, Code: "BAD"}}
	b.Gate.Bucket = get("origin", "cat")
	b.Gate.Checks = []*Check{{Kind: "assert", Name: "assert", Code: "BAD", Args: map[string]Expr{"condition": is(get("card", "ok"), true)}}}
	b.Gate.Corpus = &Corpus{Kind: "jsonl", Data: constant("data.jsonl"), Evidence: "meta/e.jsonl", Record: whole("card")}
	return b
}

func TestADigestChangesWithWhatDecidesAndWithNothingElse(t *testing.T) {
	type changes struct{ Graph, Gate, Recipe bool }
	for name, c := range map[string]struct {
		change func(*build, *Stage)
		want   changes
	}{
		"nothing": {func(*build, *Stage) {}, changes{}},
		"names of blocks": {func(b *build, s *Stage) {
			s.Plugin.Name, s.Provider.Name, s.Provider.Plugin.Name = "x", "y", "z"
			b.Gate.Name, b.Routes[0].Name = "end", "first"
		}, changes{}},
		"positions and descriptions": {func(b *build, s *Stage) {
			s.Pos.Line, b.Routes[0].Pos.Line, b.Arms = 99, 99, nil
			b.Pipeline = Pipeline{Name: "n", Description: "d"}
			b.Codes[0].Meaning = "thin"
		}, changes{}},
		"limits and scheduling": {func(b *build, s *Stage) {
			s.Timeout, s.Concurrency, s.Retry.Attempts, s.MaxAge = time.Second, 7, 9, time.Hour
			s.Provider.Limits, s.Plugin.Processes, s.Provider.Price = Limits{1, 2, 3, new(time.Second), new(time.Minute), true}, 4, &Price{Input: 1}
			b.Gate.Concurrency, b.Gate.Hold, b.Gate.Breaker = 4, s, &Breaker{Consecutive: 20}
		}, changes{}},
		"the order of declaration": {func(b *build, _ *Stage) {
			b.Stages[3], b.Stages[4] = b.Stages[4], b.Stages[3]
			b.Codes[0], b.Codes[1] = b.Codes[1], b.Codes[0]
		}, changes{}},
		"secrets and the address": {func(_ *build, s *Stage) {
			s.Provider.Secrets = map[string]string{"api_key": "k"}
			s.Provider.Config = lit(`{"base_url":"http://b","temperature":0.2}`)
		}, changes{}},
		"sampling":         {func(_ *build, s *Stage) { s.Provider.Config = lit(`{"temperature":0.3}`) }, changes{true, false, true}},
		"the model":        {func(_ *build, s *Stage) { s.Provider.Model = "n" }, changes{true, false, true}},
		"the provider":     {func(_ *build, s *Stage) { s.Provider.Plugin = &Plugin{Source: "builtin/x"} }, changes{true, false, true}},
		"the plugin":       {func(_ *build, s *Stage) { s.Plugin.Source = "./own" }, changes{true, false, true}},
		"the prompt":       {func(_ *build, s *Stage) { s.Config = lit(`{"template":"Draw."}`) }, changes{true, false, true}},
		"the schema":       {func(_ *build, s *Stage) { s.Schema = shape{"a"} }, changes{true, false, true}},
		"what is volatile": {func(_ *build, s *Stage) { s.Volatile = []string{"/at"} }, changes{true, false, true}},
		"a decide rule": {func(_ *build, s *Stage) {
			s.Decide = &Decide{Rules: []DecideRule{{Reason: "else", Outcome: "ok"}}}
		}, changes{true, false, true}},
		"samples":     {func(_ *build, s *Stage) { s.Samples = 3 }, changes{Graph: true}},
		"the input":   {func(_ *build, s *Stage) { s.Input = whole("origin") }, changes{Graph: true}},
		"the outcome": {func(_ *build, s *Stage) { s.Outcome = get("output", "s") }, changes{Graph: true}},
		"the mask":    {func(_ *build, s *Stage) { s.MayChange = constant([]any{"q"}) }, changes{Graph: true}},
		"the code":    {func(_ *build, s *Stage) { s.Code = "BAD" }, changes{Graph: true}},
		"a route": {func(b *build, _ *Stage) { b.Routes[0].To.Branches[0].If = is(get("item", "cat"), "film") },
			changes{Graph: true}},
		"a bound":              {func(b *build, _ *Stage) { b.Routes[2].On["repair"].Max = 2 }, changes{Graph: true}},
		"a fail arm":           {func(b *build, _ *Stage) { b.Routes[0].Fail = []FailArm{{Arm: b.gate()}} }, changes{Graph: true}},
		"a code's triage":      {func(b *build, _ *Stage) { b.Codes[0].Triage = Reject }, changes{Graph: true}},
		"the source's schema":  {func(b *build, _ *Stage) { b.Sources[0].Schema = shape{"x"} }, changes{Graph: true}},
		"the record":           {func(b *build, _ *Stage) { b.Gate.Corpus.Record = whole("topic") }, changes{Graph: true}},
		"a check's name":       {func(b *build, _ *Stage) { b.Gate.Checks[0].Name = "clean" }, changes{Graph: true}},
		"a check's message":    {func(b *build, _ *Stage) { b.Gate.Checks[0].Message = "no" }, changes{}},
		"a check's argument":   {func(b *build, _ *Stage) { b.Gate.Checks[0].Args["condition"] = constant(true) }, changes{Graph: true, Gate: true}},
		"a check's code":       {func(b *build, _ *Stage) { b.Gate.Checks[0].Code = "DUP" }, changes{Graph: true, Gate: true}},
		"whether a check ends": {func(b *build, _ *Stage) { b.Gate.Checks[0].Ends = true }, changes{Graph: true, Gate: true}},
		"what is undecided":    {func(b *build, _ *Stage) { b.Gate.Undecided = "parked" }, changes{Graph: true, Gate: true}},
		"stages that share their counters": {func(b *build, _ *Stage) {
			b.Routes[1].From = b.Routes[1].From[:1]
			b.route(b.Routes[1].To, b.Stage("mme_crafter"))
		}, changes{Graph: true}},
	} {
		t.Run(name, func(t *testing.T) {
			was, is := full(), full()
			c.change(is, is.Stages[1])
			got := changes{was.Digest() != is.Digest(), was.Gate.Digest() != is.Gate.Digest(), was.Stages[1].Recipe() != is.Stages[1].Recipe()}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("digests that change (-want +got):\n%s", diff)
			}
		})
	}
}

func TestR17TheRecipeTellsWhichPartChanged(t *testing.T) {
	a, b := full().Stages[1], full().Stages[1]
	b.Provider.Model = "n"
	plugin, provider := Sum([]byte("prompt/1")), Sum([]byte("openai/1"))
	parts := func(s *Stage, plugin, provider Digest) map[string]Digest {
		m := map[string]Digest{}
		for _, p := range s.RecipeParts(plugin, provider) {
			m[p.Name] = p.Digest
		}
		return m
	}
	changed := func(x, y map[string]Digest) (names []string) {
		for _, p := range a.RecipeParts(plugin, provider) {
			if x[p.Name] != y[p.Name] {
				names = append(names, p.Name)
			}
		}
		return names
	}
	base := parts(a, plugin, provider)
	for _, c := range []struct {
		what string
		got  map[string]Digest
		want []string
	}{
		{"the model", parts(b, plugin, provider), []string{"model"}},
		{"the plugin's behaviour", parts(a, Sum([]byte("prompt/2")), provider), []string{"plugin"}},
		{"the provider's wire", parts(a, plugin, Sum([]byte("openai/2"))), []string{"provider"}},
	} {
		if diff := cmp.Diff(c.want, changed(base, c.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

func TestAnActionIsItsRecipeItsInputAndItsSample(t *testing.T) {
	r, i := Sum([]byte("r")), Sum([]byte("i"))
	seen := map[Digest]bool{}
	for _, d := range []Digest{ActionDigest(r, i, 0), ActionDigest(r, i, 1), ActionDigest(i, r, 0), ActionDigest(r, r, 0)} {
		if seen[d] {
			t.Errorf("two actions have the digest %s", d.Short())
		}
		seen[d] = true
	}
	if first, again := ActionDigest(r, i, 0), ActionDigest(r, i, 0); first != again {
		t.Error("an action has two digests")
	}
}

// Each argument of each kind of check stands in the gate's digest: a verdict under
// another one is another verdict.
func TestEveryArgumentIsInTheGatesDigest(t *testing.T) {
	for _, kind := range CheckKinds() {
		for _, arg := range kind.Args {
			sum := func(value Expr, schema Schema, stages ...*Stage) Digest {
				c := &Check{Kind: kind.Kind, Name: "it", Code: "BAD", Args: map[string]Expr{}}
				switch arg.Type {
				case "stage":
					c.Stage = stages[0]
				case "stages":
					c.Of = stages
				case "schema":
					c.Schema = schema
				default:
					c.Args[arg.Name] = value
				}
				return (&Gate{Checks: []*Check{c}}).Digest()
			}
			a := sum(constant("a"), shape{"a"}, &Stage{Name: "a"})
			if b := sum(constant("b"), shape{"b"}, &Stage{Name: "b"}); a == b {
				t.Errorf("%s.%s is in no digest", kind.Kind, arg.Name)
			}
			if again := sum(constant("a"), shape{"a"}, &Stage{Name: "a"}); a != again {
				t.Errorf("%s.%s: the same has two digests", kind.Kind, arg.Name)
			}
		}
	}
}
