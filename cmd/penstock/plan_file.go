package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
)

// writePlan plans, and writes the plan in one rename: half a plan is none.
func (c *command) writePlan(ctx context.Context, o engine.Options, path string) (*engine.Planned, error) {
	plan, err := engine.MakePlanFile(ctx, o)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(plan, json.Deterministic(true), jsontext.Multiline(true))
	if err == nil {
		err = writeAnew(c.path(path), "plan", isPlan, append(b, '\n'))
	}
	if err != nil {
		return nil, &dag.Error{Op: "write the plan to", Subject: path, Kind: dag.KindConfig, Err: cause(err)}
	}
	return plan.Plan, nil
}

func isPlan(content []byte) bool {
	_, err := engine.DecodePlanFile(content)
	return err == nil
}

// keepTo refuses a run that would not do what a plan says.
func (c *command) keepTo(ctx context.Context, o engine.Options, path string) error {
	b, err := os.ReadFile(c.path(path))
	if err != nil {
		return &dag.Error{Op: "read the plan", Subject: path, Kind: dag.KindConfig, Err: cause(err), Hint: dag.Command("penstock", "plan", "-o", path)}
	}
	planned, err := engine.DecodePlanFile(b)
	if err != nil {
		return &dag.Error{Op: "read the plan", Subject: path, Kind: dag.KindConfig, Err: err, Hint: "penstock plan -o FILE writes one"}
	}
	now, err := engine.MakePlanFile(ctx, o)
	if err != nil {
		return err
	}
	if drift := planned.Drift(now); len(drift) > 0 {
		return &dag.Error{Op: "run as planned in", Subject: path, Kind: dag.KindDiffers,
			Err: errors.New("the plan does not hold any more:\n  " + strings.Join(drift, "\n  ")), Hint: planHint(planned, now, path)}
	}
	return nil
}

// planHint is the command that goes on where a plan does not hold: one that gives the
// run the plan's flags, else one that plans anew.
func planHint(planned, now *engine.PlanFile, path string) string {
	if was := planned.Basis.Flags; was != now.Basis.Flags {
		return dag.Command("penstock", "run", "--plan", path) + was.Words()
	}
	return dag.Command("penstock", "plan", "-o", path) + now.Basis.Flags.Words()
}
