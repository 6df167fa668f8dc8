package engine

import (
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/draw"
)

// wayCounts counts how many items went over each arrow of a pipeline's picture.
// Decisions name arms by number; the outline of their run says which arrow those
// were, whatever the pipeline says by now.
type wayCounts struct {
	name         string
	nodes        []draw.Node
	edges        []draw.Edge
	nodeAt       map[string]int
	byArm        map[stageArm][]int // edges
	items, times []int              // by edge
	came         []int              // items, by node

	// Of the item that is counted:
	seenEdges, seenNodes map[int]bool
}

type stageArm struct {
	stage string
	arm   int
}

func newWayCounts(o *outline, name string) *wayCounts {
	w := &wayCounts{
		name: name, nodes: slices.Clone(o.Nodes), nodeAt: map[string]int{}, byArm: map[stageArm][]int{},
		seenEdges: map[int]bool{}, seenNodes: map[int]bool{},
	}
	for i, n := range w.nodes {
		w.nodeAt[n.ID] = i
	}
	w.came = make([]int, len(w.nodes))
	for _, e := range o.Edges {
		edge := e.Edge
		edge.Arms = e.Arms
		w.add(edge)
	}
	return w
}

func (w *wayCounts) add(e draw.Edge) int {
	i := len(w.edges)
	w.edges = append(w.edges, e)
	w.items, w.times = append(w.items, 0), append(w.times, 0)
	for _, arm := range e.Arms {
		key := stageArm{e.From, arm}
		w.byArm[key] = append(w.byArm[key], i)
	}
	return i
}

// item counts the way of one.
func (w *wayCounts) item(source string, m *Member) {
	if m.Trail == nil || len(w.nodes) == 0 {
		return
	}
	clear(w.seenEdges)
	clear(w.seenNodes)
	if m.Trail.Parent == "" {
		w.reach("source." + source)
		for i := range w.edges {
			if w.edges[i].Kind == "start" && w.edges[i].From == "source."+source {
				w.take(i)
			}
		}
	}
	for i := range m.Trail.Visits {
		w.reach("stage." + m.Trail.Visits[i].Stage)
	}
	for i := range m.Trail.Decisions {
		d := &m.Trail.Decisions[i]
		from := "stage." + d.Stage
		if d.Arm < 0 {
			w.take(w.unrouted(from, m.End))
			continue
		}
		for _, edge := range w.byArm[stageArm{from, d.Arm}] {
			w.take(edge)
		}
	}
}

// unrouted is the arrow of a failure that no route leads on: the picture gets it
// when the first item takes it.
func (w *wayCounts) unrouted(from string, end dag.End) int {
	id := "stop." + string(end)
	for i, e := range w.edges {
		if e.Kind == "unrouted" && e.From == from && e.To == id {
			return i
		}
	}
	w.node(from, draw.StageNode)
	w.node(id, draw.StopNode)
	return w.add(draw.Edge{From: from, To: id, Label: "fails, no route", Kind: "unrouted"})
}

func (w *wayCounts) node(id string, kind draw.NodeKind) {
	if _, ok := w.nodeAt[id]; ok {
		return
	}
	w.nodeAt[id] = len(w.nodes)
	_, label, _ := strings.Cut(id, ".")
	w.nodes = append(w.nodes, draw.Node{ID: id, Kind: kind, Label: label})
	w.came = append(w.came, 0)
}

func (w *wayCounts) take(edge int) {
	w.times[edge]++
	if w.seenEdges[edge] {
		return
	}
	w.seenEdges[edge] = true
	w.items[edge]++
	if to := w.edges[edge].To; !strings.HasPrefix(to, "stage.") {
		w.reach(to) // a stage is reached by its visit
	}
}

func (w *wayCounts) reach(id string) {
	if i, ok := w.nodeAt[id]; ok && !w.seenNodes[i] {
		w.seenNodes[i] = true
		w.came[i]++
	}
}

// picture is the graph with the counts; nil where there is none.
func (w *wayCounts) picture() *draw.Picture {
	if len(w.nodes) == 0 {
		return nil
	}
	for i := range w.nodes {
		w.nodes[i].Items = &w.came[i]
	}
	for i := range w.edges {
		w.edges[i].Items, w.edges[i].Times = &w.items[i], &w.times[i]
	}
	return &draw.Picture{Version: 1, Name: w.name, Nodes: w.nodes, Edges: w.edges}
}
