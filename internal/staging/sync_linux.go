package staging

import (
	"os"

	"golang.org/x/sys/unix"
)

// fdatasync makes what was written durable, the file's size included.
func fdatasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
