package dag

// components groups the stages by strong connection over the edges that use
// admits (which must have a target), in such an order that no edge leads from
// a group to a later one: what comes after a group stands before it.
func (x *index) components(use func(*edge) bool) [][]int {
	t := &tarjan{x: x, use: use, low: make([]int, len(x.stages)), order: make([]int, len(x.stages)), on: make([]bool, len(x.stages))}
	for s := range x.stages {
		if t.order[s] == 0 {
			t.visit(s)
		}
	}
	return t.groups
}

// tarjan is the state of Tarjan's algorithm. It recurses at most as deep as
// there are stages.
type tarjan struct {
	x          *index
	use        func(*edge) bool
	next       int
	order, low []int
	on         []bool
	stack      []int
	groups     [][]int
}

func (t *tarjan) visit(s int) {
	t.next++
	t.order[s], t.low[s] = t.next, t.next
	t.stack = append(t.stack, s)
	t.on[s] = true
	for _, i := range t.x.out[s] {
		e := &t.x.edges[i]
		if !t.use(e) {
			continue
		}
		if t.order[e.to] == 0 {
			t.visit(e.to)
			t.low[s] = min(t.low[s], t.low[e.to])
		} else if t.on[e.to] {
			t.low[s] = min(t.low[s], t.order[e.to])
		}
	}
	if t.low[s] != t.order[s] {
		return
	}
	var group []int
	for {
		last := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		t.on[last] = false
		group = append(group, last)
		if last == s {
			break
		}
	}
	t.groups = append(t.groups, group)
}
