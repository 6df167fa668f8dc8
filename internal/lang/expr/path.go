package expr

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
)

// path is a place in a document that an expression reads: a name and steps.
type path struct {
	name  dag.Name
	slot  int // of the name in the frame
	steps []step
	text  string // as written: item.w[0].url
	rng   hcl.Range
}

// step goes from a value to a part of it.
type step struct {
	attr     string // name of an attribute; empty where isIndex
	quoted   []byte // attr as it stands in canonical JSON
	index    int
	isIndex  bool
	either   bool // of get: "0" is a name in an object and an index in a list
	declared bool // a schema names the attribute: absent, it reads as null
	rng      hcl.Range
}

func attrStep(name string, rng hcl.Range) step {
	return step{attr: name, quoted: quote(name), rng: rng}
}

func indexStep(n int, rng hcl.Range) step { return step{index: n, isIndex: true, rng: rng} }

// text is the step as it is written after a name.
func (s step) text() string {
	switch {
	case s.isIndex:
		return "[" + itoa(s.index) + "]"
	case hclsyntax.ValidIdentifier(s.attr):
		return "." + s.attr
	}
	return "[" + string(s.quoted) + "]"
}

func stepsText(steps []step) string {
	var sb strings.Builder
	for _, s := range steps {
		sb.WriteString(s.text())
	}
	return sb.String()
}

// problem says why a path cannot be read in a document: at which step, and
// what stands before it.
type problem struct {
	at     int
	before []byte // the raw value that the step was taken from
	broken bool
}

// follow takes steps from a raw value. Where the schema names what is absent
// the result is null.
func follow(raw []byte, steps []step) ([]byte, *problem) {
	for i := range steps {
		s := &steps[i]
		next, ok := take(raw, s)
		if !ok {
			return nil, &problem{at: i, before: raw, broken: len(raw) == 0 || raw[0] == '{' || raw[0] == '['}
		}
		if next == nil {
			if !s.declared {
				return nil, &problem{at: i, before: raw}
			}
			next = rawNull
		}
		raw = next
	}
	return raw, nil
}

// take goes one step; nil: nothing there. ok is false where raw has no parts of
// that sort at all.
func take(raw []byte, s *step) (next []byte, ok bool) {
	switch k := kindOf(raw); {
	case (s.isIndex || s.either) && k == kindList:
		return element(raw, s.index)
	case !s.isIndex && k == kindObject:
		return member(raw, s.quoted)
	case s.isIndex && k == kindObject, !s.isIndex && k == kindList:
		return nil, true
	}
	return nil, false
}

// explain words a problem for people: what is there, and what to write.
func (p *problem) explain(root string, steps []step) string {
	s := steps[p.at]
	parent := root + stepsText(steps[:p.at])
	switch k := kindOf(p.before); {
	case p.broken:
		return fmt.Sprintf("%s is not canonical JSON.", parent)
	case k == kindNull:
		return fmt.Sprintf("%s is null here, so %s%s cannot be read. Guard it (%s != null && …), or write get(%s, %s, DEFAULT).",
			parent, parent, s.text(), parent, parent, getPath(steps[p.at:]))
	case k == kindList && s.isIndex:
		n := 0
		eachElement(p.before, func([]byte) bool { n++; return true })
		return fmt.Sprintf("%s has %s, so there is none at index %d.", parent, plural(n, "element"), s.index)
	case k == kindList:
		return fmt.Sprintf("%s is a list, which has no attribute %q. One element is %s[0]%s, all are %s[*]%s.",
			parent, s.attr, parent, s.text(), parent, s.text())
	case k == kindObject && s.isIndex:
		return fmt.Sprintf("%s is an object, which has attributes and no element %d.", parent, s.index)
	case k == kindObject:
		return strings.TrimSpace(fmt.Sprintf("%s has no attribute %q here. If it may be absent, write get(%s, %s, DEFAULT). %s",
			parent, s.attr, parent, getPath(steps[p.at:]), diag.DidYouMean(s.attr, namesIn(p.before))))
	}
	return fmt.Sprintf("%s is %s, so %s%s cannot be read.", parent, articledWord(rawKind(p.before)), parent, s.text())
}

// getPath is steps as get takes them.
func getPath(steps []step) string {
	parts := make([]string, len(steps))
	for i, s := range steps {
		if parts[i] = s.attr; s.isIndex {
			parts[i] = itoa(s.index)
		}
	}
	return string(quote(strings.Join(parts, ".")))
}

func namesIn(raw []byte) []string {
	var names []string
	eachMember(raw, func(name, _ []byte) bool {
		if s, ok := unquote(name); ok {
			names = append(names, s)
		}
		return true
	})
	return names
}

func rawKind(raw []byte) string {
	switch kindOf(raw) {
	case kindString:
		return "text"
	case kindNumber:
		return "number"
	case kindBool:
		return "bool"
	case kindNull:
		return "null"
	case kindList:
		return "list"
	}
	return "object"
}

func plural(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	}
	return itoa(n) + " " + noun + "s"
}

// soft takes steps as get does: whatever is not there is null.
func soft(raw []byte, steps []step) []byte {
	for i := range steps {
		next, ok := take(raw, &steps[i])
		if !ok || next == nil {
			return rawNull
		}
		raw = next
	}
	return raw
}

// longestSeen is how much of a value a trail keeps, in bytes of JSON.
const longestSeen = 256

// shorten is raw, or where it is too long a JSON text of its beginning: what is
// kept stays JSON.
func shorten(raw []byte) []byte {
	if len(raw) <= longestSeen {
		return bytes.Clone(raw)
	}
	text, isText := unquote(raw)
	if !isText {
		text = string(raw)
	}
	// Two quotes, the ellipsis, and room for every byte to be escaped once.
	cut := longestSeen - 5
	for {
		for cut > 0 && cut < len(text) && text[cut]&0xC0 == 0x80 {
			cut--
		}
		if q := quote(text[:min(cut, len(text))] + "…"); len(q) <= longestSeen {
			return q
		}
		cut -= 8
	}
}
