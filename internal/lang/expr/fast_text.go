package expr

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// textClosure makes a text of raw bytes. As with closure, ok is false for
// whatever is not plain, and the general way takes over.
type textClosure func(*frame) (text string, ok bool)

// textPart is a constant, or what is read.
type textPart struct {
	constant string
	read     rawFunc
}

// fastText makes a closure of a template whose parts are constants and paths;
// nil: it is none. The general way costs ten times as much, and texts like the
// path of a data file are made for every item.
func fastText(x hclsyntax.Expression) textClosure {
	t, ok := x.(*hclsyntax.TemplateExpr)
	if !ok {
		return nil
	}
	parts := make([]textPart, 0, len(t.Parts))
	for _, p := range t.Parts {
		part, ok := textPartOf(p)
		if !ok {
			return nil
		}
		parts = append(parts, part)
	}
	return func(f *frame) (string, bool) {
		var room [64]byte
		text := room[:0]
		for _, p := range parts {
			if p.read == nil {
				text = append(text, p.constant...)
				continue
			}
			raw, ok := p.read(f)
			// A text beyond ASCII may take another Unicode form beside its neighbours.
			if !ok || kindOf(raw) != kindString || !plainASCII(raw) {
				return "", false
			}
			text = append(text, raw[1:len(raw)-1]...)
		}
		return string(text), true
	}
}

func textPartOf(x hclsyntax.Expression) (textPart, bool) {
	if v, ok := literal(x); ok {
		if v.IsMarked() || !v.IsKnown() || v.IsNull() || v.Type() != cty.String || !plainASCII([]byte(v.AsString())) {
			return textPart{}, false
		}
		return textPart{constant: v.AsString()}, true
	}
	p, ok := x.(*partNode)
	if !ok {
		return textPart{}, false
	}
	read := rawOf(p.Expression)
	return textPart{read: read}, read != nil
}
