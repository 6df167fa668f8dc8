package gate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// view is a file as it will be once the journal is finished: what is on the disk,
// and behind base the bytes that are committed and not there yet.
type view struct {
	f    *os.File // nil: the file is not there
	base int64    // so much of f counts
	tail []byte
}

// view opens a file for reading. It is fs.ErrNotExist where the file is not there
// and nothing of it waits in the journal.
func (a *audit) view(name string) (*view, error) {
	f, err := os.Open(filepath.Join(a.o.Dir, name))
	if err != nil && !(errors.Is(err, os.ErrNotExist) && len(a.pending[name]) > 0) {
		return nil, err
	}
	v := &view{}
	if err == nil {
		info, err := f.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is no regular file", name)
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		v.f, v.base = f, info.Size()
	}
	if a.redoable(name, v) {
		for _, w := range a.pending[name] {
			v.overlay(w)
		}
	} else if v.f == nil {
		return nil, os.ErrNotExist
	}
	return v, nil
}

// redoable reports whether the batches that wait for a file can be put there: it
// still is what it was at the last checkpoint, as far as that went.
func (a *audit) redoable(name string, v *view) bool {
	writes := a.pending[name]
	if len(writes) == 0 {
		return true
	}
	if writes[0].off > v.base {
		return false
	}
	left, ok := a.state.Files[name]
	if !ok || left.Size == 0 {
		return true
	}
	if v.base < left.Size {
		return false
	}
	tail, err := tailAt(v.f, left.Size)
	return err == nil && tail.String() == left.Tail
}

// overlay puts a committed write where it belongs, as the recovery does.
func (v *view) overlay(w write) {
	have := make([]byte, len(w.data))
	if n, _ := v.ReadAt(have, w.off); n == len(have) && bytes.Equal(have, w.data) {
		return
	}
	if w.off <= v.base {
		v.base, v.tail = w.off, nil
	}
	keep := min(w.off-v.base, int64(len(v.tail)))
	v.tail = append(v.tail[:keep:keep], w.data...)
}

func (v *view) size() int64 { return v.base + int64(len(v.tail)) }

// ReadAt reads from the disk and, behind base, from the journal.
func (v *view) ReadAt(b []byte, off int64) (n int, err error) {
	if off < v.base {
		n, err = v.f.ReadAt(b[:min(int64(len(b)), v.base-off)], off)
		if err != nil {
			return n, err
		}
	}
	if n < len(b) {
		if at := off + int64(n) - v.base; at < int64(len(v.tail)) {
			n += copy(b[n:], v.tail[at:])
		}
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (v *view) close() {
	if v.f != nil {
		_ = v.f.Close()
	}
}

// line is a line of a file, without its line feed.
type line struct {
	n    int // from 1
	off  int64
	text []byte // valid until the next line
	torn bool   // there is no line feed
}

// eachLine reads a view from off, whose line is the n-th, to its end.
func (v *view) eachLine(ctx context.Context, off int64, n int, each func(line) error) error {
	r := bufio.NewReaderSize(io.NewSectionReader(v, off, v.size()-off), 256<<10)
	for ; ; n++ {
		text, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long := bytes.Clone(text)
			text, err = r.ReadBytes('\n')
			text = append(long, text...)
		}
		torn := errors.Is(err, io.EOF)
		if err != nil && !torn {
			return err
		}
		if torn && len(text) == 0 {
			return nil
		}
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l := line{n, off, text, torn}
		if !torn {
			l.text = text[:len(text)-1]
		}
		off += int64(len(text))
		if err := each(l); err != nil || torn {
			return err
		}
	}
}

// form is how a document is written.
type form uint8

const (
	asWritten form = iota // in canonical form, on one line
	withCR
	withBOM
	spread      // over several lines
	reformatted // with other spaces, escapes, numbers or order
	noJSON
	marker // of a merge conflict
	theirs // on the second side of one
)

// isUTF16 reports whether a file was saved in UTF-16, where no line is a line.
func (v *view) isUTF16() bool {
	var head [2]byte
	n, _ := v.ReadAt(head[:], 0)
	return n == 2 && (string(head[:]) == "\xff\xfe" || string(head[:]) == "\xfe\xff")
}

// lineAt is the number of the line that the byte at off belongs to.
func (v *view) lineAt(ctx context.Context, off int64) (n int) {
	_ = v.eachLine(ctx, 0, 1, func(l line) error {
		if l.off > off {
			return errStop
		}
		n = l.n
		return nil
	})
	return n
}

// errStop ends a reading early.
var errStop = errors.New("stop")

// forms are the words for a file that was written anew.
var forms = map[form]string{
	withCR:      "ends in CR LF",
	withBOM:     "begins with a byte order mark",
	spread:      "is written over several lines",
	reformatted: "is not in the form that the gate writes",
}

// unit is a document of a JSONL file that may have been edited: a line, or the
// lines that one document is spread over.
type unit struct {
	n, lines int
	off      int64
	raw      []byte // all bytes, with the line feed if it has one; valid until the next unit
	text     []byte // the document in canonical form; nil: there is none
	form     form
	torn     bool
	err      error // why it is no document
}

// line is raw without its line feed.
func (u *unit) line() []byte { return bytes.TrimSuffix(u.raw, []byte{'\n'}) }

// spreadMost bounds a document that is spread over lines.
const spreadMost = 1 << 20

// eachUnit reads a view document by document. It is slower than eachLine and
// understands what editors, formatters and version control do to a file.
func (v *view) eachUnit(ctx context.Context, each func(*unit) error) error {
	var buf []byte
	next, inTheirs := int64(0), false
	return v.eachLine(ctx, 0, 1, func(l line) error {
		if l.off < next {
			return nil // a line of the document before
		}
		u := &unit{n: l.n, lines: 1, off: l.off, raw: l.text, torn: l.torn}
		if !l.torn {
			u.raw = l.text[:len(l.text)+1]
		}
		buf = u.read(buf[:0], l.text)
		switch mark := conflictMark(l.text); {
		case mark == '=' && u.form == noJSON:
			u.form, inTheirs = marker, true
		case mark != 0 && u.form == noJSON:
			u.form, inTheirs = marker, false
		case inTheirs:
			u.form = theirs
		case u.form == noJSON && startsDocument(l.text):
			if err := v.unfold(u); err != nil {
				return err
			}
		}
		next = u.off + int64(len(u.raw))
		return each(u)
	})
}

// unfold reads the document of several lines that a unit may be the first line of.
func (v *view) unfold(u *unit) error {
	size := v.spreadAt(u.off)
	if size <= int64(len(u.raw)) {
		return nil
	}
	whole := make([]byte, size)
	if err := readFull(v, whole, u.off); err != nil {
		return err
	}
	text, err := canon.Canonical(nil, bytes.TrimPrefix(whole, bom))
	if err != nil {
		return nil
	}
	u.raw, u.text, u.form, u.err = whole, text, spread, nil
	u.torn = whole[size-1] != '\n'
	u.lines = len(bytes.SplitAfter(bytes.TrimSuffix(whole, []byte{'\n'}), []byte{'\n'}))
	return nil
}

var bom = []byte("\xef\xbb\xbf")

// read finds the document of a line and how it is written.
func (u *unit) read(buf, text []byte) []byte {
	plain := bytes.TrimPrefix(text, bom)
	canonical, err := canon.Canonical(buf, plain)
	switch {
	case err != nil:
		u.form, u.err = noJSON, err
		return buf
	case len(plain) < len(text):
		u.form = withBOM
	case bytes.Equal(canonical, text):
		u.form = asWritten
	case bytes.HasSuffix(text, []byte{'\r'}) && bytes.Equal(canonical, text[:len(text)-1]):
		u.form = withCR
	default:
		u.form = reformatted
	}
	u.text = canonical
	return canonical
}

func startsDocument(text []byte) bool {
	text = bytes.TrimLeft(bytes.TrimPrefix(text, bom), " \t\r")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// spreadAt is the size of the document of several lines that starts at off, with
// the rest of its last line; 0: there is none.
func (v *view) spreadAt(off int64) int64 {
	b := bufio.NewReader(io.NewSectionReader(v, off, min(v.size()-off, spreadMost)))
	start := off
	if head, err := b.Peek(len(bom)); err == nil && bytes.Equal(head, bom) {
		_, _ = b.Discard(len(bom))
		start += int64(len(bom))
	}
	dec := jsontext.NewDecoder(b)
	if _, err := dec.ReadValue(); err != nil {
		return 0
	}
	end := start + dec.InputOffset()
	for end < v.size() {
		var c [1]byte
		if _, err := v.ReadAt(c[:], end); err != nil {
			return 0
		}
		end++
		if c[0] == '\n' {
			break
		}
		if c[0] != ' ' && c[0] != '\t' && c[0] != '\r' {
			return 0
		}
	}
	return end - off
}

// conflictMark is the character of a merge conflict's line: < | = >, or 0.
func conflictMark(text []byte) byte {
	if len(text) < 7 || bytes.Count(text[:7], text[:1]) != 7 || len(text) > 7 && text[7] != ' ' && text[7] != '\r' {
		return 0
	}
	switch text[0] {
	case '<', '|', '=', '>':
		return text[0]
	}
	return 0
}

// strange says what a line is that is no JSON document.
func strange(u *unit) string {
	switch text := u.line(); {
	case u.form == marker:
		return "the line is the mark of a merge conflict"
	case len(bytes.TrimSpace(text)) == 0:
		return "the line is blank"
	case isZero(text):
		return fmt.Sprintf("%d zero bytes stand here", len(text))
	default:
		return fmt.Sprintf("the line is not JSON: %v", u.err)
	}
}

// tailAt is tailOf for who reads no diskFile.
func tailAt(r io.ReaderAt, size int64) (dag.Digest, error) {
	b := make([]byte, min(size, tailSize))
	if err := readFull(r, b, size-int64(len(b))); err != nil {
		return dag.Digest{}, err
	}
	return dag.Sum(b), nil
}
