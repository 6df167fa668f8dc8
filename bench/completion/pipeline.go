package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// text is the pipeline: one stage that asks for one completion.
const text = `pipeline "bench" {}

plugin "ask" { source = "./ask" }
plugin "openai" { source = "builtin/openai" }

provider "model" {
  plugin = plugin.openai
  model  = "m"
  config {
    base_url = %q
    dialect { stream = %t }
  }
  limits {
    requests_per_minute = 100000000
    tokens_per_minute   = 1000000000
    concurrency         = %d
  }
}

source "items" { files = ["items.jsonl"] }

stage "ask" {
  plugin   = plugin.ask
  provider = provider.model
  config { turn = %d }
}

route "asked" {
  from = stage.ask
  to   = gate.accept
}

gate "accept" {
  bucket    = "all/all"
  candidate = { line = item }
  corpus "jsonl" {
    data     = "data/all.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = line
  }
}
`

// bench is the folder of the pipeline, and what is measured with it.
type bench struct {
	options
	work   string
	server *server
	turn   int
}

func build(target string) error {
	out, err := exec.Command("go", "build", "-o", target, "./cmd/penstock").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build, in the repository: %w\n%s", err, out)
	}
	return nil
}

// prepare puts the plugin, which is this binary, beside the pipeline.
func (b *bench) prepare() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(b.work, "ask"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return to.Close()
}

// pipeline runs a form from nothing: every completion is asked for.
func (b *bench) pipeline(f *form) (*took, error) {
	for _, name := range []string{"staging", "data", "meta", ".decisions"} {
		if err := os.RemoveAll(filepath.Join(b.work, name)); err != nil {
			return nil, err
		}
	}
	var items bytes.Buffer
	for i := range f.items {
		number := strconv.Itoa(i)
		fmt.Fprintf(&items, "{\"id\":%q,\"text\":%q}\n", number, number+" "+strings.Repeat("q", size-len(number)-1))
	}
	if err := os.WriteFile(filepath.Join(b.work, "items.jsonl"), items.Bytes(), 0o644); err != nil {
		return nil, err
	}
	b.server.calls.Store(0)
	t, err := b.run(f, b.atOnce)
	if asked := b.server.calls.Load(); err == nil && asked != int64(f.items) {
		err = fmt.Errorf("%d calls for %d completions", asked, f.items)
	}
	return t, err
}

// again makes the visits of the last run anew, one at a time. All their completions
// are in the cache.
func (b *bench) again(f *form) (*took, error) {
	for _, name := range []string{"data", "meta", ".decisions"} {
		if err := os.RemoveAll(filepath.Join(b.work, name)); err != nil {
			return nil, err
		}
	}
	b.turn++
	b.server.calls.Store(0)
	t, err := b.run(f, 1)
	if asked := b.server.calls.Load(); err == nil && asked != 0 {
		err = fmt.Errorf("%d completions were asked for anew", asked)
	}
	return t, err
}

func (b *bench) run(f *form, jobs int) (*took, error) {
	content := fmt.Sprintf(text, b.server.base(), f.stream, b.atOnce, b.turn)
	if err := os.WriteFile(filepath.Join(b.work, "pipeline.hcl"), []byte(content), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command(b.penstock, "-C", b.work, "run", "-j", strconv.Itoa(jobs))
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=bench")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	t, err := b.read(f.items)
	if err == nil {
		t.cpu = micros(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
	}
	return t, err
}

// read takes what the stage measured from the corpus.
func (b *bench) read(n int) (*took, error) {
	content, err := os.ReadFile(filepath.Join(b.work, "data", "all.jsonl"))
	if err != nil {
		return nil, err
	}
	t := &took{}
	var begun, ended int64
	for row := range bytes.Lines(content) {
		var l line
		if err := json.Unmarshal(row, &l); err != nil {
			return nil, err
		}
		if begun == 0 || l.Begun < begun {
			begun = l.Begun
		}
		ended = max(ended, l.Ended)
		t.Micros = append(t.Micros, l.Micros)
		t.Beyond = append(t.Beyond, l.Micros-l.Thought)
	}
	if len(t.Micros) != n {
		return nil, fmt.Errorf("%d of %d items were accepted", len(t.Micros), n)
	}
	t.Wall = float64(ended - begun)
	return t, nil
}

// client sends as many requests with nothing between it and the server.
func (b *bench) client(f *form) (*took, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-client", b.server.base()+"/chat/completions", "-n", strconv.Itoa(f.items), "-at-once", strconv.Itoa(b.atOnce))
	cmd.Stdin = bytes.NewReader(*b.server.request.Load())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	t := &took{}
	if err := json.Unmarshal(out, t); err != nil {
		return nil, err
	}
	t.cpu = micros(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
	return t, nil
}
