package ui

import (
	"strings"
	"unicode/utf8"
)

// Table prints rows in aligned columns.
type Table struct {
	head  []string
	right []bool // columns of figures
	rows  [][]string
}

// NewTable starts a table; a column whose name begins with ">" is set to the right.
func NewTable(columns ...string) *Table {
	t := &Table{}
	for _, c := range columns {
		name, right := strings.CutPrefix(c, ">")
		t.head = append(t.head, name)
		t.right = append(t.right, right)
	}
	return t
}

// Row adds a row; missing cells are empty.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Print writes the table, indented by two spaces.
func (t *Table) Print(p *Printer) {
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(Clean(cell)))
		}
	}
	for n, row := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i := range t.head {
			cell := ""
			if i < len(row) {
				cell = Clean(row[i])
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			line.WriteString("  ")
			if t.right[i] {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if n == 0 && p.colour {
			text = "\x1b[2m" + text + "\x1b[0m"
		}
		p.Line("%s", text)
	}
}
