package trial

import (
	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

// check is what a check of the gate came to; nil: it was not asked.
func (it *item) check(name string) *gate.CheckResult {
	for i := range it.end.Verdict.Checks {
		if c := &it.end.Verdict.Checks[i]; c.Name == name {
			return c
		}
	}
	return nil
}

// findings are those of the stages and, of an item that came to the gate, of its checks.
func (it *item) findings() []dag.Finding {
	switch {
	case len(it.end.Verdict.Findings) > 0:
		return it.end.Verdict.Findings
	case it.end.Traversal != nil:
		return it.end.Traversal.Findings()
	}
	return nil
}

// finding is the first of a code; nil: there is none.
func (it *item) finding(code dag.Code) *dag.Finding {
	all := it.findings()
	for i := range all {
		if all[i].Code == code {
			return &all[i]
		}
	}
	return nil
}

// figure is that of a check, or of the finding of a code.
func (it *item) figure(name string) *float64 {
	if c := it.check(name); c != nil {
		return c.Figure
	}
	if f := it.finding(dag.Code(name)); f != nil {
		return f.Figure
	}
	return nil
}

func (it *item) checkDoc(name string) (dag.Doc, error) {
	c := it.check(name)
	if c == nil {
		return dag.Doc{}, nil
	}
	return document(map[string]any{"state": c.State, "figure": c.Figure, "evidence": c.Evidence})
}

func (it *item) findingDoc(code dag.Code) (dag.Doc, error) {
	f := it.finding(code)
	if f == nil {
		return dag.Doc{}, nil
	}
	mode := "apply"
	if f.Shadow {
		mode = "shadow"
	}
	return document(map[string]any{
		"code": f.Code, "triage": f.Triage, "stage": f.Stage, "mode": mode, "figure": f.Figure, "evidence": f.Evidence,
	})
}
