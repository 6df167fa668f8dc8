package schema

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// form is what a value must be, in the shape in which the bytes of a canonical
// document can be held to it: most documents fit, and to see that one does costs a
// tenth of decoding it and asking the library.
//
// It only ever says that a document fits. What it is not sure of (a number that is
// not a short integer, a text that needs unquoting, a document that does not fit) it
// leaves to the library, which also finds the words for it; and a schema that asks for
// what is not known here has no form.
type form struct {
	never bool      // the schema false
	bare  bool      // it asks for nothing but what ofAll and ofAny do
	ofAll []*form   // fits each: a reference, allOf
	ofAny [][]*form // of each list, fits one
	given [][]byte  // is one of these; nil: whatever

	kinds kinds // zero: any

	names      map[string]int // of properties, and of those that must be there, by their numbers
	props      []prop
	required   uint64 // bits of those that must be there
	others     *form  // of properties that have no name here; nil: any
	properties bounds

	items    *form // nil: any
	elements bounds
	distinct bool

	length  bounds // of a text, in characters
	pattern *pattern

	number *numberBounds // nil: any
}

type prop struct {
	form     *form  // nil: any
	required uint64 // its bit, if it must be there
}

// bounds are two numbers that a count lies between, both included.
type bounds struct{ least, most int }

func (b bounds) hold(n int) bool { return b.least <= n && n <= b.most }

// numberBounds are whole numbers that a number lies between, both included.
type numberBounds struct{ least, most int64 }

// kinds are types of JSON values.
type kinds uint8

const (
	aNull kinds = 1 << iota
	aBool
	aNumber
	anInteger
	aText
	aList
	anObject
)

var kindsByName = map[string]kinds{
	"null": aNull, "boolean": aBool, "number": aNumber, "integer": anInteger, "string": aText, "array": aList, "object": anObject,
}

// fits reports whether a document fits for certain.
func (f *form) fits(canonical []byte) bool {
	r := reader{b: canonical}
	return r.value(f, 0) && r.i == len(canonical)
}

// reader goes through a document once. Each of its methods steps over a value and
// reports whether it is well formed and fits; after a false nothing is known.
type reader struct {
	b []byte
	i int
}

func (r *reader) value(f *form, depth int) bool {
	if r.i >= len(r.b) || depth > maxDepth {
		return false
	}
	if f == nil {
		f = anything
	}
	if f.never {
		return false
	}
	start := r.i
	for _, of := range f.ofAll {
		r.i = start
		if !r.value(of, depth+1) {
			return false
		}
	}
	for _, forms := range f.ofAny {
		if !r.oneOf(forms, start, depth) {
			return false
		}
	}
	if !f.bare {
		r.i = start
		if !r.shape(f, depth) {
			return false
		}
	}
	if f.given == nil {
		return true
	}
	for _, value := range f.given {
		if bytes.Equal(value, r.b[start:r.i]) {
			return true
		}
	}
	return false
}

// anything is what every value fits.
var anything = newForm()

func (r *reader) oneOf(forms []*form, start, depth int) bool {
	for _, f := range forms {
		r.i = start
		if r.value(f, depth+1) {
			return true
		}
	}
	return false
}

// shape is value without what alternatives and lists of values ask for.
func (r *reader) shape(f *form, depth int) bool {
	var kind kinds
	var ok bool
	switch r.b[r.i] {
	case '{':
		kind, ok = anObject, r.object(f, depth)
	case '[':
		kind, ok = aList, r.list(f, depth)
	case '"':
		kind, ok = aText, r.text(f)
	case 't':
		kind, ok = aBool, r.word("true")
	case 'f':
		kind, ok = aBool, r.word("false")
	case 'n':
		kind, ok = aNull, r.word("null")
	default:
		kind, ok = r.number(f)
	}
	return ok && (f.kinds == 0 || f.kinds&kind != 0)
}

func (r *reader) word(w string) bool {
	ok := bytes.HasPrefix(r.b[r.i:], []byte(w))
	r.i += len(w)
	return ok
}

// next steps over c.
func (r *reader) next(c byte) bool {
	if r.i < len(r.b) && r.b[r.i] == c {
		r.i++
		return true
	}
	return false
}

func (r *reader) object(f *form, depth int) bool {
	r.i++
	count, missing := 0, f.required
	for !r.next('}') {
		if count > 0 && !r.next(',') {
			return false
		}
		count++
		name, plain := r.quoted()
		if !plain || !r.next(':') {
			return false
		}
		of := f.others
		if n, known := f.names[string(name)]; known {
			of = f.props[n].form
			missing &^= f.props[n].required
		}
		if !r.value(of, depth+1) {
			return false
		}
	}
	return missing == 0 && f.properties.hold(count)
}

func (r *reader) list(f *form, depth int) bool {
	r.i++
	count := 0
	var seen [][]byte
	for !r.next(']') {
		if count > 0 && !r.next(',') {
			return false
		}
		count++
		start := r.i
		if !r.value(f.items, depth+1) {
			return false
		}
		if !f.distinct {
			continue
		}
		// Canonical values are equal where their bytes are.
		for _, other := range seen {
			if bytes.Equal(other, r.b[start:r.i]) {
				return false
			}
		}
		if seen = append(seen, r.b[start:r.i]); len(seen) > 64 {
			return false // comparing each two is not the way for so many
		}
	}
	return f.elements.hold(count)
}

// quoted steps over a text and gives it where it spells itself.
func (r *reader) quoted() (text []byte, plain bool) {
	if !r.next('"') {
		return nil, false
	}
	n := bytes.IndexByte(r.b[r.i:], '"')
	if n < 0 {
		return nil, false
	}
	text = r.b[r.i : r.i+n]
	r.i += n + 1
	return text, bytes.IndexByte(text, '\\') < 0
}

func (r *reader) text(f *form) bool {
	start := r.i
	text, plain := r.quoted()
	if !plain {
		if r.i = start; !r.skipText() {
			return false
		}
		unquoted, err := jsontext.AppendUnquote(nil, r.b[start:r.i])
		if err != nil {
			return false
		}
		text = unquoted
	}
	if f.length != unbounded && !f.length.hold(utf8.RuneCount(text)) {
		return false
	}
	return f.pattern == nil || f.pattern.matches(text)
}

// skipText steps over a text that may have escapes.
func (r *reader) skipText() bool {
	for i := r.i + 1; i < len(r.b); i++ {
		switch r.b[i] {
		case '\\':
			i++
		case '"':
			r.i = i + 1
			return true
		}
	}
	return false
}

// number steps over a number and tells whether it is an integer.
func (r *reader) number(f *form) (kind kinds, ok bool) {
	start := r.i
	negative := r.next('-')
	digits := r.i
	var n int64
	for r.i < len(r.b) && r.b[r.i] >= '0' && r.b[r.i] <= '9' {
		n = n*10 + int64(r.b[r.i]-'0')
		r.i++
	}
	const most = 15 // digits that a double has in any case
	count := r.i - digits
	if count == 0 || r.b[digits] == '0' && (count > 1 || negative) && !r.fraction() {
		return 0, false
	}
	if r.fraction() {
		for r.i < len(r.b) && bytes.IndexByte([]byte("+-.0123456789Ee"), r.b[r.i]) >= 0 {
			r.i++
		}
		// Whether it is whole (1e21) and what it is exactly is for the library.
		plain := jsontext.Value(r.b[start:r.i]).IsValid() && f.kinds&anInteger == 0 && f.number == nil
		return aNumber, plain
	}
	if count > most {
		return aNumber | anInteger, f.number == nil
	}
	if negative {
		n = -n
	}
	return aNumber | anInteger, f.number == nil || f.number.least <= n && n <= f.number.most
}

// fraction reports whether more than an integer stands here.
func (r *reader) fraction() bool {
	return r.i < len(r.b) && (r.b[r.i] == '.' || r.b[r.i] == 'e' || r.b[r.i] == 'E')
}
