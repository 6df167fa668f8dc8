package main

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (c *command) completionCommand() *cobra.Command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
		"zsh":        (*cobra.Command).GenZshCompletion,
	}
	names := slices.Sorted(maps.Keys(shells))
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a script that teaches a shell the verbs and flags",
		Long:      "Print the script by which a shell completes verbs and flags: " + strings.Join(names, ", ") + ".\nFor bash: source <(penstock completion bash)",
		Args:      oneArg("a shell: " + strings.Join(names, ", ")),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := shells[args[0]]
			if !ok {
				return usageOf(cmd, "%s", nearest(args[0], names, "there is no script for the shell %q", args[0]))
			}
			return write(cmd.Root(), c.out)
		},
	}
}

func (c *command) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "Print what a verb does, its flags and its exit status",
		RunE: func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return verbs(printHelp)(about, rest)
			}
			return about.Help()
		},
	}
}
