package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-run/penstock/internal/ui"
)

// unchanged is what a diff says where nothing has changed.
const unchanged = "nothing changes in meaning"

// shownLines bounds what is shown of one changed text.
const shownLines = 40

// printDiff prints for people: a table for each part, and below it the texts.
func (c *command) printDiff(d *compared) {
	p := c.printer()
	if d.Empty {
		p.Line(unchanged)
	}
	for i, s := range d.sections() {
		if i > 0 || d.Empty {
			p.Line("")
		}
		p.Line("%s:", s.title)
		if len(s.rows) > 0 {
			cells := cellWidths(s, p.Width())
			t := ui.NewTable(s.columns...)
			for _, row := range s.rows {
				short := make([]string, len(row))
				for i, cell := range row {
					short[i] = strings.ReplaceAll(cell, "\n", " ")
				}
				if !strings.HasPrefix(s.columns[len(row)-1], ">") { // what was and what is
					n := len(row) - 2
					short[n], short[n+1] = focus(short[n], short[n+1], cells[n], cells[n+1])
				}
				for i, cell := range short {
					short[i] = cut(ui.Clean(cell), cells[i])
				}
				t.Row(short...)
			}
			t.Print(p)
		}
		for _, text := range s.texts {
			p.Line("\n  %s:", text.name)
			for _, line := range shortened(text.unified) {
				p.Line("    %s", ui.Clean(line))
			}
		}
		for _, note := range s.notes {
			p.Line("  %s", ui.Clean(note))
		}
	}
}

// focus leaves out what two long values begin with alike, so that what differs
// is in sight.
func focus(was, is string, room, roomIs int) (string, string) {
	a, b := []rune(was), []rune(is)
	if len(a) <= room && len(b) <= roomIs {
		return was, is
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	if from := same - min(room, roomIs)/3; from > 1 && len(a) > 0 && len(b) > 0 {
		return "…" + string(a[from:]), "…" + string(b[from:])
	}
	return was, is
}

// leastCell is what a column has, however wide the others are.
const leastCell = 16

// mostCell is what a column has that is not one of the two compared.
const mostCell = 40

// cellWidths shares a line out among the columns: two that are compared get in
// equal parts what the others leave; of a table of figures, the widest does.
func cellWidths(s section, width int) []int {
	widest := make([]int, len(s.columns))
	for i, name := range s.columns {
		widest[i] = utf8.RuneCountInString(strings.TrimPrefix(name, ">"))
		for _, row := range s.rows {
			widest[i] = max(widest[i], utf8.RuneCountInString(row[i]))
		}
	}
	wide := []int{len(widest) - 2, len(widest) - 1}
	if strings.HasPrefix(s.columns[len(widest)-1], ">") {
		wide = []int{0}
		for i, w := range widest {
			if w > widest[wide[0]] {
				wide[0] = i
			}
		}
	}
	left := width - 2*len(widest)
	for i, w := range widest {
		if !slices.Contains(wide, i) {
			widest[i] = min(w, mostCell)
			left -= widest[i]
		}
	}
	for i, column := range wide {
		share := max(left/(len(wide)-i), leastCell)
		widest[column] = min(widest[column], share)
		left -= widest[column]
	}
	return widest
}

// shortened is a unified diff as it is shown: its first lines.
func shortened(unified string) []string {
	lines := strings.Split(strings.TrimSuffix(unified, "\n"), "\n")
	if more := len(lines) - shownLines; more > 0 {
		lines = append(lines[:shownLines:shownLines], fmt.Sprintf("… and %s more; --json has all", count(more, "line", "lines")))
	}
	return lines
}

// printDiffMarkdown prints for a pull request. What users have written stands in
// code spans, so that none of it is taken for Markdown.
func (c *command) printDiffMarkdown(d *compared) {
	p := c.printer()
	p.Line("### What changes in the pipeline")
	if d.Empty {
		p.Line("\nNothing changes in meaning.")
	}
	for _, s := range d.sections() {
		p.Line("\n#### %s%s", strings.ToUpper(s.title[:1]), s.title[1:])
		if len(s.rows) > 0 {
			p.Line("")
			p.Line("%s", markdownTable(s))
		}
		for _, text := range s.texts {
			fence := strings.Repeat("`", max(3, longestRun(text.unified, '`')+1))
			p.Line("\n<details open><summary>%s</summary>\n\n%sdiff", html(text.name), fence)
			for _, line := range shortened(text.unified) {
				p.Line("%s", ui.Clean(line))
			}
			p.Line("%s\n\n</details>", fence)
		}
		for _, note := range s.notes {
			p.Line("\n%s", html(note))
		}
	}
}

// longestCell is how much of a value stands in a cell of Markdown.
const longestCell = 300

func markdownTable(s section) string {
	lines := make([]string, 0, len(s.rows)+2)
	var head, rule []string
	plain := map[int]bool{}
	for i, name := range s.columns {
		bare, right := strings.CutPrefix(name, ">")
		head = append(head, bare)
		plain[i] = right || name == "why"
		if right {
			rule = append(rule, "---:")
		} else {
			rule = append(rule, "---")
		}
	}
	line := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }
	lines = append(lines, line(head), line(rule))
	for _, row := range s.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cell = cut(ui.Clean(strings.ReplaceAll(cell, "\n", " ")), longestCell)
			if plain[i] || cell == "—" || cell == inAll {
				cells[i] = html(cell)
			} else {
				cells[i] = codeSpan(cell)
			}
		}
		lines = append(lines, line(cells))
	}
	return strings.Join(lines, "\n")
}

// codeSpan is a code span that may stand in a table.
func codeSpan(s string) string {
	if s == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + strings.ReplaceAll(s, "|", `\|`) + ticks
}

// html is a text in which nothing is Markdown or a tag.
func html(s string) string {
	var b strings.Builder
	runes := []rune(ui.Clean(s))
	for i, r := range runes {
		inWord := r == '_' && i > 0 && i+1 < len(runes) && unicode.IsLetter(runes[i-1]) && unicode.IsLetter(runes[i+1])
		if strings.ContainsRune("\\`*_{}[]<>#|&~", r) && !inWord {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func longestRun(s string, of byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
