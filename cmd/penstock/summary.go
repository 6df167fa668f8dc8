package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/ui"
)

// runDocument is what `run --json` prints.
type runDocument struct {
	Version  int              `json:"version"`
	Run      string           `json:"run"`
	Trace    string           `json:"trace,omitempty"` // id of the trace that OpenTelemetry was told of; absent: of none
	Pipeline string           `json:"pipeline"`
	Dry      bool             `json:"dry,omitempty"`
	Result   string           `json:"result"`
	Tally    engine.Tally     `json:"tally"`
	Problems []engine.Problem `json:"items"`
	More     int              `json:"more_items,omitempty"`
	Tripped  []string         `json:"open_breakers,omitempty"`
	Error    *ui.Ended        `json:"error,omitempty"` // what ended the run before its items did
}

// printSummary prints what a run came to: the items that did not end accepted,
// in source order, then the tally. As JSON that is one document with the error that
// ended the run, if any.
func (c *command) printSummary(s *engine.Summary, name string, ended error) error {
	p := c.printer()
	if c.json {
		document := runDocument{1, s.RunID, s.Trace, name, s.Dry, ui.KindName(s.Kind), s.Tally, s.Problems, s.More, s.Tripped, nil}
		if ended != nil {
			by := ui.EndedBy(ended)
			document.Result, document.Error = by.Kind, &by
		}
		return p.Document(document)
	}
	shown := s.Problems[:min(len(s.Problems), shownItems)]
	if t := itemTable(shown, p.Width()); t.Len() > 0 {
		t.Print(p)
		if more := s.More + len(s.Problems) - len(shown); more > 0 {
			p.Line("  and %d more: penstock status", more)
		}
		p.Line("")
	}
	t := s.Tally
	for _, b := range s.Tripped {
		p.Note("the breaker of %s is open: nothing new starts there until `%s`", b, dag.Command("penstock", "breaker", "reset", b))
	}
	items := t.TakenIn + t.Spawned
	if t.Visits == 0 && t.Settled == items && s.Kind == 0 {
		p.Line("nothing to do: %s as they were (%s)", count(items, "item is", "items are"), ends(t.Ends))
		printLeftOut(p, t.LeftOut)
		return nil
	}
	p.Line("%s: %s", count(items, "item", "items"), ends(t.Ends))
	var parts []string
	parts = append(parts, count(t.Visits, "visit", "visits")+" made")
	if t.Reused > 0 {
		parts = append(parts, count(t.Reused, "visit", "visits")+" answered from staging")
	}
	if t.Settled > 0 {
		parts = append(parts, count(t.Settled, "item", "items")+" finished before")
	}
	if t.Pages > 0 {
		parts = append(parts, count(t.Pages, "page", "pages")+" read")
	}
	if t.Duplicates > 0 {
		parts = append(parts, count(t.Duplicates, "duplicate", "duplicates")+" skipped")
	}
	p.Line("%s", strings.Join(parts, ", "))
	printLeftOut(p, t.LeftOut)
	for _, line := range engine.WaitLines(t.Waits) {
		p.Line("%s", line)
	}
	if s.Dry {
		p.Line("dry: the gate evaluated and committed nothing")
	}
	if t.Kept > 0 {
		p.Note("%s", keptNote(t.Kept))
	}
	if t.Ends[dag.Parked] > 0 {
		p.Note("%s parked: %s", count(t.Ends[dag.Parked], "item is", "items are"), goOn(shown))
		if s.Kind == dag.KindInfrastructure || s.Kind == dag.KindStopped {
			printFirstParked(p, shown, s.Kind == dag.KindStopped)
		}
	}
	return nil
}

// goOn says how to go on from items that are parked. Where each of them met what is
// wrong with a block or a plugin, the next run would end as this one.
func goOn(problems []engine.Problem) string {
	parked, lasting := 0, 0
	for _, problem := range problems {
		if problem.End == dag.Parked {
			parked++
			if slices.Contains(problem.Codes, dag.EPlugin) {
				lasting++
			}
		}
	}
	if parked > 0 && lasting == parked {
		return "mend what it says of them, then run again to go on from there"
	}
	return "run again to go on from there"
}

// keptNote tells of items that are in the corpus and would not come there now.
func keptNote(n int) string {
	return count(n, "of these items was", "of these items were") + " accepted before, and would not be now: the records stay in the corpus, for an accept is never taken back; `penstock why ITEM` says what refuses one, and what to do"
}

// printLeftOut tells of the items that a flag kept out of the run.
func printLeftOut(p *ui.Printer, left engine.LeftOut) {
	if left.Only > 0 {
		p.Line("%s left out by --only", count(left.Only, "item", "items"))
	}
	if left.Limit > 0 {
		p.Line("%s left out by --limit", count(left.Limit, "item", "items"))
	}
}

// printFirstParked tells the first cause in full where the table cuts it, and of
// a run that was stopped in any case: most of its items say only that.
func printFirstParked(p *ui.Printer, problems []engine.Problem, stopped bool) {
	for _, problem := range problems {
		if problem.End != dag.Parked || stopped && len(problem.Codes) == 0 {
			continue
		}
		if room := whyWidth(problems, p.Width()); stopped || cut(problem.Reason, room) != problem.Reason {
			err := &dag.Error{Op: problem.Key, Err: errors.New(problem.Reason)}
			for _, known := range dag.EngineCodes() {
				if stopped && known.Code == problem.Codes[0] {
					err.Hint = known.Do
				}
			}
			p.Error(err)
		}
		return
	}
}

// shownItems is how many items the end of a run lists: what is past a screen or
// two is read with `status`, or as JSON.
const shownItems = 200

// leastWhy is what the last column has, however wide the others are.
const leastWhy = 30

// itemTable shows items with their end and why. It keeps to a width: wider lines
// wrap, and a table whose lines wrap is none. `show` and JSON give every word.
func itemTable(problems []engine.Problem, width int) *ui.Table {
	t := ui.NewTable("item", "end", "code", "why")
	room := whyWidth(problems, width)
	for _, problem := range problems {
		row := itemRow(problem)
		row[3] = cut(row[3], room)
		t.Row(row[:]...)
	}
	return t
}

// itemRow is an item as the table shows it. Its key stands at the beginning of the
// row and need not be told again.
func itemRow(p engine.Problem) [4]string {
	why := strings.TrimPrefix(p.Reason, p.Key+": ")
	if p.Status != "" && why == "" {
		why = "status " + p.Status
	}
	return [4]string{p.Key, wouldBe(p.End, p.Dry) + endNote(p.Dry, p.Kept), firstCode(p.Codes), why}
}

// whyWidth is what the other columns leave of a line.
func whyWidth(problems []engine.Problem, width int) int {
	var widest [3]int
	for _, p := range problems {
		row := itemRow(p)
		for column := range widest {
			widest[column] = max(widest[column], utf8.RuneCountInString(row[column]))
		}
	}
	room := width - 2*(len(widest)+1)
	for _, w := range widest {
		room -= w
	}
	return max(room, leastWhy)
}

// firstCode is the code that decided, and how many came with it.
func firstCode(all []dag.Code) string {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return string(all[0])
	}
	return fmt.Sprintf("%s +%d", all[0], len(all)-1)
}

func codes(all []dag.Code) string {
	words := make([]string, len(all))
	for i, code := range all {
		words[i] = string(code)
	}
	return strings.Join(words, " ")
}

// cut keeps a reason on one line of a table.
func cut(s string, most int) string {
	s, _, _ = strings.Cut(s, "\n")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
