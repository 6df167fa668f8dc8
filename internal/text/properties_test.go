package text

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/agnivade/levenshtein"
	"pgregory.net/rapid"
)

// Texts that are the same to a person, and some that nearly are.
func TestSameForm(t *testing.T) {
	for _, tt := range []struct {
		name string
		same bool
		of   []string
	}{
		{"a title in two spellings", true, []string{"Fall of Constantinople", "fall of CONSTANTINOPLE!", " Fall\u00a0of “Constantinople” ", "Fall of Con\u00adstantinople"}},
		{"a question with other case, quotes and spaces", true, []string{"Who wrote “Hamlet”?", "WHO WROTE 'HAMLET'", "who wrote  *hamlet* …", "Who wrote \"Hamlet\" ?"}},
		{"apostrophes", true, []string{"O'Brien?", "OBrien", "O’Brien", "OʼBrien", "O`Brien", "O´Brien", "O′Brien", "O＇Brien", "O‘Brien"}},
		{"possessives", true, []string{"Dante's hell", "Dante’s hell", "Danteʼs hell", "Dante hell", "'Dante's' hell", "DANTE'S HELL"}},
		{"a plural is none", false, []string{"the boys' room", "the boy's room"}},
		{"Ukrainian", true, []string{"М'яч", "м’яч", "мʼяч", "мяч", "м\u2032яч"}},
		{"Ukrainian word ends", true, []string{"Чий м’яч’?", "чий мяч", "«чий» ʼмяч"}},
		{"Ukrainian letters", false, []string{"їжак", "іжак", "ижак"}},
		{"Cherokee", true, []string{"ᏣᎳᎩ", "ꮳꮃꭹ"}},
		{"Cherokee, second block", true, []string{"\u13f0\u13f5", "\u13f8\u13fd"}},
		{"Greek", true, []string{"Ὀδυσσεύς", "ΟΔΥΣΣΕΥΣ", "οδυσσευσ"}},
		{"accents of Latin letters on digits stay", false, []string{"a1\u0301", "a1"}},
		{"accents of Latin letters go", true, []string{"a\u0301\u0323b", "ab", "áb"}},
		{"marks of Cyrillic letters stay", false, []string{"а\u0301", "а"}},
		{"Hindi", false, []string{"हिन्दी", "हन्द"}},
		{"voiced kana", false, []string{"が", "か"}},
		{"half width", true, []string{"ｶﾞｷﾞ", "ガギ"}},
		{"sharp s", true, []string{"Straße", "STRASSE", "STRAẞE", "Straſſe"}},
		{"Turkish", false, []string{"ısı", "isi"}},
		{"a look-alike", false, []string{"Apple", "Аpple"}},
	} {
		for _, s := range tt.of[1:] {
			if got := Fingerprint(s) == Fingerprint(tt.of[0]); got != tt.same {
				t.Errorf("%s: %+q and %+q: the same is %v", tt.name, tt.of[0], s, got)
			}
		}
	}
}

// A topic's identity stands on the normal form of its title.
func TestTopicIdentity(t *testing.T) {
	sum := sha256.Sum256([]byte("history\n" + Normalize("Fall of Constantinople")))
	if got := "t-" + hex.EncodeToString(sum[:])[:12]; got != "t-b0d720a63c00" {
		t.Errorf("the topic is %s", got)
	}
}

// The choices of a question as they are compared: at two runes or fewer they are one.
func TestChoicesTooClose(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"Iran", "Iraq", 1}, {"The Beatles", "Beatles", 0}, {"Café", "Cafe", 0}, {"C", "C++", 0}, {"日本", "中国", 2},
		{"+", "×", 1}, {"+", "−", 1}, {"1912", "1934", 2}, {"3", "4", 1}, {"Paris", "Parks", 1}, {"colour", "color", 1}, {"Smith", "Smyth", 1},
		{"55 days", "40 days", 2}, {"xylene", "xylem", 2}, {"O'Brien", "OBrien", 0}, {"м'яч", "мяч", 0}, {"Straße", "STRASSE", 0}, {"10²", "102", 0},
		{"-5", "5", 0}, {"An apple", "the apple", 0},
	} {
		if got, closer := Closer(Choice(tt.a), Choice(tt.b), 3); !closer || got != tt.want {
			t.Errorf("%q and %q: %d, %v", tt.a, tt.b, got, closer)
		}
	}
	for _, tt := range [][2]string{{"Iran", "Chad"}, {"abcdef", "abcxyz"}, {"日本国", "中華民"}} {
		if got, closer := Closer(Choice(tt[0]), Choice(tt[1]), 3); closer {
			t.Errorf("%q and %q are at %d", tt[0], tt[1], got)
		}
	}
}

func TestWordsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyText().Draw(t, "s")
		n := Words(s)
		if got := Words(strings.Join(strings.Fields(s), " ")); got != n {
			t.Fatalf("%+q has %d words, with plain spaces %d", s, n, got)
		}
		if got := Words(s + " — … word"); got != n+1 {
			t.Fatalf("%+q has %d words, and with one more %d", s, n, got)
		}
		if fields := len(strings.Fields(s)); n > fields {
			t.Fatalf("%+q has %d words in %d fields", s, n, fields)
		}
	})
}

// Jaccard against its definition, on texts of all scripts.
func TestJaccardOfTexts(t *testing.T) {
	word := rapid.SampledFrom([]string{"the", "red", "Red", "日本語", "本語", "ภาษาไทย", "x日", "日", "ー", "5", "", "—"})
	rapid.Check(t, func(t *rapid.T) {
		a := Tokens(strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, "a"), " "))
		b := Tokens(strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, "b"), " "))
		inA, inB, all := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, w := range a {
			inA[w], all[w] = true, true
		}
		both := 0
		for _, w := range b {
			if inA[w] && !inB[w] {
				both++
			}
			inB[w], all[w] = true, true
		}
		inter, union := Jaccard(a, b)
		if inter != both || union != len(all) {
			t.Fatalf("%q, %q: %d of %d, want %d of %d", a, b, inter, union, both, len(all))
		}
		if again, _ := Jaccard(a, a); again != len(inA) {
			t.Fatalf("%q shares %d with itself", a, again)
		}
	})
}

// Long texts take another way, and come to the same.
func TestLongDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.RuneFrom([]rune("ab日"))
		a := rapid.StringOfN(alphabet, 250, 420, -1).Draw(t, "a")
		b := a
		if rapid.Bool().Draw(t, "another") {
			b = rapid.StringOfN(alphabet, 200, 420, -1).Draw(t, "b")
		} else {
			runes := []rune(a)
			for range rapid.IntRange(0, 30).Draw(t, "edits") {
				i := rapid.IntRange(0, len(runes)-1).Draw(t, "at")
				runes = append(runes[:i], append([]rune("x")[:rapid.IntRange(0, 1).Draw(t, "inserted")], runes[i+rapid.IntRange(0, 1).Draw(t, "deleted"):]...)...)
			}
			b = string(runes)
		}
		want := levenshtein.ComputeDistance(a, b)
		if got := Levenshtein(a, b); got != want {
			t.Fatalf("%q, %q: %d, want %d", a, b, got, want)
		}
		limit := rapid.IntRange(0, 500).Draw(t, "limit")
		if got, closer := Closer(a, b, limit); closer != (want < limit) || closer && got != want {
			t.Fatalf("%q, %q below %d: %d, %v, want %d", a, b, limit, got, closer, want)
		}
	})
}
