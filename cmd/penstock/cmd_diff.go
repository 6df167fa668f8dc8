package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/internal/revision"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/plugins/bundled"
)

type diffFlags struct {
	base, format   string
	live, detailed bool
}

func (c *command) diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [OLD NEW]",
		Short: "Print what an edit changes in meaning, and what it makes stale",
		Long: "Print what changes in meaning between two pipelines, each a file or a folder, or with --base between\n" +
			"a revision of git and the working tree: stages, where values go, failure codes, checks, and what of\n" +
			"staging/ would be asked anew. Comments, layout and the names of locals, routes and providers\nchange nothing.",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.base != "" && len(args) > 0:
				return usageOf(cmd, "--base compares a revision with the working tree: leave %s out, or --base", strings.Join(args, " "))
			case f.base == "" && len(args) != 2:
				return usageOf(cmd, "say what is compared: two files or folders, or --base REV")
			case f.base == "" && c.file != "":
				return usageOf(cmd, "-f goes with --base: without it both files are named, as in penstock diff OLD NEW")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.diff(cmd, f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.base, "base", "", "compare with the pipeline as it was at `REV` of git")
	flags.StringVar(&f.format, "format", "text", "print as `FORMAT`: text or markdown")
	completeWords(cmd, "format", []string{"text", "markdown"})
	flags.BoolVar(&f.live, "live", false, "ask what is stale for runs that call the providers")
	flags.BoolVar(&f.detailed, "detailed-exitcode", false, "exit 4 when something has changed")
	return cmd
}

// compared is what a diff found.
type compared struct {
	Version int           `json:"version"`
	Empty   bool          `json:"empty"`
	Changes *dag.Changes  `json:"changes"`
	Stale   *engine.Stale `json:"stale"`
}

func (c *command) diff(cmd *cobra.Command, f diffFlags, args []string) error {
	formats := map[string]func(*compared){"text": c.printDiff, "markdown": c.printDiffMarkdown}
	show, ok := formats[f.format]
	if !ok {
		return usageOf(cmd, "%s", nearest(f.format, slices.Sorted(maps.Keys(formats)), "there is no format %q", f.format))
	}
	was, is, end, err := c.bothSides(cmd.Context(), f, args)
	defer end()
	if err != nil {
		return err
	}
	self, err := self()
	if err != nil {
		return err
	}
	found := &compared{Version: 1, Changes: dag.Diff(was.Graph, is.Graph)}
	found.Stale, err = engine.StaleOf(cmd.Context(), engine.StaleOptions{
		Was: was, Is: is, Dir: c.dir, Live: f.live, Self: self, Bundled: bundled.Info, Memo: c.memo,
		Log: func(msg string) { c.printer().Note("%s", msg) },
	})
	if err != nil {
		return err
	}
	// A program or a script may do something else now, though no block says so.
	found.Empty = found.Changes.Empty() && !found.Stale.Sure()
	if c.json {
		err = c.printer().Document(found)
	} else {
		show(found)
	}
	if err == nil && f.detailed && !found.Empty {
		return printed(dag.KindChanged)
	}
	return err
}

// bothSides loads the two pipelines. What it needed for that is gone after end.
func (c *command) bothSides(ctx context.Context, f diffFlags, args []string) (was, is engine.Side, end func(), err error) {
	end = func() {}
	o := lang.Options{Live: f.live, AnyVars: true}
	if err := c.given(&o); err != nil {
		return was, is, end, err
	}
	var before, after pipelinePlace
	if f.base != "" {
		if before, after, end, err = c.revisionAndNow(ctx, f.base); err != nil {
			return was, is, end, err
		}
		c.dir = after.dir
	} else {
		if before, err = c.placeOf(args[0]); err != nil {
			return was, is, end, err
		}
		if after, err = c.placeOf(args[1]); err != nil {
			return was, is, end, err
		}
		before.name, after.name = args[0], args[1]
	}
	c.memo = staging.OpenMemo(filepath.Join(c.dir, "staging"))
	now, then := &asker{command: c, ctx: ctx, dir: after.dir}, &asker{command: c, ctx: ctx, dir: before.dir}
	defer now.close()
	defer then.close()
	if is.Graph, err = c.loadSide(ctx, after, o, now.describe); err != nil {
		return was, is, end, err
	}
	was.Graph, err = c.loadSide(ctx, before, o, func(p *dag.Plugin) (*dag.PluginInfo, error) {
		info, err := then.describe(p)
		if err != nil && !strings.HasPrefix(p.Source, "builtin/") {
			// A program that is built is not kept under version control.
			if other, missing := now.describe(p); missing == nil {
				return other, nil
			}
		}
		return info, err
	})
	if err != nil {
		return was, is, end, err
	}
	was.Dir, is.Dir = before.dir, after.dir
	return was, is, end, c.declaredSomewhere(o, was.Graph, is.Graph)
}

// pipelinePlace is where a pipeline lies.
type pipelinePlace struct {
	dir, file string
	name      string // as the user calls it
}

// placeOf is the place that a word of the command line names: a file or a folder.
func (c *command) placeOf(word string) (pipelinePlace, error) {
	path := c.path(word)
	info, err := os.Stat(path)
	if err != nil {
		return pipelinePlace{}, &dag.Error{Op: "read pipeline", Subject: word, Kind: dag.KindConfig, Err: cause(err),
			Hint: "name two files or folders; a revision of git is named by --base REV"}
	}
	at := command{dir: path}
	if !info.IsDir() {
		at = command{dir: filepath.Dir(path), file: filepath.Base(path)}
	}
	dir, file, err := at.place()
	return pipelinePlace{dir: dir, file: file}, err
}

// revisionAndNow extracts the pipeline's folder as it was at a revision.
func (c *command) revisionAndNow(ctx context.Context, rev string) (before, after pipelinePlace, end func(), err error) {
	end = func() {}
	dir, file, err := c.place()
	if err != nil {
		return before, after, end, err
	}
	temporary, err := os.MkdirTemp("", "penstock-diff-")
	if err != nil {
		return before, after, end, &dag.Error{Op: "make a temporary folder", Kind: dag.KindInfrastructure, Err: err}
	}
	end = func() { _ = os.RemoveAll(temporary) } // it is the system's to clean up what cannot be removed
	if _, err := revision.Extract(ctx, dir, rev, temporary, "staging"); err != nil {
		return before, after, end, err
	}
	name := file
	if name == "" {
		name = lang.DefaultFile
	}
	if _, err := os.Stat(filepath.Join(temporary, name)); err != nil {
		return before, after, end, &dag.Error{Op: "read revision", Subject: rev, Kind: dag.KindConfig, Err: errors.New("there was no " + name),
			Hint: "name a later revision; `git log -- " + name + "` lists those that touched it"}
	}
	return pipelinePlace{temporary, file, rev}, pipelinePlace{dir, file, "the working tree"}, end, nil
}

// loadSide loads one of the two; of a faulty one it is said which it is.
func (c *command) loadSide(ctx context.Context, at pipelinePlace, o lang.Options, describe func(*dag.Plugin) (*dag.PluginInfo, error)) (*dag.Graph, error) {
	o.File, o.Describe = at.file, describe
	graph, err := c.loadFrom(ctx, at.dir, o, false)
	if errors.Is(err, errPrinted) {
		c.printer().Note("that is the pipeline of %s", at.name)
	}
	return graph, err
}

// declaredSomewhere refuses a value whose variable neither pipeline declares.
func (c *command) declaredSomewhere(o lang.Options, graphs ...*dag.Graph) error {
	for _, name := range slices.Sorted(maps.Keys(o.Vars)) {
		var declared []string
		found := false
		for _, g := range graphs {
			for _, v := range g.Variables {
				found = found || v.Name == name
				declared = append(declared, v.Name)
			}
		}
		if !found {
			return usage("%s", nearest(name, declared, "--var sets %q, and neither pipeline declares a variable of that name", name))
		}
	}
	return nil
}
