// Package draw makes a picture of a pipeline's graph: DOT, Mermaid, JSON, and
// an SVG laid out in this process.
//
// `penstock graph` calls it, and the report of a run, which puts counts to the
// arrows. It refuses to show what the graph does not hold: every arrow is an arm
// of a route, a source or a fan-out, in a stable order. A report adds those that
// items took though no route has them.
package draw

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/dag"
)

// NodeKind says what a node stands for.
type NodeKind string

const (
	SourceNode NodeKind = "source"
	StageNode  NodeKind = "stage"
	DecideNode NodeKind = "decide"
	GateNode   NodeKind = "gate"
	StopNode   NodeKind = "stop"
)

// Node is a place in the picture.
type Node struct {
	ID       string   `json:"id"` // "stage.verifier", "gate.accept", "stop.rejected"
	Kind     NodeKind `json:"kind"`
	Label    string   `json:"label"`
	Provider string   `json:"provider,omitempty"`
	// Items, of a report, is how many items came here; nil: nobody counted.
	Items *int `json:"items,omitempty"`
	// Note, of a few words, stands beside it in an SVG.
	Note string `json:"-"`
}

// Edge is one way from a place to the next.
type Edge struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Label string `json:"label,omitempty"`
	Max   *int   `json:"max,omitempty"` // of an edge that closes a loop
	Kind  string `json:"kind"`          // "route", "exhausted", "fail", "shadow", "start"; of a report also "unrouted"
	// Items, of a report, is how many items went this way; nil: nobody counted.
	Items *int `json:"items,omitempty"`
	// Times, of a report, is how often items went this way; nil: nobody counted.
	Times *int `json:"times,omitempty"`
	// Arms are the dag.Arm.IDs that it stands for.
	Arms []int `json:"-"`
}

// Picture is a graph, ready to be drawn.
type Picture struct {
	Version int    `json:"version"` // of this shape: 1
	Name    string `json:"pipeline"`
	Nodes   []Node `json:"nodes"`
	Edges   []Edge `json:"edges"`
}

// Of makes the picture of a graph.
func Of(g *dag.Graph) *Picture {
	p := &Picture{Version: 1, Name: g.Pipeline.Name}
	for _, s := range g.Sources {
		p.Nodes = append(p.Nodes, Node{ID: "source." + s.Name, Kind: SourceNode, Label: s.Name})
		if g.First != nil {
			p.Edges = append(p.Edges, Edge{From: "source." + s.Name, To: "stage." + g.First.Name, Kind: "start"})
		}
	}
	for _, s := range g.Stages {
		n := Node{ID: "stage." + s.Name, Kind: StageNode, Label: s.Name}
		if s.Decide != nil {
			n.Kind = DecideNode
		}
		if s.Provider != nil {
			n.Provider = s.Provider.Name
		}
		p.Nodes = append(p.Nodes, n)
	}
	if g.Gate != nil {
		p.Nodes = append(p.Nodes, Node{ID: "gate." + g.Gate.Name, Kind: GateNode, Label: g.Gate.Name})
	}
	b := builder{picture: p, gate: g.Gate, stops: map[string]bool{}}
	for _, r := range g.Routes {
		for _, s := range r.From {
			b.route(r, s)
		}
	}
	p.merge()
	return p
}

type builder struct {
	picture *Picture
	gate    *dag.Gate
	stops   map[string]bool
}

func (b *builder) route(r *dag.Route, s *dag.Stage) {
	from := "stage." + s.Name
	var label string
	if f := s.FanOut; f != nil {
		label = "each " + times(f)
	}
	if r.To != nil {
		b.arm(from, label, "route", r.To)
	}
	for _, word := range r.Order {
		b.arm(from, word, "route", r.On[word])
	}
	for _, f := range r.Fail {
		word := "fails"
		if f.Code != "" {
			word = "fails " + string(f.Code)
		}
		b.arm(from, word, "fail", f.Arm)
	}
}

// times writes how many items a fan-out makes: "×5", "×1–8", "×n".
func times(f *dag.FanOut) string {
	switch {
	case f.Max > 0 && f.Min == f.Max:
		return fmt.Sprintf("×%d", f.Max)
	case f.Max > 0:
		return fmt.Sprintf("×%d–%d", f.Min, f.Max)
	}
	return "×n"
}

func (b *builder) arm(from, label, kind string, a *dag.Arm) {
	if a == nil {
		return
	}
	switch a.Kind {
	case dag.ArmWhen:
		for _, branch := range a.Branches {
			b.arm(from, join(label, short(branch.If)), kind, branch.Arm)
		}
		b.arm(from, join(label, "else"), kind, a.Else)
	case dag.ArmStage:
		e := Edge{From: from, To: "stage." + a.Stage.Name, Label: label, Kind: kind, Arms: []int{a.ID}}
		if a.Bounded {
			limit := a.Max
			e.Max = &limit
		}
		b.picture.Edges = append(b.picture.Edges, e)
		b.arm(from, join(label, "exhausted"), "exhausted", a.Exhausted)
	case dag.ArmGate:
		if a.As != "" {
			label = join(label, "as "+string(a.As))
		}
		b.picture.Edges = append(b.picture.Edges, Edge{From: from, To: "gate." + b.gate.Name, Label: label, Kind: kind, Arms: []int{a.ID}})
	case dag.ArmStop:
		b.stop(from, label, kind, a)
	case dag.ArmAsk:
		for _, s := range a.Ask.Resume {
			limit := a.Ask.Max
			b.picture.Edges = append(b.picture.Edges, Edge{From: from, To: "stage." + s.Name, Label: join(label, "asked"), Kind: kind, Max: &limit, Arms: []int{a.ID}})
		}
		b.arm(from, join(label, "exhausted"), "exhausted", a.Ask.Exhausted)
		b.arm(from, join(label, "expired"), "exhausted", a.Ask.Expired)
	}
	b.arm(from, join(label, "shadow"), "shadow", a.Shadow)
}

func (b *builder) stop(from, label, kind string, a *dag.Arm) {
	id := "stop." + string(a.End)
	if !b.stops[id] {
		b.stops[id] = true
		b.picture.Nodes = append(b.picture.Nodes, Node{ID: id, Kind: StopNode, Label: string(a.End)})
	}
	b.picture.Edges = append(b.picture.Edges, Edge{From: from, To: id, Label: label, Kind: kind, Arms: []int{a.ID}})
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// short is a condition in at most 40 runes.
func short(e dag.Expr) string {
	if e == nil {
		return "always"
	}
	text := []rune(strings.Join(strings.Fields(e.String()), " "))
	if len(text) > 40 {
		return string(text[:39]) + "…"
	}
	return string(text)
}

// merge joins edges that differ in their label only.
func (p *Picture) merge() {
	type key struct{ from, to, kind string }
	at := map[key]int{}
	var edges []Edge
	for _, e := range p.Edges {
		k := key{e.From, e.To, e.Kind}
		if i, ok := at[k]; ok && e.Max == nil && edges[i].Max == nil {
			edges[i].Label = strings.Join(unique(edges[i].Label, e.Label), " | ")
			edges[i].Arms = append(edges[i].Arms, e.Arms...)
			continue
		}
		at[k] = len(edges)
		edges = append(edges, e)
	}
	p.Edges = edges
}

func unique(a, b string) []string {
	var all []string
	for _, s := range append(strings.Split(a, " | "), b) {
		if s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// text is an edge's label as it is printed, its bound with it.
func (e Edge) text() string {
	if e.Max == nil {
		return e.Label
	}
	return join(e.Label, fmt.Sprintf("at most %d×", *e.Max))
}

// counted is how many items went an edge's way, as it is printed; empty where
// nobody counted.
func (e Edge) counted() string {
	switch {
	case e.Items == nil:
		return ""
	case e.Times != nil && *e.Times > *e.Items:
		return fmt.Sprintf("%d (%d times)", *e.Items, *e.Times)
	}
	return strconv.Itoa(*e.Items)
}
