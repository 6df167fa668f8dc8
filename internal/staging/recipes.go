package staging

import (
	"maps"
	"slices"

	"github.com/penstock-run/penstock/dag"
)

const (
	kindRecipe = 'r' // a recipe with its parts
	kindUsed   = 'u' // an action was made with this recipe
)

// actionRecipes knows which recipes were ever used, in a small log of its own:
// when every stage has changed, a plan asks it instead of the index of actions.
type actionRecipes struct {
	store *Store
	log   appendLog
	parts map[dag.Digest][]dag.Part
	used  map[dag.Digest]struct{}
	// doubtful: a part of the log is lost, so what is not in used may have been used.
	doubtful bool
}

func (x *actionRecipes) open(s *Store) {
	x.store, x.log = s, s.newLog("recipes.log")
	x.parts, x.used = map[dag.Digest][]dag.Part{}, map[dag.Digest]struct{}{}
	note := x.log.note
	x.log.note = func(format string, args ...any) {
		x.doubtful = true // every note of a log is about something lost
		note(format, args...)
	}
	x.log.apply = func(kind byte, payload []byte, at int64) { x.enter(kind, payload) }
	x.log.placed = func(kind byte, payload []byte, pending uint64, at int64) {
		if at == 0 {
			x.enter(kind, payload)
		}
	}
}

func (x *actionRecipes) enter(kind byte, payload []byte) {
	r := reader{b: payload}
	recipe := r.digest()
	if r.short {
		return
	}
	switch kind {
	case kindUsed:
		x.used[recipe] = struct{}{}
	case kindRecipe:
		parts := make([]dag.Part, 0, 8)
		for n := r.count(); n > 0; n-- {
			parts = append(parts, dag.Part{Name: r.text(), Digest: r.digest()})
		}
		if !r.short {
			x.parts[recipe] = parts
		}
	}
}

// use notes that an action with this recipe is about to be recorded.
func (x *actionRecipes) use(recipe dag.Digest) error {
	if err := x.log.load(); err != nil {
		return err
	}
	if _, known := x.used[recipe]; known {
		return nil
	}
	_, _, err := x.log.add(kindUsed, func(b []byte) []byte { return append(b, recipe[:]...) })
	if err == nil {
		x.used[recipe] = struct{}{}
	}
	return err
}

// HasRecipe reports whether any action may ever have been made with this
// recipe. False is certain, and cheap: then no action need be looked for.
func (s *Store) HasRecipe(recipe dag.Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.recipes.log.load(); err != nil {
		return true // whoever then looks for an action meets the error
	}
	_, used := s.recipes.used[recipe]
	return used || s.recipes.incomplete()
}

// incomplete reports whether there are actions whose recipes this log may have lost.
func (x *actionRecipes) incomplete() bool {
	if x.doubtful {
		return true
	}
	if len(x.used) > 0 {
		return false
	}
	actions := &x.store.actions.log
	if err := actions.open(); err != nil || actions.f == nil {
		return err != nil
	}
	info, err := actions.f.Stat()
	return err != nil || info.Size() > logHead
}

// PutRecipe records what a recipe is made of, once.
func (s *Store) PutRecipe(recipe dag.Digest, parts []dag.Part) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.recipes.log.load(); err != nil {
		return err
	}
	if known, ok := s.recipes.parts[recipe]; ok && slices.Equal(known, parts) {
		return nil
	}
	_, _, err := s.recipes.log.add(kindRecipe, func(b []byte) []byte {
		b = putUint(append(b, recipe[:]...), uint64(len(parts)))
		for _, part := range parts {
			b = append(putText(b, part.Name), part.Digest[:]...)
		}
		return b
	})
	if err == nil {
		s.recipes.parts[recipe] = slices.Clone(parts)
	}
	return err
}

// Recipe gives the parts of a recipe.
func (s *Store) Recipe(recipe dag.Digest) ([]dag.Part, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recipes.log.load() != nil {
		return nil, false
	}
	parts, ok := s.recipes.parts[recipe]
	return slices.Clone(parts), ok
}

// Recipes lists the recipes whose parts are known, in no order.
func (s *Store) Recipes() []dag.Digest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recipes.log.load() != nil {
		return nil
	}
	return slices.Collect(maps.Keys(s.recipes.parts))
}
