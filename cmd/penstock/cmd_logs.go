package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/internal/ui"
)

type logsFlags struct {
	all    bool
	plugin string
	run    string
}

func (c *command) logsCommand() *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use:   "logs STAGE[ITEM]",
		Short: "Print what a stage's plugin said in its visits of an item",
		Long: "Print what a stage's plugin logged and noted in its visits of an item, and the message of a visit\n" +
			"that failed; of a visit that was answered from staging/, what was said when it was made. The\n" +
			"standard error of a command that builtin/exec runs belongs to its visit, too. The last lines are\n" +
			"printed, with --all each of them. Of one execution 1 MiB is kept.\n\n" +
			"What a plugin's process writes to its own standard error belongs to no visit, for one process\n" +
			"serves many: --plugin NAME prints it, with the time of each line.",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.plugin != "" && len(args) > 0:
				return usageOf(cmd, "--plugin prints what belongs to no visit: leave %s out, or --plugin", args[0])
			case f.plugin == "" && f.run != "":
				return usageOf(cmd, "--run goes with --plugin: the visits that an item stands on name their runs")
			case f.plugin == "":
				return oneArg("STAGE[ITEM], quoted for the shell: 'verifier[card-7]'")(cmd, args)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if f.plugin != "" {
				return c.pluginLogs(f)
			}
			return c.logs(args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "print every line")
	flags.StringVar(&f.plugin, "plugin", "", "print what the processes of the plugin `NAME` said besides")
	flags.StringVar(&f.run, "run", "", "with --plugin: in the run `RUN`, not in the latest")
	return cmd
}

// logsDocument is what `logs --json` prints.
type logsDocument struct {
	Version int               `json:"version"`
	Visits  []engine.VisitLog `json:"visits"`
}

func (c *command) logs(what string, f logsFlags) error {
	stage, item, ok := engine.SplitVisit(what)
	if !ok {
		return usage("%q: say which visit: `penstock logs 'STAGE[ITEM]'`", what)
	}
	store, err := c.openStore()
	if err != nil {
		return err
	}
	defer store.Close()
	dir, _, err := c.place()
	if err != nil {
		return err
	}
	logs, err := engine.Logs(store, dir, stage, item)
	if err != nil {
		return meant("logs", what, err)
	}
	if c.json {
		return c.printer().Document(logsDocument{1, logs})
	}
	c.printLogs(what, logs, f.all)
	return nil
}

// logsPluginDocument is what `logs --plugin NAME --json` prints.
type logsPluginDocument struct {
	Version int               `json:"version"`
	Plugin  string            `json:"plugin"`
	Run     string            `json:"run,omitempty"`  // absent: no run has such a line
	File    string            `json:"file,omitempty"` // where the lines are kept, from the pipeline's directory
	Lines   []staging.LogLine `json:"lines"`
}

func (c *command) pluginLogs(f logsFlags) error {
	store, err := c.openStore()
	if err != nil {
		return err
	}
	defer store.Close()
	run, lines, err := engine.PluginLines(store, f.plugin, f.run)
	if err != nil {
		return err
	}
	p := c.printer()
	file := ""
	if lines != nil {
		file = staging.LogFile(run)
	}
	if c.json {
		return p.Document(logsPluginDocument{1, f.plugin, run, file, lines})
	}
	if lines == nil {
		p.Note("the processes of plugin %s said nothing besides; `penstock plugin list` names the plugins", f.plugin)
		return nil
	}
	p.Line("%s in run %s", ui.Clean(f.plugin), run)
	printLines(whyWriter{p: p}.in(), lines, f.all, dag.Command("penstock", "logs", "--all", "--plugin", f.plugin, "--run", run), file)
	return nil
}

func (c *command) printLogs(what string, logs []engine.VisitLog, all bool) {
	p := c.printer()
	if len(logs) == 0 {
		p.Note("the stage did not visit the item; `penstock why --not-run` tells why")
	}
	for _, v := range logs {
		w := whyWriter{p: p}
		switch {
		case v.Run != "" && v.State != engine.VisitRun:
			w.line("%s[%s], pass %d: %s, made by run %s", v.Stage, v.Item, v.Pass, v.State, v.Run)
		default:
			w.line("%s[%s], pass %d: %s", v.Stage, v.Item, v.Pass, v.State)
		}
		for _, note := range v.Notes {
			w.in().line("%s", note)
		}
		if v.Message != "" {
			w.in().line("%s", v.Message)
		}
		printLines(w.in(), v.Lines, all, dag.Command("penstock", "logs", "--all", what), v.File)
		if len(v.Notes) == 0 && v.Message == "" && len(v.Lines) == 0 {
			w.in().line("nothing was noted")
		}
	}
}

// shownLogLines is how many lines of a visit are printed where nobody asks for all.
const shownLogLines = 20

// printLines prints the last lines, and where the rest is.
func printLines(w whyWriter, lines []staging.LogLine, all bool, command, file string) {
	type row struct {
		*staging.LogLine
		text string
	}
	var rows []row
	for i := range lines {
		l := &lines[i]
		for _, text := range strings.Split(l.Text, "\n") { // a command says many at once
			rows = append(rows, row{l, text})
		}
	}
	if more := len(rows) - shownLogLines; more > 0 && !all {
		w.line("… %s before these: %s, or %s", count(more, "line", "lines"), command, file)
		rows = rows[more:]
	}
	attempt := 1
	for _, r := range rows {
		if r.Attempt > attempt {
			attempt = r.Attempt
			w.line("attempt %d:", attempt)
		}
		text := r.text
		if r.Cut {
			text = "what came behind was not kept: it was too much"
		}
		if r.Level != "info" {
			text = r.Level + ": " + text
		}
		w.line("%s  %s", r.At.Local().Format(time.TimeOnly), text)
	}
}
