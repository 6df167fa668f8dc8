package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

// The rules of the trivia cards that are asked of the gate of the root pipeline
// alone: language that will not stay true, pages, and cards that are there already.

// What is said of a question and of an explainer is true for good, or refused.
func TestTriviaUnstableLanguage(t *testing.T) {
	t.Parallel()
	b := newBench(t, gateOf(t))
	codes := func(card object) string {
		t.Helper()
		h := goodHanded()
		h.card = changed(t, h.card, card)
		v := b.judge(h)
		if v.Err != nil {
			t.Fatal(v.Err)
		}
		return codesOf(v)
	}
	const refused = "R_UNSTABLE"
	for _, said := range []string{
		// words of a day
		"Who is currently the oldest of the sultans?", "Who presently rules the town of Fez?", "What are nowadays the walls of Fez?", "Today, which city has the walls of Fez?",
		"Which city has the walls of Fez today?", "Which star is seen tonight above Fez?", "What opens in Fez tomorrow?", "What opened in Fez yesterday?", "WHO IS CURRENTLY THE OLDEST SULTAN?",
		// times that are only times for who speaks
		"Who rules at present in Fez?", "Who rules Fez at the moment?", "Who rules Fez at this time?", "Who rules Fez right now?", "How many towns has he taken to date?",
		"How many towns has he taken so far?", "How many towns has he taken thus far?", "How many towns did he take up to now?", "How many did he take until now?", "Who rules Fez these days?",
		"Which planet has yet to be visited?", "Which planets have yet to be visited?", "Which planet is not yet visited?",
		"As of 2023, who has won the most?", "Who had, as of 2023, won the most?",
		"Which town is now called Istanbul?", "Now which town has the walls?",
		"Who won this year in Fez?", "Who won last week in Fez?", "Who plays next month in Fez?", "Which towns fell in past decades?", "Who rules in coming centuries?", "Who won this summer in Fez?", "Who won last winter in Fez?",
		"Which recent film shows Fez?", "Which town was recently besieged?", "What is the latest film on Fez?", "Which is the newest mosque of Fez?", "Which upcoming film shows Fez?", "What is his forthcoming book?",
		"Who is the current president of Chad?", "Who is the current world record holder in Fez?", "What is the current population of Fez?", "Who is the current team captain there?",
		"Which town is still the capital?", "Which walls still stand in Fez?", "Which of them is still alive?", "Which mill of Fez is still in use?", "Which walls are still there?", "Which of them remains still a mosque?",
		"Who is the reigning champion of Fez?", "Who is the incumbent of Fez?", "Which ongoing war is fought there?",
		"It was released five years ago by whom?", "Who took Fez 20 years ago?", "Who took Fez two centuries ago?", "Who was there a week ago?", "Who was there a few days ago?",
		"Which town is set to be rebuilt?", "Which towns are due to be rebuilt?", "Which town is scheduled to be rebuilt?", "Which town is expected to be rebuilt?",
		"Which city will host the 2032 Olympics?", "Where will the cup be held in 2032?", "When will be released his new film?", "Where will take place the cup?",
		"Who led the band (2010–present)?", "Who led the band, 2010-now?", "Who led the band, 2010 — today?",
	} {
		if got := codes(object{"q": said}); got != refused {
			t.Errorf("q %q: %q", said, got)
		}
		if x := strings.TrimSuffix(said, "?") + "."; len(strings.Fields(x)) <= 20 {
			if got := codes(object{"x": x}); got != refused {
				t.Errorf("x %q: %q", x, got)
			}
		}
	}
	for _, said := range []string{
		"Which now-extinct bird lived on Mauritius?", "What did he write in the last year of his life?", "Who was the then-current champion of Fez?", "Which ocean current warms the coast?",
		"Which law gives the current through a wire?", "Which beasts died out 66 million years ago?", "Who beat the incumbent in 1932?",
		`Who sang "Right Now" in Fez?`, "Who sang “Yesterday” on stage?", "Who filmed «Today» in Fez?", "Who wrote *now and then* in Fez?", "Who wrote _right now_ in Fez?",
		"Who directed Apocalypse Now in 1979?", "Who founded USA Today in 1982?", "Which sultan took nowhere at all?", "Which instant was known to Ibn Sina?", "Was hieß im Dorf der nowý?",
		"Who said that the still waters run deep?", "In which century was Fez founded?", "How long did the last of the sieges take?",
	} {
		if got := codes(object{"q": said}); got != "" {
			t.Errorf("q %q: %q, want none", said, got)
		}
	}
	// Only of the question and of the explainer is it asked.
	if got := codes(object{"a": "Right now, currently", "w": []string{"Five years ago", "As of 2023", "The incumbent"}}); got != "" {
		t.Errorf("in the choices: %q", got)
	}
	if got := codes(object{"q": "Is it Iran, currently?", "a": "Iran", "w": []string{"Iraq", "Chad", "Peru"}, "x": ""}); got != "R_CHOICES R_ANSWER_LEAK R_EXPLAINER_LENGTH R_UNSTABLE" {
		t.Errorf("all that can be told together: %q", got)
	}
}

// pagesAsked counts what is read.
type pagesAsked struct {
	pagesOf
	asked map[string]int
	err   error
}

func (p *pagesAsked) Read(ctx context.Context, address string, timeout time.Duration) (*dag.Page, error) {
	p.asked[address]++
	if p.err != nil {
		return nil, p.err
	}
	return p.pagesOf.Read(ctx, address, timeout)
}

// The pages are read when all else holds, and each must be live.
func TestTriviaPages(t *testing.T) {
	t.Parallel()
	spec := gateOf(t)
	const first, second, third = "https://www.nps.gov/a", "https://www.nasa.gov/b", "https://www.loc.gov/c"
	for _, tt := range []struct {
		name  string
		urls  []string
		pages pagesOf
		card  object
		err   error
		codes string // "": accepted
		reads int
	}{
		{name: "both are live", urls: []string{first, second}, reads: 2},
		{name: "one is dead", urls: []string{first, second}, pages: pagesOf{second: {Verdict: dag.PageDead, Status: 404}}, codes: "R_SRC_DEAD", reads: 2},
		{name: "one is blocked", urls: []string{first, second}, pages: pagesOf{second: {Verdict: dag.PageBlocked, Status: 403}}, codes: "R_SRC_DEAD", reads: 2},
		{name: "the third is dead", urls: []string{first, second, third}, pages: pagesOf{third: {Verdict: dag.PageDead, Status: 410}}, codes: "R_SRC_DEAD", reads: 3},
		{name: "two short links to one house", urls: []string{"https://bit.ly/a", "https://t.co/b"}, reads: 2, codes: "R_SRC_LAUNDER", pages: pagesOf{
			"https://bit.ly/a": {Verdict: dag.PageLive, Status: 200, FinalURL: "https://www.nasa.gov/x"}, "https://t.co/b": {Verdict: dag.PageLive, Status: 200, FinalURL: "https://science.nasa.gov/y"}}},
		{name: "a short link to the other source's house", urls: []string{"https://bit.ly/a", second}, reads: 2, codes: "R_SRC_LAUNDER", pages: pagesOf{
			"https://bit.ly/a": {Verdict: dag.PageLive, Status: 200, FinalURL: "https://www.nasa.gov/x"}}},
		{name: "two short links to two houses", urls: []string{"https://bit.ly/a", "https://t.co/b"}, reads: 2, pages: pagesOf{
			"https://bit.ly/a": {Verdict: dag.PageLive, Status: 200, FinalURL: first}, "https://t.co/b": {Verdict: dag.PageLive, Status: 200, FinalURL: second}}},
		{name: "one house, two short links of two shorteners to it and a third source", urls: []string{"https://bit.ly/a", "https://t.co/b", third}, reads: 3, pages: pagesOf{
			"https://bit.ly/a": {Verdict: dag.PageLive, Status: 200, FinalURL: "https://www.nasa.gov/x"}, "https://t.co/b": {Verdict: dag.PageLive, Status: 200, FinalURL: "https://www.nasa.gov/y"}}},
		{name: "nothing is read for a card that is refused", urls: []string{first, second}, card: object{"x": ""}, codes: "R_EXPLAINER_LENGTH"},
		{name: "nothing is read for sources of one house", urls: []string{first, first}, codes: "R_SRC_LAUNDER"},
		{name: "the reader cannot tell", urls: []string{first, second}, err: errors.New("no network"), codes: "parked", reads: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := goodHanded()
			h.report = changed(t, h.report, sources(tt.urls...))
			h.card = changed(t, h.card, tt.card)
			pages := &pagesAsked{pagesOf: tt.pages, asked: map[string]int{}, err: tt.err}
			g := openDry(t, spec, t.TempDir(), oneAtATime{pages, make(chan struct{}, 1)})
			defer g.Close()
			v := judgeAll(t, g, h)[0]
			got := codesOf(v)
			if v.Err != nil {
				got = "parked"
			}
			if got != tt.codes || (v.End == dag.Accepted) != (tt.codes == "") {
				t.Errorf("%s with %q (%s %v), want %q", v.End, got, v.Message, v.Err, tt.codes)
			}
			reads := 0
			for address, n := range pages.asked {
				if reads += n; n > 1 {
					t.Errorf("%s was read %d times", address, n)
				}
			}
			if reads != tt.reads && !(tt.err != nil && reads >= tt.reads) {
				t.Errorf("%d pages were read, want %d", reads, tt.reads)
			}
		})
	}
}

// oneAtATime lets a reader that is not made for several callers be one.
type oneAtATime struct {
	gate.Pages
	turn chan struct{}
}

func (o oneAtATime) Read(ctx context.Context, address string, timeout time.Duration) (*dag.Page, error) {
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	return o.Pages.Read(ctx, address, timeout)
}

// asking is a card of a bucket with a question.
func asking(t *testing.T, cat, diff, q string) handed {
	t.Helper()
	h := goodHanded()
	title := fmt.Sprintf("the topic of %q", q)
	h.bucket = cat + "/" + diff
	h.origin = object{"cat": cat, "diff": diff, "batch": 1}.String()
	h.topic = object{"cat": cat, "diff": diff, "title": title, "angle": "the fact"}.String()
	h.card = changed(t, h.card, object{"cat": cat, "diff": diff, "q": q, "topic_id": topicID(cat, title), "a": "Zanzibar"})
	return h
}

// A question is asked once in all categories; in one category also no question that
// has nearly the same words.
func TestTriviaTwins(t *testing.T) {
	t.Parallel()
	spec := gateOf(t)
	words := func(n int, more string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("word%d", i))
		}
		return strings.Join(all, " ") + " " + more
	}
	const exact, near = "R_DUP_EXACT", "R_DUP_NEAR"
	for _, tt := range []struct {
		name, first, second string
		other               string // the second's bucket
		codes               string
	}{
		{"other case, quotes and spacing in another category", "Which sultan took Rhodes?", "WHICH “sultan” took  Rhodes ?", "science/easy", exact},
		{"an apostrophe", "Who was O'Brien?", "Who was OBrien?", "history/easy", exact},
		{"word order", "Which sultan took the town of Rhodes?", "The town of Rhodes: which sultan took?", "history/easy", near},
		{"word order, another difficulty", "Which sultan took the town of Rhodes?", "The town of Rhodes: which sultan took?", "history/hard", near},
		{"word order, another category", "Which sultan took the town of Rhodes?", "The town of Rhodes: which sultan took?", "science/easy", ""},
		{"17 words of 20", words(17, "one two"), words(17, "three"), "history/easy", near},
		{"17 words of 21", words(17, "one two"), words(17, "three four"), "history/easy", ""},
		{"a word more often is no more words", words(17, "one two"), words(17, "three three word1 word2 three"), "history/easy", near},
		{"runes of Han in pairs", "日本で一番高い山は何という名前ですか", "日本で一番高い山は何という名前ですか？", "history/easy", exact},
		{"nothing in common", "Which sultan took Rhodes?", "Where did corals grow first?", "history/easy", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cat, diff, _ := strings.Cut(tt.other, "/")
			g := openDry(t, spec, t.TempDir(), pagesOf{})
			defer g.Close()
			v := judgeAll(t, g, asking(t, "history", "easy", tt.first), asking(t, cat, diff, tt.second))
			if v[0].End != dag.Accepted {
				t.Fatalf("the first ends %s with %q: %s %v", v[0].End, codesOf(v[0]), v[0].Message, v[0].Err)
			}
			if got := codesOf(v[1]); v[1].Err != nil || got != tt.codes || (v[1].End == dag.Accepted) != (tt.codes == "") {
				t.Errorf("%s with %q (%s %v), want %q", v[1].End, got, v[1].Message, v[1].Err, tt.codes)
			}
		})
	}
}

// TestTriviaRulesAreKept follows the links of the table of rules: each test that it
// names stands in the file, and each code of the pipeline in the table.
func TestTriviaRulesAreKept(t *testing.T) {
	page := filepath.Join(root(t), "examples", "trivia-cards", "RULES.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	proofs := 0
	for _, m := range link.FindAllStringSubmatch(string(text), -1) {
		target, err := os.ReadFile(filepath.Join(filepath.Dir(page), m[2]))
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.HasPrefix(m[1], "Test") {
			if proofs++; !strings.Contains(string(target), "\nfunc "+m[1]+"(t *testing.T)") {
				t.Errorf("%s has no %s", m[2], m[1])
			}
		}
	}
	if proofs < 40 {
		t.Errorf("only %d tests are named", proofs)
	}
	for _, c := range gateOf(t).Checks {
		if !strings.Contains(string(text), "\n| `"+string(c.Code)+"` | ") {
			t.Errorf("RULES.md has no row for %s", c.Code)
		}
	}
}

// Of every accepted card the evidence tells the run, and who made what when, with
// which model: facts of the trail, in an order that time allows.
func TestTriviaRunMetadata(t *testing.T) {
	t.Parallel()
	p := newPlay()
	mended := triviaCase{name: "mended", report: object{"status": "repair", "repair_fields": []string{"x"}}, repaired: object{"x": "He did it twice."}}
	before := time.Now().Add(-time.Second)
	w := newWorkspace(t, []string{p.batch("history", "easy", 1, append(accepted("plain")[:4], mended)...), p.batch("music", "hard", 1, accepted("music")...)}, p, unlimited...)
	w.run(0)
	type visit struct {
		Model, Plugin, Provider string
		Pass                    int
		StartedAt               time.Time `json:"started_at"`
		EndedAt                 time.Time `json:"ended_at"`
	}
	rows := w.lines("meta/verification.jsonl")
	if len(rows) != 10 {
		t.Fatalf("%d rows of evidence", len(rows))
	}
	passes := 0
	for _, line := range rows {
		var row struct {
			RunID             string    `json:"run_id"`
			AcceptedAt        time.Time `json:"accepted_at"`
			TopicID           string    `json:"topic_id"`
			Crafter, Verifier visit
		}
		if err := json.Unmarshal([]byte(line), &row, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		passes += row.Verifier.Pass
		if !regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{6,}$`).MatchString(row.RunID) {
			t.Errorf("the run is called %q", row.RunID)
		}
		if c, v := row.Crafter, row.Verifier; c.Model == "" || v.Model == "" || c.Plugin == "" || v.Plugin == "" || c.Provider == "" || v.Provider == "" || c.Model == v.Model && c.Provider == v.Provider {
			t.Errorf("crafted by %+v, verified by %+v", c, v)
		}
		times := []time.Time{before, row.Crafter.StartedAt, row.Crafter.EndedAt, row.Verifier.StartedAt, row.Verifier.EndedAt, row.AcceptedAt, time.Now().Add(time.Second)}
		for i := range times[1:] {
			if times[i+1].Before(times[i]) {
				t.Errorf("%s: its times go back: %v", row.TopicID, times)
			}
		}
	}
	if passes != 11 {
		t.Errorf("the verifiers of ten cards, one of them repaired, have made %d passes", passes)
	}
}
