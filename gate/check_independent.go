package gate

import (
	"errors"

	"github.com/penstock-run/penstock/dag"
)

// independentCheck holds when, by the trail, a stage was served by another
// provider plugin and model than each of the others. One that was not visited is
// no dependence; a stage itself that was not visited has judged nothing.
type independentCheck struct {
	stage string
	of    []string
}

func newIndependentCheck(c *dag.Check) (checker, error) {
	if c.Stage == nil || len(c.Of) == 0 {
		return nil, errors.New("it needs stage and of")
	}
	check := &independentCheck{stage: c.Stage.Name}
	for _, stage := range c.Of {
		check.of = append(check.of, stage.Name)
	}
	return check, nil
}

func (c *independentCheck) judge(s *scope) (result, error) {
	own, ok := s.latest(c.stage)
	if !ok {
		return refused("", "stage %s was not visited since the last change", c.stage), nil
	}
	judge, known := mindOf(own)
	if !known {
		return refused("", "the trail does not tell which model stage %s asked", c.stage), nil
	}
	for _, name := range c.of {
		// Every visit that is not stale counts, not only the latest: each had its
		// part in what is judged.
		for _, visit := range s.facts {
			if visit.Stage != name || visit.Stale {
				continue
			}
			other, known := mindOf(visit)
			if !known {
				return refused("", "the trail does not tell which model stage %s asked", name), nil
			}
			if other == judge {
				return refused("", "stage %s and stage %s were both served by %s", c.stage, name, served(own)), nil
			}
		}
	}
	return passed(nil), nil
}

// mind is what has decided in a visit: a model behind a provider's program, or a
// program alone.
type mind struct{ program, model string }

func mindOf(v dag.VisitFacts) (m mind, known bool) {
	switch {
	case v.Provider != "" && v.Model != "":
		return mind{dag.CleanProgram(v.Provider), v.Model}, true
	case v.Provider == "" && v.Plugin != "":
		return mind{dag.CleanProgram(v.Plugin), ""}, true
	}
	return mind{}, false
}

// served names it for people, as the pipeline has written it.
func served(v dag.VisitFacts) string {
	if v.Provider == "" {
		return v.Plugin
	}
	return v.Provider + " " + v.Model
}
