package echo

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// vocabulary makes generated texts readable; some words are not ASCII, since
// real answers are not.
var vocabulary = []string{
	"river", "amber", "north", "seven", "lantern", "copper", "quiet", "orbit", "meadow", "signal", "harbour", "velvet",
	"cedar", "prism", "marble", "winter", "compass", "échelle", "Brücke", "niño", "море", "東", "falcon", "granite",
	"island", "thread", "oxide", "garden", "ember", "tundra", "violin", "zenith",
}

func (g *generator) word() string { return vocabulary[g.below(len(vocabulary))] }

// text draws a text that has the pattern or the format, and the length, asked for.
func (g *generator) text(s map[string]any) (any, error) {
	least, most := count(s, "minLength", 0), count(s, "maxLength", math.MaxInt)
	if least > most {
		return nil, fmt.Errorf("no text is at least %d and at most %d characters long", least, most)
	}
	if least > largest {
		return nil, errLarge
	}
	fits := func(t string) bool { n := utf8.RuneCountInString(t); return n >= least && n <= most }
	if pattern, ok := s["pattern"].(string); ok {
		return g.matching(pattern, fits)
	}
	if format, ok := s["format"].(string); ok {
		if t := g.formatted(format); t != "" && fits(t) {
			return t, nil
		}
	}
	var words []string
	length := 0
	for n := 1 + g.below(3); n > 0 || length < least; n-- {
		w := g.word()
		words = append(words, w)
		length += utf8.RuneCountInString(w) + 1
	}
	runes := []rune(strings.Join(words, " "))
	if len(runes) > most {
		runes = runes[:most]
	}
	for i := len(runes) - 1; i >= 0 && runes[i] == ' '; i-- { // a cut must not end in a blank
		runes[i] = 'x'
	}
	for len(runes) < least {
		runes = append(runes, 'x')
	}
	return string(runes), nil
}

func (g *generator) formatted(format string) string {
	day := fmt.Sprintf("%04d-%02d-%02d", 1990+g.below(40), 1+g.below(12), 1+g.below(28))
	clock := fmt.Sprintf("%02d:%02d:%02dZ", g.below(24), g.below(60), g.below(60))
	host := fmt.Sprintf("host%d.example", g.below(1000))
	switch format {
	case "date":
		return day
	case "time":
		return clock
	case "date-time":
		return day + "T" + clock
	case "uri", "iri", "uri-reference", "iri-reference", "url":
		return "https://" + host + "/" + fmt.Sprint(g.below(100_000))
	case "email", "idn-email":
		return fmt.Sprintf("user%d@%s", g.below(1000), host)
	case "hostname", "idn-hostname":
		return host
	case "ipv4":
		return fmt.Sprintf("192.0.2.%d", g.below(256))
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x", 1+g.below(0xffff))
	case "uuid":
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", g.below(1<<32), g.below(1<<16), g.below(1<<12), g.below(1<<12), g.below(1<<48))
	}
	return ""
}

// matching draws texts from a pattern until one has the length, too.
func (g *generator) matching(pattern string, fits func(string) bool) (string, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", fmt.Errorf("the pattern %q cannot be read: %w", pattern, err)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", fmt.Errorf("the pattern %q cannot be read: %w", pattern, err)
	}
	for n := range draws {
		var b strings.Builder
		g.expand(&b, parsed, 1+n/4)
		if t := b.String(); fits(t) && re.MatchString(t) {
			return t, nil
		}
		// A pattern without anchors holds in a longer text as well.
		b.WriteString(strings.Repeat("x", n))
		if t := b.String(); fits(t) && re.MatchString(t) {
			return t, nil
		}
	}
	return "", fmt.Errorf("no text for the pattern %q was found", pattern)
}

// expand writes a text that an expression matches; repeat bounds open repetitions.
func (g *generator) expand(b *strings.Builder, e *syntax.Regexp, repeat int) {
	times := func(n int) {
		for range n {
			g.expand(b, e.Sub[0], repeat)
		}
	}
	switch e.Op {
	case syntax.OpLiteral:
		b.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		b.WriteRune(g.member(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(byte('a' + g.below(26)))
	case syntax.OpCapture:
		times(1)
	case syntax.OpStar:
		times(g.below(repeat + 1))
	case syntax.OpPlus:
		times(1 + g.below(repeat))
	case syntax.OpQuest:
		times(g.below(2))
	case syntax.OpRepeat:
		most := e.Max
		if most < 0 {
			most = e.Min + repeat
		}
		times(e.Min + g.below(most-e.Min+1))
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			g.expand(b, sub, repeat)
		}
	case syntax.OpAlternate:
		g.expand(b, e.Sub[g.below(len(e.Sub))], repeat)
	}
}

// member draws from a character class, given as pairs of bounds: a letter or
// digit of ASCII where it has one.
func (g *generator) member(class []rune) rune {
	var plain []rune
	for i := 0; i+1 < len(class); i += 2 {
		for r := max(class[i], '0'); r <= min(class[i+1], 'z'); r++ {
			if r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' {
				plain = append(plain, r)
			}
		}
	}
	if len(plain) > 0 {
		return plain[g.below(len(plain))]
	}
	if len(class) < 2 {
		return 'x'
	}
	i := 2 * g.below(len(class)/2)
	return class[i] + rune(g.below(int(class[i+1]-class[i])+1))
}

func matches(pattern, name string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(name)
}
