package staging

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
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

// lockPatience bounds how long an append waits for another one, which takes
// well under a millisecond unless its process was stopped.
const lockPatience = 30 * time.Second

// locked runs do under flock(2), with the size that the file has then.
func (l *appendLog) locked(how int, do func(size int64) error) error {
	if err := flock(l.f, how, lockPatience); err != nil {
		return storeError("lock", l.path, err)
	}
	defer func() { _ = unix.Flock(int(l.f.Fd()), unix.LOCK_UN) }()
	info, err := l.f.Stat()
	if err != nil {
		return storeError("look at", l.path, err)
	}
	return do(info.Size())
}

// LockExclusive locks an open file or folder against other processes, with
// flock(2), until it is closed. It waits as long as an append does.
func LockExclusive(f *os.File) error { return flock(f, unix.LOCK_EX, lockPatience) }

// flock waits with back-off instead of in the kernel: a blocked call could not
// be bounded.
func flock(f *os.File, how int, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, 20*time.Millisecond) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("another process has held it for %s; is a run stopped?", patience)
		}
		time.Sleep(wait)
	}
}
