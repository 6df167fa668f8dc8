package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
)

// usage is a mistake in the words of a command.
func usage(format string, args ...any) error {
	return &dag.Error{Op: fmt.Sprintf(format, args...), Kind: dag.KindConfig}
}

// usageOf is usage where the command's help says more.
func usageOf(cmd *cobra.Command, format string, args ...any) error {
	return &dag.Error{Op: fmt.Sprintf(format, args...), Kind: dag.KindConfig, Hint: cmd.CommandPath() + " --help"}
}

// noArgs is for verbs that take flags alone.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageOf(cmd, "%q: `%s` takes flags only", args[0], cmd.CommandPath())
	}
	return nil
}

// oneArg is for verbs that take one thing, which is told in words.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageOf(cmd, "`%s` takes one thing: %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// verbs makes a command of those below it: alone it prints its help, or does
// alone, and a word that is none of them is answered with the nearest.
func verbs(alone func(cmd *cobra.Command) error) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return alone(cmd)
		}
		var known []string
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				known = append(known, sub.Name())
			}
		}
		return usageOf(cmd, "%s", nearest(args[0], known, "there is no `%s %s`", cmd.CommandPath(), args[0]))
	}
}

// nearest adds to a text what word was most likely meant to be, if anything.
func nearest(word string, known []string, format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	if meant := diag.DidYouMean(word, known); meant != "" {
		text += ". " + meant
	}
	return text
}

// printHelp is what a command of commands does alone.
func printHelp(cmd *cobra.Command) error { return cmd.Help() }

// flagError says what is wrong with a flag, and which was meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return usageOf(cmd, "there is no flag -%s", unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		text := fmt.Sprintf("there is no flag --%s", unknown.GetSpecifiedName())
		if near := diag.Nearest(unknown.GetSpecifiedName(), known); len(near) > 0 {
			text += ". Did you mean --" + strings.Join(near, " or --") + "?"
		}
		return usageOf(cmd, "%s", text)
	case errors.As(err, &bare):
		name, _ := pflag.UnquoteUsage(bare.GetFlag())
		return usageOf(cmd, "%s needs a value: %[1]s %s", flagName(bare.GetFlag()), name)
	case errors.As(err, &bad):
		wanted := map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false", "age": "a time such as 12h, 30d or 8w", "size": "a size such as 500MB or 10GiB"}[bad.GetFlag().Value.Type()]
		return usageOf(cmd, "%s takes %s, not %q", flagName(bad.GetFlag()), wanted, bad.GetValue())
	}
	return usageOf(cmd, "%v", err)
}

// flagName is the short name of a flag, which most people type, or its long one.
func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// asksJSON tells whether the words ask for JSON, where a mistake ended their
// reading before it came to that.
func asksJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// exitStatuses are all exit statuses, with what each says.
var exitStatuses = []struct {
	status int
	means  string
}{
	{0, "done; rejected items are a result, not an error"},
	{1, "the pipeline, the flags or the files are wrong; nothing was started"},
	{2, "some items failed for want of infrastructure (a plugin, a provider, the disk)"},
	{3, "a stopping rule ended the run: a breaker, a budget, a provider without quota or credentials"},
	{4, "where it was asked for: a plan or a diff is not empty, fmt would change a file"},
	{5, "reality differs from what was promised"},
	{70, "an invariant of Penstock itself is broken: please report it"},
	{130, "interrupted; the next run goes on from there"},
}

func exitHelp() string {
	text := "\nExit status:\n"
	for _, exit := range exitStatuses {
		text += fmt.Sprintf("  %-4d %s\n", exit.status, exit.means)
	}
	return text
}

// helpTemplate is cobra's with this program's words, and the verbs in the order
// in which they are needed.
const helpTemplate = `{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}{{end}}

Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} VERB [flags]{{else}}{{.UseLine}}{{end}}
{{- range $group := .Groups}}

{{.Title}}{{range $.Commands}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if and .HasAvailableSubCommands (not .Groups)}}

Verbs:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
{{- if .HasAvailableInheritedFlags}}

Flags of every verb:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
{{- if .HasAvailableSubCommands}}

` + "`{{.CommandPath}} VERB --help` tells more of a verb." + `{{end}}
`
