//go:build unix && !linux

package host

import (
	"os/exec"
	"runtime"
)

func confined(t *target, _ string, _ bool) *exec.Cmd {
	return &exec.Cmd{Path: t.path, Args: t.argv}
}

func (h *Host) warnConfinement() {
	h.warn.Do(func() {
		h.opts.Log("", "warn", "plugins are not confined on "+runtime.GOOS+": they may write where you may, and use the network")
	})
}
