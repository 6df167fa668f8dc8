package draw

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"sort"
	"unicode/utf8"
)

// Sizes in pixels of the SVG.
const (
	charWidth   = 7.2 // of the 12-pixel label font, on average
	nodeHeight  = 40
	layerGap    = 84 // between two layers: room for labels
	nodeGap     = 56
	margin      = 28
	labelHeight = 13
	noteWidth   = 50
)

type placed struct {
	*Node
	layer        int
	x, y, w      float64 // x, y: centre
	above, below []int   // neighbours, in the layer above or below or beyond
}

// SVG lays the picture out in layers, sources on top, and draws it. Edges that
// close a loop run back up at the side of what they pass.
func (p *Picture) SVG(w io.Writer) error { return p.svg(w, svgTip+svgStyle) }

// Inline is SVG for a page whose own style sheet has the classes: edge, dashed,
// unused (nobody went there), tip, label, count, sub, note-left, and the kinds of
// nodes.
func (p *Picture) Inline(w io.Writer) error { return p.svg(w, svgInlineTip) }

func (p *Picture) svg(w io.Writer, head string) error {
	nodes, index := p.place()
	width, height := 0.0, 0.0
	for _, n := range nodes {
		width = max(width, n.x+n.w/2)
		height = max(height, n.y+nodeHeight/2)
	}
	backs := 0
	for _, e := range p.Edges {
		if nodes[index[e.To]].layer <= nodes[index[e.From]].layer {
			backs++
		}
	}
	width += margin + float64(backs)*46
	height += margin
	out := bufio.NewWriter(w)
	left := 0.0 // room for the notes of the leftmost
	if slices.ContainsFunc(p.Nodes, func(n Node) bool { return n.Note != "" }) {
		left = noteWidth
	}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="%.0f 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s">`+"\n",
		0-left, width+left, height, width+left, height, html.EscapeString("the graph of "+p.Name))
	fmt.Fprint(out, head)
	back := 0
	var labels []label
	for _, e := range p.Edges {
		from, to := nodes[index[e.From]], nodes[index[e.To]]
		class := "edge"
		if e.Max != nil || e.Kind != "route" && e.Kind != "start" {
			class = "edge dashed"
		}
		if e.Items != nil && *e.Items == 0 {
			class += " unused"
		}
		if to.layer <= from.layer {
			back++
			labels = append(labels, loop(out, class, e, from, to, width-margin/2-float64(backs-back)*46-18))
			continue
		}
		labels = append(labels, arrow(out, class, e, from, to))
	}
	for _, n := range nodes {
		n.draw(out)
	}
	for _, l := range spread(labels) {
		if l.text == "" && l.count == "" {
			continue
		}
		count := l.count
		if count != "" {
			count = `<tspan class="count" dx="5">` + count + `</tspan>`
		}
		fmt.Fprintf(out, `<text class="label" x="%.1f" y="%.1f">%s%s</text>`+"\n", l.x, l.y, html.EscapeString(l.text), count)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

const svgTip = `<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#5b6470"/></marker></defs>
`

const svgInlineTip = `<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0,0 L8,4 L0,8 z"/></marker></defs>
`

const svgStyle = `<style>
  text { font-family: ui-sans-serif, system-ui, sans-serif; font-size: 12px; fill: #1d2430; text-anchor: middle }
  .sub { font-size: 10px; fill: #5b6470 } .label { font-size: 10.5px; fill: #3d4653; paint-order: stroke; stroke: #fff; stroke-width: 4px }
  .edge { fill: none; stroke: #5b6470; stroke-width: 1.2; marker-end: url(#tip) } .dashed { stroke-dasharray: 4 3 }
  .source { fill: #eef2f7; stroke: #8a94a3 } .stage { fill: #fff; stroke: #2f6db3 } .decide { fill: #fffaf0; stroke: #b7862b }
  .gate { fill: #e9f6ee; stroke: #2c8a53; stroke-width: 2 } .stop { fill: #fbeeee; stroke: #b0503f }
</style>
`

// place gives every node a layer, an order in it and a position.
func (p *Picture) place() ([]*placed, map[string]int) {
	nodes := make([]*placed, len(p.Nodes))
	index := map[string]int{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		text := max(utf8.RuneCountInString(n.Label), utf8.RuneCountInString(n.Provider))
		nodes[i] = &placed{Node: n, w: max(84, float64(text)*charWidth+28)}
		index[n.ID] = i
	}
	p.layer(nodes, index)
	layers := map[int][]*placed{}
	deepest := 0
	for _, n := range nodes {
		layers[n.layer] = append(layers[n.layer], n)
		deepest = max(deepest, n.layer)
	}
	order := map[*placed]float64{}
	for l := 0; l <= deepest; l++ {
		for i, n := range layers[l] {
			order[n] = float64(i)
		}
	}
	// A few sweeps of the barycentre rule: each node goes to the middle of its neighbours.
	for sweep := range 8 {
		for step := 0; step <= deepest; step++ {
			l := step
			if sweep%2 == 1 {
				l = deepest - step
			}
			sort.SliceStable(layers[l], func(i, j int) bool {
				return centre(layers[l][i], nodes, order, sweep%2 == 0) < centre(layers[l][j], nodes, order, sweep%2 == 0)
			})
			for i, n := range layers[l] {
				order[n] = float64(i) - float64(len(layers[l])-1)/2
			}
		}
	}
	// What runs back up stands outermost, where its way is free.
	back := map[*placed]bool{}
	for _, e := range p.Edges {
		if from := nodes[index[e.From]]; nodes[index[e.To]].layer <= from.layer {
			back[from] = true
		}
	}
	for l := range layers {
		sort.SliceStable(layers[l], func(i, j int) bool { return !back[layers[l][i]] && back[layers[l][j]] })
	}
	widest := 0.0
	for _, layer := range layers {
		widest = max(widest, layerWidth(layer))
	}
	for l, layer := range layers {
		x := margin + (widest-layerWidth(layer))/2
		for _, n := range layer {
			n.x, n.y = x+n.w/2, margin+nodeHeight/2+float64(l)*(nodeHeight+layerGap)
			x += n.w + nodeGap
		}
	}
	return nodes, index
}

func layerWidth(layer []*placed) float64 {
	w := -float64(nodeGap)
	for _, n := range layer {
		w += n.w + nodeGap
	}
	return w
}

// layer puts each node below all that lead to it by edges that close no loop;
// stops stand at the bottom.
func (p *Picture) layer(nodes []*placed, index map[string]int) {
	for range nodes {
		changed := false
		for _, e := range p.Edges {
			if e.Max != nil {
				continue
			}
			from, to := nodes[index[e.From]], nodes[index[e.To]]
			if to.layer < from.layer+1 && from.layer+1 < len(nodes) {
				to.layer = from.layer + 1
				changed = true
			}
		}
		if !changed {
			break
		}
	}
	// A node that only bounded edges lead to stands where the first of them leaves.
	for _, e := range p.Edges {
		if to := nodes[index[e.To]]; e.Max != nil && to.layer == 0 && to.Kind != SourceNode {
			to.layer = nodes[index[e.From]].layer + 1
		}
	}
	deepest := 0
	for _, n := range nodes {
		if n.Kind != StopNode {
			deepest = max(deepest, n.layer)
		}
	}
	for _, n := range nodes {
		if n.Kind == StopNode || n.Kind == GateNode {
			n.layer = deepest
			if n.Kind == StopNode && deepest == 0 {
				n.layer = 1
			}
		}
	}
	for _, e := range p.Edges {
		from, to := index[e.From], index[e.To]
		nodes[from].below = append(nodes[from].below, to)
		nodes[to].above = append(nodes[to].above, from)
	}
}

func centre(n *placed, nodes []*placed, order map[*placed]float64, down bool) float64 {
	near := n.above
	if !down {
		near = n.below
	}
	if len(near) == 0 {
		return order[n]
	}
	sum := 0.0
	for _, i := range near {
		sum += order[nodes[i]]
	}
	return sum / float64(len(near))
}

type label struct {
	x, y  float64
	text  string
	count string
}

func (l *label) length() int { return utf8.RuneCountInString(l.text) + utf8.RuneCountInString(l.count) }

func arrow(out io.Writer, class string, e Edge, from, to *placed) label {
	x1, y1, x2, y2 := from.x, from.y+nodeHeight/2, to.x, to.y-nodeHeight/2
	bend := math.Min(60, (y2-y1)/2)
	fmt.Fprintf(out, `<path class="%s" d="M%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f"/>`+"\n", class, x1, y1, x1, y1+bend, x2, y2-bend, x2, y2)
	// Nearer to the end than to the start: ways that leave together have parted there.
	const t = 0.62
	u := 1 - t
	x := u*u*u*x1 + 3*u*u*t*x1 + 3*u*t*t*x2 + t*t*t*x2
	y := u*u*u*y1 + 3*u*u*t*(y1+bend) + 3*u*t*t*(y2-bend) + t*t*t*y2
	return label{x, y, e.text(), e.counted()}
}

func loop(out io.Writer, class string, e Edge, from, to *placed, side float64) label {
	x1, y1 := from.x+from.w/2, from.y
	x2, y2 := to.x+to.w/2, to.y
	fmt.Fprintf(out, `<path class="%s" d="M%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f"/>`+"\n", class, x1, y1, side, y1, side, y2, x2, y2)
	return label{(x1+x2)/8 + side*0.75, (y1 + y2) / 2, e.text(), e.counted()}
}

// spread moves labels that would cover each other apart, downwards.
func spread(labels []label) []label {
	sort.SliceStable(labels, func(i, j int) bool { return labels[i].y < labels[j].y })
	for i := range labels {
		for j := range i {
			a, b := &labels[j], &labels[i]
			if a.length() == 0 || b.length() == 0 {
				continue
			}
			reach := float64(a.length()+b.length()) * charWidth * 0.42
			if math.Abs(a.x-b.x) < reach && math.Abs(a.y-b.y) < labelHeight {
				b.y = a.y + labelHeight
			}
		}
	}
	return labels
}

func (n *placed) draw(out io.Writer) {
	round := 8.0
	if n.Kind == GateNode || n.Kind == DecideNode {
		round = 0
	}
	if n.Kind == StopNode {
		round = nodeHeight / 2
	}
	fmt.Fprintf(out, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="%.0f"/>`+"\n", n.Kind, n.x-n.w/2, n.y-nodeHeight/2, n.w, nodeHeight, round)
	y := n.y + 4
	sub := n.Provider
	if n.Kind == GateNode {
		sub = "gate"
	}
	if sub != "" {
		y -= 6
		fmt.Fprintf(out, `<text class="sub" x="%.1f" y="%.1f">%s</text>`+"\n", n.x, n.y+13, html.EscapeString(sub))
	}
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f">%s</text>`+"\n", n.x, y, html.EscapeString(n.Label))
	if n.Note != "" {
		fmt.Fprintf(out, `<text class="note-left" x="%.1f" y="%.1f">%s</text>`+"\n", n.x-n.w/2-6, n.y+4, html.EscapeString(n.Note))
	}
}
