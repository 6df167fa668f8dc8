package staging

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/internal/flock"
)

// unmoved refuses to write into a file that nobody will find again.
func (l *appendLog) unmoved() error { return samePlace(l.f, l.path) }

func samePlace(f *os.File, path string) error {
	mine, err := f.Stat()
	if err != nil {
		return storeError("look at", path, err)
	}
	theirs, err := os.Stat(path)
	if err != nil {
		return storeError("look at", path, err)
	}
	if !os.SameFile(mine, theirs) {
		return storeError("append to", path, errors.New("the file was moved or replaced while this run has it open"))
	}
	return nil
}

// locked runs do under flock(2), with the size that the file has then.
func (l *appendLog) locked(how int, do func(size int64) error) error {
	if err := flock.Lock(l.f, how, flock.Patience); err != nil {
		return storeError("lock", l.path, err)
	}
	defer func() { _ = flock.Unlock(l.f) }()
	info, err := l.f.Stat()
	if err != nil {
		return storeError("look at", l.path, err)
	}
	return do(info.Size())
}

// LockExclusive locks an open file or folder against other processes, with
// flock(2), until it is closed. It waits as long as an append does.
func LockExclusive(f *os.File) error { return flock.Lock(f, unix.LOCK_EX, flock.Patience) }
