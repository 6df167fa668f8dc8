package engine

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/staging"
)

// Change is a part of an action that is not as it was when the stage last
// visited the item.
type Change struct {
	Part string `json:"part"`           // "config", "input", "plugin", "model", "sampling", "schema", "provider", "volatile", "files", "replay", "sample"
	Path string `json:"path,omitempty"` // inside of it: "template line 12", "/cards/0/q"
	Old  string `json:"old,omitempty"`  // cut at 200 bytes; of a part that is known by its digest alone, the digest
	New  string `json:"new,omitempty"`
}

// String is the change as a plan names it: "config.template line 12".
func (c Change) String() string {
	switch {
	case c.Path == "":
		return partName(c.Part)
	case strings.HasPrefix(c.Path, "/"):
		return partName(c.Part) + " " + c.Path
	}
	return partName(c.Part) + "." + c.Path
}

// partName is the word that a pipeline has for a part.
func partName(part string) string {
	switch part {
	case "replay":
		return "cassette"
	case "sampling":
		return "provider config"
	}
	return part
}

// changesNamed bounds how many changes one line names.
const changesNamed = 3

// partsOf names changes on one line.
func partsOf(changes []Change) string {
	words := make([]string, 0, changesNamed+1)
	for i, c := range changes {
		if i == changesNamed {
			words = append(words, "and "+countOf(len(changes)-changesNamed)+" more")
			break
		}
		words = append(words, c.String())
	}
	return strings.Join(words, ", ")
}

func countOf(n int) string {
	b, err := json.Marshal(n)
	if err != nil {
		panic("engine: a number that is not JSON: " + err.Error())
	}
	return string(b)
}

// whyRun says why a visit is made: what of its action is not as it was when the
// stage last visited this item, or why what was made then does not count.
func (e *engine) whyRun(it *item, step dag.Step, sample int, action dag.Digest) (string, []Change) {
	if rule := e.anewBy(it, step.Stage.Name, step.Pass); e.overruled(rule, step.Stage, action) {
		return rule.why(), nil
	}
	prior, known := e.priorVisit(it, step)
	switch {
	case !known && prior == nil:
		return "new item", nil
	case prior == nil && step.Pass > 1:
		return "pass " + countOf(step.Pass) + " is new", nil
	case prior == nil:
		return "new to this stage", nil
	case prior.Action.IsZero():
		return "its last visit gave no answer", nil
	}
	if prior.Action == action {
		return e.whyNotReused(step.Stage), nil
	}
	last, ok := e.recipeOf(prior)
	if !ok {
		return "what its last visit gave is gone from staging", nil
	}
	changes := e.recipeChanges(step.Stage, last)
	if prior.Input != step.Input.Digest {
		changes = append(changes, e.inputChanges(prior.Input, step.Input)...)
	}
	if sample > 0 && len(changes) == 0 {
		return "a further sample", nil
	}
	if len(changes) == 0 {
		return "what it gave is gone from staging", nil
	}
	return "changed: " + partsOf(changes), changes
}

// whyNotReused says why the very same action is made again.
func (e *engine) whyNotReused(s *dag.Stage) string {
	switch {
	case e.Force:
		return "-B: nothing is answered from staging"
	case e.Record != "" && s.Provider != nil:
		return "--record: every answer is asked for anew"
	case s.Cache != nil && !*s.Cache:
		return "the stage says `cache = false`"
	case s.HasMaxAge:
		return "what it gave is older than max_age"
	}
	return "what it gave is gone from staging"
}

// priorVisit finds the visit of a stage, in the same pass, on the item's last
// trail; known tells whether the item has a trail at all.
func (e *engine) priorVisit(it *item, step dag.Step) (visit *dag.Visit, known bool) {
	f := it.family
	if !f.looked {
		f.looked = true
		if trail, ok := e.lastTrail(f); ok {
			f.before = membersOf(trail)
		}
	}
	i := slices.IndexFunc(f.before, func(m Member) bool { return m.Key == it.key })
	if i < 0 || f.before[i].Trail == nil {
		return nil, false
	}
	visits := f.before[i].Trail.Visits
	for n := range visits {
		if v := &visits[n]; v.Stage == step.Stage.Name && v.Pass == step.Pass {
			visit = v
		}
	}
	return visit, true
}

// lastTrail finds a family's latest trail. Where nothing was ever made with the
// first stage's recipe, planKnown reads the intakes of all anyway.
func (e *engine) lastTrail(f *family) (*staging.Trail, bool) {
	if !e.planning.how.whole && !e.recipes[e.Graph.First.Index].made {
		if trail, ok := e.store.TrailOfIntake(f.intake); ok {
			return trail, true
		}
	}
	return e.store.TrailByItem(f.source, f.members[0].key)
}

// membersOf reads a trail's record; none where it does not read as one.
func membersOf(t *staging.Trail) []Member {
	members, err := DecodeFamily(t.Body)
	if err != nil {
		return nil
	}
	return members
}

// recipeOf finds the recipe of a visit's action: that which makes this action of
// its input. There are few recipes, and the index of all actions is dear to load.
func (e *engine) recipeOf(v *dag.Visit) (dag.Digest, bool) {
	if e.planning.recipes == nil {
		e.planning.recipes = e.store.Recipes()
	}
	for _, recipe := range e.planning.recipes {
		if dag.ActionDigest(recipe, v.Input, 0) == v.Action {
			return recipe, true
		}
	}
	a, ok, err := e.store.Action(v.Action)
	if err != nil || !ok {
		return dag.Digest{}, false
	}
	return a.Recipe, true
}

// recipeChanges compares the recipe of an action of the store with today's.
func (e *engine) recipeChanges(s *dag.Stage, last dag.Digest) []Change {
	now := &e.recipes[s.Index]
	if last == now.digest {
		return nil
	}
	old, ok := e.store.Recipe(last)
	if !ok {
		return []Change{{Part: "recipe", Old: last.Short(), New: now.digest.Short()}}
	}
	return recipeChanges(old, now.parts, e.toldBy(old), now.tells(s))
}

// tells is what the recipe's actions are told today.
func (r *recipe) tells(s *dag.Stage) *told {
	if r.told == nil {
		r.told = tell(s)
	}
	return r.told
}

// partChanges is how one part of a recipe changed: in full where both sides are
// known, else by digest.
func partChanges(name string, before, after dag.Digest, was, is *told) []Change {
	short := func(d dag.Digest) string {
		if d.IsZero() {
			return ""
		}
		return d.Short()
	}
	plain := []Change{{Part: name, Old: short(before), New: short(after)}}
	if was == nil {
		return plain
	}
	var changes []Change
	switch name {
	case "config":
		changes = attributeChanges("config", was.Config, is.Config)
	case "schema":
		changes = documentChanges("schema", was.Schema, is.Schema)
	case "sampling":
		changes = attributeChanges("sampling", was.Sampling, is.Sampling)
	case "model":
		changes = []Change{{Part: name, Old: was.Model, New: is.Model}}
	case "provider":
		changes = programChange(plain[0], was.Provider, is.Provider)
	case "plugin":
		changes = programChange(plain[0], was.Plugin, is.Plugin)
	case "volatile":
		changes = []Change{{Part: name, Old: strings.Join(was.Volatile, " "), New: strings.Join(is.Volatile, " ")}}
	}
	if len(changes) == 0 {
		return plain
	}
	return changes
}

// programChange names two programs, and where they have one name, their digests.
func programChange(c Change, was, is string) []Change {
	if was != is {
		c.Old, c.New = was, is
		return []Change{c}
	}
	c.Old, c.New = strings.TrimSpace(was+" "+c.Old), strings.TrimSpace(is+" "+c.New)
	return []Change{c}
}

// inputChanges compares a visit's input with that of the visit before.
func (e *engine) inputChanges(old dag.Digest, now dag.Doc) []Change {
	before, err := e.store.Get(old)
	if err != nil {
		return []Change{{Part: "input", Old: old.Short(), New: now.Digest.Short()}}
	}
	if changes := documentChanges("input", before, now.Bytes); len(changes) > 0 {
		return changes
	}
	return []Change{{Part: "input", Old: old.Short(), New: now.Digest.Short()}}
}
