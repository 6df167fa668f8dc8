package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/trial"
	"github.com/penstock-run/penstock/internal/ui"
)

// The rules: a line for each test, in the order of the files, as it is done;
// below one that does not hold a line for each expectation that failed, with
// where it stands, then what was wanted and what came. The sum stands last.

// printTest tells what came of one test.
func (c *command) printTest(r *trial.Result) {
	p := c.printer()
	word := "ok    "
	switch {
	case r.Holds():
	case r.Mended():
		word = "wrote "
	default:
		word = "FAIL  "
	}
	p.Line("%s%s", word, r.Test.Name)
	for _, f := range r.Failures {
		if f.Written {
			p.Line("      %s:%d: %s: %s", f.At.File, f.At.Line, ui.Clean(aboutFailure(f)), ui.Clean(f.Got))
			continue
		}
		p.Line("      %s:%d: %s", f.At.File, f.At.Line, ui.Clean(aboutFailure(f)))
		if f.Want != "" {
			p.Line("          want %s", ui.Clean(f.Want))
			if f.Got != "" {
				p.Line("          got  %s", ui.Clean(f.Got))
			}
		}
		for line := range strings.SplitSeq(strings.TrimRight(f.Message, "\n"), "\n") {
			if line != "" {
				p.Line("          %s", ui.Clean(line))
			}
		}
	}
	for _, m := range r.Unused {
		p.Line("      %s:%d: no visit of stage.%s came to this mock", m.At.File, m.At.Line, m.Stage.Name)
	}
	if !r.Holds() {
		for _, note := range r.Notes {
			p.Line("      note: %s", ui.Clean(note))
		}
	}
}

// aboutFailure is what did not come, and of which item.
func aboutFailure(f trial.Failure) string {
	if f.Item == "" {
		return f.What
	}
	return f.What + ", item " + f.Item
}

// printTests sums up.
func (c *command) printTests(results []*trial.Result, update bool, updated []string) error {
	failed, mended := 0, 0
	for _, r := range results {
		if !r.Mended() {
			failed++
		} else if !r.Holds() {
			mended++
		}
		if update && !c.json {
			c.printTest(r)
		}
	}
	if c.json {
		return c.printer().Document(documentOf(results, failed, mended, updated))
	}
	for _, name := range updated {
		c.printer().Line("wrote %s", name)
	}
	line := count(len(results)-failed-mended, "test holds", "tests hold")
	if mended > 0 {
		line += fmt.Sprintf(", %d written", mended)
	}
	if failed > 0 {
		line += fmt.Sprintf(", %d failed", failed)
	}
	c.printer().Line("%s", line)
	return nil
}

// testsDocument is what `test --json` prints.
type testsDocument struct {
	Version int          `json:"version"`
	Holds   int          `json:"holds"`            // how many tests hold
	Failed  int          `json:"failed"`           // how many do not
	Written int          `json:"written,omitzero"` // with --update: how many hold by what was written
	Tests   []testResult `json:"tests"`            // in the order of the files
	Wrote   []string     `json:"wrote,omitempty"`  // with --update: the files that changed
}

// testResult is what came of one test.
type testResult struct {
	Name     string        `json:"name"`
	At       string        `json:"at"` // file:line
	Holds    bool          `json:"holds"`
	Failures []testFailure `json:"failures,omitempty"`     // in the order in which they were found
	Unused   []string      `json:"unused_mocks,omitempty"` // file:line of mocks that no visit came to
	Notes    []string      `json:"notes,omitempty"`        // what its run told people
}

// testFailure is one thing that did not come as expected.
type testFailure struct {
	At      string `json:"at"`                // file:line of the expectation
	What    string `json:"what"`              // what is compared; "run" and "recording" where something came to no end
	Item    string `json:"item,omitempty"`    // its key; absent: of all items together
	Want    string `json:"want,omitempty"`    // as it is written in a test
	Got     string `json:"got,omitempty"`     // as it is written in a test; of a condition what it read
	Message string `json:"message,omitempty"` // why, where that helps
	Written bool   `json:"written,omitzero"`  // with --update: what came stands in the test now
}

func documentOf(results []*trial.Result, failed, mended int, updated []string) testsDocument {
	doc := testsDocument{Version: 1, Holds: len(results) - failed - mended, Failed: failed, Written: mended, Tests: []testResult{}, Wrote: updated}
	for _, r := range results {
		t := testResult{Name: r.Test.Name, At: lineOf(r.Test.Pos.File, r.Test.Pos.Line), Holds: r.Holds(), Notes: r.Notes}
		for _, f := range r.Failures {
			t.Failures = append(t.Failures, testFailure{lineOf(f.At.File, f.At.Line), f.What, f.Item, f.Want, f.Got, f.Message, f.Written})
		}
		for _, m := range r.Unused {
			t.Unused = append(t.Unused, lineOf(m.At.File, m.At.Line))
		}
		doc.Tests = append(doc.Tests, t)
	}
	return doc
}

func lineOf(file string, line int) string { return file + ":" + strconv.Itoa(line) }

// The form that CI systems read: a suite for each file, a case for each test.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
		took     float64
	}
	junitCase struct {
		Name     string         `xml:"name,attr"`
		Class    string         `xml:"classname,attr"`
		File     string         `xml:"file,attr"`
		Line     int            `xml:"line,attr"`
		Time     string         `xml:"time,attr"`
		Failures []junitFailure `xml:"failure"`
		Errors   []junitFailure `xml:"error"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func (c *command) writeJUnit(name string, results []*trial.Result) error {
	var suites []junitSuite
	for _, r := range results {
		file := r.Test.Pos.File
		if n := len(suites); n == 0 || suites[n-1].Name != file {
			suites = append(suites, junitSuite{Name: file})
		}
		s := &suites[len(suites)-1]
		took := r.Took.Seconds()
		jc := junitCase{Name: r.Test.Name, Class: file, File: file, Line: r.Test.Pos.Line, Time: seconds(took)}
		for _, f := range r.Failures {
			text := lineOf(f.At.File, f.At.Line)
			if f.Want != "" {
				text += "\nwant " + f.Want + "\ngot  " + f.Got
			}
			text = strings.TrimRight(text+"\n"+f.Message, "\n")
			if f.Kind == 0 || f.Kind == dag.KindDiffers {
				jc.Failures = append(jc.Failures, junitFailure{aboutFailure(f), text})
			} else {
				jc.Errors = append(jc.Errors, junitFailure{aboutFailure(f), text})
			}
		}
		s.Tests++
		if len(jc.Errors) > 0 {
			s.Errors++
		} else if len(jc.Failures) > 0 {
			s.Failures++
		}
		s.took += took
		s.Time = seconds(s.took)
		s.Cases = append(s.Cases, jc)
	}
	out, err := xml.MarshalIndent(junitSuites{Suites: suites}, "", "  ")
	if err == nil {
		isReport := func(content []byte) bool { return bytes.HasPrefix(content, []byte("<?xml")) }
		err = writeAnew(c.path(name), "JUnit report", isReport, append([]byte(xml.Header), append(out, '\n')...))
	}
	if err != nil {
		return &dag.Error{Op: "write", Subject: name, Kind: dag.KindInfrastructure, Err: cause(err)}
	}
	return nil
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }
