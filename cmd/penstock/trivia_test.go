package main

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/internal/text"
)

// triviaCase is one candidate on its way through the root pipeline. What it does
// not say is a card that is accepted.
type triviaCase struct {
	name   string
	cat    string // empty: any category of the plain crafter
	topic  object // members of the topic that are otherwise
	card   object // members of the draft that are otherwise
	raw    string // instead of the draft
	report object
	// rawReport stands instead of the report.
	rawReport string
	repaired  object // members of the repaired card that are otherwise than the draft's; nil: never asked
	rereport  object
	want      string // "accepted", or how its row among the rejections reads
}

func asks(q, a string) object { return object{"q": q, "a": a} }

func choices(a, b, c, d string) object { return object{"a": a, "w": []string{b, c, d}} }

func sources(urls ...string) object {
	var list []object
	for _, url := range urls {
		list = append(list, object{"url": url, "quote": "It is so.", "supports": []string{"claim", "answer"}})
	}
	return object{"sources": list}
}

var plainCats = []string{"history", "geography", "science", "nature", "technology", "literature", "language", "society"}

var diffs = []string{"easy", "medium", "hard"}

// newPlay is a play without a line.
func newPlay() *play {
	return &play{Topics: map[string][]string{}, Cards: map[string][]string{}, Reports: map[string][]string{}, Repairs: map[string][]string{}}
}

// batch writes the lines of a batch, and gives the batch's line of buckets.jsonl.
func (p *play) batch(cat, diff string, batch int, cases ...triviaCase) (bucket string) {
	var topics []object
	for i, c := range cases {
		topic := object{"cat": cat, "diff": diff, "title": c.name, "angle": "the fact"}.with(c.topic)
		topics = append(topics, topic)
		draft := object{
			"topic_id": topicID(topic["cat"].(string), c.name), "cat": cat, "diff": diff,
			"q": question(cat, diff, batch, i+1) + "?",
			"a": "Mehmed II", "w": []string{"Suleiman the Magnificent", "Bayezid I", "Selim III"}, "x": "He made it his capital.",
		}.with(c.card)
		p.cast(draft, c)
	}
	p.Topics[fmt.Sprintf("%s/%s/%d", cat, diff, batch)] = []string{object{"cat": cat, "diff": diff, "topics": topics}.String()}
	return object{"cat": cat, "diff": diff, "batch": batch}.String()
}

// question is one that is not nearly the same as that of any other card.
func question(cat, diff string, batch, card int) string {
	return fmt.Sprintf("Which sultan took the town of %s%dx%d, %s %s, %d of batch %d", cat, batch, card, cat, diff, card, batch)
}

// cast writes the lines of one candidate.
func (p *play) cast(draft object, c triviaCase) {
	raw := draft.String()
	if c.raw != "" {
		raw = c.raw
	}
	report := goodReport().with(c.report).String()
	if c.rawReport != "" {
		report = c.rawReport
	}
	p.Cards[c.name] = []string{raw}
	if c.repaired != nil {
		repaired := draft.with(c.repaired).String()
		p.Repairs[string(canonical([]byte(raw)))] = []string{repaired}
		p.Reports[string(canonical([]byte(repaired)))] = []string{goodReport().with(c.rereport).String()}
	}
	p.Reports[string(canonical([]byte(raw)))] = []string{report}
}

// unlimited takes the provider's limit of requests a minute out of the pipeline.
var unlimited = []string{"    requests_per_minute = 500\n", ""}

// runTrivia lays the cases out in batches of five over the buckets, runs the
// pipeline once, and gives how each ended, by name.
func runTrivia(t *testing.T, cases []triviaCase) map[string]string {
	t.Helper()
	p := newPlay()
	byCat := map[string][]triviaCase{}
	for i, c := range cases {
		if c.cat == "" {
			c.cat = plainCats[i%len(plainCats)]
		}
		byCat[c.cat] = append(byCat[c.cat], c)
	}
	var buckets []string
	for cat, list := range byCat {
		for len(list)%5 != 0 {
			list = append(list, triviaCase{name: fmt.Sprintf("filler %d of %s", len(list), cat)})
		}
		for b := range len(list) / 5 {
			buckets = append(buckets, p.batch(cat, diffs[b%len(diffs)], b/len(diffs)+1, list[b*5:b*5+5]...))
		}
	}
	slices.Sort(buckets)
	w := newWorkspace(t, buckets, p, unlimited...)
	w.run(0)
	return w.ends()
}

// ends tells how each candidate ended, by its topic's title: "accepted", or its
// row among the rejections in short. A batch that was refused whole goes by its key.
func (w *workspace) ends() map[string]string {
	w.t.Helper()
	var p play
	if err := json.Unmarshal([]byte(w.read("play.json")), &p); err != nil {
		w.t.Fatal(err)
	}
	titles := map[string]string{} // by the topic's id
	for _, said := range p.Topics {
		var batch struct {
			Topics []struct{ Cat, Title string } `json:"topics"`
		}
		if json.Unmarshal([]byte(said[len(said)-1]), &batch, json.MatchCaseInsensitiveNames(true)) != nil {
			continue
		}
		for _, topic := range batch.Topics {
			titles[topicID(topic.Cat, topic.Title)] = topic.Title
		}
	}
	got := map[string]string{}
	end := func(item, said string) {
		name := item
		if title := titles[path.Base(item)]; title != "" {
			name = title
		}
		if got[name] != "" {
			w.t.Errorf("%s ends twice: %s, and %s", item, got[name], said)
		}
		got[name] = said
	}
	for _, row := range w.lines("meta/rejections.jsonl") {
		end(rejection(w.t, row))
	}
	for _, row := range w.lines("meta/verification.jsonl") {
		var r struct{ Item string }
		if err := json.Unmarshal([]byte(row), &r, json.MatchCaseInsensitiveNames(true)); err != nil {
			w.t.Fatal(err)
		}
		end(r.Item, "accepted")
	}
	return got
}

// rejection is a row among the rejections in short: "rejected accept 1 R_SCHEMA",
// with the causes and the status where it has them.
func rejection(t *testing.T, row string) (item, said string) {
	t.Helper()
	var r struct {
		Item, End, Status, Stage string
		Pass                     int
		Codes                    []string
		Detail                   []struct{ Code, At, Why, Cause string }
	}
	if err := json.Unmarshal([]byte(row), &r, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	said = fmt.Sprintf("%s %s %d", r.End, r.Stage, r.Pass)
	for _, code := range r.Codes {
		said += " " + code
	}
	for _, d := range r.Detail {
		if d.Cause != "" {
			said += " " + d.Cause
		}
		if d.Code == "" || d.Why == "" {
			t.Errorf("%s: a detail without code or reason: %+v", r.Item, d)
		}
	}
	if r.Status != "" {
		said += " status " + r.Status
	}
	if len(r.Codes) == 0 && r.Status == "" {
		t.Errorf("%s is refused without a code and without a status", r.Item)
	}
	return r.Item, said
}

func TestTriviaRules(t *testing.T) {
	t.Parallel()
	cases := triviaCases()
	got := runTrivia(t, cases)
	for _, c := range cases {
		if c.want == "" {
			c.want = "accepted"
		}
		if got[c.name] != c.want {
			t.Errorf("%s\n  ends %s\n  want %s", c.name, got[c.name], c.want)
		}
	}
}

const (
	schemaCode  = "rejected accept 1 R_SCHEMA"
	choicesCode = "rejected accept 1 R_CHOICES"
	leakCode    = "rejected accept 1 R_ANSWER_LEAK"
	lengthCode  = "rejected accept 1 R_EXPLAINER_LENGTH"
	proofCode   = "rejected accept 1 R_UNPROVABLE"
	launderCode = "rejected accept 1 R_SRC_LAUNDER"
	deadCode    = "rejected accept 1 R_SRC_DEAD"
	noCard      = "failed crafter 1 R_SCHEMA E_OUTPUT"
	noJSON      = "failed crafter 1 R_SCHEMA E_MALFORMED"
	noReport    = "failed verifier 1 R_SCHEMA E_OUTPUT"
)

func triviaCases() []triviaCase {
	both := []string{"claim", "answer"}
	source := func(url string, change object) object {
		return object{"url": url, "quote": "It is so.", "supports": both}.with(change)
	}
	list := func(sources ...object) object { return object{"sources": sources} }
	nps, nasa, loc := source("https://www.nps.gov/a", nil), source("https://www.nasa.gov/b", nil), source("https://www.loc.gov/c", nil)
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	mend := func(fields ...string) object { return object{"status": "repair", "repair_fields": fields} }
	draft := func(text string) string {
		return strings.NewReplacer("$REST", `"topic_id":"t-000000000000","cat":"history","diff":"easy","q":"Who took the town of Fez?","w":["Suleiman","Bayezid I","Selim III of Rum"],"x":"So it was."`).Replace(text)
	}
	return []triviaCase{
		{name: "the card as it is"},

		// R_SCHEMA: the draft.
		{name: "a key twice", raw: draft(`{"a":"Mehmed II","a":"Murad",$REST}`), want: noJSON},
		{name: "a lone surrogate", raw: draft(`{"a":"\ud800",$REST}`), want: noJSON},
		{name: "a tab", card: object{"q": "Which\tsultan took the town of Izmir?"}, want: noCard},
		{name: "two wrong choices", card: object{"w": []string{"Bayezid I", "Selim III"}}, want: noCard},
		{name: "four wrong choices", card: object{"w": []string{"Bayezid I", "Selim III", "Orhan", "Suleiman"}}, want: noCard},
		{name: "a blank choice", card: object{"w": []string{"Bayezid I", " ", "Suleiman"}}, want: noCard},
		{name: "a choice of no-break spaces", card: object{"w": []string{"Bayezid I", "\u00a0\u00a0", "Suleiman"}}, want: noCard},
		{name: "a question of an ideographic space", card: object{"q": "\u3000"}, want: noCard},
		{name: "an answer of zero-width spaces", card: object{"a": "\u200b\u200d\ufeff"}, want: noCard},
		{name: "an answer of a soft hyphen", card: object{"a": "\u00ad"}, want: noCard},
		{name: "an answer of right-to-left marks", card: object{"a": "\u200f\u202e"}, want: noCard},
		{name: "an answer of a line separator", card: object{"a": "\u2028"}, want: noCard},
		{name: "an answer of an en quad", card: object{"a": "\u2000 "}, want: noCard},
		{name: "an answer of Hangul filler", card: object{"a": "\u3164"}, want: noCard},
		{name: "an answer of Braille blank", card: object{"a": "\u2800"}, want: noCard},
		{name: "a question of tag characters", card: object{"q": "\U000e0041\U000e0042"}, want: noCard},
		{name: "an answer of private use", card: object{"a": "\ue000\U000f0000"}, want: noCard},
		{name: "a choice of variation selectors", card: object{"w": []string{"Bayezid I", "\ufe0f\U000e0100", "Suleiman"}}, want: noCard},
		{name: "an answer of marks of annotation", card: object{"a": "\ufff9 \ufffb"}, want: noCard},
		{name: "an answer with a tag character", card: object{"a": "Mehmed II\U000e0041"}},
		{name: "an empty answer", card: object{"a": ""}, want: noCard},
		{name: "a control character in the answer", card: object{"a": "Meh\u0007med"}, want: noCard},
		{name: "a line feed in a choice", card: object{"w": []string{"Bayezid I", "Selim\nIII", "Suleiman"}}, want: noCard},
		{name: "a next line in the explainer", card: object{"x": "So it\u0085was."}, want: noCard},
		{name: "a delete in the explainer", card: object{"x": "So it\u007fwas."}, want: noCard},
		{name: "a zero byte in the question", card: object{"q": "Who\u0000?"}, want: noCard},
		{name: "a number for a text", card: object{"a": 4}, want: noCard},
		{name: "null for a text", card: object{"a": nil}, want: noCard},
		{name: "a list for a text", card: object{"q": []string{"Who?"}}, want: noCard},
		{name: "an unknown key", card: object{"hint": "He was young."}, want: noCard},
		{name: "a missing key", card: object{"x": nothing{}}, want: noCard},
		{name: "an id that is made up", card: object{"id": "history-easy-000000000000"}, want: noCard},
		{name: "a category that climbs", card: object{"cat": "../data"}, want: noCard},
		{name: "a category in capitals", card: object{"cat": "Music"}, want: noCard},
		{name: "an unknown difficulty", card: object{"diff": "Easy"}, want: noCard},
		{name: "a list of cards", raw: "[{}]", want: noCard},
		{name: "a text for a card", raw: `"Mehmed II"`, want: noCard},
		{name: "prose for a card", raw: "Here is the card you asked for.", want: noJSON},
		{name: "a number that no double holds", raw: draft(`{"a":1e400,$REST}`), want: noJSON},
		{name: "NaN", raw: draft(`{"a":NaN,$REST}`), want: noJSON},
		{name: "infinity", raw: draft(`{"a":Infinity,$REST}`), want: noJSON},
		{name: "two documents", raw: draft(`{"a":"Mehmed II",$REST} {"a":"Mehmed II",$REST}`), want: noJSON},
		{name: "1001 levels", raw: draft(`{"a":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `,$REST}`), want: noJSON},
		{name: "a byte order mark", raw: "\ufeff" + draft(`{"a":"Mehmed II",$REST}`), want: noJSON},
		{name: "a text of 100,000 characters", card: object{"x": strings.Repeat("x", 100_000)}, want: noCard},

		// R_SCHEMA: topic, bucket, route.
		{name: "another category, so another crafter", cat: "history", topic: object{"cat": "music"}, want: "rejected accept 1 R_SCHEMA"},
		{name: "the topic says another category", cat: "history", topic: object{"cat": "science"}, want: schemaCode},
		{name: "the topic says another difficulty", cat: "literature", topic: object{"diff": "hard"}, want: schemaCode},
		{name: "the topic names itself", topic: object{"topic_id": topicID("history", "the topic names itself")}, cat: "history"},
		{name: "the topic names another", topic: object{"topic_id": "t-0123456789ab"}, want: schemaCode},
		{name: "the topic and its card name another", topic: object{"topic_id": "t-0123456789ab"}, card: object{"topic_id": "t-0123456789ab"}, want: schemaCode},
		{name: "the card is of another topic", card: object{"topic_id": "t-0123456789ab"}, want: schemaCode},
		{name: "the card is of another category", cat: "history", card: object{"cat": "science"}, want: schemaCode},
		{name: "the card is of a category of the other crafter", cat: "history", card: object{"cat": "music"}, want: schemaCode},
		{name: "music by its crafter", cat: "music"},
		{name: "film by its crafter", cat: "film-tv"},
		{name: "art by its crafter", cat: "visual-arts"},
		{name: "sports by their crafter", cat: "sports-games"},

		// R_SCHEMA: the report.
		{name: "the answer is not unique", report: object{"unique_answer": false}, want: schemaCode},
		{name: "a disproof was found", report: object{"disproof": object{"tried": []string{"another"}, "found": true}}, want: schemaCode},
		{name: "an accept with a code", report: object{"codes": []string{"R_CHOICES"}}, want: schemaCode},
		{name: "all three", report: object{"codes": []string{"R_CHOICES"}, "unique_answer": false, "disproof": object{"tried": []string{"another"}, "found": true}}, want: schemaCode},
		{name: "a report without disproof", report: object{"disproof": nothing{}}, want: noReport},
		{name: "a report that does not say whether a disproof was found", report: object{"disproof": object{"tried": []string{"x"}}}, want: noReport},
		{name: "null for unique_answer", report: object{"unique_answer": nil}, want: noReport},
		{name: "a text for unique_answer", report: object{"unique_answer": "true"}, want: noReport},
		{name: "a status of no kind", report: object{"status": "accepted"}, want: noReport},
		{name: "a status in capitals", report: object{"status": "ACCEPT"}, want: noReport},
		{name: "a status with a space", report: object{"status": "accept "}, want: noReport},
		{name: "two statuses", rawReport: strings.Replace(goodReport().String(), `{`, `{"status":"reject",`, 1), want: "failed verifier 1 R_SCHEMA E_MALFORMED"},
		{name: "a verdict that rejects", report: object{"status": "reject"}, want: "rejected verifier 1 status reject"},
		{name: "a verdict that abstains", report: object{"status": "abstain"}, want: "rejected verifier 1 status abstain"},

		// R_CHOICES.
		{name: "Iran and Iraq", card: choices("Iran", "Iraq", "Chad", "Peru"), want: choicesCode},
		{name: "sharp s", card: choices("Straße", "STRASSE", "Weg und Ziel", "Allee am See"), want: choicesCode},
		{name: "article", card: choices("The Beatles", "Beatles", "Rolling Stones", "Kinks again"), want: choicesCode},
		{name: "an article of the other", card: choices("An Oak tree", "The oak tree", "Rolling Stones", "Kinks again"), want: choicesCode},
		{name: "accent", card: choices("Café", "Cafe", "Restaurant", "Trattoria"), want: choicesCode},
		{name: "C and C++", card: choices("C", "C++", "Pascal", "Fortran"), want: choicesCode},
		{name: "two runes", card: choices("日本", "中国", "Deutschland", "Frankreich"), want: choicesCode},
		{name: "symbols", card: choices("+", "×", "÷", "−"), want: choicesCode},
		{name: "symbols and words", card: choices("+", "multiplied", "÷÷÷÷", "the minus sign"), want: ""},
		{name: "distance 2, two inserted", card: choices("Bern", "Berlin", "Copenhagen", "Amsterdam"), want: choicesCode},
		{name: "distance 3", card: choices("Bern", "Bernina", "Copenhagen", "Amsterdam")},
		{name: "a transposition counts twice", card: choices("abcdefgh", "badcefgh", "Copenhagen", "Amsterdam")},
		{name: "distance 2 among the wrong ones", card: choices("Copenhagen", "Oslo", "Osla", "Amsterdam"), want: choicesCode},
		{name: "first and last", card: choices("Paris", "Copenhagen", "Amsterdam", "Parks"), want: choicesCode},
		{name: "years", card: choices("1912", "1934", "1801 or so", "never at all"), want: choicesCode},
		{name: "small numbers", card: choices("3", "4", "a dozen", "a hundred"), want: choicesCode},
		{name: "numbers with separators", card: choices("10,000", "10.000", "a dozen or so", "a hundred"), want: choicesCode},
		{name: "full-width letters", card: choices("ＢＥＲＬＩＮ", "berlin", "Copenhagen", "Amsterdam"), want: choicesCode},
		{name: "a zero-width space", card: choices("Ber\u200blin", "Berlin", "Copenhagen", "Amsterdam"), want: choicesCode},
		{name: "a soft hyphen", card: choices("Ein\u00adstein", "Einstein", "Copenhagen", "Amsterdam"), want: choicesCode},
		{name: "right-to-left marks", card: choices("\u200fBerlin\u200f", "Berlin", "Copenhagen", "Amsterdam"), want: choicesCode},
		{name: "final sigma", card: choices("ΟΔΥΣΣΕΥΣ", "Οδυσσεύς", "Αχιλλέας", "Αγαμέμνων"), want: choicesCode},
		{name: "combining and composed", card: choices("Mu\u0308nchenburg", "M\u00fcnchenburg", "Copenhagen", "Amsterdam"), want: choicesCode},
		{name: "Ukrainian letters differ", card: choices("Київщина", "Кіївщина", "Copenhagen", "Amsterdam"), want: choicesCode},
		{name: "Hebrew points", card: choices("שָׁלוֹם", "מִלְחָמָה", "Copenhagen", "Amsterdam")},
		{name: "Thai", card: choices("กรุงเทพ", "เชียงใหม่", "ภูเก็ต", "Amsterdam")},
		{name: "long choices", card: choices(strings.Repeat("a", 80), strings.Repeat("a", 78)+"bc", "Copenhagen", "Amsterdam"), want: choicesCode},
		{name: "an emoji with its selector", card: choices("❤", "❤\ufe0f", "Copenhagen", "Amsterdam"), want: choicesCode},
		{name: "a dotted and a dotless i", card: choices("İzmir", "Izmir", "Copenhagen", "Amsterdam"), want: choicesCode},

		// R_ANSWER_LEAK.
		{name: "one of two planets", card: asks("Which planet, Mars or Venus, did Galileo name?", "Mars"), want: leakCode},
		{name: "marshalled", card: asks("Who marshalled the Union forces?", "Mars")},
		{name: "Iranian", card: asks("Iranian capital?", "Iran")},
		{name: "1984", card: asks("In 1984, how many Ghostbusters were there?", "4")},
		{name: "4x100", card: asks("In the 4x100 relay, how many run?", "4")},
		{name: "the 4 Beatles", card: asks("How many of the 4 Beatles were born in Liverpool?", "4"), want: leakCode},
		{name: "tell us", card: asks("Tell us who won in Saratoga?", "US")},
		{name: "The Who elsewhere", card: asks("Who recorded Tommy in 1969?", "The Who")},
		{name: "the US president", card: asks("Who was the US president in 1869?", "US"), want: leakCode},
		{name: "The Who", card: asks("When did The Who record Tommy?", "The Who"), want: leakCode},
		{name: "Spiderman", card: asks("Which hero is Spiderman's alter ego?", "Spider-Man"), want: leakCode},
		{name: "Shakespeare", card: asks("Whose play is Shakespeare’s best?", "Shakespeare"), want: leakCode},
		{name: "Pele", card: asks("For which club did Pele play?", "Pelé"), want: leakCode},
		{name: "CO2", card: asks("What is CO₂ made of?", "CO2"), want: leakCode},
		{name: "digits that are joined", card: asks("What is 314?", "3.14")},
		{name: "with its point", card: asks("What is 3.14 called?", "3.14"), want: leakCode},
		{name: "a number with separators", card: asks("Who counted 10 000 men?", "10,000"), want: leakCode},
		{name: "a number without separators", card: asks("Who counted 10000 men?", "10,000")},
		{name: "the article of an answer", card: asks("In which year did Beatles songs reach America?", "The Beatles"), want: leakCode},
		{name: "the letter A", card: asks("Is there a vowel in this?", "A")},
		{name: "the letter C", card: asks("Who made C at Bell Labs?", "C"), want: leakCode},
		{name: "it, first word", card: asks("It scared readers in 1986. Which novel was that?", "It")},
		{name: "it, quoted first word", card: asks("“It” scared readers in 1986. Which novel was that?", "It"), want: leakCode},
		{name: "Han", card: asks("日本の首都はどこですか", "日本"), want: leakCode},
		{name: "Thai in a sentence", card: asks("เมืองหลวงของประเทศไทยคืออะไร", "ประเทศไทย"), want: leakCode},
		{name: "full-width answer", card: asks("Is it ＭＡＲＳ or another one?", "Mars"), want: leakCode},
		{name: "zero-width space in the question", card: asks("Is it Ma\u200brs or another one, then?", "Mars"), want: leakCode},
		{name: "final sigma in the question", card: asks("Ποιος ήταν ο Οδυσσεύς;", "ΟΔΥΣΣΕΥΣ"), want: leakCode},
		{name: "possessive of the answer", card: asks("Which is the Earth's moon called?", "Earth"), want: leakCode},
		{name: "an answer of symbols", card: asks("What does + stand for?", "+"), want: ""},
		{name: "a leak in the choices is none", card: object{"q": "Which sultan built the fort of Rumeli?", "w": []string{"Rumeli", "Bayezid I", "Selim III"}}},
		{name: "New Yorkers", card: asks("Where do New Yorkers live?", "New York")},
		{name: "Turkish capital I", card: asks("Which city was ISTANBUL before?", "Istanbul"), want: leakCode},

		// R_EXPLAINER_LENGTH.
		{name: "twenty", card: object{"x": words(20)}},
		{name: "twenty-one", card: object{"x": words(21)}, want: lengthCode},
		{name: "empty", card: object{"x": ""}, want: lengthCode},
		{name: "dashes", card: object{"x": "— …"}, want: lengthCode},
		{name: "blank explainer", card: object{"x": "   "}, want: lengthCode},
		{name: "a dash is no word", card: object{"x": words(19) + " — three"}},
		{name: "hyphens are one word", card: object{"x": words(19) + " state-of-the-art"}},
		{name: "no-break spaces divide", card: object{"x": strings.ReplaceAll(words(21), " ", "\u00a0")}, want: lengthCode},
		{name: "ideographic spaces divide", card: object{"x": strings.ReplaceAll(words(21), " ", "\u3000")}, want: lengthCode},
		{name: "zero-width spaces do not", card: object{"x": strings.ReplaceAll(words(21), " ", "\u200b")}},
		{name: "one word in Arabic digits", card: object{"x": "١٩٥٣"}},

		// R_UNPROVABLE.
		{name: "no source", report: list(), want: proofCode},
		{name: "one source", report: list(nps), want: proofCode},
		{name: "an empty URL", report: list(nps, source("", nil)), want: proofCode},
		{name: "a third without URL", report: list(nps, nasa, source("", object{"url": nothing{}})), want: proofCode},
		{name: "a third with an empty URL", report: list(nps, nasa, source("", nil)), want: proofCode},
		{name: "a third with a blank URL", report: list(nps, nasa, source(" \u00a0", nil)), want: proofCode},
		{name: "a third with a zero-width URL", report: list(nps, nasa, source("\u200b", nil)), want: proofCode},
		{name: "a third that is unusable does not hurt, but it is no live page", report: list(nps, nasa, source("ftp://archive.org/x", nil)), want: deadCode},
		{name: "credentials", report: sources("https://wikipedia.org@evil.com/x", "https://www.nps.gov/"), want: proofCode},
		{name: "credentials without a name", report: sources("https://@evil.com/x", "https://www.nps.gov/"), want: proofCode},
		{name: "address", report: sources("https://8.8.8.8/", "https://www.nps.gov/"), want: proofCode},
		{name: "hexadecimal address", report: sources("https://0x08.8.8.8/", "https://www.nps.gov/"), want: proofCode},
		{name: "decimal address", report: sources("https://134744072/", "https://www.nps.gov/"), want: proofCode},
		{name: "short address", report: sources("https://127.1/", "https://www.nps.gov/"), want: proofCode},
		{name: "address with a final dot", report: sources("https://8.8.8.8./", "https://www.nps.gov/"), want: proofCode},
		{name: "IPv6", report: sources("https://[2001:4860:4860::8888]/", "https://www.nps.gov/"), want: proofCode},
		{name: "mapped IPv6", report: sources("https://[::ffff:8.8.8.8]/", "https://www.nps.gov/"), want: proofCode},
		{name: "full-width address", report: sources("https://８.８.８.８/", "https://www.nps.gov/"), want: proofCode},
		{name: "single label", report: sources("https://localhost/", "https://www.nps.gov/"), want: proofCode},
		{name: "public suffix", report: sources("https://co.uk/", "https://www.nps.gov/"), want: proofCode},
		{name: "private public suffix", report: sources("https://github.io/", "https://www.nps.gov/"), want: proofCode},
		{name: "ftp", report: sources("ftp://ftp.nasa.gov/", "https://www.nps.gov/"), want: proofCode},
		{name: "data", report: sources("data:text/html,x", "https://www.nps.gov/"), want: proofCode},
		{name: "javascript", report: sources("javascript:alert(1)", "https://www.nps.gov/"), want: proofCode},
		{name: "file", report: sources("file:///etc/passwd", "https://www.nps.gov/"), want: proofCode},
		{name: "no scheme", report: sources("www.nasa.gov/p", "https://www.nps.gov/"), want: proofCode},
		{name: "relative to a scheme", report: sources("//www.nasa.gov/p", "https://www.nps.gov/"), want: proofCode},
		{name: "one slash", report: sources("https:/www.nasa.gov/p", "https://www.nps.gov/"), want: proofCode},
		{name: "a port that is none", report: sources("https://www.nasa.gov:99999/p", "https://www.nps.gov/"), want: proofCode},
		{name: "two dots", report: sources("https://www..nasa.gov/p", "https://www.nps.gov/"), want: proofCode},
		{name: "a space in the URL", report: sources("https://www.nasa.gov /p", "https://www.nps.gov/"), want: proofCode},
		{name: "the word none", report: sources("n/a", "https://www.nps.gov/"), want: proofCode},
		{name: "a blank quote", report: list(nps, source("https://www.nasa.gov/", object{"quote": " "})), want: proofCode},
		{name: "an empty quote", report: list(nps, source("https://www.nasa.gov/", object{"quote": ""})), want: proofCode},
		{name: "a quote of a zero-width space", report: list(nps, source("https://www.nasa.gov/", object{"quote": "\u200b\u3000"})), want: proofCode},
		{name: "supports the claim only", report: list(nps, source("https://www.nasa.gov/", object{"supports": []string{"claim"}})), want: proofCode},
		{name: "supports the answer only", report: list(nps, source("https://www.nasa.gov/", object{"supports": []string{"answer"}})), want: proofCode},
		{name: "supports nothing", report: list(nps, source("https://www.nasa.gov/", object{"supports": []string{}})), want: proofCode},
		{name: "supports the claim twice", report: list(nps, source("https://www.nasa.gov/", object{"supports": []string{"claim", "claim"}})), want: proofCode},
		{name: "a third that supports half does not hurt", report: list(nps, nasa, source("https://www.loc.gov/", object{"supports": []string{"claim"}}))},

		// R_SRC_LAUNDER.
		{name: "two below github.io", report: sources("https://a.github.io/", "https://b.github.io/")},
		{name: "two agencies", report: list(nps, nasa)},
		{name: "an archived copy", report: sources("https://www.nasa.gov/p", "https://web.archive.org/web/20200101000000/https://www.nasa.gov/p"), want: launderCode},
		{name: "the same URL twice", report: sources("https://www.nasa.gov/p", "https://www.nasa.gov/p"), want: launderCode},
		{name: "two languages", report: sources("https://en.wikipedia.org/a", "https://de.wikipedia.org/a"), want: launderCode},
		{name: "a third on a repeated domain", report: sources("https://en.wikipedia.org/a", "https://de.wikipedia.org/a", "https://www.nasa.gov/p")},
		{name: "http and https", report: sources("http://www.nasa.gov/p", "https://www.nasa.gov/p"), want: launderCode},
		{name: "a port and a final dot", report: sources("https://www.nasa.gov:8443/p", "https://nasa.gov./q"), want: launderCode},
		{name: "IDN in two spellings", report: sources("https://bücher.example/p", "https://xn--bcher-kva.example/q"), want: launderCode},
		{name: "an AMP copy", report: sources("https://www.nasa.gov/p", "https://www-nasa-gov.cdn.ampproject.org/c/s/www.nasa.gov/p"), want: launderCode},
		{name: "an AMP copy of the bare cache", report: sources("https://www.nasa.gov/p", "https://cdn.ampproject.org/c/s/www.nasa.gov/p"), want: launderCode},
		{name: "an AMP copy of another cache", report: sources("https://www.nasa.gov/p", "https://www-nasa-gov.bing-amp.com/c/s/www.nasa.gov/p"), want: launderCode},
		{name: "a translated copy", report: sources("https://www.nasa.gov/p", "https://www-nasa-gov.translate.goog/p?_x_tr_sl=en"), want: launderCode},
		{name: "an archived translated copy", report: sources("https://www.nasa.gov/p", "https://web.archive.org/web/2020/https://www-nasa-gov.translate.goog/p"), want: launderCode},
		{name: "a translated archived copy", report: sources("https://www.nasa.gov/p", "https://web-archive-org.translate.goog/web/2020/https://www.nasa.gov/p"), want: launderCode},
		{name: "an archived copy without a stamp", report: sources("https://www.nasa.gov/p", "https://web.archive.org/web/https://www.nasa.gov/p"), want: launderCode},
		{name: "two archived copies of two pages", report: sources("https://web.archive.org/web/2020/https://www.nps.gov/p", "https://web.archive.org/web/2020/https://www.nasa.gov/p")},
		{name: "an unusable third lends no domain", report: list(nps, source("https://www.nps.gov/z", nil), source("https://www.nasa.gov/", object{"quote": ""})), want: launderCode},
		{name: "half a source lends no domain", report: list(nps, source("https://www.nps.gov/z", nil), source("https://www.nasa.gov/", object{"supports": []string{"claim"}})), want: launderCode},
		{name: "a usable and an unusable one on a domain, and one more", report: list(nps, source("https://www.nps.gov/z", object{"quote": ""}), loc)},
		{name: "without URL and laundered", report: list(nps, nps, source("", nil)), want: "rejected accept 1 R_UNPROVABLE R_SRC_LAUNDER"},

		// Collected together, in the order of the codes.
		{name: "four at once", card: object{"q": "Is it Iran?", "a": "Iran", "w": []string{"Iraq", "Chad", "Peru"}, "x": ""}, report: list(nps, nps),
			want: "rejected accept 1 R_CHOICES R_ANSWER_LEAK R_EXPLAINER_LENGTH R_SRC_LAUNDER"},
		{name: "R_SCHEMA ends the check", card: object{"q": "Is it Iraq?", "a": "Iraq", "w": []string{"Iran", "Chad", "Peru"}, "x": "", "topic_id": "t-0123456789ab"}, want: schemaCode},

		// Repair.
		{name: "a repair of x", report: mend("x"), repaired: object{"x": "He did it twice."}},
		{name: "a repair of all three", report: mend("q", "w", "x"), repaired: object{"q": "Who took the town of Trebizond?", "w": []string{"Orhan of Bursa", "Bayezid I", "Selim III"}, "x": "He did it twice."}},
		{name: "a repair of less than is allowed", report: mend("q", "w", "x"), repaired: object{"x": "He did it twice."}},
		{name: "a repair of the answer", report: mend("q"), repaired: object{"a": "Murad"}, want: "failed repairer 1 R_SCHEMA E_MASK"},
		{name: "a repair of another field", report: mend("q"), repaired: object{"x": "He did it twice."}, want: "failed repairer 1 R_SCHEMA E_MASK"},
		{name: "a repair of nothing", report: mend("q"), repaired: object{}, want: "failed repairer 1 R_SCHEMA E_MASK"},
		{name: "a repair of the topic", report: mend("q"), repaired: object{"q": "Who took the town of Varna?", "topic_id": "t-0123456789ab"}, want: "failed repairer 1 R_SCHEMA E_MASK"},
		{name: "a repair of the category", report: mend("q"), repaired: object{"q": "Who took the town of Vidin?", "cat": "music"}, want: "failed repairer 1 R_SCHEMA E_MASK"},
		{name: "a repair that names no field", report: mend(), repaired: object{"q": "Who?"}, want: "failed repairer 1 R_SCHEMA E_MASK"},
		{name: "a repair that is no card", report: mend("w"), repaired: object{"w": []string{"Orhan"}}, want: "failed repairer 1 R_SCHEMA E_OUTPUT"},
		{name: "a repair with one more key", report: mend("x"), repaired: object{"x": "He did it twice.", "note": "mended"}, want: "failed repairer 1 R_SCHEMA E_OUTPUT"},
		{name: "a second repair", report: mend("x"), repaired: object{"x": "He did it twice."}, rereport: mend("x"), want: "failed verifier 2 status repair"},
		{name: "reject after a repair", report: mend("x"), repaired: object{"x": "He did it twice."}, rereport: object{"status": "reject"}, want: "rejected verifier 2 status reject"},
		{name: "abstain after a repair", report: mend("x"), repaired: object{"x": "He did it twice."}, rereport: object{"status": "abstain"}, want: "rejected verifier 2 status abstain"},
		{name: "a repair that the gate refuses", report: mend("x"), repaired: object{"x": words(21)}, want: lengthCode},
		{name: "an accept after a repair that contradicts itself", report: mend("x"), repaired: object{"x": "He did it twice."}, rereport: object{"unique_answer": false}, want: schemaCode},
	}
}

// A text of which nothing can be seen is no text: of each code point the schemas and
// the check of sources think alike.
func TestTriviaBlankTexts(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../examples/trivia-cards/schemas/card.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct{ Q struct{ Pattern string } }
	}
	if err := json.Unmarshal(raw, &schema, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(schema.Properties.Q.Pattern)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.Is(unicode.Cn, r) || unicode.Is(unicode.Cs, r) {
			continue // what Unicode has not given out may be seen one day
		}
		if blank := text.Blank(string(r)); pattern.MatchString(string(r)) == blank {
			t.Errorf("%U is blank: %v, and to the schema it is otherwise", r, blank)
		}
	}
}
