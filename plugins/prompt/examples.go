package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/schema"
)

// Examples are sent with every request, and again with every re-ask.
const (
	maxExamples     = 64
	maxExampleBytes = 1 << 20 // of all inputs and outputs together
)

// example is an input with the answer that is wanted to it, both canonical.
type example struct {
	at            string // file:line
	input, output []byte
}

// misplaced is what is wrong in a file of examples.
type misplaced struct {
	file   string
	line   int
	reason string
}

func (e *misplaced) Error() string {
	if e.line == 0 {
		return e.file + ": " + e.reason
	}
	return fmt.Sprintf("%s:%d: %s", e.file, e.line, e.reason)
}

// readExamples reads the files that patterns match in the pipeline's directory, the patterns
// in their order, the files of each by name. Each output has to fit want, unless
// that is nil.
func readExamples(fsys fs.FS, patterns []string, want *schema.Schema) ([]example, error) {
	var all []example
	var read []string
	size := 0
	for _, pattern := range patterns {
		if path.IsAbs(pattern) || slices.Contains(strings.Split(pattern, "/"), "..") {
			return nil, fmt.Errorf("%q leads out of the pipeline's directory; paths are relative to it", pattern)
		}
		files, err := doublestar.Glob(fsys, path.Clean(pattern), doublestar.WithFilesOnly())
		if err != nil {
			return nil, fmt.Errorf("%q is not a pattern of file names: %w", pattern, err)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("no file matches %q", pattern)
		}
		slices.Sort(files)
		for _, file := range files {
			if slices.Contains(read, file) {
				continue
			}
			read = append(read, file)
			found, err := readExampleFile(fsys, file, want)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	for _, e := range all {
		size += len(e.input) + len(e.output)
	}
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("%s: there is no example in it; leave the attribute out, or write {\"input\": …, \"output\": …}", strings.Join(read, ", "))
	case len(all) > maxExamples:
		return nil, fmt.Errorf("these are %d examples, and every request would bear them all; give at most %d", len(all), maxExamples)
	case size > maxExampleBytes:
		return nil, fmt.Errorf("the examples have %d bytes, and every request would bear them all; give at most %d", size, maxExampleBytes)
	}
	return all, nil
}

func readExampleFile(fsys fs.FS, file string, want *schema.Schema) ([]example, error) {
	raw, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	var pieces []piece
	switch path.Ext(file) {
	case ".jsonl", ".ndjson":
		pieces = lines(raw)
	case ".json":
		if pieces, err = elements(raw); err != nil {
			return nil, at(file, 0, err)
		}
	default:
		return nil, &misplaced{file, 0, "examples stand in a file that ends in .jsonl, one a line, or in .json, as an array"}
	}
	all := make([]example, 0, len(pieces))
	for _, p := range pieces {
		e, err := p.example(want)
		if err != nil {
			return nil, at(file, p.line, err)
		}
		e.at = fmt.Sprintf("%s:%d", file, p.line)
		all = append(all, e)
	}
	return all, nil
}

// at is an error with its place; line is that where the text began which err counts
// its lines from, 0 for the file's beginning.
func at(file string, line int, err error) error {
	var own *canon.Error
	if errors.As(err, &own) {
		return &misplaced{file, max(line, 1) + own.Line - 1, fmt.Sprintf("column %d: %s", own.Column, own.Reason)}
	}
	return &misplaced{file, line, err.Error()}
}

// piece is the text of one example, and the line that it begins in.
type piece struct {
	line int
	raw  []byte
}

func lines(raw []byte) []piece {
	var all []piece
	n := 0
	for line := range bytes.Lines(raw) {
		n++
		if line = bytes.TrimSpace(line); len(line) > 0 {
			all = append(all, piece{n, line})
		}
	}
	return all
}

// elements are those of an array; any other document is one piece.
func elements(raw []byte) ([]piece, error) {
	if err := canon.Valid(raw); err != nil {
		return nil, err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	array := dec.PeekKind() == '['
	if array {
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
	}
	var all []piece
	for kind := dec.PeekKind(); kind != ']' && kind != 0; kind = dec.PeekKind() {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		start := int(dec.InputOffset()) - len(value)
		all = append(all, piece{1 + bytes.Count(raw[:start], []byte("\n")), bytes.Clone(value)})
	}
	return all, nil
}

func (p piece) example(want *schema.Schema) (example, error) {
	if err := canon.Valid(p.raw); err != nil {
		return example{}, err
	}
	var pair struct {
		Input  jsontext.Value `json:"input"`
		Output jsontext.Value `json:"output"`
	}
	if err := json.Unmarshal(p.raw, &pair, json.RejectUnknownMembers(true)); err != nil || pair.Input == nil || pair.Output == nil {
		return example{}, errors.New(`an example is an object with the members "input" and "output", and no others`)
	}
	var e example
	var err error
	if e.input, err = canon.Canonical(nil, pair.Input); err != nil {
		return example{}, err
	}
	if e.output, err = canon.Canonical(nil, pair.Output); err != nil {
		return example{}, err
	}
	if want != nil {
		if err := want.Validate(e.output); err != nil {
			return example{}, fmt.Errorf("its output does not fit the schema of the stage's output: %w", err)
		}
	}
	return e, nil
}
