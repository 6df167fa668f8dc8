package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

func (c *command) checkCommand() *cobra.Command {
	var with string
	cmd := &cobra.Command{
		Use:       "check [KIND]",
		Short:     "Run one check of the gate alone, or list the kinds",
		Long:      "Run one check of the gate on the arguments in a file, without a pipeline and without a corpus.\nWithout a KIND the kinds are listed, each with its arguments and when it holds.\n\nExit 0 where the check holds, 5 where it fails, 2 where it could not tell, 1 where FILE is no use.",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: checkKinds(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && with == "" {
				return c.listChecks()
			}
			return c.check(cmd, args, with)
		},
	}
	cmd.Flags().StringVar(&with, "with", "", "read the arguments from `FILE`, a JSON object; - is standard input")
	return cmd
}

func checkKinds() []string {
	var names []string
	for _, info := range dag.CheckKinds() {
		names = append(names, string(info.Kind))
	}
	return names
}

func (c *command) check(cmd *cobra.Command, args []string, with string) error {
	if len(args) == 0 {
		return usageOf(cmd, "which check is to be run with %s? Name its kind: penstock check KIND --with FILE", with)
	}
	info, ok := dag.LookupCheck(dag.CheckKind(args[0]))
	switch {
	case !ok:
		return &dag.Error{Op: nearest(args[0], checkKinds(), "there is no check of the kind %q", args[0]), Kind: dag.KindConfig, Hint: "penstock check"}
	case !info.Supported:
		return &dag.Error{Op: fmt.Sprintf("this version does not run checks of the kind %q yet", info.Kind), Kind: dag.KindConfig, Hint: "penstock check"}
	case with == "":
		return &dag.Error{Op: fmt.Sprintf("say what the check is asked about: penstock check %s --with FILE", info.Kind), Kind: dag.KindConfig,
			Hint: "FILE is a JSON object with " + inWords(memberNames(info))}
	}
	src, read, err := c.readCheck(with)
	if err != nil {
		return err
	}
	single, err := parseCheck(info, with, src, read)
	if err != nil {
		return err
	}
	return c.runCheck(cmd.Context(), single, with)
}

// readCheck reads the file, and gives what reads the files that it names: their
// paths are relative to it.
func (c *command) readCheck(with string) (src []byte, read func(path string) ([]byte, error), err error) {
	at := c.dir
	if with == "-" {
		src, err = io.ReadAll(c.in)
	} else {
		path := c.path(with)
		at = filepath.Dir(path)
		src, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, nil, &dag.Error{Op: "read", Subject: fileName(with), Kind: dag.KindConfig, Err: cause(err)}
	}
	return src, func(path string) ([]byte, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(at, path)
		}
		b, err := os.ReadFile(path)
		return b, cause(err)
	}, nil
}

// checkWords are what a check came to, as people and JSON read it.
var checkWords = map[string]string{"held": "holds", "failed": "fails"}

func (c *command) runCheck(ctx context.Context, single gate.Single, with string) error {
	r, err := gate.RunCheck(ctx, single)
	if dag.KindOf(err) == dag.KindConfig {
		return &dag.Error{Op: "use", Subject: fileName(with), Kind: dag.KindConfig, Err: err}
	}
	if err != nil {
		return err
	}
	result := checkWords[r.State]
	if result == "" {
		result = "could not tell"
	}
	if err := c.printCheck(r, result); err != nil {
		return err
	}
	switch result {
	case "holds":
		return nil
	case "fails":
		return printed(dag.KindDiffers)
	}
	return printed(dag.KindInfrastructure)
}

func (c *command) printCheck(r gate.SingleResult, result string) error {
	p := c.printer()
	if c.json {
		return p.Document(checkDocument{1, r.Kind, result, r.Figure, r.Evidence, details(r), r.Found})
	}
	line := result
	if r.Figure != nil {
		line += ", figure " + strconv.FormatFloat(*r.Figure, 'g', -1, 64)
	}
	if r.Evidence != "" {
		line += ": " + r.Evidence
	}
	p.Line("%s", line)
	for _, d := range details(r) {
		switch {
		case d.At != "" && !strings.HasPrefix(d.Why, d.At+":"):
			p.Line("  %s: %s", d.At, d.Why)
		case d.At != "" || d.Why != r.Evidence:
			p.Line("  %s", d.Why)
		}
	}
	return nil
}

// details are those of a result without its code: alone, a check has none.
func details(r gate.SingleResult) []gate.Detail {
	all := []gate.Detail{}
	for _, d := range r.Details {
		all = append(all, gate.Detail{At: d.At, Why: d.Why, Cause: d.Cause})
	}
	return all
}

// checkDocument is what `check --json` prints.
type checkDocument struct {
	Version  int            `json:"version"`
	Kind     dag.CheckKind  `json:"kind"`
	Result   string         `json:"result"`
	Figure   *float64       `json:"figure,omitzero"`
	Evidence string         `json:"evidence,omitzero"`
	Details  []gate.Detail  `json:"details"`
	Found    jsontext.Value `json:"found,omitempty"`
}

// checkKind is a row of what `check --json` prints without a KIND.
type checkKind struct {
	Kind      dag.CheckKind `json:"kind"`
	Phase     string        `json:"phase"`
	Supported bool          `json:"supported"`
	Arguments []checkArg    `json:"arguments"`
	Holds     string        `json:"holds"`
}

type checkArg struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Required bool   `json:"required"`
	Default  string `json:"default,omitzero"`
}

var checkPhases = map[dag.Phase]string{dag.Static: "static", dag.Network: "network", dag.Locked: "locked"}

// checkKindsDocument is what `check --json` prints.
type checkKindsDocument struct {
	Version int         `json:"version"`
	Kinds   []checkKind `json:"kinds"`
}

func (c *command) listChecks() error {
	p := c.printer()
	var all []checkKind
	for _, info := range dag.CheckKinds() {
		row := checkKind{info.Kind, checkPhases[info.Phase], info.Supported, nil, info.Holds}
		for _, m := range members(info) {
			row.Arguments = append(row.Arguments, checkArg{m.name, m.kind, m.required, m.otherwise})
		}
		all = append(all, row)
	}
	if c.json {
		return p.Document(checkKindsDocument{1, all})
	}
	for _, row := range all {
		var args []string
		for _, a := range row.Arguments {
			if !a.Required {
				a.Name = "[" + a.Name + "]"
			}
			args = append(args, a.Name)
		}
		p.Line("  %-12s %s", row.Kind, strings.Join(args, ", "))
		note := ""
		if !row.Supported {
			note = " (not run yet)"
		}
		p.Line("  %-12s   holds when %s%s", "", row.Holds, note)
	}
	return nil
}
