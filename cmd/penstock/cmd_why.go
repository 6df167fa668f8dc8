package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/engine"
)

func (c *command) whyCommand() *cobra.Command {
	var notRun bool
	cmd := &cobra.Command{
		Use:   "why ITEM | STAGE[ITEM]",
		Short: "Tell why an item went where it went, or why a visit was made",
		Long: "Of an item: every visit, every route decision with its condition and the values that it saw,\n" +
			"and the gate's word on each check. Of a visit, quoted for the shell as 'verifier[card-7]': what of\n" +
			"its action is not as it was, the first cause first, or why it was answered from staging. With\n" +
			"--not-run: why a stage did not run for an item, or, given the item alone, of each stage that did\n" +
			"not. What is told is of the run that wrote the item's trail, whatever the pipeline says by now.\n" +
			"Nothing is written.",
		Args: oneArg("an item's key, or STAGE[ITEM]"),
		RunE: func(_ *cobra.Command, args []string) error { return c.why(args[0], notRun) },
	}
	cmd.Flags().BoolVar(&notRun, "not-run", false, "tell why it did not run")
	return cmd
}

func (c *command) why(what string, notRun bool) error {
	return meant("why", what, c.whyOf(what, notRun))
}

// meant tells of a name that is not known, and which is nearest to it.
func meant(op, what string, err error) error {
	var unknown *engine.Unknown
	if !errors.As(err, &unknown) {
		return err
	}
	return unknown.Told(op, what, diag.DidYouMean(unknown.Name, unknown.Known))
}

func (c *command) whyOf(what string, notRun bool) error {
	store, err := c.openStore()
	if err != nil {
		return err
	}
	defer store.Close()
	dir, _, err := c.place()
	if err != nil {
		return err
	}
	stage, item, visit := engine.SplitVisit(what)
	switch {
	case notRun:
		if !visit {
			item = what
		}
		list, err := engine.WhyNotRun(store, dir, stage, item)
		if err != nil {
			return err
		}
		return c.printNotRun(list)
	case visit:
		visits, err := engine.WhyVisit(store, dir, stage, item)
		if err != nil {
			return err
		}
		if len(visits) == 0 {
			list, err := engine.WhyNotRun(store, dir, stage, item)
			if err != nil {
				return err
			}
			return c.printNotRun(list)
		}
		return c.printVisitWhy(visits)
	}
	w, err := engine.WhyItem(store, dir, what)
	if err != nil {
		return err
	}
	return c.printItemWhy(w)
}

// whyNotRunDocument is what `why --not-run --json` prints.
type whyNotRunDocument struct {
	Version int             `json:"version"`
	NotRun  []engine.NotRun `json:"not_run"`
}

func (c *command) printNotRun(list []engine.NotRun) error {
	p := c.printer()
	if c.json {
		return p.Document(whyNotRunDocument{1, list})
	}
	if len(list) == 0 {
		p.Line("every stage ran for it")
		return nil
	}
	for i := range list {
		n := &list[i]
		w := whyWriter{p: p}
		text, _, _ := strings.Cut(n.Text, "\n")
		w.line("%s[%s]: %s", n.Stage, n.Item, text)
		if n.Route != nil {
			w.route(n.Route)
		}
		if len(n.Needs) > 0 {
			w.in().line("to come to stage.%s it needs:", n.Stage)
		}
		for k, way := range n.Needs {
			lead := ""
			if k > 0 {
				lead = "or "
			}
			w.in().in().line("%s%s", lead, conditions(way))
		}
		if len(n.Runs) > 0 {
			w.in().line("made by run %s", strings.Join(n.Runs, ", "))
		}
		for _, child := range n.Spawn {
			w.in().in().line("%s", child)
		}
	}
	return nil
}

// conditions is a way on one line.
func conditions(way []engine.Condition) string {
	words := make([]string, 0, len(way))
	for _, c := range way {
		words = append(words, condition(c))
	}
	if len(words) == 0 {
		return "a visit that does not fail"
	}
	return strings.Join(words, ", and ")
}

func condition(c engine.Condition) string {
	switch {
	case c.On != "":
		return "the outcome " + c.On
	case c.Fail == "any":
		return "any failure"
	case c.Fail != "":
		return "the failure " + c.Fail
	case c.If != "" && c.Holds:
		return "`" + c.If + "` holds"
	case c.If != "":
		return "`" + c.If + "` does not hold"
	}
	return c.Other
}
