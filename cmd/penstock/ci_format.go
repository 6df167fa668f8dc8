package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/ui"
)

// tellFunc prints diagnostics.
type tellFunc func(diags diag.Diagnostics, source func(file string) []byte) error

// diagnosticFormats are those in which a command tells what is wrong.
var diagnosticFormats = []string{"text", "json", "github", "sarif"}

// formatFlag adds --format to a command.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", "text", "print as `FORMAT`: text, json, github (annotations) or sarif")
	completeWords(cmd, "format", diagnosticFormats)
}

// inFormat does what a command does, and lets what is wrong be told in a format.
// What ends it before it has looked is told in that format, too.
func (c *command) inFormat(cmd *cobra.Command, format string, do func() error) error {
	switch format {
	case "text":
		return do()
	case "json":
		c.json = true
		return do()
	case "github":
		if c.json {
			return usageOf(cmd, "--json and --format github: a workflow command is no JSON")
		}
	case "sarif":
	default:
		return usageOf(cmd, "%s", nearest(format, diagnosticFormats, "there is no format %q", format))
	}
	ci := &ciFormat{command: c, sarif: format == "sarif", verb: cmd.CommandPath()}
	c.tell = ci.tell
	return ci.end(do())
}

// ciFormat tells of a pipeline to a CI.
type ciFormat struct {
	*command
	sarif bool
	verb  string
	all   diag.Diagnostics // told at the end
	site  diag.Site
}

// tell keeps what is wrong: only at the end it is known what else there is to say.
func (f *ciFormat) tell(diags diag.Diagnostics, source func(file string) []byte) error {
	before := f.site.Source
	f.all = append(f.all, diags...)
	f.site = diag.Site{Path: f.path, Source: func(file string) []byte {
		if text := source(file); text != nil || before == nil {
			return text
		}
		return before(file)
	}}
	return nil
}

// end prints all that was told, and what ended the command.
func (f *ciFormat) end(err error) error {
	failure := ""
	if err != nil && !errors.Is(err, errPrinted) {
		failure = strings.Join(append([]string{err.Error()}, ui.Hints(err)...), "\n")
	}
	if f.sarif {
		tool := diag.Tool{Name: "penstock", Version: version, Command: f.verb, Exit: dag.KindOf(err).ExitStatus(), Failure: failure}
		if printErr := diag.SARIF(f.out, f.all, f.site, tool); printErr != nil {
			return printErr
		}
	} else {
		if printErr := diag.GitHub(f.out, f.all, f.site); printErr != nil {
			return printErr
		}
		if failure != "" {
			if printErr := diag.GitHubError(f.out, f.verb, failure); printErr != nil {
				return printErr
			}
		}
	}
	if failure != "" {
		return printed(dag.KindOf(err))
	}
	return err
}

// path is a file of the pipeline as the repository has it: from the workspace of
// GitHub Actions where there is one, else from where the command was started.
func (f *ciFormat) path(name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(f.dir, name)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return filepath.ToSlash(name)
	}
	root := os.Getenv("GITHUB_WORKSPACE")
	if root == "" {
		root, err = os.Getwd()
	}
	if err != nil {
		return filepath.ToSlash(path)
	}
	// Either may be a link; a checkout is one place.
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}
