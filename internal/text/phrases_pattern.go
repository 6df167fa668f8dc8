package text

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// pattern is a phrase, compiled.
type pattern struct {
	elements    []element
	first, last joint // of an exception: what stands between it and its place
	longest     int   // how many tokens it has at most, without gaps
}

// element is a part of a pattern: alternatives, or a gap.
type element struct {
	joint    joint // what stands before it
	optional bool
	set      *oneOf

	gap     int    // how many words a gap may have; then there is no set
	without *oneOf // what none of them may be
}

// oneOf is a list of alternatives, found by the word that each begins with.
type oneOf struct {
	alternatives []alternative
	exact        map[string][]alternative
	others       []alternative // that begin with a prefix or a number
	longest      int           // tokens
}

// alternative is words in a row.
type alternative []atom

// atom is one token of a phrase: a word, its beginning, or a number.
type atom struct {
	word      string // folded
	joint     joint  // what stands before it, unless it is the first
	prefix    bool
	upper     bool // it is written with a capital
	year      bool
	low, high float64 // a number of this range, where high is not 0
}

const (
	maxElements = 32
	maxGap      = 10
)

var (
	gapForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\{\s*up to (\d+) words?(?:\s+not in\s+(\S+))?\s*\}$`)
	})
	rangeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,9})\s*-\s*(\d{1,9})$`) })
	setName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]*$`) })
)

// pattern compiles a phrase.
func (c *compiler) pattern(source string) (*pattern, error) {
	pieces, err := piecesOf(source)
	if err != nil {
		return nil, err
	}
	p := &pattern{first: spaceJoint, last: spaceJoint}
	joint := spaceJoint
	for i, piece := range pieces {
		if isDashes(piece) {
			if i == 0 || i == len(pieces)-1 || joint == dashJoint {
				return nil, errors.New("a dash stands between two words")
			}
			joint = dashJoint
			continue
		}
		e, err := c.element(piece)
		if err != nil {
			return nil, err
		}
		if outer := i == 0 || i == len(pieces)-1; outer && (e.gap > 0 || e.optional) {
			return nil, fmt.Errorf("%s says nothing at the beginning or the end of a phrase; leave it out", piece)
		}
		if joint == dashJoint && (e.gap > 0 || e.optional) {
			return nil, errors.New("behind a dash stands a word that is always there")
		}
		e.joint, joint = joint, spaceJoint
		p.elements = append(p.elements, e)
		if e.set != nil {
			p.longest += e.set.longest
		}
	}
	switch {
	case len(p.elements) == 0:
		return nil, errors.New("a phrase has at least one word")
	case len(p.elements) > maxElements:
		return nil, fmt.Errorf("a phrase has at most %d words", maxElements)
	}
	return p, nil
}

// piecesOf splits a phrase at its spaces, but not within braces.
func piecesOf(source string) ([]string, error) {
	var pieces []string
	start, depth := -1, 0
	for i, c := range source {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		if depth < 0 || depth > 1 {
			return nil, errors.New("braces go in pairs, and not within each other: {unit}")
		}
		space := depth == 0 && strings.ContainsRune(" \t\r\n\u00a0\u3000", c)
		if space && start >= 0 {
			pieces, start = append(pieces, source[start:i]), -1
		} else if !space && start < 0 {
			start = i
		}
	}
	if depth > 0 {
		return nil, errors.New("a brace is not closed: {unit}")
	}
	if start >= 0 {
		pieces = append(pieces, source[start:])
	}
	return pieces, nil
}

func isDashes(piece string) bool {
	return strings.TrimFunc(piece, isDash) == ""
}

func (c *compiler) element(piece string) (element, error) {
	if m := gapForm().FindStringSubmatch(piece); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n < 1 || n > maxGap {
			return element{}, fmt.Errorf("%s: a gap has 1 to %d words", piece, maxGap)
		}
		e := element{gap: n}
		if m[2] != "" {
			e.without, err = c.set(m[2])
		}
		return e, err
	}
	rest, optional := strings.CutSuffix(piece, "?")
	s, err := c.alternatives(rest)
	return element{set: s, optional: optional}, err
}

// alternatives reads a|{set}|{1-9}. A set alone is shared, not copied.
func (c *compiler) alternatives(piece string) (*oneOf, error) {
	var all []alternative
	parts := splitBars(piece)
	for _, part := range parts {
		inner, braced := strings.CutPrefix(part, "{")
		if !braced {
			a, err := c.words(part)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
			continue
		}
		inner, ok := strings.CutSuffix(inner, "}")
		if !ok {
			return nil, fmt.Errorf("%s: words and braces stand apart, or with | between them", part)
		}
		names := strings.Split(inner, "|")
		for _, name := range names {
			s, err := c.named(strings.TrimSpace(name))
			if err != nil {
				return nil, err
			}
			if len(parts) == 1 && len(names) == 1 {
				return s, nil
			}
			all = append(all, s.alternatives...)
		}
	}
	return c.newSet(all)
}

// splitBars splits at the bars that stand outside of braces.
func splitBars(piece string) []string {
	var parts []string
	start, depth := 0, 0
	for i, c := range piece {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		case '|':
			if depth == 0 {
				parts, start = append(parts, piece[start:i]), i+1
			}
		}
	}
	return append(parts, piece[start:])
}

// named is what a name in braces stands for.
func (c *compiler) named(name string) (*oneOf, error) {
	if name == "year" {
		return c.newSet([]alternative{{{year: true}}})
	}
	if m := rangeForm().FindStringSubmatch(name); m != nil {
		low, _ := strconv.ParseFloat(m[1], 64)
		high, _ := strconv.ParseFloat(m[2], 64)
		if low > high || high == 0 {
			return nil, fmt.Errorf("{%s} holds no number; write the smaller one first, and a second one above 0", name)
		}
		return c.newSet([]alternative{{{low: low, high: high}}})
	}
	return c.set(name)
}

// set is a set by its name, compiled when it is first asked for.
func (c *compiler) set(name string) (*oneOf, error) {
	if s := c.sets[name]; s != nil {
		return s, nil
	}
	raw, ok := c.raw[name]
	switch {
	case strings.HasPrefix(name, "up to "):
		return nil, fmt.Errorf("{%s} is no gap; write {up to 2 words}, or {up to 2 words not in SET}", name)
	case !ok && len(c.raw) == 0:
		return nil, fmt.Errorf(`there is no set %q, nor any other; write "sets": {%q: ["…"]}`, name, name)
	case !ok:
		return nil, fmt.Errorf("there is no set %q; what there is: %s", name, listed(slices.Sorted(maps.Keys(c.raw))))
	case name == "year":
		return nil, errors.New(`sets: {year} is a year of four digits; give the set "year" another name`)
	case !setName().MatchString(name):
		return nil, fmt.Errorf("sets: %q is no name of a set; write a small letter, then small letters, digits and _", name)
	case c.open[name]:
		return nil, fmt.Errorf("sets: %q stands for itself; write its elements out", name)
	}
	c.open[name] = true
	defer delete(c.open, name)
	list, err := texts("sets."+name, raw)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("sets.%s is empty; write its elements, or remove it", name)
	}
	var all []alternative
	for i, source := range list {
		more, err := c.setElement(source)
		if err != nil {
			return nil, fmt.Errorf("sets.%s[%d] %q: %w", name, i, source, err)
		}
		all = append(all, more...)
		if len(all) > maxAlternatives {
			return nil, tooMany()
		}
	}
	s, err := c.newSet(all)
	c.sets[name] = s
	return s, err
}

// setElement reads words, or a set or a range in braces.
func (c *compiler) setElement(source string) ([]alternative, error) {
	source = strings.TrimSpace(source)
	if strings.ContainsAny(source, "{}") {
		inner, first := strings.CutPrefix(source, "{")
		inner, last := strings.CutSuffix(inner, "}")
		if !first || !last || strings.ContainsAny(inner, "{}") {
			return nil, errors.New("an element of a set is words, or one pair of braces: {unit}")
		}
		s, err := c.named(inner)
		if err != nil {
			return nil, err
		}
		return s.alternatives, nil
	}
	a, err := c.words(source)
	return []alternative{a}, err
}

func tooMany() error {
	return fmt.Errorf("there are more than %d words and alternatives; leave some out", maxAlternatives)
}

func (c *compiler) newSet(all []alternative) (*oneOf, error) {
	if c.count += len(all); c.count > maxAlternatives {
		return nil, tooMany()
	}
	s := &oneOf{alternatives: all, exact: map[string][]alternative{}}
	for _, a := range all {
		s.longest = max(s.longest, len(a))
		if a[0].prefix || a[0].year || a[0].high > 0 {
			s.others = append(s.others, a)
		} else {
			s.exact[a[0].word] = append(s.exact[a[0].word], a)
		}
	}
	return s, nil
}

// words reads words in a row, as a text has them. Within a phrase they are one, with
// what joins its parts (then-current, aujourd'hui); an element of a set has spaces.
func (c *compiler) words(source string) (alternative, error) {
	rest := strings.TrimSpace(source)
	first, size := utf8.DecodeRuneInString(rest)
	leading := isApostrophe(first) // 's is joined to the word before it
	if leading {
		rest = rest[size:]
	}
	var a alternative
	for _, field := range strings.Fields(rest) {
		bare, prefix := strings.CutSuffix(field, "*")
		in := read(bare, nil)
		if len(in.tokens) == 0 || in.tokens[0].start > 0 || in.tokens[len(in.tokens)-1].end < len(in.s) {
			return nil, notWords(field)
		}
		for i, t := range in.tokens {
			joint := t.joint
			if i == 0 && len(a) > 0 {
				joint = spaceJoint
			}
			if t.kind == blankToken || i > 0 && joint != noJoint && joint != apostropheJoint && joint != hyphenJoint {
				return nil, notWords(field)
			}
			a = append(a, atom{word: t.word, joint: joint, upper: t.upper})
		}
		if prefix {
			last := in.tokens[len(in.tokens)-1]
			if last.kind != wordToken {
				return nil, fmt.Errorf("%s: only a word of letters with spaces around it can be the beginning of others", field)
			}
			a[len(a)-1].prefix = true
		}
	}
	switch {
	case len(a) == 0:
		return nil, errors.New("a word is missing")
	case len(a) > maxElements:
		return nil, fmt.Errorf("there are more than %d words in a row", maxElements)
	}
	if leading {
		a[0].joint = apostropheJoint
	}
	return a, nil
}

func notWords(field string) error {
	return fmt.Errorf("%q is no word; write letters and digits, a hyphen or an apostrophe only within a word, and no other punctuation", field)
}
