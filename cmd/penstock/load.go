package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/internal/staging"
	"github.com/penstock-run/penstock/plugins/bundled"
)

// self is how this very binary is started again to serve a bundled plugin.
func self() ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, &dag.Error{Op: "find the program itself", Kind: dag.KindInfrastructure, Err: err}
	}
	return []string{exe, "plugin", "serve"}, nil
}

// load reads and proves the pipeline; what is wrong with it has been printed
// when the error is errPrinted.
func (c *command) load(ctx context.Context, visits, live, warnings bool) (*dag.Graph, error) {
	o := lang.Options{Live: live, Visits: visits, Relock: c.relock, Retire: c.retire}
	graph, _, err := c.loadWith(ctx, o, warnings)
	return graph, err
}

// loadWith is load with more to say of how, that gives the texts besides.
func (c *command) loadWith(ctx context.Context, o lang.Options, warnings bool) (*dag.Graph, *lang.Files, error) {
	if err := c.given(&o); err != nil {
		return nil, nil, err
	}
	dir, file, err := c.place()
	if err != nil {
		return nil, nil, err
	}
	c.dir, c.file, o.File = dir, file, file
	return c.loadFiles(ctx, dir, o, warnings)
}

// given sets the values of variables that the command line gives.
func (c *command) given(o *lang.Options) (err error) {
	o.Vars = map[string]string{}
	for _, v := range c.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return usage("--var %q: write it as NAME=VALUE", v)
		}
		o.Vars[name] = value
	}
	o.VarFiles, err = c.readVarFiles()
	return err
}

// loadFrom is load for a pipeline in a given directory.
func (c *command) loadFrom(ctx context.Context, dir string, o lang.Options, warnings bool) (*dag.Graph, error) {
	graph, _, err := c.loadFiles(ctx, dir, o, warnings)
	return graph, err
}

// loadFiles is loadFrom that gives the texts besides.
func (c *command) loadFiles(ctx context.Context, dir string, o lang.Options, warnings bool) (*dag.Graph, *lang.Files, error) {
	if c.memo == nil {
		c.memo = staging.OpenMemo(filepath.Join(dir, "staging"))
	}
	ask := &asker{command: c, ctx: ctx, dir: dir}
	defer ask.close()
	o.FS, o.Version = os.DirFS(dir), version
	if o.Environ == nil {
		o.Environ = os.LookupEnv
	}
	if o.Describe == nil {
		o.Describe, o.Pin = ask.describe, ask.pin
	}
	graph, files, diags := lang.Load(o)
	switch {
	case c.tell != nil && (diags.HasErrors() || warnings):
		if err := c.tell(diags, files.Source); err != nil {
			return nil, nil, err
		}
	case c.json && (diags.HasErrors() || warnings):
		doc, err := diag.JSON(diags, files.Source)
		if err != nil {
			return nil, nil, err
		}
		if _, err := c.out.Write(doc); err != nil {
			return nil, nil, err
		}
	case diags.HasErrors() || warnings && len(diags) > 0:
		if err := diag.Render(c.err, diags, diag.Options{Source: files.Source, Colour: c.printer().Colour()}); err != nil {
			return nil, nil, err
		}
	}
	if diags.HasErrors() {
		return nil, nil, printed(dag.KindConfig)
	}
	return graph, files, nil
}

// path is where a word of the command line lies, which need not be beside the
// pipeline: it is one from where the command works, that is from -C.
func (c *command) path(word string) string {
	if filepath.IsAbs(word) {
		return word
	}
	return filepath.Join(cmp.Or(c.from, c.dir), word)
}

// readVarFiles reads the files of variables.
func (c *command) readVarFiles() ([]lang.VarFile, error) {
	var files []lang.VarFile
	for _, name := range c.varFiles {
		src, err := os.ReadFile(c.path(name))
		if err != nil {
			return nil, &dag.Error{Op: "read variables", Subject: name, Kind: dag.KindConfig, Err: cause(err)}
		}
		files = append(files, lang.VarFile{Name: name, Source: src})
	}
	return files, nil
}

// place finds the directory and the file: -f may name a file elsewhere.
func (c *command) place() (dir, file string, err error) {
	dir, file = c.dir, c.file
	if file != "" && filepath.Dir(file) != "." {
		full := file
		if !filepath.IsAbs(full) {
			full = filepath.Join(dir, file)
		}
		dir, file = filepath.Dir(full), filepath.Base(full)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", &dag.Error{Op: "find directory", Subject: c.dir, Kind: dag.KindConfig, Err: err}
	}
	name := file
	if name == "" {
		name = lang.DefaultFile
	}
	if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, os.ErrNotExist) {
		return "", "", &dag.Error{
			Op: "read pipeline", Subject: filepath.Join(c.dir, name), Kind: dag.KindConfig, Err: errors.New("there is no such file"),
			Hint: "start in the pipeline's directory, or say -C DIR; `penstock init` makes a new pipeline",
		}
	}
	return dir, file, nil
}

// asker asks plugins for their description: bundled ones are known, others are
// started, and that is said.
type asker struct {
	*command
	ctx  context.Context
	dir  string     // of the pipeline
	host *host.Host // nil until a plugin is looked at that is not bundled
}

func (a *asker) started() (*host.Host, error) {
	if a.host == nil {
		args, err := self()
		if err != nil {
			return nil, err
		}
		a.host = host.New(host.Options{Dir: a.dir, RunID: "describe", Self: args, Bundled: bundled.Info, Memo: a.memo})
	}
	return a.host, nil
}

func (a *asker) describe(p *dag.Plugin) (*dag.PluginInfo, error) {
	if name, ok := strings.CutPrefix(p.Source, "builtin/"); ok {
		info, ok := bundled.Info(name)
		if !ok {
			return nil, errors.New(nearest(name, bundled.Names(), "no plugin %q is bundled with Penstock", name))
		}
		info.CheckConfig = func(config, schema []byte) []dag.ConfigProblem {
			return bundled.CheckConfig(name, a.dir, config, schema)
		}
		info.CheckProvider = func(model string, config []byte) []dag.ConfigProblem {
			return bundled.CheckProvider(name, model, config)
		}
		return info, nil
	}
	info, key, err := a.recall(p)
	if info != nil || err != nil {
		return info, err
	}
	a.printer().Note("starting plugin %q to ask what it is", p.Name)
	info, err = a.host.Describe(a.ctx, p)
	if err == nil {
		a.memo.SetValue(key, info)
	}
	return info, a.beside(err)
}

// recall is what a plugin said of itself before, nil where it was not asked; and the
// key under which that is remembered.
func (a *asker) recall(p *dag.Plugin) (info *dag.PluginInfo, key string, err error) {
	h, err := a.started()
	if err != nil {
		return nil, "", err
	}
	digest, err := h.Digest(p)
	if err != nil {
		return nil, "", a.beside(err)
	}
	key = "describe " + version + " " + digest.String()
	info = &dag.PluginInfo{}
	if !a.memo.Value(key, info) {
		return nil, key, nil
	}
	return info, key, nil
}

// remembered is describe without a start.
func (a *asker) remembered(p *dag.Plugin) (*dag.PluginInfo, error) {
	info, _, err := a.recall(p)
	if info == nil && err == nil {
		err = errNotRemembered
	}
	return info, err
}

// beside names files beside the pipeline as the pipeline does.
func (a *asker) beside(err error) error {
	var own *dag.Error
	if !errors.As(err, &own) || own.Err == nil {
		return err
	}
	said := *own
	said.Err = errors.New(strings.ReplaceAll(own.Err.Error(), a.dir+string(filepath.Separator), "./"))
	return &said
}

// pin is what a lock would hold of a plugin's files.
func (a *asker) pin(p *dag.Plugin) (dag.Pin, error) {
	h, err := a.started()
	if err != nil {
		return dag.Pin{}, err
	}
	return h.Pin(p)
}

func (a *asker) close() {
	if a.host != nil {
		_ = a.host.Close(a.ctx) // it answered; how it ends is nobody's concern
	}
}
