package text

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What lies beside the plain cases of TestLeak.
func TestLeakNeighbours(t *testing.T) {
	for _, tt := range []struct {
		name, answer, question string
		want                   bool
	}{
		{"possessive at the end", "Dante", "Whose comedy is Dante's?", true},
		{"possessive in quotation marks", "Shakespeare", "Which play is 'Shakespeare's' own?", true},
		{"possessive, full width", "Dante", "Whose is Dante＇s?", true},
		{"possessive with a letter apostrophe", "Dante", "Whose is Danteʼs?", true},
		{"possessive of the answer", "Schindler's List", "When did Schindler’s List appear?", true},
		{"plural", "Beatle", "Which Beatles song is it?", false},
		{"Ukrainian apostrophe", "м'яч", "Чим грають, коли мʼяч круглий?", true},
		{"Ukrainian apostrophe left out", "м'яч", "Хто має мяч?", true},
		{"Ukrainian ending", "м'яч", "Скільки м’ячів?", false},
		{"й is not и", "йод", "Який иод?", false},
		{"accent of a letter in a word", "Pele", "Where is Pelée?", false},
		{"in capitals", "Mars", "WHICH IS MARS?", true},
		{"soft hyphen", "Einstein", "Who was Ein\u00adstein?", true},
		{"hyphen in the answer", "Spider-Man", "Who is spider man?", true},
		{"hyphen in the question", "Spiderman", "Who is Spider-Man?", true},
		{"joined over more words than the answer has", "Stratford-upon-Avon", "Where is StratfordUpon Avon?", true},
		{"joined, but a word goes on", "Spider-Man", "Which spidermania?", false},
		{"digits that are joined in the question", "314", "What is 3.14?", false},
		{"digits and letters joined", "Apollo 11", "Who flew Apollo11?", true},
		{"Roman letter of a number", "Apollo 11", "Who flew Apollo 1 1?", true},
		{"negative", "-5", "Which is below 5 degrees?", true},

		{"function word, other case", "IT", "What is it?", false},
		{"function word, same case", "IT", "Who works in IT?", true},
		{"first word after a quotation that ends a sentence", "It", "He said “stop.” It was what?", false},
		{"first word after a straight quotation", "It", "He said \"stop.\" It was what?", false},
		{"quoted first word after a sentence", "It", "Who wrote this? “It” is by whom?", true},
		{"quoted as in French", "It", "« It » est de qui ?", true},
		{"emphasised", "It", "*It* is by whom?", true},
		{"in brackets", "It", "(It is so.) By whom?", false},
		{"after a colon", "It", "Complete this: It", true},
		{"after an exclamation", "Us", "Help!Us, too?", false},
		{"a letter in an abbreviation", "A", "Who leads the U.S.A today?", true},
		{"a letter with a possessive", "C", "What is vitamin C's other name?", true},
		{"a letter in another case", "C", "Which c is it?", false},
		{"a letter beside an apostrophe letter", "C", "What is vitamin Cʼs other name?", true},
		{"a letter of another script", "Я", "Яка літера остання, Я чи А?", true},
		{"subscript is another word", "C", "What is C₂?", false},
		{"symbols around a letter", "C++", "Who made C?", true},
		{"an article and a function word", "The The", "Who sang in the band The The?", true},
		{"an article and a letter", "The K", "Where is the letter K?", true},
		{"an article in a sentence", "A", "Which vowel is a, of a kind?", false},
		{"of two function words", "To Be", "What is to be?", true},
		{"abbreviation with spaces", "U. S.", "Who led the US?", true},
		{"abbreviation as it is", "U.S.", "Who led the U.S. then?", true},

		{"kana", "さくら", "さくらは何ですか", true},
		{"half-width kana", "ｻｸﾗ", "サクラは何ですか", true},
		{"unvoiced kana", "かき", "がきは何", false},
		{"Thai", "ไทย", "ประเทศไทย", true},
		{"Latin and Han", "A型", "血液はA型ですか", true},
		{"one Han rune", "日", "日本はどこ", true},
		{"Latin before kana", "NASA", "アメリカのNASAは何の略ですか", true},
		{"Latin before Thai", "Apple", "บริษัทApple ก่อตั้งเมื่อใด", true},
		{"a number between Han", "1984", "小説1984年の作者は誰ですか", true},
		{"a number within another between Han", "4", "小説1984年の作者は誰ですか", false},
		{"a word within another between Han", "Iran", "日本のIranian料理", false},
		{"joined between kana", "Spider-Man", "映画のSpiderManは誰ですか", true},
		{"apart between kana", "Spiderman", "映画のSpider-Manは誰ですか", true},
		{"function word between kana", "IT", "日本のIT産業", true},
		{"function word between kana, other case", "IT", "日本のit産業", false},
		{"Hangul is written with spaces, so its particles are of the word", "NASA", "NASA는 무엇인가?", false},
		{"Hangul has words", "한국", "한국어는?", false},
		{"an answer that cannot be seen", "\u200b", "What?", false},
		{"an answer of symbols", "🙂", "🙂?", false},
		{"a question that is empty", "Mars", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Leak(tt.answer, tt.question); got != tt.want {
				t.Errorf("Leak(%q, %q) = %v", tt.answer, tt.question, got)
			}
		})
	}
}

// An answer of plain words leaks wherever it stands between others, in any case and
// with any punctuation; a word that only holds it does not leak it.
func TestLeakProperties(t *testing.T) {
	word := rapid.SampledFrom([]string{"mars", "saturn", "éire", "київ", "m'bappe", "c4h", "zeus"})
	rapid.Check(t, func(t *rapid.T) {
		answer := strings.Join(rapid.SliceOfN(word, 1, 3).Draw(t, "answer"), " ")
		before := rapid.SampledFrom([]string{"", "who ", "Is it “", "a-", "the\u00a0", "(", "¿"}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", "?", "'s moon", "” now", "-like", ", or", " 5"}).Draw(t, "after")
		written := answer
		if rapid.Bool().Draw(t, "upper") {
			written = strings.ToUpper(answer)
		}
		if q := before + written + after; !Leak(answer, q) {
			t.Fatalf("%q does not leak in %q", answer, q)
		}
		if q := "x" + answer + "x?"; Leak(answer, q) {
			t.Fatalf("%q leaks in %q", answer, q)
		}
	})
}

// The answer decides nothing by how it is written.
func TestLeakOfNormalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, q := anyText().Draw(t, "answer"), anyText().Draw(t, "question")
		if whole := strings.ReplaceAll(Normalize(a), " ", ""); functionWords()[whole] || isOneLetter(whole) {
			t.Skip("its case counts")
		}
		if got, want := Leak(Normalize(a), q), Leak(a, q); got != want && withoutArticle(Normalize(a)) == Normalize(a) {
			t.Fatalf("Leak(%+q, %+q) = %v, and %v of the normal form", a, q, want, got)
		}
	})
}

func FuzzLeak(f *testing.F) {
	for _, s := range []string{"The Who", "U.S.", "日本", "4", "Spider-Man", "C++", "м'яч", "\xff", "A A A A"} {
		f.Add(s, "Did “"+s+"” ask? "+s+"'s one. "+s)
	}
	f.Fuzz(func(t *testing.T, a, q string) {
		leaks := Leak(a, q)
		if Normalize(a) == "" && leaks {
			t.Fatalf("%+q has no words and leaks", a)
		}
		if leaks && !strings.Contains(strings.ReplaceAll(Normalize(q), " ", ""), strings.ReplaceAll(withoutArticle(Normalize(a)), " ", "")) {
			t.Fatalf("%+q leaks in %+q, which does not hold it", a, q)
		}
	})
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"O'Brien’s", "CO₂", "日本\u0301", "a\xff", "İ'S", "ᏣᎳᎩ ꮳꮃꭹ", "ŉ", "ᄀ'ᅡ", "e\u200d\u0301", "ﬁ\u0345"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := Normalize(s)
		if again := Normalize(n); again != n {
			t.Fatalf("Normalize(%+q) = %+q, again %+q", s, n, again)
		}
		if n != strings.Join(strings.Fields(n), " ") {
			t.Fatalf("white space in %+q", n)
		}
		if c := Choice(s); Choice(c) != c && withoutArticle(c) == c {
			t.Fatalf("Choice(%+q) = %+q, again %+q", s, c, Choice(c))
		}
		if Words(s) != Words(strings.Join(strings.Fields(s), " ")) {
			t.Fatalf("white space counts in %+q", s)
		}
	})
}

func BenchmarkLeak(b *testing.B) {
	for _, tt := range []struct{ name, a, q string }{
		{"plain", "Mehmed II", "Which planet of the solar system has the largest known volcano, Olympus Mons?"},
		{"function word", "The Who", "Which planet of the solar system has the largest known volcano, Olympus Mons?"},
		{"accents", "Pelé", "Quelle planète possède le plus grand volcan connu à ce jour ?"},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				if Leak(tt.a, tt.q) {
					b.Fatal("it leaks")
				}
			}
		})
	}
}
