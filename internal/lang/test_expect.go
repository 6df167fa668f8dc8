package lang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

var (
	expectShape = shape{
		may:    []string{"item", "where", "count", "route", "outcome", "end", "code", "codes", "cause", "status", "triage", "checks", "figures", "visits", "calls", "record"},
		blocks: []blockShape{{name: "assert", many: true}},
	}
	totalShape = shape{may: []string{"items", "ends", "visits", "calls", "provider_calls"}}
)

var checkStates = []string{"held", "failed", "undecided", "not_applicable"}

// testExpect reads what must come of some items.
func (l *loader) testExpect(block *hclsyntax.Block, lets map[string]hcl.Expression) *Expect {
	b := l.open(block, expectShape)
	b.inherited = lets
	x := &Expect{At: placeOf(block.DefRange()), Body: block.OpenBraceRange.End.Byte, Key: b.required("item")}
	b.later("where", expr.WantBool, place{kind: atExpect}, func(e dag.Expr) { x.Where = e })
	w := &wants{body: b}
	w.number("count", b.expr("count"), "")
	w.route()
	w.outcomes()
	w.word("end", ends()...)
	w.code("code")
	w.codes()
	w.code("cause")
	w.status()
	w.word("triage", triages...)
	w.perCheck()
	w.perStage("visits")
	w.perStage("calls")
	w.record()
	x.Wants = w.inOrder()
	for _, a := range b.blocks["assert"] {
		x.Asserts = append(x.Asserts, Assert{})
		l.testAssert(a, lets, &x.Asserts[len(x.Asserts)-1], x, len(x.Asserts)-1)
	}
	if len(x.Wants)+len(x.Asserts) == 0 && b.ok && !l.opts.Blank {
		b.fail(b.at, expectsNothing, "It says of which items, if that, and not what must come of them. Write for instance\n    end = \"accepted\"\nor let `penstock test --update` write what it finds.")
	}
	return x
}

func (l *loader) testAssert(block *hclsyntax.Block, lets map[string]hcl.Expression, a *Assert, x *Expect, i int) {
	b := l.open(block, shape{need: []string{"condition"}, may: []string{"message"}})
	b.inherited = lets
	a.Message, a.At = b.text("message"), placeOf(block.DefRange())
	if b.has("condition") {
		a.At = placeOf(b.attrs["condition"].SrcRange)
	}
	// The list may have moved by then.
	b.later("condition", expr.WantBool, place{kind: atExpect}, func(e dag.Expr) { x.Asserts[i].If = e })
}

// testTotal reads what must come of all items together.
func (l *loader) testTotal(block *hclsyntax.Block) *Total {
	b := l.open(block, totalShape)
	w := &wants{body: b}
	w.number("items", b.expr("items"), "")
	b.members("ends", "end", ends(), func(name string, e hclsyntax.Expression) { w.number("ends", e, name) })
	w.perStage("visits")
	w.perStage("calls")
	b.members("provider_calls", "provider", l.names["provider"].names, func(name string, e hclsyntax.Expression) { w.number("provider_calls", e, name) })
	if len(w.list) == 0 && b.ok && !l.opts.Blank {
		b.fail(b.at, expectsNothing, "Write what must come of all items together, for instance\n    ends = { accepted = 5 }")
	}
	return &Total{Wants: w.inOrder(), At: placeOf(block.DefRange()), Body: block.OpenBraceRange.End.Byte}
}

func ends() []string {
	var words []string
	for _, end := range dag.Ends {
		words = append(words, string(end))
	}
	return words
}

// wants reads the attributes of a block as values that are expected.
type wants struct {
	*body
	list []Want
}

// inOrder are the values in the order of the file.
func (w *wants) inOrder() []Want {
	slices.SortStableFunc(w.list, func(a, b Want) int { return a.At.Start - b.At.Start })
	return w.list
}

func (w *wants) add(name, member, text string, at hcl.Range) {
	w.list = append(w.list, Want{Name: name, Member: member, Text: text, At: placeOf(at)})
}

// constant is a value that stands in a test.
func (w *wants) constant(name string, e hclsyntax.Expression, want cty.Type) (cty.Value, bool) {
	v, ok := w.l.constantWith(e, w.inherited)
	w.ok = w.ok && ok
	return v, ok && w.isPlain(e.Range(), name, v, want)
}

func (w *wants) number(name string, e hclsyntax.Expression, member string) {
	if e == nil {
		return
	}
	v, ok := w.constant(name, e, cty.Number)
	if !ok {
		return
	}
	if n, accuracy := v.AsBigFloat().Int64(); accuracy == 0 && n >= 0 {
		w.add(name, member, strconv.FormatInt(n, 10), e.Range())
		return
	}
	w.fail(e.Range(), numberOutOfRange, "A count is a whole number from 0.")
}

func (w *wants) word(name string, words ...string) {
	if e := w.expr(name); e != nil {
		if word := w.body.word(name, words...); word != "" {
			w.add(name, "", Literal(word), e.Range())
		}
	}
}

// status is a free word, or null.
func (w *wants) status() {
	e := w.expr("status")
	switch {
	case e == nil:
	case isNull(e):
		w.add("status", "", "null", e.Range())
	default:
		if v, ok := w.constant("status", e, cty.String); ok {
			w.add("status", "", Literal(v.AsString()), e.Range())
		}
	}
}

// route lists the stages that were visited, and the gate where the item came to it.
func (w *wants) route() {
	e := w.expr("route")
	if e == nil {
		return
	}
	tuple, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		w.fail(e.Range(), wrongType, "A way is a list of the stages that are visited, in order, and of the gate at its end where the item comes to it:\n    route = [stage.x, gate.y]")
		return
	}
	steps := []string{}
	for i, elem := range tuple.Exprs {
		kind := "stage"
		if t, diags := hcl.AbsTraversalForExpr(elem); !diags.HasErrors() && t.RootName() == "gate" {
			kind = "gate"
		}
		name := ""
		if kind == "gate" {
			if g := reference[dag.Gate](w.l, elem, kind); g != nil {
				name = g.Name
			}
			if i < len(tuple.Exprs)-1 {
				w.fail(elem.Range(), wrongRoute, "The gate is the end of every way. Remove what stands behind it.")
			}
		} else if s := reference[dag.Stage](w.l, elem, kind); s != nil {
			name = s.Name
		}
		w.ok = w.ok && name != ""
		steps = append(steps, kind+"."+name)
	}
	w.add("route", "", "["+strings.Join(steps, ", ")+"]", e.Range())
}

// outcomes are the latest outcome of a stage, or those of all its passes.
func (w *wants) outcomes() {
	w.members("outcome", "stage", w.l.names["stage"].names, func(name string, e hclsyntax.Expression) {
		s, _ := w.l.names["stage"].nodes[name].(*dag.Stage)
		tuple, list := e.(*hclsyntax.TupleConsExpr)
		if !list {
			if text, ok := w.outcomeOf(s, e); ok {
				w.add("outcome", name, text, e.Range())
			}
			return
		}
		passes := []string{}
		for _, elem := range tuple.Exprs {
			text, _ := w.outcomeOf(s, elem)
			passes = append(passes, text)
		}
		w.add("outcome", name, "["+strings.Join(passes, ", ")+"]", e.Range())
		w.list[len(w.list)-1].List = true
	})
}

// outcomeOf is a word that a stage can end with, or null: it failed.
func (w *wants) outcomeOf(s *dag.Stage, e hclsyntax.Expression) (string, bool) {
	if isNull(e) {
		return "null", true
	}
	if s == nil {
		return "", false
	}
	word, ok := w.oneWord(e, fmt.Sprintf("the outcome of the stage %q", s.Name), s.Outcomes...)
	return Literal(word), ok
}

// code is a failure's, or null.
func (w *wants) code(name string) {
	e := w.expr(name)
	switch {
	case e == nil:
	case isNull(e):
		w.add(name, "", "null", e.Range())
	default:
		if code, ok := w.failure(e); ok {
			w.add(name, "", CodeText(code), e.Range())
		}
	}
}

func (w *wants) codes() {
	e := w.expr("codes")
	if e == nil {
		return
	}
	tuple, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		w.fail(e.Range(), wrongType, "Codes are a list, the decisive one first:\n    codes = [failure.X]")
		return
	}
	texts := []string{}
	for _, elem := range tuple.Exprs {
		code, _ := w.failure(elem)
		texts = append(texts, CodeText(code))
	}
	w.add("codes", "", "["+strings.Join(texts, ", ")+"]", e.Range())
}

// CodeText is a failure code as it is written in a test.
func CodeText(code dag.Code) string {
	switch {
	case code == "":
		return "null"
	case strings.HasPrefix(string(code), "E_"):
		return Literal(string(code))
	}
	return "failure." + string(code)
}

// perCheck reads what the gate's checks came to, and their figures; those of
// findings go by their code.
func (w *wants) perCheck() {
	w.members("checks", "check", w.l.checkNames(), func(name string, e hclsyntax.Expression) {
		if isNull(e) {
			w.add("checks", name, "null", e.Range())
		} else if word, ok := w.oneWord(e, "what a check came to", checkStates...); ok {
			w.add("checks", name, Literal(word), e.Range())
		}
	})
	w.members("figures", "check", append(w.l.checkNames(), w.l.names["failure"].names...), func(name string, e hclsyntax.Expression) {
		if isNull(e) {
			w.add("figures", name, "null", e.Range())
		} else if v, ok := w.constant("figures", e, cty.Number); ok {
			n, _ := v.AsBigFloat().Float64()
			w.add("figures", name, LiteralNumber(n), e.Range())
		}
	})
}

// checkNames are the names of the gate's checks.
func (l *loader) checkNames() []string {
	if l.graph.Gate == nil {
		return nil
	}
	return l.graph.Gate.CheckNames()
}

func (w *wants) perStage(name string) {
	w.members(name, "stage", w.l.names["stage"].names, func(stage string, e hclsyntax.Expression) { w.number(name, e, stage) })
}

// record is the whole record, or null.
func (w *wants) record() {
	e := w.expr("record")
	switch {
	case e == nil:
	case isNull(e):
		w.add("record", "", "null", e.Range())
	default:
		if v, ok := w.constant("record", e, noType); ok {
			if doc := w.l.constantDoc(e, v); !doc.IsNull() {
				w.add("record", "", string(doc.Bytes), e.Range())
			}
		}
	}
}

// members reads an attribute that is an object whose names are of one kind.
func (b *body) members(name, kind string, known []string, each func(name string, e hclsyntax.Expression)) {
	e := b.expr(name)
	if e == nil {
		return
	}
	object, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok {
		b.fail(e.Range(), wrongType, fmt.Sprintf("Here stands an object, with a %s's name for each value:\n    %s = { NAME = … }", kind, name))
		return
	}
	for _, item := range object.Items {
		key, ok := literalKey(item.KeyExpr)
		switch {
		case !ok:
			b.fail(item.KeyExpr.Range(), wrongType, fmt.Sprintf("The name of a %s is written out, not computed.", kind))
		case !slices.Contains(known, key):
			b.fail(item.KeyExpr.Range(), unknownMember(kind), sentence(fmt.Sprintf("There is no %s %q.", kind, key), diag.DidYouMean(key, known)))
		default:
			each(key, item.ValueExpr)
		}
	}
}

func unknownMember(kind string) string {
	switch kind {
	case "variable":
		return unknownVariable
	case "check":
		return unknownCheck
	case "end":
		return unknownWord
	}
	return unknownSummary[kind]
}

// oneWord is a text out of a closed list.
func (b *body) oneWord(e hclsyntax.Expression, what string, words ...string) (string, bool) {
	v, ok := b.l.constantWith(e, b.inherited)
	b.ok = b.ok && ok
	if !ok || !b.isPlain(e.Range(), what, v, cty.String) {
		return "", false
	}
	if word := v.AsString(); slices.Contains(words, word) {
		return word, true
	}
	b.fail(e.Range(), unknownWord, sentence(fmt.Sprintf("%s cannot be %q.", capital(what), v.AsString()), diag.DidYouMean(v.AsString(), words)))
	return "", false
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// failure reads a failure code: a reference, or the engine's, in quotes.
func (b *body) failure(e hclsyntax.Expression) (dag.Code, bool) {
	text, quoted := plainText(e)
	if !quoted || !strings.HasPrefix(text, "E_") {
		f := reference[dag.FailureCode](b.l, e, "failure")
		b.ok = b.ok && f != nil
		if f == nil {
			return "", false
		}
		return f.Code, true
	}
	known := slices.Clone(engineCodes)
	for code := range neverRouted {
		known = append(known, string(code))
	}
	slices.Sort(known)
	if !slices.Contains(known, text) && dag.Code(text).Class() != dag.Infrastructure {
		b.fail(e.Range(), unknownSummary["failure"], sentence(fmt.Sprintf("The engine has no failure code %q.", text), diag.DidYouMean(text, known)))
		return "", false
	}
	return dag.Code(text), true
}
