package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

func (c *command) auditCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "audit",
		Short: "Compare the corpus with its evidence",
		Long:  "Check the corpus against what the gate promised: the chain of the evidence, every record against\nits evidence and its digest, duplicates, orphans and torn tails. Nothing is mended. Exit 5 where a\nfault is found.",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.audit(cmd.Context()) },
	}
}

func (c *command) audit(ctx context.Context) error {
	o, err := c.gateOptions(ctx)
	if err != nil {
		return err
	}
	found, err := gate.Audit(ctx, o)
	if err != nil {
		return err
	}
	if err := c.printAudit(found); err != nil {
		return err
	}
	if !found.Clean() {
		return printed(dag.KindDiffers)
	}
	return nil
}

func (c *command) printAudit(found gate.Report) error {
	p := c.printer()
	if c.json {
		return p.Document(struct {
			Version int         `json:"version"`
			Audit   gate.Report `json:"audit"`
		}{1, found})
	}
	for _, f := range found.Faults {
		p.Line("%s", f)
		if f.Hint != "" {
			p.Line("  %s", f.Hint)
		}
	}
	p.Line("%s, %s, %s: %s", count(found.Records, "record", "records"), count(found.Evidence, "row of evidence", "rows of evidence"),
		count(found.Rejections, "rejection", "rejections"), count(len(found.Faults), "fault", "faults"))
	return nil
}

// gateOptions are what opens the pipeline's corpus without a run.
func (c *command) gateOptions(ctx context.Context) (gate.Options, error) {
	graph, err := c.load(ctx, false, false, false)
	if err != nil {
		return gate.Options{}, err
	}
	return gate.Options{Dir: c.dir, Pipeline: graph.Pipeline.Name, Gate: graph.Gate, Log: func(line string) { c.printer().Note("%s", line) }}, nil
}
