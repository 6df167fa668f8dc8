package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
)

// section is a part of what a diff tells: a table, and texts that do not fit in
// one. Printed for people and as Markdown, it says the same.
type section struct {
	title   string
	columns []string // a name that begins with ">" is set to the right
	rows    [][]string
	texts   []changedText
	notes   []string
}

// changedText is a prompt, or another text of several lines.
type changedText struct {
	name    string
	unified string
}

// sections is what a diff tells, in the order in which it is read. Empty ones
// are left out.
func (d *compared) sections() []section {
	c := d.Changes
	all := []section{
		blockRows("stages", "stage", c.Stages),
		routeRows(c),
		blockRows("failure codes", "code", c.Codes),
		blockRows("checks", "check", c.Checks),
		valueRows("gate", c.Gate),
		blockRows("sources", "source", c.Sources),
		blockRows("variables", "variable", c.Variables),
		blockRows("modes", "mode", c.Modes),
		blockRows("invariants", "invariant", c.Invariants),
		valueRows("pipeline", c.Pipeline),
		blockRows("plugins", "plugin", c.Plugins),
		blockRows("providers", "provider", c.Providers),
		staleSection(d.Stale),
	}
	kept := all[:0]
	for _, s := range all {
		if len(s.rows)+len(s.notes) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// blockRows is a table of blocks: one row for each attribute.
func blockRows(title, kind string, changes []dag.Change) section {
	s := section{title: title, columns: []string{kind, "what", "was", "is"}}
	for _, ch := range changes {
		name := ch.Name
		if ch.How != dag.Changed {
			s.rows = append(s.rows, []string{name, string(ch.How), "", ""})
			name = ""
		}
		s.attributes(ch.Name, name, ch.Attributes)
		if len(ch.Stages) > 0 {
			s.notes = append(s.notes, fmt.Sprintf("%s %s serves %s", kind, ch.Name, strings.Join(ch.Stages, ", ")))
		}
	}
	return s
}

// valueRows is a table of attributes of one block.
func valueRows(title string, attributes []dag.Attribute) section {
	s := section{title: title, columns: []string{"what", "was", "is"}}
	s.attributes(title, "", attributes)
	for i, row := range s.rows {
		s.rows[i] = row[1:]
	}
	return s
}

// attributes adds a row for each attribute; the block's name stands in the first.
func (s *section) attributes(block, name string, list []dag.Attribute) {
	row := func(what, was, is string) {
		s.rows = append(s.rows, []string{name, what, was, is})
		name = ""
	}
	for _, a := range list {
		switch {
		case a.Lines != nil:
			row(a.Name, changedLines(a.Lines.Removed, "gone"), changedLines(a.Lines.Added, "new"))
			s.texts = append(s.texts, changedText{block + " " + a.Name, a.Lines.Unified})
		case len(a.Paths) > 0:
			for _, p := range a.Paths {
				row(a.Name+" "+p.Path, p.Old, p.New)
			}
		default:
			row(a.Name, a.Old, a.New)
		}
	}
}

func changedLines(n int, what string) string {
	if n == 0 {
		return ""
	}
	return count(n, "line", "lines") + " " + what
}

func routeRows(c *dag.Changes) section {
	s := section{title: "routes", columns: []string{"from", "on", "when", "went to", "goes to"}}
	last := ""
	for _, r := range c.Routes {
		name := r.Stage
		if name == last {
			name = ""
		}
		last = r.Stage
		s.rows = append(s.rows, []string{name, r.On, r.When, dash(r.Old), dash(r.New)})
	}
	if len(c.Rewritten) > 0 {
		s.notes = append(s.notes, "written otherwise, and every value goes where it went: "+strings.Join(c.Rewritten, ", "))
	}
	return s
}

func dash(s string) string {
	if s == "" {
		return "—"
	}
	return s
}

// inAll stands where the name of a stage would.
const inAll = "in all"

// staleSection tells what is no answer any more, and what it takes to ask again.
func staleSection(d *engine.Stale) section {
	s := section{title: "goes stale", columns: []string{"stage", "provider", "why", ">recorded", ">calls at most", ">tokens", ">USD"}}
	row := func(name, provider, why string, c engine.Cost) {
		s.rows = append(s.rows, []string{name, provider, why, strconv.Itoa(c.Actions), known(c.Calls), known(c.Tokens), dollars(c.USD)})
	}
	perhaps := 0
	for _, l := range d.Stages {
		if len(l.Parts) > 0 {
			row(l.Stage, l.Provider, "another "+strings.Join(l.Parts, ", "), l.Cost)
		} else {
			perhaps++
			row(l.Stage, l.Provider, "perhaps: "+reasons(l.Perhaps), l.Cost)
		}
	}
	if len(d.Stages) > 1 {
		if perhaps < len(d.Stages) {
			row(inAll, "", "sure to be asked anew", d.Anew)
		}
		if perhaps > 0 {
			row(inAll, "", "perhaps, if what comes to them changes", d.Perhaps)
		}
	}
	if len(d.Stages) > 0 {
		s.notes = append(s.notes, "tokens are those that the recorded answers took, at the price of now")
	}
	verdicts := count(d.Gate.Verdicts, "verdict", "verdicts")
	switch {
	case d.Gate.Anew:
		s.notes = append(s.notes, "the gate decides anew on everything that comes to it: "+verdicts+" on record")
	case d.Gate.Perhaps:
		s.notes = append(s.notes, "the gate decides anew where what comes to it changes: "+verdicts+" on record at most")
	}
	s.notes = append(s.notes, d.Notes...)
	return s
}

// reasons says "after" once for all the stages that something comes after.
func reasons(list []string) string {
	text, after := "", false
	for i, reason := range list {
		stage, ok := strings.CutPrefix(reason, "after stage.")
		switch {
		case i > 0 && ok && after:
			text += ", " + stage
			continue
		case i > 0:
			text += ", "
		}
		if after = ok; ok {
			reason = "after " + stage
		}
		text += reason
	}
	return text
}

func known(n *int) string {
	if n == nil {
		return "unknown"
	}
	return strconv.Itoa(*n)
}

// dollars shows cents, and more of what is less than a cent.
func dollars(usd *float64) string {
	switch {
	case usd == nil:
		return "unknown"
	case *usd == 0:
		return "0"
	case *usd < 0.01:
		return strconv.FormatFloat(*usd, 'g', 2, 64)
	}
	return strconv.FormatFloat(*usd, 'f', 2, 64)
}
