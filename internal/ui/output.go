package ui

import (
	"io"
	"os"
	"sync"
)

// Output is where a command's data goes. It remembers the first write that failed:
// a line of a table has no error to give back, and data that is lost on a full disk
// must not look like data that was printed.
type Output struct {
	to     io.Writer
	mu     sync.Mutex
	failed error
}

// NewOutput remembers what fails of to.
func NewOutput(to io.Writer) *Output { return &Output{to: to} }

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if err != nil {
		o.mu.Lock()
		if o.failed == nil {
			o.failed = err
		}
		o.mu.Unlock()
	}
	return n, err
}

// Failed is the first error of a write, nil where all was written.
func (o *Output) Failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

// fileOf is the file that a writer writes to; nil where it is none.
func fileOf(w io.Writer) *os.File {
	if o, ok := w.(*Output); ok {
		w = o.to
	}
	f, _ := w.(*os.File)
	return f
}
