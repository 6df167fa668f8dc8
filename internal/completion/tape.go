package completion

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/internal/flock"
)

// tape is the file that a cassette is recorded into. Several processes may record
// into one file: each writes whole lines under flock(2), and looks first whether the
// file is still the one that the path names, since whoever ends puts the lines in
// order in a new file.
type tape struct {
	path string
	file *os.File
}

func openTape(path string) (*tape, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	return &tape{path: path, file: f}, err
}

// held runs do while no other process writes to the file.
func (t *tape) held(do func() error) error {
	for {
		if err := flock.Lock(t.file, unix.LOCK_EX, flock.Patience); err != nil {
			return err
		}
		same, err := t.named()
		if same && err == nil {
			err = do()
			return errors.Join(err, flock.Unlock(t.file))
		}
		if err == nil {
			err = t.reopen()
		}
		if err != nil {
			return errors.Join(err, flock.Unlock(t.file))
		}
	}
}

// reopen takes the file that the path names now; where it cannot, the old one stays,
// and the next use tries again.
func (t *tape) reopen() error {
	now, err := openTape(t.path)
	if err != nil {
		return err
	}
	old := t.file
	t.file = now.file
	return old.Close() // and with it goes the lock of what is no longer the tape
}

// named tells whether the path still names the file that is open.
func (t *tape) named() (bool, error) {
	mine, err := t.file.Stat()
	if err != nil {
		return false, err
	}
	theirs, err := os.Stat(t.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, theirs), err
}

// append adds a line, whole or not at all: what a full disk took of it is cut off
// again. The tape is held.
func (t *tape) append(line []byte) error {
	if _, err := t.mend(); err != nil {
		return err
	}
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	if _, err := t.file.Write(line); err != nil {
		return errors.Join(err, t.file.Truncate(info.Size()))
	}
	return nil
}

// mend makes sure that what is appended begins a line, and tells whether it cut off a
// torn one. While the tape is held, a line that has no end is that of a process that
// was killed, or was written by hand.
func (t *tape) mend() (cut bool, err error) {
	info, err := t.file.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	end := info.Size()
	last := make([]byte, 1)
	if _, err := t.file.ReadAt(last, end-1); err != nil || last[0] == '\n' {
		return false, err
	}
	line, err := t.lastLine(end)
	if err != nil {
		return false, err
	}
	if torn(line) {
		return true, t.file.Truncate(end - int64(len(line)))
	}
	_, err = t.file.WriteString("\n")
	return false, err
}

// lastLine gives the bytes behind the last newline before end.
func (t *tape) lastLine(end int64) ([]byte, error) {
	var line []byte
	for at := end; at > 0; {
		piece := make([]byte, min(at, 64<<10))
		at -= int64(len(piece))
		if _, err := t.file.ReadAt(piece, at); err != nil && err != io.EOF {
			return nil, err
		}
		i := bytes.LastIndexByte(piece, '\n')
		line = append(piece[i+1:], line...)
		if i >= 0 {
			break
		}
	}
	return line, nil
}

func (t *tape) close() error { return t.file.Close() }

// torn tells whether a line without a newline is the beginning of a document, and not
// one that is wrong.
func torn(line []byte) bool {
	in := jsontext.NewDecoder(bytes.NewReader(bytes.TrimSpace(line)), jsontext.AllowDuplicateNames(true))
	return errors.Is(in.SkipValue(), io.ErrUnexpectedEOF)
}

// replaceFile writes the file anew, whole or not at all.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing under this name
	_, err = f.Write(content)
	err = cmp.Or(err, f.Chmod(0o644), f.Sync())
	// Closed before the rename: a late write error must not be hidden behind a file that looks whole.
	if err = cmp.Or(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
