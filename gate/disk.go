package gate

import (
	"bufio"
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
	// id tells the file that a path names from every other; zero: there is none.
	id(path string) (fileID, error)
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
	// named reports whether the path still names this file, and its size if so.
	named() (size int64, current bool, err error)
	identity() fileID
	// reserve takes blocks up to a size that the file will have, where the file
	// system can, and fails where the disk is full. The file does not change.
	reserve(size int64) error
}

// fileID is a file's device and inode.
type fileID struct{ dev, ino uint64 }

// osDisk is the file system below a directory.
type osDisk struct{ dir string }

type osFile struct {
	*os.File
	path     string
	id       fileID
	reserved int64 // up to here it has blocks
}

func newFile(f *os.File, path string) (*osFile, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("stat %s: %w", path, err)
	}
	return &osFile{File: f, path: path, id: idOf(&stat)}, nil
}

func idOf(stat *unix.Stat_t) fileID { return fileID{uint64(stat.Dev), stat.Ino} }

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
	return newFile(f, full)
}

// openRead opens a file that is only looked at, perhaps on a disk that is not
// writable.
func (d osDisk) openRead(path string) (*osFile, error) {
	full := filepath.Join(d.dir, path)
	f, err := os.Open(full)
	if err != nil {
		return nil, err
	}
	return newFile(f, full)
}

func (d osDisk) id(path string) (fileID, error) {
	var stat unix.Stat_t
	err := ignoringEINTR(func() error { return unix.Stat(filepath.Join(d.dir, path), &stat) })
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return fileID{}, nil
	case err != nil:
		return fileID{}, fmt.Errorf("stat %s: %w", path, err)
	}
	return idOf(&stat), nil
}

func (d osDisk) read(path string) ([]byte, error) { return os.ReadFile(filepath.Join(d.dir, path)) }

func (d osDisk) replace(path string, data []byte) error {
	full := filepath.Join(d.dir, path)
	err := writeNew(full, true, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err == nil {
		err = takePlace(full)
	}
	if err != nil {
		return err
	}
	return d.syncDir(filepath.Dir(path))
}

// newSuffix is the name of a file that is written and has not taken its place yet.
const newSuffix = ".new"

// writeNew writes what is to take the place of a file beside it, and leaves nothing
// where it cannot.
func writeNew(full string, durable bool, content func(io.Writer) error) error {
	f, err := os.OpenFile(full+newSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	if err = content(w); err == nil {
		err = w.Flush()
	}
	if err == nil && durable {
		err = f.Sync()
	}
	// Closed before the rename: a write that failed late must not become the file.
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(full + newSuffix)
	}
	return err
}

// takePlace puts what writeNew wrote in the place of the file.
func takePlace(full string) error {
	err := os.Rename(full+newSuffix, full)
	if err != nil {
		_ = os.Remove(full + newSuffix)
	}
	return err
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

func (f *osFile) identity() fileID { return f.id }

func (f *osFile) named() (size int64, current bool, err error) {
	var stat unix.Stat_t
	err = ignoringEINTR(func() error { return unix.Stat(f.path, &stat) })
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("stat %s: %w", f.path, err)
	}
	return stat.Size, idOf(&stat) == f.id, nil
}

// reserve takes an eighth of the size more, and at least aheadLeast, so that few
// commits come to it.
func (f *osFile) reserve(size int64) error {
	if size <= f.reserved {
		return nil
	}
	const (
		block      = 4 << 10
		aheadLeast = 16 << 10 // of a corpus of many small files this is what each may have too much
	)
	to := (size + min(max(size/8, aheadLeast), 1<<20) + block - 1) / block * block
	err := allocate(f.File, to)
	if errors.Is(err, unix.ENOSPC) { // what is needed may still be there
		to = size
		err = allocate(f.File, to)
	}
	if err != nil {
		return fmt.Errorf("take room for %d bytes of %s: %w", size, f.path, err)
	}
	f.reserved = to
	return nil
}
