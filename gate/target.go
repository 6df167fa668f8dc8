package gate

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// target is a file that batches write to, as far as the gate has written or read it.
type target struct {
	f    diskFile
	size int64
	last []byte // the last tailSize bytes before size; nil: only their digest is known
	tail dag.Digest
}

// state is what a checkpoint keeps of a file.
func (t *target) state() fileState {
	if t.last != nil {
		t.tail = dag.Sum(t.last)
	}
	return fileState{Size: t.size, Tail: hex.EncodeToString(t.tail[:])}
}

// target opens a file and knows how far the gate has written it: as this process
// left it, or as the last checkpoint says. It gives the file's size, which may be
// another.
func (s *store) target(name string, create bool) (t *target, size int64, err error) {
	if t := s.targets[name]; t != nil {
		size, current, err := t.f.named()
		if current || err != nil {
			return t, size, err
		}
		// Replaced by a file of the same name, as editors do: whether it is the same
		// content is asked by settle.
		f, err := s.d.open(name, create)
		if err != nil {
			return nil, 0, err
		}
		_ = t.f.Close()
		t.f = f
		size, err = f.size()
		return t, size, err
	}
	f, err := s.d.open(name, create)
	if err != nil {
		return nil, 0, err
	}
	t = &target{f: f}
	if left, ok := s.files[name]; ok {
		t.size = left.Size
		tail, err := hex.DecodeString(left.Tail)
		if err != nil || len(tail) != len(t.tail) {
			return nil, 0, &errEdited{statePath, "the digest of " + name + " is none"}
		}
		copy(t.tail[:], tail)
	}
	s.targets[name] = t
	size, err = f.size()
	return t, size, err
}

// known is how far the gate has written a file, by this process's or the last
// checkpoint's word.
func (s *store) known(name string) int64 {
	if t := s.targets[name]; t != nil {
		return t.size
	}
	return s.files[name].Size
}

// knows reports whether the gate has written to a file, by this process's or the
// last checkpoint's word.
func (s *store) knows(name string) bool {
	if t := s.targets[name]; t != nil && t.size > 0 {
		return true
	}
	return s.files[name].Size > 0
}

// forgetTargets closes all files, remembering how far they were written.
func (s *store) forgetTargets() {
	for name, t := range s.targets {
		if t.size > 0 {
			s.files[name] = t.state()
		}
	}
	s.dropTargets()
}

func (s *store) dropTargets() {
	for _, t := range s.targets {
		_ = t.f.Close()
	}
	clear(s.targets)
}

// advance notes that the gate stands behind a write.
func (s *store) advance(t *target, w write) error {
	if len(w.data) < tailSize && (t.last == nil || t.size != w.off) {
		return s.standAt(t, w.end())
	}
	t.last = append(t.last, w.data[max(0, len(w.data)-tailSize):]...)
	t.last = append(t.last[:0], t.last[max(0, len(t.last)-tailSize):]...)
	t.size = w.end()
	return nil
}

// standAt notes that the gate stands behind the first size bytes of a file.
func (s *store) standAt(t *target, size int64) error {
	last, err := lastBytes(t.f, size)
	if err != nil {
		return err
	}
	t.size, t.last = size, last
	return nil
}

// holdsTail compares the end of what the gate has written with the file's.
func (s *store) holdsTail(name string, t *target) error {
	last, err := lastBytes(t.f, t.size)
	if err != nil {
		return err
	}
	if t.last == nil && dag.Sum(last) == t.tail {
		t.last = last
	}
	if t.last == nil || !bytes.Equal(last, t.last) {
		return &errEdited{name, fmt.Sprintf("the bytes before byte %d are not those that were written", t.size)}
	}
	return nil
}

func lastBytes(f diskFile, size int64) ([]byte, error) {
	b := make([]byte, min(size, tailSize), tailSize)
	return b, readFull(f, b, size-int64(len(b)))
}

// settle checks that a file is what the gate left and takes in what another
// program appended: whole lines as they are, a last line without its line feed if
// it is whole JSON, anything else is set aside and said. It gives the size.
func (s *store) settle(name string) (size int64, err error) {
	t, actual, err := s.existing(name)
	if errors.Is(err, fs.ErrNotExist) {
		had := s.files[name].Size
		if t := s.targets[name]; t != nil {
			had = t.size
		}
		if had > 0 {
			return 0, &errEdited{name, fmt.Sprintf("it had %d bytes and is gone", had)}
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if actual < t.size {
		return 0, &errEdited{name, fmt.Sprintf("it had %d bytes and has %d", t.size, actual)}
	}
	if t.size > 0 {
		if err := s.holdsTail(name, t); err != nil {
			return 0, err
		}
	}
	if actual == t.size {
		return actual, nil
	}
	return s.takeIn(name, t, actual)
}

// existing is target for a file that may not be there; to ask that costs less than
// to try to open it.
func (s *store) existing(name string) (*target, int64, error) {
	if s.targets[name] == nil {
		id, err := s.d.id(name)
		if err != nil {
			return nil, 0, err
		}
		if id == (fileID{}) {
			return nil, 0, fs.ErrNotExist
		}
	}
	return s.target(name, false)
}

// takeIn is settle for a file that has grown by another program's hand.
func (s *store) takeIn(name string, t *target, actual int64) (int64, error) {
	size := actual
	rest, err := lastLine(t.f, t.size, actual)
	if err != nil {
		return 0, err
	}
	if len(rest) > 0 {
		size = actual - int64(len(rest))
		switch {
		case canon.Valid(rest) == nil:
			if _, err := t.f.WriteAt([]byte{'\n'}, actual); err != nil {
				return 0, err
			}
			size = actual + 1
			s.report(name + ": the last line had no line feed and is whole JSON; it was ended")
		case isZero(rest):
			s.report(fmt.Sprintf("%s: %d zero bytes at the end were cut off", name, len(rest)))
		default:
			if err := s.setAside(name, rest); err != nil {
				return 0, err
			}
		}
		if size < actual {
			if err := t.f.Truncate(size); err != nil {
				return 0, err
			}
		}
	}
	// Offsets of the next batch build on these bytes: they must not be lost alone.
	if err := t.f.sync(); err != nil {
		s.broken = err
		return 0, fmt.Errorf("sync %s: %w", name, err)
	}
	s.touched[name] = true
	return size, s.standAt(t, size)
}

// setAside keeps bytes that do not belong into a file beside it.
func (s *store) setAside(name string, b []byte) error {
	f, err := s.d.open(name+".torn", true)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.size()
	if err != nil {
		return err
	}
	if !bytes.HasSuffix(b, []byte{'\n'}) {
		b = append(bytes.Clone(b), '\n')
	}
	if _, err := f.WriteAt(b, size); err != nil {
		return err
	}
	if err := f.sync(); err != nil {
		return err
	}
	s.report(fmt.Sprintf("%s: %d bytes that are no whole line were moved to %s.torn", name, len(b)-1, name))
	return nil
}

// lastLine gives what stands behind the last line feed between from and to.
func lastLine(f diskFile, from, to int64) ([]byte, error) {
	var rest []byte
	for end := to; end > from; {
		start := max(from, end-64<<10)
		chunk := make([]byte, end-start)
		if err := readFull(f, chunk, start); err != nil {
			return nil, err
		}
		if i := bytes.LastIndexByte(chunk, '\n'); i >= 0 {
			return append(chunk[i+1:], rest...), nil
		}
		rest = append(chunk, rest...)
		end = start
	}
	return rest, nil
}

func isZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
