package expr

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
	"golang.org/x/text/unicode/norm"

	"github.com/penstock-run/penstock/internal/text"
)

// textClosure makes a text of raw bytes, in the Unicode form that a view of it has.
// As with closure, ok is false for whatever is not plain, and the general way takes
// over.
type textClosure func(*frame) (text string, ok bool)

// fastText makes a closure of texts, of templates of them, and of functions of
// them; nil: it is none. The general way costs ten times as much, and texts like
// the path of a data file or the id of a record are made for every item.
func fastText(x hclsyntax.Expression) textClosure {
	if v, ok := literal(x); ok {
		if v.IsMarked() || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
			return nil
		}
		constant := v.AsString()
		return func(*frame) (string, bool) { return constant, true }
	}
	switch x := x.(type) {
	case *pathNode, *getNode:
		return readText(rawOf(x))
	case *ownTextNode:
		return fastOwnText(x)
	case *partNode:
		return fastText(x.Expression)
	case *textNode:
		return fastText(x.wrapped)
	case *hclsyntax.TemplateExpr:
		return fastTemplate(x)
	case *hclsyntax.FunctionCallExpr:
		return fastTextFunction(x)
	}
	return nil
}

func readText(read rawFunc) textClosure {
	if read == nil {
		return nil
	}
	return func(f *frame) (string, bool) {
		raw, ok := read(f)
		if !ok {
			return "", false
		}
		s, ok := unquote(raw)
		return norm.NFC.String(s), ok
	}
}

func fastOwnText(x *ownTextNode) textClosure {
	read, apply := rawOf(&pathNode{p: x.p}), ownText[x.Name]
	if apply == nil {
		return nil
	}
	return func(f *frame) (string, bool) {
		raw, ok := read(f)
		if !ok {
			return "", false
		}
		s, ok := unquote(raw)
		if !ok {
			return "", false
		}
		return apply(s), true
	}
}

func fastTemplate(x *hclsyntax.TemplateExpr) textClosure {
	parts := make([]textClosure, len(x.Parts))
	for i, p := range x.Parts {
		if parts[i] = fastText(p); parts[i] == nil {
			return nil
		}
	}
	return func(f *frame) (string, bool) {
		var room [64]byte
		whole := room[:0]
		for _, part := range parts {
			s, ok := part(f)
			if !ok {
				return "", false
			}
			whole = append(whole, s...)
		}
		// A text may take another Unicode form beside its neighbours.
		return norm.NFC.String(string(whole)), true
	}
}

// ofOneText are the functions of a text that are called by their own name here.
var ofOneText = map[string]func(string) string{
	"sha256":      ownText["sha256"],
	"fingerprint": text.Fingerprint,
	"normalize":   text.Normalize,
}

func fastTextFunction(x *hclsyntax.FunctionCallExpr) textClosure {
	switch {
	case x.ExpandFinal:
	case x.Name == "substr" && len(x.Args) == 3:
		return fastSubstr(x)
	case ofOneText[x.Name] != nil && len(x.Args) == 1:
		arg, apply := fastText(x.Args[0]), ofOneText[x.Name]
		if arg == nil {
			return nil
		}
		return func(f *frame) (string, bool) {
			s, ok := arg(f)
			if !ok {
				return "", false
			}
			return norm.NFC.String(apply(s)), true
		}
	}
	return nil
}

// fastSubstr is substr(text, constant, constant), counted from the start. A
// character may be several runes, so only texts of which each byte is one are cut.
func fastSubstr(x *hclsyntax.FunctionCallExpr) textClosure {
	arg := fastText(x.Args[0])
	offset, ok := wholeNumber(x.Args[1])
	length, okLength := wholeNumber(x.Args[2])
	if arg == nil || !ok || !okLength || offset < 0 || length < 0 {
		return nil
	}
	return func(f *frame) (string, bool) {
		s, ok := arg(f)
		if !ok || !printable(s) {
			return "", false
		}
		s = s[min(offset, len(s)):]
		return s[:min(length, len(s))], true
	}
}

func wholeNumber(x hclsyntax.Expression) (n int, ok bool) {
	v, ok := literal(x)
	return n, ok && isNumber(v) && gocty.FromCtyValue(v, &n) == nil
}

// printable reports whether a text is of visible ASCII and spaces alone.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
