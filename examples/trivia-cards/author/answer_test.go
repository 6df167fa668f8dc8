package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-run/penstock/plugins/prompt"
)

func TestPromptsLeadToTheirAnswers(t *testing.T) {
	s := loadScript(t)
	l, err := s.lines()
	if err != nil {
		t.Fatal(err)
	}
	c := s.Batches[0].Candidates[4] // Magna Carta: repaired
	draft, report := c.draft(), c.Report.report()
	for _, tt := range []struct {
		file  string
		input any
		want  string
	}{
		{"topic-miner.md", s.Batches[0].bucket(), `"title":"Fall of Constantinople"`},
		{"crafter.md", c.topic(), `with a quill`},
		{"verifier.md", verifierInput{draft}, `"status":"repair"`},
		{"repairer.md", repairInput{draft, report}, `sealed, not signed`},
		{"verifier.md", verifierInput{c.repaired()}, `"status":"accept"`},
		{"mme-crafter.md", s.Batches[10].Candidates[1].topic(), `"a":"The Who"`},
	} {
		_, said, err := l.ask("", []string{render(t, tt.file, tt.input)})
		if err != nil {
			t.Errorf("%s: %v", tt.file, err)
		} else if !strings.Contains(said.text, tt.want) {
			t.Errorf("%s answers %s; want something with %s", tt.file, said.text, tt.want)
		}
	}
}

// render is a prompt with its input, as the stage sends them: no text of the script
// has a sign that the frame escapes.
func render(t *testing.T, file string, input any) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../prompts", file))
	if err != nil {
		t.Fatal(err)
	}
	template, err := prompt.CompileTemplate(string(raw))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	text, err := template.Render(canonical(t, input))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return text + frame + string(canonical(t, input)) + "\n</data>"
}

func TestAskedAgain(t *testing.T) {
	s := loadScript(t)
	l, err := s.lines()
	if err != nil {
		t.Fatal(err)
	}
	c := s.Batches[11].Candidates[2] // Casablanca: three misfits, no card
	asked := []string{render(t, "mme-crafter.md", c.topic())}
	for turn, want := range []string{"Henry Fonda", `"choices"`, `"w":"Cary Grant,`, `"w":"Cary Grant,`} {
		_, said, err := l.ask("", asked)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said.text, want) {
			t.Errorf("turn %d answers %s; want something with %s", turn, said.text, want)
		}
		asked = append(asked, said.text, "This does not fit.")
	}
}

func TestUnknownPromptsAreErrors(t *testing.T) {
	l, err := loadScript(t).lines()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ prompt, want string }{
		{"Dear model,", "no text of the request begins with the heading of a prompt"},
		{"# Poet\n", `no stage has a prompt that begins with "# Poet": tell answer.go of it`},
		{"# Verifier\n", `the prompt of the verifier does not end with its input between <data> and </data>: write data = true in its config`},
		{"# Verifier\n" + frame + "{\"q\":1}\n</data>", `the script has no answer of the verifier to {"q":1}: write one in script/`},
	} {
		if _, _, err := l.ask("", []string{tt.prompt}); err == nil || err.Error() != tt.want {
			t.Errorf("ask(%q): %v; want %s", tt.prompt, err, tt.want)
		}
	}
}
