package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/source"
)

// planFileVersion is the shape of a PlanFile.
const planFileVersion = 1

// PlanFile is a plan that a later run is held to, with all that it rests on.
type PlanFile struct {
	Version  int       `json:"version"`
	Penstock string    `json:"penstock"` // version that made it
	Pipeline string    `json:"pipeline"`
	Basis    PlanBasis `json:"basis"`
	Plan     *Planned  `json:"plan"`
}

// PlanBasis is what a plan rests on.
type PlanBasis struct {
	Graph    dag.Digest                       `json:"graph"`
	Trails   dag.Digest                       `json:"trails"` // of all that decides over whole trails: the graph, the gate, the recipes, the corpus
	Recipes  map[string]map[string]dag.Digest `json:"recipes"`
	Files    map[string]dag.Digest            `json:"files"` // of the sources, by path
	Corpus   dag.Digest                       `json:"corpus"`
	Sequence uint64                           `json:"sequence"` // of the last accepted record
	Breakers []string                         `json:"breakers,omitempty"`
	Flags    PlanFlags                        `json:"flags"`
}

// PlanFlags are the flags that a plan was made with and that change what is done.
type PlanFlags struct {
	Force  bool   `json:"force,omitzero"`
	Live   bool   `json:"live,omitzero"`
	Record string `json:"record,omitempty"` // the cassette that the run is to write
	Choice string `json:"choice,omitempty"` // as it stands on the command line
}

func (f PlanFlags) String() string {
	if f == (PlanFlags{}) {
		return "none"
	}
	return strings.TrimPrefix(f.Words(), " ")
}

// Words follow a command: each flag with a space before it.
func (f PlanFlags) Words() string {
	words := ""
	if f.Force {
		words += " -B"
	}
	if f.Live {
		words += " --live"
	}
	if f.Record != "" {
		words += " " + dag.Command("--record", f.Record)
	}
	if f.Choice != "" {
		words += " " + f.Choice
	}
	return words
}

// MakePlanFile plans, with every visit of every item, for a run that is held to it.
func MakePlanFile(ctx context.Context, o Options) (*PlanFile, error) {
	f := &PlanFile{Version: planFileVersion, Penstock: o.Version, Pipeline: o.Graph.Pipeline.Name}
	p, err := plan(ctx, o, looking{whole: true, at: func(e *engine) (err error) {
		f.Basis, err = e.basis()
		return err
	}})
	f.Plan = p
	return f, err
}

// DecodePlanFile reads what MakePlanFile made.
func DecodePlanFile(b []byte) (*PlanFile, error) {
	var f PlanFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("it is no plan: %w", err)
	}
	switch {
	case f.Version == 0 || f.Plan == nil:
		return nil, errors.New("it is no plan")
	case f.Version != planFileVersion:
		return nil, fmt.Errorf("it is a plan of shape %d; this version of Penstock reads shape %d", f.Version, planFileVersion)
	}
	return &f, nil
}

func (e *engine) basis() (PlanBasis, error) {
	b := PlanBasis{
		Graph: e.Graph.Digest(), Trails: e.graphKey, Corpus: e.gate.Corpus(), Breakers: e.tripped(),
		Recipes: map[string]map[string]dag.Digest{}, Files: map[string]dag.Digest{},
		Flags: PlanFlags{Force: e.Force, Live: e.Live, Record: e.Record, Choice: strings.Join(e.Choice.words(), " ")},
	}
	for i, s := range e.Graph.Stages {
		parts := map[string]dag.Digest{}
		for _, p := range e.recipes[i].parts {
			if !p.Digest.IsZero() {
				parts[p.Name] = p.Digest
			}
		}
		b.Recipes[s.Name] = parts
	}
	var err error
	if b.Sequence, err = e.gate.Sequence(); err != nil {
		return b, err
	}
	for _, s := range e.Graph.Sources {
		names, err := source.Files(e.Dir, s)
		if err != nil {
			return b, err
		}
		for _, name := range names {
			if b.Files[name], err = digestFile(filepath.Join(e.Dir, name)); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}

func digestFile(path string) (dag.Digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return dag.Digest{}, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return dag.Digest{}, err
	}
	return dag.Digest(h.Sum(nil)), nil
}

// Drift says what is not any more as it was when the plan was made; nothing where
// a run would do exactly what was planned.
func (f *PlanFile) Drift(now *PlanFile) []string {
	var drift []string
	say := func(format string, args ...any) { drift = append(drift, fmt.Sprintf(format, args...)) }
	was, is := f.Basis, now.Basis
	if f.Pipeline != now.Pipeline {
		say("the plan is of pipeline %q, this is %q", f.Pipeline, now.Pipeline)
	}
	if was.Flags != is.Flags {
		say("the plan was made with other flags: with %s, not with %s", was.Flags, is.Flags)
	}
	for _, name := range unionOfKeys(was.Files, is.Files) {
		a, before := was.Files[name]
		b, after := is.Files[name]
		switch {
		case !before:
			say("%s is new among the input files", name)
		case !after:
			say("%s is gone from the input files", name)
		case a != b:
			say("%s was edited", name)
		}
	}
	for _, stage := range unionOfKeys(was.Recipes, is.Recipes) {
		for _, part := range unionOfKeys(was.Recipes[stage], is.Recipes[stage]) {
			if was.Recipes[stage][part] != is.Recipes[stage][part] {
				say("stage %s: the %s changed", stage, partName(part))
			}
		}
	}
	switch {
	case was.Corpus != is.Corpus:
		say("it is another corpus")
	case was.Sequence != is.Sequence:
		say("the corpus moved on: %d records were accepted, %d are now", was.Sequence, is.Sequence)
	}
	for _, bucket := range is.Breakers {
		if !slices.Contains(was.Breakers, bucket) {
			say("the breaker of %s has opened", bucket)
		}
	}
	for _, bucket := range was.Breakers {
		if !slices.Contains(is.Breakers, bucket) {
			say("the breaker of %s was closed", bucket)
		}
	}
	if was.Graph != is.Graph {
		say("the pipeline was edited: its stages, routes, codes or gate are others")
	} else if was.Trails != is.Trails && len(drift) == 0 {
		say("the gate's checks, or the cassette, are others")
	}
	return append(drift, visitDrift(f.Plan, now.Plan)...)
}

// visitDrift compares what is to become of each visit.
func visitDrift(was, is *Planned) []string {
	type place struct {
		item, stage string
		pass        int
		waits       string
	}
	index := map[place]*PlannedVisit{}
	for i := range is.Visits {
		v := &is.Visits[i]
		index[place{v.Item, v.Stage, v.Pass, v.WaitsOn}] = v
	}
	var drift []string
	gone, other := 0, 0
	var firstGone, firstOther string
	for i := range was.Visits {
		v := &was.Visits[i]
		at := place{v.Item, v.Stage, v.Pass, v.WaitsOn}
		now := index[at]
		delete(index, at)
		if now != nil && now.State == v.State && now.Action == v.Action && now.Actions == v.Actions {
			continue
		}
		name := v.Stage + "[" + v.Item + "]"
		switch {
		case now != nil && v.State == PlanReuse && now.State == PlanRun && v.Action == now.Action:
			if gone++; gone == 1 {
				firstGone = name
			}
		default:
			if other++; other == 1 {
				firstOther = name + ", planned as " + string(v.State)
				if now != nil && now.State != v.State {
					firstOther += " and now " + string(now.State)
				}
			}
		}
	}
	if gone > 0 {
		drift = append(drift, fmt.Sprintf("%d answers that were to be reused are gone from staging, the first of %s", gone, firstGone))
	}
	if other > 0 {
		drift = append(drift, fmt.Sprintf("%d planned visits are others now, the first %s", other, firstOther))
	}
	if len(index) > 0 {
		first := ""
		for i := range is.Visits {
			v := &is.Visits[i]
			if index[place{v.Item, v.Stage, v.Pass, v.WaitsOn}] == v {
				first = v.Stage + "[" + v.Item + "]"
				break
			}
		}
		drift = append(drift, fmt.Sprintf("%d visits were not in the plan, the first %s", len(index), first))
	}
	if was.Settled != is.Settled {
		drift = append(drift, fmt.Sprintf("%d items were finished, %d are now", was.Settled, is.Settled))
	}
	return drift
}

func unionOfKeys[V any](a, b map[string]V) []string {
	var names []string
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
