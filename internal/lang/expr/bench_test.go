package expr

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// held answers every name with the same document, as a traversal does.
type held struct{ doc dag.Doc }

func (h held) Lookup(dag.Name) (dag.Doc, error) { return h.doc, nil }

// benchDocs are 2 KB: one long text, and 75 short fields.
func benchDocs(b *testing.B) map[string]held {
	var fields []string
	for i := range 75 {
		fields = append(fields, fmt.Sprintf(`"f%02d":"value %d"`, i, i))
	}
	out := map[string]held{}
	for name, text := range map[string]string{
		"plain": `{"cat":"music","score":0.91,"text":"` + strings.Repeat("lorem ipsum ", 160) + `","tries":2}`,
		"rich":  `{"cat":"music","score":0.91,` + strings.Join(fields, ",") + `,"tries":2}`,
	} {
		doc, err := canon.Canonical(nil, []byte(text))
		if err != nil {
			b.Fatal(err)
		}
		out[name] = held{dag.NewDoc(doc)}
	}
	return out
}

// BenchmarkWhen is one condition of two comparisons.
func BenchmarkWhen(b *testing.B) {
	env := &Env{Names: map[dag.Name]*Type{{Root: "item"}: Any()}, Functions: Functions(fstest.MapFS{})}
	x, diags := Compile(parse(`item.score >= 0.85 && item.tries < 3`), env, WantBool)
	if diags.HasErrors() {
		b.Fatal(diags)
	}
	general := *x.(*compiled)
	general.fast = nil
	for name, scope := range benchDocs(b) {
		for way, x := range map[string]dag.Expr{"closure": x, "general": &general} {
			b.Run(name+"/"+way, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if ok, err := x.Bool(scope, nil); !ok || err != nil {
						b.Fatal(ok, err)
					}
				}
			})
		}
	}
}

// BenchmarkDoc is an input that is put together of two paths.
func BenchmarkDoc(b *testing.B) {
	env := &Env{Names: map[dag.Name]*Type{{Root: "item"}: Any()}, Functions: Functions(fstest.MapFS{})}
	for _, src := range []string{`item`, `{ card = item, cat = item.cat }`, `[for x in [item.cat] : x]`, `item.cat`} {
		x, diags := Compile(parse(src), env, WantDocument)
		if diags.HasErrors() {
			b.Fatal(diags)
		}
		scope := benchDocs(b)["plain"]
		b.Run(src, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Doc(scope); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
