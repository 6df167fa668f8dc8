package source

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
)

// table is a file of comma- or tab-separated values with a head line; a record
// is an object of texts.
type table struct {
	in     *rows
	comma  rune
	csv    *csv.Reader
	before int // lines of the file before the first that csv has seen
	head   []string
}

func newTable(in *bufio.Reader, comma rune) *table {
	f := &table{in: &rows{in: in}, comma: comma}
	f.readOn(0)
	return f
}

// readOn reads on behind so many lines.
func (f *table) readOn(before int) {
	f.before = before
	f.csv = csv.NewReader(f.in)
	f.csv.Comma, f.csv.FieldsPerRecord, f.csv.ReuseRecord = f.comma, len(f.head), true
}

func (f *table) next() (*Record, error) {
	if f.head == nil {
		if err := f.readHead(); err != nil {
			return nil, err
		}
	}
	f.in.begin()
	row, err := f.csv.Read()
	if misfit := new(csv.ParseError); errors.As(err, &misfit) {
		return f.misfit(row, misfit), nil
	}
	if err != nil {
		return nil, err
	}
	line, _ := f.csv.FieldPos(0)
	object := make(map[string]string, len(row))
	for i, value := range row {
		object[f.head[i]] = value
	}
	raw, err := json.Marshal(object, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", f.before+line, err)
	}
	return &Record{Line: f.before + line, Raw: raw, document: asIs}, nil
}

func (f *table) readHead() error {
	head, err := f.csv.Read()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, name := range head {
		if i == 0 {
			name = string(bytes.TrimPrefix([]byte(name), []byte("\ufeff")))
		}
		if name == "" || seen[name] {
			return fmt.Errorf("line 1: column %d has no name of its own (%q); name each column once", i+1, name)
		}
		seen[name] = true
		f.head = append(f.head, name)
	}
	return nil
}

// misfit is the record of a row that is none: the row's own failure, as a line of
// JSON that does not parse is that line's. The rows behind it go on, those too that a
// quotation mark had made a part of it.
func (f *table) misfit(row []string, err *csv.ParseError) *Record {
	line := f.before + err.StartLine
	raw := f.in.row(line)
	why := fmt.Errorf("column %d: %w; write a cell with quotation marks as \"…\", and each mark in it twice", err.Column, err.Err)
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		why = fmt.Errorf("the cells of the row are %d, the columns that the first line names %d", len(row), len(f.head))
	case err.Line > err.StartLine:
		why = errors.New("a cell begins with a quotation mark and does not end with one; write a cell with quotation marks as \"…\", and each mark in it twice")
		raw = f.in.first(line)
		f.readOn(line)
	}
	return &Record{Line: line, Raw: raw, document: func([]byte) ([]byte, error) { return nil, why }}
}

// rows gives a csv.Reader one line at a time, so that it never holds more than the
// row that it reads, and remembers the lines of that row.
type rows struct {
	in    *bufio.Reader
	long  []byte
	again [][]byte // to be given before what in has
	given [][]byte // of the row
	size  int      // of given, bytes
	line  int      // number of the last one given
	rest  []byte   // of it, still to be given
}

// begin forgets the row before.
func (r *rows) begin() { r.given, r.size = r.given[:0], 0 }

// row is what was read of the row that starts at a line.
func (r *rows) row(line int) []byte {
	return bytes.TrimSuffix(bytes.Join(r.given[r.index(line):], nil), []byte("\n"))
}

// first is the first line of that row; all behind it is given again.
func (r *rows) first(line int) []byte {
	i := r.index(line)
	r.again = append(slices.Clone(r.given[i+1:]), r.again...)
	r.line, r.rest = line, nil
	return bytes.TrimSuffix(r.given[i], []byte("\n"))
}

func (r *rows) index(line int) int { return line - (r.line - len(r.given) + 1) }

// Read gives what is left of a line. Where a row has grown too large it gives an end,
// which is a quotation mark that does not close: nothing else spans lines.
func (r *rows) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.size > maxRecord {
			return 0, io.EOF
		}
		line, err := r.nextLine()
		if err != nil {
			return 0, err
		}
		r.rest, r.given, r.size, r.line = line, append(r.given, line), r.size+len(line), r.line+1
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *rows) nextLine() ([]byte, error) {
	if len(r.again) > 0 {
		line := r.again[0]
		r.again = r.again[1:]
		return line, nil
	}
	line, err := readLine(r.in, &r.long)
	if err != nil {
		return nil, err
	}
	return append(bytes.Clone(line), '\n'), nil
}
