package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/draw"
	"github.com/penstock-run/penstock/internal/staging"
)

// outline is what a pipeline said when a run began: its stages, the conditions
// of its routes in their own words, its codes and its checks. Trails name arms
// and checks; the outline of their run tells what those were, though the file
// may have been edited since. It lies among the artifacts, one for each wording.
type outline struct {
	Stages   []outlineStage `json:"stages"`
	Arms     []outlineArm   `json:"arms"`
	Codes    []outlineCode  `json:"codes"`
	Gate     string         `json:"gate"`
	Checks   []outlineCheck `json:"checks"`
	Evidence string         `json:"evidence,omitempty"`
	Nodes    []draw.Node    `json:"nodes,omitempty"` // of the picture, with Edges; none: an older Penstock wrote it
	Edges    []outlineEdge  `json:"edges,omitempty"`
}

type outlineStage struct {
	Name     string     `json:"name"`
	At       string     `json:"at"`
	Provider string     `json:"provider,omitempty"` // its name in the pipeline
	Price    *dag.Price `json:"price,omitempty"`    // of its provider; nil: unknown
	Asks     bool       `json:"asks,omitzero"`      // it has a provider
	Fans     bool       `json:"fans,omitzero"`      // it fans out
}

// outlineEdge is an arrow of the picture, with the arms that it stands for.
type outlineEdge struct {
	draw.Edge `json:",inline"`
	Arms      []int `json:"arms,omitempty"`
}

// outlineArm is one way out of a stage, with all that has to be so for it.
type outlineArm struct {
	ID    int         `json:"id"`
	From  []string    `json:"from"`
	Route string      `json:"route"`
	To    string      `json:"to"` // as dag.Decision has it
	As    dag.Triage  `json:"as,omitempty"`
	End   dag.End     `json:"end,omitempty"`
	Code  dag.Code    `json:"code,omitempty"`
	Word  string      `json:"status,omitempty"`
	Under []Condition `json:"under,omitempty"`
}

type outlineCode struct {
	Code    dag.Code `json:"code"`
	Meaning string   `json:"meaning"`
}

type outlineCheck struct {
	Name string        `json:"name"`
	Kind dag.CheckKind `json:"kind"`
	Code dag.Code      `json:"code"`
	At   string        `json:"at"`
	If   string        `json:"if,omitempty"`
}

// Condition is one thing that had to be so for a way to be taken.
type Condition struct {
	On    string `json:"on,omitempty"`   // the outcome
	Fail  string `json:"fail,omitempty"` // the failure code; "any"
	If    string `json:"if,omitempty"`   // the source text of an expression
	Holds bool   `json:"holds,omitzero"` // whether If had to hold
	At    string `json:"at,omitempty"`   // where it stands
	Other string `json:"other,omitempty"`
}

// outlineOf writes a graph down.
func outlineOf(g *dag.Graph) *outline {
	o := &outline{}
	for _, s := range g.Stages {
		stage := outlineStage{Name: s.Name, At: s.Pos.String(), Asks: s.Provider != nil, Fans: s.FanOut != nil}
		if s.Provider != nil {
			stage.Price, stage.Provider = s.Provider.Price, s.Provider.Name
		}
		o.Stages = append(o.Stages, stage)
	}
	for _, r := range g.Routes {
		w := armWriter{o: o, route: r, gate: g.Gate}
		for _, s := range r.From {
			w.from = append(w.from, s.Name)
		}
		w.arm(r.To, nil)
		for _, outcome := range r.Order {
			w.arm(r.On[outcome], []Condition{{On: outcome}})
		}
		for _, f := range r.Fail {
			code := string(f.Code)
			if code == "" {
				code = "any"
			}
			w.arm(f.Arm, []Condition{{Fail: code}})
		}
	}
	picture := draw.Of(g)
	o.Nodes = picture.Nodes
	for _, e := range picture.Edges {
		o.Edges = append(o.Edges, outlineEdge{e, e.Arms})
	}
	for _, c := range g.Codes {
		o.Codes = append(o.Codes, outlineCode{c.Code, c.Meaning})
	}
	if g.Gate == nil {
		return o
	}
	o.Gate = g.Gate.Name
	for i, name := range gate.CheckNames(g.Gate) {
		c := g.Gate.Checks[i]
		check := outlineCheck{Name: name, Kind: c.Kind, Code: c.Code, At: c.Pos.String()}
		if c.If != nil {
			check.If = c.If.String()
		}
		o.Checks = append(o.Checks, check)
	}
	if g.Gate.Corpus != nil {
		o.Evidence = g.Gate.Corpus.Evidence
	}
	return o
}

// armWriter walks down the arms of a route.
type armWriter struct {
	o     *outline
	route *dag.Route
	gate  *dag.Gate
	from  []string
}

func (w *armWriter) arm(a *dag.Arm, under []Condition) {
	if a == nil {
		return
	}
	with := func(more ...Condition) []Condition { return append(under[:len(under):len(under)], more...) }
	if a.Mode != nil {
		w.arm(a.Shadow, with(Condition{Other: "mode " + a.Mode.Name + " is shadow"}))
	}
	switch a.Kind {
	case dag.ArmWhen:
		var before []Condition
		for _, b := range a.Branches {
			c := Condition{If: b.If.String(), At: b.If.Pos().String()}
			met := c
			met.Holds = true
			w.arm(b.Arm, with(append(before[:len(before):len(before)], met)...))
			before = append(before, c)
		}
		w.arm(a.Else, with(before...))
		return
	case dag.ArmStage:
		w.leaf(a, "stage."+a.Stage.Name, under)
		w.arm(a.Exhausted, with(Condition{Other: "stage." + a.Stage.Name + " was taken as often as `max = " + strconv.Itoa(a.Max) + "` allows"}))
	case dag.ArmGate:
		w.leaf(a, "gate."+w.gate.Name, under)
	case dag.ArmStop:
		w.leaf(a, "stop", under)
	case dag.ArmAsk:
		w.leaf(a, "ask", under)
		w.arm(a.Ask.Exhausted, with(Condition{Other: "it was asked as often as `max` allows"}))
		w.arm(a.Ask.Expired, with(Condition{Other: "the question was not answered in time"}))
	}
}

func (w *armWriter) leaf(a *dag.Arm, to string, under []Condition) {
	w.o.Arms = append(w.o.Arms, outlineArm{ID: a.ID, From: w.from, Route: w.route.Name, To: to, As: a.As, End: a.End, Code: a.Code, Word: a.Status, Under: under})
}

// keepOutline stores the pipeline's outline, and gives its digest. Where the last
// run had the same one nothing is looked up or written: a run with nothing to do
// does not begin a segment.
func (e *engine) keepOutline() (dag.Digest, error) {
	b, err := json.Marshal(outlineOf(e.Graph), json.Deterministic(true))
	if err == nil {
		b, err = canon.Canonical(nil, b)
	}
	if err != nil {
		return dag.Digest{}, &dag.Error{Op: "write down the pipeline", Subject: e.Graph.Pipeline.Name, Kind: dag.KindBug, Err: err}
	}
	doc := dag.NewDoc(b)
	last, ok, err := e.store.LastRun()
	if err == nil && !(ok && last.Outline == doc.Digest) {
		_, err = e.store.Put(doc)
	}
	return doc.Digest, err
}

// readOutline reads the outline of a run; an empty one where it is not kept.
func readOutline(store *staging.Store, digest dag.Digest) *outline {
	o := &outline{}
	if digest.IsZero() {
		return o
	}
	b, err := store.Get(digest)
	if err != nil || json.Unmarshal(b, o) != nil {
		return &outline{}
	}
	return o
}

func (o *outline) arm(d *dag.Decision) *outlineArm {
	for i := range o.Arms {
		if a := &o.Arms[i]; a.ID == d.Arm {
			return a
		}
	}
	return nil
}

func (o *outline) stage(name string) *outlineStage {
	for i := range o.Stages {
		if o.Stages[i].Name == name {
			return &o.Stages[i]
		}
	}
	return nil
}

func (o *outline) stageNames() []string {
	names := make([]string, len(o.Stages))
	for i, s := range o.Stages {
		names[i] = s.Name
	}
	return names
}

// meaning is what a code stands for: one of the pipeline's, or of the engine's.
func (o *outline) meaning(code dag.Code) string {
	for _, c := range o.Codes {
		if c.Code == code {
			return c.Meaning
		}
	}
	for _, c := range dag.EngineCodes() {
		if c.Code == code {
			return c.Meaning
		}
	}
	return ""
}

// leadsTo reports whether some way out of one stage comes to another, directly
// or by others.
func (o *outline) leadsTo(from, to string) bool {
	seen := map[string]bool{}
	var walk func(stage string) bool
	walk = func(stage string) bool {
		if seen[stage] {
			return false
		}
		seen[stage] = true
		for i := range o.Arms {
			a := &o.Arms[i]
			next := a.stage()
			if next == "" || !a.leaves(stage) {
				continue
			}
			if next == to || walk(next) {
				return true
			}
		}
		return false
	}
	return walk(from)
}

// stage is the stage that an arm leads to; empty where it leads to none.
func (a *outlineArm) stage() string {
	name, ok := strings.CutPrefix(a.To, "stage.")
	if !ok {
		return ""
	}
	return name
}

func (a *outlineArm) leaves(stage string) bool { return slices.Contains(a.From, stage) }
