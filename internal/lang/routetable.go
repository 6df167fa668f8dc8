package lang

import (
	"fmt"
	"slices"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// RouteTable tells of a route which value goes where.
type RouteTable struct {
	Route string     `json:"route"`
	From  []string   `json:"from"`
	Pos   dag.Pos    `json:"pos"`
	Rows  []RouteRow `json:"rows"`
}

// RouteRow is one way out of a route.
type RouteRow struct {
	When []string `json:"when"` // the cases that go there: "always", `outcome "repair"`, `item.cat = "music"`
	To   string   `json:"to"`   // "stage.repairer, once", "gate.accept as review", "stop rejected"
	// Proved tells that When lists values, by what the schemas say that there is;
	// else it is the condition as it is written.
	Proved bool `json:"proved"`
}

// RouteTables are the tables of all routes, in the order in which they stand.
func RouteTables(g *dag.Graph) []RouteTable {
	tables := make([]RouteTable, 0, len(g.Routes))
	for _, r := range g.Routes {
		t := RouteTable{Route: r.Name, Pos: r.Pos}
		for _, s := range r.From {
			t.From = append(t.From, s.Name)
		}
		if r.To != nil {
			t.way("", r.To)
		}
		for _, outcome := range outcomesOf(r) {
			t.way(fmt.Sprintf("outcome %q", outcome), r.On[outcome])
		}
		for _, f := range r.Fail {
			when := "failure"
			if f.Code != "" {
				when = "failure " + string(f.Code)
			}
			t.way(when, f.Arm)
		}
		tables = append(tables, t)
	}
	return tables
}

// outcomesOf lists a route's outcomes as they are written.
func outcomesOf(r *dag.Route) []string {
	listed := slices.Clone(r.Order)
	for outcome := range r.On {
		if !slices.Contains(listed, outcome) {
			listed = append(listed, outcome)
		}
	}
	slices.Sort(listed[len(r.Order):])
	return listed
}

// way adds the rows of an arm, taken when that holds.
func (t *RouteTable) way(when string, a *dag.Arm) {
	if a == nil {
		return
	}
	if a.Kind != dag.ArmWhen {
		if when == "" {
			when = "always"
		}
		t.row(when, destination(a), true)
		return
	}
	conds := make([]dag.Expr, len(a.Branches))
	for i, b := range a.Branches {
		conds[i] = b.If
	}
	for _, c := range expr.Cases(conds) {
		to := a.Else
		if c.Index < len(a.Branches) {
			to = a.Branches[c.Index].Arm
		}
		if to == nil {
			continue // proved never to be
		}
		for _, values := range c.When {
			if when != "" {
				values = when + " and " + values
			}
			t.row(values, destination(to), c.Sure)
		}
	}
}

// row adds a case; one that goes where the row before does joins it.
func (t *RouteTable) row(when, to string, proved bool) {
	if n := len(t.Rows); n > 0 && t.Rows[n-1].To == to && t.Rows[n-1].Proved == proved {
		t.Rows[n-1].When = append(t.Rows[n-1].When, when)
		return
	}
	t.Rows = append(t.Rows, RouteRow{When: []string{when}, To: to, Proved: proved})
}

// destination is where an arm leads, in words.
func destination(a *dag.Arm) string {
	text := ""
	switch a.Kind {
	case dag.ArmStage:
		text = "stage." + a.Stage.Name
		if a.Bounded {
			text += fmt.Sprintf(", at most %d", a.Max)
			if a.Exhausted != nil {
				text += ", then " + destination(a.Exhausted)
			}
		}
	case dag.ArmGate:
		text = "gate"
		if a.As != "" {
			text += " as " + string(a.As)
		}
	case dag.ArmStop:
		text = "stop " + string(a.End)
	case dag.ArmAsk:
		return "ask"
	case dag.ArmWhen:
		return "by a condition"
	}
	if a.Code != "" {
		text += " with " + string(a.Code)
	}
	if a.Status != "" {
		text += fmt.Sprintf(" (%s)", a.Status)
	}
	if a.Mode != nil && a.Shadow != nil {
		text += fmt.Sprintf(", or while %s is shadow %s", a.Mode.Name, destination(a.Shadow))
	}
	return text
}
