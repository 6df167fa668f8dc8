package gate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/text"
)

// Rows of the evidence that were written before a check "novel" stood in the gate
// lack its text. The record has it, where corpus.record is made of plain paths.

// olderRow is a row of the evidence whose record is to be read.
type olderRow struct {
	at      place
	data    string     // the file that the record is in
	digest  dag.Digest // of the record's line
	shelves []*shelf   // that want its text
	texts   []words    // of the record, one for each of shelves
}

// unknownText says that there are records that cannot be compared with.
func unknownText(s *shelf) error {
	within := ""
	if s.within != nil {
		within = " within " + s.within.String()
	}
	return &dag.Error{Op: "use the corpus", Kind: dag.KindConfig,
		Err:  fmt.Errorf("it has records that were accepted before the check \"novel\" on %s%s stood in the gate, and corpus.record does not tell what they have there", s.text, within),
		Hint: "make text and within plain paths, such as card.q, that stand in corpus.record, too; or give the gate a corpus in a directory of its own"}
}

// noteOlder keeps a row for readOlder.
func (l *ledger) noteOlder(row *evidenceRow, at place, shelves []*shelf) error {
	for _, s := range shelves {
		if !s.recorded {
			return unknownText(s)
		}
	}
	digest, err := dag.ParseDigest(row.Digest)
	if err != nil || row.Data == "" {
		return &errEdited{l.logs[evidenceLog].path, fmt.Sprintf("the row at byte %d does not tell its record", at.offset())}
	}
	l.older = append(l.older, olderRow{at: at, data: row.Data, digest: digest, shelves: shelves})
	return nil
}

// readOlder takes the texts of older rows from their records. A record that is not
// found is an error, now and the next time: none is left out.
func (l *ledger) readOlder() error {
	byFile := map[string]map[dag.Digest]*olderRow{}
	for i := range l.older {
		row := &l.older[i]
		if byFile[row.data] == nil {
			byFile[row.data] = map[dag.Digest]*olderRow{}
		}
		byFile[row.data][row.digest] = row
	}
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		rows := byFile[name]
		err := eachLineOf(filepath.Join(l.dir, name), func(line []byte) error {
			row := rows[dag.Sum(line)]
			if row == nil {
				return nil
			}
			delete(rows, row.digest)
			return row.read(line)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if len(rows) > 0 {
			return &errEdited{name, fmt.Sprintf("%d records of which there is evidence are not in it as they were accepted", len(rows))}
		}
	}
	for _, row := range l.older {
		for i, s := range row.shelves {
			if err := s.index.Add(row.texts[i].within, text.Tokens(row.texts[i].text), uint64(row.at)); err != nil {
				return err
			}
		}
	}
	l.older = nil
	return nil
}

// read takes the texts from the record.
func (row *olderRow) read(line []byte) error {
	row.texts = make([]words, len(row.shelves))
	for i, s := range row.shelves {
		var err error
		if row.texts[i].text, err = textAt(line, s.textAt); err == nil && s.within != nil {
			row.texts[i].within, err = textAt(line, s.withinAt)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// textAt is a text of a record in canonical form; what is null or absent has no words.
func textAt(record []byte, at []string) (string, error) {
	value := record
	for _, name := range at {
		next, found, err := member(value, name)
		if err != nil || !found {
			return "", err
		}
		value = next
	}
	if string(value) == "null" {
		return "", nil
	}
	if len(value) < 2 || value[0] != '"' {
		return "", fmt.Errorf("%v of a record is no text: %.60s", at, value)
	}
	return unquote(value)
}

// eachLineOf reads a file line by line; what is behind the last line feed is none.
func eachLineOf(path string, line func([]byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		b, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := line(b[:len(b)-1]); err != nil {
			return err
		}
	}
}
