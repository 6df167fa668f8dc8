// Command penstock runs pipelines that make data with language models:
// declared in HCL, staged as processes, gated before the corpus.
//
// It is what people and CI call. It refuses to hold logic that a user of the
// packages would miss: a verb is flags, one call, and what it prints.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/internal/ui"
)

// version of this program; `requires` in a pipeline is compared with it.
const version = "0.1.0"

func main() {
	if os.Getenv("GOGC") == "" {
		// Documents come and go by the window, so a larger heap collects them for
		// less; half as much again as by default keeps it small.
		debug.SetGCPercent(150)
	}
	os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Main runs one command and gives its exit status.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	c := &command{in: in, out: out, err: errw}
	root := c.root()
	root.SetArgs(longVars(args))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errw)
	err := root.ExecuteContext(context.Background())
	if err != nil && !c.began && dag.KindOf(err) == dag.KindInfrastructure {
		err = usage("%w", err) // what cobra says of the words that it was given
	}
	if err != nil && !errors.Is(err, errPrinted) {
		c.printer().Error(err)
	}
	return dag.KindOf(err).ExitStatus()
}

// longVars lets -var and -var-file be written with one dash, as users of
// Terraform do.
func longVars(args []string) []string {
	long := make([]string, len(args))
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if name == "-var" || name == "-var-file" {
			arg = "-" + arg
		}
		long[i] = arg
	}
	return long
}

// errPrinted is an error whose words the user has seen already.
var errPrinted = errors.New("already printed")

// printed marks an error of a kind as printed.
func printed(kind dag.Kind) error {
	return &dag.Error{Op: "penstock", Kind: kind, Err: errPrinted}
}

const exitHelp = `
Exit status:
  0    done; rejected items are a result, not an error
  1    the pipeline, the flags or the files are wrong; nothing was started
  2    some items failed for want of infrastructure (a plugin, a provider, the disk)
  3    a stopping rule ended the run: a breaker, a budget, a provider without quota
  4    with --detailed-exitcode: the plan is not empty
  5    reality differs from what was promised
  70   an invariant of Penstock itself is broken: please report it
  130  interrupted
`

// command holds the flags that every verb has.
type command struct {
	in       io.Reader
	out, err io.Writer
	dir      string
	file     string
	json     bool
	noColour bool
	vars     []string
	varFiles []string
	ui       *ui.Printer
	memo     *staging.Memo
	began    bool // the words were understood, and the verb is being done
}

func (c *command) printer() *ui.Printer {
	if c.ui == nil {
		c.ui = ui.New(c.out, c.err, c.json, c.noColour)
	}
	return c.ui
}

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "penstock",
		Short:         "Run pipelines that make data with language models, and gate what they make",
		Long:          "Penstock runs the pipeline that pipeline.hcl declares: propose, verify, repair, accept.\nWhat was done is kept in staging/ and never paid for twice; only the gate writes the corpus.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var verbs []string
			for _, sub := range cmd.Commands() {
				if !sub.Hidden {
					verbs = append(verbs, sub.Name())
				}
			}
			return usage("there is no verb %q. %s", args[0], diag.DidYouMean(args[0], verbs))
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.PersistentPreRun = func(*cobra.Command, []string) { c.began = true }
	flags := root.PersistentFlags()
	flags.StringVarP(&c.dir, "directory", "C", ".", "the pipeline's directory")
	flags.StringVarP(&c.file, "file", "f", "", "the pipeline's file in it (default pipeline.hcl)")
	flags.BoolVar(&c.json, "json", false, "print JSON")
	flags.BoolVar(&c.noColour, "no-color", false, "print no colour")
	flags.StringArrayVar(&c.vars, "var", nil, "set a variable: NAME=VALUE")
	flags.StringArrayVar(&c.varFiles, "var-file", nil, "read variables from a file")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%v; `%s --help` lists the flags", err, cmd.CommandPath())
	})
	root.AddCommand(c.initCommand(), c.validateCommand(), c.runCommand(), c.planCommand(), c.statusCommand(),
		c.showCommand(), c.graphCommand(), c.auditCommand(), c.breakerCommand(), c.versionCommand(), c.pluginCommand())
	root.SetHelpTemplate(root.HelpTemplate() + exitHelp)
	return root
}

// noArgs is for verbs that take flags alone.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%q: `%s` takes flags only; `%s --help` lists them", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
	return nil
}

// oneArg is for verbs that take one thing, which is told in words.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("`%s` takes one thing: %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// usage is a mistake in the command's words.
func usage(format string, args ...any) error {
	return &dag.Error{Op: "penstock", Kind: dag.KindConfig, Err: fmt.Errorf(format, args...)}
}
