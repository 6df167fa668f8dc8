package expr

import (
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// TestTemplates: the short way gives what the general way gives, and leaves to it
// what is not plain: a text whose Unicode form changes beside its neighbour, a
// number, and everything that is wrong.
func TestTemplates(t *testing.T) {
	for _, test := range []struct{ src, doc, want, err string }{
		{`"data/${origin.a}.jsonl"`, `{"a":"cats/easy"}`, "data/cats/easy.jsonl", ""},
		{`"${origin.a}${origin.b}"`, `{"a":"x","b":"y"}`, "xy", ""},
		{`"${origin.a}${origin.b}"`, "{\"a\":\"e\",\"b\":\"\u0301\"}", "\u00e9", ""},
		{`"${origin.a}-"`, `{"a":"say \"no\"\n"}`, "say \"no\"\n-", ""},
		{`"${origin.a}-"`, `{"a":1.50}`, "1.5-", ""},
		{`"${get(origin, "b", "none")}-"`, `{"a":1}`, "none-", ""},
		{`"${origin.a}-"`, `{"a":[1]}`, "", "E_EXPR: p.hcl:1,4: origin.a is a list here, and cannot stand in a text."},
		{`"${origin.a}-"`, `{"a":null}`, "", "E_EXPR: p.hcl:1,4: origin.a is null here, and cannot stand in a text."},
	} {
		x := compile(t, test.src, WantText)
		scope := fixed{dag.NewDoc([]byte(test.doc))}
		got, err := x.Text(scope)
		if got != test.want || (err != nil || test.err != "") && (err == nil || err.Error() != test.err) {
			t.Errorf("%s on %s: %q, %v; want %q, %s", test.src, test.doc, got, err, test.want, test.err)
		}
		general := *x
		general.plan = &computedPlan{x: general.root}
		slow, slowErr := general.Text(scope)
		if got != slow || (err == nil) != (slowErr == nil) {
			t.Errorf("%s on %s: %q, %v; the general way: %q, %v", test.src, test.doc, got, err, slow, slowErr)
		}
	}
}
