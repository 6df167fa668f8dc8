package confine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
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

// Arguments are the words after the binary's name with which it becomes the
// program at path, confined: it writes to the scratch folder only, and uses the
// network where that is allowed.
func Arguments(scratch string, network bool, path string, argv []string) []string {
	mode := "offline"
	if network {
		mode = "network"
	}
	return append([]string{verbPlugin, verbConfine, scratch, mode, path, "--"}, argv...)
}

func init() {
	if len(os.Args) < 8 || os.Args[1] != verbPlugin || os.Args[2] != verbConfine {
		return
	}
	scratch, network, path, argv := os.Args[3], os.Args[4] == "network", os.Args[5], os.Args[7:]
	err := confineAndExecute(scratch, network, path, argv)
	fmt.Fprintf(os.Stderr, "confine: %v\n", err)
	os.Exit(126)
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
	if abi := Landlock(); abi > 0 {
		if err := restrict(abi, scratch, network); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if !network && Seccomp() {
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
