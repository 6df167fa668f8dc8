package lang

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

var gateShape = shape{
	need: []string{"candidate"},
	may:  []string{"bucket", "hold", "concurrency", "rejections", "undecided", "allow_hosts", "same_owner"},
	blocks: []blockShape{
		{name: "check", label: "KIND", many: true}, {name: "corpus", label: "KIND", need: true},
		{name: "breaker"}, {name: "review"}, {name: "skipped"}, {name: "let", many: true},
	},
}

// gateNames is what a gate block adds to the names that are read in it.
type gateNames struct {
	members []string         // of the candidate, in order
	exprs   []hcl.Expression // what they are
	checks  []string         // names of checks, each once
	lets    map[string]hcl.Expression
	vague   bool // the candidate could not be read, so its members are not known
}

func (l *loader) loadGate() {
	blocks := l.blocks["gate"]
	if len(blocks) == 0 {
		if !l.broken {
			l.error(hcl.Range{Filename: l.mainFile()}, missingBlock, "A pipeline ends at a gate, which also hears of every stop. Write\n    gate \"accept\" {\n      candidate = { record = item }\n      corpus \"jsonl\" { … }\n    }")
			l.broken = true
		}
		return
	}
	for _, b := range blocks[1:] {
		l.twice(b.DefRange(), blocks[0].DefRange(), duplicateBlock, "A pipeline has exactly one gate: it hears of every stop, and only it knows what was accepted. Route to the first, and tell the cases apart with checks or `as`.")
		l.broken = true
	}
	block := blocks[0]
	g := l.names["gate"].nodes[block.Labels[0]].(*dag.Gate)
	l.graph.Gate = g
	b := l.open(block, gateShape)
	b.inherited = b.lets(nil)
	l.gate = &gateNames{lets: b.inherited}
	l.gateCandidate(g, b)
	b.later("bucket", expr.WantText, place{kind: atBucket}, func(x dag.Expr) { g.Bucket = x })
	if g.Hold = refAttr[dag.Stage](b, "hold", "stage"); g.Hold != nil && g.Hold.Decide != nil {
		b.fail(b.expr("hold").Range(), wrongHold, fmt.Sprintf("A bucket is held from a visit on, and stage.%s decides without one. Name the stage behind it that a plugin serves.", g.Hold.Name))
	}
	g.Concurrency = b.count("concurrency", 1, 0)
	g.Rejections = b.gateFile("rejections")
	g.Undecided = b.word("undecided", "review", "parked")
	if g.Undecided == "" {
		g.Undecided = "review"
	}
	g.AllowHosts = b.distinctWords("allow_hosts")
	b.gateHosts(g.AllowHosts)
	g.SameOwner = b.textLists("same_owner")
	b.gateOwners(g.SameOwner)
	l.gateChecks(g, b)
	if corpus := b.block("corpus"); corpus != nil {
		l.gateCorpus(g, corpus, b.inherited)
	}
	l.gateBreaker(g, b)
	l.gateReview(g, b)
	if skipped := b.block("skipped"); skipped != nil {
		l.unsupportedAt("skipped", skipped.DefRange())
		q := l.open(skipped, shape{may: []string{"codes", "row"}})
		q.inherited = b.inherited
		for _, f := range refList[dag.FailureCode](q, "codes", "failure") {
			if f != nil {
				l.useCode(f, q.expr("codes").Range())
			}
		}
		q.later("row", expr.WantDocument, place{kind: atGate}, func(dag.Expr) {})
	}
}

// textLists is a list of lists of texts: groups of names.
func (b *body) textLists(name string) [][]string {
	v, ok := b.value(name)
	if !ok || !b.isPlain(b.expr(name).Range(), name, v, noType) {
		return nil
	}
	if !v.CanIterateElements() || v.Type().IsObjectType() || v.Type().IsMapType() {
		b.fail(b.expr(name).Range(), wrongType, fmt.Sprintf("The value of %s must be a list of lists: [[\"a.org\", \"b.org\"]].", name))
		return nil
	}
	var groups [][]string
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		group, ok := b.listOf(element(b.expr(name), len(groups)), "an element of "+name, elem)
		if !ok {
			return nil
		}
		groups = append(groups, group)
	}
	return groups
}

// gateCandidate takes the candidate apart: its members are names in the gate.
func (l *loader) gateCandidate(g *dag.Gate, b *body) {
	e := b.expr("candidate")
	if e == nil {
		l.gate.vague = true
		return
	}
	object, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok {
		l.gate.vague = true
		b.fail(e.Range(), wrongType, "The candidate is an object, whose members are names in the gate:\n    candidate = { card = item }")
		return
	}
	for _, item := range object.Items {
		name, ok := literalKey(item.KeyExpr)
		switch {
		case !ok || !hclsyntax.ValidIdentifier(name):
			b.fail(item.KeyExpr.Range(), badName, "A member of the candidate is read by its name, so it is a plain word, not computed.")
			continue
		case isReserved(name):
			b.fail(item.KeyExpr.Range(), reservedName, fmt.Sprintf("%q is a name of the language, and would be hidden by this member. Give it another name.", name))
			continue
		case b.inherited[name] != nil:
			b.fail(item.KeyExpr.Range(), duplicateName, fmt.Sprintf("A `let` of this gate is called %q already. Give one of them another name.", name))
			continue
		}
		if slices.Contains(l.gate.members, name) {
			continue // complained of as a duplicate key
		}
		i := len(g.Candidate)
		g.Candidate = append(g.Candidate, dag.Member{Name: name})
		l.gate.members = append(l.gate.members, name)
		l.gate.exprs = append(l.gate.exprs, item.ValueExpr)
		l.compileLater(task{e: item.ValueExpr, want: expr.WantDocument, at: place{kind: atCandidate}, lets: b.inherited, set: func(x dag.Expr) { g.Candidate[i].Expr = x }})
	}
}

// isReserved reports whether a name is one of the language.
func isReserved(name string) bool {
	switch name {
	case "var", "local", "stage", "gate", "failure", "provider", "plugin", "mode", "source", "route", "true", "false", "null":
		return true
	}
	return slices.Contains(itemRoots, name)
}

func (l *loader) gateBreaker(g *dag.Gate, b *body) {
	block := b.block("breaker")
	if block == nil {
		return
	}
	q := l.open(block, shape{need: []string{"consecutive"}, may: []string{"counts"}})
	g.Breaker = &dag.Breaker{Consecutive: q.count("consecutive", 1, 1), Counts: []dag.End{dag.Rejected, dag.Failed}}
	if !q.has("counts") {
		return
	}
	g.Breaker.Counts = nil
	ends := []string{string(dag.Rejected), string(dag.Failed)}
	for i, word := range q.distinctWords("counts") {
		if !slices.Contains(ends, word) {
			q.fail(elementRange(q.expr("counts"), i), unknownWord, sentence(fmt.Sprintf("A breaker does not count %q.", word), diag.DidYouMean(word, ends)))
			continue
		}
		g.Breaker.Counts = append(g.Breaker.Counts, dag.End(word))
	}
}

func (l *loader) gateReview(g *dag.Gate, b *body) {
	block := b.block("review")
	if block == nil {
		return
	}
	l.unsupportedAt("review", block.DefRange())
	q := l.open(block, shape{may: []string{"subject", "target", "question", "purpose"}})
	q.inherited = b.inherited
	g.Review = &dag.ReviewBlock{}
	for name, to := range map[string]*dag.Expr{"subject": &g.Review.Subject, "target": &g.Review.Target, "question": &g.Review.Question, "purpose": &g.Review.Purpose} {
		q.later(name, expr.WantText, place{kind: atGate}, func(x dag.Expr) { *to = x })
	}
}

var corpusShapes = map[string]shape{
	"jsonl":    {need: []string{"data", "evidence", "record"}, may: []string{"id", "evidence_record"}},
	"markdown": {need: []string{"path", "body"}, may: []string{"front_matter", "quarantine_path"}},
	"postgres": {need: []string{"dsn", "table"}, may: []string{"evidence_table", "record", "evidence_record", "id"}, blocks: one("outbox")},
}

var corpusKinds = slices.Sorted(maps.Keys(corpusShapes))

func (l *loader) gateCorpus(g *dag.Gate, block *hclsyntax.Block, lets map[string]hcl.Expression) {
	kind := block.Labels[0]
	s, ok := corpusShapes[kind]
	if !ok {
		l.error(block.LabelRanges[0], unknownCorpus, sentence(fmt.Sprintf("There is no corpus of the kind %q.", kind), diag.DidYouMean(kind, corpusKinds)))
		return
	}
	b := l.open(block, s)
	b.inherited = lets
	if kind != "jsonl" {
		l.unsupportedAt(fmt.Sprintf("corpus %q", kind), block.DefRange())
		l.otherCorpus(b, kind)
		return
	}
	c := &dag.Corpus{Kind: kind, Pos: l.pos(block.DefRange())}
	g.Corpus = c
	here := place{kind: atCorpus}
	b.later("data", expr.WantText, here, func(x dag.Expr) { c.Data = x })
	b.insideStart("data")
	c.Evidence = b.gateFile("evidence")
	if c.Evidence != "" && c.Evidence == g.Rejections {
		b.fail(b.expr("evidence").Range(), duplicateName, fmt.Sprintf("%s is the file of the rejections, too. Give one of them another name.", c.Evidence))
	}
	b.later("id", expr.WantText, here, func(x dag.Expr) { c.ID = x })
	b.later("record", expr.WantDocument, here, func(x dag.Expr) { c.Record = x })
	b.later("evidence_record", expr.WantDocument, place{kind: atEvidence}, func(x dag.Expr) { c.EvidenceRecord = x })
	if attr := b.attrs["evidence_record"]; attr != nil {
		b.evidenceNames(attr.Expr)
	}
}

// insideStart refuses a path that leads out of the pipeline's directory whatever
// is put into it: all that is known of a computed one is how it begins.
func (b *body) insideStart(name string) {
	start := ""
	switch e := b.expr(name).(type) {
	case *hclsyntax.TemplateExpr:
		if len(e.Parts) > 0 {
			if literal, ok := e.Parts[0].(*hclsyntax.LiteralValueExpr); ok && literal.Val.Type() == cty.String {
				start = literal.Val.AsString()
			}
		}
	}
	if strings.HasPrefix(start, "/") || strings.HasPrefix(start, "../") || strings.Contains(start, "\\") {
		b.fail(b.expr(name).Range(), pathOutside, fmt.Sprintf("A path that begins with %q leads out of the pipeline's directory. Paths are relative to it, with forward slashes:\n    %s = \"data/${bucket}.jsonl\"", start, name))
	}
}

// gateFile is a file that the gate writes: its own are beside it.
func (b *body) gateFile(name string) string {
	if !b.has(name) {
		return ""
	}
	s := b.file(name)
	base := path.Base(s)
	switch {
	case s == "":
		return ""
	case strings.HasSuffix(s, "/"):
		b.fail(b.expr(name).Range(), badName, fmt.Sprintf("%q is a directory. Name a file in it:\n    %s = %q", s, name, s+name+".jsonl"))
	case s != path.Clean(s):
		b.fail(b.expr(name).Range(), badName, fmt.Sprintf("Write the path in its shortest form: %q.", path.Clean(s)))
	case strings.HasPrefix(base, "."), strings.HasSuffix(base, ".lock"), strings.HasSuffix(base, ".torn"),
		slices.Contains([]string{"meta/verdicts.jsonl", "meta/breakers.jsonl", ".decisions/review.jsonl"}, s):
		b.fail(b.expr(name).Range(), reservedName, fmt.Sprintf("%q is one of the gate's own files. Give this another name, such as \"meta/%s.jsonl\".", s, name))
	default:
		return s
	}
	return ""
}

// evidenceNames refuses members that the gate writes itself.
func (b *body) evidenceNames(e hcl.Expression) {
	object, ok := e.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return
	}
	for _, item := range object.Items {
		if name := hcl.ExprAsKeyword(item.KeyExpr); slices.Contains(dag.EvidenceNames, name) {
			b.fail(item.KeyExpr.Range(), reservedName, fmt.Sprintf("The gate writes %q into each row of evidence itself. Leave it out, or give this one another name.", name))
		}
	}
}

// otherCorpus checks what is written for the kinds that are not run yet.
func (l *loader) otherCorpus(b *body, kind string) {
	discard := func(dag.Expr) {}
	if kind == "postgres" {
		l.withEnv(fmt.Sprintf("corpus %q", kind), b.at, func() { b.value("dsn") })
		if outbox := b.block("outbox"); outbox != nil {
			q := l.open(outbox, shape{need: []string{"event"}})
			q.inherited = b.inherited
			q.later("event", expr.WantDocument, place{kind: atEvidence}, discard)
		}
	}
	for _, name := range []string{"path", "quarantine_path", "table", "evidence_table", "id", "body"} {
		b.later(name, expr.WantText, place{kind: atCorpus}, discard)
	}
	for _, name := range []string{"front_matter", "record"} {
		b.later(name, expr.WantDocument, place{kind: atCorpus}, discard)
	}
	b.later("evidence_record", expr.WantDocument, place{kind: atEvidence}, discard)
}
