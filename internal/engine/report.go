package engine

import (
	"sync"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/staging"
)

// Report hears what a run does, one call at a time.
type Report interface {
	// Started comes once, before the first item.
	Started(runID string)
	// Item comes for each item that ended in this run, in no particular order.
	Item(ItemEnd)
	// Progress comes at most ten times a second; waits are the long ones, while they last.
	Progress(t Tally, running int, waits []staging.Waiting)
	// Warn is for people: one line.
	Warn(line string)
}

// ItemEnd is how an item of this run ended.
type ItemEnd struct {
	Problem
	Record string // id of the accepted record
}

func itemEnd(it *item) ItemEnd { return ItemEnd{problemOf(it), it.verdict.Record} }

// inTurn lets one goroutine report at a time: the loop does, and what hears the
// plugins and the providers.
type inTurn struct {
	mu sync.Mutex
	to Report
}

func (r *inTurn) Started(runID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to.Started(runID)
}

func (r *inTurn) Item(end ItemEnd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to.Item(end)
}

func (r *inTurn) Progress(t Tally, running int, waits []staging.Waiting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to.Progress(t, running, waits)
}

func (r *inTurn) Warn(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to.Warn(line)
}

type silent struct{}

func (silent) Started(string)                         {}
func (silent) Item(ItemEnd)                           {}
func (silent) Progress(Tally, int, []staging.Waiting) {}
func (silent) Warn(string)                            {}

// Summary is what a run came to.
type Summary struct {
	RunID    string
	Trace    string // the run's trace, where one is sent
	Tally    Tally
	Problems []Problem // in source order; at most 1,000
	More     int       // problems beyond those
	Tripped  []string  // buckets whose breaker is open
	Dry      bool
	// Kind is what the run exits with: 0, KindInfrastructure, KindStopped, KindBug, KindInterrupted.
	Kind dag.Kind
}
