package text

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Leak reports whether the needle, an answer, can be read in the haystack, its
// question:
//
//  1. The needle's words are those of its normal form less a leading article,
//     unless one English function word remains: The Who stays the who. A needle
//     without words leaks nowhere.
//  2. A needle in a script without spaces is searched for without spaces.
//  3. A needle that is one function word or one letter must occur in the same
//     case, and not as the unquoted first word of a sentence: US is not leaked by
//     "Tell us". This holds for U.S. as well, whose letters joined are such a word.
//  4. Else it leaks where its words stand as a run of whole words: Iran is not
//     in Iranian, 4 is neither in 1984 nor in 4x100. A word also ends where a
//     script without spaces begins: NASA is in NASAは.
//  5. Else it leaks where it equals a run of words when both are joined
//     (Spider-Man, Spiderman), but not if it is made of digits only (3.14, 314).
func Leak(needle, haystack string) bool {
	normal := Normalize(needle)
	words, cut := normal, false
	if rest := withoutArticle(normal); rest != normal && !functionWords()[rest] {
		words, cut = rest, true
	}
	if words == "" {
		return false
	}
	whole := joined(words)
	question := Normalize(haystack)
	if strings.ContainsFunc(whole, isUnspaced) {
		return strings.Contains(joined(question), whole)
	}
	short := functionWords()[whole] || isOneLetter(whole)
	if short && words == whole {
		return leaksInCase(needle, haystack, cut)
	}
	if containsRun(question, words) {
		return true
	}
	if short {
		return leaksInCase(needle, haystack, cut)
	}
	if !strings.ContainsFunc(whole, func(r rune) bool { return !unicode.IsNumber(r) }) {
		return false
	}
	return containsJoined(question, whole)
}

func isOneLetter(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size == len(s) && unicode.IsLetter(r)
}

// containsJoined reports whether some run of words of a normal form, joined, is whole.
func containsJoined(normal, whole string) bool {
	if !strings.Contains(joined(normal), whole) {
		return false
	}
	tokens := wordsOf(normal)
	for i := range tokens {
		rest := whole
		for _, token := range tokens[i:] {
			var ok bool
			if rest, ok = strings.CutPrefix(rest, token); !ok {
				break
			}
			if rest == "" {
				return true
			}
		}
	}
	return false
}

// rawToken is a word as it is written, and whether it opens a sentence without a
// quotation mark before it.
type rawToken struct {
	text  string
	opens bool
}

// leaksInCase is rule 3, on NFKC without folding.
func leaksInCase(needle, haystack string, withoutFirst bool) bool {
	var want strings.Builder
	for i, token := range rawTokens(needle) {
		if i > 0 || !withoutFirst {
			want.WriteString(token.text)
		}
	}
	for _, token := range rawTokens(haystack) {
		if !token.opens && token.text == want.String() {
			return true
		}
	}
	return false
}

// rawTokens takes a text apart. A sentence ends with its mark where white space
// follows, with or without a closing quotation mark between them; a point between
// letters (U.S.A) ends none.
func rawTokens(s string) []rawToken {
	var out []rawToken
	s = dropFormat(norm.NFKC.String(legible(s)))
	opens, mark := true, rune(0) // no word stands in this sentence; what ended the last one, perhaps
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !isPlainWord(r) {
			if unicode.Is(unicode.STerm, r) {
				mark = r
			} else if mark != 0 && unicode.IsSpace(r) {
				opens, mark = true, 0
			}
			i += size
			continue
		}
		end, unspaced := i+size, isUnspaced(r)
		for end < len(s) {
			if r, size = utf8.DecodeRuneInString(s[end:]); !isPlainWord(r) || isUnspaced(r) != unspaced && !unicode.IsMark(r) {
				break
			}
			end += size
		}
		if isPossessive(s[:i], s[i:end]) {
			i = end
			continue
		}
		opens = opens || mark != 0 && mark != '.'
		out = append(out, rawToken{text: s[i:end], opens: opens && !quotedAfter(s[:i])})
		opens, mark = false, 0
		i = end
	}
	return out
}

// isPossessive reports whether a word is the s of a possessive, which belongs to
// the word before it, as in the normal form.
func isPossessive(before, word string) bool {
	last, size := utf8.DecodeLastRuneInString(before)
	if word != "s" && word != "S" || !isApostrophe(last) {
		return false
	}
	owner, _ := utf8.DecodeLastRuneInString(before[:len(before)-size])
	return isPlainWord(owner)
}

// isPlainWord is isWord without the apostrophe that is a letter to Unicode.
func isPlainWord(r rune) bool { return isWord(r) && !isApostrophe(r) }

// quotedAfter reports whether a word is quoted that follows before: a quotation mark
// stands right there, or with a space behind it one that can only open.
func quotedAfter(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	if isQuote(last) {
		return true
	}
	last, _ = utf8.DecodeLastRuneInString(strings.TrimRightFunc(before, unicode.IsSpace))
	return strings.ContainsRune("«“„「『", last)
}

func isQuote(r rune) bool {
	return isApostrophe(r) || r == '"' || r == '*' || r == '_' || unicode.In(r, unicode.Pi, unicode.Pf)
}

// functionWords are the English words that carry no answer unless they are one.
var functionWords = wordSet(`
a about above after again against all also am an and any are as at
be because been before being below between both but by
can could did do does doing down during each either every
few for from further had has have having he her here hers herself him himself his how
i if in into is it its itself just may me might mine more most must my myself
neither no nor not of off on once one only or other our ours out over own
shall she should so some such than that the their theirs them themselves then there these they this those through to too
under until up us very was we were what when where which while who whom whose why will with would
yes you your yours yourself`)

func wordSet(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for word := range strings.FieldsSeq(list) {
			out[word] = true
		}
		return out
	})
}
