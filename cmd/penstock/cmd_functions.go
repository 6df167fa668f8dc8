package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
	"github.com/penstock-run/penstock/internal/ui"
)

func (c *command) functionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "functions [NAME]",
		Short: "List the functions of the language, or tell what one does",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.function(args[0])
			}
			return c.functions()
		},
	}
}

// functionsDocument is what `functions --json` prints.
type functionsDocument struct {
	Version   int                `json:"version"`
	Functions []expr.FunctionDoc `json:"functions"`
}

func (c *command) functions() error {
	all := expr.FunctionDocs()
	if c.json {
		return c.printer().Document(functionsDocument{1, all})
	}
	t := ui.NewTable("function", "does")
	for _, f := range all {
		t.Row(f.Signature, f.Description)
	}
	t.Print(c.printer())
	return nil
}

// functionDocument is what `functions NAME --json` prints.
type functionDocument struct {
	Version  int              `json:"version"`
	Function expr.FunctionDoc `json:"function"`
}

func (c *command) function(name string) error {
	var names []string
	for _, f := range expr.FunctionDocs() {
		if f.Name != name {
			names = append(names, f.Name)
			continue
		}
		if c.json {
			return c.printer().Document(functionDocument{1, f})
		}
		p := c.printer()
		p.Line("%s", f.Signature)
		p.Line("  %s", f.Description)
		p.Line("  %s = %s", f.Example, f.Result)
		return nil
	}
	text := "there is no function of that name"
	if meant := diag.DidYouMean(name, names); meant != "" {
		text += ". " + meant
	}
	return &dag.Error{Op: "functions", Subject: name, Kind: dag.KindConfig, Err: errors.New(text), Hint: "penstock functions"}
}
