package expr

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
)

// traversal resolves a name with what is read of it: a variable of for, a let,
// a name of the language, or a constant, in this order.
func (c *compiler) traversal(e *hclsyntax.ScopeTraversalExpr, w where) node {
	t := e.Traversal
	root, rootRange := t.RootName(), t[0].SourceRange()
	rest := stepsOf(t[1:])
	if l, ok := w.locals[root]; ok {
		n := node{x: &hclsyntax.ScopeTraversalExpr{Traversal: t[:1], SrcRange: rootRange}, t: l.t, key: l.key, text: root, open: []string{l.key}}
		return c.take(n, rest, e, w)
	}
	if let, ok := c.env.Lets[root]; ok {
		return c.take(c.let(root, let, rootRange), rest, e, w)
	}
	if known, ok := c.env.Names[dag.Name{Root: root}]; ok {
		return c.take(c.document(dag.Name{Root: root}, known, rootRange), rest, e, w)
	}
	if members := c.members(root); len(members) > 0 {
		return c.member(root, members, rest, e, w)
	}
	if v, ok := c.env.Consts[root]; ok {
		return c.take(constant(v, rootRange, root).configured(), rest, e, w)
	}
	return c.unknown(root, rest, e, w)
}

// members are the names that may stand after a root: artifact.<these>.
func (c *compiler) members(root string) []string {
	var members []string
	for name := range c.env.Names {
		if name.Root == root && name.Member != "" {
			members = append(members, name.Member)
		}
	}
	slices.Sort(members)
	return members
}

func (c *compiler) member(root string, members []string, rest []step, e *hclsyntax.ScopeTraversalExpr, w where) node {
	if len(rest) == 0 || rest[0].isIndex {
		c.unknownName(e.Range(), Missing{root, ""}, fmt.Sprintf("%s is no value by itself: write %s.NAME. %s", root, root, thereAre(members)))
		return poison(e.Range())
	}
	name := dag.Name{Root: root, Member: rest[0].attr}
	known, ok := c.env.Names[name]
	if !ok {
		if why, ok := c.env.Elsewhere[name.String()]; ok {
			c.error(rest[0].rng, sumElsewhere, sentence(name.String(), why))
		} else {
			c.unknownName(rest[0].rng, Missing{root, name.Member}, join(fmt.Sprintf("There is no %s that can be read here.", name), diag.DidYouMean(name.Member, members)))
		}
		return poison(e.Range())
	}
	at := hcl.RangeBetween(e.Traversal[0].SourceRange(), rest[0].rng)
	return c.take(c.document(name, known, at), rest[1:], e, w)
}

// document is a name of the language, whole.
func (c *compiler) document(name dag.Name, t *Type, rng hcl.Range) node {
	if c.constant {
		c.error(rng, sumNotConstant, fmt.Sprintf("%s is known only while an item travels, and this must be known before the run.", name))
		return poison(rng)
	}
	slot, ok := c.slots[name]
	if !ok {
		slot = len(c.names)
		c.slots[name] = slot
		c.names = append(c.names, name)
	}
	p := &path{name: name, slot: slot, text: name.String(), rng: rng}
	stand := &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: rng}
	return node{x: &pathNode{Expression: stand, p: p, t: orAny(t)}, t: orAny(t), key: p.text, text: p.text, reads: true}
}

// let substitutes a named part. It is understood anew at each use: what is
// known at the place decides whether its names may be null.
func (c *compiler) let(name string, e hcl.Expression, at hcl.Range) node {
	if slices.Contains(c.lets, name) {
		c.error(at, sumUnknownName, fmt.Sprintf("The let %q is defined by itself: %s.", name, strings.Join(append(c.lets, name), " → ")))
		return poison(at)
	}
	c.lets = append(c.lets, name)
	defer func() { c.lets = c.lets[:len(c.lets)-1] }()
	n := c.root(e)
	if n.key == "" {
		n.text = name
	}
	return n
}

func (c *compiler) unknown(root string, rest []step, e *hclsyntax.ScopeTraversalExpr, w where) node {
	at := e.Traversal[0].SourceRange()
	if len(rest) > 0 && !rest[0].isIndex {
		full := root + "." + rest[0].attr
		if why, ok := c.env.Elsewhere[full]; ok {
			c.error(at, sumElsewhere, sentence(full, why))
			return poison(e.Range())
		}
	}
	if why, ok := c.env.Elsewhere[root]; ok {
		c.error(at, sumElsewhere, sentence(root, why))
		return poison(e.Range())
	}
	c.unknownName(at, Missing{root, ""}, join(fmt.Sprintf("There is no %q that can be read here.", root), c.instead(root, len(rest) == 0, c.roots(w))))
	return poison(e.Range())
}

// roots are the first words that would be right here.
func (c *compiler) roots(w where) []string {
	var roots []string
	for name := range w.locals {
		roots = append(roots, name)
	}
	for name := range c.env.Lets {
		roots = append(roots, name)
	}
	for name := range c.env.Names {
		roots = append(roots, name.Root)
	}
	for name := range c.env.Consts {
		roots = append(roots, name)
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// sentence makes "output can be read in …" of a root and what Elsewhere says.
func sentence(name, why string) string {
	s := name + " " + strings.TrimSuffix(why, ".")
	if first, _, _ := strings.Cut(why, " "); first == name {
		s = strings.TrimSuffix(why, ".")
	}
	return s + "."
}

func thereAre(names []string) string {
	const shown = 12
	if len(names) > shown {
		return fmt.Sprintf("There are %s and %d more.", diag.List(names[:shown]), len(names)-shown)
	}
	if len(names) == 1 {
		return "There is only " + diag.List(names) + "."
	}
	return "There are " + diag.List(names) + "."
}

func join(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// stepsOf reads the steps of a traversal.
func stepsOf(t hcl.Traversal) []step {
	var steps []step
	for _, tr := range t {
		switch tr := tr.(type) {
		case hcl.TraverseAttr:
			steps = append(steps, attrStep(tr.Name, lessDot(tr)))
		case hcl.TraverseIndex:
			if s, ok := keyStep(tr.Key, tr.SrcRange); ok {
				steps = append(steps, s)
			}
		}
	}
	return steps
}

// lessDot is the place of an attribute's name: HCL counts the dot before it in.
func lessDot(tr hcl.TraverseAttr) hcl.Range {
	r := tr.SrcRange
	if r.End.Byte-r.Start.Byte == len(tr.Name)+1 {
		r.Start.Byte++
		r.Start.Column++
	}
	return r
}

// keyStep is the step that an index with a known key takes.
func keyStep(key cty.Value, rng hcl.Range) (step, bool) {
	if key.IsMarked() || !key.IsKnown() || key.IsNull() {
		return step{}, false
	}
	switch key.Type() {
	case cty.String:
		return attrStep(key.AsString(), rng), true
	case cty.Number:
		if n, accuracy := key.AsBigFloat().Int64(); accuracy == big.Exact && n >= 0 && int64(int(n)) == n {
			return indexStep(int(n), rng), true
		}
	}
	return step{}, false
}

// take reads a part of n. as is the whole expression as written.
func (c *compiler) take(n node, steps []step, as hclsyntax.Expression, w where) node {
	if len(steps) == 0 {
		if w.notNull(n.key) {
			n.t = n.t.notNull()
		}
		return n
	}
	if n.bad {
		return poison(as.Range())
	}
	if v, ok := literal(n.x); ok {
		return c.takeConstant(n, v, steps, as)
	}
	steps = slices.Clone(steps)
	t, ok := c.typeOfSteps(n, steps, w)
	if !ok {
		return poison(as.Range())
	}
	out := node{t: t, text: n.text + stepsText(steps), reads: n.reads, open: n.open}
	if n.key != "" {
		out.key = n.key + stepsText(steps)
	}
	switch x := n.x.(type) {
	case *pathNode:
		p := *x.p
		p.steps = append(slices.Clip(p.steps), steps...)
		p.text = out.text
		p.rng = as.Range()
		out.x = &pathNode{Expression: as, p: &p, t: t}
	default:
		out.x = &stepsNode{Expression: as, source: n.x, steps: steps, text: n.text}
	}
	return out
}

func (c *compiler) takeConstant(n node, v cty.Value, steps []step, as hclsyntax.Expression) node {
	text := n.text
	for i := range steps {
		s := &steps[i]
		var detail string
		var names []string
		_, isRoot := c.env.Consts[text]
		if isRoot = isRoot && i == 0 && v.Type().IsObjectType(); isRoot {
			names = slices.Sorted(maps.Keys(v.Type().AttributeTypes()))
		}
		v, detail = takeValue(v, text, s)
		switch {
		case detail != "" && isRoot && !s.isIndex:
			c.unknownName(s.rng, Missing{text, s.attr}, join(fmt.Sprintf("There is no %s.%s.", text, s.attr), declareIt(text, s.attr, names)))
			return poison(as.Range())
		case detail != "":
			c.error(s.rng, sumAttribute, detail)
			return poison(as.Range())
		}
		text += s.text()
	}
	part := constant(v, as.Range(), text)
	if n.config {
		part = part.configured()
	}
	return part
}

// typeOfSteps checks steps against what is known of n, and marks those whose
// absence reads as null.
func (c *compiler) typeOfSteps(n node, steps []step, w where) (*Type, bool) {
	t, key, text := n.t, n.key, n.text
	if p, ok := n.x.(*pathNode); ok && t.kind == kindAny && len(p.p.steps) == 0 {
		c.readUntyped(p.p.name, steps[0].rng)
	}
	for i := range steps {
		s := &steps[i]
		if w.notNull(key) {
			t = t.notNull()
		}
		if t.kind != kindAny && t.nullable {
			c.error(s.rng, sumNull, mayBeNull(text, text+s.text(), steps[i:]))
			return typeAny, false
		}
		next, detail := stepType(t, s, text)
		if detail != "" {
			summary := sumType
			if t.kind == kindObject && !s.isIndex {
				summary = sumAttribute
			}
			c.error(s.rng, summary, detail)
			return typeAny, false
		}
		t = next
		text += s.text()
		if key != "" {
			key += s.text()
		}
	}
	if w.notNull(key) {
		t = t.notNull()
	}
	return t, true
}

func mayBeNull(parent, child string, rest []step) string {
	return fmt.Sprintf("%s may be null here, so %s cannot be read unguarded. Write %s != null && …, %s == null ? … : …, or get(%s, %s, DEFAULT).",
		parent, child, parent, parent, parent, getPath(rest))
}

// stepType is the type after one step; the second result is what is wrong.
func stepType(t *Type, s *step, text string) (*Type, string) {
	switch {
	case t.kind == kindAny:
		return typeAny, ""
	case s.isIndex && t.kind == kindList:
		return t.elem, ""
	case !s.isIndex && t.kind == kindObject:
		at, declared, known := t.attribute(s.attr)
		s.declared = declared
		if !known {
			return nil, join(fmt.Sprintf("%s has no attribute %q.", text, s.attr), diag.DidYouMean(s.attr, t.names()))
		}
		return at, ""
	case !s.isIndex && t.kind == kindList:
		return nil, fmt.Sprintf("%s is a list, which has no attribute %q. One element is %s[0]%s, all are %s[*]%s.", text, s.attr, text, s.text(), text, s.text())
	case s.isIndex && t.kind == kindObject:
		return nil, fmt.Sprintf("%s is an object, which has attributes and no element %d.", text, s.index)
	}
	return nil, fmt.Sprintf("%s is a %s, so %s%s cannot be read.", text, t, text, s.text())
}

func (c *compiler) readUntyped(name dag.Name, at hcl.Range) {
	if c.env.Untyped != nil && !c.untyped[name] {
		c.untyped[name] = true
		c.env.Untyped(name, at)
	}
}
