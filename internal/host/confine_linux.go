package host

import (
	"os"
	"os/exec"

	"github.com/penstock-run/penstock/internal/confine"
)

// confined is the command that confines a plugin and becomes it: our own binary,
// executed once more.
func confined(t *target, scratch string, network bool) *exec.Cmd {
	path := t.path
	var files []*os.File
	if t.file != nil {
		path, files = "/proc/self/fd/3", []*os.File{t.file}
	}
	args := append([]string{"penstock"}, confine.Arguments(scratch, network, path, t.argv)...)
	return &exec.Cmd{Path: "/proc/self/exe", Args: args, ExtraFiles: files}
}

// warnConfinement says once what this kernel cannot keep plugins from.
func (h *Host) warnConfinement() {
	h.warn.Do(func() {
		if message := confinementGap(confine.Landlock(), confine.Seccomp()); message != "" {
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
