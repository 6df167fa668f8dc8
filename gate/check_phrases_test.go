package gate

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func phrases(texts, rules dag.Expr) *dag.Check {
	return &dag.Check{Kind: "phrases", Code: "R_UNSTABLE", Args: map[string]dag.Expr{"texts": texts, "reject": rules}}
}

func TestPhrasesCheck(t *testing.T) {
	rules := val(jsontext.Value(`["right now",{"name":"ago","phrases":["{1-999} years ago"],"except":{"after":["about"]}}]`))
	for _, tt := range []struct {
		name  string
		texts any
		want  []Detail // empty: it holds
	}{
		{"none", []string{"Who was king in 1900?", "The tower is old."}, nil},
		{"an exception", []string{"about 5 years ago"}, nil},
		{"no texts", []string{}, nil},
		{"the first", []string{"Who is right now king?", "The tower is old."}, []Detail{{Code: "R_UNSTABLE", At: "texts[0]", Why: `"right now" is refused by the rule "right now" (right now)`}}},
		{"the second", []string{"Who was king?", "5  Years ago, it burnt."}, []Detail{{Code: "R_UNSTABLE", At: "texts[1]", Why: `"5  Years ago" is refused by the rule "ago" ({1-999} years ago)`}}},
		{"both", []string{"Right now?", "", "right\u00a0now"}, []Detail{
			{Code: "R_UNSTABLE", At: "texts[0]", Why: `"Right now" is refused by the rule "right now" (right now)`},
			{Code: "R_UNSTABLE", At: "texts[2]", Why: `"right now" is refused by the rule "right now" (right now)`},
		}},
		{"a text that is not there", []any{"Who?", nil}, []Detail{{Code: "R_UNSTABLE", At: "texts[1]", Why: "the text is null"}}},
		{"no list", "right now", []Detail{{Code: "R_UNSTABLE", Cause: dag.EExpr, Why: "E_EXPR: texts"}}},
		{"a number", []any{5}, []Detail{{Code: "R_UNSTABLE", Cause: dag.EExpr, Why: "E_EXPR: texts"}}},
		{"null", nil, []Detail{{Code: "R_UNSTABLE", Cause: dag.EExpr, Why: "E_EXPR: texts"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := mustOpen(t, options(t, t.TempDir(), plain(phrases(val(tt.texts), rules))))
			d := docs{"item": `{"q":"One?"}`}
			v := judge(t, g, &Candidate{Key: "1", Bucket: "art", Scope: d, Load: d.load})[0]
			if v.Err != nil || (v.End == dag.Accepted) != (tt.want == nil) {
				t.Fatalf("%s: %s %v", v.End, v.Message, v.Err)
			}
			for i := range v.Details {
				if v.Details[i].Cause != "" { // what the decoder says of it is its own
					v.Details[i].Why, _, _ = strings.Cut(v.Details[i].Why, " ")
					v.Details[i].Why += " texts"
				}
			}
			if diff := cmp.Diff(tt.want, v.Details); diff != "" {
				t.Error(diff)
			}
			for _, f := range v.Findings {
				if f.Figure != nil {
					t.Errorf("a figure, %v, of what is counted by nobody", *f.Figure)
				}
			}
		})
	}
}

// Rules that cannot be used are no gate's: it does not open.
func TestPhraseRulesAreCompiledAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		rules any
		want  string
	}{
		"null":       {nil, "reject: the rules are null: write a list of rules"},
		"no rules":   {[]string{}, "reject: there is no rule, so nothing would be refused"},
		"a misprint": {[]string{"right now", "{unit} ago"}, `reject: rules[1] "{unit} ago": there is no set "unit"`},
	} {
		o := options(t, t.TempDir(), plain(phrases(val([]string{"x"}), val(tt.rules))))
		g, err := Open(context.Background(), o)
		if err == nil {
			_ = g.Close()
			t.Fatalf("%s: it opens", name)
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := options(t, t.TempDir(), plain(phrases(val([]string{"x"}), get("item.q"))))
	if g, err := Open(context.Background(), o); err == nil {
		_ = g.Close()
		t.Error("rules that are read from an item open a gate")
	}
}

// The rules of the trivia cards at work: unstable words count in the question and in
// the explainer, not in the choices.
func TestUnstableCards(t *testing.T) {
	raw, err := os.ReadFile("../examples/trivia-cards/unstable-language.json")
	if err != nil {
		t.Fatal(err)
	}
	check := phrases(calc("[card.q, card.x]", func(s dag.Scope) (any, error) {
		q, err := get("card.q").Text(s)
		if err != nil {
			return nil, err
		}
		x, err := get("card.x").Text(s)
		return []string{q, x}, err
	}), val(jsontext.Value(raw)))
	g := mustOpen(t, options(t, t.TempDir(), plain(check)))
	for i, tt := range []struct {
		q, a, w, x string
		at         string // empty: it holds
	}{
		{"Who is currently king?", "Felipe", "Juan", "He is a king.", "texts[0]"},
		{"Who was king in 1980?", "Juan", "Felipe", "He is still alive.", "texts[1]"},
		{"Which paper was founded in 1982?", "today", "currently", "It is sold in blue boxes.", ""},
		{"Which film is by Coppola?", "Apocalypse now", "right now", "It was shot in 1976.", ""},
	} {
		d := docs{"item": fmt.Sprintf(`{"a":%q,"q":%q,"w":[%q],"x":%q}`, tt.a, tt.q, tt.w, tt.x)}
		v := judge(t, g, &Candidate{Key: string(rune('1' + i)), Bucket: "art", Scope: d, Load: d.load})[0]
		at := ""
		if len(v.Details) > 0 {
			at = v.Details[0].At
		}
		if v.Err != nil || at != tt.at || (v.End == dag.Accepted) != (tt.at == "") {
			t.Errorf("%+v: %s, %+v, %v", tt, v.End, v.Details, v.Err)
		}
	}
}
