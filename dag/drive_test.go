package dag

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// driver drives one item, and all that it fans out into, by throws of dice, and
// checks at each point what must always be true. Beside each traversal goes a
// twin that is written out and restored before and after every event.
type driver struct {
	*random
	store map[Digest][]byte
	ways  *Ways
	items int
	fatal func(format string, args ...any)
}

// drive makes a graph and drives one item through it. It reports whether the
// graph was one that may be walked.
func drive(d dice, fatal func(string, ...any)) bool {
	r := randomGraph(d, false, true)
	for _, p := range r.Prove() {
		if p.Summary != "Invariant does not hold" {
			return false
		}
	}
	if r.LongestTrail > 40 {
		return false // it would take long, and show nothing that a shorter one does not
	}
	r.Invariants = slices.DeleteFunc(r.Invariants, func(inv *Invariant) bool {
		return slices.ContainsFunc(inv.sources(), func(s *Stage) bool { return escapes(r.Graph, s, inv.Through) })
	})
	dr := &driver{random: r, store: map[Digest][]byte{}, ways: r.Visited(), fatal: fatal}
	r.check = dr.atRoute
	origin := dr.keep(lit(fmt.Sprintf(`{"n":%d}`, d.n(200))))
	dr.item(r.Start(Item{Key: "k", Origin: origin}, lit(`{"id":"r"}`)).WithLoad(dr.load))
	return true
}

func (d *driver) keep(doc Doc) Doc {
	d.store[doc.Digest] = doc.Bytes
	return doc
}

func (d *driver) load(digest Digest) ([]byte, error) {
	if b, ok := d.store[digest]; ok {
		return b, nil
	}
	return nil, errors.New("nothing of that name was ever stored")
}

// atRoute checks what the language was told of a route's place.
func (d *driver) atRoute(t *Traversal) {
	if t.phase != phaseRoute {
		return
	}
	p := d.ways.After(t.at)
	if t.failure != nil {
		p = d.ways.AfterFailure(t.at)
	}
	d.told(t, p, "after "+t.at.Name)
}

// told checks a place's sets against what the traversal answers there.
func (d *driver) told(t *Traversal, p Place, where string) {
	for _, doc := range t.made {
		d.keep(doc) // in the midst of a step nobody was handed it yet
	}
	for _, s := range d.Stages {
		artifact, err := t.Lookup(Name{"artifact", s.Name})
		if err != nil {
			d.fatal("%s: %v", where, err)
		}
		outcome, err := t.Lookup(Name{"outcome", s.Name})
		if err != nil {
			d.fatal("%s: %v", where, err)
		}
		switch {
		case artifact.IsNull() && p.Always[s]:
			d.fatal("%s, artifact.%s is null, and was told to be there on every way", where, s.Name)
		case outcome.IsNull() && p.Outcome[s]:
			d.fatal("%s, outcome.%s is null, and was told to be there on every way", where, s.Name)
		case !artifact.IsNull() && !p.Ever[s]:
			d.fatal("%s, artifact.%s is there, and no way was told to visit it", where, s.Name)
		}
	}
}

// item drives one item to its end.
func (d *driver) item(t *Traversal) {
	if d.items++; d.items > 60 {
		return
	}
	twin := d.restored(t)
	for steps := 0; ; steps++ {
		if steps > 2*d.LongestTrail+2 {
			d.fatal("%d steps, where the longest trail has %d visits", steps, d.LongestTrail)
		}
		step := d.next(t, twin)
		d.always(t, step)
		if step.Kind == Done {
			return
		}
		d.refuses(t, step)
		event := d.event(t, step)
		if step.Kind == DoSpawn {
			for _, c := range step.Children {
				d.item(d.Child(t, c))
			}
		}
		for _, tr := range []*Traversal{t, twin} {
			if err := tr.Apply(event); err != nil {
				d.fatal("%T: %v", event, err)
			}
		}
		d.sameState(t, twin)
		twin = d.restored(twin)
	}
}

// next takes the next step of both, twice, and compares.
func (d *driver) next(t, twin *Traversal) Step {
	step, err := t.Next()
	if err != nil {
		d.fatal("next: %v", err)
	}
	again, err := t.Next()
	if err != nil || summary(again) != summary(step) {
		d.fatal("next is %s, and asked again %s (%v)", summary(step), summary(again), err)
	}
	for _, tr := range []*Traversal{t, twin} {
		if other, err := tr.Next(); err != nil || summary(other) != summary(step) {
			d.fatal("next is %s, restored %s (%v)", summary(step), summary(other), err)
		}
		for _, doc := range tr.Made() {
			d.keep(doc)
		}
	}
	d.keep(step.Input)
	d.keep(step.Question)
	for _, c := range step.Children {
		d.keep(c.Item)
	}
	d.sameState(t, twin)
	if other, err := d.restored(t).Next(); err != nil || summary(other) != summary(step) {
		d.fatal("next is %s, restored after it %s (%v)", summary(step), summary(other), err)
	}
	return step
}

func (d *driver) restored(t *Traversal) *Traversal {
	b := t.State()
	twin, err := d.Restore(b, d.load)
	if err != nil {
		d.fatal("restore: %v\n%s", err, b)
	}
	d.sameState(t, twin)
	return twin
}

func (d *driver) sameState(t, twin *Traversal) {
	if a, b := string(t.State()), string(twin.State()); a != b {
		d.fatal("the state is\n%s\nrestored\n%s", a, b)
	}
	a, b := mustJSON(t.Trail()), mustJSON(twin.Trail())
	if a != b {
		d.fatal("the trail is\n%s\nrestored\n%s", a, b)
	}
	packed := AppendTrail(nil, t.Trail())
	trail, err := DecodeTrail(packed)
	if err != nil || mustJSON(trail) != a {
		d.fatal("the trail is\n%s\npacked and unpacked (%v)\n%s", a, err, mustJSON(trail))
	}
}

func mustJSON(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// summary is a step as text: stages by name, documents by digest.
func summary(s Step) string {
	stage := ""
	if s.Stage != nil {
		stage = s.Stage.Name
	}
	var children []string
	for _, c := range s.Children {
		children = append(children, c.Key+" "+c.Item.Digest.Short())
	}
	return fmt.Sprintf("%v %q pass %d, %s of %s, as %q code %q end %q status %q failed %v, children %v, ask %v %s",
		s.Kind, stage, s.Pass, s.Input.Digest.Short(), s.Before.Digest.Short(), s.As, s.Code, s.End, s.Status, s.Failed, children, s.Ask != nil, s.Question.Digest.Short())
}

// refuses checks that events which the step does not ask for are bugs, and
// change nothing.
func (d *driver) refuses(t *Traversal, step Step) {
	wrong := []Event{&Visited{Output: lit("1")}, &Judged{End: Accepted}, &Spawned{}, &Answered{Value: lit("1")}, &Expired{}}
	asked := map[StepKind][]int{DoVisit: {0}, DoGate: {1}, DoStop: {1}, DoSpawn: {2}, DoWait: {3, 4}}
	before := string(t.State())
	for i, e := range wrong {
		if slices.Contains(asked[step.Kind], i) {
			continue
		}
		if err := t.Apply(e); KindOf(err) != KindBug {
			d.fatal("%T applied to %v: %v", e, step.Kind, err)
		}
	}
	if step.Kind == DoVisit {
		for _, e := range []*Visited{{}, {Failure: Fail(ETimeout, "late")}} {
			if err := t.Apply(e); KindOf(err) != KindBug {
				d.fatal("%+v applied to a visit: %v", e, err)
			}
		}
	}
	if after := string(t.State()); after != before {
		d.fatal("a refused event changed the state from\n%s\nto\n%s", before, after)
	}
}

// event is any event that the step can have.
func (d *driver) event(t *Traversal, step Step) Event {
	switch step.Kind {
	case DoVisit:
		return d.visited(t, step)
	case DoGate, DoStop:
		return &Judged{End: []End{Accepted, Reviewed, Quarantined, Skipped, Rejected, Failed, Parked}[d.d.n(7)], Codes: []Code{"BAD"}, Message: "said\nso"}
	case DoSpawn:
		return &Spawned{}
	}
	if d.d.n(4) == 0 {
		return &Expired{}
	}
	to := append(stageNames(step.Ask.Resume), "stage.nowhere")[d.d.n(len(step.Ask.Resume)+1)]
	return &Answered{Value: d.keep(lit(fmt.Sprintf(`{"to":%q}`, to[len("stage."):])))}
}

func (d *driver) visited(t *Traversal, step Step) Event {
	facts := Facts{Model: "m", Calls: 1, Reused: d.d.n(2) == 0, StartedAt: time.Date(2026, 1, 15, 10, 0, 0, 1, time.FixedZone("x", 3600))}
	if d.d.n(4) == 0 {
		code := []Code{EOutput, ERefused, "BAD", "OTHER", EExec}[d.d.n(5)]
		return &Visited{Failure: Fail(code, "no \xff luck"), Findings: []PluginFinding{{Word: "thin"}}, Facts: facts}
	}
	v := &Visited{Word: []string{"", "ok", "no", "other"}[d.d.n(4)], Facts: facts, Action: Sum([]byte("action"))}
	var list []map[string]any
	if step.Stage.FanOut != nil {
		for range d.d.n(4) {
			list = append(list, map[string]any{"key": []string{"x", "y", "", "x\ty"}[d.d.n(4)], "n": d.d.n(9)})
		}
	}
	v.Output = d.keep(NewDoc(canonical(map[string]any{"n": d.d.n(50), "list": list})))
	if d.d.n(2) == 0 {
		v.Output.Bytes = nil // answered from staging: known by digest only
	}
	for range d.d.n(3) {
		v.Findings = append(v.Findings, PluginFinding{Word: []string{"thin", "other"}[d.d.n(8)/7], Triage: []Triage{"", Reject, "none"}[d.d.n(9)/4], Evidence: "seen"})
	}
	return v
}

// always checks what holds at every point of every walk.
func (d *driver) always(t *Traversal, step Step) {
	var stages []*Stage
	for _, v := range t.Visits() {
		stages = append(stages, d.Stage(v.Stage))
	}
	if len(stages) > d.LongestTrail {
		d.fatal("%d visits, where the longest trail has %d", len(stages), d.LongestTrail)
	}
	for i, n := range t.taken {
		if n > d.index.maximum(i) {
			d.fatal("the edge at %v was taken %d times, which may be taken %d times", d.index.counters[i].Pos, n, d.index.maximum(i))
		}
	}
	for i, s := range stages {
		told := d.MaxVisitsFrom(s)
		count := map[*Stage]int{}
		for _, later := range stages[i:] {
			count[later]++
			if count[later] > told[later] {
				d.fatal("from a visit of %s, %s was visited %d times, told was %d", s.Name, later.Name, count[later], told[later])
			}
		}
	}
	decisions := t.trail.Decisions
	switch step.Kind {
	case DoVisit:
		d.told(t, d.ways.Before(step.Stage), "before "+step.Stage.Name)
		passes := 1
		for _, s := range stages {
			if s == step.Stage {
				passes++
			}
		}
		if step.Pass != passes {
			d.fatal("pass %d of %s, counted %d", step.Pass, step.Stage.Name, passes)
		}
	case DoGate:
		last := d.Arms[decisions[len(decisions)-1].Arm]
		if last.Kind != ArmGate || last.As != step.As || last.Code != step.Code {
			d.fatal("the gate is asked, and the last decision took an arm of kind %d", last.Kind)
		}
		if step.As == "" {
			d.told(t, d.ways.AtGate(), "at the gate")
		}
		d.invariantsHold(stages, step)
	case Done:
		if t.trail.End == "" || step.End != t.trail.End {
			d.fatal("done with %q, and the trail ends with %q", step.End, t.trail.End)
		}
	}
}

// invariantsHold checks each invariant that was proved on the walk to the gate.
func (d *driver) invariantsHold(walk []*Stage, step Step) {
	if step.As == Skip || step.As == Reject {
		return
	}
	for _, inv := range d.Invariants {
		seen := true
		for _, s := range walk {
			if slices.Contains(inv.sources(), s) {
				seen = false
			} else if s == inv.Through {
				seen = true
			}
		}
		if !seen {
			d.fatal("the invariant at %v was proved, and %v came to the gate", inv.Pos, stageNames(walk))
		}
	}
}

func TestAnySequenceOfEventsKeepsToWhatWasProved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drive(rapidDice{t}, t.Fatalf)
	})
}

func FuzzAnySequenceOfEventsKeepsToWhatWasProved(f *testing.F) {
	for _, seed := range []string{"", "\x04\x01\x01\x05", "\x02\x01\x00\x03\x01\x01\x00\x02\x00\x00\x01\x06\x01\x00\x01\x02\x03\x04\x05\x06\x07"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		drive(&byteDice{b}, t.Fatalf)
	})
}
