package engine

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/completion"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/internal/staging"
)

// Side is one of two pipelines that are compared.
type Side struct {
	Graph *dag.Graph
	Dir   string // where the files lie that it names: programs, scripts, its cassette
}

// StaleOptions say which edit is asked about, and of which workspace.
type StaleOptions struct {
	Was, Is Side
	Dir     string // the workspace: its staging/ is read
	Live    bool   // the providers are called, whatever the pipelines replay

	Self    []string
	Bundled func(name string) (*dag.PluginInfo, bool)
	Memo    host.Memo        // may be nil
	Log     func(msg string) // told what is damaged; may be nil
}

// Stale is what an edit makes of what is recorded.
type Stale struct {
	// Stages are those whose actions change, or may, in order of declaration.
	Stages  []StaleStage `json:"stages"`
	Anew    Cost         `json:"anew"`    // of all whose actions are sure to be others
	Perhaps Cost         `json:"perhaps"` // of all the rest
	Gate    StaleGate    `json:"gate"`
	Notes   []string     `json:"notes,omitempty"` // what could not be compared as it was
}

// Sure reports whether some action is sure to be another than before.
func (s *Stale) Sure() bool {
	return slices.ContainsFunc(s.Stages, func(l StaleStage) bool { return len(l.Parts) > 0 })
}

// StaleStage is a stage of the newer pipeline whose recorded actions are asked
// anew, or may be.
type StaleStage struct {
	Stage    string   `json:"stage"`
	Provider string   `json:"provider,omitempty"`
	Parts    []string `json:"parts,omitempty"` // of its actions that change; empty: it hangs on Perhaps
	Perhaps  []string `json:"perhaps,omitempty"`
	Cost     Cost     `json:"cost"`
}

// Cost is what it takes at most to ask recorded actions anew.
type Cost struct {
	Actions int      `json:"actions"`
	Calls   *int     `json:"max_calls"` // nil: a plugin does not say how many it asks for
	Tokens  *int     `json:"tokens"`    // as recorded of those actions; nil: not all is
	USD     *float64 `json:"usd"`       // of those tokens at the price of now; nil: the price or the usage is not known
}

// StaleGate is what an edit makes of the verdicts on record.
type StaleGate struct {
	Verdicts int  `json:"verdicts"` // of the gate's checks, of the latest trails
	Anew     bool `json:"anew"`     // all of them are asked anew
	Perhaps  bool `json:"perhaps"`  // those whose candidates change
}

// StaleOf tells what of a workspace is no answer any more after an edit. It
// reads only.
func StaleOf(ctx context.Context, o StaleOptions) (_ *Stale, err error) {
	store, err := staging.Open(filepath.Join(o.Dir, "staging"), staging.Options{ReadOnly: true, Log: o.Log})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	out := &Stale{Stages: []StaleStage{}}
	c := &staleness{StaleOptions: o, out: out, changes: dag.Diff(o.Was.Graph, o.Is.Graph), lines: map[string]*StaleStage{}}
	if err := c.recipes(ctx); err != nil {
		return nil, err
	}
	c.sure(store)
	c.perhaps()
	if err := c.count(store); err != nil {
		return nil, err
	}
	c.collect()
	return out, c.gate(store)
}

// staleness is one comparison.
type staleness struct {
	StaleOptions
	out     *Stale
	changes *dag.Changes
	was, is map[string][]dag.Part // recipes by the stage's name
	lines   map[string]*StaleStage
}

// recipes works out the recipes of both sides.
func (c *staleness) recipes(ctx context.Context) (err error) {
	newer := &recipeBook{Side: c.Is, host: c.hostIn(c.Is.Dir)}
	older := &recipeBook{Side: c.Was, host: c.hostIn(c.Was.Dir), instead: newer}
	defer func() { err = errors.Join(err, newer.host.Close(ctx), older.host.Close(ctx)) }()
	if c.is, err = newer.read(c.Live); err != nil {
		return err
	}
	c.was, err = older.read(c.Live)
	c.out.Notes = older.notes
	return err
}

func (c *staleness) hostIn(dir string) *host.Host {
	return host.New(host.Options{Dir: dir, RunID: "diff", Self: c.Self, Bundled: c.Bundled, Memo: c.Memo})
}

// recipeBook works out the recipes of one side.
type recipeBook struct {
	Side
	host *host.Host
	// instead answers for files that this side lacks: what is built is not kept
	// under version control. Nil: that is an error.
	instead *recipeBook
	notes   []string
}

func (b *recipeBook) read(live bool) (map[string][]dag.Part, error) {
	recipes := map[string][]dag.Part{}
	replay, err := b.replay(live)
	if err != nil {
		return nil, err
	}
	for _, s := range b.Graph.Stages {
		if s.Plugin == nil {
			continue
		}
		plugin, err := b.plugin(s.Plugin)
		if err != nil {
			return nil, err
		}
		var provider dag.Digest
		if s.Provider != nil {
			if provider, err = b.plugin(s.Provider.Plugin); err != nil {
				return nil, err
			}
		}
		if recipes[s.Name], _, err = recipeParts(b.Dir, s, plugin, provider, replay); err != nil {
			return nil, err
		}
	}
	return recipes, nil
}

func (b *recipeBook) plugin(p *dag.Plugin) (dag.Digest, error) {
	digest, err := b.host.Digest(p)
	if err == nil || b.instead == nil {
		return digest, err
	}
	digest, other := b.instead.host.Digest(p)
	if other != nil {
		return dag.Digest{}, err
	}
	b.note("plugin " + p.Name + " is not there as it was; it is taken as it is now")
	return digest, nil
}

// replay is the digest of the cassette that answers in the place of providers.
func (b *recipeBook) replay(live bool) (dag.Digest, error) {
	name := b.Graph.Pipeline.Replay
	if name == "" || live {
		return dag.Digest{}, nil
	}
	digest, err := completion.Digest(filepath.Join(b.Dir, name))
	if errors.Is(err, fs.ErrNotExist) && b.instead != nil {
		if digest, err = completion.Digest(filepath.Join(b.instead.Dir, name)); err == nil {
			b.note("the cassette " + name + " is not there as it was; it is taken as it is now")
		}
	}
	return digest, err
}

func (b *recipeBook) note(text string) {
	if !slices.Contains(b.notes, text) {
		b.notes = append(b.notes, text)
	}
}

// line is the line of a stage, made where there is none.
func (c *staleness) line(s *dag.Stage) *StaleStage {
	if c.lines[s.Name] == nil {
		c.lines[s.Name] = &StaleStage{Stage: s.Name}
		if s.Provider != nil {
			c.lines[s.Name].Provider = s.Provider.Name
		}
	}
	return c.lines[s.Name]
}

// sure finds the stages whose recipe is another one.
func (c *staleness) sure(store *staging.Store) {
	for _, s := range c.Is.Graph.Stages {
		is, ok := c.is[s.Name]
		if !ok {
			continue
		}
		was, ok := c.was[s.Name]
		if !ok {
			if !store.HasRecipe(dag.SumParts(is)) { // a stage that was renamed has it
				c.line(s).Perhaps = []string{isNew}
			}
			continue
		}
		if dag.SumParts(was) != dag.SumParts(is) {
			c.line(s).Parts = changedParts(was, is)
		}
	}
}

// changedParts names the parts of a recipe that differ, each once: several files
// of content have one name.
func changedParts(was, is []dag.Part) []string {
	var names []string
	digests := func(parts []dag.Part, name string) (all []dag.Digest) {
		for _, p := range parts {
			if p.Name == name {
				all = append(all, p.Digest)
			}
		}
		return all
	}
	for _, p := range slices.Concat(is, was) {
		if !slices.Contains(names, p.Name) && !slices.Equal(digests(was, p.Name), digests(is, p.Name)) {
			names = append(names, p.Name)
		}
	}
	return names
}

// isNew is why a stage is asked that no earlier pipeline had.
const isNew = "it is new"

// scheduling are the attributes of a stage that change no document.
var scheduling = []string{
	"timeout", "retry.attempts", "retry.backoff", "retry.max_backoff", "concurrency", "batch.size", "max_age", "cache", "independent_of",
}

// perhaps finds the stages that may be given another input than before.
func (c *staleness) perhaps() {
	seeds := map[string]bool{}
	for name := range c.lines {
		seeds[name] = true
	}
	for _, ch := range c.changes.Stages {
		s := c.Is.Graph.Stage(ch.Name)
		if ch.How == dag.Removed {
			continue
		}
		for _, a := range ch.Attributes {
			seeds[ch.Name] = seeds[ch.Name] || !slices.Contains(scheduling, a.Name)
			if a.Name != "input" && a.Name != "samples" || ch.How == dag.Added || s.Plugin == nil {
				continue
			}
			line := c.line(s)
			line.Perhaps = append(line.Perhaps, "its "+a.Name+" changed")
		}
	}
	for _, r := range c.changes.Routes {
		seeds[r.Stage] = true
	}
	for _, from := range c.Is.Graph.Stages {
		if !seeds[from.Name] {
			continue
		}
		for _, s := range c.Is.Graph.Downstream(from) {
			if s.Plugin != nil && (c.lines[s.Name] == nil || len(c.lines[s.Name].Parts) == 0) {
				line := c.line(s)
				line.Perhaps = append(line.Perhaps, "after stage."+from.Name)
			}
		}
	}
	for _, line := range c.lines {
		if len(line.Parts) > 0 {
			line.Perhaps = nil // it is sure
		}
	}
}

// collect puts the lines in order and adds them up.
func (c *staleness) collect() {
	c.out.Anew, c.out.Perhaps = noCost(), noCost()
	for _, s := range c.Is.Graph.Stages {
		line := c.lines[s.Name]
		if line == nil {
			continue
		}
		c.out.Stages = append(c.out.Stages, *line)
		if len(line.Parts) > 0 {
			c.out.Anew.add(line.Cost)
		} else {
			c.out.Perhaps.add(line.Cost)
		}
	}
}

// gate counts the verdicts that the checks gave.
func (c *staleness) gate(store *staging.Store) error {
	g := &c.out.Gate
	was, is := c.Was.Graph, c.Is.Graph
	g.Anew = gate.DigestOf(was.Gate) != gate.DigestOf(is.Gate) || was.Pipeline.Name != is.Pipeline.Name
	candidate := func(a dag.Attribute) bool { return strings.HasPrefix(a.Name, "candidate.") }
	g.Perhaps = !g.Anew && (len(c.out.Stages) > 0 || len(c.changes.Routes) > 0 || slices.ContainsFunc(c.changes.Gate, candidate))
	var failed error
	err := store.Trails(func(t *staging.Trail) bool {
		members, err := DecodeFamily(t.Body)
		if err != nil {
			failed = err
			return false
		}
		for _, m := range members {
			if judged(m.Trail) {
				g.Verdicts++
			}
		}
		return true
	})
	return errors.Join(err, failed)
}

// judged reports whether an item ended by the gate's checks: what is only
// recorded there does not hang on them.
func judged(t *dag.Trail) bool {
	if t == nil || !t.End.Final() || t.As != "" || len(t.Decisions) == 0 {
		return false
	}
	return strings.HasPrefix(t.Decisions[len(t.Decisions)-1].To, "gate.")
}
