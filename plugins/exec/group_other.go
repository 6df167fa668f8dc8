//go:build !linux

package exec

import "syscall"

// groupOfItsOwn lets all of the command's processes be ended at once.
func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
