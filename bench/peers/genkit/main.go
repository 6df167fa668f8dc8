// Command genkit-peer runs the benchmark's loop on Genkit for Go: route by
// category, verify, repair once, verify again, accept.
//
// bench/run starts it beside Penstock on the same documents. Every step is a
// genkit.Run, Genkit's way to make a step visible; branches and the loop are
// plain Go, as its documentation shows. It stores nothing, so nothing of it can
// be resumed; it prints how many items were repaired and accepted.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/firebase/genkit/go/genkit"
)

// document is an item. It is decoded once, goes through the steps as a value,
// and is encoded once.
type document struct {
	ID       string  `json:"id"`
	Category string  `json:"category"`
	Quality  float64 `json:"quality"`
	Text     string  `json:"text"`
	Routed   string  `json:"routed"`
	OK       bool    `json:"ok"`
	Repaired bool    `json:"repaired"`
	Accepted bool    `json:"accepted"`
}

type step func(context.Context, string, document, func(document) document) (document, error)

// loop is the workload, whoever runs its steps.
func loop(ctx context.Context, run step, d document) (document, error) {
	verify := func(d document) document { d.OK = d.Quality >= 0.5; return d }
	category := d.Category
	d, err := run(ctx, "route_"+category, d, func(d document) document { d.Routed = category; return d })
	if err != nil {
		return d, err
	}
	if d, err = run(ctx, "verify", d, verify); err != nil {
		return d, err
	}
	if !d.OK {
		if d, err = run(ctx, "repair", d, func(d document) document { d.Quality += 0.3; d.Repaired = true; return d }); err != nil {
			return d, err
		}
		if d, err = run(ctx, "verify", d, verify); err != nil {
			return d, err
		}
	}
	return run(ctx, "accept", d, func(d document) document { d.Accepted = d.OK; return d })
}

func bare() func(context.Context, document) (document, error) {
	run := func(_ context.Context, _ string, d document, f func(document) document) (document, error) {
		return f(d), nil
	}
	return func(ctx context.Context, d document) (document, error) { return loop(ctx, run, d) }
}

func flow(ctx context.Context) func(context.Context, document) (document, error) {
	run := func(ctx context.Context, name string, d document, f func(document) document) (document, error) {
		return genkit.Run(ctx, name, func() (document, error) { return f(d), nil })
	}
	defined := genkit.DefineFlow(genkit.Init(ctx), "candidate", func(ctx context.Context, d document) (document, error) {
		return loop(ctx, run, d)
	})
	return defined.Run
}

func main() {
	plain := flag.Bool("bare", false, "a plain loop, without Genkit")
	flag.Parse()
	ctx := context.Background()
	run := bare()
	if !*plain {
		run = flow(ctx)
	}
	f, err := os.Open(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	repaired, accepted, err := all(ctx, bufio.NewReaderSize(f, 1<<16), run)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d repaired, %d accepted\n", repaired, accepted)
}

// all gives the lines to two workers.
func all(ctx context.Context, in *bufio.Reader, run func(context.Context, document) (document, error)) (repaired, accepted int, err error) {
	lines := make(chan []byte, 256)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for line := range lines {
				var d document
				e := json.Unmarshal(line, &d)
				if e == nil {
					d, e = run(ctx, d)
				}
				if e == nil {
					_, e = json.Marshal(d)
				}
				mu.Lock()
				if e != nil {
					err = e
				}
				if d.Repaired {
					repaired++
				}
				if d.Accepted {
					accepted++
				}
				mu.Unlock()
			}
		})
	}
	for {
		line, e := in.ReadBytes('\n')
		if len(line) > 0 {
			lines <- line
		}
		if e != nil {
			break
		}
	}
	close(lines)
	workers.Wait()
	return repaired, accepted, err
}
