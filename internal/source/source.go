// Package source reads the items of a pipeline from files, one at a time.
//
// The engine calls it; it keeps no more than one record in memory, so that a
// source may be larger than the machine.
//
// It refuses to judge: a record comes as the bytes that stand in the file, and
// whether they are one strict JSON document is asked of Record.Document.
package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/penstock-run/penstock/dag"
)

// maxRecord bounds one record: the message limit of the plugin protocol.
const maxRecord = 64 << 20

// Record is one item as it stands in its file.
type Record struct {
	Source *dag.Source
	File   string // relative to the pipeline's directory, with slashes
	Line   int    // of its first byte, from 1
	// Raw is what stands in the file, without the line's end. It is only good
	// until the next call of Next.
	Raw []byte
	// document turns Raw into JSON, by the format.
	document func(raw []byte) ([]byte, error)
}

// Place is "<file>:<line>": where the record stands, and its key by default.
func (r *Record) Place() string { return fmt.Sprintf("%s:%d", r.File, r.Line) }

// Document is the record as JSON, not yet canonical and not yet checked where
// the format is JSON itself. The error says what is wrong with the file.
func (r *Record) Document() ([]byte, error) { return r.document(r.Raw) }

// Written is a record that stands in no file of the source: a JSON document, with
// where it is written.
func Written(s *dag.Source, file string, line int, document []byte) *Record {
	return &Record{Source: s, File: file, Line: line, Raw: document, document: func(raw []byte) ([]byte, error) { return raw, nil }}
}

// Reader yields the records of one source in order: files sorted by name,
// records as they stand in each.
type Reader struct {
	dir    string
	source *dag.Source
	files  []string
	next   int
	count  int

	file   *os.File
	name   string
	format format
}

// Files finds the files of a source: in the order of its patterns, each once. A
// pattern that matches nothing is an error: an empty run that nobody asked for
// would look like a finished one.
func Files(dir string, s *dag.Source) ([]string, error) {
	seen := map[string]bool{}
	var files []string
	for _, pattern := range s.Files {
		matches, err := match(dir, pattern)
		if err != nil {
			return nil, fault(s, err, "mend `files` at "+s.Pos.String())
		}
		if len(matches) == 0 {
			return nil, fault(s, fmt.Errorf("no file matches %q", pattern), "create the file, or mend `files` at "+s.Pos.String())
		}
		for _, name := range matches {
			if !seen[name] {
				seen[name] = true
				files = append(files, name)
			}
		}
	}
	return files, nil
}

// Open begins to read the files of a source.
func Open(dir string, s *dag.Source) (*Reader, error) {
	files, err := Files(dir, s)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if _, err := formatOf(s, name); err != nil {
			return nil, fault(s, err, "say `format` in the source at "+s.Pos.String())
		}
	}
	return &Reader{dir: dir, source: s, files: files}, nil
}

// match expands one pattern; its result is sorted.
func match(dir, pattern string) ([]string, error) {
	if filepath.IsAbs(pattern) {
		return nil, fmt.Errorf("%q is an absolute path; paths are relative to the pipeline's directory", pattern)
	}
	matches, err := doublestar.Glob(os.DirFS(dir), filepath.ToSlash(filepath.Clean(pattern)), doublestar.WithFilesOnly())
	if err != nil {
		return nil, fmt.Errorf("%q is not a pattern of file names: %w", pattern, err)
	}
	sort.Strings(matches)
	return matches, nil
}

func fault(s *dag.Source, err error, hint string) error {
	return &dag.Error{Op: "read source", Subject: s.Name, Kind: dag.KindConfig, Err: err, Hint: hint}
}

// Next gives the next record, io.EOF after the last.
func (r *Reader) Next() (*Record, error) {
	if r.source.Limit > 0 && r.count >= r.source.Limit {
		return nil, errors.Join(io.EOF, r.Close())
	}
	for {
		if r.format == nil {
			if r.next == len(r.files) {
				return nil, io.EOF
			}
			if err := r.open(r.files[r.next]); err != nil {
				return nil, err
			}
			r.next++
		}
		record, err := r.format.next()
		if err == io.EOF {
			if err := r.Close(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, fault(r.source, fmt.Errorf("%s: %w", r.name, err), "")
		}
		record.Source, record.File = r.source, r.name
		r.count++
		return record, nil
	}
}

func (r *Reader) open(name string) error {
	file, err := os.Open(filepath.Join(r.dir, filepath.FromSlash(name)))
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return fault(r.source, err, "make the file readable")
		}
		return fault(r.source, err, "")
	}
	build, err := formatOf(r.source, name)
	if err != nil {
		return fault(r.source, err, "")
	}
	r.file, r.name, r.format = file, name, build(name, bufio.NewReaderSize(file, 256<<10))
	return nil
}

// Close lets the open file go.
func (r *Reader) Close() error {
	r.format = nil
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// formatOf chooses the format: as declared, else by the file's ending.
func formatOf(s *dag.Source, name string) (func(string, *bufio.Reader) format, error) {
	word := s.Format
	if word == "" {
		ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))
		word = map[string]string{
			"json": "json", "jsonl": "jsonl", "ndjson": "jsonl", "csv": "csv", "tsv": "tsv",
			"md": "markdown", "markdown": "markdown", "txt": "text", "text": "text",
		}[ending]
		if word == "" {
			return nil, fmt.Errorf("the ending of %q tells no format", name)
		}
	}
	build, ok := formats[word]
	if !ok {
		return nil, fmt.Errorf("%q is no format; formats are json, jsonl, csv, tsv, lines, markdown, text", word)
	}
	return build, nil
}

// readLine gives the next line without its end, and whether there was one.
// The bytes are good until the next read.
func readLine(in *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		*long = append((*long)[:0], line...)
		for err == bufio.ErrBufferFull {
			line, err = in.ReadSlice('\n')
			if len(*long)+len(line) > maxRecord {
				return nil, fmt.Errorf("a line is longer than %d MiB", maxRecord>>20)
			}
			*long = append(*long, line...)
		}
		line = *long
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, err
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), nil
}

// Readers are the readers of all sources of a pipeline, one after the other.
type Readers struct{ readers []*Reader }

// OpenAll finds the files of every source.
func OpenAll(dir string, sources []*dag.Source) (*Readers, error) {
	all := &Readers{}
	for _, s := range sources {
		r, err := Open(dir, s)
		if err != nil {
			return nil, err
		}
		all.readers = append(all.readers, r)
	}
	return all, nil
}

// Next gives the next record, io.EOF after the last of the last source.
func (r *Readers) Next() (*Record, error) {
	for len(r.readers) > 0 {
		record, err := r.readers[0].Next()
		if !errors.Is(err, io.EOF) {
			return record, err
		}
		r.readers = r.readers[1:]
	}
	return nil, io.EOF
}

// Close lets the open file go.
func (r *Readers) Close() error {
	if len(r.readers) == 0 {
		return nil
	}
	return r.readers[0].Close()
}
