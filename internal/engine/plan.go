package engine

import (
	"context"

	"github.com/penstock-run/penstock/dag"
)

// Planned is what a run would do. It is made by the very walk of a run, which
// stops where a process would be started. A run that ends with 0 keeps it: what
// was to be reused is, what was to run runs, what was blocked does not, and no
// maximum is passed. One that is stopped or fails does less.
type Planned struct {
	Items      int         `json:"items"`   // taken in and spawned as far as they are known
	Settled    int         `json:"settled"` // source items finished before, with all that they fanned out into
	Duplicates int         `json:"duplicates"`
	LeftOut    LeftOut     `json:"left_out,omitzero"` // records that no flag let in
	Blocked    int         `json:"blocked"`           // items that no stage visits, or none any more
	Refused    []string    `json:"refused,omitempty"` // why a run would not even start
	Stages     []StagePlan `json:"stages"`
	Gate       GatePlan    `json:"gate"`
	PlanCost
	// Visits are all visits of all items, where they were asked for: see PlanItems.
	Visits []PlannedVisit `json:"visits,omitempty"`

	how     looking
	byStage map[*dag.Stage]*StagePlan
	keep    *keeping                   // not nil: the walk is for a collection
	barred  map[*dag.Stage]string      // why no visit of the stage can be made
	missing map[*dag.Stage]int         // items whose next visit is no longer answered from staging
	actions map[dag.Digest]*dag.Stage  // that are to run
	reasons map[*dag.Stage]*reasonBook // by stage
	told    map[dag.Digest]*told       // what earlier recipes told
	recipes []dag.Digest               // of the store, once they were asked for
	tripped bool                       // a bucket's breaker is open
}

// PlanState is what a plan says of a visit.
type PlanState string

// What a plan says of a visit.
const (
	PlanReuse   PlanState = "reuse"   // it is answered from staging
	PlanRun     PlanState = "run"     // it is made, sure
	PlanMaybe   PlanState = "maybe"   // what it waits on decides
	PlanBlocked PlanState = "blocked" // it is not made, sure
)

// PlannedVisit is a visit, or what an item is to meet at the gate.
type PlannedVisit struct {
	Item    string     `json:"item"`
	Stage   string     `json:"stage"` // or "gate"
	Pass    int        `json:"pass,omitzero"`
	State   PlanState  `json:"state"`
	Action  dag.Digest `json:"action,omitzero"`    // of reuse and run
	Actions int        `json:"actions,omitzero"`   // of run: executions; 0 where an item before asks for the very same
	WaitsOn string     `json:"waits_on,omitempty"` // of maybe: "stage[item]"
	Most    *int       `json:"at_most,omitempty"`  // of maybe: executions, absent where no bound is known
	Why     string     `json:"why,omitempty"`      // of run and blocked
	Changes []Change   `json:"changes,omitempty"`  // of run: what is not as it was
}

// StagePlan is a line of a plan. Reuse, Run and Blocked are sure; Maybe is how
// many further executions there are at most, by what others give.
type StagePlan struct {
	Stage    string   `json:"stage"`
	Provider string   `json:"provider,omitempty"`
	Reuse    int      `json:"reuse"`
	Run      int      `json:"run"`
	Maybe    *int     `json:"maybe"`                  // nil: no bound is known
	Blocked  int      `json:"blocked"`                // items
	WaitsOn  []string `json:"waits_on,omitempty"`     // stages that Maybe waits on
	Why      []Reason `json:"why,omitempty"`          // of Run, and of Blocked; the most frequent first
	Unasked  int      `json:"not_looked_up,omitzero"` // items whose visit runs, for a reason that was not looked up
	StageCost
}

// GatePlan is what would come to the gate: a verdict of Reuse is on record,
// Decide is sure to be decided anew, Maybe may come.
type GatePlan struct {
	Reuse  int  `json:"reuse"`
	Decide int  `json:"decide"`
	Maybe  *int `json:"maybe"` // nil: no bound is known
}

// Empty reports whether a run would do nothing.
func (p *Planned) Empty() bool {
	for _, s := range p.Stages {
		if s.Run > 0 || s.Maybe == nil || *s.Maybe > 0 {
			return false
		}
	}
	return p.Gate.Decide == 0
}

// Plan says what Run would do with the same options. It writes nothing.
func Plan(ctx context.Context, o Options) (*Planned, error) {
	return plan(ctx, o, looking{visits: reasonsAsked})
}

// PlanItems is Plan with every visit of every item, and the reasons of each. It fails
// where item, if it is not empty, is neither one of a source nor below one.
func PlanItems(ctx context.Context, o Options, item string) (*Planned, error) {
	return plan(ctx, o, looking{whole: true, item: item})
}

// looking is how closely a plan looks.
type looking struct {
	whole  bool                // keep every visit, with its reasons
	item   string              // that a source must have; empty: none
	frozen bool                // a visit that lacks a secret is one that would be made
	visits int                 // else: of a stage whose reasons are looked up
	at     func(*engine) error // called after the walk, while all is open; may be nil
}

func plan(ctx context.Context, o Options, how looking) (*Planned, error) {
	p := newPlanned(o.Graph, how)
	e, err := open(ctx, o, p)
	if err != nil {
		return nil, err
	}
	p.bar(e)
	err = e.walk(ctx)
	p.Items, p.Duplicates, p.LeftOut = e.tally.TakenIn+e.tally.Spawned, e.tally.Duplicates, e.tally.LeftOut
	p.total(e)
	if err == nil && how.at != nil {
		err = how.at(e)
	}
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

func newPlanned(g *dag.Graph, how looking) *Planned {
	p := &Planned{
		how: how, byStage: map[*dag.Stage]*StagePlan{}, barred: map[*dag.Stage]string{}, missing: map[*dag.Stage]int{},
		actions: map[dag.Digest]*dag.Stage{}, reasons: map[*dag.Stage]*reasonBook{}, told: map[dag.Digest]*told{},
	}
	p.Stages = make([]StagePlan, len(g.Stages))
	for i, s := range g.Stages {
		line := &p.Stages[i]
		line.Stage, line.Maybe = s.Name, new(int)
		if s.Provider != nil {
			line.Provider = s.Provider.Name
		}
		p.byStage[s] = line
		p.reasons[s] = &reasonBook{}
	}
	return p
}

// bar finds what stands in the way of whole stages, and of the run.
func (p *Planned) bar(e *engine) {
	p.tripped = len(e.tripped()) > 0
	if e.replaying() || p.how.frozen {
		return
	}
	for _, secret := range e.Graph.Missing {
		p.Refused = append(p.Refused, "missing secret: "+secret.Name+" is not set in the environment, and "+secret.Block+" asks for it")
		for _, s := range e.Graph.Stages {
			if s.Provider != nil && s.Provider == secret.Provider && p.barred[s] == "" {
				p.barred[s] = "missing secret: " + secret.Name
			}
		}
	}
}

// follow adds the visits that may follow from those that are missing, and the
// items that may come to the gate.
func (p *Planned) follow(g *dag.Graph) {
	p.Gate.Maybe = new(int)
	for _, s := range g.Stages {
		items := p.missing[s]
		if items == 0 {
			continue
		}
		if leaves := leavesFrom(g, s); leaves == dag.Unbounded || p.Gate.Maybe == nil {
			p.Gate.Maybe = nil
		} else {
			*p.Gate.Maybe += items * leaves
		}
		for next, n := range mayFollow(g, s) {
			line := p.byStage[next]
			line.WaitsOn = append(line.WaitsOn, s.Name)
			switch {
			case line.Maybe == nil:
			case n == dag.Unbounded:
				line.Maybe = nil
			default:
				*line.Maybe += items * n
			}
		}
	}
}

// mayFollow bounds the executions that may follow after one item's visit of s,
// that visit itself left out.
func mayFollow(g *dag.Graph, s *dag.Stage) map[*dag.Stage]int {
	follow := map[*dag.Stage]int{}
	for next, n := range g.MaxVisitsInAll(s) {
		if next == s && n > 0 {
			n--
		}
		switch {
		case next.Decide != nil || n == 0:
		case n < 0:
			follow[next] = dag.Unbounded
		default:
			follow[next] = n * max(1, next.Samples)
		}
	}
	return follow
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
