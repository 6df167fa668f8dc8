package gate

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync makes the content and the size of a file durable, not its times.
func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
