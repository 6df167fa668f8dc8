package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang"
)

// stdin is the name of the text that is read from standard input.
const stdin = "-"

func (c *command) fmtCommand() *cobra.Command {
	var check, diffs bool
	var format string
	cmd := &cobra.Command{
		Use:   "fmt [FILE ...]",
		Short: "Write the pipeline's files in the one layout",
		Long:  "Write pipeline.hcl and the files *.pipeline.hcl and *.test.hcl beside it in the one layout, and\nname those that changed. Only white space moves. FILE names others; - lays out standard input\nand prints it. With --check nothing is written, and the exit is 4 where something would be.\n\nFor a CI, --check with --format github prints annotations, and with --format sarif a log for code\nscanning.",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			alone := len(args) == 1 && args[0] == stdin
			if (format == "github" || format == "sarif") && (!check || diffs || alone) {
				return usageOf(cmd, "--format %s is for files and --check: penstock fmt --check --format %[1]s", format)
			}
			return c.inFormat(cmd, format, func() error {
				if alone {
					return c.formatStdin(check, diffs)
				}
				return c.format(args, check, diffs)
			})
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 4 where a file is not in the layout")
	cmd.Flags().BoolVar(&diffs, "diff", false, "print what changes; with --check, what would")
	formatFlag(cmd, &format)
	return cmd
}

// formatted is one file and what became of it.
type formatted struct {
	name      string // as the user knows it
	path      string
	before    []byte
	after     []byte
	unchanged bool
}

// fmtDocument is what `fmt --json` prints.
type fmtDocument struct {
	Version int      `json:"version"`
	Changed []string `json:"changed"`
}

func (c *command) format(names []string, check, diffs bool) error {
	files, err := c.layOut(names)
	if err != nil {
		return err
	}
	changed := []string{}
	for _, f := range files {
		if f.unchanged {
			continue
		}
		changed = append(changed, f.name)
		if !check {
			if err := writeWhole(f.path, f.after); err != nil {
				return &dag.Error{Op: "write", Subject: f.name, Kind: dag.KindInfrastructure, Err: cause(err)}
			}
		}
		switch {
		case c.tell != nil:
			if err := c.tell(diag.NotLaidOut(f.name, f.before, f.after), func(file string) []byte { return map[string][]byte{f.name: f.before}[file] }); err != nil {
				return err
			}
		case c.json:
		case diffs:
			c.printer().Line("%s", bytes.TrimSuffix(diff.Diff(f.name, f.before, f.name+" (laid out)", f.after), []byte("\n")))
		default:
			c.printer().Line("%s", f.name)
		}
	}
	if c.json && c.tell == nil {
		err = c.printer().Document(fmtDocument{1, changed})
	}
	if err == nil && check && len(changed) > 0 {
		err = printed(dag.KindChanged)
	}
	return err
}

// layOut reads and lays out all files before the first is written: where one
// cannot be parsed, none is touched.
func (c *command) layOut(names []string) ([]formatted, error) {
	dir := c.dir
	if len(names) == 0 {
		var file string
		var err error
		if dir, file, err = c.place(); err != nil {
			return nil, err
		}
		if names, err = lang.FormatFiles(lang.Options{FS: os.DirFS(dir), File: file}); err != nil {
			return nil, &dag.Error{Op: "read", Subject: dir, Kind: dag.KindConfig, Err: err}
		}
	}
	var files []formatted
	wrong := false
	for _, name := range names {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, name)
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, &dag.Error{Op: "read", Subject: name, Kind: dag.KindConfig, Err: cause(err)}
		}
		out, ok, err := c.layOutText(name, src)
		if err != nil {
			return nil, err
		}
		wrong = wrong || !ok
		files = append(files, formatted{name, path, src, out, bytes.Equal(src, out)})
	}
	if wrong {
		return nil, printed(dag.KindConfig)
	}
	return files, nil
}

// layOutText is one text in the layout; what is wrong with it has been printed
// where ok is false.
func (c *command) layOutText(name string, src []byte) (out []byte, ok bool, err error) {
	out, diags := lang.Format(name, src)
	if len(diags) > 0 {
		source := func(file string) []byte {
			if file == name {
				return src
			}
			return nil
		}
		if c.tell != nil {
			return out, !diags.HasErrors(), c.tell(diags, source)
		}
		if err := diag.Render(c.err, diags, diag.Options{Source: source, Colour: c.printer().Colour()}); err != nil {
			return nil, false, err
		}
	}
	return out, !diags.HasErrors(), nil
}

func (c *command) formatStdin(check, diffs bool) error {
	src, err := io.ReadAll(c.in)
	if err != nil {
		return &dag.Error{Op: "read standard input", Kind: dag.KindInfrastructure, Err: err}
	}
	out, ok, err := c.layOutText("standard input", src)
	if err != nil {
		return err
	}
	if !ok {
		return printed(dag.KindConfig)
	}
	switch {
	case diffs:
		out, check = diff.Diff("standard input", src, "standard input (laid out)", out), check && !bytes.Equal(src, out)
	case check && !bytes.Equal(src, out):
		return printed(dag.KindChanged)
	case check:
		return nil
	}
	if _, err := c.out.Write(out); err != nil {
		return err
	}
	if check {
		return printed(dag.KindChanged)
	}
	return nil
}
