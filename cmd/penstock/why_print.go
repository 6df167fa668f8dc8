package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/ui"
)

// whyWriter prints lines, each step further in by two spaces.
type whyWriter struct {
	p      *ui.Printer
	indent string
}

func (w whyWriter) in() whyWriter { return whyWriter{w.p, w.indent + "  "} }

func (w whyWriter) line(format string, args ...any) {
	w.p.Line("%s", ui.Clean(w.indent+fmt.Sprintf(format, args...)))
}

// whyItemDocument is what `why ITEM --json` prints.
type whyItemDocument struct {
	Version int             `json:"version"`
	Item    *engine.ItemWhy `json:"item"`
}

func (c *command) printItemWhy(why *engine.ItemWhy) error {
	p := c.printer()
	if c.json {
		return p.Document(whyItemDocument{1, why})
	}
	w := whyWriter{p: p}
	m := engine.Member{Key: why.Item, End: why.End, Status: why.Status, Reason: why.Reason, Dry: why.Dry, Kept: why.Kept}
	for _, code := range why.Codes {
		m.Codes = append(m.Codes, code.Code)
	}
	if why.Record != nil {
		m.Record = why.Record.ID
	}
	w.line("%s: %s", why.Item, describeEnd(&m))
	for _, code := range why.Codes {
		if code.Meaning != "" {
			w.in().line("%s: %s", code.Code, code.Meaning)
		}
	}
	w.in().line("as run %s left it", why.Run)
	if why.Parent != "" {
		w.in().line("fanned out of %s", why.Parent)
	}
	for _, step := range why.Way {
		if step.Visit != nil {
			p.Line("")
			w.visit(step.Visit)
			w.in().answers(step.Completions)
			continue
		}
		w.route(step.Route)
	}
	if len(why.Spawn) > 0 {
		w.in().line("fanned out into %s:", count(len(why.Spawn), "item", "items"))
	}
	for _, child := range why.Spawn {
		w.in().in().line("%s", child)
	}
	if why.Gate != nil {
		p.Line("")
		w.gate(why.Gate)
	}
	if r := why.Record; r != nil {
		w.record(r)
	}
	if why.Kept {
		w.kept()
	}
	return nil
}

// visit is a visit on one line, and below it what it left.
func (w whyWriter) visit(v *engine.VisitFacts) {
	end := v.Outcome
	if v.Failure != nil {
		end = string(v.Failure.Code)
	}
	facts := []string{string(v.State)}
	if v.Model != "" {
		facts = append(facts, v.Model)
	}
	if v.Tokens > 0 {
		facts = append(facts, count(v.Tokens, "token", "tokens"))
	}
	if v.Calls > 0 && v.State != engine.VisitReplayed {
		facts = append(facts, price(v.USD))
	}
	w.line("%s, pass %d: %s (%s)", v.Stage, v.Pass, end, strings.Join(facts, ", "))
	in := w.in()
	in.paid(v)
	if v.Failure != nil && v.Failure.Message != "" {
		in.line("%s", v.Failure.Message)
	}
	if v.Rule != "" {
		in.line("by the rule %q", v.Rule)
	}
	in.seen(v.Seen)
	in.findings(v.Findings)
}

// price is what completions cost; nil is unknown, which is never nothing.
func price(usd *float64) string {
	if usd == nil {
		return "price unknown"
	}
	return "$" + strconv.FormatFloat(*usd, 'f', 6, 64)
}

func (w whyWriter) seen(list []dag.Seen) {
	for _, s := range list {
		w.line("%s is %s", s.Path, cut(string(s.JSON), seenWidth))
	}
}

func (w whyWriter) findings(list []dag.Finding) {
	for _, f := range list {
		text := "found " + string(f.Code) + ", " + string(f.Triage)
		if f.Noted != "" {
			text += " (" + string(f.Noted) + ", in shadow)"
		}
		if f.Figure != nil {
			text += ", figure " + decimal(*f.Figure)
		}
		if f.Evidence != "" {
			text += ": " + f.Evidence
		}
		w.line("%s", text)
	}
}

// route is where an item went, and below it why.
func (w whyWriter) route(r *engine.RouteWhy) {
	w = w.in()
	at := ""
	if r.At != "" {
		at = " at " + r.At
	}
	w.line("from %s to %s, by route %q%s", r.From, r.To, r.Route, at)
	for _, c := range r.Under {
		w.in().line("%s", condition(c))
	}
	w.in().seen(r.Seen)
	w.in().findings(r.Findings)
}

func (w whyWriter) gate(g *engine.GateWhy) {
	switch {
	case g.As != "":
		w.line("the gate was told to record it as %s, without checks", g.As)
	case len(g.Checks) == 0:
		w.line("the gate")
	case g.From != "":
		w.line("the gate's checks, as run %s ran them", g.From)
	default:
		w.line("the gate's checks")
	}
	in := w.in()
	for i := range g.Checks {
		c := &g.Checks[i]
		text := c.Name + ": " + strings.ReplaceAll(c.State, "_", " ")
		if c.Shadow {
			text += " (in shadow)"
		}
		if c.Figure != nil {
			text += ", figure " + decimal(*c.Figure)
		}
		if c.Evidence != "" {
			text += ": " + c.Evidence
		}
		in.line("%s", text)
		if c.State == "held" || c.State == "not_applicable" {
			continue
		}
		in := in.in()
		if c.Code != "" {
			in.line("%s: %s", c.Code, c.Meaning)
		}
		for _, d := range c.Details {
			if d.Why != c.Evidence || d.At != "" {
				in.line("%s", strings.TrimPrefix(d.At+": "+d.Why, ": "))
			}
		}
	}
	in.findings(g.Findings)
}

func (w whyWriter) record(r *engine.RecordWhy) {
	switch {
	case r.Line > 0:
		w.line("record %s in %s, its evidence in %s, line %d, accepted %s", r.ID, r.Data, r.Evidence, r.Line, r.AcceptedAt)
	case r.Evidence != "":
		w.line("record %s; %s has no evidence of it", r.ID, r.Evidence)
	default:
		w.line("record %s", r.ID)
	}
}

// kept tells of an item that was accepted before its checks refused it.
func (w whyWriter) kept() {
	w.line("its record is in the corpus by an earlier accept, which is never taken back: it would not be accepted now")
	w.in().line("to keep it as it is, do nothing; for a corpus that these checks hold for, move the folders of `data` and")
	w.in().line("`evidence` aside together and run: all is judged anew, and nothing is paid for twice")
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// whyVisitDocument is what `why STAGE[ITEM] --json` prints.
type whyVisitDocument struct {
	Version int               `json:"version"`
	Visits  []engine.VisitWhy `json:"visits"`
}

func (c *command) printVisitWhy(visits []engine.VisitWhy) error {
	p := c.printer()
	if c.json {
		return p.Document(whyVisitDocument{1, visits})
	}
	for i := range visits {
		if i > 0 {
			p.Line("")
		}
		whyWriter{p: p}.visitWhy(&visits[i])
	}
	return nil
}

func (w whyWriter) visitWhy(v *engine.VisitWhy) {
	by := ""
	if v.Run != "" {
		by = ", made by run " + v.Run
	}
	w.line("%s[%s], pass %d: %s%s", v.Stage, v.Item, v.Pass, v.State, by)
	in := w.in()
	in.line("%s", v.Reason)
	if a := v.Against; a != nil {
		of := "this item's visit"
		if !a.Item {
			of = "the stage's latest visit before, of another item"
		}
		in.line("against %s of run %s", of, a.Run)
	}
	for _, cause := range v.Because {
		in.cause(cause)
	}
	in.changes(v.Changes)
	for _, note := range v.Notes {
		in.line("note: %s", note)
	}
}

// cause is what changed before a visit.
func (w whyWriter) cause(c engine.Cause) {
	switch {
	case c.Stage == "":
		w.line("because the source's record changed:")
	case c.Between:
		w.line("because %s, pass %d, came in between", c.Stage, c.Pass)
	case c.New:
		w.line("because %s, pass %d, is new on its way", c.Stage, c.Pass)
	default:
		w.line("because the output of %s changed:", c.Stage)
	}
	w.in().changes(c.Changes)
	if len(c.Own) > 0 {
		w.in().line("for in %s itself this changed:", c.Stage)
		w.in().in().changes(c.Own)
	}
}

// changes are old and new, below the part that they belong to.
func (w whyWriter) changes(list []engine.Change) {
	for _, c := range list {
		w.line("%s", c)
		for _, side := range []struct{ sign, text string }{{"-", c.Old}, {"+", c.New}} {
			if side.text == "" {
				continue
			}
			for line := range strings.SplitSeq(side.text, "\n") {
				w.in().line("%s %s", side.sign, line)
			}
		}
	}
}
