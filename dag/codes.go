package dag

import (
	"fmt"
	"maps"
	"slices"
)

// CodeInfo describes a code of the engine.
type CodeInfo struct {
	Code    Code
	Meaning string // a sentence
	Do      string // what a user does about it, a sentence
}

// EngineCodes lists the codes of the engine: those of content first, in the
// order in which an item can meet them, then those of infrastructure.
func EngineCodes() []CodeInfo { return engineCodes }

var engineCodes = []CodeInfo{
	{EInput, "The item is not one strict JSON document, or does not fit its source's schema.", "Mend the line that the rejection names; the rest of the file goes on."},
	{EDuplicateKey, "Another item with other bytes has this key.", "Put into the source's key what tells the two apart, or remove one of them."},
	{EBucket, "The bucket's name is not usable as a path.", "Build `bucket` of parts like [a-z0-9][a-z0-9_-]*."},
	{EExpr, "An expression could not be evaluated on this item.", "Guard the value with `try`, `lookup` or a schema that requires it."},
	{EOutput, "The output is not JSON, or does not fit the stage's output schema.", "See what is wrong with it with `penstock show ITEM`; mend the prompt or the schema, or route it with `fail`."},
	{EMalformed, "The model's answer is not JSON.", "Ask for JSON in the prompt; the output schema is passed to providers that know it."},
	{ETruncated, "The model's answer was cut off at its limit of tokens.", "Raise `max_tokens` in the stage's config, or ask for less."},
	{ERefused, "The model refused to answer.", "Change the prompt or the provider, or route it with `fail`."},
	{EOutcome, "The stage ended with an outcome that it does not declare.", "Declare the word in `outcomes`, or mend what gives it."},
	{EMask, "The stage changed what `may_change` does not allow, or nothing where it must change something.", "Route it, or say in the prompt what may be changed."},
	{EFinding, "The plugin left a finding whose word `findings.codes` does not map.", "Map the word to a declared code."},
	{EMissing, "A batch came back without this item.", "Mend the plugin: it answers each item of a batch."},
	{EFanOut, "The list that fans out has a wrong count, or a key twice.", "Mend the stage that makes it; `exactly`, `min` and `max` bound the count."},
	{EExhausted, "An edge with `max` was asked for once too often.", "Say in `exhausted` what happens then, or raise `max`."},
	{EExec, "The command ended with a status that `exits` does not list.", "List the status in `exits`, or mend the command; its words stand in the trail."},
	{EPluginCrash, "The same item crashed its plugin twice.", "Mend the plugin; its last words stand in the trail."},
	{EDocument, "A document is over the limit of a message.", "Make it smaller, or pass its path instead."},

	{ETimeout, "An attempt took longer than the stage's `timeout`.", "Run again to go on; raise `timeout` where it is too short."},
	{EUnavailable, "A plugin, a provider or a server did not answer.", "Run again when it does: nothing is lost and nothing is paid for twice."},
	{ERateLimited, "The provider's limit was reached, and stayed so for longer than a run waits.", "Run again later, or lower `limits` of the provider."},
	{EOverloaded, "The provider was overloaded for longer than a run waits.", "Run again later."},
	{EAuth, "The provider refused the credentials.", "Set the key that the provider's block names, and run again."},
	{EQuota, "The provider's quota, or the run's budget, is used up.", "Raise the one that the message names, and run again: what was paid for is kept."},
	{EPlugin, "A plugin broke the protocol.", "Mend the plugin; the message says how."},
	{EStore, "A document is gone or damaged, or a disk failed.", "Make room or mend the disk, and run again; what is gone is made anew."},
	{EReplayMiss, "The cassette does not hold what was asked for.", "Record it with `penstock run --live --record FILE`."},
}

// CodeUse is a place that gives a code.
type CodeUse struct {
	What string // `check "leak" of gate "accept"`
	Pos  Pos
}

// CodeUses lists the places of the pipeline that give a code, in the order of
// the file's parts: sources, stages, routes, the gate.
func (g *Graph) CodeUses(code Code) []CodeUse {
	u := codeUses{code: code}
	for _, s := range g.Sources {
		u.add(s.Code, s.Pos, "source %q", s.Name)
	}
	for _, s := range g.Stages {
		u.stage(s)
	}
	for _, r := range g.Routes {
		u.arm(r, r.To)
		for _, word := range r.Order {
			u.arm(r, r.On[word])
		}
		for _, f := range r.Fail {
			u.arm(r, f.Arm)
		}
	}
	if g.Gate != nil {
		for _, c := range g.Gate.Checks {
			u.add(c.Code, c.Pos, "check %q of gate %q", c.Kind, g.Gate.Name)
		}
	}
	return u.found
}

type codeUses struct {
	code  Code
	found []CodeUse
}

func (u *codeUses) add(code Code, at Pos, format string, args ...any) {
	if code == u.code {
		u.found = append(u.found, CodeUse{fmt.Sprintf(format, args...), at})
	}
}

func (u *codeUses) stage(s *Stage) {
	u.add(s.Code, s.Pos, "stage %q", s.Name)
	u.add(s.MustCode, s.Pos, "must_change of stage %q", s.Name)
	if s.FanOut != nil {
		u.add(s.FanOut.Code, s.FanOut.Pos, "fan_out of stage %q", s.Name)
	}
	if s.Info != nil {
		for _, code := range s.Info.Codes {
			u.add(code, s.Pos, "the plugin of stage %q", s.Name)
		}
	}
	if s.Findings != nil {
		for _, word := range slices.Sorted(maps.Keys(s.Findings.Codes)) {
			u.add(s.Findings.Codes[word], s.Pos, "findings of stage %q, for the word %q", s.Name, word)
		}
	}
	if s.Decide != nil {
		u.findings(s.Decide.Findings, "stage", s.Name)
	}
}

func (u *codeUses) findings(rules []FindingRule, what, name string) {
	for _, f := range rules {
		u.add(f.Code, f.Pos, "finding %q of %s %q", f.Name, what, name)
	}
}

func (u *codeUses) arm(r *Route, a *Arm) {
	if a == nil {
		return
	}
	u.add(a.Code, a.Pos, "route %q", r.Name)
	u.findings(a.Findings, "route", r.Name)
	for _, b := range a.Branches {
		u.arm(r, b.Arm)
	}
	for _, next := range []*Arm{a.Else, a.Exhausted, a.Shadow} {
		u.arm(r, next)
	}
	if a.Ask != nil {
		u.arm(r, a.Ask.Exhausted)
		u.arm(r, a.Ask.Expired)
	}
}
