package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// randomPipeline draws a pipeline that proves: ways forward at will, ways back
// with a bound, stages that fan out, rules in between, a gate that may hold.
func randomPipeline(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("failure \"R_BAD\" { meaning = \"Bad.\" }\nsource \"items\" {\n  files = [\"items.jsonl\"]\n  key   = origin.id\n}\n")
	n := 2 + r.IntN(4)
	fans := r.IntN(2 * n) // beyond n: none does
	var visited []int     // stages that a bucket may be held from
	for i := range n {
		name := fmt.Sprintf("s%d", i)
		fan := i == fans
		outcomes := []string{"a", "b", "c"}[:1+r.IntN(3)]
		decides := i > 0 && !fan && r.IntN(5) == 0
		switch {
		case decides:
			fmt.Fprintf(&b, "stage %q {\n  outcomes = [\"a\", \"b\"]\n  decide {\n    rule \"even\" {\n      if      = item.n %% 2 == 0\n      outcome = \"a\"\n    }\n    else { outcome = \"b\" }\n  }\n}\n", name)
			outcomes = []string{"a", "b"}
		default:
			visited = append(visited, i)
			fmt.Fprintf(&b, "stage %q {\n  plugin = plugin.actor\n  config { note = %[1]q }\n  outcomes = [%s]\n  retry {\n    attempts = 3\n    backoff = \"1ms\"\n    max_backoff = \"2ms\"\n  }\n", name, quoted(outcomes))
			if fan {
				b.WriteString("  fan_out {\n    each = output.list\n    key = each.id\n    max = 3\n    code = failure.R_BAD\n  }\n")
			}
			if r.IntN(4) == 0 {
				fmt.Fprintf(&b, "  concurrency = %d\n", 1+r.IntN(3))
			}
			b.WriteString("}\n")
		}
		fmt.Fprintf(&b, "route %q {\n  from = stage.%[1]s\n", name)
		ahead := r.IntN(len(outcomes)) // one way leads on, so that each stage is reached
		for o, outcome := range outcomes {
			fmt.Fprintf(&b, "  on %q {\n%s  }\n", outcome, randomArm(r, i, n, o == ahead, fans))
		}
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&b, "  fail {\n%s  }\n", randomArm(r, i, n, false, fans))
		case 1:
			b.WriteString("  fail \"E_REFUSED\" {\n    stop = \"rejected\"\n    code = failure.R_BAD\n  }\n")
		}
		b.WriteString("}\n")
	}
	hold := ""
	if r.IntN(2) == 0 {
		hold = fmt.Sprintf("  hold = stage.s%d\n", visited[r.IntN(len(visited))])
	}
	if r.IntN(2) == 0 {
		hold += fmt.Sprintf("  concurrency = %d\n", 1+r.IntN(3))
	}
	b.WriteString(strings.Replace(plainGate, "  candidate = { card = item }\n", "  candidate = { card = item }\n  bucket = origin.bucket\n"+hold+
		"  check \"unique\" {\n    code = failure.R_BAD\n    keys = [card.id]\n  }\n", 1))
	return strings.Replace(b.String(), "data/cards.jsonl", "data/${bucket}.jsonl", 1)
}

func quoted(words []string) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(all, ", ")
}

// randomArm leads from stage i of n somewhere; an item that was fanned out does
// not come back before the fan-out.
func randomArm(r *rand.Rand, i, n int, ahead bool, fans int) string {
	switch k := r.IntN(10); {
	case ahead && i+1 < n:
		return fmt.Sprintf("    to = stage.s%d\n", i+1)
	case ahead, k < 3:
		return "    to = gate.accept\n"
	case k < 4:
		return "    to = gate.accept\n    as = \"skip\"\n    code = failure.R_BAD\n"
	case k < 6 && (fans > i || fans < 0):
		return fmt.Sprintf("    to  = stage.s%d\n    max = %d\n    exhausted { stop = \"failed\" }\n", r.IntN(i+1), 1+r.IntN(2))
	case k < 8 && i+1 < n:
		return fmt.Sprintf("    to = stage.s%d\n", i+1+r.IntN(n-i-1))
	case k < 9:
		return "    stop = \"failed\"\n    code = failure.R_BAD\n"
	}
	return "    stop   = \"rejected\"\n    status = \"no\"\n"
}

// luck answers by stage and input alone, as staging may give the answer again;
// the world fails now and then, but never three times.
func luck(w **workspace, pipeline string) func(*call) answer {
	return func(c *call) answer {
		input := string(c.Input)
		if chance(12, "world", c.Stage, input) == 0 && (*w).attempts(c.id()) < 2 {
			return answer{Infra: true, Code: "E_UNAVAILABLE", Message: "now and then"}
		}
		if chance(10, "refused", c.Stage, input) == 0 {
			return answer{Code: "E_REFUSED", Message: "no"}
		}
		a := answer{Outcome: "a"}
		if declared := outcomesOf(pipeline, c.Stage); len(declared) > 0 {
			a.Outcome = declared[chance(len(declared), "outcome", c.Stage, input)]
		}
		times, _ := member(c.Input, c.Stage).(float64)
		a.Output = set(c.Input, c.Stage, times+1)
		list := []any{}
		for i := range chance(5, "list", input) { // four are too many
			list = append(list, map[string]any{"id": fmt.Sprintf("%s-%d", member(c.Input, "id"), i), "n": i})
		}
		a.Output = set(a.Output, "list", list)
		return a
	}
}

func outcomesOf(pipeline, stage string) []string {
	_, after, _ := strings.Cut(pipeline, fmt.Sprintf("stage %q {", stage))
	_, after, _ = strings.Cut(after, "outcomes = [")
	inside, _, _ := strings.Cut(after, "]")
	return strings.Split(strings.ReplaceAll(inside, `"`, ""), ", ")
}

func (w *workspace) attempts(id visitID) int {
	n := 0
	for _, c := range w.all() {
		if c.id() == id {
			n++
		}
	}
	return n
}

// visited counts the visits of each stage, each once however often it was tried.
func (w *workspace) visited() map[string]int {
	seen, n := map[visitID]bool{}, map[string]int{}
	for _, c := range w.all() {
		if !seen[c.id()] {
			seen[c.id()] = true
			n[c.Stage]++
		}
	}
	return n
}

// Whatever the graph and whatever comes of its visits: a run keeps what its plan
// promised, items add up, trails are as long as was proved, records stand in
// order, and a second run finds nothing to do.
func TestR32R49AnyPipeline(t *testing.T) {
	cases := 14
	if testing.Short() {
		cases = 3
	}
	start := rand.Uint64()
	for i := range cases {
		seed := start + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { anyPipeline(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func anyPipeline(t *testing.T, r *rand.Rand) {
	pipeline := randomPipeline(r)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the pipeline was:\n%s", pipeline)
		}
	})
	items := make([]string, 24)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"t%02d","bucket":"b%d","n":%d}`, i, r.IntN(4), i)
	}
	w := newWorkspace(t, pipeline, items, nil)
	w.direct(luck(&w, pipeline))

	// A run that is interrupted somewhere, or not at all.
	interrupt, at := make(chan struct{}), r.IntN(80)
	play := luck(&w, pipeline)
	w.direct(func(c *call) answer {
		w.mu.Lock()
		if len(w.calls) >= at && at >= 0 {
			at = -1
			close(interrupt)
		}
		w.mu.Unlock()
		return play(c)
	})
	first := w.planned(func(o *Options) { o.Interrupt = interrupt })
	w.direct(play)
	second := w.planned()
	if second.Kind != 0 || second.Tally.Ends[dag.Parked] != 0 || second.Tally.TakenIn != len(items) {
		t.Errorf("the run to the end: %+v after %+v", second, first)
	}
	g := w.graph()
	for key, m := range w.members() {
		if m.Trail == nil || m.Trail.End != m.End || len(m.Trail.Visits) > g.LongestTrail {
			t.Errorf("%s: %+v", key, m)
		}
	}
	for b := range 4 {
		if first.Kind != 0 {
			break // what was parked comes after what was finished
		}
		ids := texts(w.rows(fmt.Sprintf("data/b%d.jsonl", b)), "id")
		if sorted := slices.Sorted(slices.Values(ids)); !slices.Equal(ids, sorted) {
			t.Errorf("bucket b%d (-want +got):\n%s", b, cmp.Diff(sorted, ids))
		}
	}
	w.forget()
	plan, err := Plan(t.Context(), w.options(nil))
	if err != nil {
		t.Fatal(err)
	}
	third := w.run()
	if !plan.Empty() || w.made("") != 0 || third.Tally.Settled != third.Tally.TakenIn+third.Tally.Spawned {
		t.Errorf("after all is done: plan %+v, %d visits, %+v", plan, w.made(""), third)
	}
	if diff := cmp.Diff(second.Tally.Ends, third.Tally.Ends); diff != "" {
		t.Errorf("ends (-before +after):\n%s", diff)
	}
}

// planned runs what it has planned before, and compares.
func (w *workspace) planned(change ...func(*Options)) *Summary {
	w.t.Helper()
	plan, err := Plan(w.t.Context(), w.options(nil))
	if err != nil {
		w.t.Fatal(err)
	}
	w.forget()
	s := w.run(change...)
	if s.Kind != 0 {
		return s // interrupted: it did less than was planned
	}
	visited, sum := w.visited(), 0
	for _, line := range plan.Stages {
		n := visited[line.Stage]
		sum += n
		if n < line.Run {
			w.t.Errorf("stage %s: %d visits, the plan promised %d", line.Stage, n, line.Run)
		}
		if line.Maybe != nil && n > line.Run+*line.Maybe {
			w.t.Errorf("stage %s: %d visits, the plan said %d and at most %d more", line.Stage, n, line.Run, *line.Maybe)
		}
	}
	if sum != s.Tally.Visits {
		w.t.Errorf("%d visits were made, the run says %d", sum, s.Tally.Visits)
	}
	reuse := 0
	for _, line := range plan.Stages {
		reuse += line.Reuse
	}
	if s.Tally.Reused < reuse {
		w.t.Errorf("%d visits were answered from staging, the plan promised %d", s.Tally.Reused, reuse)
	}
	if plan.Calls.Unknown || s.Tally.Calls > plan.Calls.Value {
		w.t.Errorf("%d calls, the plan said at most %v", s.Tally.Calls, plan.Calls)
	}
	if plan.Settled > s.Tally.Settled || (plan.Settled == 0) != (s.Tally.Settled == 0) {
		w.t.Errorf("%d items were finished before, the plan said %d with what they fanned out into", s.Tally.Settled, plan.Settled)
	}
	return s
}
