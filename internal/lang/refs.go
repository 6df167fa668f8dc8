package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

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
				l.broken, l.holes[kind] = true, true
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
	l.misnamed = l.misnamed || !ok && kind == "failure"
	if !ok && l.excused(kind, name) {
		return nil
	}
	if !ok {
		hint := diag.DidYouMean(name, s.names)
		if len(s.names) == 0 {
			hint = fmt.Sprintf("Declare it:\n    %s %q { … }", kind, name)
		}
		l.error(at, unknownSummary[kind], sentence(fmt.Sprintf("There is no %s %q.", kind, name), hint))
		return nil
	}
	return node
}

// referenceName takes a reference apart.
func (l *loader) referenceName(e hcl.Expression, kind string) (string, hcl.Range, bool) {
	traversal, diags := hcl.AbsTraversalForExpr(e)
	if !diags.HasErrors() && traversal.RootName() == kind && len(traversal) == 2 {
		if name, ok := second(traversal); ok {
			return name, e.Range(), true
		}
	}
	l.notReference(e, kind)
	return "", hcl.Range{}, false
}

// notReference says how the reference is written that an expression was meant
// to be, of one of the kinds that may stand there.
func (l *loader) notReference(e hcl.Expression, kinds ...string) {
	l.misnamed = l.misnamed || slices.Contains(kinds, "failure")
	forms := make([]string, len(kinds))
	for i, kind := range kinds {
		forms[i] = kind + ".NAME"
	}
	form := strings.Join(forms, " or ")
	detail := fmt.Sprintf("Here stands a reference, written %s; it cannot be computed, because the graph is proved before anything runs.", form)
	traversal, diags := hcl.AbsTraversalForExpr(e)
	switch word, isText := plainText(e); {
	case isText:
		detail = fmt.Sprintf("A %s is named by a reference, not by a text. Write it without quotes:\n    %s", kinds[0], l.asReference(word, kinds))
	case !diags.HasErrors() && len(traversal) > 2 && slices.Contains(kinds, traversal.RootName()):
		name, _ := second(traversal)
		detail = fmt.Sprintf("A reference is a kind and a name, no more. Write\n    %s.%s", traversal.RootName(), name)
	case !diags.HasErrors() && len(traversal) == 1:
		detail = fmt.Sprintf("Here stands a reference, written %s. Write\n    %s", form, l.asReference(traversal.RootName(), kinds))
	case !diags.HasErrors():
		root := traversal.RootName()
		detail = fmt.Sprintf("Here stands a %s, written %s; this is %q.", strings.Join(kinds, " or a "), form, root)
		if name, ok := second(traversal); ok && len(diag.Nearest(root, kinds)) == 1 {
			detail = fmt.Sprintf("Here stands a reference, written %s. Write\n    %s.%s", form, diag.Nearest(root, kinds)[0], name)
		}
	default:
		switch e := e.(type) {
		case *hclsyntax.TemplateWrapExpr:
			detail = fmt.Sprintf("A reference stands by itself, in no text. Write\n    %s", e.Wrapped.Range().SliceBytes(l.files.Source(e.Range().Filename)))
		case *hclsyntax.TupleConsExpr:
			detail = fmt.Sprintf("Here stands one reference, not a list. Write\n    %s", form)
		case *hclsyntax.ConditionalExpr:
			detail = fmt.Sprintf("A reference is written out: %s. It is not chosen by a condition, because the graph is proved before anything runs. Which way an item takes is chosen by\n    when {\n      if = CONDITION\n      to = stage.a\n    }\n    else { to = stage.b }", form)
		}
	}
	l.error(e.Range(), notAReference, detail)
}

// asReference is how a word is written as a reference: of the kind that has
// such a name, of the first where none has.
func (l *loader) asReference(word string, kinds []string) string {
	for _, kind := range kinds {
		word = strings.TrimPrefix(word, kind+".")
	}
	for _, kind := range kinds {
		if l.names[kind].nodes[word] != nil {
			return kind + "." + word
		}
	}
	if !hclsyntax.ValidIdentifier(word) || word == "null" || word == "true" || word == "false" {
		word = "NAME"
	}
	return kinds[0] + "." + word
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
