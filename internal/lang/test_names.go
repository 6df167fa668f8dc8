package lang

import (
	"slices"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// checkType is what a check of the gate came to, in a test.
var checkType = expr.Object(map[string]*expr.Type{
	"state": expr.Enum(checkStates...), "figure": expr.Nullable(expr.Number()), "evidence": expr.String(),
})

// ended are the names of an item that came to its end, wherever that was. What
// stands in no trail of some items is typed as if it were there: a test reads
// what it expects, and where that is not there the item failed its test.
func (n *names) ended() {
	f := n.f
	made := slices.Clone(f.gate)
	for _, s := range f.l.graph.Stages {
		made, _ = made.with(f.before[s])
	}
	if f.ways == nil {
		made = nil
	}
	n.travelling(f.item(made), "")
	n.visited(dag.Place{}, false)
	n.root("key", expr.String())
	n.root("end", expr.Enum(ends()...))
	for _, name := range []string{"code", "cause", "status", "message"} {
		n.root(name, expr.Nullable(expr.String()))
	}
	n.root("codes", expr.List(expr.String()))
	n.root("route", expr.List(expr.String()))
	n.root("record", expr.Any())
	for _, s := range f.l.graph.Stages {
		n.names[dag.Name{Root: "visits", Member: s.Name}] = expr.Number()
		n.names[dag.Name{Root: "calls", Member: s.Name}] = expr.Number()
		n.names[dag.Name{Root: "failed", Member: s.Name}] = failureObject
	}
	for _, code := range f.l.graph.Codes {
		n.names[dag.Name{Root: "finding", Member: string(code.Code)}] = findingObject
	}
	for _, name := range f.l.checkNames() {
		n.names[dag.Name{Root: "checks", Member: name}] = checkType
	}
	n.elsewhere["output"] = "is what a visit gave, in its own stage; here it is artifact.STAGE"
	n.elsewhere["run"] = "is not the same twice, so no test can rest on it"
}
