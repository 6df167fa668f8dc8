package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/ui"
)

func (c *command) codesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "codes",
		Short: "List the failure codes of the pipeline and of the engine",
		Long:  "List the failure codes that the pipeline declares, and those of the engine, which begin with E_.\n`penstock explain CODE` tells more of one. Without a pipeline the engine's are listed.",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.codes(cmd.Context()) },
	}
}

func (c *command) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain CODE",
		Short: "Tell what a failure code means, what gives it, and what to do",
		Args:  oneArg("a failure code; `penstock codes` lists them"),
		RunE:  func(cmd *cobra.Command, args []string) error { return c.explain(cmd.Context(), dag.Code(args[0])) },
	}
}

// codeRow is a code as it is printed.
type codeRow struct {
	Code    dag.Code `json:"code"`
	Of      string   `json:"of"` // "pipeline", "engine"
	Class   string   `json:"class"`
	Triage  string   `json:"triage,omitzero"`
	Retired bool     `json:"retired,omitzero"`
	Meaning string   `json:"meaning"`
	Do      string   `json:"do,omitzero"`
	Given   []string `json:"given,omitempty"` // "check "leak" of gate "accept" (pipeline.hcl:12,3)"
}

// knownCodes are the codes of the pipeline, where there is one, and then those of
// the engine.
func (c *command) knownCodes(ctx context.Context) ([]codeRow, error) {
	var rows []codeRow
	graph, err := c.pipelineIfAny(ctx)
	if err != nil {
		return nil, err
	}
	given := func(code dag.Code) (places []string) {
		if graph == nil {
			return nil
		}
		for _, use := range graph.CodeUses(code) {
			places = append(places, use.What+" ("+use.Pos.String()+")")
		}
		return places
	}
	if graph != nil {
		for _, f := range graph.Codes {
			rows = append(rows, codeRow{Code: f.Code, Of: "pipeline", Class: "content", Triage: string(f.Triage), Retired: f.Retired, Meaning: f.Meaning, Given: given(f.Code)})
		}
	}
	for _, f := range dag.EngineCodes() {
		class := "content"
		if f.Code.Class() == dag.Infrastructure {
			class = "infrastructure"
		}
		rows = append(rows, codeRow{Code: f.Code, Of: "engine", Class: class, Meaning: f.Meaning, Do: f.Do, Given: given(f.Code)})
	}
	return rows, nil
}

// pipelineIfAny is the pipeline; nil where the directory has none and nobody
// named one.
func (c *command) pipelineIfAny(ctx context.Context) (*dag.Graph, error) {
	if _, _, err := c.place(); err != nil && c.file == "" {
		return nil, nil
	}
	return c.load(ctx, false, false, false)
}

// codesDocument is what `codes --json` prints.
type codesDocument struct {
	Version int       `json:"version"`
	Codes   []codeRow `json:"codes"`
}

func (c *command) codes(ctx context.Context) error {
	rows, err := c.knownCodes(ctx)
	if err != nil {
		return err
	}
	if c.json {
		return c.printer().Document(codesDocument{1, rows})
	}
	t := ui.NewTable("code", "class", "meaning")
	for _, r := range rows {
		meaning := r.Meaning
		if r.Retired {
			meaning += " (retired)"
		}
		t.Row(string(r.Code), r.Class, meaning)
	}
	t.Print(c.printer())
	return nil
}

// explainDocument is what `explain --json` prints.
type explainDocument struct {
	Version int     `json:"version"`
	Code    codeRow `json:"code"`
}

func (c *command) explain(ctx context.Context, code dag.Code) error {
	rows, err := c.knownCodes(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, r := range rows {
		names = append(names, string(r.Code))
		if r.Code != code {
			continue
		}
		if c.json {
			return c.printer().Document(explainDocument{1, r})
		}
		c.printCode(r)
		return nil
	}
	return &dag.Error{Op: "explain", Subject: string(code), Kind: dag.KindConfig, Err: errors.New(nearest(string(code), names, "there is no such code")), Hint: "penstock codes"}
}

func (c *command) printCode(r codeRow) {
	p := c.printer()
	p.Line("%s: %s", r.Code, r.Meaning)
	switch {
	case r.Class == "infrastructure":
		p.Line("It is about the world, not the item: it is retried, never routed and never counted.")
	case r.Of == "engine":
		p.Line("It is about the item: a route takes it up with `fail`, and a stage's `code` replaces it.")
	default:
		p.Line("The pipeline declares it; its triage is %s.", r.Triage)
	}
	if r.Retired {
		p.Line("It is retired: kept for those who read old records.")
	}
	if r.Do != "" {
		p.Line("%s", r.Do)
	}
	if len(r.Given) > 0 {
		p.Line("Given by:")
		for _, place := range r.Given {
			p.Line("  %s", place)
		}
	}
}
