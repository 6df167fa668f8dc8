package expr

import (
	"bytes"
	"math/big"
	"strconv"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/text/unicode/norm"
)

// verdict is what a closure says of a condition.
type verdict int8

const (
	unsure verdict = iota // evaluate it the general way, which also words the error
	holdsNot
	holdsSo
)

func verdictOf(b bool) verdict {
	if b {
		return holdsSo
	}
	return holdsNot
}

func (v verdict) not() verdict {
	switch v {
	case holdsSo:
		return holdsNot
	case holdsNot:
		return holdsSo
	}
	return unsure
}

// closure decides a condition on raw bytes. Whatever is not plain (another
// type than expected, a value that is not there) it leaves to the general way:
// so the two can only differ in speed, and a test holds them to it.
type closure func(*frame) verdict

// fastBool makes a closure of conditions built of && || ! and comparisons of
// paths with constants and with each other; nil: it is none of those.
func fastBool(x hclsyntax.Expression) closure {
	switch x := x.(type) {
	case *hclsyntax.LiteralValueExpr:
		if v := x.Val; !v.IsMarked() && v.IsKnown() && !v.IsNull() && v.Type() == cty.Bool {
			known := verdictOf(v.True())
			return func(*frame) verdict { return known }
		}
	case *pathNode, *getNode:
		return fastPath(rawOf(x))
	case *notNode:
		if inner := fastBool(x.val); inner != nil {
			return func(f *frame) verdict { return inner(f).not() }
		}
	case *logicNode:
		return fastLogic(x)
	case *condNode:
		c, a, b := fastBool(x.c), fastBool(x.a), fastBool(x.b)
		if c != nil && a != nil && b != nil {
			return func(f *frame) verdict {
				switch c(f) {
				case holdsSo:
					return a(f)
				case holdsNot:
					return b(f)
				}
				return unsure
			}
		}
	case *compareNode:
		return fastCompare(x)
	case *hclsyntax.FunctionCallExpr:
		return fastContains(x)
	}
	return nil
}

func fastPath(read rawFunc) closure {
	if read == nil {
		return nil
	}
	return func(f *frame) verdict {
		raw, ok := read(f)
		switch {
		case !ok:
			return unsure
		case bytes.Equal(raw, rawTrue):
			return holdsSo
		case bytes.Equal(raw, rawFalse):
			return holdsNot
		}
		return unsure
	}
}

func fastLogic(x *logicNode) closure {
	l, r := fastBool(x.l), fastBool(x.r)
	if l == nil || r == nil {
		return nil
	}
	decided := verdictOf(!x.and)
	return func(f *frame) verdict {
		if v := l(f); v == unsure || v == decided {
			return v
		}
		return r(f)
	}
}

// rawFunc reads a raw value; ok is false where the general way must say why.
type rawFunc func(*frame) (raw []byte, ok bool)

func rawOf(x hclsyntax.Expression) rawFunc {
	switch x := x.(type) {
	case *pathNode:
		p := x.p
		return func(f *frame) ([]byte, bool) {
			raw, _, ok := f.read(p)
			return raw, ok
		}
	case *getNode:
		if x.constant == nil {
			return nil
		}
		p, hard, fallback := x.p, x.hard, x.constant
		return func(f *frame) ([]byte, bool) {
			raw, _, ok := f.readSoft(p, hard)
			if ok && kindOf(raw) == kindNull {
				return fallback, true
			}
			return raw, ok
		}
	case *hclsyntax.FunctionCallExpr:
		return rawLength(x)
	}
	return nil
}

// rawLength is length(path) of a list.
func rawLength(x *hclsyntax.FunctionCallExpr) rawFunc {
	if x.Name != "length" || len(x.Args) != 1 || x.ExpandFinal {
		return nil
	}
	read := rawOf(x.Args[0])
	if read == nil {
		return nil
	}
	return func(f *frame) ([]byte, bool) {
		raw, ok := read(f)
		if !ok || kindOf(raw) != kindList {
			return nil, false
		}
		n := 0
		whole := eachElement(raw, func([]byte) bool { n++; return true })
		return strconv.AppendInt(nil, int64(n), 10), whole
	}
}

func fastCompare(x *compareNode) closure {
	equality := x.Op == hclsyntax.OpEqual || x.Op == hclsyntax.OpNotEqual
	l, r := rawOf(x.l), rawOf(x.r)
	switch {
	case l != nil && r != nil && equality:
		return fastEqualPaths(l, r, x.Op == hclsyntax.OpNotEqual)
	case l != nil:
		if v, ok := literal(x.r); ok {
			return fastLiteral(l, v, x.Op, false)
		}
	case r != nil:
		if v, ok := literal(x.l); ok {
			return fastLiteral(r, v, x.Op, true)
		}
	}
	if !equality || x.l == nil || x.r == nil {
		return nil
	}
	unequal := x.Op == hclsyntax.OpNotEqual
	if lt, rt := fastText(x.l), fastText(x.r); lt != nil && rt != nil {
		return fastEqualTexts(lt, rt, unequal)
	}
	lb, rb := fastBool(x.l), fastBool(x.r)
	if lb == nil || rb == nil {
		return nil
	}
	return func(f *frame) verdict {
		a := lb(f)
		if a == unsure {
			return unsure
		}
		b := rb(f)
		if b == unsure {
			return unsure
		}
		return verdictOf((a == b) != unequal)
	}
}

func fastEqualTexts(l, r textClosure, unequal bool) closure {
	return func(f *frame) verdict {
		a, ok := l(f)
		if !ok {
			return unsure
		}
		b, ok := r(f)
		if !ok {
			return unsure
		}
		return verdictOf((a == b) != unequal)
	}
}

// fastLiteral compares what is read with a constant. swapped: the constant
// stands on the left.
func fastLiteral(read rawFunc, v cty.Value, op *hclsyntax.Operation, swapped bool) closure {
	if v.IsMarked() || !v.IsKnown() {
		return nil
	}
	if v.IsNull() || v.Type() != cty.Number {
		if op != hclsyntax.OpEqual && op != hclsyntax.OpNotEqual {
			return nil
		}
		matches := matcher(v)
		if matches == nil {
			return nil
		}
		unequal := op == hclsyntax.OpNotEqual
		return func(f *frame) verdict {
			raw, ok := read(f)
			if !ok {
				return unsure
			}
			if m := matches(raw); unequal {
				return m.not()
			} else {
				return m
			}
		}
	}
	n, ok := newNumber(v)
	if !ok {
		return nil
	}
	return func(f *frame) verdict {
		raw, ok := read(f)
		if !ok {
			return unsure
		}
		if kindOf(raw) != kindNumber {
			if op == hclsyntax.OpEqual || op == hclsyntax.OpNotEqual {
				return verdictOf(op == hclsyntax.OpNotEqual)
			}
			return unsure
		}
		sign, ok := n.compare(raw)
		if !ok {
			return unsure
		}
		if swapped {
			sign = -sign
		}
		return verdictOf(holds(op, sign))
	}
}

// matcher tells whether a raw value equals a constant that is no number; nil:
// it is no scalar.
func matcher(v cty.Value) func(raw []byte) verdict {
	switch {
	case v.IsNull():
		return func(raw []byte) verdict { return verdictOf(kindOf(raw) == kindNull) }
	case v.Type() == cty.Bool:
		want := rawFalse
		if v.True() {
			want = rawTrue
		}
		return func(raw []byte) verdict { return verdictOf(bytes.Equal(raw, want)) }
	case v.Type() == cty.String:
		text := v.AsString()
		quoted := quote(text)
		return func(raw []byte) verdict {
			if kindOf(raw) != kindString {
				return holdsNot
			}
			if plainASCII(raw) {
				return verdictOf(bytes.Equal(raw, quoted))
			}
			s, ok := unquote(raw)
			if !ok {
				return unsure
			}
			return verdictOf(norm.NFC.String(s) == text)
		}
	}
	return nil
}

// number is a constant that numbers of documents are compared with. Rounding
// to a double keeps the order, so two that differ as doubles are told apart by
// their doubles, and only a tie needs cty's 512 bits.
type number struct {
	exact  *big.Float
	double float64
	text   []byte // canonical text of the constant, where it spells it exactly
}

func newNumber(v cty.Value) (*number, bool) {
	n := &number{exact: v.AsBigFloat()}
	if n.exact.IsInf() {
		return nil, false
	}
	n.double, _ = n.exact.Float64()
	if text, err := appendNumber(nil, n.exact); err == nil {
		if back, err := parseNumber(text); err == nil && back.Cmp(n.exact) == 0 {
			n.text = text
		}
	}
	return n, true
}

// compare gives the sign of raw - n.
func (n *number) compare(raw []byte) (int, bool) {
	if n.text != nil && bytes.Equal(raw, n.text) {
		return 0, true
	}
	d, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil:
		return 0, false
	case d < n.double:
		return -1, true
	case d > n.double:
		return 1, true
	}
	f, err := parseNumber(raw)
	if err != nil {
		return 0, false
	}
	return f.Cmp(n.exact), true
}

// fastEqualPaths compares two raw scalars. Canonical form spells a value in
// one way, so equal bytes are equal values; the reverse holds but for texts
// that differ in Unicode form.
func fastEqualPaths(l, r rawFunc, unequal bool) closure {
	return func(f *frame) verdict {
		a, ok := l(f)
		if !ok {
			return unsure
		}
		b, ok := r(f)
		if !ok {
			return unsure
		}
		ka, kb := kindOf(a), kindOf(b)
		if ka == kindList || ka == kindObject || kb == kindList || kb == kindObject {
			return unsure
		}
		equal := bytes.Equal(a, b)
		if !equal && ka == kindString && kb == kindString && !(plainASCII(a) && plainASCII(b)) {
			sa, okA := unquote(a)
			sb, okB := unquote(b)
			if !okA || !okB {
				return unsure
			}
			equal = norm.NFC.String(sa) == norm.NFC.String(sb)
		}
		return verdictOf(equal != unequal)
	}
}

// fastContains is contains(constant list, path).
func fastContains(x *hclsyntax.FunctionCallExpr) closure {
	if x.Name != "contains" || len(x.Args) != 2 || x.ExpandFinal {
		return nil
	}
	read := rawOf(x.Args[1])
	list, ok := literal(x.Args[0])
	if read == nil || !ok || list.IsMarked() || !list.IsWhollyKnown() || list.IsNull() || !list.CanIterateElements() || list.Type().IsMapType() || list.Type().IsObjectType() {
		return nil
	}
	var matches []func([]byte) verdict
	for it := list.ElementIterator(); it.Next(); {
		_, v := it.Element()
		m := numberMatcher(v)
		if m == nil {
			m = matcher(v)
		}
		if m == nil || v.IsNull() || v.IsMarked() {
			return nil
		}
		matches = append(matches, m)
	}
	return func(f *frame) verdict {
		raw, ok := read(f)
		if !ok || kindOf(raw) == kindNull || len(matches) == 0 {
			return unsure
		}
		for _, m := range matches {
			if v := m(raw); v != holdsNot {
				return v
			}
		}
		return holdsNot
	}
}

func numberMatcher(v cty.Value) func([]byte) verdict {
	if v.IsMarked() || v.IsNull() || v.Type() != cty.Number {
		return nil
	}
	n, ok := newNumber(v)
	if !ok {
		return nil
	}
	return func(raw []byte) verdict {
		if kindOf(raw) != kindNumber {
			return holdsNot
		}
		sign, ok := n.compare(raw)
		if !ok {
			return unsure
		}
		return verdictOf(sign == 0)
	}
}
