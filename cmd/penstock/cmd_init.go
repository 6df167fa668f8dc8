package main

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
)

//go:embed all:template
var template embed.FS

func (c *command) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Make a small working pipeline in an empty folder",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return c.init() },
	}
}

// initDocument is what `init --json` prints.
type initDocument struct {
	Version int      `json:"version"`
	Wrote   []string `json:"wrote"`
}

// init writes the template. It overwrites nothing: a file that is there ends it
// before the first is written.
func (c *command) init() error {
	files, err := fs.Sub(template, "template")
	if err != nil {
		return err
	}
	var names []string
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		names = append(names, name)
		if _, err := os.Lstat(filepath.Join(c.dir, name)); err == nil {
			return &dag.Error{Op: "init", Subject: filepath.Join(c.dir, name), Kind: dag.KindConfig,
				Err: errors.New("the file is there already"), Hint: "start in an empty folder: mkdir my-pipeline && penstock -C my-pipeline init"}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return &dag.Error{Op: "init", Subject: path, Kind: dag.KindConfig, Err: err}
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return &dag.Error{Op: "init", Subject: path, Kind: dag.KindConfig, Err: err}
		}
	}
	if c.json {
		return c.printer().Document(initDocument{1, names})
	}
	for _, name := range names { // not before all are there: who reads this may stop reading
		c.printer().Line("wrote %s", name)
	}
	c.printer().Note("now: penstock run")
	return nil
}
