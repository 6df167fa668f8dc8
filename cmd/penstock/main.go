// Command penstock runs pipelines that make data with language models:
// declared in HCL, staged as processes, gated before the corpus.
//
// It is what people and CI call. It refuses to hold logic that a user of the
// packages would miss: a verb is flags, one call, and what it prints.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/fetch"
	_ "github.com/penstock-run/penstock/internal/heap" // when garbage is collected
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/internal/ui"
)

// version of this program; `requires` in a pipeline is compared with it.
const version = "0.1.0"

func main() {
	os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Main runs one command and gives its exit status.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	return mainOver(fetch.Options{}, args, in, out, errw)
}

// mainOver is Main, where runs reach the web in a way of the caller's own.
func mainOver(web fetch.Options, args []string, in io.Reader, out, errw io.Writer) int {
	data := ui.NewOutput(out)
	c := &command{in: in, out: data, err: errw, web: web}
	root := c.root()
	root.SetArgs(longVars(args))
	root.SetIn(in)
	root.SetOut(data)
	root.SetErr(errw)
	err := root.ExecuteContext(context.Background())
	if err != nil && !c.began && dag.KindOf(err) == dag.KindInfrastructure {
		err = usage("%v", err) // what cobra says of the words that it was given
	}
	c.json = c.json || err != nil && !c.began && asksJSON(args)
	if err != nil && !errors.Is(err, errPrinted) && (data.Failed() == nil || !errors.Is(err, data.Failed())) {
		c.printer().Error(err)
	}
	if lost := data.Failed(); lost != nil {
		err = c.outputLost(err, lost)
	}
	return dag.KindOf(err).ExitStatus()
}

// outputLost tells people that the data did not come where it was to go, and gives
// what the command ends with: what it had to say besides, if that was an error. In
// words: whoever reads JSON reads it from the output that is lost.
func (c *command) outputLost(err, lost error) error {
	words := ui.New(io.Discard, c.err, false, true)
	own := err != nil && !errors.Is(err, lost)
	if own && c.json && !errors.Is(err, errPrinted) {
		words.Error(err)
	}
	told := &dag.Error{Op: "write standard output", Kind: dag.KindInfrastructure, Err: cause(lost), Hint: "what was printed is not whole: make room, or print elsewhere"}
	words.Error(told)
	if own {
		return err
	}
	return told
}

// longVars lets -var, -var-file, -check, -diff, -run and -update be written with
// one dash, as users of Terraform and Go do.
func longVars(args []string) []string {
	long := make([]string, len(args))
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if slices.Contains([]string{"-var", "-var-file", "-check", "-diff", "-run", "-update"}, name) {
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

// command holds the flags that every verb has.
type command struct {
	in       io.Reader
	out, err io.Writer
	from     string // as -C says: what a word of the command line names is found from here
	dir      string // of the pipeline: the same, until -f has named a file elsewhere
	file     string
	json     bool
	noColour bool
	vars     []string
	varFiles []string
	ui       *ui.Printer
	memo     *staging.Memo
	web      fetch.Options // how runs reach the web; zero: as this machine does
	relock   bool          // plugins are asked what they are, whatever the lock says
	retire   []dag.Code    // codes that may be missing in the pipeline
	tell     tellFunc      // of what is wrong with the pipeline; nil: in words, or as JSON
	began    bool          // the words were understood, and the verb is being done
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
		RunE:          verbs(printHelp),
	}
	root.CompletionOptions.DisableDefaultCmd = true // completionCommand has its words
	root.PersistentPreRun = func(*cobra.Command, []string) { c.from, c.began = c.dir, true }
	flags := root.PersistentFlags()
	flags.StringVarP(&c.dir, "directory", "C", ".", "work in `DIR`, as if started there")
	flags.StringVarP(&c.file, "file", "f", "", "read `FILE` instead of pipeline.hcl")
	flags.BoolVar(&c.json, "json", false, "answer JSON, the last error included")
	flags.BoolVar(&c.noColour, "no-color", false, "print no colour; so does NO_COLOR=1")
	flags.StringArrayVar(&c.vars, "var", nil, "set a variable: `NAME=VALUE`")
	flags.StringArrayVar(&c.varFiles, "var-file", nil, "read variables from `FILE`")
	flags.BoolP("help", "h", false, "print this")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpTemplate(helpTemplate + exitHelp())
	root.AddGroup(&cobra.Group{ID: "do", Title: "Build and run:"}, &cobra.Group{ID: "look", Title: "Look and mend:"}, &cobra.Group{ID: "", Title: "Besides:"})
	for group, commands := range map[string][]*cobra.Command{
		"do":   {c.initCommand(), c.fmtCommand(), c.validateCommand(), c.testCommand(), c.planCommand(), c.runCommand()},
		"look": {c.statusCommand(), c.showCommand(), c.whyCommand(), c.logsCommand(), c.reportCommand(), c.diffCommand(), c.graphCommand(), c.checkCommand(), c.auditCommand(), c.breakerCommand(), c.gcCommand(), c.pluginCommand()},
		"":     {c.functionsCommand(), c.codesCommand(), c.explainCommand(), c.versionCommand(), c.completionCommand(), c.manCommand()},
	} {
		for _, cmd := range commands {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommand(c.helpCommand(root))
	c.completions(root)
	return root
}
