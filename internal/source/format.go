package source

import (
	"bufio"
	"bytes"
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
