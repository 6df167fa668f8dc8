package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

func stageInfo(i *proto.StageInfo) *dag.PluginInfo {
	codes := make([]dag.Code, len(i.Codes))
	for n, c := range i.Codes {
		codes[n] = dag.Code(c)
	}
	return &dag.PluginInfo{
		Name: i.Name, Version: i.Version, Behaviour: i.Behaviour, Kind: "stage",
		Config: configFields(i.Config), Outcomes: i.Outcomes, Codes: codes,
		Deterministic: i.Deterministic, Services: i.Services, Batches: i.Batches,
	}
}

func providerInfo(i *proto.ProviderInfo) *dag.PluginInfo {
	return &dag.PluginInfo{
		Name: i.Name, Version: i.Version, Behaviour: i.Behaviour, Kind: "provider",
		Config: configFields(i.Config), WireVersion: i.WireVersion,
	}
}

func configFields(in []*proto.ConfigField) []dag.ConfigField {
	var out []dag.ConfigField
	for _, f := range in {
		field := dag.ConfigField{
			Name: f.Name, Type: f.Type, Required: f.Required, Default: f.Default, Doc: f.Doc, Sensitive: f.Sensitive, Content: f.Content, Unkeyed: f.Unkeyed,
		}
		if f.IsBlock {
			field.Block = append([]dag.ConfigField{}, configFields(f.Block)...)
		}
		out = append(out, field)
	}
	return out
}

// result turns what a plugin said into a Result.
func (p *process) result(v *visit, r *proto.Result, now time.Time) Result {
	out := Result{Visit: r.Visit, Notes: r.Notes, Facts: v.end(now), Completions: v.given}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, dag.PluginFinding{
			Word: f.Word, Triage: dag.Triage(f.Triage), Figure: f.Figure, Evidence: f.Evidence,
		})
	}
	f := r.Failure
	if f == nil {
		out.Word, out.Output = r.Outcome, r.Output
		if len(r.Output) == 0 {
			out.Err = p.misbehaved(v, errors.New("its result has neither an output nor a failure"))
		}
		return out
	}
	code := dag.Code(f.Code)
	switch {
	case f.Infrastructure:
		if code.Class() != dag.Infrastructure {
			code = dag.EUnavailable
		}
		out.Err = &dag.Error{Op: "visit stage", Subject: v.task.Stage.Name, Kind: dag.KindInfrastructure, Code: code,
			Err: errors.New(cmp.Or(f.Message, "the plugin gives no reason"))}
		out.RetryAfter = time.Duration(f.RetryAfterMillis) * time.Millisecond
	case code == "" || code.Class() != dag.Content:
		out.Err = p.misbehaved(v, fmt.Errorf("it failed the item with the code %q, which is none of content", f.Code))
	case !p.declares(v.task.Stage, code):
		out.Err = p.misbehaved(v, fmt.Errorf("it failed the item with the code %q, which it does not declare (%s)", f.Code, f.Message))
	default:
		out.Failure = &dag.Failure{Code: code, Message: f.Message}
		if len(f.Details) > 0 && jsontext.Value(f.Details).IsValid() && len(f.Details) <= 1024 {
			out.Failure.Message += " " + string(f.Details)
		}
	}
	return out
}

// declares tells whether a plugin may name a code: one that it has declared, or
// one of the engine's, whose meanings everybody knows.
func (p *process) declares(stage *dag.Stage, code dag.Code) bool {
	return strings.HasPrefix(string(code), "E_") || stage.Info == nil || slices.Contains(stage.Info.Codes, code)
}

func (p *process) misbehaved(v *visit, cause error) *dag.Error {
	return &dag.Error{Op: "visit stage", Subject: v.task.Stage.Name, Kind: dag.KindInfrastructure, Code: dag.EPlugin,
		Err: fmt.Errorf("plugin %s broke the protocol: %w", p.slot.plugin.Name, cause)}
}

// level is a log level that we know.
func level(s string) string {
	switch s {
	case "debug", "info", "warn", "error":
		return s
	case "trace":
		return "debug"
	case "warning":
		return "warn"
	case "fatal", "panic", "critical":
		return "error"
	}
	return "info"
}
