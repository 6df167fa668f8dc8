package host

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/penstock-run/penstock/dag"
)

// Platform is that of this program, as a lock names it.
func Platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

// Pin identifies the files of a plugin that is not bundled, as a lock holds
// them. It differs from Digest, the identity of what a visit does, in what
// belongs to the machine: an interpreter that was found in PATH is another one
// on the next machine, and would make a lock good for one alone.
func (h *Host) Pin(p *dag.Plugin) (dag.Pin, error) {
	path, err := h.executable(p)
	if err != nil {
		return dag.Pin{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return dag.Pin{}, configError("hash plugin", p, err, "")
	}
	defer file.Close()
	executable, err := h.digests.path(path)
	if err != nil {
		return dag.Pin{}, configError("hash plugin", p, err, "")
	}
	return h.pin(p, isScript(file), executable, h.digests.path)
}

func (h *Host) pin(p *dag.Plugin, script bool, executable dag.Digest, hash func(path string) (dag.Digest, error)) (dag.Pin, error) {
	pin := dag.Pin{Platform: Platform(), Scheme: dag.PinFile, Digest: executable.String()}
	if script {
		pin.Platform = dag.AnyPlatform
	}
	files, err := h.pluginFiles(p)
	if err != nil {
		return dag.Pin{}, err
	}
	if len(files) == 0 && len(p.Command) <= 1 {
		return pin, nil
	}
	pin.Scheme = dag.PinFiles
	program := fmt.Sprintf("executable %s\n", executable)
	if len(files) > 0 && !strings.ContainsRune(p.Command[0], '/') {
		pin.Platform = dag.AnyPlatform
		program = fmt.Sprintf("interpreter %q\n", p.Command[0])
	}
	sum, err := h.listDigest(p, program, files, hash)
	pin.Digest = sum.String()
	return pin, err
}

// checkLocked compares the very executable that is about to run with the lock,
// and the files beside it as they are now: what an earlier run remembers of
// them does not count.
func (h *Host) checkLocked(p *dag.Plugin, file *os.File) error {
	if h.opts.Lock.Plugin(p.Name) == nil {
		return nil
	}
	executable, err := h.digests.opened(file)
	if err != nil {
		return configError("hash plugin", p, err, "")
	}
	pin, err := h.pin(p, isScript(file), executable, h.digests.fresh)
	if err != nil {
		return err
	}
	return Refused(h.opts.Lock.State(p, pin))
}

// Refused is the error of a plugin that differs from its lock; nil for any
// other state.
func Refused(s dag.LockState) error {
	if s.Word != dag.LockDiffers {
		return nil
	}
	return &dag.Error{Op: "check lock", Subject: s.File, Kind: dag.KindDiffers, Err: fmt.Errorf("%s", s),
		Hint: "put the locked one back; or, if this one is meant, accept it: penstock plugin lock"}
}
