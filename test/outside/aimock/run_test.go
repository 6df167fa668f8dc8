package aimock

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// live is a provider block that calls the mock, and what its requests look like.
type live struct{ block, path, key, header string }

var lives = map[string]live{
	"openai, chat": {
		`plugin = plugin.live
		model = "gpt-5-mini"
		config {
			base_url = "MOCK/v1"
			api_key = env("KEY")
		}`, "/v1/chat/completions", "authorization", "",
	},
	"openai, responses": {
		`plugin = plugin.live
		model = "gpt-5-mini"
		config {
			base_url = "MOCK/v1"
			api_key = env("KEY")
			dialect { api = "responses" }
		}`, "/v1/responses", "authorization", "",
	},
	"anthropic": {
		`plugin = plugin.live
		model = "claude-sonnet-4-5"
		config {
			base_url = "MOCK"
			api_key = env("KEY")
		}`, "/v1/messages", "x-api-key", "anthropic-version",
	},
	"gemini": {
		`plugin = plugin.live
		model = "gemini-2.5-flash"
		config {
			base_url = "MOCK"
			api_key = env("KEY")
		}`, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", "x-goog-api-key", "",
	},
	"ollama": {
		`plugin = plugin.live
		model = "llama3.2"
		config {
			base_url = "MOCK"
			api_key = env("KEY")
		}`, "/api/chat", "authorization", "",
	},
}

// build builds the command, once for a test.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "penstock")
	if out, err := exec.Command("go", "build", "-C", "../../..", "-o", binary, "./cmd/penstock").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// notes is the pipeline of penstock init, with its provider block changed.
type notes struct{ binary, dir string }

var theBlock = regexp.MustCompile(`(?ms)^provider "model" \{.*?^\}`)

func begin(t *testing.T, binary string, m *mock, wire string) *notes {
	t.Helper()
	n := &notes{binary, t.TempDir()}
	if out, code := n.penstock(t, "init"); code != 0 {
		t.Fatalf("init: exit %d\n%s", code, out)
	}
	plugin, _, _ := strings.Cut(wire, ",")
	block := fmt.Sprintf("plugin \"live\" { source = \"builtin/%s\" }\nprovider \"model\" {\n%s\nlimits { concurrency = 1 }\n}", plugin, lives[wire].block)
	file := filepath.Join(n.dir, "pipeline.hcl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(theBlock.FindAll(text, -1)) != 1 {
		t.Fatalf("pipeline.hcl has no provider block of its own:\n%s", text)
	}
	text = theBlock.ReplaceAllLiteral(text, []byte(strings.ReplaceAll(block, "MOCK", m.url)))
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return n
}

// penstock runs the command there.
func (n *notes) penstock(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), n.binary, args...)
	c.Dir = n.dir
	c.Env = append(os.Environ(), "KEY="+wiretest.Canary)
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("penstock %v: %v", args, err)
	}
	return string(text), c.ProcessState.ExitCode()
}

// lines are those of a file of JSON lines, a member of each.
func (n *notes) lines(t *testing.T, file, member string) (values []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var document map[string]any
		if err := json.Unmarshal(lines.Bytes(), &document); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		values = append(values, document[member].(string))
	}
	return values
}

// answers are what the mock says to the writer and to the judge about each item.
func (n *notes) answers(t *testing.T, c *chaos) (fixtures []fixture) {
	t.Helper()
	says := func(document map[string]string) map[string]any {
		text, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"content": string(text)}
	}
	for _, topic := range n.lines(t, "topics.jsonl", "topic") {
		fixtures = append(fixtures,
			fixture{Match: match{User: `"topic":"` + topic + `"`}, Response: says(map[string]string{"title": "On " + topic, "text": "It is told of " + topic + "."}), Chaos: c},
			fixture{Match: match{User: `"title":"On ` + topic + `"`}, Response: says(map[string]string{"verdict": "keep", "reason": "It is so."}), Chaos: c},
		)
	}
	return fixtures
}

// TestRun runs the first pipeline of every user over each wire, by an edit of one
// block: the mock hears one request a completion, and of the key only in the
// header that is for it.
func TestRun(t *testing.T) {
	m, binary := start(t), build(t)
	for wire, l := range lives {
		t.Run(wire, func(t *testing.T) {
			n := begin(t, binary, m, wire)
			m.script(t, n.answers(t, nil)...)
			out, code := n.penstock(t, "run", "--live")
			if code != 0 || !strings.Contains(out, "8 items: 8 accepted\n") {
				t.Fatalf("exit %d:\n%s", code, out)
			}
			journal := m.journal(t)
			if len(journal) != 16 {
				t.Errorf("%d requests, want 16: two a topic", len(journal))
			}
			want := []string{"accept", "accept-encoding", "content-length", "content-type", "host", "user-agent", "x-request-id", l.key}
			if l.header != "" {
				want = append(want, l.header)
			}
			slices.Sort(want)
			for _, e := range journal {
				var names []string
				for name := range e.Headers {
					names = append(names, name)
				}
				slices.Sort(names)
				if diff := cmp.Diff(want, names); diff != "" {
					t.Errorf("the headers (-want +got):\n%s", diff)
				}
				if e.Method != "POST" || e.Path != l.path || e.Response.Status != 200 {
					t.Errorf("asked %s %s, answered %d", e.Method, e.Path, e.Response.Status)
				}
				if !strings.Contains(e.Headers[l.key], "[REDACTED]") {
					t.Errorf("the header %s holds %q", l.key, e.Headers[l.key])
				}
			}
			kept(t, n, journal)
			if out, code := n.penstock(t, "run", "--live"); code != 0 || !strings.Contains(out, "nothing to do") || len(m.journal(t)) != 16 {
				t.Errorf("the second run: exit %d, %d requests:\n%s", code, len(m.journal(t)), out)
			}
		})
	}
}

// kept holds what came of a run against what must: each topic's note is in the
// corpus once, each completion was answered once, and the key is in no file.
func kept(t *testing.T, n *notes, journal []entry) {
	t.Helper()
	var want []string
	for _, topic := range n.lines(t, "topics.jsonl", "topic") {
		want = append(want, "On "+topic)
	}
	got := n.lines(t, "data/notes.jsonl", "title")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the corpus (-want +got):\n%s", diff)
	}
	answered := map[string]int{}
	for _, e := range journal {
		if e.Response.Status == 200 && e.Response.Chaos == "" {
			answered[fmt.Sprint(e.Body["messages"])]++
		}
	}
	for asked, times := range answered {
		if times != 1 {
			t.Errorf("answered %d times: %.300s", times, asked)
		}
	}
	if len(answered) != 2*len(want) {
		t.Errorf("%d completions were answered, want %d", len(answered), 2*len(want))
	}
	err := fs.WalkDir(os.DirFS(n.dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(n.dir, path))
		if bytes.Contains(text, []byte(wiretest.Canary)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestChaos has the mock refuse, garble and drop a part of the answers: however
// often the pipeline must be run for it, in the end each item is in the corpus
// once, and no answer was asked for again.
func TestChaos(t *testing.T) {
	binary := build(t)
	for wire := range lives {
		t.Run(wire, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			m := start(t)
			n := begin(t, binary, m, wire)
			m.script(t, n.answers(t, &chaos{Drop: .1, Malformed: .1, Disconnect: .1, RateLimit: .05})...)
			code, out := -1, ""
			for range 5 {
				if out, code = n.penstock(t, "run", "--live", "-k"); code == 0 {
					break
				}
				if code != 2 && code != 3 {
					t.Fatalf("exit %d:\n%s", code, out)
				}
			}
			if code != 0 {
				t.Fatalf("five runs were not enough: exit %d:\n%s", code, out)
			}
			journal := m.journal(t)
			happened := map[string]int{}
			for _, e := range journal {
				happened[e.Response.Chaos]++
			}
			for _, what := range []string{"drop", "malformed", "disconnect", "rateLimit"} {
				if happened[what] == 0 {
					t.Logf("of %d requests none met with %s", len(journal), what)
				}
			}
			if len(journal) == 16 {
				t.Error("nothing went wrong: this shows nothing")
			}
			kept(t, n, journal)
		})
	}
}
