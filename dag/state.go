package dag

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// stateVersion is of the form that State writes. A field may be added under
// the same version; a change of meaning raises it.
const stateVersion = 1

// state is the JSON form of a Traversal: digests instead of documents. What is
// not in it can be worked out again from the graph.
type state struct {
	Version int            `json:"version"`
	Graph   Digest         `json:"graph"`
	Key     string         `json:"key"`
	Phase   phase          `json:"phase"`
	At      string         `json:"at"`
	Origin  Digest         `json:"origin"`
	Item    Digest         `json:"item"`
	Output  Digest         `json:"output,omitzero"`
	Input   Digest         `json:"input,omitzero"`
	Run     jsontext.Value `json:"run,omitzero"`
	Answer  Digest         `json:"answer,omitzero"`
	Asked   Digest         `json:"asked,omitzero"`
	Answers int            `json:"answers,omitzero"`
	Arm     int            `json:"arm"` // that led to a question; -1: none
	Ends    End            `json:"ends,omitempty"`
	Failure *Failure       `json:"failure,omitempty"`
	Event   *stateEvent    `json:"event,omitempty"`
	Stages  []stateStage   `json:"stages"`
	Taken   []stateTaken   `json:"taken"`
	Left    []Finding      `json:"findings"`
	Before  []Visit        `json:"before,omitempty"`
	Trail   Trail          `json:"trail"`
}

// stateStage is what a visited stage has left.
type stateStage struct {
	Stage    string   `json:"stage"`
	Pass     int      `json:"pass"`
	Artifact Digest   `json:"artifact,omitzero"`
	Outcome  string   `json:"outcome,omitempty"`
	Failed   *Failure `json:"failed,omitempty"`
	Stale    int      `json:"stale,omitzero"`
}

// stateTaken is a counter, by the arm that it belongs to.
type stateTaken struct {
	Arm   int `json:"arm"`
	Times int `json:"times"`
}

// stateEvent is a visit that came back and is not settled.
type stateEvent struct {
	Word     string          `json:"word,omitempty"`
	Output   Digest          `json:"output,omitzero"`
	Failure  *Failure        `json:"failure,omitempty"`
	Findings []PluginFinding `json:"findings,omitempty"`
	Action   Digest          `json:"action,omitzero"`
	Facts    Facts           `json:"facts,omitzero"`
}

// State is the traversal as JSON, for Restore. It holds digests, no documents
// but `run`, and its size is bounded by the longest trail. Field names are
// stable; documents that Made handed over must be stored before it is.
func (t *Traversal) State() []byte {
	st := state{
		Version: stateVersion, Graph: t.g.Digest(), Key: t.key, Phase: t.phase, At: t.at.Name,
		Origin: t.origin.Digest, Item: t.item.Digest, Output: t.output.Digest, Input: t.input,
		Run: jsontext.Value(t.run.Bytes), Answer: t.answer.Digest, Asked: t.asked.Digest, Answers: t.answers,
		Arm: -1, Ends: t.ends, Failure: t.failure, Left: t.left, Before: t.before, Trail: t.trail,
	}
	if t.arm != nil {
		st.Arm = t.arm.ID
	}
	if e := &t.event; t.phase == phaseSettle {
		st.Event = &stateEvent{Word: e.Word, Output: e.Output.Digest, Failure: e.Failure, Findings: e.Findings, Action: e.Action, Facts: e.Facts}
	}
	for i, s := range t.stages {
		if s.pass > 0 {
			st.Stages = append(st.Stages, stateStage{
				Stage: t.g.Stages[i].Name, Pass: s.pass, Artifact: s.artifact.Digest,
				Outcome: s.outcome, Failed: s.failed, Stale: s.stale,
			})
		}
	}
	for c, n := range t.taken {
		if n > 0 {
			st.Taken = append(st.Taken, stateTaken{Arm: t.g.index.counters[c].ID, Times: n})
		}
	}
	b, err := json.Marshal(&st, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(fmt.Sprintf("dag: invariant broken: a traversal has a JSON form: %v", err))
	}
	return b
}

// Restore is the traversal that State wrote. load reads the documents that it
// names, when they are needed. The graph must be the same: across a changed
// one an item is replayed from its origin.
func (g *Graph) Restore(b []byte, load Load) (*Traversal, error) {
	var st state
	if err := json.Unmarshal(b, &st, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, unreadable("", err)
	}
	switch {
	case st.Version != stateVersion:
		return nil, unreadable(st.Key, fmt.Errorf("it has version %d, this program reads version %d", st.Version, stateVersion))
	case g.index == nil || g.First == nil:
		return nil, bug(st.Key, "a traversal is restored on a graph without proof")
	case st.Graph != g.Digest():
		return nil, &Error{Op: "restore item", Subject: st.Key, Kind: KindDiffers, Hint: "replay the item from its origin: finished visits are answered from staging",
			Err: fmt.Errorf("the pipeline has changed since (graph %s, now %s)", st.Graph.Short(), g.Digest().Short())}
	}
	t := &Traversal{
		g: g, load: load, key: st.Key, phase: st.Phase, at: g.Stage(st.At),
		origin: Doc{Digest: st.Origin}, item: Doc{Digest: st.Item}, output: Doc{Digest: st.Output}, input: st.Input,
		answer: Doc{Digest: st.Answer}, asked: Doc{Digest: st.Asked}, answers: st.Answers,
		ends: st.Ends, failure: st.Failure, left: st.Left, before: st.Before, trail: st.Trail,
		stages: make([]standing, len(g.Stages)), taken: make([]int, len(g.index.counters)),
	}
	if len(st.Run) > 0 {
		t.run = jsonDoc(slices.Clone(st.Run))
	}
	if e := st.Event; e != nil {
		t.event = Visited{Word: e.Word, Output: Doc{Digest: e.Output}, Failure: e.Failure, Findings: e.Findings, Action: e.Action, Facts: e.Facts}
	}
	if err := t.restore(&st); err != nil {
		return nil, unreadable(st.Key, err)
	}
	return t, nil
}

// restore fills in what a state names by name or number, and refuses what no
// traversal of this graph can have written.
func (t *Traversal) restore(st *state) error {
	for _, s := range st.Stages {
		stage := t.g.Stage(s.Stage)
		if stage == nil {
			return fmt.Errorf("there is no stage.%s", s.Stage)
		}
		t.stages[stage.Index] = standing{artifact: Doc{Digest: s.Artifact}, outcome: s.Outcome, failed: s.Failed, pass: s.Pass, stale: s.Stale}
	}
	for _, c := range st.Taken {
		if c.Arm < 0 || c.Arm >= len(t.g.Arms) || t.g.index.countOf[c.Arm] < 0 {
			return fmt.Errorf("arm %d has no counter", c.Arm)
		}
		t.taken[t.g.index.countOf[c.Arm]] = c.Times
	}
	if st.Arm >= 0 {
		if st.Arm >= len(t.g.Arms) {
			return fmt.Errorf("there is no arm %d", st.Arm)
		}
		t.arm = t.g.Arms[st.Arm]
	}
	for _, list := range [][]Visit{t.before, t.trail.Visits} {
		for _, v := range list {
			if t.g.Stage(v.Stage) == nil {
				return fmt.Errorf("there is no stage.%s", v.Stage)
			}
		}
	}
	asked := t.arm != nil && t.arm.Kind == ArmAsk
	fits := t.at != nil
	switch t.phase {
	case phaseEnter, phaseRoute, phaseGate, phaseStop, phaseDone:
	case phaseSettle:
		fits = fits && st.Event != nil && (t.event.Failure != nil || !t.event.Output.IsNull())
	case phaseSpawn:
		fits = fits && t.at.FanOut != nil
	case phaseWait, phaseExpire, phaseResume:
		fits = fits && asked
	default:
		fits = false
	}
	if !fits {
		return fmt.Errorf("it says phase %q at stage %q, which no traversal comes to", t.phase, st.At)
	}
	return nil
}

func unreadable(key string, err error) *Error {
	return &Error{Op: "restore item", Subject: key, Kind: KindInfrastructure, Code: EStore, Err: err,
		Hint: "replay the item from its origin: finished visits are answered from staging"}
}
