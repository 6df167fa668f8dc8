package main

import (
	"github.com/spf13/cobra"
)

func (c *command) validateCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check and prove the pipeline without running anything",
		Long: "Check the pipeline's files and prove its graph: types, routes, outcomes, codes, reachability,\n" +
			"termination, invariants and independence. No stage runs; bundled plugins are not started.\n\n" +
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
	graph, err := c.load(cmd.Context(), false, false, true)
	if err != nil || c.json || c.tell != nil {
		return err
	}
	c.printer().Line("%s: %s, %s, %s; the longest trail has %s", graph.Pipeline.Name,
		count(len(graph.Stages), "stage", "stages"), count(len(graph.Routes), "route", "routes"),
		count(len(graph.Gate.Checks), "check", "checks"), count(graph.LongestTrail, "visit", "visits"))
	return nil
}
