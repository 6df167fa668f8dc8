package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// A second run does nothing, and says so.
func TestOneStage(t *testing.T) {
	w := newWorkspace(t, one, numbered(20, ""), keep)
	s := w.run()
	if s.Kind != 0 || s.Tally.Ends[dag.Accepted] != 20 || s.Tally.Visits != 20 || w.made("work") != 20 {
		t.Fatalf("%+v", s)
	}
	w.forget()
	s = w.run()
	if s.Tally.Settled != 20 || s.Tally.Visits != 0 || s.Tally.Reused != 0 || w.made("") != 0 {
		t.Fatalf("%+v", s)
	}
}

// Each bound is kept, and made use of: a play that answers nobody before so
// many are there would wait for ever otherwise.
func TestBounds(t *testing.T) {
	bounded := strings.Replace(chain("first", "second"), `config { note = "second" }`, "config { note = \"second\" }\n  concurrency = 2", 1)
	for _, test := range []struct {
		name, pipeline, stage string
		jobs, most            int
	}{
		{"jobs over all stages", chain("first", "second"), "", 3, 3},
		{"one job", chain("first", "second"), "", 1, 1},
		{"concurrency of a stage", bounded, "second", 16, 2},
		{"concurrency of a provider", asking("limits { concurrency = 2 }", ""), "provider.judge", 16, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w *workspace
			w = newWorkspace(t, test.pipeline, numbered(24, ""), func(c *call) answer {
				if test.stage == "" || c.Stage == test.stage {
					w.wait(func() bool { return w.peak[test.stage] >= test.most })
				}
				if c.Stage == "provider.judge" {
					return answer{Output: jsonOf("yes")}
				}
				if test.stage == "provider.judge" {
					return answer{Ask: c.Key}
				}
				return answer{}
			})
			s := w.run(jobs(test.jobs))
			if s.Tally.Ends[dag.Accepted] != 24 {
				t.Fatalf("%+v %v", s, w.last.warned)
			}
			if got := w.most(test.stage); got != test.most {
				t.Errorf("%d at a time, want %d", got, test.most)
			}
		})
	}
}

// holding follows items beyond the hold point: from the first visit of the
// stage that holds to the last visit of the item.
type holding struct {
	mu      sync.Mutex
	open    map[string]map[string]bool // bucket → items
	buckets int                        // most at a time
	items   int                        // most in one bucket
}

func (h *holding) enter(bucket, item string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open == nil {
		h.open = map[string]map[string]bool{}
	}
	if h.open[bucket] == nil {
		h.open[bucket] = map[string]bool{}
	}
	h.open[bucket][item] = true
	h.buckets, h.items = max(h.buckets, len(h.open)), max(h.items, len(h.open[bucket]))
}

func (h *holding) leave(bucket, item string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open[bucket], item)
	if len(h.open[bucket]) == 0 {
		delete(h.open, bucket)
	}
}

// Nine buckets wait, four are at work, one item in each.
func TestHold(t *testing.T) {
	pipeline := strings.Replace(chain("free", "held", "last"), `candidate = { card = item }`,
		"candidate = { card = item }\n  bucket = origin.bucket\n  hold = stage.held\n  concurrency = 4", 1)
	items := make([]string, 45)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"i%02d","bucket":"b%d"}`, i, i%9)
	}
	var h holding
	var w *workspace
	w = newWorkspace(t, pipeline, items, func(c *call) answer {
		bucket := fmt.Sprint(member(c.Input, "bucket"))
		switch c.Stage {
		case "free": // what stands before the hold point runs as it comes
			w.wait(func() bool { return w.peak["free"] >= 20 })
		case "held":
			h.enter(bucket, c.Key)
			w.wait(func() bool { return w.peak["held"] >= 4 })
		case "last":
			h.leave(bucket, c.Key)
		}
		return answer{}
	})
	s := w.run(jobs(20))
	if s.Tally.Ends[dag.Accepted] != 45 {
		t.Fatalf("%+v", s)
	}
	if h.buckets != 4 || h.items != 1 {
		t.Errorf("%d buckets at a time, %d items in one; want 4 and 1", h.buckets, h.items)
	}
	if got := w.most("held"); got != 4 {
		t.Errorf("%d visits beyond the hold point at a time, want 4", got)
	}
}

// The corpus has the order of the sources, then that of the fan-out, however
// long each visit takes.
func TestCorpusOrder(t *testing.T) {
	for _, gate := range []string{"", "concurrency = 2", "hold = stage.miner", "hold = stage.miner\n  concurrency = 2", "hold = stage.writer\n  concurrency = 1"} {
		t.Run(gate, func(t *testing.T) {
			w := newWorkspace(t, strings.Replace(cards, "$GATE", gate, 1), topics(24, 5, 3), func(c *call) answer {
				time.Sleep(rand.N(4 * time.Millisecond)) // the plugin is slow, now more, now less
				return playCards(c)
			})
			s := w.run(jobs(16))
			if s.Kind != 0 || s.Tally.Ends[dag.Expanded] != 24 || s.Tally.Spawned != 72 {
				t.Fatalf("%+v", s)
			}
			accepted := 0
			for b := range 5 {
				got := texts(w.rows(fmt.Sprintf("data/b%d.jsonl", b)), "id")
				accepted += len(got)
				if diff := cmp.Diff(cardOrder(got), got); diff != "" {
					t.Errorf("bucket b%d (-want +got):\n%s", b, diff)
				}
			}
			if accepted != s.Tally.Ends[dag.Accepted] || accepted == 0 {
				t.Errorf("%d records, the run says %v", accepted, s.Tally.Ends)
			}
			// Rejection rows are in the order of a bucket, too.
			last := map[string]string{}
			for _, row := range w.rows("meta/rejections.jsonl") {
				bucket, item := fmt.Sprint(member(row, "bucket")), fmt.Sprint(member(row, "item"))
				if item < last[bucket] {
					t.Errorf("bucket %s: %s was recorded after %s", bucket, item, last[bucket])
				}
				last[bucket] = item
			}
			w.forget()
			if s := w.run(); s.Tally.Settled != 96 || w.made("") != 0 {
				t.Errorf("a second run is not idle: %+v", s)
			}
		})
	}
}
