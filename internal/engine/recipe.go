package engine

import (
	"crypto/sha256"
	"fmt"

	"github.com/penstock-run/penstock/dag"
)

// recipe is the part of a stage's actions that is the same for every item.
type recipe struct {
	digest dag.Digest
	parts  []dag.Part
	made   bool // an action with it is in the store
}

// prepare works out every stage's recipe, and the key of whole trails.
func (e *engine) prepare() error {
	e.recipes = make([]recipe, len(e.Graph.Stages))
	e.work = make([]*stageQueue, len(e.Graph.Stages))
	trails := sha256.New()
	put := func(d dag.Digest) { trails.Write(d[:]) }
	fmt.Fprint(trails, "trail/1\n")
	put(e.Graph.Digest())
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
		parts := s.RecipeParts(plugin, provider)
		if s.Provider != nil && !replay.IsZero() {
			parts = append(parts, dag.Part{Name: "replay", Digest: replay})
		}
		e.recipes[i] = recipe{digest: dag.SumParts(parts), parts: parts}
		put(e.recipes[i].digest)
		if e.planning == nil {
			if err := e.store.PutRecipe(e.recipes[i].digest, parts); err != nil {
				return err
			}
		}
	}
	trails.Sum(e.graphKey[:0])
	// Keys can repeat only where an expression makes them.
	for _, s := range e.Graph.Sources {
		if s.Key != nil || len(e.Graph.Sources) > 1 {
			e.intake.seen = map[uint64]uint64{}
		}
	}
	return nil
}
