package expr

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/penstock-run/penstock/internal/diag"
)

func (c *compiler) call(e *hclsyntax.FunctionCallExpr, w where) node {
	f, ok := c.env.Functions[e.Name]
	if !ok {
		c.noFunction(e)
		return poison(e.Range())
	}
	x := *e
	x.Args = nil
	var args []node
	for _, a := range e.Args {
		n := c.walk(a, w)
		args = append(args, n)
		x.Args = append(x.Args, n.x)
	}
	if slices.ContainsFunc(args, func(n node) bool { return n.bad }) {
		return poison(e.Range())
	}
	if e.ExpandFinal { // how many arguments there are is known at run time
		return c.combine(&x, typeAny, args...)
	}
	t, ok := c.checkCall(f, e, args)
	if !ok {
		return poison(e.Range())
	}
	if n, ok := c.special(&x, args); ok {
		return n
	}
	if e.Name == "contains" && !c.checkContains(e, args) {
		return poison(e.Range())
	}
	n := c.combine(&x, t, args...)
	if e.Name == "contains" && len(args) == 2 && args[1].key != "" {
		if list, ok := literal(args[0].x); ok && list.IsKnown() && !list.IsMarked() && !hasNull(list) {
			n.yes = []string{args[1].key}
		}
	}
	return n
}

// checkContains complains where none of the elements is one that the value can
// have.
func (c *compiler) checkContains(e *hclsyntax.FunctionCallExpr, args []node) bool {
	list, value := args[0].t, args[1].t
	if list.kind != kindList || list.elem.kind == kindAny || list.elem.nullable || value.kind == kindAny || value.nullable {
		return true
	}
	if list.elem.kind == value.kind && (list.elem.values == nil || value.values == nil || len(common(list.elem.values, value.values)) > 0) {
		return true
	}
	c.error(e.Range(), sumNever, fmt.Sprintf("The list is of %s, and %s is %s: it is never among them.", list.elem.describeMany(), subject(args[1], "the value"), value.describe()))
	return false
}

func hasNull(list cty.Value) bool {
	if list.IsNull() || !list.CanIterateElements() {
		return true
	}
	for it := list.ElementIterator(); it.Next(); {
		if _, v := it.Element(); v.IsNull() {
			return true
		}
	}
	return false
}

func (c *compiler) noFunction(e *hclsyntax.FunctionCallExpr) {
	switch e.Name {
	case "try", "can":
		c.error(e.NameRange, sumFunction, fmt.Sprintf("There is no %s: it would hide a misspelt name. Where an attribute may be absent, write get(OBJECT, \"a.b\", DEFAULT); where a value may be null, x == null ? … : x.", e.Name))
		return
	case "strlen":
		c.error(e.NameRange, sumFunction, "There is no strlen. The number of characters is runes(…), of words words(…), of elements length(…).")
		return
	case "timestamp", "uuid", "plantimestamp", "bcrypt":
		c.error(e.NameRange, sumFunction, fmt.Sprintf("There is no %s: a function gives the same for the same arguments, or nothing could be answered from staging. The time of a run is run.started_at, where run can be read.", e.Name))
		return
	}
	if hint, ok := otherFunctions[e.Name]; ok {
		c.error(e.NameRange, sumFunction, fmt.Sprintf("There is no function %q. %s", e.Name, hint))
		return
	}
	names := make([]string, 0, len(c.env.Functions))
	for name := range c.env.Functions {
		names = append(names, name)
	}
	c.error(e.NameRange, sumFunction, join(fmt.Sprintf("There is no function %q.", e.Name), diag.DidYouMean(e.Name, names), "`penstock functions` lists all of them."))
}

// checkCall looks at the arguments as far as their types are known, and gives
// the type of the result.
func (c *compiler) checkCall(f function.Function, e *hclsyntax.FunctionCallExpr, args []node) (*Type, bool) {
	params, rest := f.Params(), f.VarParam()
	if len(args) < len(params) || (rest == nil && len(args) > len(params)) {
		c.error(e.Range(), sumType, fmt.Sprintf("%s takes %s, and here are %d: %s.", e.Name, counted(len(params), rest != nil), len(args), signature(e.Name, f)))
		return nil, false
	}
	vals := make([]cty.Value, len(args))
	for i, a := range args {
		p := rest
		if i < len(params) {
			p = &params[i]
		}
		if p.Type.IsPrimitiveType() && (a.t.kind == kindList || a.t.kind == kindObject) {
			c.error(e.Args[i].Range(), sumType, fmt.Sprintf("The argument %q of %s does not fit: a %s is needed, and this is %s.", p.Name, e.Name, fromCty(p.Type), articled(a.t.notNull())))
			return nil, false
		}
		v, err := convert.Convert(unknownOf(a), p.Type)
		if err != nil {
			c.error(e.Args[i].Range(), sumType, fmt.Sprintf("The argument %q of %s does not fit: %s.", p.Name, e.Name, err))
			return nil, false
		}
		vals[i] = v
	}
	t, err := returnType(f, vals)
	if err == nil {
		return fromCty(t), true
	}
	at := e.Range()
	var arg function.ArgError
	if errors.As(err, &arg) && arg.Index < len(args) {
		at = e.Args[arg.Index].Range()
	}
	hint := ""
	if strings.HasPrefix(e.Name, "regex") {
		hint = "Patterns are those of RE2, which has no look-ahead, no look-behind and no back-references."
	}
	c.error(at, sumType, join(fmt.Sprintf("%s cannot take this: %s.", e.Name, strings.TrimSuffix(strings.ReplaceAll(err.Error(), " Perl syntax", " syntax"), ".")), hint))
	return nil, false
}

// returnType asks a function for its result's type. Some functions of cty
// panic on types that they did not expect; that says nothing about the call.
func returnType(f function.Function, vals []cty.Value) (t cty.Type, err error) {
	defer func() {
		if r := recover(); r != nil {
			t, err = cty.DynamicPseudoType, nil
		}
	}()
	return f.ReturnTypeForValues(vals)
}

func counted(n int, more bool) string {
	switch {
	case more:
		return "at least " + plural(n, "argument")
	}
	return plural(n, "argument")
}

// signature is a function as it is called: substr(str, offset, length).
func signature(name string, f function.Function) string {
	var params []string
	for _, p := range f.Params() {
		params = append(params, p.Name)
	}
	if p := f.VarParam(); p != nil {
		params = append(params, p.Name+"...")
	}
	return name + "(" + strings.Join(params, ", ") + ")"
}

// unknownOf is what a function may know of an argument before a run. What a
// type cannot say in cty's words is said not at all: the number of elements of
// a list, the names of an object that may have others.
func unknownOf(n node) cty.Value {
	if v, ok := literal(n.x); ok {
		return v
	}
	switch n.t.kind {
	case kindString:
		return cty.UnknownVal(cty.String)
	case kindNumber:
		return cty.UnknownVal(cty.Number)
	case kindBool:
		return cty.UnknownVal(cty.Bool)
	case kindList:
		switch n.t.elem.kind {
		case kindString:
			return cty.UnknownVal(cty.List(cty.String))
		case kindNumber:
			return cty.UnknownVal(cty.List(cty.Number))
		case kindBool:
			return cty.UnknownVal(cty.List(cty.Bool))
		}
	}
	return cty.DynamicVal
}

// special are the calls that read a document in a way of their own.
func (c *compiler) special(x *hclsyntax.FunctionCallExpr, args []node) (node, bool) {
	if len(args) == 0 {
		return node{}, false
	}
	p, isPath := args[0].x.(*pathNode)
	switch {
	case x.Name == "get" && len(args) == 3:
		if v, ok := literal(args[1].x); ok && v.Type() == cty.String && v.IsKnown() && !v.IsMarked() && !v.IsNull() {
			return c.get(x, args, v.AsString())
		}
	case isPath && (x.Name == "digest" || ownText[x.Name] != nil) && len(args) == 1:
		n := c.combine(&ownTextNode{FunctionCallExpr: x, p: p.p}, typeString, args...)
		return n, true
	}
	return node{}, false
}

// get is get(object, "a.b", default) with a path that is known: its names are
// checked like any others, only absence is allowed for.
func (c *compiler) get(x *hclsyntax.FunctionCallExpr, args []node, dotted string) (node, bool) {
	if _, ok := literal(args[0].x); ok {
		// A file that was read may have the attribute or not: that is what get is for.
		return node{}, false
	}
	steps := getSteps(dotted, x.Args[1].Range())
	t, text := args[0].t, args[0].text
	if p, ok := args[0].x.(*pathNode); ok && t.kind == kindAny && len(p.p.steps) == 0 {
		c.readUntyped(p.p.name, x.Args[1].Range())
	}
	for i := range steps {
		next, detail := getStepType(t, &steps[i], text)
		if detail != "" {
			c.error(x.Args[1].Range(), sumAttribute, detail)
			return poison(x.Range()), true
		}
		t = next
		text += steps[i].text()
	}
	t = Join(t.notNull(), args[2].t)
	p, ok := args[0].x.(*pathNode)
	if !ok {
		return c.combine(x, t, args...), true
	}
	full := *p.p
	full.steps = append(slices.Clip(full.steps), steps...)
	full.text = text
	g := &getNode{Expression: x, p: &full, hard: len(p.p.steps), fallback: args[2].x}
	if v, ok := literal(args[2].x); ok {
		if b, err := Canonical(v); err == nil {
			g.constant = b
		}
	}
	return c.combine(g, t, args...), true
}

// getStepType is stepType where a number may be an index or a name.
func getStepType(t *Type, s *step, text string) (*Type, string) {
	if s.either && t.kind == kindList {
		*s = indexStep(s.index, s.rng)
	}
	return stepType(t, s, text)
}

// getSteps splits the path that get takes: names, and numbers for elements.
func getSteps(dotted string, rng hcl.Range) []step {
	var steps []step
	for part := range strings.SplitSeq(dotted, ".") {
		s := attrStep(part, rng)
		if n, err := strconv.Atoi(part); err == nil && n >= 0 {
			s.index, s.either = n, true
		}
		steps = append(steps, s)
	}
	return steps
}
