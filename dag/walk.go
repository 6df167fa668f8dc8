package dag

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Traversal is one item's state on its way through a graph. It is a pure
// value: Next says what to do now, Apply tells it what came of that, and no
// other code decides where an item goes. One goroutine uses it at a time.
//
// It is a Scope: expressions of the gate read the item through it.
type Traversal struct {
	g    *Graph
	load Load

	key     string
	origin  Doc
	item    Doc // what travels
	output  Doc // of the last visit of `at`; null before it and after a failure
	run     Doc
	answer  Doc // value of the latest answer; question and count beside it
	asked   Doc
	answers int

	phase   phase
	at      *Stage // that is visited, or was visited last
	arm     *Arm   // that led to a question
	failure *Failure
	ends    End        // phaseStop: how the stop wants the item to end
	input   Digest     // of the visit at `at`
	event   Visited    // phaseSettle
	stages  []standing // by Stage.Index
	taken   []int      // by counter
	left    []Finding  // findings that are not stale, in the order in which they were left
	before  []Visit    // visits of the items that this one was fanned out of
	trail   Trail

	step     Step // valid where ready is set
	ready    bool
	mask     []string
	masked   bool // mask holds what may change at `at`
	word     string
	deciding bool // `run` may be read, and word is the decided outcome
	made     []Doc
	seen     []Seen // that the conditions of the route under way have read
}

// standing is what a stage has left on the trail.
type standing struct {
	artifact Doc
	outcome  string // empty: none that is not stale
	failed   *Failure
	pass     int
	stale    int // visits of the trail before this one are stale
}

// phase is where a traversal stands between two steps.
type phase string

const (
	phaseEnter  phase = "enter"  // at a stage, its visit not asked for or not come back
	phaseSettle phase = "settle" // the visit came back, nothing is concluded from it yet
	phaseRoute  phase = "route"  // the visit is settled, the way out is not chosen
	phaseGate   phase = "gate"
	phaseSpawn  phase = "spawn"
	phaseWait   phase = "wait"
	phaseResume phase = "resume" // answered, the stage to go on from is not chosen
	phaseExpire phase = "expire" // not answered in time, the way out is not chosen
	phaseStop   phase = "stop"
	phaseDone   phase = "done"
)

// Start puts an item at the first stage. run is what routes and decide rules
// read as `run`: {"id", "started_at", "dry", "live"}. The graph must be proved.
func (g *Graph) Start(item Item, run Doc) *Traversal {
	if g.index == nil || g.First == nil {
		panic("dag: invariant broken: a traversal is started on a graph without proof")
	}
	t := &Traversal{
		g: g, key: item.Key, origin: item.Origin, item: item.Origin, run: run,
		stages: make([]standing, len(g.Stages)),
		taken:  make([]int, len(g.index.counters)),
	}
	t.trail = Trail{Item: item.Key, Origin: item.Origin.Digest, First: item.Origin.Digest}
	t.trail.Visits = make([]Visit, 0, min(g.LongestTrail, 8))
	t.trail.Decisions = make([]Decision, 0, min(g.LongestTrail, 8))
	if !g.index.keepOrig {
		t.origin.Bytes = nil
	}
	t.enter(g.First)
	return t
}

// Child starts an item that the fan-out of parent made. It goes on where its
// parent stands, with all that its parent knows: its first route sees the
// outcome of the parent's visit, with `output` and `item` its own element.
func (g *Graph) Child(parent *Traversal, c Child) *Traversal {
	if parent.phase != phaseSpawn && !(parent.phase == phaseDone && parent.trail.End == Expanded) {
		panic("dag: invariant broken: a child is started of an item that does not fan out")
	}
	t := &Traversal{
		g: g, load: parent.load, key: c.Key, origin: parent.origin, item: c.Item, output: c.Item, run: parent.run,
		answer: parent.answer, asked: parent.asked, answers: parent.answers,
		phase: phaseRoute, at: parent.at,
		stages: slices.Clone(parent.stages), taken: slices.Clone(parent.taken), left: slices.Clone(parent.left),
		before: slices.Concat(parent.before, parent.trail.Visits),
	}
	t.stages[t.at.Index].artifact = t.kept(t.at.Index, c.Item)
	t.trail = Trail{Item: c.Key, Parent: parent.key, Origin: parent.trail.Origin, First: c.Item.Digest}
	return t
}

// WithLoad gives the traversal what it reads documents with whose bytes it let
// go, and returns it. Without it such a document is an error.
func (t *Traversal) WithLoad(load Load) *Traversal {
	t.load = load
	return t
}

// Key is the item's key.
func (t *Traversal) Key() string { return t.key }

// Item is the travelling document. Its bytes may have been let go.
func (t *Traversal) Item() Doc { return t.item }

// Graph is the graph that the item goes through.
func (t *Traversal) Graph() *Graph { return t.g }

// Made hands over the documents that the traversal itself has made since the
// last call: outputs of decide stages, what travels on where an expression
// computes it, questions. Whoever keeps trails or states stores them, for the
// trail and the state name them by digest.
func (t *Traversal) Made() []Doc {
	made := t.made
	t.made = nil
	return made
}

// Next says what to do now. It gives the same step until Apply is called. An
// error is infrastructure (a document that is gone: Next may be called again)
// or a broken invariant.
func (t *Traversal) Next() (Step, error) {
	for !t.ready {
		if err := t.advance(); err != nil {
			return Step{}, err
		}
	}
	return t.step, nil
}

// advance goes on by one phase. It changes nothing where it gives an error.
func (t *Traversal) advance() error {
	switch t.phase {
	case phaseEnter:
		return t.begin()
	case phaseSettle:
		return t.settle()
	case phaseRoute:
		return t.route()
	case phaseResume:
		return t.resume()
	case phaseExpire:
		return t.expired()
	case phaseSpawn:
		return t.spawnAgain()
	case phaseGate:
		t.offer(Step{Kind: DoGate, As: t.trail.As, Code: t.trail.Code})
	case phaseWait:
		t.offer(Step{Kind: DoWait, Ask: t.arm.Ask, Question: t.asked})
	case phaseStop:
		t.offer(Step{Kind: DoStop, End: t.ends, Code: t.trail.Code, Status: t.trail.Status, Failed: t.trail.Failed})
	case phaseDone:
		t.offer(Step{Kind: Done, End: t.trail.End})
	default:
		return bug(t.key, "a traversal is in no phase: %q", t.phase)
	}
	return nil
}

func (t *Traversal) offer(s Step) { t.step, t.ready = s, true }

// enter puts the item before a visit of s.
func (t *Traversal) enter(s *Stage) {
	t.phase, t.at, t.output, t.failure, t.masked = phaseEnter, s, Doc{}, nil, false
	t.stages[s.Index].pass++
}

// begin works out the input of a visit and asks for it, or runs it where it is
// a decide stage.
func (t *Traversal) begin() error {
	if len(t.before)+len(t.trail.Visits) >= t.g.LongestTrail {
		return bug(t.key, "a trail is longer than the %d visits that were proved", t.g.LongestTrail)
	}
	s := t.at
	input, failure, err := t.prepare(s)
	if err != nil {
		return err
	}
	switch {
	case failure != nil:
		t.fail(Visit{}, failure)
		return nil
	case s.Decide != nil:
		return t.decide(s, input)
	}
	before, err := t.bytes(t.item)
	if err != nil {
		return err
	}
	t.item, t.input = before, input.Digest
	t.offer(Step{Kind: DoVisit, Stage: s, Pass: t.stages[s.Index].pass, Input: input, Before: before})
	return nil
}

// prepare works out the document that a visit gets. The failure is one that ends the
// visit before it is paid for.
func (t *Traversal) prepare(s *Stage) (Doc, *Failure, error) {
	if failure, err := t.allowed(s); failure != nil || err != nil {
		return Doc{}, failure, err
	}
	if s.Input == nil {
		doc, err := t.bytes(t.item)
		return doc, nil, err
	}
	return t.document(s.Input, s.Decide != nil)
}

// Apply tells what came of the last step. A wrong event for the step is a
// broken invariant; the traversal stays as it was.
func (t *Traversal) Apply(e Event) error {
	step, err := t.Next()
	if err != nil {
		return err
	}
	switch e := e.(type) {
	case *Visited:
		if step.Kind == DoVisit {
			return t.visited(e)
		}
	case *Judged:
		if step.Kind == DoGate || step.Kind == DoStop {
			return t.judged(e)
		}
	case *Spawned:
		if step.Kind == DoSpawn {
			t.end(Expanded)
			return nil
		}
	case *Answered:
		if step.Kind == DoWait {
			if e.Value.IsNull() {
				return bug(t.key, "an answer without a value was applied")
			}
			t.answer, t.phase, t.ready = identified(e.Value), phaseResume, false
			t.answers++
			return nil
		}
	case *Expired:
		if step.Kind == DoWait {
			t.phase, t.ready = phaseExpire, false
			return nil
		}
	}
	return bug(t.key, "%s was applied to a step that asks %s", eventName(e), step.Kind)
}

func (t *Traversal) visited(e *Visited) error {
	switch {
	case e.Failure != nil && e.Failure.Code.Class() == Infrastructure:
		return bug(t.key, "an infrastructure failure (%s) was applied: it is retried or parked, never routed", e.Failure.Code)
	case e.Failure == nil && e.Output.IsNull():
		return bug(t.key, "a visit of stage.%s came back with neither an output nor a failure", t.at.Name)
	}
	t.event = *e
	v := &t.event
	v.Output = identified(v.Output)
	v.Word = line(v.Word, maxWord)
	v.Facts.Model = line(v.Facts.Model, maxWord)
	v.Facts.StartedAt, v.Facts.EndedAt = v.Facts.StartedAt.Round(0).UTC(), v.Facts.EndedAt.Round(0).UTC()
	for _, n := range []*int{&v.Facts.Calls, &v.Facts.Input, &v.Facts.Cached, &v.Facts.OutTokens} {
		*n = max(*n, 0)
	}
	if e.Failure != nil {
		v.Output, v.Findings = Doc{}, nil
		v.Failure = tidy(e.Failure)
	}
	if len(v.Findings) > 0 {
		v.Findings = tidyFindings(v.Findings)
	}
	t.phase, t.ready = phaseSettle, false
	return nil
}

func (t *Traversal) judged(e *Judged) error {
	switch e.End {
	case Accepted, Reviewed, Quarantined, Skipped, Rejected, Failed, Parked:
	default:
		return bug(t.key, "the gate ended an item as %q", e.End)
	}
	t.trail.Codes = slices.Clone(e.Codes)
	t.trail.Findings = slices.Clone(e.Findings)
	for i := range t.trail.Findings {
		t.trail.Findings[i].Evidence = line(t.trail.Findings[i].Evidence, maxLine)
	}
	t.trail.Record, t.trail.Message = line(e.Record, maxLine), line(e.Message, maxLine)
	t.end(e.End)
	return nil
}

func (t *Traversal) end(e End) {
	t.trail.End, t.phase, t.ready = e, phaseDone, false
}

// What comes from outside is cut, so that trails and states stay bounded.
const (
	maxWord     = 256  // bytes of an outcome, a model's name
	maxLine     = 1024 // bytes of a message, a line of evidence
	maxFindings = 256  // of one visit
)

// line is s as one line of valid UTF-8 of at most n bytes.
func line(s string, n int) string {
	if len(s) <= n && plain(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "�")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > n {
		end := n - len("…")
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + "…"
	}
	return s
}

// plain reports whether s is printable ASCII, the common case.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func tidy(f *Failure) *Failure {
	return &Failure{Code: Code(line(string(f.Code), maxWord)), Cause: Code(line(string(f.Cause), maxWord)), Message: line(f.Message, maxLine)}
}

func tidyFindings(in []PluginFinding) []PluginFinding {
	out := slices.Clone(in[:min(len(in), maxFindings+1)]) // one too many still fails
	for i := range out {
		f := &out[i]
		f.Word, f.Triage, f.Evidence = line(f.Word, maxWord), Triage(line(string(f.Triage), maxWord)), line(f.Evidence, maxLine)
	}
	return out
}

// identified is d with its digest.
func identified(d Doc) Doc {
	if d.Digest.IsZero() && d.Bytes != nil {
		return NewDoc(d.Bytes)
	}
	return d
}

func bug(item, format string, args ...any) *Error {
	return &Error{Op: "walk item", Subject: item, Kind: KindBug, Err: fmt.Errorf(format, args...)}
}

func eventName(e Event) string {
	switch e.(type) {
	case *Visited:
		return "the end of a visit"
	case *Judged:
		return "a verdict"
	case *Spawned:
		return "the start of children"
	case *Answered:
		return "an answer"
	case *Expired:
		return "an expiry"
	}
	return "no event"
}

// String is what the step asks for, in words.
func (k StepKind) String() string {
	switch k {
	case DoVisit:
		return "for a visit"
	case DoGate:
		return "the gate"
	case DoSpawn:
		return "for children to be started"
	case DoWait:
		return "a person"
	case DoStop:
		return "the gate to hear of a stop"
	case Done:
		return "for nothing more"
	}
	return "for nothing"
}

var _ Scope = (*Traversal)(nil)
