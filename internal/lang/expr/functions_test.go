package expr

import (
	"testing"
	"testing/fstest"

	"github.com/penstock-run/penstock/internal/canon"
)

var exampleFiles = fstest.MapFS{
	"greeting.txt":  {Data: []byte("hello")},
	"greeting.tmpl": {Data: []byte("Hello, ${name}!")},
	"point.json":    {Data: []byte(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`)},
}

func TestFunctionExamples(t *testing.T) {
	env := &Env{Functions: Functions(exampleFiles)}
	docs := FunctionDocs()
	if len(docs) != len(env.Functions) {
		t.Errorf("%d functions are described, there are %d", len(docs), len(env.Functions))
	}
	for _, d := range docs {
		t.Run(d.Name, func(t *testing.T) {
			if d.Description == "" || d.Example == "" || d.Result == "" || d.Signature == "" {
				t.Fatalf("not described whole: %+v", d)
			}
			v, diags := Constant(parse(d.Example), env)
			if diags.HasErrors() {
				t.Fatal(complaints(diags))
			}
			got, err := Canonical(v)
			if err != nil {
				t.Fatal(err)
			}
			want, err := canon.Canonical(nil, []byte(d.Result))
			if err != nil || string(got) != string(want) {
				t.Errorf("%s gives %s, documented is %s (%v)", d.Example, got, want, err)
			}
		})
	}
}
