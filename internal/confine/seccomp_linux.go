package confine

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// auditArch names our own system calls for a filter.
var auditArch = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64,
}

// Seccomp tells whether this kernel takes filters, and we know how to write one
// for this processor.
func Seccomp() bool {
	if auditArch[runtime.GOARCH] == 0 {
		return false
	}
	_, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	return err == nil
}

// denySockets lets this thread make unix and netlink sockets and no others, and
// connect none. Landlock's rules alone leave gaps: they know TCP, but neither UDP
// nor MPTCP, which speaks to any TCP server, nor the paths of unix sockets. Behind
// those are a provider that would answer past the host's limits, the session bus,
// a container engine. A plugin is called: it listens, and has nobody to call.
func denySockets() error {
	const (
		number, arch, domain = 0, 4, 16 // offsets in struct seccomp_data
		x32                  = 0x40000000
		load                 = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal                = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atLeast              = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		give                 = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{
		{Code: load, K: arch},
		{Code: equal, K: auditArch[runtime.GOARCH], Jt: 1},
		{Code: give, K: unix.SECCOMP_RET_KILL_PROCESS}, // another set of calls, with other numbers
		{Code: load, K: number},
		{Code: atLeast, K: x32, Jt: 7},
		{Code: equal, K: unix.SYS_IO_URING_SETUP, Jt: 6}, // it makes sockets without the call
		{Code: equal, K: unix.SYS_CONNECT, Jt: 4},
		{Code: equal, K: unix.SYS_SOCKET, Jf: 5},
		{Code: load, K: domain},
		{Code: equal, K: unix.AF_UNIX, Jt: 3},
		{Code: equal, K: unix.AF_NETLINK, Jt: 2},
		{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)},
		{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
