package text

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustCompile(t testing.TB, raw string) *Rules {
	t.Helper()
	rules, err := CompileRules([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return rules
}

// The language of phrase rules, one thing at a time.
func TestPhrases(t *testing.T) {
	for _, tt := range []struct {
		name, rules string
		refuse      []string
		allow       []string
	}{
		{"a list of phrases", `["right now", "soon"]`, []string{"Right  now!", "so soon?", "right\u00a0now", "right\nnow"}, []string{"right, now", "right-now", "sooner", "bright now", "right nows"}},
		{"one of several", `["has|have yet to"]`, []string{"has yet to", "have yet to"}, []string{"had yet to", "has to", "has|have"}},
		{"a set of phrases", `{"sets":{"n":["one","a couple of","{2-9}"]},"rules":["{n} {n} days"]}`,
			[]string{"one one days", "a couple of a couple of days", "3 one days", "one 9 days"}, []string{"one days", "a couple days", "10 one days", "1 one days"}},
		{"sets in sets", `{"sets":{"a":["{b}","x"],"b":["{c}","y"],"c":["z"]},"rules":["{a|c} it"]}`, []string{"x it", "y it", "z it"}, []string{"w it"}},
		{"a word that may be missing", `["so very? really? good", "not the? {year}? end"]`, []string{"so very really good", "so very good", "so really good", "so good", "not end", "not the end", "not the 1999 end"}, []string{"good", "so really very good", "so goods", "not a end"}},
		{"a gap", `["either {up to 2 words} or"]`, []string{"either or", "either a or", "either a b or", "either a-b c-d or", "either U.S. or", "either it's Bob's or", "either “this and that” or", "either St. Paul or"},
			[]string{"either a b c or", "either, or", "either a. Or", "either a, or", "either. A or", "either"}},
		{"a word behind a hyphen of a gap", `["current {up to 1 word} president"]`, []string{"current vice-president", "current president", "current ex-vice-president"}, []string{"current-president", "current-vice president"}},
		{"a gap without some words", `{"sets":{"no":["the","is"]},"rules":["either {up to 2 words not in no} or"]}`, []string{"either a b or", "either or"}, []string{"either the or", "either a is or", "either a-the or"}},
		{"numbers", `["{1-999} days"]`, []string{"1 days", "999 days", "1.5 days", "0999 days", "٣ days", "5’000.5 and 3 days", "12,34 days"}, []string{"0 days", "1000 days", "1,000 days", "999.5 days", "x1 days", "1st days", "1’000 days", "1,234,567 days", "1.5.5x days"}},
		{"years", `["{year} - now"]`, []string{"1066-now", "2024 — now", "12.05.1990 – now", "1066 -- now", "1984~now"}, []string{"999-now", "3000-now", "1,984-now", "1984.5-now", "1984 now", "1984/now"}},
		{"beginnings of words", `["нынешн*", "auto* car"]`, []string{"Кто нынешний король?", "НЫНЕШНЯЯ", "Automatic car", "auto car"}, []string{"понынешний", "auto cars"}},
		{"joined words", `["then-current", "aujourd'hui", "d'ici"]`, []string{"then-current", "then\u2010current", "aujourd’hui", "aujourdʼhui", "D’ici là"}, []string{"then current", "aujourd hui", "then–current", "aujourd-hui"}},
		{"joined to the word before", `["'s still"]`, []string{"it's still", "it’s still"}, []string{"s still", "its still"}},
		{"after", `{"rules":[{"phrases":["last year"],"except":{"after":["the","of a","then-"]}}]}`, []string{"last year", "a last year", "the, last year", "then last year"}, []string{"the last year", "THE last year", "of a last year", "then-last year", "lastyear"}},
		{"before", `{"rules":[{"phrases":["now"],"except":{"before":["-","then|there","{year}"]}}]}`, []string{"now", "now - then", "now, then", "now thence", "now 5", "now-"}, []string{"now-dead", "now then", "now there", "now 1999"}},
		{"a hyphen and a word", `{"rules":[{"phrases":["now"],"except":{"before":["-dead"],"after":["up-to-","-"]}}]}`, []string{"now-alive", "up to now", "now dead"}, []string{"now-dead", "up-to-now", "until-now"}},
		{"elsewhere in the text", `{"rules":[{"phrases":["incumbent"],"except":{"text":["{year}","long ago"]}}, "king"]}`, []string{"incumbent", "incumbent 999", "incumbent “1999”", "king 1999", "incumbent king 1999"}, []string{"incumbent 1999", "1999 incumbent", "long ago, incumbent"}},
		{"of several ends one counts", `{"rules":[{"phrases":["a {up to 2 words} b"],"except":{"before":["x"]}}]}`, []string{"a b x b", "a b"}, []string{"a b x", "a c b x"}},
		{"proper names", `["now", "5 stars"]`, []string{"Now what?", "“Why?” Now what?", "What! Now?", "Wait... Now?", "No: Now?", "(Now)", "1984 Now", "So it is now", "IS IT NOW?", "is 5 Stars", "a\nNow"}, []string{"Apocalypse Now", "the Now (Now)", "At Now: it is", "U.S.Now is"}},
		{"a rule with a capital", `["Heute", "Jetzt|jetzt"]`, []string{"Wer ist Heute König?", "heute"}, []string{"Wer ist Jetzt König?"}},
		{"quotations", `["now"]`, []string{"“now", "now”", "6\" now 7\"", "a *now", "* now *", "snake_now_ now case", "'now'", "‘now’", "“so” now “so”", "”now“", "__ now __", "____now____"},
			[]string{"“now”", "\"now\"", "«now»", "»now«", "„now“", "„now”", "*now*", "**now**", "***now***", "_now_", "__now__", "「now」", "《now》", "so “it is now or”", "_now_, _now_", "*a now*. *b now*", "＂now＂"}},
		{"no phrase over a quotation", `["not yet"]`, []string{"not yet"}, []string{"not “so” yet", "not“so”yet"}},
		{"format characters", `["now"]`, []string{"n\u200bow", "no\u00adw", "\u202anow\u202c", "now\ufe0f"}, []string{"n ow"}},
		{"Ukrainian", `["м'яч", "зараз", "цього року"]`, []string{"Чий м’яч?", "мʼяч", "Зараз хто?", "цього  року?"}, []string{"м’ячі", "незараз"}},
		{"Chinese", `["目前", "今年", "{1-99} 年 前", "现任"]`, []string{"中国目前的总统", "谁是现任总统", "它在5年前发布", "5 年 前", "目 前", "谁\n是现任", "今年"}, []string{"目的前", "500年前", "五年前", "“目前”", "《今年》是谁的歌"}},
		{"Japanese and Thai", `["現在", "ตอนนี้"]`, []string{"現在の首相は誰ですか", "ใครเป็นกษัตริย์ตอนนี้"}, []string{"現れ在る", "ตอนนี"}},
		{"Hindi", `["अब"]`, []string{"अब कौन?"}, []string{"अबे", "सब"}},
		{"Korean", `["현재*"]`, []string{"현재는 누구", "현재"}, []string{"불현재"}},
		{"sharp s, final sigma", `["strasse", "οδός"]`, []string{"Straße", "STRASSE", "ΟΔΌΣ"}, []string{"strase"}},
		{"not UTF-8", `["now"]`, []string{"\xff now", "now\xff"}, []string{"n\xffow"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rules := mustCompile(t, tt.rules)
			for _, s := range tt.refuse {
				if _, ok := rules.Find(s); !ok && s != "" {
					t.Errorf("%q passes", s)
				}
			}
			for _, s := range tt.allow {
				if m, ok := rules.Find(s); ok {
					t.Errorf("%q: %q is refused (%s)", s, m.Text, m.Phrase)
				}
			}
		})
	}
}

func TestMatch(t *testing.T) {
	const rules = `{"rules":["of now",{"name":"time","phrases":["as of|per","now"]},"as of now","of {up to 1 word}"]}`
	for _, tt := range []struct {
		s    string
		want Match
	}{
		{"It is As per plan", Match{}},
		{"Is it as  of now?", Match{Rule: "time", Phrase: "as of|per", Text: "as  of", At: 6}},
		{"A ﬁne of now", Match{Rule: "of now", Phrase: "of now", Text: "of now", At: 7}},
		{"Éa now.", Match{Rule: "time", Phrase: "now", Text: "now", At: 4}},
	} {
		got, _ := mustCompile(t, strings.Replace(rules, `,"of {up to 1 word}"`, "", 1)).Find(tt.s)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: %s", tt.s, diff)
		}
	}
}

func TestRuleErrors(t *testing.T) {
	for _, tt := range []struct{ name, rules, want string }{
		{"no JSON", `{`, `the rules are no JSON: jsontext: unexpected EOF after offset 1`},
		{"a text", `"now"`, `the rules are a text: write a list of rules, or {"sets": {…}, "rules": […]}`},
		{"null", `null`, `the rules are null: write a list of rules, or {"sets": {…}, "rules": […]}`},
		{"nothing", `[]`, `there is no rule, so nothing would be refused; write at least one phrase: ["right now"]`},
		{"no rules", `{"sets":{}}`, `there is no member rules: write a list of rules, or {"sets": {…}, "rules": […]}`},
		{"rules are no list", `{"rules":"now"}`, `rules is a text; write a list: ["right now"]`},
		{"another member", `{"rule":["now"]}`, `there is no member "rule"; what there is: note, rules and sets`},
		{"sets are no object", `{"sets":[],"rules":["now"]}`, `sets is a list; write an object of lists: {"unit": ["day", "days"]}`},
		{"a set that is no list", `{"sets":{"unit":"day"},"rules":["now"]}`, `sets.unit is a text; write a list of texts: ["…"]`},
		{"an empty set", `{"sets":{"unit":[]},"rules":["now"]}`, `sets.unit is empty; write its elements, or remove it`},
		{"an element that is no text", `{"sets":{"unit":["day",5]},"rules":["now"]}`, `sets.unit[1] is a number; write a text`},
		{"an element with a set in it", `{"sets":{"unit":["day {unit}"]},"rules":["now"]}`, `sets.unit[0] "day {unit}": an element of a set is words, or one pair of braces: {unit}`},
		{"a set of itself", `{"sets":{"a":["{b}"],"b":["{a}"]},"rules":["now"]}`, `sets.a[0] "{b}": sets.b[0] "{a}": sets: "a" stands for itself; write its elements out`},
		{"a set called year", `{"sets":{"year":["1999"]},"rules":["now"]}`, `sets: {year} is a year of four digits; give the set "year" another name`},
		{"the name of a set", `{"sets":{"Unit":["day"]},"rules":["now"]}`, `sets: "Unit" is no name of a set; write a small letter, then small letters, digits and _`},
		{"a rule that is a number", `["now",5]`, `rules[1] is a number; write a phrase, or an object: {"name": "now", "phrases": ["now"]}`},
		{"a member that is not there", `[{"name":"now","phrase":"now"}]`, `rules[0]: there is no member "phrase"; what there is: except, name, note and phrases`},
		{"no phrases", `[{"name":"now"}]`, `rules[0] "now": there are no phrases; write "phrases": ["…"]`},
		{"phrases are no list", `[{"name":"now","phrases":"now"}]`, `rules[0] "now": phrases is a text; write a list of texts: ["…"]`},
		{"phrases are empty", `[{"name":"now","phrases":[]}]`, `rules[0] "now": phrases is empty; write at least one, or remove the rule`},
		{"a name twice", `[{"name":"a","phrases":["b"]},{"name":"a","phrases":["c"]}]`, `rules[1] "a": another rule has this name; give one of them another`},
		{"a name that is none", `[{"name":" ","phrases":["b"]}]`, `rules[0]: its name is no text; write one, or leave the name out`},
		{"an empty phrase", `[" "]`, `rules[0] " ": a phrase has at least one word`},
		{"punctuation", `[{"name":"a","phrases":["b","now, then"]}]`, `rules[0] "a", phrases[1] "now, then": "now," is no word; write letters and digits, a hyphen or an apostrophe only within a word, and no other punctuation`},
		{"no set at all", `["{unit} ago"]`, `rules[0] "{unit} ago": there is no set "unit", nor any other; write "sets": {"unit": ["…"]}`},
		{"an unknown set", `{"sets":{"unit":["day"],"number":["one"]},"rules":["{units} ago"]}`, `rules[0] "{units} ago": there is no set "units"; what there is: number and unit`},
		{"an open brace", `["{unit ago"]`, `rules[0] "{unit ago": a brace is not closed: {unit}`},
		{"a brace too many", `["unit} ago"]`, `rules[0] "unit} ago": braces go in pairs, and not within each other: {unit}`},
		{"words at a brace", `["{year}s ago"]`, `rules[0] "{year}s ago": {year}s: words and braces stand apart, or with | between them`},
		{"a range the wrong way", `["{9-1} ago"]`, `rules[0] "{9-1} ago": {9-1} holds no number; write the smaller one first, and a second one above 0`},
		{"an empty alternative", `["a||b"]`, `rules[0] "a||b": a word is missing`},
		{"a gap at the end", `["a {up to 2 words}"]`, `rules[0] "a {up to 2 words}": {up to 2 words} says nothing at the beginning or the end of a phrase; leave it out`},
		{"an optional word at the beginning", `["a? b"]`, `rules[0] "a? b": a? says nothing at the beginning or the end of a phrase; leave it out`},
		{"too wide a gap", `["a {up to 11 words} b"]`, `rules[0] "a {up to 11 words} b": {up to 11 words}: a gap has 1 to 10 words`},
		{"a gap misspelt", `["a {up to two words} b"]`, `rules[0] "a {up to two words} b": {up to two words} is no gap; write {up to 2 words}, or {up to 2 words not in SET}`},
		{"a gap without an unknown set", `["a {up to 2 words not in b} c"]`, `rules[0] "a {up to 2 words not in b} c": there is no set "b", nor any other; write "sets": {"b": ["…"]}`},
		{"a dash at the end", `["now -"]`, `rules[0] "now -": a dash stands between two words`},
		{"an optional word behind a dash", `["{year} - the? end"]`, `rules[0] "{year} - the? end": behind a dash stands a word that is always there`},
		{"a beginning without spaces", `["目前*"]`, `rules[0] "目前*": 目前*: only a word of letters with spaces around it can be the beginning of others`},
		{"exceptions are no object", `[{"phrases":["now"],"except":["the"]}]`, `rules[0]: except is a list; write {"after": ["the"], "before": ["-"], "text": ["{year}"]}, each where it is needed`},
		{"an exception that is not there", `[{"phrases":["now"],"except":{"behind":["the"]}}]`, `rules[0]: except: there is no member "behind"; what there is: after, before and text`},
		{"an exception with a gap", `[{"name":"n","phrases":["now"],"except":{"after":["a {up to 2 words} b"]}}]`, `rules[0] "n": except.after[0] "a {up to 2 words} b": an exception has no {up to … words}; write the words out`},
		{"a hyphen with a space", `[{"phrases":["now"],"except":{"before":["- dead"]}}]`, `rules[0]: except.before[0] "- dead": a hyphen joins without a space: then-, -extinct`},
		{"a hyphen at the wrong side", `[{"phrases":["now"],"except":{"before":["dead-"]}}]`, `rules[0]: except.before[0] "dead-": "dead-" is no word; write letters and digits, a hyphen or an apostrophe only within a word, and no other punctuation`},
		{"a member twice", `[{"name":"a","name":"b","phrases":["c"]}]`, `the rules are no JSON`},
		{"too long a phrase", `["` + strings.Repeat("a ", 50) + `"]`, `at most 32 words`},
		{"too many words", `{"sets":{"a":["` + strings.Repeat(`x","`, 20_000) + `x"]},"rules":["{a}|b {a}|c {a}|d"]}`, `there are more than 50000 words and alternatives; leave some out`},
		{"too large", `["` + strings.Repeat("a", 1<<20) + `"]`, `the rules have 1048580 bytes; at most 1048576 are read`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := CompileRules([]byte(tt.rules))
			if err == nil {
				t.Fatal("it compiles")
			}
			if got := err.Error(); got != tt.want && (len(tt.rules) < 100 && tt.name != "a member twice" || !strings.Contains(got, tt.want)) {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

// A text that says nothing but what a rule has, in any case and with anything around
// it that is no word, is refused; as a part of a word it is not.
func TestPhraseProperties(t *testing.T) {
	phrases := []string{"right now", "yesterday", "as of", "目前", "сейчас"}
	rules := mustCompile(t, `["`+strings.Join(phrases, `","`)+`"]`)
	space := rapid.StringOfN(rapid.RuneFrom([]rune(" \t\u00a0\u3000")), 1, 3, -1)
	around := rapid.StringOfN(rapid.RuneFrom([]rune(" .,;!?()[]—-/…\u200b")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		phrase := rapid.SampledFrom(phrases).Draw(t, "phrase")
		written := strings.Join(strings.Fields(phrase), space.Draw(t, "space"))
		if rapid.Bool().Draw(t, "upper") {
			written = strings.ToUpper(written)
		}
		s := around.Draw(t, "before") + written + around.Draw(t, "after")
		m, ok := rules.Find(s)
		if !ok || m.Phrase != phrase {
			t.Fatalf("%q: %+v", s, m)
		}
		if in := read(s, nil); in.s[m.At:m.At+len(m.Text)] != m.Text {
			t.Fatalf("%q: %+v does not stand there", s, m)
		}
		if phrase != "目前" {
			letter := rapid.StringOfN(rapid.RuneFrom([]rune("aя7é한")), 1, 2, -1).Draw(t, "letter")
			if m, ok := rules.Find(letter + written + letter); ok && !strings.Contains(written, " ") {
				t.Fatalf("%q: %+v", letter+written+letter, m)
			}
		}
	})
}

// What is found does not depend on the order of the rules, only which is named.
func TestOrderOfRules(t *testing.T) {
	words := []string{"a", "b", "c", "a b", "b {up to 1 word} c"}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(t, "rules")
		reversed := make([]string, len(list))
		for i, w := range list {
			reversed[len(list)-1-i] = w
		}
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "x", "A", ".", "“a”"}), 0, 8).Draw(t, "text"), " ")
		compile := func(list []string) *Rules {
			r, err := CompileRules([]byte(`["` + strings.Join(list, `","`) + `"]`))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		m1, ok1 := compile(list).Find(text)
		m2, ok2 := compile(reversed).Find(text)
		if ok1 != ok2 || m1.At != m2.At {
			t.Fatalf("%q: %+v and, reversed, %+v", text, m1, m2)
		}
	})
}

// The cost of a text grows with its length, whatever it says.
func TestFindOnLongTexts(t *testing.T) {
	rules := mustCompile(t, `{"sets":{"w":["a","a a","a a a"]},"rules":["{w}|a a? a? {w}|a a? {up to 10 words} {w} z",{"phrases":["b"],"except":{"text":["y y"],"after":["{w} {w} {w}"],"before":["{w} {w} {w} x"]}}]}`)
	for _, unit := range []string{"a ", "a-", "b ", "“", "\"", "*a ", "_a", "a'", "«", "„", "1,000", "1.", "A. ", "目", "\u0301", "b a a a x "} {
		rules.Find(strings.Repeat(unit, 40_000/len(unit)))
	}
}

func FuzzPhrases(f *testing.F) {
	raw, err := os.ReadFile("../../examples/trivia-cards/unstable-language.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(raw), "Who is currently king?")
	for _, s := range []string{
		`["right now"]`, `{"sets":{"a":["b","{1-9}"]},"rules":["{a|year} - c|d","e? {up to 2 words not in a} f*"]}`,
		`[{"name":"n","phrases":["'s now"],"except":{"after":["a-"],"before":["-"],"text":["{year}"]}}]`,
	} {
		f.Add(s, "“It's” now-then 1,000.5–目前 a.b *c* U.S. \u0301\xff")
	}
	f.Fuzz(func(t *testing.T, raw, s string) {
		in := read(s, nil)
		last := 0
		for _, token := range in.tokens {
			if token.start < last || token.end <= token.start || token.end > len(in.s) {
				t.Fatalf("%q: token %+v", s, token)
			}
			last = token.end
		}
		rules, err := CompileRules([]byte(raw))
		if err != nil {
			return
		}
		m, ok := rules.Find(s)
		if ok && (m.Text == "" || m.Phrase == "" || in.s[m.At:m.At+len(m.Text)] != m.Text) {
			t.Fatalf("%q: %+v", s, m)
		}
		if again, _ := rules.Find(s); again != m {
			t.Fatalf("%q: %+v, then %+v", s, m, again)
		}
	})
}

func ExampleRules() {
	rules, err := CompileRules([]byte(`{
	  "sets": {"unit": ["day", "days", "year", "years"]},
	  "rules": [
	    "right now",
	    {"name": "ago", "phrases": ["{1-999} {unit} ago"]},
	    {"name": "last", "phrases": ["this|last {unit}"], "except": {"after": ["the"]}}
	  ]
	}`))
	if err != nil {
		panic(err)
	}
	for _, s := range []string{"Which film was released 5 years ago?", "In the last year of his life, who painted it?", "Who won last year?"} {
		if m, found := rules.Find(s); found {
			fmt.Printf("%s: %s\n", m.Rule, m.Text)
		} else {
			fmt.Println("nothing")
		}
	}
	// Output:
	// ago: 5 years ago
	// nothing
	// last: last year
}

// Every mark that may begin a quotation is seen by the quick look for one.
func TestMayQuote(t *testing.T) {
	for mark := range closers {
		if !mayQuote("a" + string(mark)) {
			t.Errorf("%q is overlooked", mark)
		}
	}
}
