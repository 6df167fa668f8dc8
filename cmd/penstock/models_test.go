package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/text"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// play is what the models of a test say: answers by stage and by what they are
// shown, the first to the prompt itself, each next when the model is asked again.
type play struct {
	Topics  map[string][]string `json:"topics"`  // by bucket, "history/easy/1"
	Cards   map[string][]string `json:"cards"`   // by the topic's title
	Reports map[string][]string `json:"reports"` // by the card, canonical
	Repairs map[string][]string `json:"repairs"` // by the card, canonical
	Served  map[string]string   `json:"served"`  // by the configured model: what the server calls it
	Asked   string              `json:"asked"`   // an address that hears each request and says when to answer; empty: nobody
}

// serveModels is the provider plugin of these tests, on the play in a file.
func serveModels(path string) {
	sdk.ServeProvider(sdk.Provider{
		Info: sdk.ProviderInfo{
			Name: "models", Version: "1", Behaviour: "models/1", WireVersion: "models/1", Schema: true,
			Config: []sdk.Field{{Name: "api_key", Type: "string", Sensitive: true, Doc: "Not used."}},
		},
		Configure: func(_ context.Context, config sdk.ProviderConfig) (sdk.Completer, error) {
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			p := &play{}
			if err := json.Unmarshal(raw, p); err != nil {
				return nil, err
			}
			return func(_ context.Context, r *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
				return p.complete(config.Model, r)
			}, nil
		},
	})
}

func (p *play) complete(model string, r *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
	prompt := ""
	for _, part := range r.GetMessages()[0].GetParts() {
		prompt += part.GetText()
	}
	heading, _, _ := strings.Cut(prompt, "\n")
	_, data, _ := strings.Cut(prompt, "<data>\n")
	input, err := jsontext.NewDecoder(strings.NewReader(data)).ReadValue()
	if err != nil {
		return nil, sdk.InvalidRequest("%s: no input: %v", heading, err)
	}
	said, err := p.say(heading, input)
	if err != nil {
		return nil, sdk.InvalidRequest("%s: %v", heading, err)
	}
	if p.Asked != "" {
		if err := p.ask(heading, input); err != nil {
			return nil, err
		}
	}
	if served, ok := p.Served[model]; ok {
		model = served
	}
	again := len(r.GetMessages()) / 2 // each refused answer stands there with what was wrong
	return &sdk.CompletionReply{Text: said[min(again, len(said)-1)], FinishReason: "stop", Model: model, Usage: &sdk.Usage{Input: 1, Output: 1}}, nil
}

// ask tells a test of a request and waits for its word.
func (p *play) ask(heading string, input []byte) error {
	c, err := net.Dial("tcp", p.Asked)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "%s %s\n", heading, input); err != nil {
		return err
	}
	word, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err
	}
	if word = strings.TrimSpace(word); word != "go" {
		return sdk.InvalidRequest("%s", word)
	}
	return nil
}

// asked hears the requests of a run. answer is called for each, several at a
// time, and gives the word: "go", or why the provider is not there.
func asked(t *testing.T, answer func(request string) string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if request, err := bufio.NewReader(c).ReadString('\n'); err == nil {
					_, _ = fmt.Fprintln(c, answer(strings.TrimSuffix(request, "\n")))
				}
			}()
		}
	}()
	return l.Addr().String()
}

// say finds the answers of a stage to an input.
func (p *play) say(heading string, input []byte) ([]string, error) {
	var in struct {
		Cat, Diff, Title string
		Batch            int
		Card             jsontext.Value
	}
	if err := json.Unmarshal(input, &in, json.MatchCaseInsensitiveNames(true)); err != nil {
		return nil, err
	}
	var said []string
	key := in.Title
	switch heading {
	case "# Topic miner":
		key = fmt.Sprintf("%s/%s/%d", in.Cat, in.Diff, in.Batch)
		said = p.Topics[key]
	case "# Crafter", "# Crafter for the arts and games":
		said = p.Cards[key]
	case "# Verifier":
		key = string(canonical(in.Card))
		said = p.Reports[key]
	case "# Repairer":
		key = string(canonical(in.Card))
		said = p.Repairs[key]
	}
	if len(said) == 0 {
		return nil, fmt.Errorf("nothing is to be said to %s", key)
	}
	return said, nil
}

func canonical(doc []byte) []byte {
	b, err := canon.Canonical(nil, doc)
	if err != nil {
		return bytes.Clone(doc)
	}
	return b
}

// workspace is a checkout of the trivia-card pipeline whose models are played.
type workspace struct {
	t    *testing.T
	dir  string
	site *site // what the addresses of webHosts lead to
}

// webHosts are those that the reports of these tests name, as far as somebody
// reads their pages.
var webHosts = []string{
	"www.britannica.com", "www.worldhistory.org", "www.nps.gov", "www.nasa.gov", "www.loc.gov", "a.github.io", "b.github.io",
	"en.wikipedia.org", "de.wikipedia.org", "web.archive.org",
}

// newWorkspace lays the root pipeline out with the models of these tests in the
// place of both vendors; change edits the pipeline further.
func newWorkspace(t *testing.T, buckets []string, p *play, change ...string) *workspace {
	t.Helper()
	w := &workspace{t: t, dir: t.TempDir(), site: newSite(answerPage)}
	t.Cleanup(w.site.Close)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	example := filepath.Join("examples", "trivia-cards")
	for _, folder := range []string{"prompts", "schemas"} {
		if err := os.CopyFS(filepath.Join(w.dir, example, folder), os.DirFS(filepath.Join(root, example, folder))); err != nil {
			t.Fatal(err)
		}
	}
	rules := filepath.Join(example, "unstable-language.json")
	if err := copyFile(filepath.Join(root, rules), filepath.Join(w.dir, rules)); err != nil {
		t.Fatal(err)
	}
	pipeline, err := os.ReadFile(filepath.Join(root, "pipeline.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("pipeline.hcl", string(pipeline))
	for _, vendor := range []string{"openai", "anthropic"} {
		w.edit(fmt.Sprintf("plugin %q { source = %q }", vendor, "builtin/"+vendor),
			fmt.Sprintf("plugin %q { command = [%q, %q] }", vendor, w.program("trivia-models"), filepath.Join(w.dir, "play.json")))
	}
	w.edit("gate \"accept\" {\n", "gate \"accept\" {\n  allow_hosts = [\""+strings.Join(webHosts, "\", \"")+"\"]\n")
	for i := 0; i+1 < len(change); i += 2 {
		w.edit(change[i], change[i+1])
	}
	w.write("examples/trivia-cards/buckets.jsonl", strings.Join(buckets, "\n")+"\n")
	w.play(p)
	return w
}

// play sets what the models say from now on. Their sources are pages of the test's
// own web, which has a port.
func (w *workspace) play(p *play) {
	w.t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		w.t.Fatal(err)
	}
	text := string(raw)
	for _, host := range webHosts {
		text = strings.ReplaceAll(text, "https://"+host+"/", "http://"+host+":"+w.site.port()+"/")
	}
	w.write("play.json", text)
}

// program is the path of a command of this test binary.
func (w *workspace) program(name string) string {
	w.t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *workspace) write(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// read gives a file, or nothing where it is not there.
func (w *workspace) read(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return string(b)
}

func (w *workspace) lines(name string) []string {
	w.t.Helper()
	return strings.FieldsFunc(w.read(name), func(r rune) bool { return r == '\n' })
}

// edit replaces a text that stands in the pipeline once.
func (w *workspace) edit(from, to string) {
	w.t.Helper()
	text := w.read("pipeline.hcl")
	if n := strings.Count(text, from); n != 1 {
		w.t.Fatalf("the pipeline has %q %d times, not once", from, n)
	}
	w.write("pipeline.hcl", strings.Replace(text, from, to, 1))
}

// command is penstock in the workspace, with keys that nobody looks at.
func (w *workspace) command(args ...string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), w.program("penstock"), args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=key-of-nobody", "ANTHROPIC_API_KEY=key-of-nobody", "NO_COLOR=1")
	return cmd
}

// run runs the pipeline and asks for its exit status.
func (w *workspace) run(exit int, args ...string) (stdout, stderr string) {
	w.t.Helper()
	cmd := w.command(append([]string{"run", "--live"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		w.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != exit {
		w.t.Fatalf("penstock run exits %d, not %d:\n%s%s", got, exit, &out, &errs)
	}
	return out.String(), errs.String()
}

// object is a JSON object that a case changes.
type object map[string]any

func (o object) String() string {
	raw, err := json.Marshal(o, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// with is the object with other members; one that is set to nothing{} is left out.
func (o object) with(members object) object {
	c := maps.Clone(o)
	for name, value := range members {
		if _, gone := value.(nothing); gone {
			delete(c, name)
			continue
		}
		c[name] = value
	}
	return c
}

type nothing struct{}

// goodReport accepts any card.
func goodReport() object {
	return object{
		"status": "accept", "codes": []string{}, "repair_fields": []string{}, "reason": "It holds.", "claim": "It is so.",
		"unique_answer": true, "disproof": object{"tried": []string{"another answer"}, "found": false},
		"sources": []object{
			{"url": "https://www.britannica.com/event/Fall-of-Constantinople-1453", "quote": "It is so.", "supports": []string{"claim", "answer"}},
			{"url": "https://www.worldhistory.org/article/1180/", "quote": "So it is.", "supports": []string{"claim", "answer"}},
		},
	}
}

// topicID is the identity of a topic.
func topicID(cat, title string) string {
	sum := sha256.Sum256([]byte(cat + "\n" + text.Normalize(title)))
	return "t-" + hex.EncodeToString(sum[:6])
}
