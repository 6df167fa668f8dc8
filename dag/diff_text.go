package dag

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Lines is what changed in a text of several lines.
type Lines struct {
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Unified string `json:"unified"` // hunks of a unified diff with one line of context, without a head
}

// PathChange is what changed at one place of a JSON document.
type PathChange struct {
	Path string `json:"path"`          // JSON Pointer; empty: the whole document
	Old  string `json:"old,omitempty"` // JSON; empty: it was not there
	New  string `json:"new,omitempty"` // JSON; empty: it is gone
}

func splitLines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// edit is a line of the way from one text to another: kept ' ', gone '-', new '+'.
type edit struct {
	op   byte
	line string
}

// compareLines is never without a change: texts that differ in their last line
// feed alone have one line changed.
func compareLines(was, is string) *Lines {
	old, new := splitLines(was), splitLines(is)
	if slices.Equal(old, new) {
		mark := func(text string, lines []string) {
			if !strings.HasSuffix(text, "\n") {
				lines[len(lines)-1] += " (no line feed at the end)"
			}
		}
		mark(was, old)
		mark(is, new)
	}
	edits := editsOf(old, new)
	out := &Lines{}
	for _, e := range edits {
		switch e.op {
		case '+':
			out.Added++
		case '-':
			out.Removed++
		}
	}
	out.Unified = unified(edits)
	return out
}

// maxCells bounds the table of the longest common subsequence. Past it the
// texts are so long and so different that all of the middle is told as changed.
const maxCells = 4 << 20

// editsOf is a shortest way from one list of lines to another.
func editsOf(old, new []string) []edit {
	head := 0
	for head < len(old) && head < len(new) && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(new)-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	var edits []edit
	put := func(op byte, lines []string) {
		for _, line := range lines {
			edits = append(edits, edit{op, line})
		}
	}
	put(' ', old[:head])
	a, b := old[head:len(old)-tail], new[head:len(new)-tail]
	if len(a)*len(b) > maxCells {
		put('-', a)
		put('+', b)
	} else {
		edits = append(edits, middle(a, b)...)
	}
	put(' ', old[len(old)-tail:])
	return edits
}

func middle(a, b []string) []edit {
	width := len(b) + 1
	longest := make([]int32, (len(a)+1)*width) // common lines of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	var edits []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && longest[(i+1)*width+j] >= longest[i*width+j+1]:
			edits = append(edits, edit{'-', a[i]})
			i++
		default:
			edits = append(edits, edit{'+', b[j]})
			j++
		}
	}
	return edits
}

// unified writes the edits with a line of context around each.
func unified(edits []edit) string {
	var out strings.Builder
	oldAt, newAt := 1, 1
	shown := -1 // the last edit that was written
	for i, e := range edits {
		near := e.op != ' ' || i > 0 && edits[i-1].op != ' ' || i+1 < len(edits) && edits[i+1].op != ' '
		if near {
			if shown != i-1 || i == 0 {
				fmt.Fprintf(&out, "@@ -%d +%d @@\n", oldAt, newAt)
			}
			out.WriteByte(e.op)
			out.WriteString(e.line)
			out.WriteByte('\n')
			shown = i
		}
		if e.op != '+' {
			oldAt++
		}
		if e.op != '-' {
			newAt++
		}
	}
	return out.String()
}

// compareDocs lists the places at which two canonical documents differ.
func compareDocs(old, new []byte) []PathChange {
	var changes []PathChange
	var walk func(path string, old, new []byte)
	walk = func(path string, old, new []byte) {
		switch {
		case bytes.Equal(old, new):
		case len(old) > 0 && len(new) > 0 && old[0] == '{' && new[0] == '{':
			walkMembers(path, membersOf(old), membersOf(new), walk)
		case len(old) > 0 && len(new) > 0 && old[0] == '[' && new[0] == '[' && (nested(old) || nested(new)):
			a, _ := elements(old)
			b, _ := elements(new)
			for i := range max(len(a), len(b)) {
				walk(path+"/"+strconv.Itoa(i), at(a, i), at(b, i))
			}
		default:
			changes = append(changes, PathChange{path, string(old), string(new)})
		}
	}
	walk("", old, new)
	return changes
}

// nested reports whether an array holds objects or arrays: one of scalars, such
// as an enum, is compared as a whole.
func nested(array []byte) bool {
	list, _ := elements(array)
	return slices.ContainsFunc(list, func(e []byte) bool { return e[0] == '{' || e[0] == '[' })
}

func at(list [][]byte, i int) []byte {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// walkMembers goes through the members of two objects; both are sorted.
func walkMembers(path string, old, new []member, walk func(path string, old, new []byte)) {
	value := func(list []member, name []byte) []byte {
		for _, m := range list {
			if bytes.Equal(m.name, name) {
				return m.value
			}
		}
		return nil
	}
	for _, m := range new {
		walk(path+"/"+m.pointer(), value(old, m.name), m.value)
	}
	for _, m := range old {
		if value(new, m.name) == nil {
			walk(path+"/"+m.pointer(), m.value, nil)
		}
	}
}

// scalarText is a JSON scalar as people read it in a table: a text in quotes.
func scalarText(value string) string {
	if value == Other {
		return "anything else"
	}
	return jsontext.Value(value).String()
}
