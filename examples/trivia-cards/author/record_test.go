package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/completion"
)

// The committed cassette holds each prompt as it is now, with the script's
// answer, and nothing else. It leaves to the test below only what the stage
// itself writes when it asks again.
func TestCassetteHoldsTheScript(t *testing.T) {
	cassette, err := completion.ReadCassette("../cassette.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	l, err := loadScript(t).lines()
	if err != nil {
		t.Fatal(err)
	}
	prompts := map[string]*line{}
	for _, play := range l {
		prompts[play.prompt(t)] = play
	}
	asked := map[*line]int{}
	for _, e := range cassette.Entries() {
		play := prompts[texts(e.Request.Messages)[0]]
		if play == nil {
			t.Fatalf("%s: no prompt gives this request any more: record the cassette anew with `go run ./examples/trivia-cards/author`", e.Note)
		}
		asked[play]++
		_, said, err := l.ask(e.Request.System, texts(e.Request.Messages))
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Reply.Text + string(e.Reply.JSON); got != said.text || e.Reply.Refusal != said.refusal {
			t.Errorf("%s: the cassette answers %s%s; the script %s%s", e.Note, got, e.Reply.Refusal, said.text, said.refusal)
		}
		stage := cast[play.stage]
		if e.Request.Schema != schemaDigest(t, stage.schema) || e.Reply.Model != stage.model {
			t.Errorf("%s: recorded with schema %s and model %s; want that of %s.json and %s", e.Note, e.Request.Schema.Short(), e.Reply.Model, stage.schema, stage.model)
		}
	}
	for _, play := range l {
		if asked[play] != len(play.answers) {
			t.Errorf("%s of %s is asked %d times, the script has %d answers", play.stage, play.note, asked[play], len(play.answers))
		}
	}
}

// cast is what pipeline.hcl says of the stages.
var cast = map[string]struct{ prompt, schema, model string }{
	"topic_miner": {"topic-miner.md", "topics", "gpt-5-mini"},
	"crafter":     {"crafter.md", "card", "gpt-5-mini"},
	"mme_crafter": {"mme-crafter.md", "card", "gpt-5-mini"},
	"verifier":    {"verifier.md", "report", "claude-sonnet-5"},
	"repairer":    {"repairer.md", "card", "gpt-5-mini"},
}

func (p *line) prompt(t *testing.T) string {
	t.Helper()
	return render(t, cast[p.stage].prompt, p.input)
}

func schemaDigest(t *testing.T, name string) dag.Digest {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../schemas", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := canon.Canonical(nil, raw)
	if err != nil {
		t.Fatal(err)
	}
	return dag.Sum(c)
}

// The command that the README names gives the committed cassette, byte for byte,
// and its run ends each item as the script says.
func TestCassetteIsWhatTheScriptGives(t *testing.T) {
	if testing.Short() {
		t.Skip("builds penstock and runs the pipeline")
	}
	want, err := os.ReadFile("../cassette.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "cassette.jsonl")
	if err := record(loadScript(t), root, out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i, line := range gotLines {
		if i >= len(wantLines) || !bytes.Equal(line, wantLines[i]) {
			t.Fatalf("cassette.jsonl differs from line %d on (%d lines, now %d): record it anew with `go run ./examples/trivia-cards/author`, then look at the change", i+1, len(wantLines), len(gotLines))
		}
	}
	t.Fatalf("cassette.jsonl has %d lines, now %d: record it anew with `go run ./examples/trivia-cards/author`", len(wantLines), len(gotLines))
}
