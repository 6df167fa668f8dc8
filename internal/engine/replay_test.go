package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// prompted is a pipeline of two stages that ask a model by a prompt.
const prompted = `
plugin "prompt" { source = "builtin/prompt" }
plugin "model" { source = "builtin/model" }
provider "judge" {
  plugin = plugin.model
  model  = "m"
  config { director = "$DIRECTOR" }
}
source "items" {
  files = ["items.jsonl"]
  key   = origin.id
}
stage "writer" {
  plugin   = plugin.prompt
  provider = provider.judge
  config { template = file("writer.md") }
  output { schema = "card.json" }
}
route "written" {
  from = stage.writer
  to   = stage.judge
}
stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  config { template = file("judge.md") }
  output { schema = "card.json" }
  forward = item
}
route "judged" {
  from = stage.judge
  to   = gate.accept
}
` + plainGate

func promptedWorkspace(t *testing.T) *workspace {
	w := newWorkspace(t, prompted, numbered(3, ""), func(c *call) answer {
		text := string(c.Input)
		_, id, _ := strings.Cut(text, "card ")
		return answer{Output: jsonOf(`{"id":"` + strings.Trim(id, `".`) + `"}`)}
	})
	w.write("writer.md", "Write card {{ .id }}.")
	w.write("judge.md", "Judge card {{ .id }}.")
	w.write("card.json", `{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}`)
	return w
}

// An edited prompt asks for what its stage gives, and for what depends on that.
func TestEditedPrompt(t *testing.T) {
	w := promptedWorkspace(t)
	if s := w.run(); s.Kind != 0 || w.made("provider.judge") != 6 || s.Tally.Ends[dag.Accepted] != 3 {
		t.Fatalf("%d calls: %+v", w.made("provider.judge"), s)
	}
	for _, step := range []struct {
		file, text    string
		visits, calls int
	}{
		{"judge.md", "Judge the card {{ .id }}.", 3, 3},
		{"writer.md", "Write the card {{ .id }}.", 3, 3}, // the model writes the same: the judge is not asked again
		{"judge.md", "Judge card {{ .id }}.", 0, 0},
	} {
		w.forget()
		w.write(step.file, step.text)
		plan, err := Plan(t.Context(), w.options(nil))
		if err != nil {
			t.Fatal(err)
		}
		s := w.run()
		if s.Kind != 0 || s.Tally.Visits != step.visits || w.made("provider.judge") != step.calls {
			t.Errorf("%s: %d calls: %+v", step.text, w.made("provider.judge"), s)
		}
		if plan.Calls.Unknown || plan.Calls.Value < step.calls {
			t.Errorf("%s: the plan said %v calls at most", step.text, plan.Calls)
		}
	}
}

// Under replay nothing is called; a request that is not recorded parks its item,
// with the nearest that is.
func TestReplayMiss(t *testing.T) {
	w := promptedWorkspace(t)
	w.run(func(o *Options) { o.Record = w.dir + "/cassette.jsonl" })
	removeAll(t, w, "staging", "data", "meta")
	w.edit(`pipeline "test" {}`, `pipeline "test" { replay = "cassette.jsonl" }`)
	w.write("items.jsonl", strings.Join(numbered(4, ""), "\n")+"\n")
	w.forget()
	s := w.run()
	if s.Kind != dag.KindInfrastructure || s.Kind.ExitStatus() != 2 || w.made("") != 0 {
		t.Errorf("%d calls: %+v", w.made(""), s)
	}
	if diff := cmp.Diff(map[dag.End]int{dag.Accepted: 3, dag.Parked: 1}, s.Tally.Ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	reason := problem(t, s, "i0003").Reason
	for _, part := range []string{"stage writer", "no recorded completion", "nearest", "recorded: ", "asked: ", "i0003", "i000"} {
		if !strings.Contains(reason, part) {
			t.Errorf("the reason does not say %q:\n%s", part, reason)
		}
	}
	w.forget()
	s = w.run(func(o *Options) { o.Live = true })
	if s.Kind != 0 || s.Tally.Ends[dag.Accepted] != 4 {
		t.Errorf("live: %+v", s)
	}
}

// A provider that crashes is the world's fault: the visit is tried again with a
// new process.
func TestProviderCrash(t *testing.T) {
	w := newWorkspace(t, asking("", "retry {\n    attempts = 3\n    backoff = \"1ms\"\n    max_backoff = \"5ms\"\n  }"), numbered(3, ""), nil)
	crashed := false
	w.direct(func(c *call) answer {
		if c.Stage != "provider.judge" {
			return answer{Ask: c.Key}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if !crashed {
			crashed = true
			return answer{Crash: true}
		}
		return answer{Output: jsonOf("yes")}
	})
	s := w.run(jobs(1))
	if s.Kind != 0 || s.Tally.Ends[dag.Accepted] != 3 {
		t.Errorf("%+v", s)
	}
}

// A budget that is spent ends the run; the next one has its own.
func TestR54R55R56Budget(t *testing.T) {
	w := newWorkspace(t, asking("", ""), numbered(6, ""), func(c *call) answer {
		if c.Stage != "provider.judge" {
			return answer{Ask: c.Key}
		}
		return answer{Output: jsonOf("yes")}
	})
	w.edit(`pipeline "test" {}`, "pipeline \"test\" {\n  budget { calls = 4 }\n}")
	s := w.run(jobs(1))
	if s.Kind != dag.KindStopped || s.Tally.Ends[dag.Accepted] != 4 || w.made("provider.judge") != 4 {
		t.Errorf("%d calls: %+v", w.made("provider.judge"), s)
	}
	if p := problem(t, s, "i0004"); !strings.Contains(p.Reason, "budget of 4 calls") {
		t.Errorf("the reason is %q", p.Reason)
	}
	w.forget()
	if s = w.run(); s.Kind != 0 || s.Tally.Ends[dag.Accepted] != 6 || w.made("provider.judge") != 2 {
		t.Errorf("then %d calls: %+v", w.made("provider.judge"), s)
	}
}
