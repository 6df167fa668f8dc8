package dag

import "time"

// Item is one JSON document on its way through the pipeline.
type Item struct {
	Key    string // unique in its run, at most 256 bytes, no control characters
	Origin Doc
}

// StepKind says what is to be done now.
type StepKind int

const (
	DoVisit StepKind = iota + 1 // run Step.Stage on Step.Input, then Apply(Visited)
	DoGate                      // hand the item to the gate, then Apply(Judged)
	DoSpawn                     // start Step.Children; this item is Expanded
	DoWait                      // a person must answer (ask)
	DoStop                      // a route stopped the item, or it failed: tell the gate, then Apply(Judged)
	Done                        // nothing more; Step.End tells how it ended
)

// Step is what Traversal.Next asks for.
type Step struct {
	Kind  StepKind
	Stage *Stage // DoVisit
	Pass  int    // DoVisit: from 1
	Input Doc    // DoVisit
	// Before is the item before the visit, for the mask. DoVisit.
	Before Doc

	As     Triage   // DoGate: only record this; empty: run the checks
	Code   Code     // DoGate with As, DoStop
	End    End      // DoStop: Rejected or Failed. Done: how it ended
	Status string   // DoStop
	Failed *Failure // DoStop after a failure, or at an edge that is exhausted

	Children []Child // DoSpawn

	Ask      *Ask // DoWait
	Question Doc  // DoWait
}

// Child is an item that a fan-out makes.
type Child struct {
	Key  string // "parent/key"
	Item Doc    // its element
}

// Event tells a Traversal what came of its last step: *Visited, *Judged,
// *Spawned, *Answered or *Expired.
type Event interface{ event() }

// Visited is the end of a visit.
type Visited struct {
	Word     string // the outcome as the plugin said it; empty: none said
	Output   Doc    // null where Failure is set
	Failure  *Failure
	Findings []PluginFinding
	Action   Digest
	Facts    Facts
}

// PluginFinding is a finding in the plugin's own word.
type PluginFinding struct {
	Word     string   `json:"word"`
	Triage   Triage   `json:"triage,omitempty"`
	Figure   *float64 `json:"figure,omitempty"`
	Evidence string   `json:"evidence,omitempty"`
}

// Facts are what the engine knows of a visit, for the trail. They decide nothing.
type Facts struct {
	Model     string    `json:"model,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"` // of the execution that was paid for, also where it was answered from staging
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Reused    bool      `json:"reused,omitzero"`   // answered from staging
	Recorded  bool      `json:"recorded,omitzero"` // completions came from a cassette: Model is who was recorded
	Unpaid    bool      `json:"unpaid,omitzero"`   // each completion that was asked for had been answered before, and came from staging
	Calls     int       `json:"calls,omitzero"`
	Input     int       `json:"input_tokens,omitzero"`
	Cached    int       `json:"cached_input_tokens,omitzero"`
	OutTokens int       `json:"output_tokens,omitzero"`
	// Paid is what its completions cost, attempts in vain among them; Calls and the
	// tokens beside it are those of the answers, whoever gave them. Zero: nobody was
	// paid, or an older version wrote it.
	Paid Bill `json:"paid,omitzero"`
}

// Judged is the gate's word on an item that was handed to it or stopped.
type Judged struct {
	End      End
	Codes    []Code
	Findings []Finding
	Record   string // id of the accepted record
	Message  string
}

// Spawned says that the children were started.
type Spawned struct{}

// Answered is a person's accepted answer to the question of a DoWait.
type Answered struct{ Value Doc }

// Expired says that the question of a DoWait was not answered in time.
type Expired struct{}

func (*Visited) event()  {}
func (*Judged) event()   {}
func (*Spawned) event()  {}
func (*Answered) event() {}
func (*Expired) event()  {}
