package expr

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
)

// Summaries of the diagnostics that are made here.
const (
	sumUnknownName = "Unknown name"
	sumElsewhere   = "Name not readable here"
	sumAttribute   = "Unknown attribute"
	sumNull        = "Value may be null"
	sumNever       = "Comparison that never holds"
	sumType        = "Wrong type"
	sumFunction    = "Unknown function"
	sumSensitive   = "Sensitive value"
	sumNotConstant = "Not known before the run"
	sumDuplicate   = "Duplicate key"
	sumSyntax      = "Expression not supported"
	sumFailed      = "Expression failed"

	sumFunctionFailed = "Function failed"
)

// Compile checks an expression against what is known before a run and makes it
// ready to evaluate. With errors in the diagnostics there is no expression.
func Compile(e hcl.Expression, env *Env, want Want) (dag.Expr, hcl.Diagnostics) {
	c := newCompiler(env)
	n := c.root(e)
	if !n.bad {
		c.checkWant(n, want)
		c.refuseSensitive(n.x)
	}
	if c.diags.HasErrors() {
		return nil, c.diags
	}
	x := &compiled{
		root:      n.x,
		want:      want,
		names:     c.usedNames(n.x),
		functions: env.Functions,
		pos:       posOf(e.Range()),
		source:    oneLine(e.Range(), env.Source, n.x),
		digest:    dag.Sum([]byte(normal(n.x))),
		plan:      planOf(n.x),
		fast:      fastBool(n.x),
		toggled:   n.toggled,
	}
	if _, ok := literal(n.x); ok && n.config {
		x.toggled = true
	}
	if n.t.kind == kindString && n.t.values != nil && !n.t.nullable && !n.toggled {
		x.words = texts(n.t.values)
	}
	if detail := x.prepare(); detail != "" {
		c.error(e.Range(), sumType, detail)
		return nil, c.diags
	}
	return x, c.diags
}

// usedNames are the names that are still read when all that is known has been
// computed: of a conditional on a variable one side is gone.
func (c *compiler) usedNames(x hclsyntax.Expression) []dag.Name {
	var paths []*path
	used := make([]int, len(c.names))
	visit(x, func(x hclsyntax.Expression) {
		if p := pathIn(x); p != nil && !slices.Contains(paths, p) {
			paths = append(paths, p)
			used[p.slot] = 1
		}
	})
	var names []dag.Name
	for slot, name := range c.names {
		if used[slot] == 1 {
			used[slot] = len(names)
			names = append(names, name)
		}
	}
	for _, p := range paths {
		p.slot = used[p.slot]
	}
	return names
}

// pathIn is the path that a node itself reads.
func pathIn(x hclsyntax.Expression) *path {
	switch x := x.(type) {
	case *pathNode:
		return x.p
	case *splatNode:
		return x.p
	case *getNode:
		return x.p
	case *ownTextNode:
		return x.p
	}
	return nil
}

// Constant evaluates an expression that must be known before a run: it may
// read variables, locals and what else env.Consts holds. The value keeps its
// marks; who may not show a sensitive value must look.
func Constant(e hcl.Expression, env *Env) (cty.Value, hcl.Diagnostics) {
	c := newCompiler(env)
	c.constant = true
	n := c.root(e)
	if c.diags.HasErrors() {
		return cty.DynamicVal, c.diags
	}
	v, ok := literal(n.x)
	if !ok {
		c.error(e.Range(), sumNotConstant, "This must be known before the run.")
		return cty.DynamicVal, c.diags
	}
	if v, _ := v.UnmarkDeep(); !v.IsWhollyKnown() {
		c.error(e.Range(), sumNotConstant, "This must be known before the run, and its value is not.")
		return cty.DynamicVal, c.diags
	}
	if hasInfinite(v) {
		c.error(e.Range(), sumType, infinite)
		return cty.DynamicVal, c.diags
	}
	return v, c.diags
}

func hasInfinite(v cty.Value) bool {
	v, _ = v.UnmarkDeep()
	found := false
	// The walk cannot fail: the callback never does.
	_ = cty.Walk(v, func(_ cty.Path, at cty.Value) (bool, error) {
		found = found || (isNumber(at) && at.AsBigFloat().IsInf())
		return !found, nil
	})
	return found
}

// compiler walks one expression. It checks, resolves names, infers types and
// builds the tree that is evaluated, in one pass over HCL's tree, which it
// never changes: one expression may be compiled for several places.
type compiler struct {
	env      *Env
	constant bool // no document may be read
	diags    hcl.Diagnostics
	names    []dag.Name
	slots    map[dag.Name]int
	untyped  map[dag.Name]bool
	lets     []string // that are being substituted
	symbols  map[*hclsyntax.AnonSymbolExpr]local
	locals   int // counts variables of for and splat, to tell them apart
}

func newCompiler(env *Env) *compiler {
	return &compiler{env: env, slots: map[dag.Name]int{},
		untyped: map[dag.Name]bool{}, symbols: map[*hclsyntax.AnonSymbolExpr]local{}}
}

// node is a part of the expression as it was understood.
type node struct {
	x    hclsyntax.Expression // evaluates to it
	t    *Type
	text string // as messages name it
	// key identifies a value that a guard can speak of: a path of a document
	// or of a variable of for; empty: no such value.
	key string
	// yes and no are the keys that are not null where the node is true, false.
	yes, no []string
	reads   bool     // it reads a document
	open    []string // variables of for and splat that it needs
	bad     bool     // it was complained of; nothing more is said of what it is part of
	// config tells that variables or locals stand in it: another run may have
	// other values, so nothing is complained of that only these values bring about.
	config bool
	// toggled tells that such values decided which parts are evaluated.
	toggled bool
}

// where is what is known at a place inside the expression.
type where struct {
	locals map[string]local
	facts  []string // keys that are not null here
}

// local is a variable of for, or what * stands for.
type local struct {
	t    *Type
	key  string
	text string
}

func (w where) knowing(keys []string) where {
	w.facts = append(slices.Clip(w.facts), keys...)
	return w
}

// notNull tells whether a guard has shown that the value of a key, or a part
// of it, is there.
func (w where) notNull(key string) bool {
	for _, f := range w.facts {
		if rest, ok := strings.CutPrefix(f, key); ok && key != "" && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

func (c *compiler) error(at hcl.Range, summary, detail string) {
	for _, d := range c.diags { // a let that is used twice is complained of once
		if d.Summary == summary && d.Detail == detail && *d.Subject == at {
			return
		}
	}
	c.diags = append(c.diags, diag.Error(at, summary, detail))
}

// poison stands for a part that was complained of.
func poison(rng hcl.Range) node {
	return node{x: &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: rng}, t: typeAny, bad: true}
}

func constant(v cty.Value, rng hcl.Range, text string) node {
	return node{x: &hclsyntax.LiteralValueExpr{Val: v, SrcRange: rng}, t: typeOf(v), text: text}
}

// configured is a constant that another run may have otherwise: its type says
// what it is, not which.
func (n node) configured() node {
	n.config = true
	n.t = n.t.widen()
	return n
}

// literal is the value of a node that is one.
func literal(x hclsyntax.Expression) (cty.Value, bool) {
	l, ok := x.(*hclsyntax.LiteralValueExpr)
	if !ok {
		return cty.NilVal, false
	}
	return l.Val, true
}

// typeOf is the type of a value that is known: a text is the one text that it
// is, which is how a word that no enum has is found out.
func typeOf(v cty.Value) *Type {
	v, _ = v.UnmarkDeep()
	if !v.IsKnown() {
		return fromCty(v.Type())
	}
	if v.IsNull() {
		return typeNull
	}
	t := v.Type()
	switch {
	case t.IsPrimitiveType():
		single := *fromCty(t)
		if b, err := Canonical(v); err == nil {
			single.values = []string{string(b)}
		}
		return &single
	case t.IsTupleType() || t.IsListType() || t.IsSetType():
		var elem *Type
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			if elem == nil {
				elem = typeOf(e)
			} else {
				elem = Join(elem, typeOf(e))
			}
		}
		if elem == nil {
			return typeEmpty
		}
		return List(elem)
	case t.IsObjectType() || t.IsMapType():
		props := map[string]*Type{}
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			props[k.AsString()] = typeOf(e)
		}
		return &Type{kind: kindObject, props: props}
	}
	return typeAny
}

// root walks the whole expression.
func (c *compiler) root(e hcl.Expression) node {
	native, ok := e.(hclsyntax.Expression)
	if ok {
		return c.walk(native, where{})
	}
	// What is no expression of HCL's native syntax was put there by a program,
	// as a default: a value, which reads nothing.
	v, diags := e.Value(nil)
	if diags.HasErrors() {
		c.diags = append(c.diags, diags...)
		return poison(e.Range())
	}
	return constant(v, e.Range(), "")
}

// walk understands one node of HCL's tree.
func (c *compiler) walk(e hclsyntax.Expression, w where) node {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.walk(e.Expression, w)
	case *hclsyntax.LiteralValueExpr:
		return constant(e.Val, e.SrcRange, "this value")
	case *hclsyntax.ScopeTraversalExpr:
		return c.traversal(e, w)
	case *hclsyntax.RelativeTraversalExpr:
		return c.take(c.walk(e.Source, w), stepsOf(e.Traversal), e, w)
	case *hclsyntax.IndexExpr:
		return c.index(e, w)
	case *hclsyntax.SplatExpr:
		return c.splat(e, w)
	case *hclsyntax.AnonSymbolExpr:
		l := c.symbols[e]
		return node{x: e, t: l.t, key: l.key, text: l.text, open: []string{l.key}}
	case *hclsyntax.ForExpr:
		return c.forEach(e, w)
	case *hclsyntax.TupleConsExpr:
		return c.tuple(e, w)
	case *hclsyntax.ObjectConsExpr:
		return c.object(e, w)
	case *hclsyntax.TemplateExpr:
		return c.template(e, w)
	case *hclsyntax.TemplateWrapExpr:
		n := c.walk(e.Wrapped, w)
		c.checkPart(n, e.Wrapped.Range())
		return c.combine(&textNode{Expression: e, wrapped: n.x}, typeString, n)
	case *hclsyntax.TemplateJoinExpr:
		n := c.walk(e.Tuple, w)
		return c.combine(&joinNode{&hclsyntax.TemplateJoinExpr{Tuple: n.x}}, typeString, n)
	case *hclsyntax.FunctionCallExpr:
		return c.call(e, w)
	case *hclsyntax.ConditionalExpr:
		return c.conditional(e, w)
	case *hclsyntax.BinaryOpExpr:
		return c.binary(e, w)
	case *hclsyntax.UnaryOpExpr:
		return c.unary(e, w)
	case *hclsyntax.ExprSyntaxError: // complained of by the parser
		return poison(e.SrcRange)
	}
	c.error(e.Range(), sumSyntax, "This sort of expression is not part of the language.")
	return poison(e.Range())
}

// refuseSensitive complains of every secret that the expression would read.
func (c *compiler) refuseSensitive(x hclsyntax.Expression) {
	visit(x, func(x hclsyntax.Expression) {
		if v, ok := literal(x); ok && v.ContainsMarked() {
			c.error(x.Range(), sumSensitive, "This value is sensitive. It reaches a provider's configuration and nothing else: it may stand in no document, prompt, record or condition.")
		}
	})
}
