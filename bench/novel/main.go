// Command novel measures the index of near-duplicates that the gate's check
// "novel" asks: a million questions, exact, beside a full scan and beside
// MinHash-LSH, in one run.
//
// bench/run calls it. It prints JSON on standard output, and a table for people on
// standard error. It fails where an answer differs from that of the full scan.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/penstock-run/penstock/internal/similar"
)

// The threshold of the trivia pipeline, 0.85.
const num, den = 17, 20

// figures is what is measured of one vocabulary.
type figures struct {
	Vocabulary int     `json:"vocabulary"`
	Zipf       float64 `json:"zipf"`
	Records    int     `json:"records"`
	Queries    int     `json:"queries"`
	Matches    int     `json:"matches"` // queries that have a near-duplicate

	BuildSeconds     float64 `json:"build_s"`
	BytesPerRecord   float64 `json:"index_bytes_per_record"` // heap, the word ids apart
	WordIDsPerRecord float64 `json:"word_id_bytes_per_record"`
	P50Micros        float64 `json:"p50_us"`
	P99Micros        float64 `json:"p99_us"`
	MaxMicros        float64 `json:"max_us"`
	CPUMicros        float64 `json:"cpu_us"` // mean, whatever else the machine does

	SnapshotBytes        int64   `json:"snapshot_bytes"`
	SnapshotWriteSeconds float64 `json:"snapshot_write_s"`
	SnapshotReadySeconds float64 `json:"snapshot_ready_s"`

	ScanQueries   int     `json:"scan_queries"`
	ScanP50Micros float64 `json:"scan_p50_us"`
	ScanRatio     float64 `json:"scan_ratio"` // of the medians
	Wrong         int     `json:"wrong"`      // answers that differ from the scan's

	LSH lshFigures `json:"lsh"`
}

func main() {
	records := flag.Int("records", 1_000_000, "questions in the index")
	queries := flag.Int("queries", 20_000, "questions that are asked about")
	scans := flag.Int("scans", 60, "of those, asked of the full scan as well")
	seed := flag.Uint64("seed", 42, "of the questions")
	lsh := flag.Bool("lsh", true, "measure MinHash-LSH, too")
	flag.Parse()
	var all []figures
	for _, v := range []struct {
		words int
		zipf  float64
	}{{200_000, 1.07}, {20_000, 1.07}} {
		f, err := measure(makeWork(*records, *queries, v.words, v.zipf, *seed), *scans, *lsh)
		if err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		all = append(all, f)
	}
	out, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		panic(err) // plain numbers; a NaN is one of ours
	}
	fmt.Println(string(out))
	table(os.Stderr, all)
	for _, f := range all {
		if f.Wrong > 0 {
			os.Exit(1)
		}
	}
}

func measure(w *work, scans int, lsh bool) (figures, error) {
	f := figures{Vocabulary: len(w.vocabulary), Zipf: w.zipf, Records: len(w.records), Queries: len(w.queries)}
	before := heap()
	begun := time.Now()
	x, err := similar.New(num, den)
	if err != nil {
		return f, err
	}
	var words []string
	for i, set := range w.records {
		words = w.words(words[:0], set)
		if err := x.Add(w.scope(i), words, uint64(i)); err != nil {
			return f, err
		}
	}
	f.BuildSeconds = time.Since(begun).Seconds()
	n := float64(len(w.records))
	f.WordIDsPerRecord = 4 * float64(w.total) / n
	f.BytesPerRecord = float64(heap()-before)/n - f.WordIDsPerRecord

	answers := f.ask(w, x)
	if x, err = f.snapshot(x); err != nil {
		return f, err
	}
	for i, q := range w.queries {
		words = w.words(words[:0], q)
		if ask(x, w.scope(i), words) != answers[i] {
			f.Wrong++
		}
	}
	f.scan(w, answers, scans)
	if lsh {
		f.LSH = measureLSH(w, answers)
	}
	runtime.KeepAlive(x)
	return f, nil
}

// answer is the nearest record; ref is -1 where none reaches the threshold.
type answer struct{ ref, inter, union int }

func ask(x *similar.Index, scope string, words []string) answer {
	ref, inter, union, found := x.Nearest(scope, words)
	if !found {
		return answer{ref: -1}
	}
	return answer{int(ref), inter, union}
}

// ask times every query on its own.
func (f *figures) ask(w *work, x *similar.Index) []answer {
	answers := make([]answer, len(w.queries))
	times := make([]float64, len(w.queries))
	var words []string
	used := cpu()
	for i, q := range w.queries {
		words = w.words(words[:0], q)
		begun := time.Now()
		answers[i] = ask(x, w.scope(i), words)
		times[i] = micros(begun)
		if answers[i].ref >= 0 {
			f.Matches++
		}
	}
	f.CPUMicros = (cpu() - used) * 1e6 / float64(len(w.queries))
	f.P50Micros, f.P99Micros, f.MaxMicros = quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1)
	return answers
}

// snapshot writes the index to a file, and gives what is read back from it.
func (f *figures) snapshot(x *similar.Index) (*similar.Index, error) {
	dir, err := os.MkdirTemp("", "penstock-novel-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "index")
	begun := time.Now()
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	f.SnapshotBytes, err = x.WriteTo(file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	f.SnapshotWriteSeconds = time.Since(begun).Seconds()
	runtime.GC()
	begun = time.Now()
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	back, _, err := similar.Read(b)
	f.SnapshotReadySeconds = time.Since(begun).Seconds()
	return back, err
}

// scan compares some queries with all records, word by word.
func (f *figures) scan(w *work, answers []answer, scans int) {
	step := max(1, len(w.queries)/max(1, scans))
	var times []float64
	for i := 0; i < len(w.queries); i += step {
		begun := time.Now()
		got := w.nearest(i)
		times = append(times, micros(begun))
		if got != answers[i] {
			f.Wrong++
		}
	}
	f.ScanQueries, f.ScanP50Micros = len(times), quantile(times, 0.5)
	f.ScanRatio = f.ScanP50Micros / f.P50Micros
}

func micros(begun time.Time) float64 { return float64(time.Since(begun).Nanoseconds()) / 1e3 }

// quantile sorts times.
func quantile(times []float64, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)-1, int(math.Ceil(q*float64(len(times))))-1)]
}

// cpu is the user time of this process in seconds.
func cpu() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return math.NaN()
	}
	return time.Duration(used.Utime.Nano()).Seconds()
}

// heap is what is alive.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func table(out io.Writer, all []figures) {
	fmt.Fprintln(out, "| vocabulary | method | build | bytes a record | p50 | p99 | ready from a snapshot | found |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|")
	for _, f := range all {
		name := fmt.Sprintf("%d words, Zipf %.2f", f.Vocabulary, f.Zipf)
		fmt.Fprintf(out, "| %s | exact index | %.1f s | %.0f + %.0f of word ids | %.1f µs, CPU %.1f µs at the mean | %.1f µs | %.2f s (%d MB) | %d of %d, %d wrong |\n",
			name, f.BuildSeconds, f.BytesPerRecord, f.WordIDsPerRecord, f.P50Micros, f.CPUMicros, f.P99Micros, f.SnapshotReadySeconds, f.SnapshotBytes>>20, f.Matches, f.Matches, f.Wrong)
		fmt.Fprintf(out, "| %s | full scan (%d queries) | – | %.0f of word ids | %.0f µs, %.0f × | – | – | all |\n",
			name, f.ScanQueries, f.WordIDsPerRecord, f.ScanP50Micros, f.ScanRatio)
		if l := f.LSH; l.Bands > 0 {
			fmt.Fprintf(out, "| %s | MinHash-LSH %d × %d, verified | %.1f s | %.0f + %.0f of word ids | %.1f µs | %.1f µs | – | %d of %d (%.1f %%); at 0.85 itself %d of %d |\n",
				name, l.Bands, l.Rows, l.BuildSeconds, l.BytesPerRecord, f.WordIDsPerRecord, l.P50Micros, l.P99Micros, l.Found, f.Matches, 100*l.Recall, l.FoundAtThreshold, l.AtThreshold)
		}
	}
}
