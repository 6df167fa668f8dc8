package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/ui"
)

func (c *command) planCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Print what a run would do, and write nothing",
		Long:  "Print, stage by stage, what a run would answer from staging/, what it would visit, and what\ndepends on that; and how many completions it would ask for at most. Nothing is written.",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.plan(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.jobs, "jobs", "j", engine.DefaultJobs, "taken from habit: a plan makes no visit, let alone `N`")
	flags.BoolVarP(&f.force, "always-make", "B", false, "as if nothing were in staging/")
	flags.BoolVar(&f.locked, "locked", false, "end with exit 5 where the lock file would have to change")
	flags.BoolVar(&f.live, "live", false, "plan a run that calls the providers")
	flags.BoolVar(&f.detailed, "detailed-exitcode", false, "exit 4 when the plan is not empty")
	return cmd
}

func (c *command) plan(ctx context.Context, f runFlags) error {
	o, err := c.options(ctx, f, false)
	if err != nil {
		return err
	}
	o.Report = &report{ui: c.printer(), name: o.Graph.Pipeline.Name}
	plan, err := engine.Plan(ctx, o)
	if err != nil {
		return err
	}
	if err := c.printPlan(plan); err != nil {
		return err
	}
	if f.detailed && !plan.Empty() {
		return printed(dag.KindChanged)
	}
	return nil
}

func (c *command) printPlan(plan *engine.Planned) error {
	p := c.printer()
	if c.json {
		return p.Document(struct {
			Version int             `json:"version"`
			Empty   bool            `json:"empty"`
			Plan    *engine.Planned `json:"plan"`
		}{1, plan.Empty(), plan})
	}
	if plan.Empty() {
		p.Line("nothing to do: %s as they were", count(plan.Items, "item is", "items are"))
		return nil
	}
	t := ui.NewTable("stage", "provider", ">reuse", ">run", ">depends", ">calls at most")
	for _, s := range plan.Stages {
		calls := ""
		if s.Provider != "" {
			calls = bound(s.Calls)
		}
		t.Row(s.Stage, s.Provider, figure(s.Reuse), figure(s.Run), atMost(s.Depends), calls)
	}
	t.Row("gate", "", figure(plan.Gate.Reuse), figure(plan.Gate.Decide), atMost(plan.Gate.Depends), "")
	t.Print(p)
	p.Line("")
	p.Line("%s, %d finished before; %s", count(plan.Items, "item", "items"), plan.Settled, totalCalls(plan.Calls))
	return nil
}

// figure leaves a zero out: what is not there should not be read.
func figure(n int) string {
	if n == 0 {
		return "·"
	}
	return strconv.Itoa(n)
}

func atMost(n *int) string {
	switch {
	case n == nil:
		return "any number"
	case *n == 0:
		return "·"
	}
	return "≤ " + strconv.Itoa(*n)
}

func bound(n *int) string {
	if n == nil {
		return "unknown"
	}
	return figure(*n)
}

func totalCalls(n *int) string {
	if n == nil {
		return "how many completions at most is not known"
	}
	return count(*n, "completion", "completions") + " at most"
}
