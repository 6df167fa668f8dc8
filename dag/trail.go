package dag

// Trail is an item's visits and route decisions in order, with how it ended:
// what `show` prints, what a plan reuses, what evidence rests on.
type Trail struct {
	Item   string `json:"item"`             // key
	Parent string `json:"parent,omitempty"` // key of the item whose fan-out made this one
	Origin Digest `json:"origin"`           // of the source's document; children have their parent's
	First  Digest `json:"first"`            // of the item as it started: the origin, or a fan-out's element

	Visits    []Visit    `json:"visits"`
	Decisions []Decision `json:"decisions"`

	End    End      `json:"end,omitempty"`    // empty while the item is on its way
	As     Triage   `json:"as,omitempty"`     // of the arm that led to the gate
	Code   Code     `json:"code,omitempty"`   // of the arm that stopped it, or of the failure that nothing routed
	Status string   `json:"status,omitempty"` // the free word of the stop
	Failed *Failure `json:"failed,omitempty"` // the failure that the item was stopped for

	// What the gate said. Children stands in the trail of an expanded item.
	Codes    []Code     `json:"codes,omitempty"`
	Findings []Finding  `json:"findings,omitempty"`
	Record   string     `json:"record,omitempty"` // id of the accepted record
	Message  string     `json:"message,omitempty"`
	Children []ChildRef `json:"children,omitempty"`
}

// ChildRef names an item that a fan-out made.
type ChildRef struct {
	Key  string `json:"key"`
	Item Digest `json:"item"`
}

// Visit is one execution of a stage, as the trail keeps it.
type Visit struct {
	Stage   string `json:"stage"`
	Pass    int    `json:"pass"` // from 1
	Input   Digest `json:"input,omitzero"`
	Output  Digest `json:"output,omitzero"` // zero where it failed
	Item    Digest `json:"item,omitzero"`   // what travels on
	Action  Digest `json:"action,omitzero"` // zero for decide, and for a visit that failed before it was paid for
	Outcome string `json:"outcome,omitempty"`

	Failure  *Failure  `json:"failure,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	Rule     string    `json:"rule,omitempty"` // decide: the reason of the rule that matched
	Seen     []Seen    `json:"seen,omitempty"` // decide: what its rules read
	Facts    Facts     `json:"facts,omitzero"`
}

// Decision is one choice of a way out of a stage.
type Decision struct {
	After    int       `json:"after"` // index of the visit that it follows; -1: the visit of the parent
	Route    string    `json:"route"`
	Stage    string    `json:"stage"` // that the way leads out of
	Arm      int       `json:"arm"`   // Arm.ID of the arm that was taken; -1: a failure that nothing routes, or a condition that could not be told
	Pos      Pos       `json:"pos,omitzero"`
	Seen     []Seen    `json:"seen,omitempty"`
	To       string    `json:"to"` // "stage.repairer", "gate.accept", "stop", "ask"
	Findings []Finding `json:"findings,omitempty"`
}

// Trail is what happened to the item so far. What it holds is not written to
// again, so it may be kept while the traversal goes on.
func (t *Traversal) Trail() *Trail {
	trail := t.trail
	trail.Visits = trail.Visits[:len(trail.Visits):len(trail.Visits)]
	trail.Decisions = trail.Decisions[:len(trail.Decisions):len(trail.Decisions)]
	return &trail
}

// Visits are all visits on the way of this item, those of the item that it was
// fanned out of first, as a gate may know them.
func (t *Traversal) Visits() []VisitFacts {
	out := make([]VisitFacts, 0, len(t.before)+len(t.trail.Visits))
	for i := range cap(out) {
		v := t.visit(i)
		s := t.g.index.byName[v.Stage]
		f := VisitFacts{
			Stage: v.Stage, Pass: v.Pass, Model: v.Facts.Model,
			StartedAt: v.Facts.StartedAt, EndedAt: v.Facts.EndedAt,
			Input: v.Input, Output: v.Output,
			Stale: i < t.stages[s.Index].stale,
		}
		if s.Plugin != nil {
			f.Plugin = s.Plugin.program()
		}
		if s.Provider != nil {
			f.Provider = s.Provider.Plugin.program()
		}
		out = append(out, f)
	}
	return out
}

func (t *Traversal) visit(i int) *Visit {
	if i < len(t.before) {
		return &t.before[i]
	}
	return &t.trail.Visits[i-len(t.before)]
}
