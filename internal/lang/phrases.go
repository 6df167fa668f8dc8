package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/internal/lang/expr"
	"github.com/penstock-run/penstock/internal/text"
)

// phraseRules reports whether an attribute holds phrase rules that compile. They are
// mostly written in a file of their own, which is then named beside the attribute.
func (b *body) phraseRules(name string) bool {
	v, ok := b.value(name)
	e := b.expr(name)
	if !ok || !b.isPlain(e.Range(), name, v, cty.NilType) {
		return false
	}
	canonical, err := expr.Canonical(v)
	if err == nil {
		_, err = text.CompileRules(canonical)
	}
	if err == nil {
		return true
	}
	where := "The phrase rules"
	if path := b.l.fileOf(e); path != "" {
		where += " in " + path
	}
	b.fail(e.Range(), badRules, fmt.Sprintf("%s cannot be used: %s.", where, err))
	return false
}

// fileOf names the file that a constant was read from, "" where it is written out
// or computed otherwise: jsondecode(file("x.json")), or a local that is such a call.
func (l *loader) fileOf(e hcl.Expression) string {
	for range len(l.localNames) + 1 {
		t, ok := e.(*hclsyntax.ScopeTraversalExpr)
		if !ok {
			break
		}
		member, ok := second(t.Traversal)
		if !ok || t.Traversal.RootName() != "local" {
			return ""
		}
		attr := l.localAttr(member)
		if attr == nil {
			return ""
		}
		e = attr.Expr
	}
	decode, ok := e.(*hclsyntax.FunctionCallExpr)
	if !ok || decode.Name != "jsondecode" || len(decode.Args) != 1 {
		return ""
	}
	read, ok := decode.Args[0].(*hclsyntax.FunctionCallExpr)
	if !ok || read.Name != "file" || len(read.Args) != 1 {
		return ""
	}
	path, ok := l.constant(read.Args[0])
	if !ok || path.IsMarked() || !path.IsKnown() || path.IsNull() || path.Type() != cty.String {
		return ""
	}
	return path.AsString()
}

func (l *loader) localAttr(name string) *hclsyntax.Attribute {
	for _, block := range l.blocks["locals"] {
		if attr := block.Body.Attributes[name]; attr != nil {
			return attr
		}
	}
	return nil
}
