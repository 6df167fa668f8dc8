package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/penstock-run/penstock/internal/completion"
)

// record runs the pipeline of root on the script, adds the script's pages to what
// was recorded, runs the pipeline as it is on both, and writes them to out. The runs
// happen in folders of their own; in the first the pipeline's two providers are
// this program: a variant kept by hand would drift.
func record(script *Script, root, out string) error {
	work, err := os.MkdirTemp("", "trivia-cards-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, program := range []string{"cmd/penstock", example + "/author"} {
		build := exec.Command("go", "build", "-o", filepath.Join(work, filepath.Base(program)), "./"+program)
		build.Dir = root
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", program, err, said)
		}
	}
	taken := filepath.Join(work, "taken.jsonl")
	pipeline, err := os.ReadFile(filepath.Join(root, "pipeline.hcl"))
	if err != nil {
		return err
	}
	acted, err := recast(pipeline, filepath.Join(work, "author"))
	if err != nil {
		return err
	}
	if _, err := runPipeline(root, work, "first", acted, "", "--live", "--record", taken); err != nil {
		return err
	}
	kept := filepath.Join(work, "kept.jsonl")
	if err := keep(script, taken, kept); err != nil {
		return err
	}
	said, err := runPipeline(root, work, "second", pipeline, kept)
	if err != nil {
		return err
	}
	if err := checkEnds(script, filepath.Join(work, "second")); err != nil {
		return fmt.Errorf("%w; the run said:\n%s", err, said)
	}
	raw, err := os.ReadFile(kept)
	if err != nil {
		return err
	}
	return os.WriteFile(out, raw, 0o644)
}

// runPipeline runs a pipeline in a new folder of work, on the inputs of root and a
// cassette, if there is one.
func runPipeline(root, work, folder string, pipeline []byte, cassette string, flags ...string) (said []byte, err error) {
	dir := filepath.Join(work, folder)
	if err := prepare(root, dir, pipeline, cassette); err != nil {
		return nil, err
	}
	run := exec.Command(filepath.Join(work, "penstock"), append([]string{"run"}, flags...)...)
	run.Dir = dir
	// The keys are asked for by the pipeline; nothing is called with them. No text
	// may hold one by chance: what holds a secret is not recorded.
	run.Env = append(os.Environ(), "OPENAI_API_KEY=key-of-nobody", "ANTHROPIC_API_KEY=key-of-nobody", "NO_COLOR=1")
	if said, err = run.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("penstock run %s: %w\n%s", strings.Join(flags, " "), err, said)
	}
	return said, nil
}

// recast puts this program in the place of both vendors, and reads no page: those
// are the script's, and the second run has them.
func recast(raw []byte, author string) ([]byte, error) {
	for _, vendor := range []string{"openai", "anthropic"} {
		old := fmt.Appendf(nil, "plugin %q { source = %q }", vendor, "builtin/"+vendor)
		if bytes.Count(raw, old) != 1 {
			return nil, fmt.Errorf("pipeline.hcl has no line `%s`: tell record.go how the provider is declared", old)
		}
		raw = bytes.Replace(raw, old, fmt.Appendf(nil, "plugin %q { command = [%q, %q] }", vendor, author, "serve"), 1)
	}
	read := []byte("  check \"live\" {\n")
	if bytes.Count(raw, read) != 1 {
		return nil, errors.New("pipeline.hcl has no check \"live\": tell record.go how pages are read")
	}
	return bytes.Replace(raw, read, append(read, "    if = false\n"...), 1), nil
}

// prepare lays out a pipeline, its prompts, schemas and inputs.
func prepare(root, dir string, pipeline []byte, cassette string) error {
	from, to := filepath.Join(root, filepath.FromSlash(example)), filepath.Join(dir, filepath.FromSlash(example))
	for _, folder := range []string{"prompts", "schemas"} {
		if err := os.CopyFS(filepath.Join(to, folder), os.DirFS(filepath.Join(from, folder))); err != nil {
			return err
		}
	}
	files := map[string]string{}
	for _, name := range []string{"buckets.jsonl", "unstable-language.json"} {
		files[name] = filepath.Join(from, name)
	}
	if cassette != "" {
		files["cassette.jsonl"] = cassette
	}
	for name, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), raw, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "pipeline.hcl"), pipeline, 0o644)
}

// keep writes the recorded completions without their times and with a note each
// of what it is, and then the script's pages, so that the same script and prompts
// give the same bytes.
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
	pages, err := script.pages()
	if err != nil {
		return err
	}
	for _, p := range pages {
		kept.AddPage(p)
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
