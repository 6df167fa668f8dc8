package diag

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// showAll is up to how many candidates are all named: a list of five is read
// faster than a guess is judged.
const showAll = 5

// longest is how many runes of a word are compared. Names are shorter; what is
// longer is no misspelling of one, and costs its square to compare.
const longest = 64

// Nearest gives the candidates that word was most likely meant to be: those
// that differ in case alone, else the nearest by edits (runes; a swap of two
// neighbours is one edit), at most 1 edit away for a word of up to four runes,
// 2 up to eight, 3 above. On a tie it gives two, sorted; else one or none.
func Nearest(word string, candidates []string) []string {
	if word == "" {
		return nil
	}
	best := limit(word) + 1
	var near []string
	for _, c := range candidates {
		d := distance(word, c)
		if strings.EqualFold(word, c) {
			d = 0
		}
		switch {
		case c == "" || d > limit(word) || d > best:
		case d < best:
			best, near = d, []string{c}
		case !slices.Contains(near, c):
			near = append(near, c)
		}
	}
	slices.Sort(near)
	return near[:min(len(near), 2)]
}

// DidYouMean is a ready sentence or two about a word that is none of the
// candidates, or "" where there is nothing to say. Candidates are what would
// be right in this very place.
func DidYouMean(word string, candidates []string) string {
	var sentences []string
	near := Nearest(word, candidates)
	if len(near) > 0 {
		sentences = append(sentences, "Did you mean "+list(near, " or ")+"?")
	}
	all := slices.Compact(slices.Sorted(slices.Values(candidates)))
	switch {
	case len(all) == 0 || len(all) > showAll:
	case len(all) == 1 && len(near) == 0:
		sentences = append(sentences, "There is only "+list(all, "")+".")
	case len(all) > len(near):
		sentences = append(sentences, "There are "+list(all, " and ")+".")
	}
	return strings.Join(sentences, " ")
}

// List writes names in quotes as a sentence has them: "a", "b" and "c".
func List(names []string) string { return list(names, " and ") }

func list(names []string, last string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			b.WriteString(last)
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(name))
	}
	return b.String()
}

func limit(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n <= 4:
		return 1
	case n <= 8:
		return 2
	default:
		return 3
	}
}

// distance counts edits, a swap of two neighbours as one. More than one swap
// is never within a limit that matters for words this short, so trying each
// single swap is enough.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	if len(ra) > longest || len(rb) > longest || abs(len(ra)-len(rb)) > 3 {
		return longest
	}
	d := levenshtein.ComputeDistance(a, b)
	for i := 0; i+1 < len(ra) && d > 1; i++ {
		if ra[i] == ra[i+1] {
			continue
		}
		ra[i], ra[i+1] = ra[i+1], ra[i]
		d = min(d, 1+levenshtein.ComputeDistance(string(ra), b))
		ra[i], ra[i+1] = ra[i+1], ra[i]
	}
	return d
}

func abs(n int) int { return max(n, -n) }
