package engine

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// visitID is a visit as far as staging tells visits apart in one pipeline.
type visitID struct {
	Stage string
	Input dag.Digest
}

func (c *call) id() visitID { return visitID{c.Stage, dag.Sum(c.Input)} }

// kept adds the visits of these calls whose results are in the store.
func (w *workspace) kept(known map[visitID]bool, calls []call) {
	w.t.Helper()
	o := w.options(nil)
	e, err := open(w.t.Context(), o, newPlanned(o.Graph, looking{}))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range calls {
		stage := o.Graph.Stage(calls[i].Stage)
		id := calls[i].id()
		_, ok, err := e.store.Action(dag.ActionDigest(e.recipes[stage.Index].digest, id.Input, calls[i].Sample))
		if err != nil {
			w.t.Fatal(err)
		}
		if ok {
			known[id] = true
		}
	}
	if err := e.close(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// reference is what a pipeline comes to that nothing disturbs.
type reference struct {
	ends  map[string]dag.End
	files map[string]string // of the corpus: its records
	tally map[dag.End]int
	calls int
}

func refer(t *testing.T, pipeline string, items []string, buckets int) reference {
	t.Helper()
	w := newWorkspace(t, pipeline, items, playCards)
	s := w.run()
	r := reference{ends: w.ends(), files: w.data(buckets), tally: s.Tally.Ends, calls: w.made("")}
	if s.Kind != 0 || r.tally[dag.Accepted] == 0 || r.tally[dag.Rejected] == 0 || r.tally[dag.Failed] == 0 {
		t.Fatalf("the reference run is no reference: %+v", s)
	}
	return r
}

// data are the data files of the corpus.
func (w *workspace) data(buckets int) map[string]string {
	files := map[string]string{}
	for b := range buckets {
		name := fmt.Sprintf("data/b%d.jsonl", b)
		for _, row := range w.rows(name) {
			files[name] += string(row) + "\n"
		}
	}
	return files
}

// Killed at any moment and run again until done, a run comes to what an
// undisturbed one comes to: each record once with its evidence, and no visit
// made twice whose result was kept.
func TestKilled(t *testing.T) {
	kills, n := 26, 60
	if testing.Short() {
		kills, n = 5, 14
	}
	for name, hold := range map[string]string{"holding": "hold = stage.miner\n  concurrency = 5", "free": ""} {
		t.Run(name, func(t *testing.T) {
			pipeline, items := strings.Replace(cards, "$GATE", hold, 1), topics(n, 6, 3)
			want := refer(t, pipeline, items, 6)
			w := newWorkspace(t, pipeline, items, playCards)
			known := map[visitID]bool{}
			step := max(2, 2*want.calls/kills)
			for made := 0; made < kills; made++ {
				w.forget()
				p := w.start(flags{Jobs: 12})
				at := 1 + rand.IntN(step)
				w.wait(func() bool { // it may be done before
					select {
					case <-p.done:
						return true
					default:
						return w.done >= at
					}
				})
				time.Sleep(rand.N(4 * time.Millisecond)) // into a flush, or a commit
				p.kill()
				calls := w.all()
				again := w.repeated(known, calls)
				w.kept(known, calls)
				if again > 0 {
					t.Fatalf("after kill %d: %d visits were made anew although their results were kept", made, again)
				}
			}
			w.forget()
			end := w.start(flags{}).result()
			if end.Exit != 0 {
				t.Fatalf("the last run: %+v", end)
			}
			if again := w.repeated(known, w.all()); again > 0 {
				t.Errorf("the last run made %d visits anew although their results were kept", again)
			}
			w.sound()
			w.same(want, 6)
			if diff := cmp.Diff(want.tally, end.Tally.Ends); diff != "" {
				t.Errorf("the last run's tally (-want +got):\n%s", diff)
			}
			w.forget()
			if s := w.run(); w.made("") != 0 || s.Tally.Settled != s.Tally.TakenIn+s.Tally.Spawned {
				t.Errorf("a run after all is done made %d visits: %+v", w.made(""), s)
			}
			// The next run that starts a plugin, of whatever pipeline, sweeps up the
			// folder of one that was killed; the last kill may have left nothing to start.
			newWorkspace(t, pipeline, topics(1, 6, 3), playCards).run()
		})
	}
}

func (w *workspace) repeated(known map[visitID]bool, calls []call) int {
	n := 0
	for i := range calls {
		if known[calls[i].id()] {
			n++
		}
	}
	return n
}

// same compares ends and records with those of an undisturbed run.
func (w *workspace) same(want reference, buckets int) {
	w.t.Helper()
	if diff := cmp.Diff(want.ends, w.ends()); diff != "" {
		w.t.Errorf("ends (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.files, w.data(buckets)); diff != "" {
		w.t.Errorf("records (-want +got):\n%s", diff)
	}
}

// Several runs at once do together what one does alone, each visit once.
func TestRunsAtOnce(t *testing.T) {
	n := 40
	if testing.Short() {
		n = 12
	}
	pipeline, items := strings.Replace(cards, "$GATE", "", 1), topics(n, 6, 3)
	want := refer(t, pipeline, items, 6)
	for _, runs := range []int{2, 4} {
		t.Run(fmt.Sprint(runs), func(t *testing.T) {
			w := newWorkspace(t, pipeline, items, playCards)
			visits := 0
			for _, end := range w.together(runs, nil) {
				visits += end.Tally.Visits
				if diff := cmp.Diff(want.tally, end.Tally.Ends); diff != "" {
					t.Errorf("a run's tally (-want +got):\n%s", diff)
				}
			}
			if visits != want.calls || w.made("") != want.calls {
				t.Errorf("%d visits were made and %d told, one run alone makes %d", w.made(""), visits, want.calls)
			}
			w.sound()
			w.same(want, 6)
		})
	}
}

// together runs several at once to their ends; meanwhile is done while they run.
func (w *workspace) together(runs int, meanwhile func([]*process)) []ended {
	w.t.Helper()
	all := make([]*process, runs)
	for i := range all {
		all[i] = w.start(flags{Jobs: 8})
	}
	if meanwhile != nil {
		meanwhile(all)
	}
	var ends []ended
	for _, p := range all {
		if p.killed {
			continue
		}
		end := p.result()
		if end.Exit != 0 {
			w.t.Errorf("a run ended with %d: %s %v", end.Exit, end.Error, end.Warned)
		}
		ends = append(ends, end)
	}
	return ends
}

// shared is more than one run takes in at a time, so that each has its part: no
// visit is answered before all of them have begun one.
func shared(t *testing.T, runs int) (*workspace, int) {
	n := runs*1024 + 500
	var w *workspace
	w = newWorkspace(t, chain("work"), numbered(n, ""), func(*call) answer {
		w.wait(func() bool { return len(w.pids) >= runs })
		return answer{}
	})
	return w, n
}

// Runs share the items of one source.
func TestRunsShare(t *testing.T) {
	for _, runs := range []int{2, 4} {
		if testing.Short() && runs > 2 {
			continue
		}
		t.Run(fmt.Sprint(runs), func(t *testing.T) {
			w, n := shared(t, runs)
			visits := 0
			for _, end := range w.together(runs, nil) {
				visits += end.Tally.Visits
				if end.Tally.Visits == 0 || end.Tally.Ends[dag.Accepted] != n {
					t.Errorf("a run made %d visits: %v", end.Tally.Visits, end.Tally.Ends)
				}
			}
			if visits != n || w.made("") != n {
				t.Errorf("%d visits were made and %d told, want %d", w.made(""), visits, n)
			}
			w.sound()
		})
	}
}

// When one of several runs is killed, the others take its items over.
func TestOneOfSeveralKilled(t *testing.T) {
	for _, runs := range []int{2, 4} {
		if testing.Short() && runs > 2 {
			continue
		}
		t.Run(fmt.Sprint(runs), func(t *testing.T) {
			w, n := shared(t, runs)
			most := 0
			ends := w.together(runs, func(all []*process) {
				w.until("all to be at work", func() bool { return w.done >= 100 })
				all[0].kill()
				most = w.made("")
			})
			for _, end := range ends {
				if end.Tally.Ends[dag.Accepted] != n {
					t.Errorf("a run's tally: %v", end.Tally.Ends)
				}
			}
			// What the killed one had not flushed is made again, and no more.
			if again := w.made("") - n; again < 0 || again > most {
				t.Errorf("%d visits were made twice; %d had begun when the run was killed", again, most)
			}
			w.write("items.jsonl", `{"id":"one more"}`+"\n")
			w.run() // whoever starts a plugin tidies up behind the dead
		})
	}
}

// Two runs at once do not both pay for one call that items of either need.
func TestOneCallForTwoRuns(t *testing.T) {
	pipeline := asking("", "input = { q = item.q }")
	items := numbered(1500, `,"q":"the same"`) // more than one run takes in
	var w *workspace
	w = newWorkspace(t, pipeline, items, func(c *call) answer {
		if c.Stage == "provider.judge" {
			return answer{Output: jsonOf("yes")}
		}
		both := eventually(func() bool {
			locks, _ := filepath.Glob(filepath.Join(w.dir, "staging", "runs", "*.lock"))
			return len(locks) == 2 || w.made("work") > 1
		})
		if !both {
			t.Error("the second run did not begin")
		}
		time.Sleep(300 * time.Millisecond) // let it come to the call, too
		return answer{Ask: "the same"}
	})
	for _, end := range w.together(2, nil) {
		if end.Tally.Ends[dag.Accepted] != len(items) {
			t.Errorf("a run's tally: %v", end.Tally)
		}
	}
	if w.made("work") != 1 || w.made("provider.judge") != 1 {
		t.Errorf("%d visits and %d calls were made, want one of each", w.made("work"), w.made("provider.judge"))
	}
}

// The first interrupt lets what runs finish and be committed; nothing new is
// visited, and the next run goes on.
func TestInterruptedOnce(t *testing.T) {
	const jobs = 4
	var w *workspace
	released := false
	w = newWorkspace(t, chain("first", "second"), numbered(40, ""), func(c *call) answer {
		if c.Stage == "second" {
			w.wait(func() bool { return released })
		}
		return answer{}
	})
	p := w.start(flags{Jobs: jobs})
	w.until("a full house", func() bool { return w.live["second"] == jobs })
	p.interrupt()
	if !eventually(func() bool { return strings.Contains(p.err.String(), "interrupted") }) {
		t.Fatal("the interrupt is not heard")
	}
	first := w.made("first")
	w.mu.Lock()
	released = true
	w.announce()
	w.mu.Unlock()
	end := p.result()
	if end.Exit != 130 || end.Tally.Ends[dag.Accepted] != jobs || end.Tally.Ends[dag.Parked] != end.Tally.TakenIn-jobs {
		t.Errorf("%+v", end)
	}
	if w.made("first") != first || w.made("second") != jobs {
		t.Errorf("%d and %d visits, want %d and %d: new ones were made after the interrupt", w.made("first"), w.made("second"), first, jobs)
	}
	if got := len(w.rows("data/cards.jsonl")); got != jobs {
		t.Errorf("%d records, want %d: the gate did not commit what it held", got, jobs)
	}
	w.forget()
	s := w.run()
	if s.Kind != 0 || s.Tally.Ends[dag.Accepted] != 40 || w.made("first") != 40-first || w.made("second") != 40-jobs {
		t.Errorf("the next run made %d and %d visits: %+v", w.made("first"), w.made("second"), s)
	}
}

// The second interrupt ends a run although its visits never end.
func TestR30InterruptedTwice(t *testing.T) {
	w := newWorkspace(t, one, numbered(10, ""), func(c *call) answer { return answer{Hang: c.Key != "i0000"} })
	p := w.start(flags{Jobs: 4})
	w.until("visits that hang", func() bool { return w.count("") >= 5 })
	p.interrupt()
	if !eventually(func() bool { return strings.Contains(p.err.String(), "interrupted") }) {
		t.Fatal("the first interrupt is not heard")
	}
	p.interrupt()
	end := p.result()
	if end.Exit != 130 || end.Tally.Ends[dag.Parked]+end.Tally.Ends[dag.Accepted] != end.Tally.TakenIn {
		t.Errorf("%+v", end)
	}
	w.direct(keep)
	if s := w.run(); s.Kind != 0 || s.Tally.Ends[dag.Accepted] != 10 {
		t.Errorf("the next run: %+v", s)
	}
}

// An interrupt does not wait for the next attempt of what failed.
func TestInterruptedBetweenAttempts(t *testing.T) {
	w := newWorkspace(t, retrying(chain("work"), "work", 5, ""), numbered(1, ""), func(*call) answer {
		return answer{Infra: true, Code: "E_RATE_LIMITED", Message: "in a minute", RetryAfter: 60_000}
	})
	p := w.start(flags{})
	w.until("an attempt", func() bool { return w.done == 1 })
	p.interrupt()
	if end := p.result(); end.Exit != 130 || end.Tally.Ends[dag.Parked] != 1 {
		t.Errorf("%+v", end)
	}
}
