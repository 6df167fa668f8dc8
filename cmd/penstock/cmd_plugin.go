package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/internal/ui"
	"github.com/penstock-run/penstock/plugins/bundled"
)

func (c *command) pluginCommand() *cobra.Command {
	plugin := &cobra.Command{
		Use:   "plugin",
		Short: "List the plugins, or lock them as they are",
		Long:  "List the plugins of the pipeline and how they stand to the lock file, or accept them as they are.",
		Args:  cobra.ArbitraryArgs,
		RunE:  verbs(printHelp),
	}
	plugin.AddCommand(c.pluginListCommand(), c.pluginLockCommand(), pluginServeCommand())
	return plugin
}

func (c *command) pluginListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the plugins, and how they stand to the lock",
		Long:  "List the plugins of the pipeline, what they are here, and how that stands to the lock file. A\nplugin that is not locked is started to ask what it is.",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.listPlugins(cmd.Context()) },
	}
}

func (c *command) pluginLockCommand() *cobra.Command {
	var retire []string
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Accept the plugins as they are, and write the lock file",
		Long: "Write the lock file: what each plugin that is not bundled is on this platform, and every failure\n" +
			"code that was ever declared. `run` refuses a plugin that differs from it. What is known of other\n" +
			"platforms stands, as long as the plugin says the same of itself. Commit the file.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.lockPlugins(cmd.Context(), retire) },
	}
	cmd.Flags().StringArrayVar(&retire, "retire", nil, "let the failure code `CODE` be missing in the pipeline; repeatable")
	return cmd
}

// pluginServeCommand serves a bundled plugin: the host starts this very binary
// with it.
func pluginServeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "serve NAME",
		Short:  "Serve a bundled plugin to the host that started this process",
		Hidden: true,
		Args:   oneArg("the name of a bundled plugin"),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, ok := bundled.Info(args[0]); !ok {
				return usage("%s", nearest(args[0], bundled.Names(), "there is no bundled plugin %q", args[0]))
			}
			return bundled.Serve(args[0])
		},
	}
}

// withLock loads the pipeline and does something about its lock.
func (c *command) withLock(ctx context.Context, do func(engine.LockOptions) error) error {
	graph, err := c.load(ctx, false, false, false)
	if err != nil {
		return err
	}
	ask := &asker{command: c, ctx: ctx, dir: c.dir}
	defer ask.close()
	err = do(engine.LockOptions{Dir: c.dir, File: lang.LockFile(c.file), Graph: graph, Describe: ask.describe, Memo: c.memo, Retire: c.retire})
	return errors.Join(err, c.memo.Save())
}

// pluginListDocument is what `plugin list --json` prints.
type pluginListDocument struct {
	Version int                `json:"version"`
	Plugins []engine.PluginRow `json:"plugins"`
}

func (c *command) listPlugins(ctx context.Context) error {
	var rows []engine.PluginRow
	err := c.withLock(ctx, func(o engine.LockOptions) (err error) {
		rows, err = engine.Plugins(o)
		return err
	})
	if err != nil {
		return err
	}
	p := c.printer()
	if c.json {
		return p.Document(pluginListDocument{1, rows})
	}
	if len(rows) == 0 {
		p.Line("the pipeline has no plugin")
		return nil
	}
	t := ui.NewTable("plugin", "source", "kind", "version", "digest", "state")
	for _, r := range rows {
		t.Row(r.Name, r.Source, r.Kind, r.Version, (dag.Pin{Digest: r.Digest}).Short(), stateWords[r.State])
	}
	t.Print(p)
	for _, r := range rows {
		if r.State != dag.LockSame && r.State != dag.LockBundled {
			p.Note("%s", r.Message)
		}
	}
	return nil
}

// stateWords are the states for people.
var stateWords = map[dag.LockWord]string{
	dag.LockBundled: "bundled", dag.LockNone: "not locked", dag.LockSame: "locked", dag.LockDiffers: "differs from the lock",
	dag.LockElsewhere: "locked for other platforms", dag.LockUnused: "locked, not in the pipeline", dag.LockAbsent: "not here",
}

// pluginLockDocument is what `plugin lock --json` prints.
type pluginLockDocument struct {
	Version int `json:"version"`
	*engine.LockReport
}

func (c *command) lockPlugins(ctx context.Context, retire []string) error {
	for _, code := range retire {
		c.retire = append(c.retire, dag.Code(code))
	}
	c.relock = true
	var report *engine.LockReport
	err := c.withLock(ctx, func(o engine.LockOptions) (err error) {
		report, err = engine.WriteLock(o)
		return err
	})
	if err != nil {
		return err
	}
	p := c.printer()
	if c.json {
		return p.Document(pluginLockDocument{1, report})
	}
	for _, change := range report.Changes {
		p.Line("%s", change.Did)
	}
	switch {
	case report.Created:
		p.Line("wrote %s: commit it", report.File)
		if !c.merges(report.File) {
			p.Note("so that branches merge, add this line to .gitattributes:\n    %s", lang.MergeAttribute(report.File))
		}
	case report.Written:
		p.Line("wrote %s", report.File)
	default:
		p.Line("nothing to do: %s is as it was", report.File)
	}
	return nil
}

// merges tells whether git was told how to merge the lock.
func (c *command) merges(file string) bool {
	text, err := os.ReadFile(filepath.Join(c.dir, ".gitattributes"))
	return err == nil && slices.Contains(strings.Split(string(text), "\n"), lang.MergeAttribute(file))
}
