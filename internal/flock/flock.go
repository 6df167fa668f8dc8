// Package flock takes a lock of flock(2) on an open file, and waits for it no longer
// than it is told.
//
// It is called by internal/staging and internal/completion, several processes of which
// write to the same files. It refuses to wait in the kernel: a blocked call could not
// be bounded.
package flock

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Patience bounds how long a writer waits for another, which holds the lock for the
// time of a write unless its process was stopped.
const Patience = 30 * time.Second

// Lock takes a lock, how being unix.LOCK_SH or unix.LOCK_EX. It is let go by Unlock,
// or when the file is closed.
func Lock(f *os.File, how int, patience time.Duration) error {
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

// Unlock lets it go.
func Unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
