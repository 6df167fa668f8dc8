package gate

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/fetch"
)

// validate refuses a gate that could not do what it declares. The language has
// said it better, with positions; a Go program that builds a gate by hand has
// only this.
func validate(g *dag.Gate) error {
	switch {
	case g == nil:
		return errors.New("there is no gate")
	case g.Corpus == nil:
		return errors.New("the gate has no corpus block")
	case g.Corpus.Kind != "jsonl":
		return fmt.Errorf("a corpus of the kind %q is not supported yet; use \"jsonl\"", g.Corpus.Kind)
	case g.Corpus.Data == nil || g.Corpus.Record == nil:
		return errors.New("the corpus block needs data and record")
	case g.Undecided != "" && g.Undecided != "review" && g.Undecided != "parked":
		return fmt.Errorf("undecided is %q; it must be \"review\" or \"parked\"", g.Undecided)
	}
	seen := map[string]string{metaDir + "/": "the gate's own files", verdictsPath: "verdicts", reviewPath: "the review queue", breakersPath: "breakers"}
	for _, p := range []struct{ what, path string }{{"evidence", g.Corpus.Evidence}, {"rejections", g.Rejections}} {
		if p.path == "" && p.what == "rejections" {
			continue
		}
		if err := usablePath(p.path); err != nil {
			return fmt.Errorf("%s: %w", p.what, err)
		}
		if other, taken := seen[p.path]; taken {
			return fmt.Errorf("%s and %s are the same file, %s", p.what, other, p.path)
		}
		seen[p.path] = p.what
	}
	if b := g.Breaker; b != nil {
		if b.Consecutive < 1 {
			return fmt.Errorf("breaker: consecutive is %d; it must be at least 1", b.Consecutive)
		}
		for _, end := range b.Counts {
			if end != dag.Rejected && end != dag.Failed {
				return fmt.Errorf("breaker: counts holds %q; it may hold \"rejected\" and \"failed\"", end)
			}
		}
	}
	for _, host := range g.AllowHosts {
		if err := fetch.CheckAllowHost(host); err != nil {
			return fmt.Errorf("allow_hosts: %w", err)
		}
	}
	for _, m := range g.Candidate {
		if m.Name == "" || m.Expr == nil {
			return errors.New("a member of the candidate has no name or no expression")
		}
	}
	return nil
}

// usablePath refuses a path that leaves the pipeline's directory or that the gate
// keeps for itself.
func usablePath(path string) error {
	switch base := filepath.Base(path); {
	case path == "":
		return errors.New("there is no path")
	case !filepath.IsLocal(path) || path != filepath.ToSlash(filepath.Clean(path)):
		return fmt.Errorf("the path %q must be relative, without . and .. in it", path)
	case strings.HasPrefix(base, "."), strings.HasSuffix(base, ".lock"), strings.HasSuffix(base, ".torn"):
		return fmt.Errorf("the path %q is kept for the gate's own files", path)
	}
	return nil
}
