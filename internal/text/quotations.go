package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

// closers are the quotation marks that may end what begins with the key. Single
// ones are not among them: they are apostrophes as well.
var closers = map[rune]string{
	'"': `"`, '“': `”`, '„': `“”`, '«': `»`, '»': `«`, '「': `」`, '『': `』`, '《': `》`, '〈': `〉`, '*': `*`, '_': `_`,
}

func isCloser(c rune) bool { return unicode.In(c, unicode.Pe, unicode.Pf) }

// quotations finds what stands in quotation marks or is emphasised, in order. A mark
// that nothing closes begins nothing. A straight quotation mark begins something
// only where no word stands before it (12" is a measure), an asterisk or underscore
// only where something follows it at once, and it ends something only right behind
// it (2 * 3 is a product, ____ a gap to fill).
func quotations(s string) []span {
	if !mayQuote(s) {
		return nil
	}
	var out []span
	closed := map[rune]bool{} // whether a mark of the kind has no end from here on
	before := ' '
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		marks, opens := closers[c]
		if opens && !closed[c] {
			width := runLength(s, i, c)
			if !beginsQuotation(s, i+width, c, before, width/size) {
				i += width
				before = c
				continue
			}
			if end := quotationEnd(s, i+width, c, marks); end > 0 {
				out = append(out, span{i, end})
				before, _ = utf8.DecodeLastRuneInString(s[:end])
				i = end
				continue
			}
			closed[c] = true
			size = width
		}
		before = c
		i += size
	}
	return out
}

// mayQuote reports whether s holds a mark that may begin something, or what may be one.
func mayQuote(s string) bool {
	for i := range len(s) {
		if c := s[i]; c == '"' || c == '*' || c == '_' || c == 0xC2 || c == 0xE2 || c == 0xE3 {
			return true
		}
	}
	return false
}

// runLength is how many bytes the mark at i takes: asterisks and underscores may be
// repeated, for a stronger emphasis.
func runLength(s string, i int, c rune) int {
	n := utf8.RuneLen(c)
	if isEmphasis(c) {
		for i+n < len(s) && rune(s[i+n]) == c {
			n++
		}
	}
	return n
}

func isEmphasis(c rune) bool { return c == '*' || c == '_' }

// beginsQuotation reports whether the mark c, n of them, with before in front of it
// and its content at i, may begin something.
func beginsQuotation(s string, i int, c, before rune, n int) bool {
	next, _ := utf8.DecodeRuneInString(s[i:])
	switch {
	case i == len(s):
		return false
	case c == '*':
		return n <= 3 && !unicode.IsSpace(next)
	case c == '_':
		return n <= 3 && !unicode.IsSpace(next) && !isWord(before)
	case c == '"':
		return !isWord(before)
	}
	return true
}

// quotationEnd finds the first of marks from i on that may end something, and gives
// the place behind it, 0 where there is none.
func quotationEnd(s string, i int, c rune, marks string) int {
	if !isEmphasis(c) {
		at := strings.IndexAny(s[i:], marks)
		if at < 0 {
			return 0
		}
		_, size := utf8.DecodeRuneInString(s[i+at:])
		return i + at + size
	}
	for from := i; ; {
		at := strings.IndexRune(s[from:], c)
		if at < 0 {
			return 0
		}
		at += from
		from = at + runLength(s, at, c)
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		next, _ := utf8.DecodeRuneInString(s[from:])
		if at > i && !unicode.IsSpace(before) && from-at <= 3 && (c == '*' || !isWord(next) || from == len(s)) {
			return from
		}
	}
}
