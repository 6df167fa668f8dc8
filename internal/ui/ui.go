// Package ui prints: tables, progress and errors on a terminal, JSON for
// machines.
//
// cmd/penstock calls it and nothing else does. It refuses to mix the two: data
// goes to standard output, what is for people to standard error, and with JSON
// asked for every answer is JSON, the last error included.
//
// The rules of the terminal: plain lines that are only ever appended; one live
// footer, on a terminal alone; colour on a terminal alone and never with
// NO_COLOR; an error is "error:", what to do about it "hint:", and a command to
// paste stands on a line of its own.
package ui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/dag"
)

// Printer is where a command prints.
type Printer struct {
	Out    io.Writer // data
	Err    io.Writer // people
	JSON   bool
	colour bool // on Out
	live   bool // Err is a terminal
	footer footer
}

// New makes a Printer. Colour needs a terminal and no NO_COLOR.
func New(out, err io.Writer, asJSON, noColour bool) *Printer {
	return &Printer{
		Out: out, Err: err, JSON: asJSON,
		colour: !asJSON && !noColour && os.Getenv("NO_COLOR") == "" && isTerminal(out),
		live:   isTerminal(err),
	}
}

func isTerminal(w io.Writer) bool {
	f := fileOf(w)
	if f == nil {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), ioctlGetTermios)
	return err == nil
}

// plainWidth is how wide a line is where no terminal says: it fits a CI log and
// half a screen.
const plainWidth = 100

// Width is how many characters a line of data has before it wraps.
func (p *Printer) Width() int {
	if f := fileOf(p.Out); f != nil {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
			return int(size.Col)
		}
	}
	return plainWidth
}

// Colour reports whether data may be coloured.
func (p *Printer) Colour() bool { return p.colour }

// Line prints one line of data.
func (p *Printer) Line(format string, args ...any) {
	p.footer.clear(p.Err)
	fmt.Fprintf(p.Out, format+"\n", args...)
}

// Note prints one line for people.
func (p *Printer) Note(format string, args ...any) {
	p.footer.clear(p.Err)
	fmt.Fprintln(p.Err, Clean(fmt.Sprintf(format, args...)))
}

// Document prints a value as JSON on standard output.
func (p *Printer) Document(v any) error {
	if err := json.MarshalWrite(p.Out, v, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
		return err
	}
	_, err := io.WriteString(p.Out, "\n")
	return err
}

// Error prints what ended a command.
func (p *Printer) Error(err error) {
	p.footer.clear(p.Err)
	if p.JSON {
		_ = p.Document(ErrorDocument{Version: 1, Error: EndedBy(err)}) // nothing is left to tell it to
		return
	}
	for i, line := range strings.Split(strings.TrimRight(err.Error(), "\n"), "\n") {
		lead := "error: "
		if i > 0 {
			lead = "       "
		}
		fmt.Fprintln(p.Err, lead+Clean(line))
	}
	for _, hint := range Hints(err) {
		fmt.Fprintln(p.Err, "hint:  "+Clean(hint))
	}
}

// ErrorDocument is what ended a command, as JSON.
type ErrorDocument struct {
	Version int   `json:"version"`
	Error   Ended `json:"error"`
}

// Ended tells why a command ended.
type Ended struct {
	Message string `json:"message"`
	Kind    string `json:"kind"`           // "config", "infrastructure", "stopped", "changed", "differs", "bug", "interrupted"
	Hint    string `json:"hint,omitempty"` // what to do, a line each; a command to paste stands on a line of its own
}

// EndedBy is an error as JSON tells it.
func EndedBy(err error) Ended {
	return Ended{Message: err.Error(), Kind: kindNames[dag.KindOf(err)], Hint: strings.Join(Hints(err), "\n")}
}

var kindNames = map[dag.Kind]string{
	dag.KindConfig: "config", dag.KindInfrastructure: "infrastructure", dag.KindStopped: "stopped", dag.KindChanged: "changed",
	dag.KindDiffers: "differs", dag.KindBug: "bug", dag.KindInterrupted: "interrupted",
}

// KindName is the word for a kind in JSON.
func KindName(k dag.Kind) string {
	if name := kindNames[k]; name != "" {
		return name
	}
	return "done"
}

// Hints collects what an error and its causes say to do, each once.
func Hints(err error) []string {
	var hints []string
	var walk func(error)
	walk = func(err error) {
		if err == nil {
			return
		}
		var e *dag.Error
		if errors.As(err, &e) && e.Hint != "" && (len(hints) == 0 || hints[len(hints)-1] != e.Hint) {
			hints = append(hints, e.Hint)
		}
		switch u := err.(type) {
		case interface{ Unwrap() []error }:
			for _, cause := range u.Unwrap() {
				walk(cause)
			}
		case interface{ Unwrap() error }:
			walk(u.Unwrap())
		}
	}
	walk(err)
	seen := map[string]bool{}
	kept := hints[:0]
	for _, h := range hints {
		if !seen[h] {
			seen[h] = true
			kept = append(kept, h)
		}
	}
	return kept
}

// Clean replaces what could steer a terminal: text of plugins and files is data.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return r
		}
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return '\ufffd'
		}
		return r
	}, s)
}

// Live reports whether standard error is a terminal.
func (p *Printer) Live() bool { return p.live }
