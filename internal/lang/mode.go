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

// Test is a test block: items in, and what must come of them.
type Test struct {
	Text   string
	Given  []dag.Doc
	Replay string
	Mocks  []Mock
	Expect []Expect
	Pos    dag.Pos
}

// Mock answers for a stage.
type Mock struct {
	Stage   *dag.Stage
	Output  dag.Doc
	Outcome string
	Code    dag.Code
}

// Expect is what must come of an item: what is empty is not looked at.
type Expect struct {
	Route   *dag.Route
	Stage   *dag.Stage
	Outcome string
	Code    dag.Code
	Triage  dag.Triage
	Figure  *float64
	Pos     dag.Pos
}

var testShape = shape{
	need:   []string{"given"},
	may:    []string{"replay"},
	blocks: []blockShape{{name: "mock", many: true}, {name: "expect", many: true, need: true}},
}

func (l *loader) loadTests() {
	for _, block := range l.tests {
		if !l.checkLabels(block, "text") {
			continue
		}
		l.unsupportedAt("test", block.DefRange())
		b := l.open(block, testShape)
		t := &Test{Text: block.Labels[0], Replay: b.text("replay"), Pos: l.pos(block.DefRange())}
		if v, ok := b.value("given"); ok && b.isPlain(b.expr("given").Range(), "given", v, noType) {
			if !v.Type().IsTupleType() && !v.Type().IsListType() {
				b.fail(b.expr("given").Range(), wrongType, "The items that a test starts with are a list: given = [{ … }]")
			} else {
				for it := v.ElementIterator(); it.Next(); {
					_, elem := it.Element()
					t.Given = append(t.Given, l.constantDoc(b.expr("given"), elem))
				}
			}
		}
		for _, m := range b.blocks["mock"] {
			t.Mocks = append(t.Mocks, l.loadMock(m))
		}
		for _, e := range b.blocks["expect"] {
			t.Expect = append(t.Expect, l.loadExpect(e))
		}
		l.files.Tests = append(l.files.Tests, t)
	}
}

func (l *loader) loadMock(block *hclsyntax.Block) Mock {
	b := l.open(block, shape{need: []string{"stage"}, may: []string{"output", "outcome", "code"}})
	m := Mock{Stage: refAttr[dag.Stage](b, "stage", "stage"), Code: b.code("code")}
	if v, ok := b.value("output"); ok {
		m.Output = l.constantDoc(b.expr("output"), v)
	}
	m.Outcome = b.outcomeOf("outcome", m.Stage)
	return m
}

func (l *loader) loadExpect(block *hclsyntax.Block) Expect {
	b := l.open(block, shape{may: []string{"route", "stage", "outcome", "code", "triage", "figure"}})
	e := Expect{
		Route: refAttr[dag.Route](b, "route", "route"), Stage: refAttr[dag.Stage](b, "stage", "stage"),
		Code: b.code("code"), Triage: dag.Triage(b.word("triage", triages...)), Pos: l.pos(block.DefRange()),
	}
	e.Outcome = b.outcomeOf("outcome", e.Stage)
	if v, ok := b.typed("figure", cty.Number); ok {
		f, _ := v.AsBigFloat().Float64()
		e.Figure = &f
	}
	return e
}

// outcomeOf is a text that is an outcome of that stage.
func (b *body) outcomeOf(name string, s *dag.Stage) string {
	word := b.text(name)
	if s == nil || word == "" {
		return word
	}
	return b.word(name, s.Outcomes...)
}

// constantDoc is a value as a document.
func (l *loader) constantDoc(e hclsyntax.Expression, v cty.Value) dag.Doc {
	canonical, err := expr.Canonical(v)
	if err != nil {
		l.error(e.Range(), wrongType, fmt.Sprintf("This cannot be held as JSON: %s.", err))
		return dag.Doc{}
	}
	return dag.NewDoc(canonical)
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
