//go:build unix && !linux

package host

import (
	"os/exec"
	"runtime"
)

// MaybeConfine has nothing to do where there is no Landlock.
func MaybeConfine() {}

func confined(t *target, _ string, _ bool) (*exec.Cmd, error) {
	return &exec.Cmd{Path: t.path, Args: t.argv}, nil
}

func (h *Host) warnConfinement() {
	h.warn.Do(func() {
		h.opts.Log("", "warn", "plugins are not confined on "+runtime.GOOS+": they may write where you may, and use the network")
	})
}
