package gate

import (
	"strings"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// The checks that read the trail: fresh and independent.

func served1(stage, provider, model string) dag.VisitFacts {
	return dag.VisitFacts{Stage: stage, Pass: 1, Plugin: "builtin/prompt", Provider: provider, Model: model}
}

func TestIndependent(t *testing.T) {
	program := func(stage, plugin string) dag.VisitFacts {
		return dag.VisitFacts{Stage: stage, Pass: 1, Plugin: plugin}
	}
	stale := func(v dag.VisitFacts) dag.VisitFacts { v.Stale = true; return v }
	for _, tt := range []struct {
		name  string
		facts []dag.VisitFacts
		why   string // empty: it holds
	}{
		{"another model", []dag.VisitFacts{served1("writer", "builtin/openai", "m-1"), served1("judge", "builtin/openai", "m-2")}, ""},
		{"another provider", []dag.VisitFacts{served1("writer", "builtin/openai", "m-1"), served1("judge", "builtin/anthropic", "m-1")}, ""},
		{"the same", []dag.VisitFacts{served1("writer", "builtin/openai", "m-1"), served1("judge", "builtin/openai", "m-1")},
			"stage judge and stage writer were both served by builtin/openai m-1"},
		{"the same of the pipeline's own, spelt otherwise", []dag.VisitFacts{served1("writer", "./x", "m-1"), served1("judge", "././x", "m-1")},
			"stage judge and stage writer were both served by ././x m-1"},
		{"two of the pipeline's own", []dag.VisitFacts{served1("writer", "./x", "m-1"), served1("judge", "./y", "m-1")}, ""},
		{"a model whose name begins with a program's end", []dag.VisitFacts{served1("writer", "./x a", "b"), served1("judge", "./x", "a b")}, ""},
		{"the second pass alone", []dag.VisitFacts{served1("writer", "builtin/openai", "m-1"), served1("writer", "builtin/openai", "m-2"), served1("judge", "builtin/openai", "m-1")},
			"stage judge and stage writer were both served by builtin/openai m-1"},
		{"a visit that is stale", []dag.VisitFacts{stale(served1("writer", "builtin/openai", "m-1")), served1("writer", "builtin/openai", "m-2"), served1("judge", "builtin/openai", "m-1")}, ""},
		{"the judge's stale visit", []dag.VisitFacts{served1("writer", "builtin/openai", "m-1"), stale(served1("judge", "builtin/openai", "m-2"))},
			"stage judge was not visited since the last change"},
		{"the judge's latest visit counts", []dag.VisitFacts{served1("writer", "builtin/openai", "m-1"), served1("judge", "builtin/openai", "m-1"), served1("judge", "builtin/openai", "m-2")}, ""},
		{"the other was not visited", []dag.VisitFacts{served1("judge", "builtin/openai", "m-1")}, ""},
		{"a third of several", []dag.VisitFacts{served1("writer", "builtin/openai", "m-1"), served1("mender", "builtin/openai", "m-2"), served1("judge", "builtin/openai", "m-2")},
			"stage judge and stage mender were both served by builtin/openai m-2"},
		{"the judge's model is not told", []dag.VisitFacts{served1("writer", "builtin/openai", "m-1"), served1("judge", "builtin/openai", "")},
			"the trail does not tell which model stage judge asked"},
		{"the writer's model is not told", []dag.VisitFacts{served1("writer", "builtin/openai", ""), served1("judge", "builtin/openai", "m-2")},
			"the trail does not tell which model stage writer asked"},
		{"nothing is told of the judge", []dag.VisitFacts{{Stage: "judge"}}, "the trail does not tell which model stage judge asked"},
		{"a model without a provider", []dag.VisitFacts{{Stage: "judge", Model: "m-1"}}, "the trail does not tell which model stage judge asked"},
		{"two programs", []dag.VisitFacts{program("writer", "./write.py"), program("judge", "./judge.py")}, ""},
		{"one program", []dag.VisitFacts{program("writer", "./x.py"), program("judge", "./y/../x.py")}, "stage judge and stage writer were both served by ./y/../x.py"},
		{"a program and a model", []dag.VisitFacts{served1("writer", "builtin/openai", "m-1"), program("judge", "builtin/prompt")}, ""},
		{"no trail", nil, "stage judge was not visited since the last change"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := &dag.Check{Kind: "independent", Code: "R", Stage: &dag.Stage{Name: "judge"}, Of: []*dag.Stage{{Name: "writer"}, {Name: "mender"}}}
			g := mustOpen(t, options(t, t.TempDir(), plain(check)))
			c := question("one", "One?")
			c.Facts = tt.facts
			v := judge(t, g, c)[0]
			if v.Err != nil || (v.End == dag.Accepted) != (tt.why == "") || v.Message != tt.why {
				t.Errorf("%s %q %v, want %q", v.End, v.Message, v.Err, tt.why)
			}
		})
	}
}

// A visit that is stale, an earlier one, another document, another part of it: none
// of them is what was judged.
func TestFresh(t *testing.T) {
	d := docs{
		"item": `{"q":"One?"}`, "input": `{"card":{"q":"One?"},"a/b":{"c.d":1,"~":[[2]]},"list":[{"q":"One?"},null],"none":null}`,
		"other": `{"card":{"q":"Two?"}}`, "text": `"x"`,
	}
	seen := func(name string, stale bool) dag.VisitFacts {
		doc, err := d.Lookup(dag.Name{Root: name})
		if err != nil {
			t.Fatal(err)
		}
		return dag.VisitFacts{Stage: "judge", Input: doc.Digest, Stale: stale}
	}
	gone := dag.VisitFacts{Stage: "judge", Input: dag.Sum([]byte("gone"))}
	card := get("card")
	for _, tt := range []struct {
		name  string
		facts []dag.VisitFacts
		at    string
		of    dag.Expr
		why   string // empty: it holds; "error": the world is at fault
	}{
		{"the card", []dag.VisitFacts{seen("input", false)}, "card", card, ""},
		{"the card after another", []dag.VisitFacts{seen("other", false), seen("input", false)}, "card", card, ""},
		{"the card before another", []dag.VisitFacts{seen("input", false), seen("other", false)}, "card", card, "stage judge has seen another card"},
		{"the card, and it was changed since", []dag.VisitFacts{seen("input", true)}, "card", card, "stage judge was not visited since the last change"},
		{"the card before a stale visit", []dag.VisitFacts{seen("input", false), seen("other", true)}, "card", card, ""},
		{"another stage", []dag.VisitFacts{{Stage: "writer", Input: seen("input", false).Input}}, "card", card, "stage judge was not visited since the last change"},
		{"all of the input", []dag.VisitFacts{seen("input", false)}, "", get("input"), ""},
		{"all of another input", []dag.VisitFacts{seen("other", false)}, "", get("input"), "stage judge has seen another document"},
		{"in a list", []dag.VisitFacts{seen("input", false)}, "list[0]", card, ""},
		{"by a pointer", []dag.VisitFacts{seen("input", false)}, "/list/0", card, ""},
		{"past the end of a list", []dag.VisitFacts{seen("input", false)}, "list[2]", card, "the input of stage judge has no list[2]"},
		{"a name in a list", []dag.VisitFacts{seen("input", false)}, "/list/q", card, "the input of stage judge has no /list/q"},
		{"an index in an object", []dag.VisitFacts{seen("input", false)}, "card[0]", card, "the input of stage judge has no card[0]"},
		{"into a text", []dag.VisitFacts{seen("text", false)}, "card", card, "the input of stage judge has no card"},
		{"a name with a slash and a dot", []dag.VisitFacts{seen("input", false)}, "/a~1b/c.d", val(1), ""},
		{"a name that is a tilde", []dag.VisitFacts{seen("input", false)}, "/a~1b/~0/0/0", val(2), ""},
		{"the same number otherwise written", []dag.VisitFacts{seen("input", false)}, "/a~1b/c.d", val(1.0), ""},
		{"a null that was seen", []dag.VisitFacts{seen("input", false)}, "none", card, "stage judge has seen another none"},
		{"a null that was seen, and null", []dag.VisitFacts{seen("input", false)}, "none", val(nil), "the value to compare is null"},
		{"nothing", []dag.VisitFacts{seen("input", false)}, "none", get("nothing"), "the value to compare is null"},
		{"an input that is gone", []dag.VisitFacts{gone}, "card", card, "error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := &dag.Check{Kind: "fresh", Code: "R", Stage: &dag.Stage{Name: "judge"}, Args: map[string]dag.Expr{"of": tt.of}}
			if tt.at != "" {
				check.Args["at"] = val(tt.at)
			}
			g := mustOpen(t, options(t, t.TempDir(), plain(check)))
			v := judge(t, g, &Candidate{Key: "one", Bucket: "art", Scope: d, Load: d.load, Facts: tt.facts})[0]
			if tt.why == "error" {
				if dag.KindOf(v.Err) != dag.KindInfrastructure || !strings.Contains(v.Err.Error(), "no document") {
					t.Errorf("%s %v", v.End, v.Err)
				}
				return
			}
			if v.Err != nil || (v.End == dag.Accepted) != (tt.why == "") || v.Message != tt.why {
				t.Errorf("%s %q %v, want %q", v.End, v.Message, v.Err, tt.why)
			}
		})
	}
}
