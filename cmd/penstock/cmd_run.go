package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/internal/telemetry"
	"github.com/penstock-run/penstock/internal/ui"
	"github.com/penstock-run/penstock/plugins/bundled"
)

// runFlags are those of run and plan: a plan is a run that visits nothing.
type runFlags struct {
	jobs      int
	keepGoing bool
	dryRun    bool // -n
	force     bool
	dry       bool
	live      bool
	record    string
	detailed  bool
	locked    bool
	frozen    bool
	plan      string // of a run: the file of the plan that it is held to
	choice    engine.Choice
}

func (c *command) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the pipeline: do what is not done yet",
		Long: "Run the pipeline on every item that is not finished. What an earlier run did, or paid for,\nis answered from staging/; a second run of the same thing does nothing.\n\n" +
			"Patterns of stages and items match the whole name: * stands for any text, ? for one character,\nand \\ takes the next as it is. Quote them for the shell: --rerun 'writer[draft-*]'.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if f.dryRun {
				return c.plan(cmd.Context(), f, planFlags{})
			}
			return c.run(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.jobs, "jobs", "j", engine.DefaultJobs, "make at most `N` visits at a time")
	flags.BoolVarP(&f.keepGoing, "keep-going", "k", false, "start new items after an infrastructure failure, too")
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, "print the plan and visit nothing")
	flags.BoolVarP(&f.force, "always-make", "B", false, "answer nothing from staging/")
	flags.BoolVar(&f.dry, "dry", false, "visit, let the gate evaluate, and commit nothing")
	flags.BoolVar(&f.live, "live", false, "call the providers and read the web, whatever cassette there is")
	flags.BoolVar(&f.locked, "locked", false, "end with exit 5 where the lock file would have to change")
	flags.BoolVar(&f.frozen, "frozen", false, "end with exit 5 where a visit is not answered from staging/")
	f.choose(flags)
	flags.StringVar(&f.plan, "plan", "", "do what `FILE` of plan -o says; exit 5 where it does not hold any more")
	flags.StringVar(&f.record, "record", "", "append live completions and pages to `FILE`, a cassette")
	return cmd
}

// choose adds the flags that narrow a run, or have some of it made anew.
func (f *runFlags) choose(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.choice.Only, "only", nil, "take in the item `ITEM` alone, or those that match it; repeatable")
	flags.IntVar(&f.choice.Limit, "limit", 0, "take in the first `N` records alone")
	flags.StringArrayVar(&f.choice.Rerun, "rerun", nil, "make anew the visits of `VISIT`: STAGE[ITEM], or STAGE; repeatable")
	flags.StringArrayVar(&f.choice.Resample, "resample", nil, "as --rerun of `VISIT`, and ask the model anew; repeatable")
	flags.StringArrayVar(&f.choice.Retry, "retry", nil, "take up again, at their last visit, the items that ended as `CLASS`:\nfailed, rejected, quarantined, skipped, review, parked, transient,\nor a failure code; repeatable")
}

// check refuses what no value of a flag can mean.
func (f *runFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("limit") && f.choice.Limit < 1 {
		return usage("--limit takes a whole number from 1, not %d", f.choice.Limit)
	}
	return nil
}

// options of the engine for this command line.
func (c *command) options(ctx context.Context, f runFlags, visits bool) (engine.Options, error) {
	if f.jobs < 1 {
		return engine.Options{}, usage("-j takes a whole number from 1, not %d", f.jobs)
	}
	graph, err := c.load(ctx, visits, visits && f.live, false)
	if err != nil {
		return engine.Options{}, err
	}
	args, err := self()
	if err != nil {
		return engine.Options{}, err
	}
	record := f.record
	if record != "" {
		record = c.path(record)
	}
	return engine.Options{
		Dir: c.dir, Graph: graph, Version: version, Self: args, Bundled: bundled.Info, Memo: c.memo,
		Jobs: f.jobs, KeepGoing: f.keepGoing, Force: f.force, Dry: f.dry, Live: f.live, Web: c.web, Record: record, Locked: f.locked,
		Frozen: f.frozen, Choice: f.choice,
	}, nil
}

func (c *command) run(ctx context.Context, f runFlags) error {
	// A frozen run calls nobody, so it needs no secret.
	o, err := c.options(ctx, f, !f.frozen)
	if err != nil {
		return err
	}
	if f.plan != "" {
		if err := c.keepTo(ctx, o, f.plan); err != nil {
			return err
		}
	}
	ctx, interrupt, done := interrupts(ctx)
	defer done()
	o.Interrupt = interrupt
	o.Report = &progress{ui: c.printer(), name: o.Graph.Pipeline.Name}
	var wrong []string
	o.Telemetry, wrong = telemetry.FromEnvironment(version)
	c.notes(wrong)
	defer func() { c.notes(flushed(ctx, o.Telemetry, interrupt)) }()
	s, err := engine.Run(ctx, o)
	err = errors.Join(err, c.memo.Save())
	c.printer().EndFooter()
	if s != nil && (err == nil || s.Tally.TakenIn > 0) { // else there is nothing to tell but the error
		printErr := c.printSummary(s, o.Graph.Pipeline.Name, err)
		if c.json && err != nil && printErr == nil {
			return printed(dag.KindOf(err))
		}
		err = cmp.Or(err, printErr)
	}
	if err != nil {
		return err
	}
	if s.Kind != 0 {
		return printed(s.Kind)
	}
	return nil
}

func (c *command) notes(lines []string) {
	for _, line := range lines {
		c.printer().Note("%s", line)
	}
}

// How long the end of a run waits for a collector: what it has not taken by then
// is lost, and that is said.
const (
	flushMost            = 5 * time.Second
	flushMostInterrupted = time.Second
)

// flushed sends what is left to tell of a run. Who interrupts is not kept waiting.
func flushed(ctx context.Context, x *telemetry.Exporter, interrupt <-chan struct{}) []string {
	if x == nil {
		return nil
	}
	most := flushMost
	select {
	case <-interrupt:
		most, interrupt = flushMostInterrupted, nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	go func() {
		select {
		case <-interrupt:
			cancel()
		case <-ctx.Done():
		}
	}()
	return x.Close(ctx)
}

// interrupts turns the first SIGINT or SIGTERM into a closed channel and the
// second into a cancelled context.
func interrupts(parent context.Context) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(parent)
	first := make(chan struct{})
	signals := make(chan os.Signal, 2)
	caught := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup stays what it is
		caught = append(caught, syscall.SIGHUP)
	}
	signal.Notify(signals, caught...)
	go func() {
		select {
		case <-signals:
			close(first)
		case <-ctx.Done():
			return
		}
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, first, func() { signal.Stop(signals); cancel() }
}

// progress prints a run as it goes: a line now and then, on a terminal one live
// footer.
type progress struct {
	ui   *ui.Printer
	name string
	last time.Time
}

func (r *progress) Started(runID string) {
	r.last = time.Now()
	if !r.ui.JSON {
		r.ui.Note("run %s: %s", runID, r.name)
	}
}

func (r *progress) Item(engine.ItemEnd) {}

func (r *progress) Warn(line string) { r.ui.Note("%s", line) }

// plainEvery is how often a run says that it is alive where no footer can.
const plainEvery = 10 * time.Second

func (r *progress) Progress(t engine.Tally, running int, waits []staging.Waiting) {
	line := fmt.Sprintf("%d items in, %s; %d visits made, %d running", t.TakenIn+t.Spawned, ends(t.Ends), t.Visits, running)
	for _, w := range waits {
		line += "; " + engine.WaitingText(w, time.Now())
	}
	r.ui.Footer("%s", cut(line, max(1, r.ui.Width()-1))) // one that wraps cannot be taken away again
	if !r.ui.Live() && !r.ui.JSON && time.Since(r.last) >= plainEvery {
		r.last = time.Now()
		r.ui.Note("%s", line)
	}
}

// ends writes a tally: "41 accepted, 17 rejected".
func ends(tally map[dag.End]int) string {
	text := ""
	for _, end := range dag.Ends {
		if n := tally[end]; n > 0 {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprintf("%d %s", n, word(end))
		}
	}
	if text == "" {
		return "nothing ended"
	}
	return text
}

// endNote follows an end that does not say all.
func endNote(dry, kept bool) string {
	switch {
	case dry && kept:
		return " (dry run, record kept)"
	case dry:
		return " (dry run)"
	case kept:
		return " (record kept)"
	}
	return ""
}

// wouldBe is the word for an end: what a dry run accepts is not in the corpus.
func wouldBe(end dag.End, dry bool) string {
	if dry && end == dag.Accepted {
		return "would be accepted"
	}
	return word(end)
}

func word(end dag.End) string {
	if end == dag.NotStarted {
		return "not started"
	}
	return string(end)
}
