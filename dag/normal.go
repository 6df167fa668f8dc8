package dag

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// normalVersion stands in every digest of this file: raising it makes all
// actions, trails and accept keys new.
const normalVersion = "dag/1"

// Part is one of the things that an action's digest is made of, named so that
// a plan can say which one changed.
type Part struct {
	Name   string
	Digest Digest
}

// Recipe is the static part of the stage's actions: all that does not need a
// plugin to be looked at. See RecipeParts.
func (s *Stage) Recipe() Digest { return SumParts(s.RecipeParts(Digest{}, Digest{})) }

// RecipeParts are what every action of the stage is made of besides its input
// and its sample: what the plugin does (given: the digest of the program, or of
// a bundled plugin's behaviour), what it is told, what it must answer with, and
// what it is lent (given: the provider plugin's digest, wire version included).
//
// Names of blocks, limits, timeouts, concurrency, attempts, samples, secrets
// and the address that a provider is reached at are not in it: changing those
// makes no action anew.
func (s *Stage) RecipeParts(plugin, provider Digest) []Part {
	parts := []Part{
		{"plugin", plugin},
		{"config", s.Config.Digest},
		{"schema", sourceOf(s.Schema)},
		{"provider", provider},
		{"model", Digest{}},
		{"sampling", Digest{}},
		{"volatile", Digest{}},
	}
	if s.Plugin != nil {
		parts[0].Digest = sumTexts("plugin", plugin.String(), s.Plugin.program())
	}
	if s.Decide != nil {
		n := newNormal("decide")
		n.decide(s.Decide)
		parts[0].Digest = n.sum()
	}
	if p := s.Provider; p != nil {
		parts[3].Digest = sumTexts("provider", provider.String(), p.Plugin.program())
		parts[4].Digest = sumTexts("model", p.Model)
		parts[5].Digest = samplingOf(p.Config)
	}
	if len(s.Volatile) > 0 {
		pointers := slices.Clone(s.Volatile)
		slices.Sort(pointers)
		parts[6].Digest = sumTexts("volatile", pointers...)
	}
	return parts
}

// SumParts is the recipe of a stage's actions, of its parts.
func SumParts(parts []Part) Digest {
	n := newNormal("recipe")
	for _, p := range parts {
		n.text(p.Name)
		n.digest(p.Digest)
	}
	return n.sum()
}

// ActionDigest is the identity of a visit, and the key under which its result
// is kept: a recipe, an input, and which of several samples it is (from 0).
func ActionDigest(recipe, input Digest, sample int) Digest {
	var b [len("action") + 2*sha256.Size + 8]byte
	n := copy(b[:], "action")
	n += copy(b[n:], recipe[:])
	n += copy(b[n:], input[:])
	binary.BigEndian.PutUint64(b[n:], uint64(sample))
	return Sum(b[:])
}

// samplingOf is a provider's configuration less the address it is reached at:
// the same model behind another address answers the same question.
func samplingOf(config Doc) Digest {
	if config.Bytes == nil || jsontext.Value(config.Bytes).Kind() != '{' {
		return config.Digest
	}
	n := newNormal("sampling")
	for _, m := range membersOf(config.Bytes) {
		if m.pointer() == "base_url" {
			continue
		}
		n.bytes(m.name)
		n.bytes(m.value)
	}
	return n.sum()
}

// Digest is the graph in normal form: all that decides where items go and what
// is asked of whom. Limits, timeouts, concurrency, attempts, positions,
// descriptions, layout and the names of plugins, providers, routes and the gate
// are not in it; nor are plugins' own digests, nor what a mode is decided to be
// at the start of a run.
func (g *Graph) Digest() Digest {
	x := g.indexed()
	x.sumOnce.Do(func() { x.digest = g.normal() })
	return x.digest
}

func (g *Graph) normal() Digest {
	n := newNormal("graph")
	sources := slices.Clone(g.Sources)
	slices.SortFunc(sources, func(a, b *Source) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range sources {
		n.text("source", s.Name, string(s.Code))
		n.digest(sourceOf(s.Schema))
	}
	stages := slices.Clone(g.Stages)
	slices.SortFunc(stages, func(a, b *Stage) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range stages {
		n.stage(s)
		if r := g.RouteFrom(s); r != nil {
			n.route(r)
		}
	}
	codes := slices.Clone(g.Codes)
	slices.SortFunc(codes, func(a, b *FailureCode) int { return strings.Compare(string(a.Code), string(b.Code)) })
	for _, c := range codes {
		n.text("code", string(c.Code), string(c.Triage))
	}
	if g.Gate != nil {
		n.gate(g.Gate)
	}
	return n.sum()
}

// Digest is the gate's checks, their arguments, and what else its verdicts hang
// on: it stands in every accept key.
func (gate *Gate) Digest() Digest {
	n := newNormal("gate")
	n.checks(gate)
	return n.sum()
}

// normal writes values so that no two different lists of them are the same
// bytes: each with its length before it.
type normal struct {
	h   hash.Hash
	buf [8]byte
}

func newNormal(kind string) *normal {
	n := &normal{h: sha256.New()}
	n.text(normalVersion, kind)
	return n
}

func sumTexts(kind string, texts ...string) Digest {
	n := newNormal(kind)
	n.list(texts)
	return n.sum()
}

func sourceOf(s Schema) Digest {
	if s == nil {
		return Digest{}
	}
	return s.Source().Digest
}

func (n *normal) sum() (d Digest) {
	n.h.Sum(d[:0])
	return d
}

func (n *normal) int(i int) {
	binary.BigEndian.PutUint64(n.buf[:], uint64(i))
	n.h.Write(n.buf[:])
}

func (n *normal) bytes(b []byte) {
	n.int(len(b))
	n.h.Write(b)
}

func (n *normal) text(texts ...string) {
	for _, s := range texts {
		n.bytes([]byte(s))
	}
}

func (n *normal) list(texts []string) {
	n.int(len(texts))
	n.text(texts...)
}

func (n *normal) bool(b bool) {
	if b {
		n.int(1)
	} else {
		n.int(0)
	}
}

func (n *normal) digest(d Digest) { n.h.Write(d[:]) }

// expr is the digest of each expression, zero where there is none.
func (n *normal) expr(list ...Expr) {
	for _, e := range list {
		if e == nil {
			n.digest(Digest{})
		} else {
			n.digest(e.Digest())
		}
	}
}

func (n *normal) stage(s *Stage) {
	n.text("stage", s.Name, string(s.Code), string(s.MustCode), s.Rescue)
	n.digest(s.Recipe())
	n.expr(s.Input, s.Outcome, s.Forward, s.MayChange)
	outcomes := slices.Clone(s.Outcomes)
	slices.Sort(outcomes)
	n.list(outcomes)
	n.bool(s.ForwardItem)
	n.bool(s.MustChange)
	n.bool(s.ReadsCorpus)
	n.int(s.Samples)
	n.int(s.Batch)
	if f := s.FanOut; f != nil {
		n.text("fan_out", string(f.Code))
		n.expr(f.Each, f.Key)
		n.int(f.Min)
		n.int(f.Max)
	}
	if f := s.Findings; f != nil {
		words := make([]string, 0, len(f.Codes))
		for word, code := range f.Codes {
			words = append(words, word+"\x00"+string(code))
		}
		slices.Sort(words)
		n.text("findings")
		n.list(words)
		n.mode(f.Mode)
	}
}

func (n *normal) decide(d *Decide) {
	n.int(len(d.Rules))
	for _, r := range d.Rules {
		n.text(r.Reason, r.Outcome)
		n.expr(r.If, r.Output)
	}
	n.findings(d.Findings)
}

func (n *normal) findings(rules []FindingRule) {
	n.int(len(rules))
	for _, r := range rules {
		n.text(string(r.Code), string(r.Triage))
		n.expr(r.If, r.Figure, r.Evidence)
		n.mode(r.Mode)
	}
}

// mode is how a mode is decided; what it comes to only where that is fixed.
func (n *normal) mode(m *Mode) {
	if m == nil {
		n.text("")
		return
	}
	n.text("mode", m.Name)
	n.expr(m.Value)
	n.bool(m.Value == nil && m.Apply)
}

func (n *normal) route(r *Route) {
	n.text("route")
	from := slices.Clone(r.From) // its stages share the counters of its arms
	slices.SortFunc(from, func(a, b *Stage) int { return strings.Compare(a.Name, b.Name) })
	n.stages(from)
	n.arm(r.To)
	outcomes := r.outcomes()
	slices.Sort(outcomes)
	n.int(len(outcomes))
	for _, o := range outcomes {
		n.text(o)
		n.arm(r.On[o])
	}
	n.int(len(r.Fail))
	for _, f := range r.Fail {
		n.text(string(f.Code))
		n.arm(f.Arm)
	}
}

func (n *normal) arm(a *Arm) {
	if a == nil {
		n.int(0)
		return
	}
	n.int(int(a.Kind))
	n.text(string(a.As), string(a.End), string(a.Code), a.Status)
	n.findings(a.Findings)
	n.mode(a.Mode)
	n.int(len(a.Branches))
	for _, b := range a.Branches {
		n.expr(b.If)
		n.arm(b.Arm)
	}
	n.arm(a.Else)
	n.arm(a.Shadow)
	if a.Stage != nil {
		n.text(a.Stage.Name)
	}
	n.bool(a.Bounded)
	n.int(a.Max)
	n.arm(a.Exhausted)
	if a.Ask != nil {
		n.ask(a.Ask)
	}
}

func (n *normal) ask(a *Ask) {
	n.text("ask")
	n.expr(a.Question, a.ResumeTo)
	n.stages(a.Resume)
	n.int(a.Max)
	n.digest(sourceOf(a.Schema))
	n.arm(a.Exhausted)
	n.arm(a.Expired)
}

func (n *normal) stages(list []*Stage) {
	n.int(len(list))
	for _, s := range list {
		n.text(s.Name)
	}
}

func (n *normal) gate(gate *Gate) {
	n.checks(gate)
	n.expr(gate.Bucket)
	n.int(len(gate.Candidate))
	for _, m := range gate.Candidate {
		n.text(m.Name)
		n.expr(m.Expr)
	}
	for _, c := range gate.Checks { // evidence names them; a verdict does not hang on it
		n.text(c.Name)
	}
	if c := gate.Corpus; c != nil {
		n.text("corpus", c.Kind, c.Evidence)
		n.expr(c.Data, c.ID, c.Record, c.EvidenceRecord)
	}
	if r := gate.Review; r != nil {
		n.text("review")
		n.expr(r.Subject, r.Target, r.Question, r.Purpose)
	}
}

func (n *normal) checks(gate *Gate) {
	n.text("checks", gate.Undecided)
	hosts := slices.Clone(gate.AllowHosts)
	slices.Sort(hosts)
	n.list(hosts)
	n.int(len(gate.SameOwner))
	for _, owner := range gate.SameOwner {
		n.list(owner)
	}
	n.int(len(gate.Checks))
	for _, c := range gate.Checks {
		n.check(c)
	}
}

func (n *normal) check(c *Check) {
	n.text("check", string(c.Kind), string(c.Code), string(c.Triage))
	n.expr(c.If)
	n.bool(c.Ends)
	n.mode(c.Mode)
	names := make([]string, 0, len(c.Args))
	for name := range c.Args {
		names = append(names, name)
	}
	slices.Sort(names)
	n.int(len(names))
	for _, name := range names {
		n.text(name)
		n.expr(c.Args[name])
	}
	n.digest(sourceOf(c.Schema))
	if c.Stage != nil {
		n.text(c.Stage.Name)
	}
	of := slices.Clone(c.Of)
	slices.SortFunc(of, func(a, b *Stage) int { return strings.Compare(a.Name, b.Name) })
	n.stages(of)
}
