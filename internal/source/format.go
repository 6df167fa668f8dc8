package source

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// format yields the records of one open file; next gives io.EOF after the last.
type format interface {
	next() (*Record, error)
}

var formats = map[string]func(name string, in *bufio.Reader) format{
	"jsonl":    func(_ string, in *bufio.Reader) format { return &lines{in: in, document: asIs, skipBlank: true} },
	"lines":    func(_ string, in *bufio.Reader) format { return &lines{in: in, document: textDocument} },
	"csv":      func(_ string, in *bufio.Reader) format { return newTable(in, ',') },
	"tsv":      func(_ string, in *bufio.Reader) format { return newTable(in, '\t') },
	"json":     func(_ string, in *bufio.Reader) format { return &whole{in: in, document: asIs, elements: true} },
	"text":     func(name string, in *bufio.Reader) format { return &whole{in: in, document: fileDocument(name)} },
	"markdown": func(name string, in *bufio.Reader) format { return &whole{in: in, document: markdownDocument(name)} },
}

func asIs(raw []byte) ([]byte, error) { return raw, nil }

// textDocument is a line of text: {"text": …}.
func textDocument(raw []byte) ([]byte, error) {
	return marshal(struct {
		Text string `json:"text"`
	}{string(raw)})
}

// fileDocument is a file of text: {"path": …, "text": …}.
func fileDocument(name string) func([]byte) ([]byte, error) {
	return func(raw []byte) ([]byte, error) {
		return marshal(struct {
			Path string `json:"path"`
			Text string `json:"text"`
		}{name, string(raw)})
	}
}

// markdownDocument is a Markdown file: {"path", "front_matter", "text"}; the
// front matter is the YAML between two lines of three dashes, null without one.
func markdownDocument(name string) func([]byte) ([]byte, error) {
	return func(raw []byte) ([]byte, error) {
		doc := struct {
			Path        string         `json:"path"`
			FrontMatter map[string]any `json:"front_matter"`
			Text        string         `json:"text"`
		}{Path: name, Text: string(raw)}
		if rest, ok := bytes.CutPrefix(raw, []byte("---\n")); ok {
			head, body, ok := bytes.Cut(append([]byte("\n"), rest...), []byte("\n---\n"))
			if !ok {
				return nil, errors.New("the front matter has no closing line of three dashes")
			}
			if err := yaml.Unmarshal(head, &doc.FrontMatter); err != nil {
				return nil, fmt.Errorf("front matter: %w", err)
			}
			if doc.FrontMatter == nil {
				doc.FrontMatter = map[string]any{}
			}
			doc.Text = string(body)
		}
		return marshal(doc)
	}
}

func marshal(v any) ([]byte, error) { return json.Marshal(v, json.FormatNilMapAsNull(true)) }

// lines is a file of one record a line.
type lines struct {
	in        *bufio.Reader
	document  func([]byte) ([]byte, error)
	skipBlank bool
	line      int
	long      []byte
	record    Record
}

func (f *lines) next() (*Record, error) {
	for {
		raw, err := readLine(f.in, &f.long)
		if err != nil {
			return nil, err
		}
		f.line++
		if f.skipBlank && len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		f.record = Record{Line: f.line, Raw: raw, document: f.document}
		return &f.record, nil
	}
}

// table is a file of comma- or tab-separated values with a head line; a record
// is an object of texts.
type table struct {
	csv  *csv.Reader
	head []string
}

func newTable(in *bufio.Reader, comma rune) *table {
	r := csv.NewReader(in)
	r.Comma = comma
	r.ReuseRecord = true
	return &table{csv: r}
}

func (f *table) next() (*Record, error) {
	if f.head == nil {
		head, err := f.csv.Read()
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for i, name := range head {
			if i == 0 {
				name = string(bytes.TrimPrefix([]byte(name), []byte("\ufeff")))
			}
			if name == "" || seen[name] {
				return nil, fmt.Errorf("line 1: column %d has no name of its own (%q); name each column once", i+1, name)
			}
			seen[name] = true
			f.head = append(f.head, name)
		}
	}
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
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return &Record{Line: line, Raw: raw, document: asIs}, nil
}

// misfit is the record of a row that is none: the row's own failure, as a line of
// JSON that does not parse is that line's. The rows behind it go on.
func (f *table) misfit(row []string, err *csv.ParseError) *Record {
	why := fmt.Errorf("column %d: %w; write a cell with quotation marks as \"…\", and each mark in it twice", err.Column, err.Err)
	if errors.Is(err, csv.ErrFieldCount) {
		why = fmt.Errorf("the cells of the row are %d, the columns that the first line names %d", len(row), len(f.head))
	}
	raw := fmt.Appendf(nil, "%q", row)
	if len(row) == 0 { // cells cannot tell it from others of its kind
		raw = fmt.Appendf(nil, "%d %v", err.StartLine, err.Err)
	}
	return &Record{Line: err.StartLine, Raw: raw, document: func([]byte) ([]byte, error) { return nil, why }}
}

// whole is a file that is one record, or, where it is a JSON array, one record
// for each element.
type whole struct {
	in       *bufio.Reader
	document func([]byte) ([]byte, error)
	elements bool

	read    bool
	data    []byte
	dec     *jsontext.Decoder
	line    int // line breaks before the byte at counted
	counted int
}

func (f *whole) next() (*Record, error) {
	if !f.read {
		f.read = true
		data, err := io.ReadAll(io.LimitReader(f.in, maxRecord+1))
		if err != nil {
			return nil, err
		}
		if len(data) > maxRecord {
			return nil, fmt.Errorf("the file is larger than %d MiB", maxRecord>>20)
		}
		f.data = data
		if f.elements && bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("[")) {
			f.dec = jsontext.NewDecoder(bytes.NewReader(data))
			if _, err := f.dec.ReadToken(); err != nil {
				return nil, err
			}
		} else {
			return &Record{Line: 1, Raw: bytes.TrimSuffix(data, []byte("\n")), document: f.document}, nil
		}
	}
	if f.dec == nil {
		return nil, io.EOF
	}
	if f.dec.PeekKind() == ']' {
		if _, err := f.dec.ReadToken(); err != nil {
			return nil, err
		}
		if _, err := f.dec.ReadToken(); err != io.EOF {
			return nil, errors.New("something stands after the end of the array")
		}
		return nil, io.EOF
	}
	raw, err := f.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	start := int(f.dec.InputOffset()) - len(raw)
	f.line += bytes.Count(f.data[f.counted:start], []byte("\n"))
	f.counted = start
	return &Record{Line: 1 + f.line, Raw: raw, document: f.document}, nil
}
