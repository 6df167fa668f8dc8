package lang

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// flow is what is known of the documents at each place of the graph. The item
// at a place is one of several documents, by the ways that lead there; they are
// tracked as a set of where it was made, so that a loop adds nothing, and
// joined to a type at the end.
type flow struct {
	l    *loader
	ways *dag.Ways // nil where the graph has holes: then nothing is complained of for its sake

	before map[*dag.Stage]makers // the item that a stage is given
	gate   makers
	envs   map[place]*expr.Env

	origin known
	after  map[*dag.Stage]known // what travels on, where the stage makes it
	output map[*dag.Stage]known // the output; after a fan-out its element
	each   map[*dag.Stage]known // the elements of a fan-out
	passes map[*dag.Stage]bool  // forward may give the item as it was
	copies map[*dag.Stage]bool  // the output is the item as it was: rules without an output

	schemas map[dag.Schema]known
}

// makers are the stages that made the document; nil among them is the source.
type makers []*dag.Stage

func (m makers) with(more makers) (makers, bool) {
	grown := false
	for _, s := range more {
		if !slices.Contains(m, s) {
			m, grown = append(m, s), true
		}
	}
	return m, grown
}

func (l *loader) newFlow() *flow {
	f := &flow{
		l: l, before: map[*dag.Stage]makers{}, envs: map[place]*expr.Env{},
		after: map[*dag.Stage]known{}, output: map[*dag.Stage]known{}, each: map[*dag.Stage]known{}, passes: map[*dag.Stage]bool{}, copies: map[*dag.Stage]bool{}, schemas: map[dag.Schema]known{},
	}
	f.origin = unknown
	for i, s := range l.graph.Sources {
		if i == 0 {
			f.origin = f.schema(s.Schema)
		} else {
			f.origin = f.origin.join(f.schema(s.Schema))
		}
	}
	for _, s := range l.graph.Stages {
		f.stageTypes(s)
	}
	if !l.broken {
		f.ways = l.graph.Visited()
		f.spread()
		f.settle()
	}
	return f
}

// settle types what is made of items, now that it is known who made those. One
// stage may be given what another made: a few rounds do for all but a chain of
// fan-outs that nobody writes, and what stays unknown then is only not checked.
func (f *flow) settle() {
	for range 4 {
		for _, s := range f.l.graph.Stages {
			if f.copies[s] {
				f.output[s] = f.gives(s)
			} else if s.FanOut != nil || f.after[s].t != f.output[s].t {
				f.stageTypes(s)
			}
		}
	}
}

// stageTypes decides what a stage's output is, and what travels on.
func (f *flow) stageTypes(s *dag.Stage) {
	out := f.gives(s)
	f.output[s], f.after[s] = out, out
	block := f.l.stageBlock(s)
	if block == nil {
		return
	}
	if s.FanOut != nil {
		f.each[s] = unknown
		if fan := findBlock(block.Body, "fan_out"); fan != nil && fan.Body.Attributes["each"] != nil {
			f.each[s] = f.elements(s, fan.Body.Attributes["each"].Expr, out)
		}
		// What travels after a fan-out is the element, and its artifact too.
		f.output[s], f.after[s] = f.each[s], f.each[s]
		return
	}
	forward := block.Body.Attributes["forward"]
	if forward != nil && !s.ForwardItem {
		f.after[s], f.passes[s] = f.forwarded(s, forward.Expr, out)
	}
	copies := s.Decide != nil && s.Schema == nil && forward == nil && block.Body.Attributes["input"] == nil && !givesOutput(block)
	if copies {
		f.copies[s] = true
	}
}

// gives is the document that a visit gives: of several samples the list.
func (f *flow) gives(s *dag.Stage) known {
	if f.copies[s] {
		return f.item(f.before[s])
	}
	out := f.schema(s.Schema)
	if s.Samples > 0 {
		return out.list()
	}
	return out
}

// givesOutput tells whether some rule of a decide block has an output of its own.
func givesOutput(stage *hclsyntax.Block) bool {
	decide := findBlock(stage.Body, "decide")
	return decide == nil || slices.ContainsFunc(decide.Body.Blocks, func(b *hclsyntax.Block) bool { return b.Body.Attributes["output"] != nil })
}

// elements is what the elements of a list are that an expression picks.
func (f *flow) elements(s *dag.Stage, e hclsyntax.Expression, output known) known {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return f.elements(s, e.Expression, output)
	case *hclsyntax.ConditionalExpr:
		switch {
		case isEmptyList(e.TrueResult):
			return f.elements(s, e.FalseResult, output)
		case isEmptyList(e.FalseResult):
			return f.elements(s, e.TrueResult, output)
		}
		return f.elements(s, e.TrueResult, output).join(f.elements(s, e.FalseResult, output))
	}
	return f.path(s, e, output).element()
}

func isEmptyList(e hclsyntax.Expression) bool {
	t, ok := e.(*hclsyntax.TupleConsExpr)
	return ok && len(t.Exprs) == 0
}

// forwarded is what a `forward` makes of the output, and whether the item may
// pass as it was: the results of a conditional are picked, never unified.
func (f *flow) forwarded(s *dag.Stage, e hclsyntax.Expression, output known) (made known, passes bool) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return f.forwarded(s, e.Expression, output)
	case *hclsyntax.ConditionalExpr:
		yes, passes1 := f.forwarded(s, e.TrueResult, output)
		no, passes2 := f.forwarded(s, e.FalseResult, output)
		switch {
		case isName(e.TrueResult, "item"):
			return no, true
		case isName(e.FalseResult, "item"):
			return yes, true
		}
		return yes.join(no), passes1 || passes2
	}
	return f.path(s, e, output), false
}

// schema is what a schema says, read once however many stages name it.
func (f *flow) schema(s dag.Schema) known {
	k, ok := f.schemas[s]
	if !ok {
		k = knownSchema(s)
		f.schemas[s] = k
	}
	return k
}

// given is the input of a stage's visits: what its attribute `input` makes, and the
// item where that is nil.
func (f *flow) given(s *dag.Stage, input hclsyntax.Expression) known {
	if input == nil {
		return f.item(f.before[s])
	}
	return f.path(s, input, unknown)
}

// path follows `output.a.b` into the schema of the output, `item.a` into that of
// the item, also as members of an object.
func (f *flow) path(s *dag.Stage, e hclsyntax.Expression, output known) known {
	if object, ok := e.(*hclsyntax.ObjectConsExpr); ok {
		props := map[string]*expr.Type{}
		for _, item := range object.Items {
			name, ok := literalKey(item.KeyExpr)
			if !ok {
				return unknown
			}
			props[name] = f.path(s, item.ValueExpr, output).t
		}
		return known{t: expr.Object(props)}
	}
	t, diags := hcl.AbsTraversalForExpr(e)
	if diags.HasErrors() {
		return unknown
	}
	k := output
	switch t.RootName() {
	case "output":
	case "item":
		k = f.item(f.before[s])
	case "origin":
		k = f.origin
	default:
		return unknown
	}
	for _, step := range t[1:] {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok {
			return unknown
		}
		k = k.member(attr.Name)
	}
	return k
}

func (l *loader) stageBlock(s *dag.Stage) *hclsyntax.Block {
	if s.Index < len(l.blocks["stage"]) {
		return l.blocks["stage"][s.Index]
	}
	return nil
}

func findBlock(body *hclsyntax.Body, name string) *hclsyntax.Block {
	for _, b := range body.Blocks {
		if b.Type == name {
			return b
		}
	}
	return nil
}

// leads is one way out of a stage.
type leads struct {
	to     *dag.Stage // nil: the gate
	failed bool
}

// spread carries the item along all ways until nothing is added.
func (f *flow) spread() {
	out := map[*dag.Stage][]leads{}
	led := map[*dag.Stage]bool{}
	for _, r := range f.l.graph.Routes {
		var ways []leads
		ways = collect(ways, r.To, false)
		for _, o := range r.Order {
			ways = collect(ways, r.On[o], false)
		}
		for _, fail := range r.Fail {
			ways = collect(ways, fail.Arm, true)
		}
		for _, s := range r.From {
			out[s] = append(out[s], ways...)
		}
		for _, w := range ways {
			led[w.to] = true
		}
	}
	var todo []*dag.Stage
	for _, s := range f.l.graph.Stages {
		if !led[s] {
			f.before[s] = makers{nil}
			todo = append(todo, s)
		}
	}
	if len(todo) == 0 && len(f.l.graph.Stages) > 0 { // a loop through the first stage
		first := f.l.graph.Stages[0]
		f.before[first] = makers{nil}
		todo = append(todo, first)
	}
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		for _, w := range out[s] {
			travels := f.leaving(s, w.failed)
			if w.to == nil {
				f.gate, _ = f.gate.with(travels)
				continue
			}
			grown := false
			if f.before[w.to], grown = f.before[w.to].with(travels); grown {
				todo = append(todo, w.to)
			}
		}
	}
}

// leaving is what travels on from a stage: what it made, or what it was given.
func (f *flow) leaving(s *dag.Stage, failed bool) makers {
	if failed || (s.ForwardItem || f.copies[s]) && s.FanOut == nil {
		return f.before[s]
	}
	if f.passes[s] {
		m, _ := makers{s}.with(f.before[s])
		return m
	}
	return makers{s}
}

// collect lists where an arm leads, also those that only record at the gate:
// those need no candidate and are left out.
func collect(ways []leads, a *dag.Arm, failed bool) []leads {
	if a == nil {
		return ways
	}
	switch a.Kind {
	case dag.ArmStage:
		ways = append(ways, leads{a.Stage, failed})
	case dag.ArmGate:
		if a.As == "" {
			ways = append(ways, leads{nil, failed})
		}
	case dag.ArmAsk:
		for _, s := range a.Ask.Resume {
			ways = append(ways, leads{s, failed})
		}
		ways = collect(ways, a.Ask.Exhausted, failed)
		ways = collect(ways, a.Ask.Expired, failed)
	}
	for _, b := range a.Branches {
		ways = collect(ways, b.Arm, failed)
	}
	ways = collect(ways, a.Else, failed)
	ways = collect(ways, a.Exhausted, failed)
	return collect(ways, a.Shadow, failed)
}

// item is what is known of the document, by who may have made it.
func (f *flow) item(m makers) known {
	if f.ways == nil || len(m) == 0 {
		return unknown
	}
	k := f.madeBy(m[0])
	for _, s := range m[1:] {
		k = k.join(f.madeBy(s))
	}
	return k
}

func (f *flow) madeBy(s *dag.Stage) known {
	if s == nil {
		return f.origin
	}
	return f.after[s]
}
