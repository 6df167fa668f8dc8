package dag

import (
	"fmt"
	"strings"
)

// way is an arm of one of the pipelines; the zero way is none.
type way struct {
	graph *Graph
	arm   *Arm
}

// same compares two ways by all that is told of them.
func (w way) same(o way) bool { return w.describe(true) == o.describe(true) }

// describeBoth tells two ways that differ so that their texts differ, too.
func describeBoth(was, is way) (before, after string) {
	before, after = was.describe(false), is.describe(false)
	if before == after {
		before, after = was.describe(true), is.describe(true)
	}
	return before, after
}

// describe tells a way in a cell: all that there is to it, but what a mode comes
// to. Resolved, its expressions are told with all that is known in them.
func (w way) describe(resolved bool) string {
	if w.arm == nil {
		return ""
	}
	writer := armWriter{graph: w.graph, resolved: resolved}
	writer.arm(w.arm)
	return writer.String()
}

type armWriter struct {
	strings.Builder
	graph    *Graph
	resolved bool
}

func (w *armWriter) say(format string, args ...any) { fmt.Fprintf(&w.Builder, format, args...) }

func (w *armWriter) expr(e Expr) string {
	if w.resolved {
		return normalOf(e)
	}
	return e.String()
}

func (w *armWriter) arm(a *Arm) {
	switch a.Kind {
	case ArmWhen:
		w.when(a)
	case ArmStage:
		w.say("stage.%s", a.Stage.Name)
		if a.Bounded {
			w.say(" at most %d×, then ", a.Max)
			w.inner(a.Exhausted, string(EExhausted))
		}
	case ArmGate:
		w.say("gate")
		w.more(" as %s", string(a.As))
		w.more(" with %s", string(a.Code))
	case ArmStop:
		if a.End == "" { // none of a pipeline's: see unevaluated
			w.say("%s: a condition cannot be evaluated", a.Code)
			return
		}
		w.say("stop %s", a.End)
		w.more(" with %s", string(a.Code))
		w.more(" status %q", a.Status)
	case ArmAsk:
		w.ask(a.Ask)
	}
	for _, f := range a.Findings {
		w.finding(f)
	}
	if a.Mode != nil {
		w.say(" in mode.%s, in shadow ", a.Mode.Name)
		w.inner(a.Shadow, "nowhere")
	}
}

func (w *armWriter) more(format, word string) {
	if word != "" {
		w.say(format, word)
	}
}

// inner is an arm inside of another's text.
func (w *armWriter) inner(a *Arm, none string) {
	if a == nil {
		w.say("%s", none)
		return
	}
	w.arm(a)
}

func (w *armWriter) when(a *Arm) {
	w.say("(")
	for i, b := range a.Branches {
		if i > 0 {
			w.say("; ")
		}
		w.say("%s: ", w.expr(b.If))
		w.arm(b.Arm)
	}
	if a.Else != nil {
		w.say("; else: ")
		w.arm(a.Else)
	}
	w.say(")")
}

func (w *armWriter) finding(f FindingRule) {
	w.say(", leaves %s", f.Code)
	// A triage that is the code's own changes with the code, which is told there.
	if c := w.graph.FailureCode(f.Code); c == nil || c.Triage != f.Triage {
		w.say(" as %s", f.Triage)
	}
	if f.If != nil {
		w.say(" if %s", w.expr(f.If))
	}
	if f.Figure != nil {
		w.say(" with figure %s", w.expr(f.Figure))
	}
	if f.Evidence != nil {
		w.say(" with evidence %s", w.expr(f.Evidence))
	}
	if f.Mode != nil {
		w.say(" in mode.%s", f.Mode.Name)
	}
}

func (w *armWriter) ask(a *Ask) {
	w.say("ask at most %d×", a.Max)
	if a.Question != nil {
		w.say(" %s", w.expr(a.Question))
	}
	w.say(", resumes at %s", strings.Join(stageRefs(a.Resume), " or "))
	if a.ResumeTo != nil {
		w.say(" by %s", w.expr(a.ResumeTo))
	}
	if a.Schema != nil {
		w.say(", answers by %s", a.Schema.Name())
		if w.resolved {
			w.say(" (%s)", a.Schema.Source().Digest)
		}
	}
	w.say(", then ")
	w.inner(a.Exhausted, string(EExhausted))
	if a.Expires > 0 {
		w.say(", after %s ", a.Expires)
		w.inner(a.Expired, "failed")
	}
}
