package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

func (c *command) auditCommand() *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Compare the corpus with its evidence, and mend it",
		Long: `Check the corpus against what the gate promised: the chain of the evidence, every record against
its evidence and its digest, their order, duplicates, orphans, torn tails, and every other row
that the gate has written. Each fault is told with its file and line and with what to do. Nothing is
mended.

With --repair what can be proven is mended, and what was done is told: the journal is finished,
rows are put back as they were written and where they stood, what the gate did not accept is moved
to a file beside (FILE.aside, FILE.torn). Nothing is deleted. What cannot be proven is left.

Exit 5 where a fault is found, or left.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.audit(cmd.Context(), repair) },
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "mend what can be proven, and delete nothing")
	return cmd
}

func (c *command) audit(ctx context.Context, repair bool) error {
	o, err := c.gateOptions(ctx)
	if err != nil {
		return err
	}
	look := gate.Audit
	if repair {
		look = gate.Repair
	}
	found, err := look(ctx, o)
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

// auditDocument is what `audit --json` prints.
type auditDocument struct {
	Version int         `json:"version"`
	Audit   gate.Report `json:"audit"`
}

func (c *command) printAudit(found gate.Report) error {
	p := c.printer()
	if c.json {
		return p.Document(auditDocument{1, found})
	}
	repairs, faults := 0, 0
	for _, r := range found.Repairs {
		p.Line("mended: %s", r)
		repairs += 1 + r.More
	}
	for _, f := range found.Faults {
		p.Line("%s", f)
		p.Line("  %s", f.Hint)
		faults += 1 + f.More
	}
	for _, f := range found.Notes {
		p.Line("note: %s", f)
		p.Line("  %s", f.Hint)
	}
	line := fmt.Sprintf("%s, %s, %s: ", count(found.Records, "record", "records"), count(found.Evidence, "row of evidence", "rows of evidence"),
		count(found.Rejections, "rejection", "rejections"))
	if repairs > 0 {
		line += count(repairs, "repair", "repairs") + ", "
	}
	p.Line("%s%s", line, count(faults, "fault", "faults"))
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
