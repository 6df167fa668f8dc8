package lang

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Edit puts a text in the place of a part of a test file; an empty part is
// where it is added.
type Edit struct {
	Place
	Text string
}

// Rewrite puts values in the place of others. All that stands beside them stays
// as it is, byte for byte, but that a file in the one layout is in it again. A
// part with a comment in it is left alone and told of.
func Rewrite(name string, src []byte, edits []Edit) (out []byte, commented []Place, err error) {
	laid, diags := Format(name, src)
	if diags.HasErrors() {
		return nil, nil, fmt.Errorf("%s does not parse any more", name)
	}
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b Edit) int { return a.Start - b.Start })
	done := 0
	for _, e := range edits {
		if e.Start < done || e.End < e.Start || e.End > len(src) {
			return nil, nil, fmt.Errorf("%s has changed since it was read", name)
		}
		if slices.ContainsFunc(tokens(name, src[e.Start:e.End]), func(t hclsyntax.Token) bool { return t.Type == hclsyntax.TokenComment }) {
			commented = append(commented, e.Place)
			continue
		}
		out = append(append(out, src[done:e.Start]...), e.Text...)
		done = e.End
	}
	out = append(out, src[done:]...)
	if _, diags := hclsyntax.ParseConfig(out, name, hcl.InitialPos); diags.HasErrors() {
		return nil, nil, fmt.Errorf("%s would not parse with the values that were found: %s", name, diags[0].Detail)
	}
	if bytes.Equal(laid, src) {
		if out, diags = Format(name, out); diags.HasErrors() {
			return nil, nil, fmt.Errorf("%s cannot be laid out with the values that were found", name)
		}
	}
	return out, commented, nil
}
