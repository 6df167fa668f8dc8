package dag

import "fmt"

// choice is what a route comes to for an item.
type choice struct {
	arm       *Arm // that is taken: the leaf
	exhausted bool // arm has been taken as often as it may, and says nothing of what comes then
	question  Doc  // ArmAsk
	seen      []Seen
	findings  []Finding
}

// route chooses the way out of the stage that was visited last, and takes it.
func (t *Traversal) route() error {
	r := t.g.index.routeOf[t.at.Index]
	var a *Arm
	switch {
	case t.failure != nil:
		if a = r.failure(t.failure); a == nil {
			t.decided(Decision{Arm: -1, To: "stop"})
			t.halt(Failed, t.failure.Code, "", t.failure)
			return nil
		}
	case r.To != nil:
		a = r.To
	default:
		word := t.stages[t.at.Index].outcome
		if a = r.On[word]; a == nil {
			return bug(t.key, "route %q has no way on outcome %q of stage.%s", r.Name, word, t.at.Name)
		}
	}
	return t.take(a)
}

// expired takes the arm of a question that was not answered in time.
func (t *Traversal) expired() error {
	a := t.arm.Ask.Expired
	if a == nil {
		t.decided(Decision{Arm: t.arm.ID, Pos: t.arm.Pos, To: "stop"})
		t.halt(Failed, "", "expired", nil)
		return nil
	}
	return t.take(a)
}

// take walks down an arm to what it comes to, and goes there.
func (t *Traversal) take(a *Arm) error {
	c, failure, err := t.choose(a)
	if err != nil {
		return err
	}
	if failure != nil {
		t.decided(Decision{Arm: -1, To: "stop", Seen: c.seen})
		t.halt(Failed, failure.Code, "", tidy(failure))
		return nil
	}
	d := Decision{Arm: c.arm.ID, Pos: c.arm.Pos, To: "stop", Seen: c.seen, Findings: c.findings}
	if c.exhausted {
		f := Fail(EExhausted, "%s may be taken %s by one item", t.edgeName(c.arm), times(t.limit(c.arm)))
		t.decided(d)
		t.left = append(t.left, c.findings...)
		t.halt(Failed, EExhausted, "", f)
		return nil
	}
	if counter := t.g.index.countOf[c.arm.ID]; counter >= 0 {
		t.taken[counter]++
	}
	from := t.at
	switch c.arm.Kind {
	case ArmStage:
		d.To = "stage." + c.arm.Stage.Name
		t.decided(d)
		if c.arm.Bounded {
			t.jump(from, c.arm.Stage)
		}
		t.enter(c.arm.Stage)
	case ArmGate:
		d.To = "gate." + t.g.Gate.Name
		t.decided(d)
		t.trail.As, t.trail.Code, t.phase = c.arm.As, c.arm.Code, phaseGate
	case ArmStop:
		t.decided(d)
		code, f := c.arm.stopped(t.failure)
		t.halt(c.arm.End, code, c.arm.Status, f)
	case ArmAsk:
		d.To = "ask"
		t.decided(d)
		t.make(c.question)
		t.arm, t.asked, t.phase = c.arm, c.question, phaseWait
	}
	// A finding of the arm itself outlives what the arm makes stale.
	t.left = append(t.left, c.findings...)
	return nil
}

// choose walks down an arm: conditions in order, modes, counters.
func (t *Traversal) choose(a *Arm) (c choice, failure *Failure, err error) {
	t.seen = nil
	defer func() { c.seen, t.seen = t.seen, nil }()
	for {
		if a == nil {
			return c, nil, bug(t.key, "the route of stage.%s has a way that ends nowhere", t.at.Name)
		}
		if t.exhausted(a) {
			next := a.Exhausted
			if a.Kind == ArmAsk {
				next = a.Ask.Exhausted
			}
			if next == nil {
				c.arm, c.exhausted = a, true
				return c, nil, nil
			}
			a = next
			continue
		}
		shadow := !a.Mode.applied()
		left, failure, err := t.leave(a.Findings, shadow)
		if failure != nil || err != nil {
			return c, failure, err
		}
		c.findings = append(c.findings, left...)
		switch {
		case shadow:
			a = a.Shadow
		case a.Kind == ArmWhen:
			if a, failure, err = t.branch(a); failure != nil || err != nil {
				return c, failure, err
			}
		case a.Kind == ArmAsk:
			c.arm = a
			if a.Ask.Question != nil {
				c.question, failure, err = t.document(a.Ask.Question, true)
			}
			return c, failure, err
		default:
			c.arm = a
			return c, nil, nil
		}
	}
}

// branch is the arm under the first condition that holds.
func (t *Traversal) branch(a *Arm) (*Arm, *Failure, error) {
	for i := range a.Branches {
		holds, failure, err := t.holds(a.Branches[i].If, &t.seen)
		if failure != nil || err != nil {
			return nil, failure, err
		}
		if holds {
			return a.Branches[i].Arm, nil, nil
		}
	}
	if a.Else == nil {
		return nil, Fail(EExpr, "%s: no condition holds, and there is no else", a.Pos), nil
	}
	return a.Else, nil, nil
}

// exhausted reports whether the arm has been taken as often as it may. An arm
// that shadow mode passes by spends nothing, so its counter decides nothing.
func (t *Traversal) exhausted(a *Arm) bool {
	if !a.Mode.applied() {
		return false
	}
	counter := t.g.index.countOf[a.ID]
	return counter >= 0 && t.taken[counter] >= t.g.index.maximum(counter)
}

// resume goes on after an answer, at the stage that it leads to.
func (t *Traversal) resume() error {
	ask := t.arm.Ask
	to := ask.Resume[0]
	if ask.ResumeTo != nil {
		name, failure, err := t.text(ask.ResumeTo, true)
		if err != nil {
			return err
		}
		if failure == nil {
			if to = stageNamed(ask.Resume, name); to == nil {
				failure = Fail(EExpr, "%s: the stage to resume at is %q, which is none of %s", ask.ResumeTo.Pos(), line(name, maxWord), enumerate(stageNames(ask.Resume), "and"))
			}
		}
		if failure != nil {
			t.decided(Decision{Arm: -1, To: "stop"})
			t.halt(Failed, failure.Code, "", tidy(failure))
			return nil
		}
	}
	t.decided(Decision{Arm: t.arm.ID, Pos: t.arm.Pos, To: "stage." + to.Name})
	t.jump(t.at, to)
	t.enter(to)
	return nil
}

func stageNamed(stages []*Stage, name string) *Stage {
	for _, s := range stages {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// jump makes stale what was visited on the ways from the target of a bounded
// edge, or of a resume, back to the deciding stage. The artifact of the
// deciding stage is what the edge carries: it stays.
func (t *Traversal) jump(decides, target *Stage) {
	stale := t.g.index.stale[jump{decides.Index, target.Index}]
	if stale == nil {
		return
	}
	for _, i := range stale {
		st := &t.stages[i]
		if st.pass == 0 {
			continue
		}
		st.artifact, st.outcome, st.stale = Doc{}, "", len(t.before)+len(t.trail.Visits)
		t.left = without(t.left, t.g.Stages[i].Name)
	}
	t.stages[decides.Index].outcome = ""
	t.left = without(t.left, decides.Name)
}

// decided appends a decision to the trail.
func (t *Traversal) decided(d Decision) {
	d.After, d.Stage = len(t.trail.Visits)-1, t.at.Name
	if r := t.g.index.routeOf[t.at.Index]; r != nil {
		d.Route = r.Name
	}
	t.trail.Decisions = append(t.trail.Decisions, d)
}

// halt stops the item; the gate is to hear of it.
func (t *Traversal) halt(end End, code Code, status string, f *Failure) {
	t.trail.Code, t.trail.Status, t.trail.Failed = code, status, f
	t.ends, t.phase = end, phaseStop
}

// stopped is what a stop is recorded with that a failure led to: without a code
// of its own it keeps the failure's, and the reason stays readable either way.
func (a *Arm) stopped(f *Failure) (Code, *Failure) {
	switch {
	case f == nil:
		return a.Code, nil
	case a.Code == "" || a.Code == f.Code:
		return f.Code, f
	}
	cause := f.Cause
	if cause == "" {
		cause = f.Code
	}
	return a.Code, &Failure{Code: a.Code, Cause: cause, Message: f.Message}
}

func (t *Traversal) limit(a *Arm) int { return t.g.index.maximum(t.g.index.countOf[a.ID]) }

func (t *Traversal) edgeName(a *Arm) string {
	if a.Kind == ArmAsk {
		return fmt.Sprintf("the question after stage.%s", t.at.Name)
	}
	return fmt.Sprintf("the edge from stage.%s to stage.%s", t.at.Name, a.Stage.Name)
}

func times(n int) string {
	switch n {
	case 0:
		return "at no time"
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
