package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/penstock-run/penstock/internal/completion"
)

// record runs the pipeline of root on the script and writes what was recorded
// to out. The run happens in a folder of its own, on a copy of the pipeline
// whose two providers are this program: a variant kept by hand would drift.
func record(script *Script, root, out string) error {
	work, err := os.MkdirTemp("", "trivia-cards-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := prepare(root, work); err != nil {
		return err
	}
	for _, program := range []string{"cmd/penstock", example + "/author"} {
		build := exec.Command("go", "build", "-o", filepath.Join(work, filepath.Base(program)), "./"+program)
		build.Dir = root
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", program, err, said)
		}
	}
	taken := filepath.Join(work, "taken.jsonl")
	run := exec.Command(filepath.Join(work, "penstock"), "run", "--live", "--record", taken)
	run.Dir = work
	// The keys are asked for by the pipeline; nothing is called with them. No text
	// may hold one by chance: what holds a secret is not recorded.
	run.Env = append(os.Environ(), "OPENAI_API_KEY=key-of-nobody", "ANTHROPIC_API_KEY=key-of-nobody", "NO_COLOR=1")
	said, err := run.CombinedOutput()
	if err != nil {
		return fmt.Errorf("penstock run --live --record: %w\n%s", err, said)
	}
	if err := checkEnds(script, work); err != nil {
		return fmt.Errorf("%w; the run said:\n%s", err, said)
	}
	return keep(script, taken, out)
}

// prepare lays out the pipeline, its prompts, schemas and inputs.
func prepare(root, work string) error {
	raw, err := os.ReadFile(filepath.Join(root, "pipeline.hcl"))
	if err != nil {
		return err
	}
	for _, vendor := range []string{"openai", "anthropic"} {
		old := fmt.Appendf(nil, "plugin %q { source = %q }", vendor, "builtin/"+vendor)
		if bytes.Count(raw, old) != 1 {
			return fmt.Errorf("pipeline.hcl has no line `%s`: tell record.go how the provider is declared", old)
		}
		raw = bytes.Replace(raw, old, fmt.Appendf(nil, "plugin %q { command = [%q, %q] }", vendor, "./author", "serve"), 1)
	}
	if err := os.WriteFile(filepath.Join(work, "pipeline.hcl"), raw, 0o644); err != nil {
		return err
	}
	from, to := filepath.Join(root, filepath.FromSlash(example)), filepath.Join(work, filepath.FromSlash(example))
	for _, folder := range []string{"prompts", "schemas"} {
		if err := os.CopyFS(filepath.Join(to, folder), os.DirFS(filepath.Join(from, folder))); err != nil {
			return err
		}
	}
	inputs, err := os.ReadFile(filepath.Join(from, "buckets.jsonl"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "buckets.jsonl"), inputs, 0o644)
}

// keep writes the recorded completions without their times and with a note each
// of what it is, so that the same script and prompts give the same bytes.
func keep(script *Script, taken, out string) error {
	recorded, err := completion.ReadCassette(taken)
	if err != nil {
		return err
	}
	l, err := script.lines()
	if err != nil {
		return err
	}
	kept := completion.NewCassette(out)
	asked := map[*line]bool{}
	for _, e := range recorded.Entries() {
		play, _, err := l.ask(e.Request.System, texts(e.Request.Messages))
		if err != nil {
			return err
		}
		asked[play] = true
		again := *e
		again.RecordedAt = time.Time{}
		again.Note = "written by hand: " + play.stage + ", " + play.note
		if err := kept.Add(again); err != nil {
			return err
		}
	}
	var missing []string
	for _, play := range l {
		if !asked[play] {
			missing = append(missing, play.stage+" of "+play.note)
		}
	}
	if n := len(missing); n > 0 {
		slices.Sort(missing)
		return fmt.Errorf("the run never asked for %d answers of the script, first the %s", n, missing[0])
	}
	return kept.Write()
}

func texts(messages []completion.Message) []string {
	var all []string
	for _, m := range messages {
		text := m.Text
		for _, p := range m.Parts {
			text += p.Text
		}
		all = append(all, text)
	}
	return all
}
