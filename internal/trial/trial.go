// Package trial runs the tests of a pipeline: the engine and the gate as they
// are, over items that a test gives, in a workspace that is thrown away, with
// some stages answered for by the test; then it compares what came of that with
// what the test expects.
//
// cmd/penstock calls Run and, for what is to be expected from now on, Rewrite.
//
// It refuses to touch the pipeline's own staging and corpus, and to ask anybody:
// a completion or a page that is not recorded is missed, and its test fails.
package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/internal/staging"
)

// Options say which tests to run and how.
type Options struct {
	Dir     string // the pipeline's directory: nothing is written there
	Tests   []*lang.Test
	Version string
	Self    []string // as engine.Options
	Bundled func(name string) (*dag.PluginInfo, bool)
	Memo    host.Memo // may be nil
	Jobs    int       // visits at a time; 0: as a run
	// Temp is where workspaces are made; empty: where the system has such.
	Temp string
	// Each hears of every test when it is done; may be nil.
	Each func(*Result)
}

// clock is what time it is in a test: the same at each run.
var clock = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Result is what came of a test.
type Result struct {
	Test     *lang.Test
	Failures []Failure // none: it holds
	// Unused are mocks of the test's own that no visit came to.
	Unused []*lang.Mock
	Notes  []string // that the run told people
	Took   time.Duration
	edits  []edit    // that would make it hold
	stuck  []Failure // values that no edit could make hold
}

// Holds reports whether all came as expected.
func (r *Result) Holds() bool { return len(r.Failures) == 0 }

// Mended reports whether all that did not come as expected is written by Rewrite.
func (r *Result) Mended() bool {
	return !slices.ContainsFunc(r.Failures, func(f Failure) bool { return !f.Written })
}

// Failure is one thing that did not come as expected.
type Failure struct {
	At      lang.Place
	What    string // "route", "outcome of verifier", "condition"
	Item    string // key; empty: of all items together
	Want    string // as written in a test; empty: there is nothing to compare
	Got     string
	Message string
	// Written tells that Rewrite put what came in the place of what was wanted.
	Written bool
	// Kind is of a run that did not come to its end, or of an item that did not;
	// zero: an expectation.
	Kind dag.Kind
}

// Run runs the tests one after the other. The error is that of a context that
// ended; what is wrong with a test stands in its result.
func Run(ctx context.Context, o Options) ([]*Result, error) {
	var results []*Result
	for _, test := range o.Tests {
		if err := ctx.Err(); err != nil {
			return results, &dag.Error{Op: "test", Subject: test.Name, Kind: dag.KindInterrupted, Err: err}
		}
		began := time.Now()
		r := &Result{Test: test}
		if err := (&trial{Options: o, test: test, result: r, used: map[*lang.Mock]bool{}}).run(ctx); err != nil {
			r.Failures = append(r.Failures, Failure{At: lang.Place{File: test.Pos.File, Line: test.Pos.Line}, What: "run", Message: withHint(err), Kind: dag.KindOf(err)})
		}
		r.Took = time.Since(began)
		results = append(results, r)
		if o.Each != nil {
			o.Each(r)
		}
	}
	return results, nil
}

// trial is one test under way.
type trial struct {
	Options
	test   *lang.Test
	result *Result
	space  string // the workspace
	store  *staging.Store
	ended  []engine.Ended
	items  []*item
	used   map[*lang.Mock]bool
}

func (t *trial) run(ctx context.Context) (err error) {
	t.space, err = os.MkdirTemp(t.Temp, "penstock-test-")
	if err != nil {
		return &dag.Error{Op: "make a workspace", Kind: dag.KindInfrastructure, Err: err}
	}
	defer func() {
		if gone := os.RemoveAll(t.space); err == nil && gone != nil {
			err = &dag.Error{Op: "remove the workspace", Kind: dag.KindInfrastructure, Err: gone}
		}
	}()
	graph := t.graph()
	records, err := t.records()
	if err != nil {
		return err
	}
	s, err := engine.Run(ctx, engine.Options{
		Dir: t.Dir, Graph: graph, Version: t.Version, Self: t.Self, Bundled: t.Bundled, Memo: t.Memo, Jobs: t.Jobs,
		KeepGoing: true, Now: func() time.Time { return clock }, Report: &notes{to: &t.result.Notes},
		Rehearsal: &engine.Rehearsal{
			Workspace: t.space, Records: records, Answer: t.answer,
			Ended: func(e engine.Ended) { t.ended = append(t.ended, e) },
		},
	})
	if ctx.Err() != nil {
		return &dag.Error{Op: "test", Subject: t.test.Name, Kind: dag.KindInterrupted, Err: ctx.Err()}
	}
	if err != nil {
		return err
	}
	if s.Kind == dag.KindBug {
		return &dag.Error{Op: "test", Subject: t.test.Name, Kind: dag.KindBug, Err: errors.New("the run broke an invariant")}
	}
	t.store, err = staging.Open(filepath.Join(t.space, "staging"), staging.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.store.Close()) }()
	return t.judge(records)
}

// graph is the test's pipeline, with its cassette.
func (t *trial) graph() *dag.Graph {
	graph := *t.test.Graph
	graph.Pipeline.Replay = t.test.Replay
	graph.Pipeline.Budget = dag.Budget{}
	return &graph
}

// judge compares what came with what is expected.
func (t *trial) judge(records *records) error {
	if missed := records.missed(); len(missed) > 0 {
		return &dag.Error{Op: "find the items", Kind: dag.KindConfig, Err: fmt.Errorf("no item of the source has the key %s", strings.Join(missed, ", "))}
	}
	slices.SortFunc(t.ended, func(a, b engine.Ended) int {
		if a.Seq != b.Seq {
			return int(a.Seq) - int(b.Seq)
		}
		return a.Index - b.Index
	})
	parked := false
	for i := range t.ended {
		it, err := t.item(&t.ended[i])
		if err != nil {
			return err
		}
		t.items = append(t.items, it)
		if it.end.End == dag.Parked {
			parked = true
			t.result.Failures = append(t.result.Failures, t.stopped(it))
		}
	}
	if !parked { // else what is expected is missing for that
		for _, x := range t.test.Expects {
			if err := t.expect(x); err != nil {
				return err
			}
		}
		t.total()
	}
	for _, m := range t.test.Mocks {
		if !t.used[m] && !m.Shared {
			t.result.Unused = append(t.result.Unused, m)
		}
	}
	return nil
}

// stopped is the failure of an item that could not be brought to its end.
func (t *trial) stopped(it *item) Failure {
	f := Failure{At: lang.Place{File: t.test.Pos.File, Line: t.test.Pos.Line}, What: "run", Item: it.end.Key, Kind: dag.KindInfrastructure,
		Message: t.reason(it.end.Reason)}
	if slices.Contains(it.end.Codes, dag.EReplayMiss) {
		f.What, f.Kind = "recording", dag.KindDiffers
		f.Message += "\nrecord it, name another cassette with `replay`, or mock the stage"
	}
	return f
}

// reason is why an item was parked, with paths from the pipeline's directory.
func (t *trial) reason(why string) string {
	why = strings.ReplaceAll(why, t.space+string(filepath.Separator)+engine.Unrecorded+" holds 0", "nothing is replayed")
	why = strings.ReplaceAll(why, t.space+string(filepath.Separator), "")
	return strings.ReplaceAll(why, t.Dir+string(filepath.Separator), "")
}

// notes collects what a run tells people.
type notes struct{ to *[]string }

// notesMost bounds what is kept of a run's words.
const notesMost = 20

func (n *notes) Started(string)                                {}
func (n *notes) Item(engine.ItemEnd)                           {}
func (n *notes) Progress(engine.Tally, int, []staging.Waiting) {}
func (n *notes) Warn(line string) {
	if len(*n.to) < notesMost {
		*n.to = append(*n.to, line)
	}
}

// withHint is an error in words, with what it says to do.
func withHint(err error) string {
	text := err.Error()
	var known *dag.Error
	if errors.As(err, &known) && known.Hint != "" {
		text += "\n" + known.Hint
	}
	return text
}
