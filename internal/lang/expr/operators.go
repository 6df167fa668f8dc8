package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/internal/diag"
)

func (c *compiler) binary(e *hclsyntax.BinaryOpExpr, w where) node {
	switch e.Op {
	case hclsyntax.OpLogicalAnd, hclsyntax.OpLogicalOr:
		return c.logic(e, w)
	case hclsyntax.OpEqual, hclsyntax.OpNotEqual:
		return c.equality(e, w)
	case hclsyntax.OpLessThan, hclsyntax.OpLessThanOrEqual, hclsyntax.OpGreaterThan, hclsyntax.OpGreaterThanOrEqual:
		l, r := c.walk(e.LHS, w), c.walk(e.RHS, w)
		if left, right := c.mustBeNumber(l, e.LHS.Range()), c.mustBeNumber(r, e.RHS.Range()); !left || !right {
			return poison(e.Range())
		}
		n := c.combine(&compareNode{BinaryOpExpr: e, l: l.x, r: r.x}, typeBool, l, r)
		// Whatever the result, null on either side would have been an error.
		n.yes = keys(l, r)
		n.no = n.yes
		return n
	}
	l, r := c.walk(e.LHS, w), c.walk(e.RHS, w)
	if e.Op == hclsyntax.OpAdd && !l.bad && !r.bad && (l.t.kind == kindString || r.t.kind == kindString) {
		c.error(e.Range(), sumType, fmt.Sprintf("Texts are not added. Write them into one: \"%s%s\".", c.inText(e.LHS), c.inText(e.RHS)))
		return poison(e.Range())
	}
	if left, right := c.mustBeNumber(l, e.LHS.Range()), c.mustBeNumber(r, e.RHS.Range()); !left || !right {
		return poison(e.Range())
	}
	x := &hclsyntax.BinaryOpExpr{Op: e.Op, LHS: l.x, RHS: r.x, SrcRange: e.SrcRange}
	return c.combine(&arithNode{x}, typeNumber, l, r)
}

// inText is how an expression is written inside a text.
func (c *compiler) inText(e hclsyntax.Expression) string {
	source := SourceText(e.Range(), c.env.Source)
	if text, ok := strings.CutPrefix(source, `"`); ok && strings.Count(text, `"`) == 1 {
		return strings.TrimSuffix(text, `"`)
	}
	if source == "" {
		source = "…"
	}
	return "${" + source + "}"
}

func keys(nodes ...node) []string {
	var all []string
	for _, n := range nodes {
		if n.key != "" {
			all = append(all, n.key)
		}
	}
	return all
}

func (c *compiler) unary(e *hclsyntax.UnaryOpExpr, w where) node {
	v := c.walk(e.Val, w)
	if e.Op == hclsyntax.OpLogicalNot {
		c.mustBeBool(v, e.Val.Range(), "! takes a bool")
		n := c.combine(&notNode{UnaryOpExpr: e, val: v.x}, typeBool, v)
		n.yes, n.no = v.no, v.yes
		return n
	}
	if !c.mustBeNumber(v, e.Val.Range()) {
		return poison(e.Range())
	}
	x := &hclsyntax.UnaryOpExpr{Op: e.Op, Val: v.x, SrcRange: e.SrcRange, SymbolRange: e.SymbolRange}
	return c.combine(&arithNode{x}, typeNumber, v)
}

// logic is && and ||. The right side is understood where the left is true, or
// false: that is what a guard is.
func (c *compiler) logic(e *hclsyntax.BinaryOpExpr, w where) node {
	and := e.Op == hclsyntax.OpLogicalAnd
	op := "||"
	if and {
		op = "&&"
	}
	l := c.walk(e.LHS, w)
	c.mustBeBool(l, e.LHS.Range(), op+" takes a bool on each side")
	given := l.no
	if and {
		given = l.yes
	}
	r := c.walk(e.RHS, w.knowing(given))
	c.mustBeBool(r, e.RHS.Range(), op+" takes a bool on each side")
	if v, ok := knownBool(l); ok {
		chosen := l
		if v == and {
			chosen = r
		}
		chosen.toggled = chosen.toggled || l.config
		return chosen
	}
	n := c.combine(&logicNode{BinaryOpExpr: e, l: l.x, r: r.x, and: and}, typeBool, l, r)
	if and {
		n.yes = append(slices.Clip(l.yes), r.yes...)
		n.no = common(l.no, append(slices.Clip(given), r.no...))
	} else {
		n.no = append(slices.Clip(l.no), r.no...)
		n.yes = common(l.yes, append(slices.Clip(given), r.yes...))
	}
	return n
}

// common are the keys of both: of two ways to the same result.
func common(a, b []string) []string {
	var both []string
	for _, k := range a {
		if slices.Contains(b, k) {
			both = append(both, k)
		}
	}
	return both
}

func knownBool(n node) (value, ok bool) {
	v, isLiteral := literal(n.x)
	if !isLiteral || n.bad || v.IsMarked() || !v.IsKnown() || v.IsNull() || v.Type() != cty.Bool {
		return false, false
	}
	return v.True(), true
}

func (c *compiler) equality(e *hclsyntax.BinaryOpExpr, w where) node {
	l, r := c.walk(e.LHS, w), c.walk(e.RHS, w)
	if !l.bad && !r.bad {
		c.checkComparable(l, r, e)
	}
	n := c.combine(&compareNode{BinaryOpExpr: e, l: l.x, r: r.x}, typeBool, l, r)
	equal, unequal := &n.yes, &n.no
	if e.Op == hclsyntax.OpNotEqual {
		equal, unequal = unequal, equal
	}
	for _, side := range [][2]node{{l, r}, {r, l}} {
		path, other := side[0], side[1]
		v, ok := literal(other.x)
		if !ok || path.key == "" {
			continue
		}
		if u, _ := v.Unmark(); u.IsNull() {
			*unequal = append(*unequal, path.key)
		} else {
			*equal = append(*equal, path.key)
		}
	}
	return n
}

// checkComparable complains of == and != between what can never be equal. To
// compare with null what is never null is harmless, and left alone: a guard
// may outlive the change that made it needless.
func (c *compiler) checkComparable(l, r node, e *hclsyntax.BinaryOpExpr) {
	result := "never equal"
	if e.Op == hclsyntax.OpNotEqual {
		result = "always different"
	}
	a, b := l.t, r.t
	switch {
	case a.kind == kindAny || b.kind == kindAny || a.kind == kindNull || b.kind == kindNull:
	case a.nullable && b.nullable:
	case a.kind != b.kind:
		c.error(e.Range(), sumNever, fmt.Sprintf("%s is %s and %s is %s: they are %s. Nothing is converted to compare it.", sentenceStart(l, "the left side"), articled(a), subject(r, "the right side"), articled(b), result))
	case a.values != nil && b.values != nil && len(common(a.values, b.values)) == 0:
		c.errorNoValue(l, r, e, result)
	}
}

func (c *compiler) errorNoValue(l, r node, e *hclsyntax.BinaryOpExpr, result string) {
	many, one, at := l, r, e.RHS.Range()
	if _, ok := literal(l.x); ok {
		many, one, at = r, l, e.LHS.Range()
	}
	if len(one.t.values) != 1 {
		c.error(e.Range(), sumNever, fmt.Sprintf("%s is %s and %s is %s: they are %s.", sentenceStart(l, "the left side"), l.t.describe(), subject(r, "the right side"), r.t.describe(), result))
		return
	}
	detail := fmt.Sprintf("%s is never %s.", sentenceStart(many, "the other side"), one.t.values[0])
	if one.t.kind == kindString {
		word, _ := unquote([]byte(one.t.values[0]))
		detail = join(detail, diag.DidYouMean(word, texts(many.t.values)))
	} else {
		detail = join(detail, "It is "+many.t.describe()+".")
	}
	c.error(at, sumNever, detail)
}

func texts(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i], _ = unquote([]byte(v))
	}
	return out
}

func subject(n node, otherwise string) string {
	if n.key != "" {
		return n.text
	}
	return otherwise
}

// sentenceStart is subject where a sentence begins: names stay as they are.
func sentenceStart(n node, otherwise string) string { return subject(n, upperFirst(otherwise)) }

func (c *compiler) conditional(e *hclsyntax.ConditionalExpr, w where) node {
	cond := c.walk(e.Condition, w)
	c.mustBeBool(cond, e.Condition.Range(), "a condition must be a bool")
	a := c.walk(e.TrueResult, w.knowing(cond.yes))
	b := c.walk(e.FalseResult, w.knowing(cond.no))
	if v, ok := knownBool(cond); ok {
		chosen := b
		if v {
			chosen = a
		}
		chosen.toggled = chosen.toggled || cond.config
		return chosen
	}
	return c.combine(&condNode{ConditionalExpr: e, c: cond.x, a: a.x, b: b.x}, Join(a.t, b.t), cond, a, b)
}

func (c *compiler) mustBeBool(n node, at hcl.Range, why string) {
	if n.bad || n.t.kind == kindBool || n.t.kind == kindAny {
		return
	}
	c.error(at, sumType, fmt.Sprintf("%s, and this is %s. Nothing is converted to a bool; compare it with something.", upperFirst(why), articled(n.t)))
}

// mustBeNumber reports false where it complained.
func (c *compiler) mustBeNumber(n node, at hcl.Range) bool {
	if n.bad || n.t.kind == kindNumber || n.t.kind == kindAny {
		return true
	}
	hint := ""
	switch n.t.kind {
	case kindString:
		hint = " A text is made a number by tonumber(…) or number_or(…, DEFAULT)."
	case kindList:
		hint = " How many elements it has is length(…)."
	}
	c.error(at, sumType, fmt.Sprintf("A number is needed here, and this is %s.%s", articled(n.t), hint))
	return false
}

func articled(t *Type) string {
	switch s := t.String(); {
	case t.kind == kindNull:
		return s
	case t.kind == kindObject:
		return "an " + s
	default:
		return "a " + s
	}
}

// atStart is a name where a sentence begins: names stay as they are.
func atStart(name string) string {
	if strings.HasPrefix(name, "this ") {
		return upperFirst(name)
	}
	return name
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// checkWant complains where the expression cannot give what is wanted. Of a
// conditional each side is looked at by itself.
func (c *compiler) checkWant(n node, want Want) { c.wanted(n.x, n.t, want) }

func (c *compiler) wanted(x hclsyntax.Expression, t *Type, want Want) {
	if cond, ok := x.(*condNode); ok && t.kind == kindAny {
		c.wanted(cond.a, sideType(cond.a), want)
		c.wanted(cond.b, sideType(cond.b), want)
		return
	}
	complain := func(needed, hint string) {
		c.error(x.Range(), sumType, fmt.Sprintf("A %s is needed here, and this is %s.%s", needed, articled(t), hint))
	}
	switch {
	case t.kind == kindAny:
	case want == WantBool && t.kind == kindString && isQuotedName(x):
		complain("bool", fmt.Sprintf(" Without quotes it is read, and can be compared: %s == …", textOf(x)))
	case want == WantBool && t.kind != kindBool:
		complain("bool", " Nothing is converted to a bool; compare it with something.")
	case want == WantText && (t.kind == kindNumber || t.kind == kindBool):
		complain("text", ` Write it inside a template: "${…}".`)
	case want == WantText && t.kind != kindString:
		complain("text", "")
	case want == WantFigure && t.kind == kindNull:
	case (want == WantNumber || want == WantFigure) && t.kind != kindNumber:
		complain("number", "")
	case want == WantList && t.kind != kindList:
		complain("list", "")
	case (want == WantTexts || want == WantAddresses) && t.kind == kindString:
		hint := ""
		if source := SourceText(x.Range(), c.env.Source); source != "" {
			hint = fmt.Sprintf(" Write it in brackets: [%s].", source)
		}
		complain("list of texts", hint)
	case (want == WantTexts || want == WantAddresses) && t.kind != kindList:
		complain("list of texts", "")
	case want == WantAddresses && t.elem.kind == kindNull:
	case (want == WantTexts || want == WantAddresses) && t.elem.kind != kindString && t.elem.kind != kindAny:
		complain("list of texts", "")
	}
}

func isQuotedName(x hclsyntax.Expression) bool {
	v, ok := literal(x)
	return ok && looksLikeName(v)
}

func textOf(x hclsyntax.Expression) string {
	v, _ := literal(x)
	return v.AsString()
}

// sideType is what is known of a side of a conditional whose sides differ.
func sideType(x hclsyntax.Expression) *Type {
	switch x := x.(type) {
	case *hclsyntax.LiteralValueExpr:
		return typeOf(x.Val)
	case *pathNode:
		return x.t
	}
	return typeAny
}
