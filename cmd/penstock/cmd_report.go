package main

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/report"
)

// reportFile is where the page goes where nobody says.
const reportFile = "report.html"

func (c *command) reportCommand() *cobra.Command {
	var file string
	var most int
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Write a page that tells all of a run: HTML, or JSON",
		Long: "Write one HTML page about a run, by default the last one: how its items ended, the graph with how\n" +
			"many went each way, the stages over time, what was spent, what did not pass and why, and the trail\n" +
			"of every item. The page needs no server and loads nothing. RUN is an id of `penstock status`, or\n" +
			"the beginning of one. A run that failed, was stopped or was killed is told of as far as it came.\n" +
			"--json prints the document behind the page and writes no file.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageOf(cmd, "%q: `%s` takes one run", args[1], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case c.json && cmd.Flags().Changed("out"):
				return usageOf(cmd, "--json prints the document and writes no page: leave -o out")
			case most < 1:
				return usageOf(cmd, "--max-items takes a whole number from 1, not %d", most)
			}
			run := ""
			if len(args) > 0 {
				run = args[0]
			}
			return meant("report", run, c.report(run, file, most))
		},
	}
	cmd.Flags().StringVarP(&file, "out", "o", reportFile, "write the page to `FILE`; - is standard output")
	cmd.Flags().IntVar(&most, "max-items", report.DefaultMost, "list at most `N` items in the page")
	return cmd
}

func (c *command) report(run, file string, most int) error {
	store, err := c.openStore()
	if err != nil {
		return err
	}
	defer store.Close()
	r, err := engine.ReportRun(store, run)
	if err != nil {
		return err
	}
	if c.json {
		return report.JSON(c.out, r, r.EachItem)
	}
	o := report.Options{Penstock: version, Most: most}
	if file == "-" {
		return report.HTML(c.out, r, r.EachItem, o)
	}
	var page bytes.Buffer
	if err := report.HTML(&page, r, r.EachItem, o); err != nil {
		return err
	}
	if err := writeAnew(c.path(file), "report", isPage, page.Bytes()); err != nil {
		return &dag.Error{Op: "write report", Subject: file, Kind: dag.KindConfig, Err: cause(err)}
	}
	c.printer().Line("%s: run %s, %s", file, r.Run.ID, count(r.Summary.Items, "item", "items"))
	if more := r.Summary.Items - most; more > 0 {
		c.printer().Note("%s counted and not listed in the page: --max-items takes more, --json has all", count(more, "item is", "items are"))
	}
	return nil
}

func isPage(content []byte) bool { return bytes.HasPrefix(content, []byte("<!DOCTYPE html>")) }
