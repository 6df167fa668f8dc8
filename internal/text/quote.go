package text

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// ellipsis is what stands for words that a quote leaves out. Brackets around it
// are no words, so they need no mention.
var ellipsis = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[…⋯]|\.(?:\s?\.){2,}`) })

// FindQuote reports whether a quote stands in a text, which is given in normal
// form. The parts of the quote between ellipses must occur in their order, each
// as a run of whole words; a part in a script without spaces is searched for
// without regard to spaces. Where one does not occur, it is given back as it was
// written. A quote without words occurs nowhere.
func FindQuote(normal, quote string) (missing string, found bool) {
	from := 0
	for _, part := range ellipsis().Split(quote, -1) {
		needle := Normalize(part)
		if needle == "" {
			continue
		}
		end, ok := findRun(normal, from, needle)
		if !ok {
			return strings.TrimSpace(part), false
		}
		from, found = end, true
	}
	if !found {
		return quote, false
	}
	return "", true
}

// findRun finds a needle in normal form from a place on, and gives its end.
func findRun(normal string, from int, needle string) (end int, ok bool) {
	if strings.ContainsFunc(needle, isUnspaced) {
		return findUnspaced(normal, from, joined(needle))
	}
	for {
		i := strings.Index(normal[from:], needle)
		if i < 0 {
			return 0, false
		}
		start := from + i
		end := start + len(needle)
		if bordered(normal, start) && bordered(normal, end) {
			return end, true
		}
		_, size := utf8.DecodeRuneInString(normal[start:])
		from = start + size
	}
}

// findUnspaced is findRun without regard to spaces. Where the needle begins or
// ends with a letter of another script, a word must begin or end there.
func findUnspaced(normal string, from int, needle string) (end int, ok bool) {
	first, _ := utf8.DecodeRuneInString(needle)
	last, _ := utf8.DecodeLastRuneInString(needle)
	whole := joined(normal[from:]) // searched as one string: a run of one letter would cost its square otherwise
	for start := from; ; {
		i := strings.Index(whole, needle)
		if i < 0 {
			return 0, false
		}
		start = pass(normal, start, i)
		for normal[start] == ' ' {
			start++
		}
		end := pass(normal, start, len(needle))
		if (isUnspaced(first) || bordered(normal, start)) && (isUnspaced(last) || bordered(normal, end)) {
			return end, true
		}
		size := utf8.RuneLen(first)
		start, whole = pass(normal, start, size), whole[i+size:]
	}
}

// pass goes on by so many bytes that are no spaces.
func pass(normal string, at, bytes int) int {
	for ; bytes > 0; at++ {
		if normal[at] != ' ' {
			bytes--
		}
	}
	return at
}

// bordered reports whether a word begins or ends at a place of a text in normal
// form: at a space, and where the script changes to or from one without spaces.
func bordered(normal string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(normal[:at])
	after, _ := utf8.DecodeRuneInString(normal[at:])
	return at == 0 || at == len(normal) || before == ' ' || after == ' ' || isUnspaced(before) || isUnspaced(after)
}
