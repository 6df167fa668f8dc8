package main

import (
	"github.com/spf13/cobra"
)

func (c *command) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Check and prove the pipeline without running anything",
		Long:  "Check the pipeline's files and prove its graph: types, routes, outcomes, codes, reachability,\ntermination, invariants and independence. No stage runs; bundled plugins are not started.",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			graph, err := c.load(cmd.Context(), false, false, true)
			if err != nil || c.json {
				return err
			}
			c.printer().Line("%s: %s, %s, %s; the longest trail has %s", graph.Pipeline.Name,
				count(len(graph.Stages), "stage", "stages"), count(len(graph.Routes), "route", "routes"),
				count(len(graph.Gate.Checks), "check", "checks"), count(graph.LongestTrail, "visit", "visits"))
			return nil
		},
	}
}
