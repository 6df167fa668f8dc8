package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/draw"
	"github.com/penstock-run/penstock/internal/engine"
)

// view is what the template reads: every text as it is shown.
type view struct {
	Run      engine.ReportedRun
	Pipeline string
	Penstock string
	Policy   string
	Style    template.CSS
	Script   template.JS

	Tone, Word, Sentence string
	ErrorLead, Error     string
	Notes                []string
	Tiles, Facts         []pair
	Ends                 []endPart

	Picture template.HTML
	Ways    []wayRow

	timesView
	SpendLead  string
	Spend      []spendRow
	Total      *spendRow
	SpendNotes []string
	Codes      []codeView
	ItemsLead  string
	Cut        string
}

type pair struct{ Name, Value string }

// endPart is an end's part of the bar.
type endPart struct {
	End         dag.End
	Word, Count string
	X, Width    string
}

type wayRow struct{ From, To, Label, Items, Times string }

type spendRow struct{ Stage, Provider, Model, By, Visits, Calls, Input, Cached, Output, USD string }

type codeView struct {
	Name, Count, Meaning, Caption string
	Link                          template.URL
	Open, More                    bool
	Examples                      []exampleView
}

type exampleView struct {
	Item, EndWord, By, Figure string
	End                       dag.End
	Link                      template.URL
	Found                     []string
}

func newView(r *engine.RunReport, o Options) (*view, error) {
	v := &view{
		Run: r.Run, Pipeline: plain(r.Run.Pipeline), Penstock: o.Penstock, Policy: policy(),
		Style: template.CSS(pageStyle), Script: template.JS(pageScript), Error: plain(r.Run.Error),
	}
	for _, note := range r.Notes {
		v.Notes = append(v.Notes, plain(note))
	}
	v.ErrorLead = "What went wrong first:"
	if r.Run.Result == engine.ResultInterrupted {
		v.ErrorLead = "It was ended:"
	}
	v.Tone, v.Word = tone(r.Run.Result)
	v.Sentence = sentence(r)
	v.Tiles, v.Facts = tiles(r), facts(r)
	v.Ends = endParts(r.Summary)
	if r.Graph != nil {
		var svg bytes.Buffer
		if err := plainPicture(r.Graph).Inline(&svg); err != nil {
			return nil, err
		}
		v.Picture = template.HTML(strings.Replace(svg.String(), "<svg ", `<svg class="picture" `, 1)) // draw escapes its texts
		v.Ways = ways(r.Graph)
	}
	v.timesView = newTimes(r.Timeline)
	v.spend(r)
	for i := range r.Codes {
		v.Codes = append(v.Codes, newCode(&r.Codes[i], i < codesOpen))
	}
	v.ItemsLead = itemsLead(r)
	if more := r.Summary.Items - o.Most; more > 0 {
		v.Cut = fmt.Sprintf("This page has the first %s of them in the order of their keys. The other %s are counted above and not listed here: penstock report --json %s has all, and --max-items takes more into the page.",
			number(o.Most), number(more), r.Run.ID)
	}
	return v, nil
}

// codesOpen is how many codes are shown opened.
const codesOpen = 3

var resultWords = map[engine.RunResult]struct{ tone, word string }{
	engine.ResultDone:           {"good", "done"},
	engine.ResultConfig:         {"bad", "ended: something in the pipeline or its files is wrong"},
	engine.ResultInfrastructure: {"bad", "some items failed for want of infrastructure"},
	engine.ResultStopped:        {"mixed", "stopped by a rule"},
	engine.ResultDiffers:        {"bad", "ended: reality differs from what was promised"},
	engine.ResultBug:            {"bad", "a fault of Penstock"},
	engine.ResultInterrupted:    {"mixed", "interrupted"},
	engine.ResultRunning:        {"mixed", "under way"},
	engine.ResultKilled:         {"bad", "killed"},
}

func tone(r engine.RunResult) (tone, word string) {
	if w, ok := resultWords[r]; ok {
		return w.tone, w.word
	}
	return "bad", "ended in an unknown way"
}

func sentence(r *engine.RunReport) string {
	text := "begun " + when(r.Run.Started)
	if !r.Run.Ended.IsZero() {
		text += ", took " + took(r.Run.Ended.Sub(r.Run.Started))
	}
	if s := r.Summary; s.Items == 0 && s.Settled != nil && *s.Settled > 0 && r.Run.Result == engine.ResultDone {
		text += "; there was nothing to do"
	}
	return text
}

func tiles(r *engine.RunReport) []pair {
	s := r.Summary
	list := []pair{{"items came to an end in this run", number(s.Items)}}
	if n := s.Ends[dag.Accepted]; n > 0 || s.Items > 0 {
		list = append(list, pair{"accepted", number(n)})
	}
	if s.Settled != nil && *s.Settled > 0 {
		list = append(list, pair{"finished by earlier runs", number(*s.Settled)})
	}
	list = append(list, pair{"visits executed", number(r.Spend.Total.Visits)})
	if c := s.Counts; c != nil && c.Reused > 0 {
		list = append(list, pair{"visits answered from staging", number(c.Reused)})
	}
	return append(list, pair{"spent on completions", total(r.Spend)})
}

func total(s engine.Spend) string {
	switch {
	case s.Total.USD != nil:
		return "$" + money(*s.Total.USD)
	case s.KnownUSD > 0:
		return "over $" + money(s.KnownUSD)
	}
	return "unknown"
}

func facts(r *engine.RunReport) []pair {
	run := r.Run
	list := []pair{{"run", run.ID}, {"began", when(run.Started)}}
	if !run.Ended.IsZero() {
		list = append(list, pair{"ended", when(run.Ended)})
	}
	if run.Exit != nil {
		list = append(list, pair{"exit", strconv.Itoa(*run.Exit)})
	}
	list = append(list, pair{"process", fmt.Sprintf("%d on %s", run.PID, cmp.Or(plain(run.Host), "a machine without a name"))})
	if len(run.Flags) > 0 {
		list = append(list, pair{"flags", plain(strings.Join(run.Flags, " "))})
	}
	if c := r.Summary.Counts; c != nil {
		list = append(list, pair{"taken in", number(c.TakenIn) + ", and " + number(c.Spawned) + " fanned out of them"})
		if c.Duplicates > 0 {
			list = append(list, pair{"duplicates skipped", number(c.Duplicates)})
		}
		if c.LeftOut > 0 {
			list = append(list, pair{"left out on request", number(c.LeftOut) + " of the sources' records"})
		}
		if c.Infrastructure > 0 {
			list = append(list, pair{"failures of infrastructure", number(c.Infrastructure)})
		}
		for i, line := range engine.WaitLines(c.Waits) {
			name := ""
			if i == 0 {
				name = "what was waited for"
			}
			list = append(list, pair{name, plain(line)})
		}
		if c.Pages+c.PagesReplayed > 0 {
			list = append(list, pair{"pages read by the gate", number(c.Pages) + " from the web, " + number(c.PagesReplayed) + " from a cassette"})
		}
	}
	if len(run.Tripped) > 0 {
		list = append(list, pair{"open breakers", plain(strings.Join(run.Tripped, ", "))})
	}
	return list
}

func endParts(s engine.RunSummary) []endPart {
	var parts []endPart
	x := 0.0
	for _, end := range dag.Ends {
		n := s.Ends[end]
		if n == 0 {
			continue
		}
		width := 1000 * float64(n) / float64(s.Items)
		parts = append(parts, endPart{end, endWord(end), number(n), decimal(x), decimal(width)})
		x += width
	}
	return parts
}

func endWord(end dag.End) string { return strings.ReplaceAll(string(end), "_", " ") }

// plainPicture is a picture whose texts may be shown. Failures that no route leads
// on are told beside the stage: arrows from everywhere to one end would cover the
// others.
func plainPicture(p *draw.Picture) *draw.Picture {
	c := &draw.Picture{Version: p.Version, Name: plain(p.Name)}
	drawn, failed := map[string]bool{}, map[string]int{}
	for _, e := range p.Edges {
		if e.Kind == "unrouted" {
			failed[e.From] += *e.Items
			continue
		}
		drawn[e.From], drawn[e.To] = true, true
		e.Label = plain(e.Label)
		c.Edges = append(c.Edges, e)
	}
	for _, n := range p.Nodes {
		if n.Kind == draw.StopNode && !drawn[n.ID] {
			continue
		}
		n.Label, n.Provider = plain(n.Label), plain(n.Provider)
		if k := failed[n.ID]; k > 0 {
			n.Note = number(k) + " failed"
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

func ways(p *draw.Picture) []wayRow {
	var rows []wayRow
	count := func(n *int) string {
		if n == nil {
			return ""
		}
		return number(*n)
	}
	for _, e := range p.Edges {
		rows = append(rows, wayRow{plain(e.From), plain(e.To), plain(e.Label), count(e.Items), count(e.Times)})
	}
	return rows
}

func (v *view) spend(r *engine.RunReport) {
	s := r.Spend
	v.SpendLead = "Only what a provider answered is paid for. What is not known is called unknown, and never nothing."
	for i := range s.Rows {
		v.Spend = append(v.Spend, newSpendRow(&s.Rows[i]))
	}
	if len(s.Rows) == 0 {
		v.SpendLead = "No stage executed anything in this run: nothing was spent on visits."
	} else {
		t := newSpendRow(&s.Total)
		t.USD = total(s)
		v.Total = &t
	}
	if s.Total.USD == nil {
		v.SpendNotes = append(v.SpendNotes, "The price of a provider that was asked is not known; `price` in its block sets it.")
	}
	if c := r.Summary.Counts; c != nil && c.Asked > 0 {
		cost := "at a price that is not known in full"
		if c.USD != nil {
			cost = "$" + money(*c.USD)
		}
		v.SpendNotes = append(v.SpendNotes, fmt.Sprintf("Attempts in vain included, providers were asked %s: %s tokens in, %s out, %s.",
			times(c.Asked), number(int(c.Input)), number(int(c.Output)), cost))
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return number(n) + " times"
}

var answerers = map[engine.Answerer]string{engine.ByProvider: "the provider", engine.ByCassette: "a cassette", engine.ByStaging: "staging, paid before"}

func newSpendRow(r *engine.SpendRow) spendRow {
	row := spendRow{
		Stage: plain(r.Stage), Provider: plain(r.Provider), Model: plain(r.Model), By: answerers[r.AnsweredBy],
		Visits: number(r.Visits), Calls: number(r.Calls), Input: number(r.Input), Cached: number(r.Cached), Output: number(r.Output),
		USD: "unknown",
	}
	switch {
	case r.USD != nil && r.AnsweredBy == "" && r.Calls == 0:
		row.USD = "–"
	case r.USD != nil:
		row.USD = money(*r.USD)
	}
	return row
}

func newCode(c *engine.CodeReport, open bool) codeView {
	v := codeView{Name: plain(string(c.Code)), Meaning: plain(c.Meaning), Count: items(c.Items), Open: open, More: c.Items > len(c.Examples)}
	if c.Code != "" {
		v.Link = fragment("code", string(c.Code))
	} else {
		end := c.Examples[0].End
		v.Name = endWord(end) + " without a code"
		if c.Status != "" {
			v.Name = endWord(end) + ", status " + plain(c.Status)
		}
		v.Link = fragment("end", string(end))
		v.More = false // the end is shared with others
	}
	v.Caption = "All of them"
	if c.Items > len(c.Examples) {
		v.Caption = fmt.Sprintf("The first %d in the order of their keys", len(c.Examples))
	}
	for i := range c.Examples {
		v.Examples = append(v.Examples, newExample(&c.Examples[i]))
	}
	return v
}

func newExample(e *engine.CodeExample) exampleView {
	v := exampleView{Item: plain(e.Item), End: e.End, EndWord: endWord(e.End), Link: fragment("item", e.Item)}
	switch {
	case e.Check != "":
		v.By = "check " + plain(e.Check)
	case e.Stage != "":
		v.By = "stage " + plain(e.Stage)
	}
	if e.Figure != nil {
		v.Figure = strconv.FormatFloat(*e.Figure, 'g', 6, 64)
	}
	add := func(text string) {
		if text = plain(text); text != "" && (len(v.Found) == 0 || !strings.Contains(v.Found[0], text)) {
			v.Found = append(v.Found, text)
		}
	}
	add(e.Reason)
	add(e.Evidence)
	for _, d := range e.Details {
		text := d.Why
		if d.At != "" {
			text = d.At + ": " + text
		}
		add(text)
	}
	return v
}

func itemsLead(r *engine.RunReport) string {
	s := r.Summary
	text := items(s.Items) + " came to an end in this run."
	if s.Settled != nil && *s.Settled > 0 {
		verb := "were"
		if *s.Settled == 1 {
			verb = "was"
		}
		text += fmt.Sprintf(" %s %s finished by earlier runs: `penstock status` lists the runs, and `penstock report RUN` tells of one.", items(*s.Settled), verb)
	}
	return text
}

func items(n int) string {
	if n == 1 {
		return "1 item"
	}
	return number(n) + " items"
}

// fragment addresses a part of the list of items; the page's script reads it.
func fragment(what, value string) template.URL {
	return template.URL("#" + what + "=" + strings.ReplaceAll(url.QueryEscape(value), "+", "%20"))
}

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }
