package staging

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/penstock-run/penstock/dag"
)

// loadLines brings the table of artifacts up to date with what lies on disk.
func (s *Store) loadLines() error {
	s.linesLoaded = true
	numbers, err := s.numbers()
	if err != nil {
		s.linesLoaded = false
		return err
	}
	fresh := int64(0)
	for _, n := range numbers {
		if info, err := os.Stat(s.indexPath(n)); err == nil {
			fresh += max(0, info.Size()-s.segment(n).indexed) / indexEntry
		}
	}
	s.lines.reserve(int(fresh)) // at once: growing moves all entries
	for _, n := range numbers {
		if g := s.segment(n); !s.own.is(g) {
			if _, err := s.loadSegment(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// loadSegment enters what the index says, then the lines that it lacks. It
// returns index entries for those.
func (s *Store) loadSegment(g *segment) ([]byte, error) {
	f, err := s.file(g)
	if err != nil {
		return nil, nil // gone since it was listed: its documents are absent
	}
	info, err := f.Stat()
	if err != nil {
		return nil, storeError("look at", f.Name(), err)
	}
	g.size, g.seen = info.Size(), s.generation
	index, err := os.ReadFile(s.indexPath(g.number))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, storeError("read", s.indexPath(g.number), err)
	}
	if int64(len(index)) < g.indexed { // it was made anew
		g.indexed, g.last = 0, -1
	}
	fresh := index[g.indexed : len(index)-len(index)%indexEntry]
	for ; len(fresh) > 0; fresh = fresh[indexEntry:] {
		g.indexed += indexEntry
		offset := int64(binary.LittleEndian.Uint32(fresh[4:]))
		if offset >= g.size {
			g.short = true
		}
		if offset <= g.last || offset >= g.size {
			continue
		}
		g.last = offset
		s.line(g, binary.LittleEndian.Uint32(fresh), offset)
	}
	return s.loadRest(g)
}

// line enters a line of a segment into the table, once.
func (s *Store) line(g *segment, hash uint32, offset int64) {
	if offset >= g.covered {
		s.lines.add(hash, uint64(g.number)<<32|uint64(offset))
		g.covered = offset + 1
	}
}

// loadRest hashes the whole lines that the index lacks.
func (s *Store) loadRest(g *segment) ([]byte, error) {
	from := max(0, g.last, g.next)
	buf := make([]byte, 0)
	var missing []byte
	for from < g.size {
		if len(buf) == 0 {
			buf = make([]byte, min(g.size-from, writeSize))
		}
		n, err := g.f.ReadAt(buf[:min(int64(len(buf)), g.size-from)], from)
		if n == 0 {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, storeError("read", g.f.Name(), err)
		}
		rest := buf[:n]
		for {
			line, after, whole := bytes.Cut(rest, []byte{'\n'})
			if !whole {
				break
			}
			if from > g.last {
				hash := hash32(dag.Sum(line))
				s.line(g, hash, from)
				missing = appendEntry(missing, hash, from)
			}
			from += int64(len(line)) + 1
			g.next = from
			rest = after
		}
		if len(rest) == n { // no line ends in what was read: torn, or not ours
			break
		}
	}
	return missing, nil
}

func appendEntry(dst []byte, hash uint32, offset int64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, hash)
	return binary.LittleEndian.AppendUint32(dst, uint32(offset))
}

// writeIndex appends the entries of what is written. A failure costs time at
// the next start, and nothing else.
func (w *writer) writeIndex() {
	if len(w.entries) == 0 {
		return
	}
	if _, err := w.index.WriteAt(w.entries, w.indexAt); err != nil {
		_ = w.index.Truncate(w.indexAt)
		return
	}
	w.indexAt += int64(len(w.entries))
	w.entries = w.entries[:0]
}
