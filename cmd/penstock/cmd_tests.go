package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/internal/trial"
	"github.com/penstock-run/penstock/plugins/bundled"
)

// testFlags are those of test.
type testFlags struct {
	run    string
	update bool
	junit  string
	jobs   int
}

func (c *command) testCommand() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [NAME ...]",
		Short: "Run the pipeline's tests: what must come of given items",
		Long:  "Run the tests of *.test.hcl beside the pipeline and in tests/. Each runs the engine and the gate as\nthey are, over the items that it gives, in a workspace of its own that is thrown away; completions\nand pages come from a cassette or from the test, never from a provider or the web. NAME is the name\nof a test or a test file.\n\nExit 0 where all hold, 5 where one does not, 2 where one could not be run, 1 where a test or the\npipeline is wrong.",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.test(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.run, "run", "", "run the tests whose name matches `PATTERN`, a regular expression")
	flags.BoolVar(&f.update, "update", false, "write what is found into the expectations that do not hold")
	flags.StringVar(&f.junit, "junit", "", "write the results to `FILE`, too, as JUnit XML")
	flags.IntVarP(&f.jobs, "jobs", "j", engine.DefaultJobs, "make at most `N` visits at a time")
	return cmd
}

func (c *command) test(ctx context.Context, f testFlags, names []string) error {
	if f.jobs < 1 {
		return usage("-j takes a whole number from 1, not %d", f.jobs)
	}
	pattern, err := regexp.Compile(f.run)
	if err != nil {
		return usage("--run %q is no regular expression: %v", f.run, err)
	}
	tests, files, err := c.loadTests(ctx, f.update)
	if err != nil {
		return err
	}
	if tests, err = chosen(tests, pattern, f.run, names); err != nil {
		return err
	}
	args, err := self()
	if err != nil {
		return err
	}
	ctx, interrupt, done := interrupts(ctx)
	defer done()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // a test has nothing that is worth finishing
		select {
		case <-interrupt:
			stop()
		case <-ctx.Done():
		}
	}()
	o := trial.Options{Dir: c.dir, Tests: tests, Version: version, Self: args, Bundled: bundled.Info, Memo: c.memo, Jobs: f.jobs}
	if !c.json && !f.update { // else it is known at the end what was written
		o.Each = c.printTest
	}
	results, err := trial.Run(ctx, o)
	if err == nil && f.junit != "" {
		err = c.writeJUnit(f.junit, results)
	}
	if err != nil {
		return err
	}
	var updated []string
	if f.update {
		if updated, err = c.updateTests(files, results); err != nil {
			return err
		}
	}
	if err := c.printTests(results, f.update, updated); err != nil {
		return err
	}
	if kind := testsKind(results); kind != 0 {
		return printed(kind)
	}
	return nil
}

// loadTests reads the pipeline with its tests. No variable of the environment is
// seen: a test gives the same wherever it runs, and needs no key.
func (c *command) loadTests(ctx context.Context, blank bool) ([]*lang.Test, *lang.Files, error) {
	o := lang.Options{Tests: true, Blank: blank, Environ: func(string) (string, bool) { return "", false }}
	_, files, err := c.loadWith(ctx, o, false)
	if err != nil {
		return nil, nil, err
	}
	if len(files.Tests) == 0 {
		return nil, nil, &dag.Error{Op: "the pipeline has no tests", Kind: dag.KindConfig,
			Hint: "write one in a file NAME.test.hcl beside it:\n    test \"what must hold\" {\n      given = [{ … }]\n      expect { end = \"accepted\" }\n    }"}
	}
	return files.Tests, files, nil
}

// chosen are the tests of those names, or of files of those names, that match.
func chosen(tests []*lang.Test, pattern *regexp.Regexp, written string, names []string) ([]*lang.Test, error) {
	known := map[string]bool{}
	var candidates []string
	for _, t := range tests {
		for _, name := range []string{t.Name, t.Pos.File, path.Base(t.Pos.File)} {
			if !known[name] {
				known[name] = true
				candidates = append(candidates, name)
			}
		}
	}
	for _, name := range names {
		if !known[name] {
			return nil, &dag.Error{Op: nearest(name, candidates, "there is no test %q, and no test file of that name", name), Kind: dag.KindConfig}
		}
	}
	var out []*lang.Test
	for _, t := range tests {
		named := len(names) == 0 || slices.Contains(names, t.Name) || slices.Contains(names, t.Pos.File) || slices.Contains(names, path.Base(t.Pos.File))
		if named && pattern.MatchString(t.Name) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, &dag.Error{Op: fmt.Sprintf("no test matches --run %q", written), Kind: dag.KindConfig, Hint: "penstock test"}
	}
	return out, nil
}

// testsKind is what the command exits with: what did not hold comes before what
// could not be run.
func testsKind(results []*trial.Result) dag.Kind {
	var kind dag.Kind
	for _, r := range results {
		for _, f := range r.Failures {
			switch {
			case f.Written:
			case f.Kind == dag.KindBug:
				return dag.KindBug
			case f.Kind == 0 || f.Kind == dag.KindDiffers || kind == dag.KindDiffers:
				kind = dag.KindDiffers
			case kind == 0:
				kind = f.Kind
			}
		}
	}
	return kind
}

// updateTests writes what was found into the files, and names those that changed.
func (c *command) updateTests(files *lang.Files, results []*trial.Result) ([]string, error) {
	names := []string{}
	for _, r := range results {
		if name := r.Test.Pos.File; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var changed []string
	for _, name := range names {
		src := files.Source(name)
		out, kept, err := trial.Rewrite(name, src, results)
		if err != nil {
			return nil, &dag.Error{Op: "update", Subject: name, Kind: dag.KindConfig, Err: err}
		}
		for _, k := range kept {
			c.printer().Note("%s:%d: %s: %s", k.At.File, k.At.Line, k.What, k.Message)
		}
		if string(out) == string(src) {
			continue
		}
		full := filepath.Join(c.dir, filepath.FromSlash(name))
		now, err := os.ReadFile(full)
		if err == nil && string(now) != string(src) {
			return nil, &dag.Error{Op: "update", Subject: name, Kind: dag.KindConfig, Err: fmt.Errorf("it was edited while the tests ran; run them again")}
		}
		if err == nil {
			err = writeWhole(full, out)
		}
		if err != nil {
			return nil, &dag.Error{Op: "write", Subject: name, Kind: dag.KindInfrastructure, Err: cause(err)}
		}
		changed = append(changed, name)
	}
	return changed, nil
}
