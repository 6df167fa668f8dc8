package gate

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/schema"
	"github.com/penstock-run/penstock/internal/text"
)

// The gate of the trivia-card pipeline, with the cases of its rules. A case
// changes one thing of a card that is accepted.

const cardSchema = `{
  "type": "object",
  "required": ["q", "a", "w", "x", "cat", "diff", "topic_id"],
  "additionalProperties": false,
  "properties": {
    "q": {"type": "string", "pattern": "^[^\\x00-\\x1f]*\\S[^\\x00-\\x1f]*$"},
    "a": {"type": "string", "pattern": "^[^\\x00-\\x1f]*\\S[^\\x00-\\x1f]*$"},
    "w": {"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "string", "pattern": "^[^\\x00-\\x1f]*\\S[^\\x00-\\x1f]*$"}},
    "x": {"type": "string"},
    "cat": {"enum": ["history", "music"]},
    "diff": {"enum": ["easy", "medium", "hard"]},
    "topic_id": {"type": "string", "pattern": "^t-[0-9a-f]{12}$"}
  }
}`

func triviaGate(t testing.TB) *dag.Gate {
	t.Helper()
	compiled, err := schema.Compile("card.json", []byte(cardSchema))
	if err != nil {
		t.Fatal(err)
	}
	crafter, mme, repairer, verifier := &dag.Stage{Name: "crafter"}, &dag.Stage{Name: "mme_crafter"}, &dag.Stage{Name: "repairer"}, &dag.Stage{Name: "verifier"}
	is := func(name string, f func(s dag.Scope) (bool, error)) dag.Expr {
		return calc(name, func(s dag.Scope) (any, error) { return f(s) })
	}
	textAt := func(s dag.Scope, path string) string {
		v, _ := get(path).Text(s)
		return v
	}
	choices := calc("concat([card.a], card.w)", func(s dag.Scope) (any, error) {
		w, err := decode[[]string](s.(*scope), get("card.w"), "card.w")
		return append([]string{textAt(s, "card.a")}, w...), err
	})
	return &dag.Gate{
		Name: "accept",
		Candidate: []dag.Member{
			{Name: "card", Expr: get("item")}, {Name: "topic", Expr: get("artifact.topic_miner")}, {Name: "report", Expr: get("artifact.verifier")},
		},
		Checks: []*dag.Check{
			{Kind: "schema", Code: "R_SCHEMA", Ends: true, Schema: compiled, Args: map[string]dag.Expr{"value": get("card")}},
			{Kind: "assert", Name: "report", Code: "R_SCHEMA", Ends: true, Message: "the report is not a clean accept", Args: map[string]dag.Expr{
				"condition": is("report", func(s dag.Scope) (bool, error) {
					unique, err := get("report.unique_answer").Bool(s, nil)
					if err != nil {
						return false, err
					}
					found, err := get("report.disproof.found").Bool(s, nil)
					return textAt(s, "report.status") == "accept" && unique && !found, err
				})}},
			{Kind: "assert", Name: "topic", Code: "R_SCHEMA", Ends: true, Message: "the card is not about its topic, or belongs to another bucket", Args: map[string]dag.Expr{
				"condition": is("topic", func(s dag.Scope) (bool, error) {
					return textAt(s, "card.topic_id") == textAt(s, "topic.topic_id") && textAt(s, "card.cat") == textAt(s, "origin.cat") && textAt(s, "card.diff") == textAt(s, "origin.diff"), nil
				})}},
			{Kind: "assert", Name: "route", Code: "R_SCHEMA", Ends: true, Message: "the card was not written by the crafter that its category routes to", Args: map[string]dag.Expr{
				"condition": is("route", func(s dag.Scope) (bool, error) {
					doc, err := s.Lookup(dag.Name{Root: "visit", Member: "mme_crafter"})
					return (textAt(s, "origin.cat") == "music") == !doc.IsNull(), err
				})}},
			{Kind: "fresh", Code: "R_SCHEMA", Ends: true, Stage: verifier, Args: map[string]dag.Expr{"of": get("card"), "at": val("card")}},
			{Kind: "independent", Code: "R_SCHEMA", Ends: true, Stage: verifier, Of: []*dag.Stage{crafter, mme, repairer}},
			{Kind: "distinct", Code: "R_CHOICES", Args: map[string]dag.Expr{"values": choices, "count": val(4), "min_distance": val(3)}},
			{Kind: "leak", Code: "R_ANSWER_LEAK", Args: map[string]dag.Expr{"needle": get("card.a"), "haystack": get("card.q")}},
			{Kind: "words", Code: "R_EXPLAINER_LENGTH", Args: map[string]dag.Expr{"text": get("card.x"), "min": val(1), "max": val(20)}},
			{Kind: "sources", Code: "R_UNPROVABLE", Args: map[string]dag.Expr{"sources": get("report.sources"), "min": val(2), "supports": val([]string{"claim", "answer"})}},
			{Kind: "unrelated", Code: "R_SRC_LAUNDER", Args: map[string]dag.Expr{"urls": get("report.sources.*.url")}},
			{Kind: "unique", Code: "R_DUP_EXACT", Args: map[string]dag.Expr{
				"keys": calc("[fingerprint(card.q)]", func(s dag.Scope) (any, error) { return []string{text.Fingerprint(textAt(s, "card.q"))}, nil })}},
		},
		Corpus: &dag.Corpus{
			Kind: "jsonl", Evidence: "meta/verification.jsonl", Record: get("card"),
			Data: calc("data", func(s dag.Scope) (any, error) { return "data/" + textAt(s, "bucket") + ".jsonl", nil }),
			ID: calc("id", func(s dag.Scope) (any, error) {
				return textAt(s, "origin.cat") + "-" + textAt(s, "origin.diff") + "-" + text.Fingerprint(textAt(s, "card.q"))[:12], nil
			}),
			EvidenceRecord: object(map[string]dag.Expr{"topic_id": get("card.topic_id"), "claim": get("report.claim"), "sources": get("report.sources"), "verifier": get("visit.verifier")}),
		},
		Rejections: "meta/rejections.jsonl",
		Breaker:    &dag.Breaker{Consecutive: 20, Counts: []dag.End{dag.Failed, dag.Rejected}},
	}
}

// triviaItem is an item as a test changes it.
type triviaItem struct {
	key, cat, bucket string
	card, report     map[string]any
	cardText         string // instead of card
	crafter          string // the stage that wrote the card
	judge            string // the model of the verifier
	seen             string // the card that the verifier was shown, if another
	unseen           bool   // the verifier's visit is stale
}

func goodCard() triviaItem {
	return triviaItem{
		key: "history/easy/1/t-b0d720a63c00", cat: "history", bucket: "history/easy", crafter: "crafter", judge: "m-2",
		card: map[string]any{
			"q": "Which sultan took Constantinople in 1453?", "a": "Mehmed II", "w": []any{"Suleiman the Magnificent", "Bayezid I", "Selim III"},
			"x": "Mehmed II besieged the city for 53 days and made it his capital.", "cat": "history", "diff": "easy", "topic_id": "t-b0d720a63c00",
		},
		report: map[string]any{
			"status": "accept", "unique_answer": true, "claim": "Mehmed II conquered Constantinople in 1453", "disproof": map[string]any{"found": false},
			"sources": []any{
				map[string]any{"url": "https://www.britannica.com/event/Fall-of-Constantinople-1453", "quote": "…took the city", "supports": []any{"claim", "answer"}},
				map[string]any{"url": "https://www.worldhistory.org/article/1180/", "quote": "Mehmed II", "supports": []any{"claim", "answer"}},
			},
		},
	}
}

func (item triviaItem) candidate(t testing.TB) *Candidate {
	t.Helper()
	jsonOf := func(v any) string {
		row, err := rowOf(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(string(row), "\n")
	}
	card := item.cardText
	if card == "" {
		card = jsonOf(item.card)
	}
	seen := item.seen
	if seen == "" {
		seen = card
	}
	diff := strings.TrimPrefix(item.bucket, item.cat+"/")
	d := docs{
		"item": card, "artifact.verifier": jsonOf(item.report), "artifact.topic_miner": `{"topic_id":"t-b0d720a63c00"}`,
		"origin": jsonOf(map[string]any{"cat": item.cat, "diff": diff}), "input": `{"card":` + seen + `}`,
	}
	input, _ := d.Lookup(dag.Name{Root: "input"})
	return &Candidate{
		Key: item.key, Bucket: item.bucket, Scope: d, Load: d.load,
		Facts: []dag.VisitFacts{
			{Stage: item.crafter, Pass: 1, Plugin: "builtin/prompt", Provider: "builtin/openai", Model: "m-1"},
			{Stage: "verifier", Pass: 1, Plugin: "builtin/prompt", Provider: "builtin/openai", Model: item.judge, Input: input.Digest, Stale: item.unseen},
		},
	}
}

func source1(url, quote string, supports ...any) map[string]any {
	return map[string]any{"url": url, "quote": quote, "supports": supports}
}

func TestTriviaRules(t *testing.T) {
	full := []any{"claim", "answer"}
	card := func(name string, v any) func(*triviaItem) { return func(i *triviaItem) { i.card[name] = v } }
	report := func(name string, v any) func(*triviaItem) { return func(i *triviaItem) { i.report[name] = v } }
	choices := func(a, b, c, d string) func(*triviaItem) {
		return func(i *triviaItem) { i.card["a"], i.card["w"] = a, []any{b, c, d} }
	}
	asks := func(q, a string) func(*triviaItem) {
		return func(i *triviaItem) { i.card["q"], i.card["a"] = q, a }
	}
	hosts := func(urls ...string) func(*triviaItem) {
		return func(i *triviaItem) {
			var sources []any
			for _, url := range urls {
				sources = append(sources, source1(url, "quote", full...))
			}
			i.report["sources"] = sources
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*triviaItem)
		codes  string // empty: accepted
	}{
		{"the card as it is", func(*triviaItem) {}, ""},
		{"music by the wrong crafter", func(i *triviaItem) { i.cat, i.bucket, i.card["cat"] = "music", "music/easy", "music" }, "R_SCHEMA"},
		{"music by the right one", func(i *triviaItem) {
			i.cat, i.bucket, i.card["cat"], i.crafter = "music", "music/easy", "music", "mme_crafter"
		}, ""},
		{"category in capitals", card("cat", "Music"), "R_SCHEMA"},
		{"category that climbs", card("cat", "../data"), "R_SCHEMA"},
		{"tab in the question", card("q", "Which\tsultan?"), "R_SCHEMA"},
		{"two wrong choices", card("w", []any{"Bayezid I", "Selim III"}), "R_SCHEMA"},
		{"four wrong choices", card("w", []any{"Bayezid I", "Selim III", "Osman", "Orhan"}), "R_SCHEMA"},
		{"blank choice", card("w", []any{"Bayezid I", " ", "Selim III"}), "R_SCHEMA"},
		{"a report that asks for a repair", report("status", "repair"), "R_SCHEMA"},
		{"the answer is not unique", report("unique_answer", false), "R_SCHEMA"},
		{"a disproof was found", report("disproof", map[string]any{"found": true}), "R_SCHEMA"},
		{"the report lacks a member", report("disproof", map[string]any{}), "R_SCHEMA"},
		{"another topic", card("topic_id", "t-000000000000"), "R_SCHEMA"},
		{"another bucket", card("diff", "hard"), "R_SCHEMA"},
		{"the verifier saw another card", func(i *triviaItem) { i.seen = `{"q":"other"}` }, "R_SCHEMA"},
		{"the verifier's visit is stale", func(i *triviaItem) { i.unseen = true }, "R_SCHEMA"},
		{"the verifier is the crafter's model", func(i *triviaItem) { i.judge = "m-1" }, "R_SCHEMA"},
		{"the verifier's model is not known", func(i *triviaItem) { i.judge = "" }, "R_SCHEMA"},

		{"distance 1", choices("Iran", "Iraq", "Chad", "Peru"), "R_CHOICES"},
		{"sharp s", choices("Straße", "STRASSE", "Weg und Ziel", "Allee am See"), "R_CHOICES"},
		{"article", choices("The Beatles", "Beatles", "Rolling Stones", "Kinks again"), "R_CHOICES"},
		{"accent", choices("Café", "Cafe", "Restaurant", "Trattoria"), "R_CHOICES"},
		{"symbols", choices("C", "C++", "Pascal", "Fortran"), "R_CHOICES"},
		{"runes, not bytes", choices("日本", "中国", "Deutschland", "Frankreich"), "R_CHOICES"},
		{"symbols alone", choices("+", "×", "÷", "−"), "R_CHOICES"},
		{"distance 2 is too close", choices("1912", "1934", "1956 or so", "never at all"), "R_CHOICES"},
		{"distance 3 is enough", choices("abcdef", "abcxyz", "uvwxyz", "ghijkl"), ""},

		{"leak", asks("Which planet, Mars or Venus, is red?", "Mars"), "R_ANSWER_LEAK"},
		{"inside a word", asks("Who marshalled the Union forces?", "Mars"), ""},
		{"inside a year", asks("In 1984, how many Ghostbusters were there?", "4"), ""},
		{"whole", asks("How many of the 4 Beatles were born in Liverpool?", "4"), "R_ANSWER_LEAK"},
		{"us", asks("Tell us who won?", "US"), ""},
		{"US", asks("Who was the US president in 1969?", "US"), "R_ANSWER_LEAK"},
		{"joined", asks("Which hero is Spiderman's alter ego?", "Spider-Man"), "R_ANSWER_LEAK"},
		{"digits joined", asks("What is 314?", "3.14"), ""},

		{"twenty words", card("x", strings.TrimSpace(strings.Repeat("word ", 20))), ""},
		{"twenty-one words", card("x", strings.TrimSpace(strings.Repeat("word ", 21))), "R_EXPLAINER_LENGTH"},
		{"empty", card("x", ""), "R_EXPLAINER_LENGTH"},
		{"dashes", card("x", "— …"), "R_EXPLAINER_LENGTH"},

		{"one source", hosts("https://www.nps.gov/"), "R_UNPROVABLE"},
		{"an empty URL", hosts("https://www.nps.gov/", ""), "R_UNPROVABLE"},
		{"a third without URL", func(i *triviaItem) {
			i.report["sources"] = append(i.report["sources"].([]any), map[string]any{"quote": "q", "supports": full})
		}, "R_UNPROVABLE"},
		{"credentials", hosts("https://wikipedia.org@evil.com/x", "https://www.nps.gov/"), "R_UNPROVABLE"},
		{"address", hosts("https://8.8.8.8/", "https://www.nps.gov/"), "R_UNPROVABLE"},
		{"single label", hosts("https://localhost/", "https://www.nps.gov/"), "R_UNPROVABLE"},
		{"public suffix", hosts("https://co.uk/", "https://www.nps.gov/"), "R_UNPROVABLE"},
		{"ftp", hosts("ftp://www.nasa.gov/", "https://www.nps.gov/"), "R_UNPROVABLE"},
		{"a blank quote", func(i *triviaItem) {
			i.report["sources"] = []any{source1("https://www.nps.gov/", " ", full...), source1("https://www.nasa.gov/", "q", full...)}
		}, "R_UNPROVABLE"},
		{"a source that supports the claim only", func(i *triviaItem) {
			i.report["sources"] = []any{source1("https://www.nps.gov/", "q", "claim"), source1("https://www.nasa.gov/", "q", full...)}
		}, "R_UNPROVABLE"},
		{"no sources at all", report("sources", nil), "R_UNPROVABLE"},
		{"two owners below github.io", hosts("https://a.github.io/", "https://b.github.io/"), ""},
		{"two agencies", hosts("https://www.nps.gov/", "https://www.nasa.gov/"), ""},
		{"the page and its archived copy", hosts("https://www.nasa.gov/p", "https://web.archive.org/web/2020/https://www.nasa.gov/p"), "R_SRC_LAUNDER"},
		{"the same URL twice", hosts("https://www.nasa.gov/p", "https://www.nasa.gov/p"), "R_SRC_LAUNDER"},
		{"two languages of one encyclopedia", hosts("https://en.wikipedia.org/a", "https://de.wikipedia.org/a"), "R_SRC_LAUNDER"},
		{"a third on a repeated domain", hosts("https://en.wikipedia.org/a", "https://de.wikipedia.org/a", "https://www.nasa.gov/p"), ""},

		{"an unusable third lends no domain", func(i *triviaItem) {
			i.report["sources"] = []any{source1("https://www.nps.gov/a", "q", full...), source1("https://www.nps.gov/b", "q", full...), source1("https://www.nasa.gov/", "\u200b", full...)}
		}, "R_SRC_LAUNDER"},
		{"half a source lends no domain", func(i *triviaItem) {
			i.report["sources"] = []any{source1("https://www.nps.gov/a", "q", full...), source1("https://www.nps.gov/b", "q", full...), source1("https://www.nasa.gov/", "q", "answer")}
		}, "R_SRC_LAUNDER"},
		{"one page with a quote and without", func(i *triviaItem) {
			i.report["sources"] = []any{source1("https://www.nps.gov/a", "q", full...), source1("https://www.nasa.gov/", "", full...), source1("https://www.nasa.gov/", "q", full...)}
		}, ""},
		{"one page twice, once without a quote", func(i *triviaItem) {
			i.report["sources"] = []any{source1("https://www.nps.gov/a", "q", full...), source1("https://www.nps.gov/a", "", full...)}
		}, "R_UNPROVABLE"},
		{"one page twice, once for half, and a source without URL", func(i *triviaItem) {
			i.report["sources"] = []any{source1("https://www.nps.gov/a", "q", "claim"), source1("https://www.nps.gov/a", "q", full...), source1("", "q", full...)}
		}, "R_UNPROVABLE"},
		{"one page thrice, twice usable", func(i *triviaItem) {
			i.report["sources"] = []any{source1("https://www.nps.gov/a", "q", full...), source1("https://www.nps.gov/a", " ", full...), source1("https://www.nps.gov/a", "q", full...)}
		}, "R_SRC_LAUNDER"},
		{"one page thrice, twice usable, and a source without URL", func(i *triviaItem) {
			i.report["sources"] = []any{source1("https://www.nps.gov/a", "q", full...), source1("https://www.nps.gov/a", " ", full...), source1("https://www.nps.gov/a", "q", full...), source1("", "q", full...)}
		}, "R_UNPROVABLE R_SRC_LAUNDER"},
		{"sources that are no list", report("sources", "https://www.nps.gov/"), "R_UNPROVABLE"},
		{"a third URL that cannot be seen", hosts("https://www.nps.gov/", "https://www.nasa.gov/", "\u200b"), "R_UNPROVABLE"},
		{"too few, and laundered, are told together", hosts("https://www.nps.gov/a", "https://www.nps.gov/b", ""), "R_UNPROVABLE R_SRC_LAUNDER"},

		{"all that can be told is collected", func(i *triviaItem) {
			choices("Iran", "Iraq", "Chad", "Peru")(i)
			i.card["q"], i.card["x"] = "Is it Iran?", ""
			hosts("https://www.nasa.gov/p", "https://www.nasa.gov/p")(i)
		}, "R_CHOICES R_ANSWER_LEAK R_EXPLAINER_LENGTH R_SRC_LAUNDER"},
		{"R_SCHEMA ends the phase", func(i *triviaItem) {
			choices("Iran", "Iraq", "Chad", "Peru")(i)
			i.card["cat"] = "Music"
		}, "R_SCHEMA"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			g := mustOpen(t, options(t, dir, triviaGate(t)))
			item := goodCard()
			tt.change(&item)
			v := judge(t, g, item.candidate(t))[0]
			if v.Err != nil {
				t.Fatal(v.Err)
			}
			end := dag.Rejected
			if tt.codes == "" {
				end = dag.Accepted
			}
			if v.End != end || codes(v) != tt.codes {
				t.Errorf("%s with codes %q (%s), want %s with %q", v.End, codes(v), v.Message, end, tt.codes)
			}
			for _, d := range v.Details {
				if d.Code == "" || d.Why == "" {
					t.Errorf("a detail without code or reason: %+v", d)
				}
			}
			if records := lines(t, dir, "data/"+item.bucket+".jsonl"); len(records) != map[bool]int{true: 1, false: 0}[end == dag.Accepted] {
				t.Errorf("%d records", len(records))
			}
		})
	}
}

func TestTriviaBytes(t *testing.T) {
	for _, tt := range []struct{ name, card string }{
		{"a key twice", `{"q":"Q?","a":"A","a":"B"}`},
		{"a lone surrogate", `{"q":"\ud800"}`},
		{"not an object", `[]`},
		{"an integer that a double cannot hold", `{"q":9007199254740993}`},
		{"a number past a double", `{"q":1e400}`},
		{"trailing bytes", `{} {}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := mustOpen(t, options(t, t.TempDir(), triviaGate(t)))
			raw := dag.NewDoc([]byte(tt.card))
			item := goodCard()
			c := item.candidate(t)
			c.Scope = overlay{c.Scope, raw}
			v := judge(t, g, c)[0]
			if v.Err != nil || v.End != dag.Rejected || codes(v) != "R_SCHEMA" {
				t.Errorf("%s %q, %v", v.End, codes(v), v.Err)
			}
		})
	}
}

// overlay gives item other bytes, canonical or not.
type overlay struct {
	dag.Scope
	item dag.Doc
}

func (o overlay) Lookup(name dag.Name) (dag.Doc, error) {
	if name.Root == "item" {
		return o.item, nil
	}
	return o.Scope.Lookup(name)
}

func TestTriviaDuplicates(t *testing.T) {
	dir := t.TempDir()
	g := mustOpen(t, options(t, dir, triviaGate(t)))
	first := goodCard()
	if v := judge(t, g, first.candidate(t))[0]; v.Record != "history-easy-59e88a5678a6" {
		t.Fatalf("%s %q %v", v.End, v.Record, v.Err)
	}
	// Other case, quotes and spacing, in another category.
	other := goodCard()
	other.key, other.cat, other.bucket, other.crafter = "music/easy/1/t", "music", "music/easy", "mme_crafter"
	other.card["cat"], other.card["q"] = "music", "WHICH “sultan” took  Constantinople in 1453 ?"
	if v := judge(t, g, other.candidate(t))[0]; codes(v) != "R_DUP_EXACT" || v.Details[0].Why != "the accepted record history-easy-59e88a5678a6 has this key" {
		t.Errorf("%s %q %+v", v.End, codes(v), v.Details)
	}
	// The very same record for another item is accepted already.
	same := goodCard()
	same.key = "history/easy/2/t-b0d720a63c00"
	if v := judge(t, g, same.candidate(t))[0]; v.End != dag.Accepted || !v.Known {
		t.Errorf("%s, known %v", v.End, v.Known)
	}
	// Another record with the same question is not.
	changed := goodCard()
	changed.key, changed.card["x"] = "history/easy/3/t", "Another explainer."
	if v := judge(t, g, changed.candidate(t))[0]; codes(v) != "R_DUP_EXACT" {
		t.Errorf("%s %q", v.End, codes(v))
	}
	// Two of one batch, the second is the duplicate.
	a, b := goodCard(), goodCard()
	a.key, a.card["q"] = "a", "Who won at Manzikert?"
	b.key, b.card["q"], b.card["x"] = "b", "who WON at Manzikert", "It was lost."
	v := judge(t, g, a.candidate(t), b.candidate(t))
	if v[0].End != dag.Accepted || codes(v[1]) != "R_DUP_EXACT" {
		t.Errorf("%s, %s %q", v[0].End, v[1].End, codes(v[1]))
	}
	report, err := Audit(context.Background(), Options{Dir: dir, Gate: triviaGate(t)})
	if err != nil || !report.Clean() {
		t.Errorf("%v %v", report.Faults, err)
	}
	want := Report{Records: 2, Evidence: 2, Rejections: 3}
	report.Faults = nil
	if diff := cmp.Diff(want, report); diff != "" {
		t.Error(diff)
	}
}

// A misfit's record says where in the value it is.
func TestSchemaPlace(t *testing.T) {
	g := mustOpen(t, options(t, t.TempDir(), triviaGate(t)))
	item := goodCard()
	item.card["w"] = []any{"Bayezid I", "\t", "Selim III"}
	v := judge(t, g, item.candidate(t))[0]
	if codes(v) != "R_SCHEMA" || len(v.Details) != 1 || v.Details[0].At != "/w/1" {
		t.Errorf("%s %+v", codes(v), v.Details)
	}
}

// One record of each kind of row, byte for byte.
func TestTriviaRows(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir, triviaGate(t))
	o.Now = clock()
	g := mustOpen(t, o)
	bad := goodCard()
	bad.key, bad.card["x"] = "history/easy/1/bad", ""
	good := goodCard()
	judge(t, g, good.candidate(t), bad.candidate(t))
	wantCard := `{"a":"Mehmed II","cat":"history","diff":"easy","id":"history-easy-59e88a5678a6","q":"Which sultan took Constantinople in 1453?","topic_id":"t-b0d720a63c00","w":["Suleiman the Magnificent","Bayezid I","Selim III"],"x":"Mehmed II besieged the city for 53 days and made it his capital."}`
	if diff := cmp.Diff([]string{wantCard}, lines(t, dir, "data/history/easy.jsonl")); diff != "" {
		t.Error(diff)
	}
	evidence := lines(t, dir, "meta/verification.jsonl")[0]
	for _, part := range []string{
		fmt.Sprintf(`"digest":"%s"`, dag.Sum([]byte(wantCard))), `"id":"history-easy-59e88a5678a6"`, `"claim":"Mehmed II conquered Constantinople in 1453"`,
		`"previous":"0000000000000000000000000000000000000000000000000000000000000000"`, `"sequence":1`, `"model":"m-2"`, `"accepted_at":"2026-01-15T10:15:0`,
	} {
		if !strings.Contains(evidence, part) {
			t.Errorf("the evidence lacks %s:\n%s", part, evidence)
		}
	}
	rejection := lines(t, dir, "meta/rejections.jsonl")[0]
	for _, part := range []string{
		`"bucket":"history/easy"`, `"codes":["R_EXPLAINER_LENGTH"]`, `"detail":[{"code":"R_EXPLAINER_LENGTH","why":"the text has 0 words, at least 1 are asked for"}]`,
		`"end":"rejected"`, `"item":"history/easy/1/bad"`, `"stage":"accept"`, `"run":"20260115T101500Z-4f2a91"`,
	} {
		if !strings.Contains(rejection, part) {
			t.Errorf("the rejection lacks %s:\n%s", part, rejection)
		}
	}
}
