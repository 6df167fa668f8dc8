package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/penstock-run/penstock/dag"
)

// target is what is executed for a plugin.
type target struct {
	shown  string   // for people: "builtin/prompt", "./plugins/split"
	path   string   // of the executable, absolute
	argv   []string // the target's own, program name first
	folder string   // working directory; empty: the scratch folder
	file   *os.File // the executable itself, open; nil: execute the path
	env    []string // names that may be seen

	bundled bool
}

func (t *target) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}

// bundledName is the NAME of "builtin/NAME".
func bundledName(p *dag.Plugin) (string, bool) {
	return strings.CutPrefix(p.Source, "builtin/")
}

// target finds a plugin's executable and opens it. One that is no script is
// hashed and executed by that very descriptor, so that what runs is what was
// hashed, whatever happens to the path in between.
func (h *Host) target(p *dag.Plugin) (*target, error) {
	if name, ok := bundledName(p); ok {
		return h.bundledTarget(p, name)
	}
	path, err := h.executable(p)
	if err != nil {
		return nil, err
	}
	t := &target{shown: shown(p), path: path, argv: []string{path}, folder: h.opts.Dir, env: p.Env}
	if len(p.Command) > 1 {
		t.argv = append(t.argv, p.Command[1:]...)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, configError("open plugin", p, err, "")
	}
	err = h.checkUnchanged(p, file)
	if err == nil {
		err = h.checkLocked(p, file)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	if isScript(file) {
		_ = file.Close() // its interpreter opens the path
		return t, nil
	}
	t.file = file
	return t, nil
}

func (h *Host) bundledTarget(p *dag.Plugin, name string) (*target, error) {
	if len(h.opts.Self) == 0 {
		return nil, &dag.Error{Op: "start plugin", Subject: p.Name, Kind: dag.KindBug, Err: errors.New("the host does not know its own command")}
	}
	if h.opts.Bundled != nil {
		if _, err := h.bundled(p, name); err != nil {
			return nil, err
		}
	}
	argv := append(append([]string{}, h.opts.Self...), name)
	return &target{shown: p.Source, path: ownImage(h.opts.Self[0]), argv: argv, env: p.Env, bundled: true}, nil
}

func shown(p *dag.Plugin) string {
	if p.Source != "" {
		return p.Source
	}
	return strings.Join(p.Command, " ")
}

// executable is the path of a plugin that is not bundled. A name without a slash
// is looked for in PATH, as a shell does; any other stands in the pipeline's directory.
func (h *Host) executable(p *dag.Plugin) (string, error) {
	name := p.Source
	if name == "" && len(p.Command) > 0 {
		name = p.Command[0]
	}
	if name == "" {
		return "", configError("find plugin", p, errors.New("it has neither a source nor a command"), "")
	}
	path := name
	if p.Source == "" && !strings.ContainsRune(name, filepath.Separator) {
		found, err := exec.LookPath(name)
		if err != nil {
			return "", configError("find plugin", p, err, "write a path with a slash for a program that is not in PATH")
		}
		path = found
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(h.opts.Dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", configError("find plugin", p, fmt.Errorf("there is no file %s", path), "build it first, or correct the path")
	case err != nil:
		return "", configError("find plugin", p, err, "")
	case !info.Mode().IsRegular():
		return "", configError("find plugin", p, fmt.Errorf("%s is not a file", path), "name the executable itself")
	case info.Mode().Perm()&0o111 == 0:
		return "", configError("find plugin", p, fmt.Errorf("%s is not executable", path), "chmod +x "+path)
	}
	return path, nil
}

func configError(op string, p *dag.Plugin, cause error, hint string) *dag.Error {
	return &dag.Error{Op: op, Subject: p.Name, Kind: dag.KindConfig, Err: cause, Hint: hint}
}

func isScript(f *os.File) bool {
	var magic [2]byte
	n, _ := f.ReadAt(magic[:], 0)
	return n == 2 && string(magic[:]) == "#!"
}
