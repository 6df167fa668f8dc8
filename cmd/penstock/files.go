package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// cause is an error without the paths, which are said already.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// writeAnew writes a file of a kind whole, over an older one of its kind or over
// none: a name that was mistyped must not cost a pipeline or a corpus.
func writeAnew(path, kind string, is func([]byte) bool, text []byte) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !is(old) {
			return fmt.Errorf("there is a file of this name that is no %s, and it is left alone; name another, or remove it", kind)
		}
	}
	return writeWhole(path, text)
}

// writeWhole writes a file as a whole or not at all. One that is there keeps its
// mode, and where the path is a link, the file that it leads to is written.
func writeWhole(path string, text []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a pipe, a device: there is nothing to rename over
		return os.WriteFile(path, text, mode)
	}
	switch real, err := filepath.EvalSymlinks(path); {
	case err == nil:
		info, err := os.Stat(real)
		if err != nil {
			return err
		}
		path, mode = real, info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing under this name
	_, err = f.Write(text)
	// Closed before the rename: a write that failed late must not become the file.
	err = cmp.Or(err, f.Chmod(mode))
	if err = cmp.Or(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
