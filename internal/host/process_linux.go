package host

import (
	"errors"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxSocketPath is what sun_path holds, less its final zero.
const maxSocketPath = 107

// ownGroup makes the child the leader of a group, and has the kernel end it when
// the thread that forks it ends: with us, however we end. One that is our own
// program is told so politely: it ends what it started, which the kernel would not.
func ownGroup(own bool) *syscall.SysProcAttr {
	end := syscall.SIGKILL
	if own {
		end = syscall.SIGTERM
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: end}
}

func lockThread()   { runtime.LockOSThread() }
func unlockThread() { runtime.UnlockOSThread() }

// waitDead waits until the process is dead and leaves it to be reaped: as long as
// it is a zombie, its number and its group's are its own.
func waitDead(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
