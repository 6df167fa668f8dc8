package gate

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/penstock-run/penstock/dag"
)

// rowLog is a JSONL file that only grows.
type rowLog struct {
	path string
	f    *os.File // for reading; nil while the file is not there
	id   fileID   // of f
	read int64    // up to here its rows are in the index
	rows int
}

// open opens a log for reading, again if the file was replaced.
func (log *rowLog) open(dir string) error {
	d := osDisk{dir}
	named, err := d.id(log.path)
	if err != nil {
		return err
	}
	if named == (fileID{}) {
		if log.read > 0 {
			if err := folderGone(dir, log.path); err != nil {
				return err
			}
			return &errEdited{log.path, fmt.Sprintf("it had %d bytes and is gone", log.read)}
		}
		return nil
	}
	if log.f != nil {
		if named == log.id {
			return nil
		}
		_ = log.f.Close()
		log.f = nil
	}
	f, err := d.openRead(log.path)
	if err != nil {
		return err
	}
	log.f, log.id = f.File, f.id
	return nil
}

// at opens a log that was written at off, which must be where reading has come to.
func (log *rowLog) at(dir string, file fileID, off int64) error {
	if log.f == nil || log.id != file {
		if err := log.open(dir); err != nil {
			return err
		}
	}
	if log.read != off {
		return fmt.Errorf("%s was read up to byte %d and written at byte %d", log.path, log.read, off)
	}
	return nil
}

func readLine(f io.ReaderAt, off int64) ([]byte, error) {
	for size := 2 << 10; ; size *= 4 {
		buf := make([]byte, size)
		n, err := f.ReadAt(buf, off)
		if end := bytes.IndexByte(buf[:n], '\n'); end >= 0 {
			return buf[:end], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// tail is the digest of the last bytes that were read of a log.
func (log *rowLog) tail() (dag.Digest, error) {
	if log.read == 0 {
		return dag.Digest{}, nil
	}
	if log.f == nil {
		return dag.Digest{}, fs.ErrNotExist
	}
	b := make([]byte, min(log.read, tailSize))
	if _, err := log.f.ReadAt(b, log.read-int64(len(b))); err != nil {
		return dag.Digest{}, err
	}
	return dag.Sum(b), nil
}
