//go:build unix && !linux

package host

import "syscall"

// maxSocketPath is what sun_path holds on the BSDs, less its final zero.
const maxSocketPath = 103

func ownGroup(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func lockThread()   {}
func unlockThread() {}

// waitDead is Linux's; elsewhere the group is ended right after the leader was
// reaped.
func waitDead(int) {}
