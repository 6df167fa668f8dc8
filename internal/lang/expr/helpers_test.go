package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// docs is a scope of JSON texts by name.
type docs map[string]string

var errGone = errors.New("the document is gone")

func (d docs) Lookup(n dag.Name) (dag.Doc, error) {
	text, ok := d[n.String()]
	switch {
	case !ok || text == "null":
		return dag.Doc{}, nil
	case text == "GONE":
		return dag.Doc{}, errGone
	}
	b, err := canon.Canonical(nil, []byte(text))
	if err != nil {
		return dag.Doc{}, err
	}
	return dag.NewDoc(b), nil
}

// cardEnv is a gate's place in a pipeline of cards: typed documents, one that
// may be null, one of which nothing is known.
func cardEnv() *Env {
	card := Object(map[string]*Type{
		"q": String(), "a": String(), "w": List(String()), "n": Number(), "ok": Bool(),
		"cat": Enum("music", "history", "film-tv"), "note": Nullable(String()), "level": Nullable(Enum("easy", "hard")),
	})
	report := Object(map[string]*Type{
		"status":  Enum("accept", "repair", "reject"),
		"sources": List(Object(map[string]*Type{"url": String(), "quote": Nullable(String())})),
		"found":   Bool(), "p": Number(),
	})
	return &Env{
		Names: map[dag.Name]*Type{
			{Root: "item"}:                         card,
			{Root: "origin"}:                       Any(),
			{Root: "artifact", Member: "verifier"}: report,
			{Root: "artifact", Member: "repairer"}: Nullable(card),
			{Root: "outcome", Member: "verifier"}:  Enum("accept", "repair"),
			{Root: "pass"}:                         Number(),
		},
		Elsewhere: map[string]string{"output": "can be read in its own stage and in that stage's routes", "artifact.late": "is visited only after this place"},
		Consts: map[string]cty.Value{
			"local": cty.ObjectVal(map[string]cty.Value{
				"mme":   cty.TupleVal([]cty.Value{cty.StringVal("music"), cty.StringVal("film-tv")}),
				"limit": cty.MustParseNumberVal("0.85"),
				"empty": cty.EmptyTupleVal,
			}),
			"var": cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("x"), "secret": cty.StringVal("s").Mark("sensitive")}),
		},
		Functions: Functions(fstest.MapFS{"a.txt": {Data: []byte("hello")}, "t.tmpl": {Data: []byte("Hi ${name}!")}}),
		Lets:      map[string]hcl.Expression{"status": parse("artifact.verifier.status"), "loop": parse("loop")},
	}
}

func parse(src string) hclsyntax.Expression {
	e, diags := hclsyntax.ParseExpression([]byte(src), "p.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		panic(diags.Error())
	}
	return e
}

func compile(t testing.TB, src string, want Want) *compiled {
	t.Helper()
	env := cardEnv()
	env.Source = func(string) []byte { return []byte(src) }
	x, diags := Compile(parse(src), env, want)
	if diags.HasErrors() {
		t.Fatalf("%s: %s", src, complaints(diags))
	}
	return x.(*compiled)
}

// complaints is diagnostics as one text: "1,3-8: Summary: detail".
func complaints(diags hcl.Diagnostics) string {
	var lines []string
	for _, d := range diags {
		lines = append(lines, fmt.Sprintf("%d,%d-%d: %s: %s", d.Subject.Start.Line, d.Subject.Start.Column, d.Subject.End.Column, d.Summary, d.Detail))
	}
	return strings.Join(lines, "\n")
}

var cards = docs{
	"item":              `{"q":"Who?","a":"Bach","w":["Mozart","Händel","Haydn"],"n":0.1,"ok":true,"cat":"music"}`,
	"origin":            `{"cat":"music","diff":"easy","batch":1,"deep":{"a":[{"b":1},{"b":"two"}]},"nul":null,"e":1e21,"s":"3"}`,
	"artifact.verifier": `{"status":"accept","sources":[{"url":"http://a.example/1","quote":"x"},{"url":"http://b.example"}],"found":false,"p":0.85}`,
	"outcome.verifier":  `"accept"`,
	"pass":              `1`,
}

func hclType(n hclsyntax.Node) string { return fmt.Sprintf("%T", n) }
