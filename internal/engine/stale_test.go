package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
)

// staleOf compares the pipeline that a workspace has with one that it had.
func (w *workspace) staleOf(was *dag.Graph) *Stale {
	w.t.Helper()
	side := func(g *dag.Graph) Side { return Side{Graph: g, Dir: w.dir} }
	s, err := StaleOf(w.t.Context(), StaleOptions{Was: side(was), Is: side(w.graph()), Dir: w.dir, Live: true, Self: self(), Bundled: info})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// What an edit makes stale, in a chain of three stages over five items.
func TestStale(t *testing.T) {
	free := func(actions int) Cost {
		c := noCost()
		c.Actions = actions
		return c
	}
	perhaps := func(stage string, why ...string) StaleStage {
		return StaleStage{Stage: stage, Perhaps: why, Cost: free(5)}
	}
	for _, c := range []struct {
		name     string
		from, to string
		want     Stale
	}{
		{"nothing", "", "", Stale{Stages: []StaleStage{}, Gate: StaleGate{Verdicts: 5}}},
		{"limits", `config { note = "two" }`, "config { note = \"two\" }\n  timeout = \"9m\"\n  concurrency = 3", Stale{Stages: []StaleStage{}, Gate: StaleGate{Verdicts: 5}}},
		{"the last stage", `note = "three"`, `note = "tre"`, Stale{
			Stages: []StaleStage{{Stage: "three", Parts: []string{"config"}, Cost: free(5)}},
			Gate:   StaleGate{Verdicts: 5, Perhaps: true}}},
		{"the first stage", `note = "one"`, `note = "uno"`, Stale{
			Stages: []StaleStage{{Stage: "one", Parts: []string{"config"}, Cost: free(5)}, perhaps("two", "after stage.one"), perhaps("three", "after stage.one")},
			Gate:   StaleGate{Verdicts: 5, Perhaps: true}}},
		{"an input", `config { note = "two" }`, "config { note = \"two\" }\n  input = { card = item }", Stale{
			Stages: []StaleStage{perhaps("two", "its input changed"), perhaps("three", "after stage.two")},
			Gate:   StaleGate{Verdicts: 5, Perhaps: true}}},
		{"a way past the second", "to   = stage.two", "when {\n    if = item.n > 2\n    to = stage.three\n  }\n  else { to = stage.two }", Stale{
			Stages: []StaleStage{perhaps("two", "after stage.one"), perhaps("three", "after stage.one")},
			Gate:   StaleGate{Verdicts: 5, Perhaps: true}}},
		{"a check", "candidate = { card = item }", "candidate = { card = item }\n  check \"assert\" {\n    code = failure.R_BAD\n    condition = card.n < 9\n  }", Stale{
			Stages: []StaleStage{}, Gate: StaleGate{Verdicts: 5, Anew: true}}},
		{"the candidate", "candidate = { card = item }", "candidate = { card = item, first = origin }", Stale{
			Stages: []StaleStage{}, Gate: StaleGate{Verdicts: 5, Perhaps: true}}},
		{"a stage's name", `stage "two"`, `stage "zwei"`, Stale{ // the same actions under another name
			Stages: []StaleStage{perhaps("zwei", "after stage.one"), perhaps("three", "after stage.one", "after stage.zwei")},
			Gate:   StaleGate{Verdicts: 5, Perhaps: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t, chain("one", "two", "three"), numbered(5, ""), func(c *call) answer { return answer{Output: set(c.Input, c.Stage, true)} })
			w.run()
			was := w.graph()
			if c.from != "" {
				w.edit(c.from, c.to)
			}
			switch c.name {
			case "a check":
				w.edit(`source "items"`, "failure \"R_BAD\" { meaning = \"Bad.\" }\nsource \"items\"")
			case "a stage's name":
				w.edit("stage.two", "stage.zwei")
			}
			c.want.Anew, c.want.Perhaps = noCost(), noCost()
			for _, s := range c.want.Stages {
				if len(s.Parts) > 0 {
					c.want.Anew.add(s.Cost)
				} else {
					c.want.Perhaps.add(s.Cost)
				}
			}
			if diff := cmp.Diff(&c.want, w.staleOf(was)); diff != "" {
				t.Errorf("stale (-want +got):\n%s", diff)
			}
		})
	}
}

// What was paid for before the edit is not told twice: an edit that is taken back
// makes nothing stale, and what the newer recipe has answered is answered.
func TestStaleKnowsWhatIsAnswered(t *testing.T) {
	w := newWorkspace(t, chain("one", "two"), numbered(5, ""), keep)
	first := w.graph()
	w.run()
	w.edit(`note = "two"`, `note = "due"`)
	if n := w.staleOf(first).Anew.Actions; n != 5 {
		t.Errorf("%d actions are stale after the edit, want 5", n)
	}
	w.run()
	second := w.graph()
	if n := w.staleOf(first).Anew.Actions; n != 0 {
		t.Errorf("%d actions are stale when all are made anew, want none", n)
	}
	w.edit(`note = "due"`, `note = "two"`)
	if n := w.staleOf(second).Anew.Actions; n != 0 {
		t.Errorf("%d actions are stale when the edit is taken back, want none", n)
	}
}

// A price that is not known is not 0, nor is usage that no server told.
func TestStaleCost(t *testing.T) {
	three, price := 3, &dag.Price{Input: 2, CachedInput: 1, Output: 4}
	calls := func(n int) func([]byte) int { return func([]byte) int { return n } }
	facts := dag.Facts{Calls: 1, Input: 1000, Cached: 400, OutTokens: 500}
	tokens, usd, zero, free := 1500, 0.0036, 0, 0.0
	for name, c := range map[string]struct {
		provider *dag.Provider
		calls    int
		facts    dag.Facts
		want     Cost
	}{
		"all is known":          {&dag.Provider{Price: price}, 3, facts, Cost{1, &three, &tokens, &usd}},
		"no price":              {&dag.Provider{}, 3, facts, Cost{1, &three, &tokens, nil}},
		"no usage":              {&dag.Provider{Price: price}, 3, dag.Facts{Calls: 1}, Cost{1, &three, nil, nil}},
		"no bound of the calls": {&dag.Provider{Price: price}, 0, facts, Cost{1, nil, &tokens, &usd}},
		"no provider":           {nil, 3, facts, Cost{1, &zero, &zero, &free}},
	} {
		s := &dag.Stage{Provider: c.provider, Info: &dag.PluginInfo{CallsPerVisit: calls(c.calls)}}
		if diff := cmp.Diff(c.want, costOf(s, c.facts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Every stage whose recipe is another one is in the list with the parts that
// changed; the first of them makes as many visits anew as the plan says.
func TestStaleIsWhatAPlanRuns(t *testing.T) {
	w := newWorkspace(t, chain("one", "two", "three"), numbered(4, ""), keep)
	w.run()
	was, kept := w.graph(), w.read("pipeline.hcl")
	rapid.Check(t, func(t *rapid.T) {
		text := kept
		edited := map[string]bool{}
		for _, name := range []string{"one", "two", "three"} {
			switch rapid.SampledFrom([]string{"nothing", "note", "schema", "volatile", "timeout"}).Draw(t, name) {
			case "note":
				text, edited[name] = strings.Replace(text, `note = "`+name+`"`, `note = "x"`, 1), true
			case "schema":
				text, edited[name] = strings.Replace(text, `config { note = "`+name, `output { schema = "any.json" }`+"\n  config { note = \""+name, 1), true
			case "volatile":
				text, edited[name] = strings.Replace(text, `config { note = "`+name, `volatile = ["/at"]`+"\n  config { note = \""+name, 1), true
			case "timeout":
				text = strings.Replace(text, `config { note = "`+name, `timeout = "9s"`+"\n  config { note = \""+name, 1)
			}
		}
		w.write("any.json", `{"type":"object"}`)
		w.write("pipeline.hcl", text)
		stale := w.staleOf(was)
		plan, err := Plan(w.t.Context(), w.options(nil))
		if err != nil {
			t.Fatal(err)
		}
		sure := map[string]bool{}
		first := true
		for _, s := range stale.Stages {
			if len(s.Parts) == 0 {
				continue
			}
			sure[s.Stage] = true
			if line := plan.Stages[w.graph().Stage(s.Stage).Index]; first && line.Run != s.Cost.Actions {
				t.Errorf("stage %s: %d actions are stale, the plan runs %d", s.Stage, s.Cost.Actions, line.Run)
			}
			first = false
		}
		if diff := cmp.Diff(edited, sure); diff != "" {
			t.Errorf("stages with another recipe (-edited +told):\n%s", diff)
		}
		if len(edited) == 0 && len(stale.Stages) > 0 {
			t.Errorf("nothing was edited, and %+v is stale", stale.Stages)
		}
	})
}

// A cassette and a program that were not there are taken as they are now, and
// that is said.
func TestStaleWithoutWhatWasThere(t *testing.T) {
	w := newWorkspace(t, chain("one"), numbered(1, ""), keep)
	w.write("cassette.jsonl", "")
	was, is := w.graph(), w.graph()
	was.Pipeline.Replay, is.Pipeline.Replay = "cassette.jsonl", "cassette.jsonl"
	empty := t.TempDir()
	s, err := StaleOf(t.Context(), StaleOptions{Was: Side{was, empty}, Is: Side{is, w.dir}, Dir: w.dir, Self: self(), Bundled: info})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"the cassette cassette.jsonl is not there as it was; it is taken as it is now"}, s.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if err := os.Remove(filepath.Join(w.dir, "cassette.jsonl")); err != nil {
		t.Fatal(err)
	}
	if _, err := StaleOf(t.Context(), StaleOptions{Was: Side{was, empty}, Is: Side{is, w.dir}, Dir: w.dir, Self: self(), Bundled: info}); err == nil {
		t.Error("a cassette that is not there at all is no error")
	}
}
