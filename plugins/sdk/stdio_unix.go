//go:build unix

package sdk

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// divert gives the real stdout to the caller and points descriptor 1 at stderr,
// so that a print of any code in the process, C's too, is a log line and not a
// broken handshake.
func divert() *os.File {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return os.Stdout
	}
	if err := dup2(2, 1); err != nil {
		_ = unix.Close(fd)
		return os.Stdout
	}
	return os.NewFile(uintptr(fd), "stdout")
}

// killGroup ends what the plugin has started, where the process leads its group
// as it does under a host.
func killGroup() {
	if syscall.Getpgrp() == os.Getpid() {
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
}
