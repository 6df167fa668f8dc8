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

// armShape is what every arm may hold; a when adds `if`, a route adds more.
func armShape() shape {
	return shape{
		may: []string{"to", "max", "as", "code", "stop", "status", "mode"},
		blocks: []blockShape{
			{name: "when", many: true}, {name: "else"}, {name: "ask"}, {name: "exhausted"}, {name: "shadow"}, {name: "finding", many: true},
		},
	}
}

// armPlace is where an arm stands.
type armPlace struct {
	at   place
	lets map[string]hcl.Expression
	what string // `on "repair"`, for messages
}

func (l *loader) loadRoutes() {
	for _, block := range l.blocks["route"] {
		r := l.names["route"].nodes[block.Labels[0]].(*dag.Route)
		l.loadRoute(r, block)
		l.graph.Routes = append(l.graph.Routes, r)
	}
}

func (l *loader) loadRoute(r *dag.Route, block *hclsyntax.Block) {
	s := armShape()
	s.need = []string{"from"}
	s.blocks = append(s.blocks, blockShape{name: "on", label: "outcome", many: true}, blockShape{name: "fail", label: "", many: true}, blockShape{name: "let", many: true})
	fails := takeFails(block)
	b := l.open(fails.rest, s)
	if b.has("from") {
		from, ok := references[dag.Stage](l, b.expr("from"), "stage")
		r.From = from
		l.broken = l.broken || !ok
	} else {
		l.broken = true
	}
	if !b.ok {
		l.broken = true
	}
	lets := b.lets(nil)
	here := armPlace{at: place{kind: atRoute, route: r}, lets: lets, what: "a route"}
	switch b.together("to", "when", "on", "stop", "ask") {
	case "to", "when":
		r.To = l.arm(b, here)
	case "on":
		l.loadOn(r, b, here)
	case "stop", "ask":
		b.fail(b.at, wrongRoute, "A route has one of `to`, `when` … `else`, or `on`. An end on each outcome is written\n    on \"ok\" { stop = \"rejected\" }")
		l.broken = true
	default:
		if b.ok {
			b.fail(b.at, wrongRoute, "A route says where items go. Write one of\n    to = stage.x\n    when { … } in order, then else { … }\n    on \"OUTCOME\" { … } for each outcome")
		}
		l.broken = true
	}
	l.loadFails(r, fails.blocks, here)
}

// loadOn reads an arm for each outcome.
func (l *loader) loadOn(r *dag.Route, b *body, here armPlace) {
	r.On = map[string]*dag.Arm{}
	first := map[string]hcl.Range{}
	var declared []string
	for _, s := range r.From {
		for _, word := range s.Outcomes {
			if !slices.Contains(declared, word) {
				declared = append(declared, word)
			}
		}
	}
	for _, on := range b.blocks["on"] {
		word, at := on.Labels[0], on.LabelRanges[0]
		if was, ok := first[word]; ok {
			l.twice(at, was, duplicateOutcome, fmt.Sprintf("The outcome %q has its arm already. Put both into one.", word))
			continue
		}
		first[word] = at
		if len(declared) > 0 && !slices.Contains(declared, word) && slices.ContainsFunc(r.From, func(s *dag.Stage) bool { return l.vague[s] }) {
			l.broken = true
		} else if len(declared) > 0 && !slices.Contains(declared, word) {
			l.error(at, unknownOutcome, sentence(fmt.Sprintf("%s no outcome %q.", haveOutcome(r.From), word), diag.DidYouMean(word, declared)))
			l.broken = true
		}
		here.what = fmt.Sprintf("on %q", word)
		r.On[word] = l.arm(l.open(on, armShape()), here)
		r.Order = append(r.Order, word)
	}
	for _, name := range []string{"max", "as", "code", "status", "mode"} {
		if b.has(name) {
			b.fail(b.attrs[name].NameRange, strayAttribute, fmt.Sprintf("`%s` belongs to one arm. Move it into an `on` block.", name))
		}
	}
	for _, name := range []string{"else", "exhausted", "shadow", "finding"} {
		if block := b.block(name); block != nil {
			b.fail(block.DefRange(), strayBlock, fmt.Sprintf("`%s` belongs to one arm. Move it into an `on` block.", name))
		}
	}
}

func haveOutcome(from []*dag.Stage) string {
	if len(from) == 1 {
		return fmt.Sprintf("The stage %q has", from[0].Name)
	}
	return "None of the stages in `from` has"
}

// fails are the fail blocks of a route, which have a label or none, and the
// route without them.
type fails struct {
	blocks []*hclsyntax.Block
	rest   *hclsyntax.Block
}

func takeFails(block *hclsyntax.Block) fails {
	rest, own := *block, *block.Body
	own.Blocks = nil
	f := fails{}
	for _, b := range block.Body.Blocks {
		if b.Type == "fail" {
			f.blocks = append(f.blocks, b)
		} else {
			own.Blocks = append(own.Blocks, b)
		}
	}
	rest.Body = &own
	f.rest = &rest
	return f
}

func (l *loader) loadFails(r *dag.Route, blocks []*hclsyntax.Block, here armPlace) {
	here.at.failed = true
	first := map[dag.Code]hcl.Range{}
	for _, block := range blocks {
		var code dag.Code
		at := block.TypeRange
		switch len(block.Labels) {
		case 0:
			here.what = "fail"
		case 1:
			at = block.LabelRanges[0]
			var ok bool
			if code, ok = l.failLabel(r, block.Labels[0], at); !ok {
				continue
			}
			here.what = fmt.Sprintf("fail %q", code)
		default:
			l.error(block.LabelRanges[1], wrongLabels, "A fail block has one code, or none for every failure not named:\n    fail \"CODE\" { … }\n    fail { … }")
			continue
		}
		if was, ok := first[code]; ok {
			l.twice(at, was, duplicateOutcome, "This failure has its arm already. Put both into one.")
			continue
		}
		if all, ok := first[""]; ok {
			l.twice(at, all, deadArm, "The `fail` without a code takes every failure before this one is looked at. Move it to the end.")
		}
		first[code] = at
		r.Fail = append(r.Fail, dag.FailArm{Code: code, Arm: l.arm(l.open(block, armShape()), here)})
	}
}

// arm reads one arm: a way to a stage, to the gate, a stop, a question, or a
// choice among such. Nil means that it was complained of.
func (l *loader) arm(b *body, here armPlace) *dag.Arm {
	b.inherited = here.lets
	a := &dag.Arm{Pos: l.pos(b.at)}
	ok := b.ok
	switch b.together("to", "stop", "ask", "when") {
	case "to":
		ok = l.armTo(a, b, here) && ok
	case "stop":
		a.Kind = dag.ArmStop
		a.End = dag.End(b.word("stop", string(dag.Rejected), string(dag.Failed)))
		a.Status = b.text("status")
		a.Code = b.code("code")
		b.stray("with a stop", "max", "as", "exhausted")
	case "ask":
		ok = l.armAsk(a, b, here) && ok
	case "when":
		ok = l.armWhen(a, b, here) && ok
	default:
		if b.ok {
			b.fail(b.at, emptyArm, "An arm says where the item goes. Write one of\n    to = stage.x\n    to = gate.x\n    stop = \"rejected\"\n    ask { … }\n    when { … } in order, then else { … }")
		}
		ok = false
	}
	if a.Kind != dag.ArmWhen && b.block("else") != nil {
		b.fail(b.block("else").DefRange(), strayBlock, "An `else` follows `when` blocks, and here are none.")
	}
	for _, f := range b.blocks["finding"] {
		l.finding(f, "", here.at, here.lets, func(rule dag.FindingRule) { a.Findings = append(a.Findings, rule) })
	}
	ok = l.armMode(a, b, here) && ok && b.ok
	if !ok {
		l.broken = true
		return nil
	}
	return a
}

// stray complains of what has no meaning in this kind of arm.
func (b *body) stray(with string, names ...string) {
	for _, name := range names {
		if b.has(name) || b.block(name) != nil {
			b.fail(b.place(name), strayAttribute, fmt.Sprintf("`%s` has no meaning %s. Remove it.", name, with))
		}
	}
}

func (l *loader) armMode(a *dag.Arm, b *body, here armPlace) bool {
	shadow := b.block("shadow")
	switch {
	case b.has("mode") && shadow == nil:
		b.fail(b.attrs["mode"].SrcRange, missingBlock, "An arm with a mode is taken in apply only. Say where the item goes while the mode is shadow:\n    shadow { to = stage.x }")
		return false
	case !b.has("mode") && shadow != nil:
		b.fail(shadow.DefRange(), missingAttribute, "A shadow block is the way while a mode is shadow. Say which: mode = mode.x")
		return false
	case shadow == nil:
		return true
	}
	a.Mode = refAttr[dag.Mode](b, "mode", "mode")
	here.what = "shadow"
	a.Shadow = l.arm(l.open(shadow, armShape()), here)
	return a.Mode != nil && a.Shadow != nil
}

func (l *loader) armTo(a *dag.Arm, b *body, here armPlace) bool {
	e := b.expr("to")
	t, diags := hcl.AbsTraversalForExpr(e)
	if !diags.HasErrors() && t.RootName() == "gate" {
		a.Kind = dag.ArmGate
		gate := reference[dag.Gate](l, e, "gate")
		a.As = dag.Triage(b.word("as", string(dag.Review), string(dag.Quarantine), string(dag.Skip), string(dag.Reject)))
		a.Code = b.code("code")
		if b.has("code") && !b.has("as") {
			b.fail(b.attrs["code"].SrcRange, strayAttribute, "`code` says why the gate only records the item, so it goes with `as`:\n    as = \"skip\"\nWithout `as` the gate's checks give the codes.")
		}
		b.stray("with a way to the gate", "max", "status", "exhausted")
		return gate != nil
	} else if diags.HasErrors() || t.RootName() != "stage" {
		l.notReference(e, "stage", "gate")
		return false
	}
	a.Kind = dag.ArmStage
	a.Stage = reference[dag.Stage](l, e, "stage")
	b.stray("with a way to a stage", "as", "code", "status")
	if b.has("max") {
		a.Bounded, a.Max = true, b.count("max", 0, 0)
	}
	if block := b.block("exhausted"); block != nil {
		if !b.has("max") {
			b.fail(block.DefRange(), missingAttribute, "`exhausted` is the arm after the last allowed time, and nothing bounds this way. Write `max = N`.")
		}
		here.what = "exhausted"
		a.Exhausted = l.arm(l.open(block, armShape()), here)
		return a.Stage != nil && a.Exhausted != nil
	}
	return a.Stage != nil
}

// armWhen reads conditions in order; whether they cover every case is proved
// when they are compiled.
func (l *loader) armWhen(a *dag.Arm, b *body, here armPlace) bool {
	a.Kind = dag.ArmWhen
	b.stray("beside `when`", "max", "as", "code", "status", "exhausted")
	s := armShape()
	s.need = []string{"if"}
	ok := true
	c := cover{arm: a, at: b.blocks["when"][0].DefRange()}
	for i, block := range b.blocks["when"] {
		w := l.open(block, s)
		here.what = "when"
		arm := l.arm(w, here)
		ok = ok && arm != nil
		a.Branches = append(a.Branches, dag.Branch{Arm: arm})
		c.branches = append(c.branches, block.DefRange())
		w.inherited = here.lets
		w.later("if", expr.WantBool, here.at, func(x dag.Expr) { a.Branches[i].If = x })
	}
	if block := b.block("else"); block != nil {
		c.elseAt = block.DefRange()
		if block.Range().Start.Byte < c.at.Start.Byte {
			l.error(c.elseAt, strayBlock, "The `else` is looked at last. Move it behind the `when` blocks.")
		}
		a.Else = l.arm(l.open(block, s.without("if")), here)
		ok = ok && a.Else != nil
	}
	l.covers = append(l.covers, c)
	return ok
}

func (s shape) without(name string) shape {
	s.need = slices.DeleteFunc(slices.Clone(s.need), func(n string) bool { return n == name })
	return s
}

var askShape = shape{
	need:   []string{"question", "resume", "max"},
	may:    []string{"expires", "answer_schema"},
	blocks: []blockShape{{name: "exhausted"}, {name: "expired"}},
}

func (l *loader) armAsk(a *dag.Arm, b *body, here armPlace) bool {
	block := b.block("ask")
	q := l.open(block, askShape)
	q.inherited = here.lets
	b.stray("with a question", "max", "as", "code", "status", "exhausted")
	a.Kind = dag.ArmAsk
	a.Ask = &dag.Ask{Max: q.count("max", 0, 0), Expires: q.duration("expires"), Schema: q.schema("answer_schema")}
	l.unsupportedAt("ask", block.DefRange())
	q.later("question", expr.WantText, here.at, func(x dag.Expr) { a.Ask.Question = x })
	ok := q.ok
	if e := q.expr("resume"); e != nil {
		stages, resolved := l.resumeStages(e)
		a.Ask.Resume = stages
		ok = ok && resolved
		if len(stages) > 1 {
			asking := here.at
			asking.answered = true
			q.later("resume", expr.WantText, asking, func(x dag.Expr) { a.Ask.ResumeTo = x })
		}
	}
	for name, to := range map[string]**dag.Arm{"exhausted": &a.Ask.Exhausted, "expired": &a.Ask.Expired} {
		if sub := q.block(name); sub != nil {
			here.what = name
			*to = l.arm(l.open(sub, armShape()), here)
			ok = ok && *to != nil
		}
	}
	return ok
}

// resumeStages are the stages that an expression can give: one reference, or
// the results of conditionals.
func (l *loader) resumeStages(e hclsyntax.Expression) ([]*dag.Stage, bool) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return l.resumeStages(e.Expression)
	case *hclsyntax.ConditionalExpr:
		yes, ok1 := l.resumeStages(e.TrueResult)
		no, ok2 := l.resumeStages(e.FalseResult)
		for _, s := range no {
			if !slices.Contains(yes, s) {
				yes = append(yes, s)
			}
		}
		return yes, ok1 && ok2
	}
	s := reference[dag.Stage](l, e, "stage")
	if s == nil {
		return nil, false
	}
	return []*dag.Stage{s}, true
}
