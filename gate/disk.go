package gate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// disk is what the commit asks of a file system. Paths are relative to the
// pipeline's directory. There are two: the real one, and the one of the model
// check, which loses what was not synced.
type disk interface {
	open(path string, create bool) (diskFile, error) // fs.ErrNotExist where it is not there
	read(path string) ([]byte, error)
	// replace writes a whole file so that it is there as before or as data,
	// whatever happens, and durable when replace returns.
	replace(path string, data []byte) error
	syncDir(dir string) error
}

// diskFile is an open file of a disk.
type diskFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	sync() error
	size() (int64, error)
	// current reports whether the path still names this file.
	current() bool
}

// osDisk is the file system below a directory.
type osDisk struct{ dir string }

type osFile struct {
	*os.File
	path string
}

func (d osDisk) open(path string, create bool) (diskFile, error) {
	full := filepath.Join(d.dir, path)
	f, err := os.OpenFile(full, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err = os.MkdirAll(filepath.Dir(full), 0o755); err == nil {
			f, err = os.OpenFile(full, os.O_RDWR|os.O_CREATE, 0o644)
		}
	}
	if err != nil {
		return nil, err
	}
	return &osFile{f, full}, nil
}

// openRead opens a file that is only looked at, perhaps on a disk that is not
// writable.
func (d osDisk) openRead(path string) (diskFile, error) {
	full := filepath.Join(d.dir, path)
	f, err := os.Open(full)
	if err != nil {
		return nil, err
	}
	return &osFile{f, full}, nil
}

func (d osDisk) read(path string) ([]byte, error) { return os.ReadFile(filepath.Join(d.dir, path)) }

func (d osDisk) replace(path string, data []byte) error {
	full := filepath.Join(d.dir, path)
	temp := full + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	// Closed before the rename: a write that failed late must not become the file.
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp, full)
	}
	if err != nil {
		_ = os.Remove(temp)
		return err
	}
	return d.syncDir(filepath.Dir(path))
}

func (d osDisk) syncDir(dir string) error {
	f, err := os.Open(filepath.Join(d.dir, dir))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}

// folderGone tells that the folder of a file is not there: it was moved, or what
// was mounted there is not. That is no edit of the file, and passes.
func folderGone(dir, name string) error {
	folder := filepath.Dir(filepath.Join(dir, name))
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s is gone", folder)
	}
	return nil
}

func (f *osFile) sync() error {
	return ignoringEINTR(func() error { return datasync(f.File) })
}

func (f *osFile) size() (int64, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return 0, fmt.Errorf("stat %s: %w", f.path, err)
	}
	return stat.Size, nil
}

func (f *osFile) current() bool {
	var named, opened unix.Stat_t
	return unix.Stat(f.path, &named) == nil && unix.Fstat(int(f.Fd()), &opened) == nil &&
		named.Ino == opened.Ino && named.Dev == opened.Dev
}
