package expr

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/zclconf/go-cty/cty"
)

// Canonical writes a value as JSON in the form of RFC 8785. It refuses what
// JSON cannot say, or would say differently: unknown, sensitive and infinite
// values, integers that a double cannot hold, and values that are no data.
func Canonical(v cty.Value) ([]byte, error) { return appendCanonical(nil, v) }

func appendCanonical(dst []byte, v cty.Value) ([]byte, error) {
	if v.IsMarked() {
		return nil, fmt.Errorf("it is sensitive, and a sensitive value may stand in no document")
	}
	if !v.IsKnown() {
		return nil, fmt.Errorf("its value is not known")
	}
	if v.IsNull() {
		return append(dst, "null"...), nil
	}
	t := v.Type()
	switch {
	case t == cty.String:
		return appendText(dst, v.AsString())
	case t == cty.Bool:
		if v.True() {
			return append(dst, "true"...), nil
		}
		return append(dst, "false"...), nil
	case t == cty.Number:
		return appendNumber(dst, v.AsBigFloat())
	case t.IsTupleType() || t.IsListType() || t.IsSetType():
		return appendList(dst, v)
	case t.IsObjectType() || t.IsMapType():
		return appendObject(dst, v)
	}
	return nil, fmt.Errorf("a value of the type %s cannot stand in a document", t.FriendlyName())
}

func appendText(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("the text %q is not valid UTF-8", s)
	}
	return jsontext.AppendQuote(dst, s)
}

// appendNumber writes the double nearest to f. A fraction is rounded as every
// reader of JSON does; an integer is not, since it may be an identifier.
func appendNumber(dst []byte, f *big.Float) ([]byte, error) {
	d, accuracy := f.Float64()
	if f.IsInf() {
		return nil, fmt.Errorf("the number is infinite (a division by zero gives that)")
	}
	if d > maxDouble || d < -maxDouble {
		return nil, fmt.Errorf("the number %s is beyond what a double can hold", f.Text('g', 20))
	}
	if accuracy != big.Exact && f.IsInt() {
		return nil, fmt.Errorf("the integer %s cannot be held exactly by a double; make it a text with format(\"%%d\", …)", f.Text('f', 0))
	}
	if d == 0 {
		return append(dst, '0'), nil // -0 is written 0
	}
	return jsontext.AppendFloat(dst, d, 64), nil
}

const maxDouble = 0x1p1023 * (1 + (1 - 0x1p-52))

func appendList(dst []byte, v cty.Value) ([]byte, error) {
	dst = append(dst, '[')
	i := 0
	for it := v.ElementIterator(); it.Next(); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		_, elem := it.Element()
		var err error
		if dst, err = appendCanonical(dst, elem); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, v cty.Value) ([]byte, error) {
	members := v.AsValueMap()
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.SortFunc(names, compareNames)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendText(dst, name); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendCanonical(dst, members[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return append(dst, '}'), nil
}

// compareNames orders names of an object as RFC 8785 does: by UTF-16 code
// units. That differs from the order of bytes only where a name has a
// character past U+FFFF, which UTF-16 begins with a unit below U+E000.
func compareNames(a, b string) int {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			return compareRunes(ra, rb)
		}
		a, b = a[na:], b[nb:]
	}
	return strings.Compare(a, b)
}

func compareRunes(a, b rune) int {
	const supplementary = 0x10000
	if (a >= supplementary) == (b >= supplementary) {
		return cmp.Compare(a, b)
	}
	first := func(r rune) rune {
		if r >= supplementary {
			return 0xD800 + (r-supplementary)>>10
		}
		return r
	}
	return cmp.Compare(first(a), first(b))
}

// quote is s as a JSON string. Only for texts that are valid UTF-8.
func quote(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, s) // an error means bad UTF-8, which it replaces
	return b
}
