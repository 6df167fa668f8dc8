package engine

import "github.com/penstock-run/penstock/dag"

// Report hears what a run does, from one goroutine.
type Report interface {
	// Started comes once, before the first item.
	Started(runID string)
	// Item comes for each item that ended in this run, in no particular order.
	Item(ItemEnd)
	// Progress comes at most ten times a second.
	Progress(t Tally, running int)
	// Warn is for people: one line.
	Warn(line string)
}

// ItemEnd is how an item of this run ended.
type ItemEnd struct {
	Problem
	Record string // id of the accepted record
}

func itemEnd(it *item) ItemEnd { return ItemEnd{problemOf(it), it.verdict.Record} }

type silent struct{}

func (silent) Started(string)      {}
func (silent) Item(ItemEnd)        {}
func (silent) Progress(Tally, int) {}
func (silent) Warn(string)         {}

// Summary is what a run came to.
type Summary struct {
	RunID    string
	Tally    Tally
	Problems []Problem // in source order; at most 1,000
	More     int       // problems beyond those
	Tripped  []string  // buckets whose breaker is open
	Dry      bool
	// Kind is what the run exits with: 0, KindInfrastructure, KindStopped, KindBug, KindInterrupted.
	Kind dag.Kind
}
