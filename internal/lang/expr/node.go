package expr

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/penstock-run/penstock/internal/diag"
)

// The tree that is evaluated is HCL's own, with some nodes replaced by these.
// Each embeds the node that it stands for, which gives it its range and makes
// it a node for HCL; Value is ours.

// pathNode reads a path of a document.
type pathNode struct {
	hclsyntax.Expression
	p *path
	t *Type // what is known of the value
}

func (n *pathNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	f := frameOf(ctx)
	raw, prob, ok := f.read(n.p)
	if prob != nil {
		return failed(n.p.steps[prob.at].rng, prob.explain(n.p.name.String(), n.p.steps))
	}
	return viewOf(f, raw, ok, n.p.rng)
}

// viewOf is the view of what was read; where nothing could be read, f says why.
func viewOf(f *frame, raw []byte, ok bool, rng hcl.Range) (cty.Value, hcl.Diagnostics) {
	if !ok {
		return failed(rng, f.err.Error())
	}
	v, err := view(raw)
	if err != nil {
		return failed(rng, err.Error())
	}
	return v, nil
}

// failed is the result of a node that cannot be evaluated.
func failed(rng hcl.Range, detail string) (cty.Value, hcl.Diagnostics) {
	return cty.DynamicVal, hcl.Diagnostics{diag.Error(rng, sumFailed, detail)}
}

// getNode is get(path, "a.b", default).
type getNode struct {
	hclsyntax.Expression
	p        *path
	hard     int // how many of the steps are not get's own: those must be there
	fallback hclsyntax.Expression
	constant []byte // the fallback as JSON where it is a literal
}

func (n *getNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	f := frameOf(ctx)
	raw, prob, ok := f.readSoft(n.p, n.hard)
	if prob != nil {
		return failed(n.p.steps[prob.at].rng, prob.explain(n.p.name.String(), n.p.steps))
	}
	if ok && kindOf(raw) == kindNull {
		return n.fallback.Value(ctx)
	}
	return viewOf(f, raw, ok, n.p.rng)
}

// stepsNode takes attributes and elements of a value that was computed, or of
// a for's variable.
type stepsNode struct {
	hclsyntax.Expression
	source hclsyntax.Expression
	steps  []step
	text   string // the source as messages name it
}

func (n *stepsNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := n.source.Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	for i := range n.steps {
		var detail string
		if v, detail = takeValue(v, n.text+stepsText(n.steps[:i]), &n.steps[i]); detail != "" {
			return failed(n.steps[i].rng, detail)
		}
	}
	return v, diags
}

// takeValue goes one step in a value; the second result is what is wrong.
func takeValue(v cty.Value, parent string, s *step) (cty.Value, string) {
	v, marks := v.Unmark()
	t := v.Type()
	switch {
	case v.IsNull():
		return v, fmt.Sprintf("%s is null here, so %s cannot be read from it. Guard it (%s == null ? … : …), or use get.", parent, s.text(), parent)
	case !v.IsKnown():
		return cty.DynamicVal.WithMarks(marks), ""
	case s.isIndex && (t.IsTupleType() || t.IsListType()):
		if n := v.LengthInt(); s.index >= n {
			return v, fmt.Sprintf("%s has %s, so there is none at index %d.", parent, plural(n, "element"), s.index)
		}
		return v.Index(cty.NumberIntVal(int64(s.index))).WithMarks(marks), ""
	case !s.isIndex && t.IsObjectType() && t.HasAttribute(s.attr):
		return v.GetAttr(s.attr).WithMarks(marks), ""
	case !s.isIndex && t.IsMapType() && v.HasIndex(cty.StringVal(s.attr)).True():
		return v.Index(cty.StringVal(s.attr)).WithMarks(marks), ""
	case !s.isIndex && (t.IsObjectType() || t.IsMapType()):
		if s.declared {
			return cty.NullVal(cty.DynamicPseudoType), ""
		}
		var names []string
		for it := v.ElementIterator(); it.Next(); {
			k, _ := it.Element()
			names = append(names, k.AsString())
		}
		detail := fmt.Sprintf("%s has no attribute %q here.", parent, s.attr)
		if hint := diag.DidYouMean(s.attr, names); hint != "" {
			detail += " " + hint
		}
		return v, detail
	}
	return v, fmt.Sprintf("%s is %s, so %s cannot be read from it.", parent, articledWord(valueKind(v)), s.text())
}

// logicNode is && and ||, from left to right: what the left side decides, the
// right side is not asked. HCL evaluates both sides and forgets the errors of
// one, which would let a misspelt name pass beside a true.
type logicNode struct {
	*hclsyntax.BinaryOpExpr
	l, r hclsyntax.Expression
	and  bool
}

func (n *logicNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := boolOf(ctx, n.l)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	if lv, _ := v.Unmark(); lv.True() != n.and {
		return v, nil
	}
	right, diags := boolOf(ctx, n.r)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return right.WithSameMarks(v), nil
}

// boolOf evaluates to a bool that is one.
func boolOf(ctx *hcl.EvalContext, e hclsyntax.Expression) (cty.Value, hcl.Diagnostics) {
	v, diags := e.Value(ctx)
	if diags.HasErrors() {
		return v, diags
	}
	if detail := notBool(e, v); detail != "" {
		return failed(e.Range(), detail)
	}
	return v, nil
}

func notBool(e hclsyntax.Expression, v cty.Value) string {
	u, _ := v.Unmark()
	name := nameOf(e)
	switch {
	case u.IsNull():
		return fmt.Sprintf("%s is null here, and a bool is needed. Compare it: %s == true, or %s != null.", atStart(name), name, name)
	case !u.IsKnown():
		return fmt.Sprintf("%s is not known here.", atStart(name))
	case u.Type() != cty.Bool:
		return fmt.Sprintf("%s is %s here, and a bool is needed. Nothing is converted to a bool; compare it with something.", atStart(name), articledWord(valueKind(u)))
	}
	return ""
}

// nameOf is a node as messages name it.
func nameOf(e hclsyntax.Expression) string {
	switch e := e.(type) {
	case *pathNode:
		return e.p.text
	case *getNode:
		return e.p.text
	case *splatNode:
		return e.p.text + "[*]" + stepsText(e.steps)
	case *stepsNode:
		return e.text + stepsText(e.steps)
	}
	return "this value"
}

func articledWord(kind string) string {
	switch kind {
	case "null":
		return kind
	case "object":
		return "an object"
	}
	return "a " + kind
}

// valueKind names the shape of a value in the language's words.
func valueKind(v cty.Value) string {
	if v.IsNull() {
		return "null"
	}
	switch t := fromCty(v.Type()); t.kind {
	case kindAny:
		return v.Type().FriendlyName()
	case kindList:
		return "list"
	default:
		return t.String()
	}
}

// notNode is !.
type notNode struct {
	*hclsyntax.UnaryOpExpr
	val hclsyntax.Expression
}

func (n *notNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := boolOf(ctx, n.val)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return v.Not(), nil
}

// condNode is the conditional. Only the side that is taken is evaluated, and
// it keeps its type: HCL converts both to one, which makes 1 a "1".
type condNode struct {
	*hclsyntax.ConditionalExpr
	c, a, b hclsyntax.Expression
}

func (n *condNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	c, diags := boolOf(ctx, n.c)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	side := n.b
	if cv, _ := c.Unmark(); cv.True() {
		side = n.a
	}
	v, diags := side.Value(ctx)
	return v.WithSameMarks(c), diags
}

// compareNode is == != < <= > >=. cty compares numbers that are not integers
// by writing both out in decimal, which costs a hundred times what comparing
// them does.
type compareNode struct {
	*hclsyntax.BinaryOpExpr
	l, r hclsyntax.Expression
}

func (n *compareNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	l, diags := n.l.Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	r, diags := n.r.Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	if isNumber(l) && isNumber(r) {
		lf, rf := l.AsBigFloat(), r.AsBigFloat()
		if lf.IsInf() || rf.IsInf() {
			return failed(n.Range(), infinite)
		}
		return cty.BoolVal(holds(n.Op, lf.Cmp(rf))), nil
	}
	if n.Op != hclsyntax.OpEqual && n.Op != hclsyntax.OpNotEqual {
		for _, side := range []struct {
			e hclsyntax.Expression
			v cty.Value
		}{{n.l, l}, {n.r, r}} {
			if detail := notNumber(side.e, side.v); detail != "" {
				return failed(side.e.Range(), detail)
			}
		}
	}
	return (&hclsyntax.BinaryOpExpr{
		Op:       n.Op,
		LHS:      &hclsyntax.LiteralValueExpr{Val: l, SrcRange: n.l.Range()},
		RHS:      &hclsyntax.LiteralValueExpr{Val: r, SrcRange: n.r.Range()},
		SrcRange: n.SrcRange,
	}).Value(ctx)
}

// notNumber says why a value cannot be put in order. A text that spells a
// number can: that is HCL's rule.
func notNumber(e hclsyntax.Expression, v cty.Value) string {
	u, _ := v.Unmark()
	name := nameOf(e)
	if u.IsNull() {
		return fmt.Sprintf("%s is null here, and a number is needed. Guard it (%s != null && …), or write get(…, DEFAULT).", atStart(name), name)
	}
	if _, err := convert.Convert(u, cty.Number); err != nil {
		return fmt.Sprintf("%s is %s here, and a number is needed.", atStart(name), articledWord(valueKind(u)))
	}
	return ""
}

const infinite = "The number is infinite; a division by zero gives that. Compare the divisor with 0 first."

func isNumber(v cty.Value) bool {
	return !v.IsMarked() && v.Type() == cty.Number && v.IsKnown() && !v.IsNull()
}

// holds tells whether a comparison holds for the sign of left - right.
func holds(op *hclsyntax.Operation, sign int) bool {
	switch op {
	case hclsyntax.OpEqual:
		return sign == 0
	case hclsyntax.OpNotEqual:
		return sign != 0
	case hclsyntax.OpLessThan:
		return sign < 0
	case hclsyntax.OpLessThanOrEqual:
		return sign <= 0
	case hclsyntax.OpGreaterThan:
		return sign > 0
	}
	return sign >= 0
}

// arithNode is + - * / % and the sign: HCL's own, less infinity.
type arithNode struct{ hclsyntax.Expression }

func (n *arithNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := n.Expression.Value(ctx)
	if !diags.HasErrors() && isNumber(v) && v.AsBigFloat().IsInf() {
		return failed(n.Range(), infinite)
	}
	return v, diags
}

// textNode is "${x}" with nothing around it: a number or a bool becomes a text
// there as it does in any other template.
type textNode struct {
	hclsyntax.Expression
	wrapped hclsyntax.Expression
}

func (n *textNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := (&partNode{n.wrapped}).Value(ctx)
	if diags.HasErrors() {
		return v, diags
	}
	s, err := asText(v)
	if err != nil {
		return failed(n.Range(), err.Error())
	}
	return s, diags
}

func asText(v cty.Value) (cty.Value, error) { return convert.Convert(v, cty.String) }

// partNode is a part of a template.
type partNode struct{ hclsyntax.Expression }

func (n *partNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := n.Expression.Value(ctx)
	if u, _ := v.Unmark(); !diags.HasErrors() && (u.IsNull() || (u.IsKnown() && !u.Type().IsPrimitiveType())) {
		name := nameOf(n.Expression)
		return failed(n.Range(), fmt.Sprintf("%s is %s here, and cannot stand in a text.", atStart(name), articledWord(valueKind(u))))
	}
	return v, diags
}

// ownTextNode is digest, sha256 or fingerprint of a path: they read the
// document's own text, which a view would have rewritten to NFC.
type ownTextNode struct {
	*hclsyntax.FunctionCallExpr
	p *path
}

func (n *ownTextNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	f := frameOf(ctx)
	raw, prob, ok := f.read(n.p)
	if prob != nil {
		return failed(n.p.steps[prob.at].rng, prob.explain(n.p.name.String(), n.p.steps))
	}
	if !ok {
		return failed(n.p.rng, f.err.Error())
	}
	if n.Name == "digest" {
		return cty.StringVal(hexSum(raw)), nil
	}
	text, isText := unquote(raw)
	if !isText {
		return failed(n.Args[0].Range(), fmt.Sprintf("%s takes a text, and %s is a %s here. digest takes any value.", n.Name, n.p.text, rawKind(raw)))
	}
	return cty.StringVal(ownText[n.Name](text)), nil
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
