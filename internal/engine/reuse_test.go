package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// made3 are the visits of a chain of three stages.
func (w *workspace) made3() [3]int { return [3]int{w.made("one"), w.made("two"), w.made("three")} }

// What an edit, or a policy, has visited anew, in a chain of stages that each
// set one member, over five items.
func TestR25Reuse(t *testing.T) {
	noted := func(stage, more string) string {
		return fmt.Sprintf("config { note = %q }\n  %s", stage, more)
	}
	type step struct {
		name   string
		do     func(*testing.T, *workspace)
		change func(*Options)
		want   [3]int
	}
	again := func(o *Options) { o.Force = true }
	later := func(o *Options) { o.Now = func() time.Time { return time.Now().Add(2 * time.Hour) } }
	edit := func(from, to string) func(*testing.T, *workspace) {
		return func(_ *testing.T, w *workspace) { w.edit(from, to) }
	}
	for _, test := range []struct {
		name  string
		stage string // whose config is replaced by
		more  string
		play  func(*call) answer
		steps []step
	}{
		{name: "nothing changed", steps: []step{{name: "again"}}},
		{name: "always-make", steps: []step{{name: "-B", change: again, want: [3]int{5, 5, 5}}, {name: "again"}}},
		{name: "cache = false", stage: "two", more: "cache = false", steps: []step{
			{name: "again", want: [3]int{0, 5, 0}}, {name: "and again", want: [3]int{0, 5, 0}}}},
		{name: "max_age", stage: "two", more: `max_age = "1h"`, steps: []step{
			{name: "within"}, {name: "too old", change: later, want: [3]int{0, 5, 0}}}},
		{name: "a name, limits and comments", steps: []step{
			{name: "edit", do: edit(`config { note = "two" }`, "config { note = \"two\" } # as before\n  timeout = \"9m\"\n  concurrency = 3\n  retry { attempts = 7 }")}}},
		{name: "a stage's configuration", steps: []step{
			{name: "of the first", do: edit(`note = "one"`, `note = "uno"`), want: [3]int{5, 0, 0}}, // it answers the same
			{name: "of the second", do: edit(`note = "two"`, `note = "due"`), want: [3]int{0, 5, 0}},
			{name: "and back", do: edit(`note = "due"`, `note = "two"`)}}},
		{name: "an answer that changes", play: func(c *call) answer {
			return answer{Output: set(c.Input, c.Stage, c.PID)} // another in each process
		}, steps: []step{{name: "of the second", do: edit(`note = "two"`, `note = "due"`), want: [3]int{0, 5, 5}}}},
		{name: "volatile", stage: "one", more: `volatile = ["/at"]`, play: func(c *call) answer {
			if c.Stage == "one" {
				return answer{Output: set(c.Input, "at", c.PID)}
			}
			return answer{}
		}, steps: []step{{name: "made anew", do: edit(`note = "one"`, `note = "uno"`), want: [3]int{5, 0, 0}}}},
		{name: "routes", steps: []step{
			{name: "that lead as before", do: edit("to   = stage.two", "when {\n    if = item.n > 100\n    to = stage.three\n  }\n  else { to = stage.two }")},
			{name: "past the second", do: edit("item.n > 100", "item.n > 2"), want: [3]int{0, 0, 2}},
		}},
		{name: "the gate", steps: []step{
			{name: "another check", do: func(_ *testing.T, w *workspace) {
				w.edit("candidate = { card = item }", "candidate = { card = item }\n  check \"words\" {\n    code = failure.R_BAD\n    text = card.id\n    max  = 5\n  }")
				w.edit("source \"items\"", "failure \"R_BAD\" { meaning = \"Bad.\" }\nsource \"items\"")
			}}}},
		{name: "staging deleted", steps: []step{
			{name: "made anew", do: func(t *testing.T, w *workspace) { removeAll(t, w, "staging") }, want: [3]int{5, 5, 5}}}},
		{name: "corpus deleted", steps: []step{
			{name: "committed anew", do: func(t *testing.T, w *workspace) { removeAll(t, w, "data", "meta") }}}},
		{name: "artifacts deleted", steps: []step{
			{name: "made anew", do: func(t *testing.T, w *workspace) { removeAll(t, w, "staging/artifacts") }, want: [3]int{5, 5, 5}}}},
		{name: "artifacts damaged", steps: []step{
			{name: "found when they are read", do: func(t *testing.T, w *workspace) {
				damage(t, w)
				w.edit(`note = "three"`, `note = "tre"`)
			}, want: [3]int{5, 5, 5}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			pipeline := chain("one", "two", "three")
			if test.stage != "" {
				pipeline = strings.Replace(pipeline, fmt.Sprintf("config { note = %q }", test.stage), noted(test.stage, test.more), 1)
			}
			play := test.play
			if play == nil {
				play = func(c *call) answer { return answer{Output: set(c.Input, c.Stage, true)} }
			}
			w := newWorkspace(t, pipeline, numbered(5, ""), play)
			w.run()
			if w.made3() != [3]int{5, 5, 5} {
				t.Fatalf("the first run made %v visits", w.made3())
			}
			records := w.read("data/cards.jsonl")
			for _, s := range test.steps {
				if s.do != nil {
					s.do(t, w)
				}
				w.forget()
				var change []func(*Options)
				if s.change != nil {
					change = append(change, s.change)
				}
				sum := w.run(change...)
				if diff := cmp.Diff(s.want, w.made3()); diff != "" {
					t.Errorf("%s: visits (-want +got):\n%s", s.name, diff)
				}
				n := 0
				for _, m := range s.want {
					n += m
				}
				if sum.Kind != 0 || sum.Tally.Visits != n {
					t.Errorf("%s: %+v", s.name, sum)
				}
				if test.play == nil && test.name != "routes" {
					if diff := cmp.Diff(records, w.read("data/cards.jsonl")); diff != "" {
						t.Errorf("%s: records (-want +got):\n%s", s.name, diff)
					}
				}
			}
		})
	}
}

func removeAll(t *testing.T, w *workspace, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// damage changes a byte in each line of each segment.
func damage(t *testing.T, w *workspace) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(w.dir, "staging", "artifacts", "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no segments: %v", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b = []byte(strings.ReplaceAll(string(b), `"n":`, `"m":`))
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Evidence without its records is no corpus to go on from: a file that is gone
// ends the run, and a folder that is gone may come back, so its items are parked.
func TestOnlyDataDeleted(t *testing.T) {
	again := func(t *testing.T, gone string) (*Summary, error) {
		w := newWorkspace(t, one, numbered(5, ""), keep)
		w.run()
		if err := os.RemoveAll(filepath.Join(w.dir, gone)); err != nil {
			t.Fatal(err)
		}
		w.forget()
		w.write("items.jsonl", strings.Join(numbered(6, ""), "\n")+"\n")
		s, err := w.attempt()
		if _, err := os.Stat(filepath.Join(w.dir, "data", "cards.jsonl")); err == nil {
			t.Error("the gate made a new corpus beside the old evidence")
		}
		return s, err
	}
	t.Run("the file", func(t *testing.T) {
		s, err := again(t, "data/cards.jsonl")
		if dag.KindOf(err) != dag.KindDiffers || !strings.Contains(err.Error(), "data/cards.jsonl") {
			t.Errorf("the run ended with %+v, %v", s, err)
		}
	})
	t.Run("the folder", func(t *testing.T) {
		s, err := again(t, "data")
		if err != nil || s.Kind != dag.KindInfrastructure || s.Tally.Ends[dag.Parked] != 1 || !strings.Contains(s.Problems[0].Reason, "is gone") {
			t.Errorf("the run ended with %+v, %v", s, err)
		}
	})
}

// A dry run commits nothing, and what it visited is not visited again.
func TestDry(t *testing.T) {
	w := newWorkspace(t, strings.Replace(cards, "$GATE", "", 1), topics(8, 3, 3), playCards)
	dry := func(o *Options) { o.Dry = true }
	s := w.run(dry)
	if s.Kind != 0 || s.Tally.Ends[dag.Accepted] == 0 || !s.Dry {
		t.Fatalf("%+v", s)
	}
	for _, name := range []string{"data", "meta/evidence.jsonl", "meta/rejections.jsonl"} {
		if _, err := os.Stat(filepath.Join(w.dir, name)); err == nil {
			t.Errorf("a dry run wrote %s", name)
		}
	}
	w.forget()
	if again := w.run(dry); again.Tally.Settled != 0 || w.made("") != 0 {
		t.Errorf("a second dry run made %d visits: %+v", w.made(""), again.Tally)
	}
	wet := w.run()
	if w.made("") != 0 {
		t.Errorf("the run after it made %d visits", w.made(""))
	}
	if diff := cmp.Diff(s.Tally.Ends, wet.Tally.Ends); diff != "" {
		t.Errorf("dry and committed (-dry +committed):\n%s", diff)
	}
	if got := len(w.rows("meta/evidence.jsonl")); got != wet.Tally.Ends[dag.Accepted] {
		t.Errorf("%d rows of evidence, want %d", got, wet.Tally.Ends[dag.Accepted])
	}
}

// A stage with samples makes so many actions, and its output is their list; one
// more sample pays for one more.
func TestSamples(t *testing.T) {
	pipeline := strings.Replace(chain("vote"), `config { note = "vote" }`, "config { note = \"vote\" }\n  samples = 2", 1)
	pipeline = strings.NewReplacer("record   = card", "record   = { votes = card }", "id       = card.id", "id       = origin.id").Replace(pipeline)
	w := newWorkspace(t, pipeline, numbered(4, ""), func(c *call) answer {
		return answer{Output: jsonOf(fmt.Sprintf("%s says %d", c.Key, c.Sample))}
	})
	s := w.run()
	if s.Kind != 0 || w.made("vote") != 8 || s.Tally.Visits != 8 {
		t.Errorf("%d visits: %+v", w.made("vote"), s)
	}
	if got, want := string(w.rows("data/cards.jsonl")[1]), `{"id":"i0001","votes":["i0001 says 0","i0001 says 1"]}`; got != want {
		t.Errorf("the record is %s, want %s", got, want)
	}
	w.edit("samples = 2", "samples = 1") // a list of one, else a number in a variable would change what `output` is
	removeAll(t, w, "data", "meta")
	if s = w.run(); s.Kind != 0 || s.Tally.Visits != 0 {
		t.Errorf("%d visits: %+v", w.made("vote"), s)
	}
	if got, want := string(w.rows("data/cards.jsonl")[1]), `{"id":"i0001","votes":["i0001 says 0"]}`; got != want {
		t.Errorf("the record is %s, want %s", got, want)
	}
	w.forget()
	w.edit("samples = 1", "samples = 3")
	w.write("items.jsonl", strings.Join(numbered(5, ""), "\n")+"\n")
	removeAll(t, w, "data", "meta")
	plan, err := Plan(t.Context(), w.options(nil))
	if err != nil {
		t.Fatal(err)
	}
	if s = w.run(); s.Kind != 0 || w.made("vote") != 4+3 {
		t.Errorf("%d visits: %+v", w.made("vote"), s)
	}
	if line := plan.Stages[0]; line.Run != 4+3 {
		t.Errorf("the plan said %d visits: %+v", line.Run, line)
	}
	if got, want := string(w.rows("data/cards.jsonl")[0]), `{"id":"i0000","votes":["i0000 says 0","i0000 says 1","i0000 says 2"]}`; got != want {
		t.Errorf("the record is %s, want %s", got, want)
	}
}

// A completion that is in the store is not asked for again, unless the stage, or
// the run, wants it anew.
func TestCompletionsReused(t *testing.T) {
	play := func(c *call) answer {
		if c.Stage == "provider.judge" {
			return answer{Output: jsonOf("yes")}
		}
		return answer{Ask: "is " + c.Key + " good?"}
	}
	for _, test := range []struct {
		name, stage string
		edit        [2]string
		change      func(*Options)
		visits      int
		calls       int
	}{
		{name: "another visit, the same question", edit: [2]string{"plugin = plugin.asker", "plugin = plugin.asker\n  config { note = \"new\" }"}, visits: 4},
		{name: "another model", edit: [2]string{`model  = "m"`, `model  = "n"`}, visits: 4, calls: 4},
		{name: "always-make", change: func(o *Options) { o.Force = true }, visits: 4, calls: 4},
		{name: "cache = false", stage: "cache = false", visits: 4, calls: 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorkspace(t, asking("", test.stage), numbered(4, ""), play)
			if s := w.run(); s.Kind != 0 || w.made("provider.judge") != 4 || s.Tally.Calls != 4 {
				t.Fatalf("%d calls: %+v", w.made("provider.judge"), s)
			}
			w.forget()
			if test.edit[0] != "" {
				w.edit(test.edit[0], test.edit[1])
			}
			var change []func(*Options)
			if test.change != nil {
				change = append(change, test.change)
			}
			if s := w.run(change...); s.Kind != 0 || w.made("work") != test.visits || w.made("provider.judge") != test.calls {
				t.Errorf("%d visits and %d calls, want %d and %d: %+v", w.made("work"), w.made("provider.judge"), test.visits, test.calls, s)
			}
		})
	}
}
