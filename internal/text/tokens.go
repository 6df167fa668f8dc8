package text

import (
	"slices"
	"strings"
	"unicode"
)

// Tokens are the words of the normal form. Runs of scripts that are written
// without spaces are split into pairs of neighbouring runes, a run of one rune
// stays as it is.
func Tokens(s string) []string {
	var out []string
	for word := range strings.FieldsSeq(Normalize(s)) {
		if !strings.ContainsFunc(word, isUnspaced) {
			out = append(out, word)
			continue
		}
		out = appendBigrams(out, word)
	}
	return out
}

// appendBigrams splits a word at the borders of its unspaced runs. A mark stays
// in the run that it stands in.
func appendBigrams(out []string, word string) []string {
	runes := []rune(word)
	for start := 0; start < len(runes); {
		unspaced := isUnspaced(runes[start])
		end := start + 1
		for end < len(runes) && (unicode.IsMark(runes[end]) || isUnspaced(runes[end]) == unspaced) {
			end++
		}
		run := runes[start:end]
		if !unspaced || len(run) == 1 {
			out = append(out, string(run))
		} else {
			for i := range len(run) - 1 {
				out = append(out, string(run[i:i+2]))
			}
		}
		start = end
	}
	return out
}

// isUnspaced reports whether r belongs to a script that is written without
// spaces: Han, kana, Thai, Lao, Khmer, Myanmar.
func isUnspaced(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return r == 0x30FC || // the long-vowel mark is common to both kana
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Jaccard compares two token lists as sets: the number of tokens that they share
// and the number that they have together. Both are 0 where both lists are empty;
// the caller compares in integers (100*inter >= 85*union), because a rounded
// quotient must not decide.
func Jaccard(a, b []string) (inter, union int) {
	a, b = set(a), set(b)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch strings.Compare(a[i], b[j]) {
		case 0:
			inter++
			i++
			j++
		case -1:
			i++
		default:
			j++
		}
	}
	return inter, len(a) + len(b) - inter
}

func set(tokens []string) []string {
	sorted := slices.Clone(tokens)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// ContainsPhrase reports whether the words of phrase stand in s as a run of whole
// words, both in normal form. A phrase with a rune of an unspaced script is
// searched for without regard to spaces; an empty one is contained in nothing.
func ContainsPhrase(s, phrase string) bool {
	needle := Normalize(phrase)
	if needle == "" {
		return false
	}
	if strings.ContainsFunc(needle, isUnspaced) {
		return strings.Contains(joined(Normalize(s)), joined(needle))
	}
	return containsRun(Normalize(s), needle)
}

func joined(normal string) string { return strings.ReplaceAll(normal, " ", "") }

// containsRun reports whether needle stands in hay as a run of whole words, both in
// normal form.
func containsRun(hay, needle string) bool {
	_, found := findRun(hay, 0, needle)
	return found
}

// wordsOf are the words of a normal form; each rune of an unspaced script is one, so
// that a word beside it ends there.
func wordsOf(normal string) []string {
	if !strings.ContainsFunc(normal, isUnspaced) {
		return strings.Fields(normal)
	}
	var out []string
	for word := range strings.FieldsSeq(normal) {
		start := 0
		for i := range word {
			if i > 0 && bordered(word, i) {
				out, start = append(out, word[start:i]), i
			}
		}
		out = append(out, word[start:])
	}
	return out
}
