package main

import (
	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/plugins/bundled"
)

// pluginCommand serves a bundled plugin: the host starts this very binary with it.
func (c *command) pluginCommand() *cobra.Command {
	plugin := &cobra.Command{Use: "plugin", Short: "Serve a bundled plugin", Hidden: true, Args: cobra.ArbitraryArgs, RunE: verbs(printHelp)}
	plugin.AddCommand(&cobra.Command{
		Use:   "serve NAME",
		Short: "Serve a bundled plugin to the host that started this process",
		Args:  oneArg("the name of a bundled plugin"),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, ok := bundled.Info(args[0]); !ok {
				return usage("%s", nearest(args[0], bundled.Names(), "there is no bundled plugin %q", args[0]))
			}
			return bundled.Serve(args[0])
		},
	})
	return plugin
}
