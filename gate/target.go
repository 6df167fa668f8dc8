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

// target opens a file and knows how far the gate has written it: as this process
// left it, or as the last checkpoint says.
func (s *store) target(name string, create bool) (*target, error) {
	if t := s.targets[name]; t != nil {
		if t.f.current() {
			return t, nil
		}
		// Replaced by a file of the same name, as editors do: whether it is the same
		// content is asked by settle.
		_ = t.f.Close()
		f, err := s.d.open(name, create)
		if err != nil {
			return nil, err
		}
		t.f = f
		return t, nil
	}
	f, err := s.d.open(name, create)
	if err != nil {
		return nil, err
	}
	if len(s.targets) >= maxOpenTargets {
		s.forgetTargets()
	}
	t := &target{f: f}
	if left, ok := s.files[name]; ok {
		t.size = left.Size
		tail, err := hex.DecodeString(left.Tail)
		if err != nil || len(tail) != len(t.tail) {
			return nil, &errEdited{statePath, "the digest of " + name + " is none"}
		}
		copy(t.tail[:], tail)
	}
	s.targets[name] = t
	return t, nil
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
			s.files[name] = fileState{Size: t.size, Tail: hex.EncodeToString(t.tail[:])}
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

// advance notes that the gate stands behind the first size bytes of a file.
func (s *store) advance(t *target, size int64) error {
	tail, err := tailOf(t.f, size)
	if err != nil {
		return err
	}
	t.size, t.tail = size, tail
	return nil
}

func tailOf(f diskFile, size int64) (dag.Digest, error) {
	b := make([]byte, min(size, tailSize))
	if err := readFull(f, b, size-int64(len(b))); err != nil {
		return dag.Digest{}, err
	}
	return dag.Sum(b), nil
}

// settle checks that a file is what the gate left and takes in what another
// program appended: whole lines as they are, a last line without its line feed if
// it is whole JSON, anything else is set aside and said. It gives the size.
func (s *store) settle(name string) (size int64, err error) {
	t, err := s.target(name, false)
	if errors.Is(err, fs.ErrNotExist) {
		if left, ok := s.files[name]; ok && left.Size > 0 {
			return 0, &errEdited{name, fmt.Sprintf("it had %d bytes and is gone", left.Size)}
		}
		if t := s.targets[name]; t != nil && t.size > 0 {
			return 0, &errEdited{name, fmt.Sprintf("it had %d bytes and is gone", t.size)}
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	actual, err := t.f.size()
	if err != nil {
		return 0, err
	}
	if actual < t.size {
		return 0, &errEdited{name, fmt.Sprintf("it had %d bytes and has %d", t.size, actual)}
	}
	if t.size > 0 {
		tail, err := tailOf(t.f, t.size)
		if err != nil {
			return 0, err
		}
		if tail != t.tail {
			return 0, &errEdited{name, fmt.Sprintf("the bytes before byte %d are not those that were written", t.size)}
		}
	}
	if actual == t.size {
		return actual, nil
	}
	return s.takeIn(name, t, actual)
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
	return size, s.advance(t, size)
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
