package host

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"github.com/penstock-run/penstock/dag"
)

// Memo remembers the digests of files between runs: hashing a large plugin costs
// more than all the rest of a run that has nothing to do. A key names a file's
// state (device, inode, size, times), so a wrong answer is never given for a
// file that was written since.
type Memo interface {
	Get(key string) (dag.Digest, bool)
	Put(key string, d dag.Digest)
}

// digests knows the digests of files, and what was said of each plugin.
type digests struct {
	memo Memo

	mu    sync.Mutex
	files map[string]dag.Digest
	said  map[*dag.Plugin]dag.Digest // of the executable alone
	all   map[*dag.Plugin]dag.Digest // of all its files, where it has more than one
}

func newDigests(memo Memo) *digests {
	return &digests{memo: memo, files: make(map[string]dag.Digest), said: make(map[*dag.Plugin]dag.Digest), all: make(map[*dag.Plugin]dag.Digest)}
}

// Digest identifies what a plugin does, without a start: a bundled one by its
// name and behaviour version, any other by the SHA-256 of its executable, or of
// a list of executable, arguments and files where it has any of those.
func (h *Host) Digest(p *dag.Plugin) (dag.Digest, error) {
	if name, ok := bundledName(p); ok {
		info, err := h.bundled(p, name)
		if err != nil {
			return dag.Digest{}, err
		}
		text := "penstock bundled plugin\n" + name + "\n" + info.Behaviour + "\n"
		if info.WireVersion != "" {
			text += info.WireVersion + "\n" // of a provider: the same request in other words may be answered otherwise
		}
		return dag.Sum([]byte(text)), nil
	}
	path, err := h.executable(p)
	if err != nil {
		return dag.Digest{}, err
	}
	executable, err := h.digests.path(path)
	if err != nil {
		return dag.Digest{}, configError("hash plugin", p, err, "")
	}
	h.digests.remember(p, executable)
	files, err := h.pluginFiles(p)
	if err != nil {
		return dag.Digest{}, err
	}
	if len(files) == 0 && len(p.Command) <= 1 {
		return executable, nil
	}
	all, err := h.listDigest(p, fmt.Sprintf("executable %s\n", executable), files, h.digests.path)
	if err == nil {
		h.digests.mu.Lock()
		h.digests.all[p] = all
		h.digests.mu.Unlock()
	}
	return all, err
}

// listDigest is that of a plugin which is more than one file, each hashed by hash.
func (h *Host) listDigest(p *dag.Plugin, executable string, files []string, hash func(path string) (dag.Digest, error)) (dag.Digest, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "penstock plugin files\n%s", executable)
	if len(p.Command) > 1 {
		fmt.Fprintf(sum, "arguments %q\n", p.Command[1:])
	}
	for _, name := range files {
		d, err := hash(filepath.Join(h.opts.Dir, name))
		if err != nil {
			return dag.Digest{}, configError("hash plugin", p, err, "")
		}
		fmt.Fprintf(sum, "%s %q\n", d, filepath.ToSlash(name))
	}
	return dag.Digest(sum.Sum(nil)), nil
}

// pluginFiles are the files that belong to a plugin, relative to the pipeline's
// directory, sorted: those that its globs match, folders with all that is in
// them, and arguments of its command that are files.
func (h *Host) pluginFiles(p *dag.Plugin) ([]string, error) {
	found := map[string]bool{}
	for _, pattern := range p.Files {
		matches, err := filepath.Glob(filepath.Join(h.opts.Dir, pattern))
		if err != nil {
			return nil, configError("find files of plugin", p, fmt.Errorf("files %q: %w", pattern, err), "")
		}
		if len(matches) == 0 {
			return nil, configError("find files of plugin", p, fmt.Errorf("files %q matches nothing in %s", pattern, h.opts.Dir), "correct the pattern, or leave it out")
		}
		for _, match := range matches {
			if err := h.walk(match, found); err != nil {
				return nil, configError("find files of plugin", p, err, "")
			}
		}
	}
	for i, arg := range p.Command {
		if i == 0 || filepath.IsAbs(arg) {
			continue
		}
		if info, err := os.Stat(filepath.Join(h.opts.Dir, arg)); err == nil && info.Mode().IsRegular() {
			found[filepath.Clean(arg)] = true
		}
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	sort.Strings(names)
	return names, nil
}

func (h *Host) walk(root string, found map[string]bool) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return nil
		}
		name, err := filepath.Rel(h.opts.Dir, path)
		if err == nil {
			found[name] = true
		}
		return err
	})
}

// checkUnchanged hashes the executable that is about to run, and the files that
// belong to it, for real where this host has not done so since they were last
// written, and refuses it where they are not what Digest was asked about: the
// actions of this run bear that digest.
func (h *Host) checkUnchanged(p *dag.Plugin, file *os.File) error {
	now, err := h.digests.opened(file)
	if err != nil {
		return configError("hash plugin", p, err, "")
	}
	said, ok := h.digests.remembered(p)
	if ok && said != now {
		return changedError(p, file.Name(), said, now)
	}
	h.digests.remember(p, now)
	h.digests.mu.Lock()
	said, ok = h.digests.all[p]
	h.digests.mu.Unlock()
	if !ok {
		return nil
	}
	files, err := h.pluginFiles(p)
	if err != nil {
		return err
	}
	all, err := h.listDigest(p, fmt.Sprintf("executable %s\n", now), files, h.digests.fresh)
	if err == nil && all != said {
		err = changedError(p, "one of the files of "+shown(p), said, all)
	}
	return err
}

func changedError(p *dag.Plugin, what string, was, is dag.Digest) error {
	return &dag.Error{Op: "start plugin", Subject: p.Name, Kind: dag.KindDiffers,
		Hint: "start the run again: its actions bear the old file's digest",
		Err:  fmt.Errorf("%s has changed while the run went on: its digest was %s and is %s", what, was.Short(), is.Short())}
}

func (d *digests) remember(p *dag.Plugin, executable dag.Digest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said[p] = executable
}

func (d *digests) remembered(p *dag.Plugin) (dag.Digest, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	said, ok := d.said[p]
	return said, ok
}

// path is the digest of a file, remembered as long as the file is as it was.
func (d *digests) path(path string) (dag.Digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return dag.Digest{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return dag.Digest{}, err
	}
	if !info.Mode().IsRegular() {
		return dag.Digest{}, fmt.Errorf("%s is not a file", path)
	}
	if key, keyed := stateKey(info); keyed {
		if sum, ok := d.known(key); ok {
			return sum, nil
		}
	}
	return d.opened(f)
}

// fresh is the digest of a file as this host has read it.
func (d *digests) fresh(path string) (dag.Digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return dag.Digest{}, err
	}
	defer f.Close()
	return d.opened(f)
}

// opened is the digest of an open file. Only what this host has read counts: a
// digest from an earlier run is good for a plan, not for what is executed.
func (d *digests) opened(f *os.File) (dag.Digest, error) {
	info, err := f.Stat()
	if err != nil {
		return dag.Digest{}, err
	}
	key, keyed := stateKey(info)
	if keyed {
		d.mu.Lock()
		sum, ok := d.files[key]
		d.mu.Unlock()
		if ok {
			return sum, nil
		}
	}
	sum, err := hashFile(f)
	if err != nil {
		return dag.Digest{}, err
	}
	// A file that was written while it was read, or in the same tick of the clock,
	// is not remembered.
	if after, err := f.Stat(); keyed && err == nil {
		if again, _ := stateKey(after); again == key && settled(after) {
			d.learn(key, sum)
		}
	}
	return sum, nil
}

func (d *digests) known(key string) (dag.Digest, bool) {
	d.mu.Lock()
	sum, ok := d.files[key]
	d.mu.Unlock()
	if !ok && d.memo != nil {
		sum, ok = d.memo.Get(key)
	}
	return sum, ok
}

func (d *digests) learn(key string, sum dag.Digest) {
	d.mu.Lock()
	d.files[key] = sum
	d.mu.Unlock()
	if d.memo != nil {
		d.memo.Put(key, sum)
	}
}

func hashFile(f *os.File) (dag.Digest, error) {
	info, err := f.Stat()
	if err != nil {
		return dag.Digest{}, err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		return dag.Digest{}, err
	}
	if n != info.Size() {
		return dag.Digest{}, errors.New("the file shrank while it was read")
	}
	return dag.Digest(sum.Sum(nil)), nil
}

// key is a file's state as text.
func key(parts ...int64) string {
	var b []byte
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(p))
	}
	return hex.EncodeToString(b)
}
