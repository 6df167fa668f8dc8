package main

import (
	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/internal/lang"
)

func (c *command) validateCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check and prove the pipeline without running anything",
		Long: "Check the pipeline's files and prove its graph: types, routes, outcomes, codes, reachability,\n" +
			"termination, invariants and independence. Its tests are checked and not run. No stage runs;\n" +
			"bundled plugins are not started.\n\n" +
			"For a CI, --format github prints annotations as GitHub Actions shows them at the lines of a\n" +
			"pull request, and --format sarif a log for code scanning, with paths from the repository's root.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.inFormat(cmd, format, func() error { return c.validate(cmd) })
		},
	}
	formatFlag(cmd, &format)
	return cmd
}

func (c *command) validate(cmd *cobra.Command) error {
	graph, files, err := c.loadWith(cmd.Context(), lang.Options{Tests: true, Relock: c.relock, Retire: c.retire}, true)
	if err != nil || c.json || c.tell != nil {
		return err
	}
	tested := ""
	if n := len(files.Tests); n > 0 {
		tested = ", " + count(n, "test", "tests")
	}
	c.printer().Line("%s: %s, %s, %s%s; the longest trail has %s", graph.Pipeline.Name,
		count(len(graph.Stages), "stage", "stages"), count(len(graph.Routes), "route", "routes"),
		count(len(graph.Gate.Checks), "check", "checks"), tested, count(graph.LongestTrail, "visit", "visits"))
	return nil
}
