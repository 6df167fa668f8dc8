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
			c.printer().Line("%s: %d stages, %d routes, %d checks; the longest trail has %d visits",
				graph.Pipeline.Name, len(graph.Stages), len(graph.Routes), len(graph.Gate.Checks), graph.LongestTrail)
			return nil
		},
	}
}
