package lang

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// stageDecide reads a decide block.
func (l *loader) stageDecide(s *dag.Stage, b *body) {
	block := b.block("decide")
	for _, name := range []string{"provider", "config", "outcome", "retry", "batch", "samples", "max_age", "cache", "volatile"} {
		if b.has(name) || b.block(name) != nil {
			b.fail(b.place(name), strayAttribute, fmt.Sprintf("`%s` is for stages with a plugin; a decide block is evaluated by the engine itself, every time. Remove it.", name))
		}
	}
	d := l.openBody(block.Body, block.DefRange(), "decide", shape{blocks: []blockShape{
		{name: "rule", label: "REASON", many: true}, {name: "else", need: true}, {name: "finding", label: "NAME", many: true},
	}})
	s.Decide = &dag.Decide{}
	reasons := map[string]hcl.Range{}
	for _, rule := range d.blocks["rule"] {
		reason := rule.Labels[0]
		if first, ok := reasons[reason]; ok {
			l.twice(rule.LabelRanges[0], first, duplicateName, fmt.Sprintf("There is a rule %q already, and the reason is what the trail tells. Give it another.", reason))
		}
		reasons[reason] = rule.LabelRanges[0]
		q := l.open(rule, shape{need: []string{"if", "outcome"}, may: []string{"output"}})
		l.decideRule(s, q, reason, b.inherited)
	}
	if rule := d.block("else"); rule != nil {
		l.decideRule(s, l.open(rule, shape{need: []string{"outcome"}, may: []string{"output"}}), "else", b.inherited)
	}
	names := map[string]hcl.Range{}
	for _, finding := range d.blocks["finding"] {
		name := finding.Labels[0]
		if first, ok := names[name]; ok {
			l.twice(finding.LabelRanges[0], first, duplicateName, fmt.Sprintf("There is a finding %q already. Give it another name.", name))
		}
		names[name] = finding.LabelRanges[0]
		l.finding(finding, name, place{kind: atDecided, stage: s}, b.inherited, func(rule dag.FindingRule) {
			s.Decide.Findings = append(s.Decide.Findings, rule)
		})
	}
	for i, word := range s.Outcomes {
		if !d.ok || slices.ContainsFunc(s.Decide.Rules, func(r dag.DecideRule) bool { return r.Outcome == word }) {
			continue
		}
		at := b.at
		if b.has("outcomes") {
			at = elementRange(b.expr("outcomes"), i)
		}
		l.error(at, outcomeNeverSaid, fmt.Sprintf("No rule gives the outcome %q. Remove it from `outcomes`, or write a rule for it.", word))
	}
}

func (l *loader) decideRule(s *dag.Stage, q *body, reason string, lets map[string]hcl.Expression) {
	q.inherited = lets
	rule := dag.DecideRule{Reason: reason, Outcome: q.text("outcome"), Pos: l.pos(q.at)}
	if rule.Outcome != "" && !slices.Contains(s.Outcomes, rule.Outcome) {
		q.fail(q.expr("outcome").Range(), unknownOutcome, sentence(fmt.Sprintf("The stage %q has no outcome %q.", s.Name, rule.Outcome), diag.DidYouMean(rule.Outcome, s.Outcomes)))
	}
	at := len(s.Decide.Rules)
	s.Decide.Rules = append(s.Decide.Rules, rule)
	here := place{kind: atDecide, stage: s}
	q.later("if", expr.WantBool, here, func(x dag.Expr) { s.Decide.Rules[at].If = x })
	q.later("output", expr.WantDocument, here, func(x dag.Expr) { s.Decide.Rules[at].Output = x })
}

// finding reads a finding block of a decide stage or of an arm. Its parts are
// compiled later, into a rule that add has kept.
func (l *loader) finding(block *hclsyntax.Block, name string, at place, lets map[string]hcl.Expression, add func(dag.FindingRule)) {
	f := l.open(block, findingShape(name))
	f.inherited = lets
	rule := dag.FindingRule{Name: name, Code: f.code("code"), Mode: refAttr[dag.Mode](f, "mode", "mode"), Pos: l.pos(block.DefRange())}
	rule.Triage = dag.Triage(f.word("triage", triages...))
	if node, ok := l.names["failure"].nodes[string(rule.Code)].(*dag.FailureCode); ok && rule.Triage == "" {
		rule.Triage = node.Triage
	}
	// The rule is kept when all of it is there: expressions come in order.
	f.later("if", expr.WantBool, at, func(x dag.Expr) { rule.If = x })
	f.later("figure", expr.WantFigure, at, func(x dag.Expr) { rule.Figure = x })
	f.later("evidence", expr.WantText, at, func(x dag.Expr) { rule.Evidence = x })
	l.later = append(l.later, task{then: func() { add(rule) }})
}

func findingShape(name string) shape {
	s := shape{need: []string{"code"}, may: []string{"triage", "figure", "evidence", "mode"}}
	if name != "" {
		s.may = append([]string{"if"}, s.may...)
	}
	return s
}
