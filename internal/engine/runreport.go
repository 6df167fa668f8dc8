package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/draw"
	"github.com/penstock-run/penstock/internal/staging"
)

// RunReport is what there is to tell of one run, from what the store kept of it:
// what `penstock report` shows. Its items are read one by one, with EachItem.
type RunReport struct {
	Version  int           `json:"version"` // of this shape: 1
	Run      ReportedRun   `json:"run"`
	Notes    []string      `json:"notes,omitempty"` // what is not known, and why
	Summary  RunSummary    `json:"summary"`
	Graph    *draw.Picture `json:"graph,omitempty"`    // nil: an older Penstock kept none
	Timeline *Timeline     `json:"timeline,omitempty"` // nil: nothing was executed
	Spend    Spend         `json:"spend"`              // what its visits cost
	Codes    []CodeReport  `json:"codes"`              // the most frequent first
	told     *retelling
}

// ReportedRun is the run's own record.
type ReportedRun struct {
	ID       string    `json:"id"`
	Pipeline string    `json:"pipeline"`
	Result   RunResult `json:"result"`
	Exit     *int      `json:"exit"` // nil: it never said that it ended
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"` // absent where Exit is nil
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	Flags    []string  `json:"flags,omitempty"`
	Error    string    `json:"error,omitempty"` // the first failure of infrastructure, or what stopped it
	Tripped  []string  `json:"open_breakers,omitempty"`
}

// RunResult is how a run came to its end.
type RunResult string

// Results of a run: the kind of its exit, or that it never told one.
const (
	ResultDone           RunResult = "done"
	ResultConfig         RunResult = "config"
	ResultInfrastructure RunResult = "infrastructure"
	ResultStopped        RunResult = "stopped"
	ResultDiffers        RunResult = "differs"
	ResultBug            RunResult = "bug"
	ResultInterrupted    RunResult = "interrupted"
	ResultRunning        RunResult = "running" // it is under way
	ResultKilled         RunResult = "killed"  // its process is gone without a last word
)

var resultsByExit = map[int]RunResult{
	0: ResultDone, dag.KindConfig.ExitStatus(): ResultConfig, dag.KindInfrastructure.ExitStatus(): ResultInfrastructure,
	dag.KindStopped.ExitStatus(): ResultStopped, dag.KindDiffers.ExitStatus(): ResultDiffers, dag.KindBug.ExitStatus(): ResultBug,
	dag.KindInterrupted.ExitStatus(): ResultInterrupted,
}

// ResultOf tells how a run came to its end, if it has.
func ResultOf(r staging.Run) RunResult {
	switch r.State {
	case staging.RunRunning:
		return ResultRunning
	case staging.RunInterrupted:
		return ResultKilled
	}
	return resultsByExit[r.Exit]
}

// RunSummary counts the run's items.
type RunSummary struct {
	Items   int                `json:"items"`            // whose trails the run wrote: those that the report has
	Settled *int               `json:"settled"`          // besides, finished by earlier runs; nil: unknown
	Ends    map[dag.End]int    `json:"ends"`             // of Items
	Counts  *staging.RunCounts `json:"counts,omitempty"` // what it counted itself; nil: it had no time to
}

// ReportItem is an item of a run with its whole way.
type ReportItem struct {
	ItemWhy `json:",inline"`
	Source  string `json:"source,omitempty"` // the block that it, or what it was fanned out of, came from
}

// retelling reads the trails of a run.
type retelling struct {
	store   *staging.Store
	run     staging.Run
	outline *outline
	places  []trailPlace // in the order of the items' keys
	broken  int          // trails that do not read any more
}

type trailPlace struct {
	source, item string
	at           staging.TrailPlace
}

// ReportRun tells of a run by its id or the beginning of one; of the last run
// where id is empty. The report holds for as long as the store is open.
func ReportRun(store *staging.Store, id string) (*RunReport, error) {
	run, err := findRun(store, id)
	if err != nil {
		return nil, err
	}
	t := &retelling{store: store, run: run, outline: readOutline(store, run.Outline)}
	if err := t.find(); err != nil {
		return nil, err
	}
	return t.report()
}

func findRun(store *staging.Store, id string) (staging.Run, error) {
	runs, err := store.Runs()
	if err != nil {
		return staging.Run{}, err
	}
	if len(runs) == 0 {
		return staging.Run{}, &dag.Error{Op: "report", Subject: id, Kind: dag.KindConfig, Err: errors.New("nothing has run here yet"), Hint: "penstock run"}
	}
	if id == "" {
		return runs[len(runs)-1], nil
	}
	var found []staging.Run
	var ids []string
	for _, r := range runs {
		if r.ID == id {
			return r, nil
		}
		if strings.HasPrefix(r.ID, id) {
			found = append(found, r)
		}
		ids = append(ids, r.ID)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return staging.Run{}, &Unknown{Name: id, Known: ids, text: "there is no run of this id", hint: "penstock status"}
	}
	return staging.Run{}, &dag.Error{Op: "report", Subject: id, Kind: dag.KindConfig,
		Err: fmt.Errorf("%d runs begin like this: %s, %s", len(found), found[0].ID, found[1].ID), Hint: "give more of the id"}
}

// find lists where the run's trails stand: of each item the last, where it wrote
// several.
func (t *retelling) find() error {
	at := map[[2]string]int{}
	err := t.store.TrailsOf(t.run.ID, func(source, item string, place staging.TrailPlace) {
		key := [2]string{source, item}
		if i, ok := at[key]; ok {
			t.places[i].at = place
			return
		}
		at[key] = len(t.places)
		t.places = append(t.places, trailPlace{source, item, place})
	})
	slices.SortStableFunc(t.places, func(a, b trailPlace) int { return CompareKeys(a.item, b.item) })
	return err
}

// families calls yield with each family of the run, in the order of their keys.
func (t *retelling) families(yield func(source string, members []Member) error) error {
	t.broken = 0
	for _, place := range t.places {
		trail := t.store.TrailAt(place.at)
		if trail == nil {
			t.broken++
			continue
		}
		members, err := DecodeFamily(trail.Body)
		if err != nil {
			return &dag.Error{Op: "read trail of", Subject: place.item, Kind: dag.KindInfrastructure, Err: err}
		}
		if err := yield(place.source, members); err != nil {
			return err
		}
	}
	return nil
}

// report walks over all items once, for all that is counted.
func (t *retelling) report() (*RunReport, error) {
	r := &RunReport{Version: 1, Run: reportedRun(t.run), Summary: RunSummary{Ends: map[dag.End]int{}, Counts: t.run.Counts}, told: t}
	ways, codes, work := newWayCounts(t.outline, t.run.Pipeline), newCodeCounts(t.outline), newWorkCounts(t.run, t.outline)
	if err := t.store.ActionsOf(t.run.ID, work.action); err != nil {
		return nil, err
	}
	err := t.families(func(source string, members []Member) error {
		for i := range members {
			m := &members[i]
			r.Summary.Items++
			r.Summary.Ends[m.End]++
			ways.item(source, m)
			codes.item(m)
			work.item(m)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.Graph, r.Codes = ways.picture(), codes.list()
	r.Spend, r.Timeline = work.spend(), work.timeline()
	if t.run.Counts != nil {
		r.Summary.Settled = &t.run.Counts.Settled
	}
	r.Notes = t.notes(r, work)
	return r, nil
}

func reportedRun(run staging.Run) ReportedRun {
	r := ReportedRun{
		ID: run.ID, Pipeline: run.Pipeline, Result: ResultOf(run), Started: run.Started, Ended: run.Ended, Host: run.Host, PID: run.PID,
		Flags: run.Flags, Error: run.Error, Tripped: run.Tripped,
	}
	if run.State == staging.RunDone {
		r.Exit = &run.Exit
	}
	return r
}

// notes say what the report cannot tell.
func (t *retelling) notes(r *RunReport, work *workCounts) []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	switch r.Run.Result {
	case ResultKilled:
		note("The run never said that it ended: its process is gone. This is what it had recorded by then; items that were under way are not among those told of.")
	case ResultRunning:
		note("The run is under way. This is what it has recorded so far.")
	}
	if WasDry(t.run) {
		note("The run was dry: what is told of the gate is what would be, and nothing was committed.")
	}
	if n := work.loose(); n > 0 && r.Run.Exit == nil {
		note("%s recorded for items that had not come to their end: the next run is answered from there.", plural(n, "visit is", "visits are"))
	}
	if c := t.run.Counts; c != nil {
		ended := 0
		for _, n := range t.run.Tally {
			ended += n
		}
		if gone := ended - c.Settled - r.Summary.Items; gone > 0 {
			note("The trails of %s are not in staging/ any more.", plural(gone, "item", "items"))
		}
		if gone := c.Visits - work.visits; gone > 0 {
			note("Of %s there is nothing in staging/ any more: timeline and spend are without them.", plural(gone, "visit", "visits"))
		}
	} else if r.Run.Exit != nil {
		note("An older Penstock wrote this run down: how many items were finished before it, and what attempts in vain cost, is not known.")
	}
	if t.broken > 0 {
		note("%s damaged, and left out.", plural(t.broken, "trail is", "trails are"))
	}
	if r.Graph == nil {
		note("What the pipeline looked like in this run is not on record: there is no picture of it.")
	}
	return notes
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// EachItem calls yield with each item that the run told the end of, in the order
// of the keys, what it fanned out into behind it.
func (r *RunReport) EachItem(yield func(*ReportItem) error) error {
	t := r.told
	return t.families(func(source string, members []Member) error {
		p := &past{store: t.store, runs: map[string]staging.Run{t.run.ID: t.run}, trails: []*staging.Trail{{Run: t.run.ID}}, families: [][]Member{members}}
		for i := range members {
			item := &ReportItem{ItemWhy: *p.itemWhy(&members[i], t.run.ID, t.outline), Source: source}
			if err := yield(item); err != nil {
				return err
			}
		}
		return nil
	})
}
