package dag

import (
	"testing"
	"time"
)

// line of five stages with one condition each, as a pipeline has them.
func fiveStages(t testing.TB) *Graph {
	b := newBuild()
	var stages []*Stage
	for _, name := range []string{"fetch", "clean", "judge", "write", "check"} {
		stages = append(stages, b.stage(name))
	}
	for i, s := range stages {
		way := b.gate()
		if i+1 < len(stages) {
			way = b.to(stages[i+1])
		}
		condition := &fake{src: "item.ok", eval: func(Scope) (any, error) { return true, nil }}
		b.route(b.when(condition, way, b.stop(Rejected, "no")), s)
	}
	return proved(t, b)
}

func fiveVisits(t testing.TB) *Trail {
	tr := fiveStages(t).Start(Item{Key: "inputs/items.jsonl:12345", Origin: lit(`{"n":0}`)}, Doc{})
	walkFive(t, tr, fiveOutputs())
	return tr.Trail()
}

// fiveOutputs are the ends of five visits, made beforehand.
func fiveOutputs() []*Visited {
	at := time.Date(2026, 1, 15, 10, 15, 0, 0, time.UTC)
	var list []*Visited
	for i := range 5 {
		list = append(list, &Visited{
			Output: lit(`{"n":` + itoa(i+1) + `}`), Action: Sum([]byte{byte(i)}),
			Facts: Facts{Model: "m-1", StartedAt: at, EndedAt: at.Add(time.Second), Calls: 1, Input: 900, OutTokens: 120},
		})
	}
	return list
}

func walkFive(t testing.TB, tr *Traversal, visits []*Visited) {
	for _, v := range visits {
		if _, err := tr.Next(); err != nil {
			t.Fatal(err)
		}
		if err := tr.Apply(v); err != nil {
			t.Fatal(err)
		}
	}
	if step, err := tr.Next(); err != nil || step.Kind != DoGate {
		t.Fatal(step, err)
	}
	if err := tr.Apply(&Judged{End: Accepted, Record: "0011223344556677"}); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkTraversal(b *testing.B) {
	g, visits := fiveStages(b), fiveOutputs()
	item := Item{Key: "inputs/items.jsonl:12345", Origin: lit(`{"n":0}`)}
	b.ReportAllocs()
	for b.Loop() {
		walkFive(b, g.Start(item, Doc{}), visits)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(5*b.N), "ns/visit")
}

func BenchmarkAppendTrail(b *testing.B) {
	trail := fiveVisits(b)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendTrail(buf[:0], trail)
	}
	b.ReportMetric(float64(len(buf)), "bytes")
}

func BenchmarkDecodeTrail(b *testing.B) {
	packed := AppendTrail(nil, fiveVisits(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeTrail(packed); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkState(b *testing.B) {
	tr := fiveStages(b).Start(Item{Key: "inputs/items.jsonl:12345", Origin: lit(`{"n":0}`)}, Doc{})
	walkFive(b, tr, fiveOutputs())
	b.ReportAllocs()
	for b.Loop() {
		tr.State()
	}
}

func BenchmarkActionDigest(b *testing.B) {
	recipe, input := Sum([]byte("r")), Sum([]byte("i"))
	for b.Loop() {
		ActionDigest(recipe, input, 0)
	}
}

// BenchmarkProve proves fifty stages in a row with a loop at every fifth.
func BenchmarkProve(b *testing.B) {
	g := newBuild()
	var stages []*Stage
	for i := range 50 {
		stages = append(stages, g.stage("stage_"+itoa(i), "ok", "no"))
	}
	for i, s := range stages {
		way := g.gate()
		if i+1 < len(stages) {
			way = g.to(stages[i+1])
		}
		no := g.stop(Rejected, "no")
		if i%5 == 4 {
			no = g.max(stages[i-3], 2)
		}
		g.on(s, "ok", way, "no", no)
	}
	for b.Loop() {
		if problems := g.Prove(); len(problems) > 0 {
			b.Fatal(problems)
		}
		g.MaxVisitsFrom(g.First)
		g.Visited()
	}
}
