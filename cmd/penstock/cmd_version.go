package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (c *command) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			revision := ""
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" && len(s.Value) >= 12 {
						revision = s.Value[:12]
					}
				}
			}
			if c.json {
				return c.printer().Document(map[string]any{
					"version": 1, "penstock": version, "revision": revision, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
				})
			}
			if revision != "" {
				revision = " (" + revision + ")"
			}
			c.printer().Line("penstock %s%s %s/%s", version, revision, runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
