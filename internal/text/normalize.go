package text

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Normalize gives the normal form in which questions, answers and titles are
// compared:
//
//  1. NFKC, full case folding, NFKC again (folding can denormalise)
//  2. format characters and variation selectors are deleted, not replaced
//  3. combining marks U+0300 to U+036F are dropped on Latin and Greek letters only
//  4. a possessive 's at the end of a word is dropped, an apostrophe between two
//     letters is deleted, any other becomes a space
//  5. what is neither letter, mark nor number becomes a space
//  6. runs of white space become one space, and none stands at either end
//
// It is idempotent. A dotted capital I folds to i and its dot is dropped on the
// way; a dotless ı stays itself, because no locale is consulted.
func Normalize(s string) string {
	if isASCII(s) {
		return normalizeASCII(s)
	}
	s = compatible(legible(s))
	s = dropFormat(s)
	s = dropAccents(s)
	s = norm.NFC.String(wordsOnly([]rune(s)))
	return s
}

// Fingerprint is the SHA-256 of the normal form in lower-case hex.
func Fingerprint(s string) string {
	sum := sha256.Sum256([]byte(Normalize(s)))
	return hex.EncodeToString(sum[:])
}

// Choice is the form in which the choices of a question are compared: the normal
// form less one leading article when something remains. A text of symbols alone
// has an empty normal form and is compared as it is, folded.
func Choice(s string) string {
	if n := Normalize(s); n != "" {
		return withoutArticle(n)
	}
	folded := dropFormat(compatible(strings.ToValidUTF8(s, "\uFFFD")))
	return strings.Join(strings.Fields(folded), " ")
}

// Blank reports whether nothing of s can be seen: white space, controls, format
// characters, variation selectors, and the letters and signs that are drawn as
// nothing (Hangul fillers, the Braille pattern without dots).
func Blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		switch r {
		case '\u034F', '\u115F', '\u1160', '\u17B4', '\u17B5', '\u2800', '\u3164', '\uFFA0':
			return false
		}
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.C, unicode.Z, unicode.Variation_Selector)
	})
}

// Words counts the fields between white space that hold a letter or a number: a
// dash alone is no word, state-of-the-art is one.
func Words(s string) int {
	n := 0
	for field := range strings.FieldsSeq(s) {
		if strings.ContainsFunc(field, isAlphanumeric) {
			n++
		}
	}
	return n
}

// legible replaces what is not UTF-8, and the acute accent that stands alone: it is
// an apostrophe to those who type it, and NFKC would make it a space with a
// combining accent.
func legible(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\u00B4", "'")
}

func withoutArticle(normal string) string {
	for _, article := range [...]string{"the ", "a ", "an "} {
		if rest, ok := strings.CutPrefix(normal, article); ok {
			return rest
		}
	}
	return normal
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// normalizeASCII is Normalize without tables; a test holds the two together.
func normalizeASCII(s string) string {
	out := make([]byte, 0, len(s))
	space := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case isASCIIWord(c):
		case isASCIIApostrophe(c) && i > 0 && isASCIIWord(s[i-1]) && i+1 < len(s):
			if s[i+1]|0x20 == 's' && (i+2 == len(s) || !isASCIIWord(s[i+2])) {
				i++
				space = true
				continue
			}
			if isASCIILetter(s[i-1]) && isASCIILetter(s[i+1]) {
				continue
			}
			space = true
			continue
		default:
			space = true
			continue
		}
		if space && len(out) > 0 {
			out = append(out, ' ')
		}
		space = false
		out = append(out, c)
	}
	return string(out)
}

func isASCIILetter(c byte) bool     { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isASCIIWord(c byte) bool       { return isASCIILetter(c) || c >= '0' && c <= '9' }
func isASCIIApostrophe(c byte) bool { return c == '\'' || c == '`' }

// compatible is NFKC, full case folding, NFKC.
func compatible(s string) string {
	return norm.NFKC.String(fold(norm.NFKC.String(s)))
}

// fold is full case folding. The folding of golang.org/x/text maps each case of
// Cherokee to the other, so that a word and its upper case would never meet;
// these letters are mapped to capitals by hand, as Unicode folds them.
func fold(s string) string {
	cherokee := func(r rune) bool {
		return r >= 0x13A0 && r <= 0x13FD || r >= 0xAB70 && r <= 0xABBF
	}
	if !strings.ContainsFunc(s, cherokee) {
		return cases.Fold().String(s)
	}
	var b strings.Builder
	for len(s) > 0 {
		i := strings.IndexFunc(s, cherokee)
		if i < 0 {
			i = len(s)
		}
		if i > 0 {
			b.WriteString(cases.Fold().String(s[:i]))
			s = s[i:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		b.WriteRune(cherokeeCapital(r))
		s = s[size:]
	}
	return b.String()
}

func cherokeeCapital(r rune) rune {
	switch {
	case r >= 0xAB70 && r <= 0xABBF:
		return r - 0xAB70 + 0x13A0
	case r >= 0x13F8 && r <= 0x13FD:
		return r - 0x13F8 + 0x13F0
	}
	return r
}

func dropFormat(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0xAD { // the soft hyphen is the first
			return r
		}
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, s)
}

// dropAccents drops the combining marks of Latin and Greek letters. On every
// letter it would turn Ukrainian й into и, and dropping all marks would break
// Hindi, Thai and voiced kana.
func dropAccents(s string) string {
	decomposed := norm.NFD.String(s)
	var b strings.Builder
	b.Grow(len(decomposed))
	accented := false // whether the base letter is Latin or Greek
	for _, r := range decomposed {
		switch {
		case r < utf8.RuneSelf:
			accented = isASCIILetter(byte(r))
		case r >= 0x0300 && r <= 0x036F:
			if accented {
				continue
			}
		case !unicode.Is(unicode.M, r):
			accented = unicode.In(r, unicode.Latin, unicode.Greek)
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

// wordsOnly is steps 4 to 6.
func wordsOnly(runes []rune) string {
	var b strings.Builder
	b.Grow(len(runes) * 2)
	space := false
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		if !isWord(r) || isApostrophe(r) {
			if isApostrophe(r) && i > 0 && isWord(runes[i-1]) && !isApostrophe(runes[i-1]) && i+1 < len(runes) {
				next := runes[i+1]
				if next == 's' && (i+2 == len(runes) || !isWord(runes[i+2]) || isApostrophe(runes[i+2])) {
					i++
				} else if letterBefore(runes, i) && unicode.IsLetter(next) && !isApostrophe(next) {
					continue
				}
			}
			space = true
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// letterBefore reports whether a letter, with the marks on it, stands before i.
func letterBefore(runes []rune, i int) bool {
	for i--; i >= 0 && unicode.IsMark(runes[i]); i-- {
		// marks belong to the letter that they stand on
	}
	return i >= 0 && unicode.IsLetter(runes[i]) && !isApostrophe(runes[i])
}

func isApostrophe(r rune) bool {
	switch r {
	case '\'', '\u2019', '\u2018', '\u02BC', '\u2032', '`', '\u00B4', '\uFF07':
		return true
	}
	return false
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return isASCIIWord(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)
}

func isAlphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
