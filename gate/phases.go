package gate

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock-run/penstock/dag"
)

// phases asks the checks phase by phase: those that need nothing but the
// candidate, those that read the web, and what the locked ones can prepare. Each
// is asked only of a candidate that may still enter the corpus: no page is read
// for one that is refused already.
func (j *judgement) phases(ctx context.Context) error {
	for _, phase := range [...]dag.Phase{dag.Static, dag.Network, dag.Locked} {
		if err := j.phase(ctx, phase); err != nil || !j.mayEnter() {
			return err
		}
	}
	return nil
}

// phase asks the checks of one phase in declared order. All that can be told
// together are collected; a check with ends that fails is the last.
func (j *judgement) phase(ctx context.Context, phase dag.Phase) error {
	for _, check := range j.g.checks {
		if check.phase != phase {
			continue
		}
		r, err := j.judge(ctx, check)
		if err != nil {
			return err
		}
		j.take(check, r)
		ended := check.ended(r)
		if phase == dag.Network && r.state == held {
			if ended, err = j.again(); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
	}
	return nil
}

// ended reports whether a check that came to r is the last of its phase. Of the
// locked ones the first that fails is.
func (c *check) ended(r result) bool {
	return r.state != held && r.state != notApplicable && (c.spec.Ends || c.phase == dag.Locked) && !shadowed(c.spec.Mode)
}

// judge asks a check. A failure that is about the candidate is a failed check; a
// panic is an error, never a verdict, and so is a context that ends.
func (j *judgement) judge(ctx context.Context, check *check) (r result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = result{}, &dag.Error{Op: "run the check", Subject: check.name, Kind: dag.KindBug, Err: fmt.Errorf("it panicked on %s: %v", j.c.Key, p)}
		}
	}()
	if err := ctx.Err(); err != nil {
		return result{}, err
	}
	if check.spec.If != nil {
		applies, err := check.spec.If.Bool(j.scope, nil)
		if err != nil {
			return j.failedBy(fmt.Errorf("if: %w", err))
		}
		if !applies {
			return result{state: notApplicable}, nil
		}
	}
	if r, err = check.run.judge(j.scope); err != nil {
		if r, err = j.failedBy(err); err != nil {
			return result{}, err
		}
		return j.notBeside(check, r), nil
	}
	r = sound(r)
	if online, ok := check.run.(webChecker); ok && r.state == held {
		// An error is the reader's, whatever it calls itself: nothing is known of
		// the candidate then. What was read while the context ended tells nothing.
		if r, err = online.online(ctx, r, j.web); err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return result{}, err
		}
	}
	return j.notBeside(check, sound(r)), nil
}

// again asks the checks that held once more, now that pages were read. What one
// comes to now takes the place of what it came to before, in its declared order.
func (j *judgement) again() (ended bool, err error) {
	for i, done := range j.states {
		check, ok := done.check.run.(againChecker)
		if !ok || done.result.state != held {
			continue
		}
		r, err := check.again(done.result, j.web)
		if err != nil {
			return false, err
		}
		j.states[i].result = sound(r)
		ended = ended || done.check.ended(j.states[i].result)
	}
	j.findings, j.details, j.message = slices.Clone(j.c.Findings), nil, ""
	for i, done := range j.states {
		j.set(i, done.check, done.result)
	}
	return ended, nil
}
