package gate

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/dag"
)

// BenchmarkAudit looks at a corpus of 100,000 records in 36 files, and says how much
// memory it keeps for each record. `-bench Audit -audit.records 1000000` is for more.
func BenchmarkAudit(b *testing.B) {
	n := *auditRecords
	dir, spec := memoryDir(b), plain()
	written := writeCorpus(b, dir, n)
	var before, after runtime.MemStats
	for _, edit := range []string{"as it was written", "with an edited record"} {
		b.Run(edit, func(b *testing.B) {
			if edit != "as it was written" {
				c := &corpus{t: b, dir: dir}
				c.edit("data/0.jsonl", replaceIn("number 0?", "number zero?"))
			}
			b.SetBytes(written)
			started := usedCPU()
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				a, err := runAudit(context.Background(), Options{Dir: dir, Gate: spec})
				if err != nil {
					b.Fatal(err)
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				if a.report.Records != n {
					b.Fatalf("%s", said(a.report))
				}
				runtime.KeepAlive(a)
			}
			b.ReportMetric(float64((usedCPU()-started).Nanoseconds())/float64(b.N)/float64(n), "CPU-ns/record")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B-kept/record")
		})
	}
}

// usedCPU is what this process has had of the processors: others may be at work.
func usedCPU() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// writeCorpus writes what a gate would have written.
func writeCorpus(t testing.TB, dir string, n int) (size int64) {
	t.Helper()
	files := map[string]*bufio.Writer{}
	to := func(name string) *bufio.Writer {
		if w := files[name]; w != nil {
			return w
		}
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(full)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = bufio.NewWriter(f)
		return files[name]
	}
	var last dag.Digest
	for i := range n {
		data := fmt.Sprintf("data/%d.jsonl", i%36)
		record := fmt.Sprintf(`{"a":"the answer %d","id":"r%d","q":"Which question has the number %d?","w":["one of them","another of them","a third"],"x":"It is explained in a few words."}`, i, i, i)
		row := evidenceRow{
			AcceptKey: keyOf(fmt.Sprint(i)).String(), AcceptedAt: "2026-01-15T10:15:00.000Z", Bucket: "b", Data: data, Digest: dag.Sum([]byte(record)).String(),
			ID: fmt.Sprintf("r%d", i), Item: fmt.Sprint(i), Keys: []string{keyOf(fmt.Sprint("q", i)).String()}, Previous: last.String(), Sequence: uint64(i + 1),
		}
		line, err := evidenceLine(&row, []byte(`{"claim":"It is so.","sources":[{"at":"2026-01-15T10:15:00Z","status":200,"url":"https://one.example/a/page"},{"at":"2026-01-15T10:15:00Z","status":200,"url":"https://another.example/a/page"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		last = dag.Sum(line[:len(line)-1])
		_, _ = to(data).WriteString(record + "\n")
		_, _ = to(evidenceFile).Write(line)
		size += int64(len(record) + 1 + len(line))
	}
	for _, w := range files {
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return size
}
