package engine

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

// recipe is the part of a stage's actions that is the same for every item.
type recipe struct {
	digest dag.Digest
	parts  []dag.Part
	made   bool // an action with it may be in the store
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
		parts, err := recipeParts(e.Dir, s, plugin, provider, replay)
		if err != nil {
			return err
		}
		e.recipes[i] = recipe{digest: dag.SumParts(parts), parts: parts}
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
func recipeParts(dir string, s *dag.Stage, plugin, provider, replay dag.Digest) ([]dag.Part, error) {
	parts := s.RecipeParts(plugin, provider)
	content, err := content(dir, s)
	if err != nil {
		return nil, err
	}
	parts = append(parts, content...)
	if s.Provider != nil && !replay.IsZero() {
		parts = append(parts, dag.Part{Name: "replay", Digest: replay})
	}
	return parts, nil
}

// content digests the files that a stage's configuration says belong to its
// action: a script that is edited is another action.
func content(dir string, s *dag.Stage) ([]dag.Part, error) {
	var parts []dag.Part
	for _, field := range s.Info.Config {
		if !field.Content {
			continue
		}
		var config map[string]jsontext.Value
		var patterns []string
		err := json.Unmarshal(s.Config.Bytes, &config)
		if err == nil && config[field.Name] != nil {
			err = json.Unmarshal(config[field.Name], &patterns)
		}
		if err != nil {
			return nil, contentError(s, field.Name, err)
		}
		sum, err := digestFiles(os.DirFS(dir), patterns)
		if err != nil {
			return nil, contentError(s, field.Name, err)
		}
		parts = append(parts, dag.Part{Name: "files", Digest: sum})
	}
	return parts, nil
}

func contentError(s *dag.Stage, field string, err error) error {
	return &dag.Error{Op: "read files of stage", Subject: s.Name, Kind: dag.KindConfig, Err: err,
		Hint: "mend `" + field + "` in its config at " + s.Pos.String()}
}

// digestFiles is a digest over names and contents, in order of the names. A
// pattern that matches nothing is an error: a typing error would make edits of
// the file go unnoticed.
func digestFiles(fsys fs.FS, patterns []string) (dag.Digest, error) {
	var names []string
	for _, pattern := range patterns {
		matches, err := doublestar.Glob(fsys, pattern, doublestar.WithFilesOnly())
		if err != nil {
			return dag.Digest{}, fmt.Errorf("%q is not a pattern of file names: %w", pattern, err)
		}
		if len(matches) == 0 {
			return dag.Digest{}, fmt.Errorf("no file matches %q", pattern)
		}
		names = append(names, matches...)
	}
	slices.Sort(names)
	h := sha256.New()
	for _, name := range slices.Compact(names) {
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return dag.Digest{}, err
		}
		sum := sha256.Sum256(b)
		fmt.Fprintf(h, "%d %s %x\n", len(name), name, sum)
	}
	return dag.Digest(h.Sum(nil)), nil
}
