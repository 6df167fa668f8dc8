package sdk

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/plugins/proto"
)

// Stage is a stage plugin: what it says of itself, and how it runs.
// One process may serve several stages of a pipeline.
type Stage struct {
	Info Info
	// Configure prepares one stage of a pipeline and gives the function that
	// runs its visits. An error that is Diagnostics is shown at the place of the
	// pipeline that each names. Nil: Run serves every stage as it is.
	Configure func(ctx context.Context, config Config) (Func, error)
	// Run is for plugins without a configuration, instead of Configure.
	Run Func
	// End is called before the process ends, unless it is killed, perhaps more than
	// once: what it started in other process groups than its own has to end then.
	End func()
}

// Func is one visit. It may be called by many goroutines at once.
//
// The error is a *Failure (see Fail and Infra), or any other error, which
// counts as infrastructure: the visit may be tried again.
type Func func(ctx context.Context, v *Visit) (Result, error)

// Info is what a stage plugin says of itself.
type Info struct {
	Name    string
	Version string
	// Behaviour changes when the same action may give another result: "split/2".
	Behaviour     string
	Config        []Field  // schema of `config {}`
	Outcomes      []string // words a visit can end with; empty: any
	Codes         []string // failure codes that it can name
	Deterministic bool     // the same input gives the same output
	Services      []string // what it asks of the host: "complete"
	Batches       bool     // takes a list of inputs in one visit
}

// Field is one attribute, or one nested block, of a plugin's configuration.
type Field struct {
	Name      string
	Type      string // cty type expression: "string", "number", "bool", "list(string)", "map(string)", "any"
	Required  bool
	Default   string // JSON; empty: null
	Doc       string
	Sensitive bool
	Content   bool    // globs, relative to the pipeline's directory, of files whose content belongs to the action
	Unkeyed   bool    // changes how the plugin works and never what comes of it: part of no action, so that a change runs nothing anew
	Block     []Field // not nil: a nested block with these fields, Type is empty
}

// Config is the configuration of one stage.
type Config struct {
	Stage        string
	JSON         []byte // an object, as the schema in Info.Config gives it
	OutputSchema []byte // JSON Schema of the output; empty: any JSON
	Scratch      string // the only folder that the plugin may write to
	Directory    string // the pipeline's directory, to read from
	RunID        string
}

// Into decodes the configuration; a member that the target does not have is an error.
func (c Config) Into(target any) error { return decodeConfig(c.JSON, target) }

func decodeConfig(raw []byte, target any) error {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	if err := json.Unmarshal(raw, target, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	return nil
}

// Result is what a visit ended with.
type Result struct {
	// Outcome is the word; empty: the stage's own expression decides, or "ok".
	Outcome string
	// Output is the output document: []byte is JSON as it stands, anything else
	// is encoded. Nil is JSON's null.
	Output   any
	Findings []Finding
	Notes    []string // for the trail, a line each
}

// Finding is what a stage proposes about an item, in the plugin's own word.
type Finding struct {
	Word     string
	Triage   string // "review", "quarantine", "skip", "reject"; empty: as the code declares
	Figure   *float64
	Evidence string // one line
}

// Diagnostic is a complaint about a configuration.
type Diagnostic struct {
	Summary string   // constant words
	Detail  string   // what, why, and what to write instead
	Path    []string // attribute path in config; empty: the block itself
	Warning bool
}

// Diagnostics is an error of Configure that names places.
type Diagnostics []Diagnostic

func (d Diagnostics) Error() string {
	switch len(d) {
	case 0:
		return "no diagnostics"
	case 1:
		return d[0].Summary
	}
	return fmt.Sprintf("%s, and %d more", d[0].Summary, len(d)-1)
}

func (i Info) proto() *proto.StageInfo {
	return &proto.StageInfo{
		Name: i.Name, Version: i.Version, Behaviour: i.Behaviour,
		Config: fields(i.Config), Outcomes: i.Outcomes, Codes: i.Codes,
		Deterministic: i.Deterministic, Services: i.Services, Batches: i.Batches,
	}
}

func fields(in []Field) []*proto.ConfigField {
	out := make([]*proto.ConfigField, len(in))
	for i, f := range in {
		out[i] = &proto.ConfigField{
			Name: f.Name, Type: f.Type, Required: f.Required, Default: f.Default, Doc: f.Doc,
			Sensitive: f.Sensitive, Content: f.Content, Unkeyed: f.Unkeyed, IsBlock: f.Block != nil, Block: fields(f.Block),
		}
	}
	return out
}

// configureReply turns an error of an author's Configure into what travels.
func configureReply(handle uint32, err error) *proto.ConfigureReply {
	if err == nil {
		return &proto.ConfigureReply{Handle: handle}
	}
	list, ok := err.(Diagnostics)
	if !ok {
		list = Diagnostics{{Summary: "The plugin refuses this configuration", Detail: err.Error()}}
	}
	reply := &proto.ConfigureReply{Handle: handle}
	for _, d := range list {
		reply.Diagnostics = append(reply.Diagnostics, &proto.Diagnostic{
			Summary: clean(d.Summary), Detail: clean(d.Detail), Path: d.Path, Warning: d.Warning,
		})
	}
	return reply
}
