package text

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFindQuote(t *testing.T) {
	const page = "In 1453, Mehmed II — the “Conqueror” — took Constantinople, which fell on 29 May; " +
		"it was Britain's loss, too. He made it his capital. 1453年5月29日、コンスタンティノープル は陥落した。Der Sultan in 東京Tokyo駅."
	for _, tt := range []struct{ name, quote, missing string }{ // missing: empty where it stands
		{"word for word", "Mehmed II — the “Conqueror” — took Constantinople", ""},
		{"other case, quotes and spacing", "mehmed ii the \"CONQUEROR\"   took\nConstantinople", ""},
		{"other accents", "Méhmed II", ""},
		{"the first word", "In 1453", ""},
		{"the last words", "in 東京Tokyo駅", ""},
		{"another apostrophe", "it was Britain’s loss", ""},
		{"inside of a word", "Constant", "Constant"},
		{"the end of a word", "stantinople", "stantinople"},
		{"a word that is cut off", "took Constantin", "took Constantin"},
		{"inside of a number", "145", "145"},
		{"a word of a word, later as a whole", "apital his", "apital his"},
		{"another order", "Constantinople took", "Constantinople took"},
		{"a word left out", "Mehmed II took Constantinople", "Mehmed II took Constantinople"},
		{"a word left out, and an ellipsis for it", "Mehmed II … took Constantinople", ""},
		{"three dots", "Mehmed II ... took Constantinople", ""},
		{"three dots with spaces", "Mehmed II . . . took Constantinople", ""},
		{"four dots", "took Constantinople.... He made it", ""},
		{"in brackets", "Mehmed II [...] took Constantinople", ""},
		{"an ellipsis in brackets", "Mehmed II […] took Constantinople […]", ""},
		{"Chinese dots", "Mehmed II⋯⋯took Constantinople", ""},
		{"at both ends", "…took Constantinople…", ""},
		{"parts in another order", "his capital … Mehmed II", "Mehmed II"},
		{"parts that overlap", "took Constantinople … Constantinople which fell", "Constantinople which fell"},
		{"the second part is not there", "Mehmed II … took Rome", "took Rome"},
		{"two full stops are none", "Mehmed II.. the Conqueror", ""},
		{"only an ellipsis", "…", "…"},
		{"only signs", "— ! —", "— ! —"},
		{"blank", " ", " "},
		{"nothing", "", ""},
		{"without spaces", "コンスタンティノープルは陥落した", ""},
		{"without spaces, inside of a run", "スタンティ", ""},
		{"without spaces, with others", "コンスタン ティノープル は", ""},
		{"without spaces, numbers", "年5月29日", ""},
		{"without spaces, not there", "は陥落しない", "は陥落しない"},
		{"a number cut off before another script", "5月2", "5月2"},
		{"a number cut off behind another script", "453年5月", "453年5月"},
		{"a word beside another script", "Tokyo", ""},
		{"a part of a word beside another script", "Toky", "Toky"},
		{"in order over scripts", "Mehmed … は陥落した … Sultan", ""},
		{"out of order over scripts", "Sultan … は陥落した", "は陥落した"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			missing, ok := FindQuote(Normalize(page), tt.quote)
			if want := tt.missing == "" && tt.quote != ""; ok != want || missing != tt.missing {
				t.Errorf("%v, without %q; want %v, without %q", ok, missing, want, tt.missing)
			}
		})
	}
	if _, ok := FindQuote("", "x"); ok {
		t.Error("a page without text holds a quote")
	}
}

// Some run of words of a text stands in it; with words left out for an ellipsis,
// too; and not with a word that the text has not.
func TestFindQuoteOfItself(t *testing.T) {
	words := rapid.SliceOfN(rapid.StringMatching(`[a-c]{1,3}`), 1, 20)
	rapid.Check(t, func(t *rapid.T) {
		page := words.Draw(t, "page")
		normal := strings.Join(page, " ")
		from := rapid.IntRange(0, len(page)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(page)).Draw(t, "to")
		quote := page[from:to]
		if missing, ok := FindQuote(normal, strings.Join(quote, ", ")); !ok {
			t.Fatalf("%q has no %q", normal, missing)
		}
		cut := rapid.IntRange(0, len(quote)).Draw(t, "cut")
		gap := rapid.IntRange(cut, len(quote)).Draw(t, "gap")
		if cut > 0 || gap < len(quote) {
			if missing, ok := FindQuote(normal, strings.Join(quote[:cut], " ")+" … "+strings.Join(quote[gap:], " ")); !ok {
				t.Fatalf("%q has no %q", normal, missing)
			}
		}
		if _, ok := FindQuote(normal, strings.Join(append([]string{"zebra"}, quote...), " ")); ok {
			t.Fatalf("%q has a zebra", normal)
		}
	})
}

// Whatever text and quote are, what is missing is of the quote, and a quote that
// stands has words.
func FuzzFindQuote(f *testing.F) {
	f.Add("In 1453 Mehmed II took it", "1453 … took")
	f.Add("日本の首都 Tokyo", "首都Tokyo")
	f.Add("a\u0301b", "…\xff…")
	f.Fuzz(func(t *testing.T, page, quote string) {
		missing, ok := FindQuote(Normalize(page), quote)
		switch {
		case ok && (missing != "" || Normalize(quote) == ""):
			t.Errorf("%q stands without words, or with %q missing", quote, missing)
		case !ok && !strings.Contains(quote, missing):
			t.Errorf("%q misses %q, which it has not", quote, missing)
		}
	})
}
