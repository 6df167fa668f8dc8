package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/dag"
)

// frozenNamed bounds how many visits an error names.
const frozenNamed = 50

// CheckFrozen refuses a run that would make a visit, with a dag.KindDiffers that names
// the first visits and why. It looks as a plan does, so nothing is started, and nothing
// is written.
//
// What is answered meanwhile from under it, by a collection or an edit, is found
// by the run itself: it ends at the first visit that it would have to make.
func CheckFrozen(ctx context.Context, o Options) error {
	o.Report = silent{} // the run says the same again
	p, err := plan(ctx, o, looking{whole: true, frozen: true})
	if err != nil {
		return err
	}
	var missing []string
	for _, v := range p.Visits {
		if v.State != PlanRun || v.Stage == gateName {
			continue
		}
		name := v.Stage + "[" + v.Item + "]"
		if v.Pass > 1 {
			name += ", pass " + strconv.Itoa(v.Pass)
		}
		missing = append(missing, name+": "+v.Why)
	}
	if len(missing) == 0 {
		return nil
	}
	return notFrozen(missing)
}

func notFrozen(missing []string) error {
	text := "these visits are not answered from staging/:"
	if len(missing) == 1 {
		text = "this visit is not answered from staging/:"
	}
	more := ""
	if n := len(missing) - frozenNamed; n > 0 {
		missing, more = missing[:frozenNamed], "\n  and "+strconv.Itoa(n)+" more"
	}
	return &dag.Error{Op: "run --frozen", Kind: dag.KindDiffers,
		Err:  errors.New(text + "\n  " + strings.Join(missing, "\n  ") + more),
		Hint: "penstock plan --items tells more; a run without --frozen makes them"}
}
