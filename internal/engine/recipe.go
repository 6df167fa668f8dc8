package engine

import (
	"crypto/sha256"
	"fmt"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

// recipe is the part of a stage's actions that is the same for every item.
type recipe struct {
	digest dag.Digest
	parts  []dag.Part
	files  *files // that belong to its actions; nil: none do
	made   bool   // an action with it may be in the store
	told   *told
}

// prepare works out every stage's recipe, and the key of whole trails.
func (e *engine) prepare() error {
	e.recipes = make([]recipe, len(e.Graph.Stages))
	e.work = make([]*stageQueue, len(e.Graph.Stages))
	trails := sha256.New()
	put := func(d dag.Digest) { trails.Write(d[:]) }
	fmt.Fprint(trails, "trail/1\n")
	put(e.Graph.Digest())
	put(gate.DigestOf(e.Graph.Gate)) // with the behaviour of its checks, which the graph does not know
	if e.pages != nil {
		put(e.pages.Source())
	}
	put(e.gate.Corpus())
	replay, err := e.replayDigest()
	if err != nil {
		return err
	}
	for i, s := range e.Graph.Stages {
		e.work[i] = &stageQueue{stage: s}
		if s.Plugin == nil {
			continue
		}
		plugin, err := e.host.Digest(s.Plugin)
		if err != nil {
			return err
		}
		var provider dag.Digest
		if s.Provider != nil {
			if provider, err = e.host.Digest(s.Provider.Plugin); err != nil {
				return err
			}
		}
		parts, files, err := recipeParts(e.Dir, s, plugin, provider, replay)
		if err != nil {
			return err
		}
		e.recipes[i] = recipe{digest: dag.SumParts(parts), parts: parts, files: files}
		e.recipes[i].made = e.store.HasRecipe(e.recipes[i].digest)
		put(e.recipes[i].digest)
		if e.planning == nil {
			if err := e.keepTold(s, &e.recipes[i]); err != nil {
				return err
			}
		}
	}
	trails.Sum(e.graphKey[:0])
	e.intake.sources, e.intake.ways = e.sourceKeys(), map[*dag.Source]dag.Digest{}
	for s, key := range e.intake.sources {
		e.intake.ways[s] = dag.Sum(append(e.graphKey[:], key[:]...))
	}
	// Keys can repeat only where an expression makes them.
	for _, s := range e.Graph.Sources {
		if s.Key != nil || len(e.Graph.Sources) > 1 {
			e.intake.seen = map[uint64]uint64{}
		}
	}
	return nil
}

// recipeParts are all parts of a stage's recipe. A replay is the digest of the
// cassette that answers in the place of providers, zero where they are called.
func recipeParts(dir string, s *dag.Stage, plugin, provider, replay dag.Digest) ([]dag.Part, *files, error) {
	parts := s.RecipeParts(plugin, provider)
	content, files, err := content(dir, s)
	if err != nil {
		return nil, nil, err
	}
	parts = append(parts, content...)
	if s.Provider != nil && !replay.IsZero() {
		parts = append(parts, dag.Part{Name: "replay", Digest: replay})
	}
	return parts, files, nil
}
