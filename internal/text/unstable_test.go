package text

import (
	"os"
	"testing"
)

func unstable(t testing.TB) *Rules {
	t.Helper()
	raw, err := os.ReadFile("../../examples/trivia-cards/unstable-language.json")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := CompileRules(raw)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// The rules of the trivia cards: what each must refuse, and what it must let pass.
func TestUnstableLanguage(t *testing.T) {
	rules := unstable(t)
	for _, group := range []struct {
		rule          string
		refuse, allow []string
	}{
		{"today", []string{
			"Who is currently king of Spain?", "Which city presently holds the title?", "Nowadays it is a museum.", "Today, which city is it?",
			"Which is today's largest port?", "Which is today’s largest port?", "Who plays tonight?", "It opens tomorrow.", "It closed yesterday.",
			"WHO IS CURRENTLY KING OF SPAIN?", "Was it so? Today it is not.", "A list:\nToday it is long.", "(Today, it is dry.)",
			"He said: Today it rains.", "Cur\u00adrently, who is it?", "1. Today it is gone.", "¿Today?", "“Who won?” Today nobody knows.",
			"It is _not_ so today", "“Today it is so", "the 12\" record of today, and a 7\" one", "5 * 3 of today * 2", "____ is today ____",
		}, []string{
			"Which paper is USA Today?", "The film is called “Today”.", "The film is called \"Tomorrow\".", "«Today» was a film.", "*Today* was a film.",
			"_Tonight_ was a song.", "Who wrote „Today“?", "Who wrote **Yesterday**?", "Which song of the Beatles is Yesterday?", "Which holiday is todayish?",
			"What did Cur Rently do?", "the presentlyness of things", "He founded Tomorrow in 1968",
		}},
		{"at present", []string{
			"Who is at present king?", "At this very moment, who leads?", "She's yet to win.", "Who at this time rules?", "What is right now the tallest?", "thus far unbroken", "up to now", "Until now, none did.",
			"It is rare these days.", "She has yet to win.", "They have yet to win.", "They've yet to win.", "It is not yet built.", "What isn't built, and not yet begun?",
		}, []string{
			"at presentation", "right nowhere", "He had yet to win in 1950.", "not yetis", "Heat present in steam", "the Not Yet Gallery of 1980",
		}},
		{"at the moment", []string{"Who is at the moment king?", "At the moment, who is?"}, []string{"at the moment of impact", "At the moment when he died, who ruled?", "at the moment of truth", "momentous"}},
		{"so far", []string{"the longest so far", "So far, who has won?", "so far from home it won", "so far built"}, []string{"so far away", "Who went so far as to sue?", "so far north", "also far"}},
		{"to date", []string{"the largest to date", "To date, who has won most?", "To date it has sold a million.", "To date the band has had ten hits."}, []string{"Which isotope is used to date the rocks?", "used to date organic remains", "how to date fossils", "to dated"}},
		{"as of", []string{"As of 2023, who leads?", "who leads as of now", "as\u00a0of 2020"}, []string{"was often", "as often", "has of", "as-of", "As. Of all things"}},
		{"now", []string{"It is now a museum.", "Now extinct, it was a bird.", "now — extinct", "It lives now—in Rome.", "What is now- so?", "now; then", "by now"}, []string{
			"the now-extinct bird", "the now\u2010extinct bird", "the now\u2011extinct bird", "What do we know?", "snow", "Who directed Apocalypse Now?", "the group NOW was founded", "nowhere",
		}},
		{"this year", []string{
			"Who won this year?", "last winter was cold", "Who won last season?", "next season", "next century", "past decade", "Coming weeks will tell.", "Who won last Sunday's game?",
			"this spring", "Which film won last year's prize?", "It opened last fall.", "LAST YEAR IT RAINED", "this morning", "It is all of this century.",
		}, []string{
			"the last year of his life", "every last Monday of May", "The last year of his life", "the next day he left", "this yearling", "last minute", "Who made Last Year at Marienbad?",
			"in the past century", "next-day delivery", "past, year", "this evergreen",
		}},
		{"recent", []string{"the most recent one", "Recently, who won?", "the latest", "the newest member", "an upcoming film", "forthcoming"}, []string{"recentness", "Which epoch is also called the Recent?", "lately", "newness"}},
		{"current", []string{
			"Who is the current president?", "current US president", "Current world record holder?", "the current U.S. president", "current prime minister", "the current Formula One champion",
			"current vice-president", "current UK's record", "the current St. Louis mayor", "its current name", "current “Tonight” host", "the current, or current record", "current and former champions",
			"Who is the current CEO?", "current population", "current exchange rate",
		}, []string{
			"the then-current champion", "the then\u2010current champion", "Which unit measures electric current?", "What is alternating current?", "Which ocean current warms Norway?",
			"Which ocean current has the name of a German?", "ocean current, whose name is German", "Which current? Its record is long.", "current density", "the current flows at a rate of 2 A",
			"the Humboldt Current record", "Kirchhoff's current law", "current in its value", "eddy current", "concurrent champions", "a current of three or four champions",
		}},
		{"still", []string{
			"Which is still the tallest?", "He is still alive.", "It still stands.", "still in use", "It still exists.", "They are still popular.", "It remains still unsolved.", "Who's still in office?", "It still holds it.",
		}, []string{"a still life", "Who distilled it?", "was still unknown", "Still Alice won; which film is it?", "stand still", "Who sang “Still the One”?"}},
		{"reigning", []string{"the reigning champion", "an ongoing war", "the reigning champion of 1974"}, []string{"Who was sovereigning?", "going on"}},
		{"incumbent", []string{"Who is the incumbent president?", "the incumbent of 5000 days", "Who is incumbent since “1984”?", "the incumbent in the 1990s"}, []string{"Which incumbent lost in 1980?", "In 1980 an incumbent lost.", "the incumbent (1976–80)"}},
		{"ago", []string{
			"It was released five years ago.", "a year ago", "An hour ago, who won?", "2 weeks ago", "999 years ago", "two hundred years ago", "a few decades ago", "a couple of centuries ago", "2.5 years ago", "five years or so ago",
			"twenty-five years ago", "５ years ago", "half a century ago", "a year and a half ago", "How many years ago was it?", "10-12 years ago", "5 Years Ago",
		}, []string{
			"66 million years ago", "1,500 years ago", "1000 years ago", "10,000 years ago", "65,000,000 years ago", "10–12,000 years ago", "1’500 years ago", "five thousand years ago", "five yearsago",
			"long ago", "five years. Ago", "a years' agony", "who made Ten Years Ago?",
		}},
		{"is due to", []string{"It is set to open in 2030.", "They are expected to win.", "is due to open", "is scheduled to be held", "It's set to close.", "is not expected to win", "When is the bridge due to open?", "When are the games scheduled to begin?", "is due to be held"}, []string{
			"was set to open", "is due to the rain", "The poem is set to music.", "is expected too", "dais set to rights"}},
		{"will be held", []string{
			"Which city will host the 2032 Olympics?", "It will be held in Rome.", "will be released", "It will take place there.", "Where will the 2032 Olympics be held?", "When will Brisbane host the Games?", "will not be released",
		}, []string{"the actor Will Host", "the will hosted", "Which cell will a virus need as its host?", "would be held"}},
		{"until now", []string{
			"2010–present", "(2010-present)", "2010 – now", "from 1999—today", "2010 − present", "2010 to present", "1999–the present", "2010–Present", "king (1999 - present)", "２０１０–present",
		}, []string{"910–present", "12010–present", "2010–presentation", "2,010 – present", "2010. Present at it were two.", "2010 present"}},
	} {
		for _, s := range group.refuse {
			if m, ok := rules.Find(s); !ok {
				t.Errorf("%q passes, the rule %q is to refuse it", s, group.rule)
			} else if m.Rule != group.rule && !acceptable(rules, group.rule, s) {
				t.Errorf("%q is refused by %q (%s), not by %q", s, m.Rule, m.Phrase, group.rule)
			}
		}
		for _, s := range group.allow {
			if m, ok := rules.Find(s); ok {
				t.Errorf("%q is refused by %q (%s: %q), and is to pass beside %q", s, m.Rule, m.Phrase, m.Text, group.rule)
			}
		}
	}
}

// acceptable reports whether the rule of that name alone refuses s, too.
func acceptable(all *Rules, name, s string) bool {
	for n := range all.rules {
		if all.rules[n].name == name {
			var space []token
			f := finder{rules: all, in: read(s, space)}
			for i := range f.in.tokens {
				for _, p := range all.phrases {
					if _, ok := f.counts(p, i); ok && p.rule == n {
						return true
					}
				}
			}
		}
	}
	return false
}

func BenchmarkFind(b *testing.B) {
	rules := unstable(b)
	for _, tt := range []struct {
		name, s string
		found   bool
	}{
		{"question", "Which planet of the solar system has the largest known volcano, Olympus Mons?", false},
		{"explainer", "Mehmed II besieged the city for 53 days in 1453 and made it his capital, long after the “last” emperor’s envoys had left it.", false},
		{"refused", "Which planet of the solar system is currently nearest to the largest known volcano?", true},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, found := rules.Find(tt.s); found != tt.found {
					b.Fatal(found)
				}
			}
		})
	}
}
