package gate

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync makes the content and the size of a file durable, not its times.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// allocate takes blocks for a file up to a size and leaves its size as it is. Where
// a file system has no such call, a full disk is noticed when it is written to.
func allocate(f *os.File, size int64) error {
	err := ignoringEINTR(func() error { return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}
