package engine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
)

// content digests the files that a stage's configuration says belong to its
// action: a script that is edited is another action.
func content(dir string, s *dag.Stage) ([]dag.Part, *files, error) {
	var parts []dag.Part
	var seen *files
	for _, field := range s.Info.Config {
		if !field.Content {
			continue
		}
		var config map[string]jsontext.Value
		var patterns []string
		err := json.Unmarshal(s.Config.Bytes, &config)
		if err == nil && config[field.Name] != nil {
			err = json.Unmarshal(config[field.Name], &patterns)
		}
		if err == nil && config[field.Name] == nil {
			continue // a plugin that has got such an attribute does again nothing that it has done without
		}
		var sum dag.Digest
		if err == nil {
			if seen == nil {
				seen = &files{fsys: os.DirFS(dir), state: map[string]fs.FileInfo{}, folders: map[string]fs.FileInfo{}}
			}
			sum, err = seen.digest(patterns)
		}
		if err != nil {
			return nil, nil, &dag.Error{Op: "read files of stage", Subject: s.Name, Kind: dag.KindConfig, Err: err,
				Hint: "mend `" + field.Name + "` in its config at " + s.Pos.String()}
		}
		parts = append(parts, dag.Part{Name: "files", Digest: sum})
	}
	return parts, seen, nil
}

// contentError ends a run whose stage reads other files than those that its
// actions bear the digest of.
func contentError(s *dag.Stage, cause error) error {
	return &dag.Error{Op: "read files of stage", Subject: s.Name, Kind: dag.KindDiffers, Err: cause,
		Hint: "start the run again: its actions bear the digest of what was there before"}
}

// files are those of one stage as they were when they were hashed. A visit reads
// them when it pleases, so its result counts only if they are still the same
// when it is there.
type files struct {
	fsys    fs.FS
	globs   []glob
	state   map[string]fs.FileInfo
	folders map[string]fs.FileInfo // in which files may come up that a pattern matches
}

// glob is a pattern and what it matched.
type glob struct {
	pattern string
	names   []string
}

// digest is that over names and contents, in order of the names. A pattern that
// matches nothing is an error: a typing error would make edits of the file go
// unnoticed.
func (f *files) digest(patterns []string) (dag.Digest, error) {
	var names []string
	for _, pattern := range patterns {
		matches, err := f.match(pattern)
		if err != nil {
			return dag.Digest{}, fmt.Errorf("%q is not a pattern of file names: %w", pattern, err)
		}
		if len(matches) == 0 {
			return dag.Digest{}, fmt.Errorf("no file matches %q", pattern)
		}
		f.globs = append(f.globs, glob{pattern, matches})
		if err := f.watch(pattern); err != nil {
			return dag.Digest{}, err
		}
		names = append(names, matches...)
	}
	slices.Sort(names)
	h := sha256.New()
	for _, name := range slices.Compact(names) {
		// Its state first: what is written while it is read shows in that.
		if err := f.see(f.state, name); err != nil {
			return dag.Digest{}, err
		}
		b, err := fs.ReadFile(f.fsys, name)
		if err != nil {
			return dag.Digest{}, err
		}
		sum := sha256.Sum256(b)
		fmt.Fprintf(h, "%d %s %x\n", len(name), name, sum)
	}
	return dag.Digest(h.Sum(nil)), nil
}

// watch notes the folders in which a file may come up that a pattern matches: the
// one that its fixed part names, and where it reaches deeper all below.
func (f *files) watch(pattern string) error {
	base, rest := doublestar.SplitPattern(path.Clean(pattern))
	return fs.WalkDir(f.fsys, base, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case name != base && !strings.Contains(rest, "/"):
			return fs.SkipDir
		}
		return f.see(f.folders, name)
	})
}

func (f *files) see(of map[string]fs.FileInfo, name string) (err error) {
	of[name], err = fs.Stat(f.fsys, name)
	return err
}

func (f *files) match(pattern string) ([]string, error) {
	names, err := doublestar.Glob(f.fsys, pattern, doublestar.WithFilesOnly())
	slices.Sort(names)
	return names, err
}

// unchanged tells which file is not as it was. It looks at times and sizes; the
// patterns are matched anew where a folder has other entries than it had.
func (f *files) unchanged() error {
	if f == nil {
		return nil
	}
	for name, before := range f.state {
		now, err := fs.Stat(f.fsys, name)
		if err != nil {
			return fmt.Errorf("%s has gone while the run went on: %w", name, err)
		}
		if !sameState(before, now) {
			return fmt.Errorf("%s has changed while the run went on", name)
		}
	}
	for name, before := range f.folders {
		now, err := fs.Stat(f.fsys, name)
		if err != nil {
			return err
		}
		if sameState(before, now) {
			continue
		}
		for _, g := range f.globs {
			names, err := f.match(g.pattern)
			if err != nil {
				return err
			}
			if !slices.Equal(names, g.names) {
				return errors.New("other files than before match \"" + g.pattern + "\"")
			}
			if err := f.watch(g.pattern); err != nil { // it may have got a folder
				return err
			}
		}
		f.folders[name] = now
	}
	return nil
}

func sameState(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
