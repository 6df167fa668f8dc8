package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// canary is a key that is found by a search wherever it leaks to. Its second half
// finds it, too, where it was cut or masked in part.
const (
	canary     = "sk-canary-7f3ad1c0-e5b94482"
	canaryHalf = "e5b94482"
)

const canaryPipeline = `
pipeline "canary" {}
variable "token" {
  type      = string
  sensitive = true
}
plugin "openai" { source = "builtin/openai" }
plugin "prompt" { source = "builtin/prompt" }
plugin "exec" { source = "builtin/exec" }
provider "model" {
  plugin = plugin.openai
  model  = "m"
  config {
    api_key  = env("CANARY_KEY")
    base_url = "http://127.0.0.1:9/v1"
    headers  = { authorization = "Bearer ${var.token}" }
  }
}
source "items" {
  files  = ["items.jsonl"]
  key    = origin.id
  schema = "item.json"
}
stage "which" {
  decide {
    else { outcome = "ok" }
  }
}
stage "ask" {
  plugin   = plugin.prompt
  provider = provider.model
  retry { attempts = 1 }
  config { template = "{{ .id }}" }
}
stage "look" {
  plugin = plugin.exec
  config { command = ["sh", "look.sh"] }
}
route "which" {
  from = stage.which
  when {
    if = origin.id == "asked"
    to = stage.ask
  }
  else { to = stage.look }
}
route "done" {
  from = [stage.ask, stage.look]
  to   = gate.accept
}
gate "accept" {
  candidate = { seen = item }
  corpus "jsonl" {
    data            = "data/${bucket}.jsonl"
    evidence        = "meta/evidence.jsonl"
    record          = seen
    evidence_record = { look = visit.look }
  }
}
`

// look says in hexadecimal digits what a stage can read of all processes: its own
// environment, the others', their words. It looks until it sees the provider's
// process, which shows no words at the moment in which it becomes the plugin.
const look = `
for i in $(seq 500); do
  saw=$({ env; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ; } 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
  case $saw in *6f70656e6169*) break ;; esac
  sleep 0.02
done
printf '{"saw":"%s"}' "$saw"
`

// TestR72ASecretIsNowhere sends a key through a provider's configuration, by a variable of the
// environment and by a sensitive one of the pipeline, and finds it nowhere: not in
// what is printed, not in what is kept, not in what a stage can see.
func TestR72ASecretIsNowhere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc to look through")
	}
	dir, temp := t.TempDir(), t.TempDir()
	bin, err := exec.LookPath("penstock") // the test binary, by TestMain
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"pipeline.hcl": canaryPipeline, "look.sh": look, "items.jsonl": `{"id":"asked"}` + "\n" + `{"id":"seen"}` + "\n",
		"item.json": `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	penstock := func(exit int, args ...string) string {
		t.Helper()
		cmd := exec.Command(bin, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CANARY_KEY="+canary, "PENSTOCK_VAR_token="+canary, "TMPDIR="+temp)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != exit {
			t.Fatalf("penstock %s exits %d, not %d:\n%s", strings.Join(args, " "), got, exit, out)
		}
		if leaks(out) {
			t.Errorf("penstock %s prints it:\n%s", strings.Join(args, " "), out)
		}
		return string(out)
	}
	penstock(0, "validate", "--json")
	penstock(0, "plan", "--live", "--json")
	said := penstock(2, "run", "--live", "--record", "cassette.jsonl", "--keep-going")
	if !strings.Contains(said, "1 accepted, 1 parked") {
		t.Fatalf("the run says:\n%s", said)
	}
	for _, args := range [][]string{
		{"status", "--json"}, {"show", "asked", "--json"}, {"show", "seen", "--json"}, {"graph", "--json"}, {"graph"}, {"audit", "--json"},
		{"why", "asked"}, {"why", "asked", "--json"}, {"why", "ask[asked]", "--json"}, {"why", "look[seen]", "--json"},
		{"why", "--not-run", "asked", "--json"}, {"logs", "look[seen]", "--json"},
		{"report"}, {"report", "--json"},
	} {
		penstock(0, args...)
	}
	for _, folder := range []string{dir, temp} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if leaks(content) {
				t.Errorf("it stands in %s", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if strings.Contains(said, "Landlock") {
		return // this kernel lets a process read another's environment, and the run says so
	}
	records, err := os.ReadFile(filepath.Join(dir, "data", "all.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`"saw":"([0-9a-f]+)"`).FindSubmatch(records)
	if found == nil {
		t.Fatalf("the stage saw nothing: %s", records)
	}
	saw, err := hex.DecodeString(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(saw, []byte("openai")) || !bytes.Contains(saw, []byte("TMPDIR=")) {
		t.Errorf("the stage saw neither the provider nor its own environment")
	}
	if leaks(saw) {
		t.Error("a stage can see it")
	}
}

func leaks(b []byte) bool { return bytes.Contains(b, []byte(canaryHalf)) }

// A key that is short enough to try them all cannot be found by trying: nothing that
// is kept or printed holds it or a digest of it, and nothing is another for another.
func TestR15AShortSecretCannotBeGuessed(t *testing.T) {
	const pin = "4711"
	dir := t.TempDir()
	pipeline := strings.Replace(canaryPipeline, "config { template = \"{{ .id }}\" }", "config { template = \"{{ .id }}\" }\n  timeout = \"5s\"", 1)
	for name, content := range map[string]string{
		"pipeline.hcl": pipeline, "look.sh": "cat\n", "items.jsonl": `{"id":"asked"}` + "\n" + `{"id":"seen"}` + "\n",
		"item.json": `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var all []byte
	say := func(key string, args ...string) string {
		t.Setenv("CANARY_KEY", key)
		t.Setenv("PENSTOCK_VAR_token", key)
		said, _ := penstock(t, dir, args...)
		all = append(all, said...)
		return said
	}
	said := say(pin, "run", "--live", "-k")
	if !strings.Contains(said, "1 accepted, 1 parked") {
		t.Fatalf("the run says:\n%s", said)
	}
	for _, args := range [][]string{
		{"plan", "--live", "--json"}, {"plan", "--live", "--items"}, {"why", "asked", "--json"}, {"why", "seen", "--json"},
		{"graph", "--json"}, {"plugin", "list", "--json"}, {"diff", "pipeline.hcl", "pipeline.hcl", "--json"}, {"validate", "--json"},
	} {
		if diff := cmp.Diff(say(pin, args...), say("0815", args...)); diff != "" {
			t.Errorf("%v tells keys apart (-one +other):\n%s", args, diff)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		all = append(append(all, content...), '\n')
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{pin, `"` + pin + `"`, "Bearer " + pin, `"Bearer ` + pin + `"`, `{"api_key":"` + pin + `"}`, "CANARY_KEY=" + pin, "api_key" + pin, pin + "\n"} {
		sum := sha256.Sum256([]byte(form))
		for _, shown := range [][]byte{[]byte(form), sum[:], []byte(hex.EncodeToString(sum[:6])), []byte(base64.StdEncoding.EncodeToString(sum[:])[:16])} {
			if len(form) == len(pin) && len(shown) == len(pin) {
				continue // four digits may stand anywhere
			}
			if bytes.Contains(all, shown) {
				t.Errorf("%q, or a digest of it, is kept or printed", form)
			}
		}
	}
}
