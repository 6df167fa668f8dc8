package text

import (
	"strings"
	"sync"
	"unicode"
)

// Rules are phrase rules, compiled: what a text may not say, with the cases in
// which it may. They are data, so that a person can add a word. Their JSON form:
//
//	{
//	  "sets": {
//	    "unit": ["day", "days", "week", "weeks"],
//	    "few":  ["a", "two", "a couple of", "{1-999}"],
//	    "role": ["president", "champion", "name"]
//	  },
//	  "rules": [
//	    "right now",
//	    {"name": "now", "phrases": ["now"], "except": {"before": ["-"]}},
//	    {"name": "this week", "phrases": ["this|last|next {unit}"], "except": {"after": ["the"]}},
//	    {"name": "ago", "phrases": ["{few} {unit} ago"]},
//	    {"name": "current", "phrases": ["current {up to 2 words} {role}"]},
//	    {"name": "until now", "phrases": ["{year} - present|now"]}
//	  ]
//	}
//
// A rule is a phrase, or an object with phrases and perhaps a name, exceptions and
// a note for people. A list of rules alone is a document, too; it has no sets.
//
// A phrase is words, separated by spaces; case does not matter. In the place of a
// word may stand
//
//	a|b                   one of several
//	{unit}                an element of a set, which may be several words;
//	                      {1-999|few} is a number of the range, or of the set
//	{year}                a year of four digits, 1000 to 2999
//	{up to 2 words}       at most so many words of any kind, with "not in SET" none
//	                      of these; only between others
//	word?                 a word that may be missing, between others
//	word*                 every word that begins so
//	-                     a dash of any kind, with spaces around it or without
//
// An element of a set is words, a number range or another set.
//
// Where an exception holds, a place where the rule's phrase stands does not count:
// "after" lists what stands right before it, "before" what follows, both as phrases,
// with a hyphen at the side of the place where one joins them (then-, -extinct; a
// hyphen alone stands for any word that is joined so). "text" lists what stands
// anywhere in the text.
//
// Texts are read in NFKC in their own case. Titles do not count: what stands in
// quotation marks or is emphasised (*so* or _so_), and a place whose first letter is
// upper case in mid-sentence, unless the text is in capitals throughout or the rule
// writes the word with a capital itself. Words are whole: the letters, marks and
// numbers between others, of any script. In scripts that are written without spaces
// a phrase may stand anywhere, and a space in a phrase may be missing.
type Rules struct {
	rules   []rule
	phrases []*phrase // in order of declaration

	// What a phrase may begin with leads to the phrases, by their numbers.
	words    map[string][]int
	prefixes map[string][]int
	lengths  []int // of the prefixes, each once
	numbers  []int

	finders sync.Pool // of *finder: a search needs room, and there are many
}

// rule is a rule without its phrases.
type rule struct {
	name                string
	after, before, text []*pattern
}

// phrase is one phrase of a rule.
type phrase struct {
	source  string
	rule    int
	pattern *pattern
	// capital phrases are written with a capital: an upper-case letter makes no
	// proper name of them.
	capital bool
}

// Match is a place where a rule's phrase stands.
type Match struct {
	Rule   string // the rule's name; where it has none, its phrase
	Phrase string // as the rule has it
	Text   string // as the text has it, in NFKC
	At     int    // where Text begins, in bytes of the NFKC form
}

// Find gives the first place in s that a rule rejects. Where several begin at one
// word, the rule that is declared first is named. Its cost grows with the length of
// the text and not with the number of rules: a word leads to the phrases that begin
// with it.
func (r *Rules) Find(s string) (Match, bool) {
	f, _ := r.finders.Get().(*finder)
	if f == nil {
		f = &finder{rules: r}
	}
	defer func() {
		if cap(f.in.tokens) <= 1024 { // the room for a long text is not kept
			r.finders.Put(f)
		}
	}()
	f.in = read(s, f.in.tokens[:0])
	clear(f.excused)
	for i := range f.in.tokens {
		if m, ok := f.at(i); ok {
			return m, true
		}
	}
	return Match{}, false
}

// finder is a search in one text.
type finder struct {
	rules *Rules
	in    reading
	// excused tells of each rule whether its exception "text" holds: 0 not known
	// yet, 1 no, 2 yes. It is asked once, so that a text that repeats a word is not
	// searched each time.
	excused []byte
	ends    [2][]end
}

// at looks for a phrase that begins with the token i and counts.
func (f *finder) at(i int) (Match, bool) {
	t := &f.in.tokens[i]
	best, until := -1, 0
	try := func(numbers []int) {
		for _, n := range numbers {
			if best >= 0 && n >= best {
				break // numbers ascend
			}
			if end, ok := f.counts(f.rules.phrases[n], i); ok {
				best, until = n, end
				break
			}
		}
	}
	switch t.kind {
	case blankToken:
		return Match{}, false
	case numberToken:
		try(f.rules.numbers)
	}
	try(f.rules.words[t.word])
	for _, length := range f.rules.lengths {
		if length <= len(t.word) {
			try(f.rules.prefixes[t.word[:length]])
		}
	}
	if best < 0 {
		return Match{}, false
	}
	p := f.rules.phrases[best]
	from, to := t.start, f.in.tokens[until-1].end
	return Match{Rule: f.rules.rules[p.rule].name, Phrase: p.source, Text: f.in.s[from:to], At: from}, true
}

// counts reports whether p stands at the token i, is no proper name there, and no
// exception holds; then it gives the token behind it.
func (f *finder) counts(p *phrase, i int) (int, bool) {
	t := &f.in.tokens[i]
	if t.upper && !t.opens && f.in.lower && !p.capital {
		return 0, false
	}
	ends := f.match(p.pattern, i)
	if len(ends) == 0 {
		return 0, false
	}
	rule := &f.rules.rules[p.rule]
	if len(rule.after)+len(rule.before)+len(rule.text) == 0 {
		return ends[0].token, true
	}
	// The ends are needed after other patterns were matched.
	var space [8]end
	for _, end := range append(space[:0], ends...) {
		if !f.followed(rule.before, end.token) && !f.preceded(rule.after, i) && !f.isExcused(p.rule) {
			return end.token, true
		}
	}
	return 0, false
}

// preceded reports whether one of the patterns ends right before the token i.
func (f *finder) preceded(patterns []*pattern, i int) bool {
	if i == 0 {
		return false
	}
	for _, p := range patterns {
		if !f.in.joined(p.last, i) {
			continue
		}
		if len(p.elements) == 0 {
			return true
		}
		for from := max(0, i-p.longest); from < i; from++ {
			for _, end := range f.match(p, from) {
				if end.token == i {
					return true
				}
			}
		}
	}
	return false
}

// followed reports whether one of the patterns begins at the token i.
func (f *finder) followed(patterns []*pattern, i int) bool {
	if i == len(f.in.tokens) {
		return false
	}
	for _, p := range patterns {
		if f.in.joined(p.first, i) && (len(p.elements) == 0 || len(f.match(p, i)) > 0) {
			return true
		}
	}
	return false
}

// isExcused reports whether the exception "text" of a rule holds.
func (f *finder) isExcused(n int) bool {
	patterns := f.rules.rules[n].text
	if len(patterns) == 0 {
		return false
	}
	if f.excused == nil {
		f.excused = make([]byte, len(f.rules.rules))
	}
	if f.excused[n] == 0 {
		f.excused[n] = 1
	search:
		for _, p := range patterns {
			for i := range f.in.tokens {
				if len(f.match(p, i)) > 0 {
					f.excused[n] = 2
					break search
				}
			}
		}
	}
	return f.excused[n] == 2
}

// end is where a part of a pattern ends: before which token, and whether a gap with
// words in it stands there, behind which a word may be joined by a hyphen.
type end struct {
	token int
	gap   bool
}

// match gives the tokens before which p ends when it begins at the token i. All
// ways are followed at once, each place once, so that no pattern costs more than
// its length times the places that it reaches.
func (f *finder) match(p *pattern, i int) []end {
	here, next := append(f.ends[0][:0], end{token: i}), f.ends[1][:0]
	for n := range p.elements {
		e := &p.elements[n]
		next = next[:0]
		for _, from := range here {
			if e.optional {
				next = appendEnd(next, from)
			}
			if e.gap > 0 {
				next = f.in.appendGap(next, e, from.token)
				continue
			}
			next = f.in.appendElement(next, e, from, n == 0)
		}
		if here, next = next, here; len(here) == 0 {
			break
		}
	}
	f.ends = [2][]end{here, next}
	return here
}

func appendEnd(ends []end, e end) []end {
	for _, known := range ends {
		if known == e {
			return ends
		}
	}
	return append(ends, e)
}

// appendElement adds the ends of the alternatives of e that stand at from.
func (in *reading) appendElement(ends []end, e *element, from end, first bool) []end {
	i := from.token
	if i >= len(in.tokens) {
		return ends
	}
	joint := e.joint
	switch {
	case first:
		joint = anyJoint
	case from.gap && joint == spaceJoint:
		joint = gapJoint
	}
	t := &in.tokens[i]
	if t.kind == blankToken || !in.joined(joint, i) && t.joint != apostropheJoint {
		return ends
	}
	for _, alternative := range e.set.exact[t.word] {
		ends = in.appendAlternative(ends, alternative, joint, i)
	}
	for _, alternative := range e.set.others {
		ends = in.appendAlternative(ends, alternative, joint, i)
	}
	return ends
}

func (in *reading) appendAlternative(ends []end, a alternative, joint joint, i int) []end {
	for n := range a {
		if n > 0 || a[0].joint == apostropheJoint {
			joint = a[n].joint
		}
		if i+n >= len(in.tokens) || !in.joined(joint, i+n) || !a[n].is(&in.tokens[i+n]) {
			return ends
		}
	}
	return appendEnd(ends, end{token: i + len(a)})
}

// longestField is how many parts a word of a gap may have: world-record-holder has three.
const longestField = 8

// appendGap adds the ends of a gap that begins before the token i: where there is
// no word in it, one, and so on. Its words are what stands between spaces.
func (in *reading) appendGap(ends []end, e *element, i int) []end {
	ends = appendEnd(ends, end{token: i})
	for range e.gap {
		if i >= len(in.tokens) || !in.joined(gapJoint, i) || in.tokens[i].joint == hyphenJoint {
			break
		}
		for parts := 0; ; parts++ {
			if parts == longestField || e.without.has(&in.tokens[i]) {
				return ends
			}
			i++
			if i == len(in.tokens) || !in.joined(fieldJoint, i) {
				break
			}
			ends = appendEnd(ends, end{i, true})
		}
		ends = appendEnd(ends, end{i, true})
	}
	return ends
}

// is reports whether t is what a says.
func (a *atom) is(t *token) bool {
	switch {
	case a.year:
		return t.year
	case a.high > 0:
		return t.kind == numberToken && t.value >= a.low && t.value <= a.high
	case a.prefix:
		return t.kind == wordToken && strings.HasPrefix(t.word, a.word)
	}
	return t.kind != blankToken && t.word == a.word
}

// has reports whether a set has the token as an element of one word.
func (s *oneOf) has(t *token) bool {
	if s == nil || t.kind == blankToken {
		return false
	}
	for _, a := range s.exact[t.word] {
		if len(a) == 1 {
			return true
		}
	}
	for _, a := range s.others {
		if len(a) == 1 && a[0].is(t) {
			return true
		}
	}
	return false
}

// foldWord folds a word of a text in NFKC, rune by rune. It tells nothing apart that
// a phrase could mean, and needs no tables; what is folded by it is compared with
// nothing else.
func foldWord(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = strings.Map(func(r rune) rune {
		if r == 'ı' { // a letter of its own, although its capital is that of i
			return r
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, s)
	return strings.ReplaceAll(s, "ß", "ss")
}
