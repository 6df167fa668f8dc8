package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"

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
	if err := closeInherited(); err != nil {
		return fmt.Errorf("inherited files: %w", err)
	}
	// Rules and no_new_privs are the thread's; execve makes it the only one.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	if abi := landlockABI(); abi > 0 {
		if err := restrict(abi, scratch, network); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if !network && seccompOffered() {
		if err := denySockets(); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return fmt.Errorf("execute %s: %w", argv[0], syscall.Exec(path, argv, os.Environ()))
}

// closeInherited lets the plugin have nothing but its three streams. Who started
// us may have left a file open for writing, and no rule applies to what is open.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// dropCapabilities takes away what root has over any user, which is most of what
// confinement could be got round with, but for reading other users' files: that
// is allowed, and containers that run as root count on it.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have, keep [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return err
	}
	const reading = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	keep[0].Permitted = have[0].Permitted & reading
	keep[0].Effective = have[0].Effective & reading
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	return unix.Capset(&header, &keep[0])
}

// warnConfinement says once what this kernel cannot keep plugins from.
func (h *Host) warnConfinement() {
	h.warn.Do(func() {
		if message := confinementGap(landlockABI(), seccompOffered()); message != "" {
			h.opts.Log("", "warn", message)
		}
	})
}

func confinementGap(abi int, seccomp bool) string {
	files := "they may write where you may"
	network := "they may use the network"
	switch {
	case abi <= 0 && !seccomp:
		return "this kernel has neither Landlock nor seccomp, so plugins are not confined: " + files + ", and " + network
	case abi <= 0:
		return "this kernel has no Landlock, so plugins are confined from the network only: " + files
	case abi < 4 && !seccomp:
		return "this kernel has no seccomp, and its Landlock no rules for TCP, so plugins are confined to their folder only: " + network
	}
	return ""
}
