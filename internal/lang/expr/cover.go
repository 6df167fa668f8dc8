package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
)

// Coverage tells whether conditions, tried in order, cover every case.
type Coverage struct {
	Complete bool   // one of them holds whatever the documents say
	Always   bool   // Complete whatever the values of variables are, too: an else is never taken
	Missing  string // not Complete: a case that none covers, or why it cannot be told, in words
	Dead     []int  // indexes of conditions that can never be the first to hold
}

// maxCombinations bounds the proof.
const maxCombinations = 4096

// Cover proves whether one of the conditions always holds. It understands
// ! && || of path == constant, path != constant, contains(constants, path) and
// bool paths, and goes through every combination of what the paths can be. A
// path that is neither an enum nor a bool by its schema proves nothing unless
// only null is asked of it, but may still show that a condition can never hold.
func Cover(conds []dag.Expr) Coverage {
	r := &reader{index: map[string]int{}}
	arms := make([]arm, len(conds))
	for i, c := range conds {
		if x, ok := c.(*compiled); ok {
			arms[i].holds = r.formula(x.root)
			arms[i].vars, r.used = r.used, nil
			arms[i].toggled = x.toggled
		}
		arms[i].expr = c
	}
	if n := r.combinations(); n > maxCombinations {
		return Coverage{Missing: fmt.Sprintf("the conditions read so many values that there are more than %d combinations; an else is needed", maxCombinations)}
	}
	return r.prove(arms)
}

// arm is one condition.
type arm struct {
	expr    dag.Expr
	holds   formula // nil: not of the kind that can be proved
	vars    []int
	toggled bool // another run may have it otherwise: it makes nothing dead, and is not dead itself
}

// truth is what a formula comes to for one combination.
type truth int8

const (
	no truth = iota
	yes
	fails // it cannot be evaluated: a bool that is null
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// formula decides for one combination: the value of each variable, as JSON.
// other stands for every value that no condition names.
type formula func(values []string) truth

const other = ""

// reader makes formulas of conditions and collects what they read.
type reader struct {
	vars  []variable
	index map[string]int
	used  []int // by the condition that is being read
}

// variable is a path with what it can be.
type variable struct {
	text   string
	values []string
	finite bool // the schema says all that it can be
	open   bool // it is compared with values of which the schema does not say all
}

func (r *reader) variable(n *pathNode) int {
	i, ok := r.index[n.p.text]
	if !ok {
		i = len(r.vars)
		r.index[n.p.text] = i
		v := variable{text: n.p.text}
		switch {
		case n.t.values != nil:
			v.values, v.finite = slices.Clone(n.t.values), true
		case n.t.kind == kindBool:
			v.values, v.finite = []string{"true", "false"}, true
		default:
			v.values = []string{other}
		}
		r.vars = append(r.vars, v)
	}
	if n.t.nullable { // a guard before one use does not make another use sure
		r.add(i, "null")
	}
	if !slices.Contains(r.used, i) {
		r.used = append(r.used, i)
	}
	return i
}

// add makes a value one that the variable can have.
func (r *reader) add(i int, value string) {
	if v := &r.vars[i]; !slices.Contains(v.values, value) {
		v.values = append(v.values, value)
	}
}

// mention adds a constant to a variable of which the schema does not say all.
func (r *reader) mention(i int, value string) {
	if v := &r.vars[i]; !v.finite {
		v.open = v.open || value != "null"
		r.add(i, value)
	}
}

func (r *reader) formula(x hclsyntax.Expression) formula {
	switch x := x.(type) {
	case *hclsyntax.LiteralValueExpr:
		if v := x.Val; !v.IsMarked() && v.IsKnown() && !v.IsNull() && v.Type() == cty.Bool {
			known := truthOf(v.True())
			return func([]string) truth { return known }
		}
	case *pathNode:
		if x.t.kind == kindBool {
			i := r.variable(x)
			return func(values []string) truth {
				if values[i] == "null" {
					return fails
				}
				return truthOf(values[i] == "true")
			}
		}
	case *notNode:
		if inner := r.formula(x.val); inner != nil {
			return func(values []string) truth {
				if t := inner(values); t != fails {
					return yes - t
				}
				return fails
			}
		}
	case *logicNode:
		l, rt := r.formula(x.l), r.formula(x.r)
		if l != nil && rt != nil {
			decided := truthOf(!x.and)
			return func(values []string) truth {
				if t := l(values); t == fails || t == decided {
					return t
				}
				return rt(values)
			}
		}
	case *compareNode:
		return r.comparison(x)
	case *hclsyntax.FunctionCallExpr:
		return r.containment(x)
	}
	return nil
}

func (r *reader) comparison(x *compareNode) formula {
	if x.Op != hclsyntax.OpEqual && x.Op != hclsyntax.OpNotEqual {
		return nil
	}
	unequal := x.Op == hclsyntax.OpNotEqual
	for _, side := range [][2]hclsyntax.Expression{{x.l, x.r}, {x.r, x.l}} {
		n, isPath := side[0].(*pathNode)
		v, isLiteral := literal(side[1])
		if !isPath || !isLiteral {
			continue
		}
		value, ok := scalar(v)
		if !ok {
			return nil
		}
		i := r.variable(n)
		r.mention(i, value)
		return func(values []string) truth { return truthOf((values[i] == value) != unequal) }
	}
	l, rt := r.formula(x.l), r.formula(x.r)
	if l == nil || rt == nil {
		return nil
	}
	return func(values []string) truth {
		a := l(values)
		if a == fails {
			return fails
		}
		b := rt(values)
		if b == fails {
			return fails
		}
		return truthOf((a == b) != unequal)
	}
}

func (r *reader) containment(x *hclsyntax.FunctionCallExpr) formula {
	if x.Name != "contains" || len(x.Args) != 2 || x.ExpandFinal {
		return nil
	}
	n, isPath := x.Args[1].(*pathNode)
	list, isLiteral := literal(x.Args[0])
	if !isPath || !isLiteral || list.IsMarked() || !list.IsKnown() || list.IsNull() || !list.CanIterateElements() {
		return nil
	}
	var consts []string
	for it := list.ElementIterator(); it.Next(); {
		_, v := it.Element()
		value, ok := scalar(v)
		if !ok {
			return nil
		}
		consts = append(consts, value)
	}
	i := r.variable(n)
	for _, value := range consts {
		r.mention(i, value)
	}
	return func(values []string) truth { return truthOf(slices.Contains(consts, values[i])) }
}

// scalar is a constant as JSON, where it is a text, a number, a bool or null.
func scalar(v cty.Value) (string, bool) {
	if v.IsMarked() || !v.IsKnown() || (!v.IsNull() && !v.Type().IsPrimitiveType()) {
		return "", false
	}
	b, err := Canonical(v)
	return string(b), err == nil
}

func (r *reader) combinations() int {
	n := 1
	for _, v := range r.vars {
		if n *= len(v.values); n > maxCombinations {
			return n
		}
	}
	return n
}

func (r *reader) prove(arms []arm) Coverage {
	alive := make([]bool, len(arms))
	missing, always := "", true
	r.each(func(values []string) {
		// stopped: a condition before holds in this run; shadowed: in every run.
		covered, stopped, shadowed := false, false, false
		taken := false // by a condition, in every run
		for i, a := range arms {
			if a.holds == nil {
				alive[i] = alive[i] || !shadowed
				continue // it may hold or not: later ones are still reached
			}
			t := a.holds(values)
			if !shadowed && (a.toggled || t == yes) {
				alive[i] = true
			}
			covered = covered || (!stopped && t == yes && r.finite(a))
			taken = taken || (!a.toggled && t == yes && r.finite(a))
			stopped = stopped || t != no
			shadowed = shadowed || (t != no && !a.toggled)
		}
		if !covered && missing == "" {
			missing = r.words(values)
		}
		always = always && taken
	})
	c := Coverage{Complete: missing == "", Always: missing == "" && always, Missing: missing}
	for i, live := range alive {
		if !live {
			c.Dead = append(c.Dead, i)
		}
	}
	if !c.Complete {
		if why := r.unprovable(arms); why != "" {
			c.Missing = why
		}
	}
	return c
}

func (r *reader) finite(a arm) bool {
	for _, i := range a.vars {
		if r.vars[i].open {
			return false
		}
	}
	return true
}

// each goes through all combinations.
func (r *reader) each(f func(values []string)) {
	values := make([]string, len(r.vars))
	var from func(i int)
	from = func(i int) {
		if i == len(r.vars) {
			f(values)
			return
		}
		for _, v := range r.vars[i].values {
			values[i] = v
			from(i + 1)
		}
	}
	from(0)
}

// words is a combination as people read it.
func (r *reader) words(values []string) string {
	if len(values) == 0 {
		return "no condition holds"
	}
	var parts []string
	for i, v := range r.vars {
		if values[i] == other {
			parts = append(parts, v.text+" = anything else")
		} else {
			parts = append(parts, v.text+" = "+values[i])
		}
	}
	return strings.Join(parts, ", ")
}

// unprovable says what stands in the way of a proof.
func (r *reader) unprovable(arms []arm) string {
	for _, a := range arms {
		if a.holds == nil {
			return fmt.Sprintf("the condition %s is not built of == and != with constants, contains(constants, …), bools, !, && and || alone", a.expr)
		}
		for _, i := range a.vars {
			if r.vars[i].open {
				return fmt.Sprintf("%s is neither an enum nor a bool by its schema", r.vars[i].text)
			}
		}
	}
	return ""
}
