package main

import (
	"github.com/spf13/cobra"
)

// completeWords lets a shell complete the value of a flag: it is one of these.
func completeWords(cmd *cobra.Command, flag string, words []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag is not there: a mistake in this package
	}
}
