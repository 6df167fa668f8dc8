package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/internal/text"
)

// five are candidates of one kind.
func five(name string, c triviaCase) []triviaCase {
	var all []triviaCase
	for i := range 5 {
		c := c
		c.name = fmt.Sprintf("%s, %d", name, i+1)
		all = append(all, c)
	}
	return all
}

func accepted(name string) []triviaCase { return five(name, triviaCase{}) }

// A batch that is not five topics is refused whole: nobody is asked for a card.
func TestTriviaBatches(t *testing.T) {
	t.Parallel()
	p := newPlay()
	named := func(names ...string) []triviaCase {
		var all []triviaCase
		for _, name := range names {
			all = append(all, triviaCase{name: name})
		}
		return all
	}
	buckets := []string{
		p.batch("history", "easy", 1, accepted("a batch")[:4]...),
		p.batch("history", "medium", 1, append(accepted("six"), triviaCase{name: "the sixth"})...),
		p.batch("history", "hard", 1, named("Fall of Constantinople", "Manzikert", "Lepanto", "fall of CONSTANTINOPLE!", "Varna")...),
		p.batch("science", "easy", 1, named("Café", "Manzikert", "Lepanto", "Cafe\u0301s’s", "cafe\u200bs")...),
		p.batch("science", "medium", 1, accepted("none")...),
		p.batch("science", "hard", 1, accepted("prose")...),
		p.batch("nature", "easy", 1, accepted("one more key")...),
		p.batch("nature", "medium", 1, append(accepted("a blank title")[:4], triviaCase{name: "blank", topic: object{"title": "\u3000"}})...),
		p.batch("nature", "hard", 1, append(accepted("no title")[:4], triviaCase{name: "untitled", topic: object{"title": nothing{}}})...),
		p.batch("society", "easy", 1, append(accepted("a category that climbs")[:4], triviaCase{name: "climber", topic: object{"cat": "../data"}})...),
		p.batch("society", "medium", 1, accepted("as it should be")...),
		p.batch("society", "hard", 1, accepted("a key twice")...),
	}
	p.Topics["science/medium/1"] = []string{`{"cat":"science","diff":"medium","topics":[]}`}
	p.Topics["science/hard/1"] = []string{"Here are five topics."}
	p.Topics["nature/easy/1"] = []string{strings.Replace(p.Topics["nature/easy/1"][0], "{", `{"run_id":"20260115T101500Z-4f2a91",`, 1)}
	p.Topics["society/hard/1"] = []string{strings.Replace(p.Topics["society/hard/1"][0], "{", `{"topics":[],`, 1)}
	var mu sync.Mutex
	crafted := 0
	p.Asked = asked(t, func(request string) string {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(request, "# Crafter") {
			crafted++
		}
		return "go"
	})
	// Lines of the source that are no buckets.
	buckets = append(buckets, `{"cat":"../data","diff":"easy","batch":1}`, `{"cat":"Music","diff":"easy","batch":1}`, `{"cat":"music","diff":"easy","batch":1e400}`,
		`{"cat":"music","cat":"music","diff":"easy","batch":1}`, `{"cat":"music","diff":"\ud800","batch":1}`)
	w := newWorkspace(t, buckets, p, unlimited...)
	w.run(0)
	const fanOut, misfit, noJSON = "failed topic_miner 1 R_SCHEMA E_FAN_OUT", "failed topic_miner 1 R_SCHEMA E_OUTPUT", "failed topic_miner 1 R_SCHEMA E_MALFORMED"
	want := map[string]string{
		"history/easy/1": fanOut, "history/medium/1": fanOut, "history/hard/1": fanOut, "science/easy/1": fanOut, "science/medium/1": fanOut,
		"science/hard/1": noJSON, "nature/easy/1": misfit, "nature/medium/1": misfit, "nature/hard/1": misfit, "society/easy/1": misfit, "society/hard/1": noJSON,
	}
	for _, item := range []string{"examples/trivia-cards/buckets.jsonl:13", "examples/trivia-cards/buckets.jsonl:14", "examples/trivia-cards/buckets.jsonl:15", "examples/trivia-cards/buckets.jsonl:16", "examples/trivia-cards/buckets.jsonl:17"} {
		want[item] = "failed  0 R_SCHEMA E_INPUT"
	}
	for i := range 5 {
		want[fmt.Sprintf("as it should be, %d", i+1)] = "accepted"
	}
	if diff := cmp.Diff(want, w.ends()); diff != "" {
		t.Error(diff)
	}
	if crafted != 5 {
		t.Errorf("crafters were asked %d times, want 5", crafted)
	}
	for _, row := range w.lines("meta/breakers.jsonl") {
		if !strings.Contains(row, `"bucket":"society/medium"`) && !strings.Contains(row, `"consecutive":1,`) {
			t.Errorf("a batch that was refused counts otherwise than once: %s", row)
		}
	}
}

// A question is accepted once, whatever its spelling and its category.
func TestTriviaDuplicates(t *testing.T) {
	t.Parallel()
	p := newPlay()
	question := func(name, q, x string) triviaCase { return triviaCase{name: name, card: object{"q": q, "x": x}} }
	const twin = "rejected accept 1 R_DUP_EXACT"
	buckets := []string{
		p.batch("history", "easy", 1,
			question("a name", "Who was O'Brien?", "He was here."), question("without apostrophe", "Who was OBrien?", "She was here."),
			question("quoted", "Who was “O’BRIEN” ?", "They were here."), question("order", "Was O'Brien who?", "Another order is nearly the same question."),
			question("too long", "who was o\u2019brien", "And refused for its explainer first. "+strings.Repeat("word ", 20))),
		p.batch("history", "easy", 2, question("empty", "???", "A question without a word."), question("empty too", "¿!?", "Another question without a word."),
			triviaCase{name: "3"}, triviaCase{name: "4"}, triviaCase{name: "5"}),
		p.batch("history", "hard", 1, question("final sigma", "Was it Οδυσσεύς?", "So it was."), question("capitals", "was it ΟΔΥΣΣΕΥΣ", "So it is."),
			question("full width", "Ｗａｓ　ｉｔ　ａｌｌ？", "So it was."), question("half width", "Was it all?", "So it is."), triviaCase{name: "6"}),
		p.batch("science", "easy", 1, question("elsewhere", "WHO took  Rhodes?", "One."), triviaCase{name: "7"}, triviaCase{name: "8"}, triviaCase{name: "9"}, triviaCase{name: "10"}),
		p.batch("music", "hard", 1, question("here", "Who took “Rhodes”", "Two."), triviaCase{name: "11"}, triviaCase{name: "12"}, triviaCase{name: "13"}, triviaCase{name: "14"}),
	}
	w := newWorkspace(t, buckets, p, unlimited...)
	w.run(0)
	got := w.ends()
	for name, want := range map[string]string{
		"a name": "accepted", "without apostrophe": twin, "quoted": twin, "order": "rejected accept 1 R_DUP_NEAR", "too long": lengthCode,
		"empty": "accepted", "empty too": twin, "final sigma": "accepted", "capitals": twin, "full width": "accepted", "half width": twin,
	} {
		if got[name] != want {
			t.Errorf("%s ends %s, want %s", name, got[name], want)
		}
	}
	// Which of two buckets comes first is not said.
	if first, second := got["elsewhere"], got["here"]; !(first == "accepted" && second == twin || first == twin && second == "accepted") {
		t.Errorf("of one question in two buckets, one ends %s, the other %s", first, second)
	}
	w.audit()
}

// What the pages of the sources come to, over real servers. Hosts are the tests'
// own, and a name that nobody allowed leads to this machine, too.
func TestTriviaWeb(t *testing.T) {
	t.Parallel()
	p := newPlay()
	read := func(name, one, other string) triviaCase { return triviaCase{name: name, report: sources(one, other)} }
	const plain = "https://www.nps.gov/a"
	hops := func(n int, host string) string {
		return "https://" + host + strings.Repeat("/moved/"+host, n) + "/deep/page"
	}
	cases := []triviaCase{
		read("two links to one site", "https://www.nps.gov/moved/en.wikipedia.org/one", "https://www.nasa.gov/moved/de.wikipedia.org/two"),
		read("404", plain, "https://www.nasa.gov/status/404"),
		read("403", plain, "https://www.nasa.gov/status/403"),
		read("429 three times", plain, "https://www.loc.gov/status/429"),
		read("204", plain, "https://www.nasa.gov/status/204"),
		read("six redirects", plain, hops(6, "a.github.io")),
		read("a deep link that lands on the root", plain, "https://www.nasa.gov/moved/www.nasa.gov/"),
		read("a blank page", plain, "https://www.worldhistory.org/blank"),
		read("503, then 200", plain, "https://www.worldhistory.org/status/503-once"),
		read("moved", plain, "https://www.worldhistory.org/moved/www.worldhistory.org/there"),
		read("five redirects", plain, hops(5, "b.github.io")),
		read("moved to an address that is not public", plain, "https://www.loc.gov/moved/internal.example.org/page"),
		read("an address that is not public", plain, "http://internal.example.net/page"),
		read("a name that does not exist", plain, "https://nowhere.invalid/page"),
		read("two that are gone", "https://www.nasa.gov/status/410", "https://www.loc.gov/status/404"),
	}
	w := newWorkspace(t, []string{
		p.batch("history", "easy", 1, cases[:5]...), p.batch("science", "easy", 1, cases[5:10]...), p.batch("nature", "easy", 1, cases[10:]...),
	}, p, unlimited...)
	stdout, _ := w.run(0)
	want := map[string]string{}
	for _, c := range cases {
		want[c.name] = deadCode
	}
	want["two links to one site"] = launderCode
	for _, live := range []string{"503, then 200", "moved", "five redirects"} {
		want[live] = "accepted"
	}
	if diff := cmp.Diff(want, w.ends()); diff != "" {
		t.Error(diff)
	}
	asked, _ := w.site.visits()
	count := map[string]int{}
	for _, page := range asked {
		count[page]++
		if strings.HasPrefix(page, "internal.") {
			t.Errorf("%s was asked for, and is not public", page)
		}
	}
	for page, n := range map[string]int{"www.nps.gov/a": 1, "www.nasa.gov/status/404": 1, "www.loc.gov/status/429": 3, "www.worldhistory.org/status/503-once": 2} {
		if count[page] != n {
			t.Errorf("%s was asked for %d times, want %d", page, count[page], n)
		}
	}
	if !strings.Contains(stdout, "pages read") {
		t.Errorf("nothing tells how many pages were read:\n%s", stdout)
	}
	w.audit()
}

// audit compares the corpus with its evidence.
func (w *workspace) audit() {
	w.t.Helper()
	if said, err := w.command("audit").CombinedOutput(); err != nil || !strings.Contains(string(said), "0 faults") {
		w.t.Errorf("audit: %v\n%s", err, said)
	}
}

// The breaker opens at the twentieth bad end in a row, whatever kind they are;
// an error of the world neither counts nor sets it back, an accept does.
func TestTriviaBreaker(t *testing.T) {
	t.Parallel()
	p := newPlay()
	bad := []triviaCase{
		{report: object{"status": "reject"}}, {report: object{"status": "abstain"}}, {raw: "no card"}, {rawReport: "{}"},
		{card: object{"x": ""}}, {report: object{"status": "repair", "repair_fields": []string{"x"}}, repaired: object{"q": "Who?"}},
		{report: object{"status": "repair", "repair_fields": []string{"x"}}, repaired: object{"x": "He did."}, rereport: object{"status": "repair"}},
	}
	n := 0
	next := func(name string) triviaCase {
		c := bad[n%len(bad)]
		n++
		c.name = fmt.Sprintf("%s, bad %d", name, n)
		return c
	}
	batch := func(number int, good ...int) string {
		var cases []triviaCase
		for i := range 5 {
			c := next(fmt.Sprint(number))
			if slices.Contains(good, i) {
				n--
				c = triviaCase{name: fmt.Sprintf("%d, good %d", number, i)}
			}
			cases = append(cases, c)
		}
		return p.batch("history", "easy", number, cases...)
	}
	buckets := []string{batch(1), batch(2, 4)}             // 9, then an accept
	buckets = append(buckets, batch(3), batch(4))          // 10
	short := p.batch("history", "easy", 5, batchOfFour...) // 11
	buckets = append(buckets, short, batch(6))             // 12, then the error, then 15
	buckets = append(buckets, batch(7), p.batch("science", "easy", 1, accepted("elsewhere")...))
	buckets = append(buckets, batch(8))
	var mu sync.Mutex
	gone := true
	p.Asked = asked(t, func(request string) string {
		mu.Lock()
		defer mu.Unlock()
		if gone && strings.HasPrefix(request, "# Crafter") && strings.Contains(request, "6, bad 21") {
			return "the provider is away"
		}
		return "go"
	})
	w := newWorkspace(t, buckets, p, unlimited...)
	stdout, stderr := w.run(3, "-k")
	state := func() string {
		rows := w.lines("meta/breakers.jsonl")
		for _, row := range slices.Backward(rows) {
			if strings.Contains(row, `"bucket":"history/easy"`) {
				return regexp.MustCompile(`"(at|tripped_at)":"[^"]*"`).ReplaceAllString(row, `"$1":""`)
			}
		}
		return ""
	}
	want := `{"accepted":1,"at":"","bucket":"history/easy","consecutive":20,"stopped":29,"tripped_at":""}`
	if diff := cmp.Diff(want, state()); diff != "" {
		t.Error(diff, stdout)
	}
	if !strings.Contains(stderr, "the breaker of history/easy is open: nothing new starts there until `penstock breaker reset history/easy`") {
		t.Error(stderr)
	}
	for i := range 5 {
		if got := w.ends()[fmt.Sprintf("elsewhere, %d", i+1)]; got != "accepted" {
			t.Errorf("the other bucket: %q", got)
		}
	}
	before := len(w.ends())

	// A new process finds it open. What came after is not lost: once it is closed,
	// it goes on from there.
	mu.Lock()
	gone = false
	mu.Unlock()
	w.run(3, "-k")
	if diff := cmp.Diff(want, state()); diff != "" {
		t.Error(diff)
	}
	if after := len(w.ends()); after != before {
		t.Errorf("%d ends are on record after a run with an open breaker, %d before", after, before)
	}
	if said, err := w.command("breaker", "reset", "history/easy").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	w.run(0)
	if got := len(w.ends()); got != 5*8+1 {
		t.Errorf("%d items ended in all", got)
	}
	w.audit()
}

var batchOfFour = accepted("short")[:4]

// What stands in the corpus of a card, and where each part comes from.
func TestTriviaRows(t *testing.T) {
	t.Parallel()
	p := newPlay()
	mended := triviaCase{name: "mended", report: object{"status": "repair", "repair_fields": []string{"x"}}, repaired: object{"x": "He did it twice."}}
	p.Served = map[string]string{"claude-sonnet-5": "claude-sonnet-5-20260101"}
	bucket := p.batch("music", "easy", 1, append([]triviaCase{{name: "plain"}, mended}, accepted("more")[:3]...)...)
	w := newWorkspace(t, []string{bucket}, p, unlimited...)
	started := time.Now().UTC().Truncate(time.Millisecond)
	w.run(0)
	cards, rows := w.lines("data/music/easy.jsonl"), w.lines("meta/verification.jsonl")
	if len(cards) != 5 || len(rows) != 5 {
		t.Fatalf("%d cards, %d rows of evidence", len(cards), len(rows))
	}
	previous := strings.Repeat("0", 64)
	for i, line := range rows {
		var row struct {
			ID, Item, Claim, Digest, Data, Bucket, Previous string
			TopicID                                         string    `json:"topic_id"`
			RunID                                           string    `json:"run_id"`
			AcceptedAt                                      time.Time `json:"accepted_at"`
			Sequence                                        int
			Sources                                         []struct{ URL string }
			Pages                                           []struct {
				URL, Verdict, At, Digest string
				FinalURL                 string `json:"final_url"`
				Status                   int
				Exempt                   []string
			}
			Crafter, Verifier struct {
				Pass            int
				Provider, Model string
				StartedAt       time.Time `json:"started_at"`
				EndedAt         time.Time `json:"ended_at"`
			}
		}
		if err := json.Unmarshal([]byte(line), &row, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		var card struct{ ID, Q, X, Cat, Diff string }
		if err := json.Unmarshal([]byte(cards[i]), &card, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(cards[i]))
		id := "music-easy-" + text.Fingerprint(card.Q)[:12]
		models := filepath.Base(strings.Fields(row.Crafter.Provider)[0]) + " " + row.Crafter.Model + ", " + row.Verifier.Model
		if card.ID != id || row.ID != id || row.Digest != hex.EncodeToString(sum[:]) || row.Previous != previous || row.Sequence != i+1 ||
			row.Data != "data/music/easy.jsonl" || row.Bucket != "music/easy" || row.Item != "music/easy/1/"+row.TopicID || row.Claim != "It is so." || len(row.Sources) != 2 || len(row.Pages) != 2 ||
			models != "trivia-models gpt-5-mini, claude-sonnet-5-20260101" || !regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{6,}$`).MatchString(row.RunID) {
			t.Errorf("row %d (%s):\n%s\n%s", i+1, models, line, cards[i])
		}
		for k, page := range row.Pages {
			at, err := time.Parse(time.RFC3339, page.At)
			if page.URL != row.Sources[k].URL || page.FinalURL != page.URL || page.Status != 200 || page.Verdict != "live" || len(page.Digest) != 64 || len(page.Exempt) != 1 ||
				err != nil || at.Before(started) || at.After(row.AcceptedAt) {
				t.Errorf("row %d: the page of source %d is %+v", i+1, k+1, page)
			}
		}
		times := []time.Time{started, row.Crafter.StartedAt, row.Crafter.EndedAt, row.Verifier.StartedAt, row.Verifier.EndedAt, row.AcceptedAt, time.Now()}
		if !slices.IsSortedFunc(times, time.Time.Compare) {
			t.Errorf("row %d: times are out of order: %v", i+1, times)
		}
		if pass := 1 + strings.Count(card.X, "twice"); row.Verifier.Pass != pass {
			t.Errorf("row %d was verified in pass %d, want %d", i+1, row.Verifier.Pass, pass)
		}
		sum = sha256.Sum256([]byte(line))
		previous = hex.EncodeToString(sum[:])
	}
	members := regexp.MustCompile(`"([a-z_]+)":`).FindAllString(cards[0], -1)
	if diff := cmp.Diff([]string{`"a":`, `"cat":`, `"diff":`, `"id":`, `"q":`, `"topic_id":`, `"w":`, `"x":`}, members); diff != "" {
		t.Error(diff)
	}
	// A second run writes nothing anywhere in the corpus.
	before := w.snapshot()
	stdout, _ := w.run(0)
	if diff := cmp.Diff(before, w.snapshot()); diff != "" || !strings.HasPrefix(stdout, "nothing to do: ") {
		t.Error(diff, stdout)
	}
}

// snapshot is the corpus, but for the lock file, which tells who held it last.
func (w *workspace) snapshot() map[string]string {
	w.t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"data/*/*", "meta/*", "meta/.*"} {
		paths, err := filepath.Glob(w.path(pattern))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, path := range paths {
			name, _ := filepath.Rel(w.dir, path)
			if !strings.HasSuffix(name, ".lock") {
				files[name] = w.read(name)
			}
		}
	}
	return files
}

// The verifier must be another mind than the crafter, by what the servers say.
func TestTriviaIndependence(t *testing.T) {
	t.Parallel()
	for _, served := range []map[string]string{
		{"claude-sonnet-5": "gpt-5-mini"},
		{"claude-sonnet-5": "one", "gpt-5-mini": "one"},
		{"claude-sonnet-5": ""}, // a server that does not say
	} {
		p := newPlay()
		p.Served = served
		mended := triviaCase{name: "mended", report: object{"status": "repair", "repair_fields": []string{"x"}}, repaired: object{"x": "He did it twice."}}
		w := newWorkspace(t, []string{p.batch("history", "easy", 1, append(accepted("plain")[:4], mended)...)}, p, unlimited...)
		w.run(0)
		for name, got := range w.ends() {
			if got != schemaCode {
				t.Errorf("%v: %s ends %s", served, name, got)
			}
		}
	}
	// Under another name it is the same provider still, and that is said before anything starts.
	p := newPlay()
	w := newWorkspace(t, []string{p.batch("history", "easy", 1, accepted("plain")...)}, p,
		append(unlimited, "  plugin = plugin.anthropic\n  model  = \"claude-sonnet-5\"", "  plugin = plugin.openai\n  model  = \"gpt-5-mini\"")...)
	if _, stderr := w.run(1); !strings.Contains(stderr, "independent") {
		t.Error(stderr)
	}
}

// The gate does not trust the routes: an edit that sends it what it should not
// get, or another crafter's card, is found out there.
func TestTriviaEditedRoutes(t *testing.T) {
	t.Parallel()
	for _, edit := range []struct{ name, from, to, cat, want string }{
		{"a reject is handed over", "    stop   = \"rejected\"\n    status = \"reject\"\n", "    to = gate.accept\n", "history", schemaCode},
		{"music by the plain crafter", "if = contains(local.mme, item.cat)", "if = item.cat == \"film-tv\"", "music", schemaCode},
		{"a second repair is handed over", "      stop   = \"failed\"\n      status = \"repair\"\n", "      to = gate.accept\n", "history", schemaCode},
		{"nobody says that the verifier is independent", "  independent_of = [stage.crafter, stage.mme_crafter, stage.repairer]\n", "", "history", schemaCode},
	} {
		p := newPlay()
		cases := accepted("plain")
		change := append(slices.Clone(unlimited), edit.from, edit.to)
		mends := object{"status": "repair", "repair_fields": []string{"x"}}
		switch edit.name[:3] {
		case "a r":
			cases = five("rejected", triviaCase{report: object{"status": "reject"}})
		case "a s":
			cases = five("mended", triviaCase{report: mends, repaired: object{"x": "He did it twice."}, rereport: mends})
		case "nob":
			change = append(change, "  plugin = plugin.anthropic\n  model  = \"claude-sonnet-5\"", "  plugin = plugin.openai\n  model  = \"gpt-5-mini\"")
		}
		w := newWorkspace(t, []string{p.batch(edit.cat, "easy", 1, cases...)}, p, change...)
		w.run(0)
		ends := w.ends()
		for _, c := range cases {
			if ends[c.name] != edit.want {
				t.Errorf("%s: %s ends %s, want %s", edit.name, c.name, ends[c.name], edit.want)
			}
		}
		if data := w.lines("data/" + edit.cat + "/easy.jsonl"); len(data) > 0 {
			t.Errorf("%s: %d cards", edit.name, len(data))
		}
	}
}
