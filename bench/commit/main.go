// Command commit measures what the gate's commit costs beside the least that a
// durable write can cost: appending the same bytes to one file and syncing it. It
// is for people who change the commit; it refuses nothing and promises nothing.
//
//	go run ./bench/commit -dir DIR
//
// All forms take turns in one run, round by round, so that what else the machine
// does falls on each of them. The table goes to standard error, JSON to standard
// output; what is compared are the ratios of one round. DIR is to be on the disk
// that is meant, not in memory.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

func main() {
	dir := flag.String("dir", "", "work in a new folder below `DIR` (default: the system's folder for temporary files)")
	rounds := flag.Int("rounds", 41, "rounds")
	each := flag.Int("n", 50, "commits of a round, for those that come alone")
	callers := flag.Int("callers", 64, "how many wait at once")
	size := flag.Int("bytes", 700, "size of a record, about")
	flag.Parse()
	if err := run(*dir, *rounds, *each, *callers, *size); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// form is a way to make rows durable.
type form struct {
	name  string
	what  string
	round func() (n int, err error) // it gives how many rows it made durable
	micro []float64                 // µs a row, by round
	// single is set for a form that makes one row durable after the other: then each
	// is timed, and the round is their median, which a busy machine moves least.
	single bool
}

func run(dir string, rounds, each, callers, size int) error {
	work, err := os.MkdirTemp(dir, "penstock-commit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	b := &bench{work: work, each: each, callers: callers, size: size}
	if err := b.open(); err != nil {
		return err
	}
	defer b.close()
	forms := []*form{
		{name: "bare", what: "append and fdatasync, one after the other", round: b.bare, single: true},
		{name: "alone", what: "the gate, one candidate at a time", round: b.alone, single: true},
		{name: "bare_at_once", what: fmt.Sprintf("append and fdatasync, %d callers, one sync each", callers), round: b.bareAtOnce},
		{name: "at_once", what: fmt.Sprintf("the gate, %d callers", callers), round: b.atOnce},
	}
	for r := range rounds + 1 { // the first warms up
		for _, f := range forms {
			if err := b.prepare(f.name); err != nil {
				return err
			}
			b.times = b.times[:0]
			begun := time.Now()
			n, err := f.round()
			took := micros(begun) / float64(n)
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			if f.single {
				took = median(b.times)
			}
			if r > 0 {
				f.micro = append(f.micro, took)
			}
		}
	}
	return report(forms, b)
}

func micros(since time.Time) float64 { return float64(time.Since(since).Nanoseconds()) / 1e3 }

type bench struct {
	work                string
	each, callers, size int
	row                 []byte // as many bytes as a candidate adds to the corpus
	file                *os.File
	gate                *gate.Gate
	made                int
	evals               []*gate.Evaluation
	times               []float64 // of single rows
}

func (b *bench) open() error {
	var err error
	if b.file, err = os.Create(filepath.Join(b.work, "bare")); err != nil {
		return err
	}
	b.gate, err = gate.Open(context.Background(), gate.Options{
		Dir: filepath.Join(b.work), Pipeline: "bench", Gate: spec(), RunID: "bench", StartedAt: time.Now(), Log: func(s string) { fmt.Fprintln(os.Stderr, s) },
	})
	if err != nil {
		return err
	}
	// What a candidate adds is known once one is in.
	if err := b.evaluate(1); err != nil {
		return err
	}
	if err := b.commit(b.evals); err != nil {
		return err
	}
	total := int64(0)
	for _, name := range []string{"data/bench.jsonl", "meta/verification.jsonl", "meta/breakers.jsonl"} {
		info, err := os.Stat(filepath.Join(b.work, name))
		if err != nil {
			return err
		}
		total += info.Size()
	}
	b.row = make([]byte, total)
	for i := range b.row {
		b.row[i] = 'x'
	}
	return nil
}

func (b *bench) close() {
	_ = b.gate.Close()
	_ = b.file.Close()
}

// prepare evaluates apart from what is measured.
func (b *bench) prepare(name string) error {
	switch name {
	case "alone":
		return b.evaluate(b.each)
	case "at_once":
		return b.evaluate(b.each * 8)
	}
	return nil
}

func (b *bench) evaluate(n int) error {
	b.evals = b.evals[:0]
	for range n {
		b.made++
		e := b.gate.Evaluate(context.Background(), candidate(b.made, b.size))
		if e.Err() != nil {
			return e.Err()
		}
		b.evals = append(b.evals, e)
	}

	return nil
}

func (b *bench) commit(evals []*gate.Evaluation) error {
	verdicts, err := b.gate.Commit(context.Background(), evals)
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		if v.Err != nil || v.End != dag.Accepted || v.Known {
			return fmt.Errorf("a candidate ended %q: %v", v.End, v.Err)
		}
	}
	return nil
}

func (b *bench) append() error {
	if _, err := b.file.Write(b.row); err != nil {
		return err
	}
	return datasync(b.file)
}

func (b *bench) bare() (int, error) {
	for range b.each {
		begun := time.Now()
		if err := b.append(); err != nil {
			return 0, err
		}
		b.times = append(b.times, micros(begun))
	}
	return b.each, nil
}

func (b *bench) alone() (int, error) {
	for i := range b.evals {
		begun := time.Now()
		if err := b.commit(b.evals[i : i+1]); err != nil {
			return 0, err
		}
		b.times = append(b.times, micros(begun))
	}
	return len(b.evals), nil
}

func (b *bench) bareAtOnce() (int, error) {
	var mu sync.Mutex
	return b.each, b.atOnceEach(b.each, func(int) error {
		mu.Lock()
		defer mu.Unlock()
		return b.append()
	})
}

func (b *bench) atOnce() (int, error) {
	return len(b.evals), b.atOnceEach(len(b.evals), func(i int) error { return b.commit(b.evals[i : i+1]) })
}

// atOnceEach lets the callers share out n calls.
func (b *bench) atOnceEach(n int, call func(i int) error) error {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	errs := make(chan error, b.callers)
	for range b.callers {
		go func() {
			for i := range next {
				if err := call(i); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	var first error
	for range b.callers {
		first = cmp.Or(first, <-errs)
	}
	return first
}

func report(forms []*form, b *bench) error {
	figures := struct {
		Bytes   int                `json:"bytes"` // that a candidate adds to the corpus
		Callers int                `json:"callers"`
		Rounds  int                `json:"rounds"`
		Micros  map[string]float64 `json:"micros"` // median of the rounds, µs a row
		Ratios  map[string]ratio   `json:"ratios"`
	}{len(b.row), b.callers, len(forms[0].micro), map[string]float64{}, map[string]ratio{}}
	fmt.Fprintf(os.Stderr, "%d bytes a candidate, medians of %d rounds in turn\n\n| form | µs each |\n|---|---|\n", len(b.row), len(forms[0].micro))
	for _, f := range forms {
		figures.Micros[f.name] = median(f.micro)
		fmt.Fprintf(os.Stderr, "| %s | %.1f |\n", f.what, median(f.micro))
	}
	figures.Ratios["alone_to_bare"] = ratioOf(forms[1], forms[0])
	figures.Ratios["rate_at_once_to_one_sync_each"] = ratioOf(forms[2], forms[3])
	alone, rate := figures.Ratios["alone_to_bare"], figures.Ratios["rate_at_once_to_one_sync_each"]
	fmt.Fprintf(os.Stderr, "\n| ratio | median | lowest | highest | goal |\n|---|---|---|---|---|\n")
	fmt.Fprintf(os.Stderr, "| one candidate alone to a bare append and sync | %.2f | %.2f | %.2f | at most 1.3 |\n", alone.Median, alone.Low, alone.High)
	fmt.Fprintf(os.Stderr, "| rate of %d waiting to one sync each | %.1f | %.1f | %.1f | at least 10 |\n", b.callers, rate.Median, rate.Low, rate.High)
	return json.MarshalWrite(os.Stdout, figures, jsontext.WithIndent("  "), json.Deterministic(true))
}

type ratio struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func ratioOf(a, b *form) ratio {
	var all []float64
	for i := range a.micro {
		all = append(all, a.micro[i]/b.micro[i])
	}
	return ratio{median(all), slices.Min(all), slices.Max(all)}
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
