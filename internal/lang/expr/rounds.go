package expr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Loops in loops multiply: three over range(1024) would go round for an hour,
// in validate before anything could be said, and a text put into itself a few
// times fills the memory. What a pipeline computes is small, so bounds far above
// it cost nobody anything.
const (
	maxConstantRounds = 1 << 17 // of all loops of one constant
	maxRounds         = 1 << 24 // of all loops of one evaluation on an item
	maxSize           = 1 << 20 // parts of a constant, see size
)

const moveOut = "Compute it in a program, and read the result with file and jsondecode, or with a source"

// roundNode is what a for evaluates first in each of its rounds.
type roundNode struct {
	hclsyntax.Expression
	of hcl.Range // the for
}

// countRounds makes a for count.
func countRounds(x *hclsyntax.ForExpr) {
	first := &x.ValExpr
	switch {
	case x.CondExpr != nil:
		first = &x.CondExpr
	case x.KeyExpr != nil:
		first = &x.KeyExpr
	}
	*first = &roundNode{Expression: *first, of: x.SrcRange}
}

func (n *roundNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	f := frameOf(ctx)
	most := f.maxRounds()
	f.rounds++
	switch {
	case f.rounds <= most:
		v, diags := n.Expression.Value(ctx)
		f.rounds += size(v, most) - 1
		return v, diags
	case !f.spent:
		f.spent = true
		return failed(n.of, fmt.Sprintf("The loops of this expression go round, or what they make is large, more than %d times. %s.", most, moveOut))
	}
	return cty.DynamicVal, nil // said once; HCL goes on to the end of each loop
}

func (f *frame) maxRounds() int {
	if f.scope == nil {
		return maxConstantRounds
	}
	return maxRounds
}

// size is how large a value is: one for each list, object, number and bool, and
// one for each 16 bytes of a text. It stops counting at most.
func size(v cty.Value, most int) int {
	v, _ = v.Unmark()
	switch {
	case v.IsNull() || !v.IsKnown():
		return 1
	case v.Type() == cty.String:
		return 1 + len(v.AsString())/16
	case !v.CanIterateElements():
		return 1
	}
	n := 1
	for it := v.ElementIterator(); n < most && it.Next(); {
		_, e := it.Element()
		n += size(e, most-n)
	}
	return n
}

// tooLarge says that a template would make a text that no document could hold.
func tooLarge(parts []hclsyntax.Expression) bool {
	n := 0
	for _, p := range parts {
		if v, ok := literal(p); ok {
			n += size(v, maxSize)
		}
	}
	return n > maxSize
}

// joinNode is what a for inside a template makes, as one text.
type joinNode struct{ *hclsyntax.TemplateJoinExpr }

func (n *joinNode) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := n.Tuple.Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	if size(v, maxSize+1) > maxSize {
		return failed(n.Range(), "This text is too large. "+moveOut+".")
	}
	x := &hclsyntax.TemplateJoinExpr{Tuple: &hclsyntax.LiteralValueExpr{Val: v, SrcRange: n.Tuple.Range()}}
	return x.Value(ctx)
}

// setProductFunc and indentFunc are cty's, bounded for the same reason.
var (
	setProductFunc = bounded(stdlib.SetProductFunc, func(args []cty.Value) int {
		n := 1
		for _, arg := range args {
			if n *= arg.LengthInt(); n > maxSize || n == 0 {
				break
			}
		}
		return n * len(args)
	})
	indentFunc = bounded(stdlib.IndentFunc, func(args []cty.Value) int {
		spaces, _ := args[0].AsBigFloat().Int64()
		return int(min(spaces, maxSize*32)) / 16 * strings.Count(args[1].AsString(), "\n")
	})
)

// bounded refuses a call whose result would be too large.
func bounded(f function.Function, size func([]cty.Value) int) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(), Params: f.Params(), VarParam: f.VarParam(),
		Type: f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if size(args) > maxSize {
				return cty.NilVal, errors.New("the result would be too large")
			}
			return f.Call(args)
		},
	})
}
