package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// Behaviour stands in the action digest of every visit: raise it when the same
// command on the same input may end in another way.
const Behaviour = "exec/1"

// Stage is the plugin, ready to be served.
func Stage() sdk.Stage {
	all := &groups{}
	return sdk.Stage{
		End: all.endAll,
		Info: sdk.Info{
			Name: "exec", Version: "1", Behaviour: Behaviour,
			Config: []sdk.Field{
				{Name: "command", Type: "list(string)", Required: true, Doc: "Program and arguments. It runs in the pipeline's directory, gets the input as JSON on stdin and prints the output as JSON on stdout. There is no shell."},
				{Name: "exits", Type: "map(string)", Default: `{"0":"ok"}`, Doc: "The outcome of each exit status: `{ \"0\" = \"ok\", \"1\" = \"reject\" }`. Another status is the failure E_EXEC, with the last line of stderr."},
				{Name: "files", Type: "list(string)", Default: "[]", Content: true, Doc: "Globs, relative to the pipeline's directory, of the files that the command reads: scripts, word lists, models. Their content belongs to the action, so a change of one runs the stage anew."},
			},
			Codes: []string{"E_EXEC", "E_MALFORMED", "E_DOCUMENT_SIZE"},
		},
		Configure: func(_ context.Context, c sdk.Config) (sdk.Func, error) {
			r, err := configure(c)
			if err != nil {
				return nil, err
			}
			r.groups = all
			return func(ctx context.Context, v *sdk.Visit) (sdk.Result, error) {
				return r.run(ctx, v.Input, func(lines string) { v.Logf("%s", lines) })
			}, nil
		},
	}
}

type config struct {
	Command []string          `json:"command"`
	Exits   map[string]string `json:"exits"`
	Files   []string          `json:"files"` // the engine reads them; here they are only let pass
}

// runner runs the visits of one stage.
type runner struct {
	program   string
	args      []string
	directory string
	outcomes  map[int]string
	groups    *groups
}

func configure(c sdk.Config) (*runner, error) {
	var conf config
	if err := c.Into(&conf); err != nil {
		return nil, err
	}
	var diags sdk.Diagnostics
	complain := func(attribute, summary, format string, args ...any) {
		diags = append(diags, sdk.Diagnostic{Summary: summary, Detail: fmt.Sprintf(format, args...), Path: []string{attribute}})
	}
	r := &runner{directory: c.Directory, outcomes: map[int]string{}, groups: &groups{}}
	if len(conf.Command) == 0 || conf.Command[0] == "" {
		complain("command", "The command is empty", `Name a program and its arguments, as in ["python3", "score.py"].`)
	} else if program, err := find(conf.Command[0], c.Directory); err != nil {
		complain("command", "The program cannot be run", "%s: %v.", conf.Command[0], err)
	} else {
		r.program, r.args = program, conf.Command[1:]
	}
	if conf.Exits == nil {
		conf.Exits = map[string]string{"0": "ok"}
	}
	for _, status := range slices.Sorted(maps.Keys(conf.Exits)) {
		n, err := strconv.Atoi(status)
		switch {
		case err != nil || n < 0 || n > 255 || strconv.Itoa(n) != status:
			complain("exits", "Not an exit status", "%q in exits: a status is a whole number from 0 to 255.", status)
		case conf.Exits[status] == "":
			complain("exits", "An exit status without an outcome", "Status %s needs the word of an outcome.", status)
		}
		r.outcomes[n] = conf.Exits[status]
	}
	if len(diags) > 0 {
		return nil, diags
	}
	return r, nil
}

// find looks a program up as a shell would that stands in the pipeline's
// directory: by PATH where the name has no slash, else from there.
func find(name, directory string) (string, error) {
	path := name
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		path = filepath.Join(directory, name)
		if !filepath.IsAbs(path) {
			path = "." + string(filepath.Separator) + path // a bare name would be looked up in PATH
		}
	}
	path, err := osexec.LookPath(path)
	var reason *osexec.Error
	if errors.As(err, &reason) {
		err = reason.Err
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err // the path is said already
	}
	if err == nil {
		path, err = filepath.Abs(path) // the command starts in another directory
	}
	return path, err
}

// run runs the command for a visit; say gets the lines of its standard error.
func (r *runner) run(ctx context.Context, input []byte, say func(lines string)) (sdk.Result, error) {
	end, err := start(ctx, r, input, say)
	if err != nil {
		return sdk.Result{}, err
	}
	outcome, listed := r.outcomes[end.status]
	if end.signal != "" || !listed {
		return sdk.Result{}, sdk.Fail("E_EXEC", "%s", end.describe())
	}
	output, err := canon.Canonical(nil, end.stdout)
	switch {
	case len(end.stdout) == 0:
		return sdk.Result{}, sdk.Fail("E_MALFORMED", "the command ended with status %d and printed nothing on stdout; it must print one JSON document", end.status)
	case err != nil:
		return sdk.Result{}, sdk.Fail("E_MALFORMED", "the command's stdout is not one strict JSON document: %v", err)
	}
	return sdk.Result{Outcome: outcome, Output: output}, nil
}
