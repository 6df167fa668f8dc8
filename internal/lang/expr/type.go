package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/penstock-run/penstock/internal/diag"
)

// kind is the shape of a value as far as it is known.
type kind int

const (
	kindAny kind = iota
	kindNull
	kindString
	kindNumber
	kindBool
	kindList
	kindObject
)

// Type is what is known of a value before a run. Types are immutable and may
// be shared; the zero of a *Type, nil, stands for Any.
type Type struct {
	kind     kind
	nullable bool
	// values are all that the value can be, as canonical JSON, null left out;
	// nil: not known. Only of texts, numbers and bools.
	values []string
	elem   *Type            // kindList
	props  map[string]*Type // kindObject: the declared names; a name that may be absent is nullable
	rest   *Type            // kindObject: what other names are; nil: there are no others
}

var (
	typeAny    = &Type{kind: kindAny, nullable: true}
	typeNull   = &Type{kind: kindNull, nullable: true}
	typeString = &Type{kind: kindString}
	typeNumber = &Type{kind: kindNumber}
	typeBool   = &Type{kind: kindBool}
	// typeEmpty is a list without an element: joined with another list it adds
	// nothing to what is known of that one's.
	typeEmpty = &Type{kind: kindList, elem: typeAny}
)

// Any is the type of what nothing is known of. Names in it are looked up at
// run time.
func Any() *Type { return typeAny }

// String is the type of a text.
func String() *Type { return typeString }

// Number is the type of a number.
func Number() *Type { return typeNumber }

// Bool is the type of a bool.
func Bool() *Type { return typeBool }

// List is the type of an array whose elements are t.
func List(t *Type) *Type { return &Type{kind: kindList, elem: orAny(t)} }

// Object is the type of an object with these names and no others. A name that
// may be absent is given as Nullable: absent, it reads as null.
func Object(props map[string]*Type) *Type {
	own := make(map[string]*Type, len(props))
	for name, t := range props {
		own[name] = orAny(t)
	}
	return &Type{kind: kindObject, props: own}
}

// Nullable is t, or null.
func Nullable(t *Type) *Type {
	t = orAny(t)
	if t.nullable {
		return t
	}
	c := *t
	c.nullable = true
	return &c
}

// Enum is the type of a text that is one of the values.
func Enum(values ...string) *Type {
	t := &Type{kind: kindString, values: []string{}}
	for _, v := range values {
		t.values = append(t.values, string(quote(norm.NFC.String(v))))
	}
	return t
}

// Member is what is known of a name in an object.
func (t *Type) Member(name string) *Type {
	at, _, _ := orAny(t).attribute(name)
	return at
}

// Lacks says which name of a path into t can never be there, where t is called what;
// empty: each of them may be.
func (t *Type) Lacks(what string, path []string) string {
	t = orAny(t)
	for i, name := range path {
		if t.kind != kindObject {
			return "" // open, or no matter of names
		}
		at, _, known := t.attribute(name)
		if !known {
			if i > 0 {
				what = strings.Join(path[:i], ".")
			}
			return join(fmt.Sprintf("%s has no attribute %q.", what, name), diag.DidYouMean(name, t.names()))
		}
		t = at
	}
	return ""
}

// Elem is what is known of the elements of a list.
func (t *Type) Elem() *Type {
	if t = orAny(t); t.kind == kindList {
		return t.elem
	}
	return typeAny
}

func orAny(t *Type) *Type {
	if t == nil {
		return typeAny
	}
	return t
}

// notNull is t where it is known not to be null.
func (t *Type) notNull() *Type {
	if t.kind == kindAny || t.kind == kindNull || !t.nullable {
		return t
	}
	c := *t
	c.nullable = false
	return &c
}

// widen is t without the values that it is limited to.
func (t *Type) widen() *Type {
	if t.kind == kindAny {
		return t
	}
	c := *t
	c.values = nil
	if t.elem != nil {
		c.elem = t.elem.widen()
	}
	if t.rest != nil {
		c.rest = t.rest.widen()
	}
	if t.props != nil {
		c.props = make(map[string]*Type, len(t.props))
		for name, p := range t.props {
			c.props[name] = p.widen()
		}
	}
	return &c
}

// Join is the type of a value that is either of a or of b.
func Join(a, b *Type) *Type {
	a, b = orAny(a), orAny(b)
	switch {
	case a == b:
		return a
	case a.kind == kindNull:
		return Nullable(b)
	case b.kind == kindNull:
		return Nullable(a)
	case a == typeEmpty && b.kind == kindList:
		return b
	case b == typeEmpty && a.kind == kindList:
		return a
	case a.kind != b.kind || a.kind == kindAny:
		return typeAny
	}
	j := &Type{kind: a.kind, nullable: a.nullable || b.nullable}
	if a.values != nil && b.values != nil {
		j.values = union(a.values, b.values)
	}
	if a.kind == kindList {
		j.elem = Join(a.elem, b.elem)
	}
	if a.kind == kindObject {
		j.props, j.rest = joinProps(a, b)
	}
	return j
}

// joinProps keeps a name that only one of the two declares, as nullable: to
// lose it would make every read of an alternative's own name a misspelling.
func joinProps(a, b *Type) (map[string]*Type, *Type) {
	props := map[string]*Type{}
	for name, t := range a.props {
		if other, ok := b.props[name]; ok {
			props[name] = Join(t, other)
		} else if b.rest != nil {
			props[name] = Join(Nullable(t), b.rest)
		} else {
			props[name] = Nullable(t)
		}
	}
	for name, t := range b.props {
		if _, ok := a.props[name]; ok {
			continue
		}
		if a.rest != nil {
			props[name] = Join(Nullable(t), a.rest)
		} else {
			props[name] = Nullable(t)
		}
	}
	switch {
	case a.rest == nil:
		return props, b.rest
	case b.rest == nil:
		return props, a.rest
	}
	return props, Join(a.rest, b.rest)
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// String names the type in the language's words: "text", "list of number",
// "object", "text or null".
func (t *Type) String() string {
	t = orAny(t)
	s := ""
	switch t.kind {
	case kindAny:
		return "any"
	case kindNull:
		return "null"
	case kindString:
		s = "text"
	case kindNumber:
		s = "number"
	case kindBool:
		s = "bool"
	case kindList:
		s = "list"
		if t.elem.kind != kindAny && t.elem.kind != kindNull {
			s = "list of " + t.elem.notNull().many()
		}
	case kindObject:
		s = "object"
	}
	if t.nullable {
		s += " or null"
	}
	return s
}

// many is the plural of a type's name.
func (t *Type) many() string {
	if t.kind == kindList {
		return "lists"
	}
	return t.String() + "s"
}

// describeMany is describe of several.
func (t *Type) describeMany() string {
	if n := len(t.values); n == 0 || n > 12 {
		return t.many()
	}
	return strings.Join(t.values, ", ")
}

// names are the declared names of an object, sorted.
func (t *Type) names() []string {
	names := make([]string, 0, len(t.props))
	for name := range t.props {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// describe is String with the values of an enum.
func (t *Type) describe() string {
	if len(t.values) == 0 || len(t.values) > 12 {
		return t.String()
	}
	s := t.values[0]
	if len(t.values) > 1 {
		s = "one of " + strings.Join(t.values, ", ")
	}
	if t.nullable {
		s += " or null"
	}
	return s
}

// attribute is the type of the name in t. declared tells that it reads as null
// where it is absent, known that it may be there at all.
func (t *Type) attribute(name string) (at *Type, declared, known bool) {
	switch t.kind {
	case kindAny:
		return typeAny, false, true
	case kindObject:
		if p, ok := t.props[name]; ok {
			return p, true, true
		}
		if t.rest != nil {
			return t.rest, false, true
		}
	}
	return typeAny, false, false
}

func itoa(n int) string { return strconv.Itoa(n) }
