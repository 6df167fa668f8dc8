package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// killedPipeline asks a model once for each item.
const killedPipeline = `
pipeline "killed" {}
variable "server" { type = string }
plugin "prompt" { source = "builtin/prompt" }
plugin "live" { source = "builtin/openai" }
provider "model" {
  plugin = plugin.live
  model  = "m"
  limits { concurrency = 1 }
  config {
    base_url = "${var.server}/v1"
    api_key  = env("KEY")
  }
}
source "items" {
  files = ["items.jsonl"]
  key   = origin.id
}
stage "ask" {
  plugin   = plugin.prompt
  provider = provider.model
  config { template = "{{ .id }}" }
}
route "done" {
  from = stage.ask
  to   = gate.accept
}
gate "accept" {
  candidate = { card = item }
  corpus "jsonl" {
    data            = "data/all.jsonl"
    evidence        = "meta/evidence.jsonl"
    record          = { card = card }
    evidence_record = {}
  }
}
`

// paidItems is how many items killedPipeline is given.
const paidItems = 12

// paidFolder is a folder with killedPipeline, and how often the server was asked
// about each item. before is called while a request waits for its answer.
func paidFolder(t *testing.T, before func(n int)) (dir string, env []string, asked func() map[string]int) {
	t.Helper()
	dir = t.TempDir()
	var items strings.Builder
	for n := range paidItems {
		items.WriteString(`{"id":"item-` + strconv.Itoa(n) + `"}` + "\n")
	}
	for name, content := range map[string]string{"pipeline.hcl": killedPipeline, "items.jsonl": items.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	about := map[string]int{}
	server := wiretest.ServeFunc(t, func(n int, r wiretest.Request) wiretest.Step {
		id := textOf(wiretest.Heard(r).Messages[0])
		mu.Lock()
		about[id]++
		mu.Unlock()
		before(n)
		return wiretest.Step{Text: `{"of":"` + id + `"}`, Usage: &wiretest.Usage{Input: 100, Output: 10}}
	})
	return dir, append(os.Environ(), "KEY=sk-not-a-key", "PENSTOCK_VAR_server="+server.URL), func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return about
	}
}

// A run that is killed while it waits for an answer pays for that one again, and for no
// other: what came before is kept before its stage gets it.
func TestAKilledRunPaysAgainForWhatWasUnderWayAlone(t *testing.T) {
	for _, last := range []int{0, 1, 7} {
		t.Run(strconv.Itoa(last), func(t *testing.T) {
			t.Parallel()
			var run *exec.Cmd
			started := make(chan struct{})
			dir, env, asked := paidFolder(t, func(n int) {
				if n == last {
					<-started
					if err := run.Process.Kill(); err != nil {
						t.Error(err)
					}
				}
			})
			run = exec.CommandContext(t.Context(), "penstock", "run")
			run.Dir, run.Env = dir, env
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			close(started)
			if err := run.Wait(); err == nil || run.ProcessState.ExitCode() != -1 {
				t.Fatalf("the run was not killed: %v", err)
			}
			again := exec.CommandContext(t.Context(), "penstock", "run")
			again.Dir, again.Env = dir, env
			if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "12 items: 12 accepted") {
				t.Fatalf("%v\n%s", err, out)
			}
			twice := 0
			for id, n := range asked() {
				twice += n - 1
				if n > 2 {
					t.Errorf("%s was asked about %d times", id, n)
				}
			}
			if len(asked()) != paidItems || twice != 1 {
				t.Errorf("of %d items the server was asked %d times more than once: %v", len(asked()), twice, asked())
			}
		})
	}
}

// Two runs of one folder at once pay for each answer once.
func TestTwoRunsPayOnce(t *testing.T) {
	together := make(chan struct{})
	dir, env, asked := paidFolder(t, func(n int) {
		if n == 0 {
			<-together // the second run is there before the first has an answer
		}
	})
	one := exec.CommandContext(t.Context(), "penstock", "run", "-j", "2")
	two := exec.CommandContext(t.Context(), "penstock", "run", "-j", "2")
	for _, run := range []*exec.Cmd{one, two} {
		run.Dir, run.Env = dir, env
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
	}
	close(together)
	for _, run := range []*exec.Cmd{one, two} {
		if err := run.Wait(); err != nil {
			t.Error(err)
		}
	}
	for id, n := range asked() {
		if n != 1 {
			t.Errorf("%s was asked about %d times", id, n)
		}
	}
	if len(asked()) != paidItems {
		t.Errorf("the server was asked about %d items", len(asked()))
	}
}
