package gate

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
)

// BenchmarkTextChecks is the cost of each check of texts on one card, its arguments
// included.
func BenchmarkTextChecks(b *testing.B) {
	raw, err := os.ReadFile("../examples/trivia-cards/unstable-language.json")
	if err != nil {
		b.Fatal(err)
	}
	q := val("Which sultan took Constantinople in 1453?")
	x := val("Mehmed II besieged the city for 53 days and made it his capital.")
	for _, c := range []*dag.Check{
		phrases(val([]string{"Which sultan took Constantinople in 1453?", "Mehmed II besieged the city for 53 days and made it his capital."}), val(jsontext.Value(raw))),
		{Kind: "distinct", Args: map[string]dag.Expr{"values": val([]string{"Mehmed II", "Suleiman the Magnificent", "Bayezid I", "Selim III"}), "count": val(4), "min_distance": val(3)}},
		{Kind: "leak", Args: map[string]dag.Expr{"needle": val("Mehmed II"), "haystack": q}},
		{Kind: "words", Args: map[string]dag.Expr{"text": x, "min": val(1), "max": val(20)}},
	} {
		b.Run(string(c.Kind), func(b *testing.B) {
			run, err := makers()[c.Kind](c)
			if err != nil {
				b.Fatal(err)
			}
			s := &scope{}
			b.ReportAllocs()
			for b.Loop() {
				if r, err := run.judge(s); err != nil || r.state != held {
					b.Fatal(r, err)
				}
			}
		})
	}
}
