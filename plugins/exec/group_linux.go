package exec

import "syscall"

// groupOfItsOwn lets all of the command's processes be ended at once, and lets
// the kernel end the command where the plugin itself is killed.
func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
