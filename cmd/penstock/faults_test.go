package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// faultWires are the APIs, and what they cannot say.
var faultWires = []struct {
	name, plugin, model, base, more string
	refuses                         bool // a refusal and a filter are told apart
	begun                           bool // a stream has begun before an error can stand in it, so that it may be billed
	begins                          bool // the stream begins with the usage of the prompt
}{
	{"openai", "openai", "m", "/v1", "", true, true, false},
	{"responses", "openai", "m", "/v1", `dialect { api = "responses" }`, true, true, false},
	{"anthropic", "anthropic", "claude-sonnet-4-5", "", "", true, true, true},
	{"gemini", "gemini", "gemini-2.5-flash", "", "", true, true, false},
	{"ollama", "ollama", "llama3.2", "", "", false, false, false},
}

var wellSaid = wiretest.Step{Text: `{"text":"good"}`, Usage: &wiretest.Usage{Input: 100, Output: 10}}

// ended is what became of an item whose first request met a fault.
type ended struct {
	Requests  int // all of them, also those after the fault
	End       dag.End
	Code      dag.Code
	Billed    int // requests on the item's bill; of a parked one that is the run's alone
	Estimated int // of Billed: with the most that they may have cost
}

var (
	good      = ended{1, dag.Accepted, "", 1, 0}
	guessed   = ended{1, dag.Accepted, "", 1, 1} // nothing went wrong but that the cost is not known
	again     = ended{2, dag.Accepted, "", 2, 0} // what was refused costs nothing
	againPaid = ended{2, dag.Accepted, "", 2, 1} // what broke off may have
	truncated = ended{1, dag.Failed, dag.ETruncated, 1, 0}
	refused   = ended{1, dag.Failed, dag.ERefused, 1, 0}
	parked    = ended{1, dag.Parked, dag.EPlugin, 0, 0}
)

// fault is what a server does with an item's first request.
type fault struct {
	name string
	step wiretest.Step
	want ended
	only string // "refuses": of wires that tell refusals apart
}

func faults() []fault {
	text := wellSaid.Text
	used := wellSaid.Usage
	status := func(code int, body string, header ...string) wiretest.Step {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return wiretest.Step{Status: code, Body: body, Header: h}
	}
	return []fault{
		{name: "ok", step: wellSaid, want: good},
		{name: "fences", step: wiretest.Step{Text: "```json\n" + text + "\n```", Usage: used}, want: good},
		{name: "another model", step: wiretest.Step{Text: text, Model: "another", Usage: used}, want: good},
		{name: "in one piece", step: wiretest.Step{Text: text, Whole: true, Usage: used}, want: good},
		{name: "a byte at a time", step: wiretest.Step{Text: text, Bytes: true, Usage: used}, want: good},
		{name: "no JSON", step: wiretest.Step{Text: "Sure!", Usage: used}, want: ended{2, dag.Accepted, "", 2, 0}},
		{name: "a misfit", step: wiretest.Step{Text: `{"text":7}`, Usage: used}, want: ended{2, dag.Accepted, "", 2, 0}},
		{name: "no text", step: wiretest.Step{Usage: used}, want: ended{2, dag.Accepted, "", 2, 0}},
		{name: "no choice", step: status(200, `{"choices":[],"content":[],"candidates":[],"output":[]}`), want: againPaid},
		{name: "null", step: status(200, `null`), want: againPaid},
		{name: "an error on 200", step: status(200, `{"error":{"message":"busy","type":"rate_limit_error"}}`), want: again},
		{name: "429, half a second", step: status(429, `{}`, "Retry-After-Ms", "500"), want: again},
		{name: "429, a second", step: status(429, `{}`, "Retry-After", "1"), want: again},
		{name: "429, no hint", step: status(429, `{}`), want: again},
		{name: "503", step: status(503, `{}`, "Retry-After-Ms", "10"), want: again},
		{name: "529", step: status(529, `{}`, "Retry-After-Ms", "10"), want: again},
		{name: "500", step: status(500, `{}`), want: again},
		{name: "500 that stays", step: status(500, `{}`, "X-Should-Retry", "false"), want: parked},
		{name: "408", step: status(408, `{}`), want: againPaid},
		{name: "a reset", step: wiretest.Step{Fault: wiretest.Reset}, want: againPaid},
		{name: "ok, too", step: wellSaid, want: good},
		{name: "cut at once", step: wiretest.Step{Text: text, Fault: wiretest.Cut}, want: againPaid},
		{name: "cut", step: wiretest.Step{Text: text, Fault: wiretest.Cut, After: 1}, want: againPaid},
		{name: "no end mark", step: wiretest.Step{Text: text, Fault: wiretest.Unmarked, After: 1}, want: againPaid},
		{name: "an event at once", step: wiretest.Step{Text: text, Fault: wiretest.Event}, want: againPaid},
		{name: "an event", step: wiretest.Step{Text: text, Fault: wiretest.Event, After: 1}, want: againPaid},
		{name: "a stall", step: wiretest.Step{Text: text, Fault: wiretest.Stall, After: 1}, want: againPaid},
		{name: "white space", step: wiretest.Step{Text: `{"text":` + strings.Repeat(" \n", 5000), Usage: used}, want: ended{1, dag.Failed, dag.ETruncated, 1, 1}}, // nobody waits for the usage
		{name: "cut off, whole", step: wiretest.Step{Text: text, Finish: "length", Usage: used}, want: truncated},
		{name: "cut off", step: wiretest.Step{Text: `{"text":`, Finish: "length", Usage: used}, want: truncated},
		{name: "a refusal", step: wiretest.Step{Text: "No.", Finish: "refusal", Usage: used}, want: refused, only: "refuses"},
		{name: "a filter", step: wiretest.Step{Text: "", Finish: "content_filter", Usage: used}, want: refused, only: "refuses"},
		{name: "no usage", step: wiretest.Step{Text: text}, want: guessed},
		{name: "usage of nothing", step: wiretest.Step{Text: text, Usage: &wiretest.Usage{}}, want: guessed},
		{name: "usage below nothing", step: wiretest.Step{Text: text, Usage: &wiretest.Usage{Input: -5, Output: 10}}, want: guessed}, // the plugin reads it as none, and says so
		{name: "an unknown field", step: status(400, `{"error":{"message":"Unsupported parameter: 'max_tokens'"}}`), want: parked},
		{name: "too long", step: status(400, `{"error":{"message":"prompt is too long: 9 > 8"}}`), want: ended{1, dag.Failed, dag.EDocument, 1, 0}},
	}
}

// TestFaults plays what goes wrong with servers to whole runs, over each wire. Each item
// meets one fault at its first request and answers after that.
func TestFaults(t *testing.T) {
	for _, wire := range faultWires {
		t.Run(wire.name, func(t *testing.T) {
			t.Parallel()
			steps, want := map[string]wiretest.Step{}, map[string]ended{}
			var items strings.Builder
			asked, left := 0, 0
			for _, f := range faults() {
				if f.only == "refuses" && !wire.refuses {
					continue
				}
				if f.name == "an event at once" && !wire.begun {
					f.want = again
				}
				if f.name == "white space" && wire.begins {
					f.want = truncated
				}
				steps[f.name], want[f.name] = f.step, f.want
				fmt.Fprintf(&items, "{\"id\":%q}\n", f.name)
				asked += f.want.Requests
				if f.want.End == dag.Parked {
					left++
				}
			}
			server := newFaulty(t, steps)
			dir := faultDir(t, wire.plugin, wire.model, server.URL+wire.base, wire.more, items.String())

			runFaults(t, dir, 2, "run", "-k")
			if diff := cmp.Diff(want, server.ended(t, dir)); diff != "" {
				t.Errorf("ends (-want +got):\n%s", diff)
			}
			if got := len(server.Asked()); got != asked {
				t.Errorf("the server was asked %d times, want %d", got, asked)
			}
			if got := lastRun(t, dir).Counts.Asked; got != asked {
				t.Errorf("%d requests are on the run's bill, want %d", got, asked)
			}
			runFaults(t, dir, 0, "run")
			if got := len(server.Asked()) - asked; got != left {
				t.Errorf("the next run asked %d times, want %d", got, left)
			}
			if got := lastRun(t, dir).Tally; got[dag.Parked] != 0 || got[dag.Accepted] < left {
				t.Errorf("the next run ends as %v", got)
			}
		})
	}
}

// TestFaultsThatStop plays what ends the asking of a provider. It costs one request,
// however many items there are, and the next run goes on from there.
func TestFaultsThatStop(t *testing.T) {
	for _, wire := range faultWires {
		t.Run(wire.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range []struct {
				name string
				step wiretest.Step
				exit int
				code dag.Code
			}{
				{"quota", wiretest.Step{Status: 429, Body: `{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}`}, 3, dag.EQuota},
				{"account", wiretest.Step{Status: 402, Body: `{"error":{"message":"pay first"}}`}, 3, dag.EQuota},
				{"key", wiretest.Step{Status: 401, Body: `{}`}, 3, dag.EAuth},
				{"rights", wiretest.Step{Status: 403, Body: `{}`}, 3, dag.EAuth},
				{"model", wiretest.Step{Status: 404, Body: `{}`}, 2, dag.EPlugin},
				{"tomorrow", wiretest.Step{Status: 429, Header: http.Header{"Retry-After": {"86400"}}, Body: `{}`}, 2, dag.ERateLimited},
				{"grammar", wiretest.Step{Status: 400, Body: `{"error":{"message":"The compiled grammar is too large"}}`}, 2, dag.EPlugin},
			} {
				server := newFaulty(t, map[string]wiretest.Step{"a": f.step, "b": f.step, "c": f.step})
				dir := faultDir(t, wire.plugin, wire.model, server.URL+wire.base, wire.more, `{"id":"a"}`+"\n"+`{"id":"b"}`+"\n"+`{"id":"c"}`+"\n")
				runFaults(t, dir, f.exit, "run", "-k")
				if got := len(server.Asked()); got != 1 {
					t.Errorf("%s: the server was asked %d times, want once", f.name, got)
				}
				codes := 0
				for _, e := range server.ended(t, dir) {
					if e.End != dag.Parked {
						t.Errorf("%s: an item is %s", f.name, e.End)
					}
					if e.Code == f.code {
						codes++
					}
				}
				if codes == 0 {
					t.Errorf("%s: no item bears %s: %v", f.name, f.code, server.ended(t, dir))
				}
				server.heal()
				args := []string{"run"}
				if f.name == "grammar" {
					args = append(args, "-B") // it is remembered of this schema
				}
				runFaults(t, dir, 0, args...)
				if got := len(server.Asked()); got != 4 {
					t.Errorf("%s: the next run asked %d times, want 3", f.name, got-1)
				}
			}
		})
	}
}

// faulty is a server whose first answer to each item is what a table says.
type faulty struct {
	*wiretest.Server
	mu     sync.Mutex
	steps  map[string]wiretest.Step
	asked  map[string]int
	healed bool
}

func newFaulty(t *testing.T, steps map[string]wiretest.Step) *faulty {
	f := &faulty{steps: steps, asked: map[string]int{}}
	f.Server = wiretest.ServeFunc(t, func(_ int, r wiretest.Request) wiretest.Step {
		said := wiretest.Heard(r).GetMessages()[0].GetParts()[0].GetText()
		id := strings.TrimSuffix(strings.TrimPrefix(said, "Write of <"), ">.")
		f.mu.Lock()
		defer f.mu.Unlock()
		step, known := f.steps[id]
		if !known {
			t.Errorf("the server is asked %q", said)
		}
		f.asked[id]++
		if f.healed || f.asked[id] > 1 {
			return wellSaid
		}
		return step
	})
	return f
}

func (f *faulty) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.healed = true
}

// ended reads what became of the items, and how often they were asked for.
func (f *faulty) ended(t *testing.T, dir string) map[string]ended {
	t.Helper()
	store, err := staging.Open(filepath.Join(dir, "staging"), staging.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]ended{}
	err = store.Trails(func(trail *staging.Trail) bool {
		members, decodeErr := engine.DecodeFamily(trail.Body)
		if decodeErr != nil {
			t.Fatal(decodeErr)
		}
		for _, m := range members {
			e := ended{Requests: f.asked[m.Key], End: m.End}
			if len(m.Codes) > 0 {
				e.Code = m.Codes[0]
			}
			if m.Trail != nil {
				for _, v := range m.Trail.Visits {
					e.Billed += v.Facts.Paid.Attempts
					e.Estimated += v.Facts.Paid.Estimated
				}
			}
			all[m.Key] = e
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func lastRun(t *testing.T, dir string) staging.Run {
	t.Helper()
	store, err := staging.Open(filepath.Join(dir, "staging"), staging.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	run, ok, err := store.LastRun()
	if err != nil || !ok || run.Counts == nil {
		t.Fatalf("there is no run that ended: %v", err)
	}
	return run
}

func runFaults(t *testing.T, dir string, exit int, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "penstock", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LIVE_KEY="+canary)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != exit {
		t.Fatalf("penstock %s: exit %d, want %d: %v\n%s", strings.Join(args, " "), code, exit, err, out)
	}
}

// faultDir is a pipeline that asks once for each item, one at a time.
func faultDir(t *testing.T, plugin, model, url, more, items string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"items.jsonl": items,
		"item.json":   `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`,
		"note.json":   `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`,
		"write.md":    "Write of <{{ .id }}>.",
		"pipeline.hcl": fmt.Sprintf(`
pipeline "faults" {}
plugin "prompt" { source = "builtin/prompt" }
plugin "live" { source = "builtin/%s" }
provider "model" {
  plugin = plugin.live
  model  = %q
  limits { concurrency = 1 }
  config {
    base_url      = %q
    api_key       = env("LIVE_KEY")
    stall_timeout = "2s"
    %s
  }
}
source "items" {
  files  = ["items.jsonl"]
  key    = origin.id
  schema = "item.json"
}
stage "write" {
  plugin   = plugin.prompt
  provider = provider.model
  config { template = file("write.md") }
  output { schema = "note.json" }
  retry {
    attempts = 2
    backoff  = "0s"
  }
}
route "written" {
  from = stage.write
  to   = gate.keep
}
gate "keep" {
  candidate = { id = origin.id, note = item }
  corpus "jsonl" {
    data     = "data/all.jsonl"
    evidence = "meta/evidence.jsonl"
    id       = id
    record   = { id = id, text = note.text }
  }
}
`, plugin, model, url, more),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
