package text

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestNormalize(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"blank", " \t\u00a0 ", ""},
		{"case and punctuation", "Which planet has the largest, known volcano?", "which planet has the largest known volcano"},
		{"composed accent", "Caf\u00e9", "cafe"},
		{"decomposed accent", "Cafe\u0301", "cafe"},
		{"sharp s", "Straße", "strasse"},
		{"capital sharp s", "STRAẞE", "strasse"},
		{"ligature", "ﬁsh", "fish"},
		{"long s", "ſun", "sun"},
		{"Kelvin sign", "\u212a", "k"},
		{"full width", "ＡＢＣ１２３", "abc123"},
		{"subscript", "CO₂", "co2"},
		{"superscript", "10²", "102"},
		{"final sigma", "ΟΔΥΣΣΕΥΣ", "οδυσσευσ"},
		{"Greek accent", "Ὀδυσσεύς", "οδυσσευσ"},
		{"Ukrainian letters stay", "Київ і Йосип", "київ і йосип"},
		{"Ukrainian decomposed", norm.NFD.String("Київ"), "київ"},
		{"Ukrainian apostrophe", "м'яч", "мяч"},
		{"Ukrainian letter apostrophe", "мʼяч", "мяч"},
		{"Hindi marks stay", "हिन्दी", "हिन्दी"},
		{"voiced kana stay", "ガギグ", "ガギグ"},
		{"half-width kana", "ｶﾞ", "ガ"},
		{"soft hyphen is deleted", "Ein\u00adstein", "einstein"},
		{"zero-width space is deleted", "Ein\u200bstein", "einstein"},
		{"variation selector is deleted", "a\ufe0fb", "ab"},
		{"byte order mark is deleted", "\ufeffabc", "abc"},
		{"bidi marks are deleted", "\u202aabc\u202c", "abc"},
		{"apostrophe between letters", "O'Brien?", "obrien"},
		{"without", "OBrien", "obrien"},
		{"acute accent as apostrophe", "O´Brien", "obrien"},
		{"grave as apostrophe", "O`Brien", "obrien"},
		{"full-width apostrophe", "O＇Brien", "obrien"},
		{"prime as apostrophe", "O′Brien", "obrien"},
		{"possessive", "Shakespeare's best", "shakespeare best"},
		{"typographic possessive", "Shakespeare’s best", "shakespeare best"},
		{"possessive at the end", "Whose is Dante's", "whose is dante"},
		{"possessive of a number", "the 1980's", "the 1980"},
		{"possessive in capitals", "DANTE'S", "dante"},
		{"no possessive inside a word", "it'sy", "itsy"},
		{"apostrophe at the start", "'s-Hertogenbosch", "s hertogenbosch"},
		{"apostrophe after digits", "5'3", "5 3"},
		{"plural possessive", "the boys' room", "the boys room"},
		{"two apostrophes", "a''s", "a s"},
		{"symbols", "C++ & C#", "c c"},
		{"only symbols", "+ × ÷ −", ""},
		{"hyphen", "Spider-Man", "spider man"},
		{"Cherokee small", "\uab70\uab71", "\u13a0\u13a1"},
		{"Cherokee capital", "\u13a0\u13a1", "\u13a0\u13a1"},
		{"Cherokee small, second block", "\u13f8", "\u13f0"},
		{"Cherokee beside Latin", "A\uab70B", "a\u13a0b"},
		{"dotted capital I", "İzmir", "izmir"},
		{"dotless i", "ı", "ı"},
		{"Cyrillic a is no Latin a", "а", "а"},
		{"Han", "日本", "日本"},
		{"invalid UTF-8", "a\xffb", "a b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Normalize(tt.in); got != tt.want {
				t.Errorf("Normalize(%+q) = %+q, want %+q", tt.in, got, tt.want)
			}
		})
	}
}

// Every code point, alone and with marks and apostrophes around it: the normal
// form of a normal form is itself, and it holds nothing that step 2 to 6 remove.
func TestNormalizeIsIdempotentOnEveryCodePoint(t *testing.T) {
	marks := []string{"", "\u0301", "'\u1161", "\u0308\u0323", "\u0345", "\u3099", "\u093c", "'s", "\u02bca"}
	for r := rune(0x21); r <= unicode.MaxRune; r++ {
		if r >= 0xD800 && r <= 0xDFFF || r > 0x20000 && r%61 != 0 { // Han extensions and private use, alike
			continue
		}
		marks := marks
		if r > 0x3000 {
			marks = marks[:2]
		}
		for _, mark := range marks {
			in := "x" + string(r) + mark
			once := Normalize(in)
			if twice := Normalize(once); twice != once {
				t.Fatalf("%U with %+q: %+q becomes %+q", r, mark, once, twice)
			}
		}
	}
}

func TestNormalizeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyText().Draw(t, "s")
		n := Normalize(s)
		if again := Normalize(n); again != n {
			t.Fatalf("Normalize(%+q) = %+q, again %+q", s, n, again)
		}
		if n != strings.Join(strings.Fields(n), " ") {
			t.Fatalf("white space in %+q", n)
		}
		for _, r := range n {
			if r != ' ' && !isWord(r) {
				t.Fatalf("%+q holds %U", n, r)
			}
		}
		if upper := Normalize(strings.ToLower(s)); isASCII(s) && upper != n {
			t.Fatalf("lower case changes %+q: %+q, %+q", s, n, upper)
		}
	})
}

// The path for ASCII is the general one without its tables.
func TestASCIIPathAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom([]rune("abSs '`0.-A\n_z")), 0, 12, -1).Draw(t, "s")
		general := norm.NFC.String(wordsOnly([]rune(dropAccents(dropFormat(compatible(s))))))
		if got := Normalize(s); got != general {
			t.Fatalf("Normalize(%q) = %q, by the tables %q", s, got, general)
		}
	})
}

func TestChoice(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"article", "The Beatles", "beatles"},
		{"no article", "Beatles", "beatles"},
		{"an", "An apple", "apple"},
		{"article alone", "The", "the"},
		{"one article only", "The A Team", "a team"},
		{"C", "C", "c"},
		{"C++", "C++", "c"},
		{"symbol", "+", "+"},
		{"symbols with space", " ×  ÷ ", "× ÷"},
		{"symbol with selector", "❤\ufe0f", "❤"},
		{"blank", "  ", ""},
		{"nothing visible", "\u200b", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Choice(tt.in); got != tt.want {
				t.Errorf("Choice(%+q) = %+q, want %+q", tt.in, got, tt.want)
			}
		})
	}
}

func TestBlank(t *testing.T) {
	for _, s := range []string{
		"", " ", "\t\r\n\x00\x7f", "\u0085\u00a0\u1680\u2000\u2028\u2029\u202f\u205f\u3000", "\u00ad\u061c\u200b\u200d\u200f\u202e\u2060\u2066\ufeff",
		"\ufe0f\u180b\U000e0100", "\u115f\u1160\u3164\uffa0", "\u2800", "\U000e0041", "\ue000",
	} {
		if !Blank(s) {
			t.Errorf("something of %+q can be seen", s)
		}
	}
	for _, s := range []string{"a", " . ", "+", "\u0301", "\u200f\u05d0", "1\u200b", "\u2801", "\u3131", "\xff"} {
		if Blank(s) {
			t.Errorf("nothing of %+q can be seen", s)
		}
	}
}

func TestFingerprint(t *testing.T) {
	const volcano = "9daf2fd995c72efc7d35643aa651c02e7c4a4f773c20d9d5ef66d9d931e39d45"
	for _, q := range []string{
		"which planet has the largest known volcano",
		"Which planet has the largest known volcano?",
		"  WHICH “planet” has the\u00a0largest known volcano ?!",
	} {
		if got := Fingerprint(q); got != volcano {
			t.Errorf("Fingerprint(%q) = %s", q, got)
		}
	}
	const sultan = "59e88a5678a620203c23491732ab1b6c887b92ee677130c31d642b6e643489dd"
	if got := Fingerprint("Which sultan took Constantinople in 1453?"); got != sultan {
		t.Errorf("the sultan's question has fingerprint %s", got)
	}
	if Fingerprint("O'Brien?") != Fingerprint("OBrien") {
		t.Error("O'Brien? and OBrien differ")
	}
}

func TestLevenshtein(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		want       int
	}{
		{"equal", "iran", "iran", 0},
		{"Iran Iraq", "iran", "iraq", 1},
		{"runes, not bytes", "日本", "中国", 2},
		{"transposition is two", "ab", "ba", 2},
		{"empty", "", "abc", 3},
		{"different bytes that are not UTF-8", "\xff", "\xfe", 1},
		{"substitutions", "1912", "1934", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Levenshtein(tt.a, tt.b); got != tt.want {
				t.Errorf("Levenshtein(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
			}
		})
	}
}

func TestDistanceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.RuneFrom([]rune("abc日本é"))
		a := rapid.StringOfN(alphabet, 0, 14, -1).Draw(t, "a")
		b := rapid.StringOfN(alphabet, 0, 14, -1).Draw(t, "b")
		c := rapid.StringOfN(alphabet, 0, 14, -1).Draw(t, "c")
		ab := Levenshtein(a, b)
		if ab != Levenshtein(b, a) {
			t.Fatalf("not symmetric on %q, %q", a, b)
		}
		if (ab == 0) != (a == b) {
			t.Fatalf("distance %d of %q and %q", ab, a, b)
		}
		if Levenshtein(a, c) > ab+Levenshtein(b, c) {
			t.Fatalf("no triangle: %q, %q, %q", a, b, c)
		}
		limit := rapid.IntRange(-1, 9).Draw(t, "limit")
		if got, closer := Closer(a, b, limit); closer != (ab < limit) || closer && got != ab {
			t.Fatalf("Closer(%q, %q, %d) = %d, %v at distance %d", a, b, limit, got, closer, ab)
		}
		if limit > 0 {
			if got := banded([]rune(a), []rune(b), limit); got != min(ab, limit) {
				t.Fatalf("banded(%q, %q, %d) = %d at distance %d", a, b, limit, got, ab)
			}
			if got := widening([]rune(a), []rune(b), limit); got != min(ab, limit) {
				t.Fatalf("widening(%q, %q, %d) = %d at distance %d", a, b, limit, got, ab)
			}
		}
	})
}

func TestCloserOnLongTexts(t *testing.T) {
	long := strings.Repeat("волшебство ", 100_000)
	if d, ok := Closer(long+"ab", long+"cd", 3); !ok || d != 2 {
		t.Errorf("two substitutions at the end of a long text: %d, %v", d, ok)
	}
	if d, ok := Closer(long+"a", long+"ab", 1<<40); !ok || d != 1 {
		t.Errorf("one insertion, and no limit to speak of: %d, %v", d, ok)
	}
	if d, ok := Closer("abc"+long, long+"xyz", 3); ok {
		t.Errorf("three insertions and three deletions are closer than 3: %d", d)
	}
}

func TestTokens(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"words", "The  quick, brown!", []string{"the", "quick", "brown"}},
		{"none", " — ", nil},
		{"Han in pairs", "日本語", []string{"日本", "本語"}},
		{"one rune", "日", []string{"日"}},
		{"mixed", "abc日本語12", []string{"abc", "日本", "本語", "12"}},
		{"long vowel", "スーパー", []string{"スー", "ーパ", "パー"}},
		{"Hangul has spaces", "대한 민국", []string{"대한", "민국"}},
		{"repeated", "a b a", []string{"a", "b", "a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Tokens(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := len(Tokens("ภาษาไทย")); got != len([]rune("ภาษาไทย"))-1 {
		t.Errorf("Thai: %d pairs", got)
	}
}

func TestJaccard(t *testing.T) {
	words := func(from, to int) []string {
		var out []string
		for i := from; i < to; i++ {
			out = append(out, string(rune('a'+i)))
		}
		return out
	}
	for _, tt := range []struct {
		name         string
		a, b         []string
		inter, union int
		hit          bool
	}{
		{"both empty", nil, nil, 0, 0, false},
		{"one empty", []string{"a"}, nil, 0, 1, false},
		{"word order", []string{"a", "b", "c"}, []string{"c", "a", "b"}, 3, 3, true},
		{"17 of 20", words(0, 17), words(0, 20), 17, 20, true},
		{"17 of 21", words(0, 17), words(0, 21), 17, 21, false},
		{"sets, not lists", []string{"a", "a", "b"}, []string{"a", "b", "b"}, 2, 2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inter, union := Jaccard(tt.a, tt.b)
			if inter != tt.inter || union != tt.union {
				t.Errorf("%d of %d, want %d of %d", inter, union, tt.inter, tt.union)
			}
			if hit := union > 0 && 100*inter >= 85*union; hit != tt.hit {
				t.Errorf("hit %v, want %v", hit, tt.hit)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 8)
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		before := slices.Clone(a)
		i1, u1 := Jaccard(a, b)
		i2, u2 := Jaccard(b, a)
		if i1 != i2 || u1 != u2 || i1 > u1 {
			t.Fatalf("%v, %v: %d/%d and %d/%d", a, b, i1, u1, i2, u2)
		}
		if !slices.Equal(before, a) {
			t.Fatal("the argument was changed")
		}
	})
}

func TestLeak(t *testing.T) {
	for _, tt := range []struct {
		name, answer, question string
		want                   bool
	}{
		{"one of two planets", "Mars", "Which planet, Mars or Venus, is red?", true},
		{"inside a word", "Mars", "Who marshalled the Union forces?", false},
		{"Iranian", "Iran", "Iranian capital?", false},
		{"in a year", "4", "In 1984, how many Ghostbusters were there?", false},
		{"in 4x100", "4", "In the 4x100 relay, how many run?", false},
		{"whole", "4", "How many of the 4 Beatles were born in Liverpool?", true},
		{"us", "US", "Tell us who won?", false},
		{"US", "US", "Who was the US president in 1969?", true},
		{"Who", "The Who", "Who recorded Tommy in 1969?", false},
		{"The Who", "The Who", "When did The Who record Tommy?", true},
		{"joined", "Spider-Man", "Which hero is Spiderman's alter ego?", true},
		{"possessive", "Shakespeare", "Whose play is Shakespeare’s best?", true},
		{"accent", "Pelé", "For whom did Pele play?", true},
		{"subscript", "CO2", "What is CO₂?", true},
		{"digits joined", "3.14", "What is 314?", false},
		{"digits as they are", "3.14", "What is 3.14?", true},
		{"article of the answer", "The Beatles", "Which Beatles song is longest?", true},
		{"letter as article", "A", "Which letter is a vowel?", false},
		{"letter", "C", "Who made C at Bell Labs?", true},
		{"first word of a sentence", "It", "It scared readers in 1986. Which novel?", false},
		{"first word, quoted", "It", `"It" scared readers in 1986. Which novel?`, true},
		{"first word of the second sentence", "Us", "A film of 2019. Us was it called?", false},
		{"abbreviation is no pronoun", "U.S.", "Tell us who won?", false},
		{"abbreviation", "U.S.", "Who led the US in 1969?", true},
		{"in substring", "no", "What is it called, inferring from facts?", false},
		{"Io in ratio", "Io", "What is the golden ratio?", false},
		{"New Yorkers", "New York", "Where do New Yorkers live?", false},
		{"Han", "日本", "日本の首都はどこですか", true},
		{"Han with a space", "東京", "東 京はどこ", true},
		{"Han elsewhere", "中国", "日本の首都はどこですか", false},
		{"no words", "?", "What? Why?", false},
		{"empty", "", "What?", false},
		{"longer than the question", "the quick brown fox", "the quick", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Leak(tt.answer, tt.question); got != tt.want {
				t.Errorf("Leak(%q, %q) = %v", tt.answer, tt.question, got)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     int
	}{
		{"twenty", strings.Repeat("word ", 20), 20},
		{"twenty-one", strings.Repeat("word ", 21), 21},
		{"empty", "", 0},
		{"dashes", "— …", 0},
		{"spaces", " \t ", 0},
		{"a dash between words", "one two — three", 3},
		{"hyphens", "state-of-the-art", 1},
		{"number", "53 days", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Words(tt.in); got != tt.want {
				t.Errorf("Words(%q) = %d, want %d", tt.in, got, tt.want)
			}
		})
	}
}

func TestContainsPhrase(t *testing.T) {
	for _, tt := range []struct {
		s, phrase string
		want      bool
	}{
		{"As of 2023, who leads?", "as of", true},
		{"Has of", "as of", false},
		{"at-present prices", "at present", true},
		{"anything", "", false},
		{"日本 語", "本語", true},
		{"Right now!", "right NOW", true},
	} {
		if got := ContainsPhrase(tt.s, tt.phrase); got != tt.want {
			t.Errorf("ContainsPhrase(%q, %q) = %v", tt.s, tt.phrase, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"year", "1941", []string{"1941"}},
		{"none", "Iran", nil},
		{"unit", "8 feet", []string{"8"}},
		{"negative", "-5", []string{"-5"}},
		{"minus sign", "−5 °C", []string{"-5"}},
		{"range", "1914-1918", []string{"1914", "1918"}},
		{"grouped", "10,000", []string{"10000"}},
		{"point", "10.000", []string{"10"}},
		{"grouped twice", "1,234,567.50", []string{"1234567.5"}},
		{"grouped by points", "1.234.567", []string{"1234567"}},
		{"by points with a comma", "1.234,5", []string{"1234.5"}},
		{"decimal comma", "3,14", []string{"3.14"}},
		{"zeros", "007.10", []string{"7.1"}},
		{"superscript", "10²", []string{"10", "^2"}},
		{"fraction", "½", []string{"^1⁄2"}},
		{"other digits", "١٢", []string{"12"}},
		{"full width", "１２", []string{"12"}},
		{"full stop", "in 1941.", []string{"1941"}},
		{"version", "1.2.3", []string{"1.2.3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Numbers(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"1941", "1942", true},
		{"8 feet", "20 feet", true},
		{"55 days", "40 weeks", true},
		{"1.0", "1", false},
		{"10²", "102", true},
		{"Iran", "Iraq", false},
		{"5", "five", false},
	} {
		if got := DifferInNumbers(tt.a, tt.b); got != tt.want {
			t.Errorf("DifferInNumbers(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

// anyText draws texts with the runes that the rules care about.
func anyText() *rapid.Generator[string] {
	special := []rune("aAsSeéİıßſﬁ'’ʼ´`′\u00ad\u200b\ufe0f\u0301\u0308\u0345\u1161\u1100\u3099かカ日ไ\u0e31й\uab70\u13a0\u13f8ΐςΣ0٣²½①+-. \n\u00a8Åｶﾞ")
	return rapid.StringOfN(rapid.OneOf(rapid.RuneFrom(special), rapid.Rune()), 0, 10, -1)
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"O'Brien", "CO₂", "日本\u0301", "a\xff", "İ'S", "The Who"} {
		f.Add(s, "Which "+s+" is it?")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		n := Normalize(a)
		if again := Normalize(n); again != n {
			t.Fatalf("Normalize(%+q) = %+q, again %+q", a, n, again)
		}
		if Leak(a, b) && len(Normalize(a)) == 0 {
			t.Fatalf("%+q has no words and leaks", a)
		}
		if Choice(a) == "" && Normalize(a) != "" {
			t.Fatalf("the choice %+q vanished", a)
		}
		inter, union := Jaccard(Tokens(a), Tokens(b))
		if inter < 0 || inter > union {
			t.Fatalf("%d of %d", inter, union)
		}
		Words(a)
		ContainsPhrase(b, a)
		DifferInNumbers(a, b)
		if len(a)+len(b) < 2000 && Levenshtein(a, b) != Levenshtein(b, a) {
			t.Fatal("the distance is not symmetric")
		}
	})
}

func BenchmarkNormalize(b *testing.B) {
	for _, tt := range []struct{ name, s string }{
		{"ascii", "Which planet has the largest known volcano, O'Brien's own?"},
		{"accents", "Quelle planète possède le plus grand volcan connu à ce jour ?"},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				Normalize(tt.s)
			}
		})
	}
}
