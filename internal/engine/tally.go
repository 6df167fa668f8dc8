package engine

import (
	"fmt"
	"sort"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/staging"
)

// Tally counts a run. An item that was finished by an earlier run counts with
// the end it has, in Settled besides.
type Tally struct {
	TakenIn        int             `json:"taken_in"`
	Spawned        int             `json:"spawned"`
	Ends           map[dag.End]int `json:"ends"`
	Settled        int             `json:"settled"`    // of TakenIn and Spawned: finished by an earlier run
	Duplicates     int             `json:"duplicates"` // skipped: key and bytes stand before
	Visits         int             `json:"visits"`     // made now
	Reused         int             `json:"reused"`     // answered from staging
	Calls          int             `json:"calls"`      // completions asked for
	Infrastructure int             `json:"infrastructure"`
	Pages          int             `json:"pages,omitzero"`          // read from the web
	PagesReplayed  int             `json:"pages_replayed,omitzero"` // answered from a cassette
	Kept           int             `json:"kept,omitzero"`           // not accepted now, and in the corpus by an earlier accept
	LeftOut        LeftOut         `json:"left_out,omitzero"`       // records, none of which counts above
	// Waits tell where the time went; nil: nothing was waited for as long as a second, refused or tried again.
	Waits *staging.RunWaits `json:"waits,omitzero"`

	problems []Problem
	dropped  int // problems beyond those kept
}

// Problem is an item that did not end accepted, for people.
type Problem struct {
	Key    string     `json:"key"`
	End    dag.End    `json:"end"`
	Codes  []dag.Code `json:"codes,omitempty"`
	Status string     `json:"status,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Kept   bool       `json:"kept,omitzero"` // its record is in the corpus: an earlier run accepted it
	Dry    bool       `json:"dry,omitzero"`  // of what the store keeps: a dry run judged it, and nothing was committed
	seq    uint64
	index  int
}

// problemsKept bounds what is remembered of a run for its last lines.
const problemsKept = 1000

func newTally() Tally { return Tally{Ends: make(map[dag.End]int, len(dag.Ends))} }

// settled counts a family that an earlier run finished.
func (t *Tally) settled(head staging.TrailHead) {
	members := 0
	for i, n := range head.Ends {
		if n > 0 {
			t.Ends[dag.Ends[i]] += int(n)
			members += int(n)
		}
	}
	t.TakenIn++
	t.Spawned += members - 1
	t.Settled += members
}

func (t *Tally) note(it *item) {
	if len(t.problems) >= problemsKept {
		t.dropped++
		return
	}
	t.problems = append(t.problems, problemOf(it))
}

func problemOf(it *item) Problem {
	p := Problem{Key: it.key, End: it.end, Status: it.step.Status, Reason: it.reason, seq: it.family.seq, index: it.index}
	p.Codes, p.Kept = it.verdict.Codes, it.verdict.Kept
	if len(p.Codes) == 0 && it.cause != "" {
		p.Codes = []dag.Code{it.cause}
	}
	if p.Reason == "" {
		p.Reason = it.verdict.Message
	}
	if p.Reason == "" && p.Status == "" && len(p.Codes) == 0 && p.End != dag.Accepted && p.End != dag.Expanded {
		p.Reason = it.lastOutcome()
	}
	return p
}

// lastOutcome is what a route that gives no word of its own sent an item away for.
func (it *item) lastOutcome() string {
	if it.t == nil {
		return ""
	}
	visits := it.t.Trail().Visits
	if n := len(visits); n > 0 && visits[n-1].Outcome != "" {
		return visits[n-1].Stage + ": " + visits[n-1].Outcome
	}
	return ""
}

// check is item conservation: what came in must have come out.
func (t *Tally) check() error {
	sum := 0
	for _, n := range t.Ends {
		sum += n
	}
	if t.TakenIn+t.Spawned == sum {
		return nil
	}
	return &dag.Error{
		Op: "count items", Kind: dag.KindBug,
		Err:  fmt.Errorf("%d taken in and %d spawned, but %d ended: %v", t.TakenIn, t.Spawned, sum, t.Ends),
		Hint: "this is a fault of Penstock: please report it with the pipeline and this line",
	}
}

// inOrder gives the problems in source order, then fan-out order.
func (t *Tally) inOrder() []Problem {
	sort.Slice(t.problems, func(i, j int) bool {
		a, b := &t.problems[i], &t.problems[j]
		if a.seq != b.seq {
			return a.seq < b.seq
		}
		return a.index < b.index
	})
	return t.problems
}
