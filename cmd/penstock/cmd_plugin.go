package main

import (
	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/plugins/bundled"
)

// pluginCommand serves a bundled plugin: the host starts this very binary with it.
func (c *command) pluginCommand() *cobra.Command {
	plugin := &cobra.Command{Use: "plugin", Short: "Serve a bundled plugin", Hidden: true}
	plugin.AddCommand(&cobra.Command{
		Use:   "serve NAME",
		Short: "Serve a bundled plugin to the host that started this process",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, ok := bundled.Info(args[0]); !ok {
				return usage("there is no bundled plugin %q. %s", args[0], diag.DidYouMean(args[0], bundled.Names()))
			}
			return bundled.Serve(args[0])
		},
	})
	return plugin
}
