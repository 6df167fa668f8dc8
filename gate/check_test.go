package gate

import (
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// Arguments of the checks that the trivia gate does not use.
func TestCheckArguments(t *testing.T) {
	texts := func(list ...string) dag.Expr { return val(list) }
	stage := func(name string) *dag.Stage { return &dag.Stage{Name: name} }
	input := `{"card":{"q":"One?"},"list":[1,{"x":2}]}`
	d := docs{"item": `{"q":"One?"}`, "input": input}
	doc, _ := d.Lookup(dag.Name{Root: "input"})
	facts := []dag.VisitFacts{
		{Stage: "writer", Pass: 1, Plugin: "builtin/prompt", Provider: "builtin/openai", Model: "m-1", Input: doc.Digest, Stale: true},
		{Stage: "writer", Pass: 2, Plugin: "builtin/prompt", Provider: "builtin/openai", Model: "m-2", Input: doc.Digest},
		{Stage: "judge", Pass: 1, Plugin: "builtin/prompt", Provider: "builtin/anthropic", Model: "m-1", Input: doc.Digest},
		{Stage: "script", Pass: 1, Plugin: "./check.py"},
		{Stage: "other_script", Pass: 1, Plugin: "./check.py"},
	}
	for _, tt := range []struct {
		name  string
		check dag.Check
		holds bool
		why   string
	}{
		{"numbers by value", dag.Check{Kind: "distinct", Args: map[string]dag.Expr{"values": texts("1941", "1942", "8 feet", "20 feet"), "min_distance": val(3), "numbers": val("by_value")}}, true, ""},
		{"numbers literally", dag.Check{Kind: "distinct", Args: map[string]dag.Expr{"values": texts("1941", "1942"), "min_distance": val(3)}}, false, `"1941" and "1942" are at distance 1`},
		{"the same number", dag.Check{Kind: "distinct", Args: map[string]dag.Expr{"values": texts("1.0", "1"), "min_distance": val(3), "numbers": val("by_value")}}, false, `"1.0" and "1" are at distance 2`},
		{"short by letter", dag.Check{Kind: "distinct", Args: map[string]dag.Expr{"values": texts("Iran", "Iraq", "Chad"), "min_distance": val(3), "short": val("by_letter")}}, true, ""},
		{"short, the same letters", dag.Check{Kind: "distinct", Args: map[string]dag.Expr{"values": texts("C", "C++"), "min_distance": val(3), "short": val("by_letter")}}, false, `"C" and "C++" are the same`},
		{"not short", dag.Check{Kind: "distinct", Args: map[string]dag.Expr{"values": texts("Smith", "Smyth"), "min_distance": val(3), "short": val("by_letter")}}, false, `"Smith" and "Smyth" are at distance 1`},
		{"count", dag.Check{Kind: "distinct", Args: map[string]dag.Expr{"values": texts("one", "another"), "count": val(3), "min_distance": val(1)}}, false, "there are 2 values, not 3"},
		{"blank", dag.Check{Kind: "distinct", Args: map[string]dag.Expr{"values": texts("one", "\u200b"), "min_distance": val(1)}}, false, "the value is blank"},
		{"no list", dag.Check{Kind: "distinct", Args: map[string]dag.Expr{"values": val("one"), "min_distance": val(1)}}, false, ""},
		{"null", dag.Check{Kind: "distinct", Args: map[string]dag.Expr{"values": val(nil), "min_distance": val(1)}}, false, "E_EXPR: values is null"},

		{"fresh, all of it", dag.Check{Kind: "fresh", Stage: stage("judge"), Args: map[string]dag.Expr{"of": get("input")}}, true, ""},
		{"fresh, another", dag.Check{Kind: "fresh", Stage: stage("judge"), Args: map[string]dag.Expr{"of": get("card")}}, false, "stage judge has seen another document"},
		{"fresh, by pointer", dag.Check{Kind: "fresh", Stage: stage("judge"), Args: map[string]dag.Expr{"of": get("card"), "at": val("/card")}}, true, ""},
		{"fresh, in a list", dag.Check{Kind: "fresh", Stage: stage("judge"), Args: map[string]dag.Expr{"of": val(2), "at": val("list[1].x")}}, true, ""},
		{"fresh, past a list", dag.Check{Kind: "fresh", Stage: stage("judge"), Args: map[string]dag.Expr{"of": val(2), "at": val("list[7]")}}, false, "the input of stage judge has no list[7]"},
		{"fresh, not there", dag.Check{Kind: "fresh", Stage: stage("judge"), Args: map[string]dag.Expr{"of": get("card"), "at": val("topic")}}, false, "the input of stage judge has no topic"},
		{"fresh, null", dag.Check{Kind: "fresh", Stage: stage("judge"), Args: map[string]dag.Expr{"of": get("nothing"), "at": val("card")}}, false, "the value to compare is null"},
		{"fresh, not visited", dag.Check{Kind: "fresh", Stage: stage("nobody"), Args: map[string]dag.Expr{"of": get("card")}}, false, "stage nobody was not visited since the last change"},

		{"independent", dag.Check{Kind: "independent", Stage: stage("judge"), Of: []*dag.Stage{stage("writer"), stage("nobody")}}, true, ""},
		{"of itself", dag.Check{Kind: "independent", Stage: stage("judge"), Of: []*dag.Stage{stage("judge")}}, false, "stage judge and stage judge were both served by builtin/anthropic m-1"},
		{"of a program", dag.Check{Kind: "independent", Stage: stage("script"), Of: []*dag.Stage{stage("writer")}}, true, ""},
		{"of the same program", dag.Check{Kind: "independent", Stage: stage("script"), Of: []*dag.Stage{stage("other_script")}}, false, "stage script and stage other_script were both served by ./check.py"},
		{"a judge that was not there", dag.Check{Kind: "independent", Stage: stage("nobody"), Of: []*dag.Stage{stage("writer")}}, false, "stage nobody was not visited since the last change"},

		{"unrelated alone, one URL", dag.Check{Kind: "unrelated", Args: map[string]dag.Expr{"urls": texts("https://www.nps.gov/")}}, false, "the sources belong to one domain, nps.gov, at least 2 domains are asked for"},
		{"unrelated, three", dag.Check{Kind: "unrelated", Args: map[string]dag.Expr{"urls": texts("https://a.org/", "https://b.org/"), "min": val(3)}}, false, "the sources belong to 2 domains, a.org, b.org, at least 3 domains are asked for"},
		{"unrelated, one owner", dag.Check{Kind: "unrelated", Args: map[string]dag.Expr{"urls": texts("https://en.wikipedia.org/", "https://www.wikidata.org/")}}, false, "the sources belong to one domain, wikipedia.org, at least 2 domains are asked for"},
		{"unrelated, no URLs", dag.Check{Kind: "unrelated", Args: map[string]dag.Expr{"urls": texts()}}, false, "the sources belong to no domain, at least 2 domains are asked for"},

		{"words, no maximum", dag.Check{Kind: "words", Args: map[string]dag.Expr{"text": val("one two"), "min": val(2)}}, true, ""},
		{"words, none allowed", dag.Check{Kind: "words", Args: map[string]dag.Expr{"text": val("one"), "max": val(0)}}, false, "the text has 1 word, at most 0 are allowed"},
		{"words of a number", dag.Check{Kind: "words", Args: map[string]dag.Expr{"text": val(3)}}, false, "E_EXPR: 3 is not a text"},
		{"leak of null", dag.Check{Kind: "leak", Args: map[string]dag.Expr{"needle": val(nil), "haystack": val("x")}}, false, ""},
		{"an assertion that is a text", dag.Check{Kind: "assert", Args: map[string]dag.Expr{"condition": val("true")}}, false, `E_EXPR: "true" is not a bool`},
		{"an empty key", dag.Check{Kind: "unique", Args: map[string]dag.Expr{"keys": texts("a", "")}}, false, "the key is empty"},
		{"no keys", dag.Check{Kind: "unique", Args: map[string]dag.Expr{"keys": texts()}}, false, "there are no keys"},
		{"keys that are null", dag.Check{Kind: "unique", Args: map[string]dag.Expr{"keys": val([]any{nil})}}, false, "the key is empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := tt.check
			check.Code = "R"
			spec := plain(&check)
			spec.SameOwner = [][]string{{"wikipedia.org", "wikidata.org"}}
			g := mustOpen(t, options(t, t.TempDir(), spec))
			v := judge(t, g, &Candidate{Key: "1", Bucket: "art", Scope: d, Load: d.load, Facts: facts})[0]
			if v.Err != nil || (v.End == dag.Accepted) != tt.holds {
				t.Fatalf("%s: %s %v", v.End, v.Message, v.Err)
			}
			if !tt.holds && tt.why != "" && v.Details[0].Why != tt.why {
				t.Errorf("%q, want %q", v.Details[0].Why, tt.why)
			}
		})
	}
}

// What a check found can be read by the evidence, the locked checks included.
func TestChecksAreReadable(t *testing.T) {
	dir := t.TempDir()
	spec := plain(
		&dag.Check{Kind: "words", Name: "length", Code: "R", Args: map[string]dag.Expr{"text": get("card.q")}},
		&dag.Check{Kind: "assert", Code: "R", Args: map[string]dag.Expr{"condition": calc("checks.length.words == 2", func(s dag.Scope) (any, error) {
			n, err := decode[int](s.(*scope), get("checks.length.words"), "words")
			return n == 2, err
		})}},
		uniqueQuestion(),
	)
	late := object(map[string]dag.Expr{"length": get("checks.length"), "unique": get("checks.unique"), "run": get("run")}).(*fn)
	spec.Corpus.EvidenceRecord = reads{late, []dag.Name{{Root: "checks", Member: "unique"}}}
	g := mustOpen(t, options(t, dir, spec))
	if v := judge(t, g, question("1", "Two words?"))[0]; v.End != dag.Accepted {
		t.Fatalf("%+v", v)
	}
	row := lines(t, dir, "meta/verification.jsonl")[0]
	for member, want := range map[string]string{
		"length": `{"figure":2,"state":"held","words":2}`, "unique": `{"state":"held"}`,
		"run": `{"id":"20260115T101500Z-4f2a91","started_at":"2026-01-15T10:15:00.000Z"}`,
	} {
		if got, _, err := valueAt([]byte(row), jsonPointer(member)); err != nil || string(got) != want {
			t.Errorf("%s is %s, want %s (%v)", member, got, want, err)
		}
	}
}
