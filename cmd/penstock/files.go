package main

import (
	"cmp"
	"errors"
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

// writeWhole writes a file as a whole or not at all. One that is there keeps its
// mode, and where the path is a link, the file that it leads to is written.
func writeWhole(path string, text []byte) error {
	mode := fs.FileMode(0o644)
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
