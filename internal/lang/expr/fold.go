package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// combine is a node made of parts: its value is computed now if that can be.
func (c *compiler) combine(x hclsyntax.Expression, t *Type, parts ...node) node {
	n := node{x: x, t: t, text: "this value"}
	for _, p := range parts {
		n.reads = n.reads || p.reads
		n.bad = n.bad || p.bad
		n.config = n.config || p.config
		n.toggled = n.toggled || p.toggled
		for _, name := range p.open {
			if !slices.Contains(n.open, name) {
				n.open = append(n.open, name)
			}
		}
	}
	return c.fold(n)
}

// fold evaluates what reads no document.
func (c *compiler) fold(n node) node {
	if n.bad || n.reads || len(n.open) > 0 {
		return n
	}
	if _, ok := literal(n.x); ok {
		return n
	}
	v, diags := evalConstant(n.x, (&frame{}).context(c.env.Functions))
	if diags.HasErrors() {
		secret := readsSensitive(n.x)
		for _, d := range diags {
			if d.Severity == hcl.DiagError {
				rng := n.x.Range()
				if d.Subject != nil {
					rng = *d.Subject
				}
				summary, detail := wordsOf(d)
				if secret { // functions quote what they cannot take
					detail = "It fails on a sensitive value, so what it says of it is not printed."
				}
				c.error(rng, summary, detail)
			}
		}
		return poison(n.x.Range())
	}
	if !v.IsWhollyKnown() && v.Type() != cty.DynamicPseudoType {
		n.reads = true // known only to a run: the count of labels
		return n
	}
	if size(v, maxSize+1) > maxSize {
		c.error(n.x.Range(), sumType, "This value is too large to be part of a pipeline. "+moveOut+".")
		return poison(n.x.Range())
	}
	folded := constant(v, n.x.Range(), n.text)
	folded.toggled = n.toggled
	if n.config {
		folded = folded.configured()
	}
	if v.Type() == cty.DynamicPseudoType && !v.IsKnown() {
		folded.bad = true
	}
	return folded
}

// wordsOf is what HCL's evaluator complains of, in our words where a function
// failed: its name and its own words are what helps.
func wordsOf(d *hcl.Diagnostic) (summary, detail string) {
	call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
	if !ok || call.FunctionCallError() == nil {
		return d.Summary, d.Detail
	}
	why := strings.TrimSuffix(call.FunctionCallError().Error(), ".")
	return sumFunctionFailed, call.CalledFunctionName() + ": " + stopped(why)
}

// stopped ends a sentence, unless it has its end.
func stopped(s string) string {
	if strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

// evalConstant evaluates, and makes a panic of cty or big.Float a diagnostic.
func evalConstant(x hclsyntax.Expression, ctx *hcl.EvalContext) (v cty.Value, diags hcl.Diagnostics) {
	defer func() {
		if r := recover(); r != nil {
			v, diags = failed(x.Range(), fmt.Sprintf("It cannot be computed: %v.", r))
		}
	}()
	return x.Value(ctx)
}

// readsSensitive tells whether some part is a secret.
func readsSensitive(x hclsyntax.Expression) (found bool) {
	visit(x, func(x hclsyntax.Expression) {
		v, ok := literal(x)
		found = found || ok && v.ContainsMarked()
	})
	return found
}
