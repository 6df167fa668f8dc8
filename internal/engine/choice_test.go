package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"writer", "writer", true},
		{"writer", "writers", false},
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "music/easy/1", true},
		{"music/*", "music/easy/1", true},
		{"music/*", "music", false},
		{"*/1", "music/easy/1", true},
		{"*/1", "music/easy/11", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"?", "ß", true},
		{"?", "ab", false},
		{"??", "aß", true},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{`a\?b`, "a?b", true},
		{`\\`, `\`, true},
		{`*\*`, "ab*", true},
		{"[a]", "[a]", true}, // no classes: an item's key may well have brackets
		{strings.Repeat("*a", 30), strings.Repeat("a", 60) + "b", false},
	} {
		if got := matches(tt.pattern, tt.text); got != tt.want {
			t.Errorf("matches(%q, %q) is %v", tt.pattern, tt.text, got)
		}
	}
}

// What a flag cannot mean is refused before anything is started, with what may
// have been meant.
func TestChoiceIsRefused(t *testing.T) {
	pipeline := strings.Replace(asking("", ""), `to   = gate.accept`, `to   = stage.sort`, 1) + `
failure "R_BAD" { meaning = "Bad." }
stage "sort" {
  decide {
    else { outcome = "ok" }
  }
}
route "sorted" {
  from = stage.sort
  to   = stage.plain
}
stage "plain" { plugin = plugin.actor }
route "last" {
  from = stage.plain
  on "ok" { to = gate.accept }
  fail {
    stop = "failed"
    code = failure.R_BAD
  }
}
`
	for _, tt := range []struct {
		name   string
		choice Choice
		replay bool
		want   string
	}{
		{"a stage", Choice{Rerun: []string{"wrok"}}, false, `--rerun wrok: the pipeline has no stage "wrok". Did you mean "work"? There are "plain" and "work".`},
		{"a pattern of stages", Choice{Rerun: []string{"x*"}}, false, `--rerun x*: no stage of the pipeline matches "x*"`},
		{"rules", Choice{Rerun: []string{"sort"}}, false, `--rerun sort: stage sort is rules, and these are evaluated in every run`},
		{"brackets", Choice{Rerun: []string{"work[i0001"}}, false, `--rerun work[i0001: write it as STAGE or STAGE[ITEM], quoted for the shell`},
		{"no model", Choice{Resample: []string{"plain"}}, false, `--resample plain: stage plain asks no model`},
		{"a cassette", Choice{Resample: []string{"work"}}, true, `--resample work: a cassette answers (tape.jsonl), so there is no new sample to be had`},
		{"an item", Choice{Rerun: []string{"work[i001]"}}, false, `--rerun work[i001]: no source has an item "i001". Did you mean "i0001"? There are "i0000", "i0001" and "i0002".`},
		{"only an item", Choice{Only: []string{"i0001", "x"}}, false, `--only x: no source has an item "x". There are "i0000", "i0001" and "i0002".`},
		{"only items", Choice{Only: []string{"x*"}}, false, `--only x*: no item matches it`},
		{"only a child", Choice{Only: []string{"i0001/a"}}, false, `--only i0001/a: an item that is fanned out runs with the one that it came of, "i0001"`},
		{"a class", Choice{Retry: []string{"rejectd"}}, false, `--retry rejectd: there is no class "rejectd". Did you mean "rejected"? A class is transient, failed, rejected, quarantined, skipped, review, parked, or a failure code`},
		{"a code", Choice{Retry: []string{"R_BAAD"}}, false, `--retry R_BAAD: there is no class "R_BAAD". Did you mean "R_BAD"? A class is transient, failed, rejected, quarantined, skipped, review, parked, or a failure code`},
		{"accepted", Choice{Retry: []string{"accepted"}}, false, `--retry accepted: there is no class "accepted". A class is transient, failed, rejected, quarantined, skipped, review, parked, or a failure code`},
		{"a limit", Choice{Limit: -1}, false, `--limit -1: it takes a whole number from 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorkspace(t, pipeline, numbered(3, ""), keep)
			if tt.replay {
				w.edit(`pipeline "test" {}`, `pipeline "test" { replay = "tape.jsonl" }`)
			}
			flags := func(o *Options) { o.Choice = tt.choice }
			for _, do := range []func() error{
				func() error { _, err := w.attempt(flags); return err },
				func() error { _, err := Plan(t.Context(), w.options([]func(*Options){flags})); return err },
			} {
				err := do()
				if err == nil || err.Error() != tt.want || dag.KindOf(err) != dag.KindConfig {
					t.Errorf("got  %v\nwant %s", err, tt.want)
				}
			}
			if w.made("") != 0 {
				t.Errorf("%d visits were made", w.made(""))
			}
		})
	}
}

// A rerun makes a visit anew and takes the completions that were paid for; a
// resample, as -B, asks the model. Nothing else is made, and the plan says the same.
func TestRequirement34RerunAndResample(t *testing.T) {
	const all = 4
	for _, tt := range []struct {
		name          string
		change        func(*Options)
		visits, calls int
		why           string
	}{
		{"a plain run", nil, 0, 0, ""},
		{"rerun a stage", func(o *Options) { o.Choice.Rerun = []string{"work"} }, all, 0, "--rerun work: what it gave is not used"},
		{"rerun an item", func(o *Options) { o.Choice.Rerun = []string{"work[i0002]"} }, 1, 0, "--rerun work[i0002]: what it gave is not used"},
		{"rerun items", func(o *Options) { o.Choice.Rerun = []string{"w*[*2]", "work[*3]"} }, 2, 0, "--rerun w*[*2]: what it gave is not used"},
		{"resample a stage", func(o *Options) { o.Choice.Resample = []string{"work"} }, all, all, "--resample work: the model is asked anew"},
		{"resample an item", func(o *Options) { o.Choice.Resample = []string{"work[i0002]"} }, 1, 1, "--resample work[i0002]: the model is asked anew"},
		{"rerun and resample", func(o *Options) {
			o.Choice.Rerun, o.Choice.Resample = []string{"work"}, []string{"work[i0002]"}
		}, all, 1, "--rerun work: what it gave is not used"},
		{"always-make", func(o *Options) { o.Force = true }, all, all, "-B: nothing is answered from staging"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorkspace(t, asking("", ""), numbered(all, ""), func(c *call) answer {
				if c.Stage == "provider.judge" {
					return answer{Output: jsonOf("yes")}
				}
				return answer{Ask: "is " + c.Key + " good?"}
			})
			w.run()
			var change []func(*Options)
			if tt.change != nil {
				change = append(change, tt.change)
			}
			for range 2 { // a flag is about its run, and leaves the next one alone
				plan, err := Plan(t.Context(), w.options(change))
				if err != nil {
					t.Fatal(err)
				}
				w.forget()
				s := w.run(change...)
				if w.made("work") != tt.visits || w.made("provider.judge") != tt.calls || s.Kind != 0 || s.Tally.Ends[dag.Accepted] != all {
					t.Errorf("%d visits and %d calls: %+v", w.made("work"), w.made("provider.judge"), s)
				}
				if line := plan.Stages[0]; line.Run != tt.visits || tt.why != "" && line.Why[0].Why != tt.why {
					t.Errorf("the plan said %+v", line)
				}
				if plan.Empty() != (tt.visits == 0) {
					t.Errorf("whether the plan is empty: %v", plan.Empty())
				}
			}
		})
	}
}

// What is made anew for one item is not made anew for another that asks for the
// very same: whichever comes first, it has the answer that it had.
func TestRerunOfOneOfTwo(t *testing.T) {
	pipeline := strings.Replace(chain("first", "second"), "plugin = plugin.actor\n  config { note = \"second\" }", "plugin = plugin.actor\n  input = { id = \"same\" }\n  forward = output", 1)
	pipeline = strings.NewReplacer("record   = card", "record   = { said = card }", "id       = card.id", "id       = origin.id").Replace(pipeline)
	round := 1
	w := newWorkspace(t, pipeline, numbered(6, ""), nil)
	w.direct(func(c *call) answer {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.Stage == "first" {
			return answer{}
		}
		return answer{Output: jsonOf(map[string]any{"round": round})}
	})
	w.run()
	w.mu.Lock()
	round = 2
	w.mu.Unlock()
	w.forget()
	s := w.run(func(o *Options) { o.Choice.Rerun = []string{"second[i0003]", "first[i0002]", "first[i0005]"} })
	if s.Kind != 0 || w.made("first") != 2 || w.made("second") != 1 {
		t.Errorf("%d and %d visits: %+v", w.made("first"), w.made("second"), s)
	}
	said := map[string]string{}
	store := w.store()
	defer func() { _ = store.Close() }()
	for key, m := range w.members() {
		v := m.Trail.Visits[1]
		doc, err := store.Get(v.Output)
		if err != nil {
			t.Fatal(err)
		}
		said[key] = fmt.Sprintf("%s %v", doc, v.Facts.Reused)
	}
	// Those that were taken in again for their first visit have the old answer.
	want := map[string]string{"i0000": `{"round":1} true`, "i0001": `{"round":1} true`, "i0002": `{"round":1} true`,
		"i0003": `{"round":2} false`, "i0004": `{"round":1} true`, "i0005": `{"round":1} true`}
	for _, key := range []string{"i0000", "i0001", "i0004"} { // these were finished: who paid for their one visit does not matter
		want[key] = said[key]
		if !strings.HasPrefix(said[key], `{"round":1}`) {
			t.Errorf("%s has %s", key, said[key])
		}
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("second answers (-want +got):\n%s", diff)
	}
}

// Retry takes up the items of a class at their last visit, and no others.
func TestRetryClass(t *testing.T) {
	pipeline := strings.Replace(chain("write", "judge"), "route \"judge\" {\n  from = stage.judge\n  to   = gate.accept\n}", `failure "R_BAD" { meaning = "Bad." }
route "judge" {
  from = stage.judge
  to   = gate.accept
  fail "E_REFUSED" {
    to   = gate.accept
    as   = "quarantine"
    code = failure.R_BAD
  }
}`, 1)
	items := numbered(5, "")
	first := func(c *call) answer {
		switch {
		case c.Key == "i0001" && c.Stage == "write":
			return answer{Code: "E_REFUSED", Message: "no"}
		case c.Key == "i0002" && c.Stage == "judge":
			return answer{Code: "E_REFUSED", Message: "no"}
		case c.Key == "i0003" && c.Stage == "judge":
			return answer{Crash: true}
		case c.Key == "i0004" && c.Stage == "judge":
			return answer{Infra: true, Code: "E_PLUGIN", Message: "what?"}
		}
		return answer{}
	}
	for _, tt := range []struct {
		class        string
		write, judge int // visits; one of judge's is that of what was parked, which every run makes
		accepted     int
	}{
		{"", 0, 1, 2},
		{"parked", 0, 1, 2},
		{"failed", 1, 3, 4}, // one goes on to its judge
		{"quarantined", 0, 2, 3},
		{"R_BAD", 0, 2, 3},
		{"E_REFUSED", 1, 3, 4}, // the cause counts, whatever code a route gave
		{"transient", 0, 2, 3},
		{"rejected", 0, 1, 2},
	} {
		t.Run(tt.class, func(t *testing.T) {
			w := newWorkspace(t, pipeline, items, first)
			w.run(jobs(1), func(o *Options) { o.KeepGoing = true })
			before := w.ends()
			if diff := cmp.Diff(map[string]dag.End{"i0000": "accepted", "i0001": "failed", "i0002": "quarantined", "i0003": "failed", "i0004": "parked"}, before); diff != "" {
				t.Fatalf("ends (-want +got):\n%s", diff)
			}
			w.direct(keep)
			var change []func(*Options)
			if tt.class != "" {
				change = append(change, func(o *Options) { o.Choice.Retry = []string{tt.class} })
			}
			plan, err := PlanItems(t.Context(), w.options(change), "")
			if err != nil {
				t.Fatal(err)
			}
			w.forget()
			s := w.run(change...)
			if w.made("write") != tt.write || w.made("judge") != tt.judge || s.Tally.Ends[dag.Accepted] != tt.accepted {
				t.Errorf("%d and %d visits: %+v", w.made("write"), w.made("judge"), s.Tally)
			}
			if plan.Stages[0].Run != tt.write || plan.Stages[1].Run > tt.judge {
				t.Errorf("the plan said %+v", plan.Stages)
			}
		})
	}
}

// Whether few items run or all, and whatever staging holds: a stage sees the same
// inputs, and what was left out is neither finished nor lost.
func TestRequirement35FewItemsOnAWarmCache(t *testing.T) {
	pipeline := chain("one", "two")
	play := func(c *call) answer { return answer{Output: set(c.Input, c.Stage, member(c.Input, "n"))} }
	inputs := func(w *workspace) map[string][]dag.Digest {
		all := map[string][]dag.Digest{}
		for key, m := range w.members() {
			for _, v := range m.Trail.Visits {
				all[key] = append(all[key], v.Input)
			}
		}
		return all
	}
	cold := newWorkspace(t, pipeline, numbered(12, ""), play)
	cold.run()
	want := inputs(cold)
	for _, tt := range []struct {
		name   string
		choice Choice
		items  int
		left   LeftOut
	}{
		{"the first", Choice{Limit: 5}, 5, LeftOut{Limit: 7}},
		{"one", Choice{Only: []string{"i0007"}}, 1, LeftOut{Only: 11}},
		{"some", Choice{Only: []string{"*1", "i0002"}}, 3, LeftOut{Only: 9}},
		{"the first of some", Choice{Only: []string{"i000*"}, Limit: 4}, 4, LeftOut{Only: 2, Limit: 6}},
		{"more than there are", Choice{Limit: 99}, 12, LeftOut{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorkspace(t, pipeline, numbered(12, ""), play)
			flags := func(o *Options) { o.Choice = tt.choice }
			for pass, visits := range []int{2 * tt.items, 0} { // cold, then warm
				plan, err := Plan(t.Context(), w.options([]func(*Options){flags}))
				if err != nil {
					t.Fatal(err)
				}
				w.forget()
				s := w.run(flags)
				if s.Tally.TakenIn != tt.items || s.Tally.LeftOut != tt.left || w.made("") != visits || s.Tally.Settled != pass*tt.items {
					t.Errorf("pass %d: %d visits: %+v", pass, w.made(""), s.Tally)
				}
				if plan.Items != tt.items || plan.LeftOut != tt.left || plan.Empty() != (visits == 0) {
					t.Errorf("pass %d: the plan said %+v", pass, plan)
				}
			}
			for key, got := range inputs(w) {
				if diff := cmp.Diff(want[key], got); diff != "" {
					t.Errorf("%s: inputs (-cold +warm):\n%s", key, diff)
				}
			}
			w.forget()
			s := w.run() // the rest, and the rest alone
			if s.Tally.TakenIn != 12 || w.made("") != 2*(12-tt.items) {
				t.Errorf("then %d visits: %+v", w.made(""), s.Tally)
			}
			if diff := cmp.Diff(want, inputs(w)); diff != "" {
				t.Errorf("inputs in the end (-cold +warm):\n%s", diff)
			}
		})
	}
}

// A frozen run makes no visit: where it would have to, it says which and why, and
// has not begun.
func TestRequirement9Frozen(t *testing.T) {
	frozen := func(o *Options) { o.Frozen = true }
	w := newWorkspace(t, chain("one", "two"), numbered(3, ""), func(c *call) answer { return answer{Output: set(c.Input, c.Stage, true)} })
	refused := func(want string, change ...func(*Options)) {
		t.Helper()
		w.forget()
		_, err := w.attempt(append(change, frozen)...)
		if err == nil || err.Error() != want || dag.KindOf(err) != dag.KindDiffers {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if w.made("") != 0 {
			t.Errorf("%d visits were made", w.made(""))
		}
	}
	refused("run --frozen: these visits are not answered from staging/:\n  one[i0000]: new item\n  one[i0001]: new item\n  one[i0002]: new item")
	if _, err := os.Stat(filepath.Join(w.dir, "staging")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("staging was made: %v", err)
	}
	w.run()
	if s := w.run(frozen); s.Kind != 0 || s.Tally.Settled != 3 {
		t.Errorf("%+v", s)
	}
	// What is answered is committed: a corpus that is gone is made anew.
	removeAll(t, w, "data", "meta")
	w.forget()
	if s := w.run(frozen); s.Kind != 0 || w.made("") != 0 || s.Tally.Ends[dag.Accepted] != 3 || len(w.rows("data/cards.jsonl")) != 3 {
		t.Errorf("%d visits: %+v", w.made(""), s)
	}
	refused("run --frozen: this visit is not answered from staging/:\n  two[i0001]: --rerun two[i0001]: what it gave is not used",
		func(o *Options) { o.Choice.Rerun = []string{"two[i0001]"} })
	w.edit(`note = "two"`, `note = "zwei"`)
	refused("run --frozen: this visit is not answered from staging/:\n  two[i0002]: changed: config.note",
		func(o *Options) { o.Choice.Only = []string{"i0002"} })
	w.edit(`note = "zwei" }`, "note = \"two\" }\n  cache = false")
	refused("run --frozen: these visits are not answered from staging/:\n  two[i0000]: the stage says `cache = false`\n  two[i0001]: the stage says `cache = false`\n  two[i0002]: the stage says `cache = false`")
}
