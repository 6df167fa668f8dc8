package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a document of rules. They keep a slip from becoming a program.
const (
	maxRulesBytes   = 1 << 20
	maxAlternatives = 50_000 // in all sets and phrases, with those that a set takes over
)

// CompileRules reads phrase rules. An error names the rule and the phrase or member,
// and says what to write instead.
func CompileRules(raw []byte) (*Rules, error) {
	if len(raw) > maxRulesBytes {
		return nil, fmt.Errorf("the rules have %d bytes; at most %d are read", len(raw), maxRulesBytes)
	}
	if err := valid(raw); err != nil {
		return nil, fmt.Errorf("the rules are no JSON: %w", err)
	}
	c := &compiler{sets: map[string]*oneOf{}, open: map[string]bool{}}
	list, err := c.document(jsontext.Value(raw))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New(`there is no rule, so nothing would be refused; write at least one phrase: ["right now"]`)
	}
	out := &Rules{words: map[string][]int{}, prefixes: map[string][]int{}}
	for i, v := range list {
		if err := c.rule(out, v); err != nil {
			return nil, fmt.Errorf("rules[%d]%w", i, err)
		}
	}
	for prefix := range out.prefixes {
		if !slices.Contains(out.lengths, len(prefix)) {
			out.lengths = append(out.lengths, len(prefix))
		}
	}
	slices.Sort(out.lengths)
	return out, nil
}

// compiler is what is known while rules are read.
type compiler struct {
	raw   map[string]jsontext.Value // the sets as they are written
	sets  map[string]*oneOf
	open  map[string]bool // sets that are being read
	names []string        // of the rules
	count int             // of alternatives
}

func valid(raw []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if err := dec.SkipValue(); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return errors.New("more than one value")
	}
	return nil
}

const documentForm = `write a list of rules, or {"sets": {…}, "rules": […]}`

// document reads the outermost value and all sets, and gives the rules.
func (c *compiler) document(raw jsontext.Value) ([]jsontext.Value, error) {
	switch raw.Kind() {
	case '[':
		return elements(raw)
	case '{':
	default:
		return nil, fmt.Errorf("the rules are %s: %s", nameOf(raw), documentForm)
	}
	object, err := membersOf(raw, "note", "rules", "sets")
	if err != nil {
		return nil, err
	}
	switch object["rules"].Kind() {
	case '[':
	case 0:
		return nil, fmt.Errorf("there is no member rules: %s", documentForm)
	default:
		return nil, fmt.Errorf(`rules is %s; write a list: ["right now"]`, nameOf(object["rules"]))
	}
	if sets, ok := object["sets"]; ok {
		if sets.Kind() != '{' {
			return nil, fmt.Errorf(`sets is %s; write an object of lists: {"unit": ["day", "days"]}`, nameOf(sets))
		}
		if c.raw, err = membersOf(sets); err != nil {
			return nil, fmt.Errorf("sets: %w", err)
		}
		for _, name := range slices.Sorted(maps.Keys(c.raw)) {
			if _, err := c.set(name); err != nil {
				return nil, err
			}
		}
	}
	return elements(object["rules"])
}

func elements(raw jsontext.Value) ([]jsontext.Value, error) {
	var list []jsontext.Value
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("the rules are no JSON: %w", err)
	}
	return list, nil
}

// membersOf takes an object apart; where names are given, it has no others.
func membersOf(raw jsontext.Value, names ...string) (map[string]jsontext.Value, error) {
	var object map[string]jsontext.Value
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if len(names) > 0 && !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no member %q; what there is: %s", name, listed(names))
		}
	}
	return object, nil
}

// listed is a list for people: a, b and c.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func nameOf(raw jsontext.Value) string {
	switch raw.Kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case '{':
		return "an object"
	}
	return "a list"
}

// texts reads a list of texts. A text alone is none: a list is easier to add to.
func texts(member string, raw jsontext.Value) ([]string, error) {
	if raw.Kind() != '[' {
		return nil, fmt.Errorf(`%s is %s; write a list of texts: ["…"]`, member, nameOf(raw))
	}
	list, err := elements(raw)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(list))
	for i, v := range list {
		if v.Kind() != '"' {
			return nil, fmt.Errorf("%s[%d] is %s; write a text", member, i, nameOf(v))
		}
		if err := json.Unmarshal(v, &out[i]); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", member, i, err)
		}
	}
	return out, nil
}

// rule reads one rule into out. Its errors go on after "rules[3]".
func (c *compiler) rule(out *Rules, raw jsontext.Value) error {
	switch raw.Kind() {
	case '"':
		var source string
		if err := json.Unmarshal(raw, &source); err != nil {
			return fmt.Errorf(": %w", err)
		}
		out.rules = append(out.rules, rule{name: source})
		if err := c.phrase(out, source); err != nil {
			return fmt.Errorf(" %q: %w", source, err)
		}
		return nil
	case '{':
	default:
		return fmt.Errorf(` is %s; write a phrase, or an object: {"name": "now", "phrases": ["now"]}`, nameOf(raw))
	}
	object, err := membersOf(raw, "except", "name", "note", "phrases")
	if err != nil {
		return fmt.Errorf(": %w", err)
	}
	r := rule{}
	called := ""
	if name, ok := object["name"]; ok {
		if name.Kind() != '"' || json.Unmarshal(name, &r.name) != nil || strings.TrimSpace(r.name) == "" {
			return errors.New(": its name is no text; write one, or leave the name out")
		}
		if slices.Contains(c.names, r.name) {
			return fmt.Errorf(" %q: another rule has this name; give one of them another", r.name)
		}
		c.names = append(c.names, r.name)
		called = fmt.Sprintf(" %q", r.name)
	}
	if _, ok := object["phrases"]; !ok {
		return fmt.Errorf(`%s: there are no phrases; write "phrases": ["…"]`, called)
	}
	phrases, err := texts("phrases", object["phrases"])
	if err != nil {
		return fmt.Errorf("%s: %w", called, err)
	}
	if len(phrases) == 0 {
		return fmt.Errorf("%s: phrases is empty; write at least one, or remove the rule", called)
	}
	if r.name == "" {
		r.name = phrases[0]
	}
	if except, ok := object["except"]; ok {
		if err := c.exceptions(&r, except); err != nil {
			return fmt.Errorf("%s: %w", called, err)
		}
	}
	out.rules = append(out.rules, r)
	for i, source := range phrases {
		if err := c.phrase(out, source); err != nil {
			return fmt.Errorf("%s, phrases[%d] %q: %w", called, i, source, err)
		}
	}
	return nil
}

// phrase adds a phrase to the rule that was added last.
func (c *compiler) phrase(out *Rules, source string) error {
	p, err := c.pattern(source)
	if err != nil {
		return err
	}
	n := len(out.phrases)
	phrase := &phrase{source: source, rule: len(out.rules) - 1, pattern: p, capital: true}
	add := func(to map[string][]int, word string) {
		if list := to[word]; len(list) == 0 || list[len(list)-1] != n {
			to[word] = append(list, n)
		}
	}
	for _, a := range p.elements[0].set.alternatives {
		first := a[0]
		phrase.capital = phrase.capital && first.upper
		switch {
		case first.year || first.high > 0:
			if len(out.numbers) == 0 || out.numbers[len(out.numbers)-1] != n {
				out.numbers = append(out.numbers, n)
			}
		case first.prefix:
			add(out.prefixes, first.word)
		default:
			add(out.words, first.word)
		}
	}
	out.phrases = append(out.phrases, phrase)
	return nil
}

func (c *compiler) exceptions(r *rule, raw jsontext.Value) error {
	const form = `write {"after": ["the"], "before": ["-"], "text": ["{year}"]}, each where it is needed`
	if raw.Kind() != '{' {
		return fmt.Errorf("except is %s; %s", nameOf(raw), form)
	}
	object, err := membersOf(raw, "after", "before", "text")
	if err != nil {
		return fmt.Errorf("except: %w", err)
	}
	for _, member := range []struct {
		name string
		to   *[]*pattern
	}{{"after", &r.after}, {"before", &r.before}, {"text", &r.text}} {
		v, ok := object[member.name]
		if !ok {
			continue
		}
		list, err := texts("except."+member.name, v)
		if err != nil {
			return err
		}
		for i, source := range list {
			p, err := c.beside(member.name, source)
			if err != nil {
				return fmt.Errorf("except.%s[%d] %q: %w", member.name, i, source, err)
			}
			*member.to = append(*member.to, p)
		}
	}
	return nil
}

// beside reads a phrase of an exception, with the hyphen that may join it.
func (c *compiler) beside(member, source string) (*pattern, error) {
	rest, first, last := strings.TrimSpace(source), spaceJoint, spaceJoint
	switch {
	case member == "after" && strings.HasSuffix(rest, "-"):
		rest, last = strings.TrimSuffix(rest, "-"), hyphenJoint
	case member == "before" && strings.HasPrefix(rest, "-"):
		rest, first = strings.TrimPrefix(rest, "-"), hyphenJoint
	}
	if rest == "" && rest != strings.TrimSpace(source) {
		return &pattern{first: first, last: last}, nil
	}
	if rest != strings.TrimSpace(rest) {
		return nil, errors.New("a hyphen joins without a space: then-, -extinct")
	}
	p, err := c.pattern(rest)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(p.elements, func(e element) bool { return e.gap > 0 }) {
		return nil, errors.New("an exception has no {up to … words}; write the words out")
	}
	p.first, p.last = first, last
	return p, nil
}
