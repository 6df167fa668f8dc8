package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/internal/ui"
)

func (c *command) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Print the last runs, and the items that did not end accepted",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return c.status() },
	}
}

// statusRuns is how many runs are listed.
const statusRuns = 5

func (c *command) status() error {
	store, err := c.openStore()
	if err != nil {
		return err
	}
	defer store.Close()
	runs, err := store.Runs()
	if err != nil {
		return err
	}
	if len(runs) > statusRuns {
		runs = runs[len(runs)-statusRuns:]
	}
	ended, dry := map[dag.End]int{}, map[dag.End]int{}
	var problems []engine.Problem
	err = store.Trails(func(t *staging.Trail) bool {
		members, decodeErr := engine.DecodeFamily(t.Body)
		if decodeErr != nil {
			err = decodeErr
			return false
		}
		for _, m := range members {
			ended[m.End]++
			if m.Dry {
				dry[m.End]++
			}
			if m.End != dag.Accepted && m.End != dag.Expanded {
				problems = append(problems, engine.Problem{Key: m.Key, End: m.End, Codes: m.Codes, Status: m.Status, Reason: m.Reason, Kept: m.Kept, Dry: m.Dry})
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(problems, func(a, b engine.Problem) int { return engine.CompareKeys(a.Key, b.Key) })
	return c.printStatus(runs, ended, dry, problems)
}

// statusDocument is what `status --json` prints.
type statusDocument struct {
	Version int              `json:"version"`
	Runs    []statusRun      `json:"runs"`
	Ends    map[dag.End]int  `json:"ends"`
	Dry     map[dag.End]int  `json:"dry,omitempty"` // of Ends, what a dry run judged, and nothing is committed of
	Items   []engine.Problem `json:"items"`
}

// statusRun is a run with what became of it.
type statusRun struct {
	staging.Run `json:",inline"`
	Result      engine.RunResult `json:"result"` // done, the kind of what ended it, running, or killed: its process is gone without a last word
	// Waiting is what a run that is under way waits for now, and has for three seconds or will.
	Waiting []staging.Waiting `json:"waiting,omitempty"`
}

func (c *command) printStatus(runs []staging.Run, ended, dry map[dag.End]int, problems []engine.Problem) error {
	p := c.printer()
	if c.json {
		document := statusDocument{1, make([]statusRun, len(runs)), ended, dry, problems}
		for i, r := range runs {
			document.Runs[i] = statusRun{r, engine.ResultOf(r), r.Waiting}
		}
		return p.Document(document)
	}
	if len(runs) == 0 {
		p.Line("nothing has run here yet")
		return nil
	}
	t := ui.NewTable("run", "started", ">took", "result", "items")
	for _, r := range runs {
		took, came := "·", "·" // until it has said
		if !r.Ended.IsZero() {
			took, came = r.Ended.Sub(r.Started).Round(10*time.Millisecond).String(), ends(r.Tally)
		}
		if engine.WasDry(r) {
			came += " (dry)"
		}
		t.Row(r.ID, r.Started.Local().Format(time.DateTime), took, runResult(r), came)
	}
	t.Print(p)
	for _, r := range runs {
		for _, w := range r.Waiting {
			p.Line("%s waits: %s", r.ID, ui.Clean(engine.WaitingText(w, time.Now())))
		}
		if r.Counts != nil {
			for _, line := range engine.WaitLines(r.Counts.Waits) {
				p.Line("%s: %s", r.ID, line)
			}
		}
	}
	if items := itemTable(problems, p.Width()); items.Len() > 0 {
		p.Line("")
		items.Print(p)
	}
	kept := 0
	for _, problem := range problems {
		if problem.Kept {
			kept++
		}
	}
	if kept > 0 {
		p.Note("%s", keptNote(kept))
	}
	p.Line("")
	meant := maps.Clone(ended)
	for end, n := range dry {
		meant[end] -= n
	}
	p.Line("all items: %s", ends(meant))
	if len(dry) > 0 {
		p.Line("judged by a dry run alone, nothing committed: %s", ends(dry))
	}
	return nil
}

func runResult(r staging.Run) string {
	if r.State == staging.RunDone && r.Exit != 0 {
		return "exit " + strconv.Itoa(r.Exit)
	}
	return string(engine.ResultOf(r))
}

// openStore opens the pipeline's staging/ for reading.
func (c *command) openStore() (*staging.Store, error) {
	dir, _, err := c.place()
	if err != nil {
		return nil, err
	}
	return staging.Open(filepath.Join(dir, "staging"), staging.Options{ReadOnly: true})
}
