package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

// The gate of the root pipeline, as the language compiles it, without the engine: a
// test hands it what no stage would let through.

// gateOf gives the gate of the root pipeline.
func gateOf(t testing.TB) *dag.Gate {
	t.Helper()
	c := &command{dir: "../..", err: t.Output(), out: t.Output()}
	graph, err := c.load(t.Context(), false, false, false)
	if err != nil {
		t.Fatal(err)
	}
	return graph.Gate
}

// handed is a candidate as it is handed to the gate. What it does not say is a card
// that is accepted.
type handed struct {
	card   string // as bytes
	report string
	topic  string
	origin string
	bucket string

	crafter  string // the stage that wrote the card
	writer   string // its model
	judge    string // the model of the verifier
	seen     string // the card that the verifier was shown
	stale    bool   // the verifier's visit is
	repaired bool   // the repairer came between, with the verifier's model
	pages    pagesOf
}

func goodHanded() handed {
	card := object{
		"topic_id": topicID("history", "Fall of Constantinople"), "cat": "history", "diff": "easy",
		"q": "Which sultan took Constantinople in 1453?", "a": "Mehmed II", "w": []string{"Suleiman the Magnificent", "Bayezid I", "Selim III"},
		"x": "Mehmed II besieged the city for 53 days and made it his capital.",
	}
	return handed{
		card: card.String(), report: goodReport().String(), bucket: "history/easy",
		topic:   object{"cat": "history", "diff": "easy", "title": "Fall of Constantinople", "angle": "the year"}.String(),
		origin:  object{"cat": "history", "diff": "easy", "batch": 1}.String(),
		crafter: "crafter", writer: "m-1", judge: "m-2",
	}
}

// changed gives the JSON object in a text other members.
func changed(t testing.TB, doc string, members object) string {
	t.Helper()
	o := object{}
	if err := json.Unmarshal([]byte(doc), &o); err != nil {
		t.Fatal(err)
	}
	return o.with(members).String()
}

// scopeOf is the scope of an item: names to documents as they are.
type scopeOf map[string]string

// Lookup implements dag.Scope.
func (s scopeOf) Lookup(name dag.Name) (dag.Doc, error) {
	text, ok := s[name.String()]
	if !ok {
		return dag.Doc{}, nil
	}
	return dag.NewDoc([]byte(text)), nil
}

func (h handed) candidate(key string) *gate.Candidate {
	canon := string(canonical([]byte(h.card)))
	seen := canon
	if h.seen != "" {
		seen = string(canonical([]byte(h.seen)))
	}
	input := dag.NewDoc([]byte(`{"card":` + seen + `}`))
	visit := func(stage, model string) dag.VisitFacts {
		return dag.VisitFacts{Stage: stage, Pass: 1, Plugin: "builtin/prompt", Provider: "builtin/openai", Model: model}
	}
	verifier := visit("verifier", h.judge)
	verifier.Input, verifier.Stale = input.Digest, h.stale
	facts := []dag.VisitFacts{visit(h.crafter, h.writer)}
	if h.repaired {
		facts = append(facts, visit("repairer", h.judge))
	}
	return &gate.Candidate{
		Key: key, Bucket: h.bucket, Facts: append(facts, verifier),
		Scope: scopeOf{"item": canon, "artifact.verifier": string(canonical([]byte(h.report))), "artifact.topic_miner": h.topic, "origin": h.origin},
		Load: func(d dag.Digest) ([]byte, error) {
			if d == input.Digest {
				return input.Bytes, nil
			}
			return nil, fmt.Errorf("no document %s", d.Short())
		},
	}
}

// pagesOf answers for the web: live where it says nothing else.
type pagesOf map[string]dag.Page

// Read implements gate.Pages.
func (p pagesOf) Read(_ context.Context, address string, _ time.Duration) (*dag.Page, error) {
	page, ok := p[address]
	if !ok {
		page = dag.Page{Status: 200, Verdict: dag.PageLive, Text: "It is so."}
	}
	page.URL = address
	if page.FinalURL == "" {
		page.FinalURL = address
	}
	return &page, nil
}

// Source implements gate.Pages.
func (pagesOf) Source() dag.Digest { return dag.Sum([]byte("pages of a test")) }

// openDry opens a gate that writes nothing, over an empty corpus.
func openDry(t testing.TB, spec *dag.Gate, dir string, pages gate.Pages) *gate.Gate {
	t.Helper()
	g, err := gate.Open(context.Background(), gate.Options{Dir: dir, Pipeline: "trivia-cards", Gate: spec, RunID: "20260115T101500Z-4f2a91", Pages: pages, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// bench judges candidates one by one, each as if the corpus were empty. A gate is
// dear to open, so it serves until it has accepted something.
type bench struct {
	t    testing.TB
	spec *dag.Gate
	dir  string
	web  pagesNow
	open *gate.Gate
	n    int
}

func newBench(t testing.TB, spec *dag.Gate) *bench {
	b := &bench{t: t, spec: spec, dir: t.TempDir(), web: pagesNow{new(pagesOf)}}
	t.Cleanup(b.close)
	return b
}

func (b *bench) judge(h handed) gate.Verdict {
	b.t.Helper()
	if b.open == nil {
		b.open = openDry(b.t, b.spec, b.dir, b.web)
	}
	*b.web.now = h.pages
	b.n++
	v, err := b.open.Commit(context.Background(), []*gate.Evaluation{b.open.Evaluate(context.Background(), h.candidate(fmt.Sprint(b.n)))})
	if err != nil {
		b.t.Fatal(err)
	}
	if v[0].End == dag.Accepted {
		b.close()
	}
	return v[0]
}

func (b *bench) close() {
	if b.open != nil {
		_ = b.open.Close() // a dry run has nothing to lose
		b.open = nil
	}
}

// pagesNow are the pages of the candidate at hand.
type pagesNow struct{ now *pagesOf }

func (p pagesNow) Read(ctx context.Context, address string, timeout time.Duration) (*dag.Page, error) {
	return p.now.Read(ctx, address, timeout)
}

func (p pagesNow) Source() dag.Digest { return p.now.Source() }

// judgeAll hands candidates to a gate, one after another.
func judgeAll(t testing.TB, g *gate.Gate, all ...handed) []gate.Verdict {
	t.Helper()
	var verdicts []gate.Verdict
	for i, h := range all {
		v, err := g.Commit(context.Background(), []*gate.Evaluation{g.Evaluate(context.Background(), h.candidate(fmt.Sprintf("%s/1/t-%d", h.bucket, i)))})
		if err != nil {
			t.Fatal(err)
		}
		verdicts = append(verdicts, v...)
	}
	return verdicts
}

// codesOf are a verdict's codes in their order.
func codesOf(v gate.Verdict) string {
	var all []string
	for _, c := range v.Codes {
		all = append(all, string(c))
	}
	return strings.Join(all, " ")
}

// What the engine would have stopped earlier is refused by the gate all the same.
func TestTriviaGateAlone(t *testing.T) {
	t.Parallel()
	spec := gateOf(t)
	card := func(members object) func(*handed) {
		return func(h *handed) { h.card = changed(t, h.card, members) }
	}
	report := func(members object) func(*handed) {
		return func(h *handed) { h.report = changed(t, h.report, members) }
	}
	raw := func(text string) func(*handed) { return func(h *handed) { h.card = text } }
	const sure = "R_SCHEMA"
	for _, tt := range []struct {
		name   string
		change func(*handed)
		codes  string // empty: accepted
	}{
		{"the card as it is", func(*handed) {}, ""},

		{"a list", raw(`[]`), sure},
		{"a text", raw(`"card"`), sure},
		{"null", raw(`null`), sure},
		{"nothing", raw(``), sure},
		{"bytes that are no UTF-8", raw("{\"q\":\"\xff\"}"), sure},
		{"a lone surrogate", raw(`{"q":"\ud800"}`), sure},
		{"a key twice", raw(`{"q":"Who?","q":"Who else?"}`), sure},
		{"an unknown key", card(object{"hint": "x"}), sure},
		{"a missing key", card(object{"x": nothing{}}), sure},
		{"a wrong type", card(object{"q": 3}), sure},
		{"null for a text", card(object{"a": nil}), sure},
		{"a blank question", card(object{"q": " \u3000"}), sure},
		{"a blank answer", card(object{"a": "\u200b"}), sure},
		{"a blank choice", card(object{"w": []string{"Orhan", " ", "Murad"}}), sure},
		{"two wrong choices", card(object{"w": []string{"Orhan", "Murad"}}), sure},
		{"four wrong choices", card(object{"w": []string{"Orhan", "Murad", "Osman the First", "Bayezid"}}), sure},
		{"a control character", card(object{"q": "Who\u0007?"}), sure},
		{"a tab", card(object{"q": "Who\ttook it?"}), sure},
		{"an unknown category", card(object{"cat": "Music"}), sure},
		{"a category that climbs", card(object{"cat": "../data"}), sure},
		{"an unknown difficulty", card(object{"diff": "EASY"}), sure},
		{"an id", card(object{"id": "history-easy-59e88a5678a6"}), sure},

		{"another topic in the card", card(object{"topic_id": topicID("history", "another")}), sure},
		{"another title in the topic", func(h *handed) { h.topic = changed(t, h.topic, object{"title": "Another"}) }, sure},
		{"a title in another spelling", func(h *handed) { h.topic = changed(t, h.topic, object{"title": "fall of CONSTANTINOPLE!"}) }, ""},
		{"another identity in the topic", func(h *handed) {
			h.topic = changed(t, h.topic, object{"topic_id": topicID("history", "another")})
		}, sure},
		{"another category in the topic", func(h *handed) { h.topic = changed(t, h.topic, object{"cat": "science"}) }, sure},
		{"another difficulty in the topic", func(h *handed) { h.topic = changed(t, h.topic, object{"diff": "hard"}) }, sure},
		{"another category in the card", card(object{"cat": "science"}), sure},
		{"another difficulty in the card", card(object{"diff": "hard"}), sure},
		{"another bucket of the source", func(h *handed) { h.origin = object{"cat": "science", "diff": "easy", "batch": 1}.String() }, sure},

		{"the verifier was shown another card", func(h *handed) { h.seen = changed(t, h.card, object{"x": "Another explainer."}) }, sure},
		{"the card was changed after the verifier", func(h *handed) { h.stale = true }, sure},
		{"the other crafter", func(h *handed) { h.crafter = "mme_crafter" }, sure},
		{"no crafter at all", func(h *handed) { h.crafter = "somebody" }, sure},
		{"the crafter's model", func(h *handed) { h.judge = "m-1" }, sure},
		{"the repairer's model", func(h *handed) { h.repaired = true }, sure},
		{"a model that nobody told", func(h *handed) { h.judge = "" }, sure},
		{"a crafter's model that nobody told", func(h *handed) { h.writer = "" }, sure},

		{"a report that asks for a repair", report(object{"status": "repair", "repair_fields": []string{"q"}}), sure},
		{"a report that rejects", report(object{"status": "reject"}), sure},
		{"a report that abstains", report(object{"status": "abstain"}), sure},
		{"a status that is none", report(object{"status": "ACCEPT"}), sure},
		{"no status", report(object{"status": nothing{}}), sure},
		{"a status that is a list", report(object{"status": []string{"accept"}}), sure},
		{"an accept with a code", report(object{"codes": []string{"R_CHOICES"}}), sure},
		{"an answer that is not unique", report(object{"unique_answer": false}), sure},
		{"a text for unique_answer", report(object{"unique_answer": "true"}), sure},
		{"no unique_answer", report(object{"unique_answer": nothing{}}), sure},
		{"a disproof", report(object{"disproof": object{"tried": []string{"x"}, "found": true}}), sure},
		{"no word of a disproof", report(object{"disproof": object{"tried": []string{"x"}}}), sure},
		{"no report", func(h *handed) { h.report = "null" }, sure},
		{"a report of no shape", func(h *handed) { h.report = "[]" }, sure},

		{"no sources", report(object{"sources": nil}), "R_UNPROVABLE"},
		{"sources that are no list", report(object{"sources": "https://www.nps.gov/"}), "R_UNPROVABLE"},
		{"sources that are texts", report(object{"sources": []string{"https://www.nps.gov/", "https://www.nasa.gov/"}}), "R_UNPROVABLE"},
		{"a URL that is a number", report(object{"sources": []object{{"url": 1, "quote": "q", "supports": []string{"claim", "answer"}}}}), "R_UNPROVABLE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := goodHanded()
			tt.change(&h)
			g := openDry(t, spec, t.TempDir(), h.pages)
			defer g.Close()
			v := judgeAll(t, g, h)[0]
			if v.Err != nil {
				t.Fatal(v.Err)
			}
			first, _, _ := strings.Cut(codesOf(v), " ")
			if want := tt.codes; first != want || (v.End == dag.Accepted) != (want == "") {
				t.Errorf("%s with codes %q (%s), want %q", v.End, codesOf(v), v.Message, want)
			}
			if tt.codes == sure && codesOf(v) != sure {
				t.Errorf("R_SCHEMA ends the check, and there are %q", codesOf(v))
			}
		})
	}
}

// wrongValues are what a member may become.
func wrongValues() map[string]any {
	return map[string]any{
		"missing": nothing{}, "null": nil, "true": true, "false": false, "zero": 0, "a number": 4.5, "a huge number": 1e300,
		"an empty text": "", "a blank": "\u200b \u3000", "NaN": "NaN", "infinity": "Infinity", "a control character": "x\u0000y",
		"a huge text": strings.Repeat("word ", 50_000), "an empty list": []any{}, "a list of nulls": []any{nil, nil, nil}, "a list of lists": []any{[]any{}, []any{}, []any{}},
		"an empty object": object{}, "an object": object{"a": 1}, "HTML": "<script>alert(1)</script>", "a right-to-left mark": "\u202e",
	}
}

// unread are members that decide nothing.
var unread = []string{"topic.angle", "topic.topic_id", "origin.batch", "report.claim", "report.reason", "report.repair_fields"}

// Every member of what the gate reads is made wrong in every way, and the gate
// accepts none that the rules, told once more in a simple way, do not allow.
func TestTriviaMutations(t *testing.T) {
	t.Parallel()
	b := newBench(t, gateOf(t))
	n, accepts := 0, 0
	try := func(what string, h handed) {
		t.Helper()
		n++
		v := b.judge(h)
		if v.Err != nil {
			return // no verdict is no accept
		}
		if v.End == dag.Accepted {
			accepts++
			if why := forbids(h); why != nil {
				t.Errorf("%s: accepted, and %v", what, why)
			}
		}
	}
	docs := map[string]func(*handed) *string{
		"card": func(h *handed) *string { return &h.card }, "report": func(h *handed) *string { return &h.report },
		"topic": func(h *handed) *string { return &h.topic },
	}
	for name, doc := range docs {
		h := goodHanded()
		whole := object{}
		if err := json.Unmarshal([]byte(*doc(&h)), &whole); err != nil {
			t.Fatal(err)
		}
		for member := range maps.Keys(whole) {
			if slices.Contains(unread, name+"."+member) {
				continue
			}
			for how, value := range wrongValues() {
				h := goodHanded()
				*doc(&h) = whole.with(object{member: value}).String()
				try(fmt.Sprintf("%s.%s is %s", name, member, how), h)
			}
		}
		for how, text := range map[string]string{
			"empty": "", "null": "null", "a list": "[]", "cut": (*doc(&h))[:len(*doc(&h))/2], "two": *doc(&h) + *doc(&h),
			"bad UTF-8": strings.Replace(*doc(&h), "i", "\xff", 1), "NaN": "NaN", "deep": strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
		} {
			h := goodHanded()
			*doc(&h) = text
			try(name+" is "+how, h)
		}
	}
	for member := range wrongSource() {
		for how, value := range wrongValues() {
			h := goodHanded()
			other := object{"url": "https://www.nps.gov/a", "quote": "It is so.", "supports": []string{"claim", "answer"}}
			h.report = changed(t, h.report, object{"sources": []object{wrongSource().with(object{member: value}), other}})
			try(fmt.Sprintf("sources[0].%s is %s", member, how), h)
		}
	}
	if n < 300 {
		t.Errorf("only %d mutations were tried", n)
	}
	if accepts > n/20 {
		t.Errorf("%d of %d mutations are accepted: they do not mutate what is read", accepts, n)
	}
}

func wrongSource() object {
	return object{"url": "https://www.nasa.gov/b", "quote": "It is so.", "supports": []string{"claim", "answer"}}
}

// Bytes are changed, dropped, doubled and swapped at random in all that the gate
// reads: it accepts nothing that the rules, told once more in a simple way, do not
// allow, and it panics on nothing.
func TestTriviaRandomBytes(t *testing.T) {
	t.Parallel()
	b := newBench(t, gateOf(t))
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{`"`, `,`, `}`, `{`, `]`, `[`, `\u0000`, `null`, `true`, `false`, "\xff", "\u200b", "\u202e", " ", "currently ", "Mehmed II", "a", "0", "-", "1e400", "https://", "@", "://", "\t"}
	garble := func(s string) string {
		for range 1 + r.IntN(3) {
			i := r.IntN(len(s) + 1)
			j := min(len(s), i+r.IntN(12))
			switch r.IntN(4) {
			case 0: // dropped
				s = s[:i] + s[j:]
			case 1: // doubled
				s = s[:j] + s[i:]
			case 2: // put in
				s = s[:i] + parts[r.IntN(len(parts))] + s[i:]
			case 3: // put in place of others
				s = s[:i] + parts[r.IntN(len(parts))] + s[j:]
			}
		}
		return s
	}
	accepts := 0
	for i := range 1500 {
		h := goodHanded()
		for _, doc := range []*string{&h.card, &h.report, &h.topic} {
			if r.IntN(2) == 0 {
				*doc = garble(*doc)
			}
		}
		if r.IntN(4) == 0 {
			h.pages = pagesOf{"https://www.worldhistory.org/article/1180/": {Verdict: pageVerdicts[r.IntN(len(pageVerdicts))], Status: 200}}
		}
		v := b.judge(h)
		var e *dag.Error
		if errors.As(v.Err, &e) && e.Kind == dag.KindBug {
			t.Fatalf("%d: %v", i, v.Err)
		}
		if v.Err != nil || v.End != dag.Accepted {
			continue
		}
		accepts++
		if why := forbids(h); why != nil {
			t.Errorf("%d: accepted, and %v:\n%s\n%s\n%s", i, why, h.card, h.report, h.topic)
		}
	}
	if accepts == 0 || accepts > 1000 {
		t.Errorf("%d of 1500 are accepted", accepts)
	}
}

var pageVerdicts = []dag.PageVerdict{dag.PageLive, dag.PageDead, dag.PageBlocked, "", "alive"}

// FuzzTriviaGate hands random bytes to the whole gate: it accepts nothing that the
// rules, told once more in a simple way, do not allow.
func FuzzTriviaGate(f *testing.F) {
	spec := gateOf(f)
	dir := f.TempDir()
	good := goodHanded()
	f.Add(good.card, good.report, good.topic, byte(0))
	f.Add(changed(f, good.card, object{"q": "Is it Mehmed II?"}), good.report, good.topic, byte(1))
	f.Add(changed(f, good.card, object{"w": []string{"Mehmed I", "Mehmet", "Murad"}}), changed(f, good.report, object{"codes": []string{"R_CHOICES"}}), good.topic, byte(2))
	f.Add(`{"q":"\ud800"}`, `{"status":"accept"}`, `{"title":1}`, byte(3))
	f.Fuzz(func(t *testing.T, card, report, topic string, page byte) {
		h := good
		h.card, h.report, h.topic = card, report, topic
		h.pages = pagesOf{"https://www.worldhistory.org/article/1180/": {Verdict: pageVerdicts[int(page)%len(pageVerdicts)], Status: 200, Text: "So it is."}}
		g := openDry(t, spec, dir, h.pages)
		defer g.Close()
		v := judgeAll(t, g, h)[0]
		if v.Err == nil && v.End == dag.Accepted {
			if why := forbids(h); why != nil {
				t.Errorf("accepted, and %v:\n%s\n%s", why, card, report)
			}
		}
		var e *dag.Error
		if errors.As(v.Err, &e) && e.Kind == dag.KindBug {
			t.Error(v.Err)
		}
	})
}
