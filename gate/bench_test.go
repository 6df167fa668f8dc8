package gate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// One candidate alone against a bare append with a sync, and 64 that wait.
func BenchmarkCommit(b *testing.B) {
	line := make([]byte, 1024)
	b.Run("bare append and sync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "f"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		for b.Loop() {
			if _, err := f.Write(line); err != nil {
				b.Fatal(err)
			}
			if err := datasync(f); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("%d callers", callers), func(b *testing.B) {
			g := benchGate(b, plain(uniqueQuestion()))
			ctx := context.Background()
			evals := make(chan *Evaluation, b.N)
			for i := range b.N {
				c := question(fmt.Sprint(i), fmt.Sprintf("Question %d?", i))
				evals <- g.Evaluate(ctx, c)
			}
			close(evals)
			b.ResetTimer()
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for e := range evals {
						if v, err := g.Commit(ctx, []*Evaluation{e}); err != nil || v[0].End != dag.Accepted {
							b.Errorf("%+v %v", v, err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
	b.Run("batches of 512", func(b *testing.B) {
		g := benchGate(b, plain(uniqueQuestion()))
		ctx := context.Background()
		var evals []*Evaluation
		for i := 0; b.Loop(); i++ {
			evals = append(evals, g.Evaluate(ctx, question(fmt.Sprint(i), fmt.Sprintf("Question %d?", i))))
			if len(evals) == 512 {
				if _, err := g.Commit(ctx, evals); err != nil {
					b.Fatal(err)
				}
				evals = evals[:0]
			}
		}
	})
}

func benchGate(b *testing.B, spec *dag.Gate) *Gate {
	b.Helper()
	o := options(b, b.TempDir(), spec)
	o.Log = func(string) {}
	g, err := Open(context.Background(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = g.Close() })
	return g
}

// BenchmarkEvaluate is the CPU of all static checks on one card.
func BenchmarkEvaluate(b *testing.B) {
	g := benchGate(b, triviaGate(b))
	c := goodCard().candidate(b)
	ctx := context.Background()
	for b.Loop() {
		if e := g.Evaluate(ctx, c); e.Err() != nil || e.j.record == nil {
			b.Fatal(e.Err())
		}
	}
}
