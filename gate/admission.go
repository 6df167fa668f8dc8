package gate

import (
	"errors"
	"fmt"

	"github.com/penstock-run/penstock/dag"
)

// Admission is the right of one record to enter the corpus. Nothing but a
// completed evaluation makes one, and the writer takes nothing else: there is no
// boolean that could be the wrong way round. The zero Admission admits nothing.
type Admission struct {
	j *judgement // that ended in an accept
}

// admit gives the admission of a judgement whose every check holds or does not
// apply, those of the locked phase by what is on disk now. It counts again from the
// results, and does not ask what others concluded.
func (j *judgement) admit() (Admission, error) {
	if j.refused != nil {
		return Admission{}, errors.New("the candidate could not be made")
	}
	if j.c.Stop != nil || j.c.As != "" {
		return Admission{}, errors.New("the item is only recorded")
	}
	if j.record == nil || len(j.record.line) == 0 || j.record.id == "" {
		return Admission{}, errors.New("there is no record")
	}
	if len(j.states) != len(j.g.checks) {
		return Admission{}, fmt.Errorf("%d of %d checks were run", len(j.states), len(j.g.checks))
	}
	for i, done := range j.states {
		if done.check != j.g.checks[i] {
			return Admission{}, fmt.Errorf("check %s was not run in its turn", j.g.checks[i].name)
		}
		_, locked := done.check.run.(lockedChecker)
		switch {
		case done.result.state == held && locked && !done.asked && !j.recorded:
			return Admission{}, fmt.Errorf("check %s was not asked under the locks", done.check.name)
		case done.result.state == held, done.result.state == notApplicable:
		case done.result.state == failed && shadowed(done.check.spec.Mode):
			// Its finding is a review at least, which the next test sees.
		default:
			return Admission{}, fmt.Errorf("check %s is %s", done.check.name, done.result.state)
		}
	}
	for _, f := range j.findings {
		if f.Triage != dag.Accept {
			return Admission{}, fmt.Errorf("the finding %s says %s", f.Code, f.Triage)
		}
	}
	return Admission{j}, nil
}
