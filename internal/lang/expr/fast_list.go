package expr

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/text/unicode/norm"
)

// concatPlan is concat of lists that are put together without a view. Unlike a path
// that stands by itself, what goes through a function is rewritten by a view: only
// lists that a view leaves as they are are taken, for the rest, and for every
// error, the general way stands.
type concatPlan struct {
	lists   []plan
	general plan
}

// planConcat makes a plan of concat of paths, splats, lists and constants; nil: it
// is none.
func planConcat(x *hclsyntax.FunctionCallExpr, general plan) plan {
	if x.Name != "concat" || x.ExpandFinal {
		return nil
	}
	p := &concatPlan{general: general}
	for _, arg := range x.Args {
		list := planOf(arg)
		switch list.(type) {
		case *pathPlan, *splatPlan, *listPlan:
		case *constantPlan:
			if v, _ := literal(arg); !v.Type().IsTupleType() && !v.Type().IsListType() {
				return nil
			}
		default:
			return nil
		}
		p.lists = append(p.lists, list)
	}
	return p
}

func (p *concatPlan) append(dst []byte, x *compiled, f *frame) ([]byte, error) {
	start := len(dst)
	dst = append(dst, '[')
	for _, list := range p.lists {
		from := len(dst)
		out, err := list.append(dst, x, f)
		if err != nil || !plainList(out[from:]) {
			return p.general.append(dst[:start], x, f)
		}
		dst = out[:len(out)-1]
		switch {
		case len(dst) == from+1: // it is empty
			dst = dst[:from]
		case from == start+1: // the first: its bracket is that of the whole
			dst = append(dst[:from], dst[from+1:]...)
		default:
			dst[from] = ','
		}
	}
	return append(dst, ']'), nil
}

// plainList reports whether a list is as a view of it would be written again: of
// texts in the Unicode form that a view gives them, bools and nulls. Where raw bytes
// are in that form, so is each text in them: an escape stands for a character that
// joins with no other.
func plainList(raw []byte) bool {
	if kindOf(raw) != kindList {
		return false
	}
	plain := true
	whole := eachElement(raw, func(elem []byte) bool {
		k := kindOf(elem)
		plain = k == kindString || k == kindBool || k == kindNull
		return plain
	})
	return whole && plain && norm.NFC.IsNormal(raw)
}
