package engine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// planEdits is how many edits, each with its plan and its run,
// TestR05R06APlanIsWhatTheRunDoes makes; PENSTOCK_PLAN_EDITS says another number.
const planEdits = 200

// Over random edits of a pipeline and of its items: what a plan says is reused,
// run and blocked is what the run then does, and no maximum is passed.
func TestR05R06APlanIsWhatTheRunDoes(t *testing.T) {
	edits := planEdits
	if text := os.Getenv("PENSTOCK_PLAN_EDITS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		edits = n
	} else if testing.Short() {
		edits = 30
	}
	const each = 10
	start := rand.Uint64()
	for i := range edits / each {
		seed := start + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			e := newEdited(t, rand.New(rand.NewPCG(seed, 2)))
			for range each {
				e.planAndRun()
				if t.Failed() {
					t.Fatalf("after %v; the pipeline is:\n%s\nthe items are:\n%s", e.done, e.pipeline, strings.Join(e.items, "\n"))
				}
				e.change()
			}
		})
	}
}

// edited is a workspace that is edited at random.
type edited struct {
	*workspace
	r        *rand.Rand
	pipeline string
	items    []string
	force    bool
	choice   Choice
	done     []string // the edits
}

func newEdited(t *testing.T, r *rand.Rand) *edited {
	e := &edited{r: r, pipeline: randomPipeline(r)}
	for i := range 12 {
		e.items = append(e.items, e.item(i))
	}
	e.workspace = newWorkspace(t, e.pipeline, e.items, nil)
	e.again()
	return e
}

// item draws from few numbers, so that stages which read nothing else meet the
// same input again.
func (e *edited) item(i int) string {
	return fmt.Sprintf(`{"id":"t%02d","bucket":"b%d","n":%d}`, i, e.r.IntN(3), e.r.IntN(4))
}

// again writes everything, and lets the plays see the pipeline as it is.
func (e *edited) again() {
	e.write("pipeline.hcl", head+e.pipeline)
	e.write("items.jsonl", strings.Join(e.items, "\n")+"\n")
	e.direct(luck(&e.workspace, e.pipeline))
}

func (e *edited) change() {
	e.force, e.choice = false, Choice{}
	note := fmt.Sprintf("s%d", e.r.IntN(6))
	switch k := e.r.IntN(12); k {
	case 0, 1:
		e.pipeline = strings.Replace(e.pipeline, fmt.Sprintf("note = %q", note), fmt.Sprintf("note = %q", note+fmt.Sprint(" edit ", len(e.done))), 1)
		e.did("the note of " + note)
	case 2, 3:
		e.pipeline = randomPipeline(e.r)
		e.did("another pipeline")
	case 4:
		e.items[e.r.IntN(len(e.items))] = e.item(50 + len(e.done))
		e.did("another item")
	case 5:
		i := e.r.IntN(len(e.items))
		e.items[i] = strings.Replace(e.items[i], `"n":`, `"n":1`, 1)
		e.did("an item's number")
	case 6:
		e.items = append(e.items, e.items[e.r.IntN(len(e.items))])
		e.did("an item twice")
	case 7:
		e.items[e.r.IntN(len(e.items))] = `{"id":"broken"`
		e.did("a broken line")
	case 8:
		e.pipeline = strings.ReplaceAll(e.pipeline, "R_BAD", "R_WORSE")
		e.did("a code")
	case 9:
		if config := fmt.Sprintf("config { note = %q }\n", note); !strings.Contains(e.pipeline, config+"  input") {
			e.pipeline = strings.Replace(e.pipeline, config, config+"  input = { id = \"same\", n = item.n }\n", 1)
		}
		e.did("the input of " + note)
	case 10:
		e.write("any.json", fmt.Sprintf(`{"type": ["object"], "maxProperties": %d}`, 50+e.r.IntN(3)))
		if !strings.Contains(e.pipeline, "any.json") {
			e.pipeline = strings.Replace(e.pipeline, "plugin = plugin.actor\n", "plugin = plugin.actor\n  output { schema = \"any.json\" }\n", 1)
		}
		e.did("a schema")
	case 11:
		e.force = e.r.IntN(2) == 0
		if !e.force {
			if err := os.RemoveAll(filepath.Join(e.dir, "staging")); err != nil {
				e.t.Fatal(err)
			}
		}
		e.did(fmt.Sprintf("-B: %v, else staging is gone", e.force))
	}
	if e.r.IntN(3) == 0 {
		e.choose() // of the pipeline as it is now
	}
	e.again()
}

// choose draws flags that narrow the run, or have some of it made anew.
func (e *edited) choose() {
	item := fmt.Sprintf("t%02d", e.r.IntN(12))
	var stages []string
	for i := range 6 {
		if stage := fmt.Sprintf("s%d", i); strings.Contains(e.pipeline, fmt.Sprintf("config { note = %q", stage)) {
			stages = append(stages, stage)
		}
	}
	stages = append(stages, "s*")
	stage := stages[e.r.IntN(len(stages))]
	switch e.r.IntN(6) {
	case 0:
		e.choice.Rerun = []string{stage}
	case 1:
		e.choice.Rerun = []string{stage + "[t0*]"} // of many, and not of all
	case 2:
		e.choice.Rerun = []string{stage + "[" + item + "*]", stages[0]}
	case 3:
		e.choice.Retry = []string{[]string{"failed", "rejected", "skipped", "E_REFUSED", "E_FAN_OUT", "E_EXHAUSTED"}[e.r.IntN(6)], "review"}
	case 4:
		e.choice.Only = []string{"t0*"}
		e.choice.Limit = e.r.IntN(8)
	case 5:
		e.choice.Limit = 1 + e.r.IntN(12)
		e.choice.Rerun = []string{stage}
	}
	e.did(strings.Join(e.choice.words(), " "))
}

func (e *edited) did(what string) { e.done = append(e.done, what) }

// planAndRun plans, runs, and compares.
func (e *edited) planAndRun() {
	e.t.Helper()
	flags := func(o *Options) { o.Force, o.Choice = e.force, e.choice }
	whole, err := PlanItems(e.t.Context(), e.options([]func(*Options){flags}), "")
	if err != nil {
		e.t.Fatal(err)
	}
	// A plan that looks few reasons up is the same in figures.
	brief, err := plan(e.t.Context(), e.options([]func(*Options){flags}), looking{visits: 3})
	if err != nil {
		e.t.Fatal(err)
	}
	for i, a := range whole.Stages {
		if b := brief.Stages[i]; a.Reuse != b.Reuse || a.Run != b.Run || a.Blocked != b.Blocked || (a.Maybe == nil) != (b.Maybe == nil) || a.Maybe != nil && *a.Maybe != *b.Maybe {
			e.t.Errorf("stage %s: %+v with each item, %+v without", a.Stage, a, b)
		}
	}
	e.forget()
	s, err := e.attempt(flags)
	if err != nil || s.Kind != 0 {
		e.t.Fatalf("the run ended with %v: %+v", err, s)
	}
	e.figures(whole, s)
	e.visitsAreAsPlanned(whole, s)
}

// figures compares the plan's sums.
func (e *edited) figures(p *Planned, s *Summary) {
	e.t.Helper()
	visited := e.visited()
	for _, line := range p.Stages {
		n := visited[line.Stage]
		if n < line.Run || line.Maybe != nil && n > line.Run+*line.Maybe {
			e.t.Errorf("stage %s: %d visits, the plan said %d and %v more at most", line.Stage, n, line.Run, line.Maybe)
		}
	}
	if p.Calls.Unknown || s.Tally.Calls > p.Calls.Value {
		e.t.Errorf("%d calls, the plan said %+v", s.Tally.Calls, p.Calls)
	}
	if p.Duplicates != s.Tally.Duplicates {
		e.t.Errorf("%d duplicates, the plan said %d", s.Tally.Duplicates, p.Duplicates)
	}
	if p.LeftOut != s.Tally.LeftOut {
		e.t.Errorf("%+v left out, the plan said %+v", s.Tally.LeftOut, p.LeftOut)
	}
	if p.Empty() && s.Tally.Visits > 0 {
		e.t.Errorf("an empty plan, and %d visits", s.Tally.Visits)
	}
}

// visitsAreAsPlanned looks every planned visit up: in the store, and on its
// item's trail.
func (e *edited) visitsAreAsPlanned(p *Planned, s *Summary) {
	e.t.Helper()
	members := e.members()
	store := e.store()
	defer func() { _ = store.Close() }()
	executions := map[dag.Digest]bool{}
	made, maybe := map[dag.Digest]bool{}, map[string]bool{} // what may be made, by its action where that is known, else by its stage
	for _, v := range p.Visits {
		made[v.Action] = made[v.Action] || v.State == PlanRun
		maybe[v.Stage] = maybe[v.Stage] || v.State == PlanMaybe
	}
	// Where a second item has the key of a first, a trail found by the key may be
	// that of either.
	refused, taken := map[string]bool{}, map[string]bool{}
	for _, v := range p.Visits {
		refused[v.Item] = refused[v.Item] || v.State == PlanBlocked
		taken[v.Item] = taken[v.Item] || v.State != PlanBlocked
	}
	for _, v := range p.Visits {
		if v.Stage == gateName {
			continue
		}
		name := v.Stage + "[" + v.Item + "]"
		onTrail := func() int {
			m := members[v.Item]
			if m.Trail == nil {
				return -1
			}
			return slices.IndexFunc(m.Trail.Visits, func(x dag.Visit) bool { return x.Stage == v.Stage && x.Pass == v.Pass })
		}
		switch v.State {
		case PlanBlocked:
			if i := onTrail(); i >= 0 && !taken[v.Item] {
				if a, ok, err := store.Action(members[v.Item].Trail.Visits[i].Action); err != nil || ok && a.Run == s.RunID {
					e.t.Errorf("%s was blocked (%s) and ran: %v", name, v.Why, err)
				}
			}
		case PlanReuse, PlanRun:
			a, ok, err := store.Action(v.Action)
			if err != nil || !ok {
				e.t.Errorf("%s, planned as %s, has no action: %v", name, v.State, err)
				continue
			}
			now := a.Run == s.RunID
			if i := onTrail(); now && v.State == PlanReuse && (made[v.Action] || maybe[v.Stage]) && i >= 0 {
				now = !members[v.Item].Trail.Visits[i].Facts.Reused // made anew for another item
			}
			if now != (v.State == PlanRun) {
				e.t.Errorf("%s, planned as %s, was made by run %s; this is %s", name, v.State, a.Run, s.RunID)
			}
			source, _, _ := strings.Cut(v.Item, "/")
			if i := onTrail(); !refused[source] && (i < 0 || members[v.Item].Trail.Visits[i].Action != v.Action) {
				e.t.Errorf("%s, planned as %s, is not on its item's trail", name, v.State)
			}
			if v.State == PlanRun && v.Actions > 0 {
				if executions[v.Action] {
					e.t.Errorf("%s is one execution, and planned twice", name)
				}
				executions[v.Action] = true
			}
		}
		if v.State == PlanRun && v.Why == "" {
			e.t.Errorf("%s runs, and the plan does not say why", name)
		}
	}
}
