package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

// CodeReport gathers the items that one code came to. Items that ended without a
// code are gathered by their end and their status.
type CodeReport struct {
	Code     dag.Code        `json:"code,omitempty"`
	Meaning  string          `json:"meaning,omitempty"`
	Status   string          `json:"status,omitempty"`
	Items    int             `json:"items"`
	Ends     map[dag.End]int `json:"ends"`
	Examples []CodeExample   `json:"examples"` // the first in the order of the keys
}

// CodeExample is an item with what was said of it for one code.
type CodeExample struct {
	Item     string        `json:"item"`
	End      dag.End       `json:"end"`
	Reason   string        `json:"reason,omitempty"`
	Check    string        `json:"check,omitempty"` // of the gate, that named the code
	Stage    string        `json:"stage,omitempty"` // that left the finding
	Figure   *float64      `json:"figure,omitempty"`
	Evidence string        `json:"evidence,omitempty"`
	Details  []gate.Detail `json:"details,omitempty"`
}

const (
	examplesShown = 5
	detailsShown  = 5 // of an example
	reasonShown   = 500
)

type codeCounts struct {
	outline *outline
	at      map[string]*CodeReport
}

func newCodeCounts(o *outline) *codeCounts {
	return &codeCounts{outline: o, at: map[string]*CodeReport{}}
}

func (c *codeCounts) item(m *Member) {
	if m.End == dag.Accepted || m.End == dag.Expanded {
		return
	}
	if len(m.Codes) == 0 {
		group := c.group(string(m.End)+"\x00"+m.Status, CodeReport{Status: m.Status})
		group.add(m, uncoded(m))
	}
	told := map[dag.Code]bool{}
	for _, code := range m.Codes {
		if told[code] {
			continue
		}
		told[code] = true
		group := c.group(string(code), CodeReport{Code: code, Meaning: c.outline.meaning(code)})
		var example CodeExample
		if len(group.Examples) < examplesShown {
			example = c.example(m, code)
		}
		group.add(m, example)
	}
}

// uncoded is what can be said of an item that came to no code: what the last stage
// ended with.
func uncoded(m *Member) CodeExample {
	e := CodeExample{Reason: m.Reason}
	if m.Trail == nil || len(m.Trail.Visits) == 0 {
		return e
	}
	last := &m.Trail.Visits[len(m.Trail.Visits)-1]
	e.Stage = last.Stage
	if last.Outcome != "" && !strings.Contains(m.Reason, last.Outcome) {
		e.Evidence = "it ended with " + last.Outcome
	}
	return e
}

func (c *codeCounts) group(key string, as CodeReport) *CodeReport {
	g := c.at[key]
	if g == nil {
		as.Ends = map[dag.End]int{}
		as.Examples = []CodeExample{}
		g = &as
		c.at[key] = g
	}
	return g
}

func (g *CodeReport) add(m *Member, e CodeExample) {
	g.Items++
	g.Ends[m.End]++
	if len(g.Examples) >= examplesShown {
		return
	}
	e.Item, e.End = m.Key, m.End
	e.Reason, e.Evidence = clip(e.Reason, reasonShown), clip(e.Evidence, reasonShown)
	g.Examples = append(g.Examples, e)
}

// example is what was said of an item for a code: by the check of the gate that
// names it, else by a finding, else by the item's own reason.
func (c *codeCounts) example(m *Member, code dag.Code) CodeExample {
	for _, check := range m.Checks {
		if check.State == "held" || check.State == "not_applicable" || c.codeOf(check.Name) != code {
			continue
		}
		return CodeExample{Reason: m.Reason, Check: check.Name, Figure: check.Figure, Evidence: check.Evidence, Details: check.Details[:min(len(check.Details), detailsShown)]}
	}
	if m.Trail == nil {
		return CodeExample{Reason: m.Reason}
	}
	for _, f := range m.Trail.Findings {
		if f.Code == code {
			return CodeExample{Reason: m.Reason, Stage: f.Stage, Figure: f.Figure, Evidence: f.Evidence}
		}
	}
	e := CodeExample{Reason: m.Reason}
	if f := m.Trail.Failed; f != nil && f.Code == code && !strings.Contains(m.Reason, f.Message) {
		e.Evidence = f.Message
	}
	if n := len(m.Trail.Visits); n > 0 && m.Trail.Visits[n-1].Failure != nil {
		e.Stage = m.Trail.Visits[n-1].Stage
	}
	return e
}

// codeOf is the code that a check of the run's gate names.
func (c *codeCounts) codeOf(check string) dag.Code {
	for i := range c.outline.Checks {
		if c.outline.Checks[i].Name == check {
			return c.outline.Checks[i].Code
		}
	}
	return ""
}

// list puts the most frequent first.
func (c *codeCounts) list() []CodeReport {
	list := make([]CodeReport, 0, len(c.at))
	for _, g := range c.at {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b CodeReport) int {
		return cmp.Or(b.Items-a.Items, strings.Compare(string(a.Code), string(b.Code)), strings.Compare(a.Status, b.Status), strings.Compare(a.Examples[0].Item, b.Examples[0].Item))
	})
	return list
}
