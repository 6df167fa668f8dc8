package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
)

// manCommand writes the manual pages, for those who package Penstock.
func (c *command) manCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    "man",
		Short:  "Write the manual pages",
		Long:   "Write the manual pages, one for each verb, in roff. They are made of what --help prints.",
		Hidden: true,
		Args:   noArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return c.man(cmd.Root(), dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "man", "write them to `DIR`")
	return cmd
}

func (c *command) man(root *cobra.Command, dir string) error {
	dir = c.path(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &dag.Error{Op: "make folder", Subject: dir, Kind: dag.KindConfig, Err: cause(err)}
	}
	pages := manPages(root)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if err := writeWhole(filepath.Join(dir, name), []byte(pages[name])); err != nil {
			return &dag.Error{Op: "write", Subject: name, Kind: dag.KindInfrastructure, Err: cause(err)}
		}
	}
	c.printer().Note("wrote %s to %s", count(len(pages), "page", "pages"), dir)
	return nil
}
