package ui

import (
	"fmt"
	"io"
)

// footer is the one live line of a terminal.
type footer struct{ shown bool }

// Footer shows a line that the next one replaces. Where standard error is no
// terminal it shows nothing.
func (p *Printer) Footer(format string, args ...any) {
	if !p.live || p.JSON {
		return
	}
	fmt.Fprintf(p.Err, "\r\x1b[K%s", Clean(fmt.Sprintf(format, args...)))
	p.footer.shown = true
}

// EndFooter takes the live line away.
func (p *Printer) EndFooter() { p.footer.clear(p.Err) }

func (f *footer) clear(w io.Writer) {
	if f.shown {
		fmt.Fprint(w, "\r\x1b[K")
		f.shown = false
	}
}
