// Package bundled is the registry of the plugins that come with Penstock: what
// each says of itself, and how it is served.
//
// cmd/penstock serves one of them in a process of its own, internal/host and
// internal/lang ask what is known of them without starting any.
//
// It refuses names that it does not know; it starts no process.
package bundled

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/anthropic"
	"github.com/penstock-run/penstock/plugins/echo"
	"github.com/penstock-run/penstock/plugins/exec"
	"github.com/penstock-run/penstock/plugins/gemini"
	"github.com/penstock-run/penstock/plugins/ollama"
	"github.com/penstock-run/penstock/plugins/openai"
	"github.com/penstock-run/penstock/plugins/prompt"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// plugin is a stage or a provider: one of the two is set.
type plugin struct {
	stage    func() sdk.Stage
	provider func() sdk.Provider
	calls    func(config []byte) int               // of a stage that asks for completions
	advise   func(sdk.Config) sdk.Diagnostics      // of a stage that can tell what is likely not meant; nil: none
	asks     func(config []byte) ([]string, int64) // and what it asks of its model
	reads    func(config []byte) []prompt.Read     // and what of its input; nil: it does not say
}

var plugins = map[string]plugin{
	"anthropic": {provider: anthropic.Provider},
	"echo":      {provider: echo.Provider},
	"exec":      {stage: exec.Stage},
	"gemini":    {provider: gemini.Provider},
	"ollama":    {provider: ollama.Provider},
	"openai":    {provider: openai.Provider},
	"prompt":    {stage: prompt.Stage, calls: prompt.CallsPerVisit, advise: prompt.Advise, asks: prompt.Asks, reads: prompt.Reads},
}

// Names lists the bundled plugins, sorted: NAME of builtin/NAME.
func Names() []string { return slices.Sorted(maps.Keys(plugins)) }

// Info is what a bundled plugin says of itself; false for a name that is none.
func Info(name string) (*dag.PluginInfo, bool) {
	p, ok := plugins[name]
	switch {
	case !ok:
		return nil, false
	case p.stage != nil:
		i := p.stage().Info
		return &dag.PluginInfo{
			Name: i.Name, Version: i.Version, Behaviour: i.Behaviour, Kind: "stage", Config: fields(i.Config),
			Outcomes: i.Outcomes, Codes: codes(i.Codes), Deterministic: i.Deterministic, Services: i.Services, Batches: i.Batches,
			CallsPerVisit: p.calls, Asks: askedOf(p.asks), Reads: readBy(p.reads),
		}, true
	}
	i := p.provider().Info
	return &dag.PluginInfo{
		Name: i.Name, Version: i.Version, Behaviour: i.Behaviour, Kind: "provider", Config: fields(i.Config), WireVersion: i.WireVersion,
		Model: modelOf(p.provider()), CheckSchema: schemaOf(p.provider()), Peer: peerOf(p.provider()),
	}, true
}

func askedOf(asks func([]byte) ([]string, int64)) func([]byte) dag.Asked {
	if asks == nil {
		return nil
	}
	return func(config []byte) dag.Asked {
		of, maxTokens := asks(config)
		return dag.Asked{Of: of, MaxTokens: maxTokens}
	}
}

func readBy(reads func([]byte) []prompt.Read) func([]byte) []dag.ConfigRead {
	if reads == nil {
		return nil
	}
	return func(config []byte) (all []dag.ConfigRead) {
		for _, r := range reads(config) {
			all = append(all, dag.ConfigRead{Path: []string{r.Attribute}, Names: r.Path, Line: r.Line, Column: r.Column})
		}
		return all
	}
}

func modelOf(p sdk.Provider) func(string, []byte) dag.Model {
	if p.Model == nil {
		return nil
	}
	return func(name string, config []byte) dag.Model { return dag.Model(p.Model(name, config)) }
}

func schemaOf(p sdk.Provider) func(string, []byte, []byte) []dag.ConfigProblem {
	if p.Schema == nil {
		return nil
	}
	return func(name string, config, schema []byte) []dag.ConfigProblem {
		return problems(p.Schema(name, config, schema))
	}
}

func peerOf(p sdk.Provider) func([]byte) dag.Peer {
	if p.Peer == nil {
		return nil
	}
	return func(config []byte) dag.Peer { return dag.Peer(p.Peer(config)) }
}

// CheckConfig tells what a bundled stage will not take of a configuration, in a
// pipeline that lies in directory; outputSchema is that of the stage's output, empty
// where it has none. Nothing is started: its Configure is called
// here, and what it made is let go.
func CheckConfig(name, directory string, config, outputSchema []byte) []dag.ConfigProblem {
	p := plugins[name]
	if p.stage == nil {
		return nil
	}
	given := sdk.Config{JSON: config, OutputSchema: outputSchema, Directory: directory}
	_, err := p.stage().Configure(context.Background(), given)
	var said sdk.Diagnostics
	switch {
	case err == nil && p.advise == nil:
		return nil
	case err == nil:
		said = p.advise(given)
	default:
		said = saidBy(err)
	}
	return problems(said)
}

// CheckProvider tells what a bundled provider will not take of a model's name and a
// configuration, the secrets in it. Nothing is started, and nobody is called.
func CheckProvider(name, model string, config []byte) []dag.ConfigProblem {
	p := plugins[name]
	if p.provider == nil {
		return nil
	}
	_, err := p.provider().Configure(context.Background(), sdk.ProviderConfig{Model: model, JSON: config})
	return problems(saidBy(err))
}

// saidBy is what a refusal says; nothing where err is nil.
func saidBy(err error) sdk.Diagnostics {
	var said sdk.Diagnostics
	if err != nil && !errors.As(err, &said) {
		said = sdk.Diagnostics{{Summary: "The plugin refuses this configuration", Detail: err.Error()}}
	}
	return said
}

func problems(said sdk.Diagnostics) []dag.ConfigProblem {
	if len(said) == 0 {
		return nil
	}
	out := make([]dag.ConfigProblem, len(said))
	for i, d := range said {
		out[i] = dag.ConfigProblem{Path: d.Path, Summary: d.Summary, Detail: d.Detail, Warning: d.Warning}
	}
	return out
}

// Serve serves a plugin until the host is done with the process.
func Serve(name string) error {
	p, ok := plugins[name]
	switch {
	case !ok:
		return &dag.Error{Op: "serve plugin", Subject: name, Kind: dag.KindConfig,
			Err: errors.New("no bundled plugin has this name"), Hint: "the bundled plugins are " + strings.Join(Names(), ", ")}
	case p.stage != nil:
		sdk.Serve(p.stage())
	default:
		sdk.ServeProvider(p.provider())
	}
	return nil
}

func fields(in []sdk.Field) []dag.ConfigField {
	if in == nil {
		return nil
	}
	out := make([]dag.ConfigField, len(in))
	for i, f := range in {
		out[i] = dag.ConfigField{Name: f.Name, Type: f.Type, Required: f.Required, Default: f.Default, Doc: f.Doc, Sensitive: f.Sensitive, Content: f.Content, Unkeyed: f.Unkeyed, Block: fields(f.Block)}
	}
	return out
}

func codes(in []string) []dag.Code {
	out := make([]dag.Code, len(in))
	for i, c := range in {
		out[i] = dag.Code(c)
	}
	return out
}
