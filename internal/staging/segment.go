package staging

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"golang.org/x/sys/unix"
)

const (
	segmentSize = 64 << 20 // a segment does not grow past this
	looseSize   = 64 << 10 // a longer document is a file of its own
	writeSize   = 256 << 10
	indexEntry  = 8

	// looseSegment stands in the Ref of a document that is a file of its own.
	looseSegment = 1<<32 - 1
)

// segment is one artifacts/NNNNNN.jsonl. A line is a document in canonical
// form, so grep, jq and wc work on it.
//
// Beside it lies NNNNNN.idx: for each line 32 bits of its digest and its
// offset. It is derived: lines that it lacks are read and hashed, an entry that
// lies is found out when the document is read, and it may be deleted.
type segment struct {
	number uint32
	f      *os.File // for reading, and writing where it is ours; nil until needed
	size   int64    // as last looked at; of our own: with what waits in the buffer
	seen   int      // Store.generation when it was last looked at

	indexed int64 // bytes of the index that were read
	last    int64 // offset of the last line that the index knows; -1: none
	covered int64 // lines that start before it are in the table
	next    int64 // where the next unknown line starts, once lines were read
	short   bool  // the index knows lines that the file lacks
}

// writer is the segment that this process appends to. Each process has one of
// its own, held by flock: so no offset is shared and no append waits.
type writer struct {
	*segment
	index   *os.File
	written int64 // bytes in the file; the rest of size is in buf
	buf     []byte
	entries []byte // for the index, of lines that are written or in buf
	indexAt int64
}

func (s *Store) segmentPath(number uint32) string {
	return filepath.Join(s.artifacts, fmt.Sprintf("%06d.jsonl", number))
}

func (s *Store) indexPath(number uint32) string {
	return filepath.Join(s.artifacts, fmt.Sprintf("%06d.idx", number))
}

// segment finds the bookkeeping of a segment, which may not exist.
func (s *Store) segment(number uint32) *segment {
	g := s.segments[number]
	if g == nil {
		g = &segment{number: number, seen: -1, last: -1}
		s.segments[number] = g
	}
	return g
}

// reaches reports whether a segment is at least end bytes long. It looks at
// the file once, and again only after another process was seen to write.
func (s *Store) reaches(number uint32, end int64) bool {
	g := s.segment(number)
	if g.size >= end && g.seen >= 0 {
		return true
	}
	if g.seen == s.generation || s.own.is(g) {
		return false
	}
	g.seen = s.generation
	info, err := os.Stat(s.segmentPath(number))
	if err != nil {
		g.size = 0
		return false
	}
	g.size = info.Size()
	return g.size >= end
}

func (w *writer) is(g *segment) bool { return w != nil && w.segment == g }

// file opens a segment for reading.
func (s *Store) file(g *segment) (*os.File, error) {
	if g.f == nil {
		f, err := os.Open(s.segmentPath(g.number))
		if err != nil {
			return nil, err
		}
		g.f = f
	}
	return g.f, nil
}

// readAt fills b from a segment and returns how much there was.
func (s *Store) readAt(number uint32, b []byte, offset int64) int {
	g := s.segment(number)
	if s.own.is(g) && offset >= s.own.written {
		return copy(b, s.own.buf[min(offset-s.own.written, int64(len(s.own.buf))):])
	}
	f, err := s.file(g)
	if err != nil {
		return 0
	}
	n, err := f.ReadAt(b, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	return n
}

// numbers lists the segments on disk, in order.
func (s *Store) numbers() ([]uint32, error) {
	entries, err := os.ReadDir(s.artifacts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, storeError("list", s.artifacts, err)
	}
	var list []uint32
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".jsonl")
		if n, err := strconv.ParseUint(name, 10, 32); ok && err == nil && n > 0 && n < looseSegment {
			list = append(list, uint32(n))
		}
	}
	slices.Sort(list)
	return list, nil
}

// begin finds or makes the segment that this process appends to.
func (s *Store) begin() error {
	if err := s.loadRuns(); err != nil {
		return err
	}
	numbers, err := s.numbers()
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if s.retired[n] {
			continue
		}
		taken, err := s.takeOver(n)
		if taken || err != nil {
			return err
		}
	}
	return s.newSegment(numbers)
}

// takeOver goes on with a segment that nobody writes and that has room.
func (s *Store) takeOver(number uint32) (bool, error) {
	f, err := os.OpenFile(s.segmentPath(number), os.O_RDWR, 0o644)
	if err != nil {
		return false, nil // not ours to write; a new one will do
	}
	keep := false
	defer func() {
		if !keep {
			_ = f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil || info.Size() > segmentSize-looseSize {
		s.retired[number] = true
		return false, nil
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil || samePlace(f, s.segmentPath(number)) != nil {
		return false, nil
	}
	// Its last owner may have written on until the lock was free.
	if info, err = f.Stat(); err != nil {
		return false, storeError("look at", f.Name(), err)
	}
	if info.Size() > segmentSize-looseSize {
		s.retired[number] = true
		return false, nil
	}
	if number > s.lastSegment { // its maker died, or has yet to say so
		if err := s.recordSegment(number); err != nil {
			return false, err
		}
	}
	g := s.segment(number)
	if g.f != nil {
		_ = g.f.Close()
	}
	g.f, keep = f, true
	g.next = 0 // to learn again which lines the index lacks
	missing, err := s.loadSegment(g)
	if err != nil {
		return false, err
	}
	index, err := os.OpenFile(s.indexPath(number), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return false, storeError("open", s.indexPath(number), err)
	}
	end, err := s.wholeLines(g)
	if err != nil {
		_ = index.Close()
		return false, err
	}
	if g.short {
		// Shorter than what its index knows: it was damaged. New lines where old
		// ones stood would make records of the old ones look whole.
		s.retired[number] = true
		_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
		_ = index.Close()
		return false, nil
	}
	g.size = end
	s.own = &writer{segment: g, index: index, written: end, entries: missing, indexAt: g.indexed}
	return true, nil
}

// wholeLines cuts a torn last line off a segment that we hold.
func (s *Store) wholeLines(g *segment) (int64, error) {
	end := g.size
	var tail []byte
	for step := int64(4 << 10); end > 0; step *= 4 {
		from := max(0, g.size-step)
		tail = make([]byte, g.size-from)
		if _, err := g.f.ReadAt(tail, from); err != nil {
			return 0, storeError("read", g.f.Name(), err)
		}
		if n := bytes.LastIndexByte(tail, '\n'); n >= 0 {
			end = from + int64(n) + 1
			tail = tail[n+1:]
			break
		}
		if from == 0 {
			end = 0
		}
	}
	if end == g.size {
		return end, nil
	}
	path := g.f.Name()
	if err := appendFile(path+".torn", tail); err != nil {
		return 0, err
	}
	if err := g.f.Truncate(end); err != nil {
		return 0, storeError("cut", path, err)
	}
	s.note("%s: the last %d bytes were torn; they were moved to %s", path, g.size-end, filepath.Base(path)+".torn")
	return end, nil
}

// newSegment makes one with a number that was never used before: records of a
// segment that somebody deleted must not come to point into this one. So the
// number is written down elsewhere first.
func (s *Store) newSegment(numbers []uint32) error {
	if err := os.MkdirAll(s.artifacts, 0o755); err != nil {
		return storeError("make", s.artifacts, err)
	}
	number := s.lastSegment
	if len(numbers) > 0 {
		number = max(number, numbers[len(numbers)-1])
	}
	for {
		if number++; number >= looseSegment {
			return storeError("begin a segment", s.artifacts, errors.New("all numbers are used"))
		}
		f, err := os.OpenFile(s.segmentPath(number), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue // another process was faster
		}
		if err != nil {
			return storeError("begin a segment", s.segmentPath(number), err)
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			_ = f.Close() // another process took it over as soon as it was there
			continue
		}
		if err := s.adopt(f, number); err != nil {
			_ = os.Remove(s.segmentPath(number)) // while we hold it: nobody else writes it
			_ = f.Close()
			return err
		}
		return nil
	}
}

// adopt makes an empty segment, whose lock we hold, the one that we write.
func (s *Store) adopt(f *os.File, number uint32) error {
	if err := s.recordSegment(number); err != nil {
		return err
	}
	index, err := os.OpenFile(s.indexPath(number), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return storeError("open", s.indexPath(number), err)
	}
	if err := syncDir(s.artifacts); err != nil {
		_ = index.Close()
		return err
	}
	g := s.segment(number)
	g.f, g.size, g.seen = f, 0, s.generation
	s.own = &writer{segment: g, index: index}
	return nil
}

// write empties the buffer into the file. Where it fails, the buffer and the
// file are as before.
func (w *writer) write() error {
	if len(w.buf) > 0 {
		if _, err := w.f.WriteAt(w.buf, w.written); err != nil {
			_ = w.f.Truncate(w.written) // else the next owner cuts the torn line
			return storeError("append to", w.f.Name(), err)
		}
		w.written += int64(len(w.buf))
		w.buf = w.buf[:0]
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return storeError("sync", path, err)
	}
	err = d.Sync()
	if closed := d.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return storeError("sync", path, err)
	}
	return nil
}

func hash32(d dag.Digest) uint32 { return binary.BigEndian.Uint32(d[:4]) }
