package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/lang"
	"github.com/penstock-run/penstock/plugins/bundled"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// The test binary is all processes of a run: the engine in a process of its
// own, the bundled plugins, and the actor, whose part the test plays.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugin" && os.Args[2] == "serve" {
		serve(os.Args[3])
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "run" {
		os.Exit(child(os.Args[2]))
	}
	os.Exit(inTempFolder(m))
}

// inTempFolder gives the runs a temporary folder of their own, where nothing
// else leaves anything: what a run leaves there is a fault.
func inTempFolder(m *testing.M) int {
	temp, err := os.MkdirTemp("/tmp", "pt")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(temp)
	if err := os.Setenv("TMPDIR", temp); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func serve(name string) {
	switch name {
	case "actor", "asker":
		sdk.Serve(actorStage(name))
	case "model":
		serveModel()
	default:
		if err := bundled.Serve(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// info is what is known of plugins without a start.
func info(name string) (*dag.PluginInfo, bool) {
	switch name {
	case "actor", "asker":
		return actorInfo(name), true
	case "model":
		return &dag.PluginInfo{Name: name, Version: "1", Behaviour: "model/1", Kind: "provider",
			Config: []dag.ConfigField{{Name: "director", Type: "string"}}}, true
	}
	return bundled.Info(name)
}

// flags are those of a run in a process of its own.
type flags struct {
	Dir       string
	Jobs      int
	KeepGoing bool
	Force     bool
	Dry       bool
}

// ended is what such a process prints.
type ended struct {
	Summary *Summary
	Tally   Tally
	Exit    int
	Error   string
	Warned  []string
	PeakKB  int // resident memory at its most
}

// child is one run; the first interrupt is the polite one, as in the command.
func child(text string) int {
	var f flags
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	signals, interrupt := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-signals
		close(interrupt)
		<-signals
		cancel()
	}()
	graph, err := load(f.Dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	said := &listener{aloud: true}
	s, err := Run(ctx, Options{
		Dir: f.Dir, Graph: graph, Self: self(), Bundled: info, Jobs: f.Jobs, KeepGoing: f.KeepGoing, Force: f.Force, Dry: f.Dry,
		Interrupt: interrupt, Report: said,
	})
	out := ended{Summary: s, Exit: dag.KindOf(err).ExitStatus(), Warned: said.warned, PeakKB: peakKB()}
	if s != nil {
		out.Tally = s.Tally
		if err == nil {
			out.Exit = s.Kind.ExitStatus()
		}
	}
	if err != nil {
		out.Error = err.Error()
	}
	b, err := json.Marshal(out)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(string(b))
	return out.Exit
}

func self() []string {
	exe, err := os.Executable()
	if err != nil {
		panic("engine: the test binary does not know itself: " + err.Error())
	}
	return []string{exe, "plugin", "serve"}
}

func load(dir string) (*dag.Graph, error) {
	graph, _, diags := lang.Load(lang.Options{
		FS: os.DirFS(dir), Live: true, Version: "0.1.0",
		Describe: func(p *dag.Plugin) (*dag.PluginInfo, error) {
			if i, ok := info(strings.TrimPrefix(p.Source, "builtin/")); ok {
				return i, nil
			}
			return nil, errors.New("no such plugin: " + p.Source)
		},
	})
	if diags.HasErrors() {
		return nil, errors.Join(diags.Errs()...)
	}
	return graph, nil
}

// peakKB is VmHWM of this process, 0 where the system does not tell.
func peakKB() int {
	status, err := os.ReadFile(filepath.Join("/proc", "self", "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kb int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			return kb
		}
	}
	return 0
}
