package diag

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/hcl/v2"
)

// ReportVersion is the version of Report's shape. It grows when a field
// changes its meaning or goes, not when one is added.
const ReportVersion = 1

// Report is the diagnostics as machines read them.
type Report struct {
	Version     int       `json:"version"`
	Valid       bool      `json:"valid"` // no errors
	Errors      int       `json:"errors"`
	Warnings    int       `json:"warnings"`
	Diagnostics []Message `json:"diagnostics"` // sorted by file and place; empty, never null
}

// Message is one diagnostic.
type Message struct {
	Severity string    `json:"severity"` // "error" or "warning"
	Summary  string    `json:"summary"`
	Detail   string    `json:"detail"`
	Address  string    `json:"address,omitempty"`
	Range    *Range    `json:"range,omitempty"`
	Snippet  *Snippet  `json:"snippet,omitempty"`
	Related  []Further `json:"related,omitempty"`
}

// Range is a part of a file.
type Range struct {
	File  string `json:"file"`
	Start Place  `json:"start"`
	End   Place  `json:"end"`
}

// Place is a position in a file. Line and column count from 1, Byte from 0.
type Place struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Snippet is the first line of the range; the marked part is given in bytes of Code.
type Snippet struct {
	Code  string `json:"code"`
	Line  int    `json:"line"`
	Start int    `json:"highlight_start"`
	End   int    `json:"highlight_end"`
}

// Further is a second place of a complaint.
type Further struct {
	Label string `json:"label"`
	Range Range  `json:"range"`
}

// NewReport is the diagnostics in the form that JSON prints, for commands that
// put them into an answer of their own.
func NewReport(diags hcl.Diagnostics, source func(file string) []byte) Report {
	report := Report{Version: ReportVersion, Diagnostics: []Message{}}
	report.Errors, report.Warnings = Count(diags)
	report.Valid = report.Errors == 0
	for _, d := range Shown(diags) {
		report.Diagnostics = append(report.Diagnostics, message(d, source))
	}
	return report
}

// JSON is NewReport, written: indented, with a newline at its end.
func JSON(diags hcl.Diagnostics, source func(file string) []byte) ([]byte, error) {
	out, err := json.Marshal(NewReport(diags, source), jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return append(out, '\n'), nil
}

func message(d *hcl.Diagnostic, source func(string) []byte) Message {
	info := InfoOf(d)
	m := Message{Severity: "error", Summary: valid(d.Summary), Detail: valid(d.Detail), Address: valid(info.Address)}
	if d.Severity == hcl.DiagWarning {
		m.Severity = "warning"
	}
	if d.Subject != nil {
		r := jsonRange(*d.Subject)
		m.Range = &r
		if s, ok := snippet(source, *d.Subject); ok {
			m.Snippet = &Snippet{Code: s.line, Line: d.Subject.Start.Line, Start: s.start, End: s.end}
		}
	}
	for _, r := range info.Related {
		m.Related = append(m.Related, Further{Label: valid(r.Label), Range: jsonRange(r.Range)})
	}
	return m
}

func jsonRange(r hcl.Range) Range {
	return Range{File: valid(r.Filename), Start: Place(r.Start), End: Place(r.End)}
}

// valid keeps control characters, which JSON escapes, and replaces what JSON
// cannot hold.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
