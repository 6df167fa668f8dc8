package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/internal/lang/expr"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/plugins/bundled"
)

// What a shell completes is looked up in the pipeline and in staging/, without a
// word and without the start of a plugin. Where that finds nothing, nothing is
// offered: a key press is no place for an error.

// completer gives the words that may stand where one that begins with so far does.
type completer func(sofar string) []string

// mostOffered is how many items are offered: who wants another types more of it.
const mostOffered = 200

// completions tells the shell what may stand behind the verbs and flags.
func (c *command) completions(root *cobra.Command) {
	words := map[string]completer{
		"explain": c.codeNames, "functions": functionNames, "breaker reset": c.buckets,
		"show": c.items, "plan": c.items, "logs": c.visitNames,
		"why": func(sofar string) []string { return append(c.items(sofar), c.visitNames(sofar)...) },
	}
	for path, complete := range words {
		if cmd, _, err := root.Find(strings.Fields(path)); err == nil {
			cmd.ValidArgsFunction = oneWord(complete)
		}
	}
	for flag, complete := range map[string]completer{
		"only": c.items, "rerun": c.visitNames, "resample": c.visitNames, "retry": c.classes, "retire": c.codeNames, "base": nil,
	} {
		everyFlag(root, flag, offer(complete))
	}
	everyFlag(root, "directory", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
	everyFlag(root, "var", offer(c.variables))
	for flag, endings := range map[string][]string{
		"file": {"hcl"}, "var-file": {"hcl", "json"}, "record": {"jsonl"}, "plan": {"json"}, "with": {"json"},
	} {
		everyFlag(root, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return endings, cobra.ShellCompDirectiveFilterFileExt
		})
	}
	if cmd, _, err := root.Find([]string{"fmt"}); err == nil {
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"hcl"}, cobra.ShellCompDirectiveFilterFileExt
		}
	}
}

// completeWords lets a shell complete the value of a flag: it is one of these.
func completeWords(cmd *cobra.Command, flag string, words []string) {
	everyFlag(cmd, flag, offer(func(string) []string { return words }))
}

// everyFlag completes a flag of a command, and of those below it, where they have it.
func everyFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if cmd.Flags().Lookup(flag) != nil || cmd.PersistentFlags().Lookup(flag) != nil {
		if _, done := cmd.GetFlagCompletionFunc(flag); !done { // a flag of every verb is met at each
			if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
				panic(err) // the flag is there, and has no completion yet
			}
		}
	}
	for _, sub := range cmd.Commands() {
		everyFlag(sub, flag, complete)
	}
}

// oneWord completes the one argument that a verb takes.
func oneWord(complete completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, sofar string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(complete)(cmd, args, sofar)
	}
}

// offer offers what begins as the word does. What ends open, as STAGE[ does, is gone
// on with.
func offer(complete completer) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, sofar string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		if complete == nil {
			return nil, directive
		}
		words := slices.DeleteFunc(complete(sofar), func(word string) bool {
			return !strings.HasPrefix(word, sofar) || strings.ContainsAny(word, "\t\n\r") // no shell can take these
		})
		open := func(word string) bool { return strings.HasSuffix(word, "[") || strings.HasSuffix(word, "=") }
		if len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return !open(word) }) {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return words, directive
	}
}

// quiet is the command without a voice.
func (c *command) quiet() *command {
	return &command{dir: c.dir, file: c.file, vars: c.vars, varFiles: c.varFiles, in: strings.NewReader(""), out: io.Discard, err: io.Discard}
}

// glance is the pipeline, nil where it is not in order or a plugin would have to be
// started to know it.
func (c *command) glance() (*command, *dag.Graph) {
	q := c.quiet()
	dir, file, err := q.place()
	if err != nil {
		return q, nil
	}
	q.dir, q.file = dir, file
	known := &asker{command: q, ctx: context.Background(), dir: dir}
	defer known.close()
	o := lang.Options{File: file, AnyVars: true, Describe: func(p *dag.Plugin) (*dag.PluginInfo, error) {
		if name, ok := strings.CutPrefix(p.Source, "builtin/"); ok && slices.Contains(bundled.Names(), name) {
			return known.describe(p)
		}
		return known.remembered(p)
	}}
	if q.given(&o) != nil {
		return q, nil
	}
	graph, err := q.loadFrom(context.Background(), dir, o, false)
	if err != nil {
		return q, nil
	}
	return q, graph
}

func (c *command) stages(string) (names []string) {
	if _, graph := c.glance(); graph != nil {
		for _, s := range graph.Stages {
			names = append(names, s.Name)
		}
	}
	return names
}

func (c *command) variables(string) (names []string) {
	if _, graph := c.glance(); graph != nil {
		for _, v := range graph.Variables {
			names = append(names, v.Name+"=")
		}
	}
	return names
}

// codeNames are the codes of the pipeline and of the engine.
func (c *command) codeNames(string) (names []string) {
	if _, graph := c.glance(); graph != nil {
		for _, f := range graph.Codes {
			names = append(names, string(f.Code))
		}
	}
	for _, f := range dag.EngineCodes() {
		names = append(names, string(f.Code))
	}
	return names
}

// classes are what --retry takes: the ways in which items end, and codes.
func (c *command) classes(sofar string) []string {
	return append([]string{"failed", "rejected", "quarantined", "skipped", "review", "parked", "transient"}, c.codeNames(sofar)...)
}

func functionNames(string) (names []string) {
	for _, f := range expr.FunctionDocs() {
		names = append(names, f.Name)
	}
	return names
}

// buckets are those that the gate has counted.
func (c *command) buckets(string) (names []string) {
	q, graph := c.glance()
	if graph == nil || graph.Gate == nil {
		return nil
	}
	g, err := gate.Open(context.Background(), gate.Options{Dir: q.dir, Pipeline: graph.Pipeline.Name, Gate: graph.Gate, ReadOnly: true})
	if err != nil {
		return nil
	}
	defer g.Close()
	for _, b := range g.Breakers() {
		names = append(names, b.Bucket)
	}
	return names
}

// items are keys of what has a trail.
func (c *command) items(sofar string) (keys []string) {
	dir, _, err := c.place()
	if err != nil {
		return nil
	}
	store, err := staging.Open(filepath.Join(dir, "staging"), staging.Options{ReadOnly: true, Log: func(string) {}})
	if err != nil {
		return nil
	}
	defer store.Close()
	_ = store.Trails(func(t *staging.Trail) bool { // what could be read is offered
		if strings.HasPrefix(sofar, t.ItemKey) || strings.HasPrefix(t.ItemKey, sofar) {
			members, err := engine.DecodeFamily(t.Body)
			if err != nil {
				return true
			}
			for _, m := range members {
				if strings.HasPrefix(m.Key, sofar) {
					keys = append(keys, m.Key)
				}
			}
		}
		return len(keys) < mostOffered
	})
	return keys
}

// visitNames are stages with an open bracket, and behind it the items.
func (c *command) visitNames(sofar string) (names []string) {
	stage, item, open := strings.Cut(sofar, "[")
	if !open {
		for _, name := range c.stages(sofar) {
			names = append(names, name+"[")
		}
		return names
	}
	for _, key := range c.items(item) {
		names = append(names, stage+"["+key+"]")
	}
	return names
}

// errNotRemembered is a plugin of which only its start would tell.
var errNotRemembered = errors.New("the plugin would have to be started")
