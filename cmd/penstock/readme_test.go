package main

import (
	"bytes"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"
)

// A page is tested block by block, in order, in one copy of the checkout:
//
//	console  each line "$ …" is run, and what it prints is compared with what
//	         follows; a line "..." stands for any number of lines
//	diff     the edit is made in the file that its first line names
//	go       the program is kept for the command that builds it
//	mermaid  equals what `penstock graph --format mermaid` prints
//	yaml     each `run:` step is run
type block struct {
	kind string
	line int // of its first line of text, from 1
	text string
}

// blocks takes the fenced blocks out of a Markdown page.
func blocks(page string) []block {
	var out []block
	open := false
	for i, line := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && !open:
			out = append(out, block{kind: fence, line: i + 2})
			open = true
		case isFence:
			open = false
		case open:
			out[len(out)-1].text += line + "\n"
		}
	}
	return out
}

// typed is one "$ …" of a console block, with what it is said to print.
type typed struct {
	line string
	want string
}

func commands(text string) []typed {
	var out []typed
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if words, ok := strings.CutPrefix(line, "$ "); ok {
			out = append(out, typed{line: words})
		} else if len(out) > 0 {
			out[len(out)-1].want += line + "\n"
		}
	}
	return out
}

// page is a Markdown page under test, and what it should say instead.
type page struct {
	t       *testing.T
	repo    string
	text    string
	blocks  []block
	said    map[int]string    // by block: its text as it should be; with -update
	edited  map[string]string // files as they were before the section's edits
	program string            // the last go block
}

// TestReadme runs every block of README.md. Each section starts from the files as
// they are in a checkout; what has run has run.
func TestReadme(t *testing.T) {
	repo := root(t)
	text, err := os.ReadFile(filepath.Join(repo, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	p := &page{t: t, repo: repo, text: string(text), blocks: blocks(string(text)), said: map[int]string{}, edited: map[string]string{}}
	script := "checkout\n"
	section := 0
	for i, b := range p.blocks {
		if n := strings.Count(strings.Join(strings.SplitAfter(p.text, "\n")[:b.line], ""), "\n## "); n != section {
			section = n
			script += "undo\n"
		}
		script += fmt.Sprintf("block %d\n", i)
	}
	file := filepath.Join(t.TempDir(), "readme.txt")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	// A group, so that what follows waits for the script, which is parallel.
	t.Run("blocks", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Files: []string{file},
			Setup: func(env *testscript.Env) error { env.Setenv("REPO", repo); return nil },
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"checkout": checkout,
				"undo":     p.undo,
				"block":    p.block,
			},
		})
	})
	if *update {
		if err := os.WriteFile(filepath.Join(repo, "README.md"), []byte(p.updated()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func root(t *testing.T) string {
	t.Helper()
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// undo puts edited files back.
func (p *page) undo(ts *testscript.TestScript, _ bool, _ []string) {
	for name, text := range p.edited {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
	clear(p.edited)
}

// block runs the block of a number.
func (p *page) block(ts *testscript.TestScript, _ bool, args []string) {
	var i int
	if _, err := fmt.Sscan(args[0], &i); err != nil {
		ts.Fatalf("block %q: %v", args[0], err)
	}
	b := p.blocks[i]
	switch b.kind {
	case "console":
		said := ""
		for _, c := range commands(b.text) {
			said += "$ " + c.line + "\n" + p.run(ts, b, c)
		}
		p.said[i] = said
	case "mermaid":
		ts.Check(ts.Exec("penstock", "graph", "--format", "mermaid"))
		p.compare(ts, b, "penstock graph --format mermaid", b.text, ts.ReadFile("stdout"))
		p.said[i] = ts.ReadFile("stdout")
	case "diff":
		p.edit(ts, b)
	case "go":
		p.program = b.text
	case "yaml":
		p.workflow(ts, b)
	default:
		ts.Fatalf("README.md:%d: a block of the kind %q, which nothing tests", b.line, b.kind)
	}
}

// run runs a command as it stands on the page, and gives what the page should say.
func (p *page) run(ts *testscript.TestScript, b block, c typed) string {
	words := c.line
	switch {
	case words == "go test ./...":
		return c.want // this very test is a part of it
	case strings.HasPrefix(words, "go build "):
		p.build(ts, strings.Fields(words)[2:])
		return c.want
	}
	// The command is built already; TestReadmeFirstCommand does it as it stands here.
	words = strings.Replace(words, "go run ./cmd/penstock", "penstock", 1)
	failed := ts.Exec("sh", "-c", "("+words+") 2>&1")
	got := ts.ReadFile("stdout")
	if failed != nil && !strings.Contains(got, "error:") {
		ts.Fatalf("README.md:%d: %s: %v", b.line, words, failed)
	}
	if strings.Contains("\n"+c.want, "\n...\n") {
		if !like(masked(got), masked(c.want)) {
			p.compare(ts, b, words, c.want, got)
		}
		return c.want
	}
	p.compare(ts, b, words, c.want, got)
	return example(got)
}

func (p *page) compare(ts *testscript.TestScript, b block, what, want, got string) {
	if diff := cmp.Diff(masked(want), masked(got)); diff != "" && !*update {
		ts.Fatalf("README.md:%d: %s prints something else (-page +printed):\n%s", b.line, what, diff)
	}
}

// like compares texts, where a line "..." of want stands for any lines.
func like(got, want string) bool {
	for i, part := range strings.Split("\n"+want, "\n...\n") {
		part = strings.TrimPrefix(part, "\n")
		at := strings.Index(got, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		got = got[at+len(part):]
	}
	return got == ""
}

// example is an output with a run id and times that stay the same on the page.
func example(text string) string {
	text = masks[0].is.ReplaceAllString(text, "20260115T101500Z-4f2a91")
	return masks[1].is.ReplaceAllString(text, "2026-01-15T10:15:00Z")
}

// build builds the program of the last go block, as if it stood in the checkout:
// go build -o OUT ./DIR.
func (p *page) build(ts *testscript.TestScript, args []string) {
	if len(args) != 3 || args[0] != "-o" {
		ts.Fatalf("go build %v: write it as go build -o OUT ./DIR", args)
	}
	dir := ts.MkAbs("source")
	source, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(os.WriteFile(source, []byte(p.program), 0o644))
	ts.Check(os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, filepath.Join(p.repo, args[2], "main.go"), source), 0o644))
	build := exec.Command("go", "build", "-overlay", overlay, "-o", ts.MkAbs(args[1]), args[2])
	build.Dir = p.repo
	if said, err := build.CombinedOutput(); err != nil {
		ts.Fatalf("go build: %v\n%s", err, said)
	}
	formatted, err := format.Source([]byte(p.program))
	ts.Check(err)
	if diff := cmp.Diff(string(formatted), p.program); diff != "" {
		ts.Fatalf("gofmt would change the program of the page (-gofmt +page):\n%s", diff)
	}
}

// edit makes a diff of one hunk.
func (p *page) edit(ts *testscript.TestScript, b block) {
	head, hunk, _ := strings.Cut(b.text, "\n")
	name, ok := strings.CutPrefix(head, "--- ")
	if !ok {
		ts.Fatalf("README.md:%d: a diff begins with --- and a file", b.line)
	}
	old, edited := "", ""
	for line := range strings.Lines(hunk) {
		switch line[0] {
		case '-':
			old += line[1:]
		case '+':
			edited += line[1:]
		case ' ':
			old += line[1:]
			edited += line[1:]
		default:
			ts.Fatalf("README.md:%d: a line of a diff begins with -, + or a space", b.line)
		}
	}
	text := ts.ReadFile(name)
	if n := strings.Count(text, old); n != 1 {
		ts.Fatalf("README.md:%d: %s has what is edited %d times, not once", b.line, name, n)
	}
	if _, ok := p.edited[name]; !ok {
		p.edited[name] = text
	}
	ts.Check(os.WriteFile(ts.MkAbs(name), []byte(strings.Replace(text, old, edited, 1)), 0o644))
}

// workflow runs the steps of a CI workflow in a checkout of its own.
func (p *page) workflow(ts *testscript.TestScript, b block) {
	var file struct {
		Jobs map[string]struct {
			Steps []struct {
				Run string `yaml:"run"`
			} `yaml:"steps"`
		} `yaml:"jobs"`
	}
	ts.Check(yaml.Unmarshal([]byte(b.text), &file))
	dir := ts.MkAbs("ci")
	ts.Check(copyCheckout(p.repo, dir))
	ran := 0
	for _, job := range file.Jobs {
		for _, step := range job.Steps {
			if step.Run == "" || strings.HasPrefix(step.Run, "go build ") {
				continue
			}
			ts.Check(ts.Exec("sh", "-c", "cd ci && "+strings.ReplaceAll(step.Run, "./penstock", "penstock")))
			ran++
		}
	}
	if ran == 0 {
		ts.Fatalf("README.md:%d: the workflow runs nothing", b.line)
	}
}

// updated is the page with what was printed.
func (p *page) updated() string {
	lines := strings.SplitAfter(p.text, "\n")
	out := ""
	at := 0
	for i, b := range p.blocks {
		out += strings.Join(lines[at:b.line-1], "")
		at = b.line - 1 + strings.Count(b.text, "\n")
		if said, ok := p.said[i]; ok {
			out += said
		} else {
			out += b.text
		}
	}
	return out + strings.Join(lines[at:], "")
}

// TestReadmeFirstCommand does what a stranger does first, word by word.
func TestReadmeFirstCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles everything in another folder")
	}
	dir := t.TempDir()
	if err := copyTree(root(t), dir); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"79 items: 41 accepted, 17 rejected, 8 failed, 13 expanded\n159 visits made\n", "nothing to do: 79 items are as they were"} {
		run := exec.Command("go", "run", "./cmd/penstock", "run")
		run.Dir = dir
		said, err := run.CombinedOutput()
		if err != nil || !strings.Contains(string(said), want) {
			t.Errorf("go run ./cmd/penstock run: %v; it printed\n%s\nand should print %q", err, said, want)
		}
	}
}

// copyTree copies a checkout, without what git keeps and what runs have made.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch rel {
			case ".git", "staging", "data", "meta", ".decisions":
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return copyFile(path, filepath.Join(to, rel))
	})
}

var link = regexp.MustCompile(`\[([^\]]*)\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinks follows every link in the checkout; a link called like a test leads to
// the file that holds it.
func TestLinks(t *testing.T) {
	repo := root(t)
	docs, err := filepath.Glob(filepath.Join(repo, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) < 7 {
		t.Errorf("docs/ has %d pages", len(docs))
	}
	proofs := 0
	for _, page := range append(docs, filepath.Join(repo, "README.md"), filepath.Join(repo, "CONTRIBUTING.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target, err := os.ReadFile(filepath.Join(filepath.Dir(page), m[2]))
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if !strings.HasPrefix(m[1], "Test") {
				continue
			}
			proofs++
			if !strings.Contains(string(target), "\nfunc "+m[1]+"(t *testing.T)") {
				t.Errorf("%s: %s has no %s", page, m[2], m[1])
			}
		}
	}
	if proofs < 15 {
		t.Errorf("only %d links to tests were found", proofs)
	}
}

// TestHelpFits: no line of help is wider than a terminal of 100 columns.
func TestHelpFits(t *testing.T) {
	verbs := (&command{}).root().Commands()
	for _, verb := range verbs {
		var out bytes.Buffer
		Main([]string{verb.Name(), "--help"}, nil, &out, &out)
		if out.Len() == 0 {
			t.Errorf("%s has no help", verb.Name())
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
				t.Errorf("%s --help has a line of %d characters: %s", verb.Name(), n, line)
			}
		}
	}
}

// TestReadmeTables holds the tables of flags and exits to the program.
func TestReadmeTables(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(string(text), "`", "")
	exits := 0
	for _, m := range regexp.MustCompile(`(?m)^  (\d+) +(.*)$`).FindAllStringSubmatch(exitHelp(), -1) {
		exits++
		if !strings.Contains(plain, "\n| "+m[1]+" | "+m[2]) {
			t.Errorf("README.md has no row for exit %s: %s", m[1], m[2])
		}
	}
	if exits != 8 {
		t.Errorf("the help lists %d exits", exits)
	}
	flags := 0
	for _, verb := range (&command{}).root().Commands() {
		if !verb.Hidden && !strings.Contains(string(text), "\n| `penstock "+verb.Name()+"` | ") {
			t.Errorf("README.md has no row for `penstock %s`", verb.Name())
		}
		if verb.Name() != "run" && verb.Name() != "plan" {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)^ +(?:(-\w), )?(--[a-z-]+)`).FindAllStringSubmatch(verb.Flags().FlagUsages(), -1) {
			flags++
			word := m[1]
			if word == "" {
				word = m[2]
			}
			if !strings.Contains(string(text), "`"+word) {
				t.Errorf("README.md does not tell of %s %s", verb.Name(), word)
			}
		}
	}
	if flags < 10 {
		t.Errorf("only %d flags were found", flags)
	}
}
