package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/schema"
)

// schemasSeen names, in the environment, the folder in which the processes of the
// scripts note the schemas that they have met.
const schemasSeen = "PENSTOCK_SCHEMAS_SEEN"

// newSchemasSeen makes the folder. When all scripts have run, each schema has been
// met by something that was really printed.
func newSchemasSeen(t *testing.T) string {
	dir := t.TempDir()
	t.Cleanup(func() {
		if pattern := flag.Lookup("test.run").Value.String(); t.Failed() || strings.Contains(pattern, "/") {
			return // not all of them ran
		}
		for _, d := range documents {
			if _, err := os.Stat(filepath.Join(dir, d.name)); err != nil {
				t.Errorf("no script prints what docs/schemas/%s.schema.json is of: let one do so", d.name)
			}
		}
	})
	return dir
}

// misfit is the exit status of a process of a script that printed JSON which is not
// as its schema says.
const misfit = 99

// judged is Main for the scripts: what is printed as JSON is held to its schema.
func judged(args []string) int {
	seen, repo := os.Getenv(schemasSeen), os.Getenv("REPO")
	if seen == "" || repo == "" {
		return mainOver(recordedWeb(), args, os.Stdin, os.Stdout, os.Stderr)
	}
	command := commandOf(args)
	out := io.Writer(os.Stdout)
	var printed bytes.Buffer
	if printsDocument(command, args) {
		out = io.MultiWriter(os.Stdout, &printed)
	}
	exit := mainOver(recordedWeb(), args, os.Stdin, out, os.Stderr)
	j := judge{filepath.Join(repo, "docs", "schemas"), seen}
	err := j.all(command, printed.Bytes())
	if file := outFile(args); command == "plan" && file != "" && exit == 0 {
		if content, readErr := os.ReadFile(file); readErr == nil {
			err = errors.Join(err, j.one([]string{"plan-file"}, content))
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", strings.Join(args, " "), err)
		return misfit
	}
	return exit
}

// commandOf is the verb that the words name, such as "plugin list".
func commandOf(args []string) string {
	cmd, _, err := (&command{}).root().Find(longVars(args))
	if err != nil || cmd == nil {
		return ""
	}
	name := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "penstock"), " ")
	switch {
	case name == "breaker":
		return "breaker list"
	case name == "run" && (slices.Contains(args, "-n") || slices.Contains(args, "--dry-run")):
		return "plan"
	}
	return name
}

// printsDocument tells whether a command answers with documents of ours.
func printsDocument(command string, args []string) bool {
	has := func(words ...string) bool {
		return slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(words, arg) })
	}
	switch {
	case has("--help", "-h", "sarif", "--format=sarif"), slices.Contains(withoutDocument, command):
		return asksJSON(args) && command == "" // the mistake is told as JSON
	case command == "fmt" && has(stdin), command == "graph" && has("svg", "dot", "mermaid"):
		return false
	}
	return asksJSON(args) || command == "graph" && has("json")
}

func outFile(args []string) string {
	for i, arg := range args {
		if (arg == "-o" || arg == "--out") && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// judge holds documents to the schemas of a folder.
type judge struct{ schemas, seen string }

// all judges each document that a command printed.
func (j judge) all(command string, printed []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(printed))
	for {
		doc, err := d.ReadValue()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("what was printed is no JSON: %w", err)
		}
		if err := j.one(possible(command, doc), doc); err != nil {
			return err
		}
	}
}

// possible are the schemas that a document may follow; none: it is of no shape of
// ours, such as an artifact.
func possible(command string, doc []byte) []string {
	var top map[string]jsontext.Value
	if json.Unmarshal(doc, &top) != nil {
		top = nil
	}
	switch {
	case command == "show" && (top["version"] == nil || top["item"] == nil && top["error"] == nil):
		return nil
	case top["error"] != nil && len(top) == 2: // version and error alone
		return []string{"error"}
	case top["diagnostics"] != nil:
		return []string{"validate"}
	}
	names := []string{""}
	for _, d := range documents {
		if d.command == command {
			names = append(names, d.name)
		}
	}
	return names[1:]
}

// one asks that a document is as one of the schemas says, and no member more.
func (j judge) one(names []string, doc []byte) error {
	if names == nil {
		return nil
	}
	if len(names) == 0 {
		return errors.New("it printed JSON that has no schema: give it a line in documents_test.go")
	}
	var all error
	for _, name := range names {
		err := j.judge(name, doc)
		if err == nil {
			return os.WriteFile(filepath.Join(j.seen, name), nil, 0o644)
		}
		all = errors.Join(all, fmt.Errorf("not as docs/schemas/%s.schema.json says: %w", name, err))
	}
	return all
}

func (j judge) judge(name string, doc []byte) error {
	source, err := os.ReadFile(filepath.Join(j.schemas, name+".schema.json"))
	if err != nil {
		return err
	}
	var tree any
	if err := json.Unmarshal(source, &tree); err != nil {
		return err
	}
	closed, err := json.Marshal(closing(tree), json.Deterministic(true))
	if err != nil {
		return err
	}
	compiled, err := schema.Compile(name, closed)
	if err != nil {
		return err
	}
	canonical, err := canon.Canonical(nil, doc)
	if err != nil {
		return err
	}
	return compiled.Validate(canonical)
}

// closing makes a schema strict: no member and no word but those that it names. What
// is published is open, so that readers expect more; what is printed is just that.
func closing(tree any) any {
	switch tree := tree.(type) {
	case []any:
		for i := range tree {
			tree[i] = closing(tree[i])
		}
	case map[string]any:
		for name := range tree {
			tree[name] = closing(tree[name])
		}
		if _, ok := tree["properties"].(map[string]any); ok && tree["type"] == "object" {
			tree["additionalProperties"] = false
		}
		if words, ok := tree["examples"].([]any); ok && tree["type"] == "string" {
			tree["enum"] = append(words, "")
		}
	}
	return tree
}
