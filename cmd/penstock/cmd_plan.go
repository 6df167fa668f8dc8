package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/internal/ui"
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
		plan, err = engine.PlanItems(ctx, o)
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
		if plan.Visits = visitsOf(plan.Visits, p.item); len(plan.Visits) == 0 {
			return notPlanned(p.item)
		}
	}
	dear := p.affordable(plan)
	if err := c.printPlan(plan, o.Graph, p, dear); err != nil {
		return err
	}
	if dear != nil && c.json {
		return printed(dag.KindOf(dear))
	}
	if dear != nil {
		return dear
	}
	if f.detailed && !plan.Empty() {
		return printed(dag.KindChanged)
	}
	return nil
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
		Err: errors.New("it is finished, or no source has it"), Hint: "penstock plan --items"}
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

// planDocument is what `plan --json` prints.
type planDocument struct {
	Version int               `json:"version"`
	Empty   bool              `json:"empty"`
	Plan    *engine.Planned   `json:"plan"`
	Routes  []lang.RouteTable `json:"routes,omitempty"`
	Error   *ui.Ended         `json:"error,omitempty"` // what it may cost is more than --max-usd, or not known
}

func (c *command) printPlan(plan *engine.Planned, g *dag.Graph, f planFlags, dear error) error {
	p := c.printer()
	var routes []lang.RouteTable
	if f.routes {
		routes = lang.RouteTables(g)
	}
	if c.json {
		document := planDocument{2, plan.Empty(), plan, routes, nil}
		if dear != nil {
			by := ui.EndedBy(dear)
			document.Error = &by
		}
		return p.Document(document)
	}
	for _, why := range plan.Refused {
		p.Note("a run would not start: %s", why)
	}
	switch {
	case f.routes:
		printRoutes(p, routes)
	case f.items || f.item != "":
		printVisits(p, plan.Visits)
	case plan.Empty() && plan.Blocked == 0:
		p.Line("nothing to do: %s as they were", count(plan.Items, "item is", "items are"))
		printLeftOut(p, plan.LeftOut)
	default:
		printStages(p, plan)
	}
	return nil
}

// printStages prints the plan as people read it first: a line for each stage,
// then why.
func printStages(p *ui.Printer, plan *engine.Planned) {
	columns := []string{"stage", "provider", ">reuse", ">run", ">maybe"}
	blocked := slices.ContainsFunc(plan.Stages, func(s engine.StagePlan) bool { return s.Blocked > 0 })
	if blocked {
		columns = append(columns, ">blocked")
	}
	columns = append(columns, ">calls at most")
	paid := paysFor(plan)
	if paid {
		columns = append(columns, ">usd at most")
	}
	t := ui.NewTable(columns...)
	for _, s := range plan.Stages {
		row := []string{s.Stage, s.Provider, figure(s.Reuse), figure(s.Run), atMost(s.Maybe)}
		if blocked {
			row = append(row, figure(s.Blocked))
		}
		if s.Provider != "" {
			row = append(row, bound(s.Calls))
			if paid {
				row = append(row, dollarsAtMost(s.USD))
			}
		}
		t.Row(row...)
	}
	t.Row("gate", "", figure(plan.Gate.Reuse), figure(plan.Gate.Decide), atMost(plan.Gate.Maybe))
	t.Print(p)
	p.Line("")
	if why := whyTable(plan); why.Len() > 0 {
		why.Print(p)
		for _, line := range waiting(plan) {
			p.Line("  %s", line)
		}
		p.Line("")
	}
	p.Line("%s, %d finished before; %s", count(plan.Items, "item", "items"), plan.Settled, atMostInAll(plan))
	printLeftOut(p, plan.LeftOut)
}

// paysFor tells whether money is a question at all.
func paysFor(plan *engine.Planned) bool {
	return slices.ContainsFunc(plan.Providers, func(p engine.ProviderPlan) bool {
		return !p.Replayed && (p.Calls == nil || *p.Calls > 0)
	})
}

// whyTable tells the causes: why visits are made, or are not.
func whyTable(plan *engine.Planned) *ui.Table {
	t := ui.NewTable("stage", ">items", "why")
	for _, s := range plan.Stages {
		for _, r := range s.Why {
			why := r.Why
			if r.Blocked {
				why = "blocked: " + why
			}
			t.Row(s.Stage, strconv.Itoa(r.Items), why+oneChange(r.Changes))
		}
		if s.Unasked > 0 && len(s.Why) > 0 {
			t.Row(s.Stage, strconv.Itoa(s.Unasked), "not looked up; `penstock plan --items` tells of each")
		}
	}
	return t
}

// waiting tells which stages wait on which: one line for those that wait on the same.
func waiting(plan *engine.Planned) []string {
	var order []string
	waits := map[string][]string{}
	for _, s := range plan.Stages {
		on := slices.DeleteFunc(slices.Clone(s.WaitsOn), func(stage string) bool { return stage == s.Stage })
		if len(on) == 0 || s.Maybe != nil && *s.Maybe == 0 {
			continue
		}
		key := strings.Join(on, ", ")
		if waits[key] == nil {
			order = append(order, key)
		}
		waits[key] = append(waits[key], s.Stage)
	}
	var lines []string
	for _, on := range order {
		verb := "waits on "
		if len(waits[on]) > 1 {
			verb = "wait on "
		}
		lines = append(lines, strings.Join(waits[on], ", ")+" "+verb+on)
	}
	return lines
}

// oneChange shows old and new where a single short value changed.
func oneChange(changes []engine.Change) string {
	const most = 40
	if len(changes) != 1 || len(changes[0].Old)+len(changes[0].New) > most || strings.HasPrefix(changes[0].Path, "/") {
		return ""
	}
	c := changes[0]
	switch {
	case c.Old == "" && c.New == "":
		return ""
	case c.Old == "":
		return ": new, " + oneLine(c.New)
	case c.New == "":
		return ": " + oneLine(c.Old) + " is gone"
	}
	return ": " + oneLine(c.Old) + " → " + oneLine(c.New)
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", "⏎") }

// printVisits lists what each item meets, and why.
func printVisits(p *ui.Printer, visits []engine.PlannedVisit) {
	t := ui.NewTable("item", ">pass", "stage", "plan", "why")
	for _, v := range visits {
		pass := ""
		if v.Pass > 0 {
			pass = strconv.Itoa(v.Pass)
		}
		why := v.Why
		if v.State == engine.PlanMaybe {
			why = atMost(v.Most) + ", waits on " + v.WaitsOn
		}
		t.Row(v.Item, pass, v.Stage, string(v.State), why)
		for _, c := range v.Changes {
			t.Row("", "", "", "", "  "+c.String()+": "+oneLine(orNothing(c.Old))+" → "+oneLine(orNothing(c.New)))
		}
	}
	t.Print(p)
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// printRoutes prints which value goes where.
func printRoutes(p *ui.Printer, routes []lang.RouteTable) {
	t := ui.NewTable("route", "from", "on", "to")
	for _, r := range routes {
		for i, row := range r.Rows {
			name, from := r.Route, strings.Join(r.From, ", ")
			if i > 0 {
				name, from = "", ""
			}
			t.Row(name, from, strings.Join(row.When, "; "), row.To)
		}
	}
	t.Print(p)
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

func dollarsAtMost(usd *float64) string {
	switch {
	case usd == nil:
		return "unknown"
	case *usd == 0:
		return "·"
	}
	return money(*usd)
}

// money is an amount of dollars, to the cent, or finer where it is less.
func money(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return "$" + strconv.FormatFloat(usd, 'g', 2, 64)
	}
	return "$" + strconv.FormatFloat(usd, 'f', 2, 64)
}

// atMostInAll is the last line of a plan: calls, tokens and money.
func atMostInAll(plan *engine.Planned) string {
	if plan.Calls.Value == 0 && !plan.Calls.Unknown {
		return "no completion is asked for"
	}
	text := "at most " + mostOf(plan.Calls, "completion", "completions")
	if !paysFor(plan) {
		return text + ", answered by the cassette"
	}
	text += ", " + mostOf(plan.Output, "output token", "output tokens") + ", "
	switch {
	case plan.USD.Budget:
		text += money(plan.USD.Value) + " by the budget"
	case plan.USD.Unknown && plan.USD.Value == 0:
		text += "money unknown"
	case plan.USD.Unknown:
		text += "at least " + money(plan.USD.Value) + " (a part is unknown)"
	default:
		text += money(plan.USD.Value)
	}
	return text
}

func mostOf(m engine.Most, one, many string) string {
	switch {
	case m.Unknown && m.Value == 0:
		return many + " unknown"
	case m.Unknown:
		return "at least " + count(m.Value, one, many) + " (a part is unknown)"
	}
	return count(m.Value, one, many)
}
