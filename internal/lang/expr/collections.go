package expr

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/internal/diag"
)

func (c *compiler) index(e *hclsyntax.IndexExpr, w where) node {
	coll, key := c.walk(e.Collection, w), c.walk(e.Key, w)
	if coll.bad || key.bad {
		return poison(e.Range())
	}
	if v, ok := literal(key.x); ok {
		s, ok := keyStep(v, e.Key.Range())
		if !ok {
			c.error(e.Key.Range(), sumType, fmt.Sprintf("An index is a text or a whole number from 0, and this is %s.", key.t.describe()))
			return poison(e.Range())
		}
		return c.take(coll, []step{s}, e, w)
	}
	if !c.guarded(coll, e.Collection.Range(), w) {
		return poison(e.Range())
	}
	t := typeAny
	switch coll.t.kind {
	case kindList:
		t = coll.t.elem
	case kindAny, kindObject:
	default:
		c.error(e.Collection.Range(), sumType, fmt.Sprintf("Only lists and objects have an index, and this is %s.", articled(coll.t)))
		return poison(e.Range())
	}
	x := &hclsyntax.IndexExpr{Collection: coll.x, Key: key.x, SrcRange: e.SrcRange, OpenRange: e.OpenRange, BracketRange: e.BracketRange}
	return c.combine(x, t, coll, key)
}

// guarded complains where a value that may be null is read through.
func (c *compiler) guarded(n node, at hcl.Range, w where) bool {
	if n.t.kind == kindAny || !n.t.nullable || w.notNull(n.key) {
		return true
	}
	c.error(at, sumNull, fmt.Sprintf("%s may be null here, so its elements cannot be read unguarded. Write %s == null ? [] : …, or guard it with && or ||.",
		atStart(subject(n, "this value")), subject(n, "…")))
	return false
}

// elements is the type of what a for or a * goes through.
func (c *compiler) elements(n node, at hcl.Range, w where, objects bool) (*Type, bool) {
	if n.bad || !c.guarded(n, at, w) {
		return typeAny, false
	}
	switch {
	case n.t.kind == kindAny:
		return typeAny, true
	case n.t.kind == kindList:
		return n.t.elem, true
	case n.t.kind == kindObject && objects:
		t := n.t.rest
		for _, p := range n.t.props {
			if t == nil {
				t = p
			} else {
				t = Join(t, p)
			}
		}
		return orAny(t), true
	}
	c.error(at, sumType, fmt.Sprintf("A list is needed here, and this is %s.", articled(n.t)))
	return typeAny, false
}

func (c *compiler) newLocal(t *Type, text string) local {
	c.locals++
	return local{t: t, key: "\x00" + itoa(c.locals), text: text}
}

// splat is xs[*].url. A value that is no list is refused where that is known:
// HCL would make it a list of one, and a misspelt type would go unseen.
func (c *compiler) splat(e *hclsyntax.SplatExpr, w where) node {
	source := c.walk(e.Source, w)
	elem, ok := c.elements(source, e.Source.Range(), w, false)
	if !ok {
		return poison(e.Range())
	}
	l := c.newLocal(elem, source.text+"[*]")
	c.symbols[e.Item] = l
	each := c.walk(e.Each, w)
	x := &hclsyntax.SplatExpr{Source: source.x, Each: each.x, Item: e.Item, SrcRange: e.SrcRange, MarkerRange: e.MarkerRange}
	n := c.combineClosed(x, List(each.t), []string{l.key}, source, each)
	n.text = source.text + "[*]"
	if p, ok := splatOf(x, source, each); ok && !n.bad {
		n.x = p
	}
	return n
}

// combineClosed is combine for a node that binds variables of its own.
func (c *compiler) combineClosed(x hclsyntax.Expression, t *Type, bound []string, parts ...node) node {
	closed := make([]node, len(parts))
	for i, p := range parts {
		closed[i] = p
		closed[i].open = nil
		for _, name := range p.open {
			if !contains(bound, name) {
				closed[i].open = append(closed[i].open, name)
			}
		}
	}
	return c.combine(x, t, closed...)
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

func (c *compiler) forEach(e *hclsyntax.ForExpr, w where) node {
	coll := c.walk(e.CollExpr, w)
	elem, ok := c.elements(coll, e.CollExpr.Range(), w, true)
	if !ok {
		return poison(e.Range())
	}
	inner := w
	inner.locals = map[string]local{}
	for name, l := range w.locals {
		inner.locals[name] = l
	}
	var bound []string
	bind := func(name string, t *Type) {
		if name != "" {
			l := c.newLocal(t, name)
			inner.locals[name] = l
			bound = append(bound, l.key)
		}
	}
	bind(e.KeyVar, keyType(coll.t))
	bind(e.ValVar, elem)

	x := &hclsyntax.ForExpr{KeyVar: e.KeyVar, ValVar: e.ValVar, CollExpr: coll.x, Group: e.Group, SrcRange: e.SrcRange, OpenRange: e.OpenRange, CloseRange: e.CloseRange}
	parts := []node{coll}
	if e.CondExpr != nil {
		cond := c.walk(e.CondExpr, inner)
		c.mustBeBool(cond, e.CondExpr.Range(), "an if of for takes a bool")
		x.CondExpr = cond.x
		inner = inner.knowing(cond.yes)
		parts = append(parts, cond)
	}
	val := c.walk(e.ValExpr, inner)
	x.ValExpr = val.x
	parts = append(parts, val)
	t := List(val.t)
	if e.KeyExpr != nil {
		key := c.walk(e.KeyExpr, inner)
		x.KeyExpr = key.x
		parts = append(parts, key)
		t = &Type{kind: kindObject, props: map[string]*Type{}, rest: val.t}
		if e.Group {
			t.rest = List(val.t)
		}
	}
	countRounds(x)
	return c.combineClosed(x, t, bound, parts...)
}

func keyType(coll *Type) *Type {
	switch coll.kind {
	case kindList:
		return typeNumber
	case kindObject:
		return typeString
	}
	return typeAny
}

func (c *compiler) tuple(e *hclsyntax.TupleConsExpr, w where) node {
	x := &hclsyntax.TupleConsExpr{SrcRange: e.SrcRange, OpenRange: e.OpenRange}
	var parts []node
	var elem *Type
	for _, el := range e.Exprs {
		n := c.walk(el, w)
		parts = append(parts, n)
		x.Exprs = append(x.Exprs, n.x)
		if elem == nil {
			elem = n.t
		} else {
			elem = Join(elem, n.t)
		}
	}
	if elem == nil {
		return c.combine(x, typeEmpty)
	}
	return c.combine(x, List(elem), parts...)
}

func (c *compiler) object(e *hclsyntax.ObjectConsExpr, w where) node {
	x := &hclsyntax.ObjectConsExpr{SrcRange: e.SrcRange, OpenRange: e.OpenRange}
	t := &Type{kind: kindObject, props: map[string]*Type{}}
	first := map[string]hcl.Range{}
	var parts []node
	for _, item := range e.Items {
		key := c.objectKey(item.KeyExpr, w)
		val := c.walk(item.ValueExpr, w)
		parts = append(parts, key, val)
		x.Items = append(x.Items, hclsyntax.ObjectConsItem{KeyExpr: key.x, ValueExpr: val.x})
		v, known := literal(key.x)
		if !known || v.IsMarked() || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
			t.rest = typeAny
			continue
		}
		name := v.AsString()
		if at, twice := first[name]; twice {
			c.error(item.KeyExpr.Range(), sumDuplicate, fmt.Sprintf("The key %q stands in this object a second time. Remove one of the two.", name))
			diag.With(c.diags[len(c.diags)-1], diag.Info{Related: []diag.Related{{Label: "first here", Range: at}}})
			continue
		}
		first[name] = item.KeyExpr.Range()
		t.props[name] = val.t
	}
	return c.combine(x, t, parts...)
}

// objectKey is a key: a bare word stands for itself.
func (c *compiler) objectKey(e hclsyntax.Expression, w where) node {
	k, ok := e.(*hclsyntax.ObjectConsKeyExpr)
	if !ok {
		return c.walk(e, w)
	}
	if !k.ForceNonLiteral {
		if word := hcl.ExprAsKeyword(k.Wrapped); word != "" {
			return constant(cty.StringVal(word), k.Range(), "this key")
		}
		if tr, ok := k.Wrapped.(*hclsyntax.ScopeTraversalExpr); ok && len(tr.Traversal) > 1 {
			c.error(k.Range(), sumSyntax, "A key with dots is a reference in parentheses, (a.b), or a text in quotes, \"a.b\". Write which is meant.")
			return poison(k.Range())
		}
	}
	return c.walk(k.Wrapped, w)
}

func (c *compiler) template(e *hclsyntax.TemplateExpr, w where) node {
	x := &hclsyntax.TemplateExpr{SrcRange: e.SrcRange}
	var parts []node
	for _, p := range e.Parts {
		n := c.walk(p, w)
		c.checkPart(n, p.Range())
		parts = append(parts, n)
		if _, ok := literal(n.x); !ok {
			n.x = &partNode{n.x}
		}
		x.Parts = append(x.Parts, n.x)
	}
	if tooLarge(x.Parts) {
		c.error(e.Range(), sumType, "This text is too large. "+moveOut+".")
		return poison(e.Range())
	}
	return c.combine(x, typeString, parts...)
}

// checkPart complains of what cannot stand in a text.
func (c *compiler) checkPart(n node, at hcl.Range) {
	switch {
	case n.bad:
	case n.t.kind == kindList:
		c.error(at, sumType, fmt.Sprintf("A list cannot stand in a text, and this is %s. Write join(\", \", …), or jsonencode(…).", articled(n.t)))
	case n.t.kind == kindObject:
		c.error(at, sumType, fmt.Sprintf("An object cannot stand in a text, and this is %s. Name one of its attributes, or write jsonencode(…).", articled(n.t)))
	case n.t.kind == kindNull:
		c.error(at, sumType, "Null cannot stand in a text.")
	}
}
