package expr

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/penstock-run/penstock/dag"
)

// compiled is an expression that is ready to evaluate.
type compiled struct {
	root      hclsyntax.Expression
	want      Want
	names     []dag.Name
	functions map[string]function.Function
	pos       dag.Pos
	source    string
	digest    dag.Digest
	plan      plan
	fast      closure // nil: only the general way
	toggled   bool    // values of variables or locals decided which parts are left of it

	words []string // all texts that it can be; nil: not known

	isText bool   // the expression is the constant text
	text   string // isText
}

var _ dag.Expr = (*compiled)(nil)

// Words are all the texts that an expression can give, where schemas and
// constants say that; nil where they do not.
func Words(e dag.Expr) []string {
	if x, ok := e.(*compiled); ok {
		return x.words
	}
	return nil
}

// prepare computes what a constant gives, once. The result says why it
// cannot be what is wanted.
func (x *compiled) prepare() string {
	v, ok := literal(x.root)
	if !ok {
		return ""
	}
	if !v.IsNull() && v.Type() == cty.String {
		x.isText, x.text = true, v.AsString()
	}
	p, ok := x.plan.(*constantPlan)
	if !ok {
		_, err := Canonical(v)
		return fmt.Sprintf("This cannot stand in a document: %v.", err)
	}
	return x.misshapen(p.doc)
}

func (x *compiled) Names() []dag.Name  { return x.names }
func (x *compiled) Digest() dag.Digest { return x.digest }
func (x *compiled) Pos() dag.Pos       { return x.pos }
func (x *compiled) String() string     { return x.source }

// Bool evaluates to a bool that is one.
func (x *compiled) Bool(s dag.Scope, seen *[]dag.Seen) (bool, error) {
	f := newFrame(s, x.names, seen)
	ok, err := x.condition(f, x.root, x.fast)
	f.done()
	return ok, err
}

func (x *compiled) condition(f *frame, root hclsyntax.Expression, fast closure) (bool, error) {
	if fast != nil {
		if v := fast(f); v != unsure {
			return v == holdsSo, nil
		}
		if f.err != nil {
			return false, f.err
		}
	}
	v, err := x.value(f, root)
	if err != nil {
		return false, err
	}
	if detail := notBool(root, v); detail != "" {
		return false, x.fail(root.Range(), detail)
	}
	return v.True(), nil
}

// raw reads a path.
func (x *compiled) raw(f *frame, p *path) ([]byte, error) {
	raw, prob, ok := f.read(p)
	switch {
	case ok:
		return raw, nil
	case prob != nil:
		return nil, x.fail(p.steps[prob.at].rng, prob.explain(p.name.String(), p.steps))
	}
	return nil, f.err
}

// Text evaluates to a text. A plain path gives the document's own text.
func (x *compiled) Text(s dag.Scope) (string, error) {
	if x.isText {
		return x.text, nil
	}
	f := newFrame(s, x.names, nil)
	text, err := x.textIn(f)
	f.done()
	return text, err
}

func (x *compiled) textIn(f *frame) (string, error) {
	p, err := decide(x.plan, x, f)
	if err != nil {
		return "", err
	}
	switch p := p.(type) {
	case *computedPlan:
		if p.text != nil {
			if text, ok := p.text(f); ok {
				return text, nil
			}
			if f.err != nil {
				return "", f.err
			}
		}
		v, err := x.value(f, p.x)
		if err != nil {
			return "", err
		}
		if v.IsNull() || v.Type() != cty.String {
			return "", x.fail(p.x.Range(), notText(p.x, valueKind(v)))
		}
		return v.AsString(), nil
	case *pathPlan:
		raw, err := x.raw(f, p.n.p)
		if err != nil {
			return "", err
		}
		if text, ok := unquote(raw); ok {
			return text, nil
		}
		return "", x.fail(p.n.p.rng, notText(p.n, rawKind(raw)))
	case *constantPlan:
		if text, ok := unquote(p.doc.Bytes); ok {
			return text, nil
		}
		return "", x.fail(x.root.Range(), notText(x.root, rawKind(nullFor(p.doc.Bytes))))
	}
	return "", x.fail(x.root.Range(), notText(x.root, "list or an object"))
}

func notText(e hclsyntax.Expression, kind string) string {
	name := nameOf(e)
	needed := fmt.Sprintf("%s is %s here, and a text is needed.", atStart(name), articledWord(kind))
	switch kind {
	case "null":
		return needed + fmt.Sprintf(" Write %s == null ? \"…\" : %s, or get(…, DEFAULT).", name, name)
	case "number", "bool":
		return needed + " Write it inside a template: \"${…}\"."
	}
	return needed
}

func nullFor(raw []byte) []byte {
	if raw == nil {
		return rawNull
	}
	return raw
}

// Doc evaluates to a document; null is the zero Doc.
func (x *compiled) Doc(s dag.Scope) (dag.Doc, error) {
	f := newFrame(s, x.names, nil)
	d, err := x.docIn(f)
	f.done()
	return d, err
}

func (x *compiled) docIn(f *frame) (dag.Doc, error) {
	p, err := decide(x.plan, x, f)
	if err != nil {
		return dag.Doc{}, err
	}
	d, err := x.document(p, f)
	if err != nil {
		return dag.Doc{}, err
	}
	if detail := x.misshapen(d); detail != "" {
		return dag.Doc{}, x.fail(x.root.Range(), detail)
	}
	return d, nil
}

func (x *compiled) document(p plan, f *frame) (dag.Doc, error) {
	switch p := p.(type) {
	case *constantPlan:
		return p.doc, nil
	case *pathPlan:
		if len(p.n.p.steps) == 0 { // the same document, its digest with it
			d, ok := f.doc(p.n.p.slot)
			switch {
			case !ok:
				return dag.Doc{}, f.err
			case !d.Digest.IsZero() || d.IsNull():
				return d, nil
			}
			return docOf(d.Bytes), nil
		}
	}
	b, err := p.append(nil, x, f)
	if err != nil {
		return dag.Doc{}, err
	}
	return docOf(b), nil
}

// misshapen says why a document is not what was wanted.
func (x *compiled) misshapen(d dag.Doc) string {
	got := kindOf(nullFor(d.Bytes))
	var want kind
	switch x.want {
	case WantBool:
		want = kindBool
	case WantText:
		want = kindString
	case WantNumber:
		want = kindNumber
	case WantFigure:
		if got == kindNull {
			return ""
		}
		want = kindNumber
	case WantList, WantTexts, WantAddresses:
		want = kindList
	default:
		return ""
	}
	if got != want {
		return fmt.Sprintf("%s is %s here, and a %s is needed.", atStart(nameOf(x.root)), articledWord(rawKind(nullFor(d.Bytes))), wantWords[x.want])
	}
	if x.want != WantTexts && x.want != WantAddresses {
		return ""
	}
	i, detail := 0, ""
	eachElement(d.Bytes, func(elem []byte) bool {
		k := kindOf(elem)
		if k != kindString && !(k == kindNull && x.want == WantAddresses) {
			detail = fmt.Sprintf("Element %d of %s is %s here, and a list of texts is needed.", i, nameOf(x.root), articledWord(rawKind(elem)))
		}
		i++
		return detail == ""
	})
	return detail
}

var wantWords = map[Want]string{WantBool: "bool", WantText: "text", WantNumber: "number", WantFigure: "number", WantList: "list", WantTexts: "list of texts", WantAddresses: "list of texts"}

// visit calls f for every node of a compiled tree, parents first.
func visit(x hclsyntax.Expression, f func(hclsyntax.Expression)) {
	f(x)
	for _, part := range parts(x) {
		visit(part, f)
	}
}

// parts are the nodes that a node is made of.
func parts(x hclsyntax.Expression) []hclsyntax.Expression {
	switch x := x.(type) {
	case *getNode:
		return []hclsyntax.Expression{x.fallback}
	case *stepsNode:
		return []hclsyntax.Expression{x.source}
	case *logicNode:
		return []hclsyntax.Expression{x.l, x.r}
	case *notNode:
		return []hclsyntax.Expression{x.val}
	case *condNode:
		return []hclsyntax.Expression{x.c, x.a, x.b}
	case *compareNode:
		return []hclsyntax.Expression{x.l, x.r}
	case *arithNode:
		return parts(x.Expression)
	case *partNode:
		return []hclsyntax.Expression{x.Expression}
	case *roundNode:
		return []hclsyntax.Expression{x.Expression}
	case *textNode:
		return []hclsyntax.Expression{x.wrapped}
	case *hclsyntax.BinaryOpExpr:
		return []hclsyntax.Expression{x.LHS, x.RHS}
	case *hclsyntax.UnaryOpExpr:
		return []hclsyntax.Expression{x.Val}
	case *hclsyntax.IndexExpr:
		return []hclsyntax.Expression{x.Collection, x.Key}
	case *hclsyntax.SplatExpr:
		return []hclsyntax.Expression{x.Source, x.Each}
	case *hclsyntax.TupleConsExpr:
		return x.Exprs
	case *hclsyntax.TemplateExpr:
		return x.Parts
	case *joinNode:
		return []hclsyntax.Expression{x.Tuple}
	case *hclsyntax.FunctionCallExpr:
		return x.Args
	case *hclsyntax.ObjectConsExpr:
		var all []hclsyntax.Expression
		for _, item := range x.Items {
			all = append(all, item.KeyExpr, item.ValueExpr)
		}
		return all
	case *hclsyntax.ForExpr:
		all := []hclsyntax.Expression{x.CollExpr, x.ValExpr}
		for _, e := range []hclsyntax.Expression{x.KeyExpr, x.CondExpr} {
			if e != nil {
				all = append(all, e)
			}
		}
		return all
	}
	return nil
}

// oneLine is the source text of an expression, on one line.
func oneLine(r hcl.Range, source func(string) []byte, x hclsyntax.Expression) string {
	if text := SourceText(r, source); text != "" {
		return text
	}
	return normal(x)
}

// SourceText is what stands at a place of a file, on one line and without
// comments; empty where the file is not known.
func SourceText(r hcl.Range, source func(string) []byte) string {
	if source == nil || !r.CanSliceBytes(source(r.Filename)) {
		return ""
	}
	return collapse(bytes.TrimSpace(r.SliceBytes(source(r.Filename))), r)
}
