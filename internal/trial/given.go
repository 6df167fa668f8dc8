package trial

import (
	"io"
	"slices"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/internal/source"
)

// records are the items that a test gives, in the place of the sources'.
type records struct {
	source *dag.Source
	docs   []dag.Doc
	next   int
	reader *source.Reader  // of files; nil: docs
	keys   map[string]bool // that are meant, each with whether it came; nil: all
}

func (t *trial) records() (*records, error) {
	g := t.test.Given
	r := &records{source: g.Source, docs: g.Docs}
	if len(g.Keys) > 0 {
		r.keys = map[string]bool{}
	}
	for _, key := range g.Keys {
		r.keys[key] = false
	}
	if g.Docs != nil {
		return r, nil
	}
	of := *g.Source // as declared, but for the file that the test names
	if g.Files != nil {
		of.Files, of.Limit = g.Files, 0
	}
	var err error
	r.reader, err = source.Open(t.Dir, &of)
	return r, err
}

// Next implements engine.Records.
func (r *records) Next() (*source.Record, error) {
	for {
		record, err := r.read()
		if err != nil {
			return nil, err
		}
		record.Source = r.source // and no copy of it
		if r.keys == nil {
			return record, nil
		}
		key := engine.RecordKey(record)
		if _, meant := r.keys[key]; meant {
			r.keys[key] = true
			return record, nil
		}
	}
}

func (r *records) read() (*source.Record, error) {
	switch {
	case r.reader != nil:
		return r.reader.Next()
	case r.next == len(r.docs):
		return nil, io.EOF
	}
	r.next++
	return source.Written(r.source, "given", r.next, r.docs[r.next-1].Bytes), nil
}

// missed are the keys that were meant and never came, as they are written.
func (r *records) missed() []string {
	var keys []string
	for key, came := range r.keys {
		if !came {
			keys = append(keys, lang.Literal(key))
		}
	}
	slices.Sort(keys)
	return keys
}

// Close implements engine.Records.
func (r *records) Close() error {
	if r.reader == nil {
		return nil
	}
	return r.reader.Close()
}
