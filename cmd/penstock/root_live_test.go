package main

import (
	"cmp"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// The wires that the pipeline in the root is run over: each is another plugin in the
// blocks of its two providers, and no other line.
var rootWires = []struct {
	name, plugin, writer, judge, base, more string
}{
	{"openai", "openai", "gpt-5-mini", "gpt-5", "/v1", ""},
	{"openai responses", "openai", "gpt-5-mini", "gpt-5", "/v1", `dialect { api = "responses" }`},
	{"anthropic", "anthropic", "claude-sonnet-4-5", "claude-opus-4-5", "", ""},
	{"gemini", "gemini", "gemini-2.5-flash", "gemini-2.5-pro", "", ""},
	{"ollama", "ollama", "llama3.2", "qwen3", "", ""},
}

// TestTheRootPipelineIsLiveOverEachWire runs the pipeline in the root as a fresh
// checkout has it, with --live, over a server that answers as the models did that are
// on its cassette, and pages as they are recorded there. What comes of it is what the
// cassette gives; the second run asks nobody; without --live it replays as before.
func TestTheRootPipelineIsLiveOverEachWire(t *testing.T) {
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := completion.ReadCassette(filepath.Join(repo, "examples", "trivia-cards", "cassette.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	web := serveRecorded(t, recorded)
	replayed := t.TempDir()
	if err := copyCheckout(repo, replayed); err != nil {
		t.Fatal(err)
	}
	const ends = "79 items: 41 accepted, 17 rejected, 8 failed, 13 expanded"
	runRoot(t, replayed, ends, nil, "run")
	want := corpusOf(t, replayed)
	for _, wire := range rootWires {
		t.Run(wire.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := copyCheckout(repo, dir); err != nil {
				t.Fatal(err)
			}
			server := wiretest.ServeFunc(t, newOracle(recorded).answer)
			for block, model := range map[string]string{"writer": wire.writer, "judge": wire.judge} {
				editProvider(t, dir, block, wire.plugin, model, server.URL+wire.base, wire.more)
			}
			env := append(slices.Clip(web), "LIVE_KEY="+canary)
			said := runRoot(t, dir, ends, env, "run", "--live")
			calls := len(server.Asked())
			if diff := gocmp.Diff(want, corpusOf(t, dir)); diff != "" {
				t.Errorf("live, the corpus is another (-replayed +live):\n%s\nthe run says:\n%s", diff, said)
			}
			if calls < 163 {
				t.Errorf("the server was asked %d times; the cassette has 163 answers", calls)
			}
			runRoot(t, dir, "nothing to do: 79 items are as they were", env, "run", "--live")
			if again := len(server.Asked()) - calls; again != 0 {
				t.Errorf("the second run asked %d times", again)
			}
			runRoot(t, dir, ends, nil, "run")
			if diff := gocmp.Diff(want, corpusOf(t, dir)); diff != "" || len(server.Asked()) != calls {
				t.Errorf("replayed after that, the corpus is another, or the server was asked (-replayed +after):\n%s", diff)
			}
			runRoot(t, dir, "", nil, "audit")
			if leaked := filesWith(t, dir, leaks); len(leaked) > 0 {
				t.Errorf("the key stands in %q", leaked)
			}
		})
	}
}

// runRoot runs a command that ends well and prints a line.
func runRoot(t *testing.T, dir, want string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "penstock", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) {
		t.Fatalf("penstock %s: %v, and nothing says %q:\n%s", strings.Join(args, " "), err, want, out)
	}
	return string(out)
}

// editProvider puts another block in the place of a provider's, with the plugin that
// it names.
func editProvider(t *testing.T, dir, name, plugin, model, base, more string) {
	t.Helper()
	path := filepath.Join(dir, "pipeline.hcl")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?ms)^provider "` + name + `" \{.*?^\}$`)
	if found := block.FindAll(content, -1); len(found) != 1 {
		t.Fatalf("pipeline.hcl has %d blocks provider %q", len(found), name)
	}
	edited := block.ReplaceAllLiteralString(string(content), `plugin "live_`+name+`" { source = "builtin/`+plugin+`" }

provider "`+name+`" {
  plugin = plugin.live_`+name+`
  model  = "`+model+`"
  limits { concurrency = 8 }
  config {
    base_url = "`+base+`"
    api_key  = env("LIVE_KEY")
    `+more+`
  }
}`)
	if err := os.WriteFile(path, []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
}

// corpusOf are the records of a corpus, by their files.
func corpusOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	corpus := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "data", "*", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no corpus: %v", err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(dir, path)
		corpus[name] = string(content)
	}
	return corpus
}

// oracle answers a request as a cassette does, whichever wire it comes by.
type oracle map[string]completion.Reply

// newOracle has the answers by what was said: schemas and sampling differ by wire.
func newOracle(c *completion.Cassette) oracle {
	o := oracle{}
	for _, e := range c.Entries() {
		said := []string{e.Request.System}
		for _, m := range e.Request.Messages {
			text := m.Text
			for _, p := range m.Parts {
				text += p.Text
			}
			said = append(said, text)
		}
		o[spoken(said)] = e.Reply
	}
	return o
}

// spoken is a conversation less its line breaks: wires join parts with and without.
func spoken(said []string) string {
	return strings.ReplaceAll(strings.Join(said, "\x00"), "\n", "")
}

func (o oracle) answer(_ int, r wiretest.Request) wiretest.Step {
	heard := wiretest.Heard(r)
	said := []string{heard.System}
	for _, m := range heard.Messages {
		said = append(said, textOf(m))
	}
	reply, ok := o[spoken(said)]
	if !ok && len(said) > 2 { // a wire that tells no refusal has its model asked again
		reply, ok = o[spoken(said[:2])]
		ok = ok && reply.Refusal != ""
	}
	if !ok {
		return wiretest.Step{Status: http.StatusBadRequest, Body: `{"error":{"message":"no such conversation is recorded"}}`}
	}
	step := wiretest.Step{
		Text: cmp.Or(reply.Text, string(reply.JSON), reply.Refusal), Finish: reply.FinishReason, Model: askedModel(r),
		Usage: &wiretest.Usage{Input: reply.Usage.Input, Output: reply.Usage.Output},
	}
	return step
}

func textOf(m *sdk.Message) string {
	text := ""
	for _, p := range m.GetParts() {
		text += p.GetText()
	}
	return text
}

// askedModel is the model that a request names, in its body or in its path.
func askedModel(r wiretest.Request) string {
	if name, ok := r.Body["model"].(string); ok {
		return name
	}
	_, name, _ := strings.Cut(r.Path, "/models/")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// filesWith are the files below a folder whose content is so.
func filesWith(t *testing.T, dir string, is func([]byte) bool) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if is(content) || is([]byte(path)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
