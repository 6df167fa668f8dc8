package engine

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// toldPart stands among a recipe's stored parts, and is no part of its digest:
// the artifact with what the parts are digests of, so that a later plan can show
// old and new.
const toldPart = "told"

// told is what the actions of a recipe are told, in full. It holds no secret:
// those are in no configuration that an action depends on.
type told struct {
	Stage    string         `json:"stage"`
	Plugin   string         `json:"plugin,omitempty"`
	Config   jsontext.Value `json:"config,omitempty"`
	Schema   jsontext.Value `json:"schema,omitempty"`
	Provider string         `json:"provider,omitempty"`
	Model    string         `json:"model,omitempty"`
	Sampling jsontext.Value `json:"sampling,omitempty"`
	Volatile []string       `json:"volatile,omitempty"`
}

// tell says in full what a stage's actions are told.
func tell(s *dag.Stage) *told {
	t := &told{Stage: s.Name, Config: s.Config.Bytes, Volatile: s.Volatile}
	if s.Plugin != nil {
		t.Plugin = program(s.Plugin, s.Info)
	}
	if s.Schema != nil {
		t.Schema = s.Schema.Source().Bytes
	}
	if p := s.Provider; p != nil {
		t.Provider, t.Model, t.Sampling = program(p.Plugin, nil), p.Model, p.Config.Bytes
	}
	return t
}

// program names a plugin as people know it.
func program(p *dag.Plugin, info *dag.PluginInfo) string {
	name := p.Source
	if name == "" && len(p.Command) > 0 {
		name = p.Command[0]
	}
	if info != nil && info.Behaviour != "" {
		name += " " + info.Behaviour
	}
	return name
}

// keepTold stores what a recipe is told, the first time that it is used.
func (e *engine) keepTold(s *dag.Stage, r *recipe) error {
	if known, ok := e.store.Recipe(r.digest); ok && !partOf(known, toldPart).IsZero() {
		return nil
	}
	b, err := json.Marshal(tell(s), json.Deterministic(true))
	if err == nil {
		b, err = canon.Canonical(nil, b)
	}
	if err != nil {
		return err
	}
	doc := dag.NewDoc(b)
	if _, err := e.store.Put(doc); err != nil {
		return err
	}
	parts := append(r.parts[:len(r.parts):len(r.parts)], dag.Part{Name: toldPart, Digest: doc.Digest})
	return e.store.PutRecipe(r.digest, parts)
}

// partOf is a part's digest by its name; zero where it is not there.
func partOf(parts []dag.Part, name string) dag.Digest {
	for _, p := range parts {
		if p.Name == name {
			return p.Digest
		}
	}
	return dag.Digest{}
}

// toldBy reads what a recipe of the store was told; nil where that is not known.
func (e *engine) toldBy(parts []dag.Part) *told {
	digest := partOf(parts, toldPart)
	if digest.IsZero() {
		return nil
	}
	if t, ok := e.planning.told[digest]; ok {
		return t
	}
	t := readTold(e.store, parts)
	e.planning.told[digest] = t
	return t
}
