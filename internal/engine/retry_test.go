package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// retrying gives a stage so many attempts.
func retrying(pipeline, stage string, attempts int, more string) string {
	return strings.Replace(pipeline, fmt.Sprintf("config { note = %q }", stage),
		fmt.Sprintf("config { note = %q }\n  retry {\n    attempts    = %d\n    backoff     = \"1ms\"\n    max_backoff = \"4ms\"\n  }\n  %s", stage, attempts, more), 1)
}

// tries counts the calls for each item of a stage.
func (w *workspace) tries(stage string) map[string]int {
	n := map[string]int{}
	for _, c := range w.all() {
		if c.Stage == stage {
			n[c.Key]++
		}
	}
	return n
}

// problem is what a run says of one item.
func problem(t *testing.T, s *Summary, key string) Problem {
	t.Helper()
	for _, p := range s.Problems {
		if p.Key == key {
			return p
		}
	}
	t.Fatalf("nothing is said of %s: %+v", key, s.Problems)
	return Problem{}
}

// What failed for want of infrastructure is tried again as the stage says; what
// failed by its content never is.
func TestR53Retry(t *testing.T) {
	var w *workspace
	w = newWorkspace(t, retrying(chain("first", "second"), "second", 3, ""), numbered(6, ""), func(c *call) answer {
		if c.Stage == "first" {
			return answer{}
		}
		switch n := w.tries("second")[c.Key]; {
		case c.Key == "i0001" && n < 3, c.Key == "i0002":
			return answer{Infra: true, Code: "E_UNAVAILABLE", Message: "nobody is at home"}
		case c.Key == "i0003":
			return answer{Code: "E_REFUSED", Message: "not this one"}
		case c.Key == "i0004" && n < 2:
			return answer{Infra: true, Code: "E_RATE_LIMITED", Message: "later", RetryAfter: 250}
		}
		return answer{}
	})
	s := w.run()
	if s.Kind != dag.KindInfrastructure {
		t.Errorf("the run ended with kind %d, want infrastructure", s.Kind)
	}
	want := map[string]int{"i0000": 1, "i0001": 3, "i0002": 3, "i0003": 1, "i0004": 2, "i0005": 1}
	if diff := cmp.Diff(want, w.tries("second")); diff != "" {
		t.Errorf("tries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]dag.End{"i0000": dag.Accepted, "i0001": dag.Accepted, "i0002": dag.Parked,
		"i0003": dag.Failed, "i0004": dag.Accepted, "i0005": dag.Accepted}, w.ends()); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	var asked []time.Time
	for _, c := range w.all() {
		if c.Stage == "second" && c.Key == "i0004" {
			asked = append(asked, c.At)
		}
	}
	if wait := asked[1].Sub(asked[0]); wait < 250*time.Millisecond {
		t.Errorf("asked again after %s, the server said 250ms", wait)
	}
	if p := problem(t, s, "i0002"); !strings.Contains(p.Reason, "second") || !strings.Contains(p.Reason, "nobody is at home") {
		t.Errorf("the reason is %q: it names neither the stage nor the cause", p.Reason)
	}
	rows := w.rows("meta/rejections.jsonl")
	if len(rows) != 1 || member(rows[0], "item") != "i0003" || member(rows[0], "stage") != "second" {
		t.Errorf("rejections: %s", rows)
	}

	// The next run goes on with what was parked, and pays for nothing else.
	w.forget()
	w.direct(keep)
	s = w.run()
	if s.Kind != 0 || s.Tally.Ends[dag.Accepted] != 5 || s.Tally.Settled != 5 {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff(map[string]int{"i0002": 1}, w.tries("second")); diff != "" || w.made("first") != 0 {
		t.Errorf("the second run made %d visits of first, and of second (-want +got):\n%s", w.made("first"), diff)
	}
}

// A visit that hangs ends with its timeout, and is tried again.
func TestTimeout(t *testing.T) {
	w := newWorkspace(t, retrying(chain("only"), "only", 2, `timeout = "150ms"`), numbered(3, ""), func(c *call) answer {
		return answer{Hang: c.Key == "i0001"}
	})
	s := w.run()
	if s.Kind != dag.KindInfrastructure || s.Tally.Ends[dag.Parked] != 1 || s.Tally.Ends[dag.Accepted] != 2 || w.tries("only")["i0001"] != 2 {
		t.Errorf("%+v after %v tries", s, w.tries("only"))
	}
	if p := problem(t, s, "i0001"); !strings.Contains(p.Reason, "150ms") {
		t.Errorf("the reason is %q", p.Reason)
	}
}

// The time that a visit waits for its provider's capacity is no part of its
// timeout: here another stage holds the provider for longer than that.
func TestTimeoutWithoutQueueing(t *testing.T) {
	pipeline := strings.NewReplacer(
		"stage \"work\" {", "stage \"slow\" {\n  plugin = plugin.asker\n  provider = provider.judge\n  forward = item\n}\nroute \"slow\" {\n  from = stage.slow\n  to = stage.work\n}\nstage \"work\" {",
	).Replace(asking("limits { concurrency = 1 }", "config { note = \"quick\" }\n  timeout = \"1s\""))
	var w *workspace
	w = newWorkspace(t, pipeline, numbered(2, ""), func(c *call) answer {
		switch {
		case c.Stage == "slow" && c.Key == "i0000":
			w.wait(func() bool { return w.live["provider.judge"] > 0 })
			return answer{}
		case c.Stage == "provider.judge" && w.made("provider.judge") == 1:
			w.wait(func() bool { return w.count("work") > 0 })
			time.Sleep(1500 * time.Millisecond) // the model is slow
		case c.Stage != "provider.judge":
			return answer{Ask: c.Stage + c.Key}
		}
		return answer{Output: jsonOf("yes")}
	})
	s := w.run()
	if s.Tally.Ends[dag.Accepted] != 2 || w.made("work") != 2 {
		t.Errorf("%d visits made; %+v", w.made("work"), s)
	}
}

// asking is a pipeline of one stage that asks a provider.
func asking(provider, stage string) string {
	text := strings.Replace(one, "plugin = plugin.actor", "plugin = plugin.asker\n  provider = provider.judge\n  "+stage, 1)
	text = strings.NewReplacer("record   = card", "record   = origin", "id       = card.id", "id       = origin.id").Replace(text)
	return `
plugin "model" { source = "builtin/model" }
plugin "asker" {
  source  = "builtin/asker"
  network = true
}
provider "judge" {
  plugin = plugin.model
  model  = "m"
  config { director = "$DIRECTOR" }
  ` + provider + `
}
` + text
}

// A visit that crashes its plugin twice fails its item and no other: what was in
// flight beside it is visited anew.
func TestCrash(t *testing.T) {
	const all = 12
	var w *workspace
	w = newWorkspace(t, chain("only"), numbered(all, ""), func(c *call) answer {
		w.wait(func() bool { return w.peak[""] >= all })
		switch c.Key {
		case "i0003":
			return answer{Crash: true}
		case "i0007":
			return answer{Crash: w.tries("only")[c.Key] == 1} // on a bad day
		}
		w.wait(func() bool { return w.count("only") > all || len(w.pids) > 1 }) // in flight when it crashes
		return answer{}
	})
	s := w.run(jobs(all))
	want := map[string]dag.End{}
	for i := range all {
		want[fmt.Sprintf("i%04d", i)] = dag.Accepted
	}
	want["i0003"] = dag.Failed
	if diff := cmp.Diff(want, w.ends()); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	if s.Kind != 0 {
		t.Errorf("the run ended with kind %d: a crash of one item's visit is about that item", s.Kind)
	}
	if n := w.tries("only")["i0003"]; n != 2 {
		t.Errorf("the guilty visit was made %d times, want 2", n)
	}
	rows := w.rows("meta/rejections.jsonl")
	if len(rows) != 1 || member(rows[0], "item") != "i0003" || !strings.Contains(string(rows[0]), "E_PLUGIN_CRASH") {
		t.Errorf("rejections: %s", rows)
	}
}

// What a plugin will not take of its configuration is no fault of an item: the
// run ends with the place in the pipeline, and as one that should not have begun.
func TestConfigurationRefused(t *testing.T) {
	w := newWorkspace(t, chain("first", "refused"), numbered(5, ""), keep)
	s, err := w.attempt()
	want := "stage refused: pipeline.hcl:"
	if dag.KindOf(err) != dag.KindConfig || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), ": config.note: Not this note: Write another") {
		t.Errorf("%v", err)
	}
	if s == nil || s.Kind != dag.KindConfig || s.Tally.Ends[dag.Parked] != 5 {
		t.Errorf("%+v", s)
	}
	runs, err := w.store().Runs()
	if err != nil || len(runs) != 1 || runs[0].Exit != 1 {
		t.Errorf("%+v, %v", runs, err)
	}
}

// A plugin that breaks the protocol over one item takes no other with it: what
// was in flight beside it is visited anew, and the item waits for a better plugin.
func TestBrokenProtocol(t *testing.T) {
	const all = 12
	var w *workspace
	w = newWorkspace(t, chain("only"), numbered(all, ""), func(c *call) answer {
		w.wait(func() bool { return w.peak[""] >= all })
		if c.Key == "i0003" {
			return answer{Break: true}
		}
		w.wait(func() bool { return len(w.pids) > 1 }) // in flight when it breaks
		return answer{}
	})
	s := w.run(jobs(all))
	want := map[string]dag.End{}
	for i := range all {
		want[fmt.Sprintf("i%04d", i)] = dag.Accepted
	}
	want["i0003"] = dag.Parked
	if diff := cmp.Diff(want, w.ends()); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	if s.Kind != dag.KindInfrastructure {
		t.Errorf("the run ended with kind %d", s.Kind)
	}
	if p := problem(t, s, "i0003"); !strings.Contains(p.Reason, "broke the protocol: its stream ended") {
		t.Errorf("the reason is %q", p.Reason)
	}
	if n := w.tries("only")["i0003"]; n != 2 {
		t.Errorf("the guilty visit was made %d times, want 2", n)
	}
}

// By default nothing new starts after an infrastructure failure; -k goes on.
func TestKeepGoing(t *testing.T) {
	const all = 1500
	play := func(c *call) answer {
		if c.Key == "i0000" {
			return answer{Infra: true, Code: "E_PLUGIN", Message: "no"}
		}
		return answer{}
	}
	w := newWorkspace(t, one, numbered(all, ""), play)
	s := w.run()
	if s.Kind != dag.KindInfrastructure || s.Tally.Ends[dag.Parked] != 1 || s.Tally.TakenIn >= all || s.Tally.Ends[dag.Accepted] != s.Tally.TakenIn-1 {
		t.Errorf("by default: %+v", s)
	}
	w.forget()
	s = w.run(func(o *Options) { o.KeepGoing = true })
	if s.Kind != dag.KindInfrastructure || s.Tally.Ends[dag.Parked] != 1 || s.Tally.Ends[dag.Accepted] != all-1 || s.Tally.TakenIn != all {
		t.Errorf("with -k: %+v", s)
	}
	w.forget()
	w.direct(keep)
	if s = w.run(); s.Kind != 0 || s.Tally.Ends[dag.Accepted] != all || w.made("") != 1 {
		t.Errorf("at last: %d visits, %+v", w.made(""), s)
	}
}

// A provider without credentials or quota ends the run: asking again helps no
// one, and nothing more is asked.
func TestStoppedByProvider(t *testing.T) {
	for name, kind := range map[string]proto.ProviderError_Kind{"auth": proto.ProviderError_AUTH, "quota": proto.ProviderError_QUOTA} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, asking("limits { concurrency = 1 }", "retry { attempts = 5 }"), numbered(40, ""), func(c *call) answer {
				if c.Stage == "provider.judge" {
					if strings.Contains(string(c.Input), "i0002") {
						return answer{Kind: int(kind), Message: "the key is no good"}
					}
					return answer{Output: jsonOf("yes")}
				}
				return answer{Ask: c.Key}
			})
			s := w.run(jobs(1))
			if s.Kind != dag.KindStopped || s.Kind.ExitStatus() != 3 {
				t.Errorf("the run ended with kind %d, want stopped", s.Kind)
			}
			if s.Tally.Ends[dag.Accepted] != 2 || s.Tally.Ends[dag.Parked] != 38 || w.made("provider.judge") != 3 {
				t.Errorf("%d calls; %+v", w.made("provider.judge"), s.Tally)
			}
			if p := problem(t, s, "i0002"); !strings.Contains(p.Reason, "the key is no good") {
				t.Errorf("the reason is %q", p.Reason)
			}
			w.forget()
			w.direct(func(c *call) answer {
				if c.Stage == "provider.judge" {
					return answer{Output: jsonOf("yes")}
				}
				return answer{Ask: c.Key}
			})
			if s = w.run(); s.Kind != 0 || s.Tally.Ends[dag.Accepted] != 40 || w.made("provider.judge") != 38 {
				t.Errorf("%d calls then; %+v", w.made("provider.judge"), s.Tally)
			}
		})
	}
}
