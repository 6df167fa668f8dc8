package diag

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/penstock-run/penstock/dag"
)

// FromProblem turns what a proof over the graph found into a diagnostic. A
// Problem knows where something starts, not where it ends, so the range is
// empty; whoever has the file may widen it.
func FromProblem(p dag.Problem) *hcl.Diagnostic {
	d := Error(rangeAt(p.Pos), p.Summary, p.Detail)
	var related []Related
	for _, pos := range p.Related {
		related = append(related, Related{Label: "see also", Range: rangeAt(pos)})
	}
	if related != nil {
		With(d, Info{Related: related})
	}
	return d
}

func rangeAt(p dag.Pos) hcl.Range {
	at := hcl.Pos{Line: p.Line, Column: p.Column}
	return hcl.Range{Filename: p.File, Start: at, End: at}
}
