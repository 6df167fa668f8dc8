package diag

import (
	"bytes"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// Site tells other tools where the files of a pipeline are.
type Site struct {
	// Source gives the bytes of a file as it was read, nil where there is none.
	Source func(file string) []byte
	// Path is a file's path as the reader knows it, such as from the root of the
	// repository; with slashes. nil: as it stands in the diagnostic.
	Path func(file string) string
}

func (s Site) path(file string) string {
	if s.Path == nil {
		return valid(file)
	}
	return valid(s.Path(file))
}

func (s Site) line(file string, number int) (string, bool) {
	if s.Source == nil {
		return "", false
	}
	return lineOf(s.Source(file), number)
}

// region is a range in lines and columns from 1, columns in Unicode code points;
// the end column is that behind the last character. HCL counts what people see
// as characters, which no other tool does.
type region struct {
	startLine, startColumn, endLine, endColumn int
}

// region of a range; not ok where the range names a file alone. Where the text is
// not at hand HCL's columns stand, which differ only behind combined characters.
func (s Site) region(r hcl.Range) (at region, ok bool) {
	if r.Start.Line < 1 {
		return region{}, false
	}
	at = region{r.Start.Line, max(1, r.Start.Column), r.Start.Line, max(1, r.Start.Column) + 1}
	if r.End.Line > r.Start.Line {
		at.endLine, at.endColumn = r.End.Line, max(1, r.End.Column)
		if line, ok := s.line(r.Filename, r.End.Line); ok {
			at.endColumn = codePoint(line, byteOfColumn(line, r.End.Column))
		}
	}
	line, ok := s.line(r.Filename, r.Start.Line)
	if !ok {
		return at, true
	}
	start := byteOfColumn(line, r.Start.Column)
	at.startColumn = codePoint(line, start)
	if at.endLine == at.startLine {
		end := start
		if r.End.Line == r.Start.Line {
			end = byteOfColumn(line, r.End.Column)
		}
		if end <= start {
			end = wordEnd(line, start)
		}
		at.endColumn = max(codePoint(line, end), at.startColumn+1)
	}
	return at, true
}

// codePoint is the column of a byte of a line, in code points from 1.
func codePoint(line string, at int) int { return utf8.RuneCountInString(line[:at]) + 1 }

// NotLaidOut complains of a file that is not in the layout, at the first line that
// is laid out otherwise.
func NotLaidOut(name string, before, after []byte) hcl.Diagnostics {
	was, is := bytes.SplitAfter(before, []byte("\n")), bytes.SplitAfter(after, []byte("\n"))
	line := 0
	for line+1 < min(len(was), len(is)) && bytes.Equal(was[line], is[line]) {
		line++
	}
	text, _ := lineOf(before, line+1)
	start := hcl.Pos{Line: line + 1, Column: 1}
	end := hcl.Pos{Line: line + 1, Column: 1 + utf8.RuneCountInString(text)}
	return hcl.Diagnostics{Error(hcl.Range{Filename: name, Start: start, End: end}, "File that is not laid out",
		"From this line on the layout is another. Lay the file out with: penstock fmt "+name)}
}
