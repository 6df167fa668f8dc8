package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/internal/ui"
)

// planDocument is what `plan --json` prints.
type planDocument struct {
	Version int               `json:"version"`
	Empty   bool              `json:"empty"`
	Plan    *engine.Planned   `json:"plan"`
	Routes  []lang.RouteTable `json:"routes,omitempty"`
	Error   *ui.Ended         `json:"error,omitempty"` // such a run is refused: --max-usd, --frozen, --plan
}

func (c *command) printPlan(plan *engine.Planned, g *dag.Graph, f planFlags, refused error) error {
	p := c.printer()
	var routes []lang.RouteTable
	if f.routes {
		routes = lang.RouteTables(g)
	}
	if c.json {
		document := planDocument{2, plan.Empty(), plan, routes, nil}
		if refused != nil {
			by := ui.EndedBy(refused)
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
	case f.item != "" && len(plan.Visits) == 0 && !c.known(f.item):
		p.Line("nothing is planned of %s", ui.Clean(f.item))
		printLeftOut(p, plan.LeftOut)
	case f.item != "" && len(plan.Visits) == 0:
		p.Line("nothing to do: %s is as it was; `%s` tells how it ended", ui.Clean(f.item), dag.Command("penstock", "why", f.item))
	case len(plan.Visits) > 0:
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
