package main

import (
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/internal/draw"
)

func (c *command) graphCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw the pipeline: DOT, Mermaid, JSON or SVG",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.json {
				format = "json"
			}
			formats := map[string]func(*draw.Picture, io.Writer) error{
				"dot": (*draw.Picture).DOT, "mermaid": (*draw.Picture).Mermaid, "json": (*draw.Picture).JSON, "svg": (*draw.Picture).SVG,
			}
			write, ok := formats[format]
			if !ok {
				return usageOf(cmd, "%s", nearest(format, slices.Sorted(maps.Keys(formats)), "there is no format %q", format))
			}
			graph, err := c.load(cmd.Context(), false, false, false)
			if err != nil {
				return err
			}
			return write(draw.Of(graph), c.out)
		},
	}
	cmd.Flags().StringVar(&format, "format", "dot", "draw in `FORMAT`: dot, mermaid, json or svg")
	completeWords(cmd, "format", []string{"dot", "mermaid", "json", "svg"})
	return cmd
}
