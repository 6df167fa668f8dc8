package engine

import (
	"context"

	"github.com/penstock-run/penstock/dag"
)

// Planned is what a run would do, stage by stage. It is made by the very walk
// of a run, which stops where a process would be started.
type Planned struct {
	Items      int         `json:"items"`   // taken in and spawned as far as they are known
	Settled    int         `json:"settled"` // source items finished before, with all that they fanned out into
	Duplicates int         `json:"duplicates"`
	Stages     []StagePlan `json:"stages"`
	Gate       GatePlan    `json:"gate"`
	// Calls bounds the completions; nil where a plugin does not say how many a
	// visit may ask for, or a fan-out how many items it makes.
	Calls *int `json:"max_calls"`

	byStage map[*dag.Stage]*StagePlan
	keep    *keeping           // not nil: the walk is for a collection
	missing map[*dag.Stage]int // items whose next visit is no longer answered from staging
}

// StagePlan is a line of a plan. Reuse and Run are what a run does; Depends is
// how many further visits there are at most, by what others give.
type StagePlan struct {
	Stage    string `json:"stage"`
	Provider string `json:"provider,omitempty"`
	Reuse    int    `json:"reuse"`
	Run      int    `json:"run"`
	Depends  *int   `json:"depends"`   // nil: no bound is known
	Calls    *int   `json:"max_calls"` // nil: no bound is known; 0 for a stage that asks nobody
}

// GatePlan is what would come to the gate: a verdict of Reuse is on record,
// Decide is sure to be decided anew, Depends may come.
type GatePlan struct {
	Reuse   int  `json:"reuse"`
	Decide  int  `json:"decide"`
	Depends *int `json:"depends"` // nil: no bound is known
}

// Empty reports whether a run would do nothing.
func (p *Planned) Empty() bool {
	for _, s := range p.Stages {
		if s.Run > 0 || s.Depends == nil || *s.Depends > 0 {
			return false
		}
	}
	return p.Gate.Decide == 0
}

// Plan says what Run would do with the same options. It writes nothing.
func Plan(ctx context.Context, o Options) (*Planned, error) {
	p := newPlanned(o.Graph)
	e, err := open(ctx, o, p)
	if err != nil {
		return nil, err
	}
	err = e.walk(ctx)
	p.Items, p.Duplicates = e.tally.TakenIn+e.tally.Spawned, e.tally.Duplicates
	p.total(e.Graph)
	if closeErr := e.close(ctx); err == nil {
		err = closeErr
	}
	return p, err
}

// walk is loop for a plan: nothing comes back, so nothing is waited for.
func (e *engine) walk(ctx context.Context) error {
	for !e.intake.ended {
		if err := ctx.Err(); err != nil {
			return &dag.Error{Op: "plan", Kind: dag.KindInterrupted, Err: err}
		}
		if err := e.admit(); err != nil {
			return err
		}
		e.drainReady()
		e.buckets = map[string]*bucket{} // a plan keeps no order
	}
	return nil
}

func newPlanned(g *dag.Graph) *Planned {
	p := &Planned{byStage: map[*dag.Stage]*StagePlan{}, missing: map[*dag.Stage]int{}}
	p.Stages = make([]StagePlan, len(g.Stages))
	for i, s := range g.Stages {
		line := &p.Stages[i]
		line.Stage, line.Depends = s.Name, new(int)
		if s.Provider != nil {
			line.Provider = s.Provider.Name
		}
		p.byStage[s] = line
	}
	return p
}

func (p *Planned) reuse(s *dag.Stage) { p.byStage[s].Reuse++ }

// visit notes that a run would make so many actions for an item's visit; what may
// follow from it is worked out once for all of them, by total.
func (p *Planned) visit(s *dag.Stage, actions int) {
	p.byStage[s].Run += actions
	p.missing[s]++
}

// planKnown plans an item whose first visit is sure to be made, without reading
// it: its record was taken in before, and no action of the first stage's recipe
// was ever made.
func (e *engine) planKnown(intake, raw dag.Digest) bool {
	first := e.Graph.First
	if first.Plugin == nil || first.MayChange != nil || first.Input != nil || e.recipes[first.Index].made {
		return false
	}
	hash, ok := e.store.TakenIn(intake)
	if !ok {
		return false
	}
	if e.intake.seen != nil {
		switch e.known(hash, raw) {
		case keyAgain:
			e.tally.Duplicates++
			return true
		case keyOther:
			return false
		}
	}
	e.tally.TakenIn++
	e.planning.visit(first, max(1, first.Samples))
	return true
}

// follow adds the visits that may follow from those that are missing, and the
// items that may come to the gate.
func (p *Planned) follow(g *dag.Graph) {
	p.Gate.Depends = new(int)
	for s, items := range p.missing {
		if leaves := leavesFrom(g, s); leaves == dag.Unbounded || p.Gate.Depends == nil {
			p.Gate.Depends = nil
		} else {
			*p.Gate.Depends += items * leaves
		}
		for next, n := range g.MaxVisitsInAll(s) {
			line := p.byStage[next]
			if next == s {
				n-- // this very visit stands under Run
			}
			switch {
			case next.Decide != nil || n == 0 || line.Depends == nil:
			case n < 0: // dag.Unbounded
				line.Depends = nil
			default:
				*line.Depends += items * n * max(1, next.Samples)
			}
		}
	}
}

// leavesFrom bounds the items that one which is about to visit s may become.
func leavesFrom(g *dag.Graph, s *dag.Stage) int {
	leaves := 1
	for stage, visits := range g.MaxVisitsFrom(s) {
		if stage.FanOut == nil {
			continue
		}
		if stage.FanOut.Max == 0 {
			return dag.Unbounded
		}
		for range visits {
			leaves *= stage.FanOut.Max
		}
	}
	return leaves
}

// gate notes an item that a run would hand to the gate, and whether the gate
// has its verdict on record.
func (p *Planned) gate(e *engine, it *item, step dag.Step) {
	if p.keep != nil {
		return // a collection leaves the gate's files alone
	}
	if e.gate.Evaluate(e.hostCtx, e.candidate(it, step)).Known() {
		p.Gate.Reuse++
		return
	}
	p.Gate.Decide++
}

// total works out how many completions a run may ask for.
func (p *Planned) total(g *dag.Graph) {
	p.follow(g)
	p.Calls = new(int)
	for i, s := range g.Stages {
		line := &p.Stages[i]
		if s.Provider == nil {
			line.Calls = new(int)
			continue
		}
		each := callsPerVisit(s)
		if line.Run == 0 && line.Depends != nil && *line.Depends == 0 {
			line.Calls = new(int)
		} else if each > 0 && line.Depends != nil {
			n := each * (line.Run + *line.Depends)
			line.Calls = &n
		}
		if line.Calls == nil || p.Calls == nil {
			p.Calls = nil
			continue
		}
		*p.Calls += *line.Calls
	}
}

// callsPerVisit is how many completions a visit asks for at most, 0 where the
// plugin does not say.
func callsPerVisit(s *dag.Stage) int {
	if s.Info == nil || s.Info.CallsPerVisit == nil {
		return 0
	}
	return s.Info.CallsPerVisit(s.Config.Bytes)
}
