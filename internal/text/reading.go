package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// reading is a text as phrase rules read it.
type reading struct {
	s      string // NFKC, in its own case, without format characters
	tokens []token
	lower  bool // a letter of it is in lower case
}

// token is a word, a number, a letter of an unspaced script, or what stands in
// quotation marks.
type token struct {
	word       string // folded; empty for a quotation
	start, end int    // in bytes
	joint      joint  // what stands before it
	kind       tokenKind
	upper      bool    // its first letter is upper case
	opens      bool    // no word stands before it in its sentence
	year       bool    // it is a number of four digits from 1000 to 2999
	value      float64 // of a number
}

type tokenKind uint8

const (
	wordToken tokenKind = iota
	numberToken
	unspacedToken
	blankToken // a quotation or what is emphasised
)

// joint is what stands between two tokens, or what a pattern asks for there.
type joint uint8

const (
	noJoint         joint = iota // nothing
	spaceJoint                   // white space
	apostropheJoint              // one, without a space
	hyphenJoint                  // one, without a space
	dashJoint                    // dashes of any kind, with spaces or without
	pointJoint                   // the point of an abbreviation, without a space
	abbreviated                  // the point of an abbreviation, and a space
	otherJoint                   // anything else

	// What only a pattern asks for.
	anyJoint   // whatever there is
	gapJoint   // what may stand between the words of a gap and behind it
	fieldJoint // what may stand within a word of a gap
)

// joined reports whether what stands before the token i is what a pattern asks for.
func (in *reading) joined(want joint, i int) bool {
	if want == anyJoint {
		return true
	}
	if i == 0 {
		return false
	}
	got := in.tokens[i].joint
	unspaced := in.tokens[i].kind == unspacedToken || in.tokens[i-1].kind == unspacedToken
	switch want {
	case noJoint:
		return got == noJoint || got == spaceJoint && unspaced
	case spaceJoint:
		return got == spaceJoint || got == noJoint && unspaced
	case dashJoint:
		return got == dashJoint || got == hyphenJoint
	case gapJoint:
		return got == spaceJoint || got == abbreviated || got == hyphenJoint || got == noJoint && unspaced
	case fieldJoint:
		return got == apostropheJoint || got == hyphenJoint || got == pointJoint
	}
	return got == want
}

// read takes a text apart. tokens is space to put them in.
func read(s string, tokens []token) reading {
	if !isASCII(s) {
		s = dropFormat(norm.NFKC.String(legible(s)))
	}
	r := reader{reading: reading{s: s, tokens: tokens}}
	titles := quotations(s)
	for i := 0; i < len(s); {
		if len(titles) > 0 && i == titles[0].start {
			i = r.blank(titles[0])
			titles = titles[1:]
			continue
		}
		c, size := utf8.DecodeRuneInString(s[i:])
		if !isWord(c) || isApostrophe(c) {
			r.between(c)
			i += size
			continue
		}
		limit := len(s)
		if len(titles) > 0 {
			limit = titles[0].start
		}
		i = r.token(i, limit)
	}
	return r.reading
}

// reader is a reading in the making.
type reader struct {
	reading
	sep       separator
	seen      bool // a word stands in this sentence
	shortened bool // the last token may be an abbreviation
}

// separator is what stands between two tokens, as far as it was read.
type separator struct {
	runes, spaces, dashes         int
	apostrophe, hyphen            bool
	point, stop, newline, foreign bool
}

func (r *reader) between(c rune) {
	s := &r.sep
	s.runes++
	switch {
	case c == '\n' || c == '\u2028' || c == '\u2029':
		s.newline = true
		s.spaces++
	case unicode.IsSpace(c):
		s.spaces++
	case isApostrophe(c):
		s.apostrophe = true
	case c == '-' || c == '\u2010':
		s.hyphen = true
		s.dashes++
	case isDash(c):
		s.dashes++
	case c == '.' || c == ':':
		s.foreign = s.foreign || c == ':' || s.runes > 1
		s.point = true
	case unicode.Is(unicode.STerm, c):
		s.stop, s.foreign = true, true
	default:
		s.foreign = true
	}
}

func isDigit(c rune) bool {
	if c < utf8.RuneSelf {
		return c >= '0' && c <= '9'
	}
	return unicode.Is(unicode.Nd, c)
}

func isDash(c rune) bool {
	return c == '-' || c == '~' || c == '−' || unicode.Is(unicode.Pd, c)
}

// joint names the separator, and reports whether a sentence begins behind it. A
// point or a colon ends one only before a space.
func (r *reader) joint() (j joint, sentence bool) {
	s := r.sep
	sentence = s.newline || s.stop || s.point && s.spaces > 0
	switch {
	case s.runes == 0:
		return noJoint, sentence
	case s.foreign:
		return otherJoint, sentence
	case s.point && r.shortened && s.runes == 1:
		return pointJoint, false
	case s.point && r.shortened && s.runes == 1+s.spaces:
		return abbreviated, sentence
	case s.runes == s.spaces:
		return spaceJoint, sentence
	case s.apostrophe && s.runes == 1:
		return apostropheJoint, sentence
	case s.hyphen && s.runes == 1:
		return hyphenJoint, sentence
	case s.dashes > 0 && s.runes == s.dashes+s.spaces:
		return dashJoint, sentence
	}
	return otherJoint, sentence
}

// add ends the separator and appends t.
func (r *reader) add(t token) {
	joint, sentence := r.joint()
	if sentence {
		r.seen = false
	}
	t.joint, t.opens = joint, !r.seen
	r.seen = r.seen || t.kind != numberToken
	r.sep = separator{}
	r.tokens = append(r.tokens, t)
}

// blank adds a quotation, which ends a sentence when its last rune does.
func (r *reader) blank(title span) int {
	r.add(token{start: title.start, end: title.end, kind: blankToken})
	r.shortened = false
	inner := strings.TrimRightFunc(r.s[title.start:title.end], func(c rune) bool { return isQuote(c) || unicode.IsSpace(c) || isCloser(c) })
	last, _ := utf8.DecodeLastRuneInString(inner)
	if unicode.Is(unicode.STerm, last) {
		r.seen = false
	}
	return title.end
}

// token adds the token that begins at i and gives its end, which is at most limit.
func (r *reader) token(i, limit int) int {
	s := r.s[:limit]
	first, size := utf8.DecodeRuneInString(s[i:])
	end, digits, lower := i+size, isDigit(first), unicode.IsLower(first)
	t := token{start: i, upper: unicode.IsUpper(first) || unicode.IsTitle(first)}
	if isUnspaced(first) {
		for end < len(s) {
			c, size := utf8.DecodeRuneInString(s[end:])
			if !unicode.IsMark(c) {
				break
			}
			end += size
		}
		t.kind, t.end, t.word = unspacedToken, end, s[i:end]
		r.add(t)
		r.shortened = false
		return end
	}
	for end < len(s) {
		c, size := utf8.DecodeRuneInString(s[end:])
		if !isWord(c) || isApostrophe(c) || isUnspaced(c) && !unicode.IsMark(c) {
			break
		}
		digits = digits && isDigit(c)
		lower = lower || unicode.IsLower(c)
		end += size
	}
	r.lower = r.lower || lower
	if digits {
		dotted := r.sep.point && r.sep.runes == 1 && len(r.tokens) > 0 && r.tokens[len(r.tokens)-1].kind == numberToken
		end = t.number(s, i, end, dotted)
	}
	t.end, t.word = end, s[i:end]
	if t.kind == wordToken {
		t.word = foldWord(t.word)
	}
	r.add(t)
	r.shortened = t.upper && utf8.RuneCountInString(t.word) <= 3
	return end
}

// number makes t the number whose first digits stand from i to end, with the groups
// and the fraction behind them, and gives its end. 1,500 is one number, and so is
// 2.5; 1984,1985 are two, and a date with points has none with a fraction.
func (t *token) number(s string, i, end int, dotted bool) int {
	digits := s[i:end]
	grouped := utf8.RuneCountInString(digits) <= 3
	for grouped && len(digits) < 18 {
		c, size := utf8.DecodeRuneInString(s[end:])
		group := digitsAt(s, end+size)
		if c != ',' && !isApostrophe(c) || len(group) != 3 {
			break
		}
		end += size + len(group)
		digits += group
	}
	t.kind = numberToken
	for _, c := range digits {
		t.value = t.value*10 + float64(digitValue(c))
	}
	t.year = end-i == len(digits) && utf8.RuneCountInString(digits) == 4 && t.value >= 1000 && t.value < 3000
	if dotted || !strings.HasPrefix(s[end:], ".") {
		return end
	}
	fraction := digitsAt(s, end+1)
	rest := s[end+1+len(fraction):]
	if fraction == "" || strings.HasPrefix(rest, ".") && digitsAt(rest, 1) != "" {
		return end
	}
	t.year = false
	scale := 1.0
	for _, c := range fraction {
		scale /= 10
		t.value += scale * float64(digitValue(c))
	}
	return end + 1 + len(fraction)
}

// digitsAt gives the ASCII digits that stand at i, if no letter follows them.
func digitsAt(s string, i int) string {
	if i > len(s) {
		return ""
	}
	end := i
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if c, _ := utf8.DecodeRuneInString(s[end:]); end < len(s) && isWord(c) && !isUnspaced(c) {
		return ""
	}
	return s[i:end]
}
