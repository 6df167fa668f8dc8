package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionDocument is what `version --json` prints.
type versionDocument struct {
	Version  int    `json:"version"`
	Penstock string `json:"penstock"`
	Revision string `json:"revision"` // of its source; empty: not known
	Go       string `json:"go"`       // version that built it
	Platform string `json:"platform"` // system and machine, "linux/amd64"
}

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
				return c.printer().Document(versionDocument{1, version, revision, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
			}
			if revision != "" {
				revision = " (" + revision + ")"
			}
			c.printer().Line("penstock %s%s %s/%s", version, revision, runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
