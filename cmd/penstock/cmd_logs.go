package main

import (
	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/internal/engine"
)

func (c *command) logsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "logs STAGE[ITEM]",
		Short: "Print what a stage's plugin noted of its visits",
		Long: "Print what a stage's plugin noted in its visits of an item, and the message of a visit that\n" +
			"failed, such as the last line that a command wrote to its standard error. What a process writes\n" +
			"besides is not kept. Nothing is written.",
		Args: oneArg("STAGE[ITEM], quoted for the shell: 'verifier[card-7]'"),
		RunE: func(_ *cobra.Command, args []string) error { return c.logs(args[0]) },
	}
}

// visitLog is what was noted in a visit.
type visitLog struct {
	Stage   string            `json:"stage"`
	Item    string            `json:"item"`
	Pass    int               `json:"pass"`
	State   engine.VisitState `json:"state"`
	Run     string            `json:"run,omitempty"` // that made it
	Notes   []string          `json:"notes,omitempty"`
	Message string            `json:"message,omitempty"`
}

// logsDocument is what `logs --json` prints.
type logsDocument struct {
	Version int        `json:"version"`
	Visits  []visitLog `json:"visits"`
}

func (c *command) logs(what string) error {
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
	visits, err := engine.WhyVisit(store, dir, stage, item)
	if err != nil {
		return meant("logs", what, err)
	}
	logs := make([]visitLog, 0, len(visits))
	for _, v := range visits {
		logs = append(logs, visitLog{v.Stage, v.Item, v.Pass, v.State, v.Run, v.Notes, v.Message})
	}
	if c.json {
		return c.printer().Document(logsDocument{1, logs})
	}
	c.printLogs(logs)
	return nil
}

func (c *command) printLogs(logs []visitLog) {
	p := c.printer()
	if len(logs) == 0 {
		p.Note("the stage did not visit the item; `penstock why --not-run` tells why")
	}
	for _, v := range logs {
		w := whyWriter{p: p}
		w.line("%s[%s], pass %d: %s", v.Stage, v.Item, v.Pass, v.State)
		for _, note := range v.Notes {
			w.in().line("%s", note)
		}
		if v.Message != "" {
			w.in().line("%s", v.Message)
		}
		if len(v.Notes) == 0 && v.Message == "" {
			w.in().line("nothing was noted")
		}
	}
}
