package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
)

// scope is what `kind.x` may name.
type scope struct {
	kind  string
	names []string // in order of declaration
	at    map[string]hcl.Range
	nodes map[string]any
}

// declare makes all names known, so that blocks may refer to each other in any
// order, and makes the empty node of each.
func (l *loader) declare() {
	for _, kind := range []string{"plugin", "provider", "source", "stage", "route", "gate", "mode", "failure", "variable"} {
		s := &scope{kind: kind, at: map[string]hcl.Range{}, nodes: map[string]any{}}
		l.names[kind] = s
		var kept []*hclsyntax.Block
		for _, b := range l.blocks[kind] {
			if l.declareOne(s, b) {
				kept = append(kept, b)
			} else {
				l.broken = true
			}
		}
		l.blocks[kind] = kept
	}
}

func (l *loader) declareOne(s *scope, b *hclsyntax.Block) bool {
	name, at := b.Labels[0], b.LabelRanges[0]
	if !hclsyntax.ValidIdentifier(name) {
		l.error(at, badName, fmt.Sprintf("%q cannot be written as %s.NAME. A name begins with a letter and holds letters, digits, _ and -.", name, s.kind))
		return false
	}
	if first, ok := s.at[name]; ok {
		l.twice(at, first, duplicateName, fmt.Sprintf("There is a %s %q already. Give one of them another name, or remove it.", s.kind, name))
		return false
	}
	s.names = append(s.names, name)
	s.at[name] = at
	pos := l.pos(b.DefRange())
	switch s.kind {
	case "plugin":
		s.nodes[name] = &dag.Plugin{Name: name, Pos: pos}
	case "provider":
		s.nodes[name] = &dag.Provider{Name: name, Pos: pos}
	case "source":
		s.nodes[name] = &dag.Source{Name: name, Pos: pos}
	case "stage":
		s.nodes[name] = &dag.Stage{Name: name, Pos: pos}
	case "route":
		s.nodes[name] = &dag.Route{Name: name, Pos: pos}
	case "gate":
		s.nodes[name] = &dag.Gate{Name: name, Pos: pos}
	case "mode":
		s.nodes[name] = &dag.Mode{Name: name, Pos: pos}
	case "failure":
		s.nodes[name] = &dag.FailureCode{Code: dag.Code(name), Triage: dag.Reject, Pos: pos}
	}
	return true
}

// reference reads `kind.name`, complaining where it is written otherwise or
// names nothing. The node is nil then.
func reference[T any](l *loader, e hcl.Expression, kind string) *T {
	name, at, ok := l.referenceName(e, kind)
	if !ok {
		return nil
	}
	s := l.names[kind]
	node, ok := s.nodes[name].(*T)
	if !ok {
		hint := diag.DidYouMean(name, s.names)
		if len(s.names) == 0 {
			hint = fmt.Sprintf("Declare it:\n    %s %q { … }", kind, name)
		}
		l.error(at, unknownSummary[kind], sentence(fmt.Sprintf("There is no %s %q.", kind, name), hint))
		l.misnamed = l.misnamed || kind == "failure"
		return nil
	}
	return node
}

// referenceName takes a reference apart.
func (l *loader) referenceName(e hcl.Expression, kind string) (string, hcl.Range, bool) {
	traversal, diags := hcl.AbsTraversalForExpr(e)
	form := kind + ".NAME"
	if diags.HasErrors() {
		if word, ok := plainText(e); ok {
			detail := fmt.Sprintf("A %s is named by a reference, not by a text. Write it without quotes:\n    %s.%s", kind, kind, word)
			if !hclsyntax.ValidIdentifier(word) {
				detail = fmt.Sprintf("A %s is named by a reference, not by a text. Write %s without quotes.", kind, form)
			}
			l.error(e.Range(), notAReference, detail)
			return "", hcl.Range{}, false
		}
		l.error(e.Range(), notAReference, fmt.Sprintf("Here stands a reference, written %s; it cannot be computed, because the graph is proved before anything runs.", form))
		return "", hcl.Range{}, false
	}
	if root := traversal.RootName(); root != kind {
		detail := fmt.Sprintf("Here stands a %s, written %s; this is %q.", kind, form, root)
		if len(traversal) == 1 {
			if _, ok := l.names[kind].nodes[root]; ok {
				detail = fmt.Sprintf("Here stands a reference. Write\n    %s.%s", kind, root)
			}
		}
		l.error(e.Range(), notAReference, detail)
		return "", hcl.Range{}, false
	}
	if len(traversal) == 2 {
		if step, ok := traversal[1].(hcl.TraverseAttr); ok {
			return step.Name, e.Range(), true
		}
		if step, ok := traversal[1].(hcl.TraverseIndex); ok && step.Key.Type() == cty.String {
			return step.Key.AsString(), e.Range(), true
		}
	}
	l.error(e.Range(), notAReference, fmt.Sprintf("A reference is a kind and a name, no more: %s.", form))
	return "", hcl.Range{}, false
}

// plainText is the text that e is, where it is one without anything in it.
func plainText(e hcl.Expression) (string, bool) {
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() {
		return "", false
	}
	v, diags := t.Value(nil)
	if diags.HasErrors() {
		return "", false
	}
	return v.AsString(), true
}

// references reads one reference or a list of them. It reports false where
// one was wrong.
func references[T any](l *loader, e hclsyntax.Expression, kind string) ([]*T, bool) {
	tuple, isList := e.(*hclsyntax.TupleConsExpr)
	if !isList {
		node := reference[T](l, e, kind)
		if node == nil {
			return nil, false
		}
		return []*T{node}, true
	}
	var list []*T
	seen := map[*T]hcl.Range{}
	ok := true
	for _, elem := range tuple.Exprs {
		node := reference[T](l, elem, kind)
		if node == nil {
			ok = false
			continue
		}
		if first, twice := seen[node]; twice {
			l.twice(elem.Range(), first, duplicateWord, fmt.Sprintf("This %s stands in the list already. Remove one.", kind))
			ok = false
			continue
		}
		seen[node] = elem.Range()
		list = append(list, node)
	}
	if len(tuple.Exprs) == 0 {
		l.error(e.Range(), emptyList, fmt.Sprintf("The list is empty. Write at least one %s.NAME.", kind))
		ok = false
	}
	return list, ok
}

// refAttr reads a reference that is an attribute; nil where absent or wrong.
func refAttr[T any](b *body, name, kind string) *T {
	e := b.expr(name)
	if e == nil {
		return nil
	}
	node := reference[T](b.l, e, kind)
	b.ok = b.ok && node != nil
	return node
}

// refList reads an attribute that is one reference or a list of them.
func refList[T any](b *body, name, kind string) []*T {
	e := b.expr(name)
	if e == nil {
		return nil
	}
	list, ok := references[T](b.l, e, kind)
	b.ok = b.ok && ok
	return list
}

// code reads `failure.CODE`, which counts as a use of it.
func (b *body) code(name string) dag.Code {
	f := refAttr[dag.FailureCode](b, name, "failure")
	if f == nil {
		return ""
	}
	b.l.useCode(f, b.expr(name).Range())
	return f.Code
}

// useCode notes that a code is given to something.
func (l *loader) useCode(f *dag.FailureCode, at hcl.Range) {
	l.usedCodes[f.Code] = true
	if f.Retired {
		l.error(at, retiredCode, fmt.Sprintf("The code %s is retired: it stays declared so that old records can be read, and nothing new gets it. Use another code, or remove `retired` from its block.", f.Code))
	}
}
