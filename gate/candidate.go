package gate

import (
	"github.com/penstock-run/penstock/dag"
)

// Candidate is an item that came to its end: at the gate, or at a stop. The gate
// hears of both, because rejection records, breakers and tallies are its business.
type Candidate struct {
	Key      string           // of the item
	Bucket   string           // the part of the corpus that it belongs to
	Scope    dag.Scope        // of its traversal: item, artifact.x, origin, outcome.x, …
	Facts    []dag.VisitFacts // its visits in order
	Load     dag.Load         // stored documents by digest
	Findings []dag.Finding    // what its stages and routes left, in order

	// As, if not empty, is recorded with Code and no check is run.
	As   dag.Triage
	Code dag.Code

	// Stop, if not nil, tells that a route ended the item before the gate.
	Stop *Stop

	// Anew asks again where a verdict other than an accept is recorded already.
	Anew bool
}

// Stop is the end of an item that did not come to the gate.
type Stop struct {
	End     dag.End  // Rejected or Failed; any other is passed through and not recorded
	Code    dag.Code // may be empty
	Cause   dag.Code // the engine's code, where Code replaced it
	Status  string
	Message string
	Stage   string // where it happened
	Pass    int
	Item    dag.Digest // what travelled
}

// Detail is one cause of a verdict, for the record.
type Detail struct {
	Code  dag.Code `json:"code,omitempty"`
	At    string   `json:"at,omitempty"` // where in the candidate: "sources[1].url"
	Why   string   `json:"why,omitempty"`
	Cause dag.Code `json:"cause,omitempty"`
}

// Verdict is what became of a candidate.
type Verdict struct {
	End      dag.End
	Codes    []dag.Code    // the decisive one first
	Findings []dag.Finding // of the item and of the checks, merged in order
	Record   string        // id of the accepted record
	Message  string
	Details  []Detail
	Checks   []CheckResult // in the order in which they ran; none where the verdict was known
	// Known tells that the verdict was recorded before: nothing was counted and
	// nothing written.
	Known bool
	// Kept tells that the very record is in the corpus, though the gate's checks do
	// not accept it now: it was accepted before, and an accept is never taken back.
	Kept bool
	// Dry tells that nothing was committed; Would is what would have been written.
	Dry   bool
	Would []Line
	// Err, if not nil, is why there is no verdict: the item is to be parked. It is
	// a *dag.Error, and the other fields say nothing.
	Err error
}

// Line is one row and the file that it belongs to.
type Line struct {
	Path string
	JSON []byte // without its line feed
}

// Judged is the verdict as a traversal takes it.
func (v *Verdict) Judged() *dag.Judged {
	return &dag.Judged{End: v.End, Codes: v.Codes, Findings: v.Findings, Record: v.Record, Message: v.Message}
}

// Evaluation is a candidate after the checks that need no lock.
type Evaluation struct {
	c     *Candidate
	key   key
	known *Verdict // recorded before
	err   error    // a *dag.Error: no verdict
	j     *judgement
}

// Err is why the candidate could not be judged; nil if it could.
func (e *Evaluation) Err() error { return e.err }

// Known reports whether the verdict is recorded already, so that a commit writes
// nothing for it.
func (e *Evaluation) Known() bool { return e.known != nil }

// AcceptKey is the key under which the verdict is, or will be, recorded.
func (e *Evaluation) AcceptKey() string { return e.key.String() }

// Checks are the results so far, in the order in which they ran.
func (e *Evaluation) Checks() []CheckResult {
	if e.j == nil {
		return nil
	}
	return e.j.results
}
