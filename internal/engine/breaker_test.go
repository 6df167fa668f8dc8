package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// broken is a pipeline whose gate has a breaker, with the holding stage named.
func broken(hold string, consecutive int) string {
	return strings.Replace(chain("free", "held", "last"), `candidate = { card = item }`, fmt.Sprintf(
		"candidate = { card = item }\n  bucket = origin.bucket\n  %s\n  breaker {\n    consecutive = %d\n    counts = [\"failed\", \"rejected\"]\n  }", hold, consecutive), 1)
}

// bucketed are n items for each bucket, in turns.
func bucketed(n int, buckets ...string) []string {
	var items []string
	for i := range n {
		for _, b := range buckets {
			items = append(items, fmt.Sprintf(`{"id":"%s%03d","bucket":%q,"n":%d}`, b, i, b, i))
		}
	}
	return items
}

// Twenty bad ends in a row open a bucket's breaker: what is left of it is not
// started, other buckets go on, and it stays so in the next run.
func TestBreaker(t *testing.T) {
	for _, hold := range []string{"hold = stage.held", "hold = stage.free\n  concurrency = 1"} {
		t.Run(hold, func(t *testing.T) {
			w := newWorkspace(t, broken(hold, 20), bucketed(40, "bad", "good"), func(c *call) answer {
				if n, _ := member(c.Input, "n").(float64); c.Stage == "last" && n >= 5 && member(c.Input, "bucket") == "bad" {
					return answer{Code: "E_REFUSED", Message: "no more"}
				}
				return answer{}
			})
			s := w.run(jobs(8))
			want := map[dag.End]int{dag.Accepted: 45, dag.Failed: 20, dag.NotStarted: 15}
			if diff := cmp.Diff(want, s.Tally.Ends); diff != "" {
				t.Errorf("ends (-want +got):\n%s", diff)
			}
			if s.Kind != dag.KindStopped || len(s.Tripped) != 1 || s.Tripped[0] != "bad" {
				t.Errorf("the run ended with kind %d, open breakers %q", s.Kind, s.Tripped)
			}
			held := map[string]int{}
			for _, c := range w.all() {
				if c.Stage == "held" {
					held[fmt.Sprint(member(c.Input, "bucket"))]++
				}
			}
			if diff := cmp.Diff(map[string]int{"bad": 25, "good": 40}, held); diff != "" {
				t.Errorf("visits beyond the hold point (-want +got):\n%s", diff)
			}
			w.forget()
			s = w.run()
			if diff := cmp.Diff(want, s.Tally.Ends); diff != "" || s.Kind != dag.KindStopped || w.made("") != 0 {
				t.Errorf("the next run made %d visits and ended with kind %d (-want +got):\n%s", w.made(""), s.Kind, diff)
			}
		})
	}
}

// Without a hold point, what runs when the breaker opens finishes; no other item
// of the bucket starts.
func TestBreakerWithoutHold(t *testing.T) {
	const all, at = 300, 4
	w := newWorkspace(t, broken("", 20), bucketed(all, "b"), func(c *call) answer {
		if c.Stage == "free" {
			return answer{Code: "E_REFUSED", Message: "no"}
		}
		return answer{}
	})
	s := w.run(jobs(at))
	failed, not := s.Tally.Ends[dag.Failed], s.Tally.Ends[dag.NotStarted]
	if failed < 20 || not == 0 || failed+not != s.Tally.TakenIn || w.made("") != failed || s.Kind != dag.KindStopped {
		t.Errorf("%d visits, %+v", w.made(""), s.Tally)
	}
	w.forget()
	again := w.run(jobs(at))
	if w.made("") != 0 || again.Tally.Ends[dag.Failed] != failed || again.Tally.Ends[dag.NotStarted] != all-failed || again.Kind != dag.KindStopped {
		t.Errorf("the next run made %d visits: %+v", w.made(""), again.Tally)
	}
}

// Infrastructure errors neither count nor reset, an accept resets.
func TestBreakerCounts(t *testing.T) {
	bad := func(n int) bool { return n%5 != 4 } // four bad ends, then another
	for _, test := range []struct {
		name  string
		fifth answer
		want  map[dag.End]int
		trips bool
	}{
		{"an accept between", answer{}, map[dag.End]int{dag.Accepted: 6, dag.Failed: 24}, false},
		{"infrastructure between", answer{Infra: true, Code: "E_PLUGIN", Message: "no"}, map[dag.End]int{dag.Parked: 1, dag.Failed: 6, dag.NotStarted: 23}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorkspace(t, broken("hold = stage.held", 6), bucketed(30, "b"), func(c *call) answer {
				if c.Stage != "last" {
					return answer{}
				}
				if n, _ := member(c.Input, "n").(float64); bad(int(n)) {
					return answer{Code: "E_REFUSED", Message: "no"}
				}
				return test.fifth
			})
			s := w.run(func(o *Options) { o.KeepGoing = true })
			if diff := cmp.Diff(test.want, s.Tally.Ends); diff != "" {
				t.Errorf("ends (-want +got):\n%s", diff)
			}
			if (len(s.Tripped) == 1) != test.trips {
				t.Errorf("open breakers: %q", s.Tripped)
			}
		})
	}
}

// An item that comes to the hold point after its bucket's breaker has opened is
// not started either, and one without a bucket counts in none.
func TestBreakerLate(t *testing.T) {
	var w *workspace
	w = newWorkspace(t, broken("hold = stage.held", 3), append(bucketed(6, "b"), `{"id":"zz`, `{"id":"yy"`, `{"id":"xx"`), func(c *call) answer {
		n, _ := member(c.Input, "n").(float64)
		switch {
		case c.Stage == "free" && n == 5: // until the third has failed
			w.wait(func() bool { return w.count("last") >= 3 })
			if !eventually(func() bool { return len(w.rows("meta/rejections.jsonl")) >= 6 }) {
				w.t.Error("the third end was not recorded")
			}
		case c.Stage == "last":
			return answer{Code: "E_REFUSED", Message: "no"}
		}
		return answer{}
	})
	s := w.run()
	if diff := cmp.Diff(map[dag.End]int{dag.Failed: 6, dag.NotStarted: 3}, s.Tally.Ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	if n := w.made("held"); n != 3 {
		t.Errorf("%d visits beyond the hold point, want 3", n)
	}
	if diff := cmp.Diff([]string{"b"}, s.Tripped); diff != "" {
		t.Errorf("open breakers (-want +got):\n%s", diff)
	}
}
