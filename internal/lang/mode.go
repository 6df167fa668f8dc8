package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// loadModes decides the modes that variables and files decide. One that reads
// what a run asks for, or the labels, is checked and left to the start of a run.
func (l *loader) loadModes() {
	for _, block := range l.blocks["mode"] {
		m := l.names["mode"].nodes[block.Labels[0]].(*dag.Mode)
		l.graph.Modes = append(l.graph.Modes, m)
		b := l.open(block, shape{need: []string{"value"}})
		e := b.expr("value")
		if e == nil {
			continue
		}
		if apply, ok := l.opts.under.mode(m.Name); ok {
			m.Apply = apply
			continue
		}
		if readsRun(e) {
			l.unsupportedAt("a mode that is decided at the start of a run", b.attrs["value"].SrcRange)
			b.later("value", expr.WantText, place{kind: atMode}, func(x dag.Expr) { m.Value = x })
			continue
		}
		m.Apply = b.word("value", "apply", "shadow") == "apply"
	}
}

// readsRun reports whether a mode depends on the run or on labels.
func readsRun(e hclsyntax.Expression) bool {
	for _, t := range e.Variables() {
		if root := t.RootName(); root == "requested" || root == "gate" {
			return true
		}
	}
	found := false
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && call.Name == "labels" {
			found = true
		}
		return nil
	})
	return found
}

// labelsFunction stands for the count of labels given in review, which only a
// run knows.
var labelsFunction = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "gate", Type: cty.String}, {Name: "purpose", Type: cty.String}, {Name: "where", Type: cty.DynamicPseudoType},
	},
	Type: function.StaticReturnType(cty.Number),
	Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return cty.UnknownVal(cty.Number), nil },
})

var invariantShape = shape{may: []string{"from", "to", "through", "condition"}}

func (l *loader) loadInvariants() {
	for _, block := range l.blocks["invariant"] {
		b := l.open(block, invariantShape)
		if b.has("condition") {
			for _, name := range []string{"from", "to", "through"} {
				if b.has(name) {
					b.fail(b.attrs[name].SrcRange, oneOfSeveral, "An invariant is a path (`from`, `to`, `through`) or a static `condition`, not both. Write two invariants.")
				}
			}
			if holds, ok := b.typed("condition", cty.Bool); ok && holds.False() {
				l.error(b.expr("condition").Range(), invariantBroken, fmt.Sprintf("The invariant %q does not hold: its condition is false.", block.Labels[0]))
			} else if ok {
				l.graph.Invariants = append(l.graph.Invariants, &dag.Invariant{
					Text: block.Labels[0], Condition: expr.SourceText(b.expr("condition").Range(), l.files.Source), Pos: l.pos(block.DefRange()),
				})
			}
			continue
		}
		for _, name := range []string{"from", "to", "through"} {
			if !b.has(name) && b.ok {
				b.fail(b.at, missingAttribute, fmt.Sprintf("An invariant over paths needs `from`, `to` and `through`; `%s` is missing. One over variables has a `condition`.", name))
			}
		}
		inv := &dag.Invariant{
			Text: block.Labels[0], From: refList[dag.Stage](b, "from", "stage"), To: refAttr[dag.Gate](b, "to", "gate"),
			Through: refAttr[dag.Stage](b, "through", "stage"), Pos: l.pos(block.DefRange()),
		}
		if b.ok {
			l.graph.Invariants = append(l.graph.Invariants, inv)
		}
	}
}

// unsupported is what is understood and checked, and not run by this version.
type unsupported struct {
	what string
	at   hcl.Range
}

func (l *loader) unsupportedAt(what string, at hcl.Range) {
	l.wants = append(l.wants, unsupported{what, at})
	l.diags = append(l.diags, diag.Warning(at, notSupportedYet, fmt.Sprintf("This version of Penstock understands and checks this (%s), but does not run it: plan and run will refuse the pipeline.", what)))
}

func (l *loader) unsupported() []dag.Unsupported {
	var list []dag.Unsupported
	for _, u := range l.wants {
		list = append(list, dag.Unsupported{What: u.what, Pos: dag.Pos{File: u.at.Filename, Line: u.at.Start.Line, Column: u.at.Start.Column}})
	}
	return list
}
