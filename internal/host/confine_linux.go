package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/dag"
)

// A plugin is confined by our own binary, executed once more: it puts Landlock's
// rules on itself and then executes the plugin. The thread that forks could do it
// without that second step, but then it would be in the plugin's domain itself,
// and the plugin could trace it and with it write our memory.
//
// The command line is: SELF plugin confine SCRATCH network|offline PATH -- ARGV...
const (
	verbPlugin  = "plugin"
	verbConfine = "confine"
)

// confinable says that this program calls MaybeConfine: without it, the second
// execution would not confine but run the program again.
var confinable atomic.Bool

// MaybeConfine turns this process into a confined plugin where it was started for
// that, and otherwise does nothing. Programs that use a Host call it first in
// main (tests: in TestMain).
func MaybeConfine() {
	confinable.Store(true)
	if len(os.Args) < 8 || os.Args[1] != verbPlugin || os.Args[2] != verbConfine {
		return
	}
	scratch, network, path, argv := os.Args[3], os.Args[4] == "network", os.Args[5], os.Args[7:]
	err := confineAndExecute(scratch, network, path, argv)
	fmt.Fprintf(os.Stderr, "confine: %v\n", err)
	os.Exit(126)
}

// confined is the command that confines a plugin and becomes it.
func confined(t *target, scratch string, network bool) (*exec.Cmd, error) {
	if !confinable.Load() {
		return nil, &dag.Error{Op: "confine plugin", Kind: dag.KindBug,
			Err: errors.New("this program does not call host.MaybeConfine first in its main")}
	}
	mode := "offline"
	if network {
		mode = "network"
	}
	path := t.path
	var files []*os.File
	if t.file != nil {
		path, files = "/proc/self/fd/3", []*os.File{t.file}
	}
	args := []string{"penstock", verbPlugin, verbConfine, scratch, mode, path, "--"}
	return &exec.Cmd{Path: "/proc/self/exe", Args: append(args, t.argv...), ExtraFiles: files}, nil
}

func confineAndExecute(scratch string, network bool, path string, argv []string) error {
	if path == "/proc/self/fd/3" {
		unix.CloseOnExec(3)
	}
	// Rules and no_new_privs are the thread's; execve makes it the only one.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if abi := landlockABI(); abi > 0 {
		if err := restrict(abi, scratch, network); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	return fmt.Errorf("execute %s: %w", argv[0], syscall.Exec(path, argv, os.Environ()))
}

// landlockABI is what the kernel offers; 0: nothing.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// writes are the rights to change anything in a file tree, by the ABI that
// brought them.
func writes(abi int) uint64 {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM)
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// restrict puts the rules on this thread: writes in the scratch folder only (and
// to /dev/null, which shells cannot do without), TCP only where it was allowed,
// no signals to anyone outside. Reading files is allowed.
func restrict(abi int, scratch string, network bool) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: writes(abi)}
	if abi >= 4 && !network {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		if !network {
			attr.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
	}
	// Fields that the kernel does not know are zero, which it accepts.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("create ruleset: %w", errno)
	}
	rules := int(fd)
	defer unix.Close(rules)
	if err := allow(rules, scratch, writes(abi)); err != nil {
		return err
	}
	file := uint64(unix.LANDLOCK_ACCESS_FS_WRITE_FILE)
	if abi >= 3 {
		file |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if err := allow(rules, "/dev/null", file); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	return nil
}

func allow(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allow %s: %w", path, errno)
	}
	return nil
}

// warnConfinement says once what this kernel cannot keep plugins from.
func (h *Host) warnConfinement() {
	h.warn.Do(func() {
		if message := confinementGap(landlockABI()); message != "" {
			h.opts.Log("", "warn", message)
		}
	})
}

func confinementGap(abi int) string {
	switch {
	case abi <= 0:
		return "this kernel has no Landlock, so plugins are not confined: they may write where you may, and use the network"
	case abi < 4:
		return "this kernel's Landlock has no rules for TCP, so plugins may use the network"
	}
	return ""
}
