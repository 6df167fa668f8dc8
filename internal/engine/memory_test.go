package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// The memory of a run does not grow with its items but by half a kilobyte each,
// and a second run, which does nothing, needs no more.
func TestR39R40R50Memory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own memory is many times the program's")
	}
	n := 100_000
	if testing.Short() {
		n = 20_000
	}
	w := newWorkspace(t, one, numbered(n, ""), keep)
	removeAll(t, w, "director") // the plugin answers by itself
	for _, name := range []string{"first run", "second run"} {
		end := w.start(flags{}).result()
		if end.Exit != 0 || end.Tally.Ends[dag.Accepted] != n {
			t.Fatalf("the %s: %+v", name, end)
		}
		t.Logf("the %s: %d KB", name, end.PeakKB)
		if bound := 80<<10 + n/2; end.PeakKB == 0 || end.PeakKB > bound {
			t.Errorf("the %s of %d items had %d KB resident at its most, want at most %d", name, n, end.PeakKB, bound)
		}
	}
}

// A run leaves no goroutine and no file open behind it, whatever its end.
func TestNothingLeft(t *testing.T) {
	cancelled := make(chan struct{})
	close(cancelled)
	for _, test := range []struct {
		name   string
		play   func(*call) answer
		change func(*Options)
	}{
		{"done", playCards, func(*Options) {}},
		{"a crash", func(c *call) answer { return answer{Crash: c.Key == "t001"} }, func(*Options) {}},
		{"infrastructure", func(*call) answer { return answer{Infra: true, Code: "E_PLUGIN", Message: "no"} }, func(*Options) {}},
		{"interrupted", playCards, func(o *Options) { o.Interrupt = cancelled }},
		{"dry", playCards, func(o *Options) { o.Dry = true }},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorkspace(t, strings.Replace(cards, "$GATE", "", 1), topics(10, 3, 2), playCards)
			w.run() // what is made once for the whole process is made now
			files, goroutines := openFiles(t), goroutinesOfOurs()
			for i := range 3 {
				w.write("items.jsonl", strings.ReplaceAll(strings.Join(topics(10, 3, 2), "\n"), "t0", fmt.Sprintf("t%d", i+1))+"\n")
				w.direct(test.play)
				if _, err := w.attempt(test.change); err != nil {
					t.Fatal(err)
				}
				if _, err := Plan(t.Context(), w.options(nil)); err != nil {
					t.Fatal(err)
				}
			}
			if !eventually(func() bool { return openFiles(t) <= files }) {
				t.Errorf("%d files are open, %d were before", openFiles(t), files)
			}
			if !eventually(func() bool { return goroutinesOfOurs() <= goroutines }) {
				t.Errorf("goroutines are left:\n%s", stacks())
			}
		})
	}
}

// openFiles counts descriptors, but for those of the director's connections.
func openFiles(t *testing.T) int {
	t.Helper()
	names, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || runtime.GOOS != "linux" {
		return 0
	}
	n := 0
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil && !strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// goroutinesOfOurs counts those that run code of ours or of a plugin's
// connection; the director's end with their connections.
func goroutinesOfOurs() int {
	n := 0
	for _, stack := range strings.Split(stacks(), "\n\n") {
		if strings.Contains(stack, "penstock-run") && !strings.Contains(stack, "director") && !strings.Contains(stack, "testing.tRunner") ||
			strings.Contains(stack, "google.golang.org/grpc") || strings.Contains(stack, "go-plugin") {
			n++
		}
	}
	return n
}

func stacks() string {
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 2)
	return b.String()
}
