package expr

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// FuzzExpression: whatever is written, it is refused with a place or compiled;
// whatever is compiled ends in a value or a failure of the item; every document
// that comes out is canonical.
func FuzzExpression(f *testing.F) {
	for _, src := range []string{
		`item.ok && origin.a[0].b == "x"`, `{ a = item, "b" = origin.deep }`, `[for k, v in origin : "${k}${v}" if v != null]`, `{ for w in item.w : w => 1... }`,
		`get(origin, "deep.a.1.b", 5)`, `artifact.verifier.sources[*].url`, `"%{ if item.ok }a%{ else }b%{ endif }%{ for w in item.w }${w}%{ endfor }"`,
		`1 / (item.n - 0.1)`, `origin.deep == origin.deep ? jsonencode(origin) : sha256(item.q)`, `max(origin.l...)`, `regex(item.q, item.a)`, `<<-E
  a ${item.n}
  E
`, `format("%v", origin)`, `setproduct(item.w, item.w)`, `-origin.batch % 0`, `pow(10, 400)`, `item.w[pass]`, `range(0, 3)`, `yamldecode(item.q)`, `timeadd(item.q, "1h")`,
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 300 || strings.Count(src, "(")+strings.Count(src, "[")+strings.Count(src, "{") > 40 {
			return
		}
		// Functions whose cost grows with a number are bounded by other means.
		for _, costly := range []string{"range", "format", "setproduct", "indent", "pow", "e9", "E9"} {
			if strings.Contains(src, costly) && len(src) > 40 {
				return
			}
		}
		e, diags := hclsyntax.ParseExpression([]byte(src), "p.hcl", hcl.InitialPos)
		if diags.HasErrors() {
			return
		}
		env := cardEnv()
		env.Functions = Functions(fstest.MapFS{})
		env.Source = func(string) []byte { return []byte(src) }
		x, diags := Compile(e, env, WantDocument)
		if diags.HasErrors() {
			for _, d := range diags {
				if d.Subject == nil || d.Summary == "" || d.Detail == "" {
					t.Fatalf("%q: %#v", src, d)
				}
			}
			return
		}
		if strings.Contains(x.String(), "\n") {
			t.Errorf("%q: more than one line: %q", src, x)
		}
		d, err := x.Doc(cards)
		var failure *dag.Failure
		if err != nil && (!errors.As(err, &failure) || strings.Contains(failure.Message, "\n")) {
			t.Fatalf("%q: %v", src, err)
		}
		if err == nil && !d.IsNull() {
			if b, err := canon.Canonical(nil, d.Bytes); err != nil || string(b) != string(d.Bytes) {
				t.Fatalf("%q: %s is not canonical (%v)", src, d.Bytes, err)
			}
		}
	})
}

// FuzzScan: the reader of raw bytes never runs past their end, and in canonical
// documents finds what a decoder finds.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"a":[1,"\\\"",{"b":null}],"é":false}`), "a")
	f.Add([]byte(`{"a":"`), "a")
	f.Add([]byte(`[`), "")
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		steps := []step{attrStep(name, hcl.Range{}), indexStep(1, hcl.Range{})}
		_, _ = follow(b, steps)
		_ = soft(b, steps)
		whole, errCanon := canon.Canonical(nil, b)
		if errCanon != nil || string(whole) != string(b) {
			return
		}
		v, err := view(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if kindOf(b) == kindObject {
			seen := 0
			if !eachMember(b, func(_, value []byte) bool { seen++; _, err := view(value); return err == nil }) {
				t.Fatalf("%s is broken", b)
			}
			if got := len(v.AsValueMap()); got > seen { // names that are one in NFC are one in the view
				t.Fatalf("%s: %d members, %d seen", b, got, seen)
			}
		}
	})
}
