package engine

import (
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/staging"
)

// readTold reads what a recipe was told; nil where that is not known.
func readTold(store *staging.Store, parts []dag.Part) *told {
	digest := partOf(parts, toldPart)
	if digest.IsZero() {
		return nil
	}
	b, err := store.Get(digest)
	if err != nil {
		return nil
	}
	t := &told{}
	if json.Unmarshal(b, t) != nil {
		return nil
	}
	return t
}

// recipeChanges compares the parts of two recipes, in full where it is known
// what both were told.
func recipeChanges(old, now []dag.Part, was, is *told) []Change {
	if is == nil {
		was = nil
	}
	var changes []Change
	for _, part := range now {
		if before := partOf(old, part.Name); part.Name != toldPart && before != part.Digest {
			changes = append(changes, partChanges(part.Name, before, part.Digest, was, is)...)
		}
	}
	for _, part := range old {
		if part.Name != toldPart && !part.Digest.IsZero() && !slices.ContainsFunc(now, func(p dag.Part) bool { return p.Name == part.Name }) {
			changes = append(changes, Change{Part: part.Name, Old: part.Digest.Short()})
		}
	}
	return changes
}
