package lang

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

var testShape = shape{
	need: []string{"given"},
	may:  []string{"source", "keys", "replay", "variables", "modes"},
	blocks: []blockShape{
		{name: "let", many: true}, {name: "mock", many: true}, {name: "expect", many: true}, {name: "total"},
	},
}

// underTest is what a test sets for its pipeline.
type underTest struct {
	name  string
	at    hcl.Range // the test
	vars  map[string]given
	modes map[string]bool // whether each applies
}

// values are the variables that the test sets.
func (u *underTest) values() map[string]given {
	if u == nil {
		return nil
	}
	return u.vars
}

// mode is whether a mode applies, where the test says so.
func (u *underTest) mode(name string) (apply, ok bool) {
	if u != nil {
		apply, ok = u.modes[name]
	}
	return apply, ok
}

// sortTests takes the top level of a test file apart.
func (l *loader) sortTests(name string, file *hclsyntax.Body) {
	for _, attr := range inOrder(file.Attributes) {
		l.error(attr.NameRange, strayAttribute, fmt.Sprintf("At the top of a file stand blocks. A named value for all tests of the file is written in a block:\n    let {\n      %s = …\n    }", attr.Name))
	}
	shared := &body{l: l, what: "test file", blocks: map[string][]*hclsyntax.Block{}}
	for _, b := range file.Blocks {
		switch {
		case b.Type == "test":
			l.tests = append(l.tests, b)
		case b.Type == "let":
			if l.checkLabels(b, "") {
				shared.blocks["let"] = append(shared.blocks["let"], b)
			}
		case b.Type == "mock":
			if l.checkLabels(b, "") {
				l.mocks[name] = append(l.mocks[name], b)
			}
		case topLevel[b.Type] != nil:
			l.error(b.TypeRange, misplacedBlock, fmt.Sprintf("A file *.test.hcl holds tests, and what they share in `let` and `mock`; a %s block stands in pipeline.hcl or a file *.pipeline.hcl beside it.", b.Type))
		default:
			l.error(b.TypeRange, unknownBlock, sentence(fmt.Sprintf("There is no block called %q at the top of a test file.", b.Type), diag.DidYouMean(b.Type, []string{"test", "let", "mock"})))
		}
	}
	l.shared[name] = shared.testLets(nil)
}

// testLets are lets that hide none of the names that only tests have.
func (b *body) testLets(outer map[string]hcl.Expression) map[string]hcl.Expression {
	lets := b.lets(outer)
	for name, e := range lets {
		if outer[name] == nil && slices.Contains(testNames, name) {
			b.fail(e.Range(), reservedName, fmt.Sprintf("%q is a name of an item that came to its end, and would be hidden by this one. Give it another name.", name))
		}
	}
	return lets
}

// loadTests reads the test blocks. One that sets variables or modes is read
// anew, against the pipeline as they make it.
func (l *loader) loadTests() {
	named := map[string]hcl.Range{}
	for _, block := range l.tests {
		if !l.checkLabels(block, "text") {
			continue
		}
		name, at := block.Labels[0], block.LabelRanges[0]
		if first, ok := named[name]; ok {
			l.twice(at, first, duplicateName, "There is a test of that name already. Give one of them another name.")
			continue
		}
		named[name] = at
		if l.opts.under != nil && l.opts.under.name != name {
			continue
		}
		l.loadTest(block)
	}
}

func (l *loader) loadTest(block *hclsyntax.Block) {
	b := l.open(block, testShape)
	b.inherited = b.testLets(l.shared[block.DefRange().Filename])
	t := &Test{Name: block.Labels[0], Graph: l.graph, Pos: l.pos(block.DefRange())}
	if t.Name == "" {
		b.fail(block.LabelRanges[0], emptyText, "A test says in its name what holds:\n    test \"a card without a source is rejected\" { … }")
	}
	l.files.Tests = append(l.files.Tests, t)
	if l.opts.under == nil {
		under := &underTest{name: t.Name, at: block.DefRange(), vars: b.testVariables(t.Name), modes: b.testModes()}
		if len(under.vars) > 0 || len(under.modes) > 0 {
			t.Graph = nil // made when the pipeline is known to be right: see loadUnderTests
			l.under = append(l.under, under)
			return
		}
	}
	switch {
	case !b.has("replay"):
		t.Replay = l.graph.Pipeline.Replay
	case !isNull(b.expr("replay")):
		t.Replay = b.file("replay")
	}
	t.Given = l.testGiven(b)
	for _, m := range b.blocks["mock"] {
		t.Mocks = append(t.Mocks, l.testMock(m, b.inherited))
	}
	for _, m := range l.mocks[block.DefRange().Filename] {
		shared := l.testMock(m, b.inherited)
		shared.Shared = true
		t.Mocks = append(t.Mocks, shared)
	}
	for _, e := range b.blocks["expect"] {
		t.Expects = append(t.Expects, l.testExpect(e, b.inherited))
	}
	if total := b.block("total"); total != nil {
		t.Total = l.testTotal(total)
	}
	if len(b.blocks["expect"]) == 0 && b.block("total") == nil && b.ok {
		b.fail(b.at, expectsNothing, "Whatever came of its items, this test would pass. Say what must come of them:\n    expect { end = \"accepted\" }")
	}
}

// loadUnderTests loads the pipeline once for each test that sets something for it.
func (l *loader) loadUnderTests() {
	if l.diags.HasErrors() {
		return
	}
	for _, under := range l.under {
		opts := l.opts
		opts.under = under
		_, files, diags := Load(opts)
		i := slices.IndexFunc(l.files.Tests, func(t *Test) bool { return t.Name == under.name })
		if len(files.Tests) == 1 && !diags.HasErrors() {
			l.files.Tests[i] = files.Tests[0]
		}
		for _, d := range diags {
			// What is wrong with the pipeline now is so by the values of the test.
			if at := under.at; d.Severity == hcl.DiagError && d.Subject != nil && !isTest(d.Subject.Filename) {
				diag.With(d, diag.Info{Related: []diag.Related{{Label: "with the values of this test", Range: at}}})
			}
			if !slices.ContainsFunc(l.diags, func(known *hcl.Diagnostic) bool { return sameWords(known, d) }) {
				l.diags = append(l.diags, d)
			}
		}
	}
}

func sameWords(a, b *hcl.Diagnostic) bool {
	return a.Summary == b.Summary && a.Detail == b.Detail && (a.Subject == nil) == (b.Subject == nil) && (a.Subject == nil || *a.Subject == *b.Subject)
}

// testVariables are the values that a test gives to variables.
func (b *body) testVariables(test string) map[string]given {
	vars := map[string]given{}
	b.members("variables", "variable", b.l.names["variable"].names, func(name string, e hclsyntax.Expression) {
		v, diags := expr.Constant(e, &expr.Env{Functions: b.l.funcs, Elsewhere: b.l.constElsewhere(), Lets: b.inherited, Source: b.l.files.Source})
		b.l.take(diags)
		if !diags.HasErrors() {
			vars[name] = given{value: v, source: fmt.Sprintf("the test %q", test), at: e.Range()}
		}
	})
	return vars
}

// testModes are the modes that a test decides.
func (b *body) testModes() map[string]bool {
	modes := map[string]bool{}
	b.members("modes", "mode", b.l.names["mode"].names, func(name string, e hclsyntax.Expression) {
		if word, ok := b.oneWord(e, "a mode", "apply", "shadow"); ok {
			modes[name] = word == "apply"
		}
	})
	return modes
}

// testGiven reads what a test starts with: items, a file's, or a source's own.
func (l *loader) testGiven(b *body) Given {
	e := b.expr("given")
	if e == nil {
		return Given{}
	}
	g := Given{At: placeOf(e.Range()), Source: refAttr[dag.Source](b, "source", "source")}
	if b.has("keys") {
		g.Keys = b.distinctWords("keys")
		if b.ok && len(g.Keys) == 0 {
			b.fail(b.expr("keys").Range(), emptyList, "No item is meant then. List the keys of those that are, or leave `keys` out.")
		}
	}
	if t, diags := hcl.AbsTraversalForExpr(e); !diags.HasErrors() && t.RootName() == "source" {
		if b.has("source") {
			b.fail(b.attrs["source"].SrcRange, oneOfSeveral, "`given` names the source already. Remove the line.")
		}
		g.Source = reference[dag.Source](l, e, "source")
		return g
	}
	v, ok := l.constantWith(e, b.inherited)
	if g.Source == nil && !b.has("source") {
		g.Source = l.onlySource(b)
	}
	if !ok || !b.isPlain(e.Range(), "given", v, noType) {
		return g
	}
	switch t := v.Type(); {
	case t == cty.String:
		if g.Files = []string{v.AsString()}; !inside(v.AsString()) {
			b.fail(e.Range(), pathOutside, fmt.Sprintf("%q leads out of the pipeline's directory. Paths are relative to it, with forward slashes, and stay in it.", v.AsString()))
		}
	case t.IsTupleType() || t.IsListType() || t.IsSetType():
		g.Docs = []dag.Doc{}
		for it := v.ElementIterator(); it.Next(); {
			_, elem := it.Element()
			g.Docs = append(g.Docs, l.constantDoc(e, elem))
		}
		if len(g.Docs) == 0 {
			b.fail(e.Range(), emptyList, "A test starts with at least one item: given = [{ … }]")
		}
	default:
		b.fail(e.Range(), wrongType, "The items that a test starts with are a list, a file or a source's own:\n    given = [{ … }]\n    given = \"tests/items.jsonl\"\n    given = source.NAME")
	}
	return g
}

// onlySource is the pipeline's source where it has no other.
func (l *loader) onlySource(b *body) *dag.Source {
	names := l.names["source"].names
	if len(names) == 1 {
		source, _ := l.names["source"].nodes[names[0]].(*dag.Source)
		return source
	}
	if len(names) > 1 {
		b.fail(b.expr("given").Range(), missingAttribute, sentence("The pipeline has several sources, so the test says of which these items are:\n    source = source.NAME\n", diag.DidYouMean("", names)))
	}
	return nil
}

// constantWith is constant with the lets of a test.
func (l *loader) constantWith(e hcl.Expression, lets map[string]hcl.Expression) (cty.Value, bool) {
	env := l.constEnv()
	env.Lets = lets
	return l.constantIn(e, env)
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

// testMock reads who answers for a stage.
func (l *loader) testMock(block *hclsyntax.Block, lets map[string]hcl.Expression) *Mock {
	b := l.open(block, shape{need: []string{"stage"}, may: []string{"if", "output", "outcome", "code", "message"}, blocks: []blockShape{{name: "finding", label: "word", many: true}}})
	b.inherited = lets
	m := &Mock{Stage: refAttr[dag.Stage](b, "stage", "stage"), Message: b.text("message"), At: placeOf(block.DefRange())}
	if m.Stage == nil {
		return m
	}
	if m.Stage.Plugin == nil && b.ok {
		b.fail(b.expr("stage").Range(), mockOfRules, fmt.Sprintf("The stage %q decides by rules, which are a part of what is tested. Give it what it decides on: mock the stages before it.", m.Stage.Name))
		return m
	}
	switch b.together("output", "code") {
	case "output":
		l.mockOutcome(m, b)
		if b.has("message") {
			b.fail(b.attrs["message"].SrcRange, strayAttribute, "A `message` belongs to a failure: write it beside `code`.")
		}
	case "code":
		if code, ok := b.failure(b.expr("code")); ok {
			m.Code = code
			l.mockCode(m, b)
		}
		if b.has("outcome") {
			b.fail(b.attrs["outcome"].SrcRange, strayAttribute, "A visit that fails has no outcome. Remove the line, or write an `output` instead of the `code`.")
		}
	default:
		if b.ok {
			b.fail(b.at, missingAttribute, "Who answers for a stage gives its output, or the code that it fails with. Write\n    output = { … }")
		}
	}
	at := place{kind: atMock, stage: m.Stage}
	b.later("if", expr.WantBool, at, func(x dag.Expr) { m.If = x })
	b.later("output", expr.WantDocument, at, func(x dag.Expr) { m.Output = x })
	for _, f := range b.blocks["finding"] {
		m.Findings = append(m.Findings, l.mockFinding(m, f))
	}
	return m
}

// mockOutcome is the word of the plugin, where nothing but that decides the outcome.
func (l *loader) mockOutcome(m *Mock, b *body) {
	s := m.Stage
	switch computed := l.stageSays(s, "outcome"); {
	case b.has("outcome") && computed:
		b.fail(b.attrs["outcome"].SrcRange, strayAttribute, fmt.Sprintf("The stage %q computes its outcome from the output, so the output says it. Remove the line.", s.Name))
	case b.has("outcome"):
		m.Outcome = b.word("outcome", s.Outcomes...)
	case !computed && len(s.Outcomes) > 1:
		b.fail(b.at, missingAttribute, fmt.Sprintf("The stage %q ends with a word of its plugin's, for which this answers: say which. Write\n    outcome = %q", s.Name, s.Outcomes[0]))
	}
}

// stageSays reports whether the block of a stage has an attribute: its
// expressions are compiled later.
func (l *loader) stageSays(s *dag.Stage, attribute string) bool {
	for _, block := range l.blocks["stage"] {
		if block.Labels[0] == s.Name {
			return block.Body.Attributes[attribute] != nil
		}
	}
	return false
}

// mockCode refuses a failure that the stage cannot have.
func (l *loader) mockCode(m *Mock, b *body) {
	at := b.expr("code").Range()
	switch {
	case m.Code.Class() == dag.Infrastructure:
		b.fail(at, infrastructureRouted, fmt.Sprintf("%s is a failure of infrastructure: it says nothing about the item, and is never routed. Mock a failure of content.", m.Code))
	case neverRouted[m.Code] != "":
		b.fail(at, deadArm, fmt.Sprintf("No visit fails with %s: %s", m.Code, neverRouted[m.Code]))
	case !slices.Contains(engineCodes, string(m.Code)) && !failsWith(m.Stage, m.Code):
		b.fail(at, deadArm, fmt.Sprintf("The stage %q never fails with %s. Name the engine's code that it fails with, as in\n    code = \"E_OUTPUT\"", m.Stage.Name, m.Code))
	}
}

func (l *loader) mockFinding(m *Mock, block *hclsyntax.Block) dag.PluginFinding {
	b := l.open(block, shape{may: []string{"triage", "figure", "evidence"}})
	f := dag.PluginFinding{Word: block.Labels[0], Triage: dag.Triage(b.word("triage", triages...)), Evidence: b.text("evidence")}
	if v, ok := b.typed("figure", cty.Number); ok {
		n, _ := v.AsBigFloat().Float64()
		f.Figure = &n
	}
	if m.Stage.Findings == nil {
		b.fail(b.at, strayBlock, fmt.Sprintf("The stage %q maps no findings, so this one would fail the visit with E_FINDING. Give the stage a block\n    findings { codes = { %s = failure.X } }", m.Stage.Name, f.Word))
	} else if words := slices.Sorted(maps.Keys(m.Stage.Findings.Codes)); !slices.Contains(words, f.Word) {
		b.fail(block.LabelRanges[0], unknownWord, sentence(fmt.Sprintf("The stage %q maps no finding %q.", m.Stage.Name, f.Word), diag.DidYouMean(f.Word, words)))
	}
	return f
}

func placeOf(r hcl.Range) Place {
	return Place{File: r.Filename, Line: r.Start.Line, Start: r.Start.Byte, End: r.End.Byte}
}

// isNull reports whether null is written there.
func isNull(e hclsyntax.Expression) bool {
	literal, ok := e.(*hclsyntax.LiteralValueExpr)
	return ok && literal.Val.IsNull()
}
