package gate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// seesAll is a schema that everything fits, and which keeps what it was shown.
type seesAll struct{ seen []string }

func (s *seesAll) Validate(canonical []byte) error {
	s.seen = append(s.seen, string(canonical))
	return nil
}
func (s *seesAll) Source() dag.Doc { return dag.NewDoc([]byte("true")) }
func (s *seesAll) Name() string    { return "all.json" }

// bytesOf is an expression that gives a document as it is, canonical or not.
func bytesOf(doc string) dag.Expr {
	return &fn{name: "bytes", raw: func(dag.Scope) (dag.Doc, error) { return dag.Doc{Bytes: []byte(doc)}, nil }}
}

// A schema is shown canonical bytes and nothing else: what is no strict JSON never
// comes to the library that reads schemas.
func TestSchemaSeesCanonicalBytes(t *testing.T) {
	deep := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	for _, tt := range []struct{ name, doc, seen string }{ // seen: empty where it is refused before
		{"canonical", `{"a":1}`, `{"a":1}`},
		{"out of order, with spaces", "{ \"b\": 1.0,\n\"a\": \"\\u0041\" }", `{"a":"A","b":1}`},
		{"a number in another spelling", `[1e2,-0,0.1e1]`, `[100,0,1]`},
		{"the largest integer that a double has alone", `9007199254740991`, `9007199254740991`},
		{"a thousand levels", deep(1000), deep(1000)},
		{"a thousand and one", deep(1001), ""},
		{"an integer that a double cannot hold", `9007199254740993`, ""},
		{"past a double", `1e400`, ""},
		{"an exponent to overflow a parser", `1e1000001`, ""},
		{"a name twice", `{"a":1,"a":1}`, ""},
		{"a name twice, escaped", `{"a":1,"\u0061":1}`, ""},
		{"a lone surrogate", `"\ud800"`, ""},
		{"bytes that are no UTF-8", "\"\xff\"", ""},
		{"a byte order mark", "\ufeff{}", ""},
		{"two documents", `{}{}`, ""},
		{"half a document", `{"a":`, ""},
		{"a comma too many", `[1,]`, ""},
		{"a comment", `{} // yes`, ""},
		{"NaN", `NaN`, ""},
		{"a tab in a text", "\"\t\"", ""},
		{"no bytes", ``, ""},
		{"null", `null`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			schema := &seesAll{}
			g := mustOpen(t, options(t, t.TempDir(), plain(&dag.Check{Kind: "schema", Code: "R_SCHEMA", Ends: true, Schema: schema, Args: map[string]dag.Expr{"value": bytesOf(tt.doc)}})))
			v := judge(t, g, question("one", "One?"))[0]
			var want []string
			if tt.seen != "" {
				want = []string{tt.seen}
			}
			if diff := cmp.Diff(want, schema.seen); diff != "" {
				t.Error(diff)
			}
			if v.Err != nil || (v.End == dag.Accepted) != (want != nil) || want == nil && (codes(v) != "R_SCHEMA" || v.Details[0].Why == "") {
				t.Errorf("%s %q %v", v.End, codes(v), v.Err)
			}
		})
	}
}

func TestAssert(t *testing.T) {
	for _, tt := range []struct {
		name      string
		condition dag.Expr
		message   string
		why       string // empty: it holds
	}{
		{"true", val(true), "", ""},
		{"false", val(false), "", "it is not true that false"},
		{"false, with a message", val(false), "the report is no accept", "the report is no accept"},
		{"null", val(nil), "", "E_EXPR: <nil> is not a bool"},
		{"a text", val("true"), "", `E_EXPR: "true" is not a bool`},
		{"a number", val(1), "the report is no accept", "E_EXPR: 1 is not a bool"},
		{"absent", get("card.nothing"), "", "E_EXPR: card.nothing is not a bool"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := mustOpen(t, options(t, t.TempDir(), plain(&dag.Check{Kind: "assert", Code: "R", Message: tt.message, Args: map[string]dag.Expr{"condition": tt.condition}})))
			v := judge(t, g, question("one", "One?"))[0]
			if v.Err != nil || (v.End == dag.Accepted) != (tt.why == "") || tt.why != "" && v.Details[0].Why != tt.why {
				t.Errorf("%s %+v %v, want %q", v.End, v.Details, v.Err, tt.why)
			}
		})
	}
}
