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

// checkCommon are the attributes that every check may have.
var checkCommon = []string{"name", "mode", "if", "triage", "ends", "message"}

var phaseNames = map[dag.Phase]string{
	dag.Static:  "static (no lock, no network)",
	dag.Network: "network",
	dag.Locked:  "locked",
}

func (l *loader) gateChecks(g *dag.Gate, b *body) {
	named := map[string]hcl.Range{}
	var last dag.CheckInfo
	mixed := false
	var lastAt hcl.Range
	for _, block := range b.blocks["check"] {
		info, ok := dag.LookupCheck(dag.CheckKind(block.Labels[0]))
		if !ok {
			l.misnamed = true // it may be what gives some code
			l.error(block.LabelRanges[0], unknownCheck, sentence(fmt.Sprintf("There is no check of the kind %q.", block.Labels[0]), diag.DidYouMean(block.Labels[0], checkNames())))
			continue
		}
		if info.Phase < last.Phase && !mixed {
			mixed = true
			l.twice(block.DefRange(), lastAt, mixedPhases, fmt.Sprintf("The check %q is %s, and stands behind %q, which is %s. Checks run static first, then over the network, then under the lock; declare them in that order.", info.Kind, phaseNames[info.Phase], last.Kind, phaseNames[last.Phase]))
		} else if info.Phase >= last.Phase {
			last, lastAt = info, block.DefRange()
		}
		if !info.Supported {
			l.unsupportedAt(fmt.Sprintf("check %q", info.Kind), block.DefRange())
		}
		c := l.loadCheck(info, block, b.inherited)
		if first, ok := named[c.Name]; ok && l.checkIsNamed(block) {
			l.twice(block.DefRange(), first, duplicateName, fmt.Sprintf("There is a check called %q already. Give it another name.", c.Name))
		} else if !ok {
			named[c.Name] = block.DefRange()
			l.gate.checks = append(l.gate.checks, c.Name)
		}
		g.Checks = append(g.Checks, c)
	}
}

func (l *loader) checkIsNamed(block *hclsyntax.Block) bool {
	return block.Body.Attributes["name"] != nil
}

func checkNames() []string {
	var names []string
	for _, info := range dag.CheckKinds() {
		names = append(names, string(info.Kind))
	}
	return names
}

func (l *loader) loadCheck(info dag.CheckInfo, block *hclsyntax.Block, lets map[string]hcl.Expression) *dag.Check {
	s := shape{need: []string{"code"}, may: slices.Clone(checkCommon)}
	for _, arg := range info.Args {
		if arg.Required {
			s.need = append(s.need, arg.Name)
		} else {
			s.may = append(s.may, arg.Name)
		}
	}
	b := l.openBody(block.Body, block.DefRange(), fmt.Sprintf("check %q", info.Kind), s)
	b.inherited = lets
	c := &dag.Check{
		Kind: info.Kind, Name: b.text("name"), Code: b.code("code"), Mode: refAttr[dag.Mode](b, "mode", "mode"),
		Message: b.text("message"), Ends: b.flag("ends", info.Kind == "schema"), Args: map[string]dag.Expr{}, Pos: l.pos(block.DefRange()),
	}
	if c.Name == "" {
		c.Name = string(info.Kind)
	} else if !hclsyntax.ValidIdentifier(c.Name) {
		b.fail(b.expr("name").Range(), badName, "A check's name is read as checks.NAME: a letter first, then letters, digits, _ and -.")
	}
	c.Triage = dag.Triage(b.word("triage", triages...))
	if f, ok := l.names["failure"].nodes[string(c.Code)].(*dag.FailureCode); ok && c.Triage == "" {
		c.Triage = f.Triage
	}
	b.noAcceptance(c)
	here := place{kind: atGate}
	b.later("if", expr.WantBool, here, func(x dag.Expr) { c.If = x })
	before := len(l.diags)
	l.checkRules(c, b)
	for _, arg := range info.Args {
		if !l.saidOf(b, arg.Name, before) {
			l.checkArg(c, b, arg)
		}
	}
	return c
}

// saidOf tells whether something was said of an attribute since then.
func (l *loader) saidOf(b *body, name string, since int) bool {
	return b.has(name) && slices.ContainsFunc(l.diags[since:], func(d *hcl.Diagnostic) bool { return *d.Subject == b.expr(name).Range() })
}

// checkArg reads one argument by the type that the kind's description gives.
func (l *loader) checkArg(c *dag.Check, b *body, arg dag.CheckArg) {
	if !b.has(arg.Name) {
		return
	}
	want := expr.WantDocument
	switch arg.Type {
	case "schema":
		c.Schema = b.schema(arg.Name)
		return
	case "stage":
		c.Stage = refAttr[dag.Stage](b, arg.Name, "stage")
		return
	case "stages":
		c.Of = refList[dag.Stage](b, arg.Name, "stage")
		return
	case "text", "word", "path":
		want = expr.WantText
	case "duration":
		before := len(b.l.diags)
		d := b.duration(arg.Name)
		if len(b.l.diags) > before {
			return
		}
		if d == 0 {
			b.fail(b.expr(arg.Name).Range(), badDuration, fmt.Sprintf("Nothing is done in no time. Give %s more, such as \"20s\".", arg.Name))
			return
		}
		want = expr.WantText
	case "texts":
		want = expr.WantTexts
	case "addresses":
		want = expr.WantAddresses
	case "number":
		want = expr.WantNumber
	case "bool":
		want = expr.WantBool
	case "sources":
		want = expr.WantList
	case "rules":
		if !b.phraseRules(arg.Name) {
			return
		}
	}
	at := place{kind: atGate, stageVisits: c.Kind == "assert"}
	if arg.Constant {
		if _, ok := b.value(arg.Name); !ok {
			return
		}
		at = place{kind: atLoad}
	}
	b.later(arg.Name, want, at, func(x dag.Expr) { c.Args[arg.Name] = x })
}

// checkWords are the words that an argument of a check may be.
var checkWords = map[string][]string{
	"numbers": {"by_value", "literal"},
	"short":   {"by_letter", "literal"},
	"blocked": {"dead", "undecided"},
}

// checkRules looks at what arguments mean together.
func (l *loader) checkRules(c *dag.Check, b *body) {
	for name, words := range checkWords {
		if info, ok := dag.LookupCheck(c.Kind); ok && slices.ContainsFunc(info.Args, func(a dag.CheckArg) bool { return a.Name == name }) {
			b.word(name, words...)
		}
	}
	switch c.Kind {
	case "words":
		low, high := b.count("min", 0, 0), b.count("max", 0, -1)
		if high >= 0 && high < low {
			b.fail(b.attrs["max"].SrcRange, numberOutOfRange, fmt.Sprintf("The most, %d, is less than the least, %d: no text would pass.", high, low))
		}
		if !b.has("min") && !b.has("max") && b.ok {
			b.fail(b.at, missingAttribute, "Without `min` and `max` every text passes. Write at least one:\n    max = 60")
		}
	case "votes":
		if of, agree := b.count("of", 1, 0), b.count("agree", 1, 0); of > 0 && agree > of {
			b.fail(b.attrs["agree"].SrcRange, numberOutOfRange, fmt.Sprintf("Of %d votes %d cannot agree: no candidate would pass.", of, agree))
		}
	case "novel":
		b.similarity()
	case "live":
		b.canary()
	case "fresh":
		b.inputPath()
	case "distinct":
		b.count("count", 1, 0)
		b.count("min_distance", 1, 0)
	case "sources", "unrelated":
		b.count("min", 1, 2)
	}
}
