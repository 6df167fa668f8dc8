package expr

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
)

// plan says how a document is put together. Paths are spliced from their
// documents byte for byte; only what is computed goes through a view. All parts
// are canonical and names are in order, so the whole is canonical too.
type plan interface {
	// append adds the document to dst.
	append(dst []byte, x *compiled, f *frame) ([]byte, error)
}

type (
	pathPlan     struct{ n *pathNode }
	splatPlan    struct{ n *splatNode }
	constantPlan struct{ doc dag.Doc }
	objectPlan   struct{ members []memberPlan }
	listPlan     struct{ elems []plan }
	condPlan     struct {
		n    *condNode
		fast closure
		a, b plan
	}
	computedPlan struct {
		x    hclsyntax.Expression
		text textClosure // nil: only the general way
	}
)

type memberPlan struct {
	name   string
	quoted []byte // with the colon
	value  plan
}

func planOf(x hclsyntax.Expression) plan {
	switch x := x.(type) {
	case *pathNode:
		return &pathPlan{x}
	case *splatNode:
		return &splatPlan{x}
	case *condNode:
		return &condPlan{n: x, fast: fastBool(x.c), a: planOf(x.a), b: planOf(x.b)}
	case *hclsyntax.TupleConsExpr:
		p := &listPlan{}
		for _, e := range x.Exprs {
			p.elems = append(p.elems, planOf(e))
		}
		return p
	case *hclsyntax.ObjectConsExpr:
		if p, ok := planObject(x); ok {
			return p
		}
	case *hclsyntax.LiteralValueExpr:
		if b, err := Canonical(x.Val); err == nil {
			return &constantPlan{doc: docOf(b)}
		}
	}
	general := &computedPlan{x, fastText(x)}
	if call, ok := x.(*hclsyntax.FunctionCallExpr); ok {
		if p := planConcat(call, general); p != nil {
			return p
		}
	}
	return general
}

func planObject(x *hclsyntax.ObjectConsExpr) (plan, bool) {
	p := &objectPlan{}
	for _, item := range x.Items {
		v, ok := literal(item.KeyExpr)
		if !ok || v.IsMarked() || v.IsNull() || v.Type() != cty.String {
			return nil, false
		}
		name := v.AsString()
		p.members = append(p.members, memberPlan{name: name, quoted: append(quote(name), ':'), value: planOf(item.ValueExpr)})
	}
	slices.SortFunc(p.members, func(a, b memberPlan) int { return compareNames(a.name, b.name) })
	return p, true
}

// docOf names canonical bytes; null is the zero Doc, nothing there.
func docOf(canonical []byte) dag.Doc {
	if bytes.Equal(canonical, rawNull) {
		return dag.Doc{}
	}
	return dag.NewDoc(canonical)
}

// decide follows conditionals to the plan that is taken.
func decide(p plan, x *compiled, f *frame) (plan, error) {
	for {
		c, ok := p.(*condPlan)
		if !ok {
			return p, nil
		}
		v, err := x.condition(f, c.n.c, c.fast)
		if err != nil {
			return nil, err
		}
		if p = c.b; v {
			p = c.a
		}
	}
}

func (p *pathPlan) append(dst []byte, x *compiled, f *frame) ([]byte, error) {
	raw, err := x.raw(f, p.n.p)
	if err != nil {
		return nil, err
	}
	return append(dst, raw...), nil
}

func (p *splatPlan) append(dst []byte, x *compiled, f *frame) ([]byte, error) {
	out, detail, at, ok := p.n.splice(dst, f)
	switch {
	case ok:
		return out, nil
	case f.err != nil:
		return nil, f.err
	}
	return nil, x.fail(at, detail)
}

func (p *constantPlan) append(dst []byte, _ *compiled, _ *frame) ([]byte, error) {
	if p.doc.IsNull() {
		return append(dst, rawNull...), nil
	}
	return append(dst, p.doc.Bytes...), nil
}

func (p *objectPlan) append(dst []byte, x *compiled, f *frame) ([]byte, error) {
	dst = append(dst, '{')
	for i := range p.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, p.members[i].quoted...)
		var err error
		if dst, err = p.members[i].value.append(dst, x, f); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func (p *listPlan) append(dst []byte, x *compiled, f *frame) ([]byte, error) {
	dst = append(dst, '[')
	for i, e := range p.elems {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = e.append(dst, x, f); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func (p *condPlan) append(dst []byte, x *compiled, f *frame) ([]byte, error) {
	taken, err := decide(p, x, f)
	if err != nil {
		return nil, err
	}
	return taken.append(dst, x, f)
}

func (p *computedPlan) append(dst []byte, x *compiled, f *frame) ([]byte, error) {
	if p.text != nil {
		if text, ok := p.text(f); ok {
			return append(dst, quote(text)...), nil
		}
		if f.err != nil {
			return nil, f.err
		}
	}
	v, err := x.value(f, p.x)
	if err != nil {
		return nil, err
	}
	out, err := appendCanonical(dst, v)
	if err != nil {
		return nil, x.fail(p.x.Range(), upperFirst(err.Error())+".")
	}
	return out, nil
}

// splatNode is xs[*].a.b of a path: its elements are read without decoding them.
type splatNode struct {
	*hclsyntax.SplatExpr
	p     *path
	steps []step // taken in each element
}

// splatOf tells whether a splat is one of a path by plain steps.
func splatOf(x *hclsyntax.SplatExpr, source, each node) (*splatNode, bool) {
	p, ok := source.x.(*pathNode)
	if !ok {
		return nil, false
	}
	switch e := each.x.(type) {
	case *hclsyntax.AnonSymbolExpr:
		return &splatNode{SplatExpr: x, p: p.p}, e == x.Item
	case *stepsNode:
		return &splatNode{SplatExpr: x, p: p.p, steps: e.steps}, e.source == hclsyntax.Expression(x.Item)
	}
	return nil, false
}

func (n *splatNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	f := frameOf(ctx)
	raw, detail, at, ok := n.splice(nil, f)
	if !ok && f.err == nil {
		return failed(at, detail)
	}
	return viewOf(f, raw, ok, n.Range())
}

// splice adds the list of parts to dst; with ok false, detail says what is
// wrong at which place, or f.err does.
func (n *splatNode) splice(dst []byte, f *frame) (out []byte, detail string, at hcl.Range, ok bool) {
	raw, prob, ok := f.read(n.p)
	switch {
	case prob != nil:
		return nil, prob.explain(n.p.name.String(), n.p.steps), n.p.steps[prob.at].rng, false
	case !ok:
		return nil, "", n.p.rng, false
	case kindOf(raw) != kindList:
		return nil, n.p.text + " is " + articledWord(rawKind(raw)) + " here, and [*] goes through a list.", n.MarkerRange, false
	}
	dst = append(dst, '[')
	i := 0
	whole := eachElement(raw, func(elem []byte) bool {
		if i > 0 {
			dst = append(dst, ',')
		}
		part, prob := follow(elem, n.steps)
		if prob != nil {
			detail, at = prob.explain(n.p.text+"["+itoa(i)+"]", n.steps), n.steps[prob.at].rng
			return false
		}
		dst = append(dst, part...)
		i++
		return true
	})
	switch {
	case detail != "":
		return nil, detail, at, false
	case !whole:
		return nil, errBroken.Error(), n.p.rng, false
	}
	return append(dst, ']'), "", n.p.rng, true
}
