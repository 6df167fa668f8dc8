package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// smallFiles are a pipeline of two commands and three items, for scripts that are
// about something else than what a pipeline says.
var smallFiles = map[string]string{
	"items.jsonl": `{"id":"a","n":1}` + "\n" + `{"id":"b","n":2}` + "\n" + `{"id":"c","n":3}` + "\n",
	"make.sh":     "cat\n",
	"pipeline.hcl": `pipeline "small" {}

plugin "exec" { source = "builtin/exec" }

source "items" {
  files = ["items.jsonl"]
  key   = origin.id
}

failure "R_NO" { meaning = "It is not wanted." }

stage "make" {
  plugin = plugin.exec
  config {
    command = ["sh", "make.sh"]
    files   = ["make.sh"]
  }
}

route "made" {
  from = stage.make
  to   = stage.copy
}

stage "copy" {
  plugin = plugin.exec
  config { command = ["cat"] }
}

route "copied" {
  from = stage.copy
  to   = gate.accept
}

gate "accept" {
  candidate = { card = item }
  check "assert" {
    code      = failure.R_NO
    condition = get(card, "n", 0) < 100
  }
  corpus "jsonl" {
    data     = "data/all.jsonl"
    evidence = "meta/evidence.jsonl"
    id       = card.id
    record   = card
  }
  rejections = "meta/rejections.jsonl"
}
`,
}

// small writes that pipeline into the current folder.
func small(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: small")
	}
	ts.Check(writeSmall(ts.MkAbs(".")))
}

func writeSmall(dir string) error {
	for name, text := range smallFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// flip changes one byte of the document of each line of a file whose lines are
// JSON: flip FILE.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip FILE")
	}
	lines := strings.SplitAfter(ts.ReadFile(args[0]), "\n")
	for i, line := range lines {
		if at := strings.LastIndexByte(line, '"'); at > 0 {
			lines[i] = line[:at-1] + string(line[at-1]^1) + line[at:]
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(lines, "")), 0o644))
}
