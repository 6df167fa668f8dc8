package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
)

// planFlags are those that only a plan has.
type planFlags struct {
	item    string  // the one to list; empty: all, with items
	items   bool    // list every visit of every item
	routes  bool    // print the route tables
	out     string  // write the whole plan here
	maxUSD  float64 // with limited: exit 3 where the money may be more
	limited bool
}

func (c *command) planCommand() *cobra.Command {
	var f runFlags
	var p planFlags
	cmd := &cobra.Command{
		Use:   "plan [ITEM]",
		Short: "Print what a run would do, and write nothing",
		Long: "Print, stage by stage, what a run would answer from staging/, what it would visit and why, and\n" +
			"what may follow from that; and what it may cost at most. Nothing is written but the file of -o.\n" +
			"With ITEM, print each visit of that item and of all that it fans out into.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.limited = cmd.Flags().Changed("max-usd")
			if err := f.check(cmd); err != nil {
				return err
			}
			if len(args) > 0 {
				p.item = args[0]
			}
			return c.plan(cmd.Context(), f, p)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.jobs, "jobs", "j", engine.DefaultJobs, "taken from habit: a plan makes no visit, let alone `N`")
	flags.BoolVarP(&f.force, "always-make", "B", false, "as if nothing were in staging/")
	flags.BoolVar(&f.locked, "locked", false, "end with exit 5 where the lock file would have to change")
	flags.BoolVar(&f.live, "live", false, "plan a run that calls the providers")
	flags.StringVar(&f.record, "record", "", "plan a run that appends what it is told to `FILE`, a cassette")
	f.choose(flags)
	flags.BoolVar(&p.items, "items", false, "print every visit of every item")
	flags.BoolVar(&p.routes, "routes", false, "print which value of what goes where")
	flags.StringVarP(&p.out, "out", "o", "", "write the plan to `FILE`, for `run --plan FILE`")
	flags.Float64Var(&p.maxUSD, "max-usd", 0, "exit 3 where the run may cost more than `X` dollars, or nobody knows")
	flags.BoolVar(&f.detailed, "detailed-exitcode", false, "exit 4 when the plan is not empty")
	return cmd
}

func (c *command) plan(ctx context.Context, f runFlags, p planFlags) error {
	if p.limited && p.maxUSD < 0 {
		return usage("--max-usd takes dollars from 0, not %v", p.maxUSD)
	}
	o, err := c.options(ctx, f, false)
	if err != nil {
		return err
	}
	o.Report = &progress{ui: c.printer(), name: o.Graph.Pipeline.Name}
	var plan *engine.Planned
	switch {
	case p.out != "":
		plan, err = c.writePlan(ctx, o, p.out)
	case p.items || p.item != "":
		plan, err = engine.PlanItems(ctx, o, p.item)
	default:
		plan, err = engine.Plan(ctx, o)
	}
	if err != nil {
		return err
	}
	if !p.items && p.item == "" {
		plan.Visits = nil
	}
	if p.item != "" {
		plan.Visits = visitsOf(plan.Visits, p.item)
		if len(plan.Visits) == 0 && plan.LeftOut == (engine.LeftOut{}) && !c.known(p.item) {
			return notPlanned(p.item)
		}
	}
	refused, err := c.refused(ctx, o, f, p, plan)
	if err != nil {
		return err
	}
	if err := c.printPlan(plan, o.Graph, p, refused); err != nil {
		return err
	}
	if refused != nil && c.json {
		return printed(dag.KindOf(refused))
	}
	if refused != nil {
		return refused
	}
	if f.detailed && !plan.Empty() {
		return printed(dag.KindChanged)
	}
	return nil
}

// refused is what the flags do not allow of a run as it is planned; err, that this
// cannot be told.
func (c *command) refused(ctx context.Context, o engine.Options, f runFlags, p planFlags, plan *engine.Planned) (refused, err error) {
	if dear := p.affordable(plan); dear != nil {
		return dear, nil
	}
	switch {
	case f.plan != "":
		err = c.keepTo(ctx, o, f.plan)
	case f.frozen:
		err = engine.CheckFrozen(ctx, o)
	}
	if dag.KindOf(err) == dag.KindDiffers {
		return err, nil
	}
	return nil, err
}

// known tells whether an item has a trail: then nothing of it is planned because it
// is finished.
func (c *command) known(item string) bool {
	store, err := c.openStore()
	if err != nil {
		return false
	}
	defer store.Close()
	dir, _, err := c.place()
	if err != nil {
		return false
	}
	_, err = engine.WhyItem(store, dir, item)
	return err == nil
}

// visitsOf are those of an item and of all that it fans out into.
func visitsOf(all []engine.PlannedVisit, item string) []engine.PlannedVisit {
	var of []engine.PlannedVisit
	for _, v := range all {
		if v.Item == item || strings.HasPrefix(v.Item, item+"/") {
			of = append(of, v)
		}
	}
	return of
}

func notPlanned(item string) error {
	return &dag.Error{Op: "plan item", Subject: item, Kind: dag.KindConfig,
		Err: errors.New("no source has it, and no run has made it"), Hint: "penstock plan --items"}
}

// affordable is exit 3 where the money may be more than --max-usd allows.
func (p planFlags) affordable(plan *engine.Planned) error {
	most := plan.USD
	if !p.limited || len(plan.Refused) == 0 && !most.Unknown && most.Value <= p.maxUSD {
		return nil
	}
	err := &dag.Error{Op: "plan", Kind: dag.KindStopped}
	if len(plan.Refused) > 0 {
		err.Err = fmt.Errorf("the run would not begin, so nothing is known of its cost: %s", plan.Refused[0])
		return err
	}
	if most.Unknown {
		err.Err = fmt.Errorf("what the run may cost at most is not known, so it may be more than --max-usd %s", money(p.maxUSD))
		err.Hint = "give each provider a `price` and the pipeline a `budget` with `usd`: then the budget is the maximum"
		return err
	}
	err.Err = fmt.Errorf("the run may cost %s, more than --max-usd %s", money(most.Value), money(p.maxUSD))
	return err
}
