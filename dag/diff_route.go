package dag

import (
	"slices"
	"strings"
)

// maxCases bounds the combinations of values that a table of routes goes through.
const maxCases = 4096

// routes compares the ways out of every stage, and names the stages whose way out
// is only written otherwise.
func (d *differ) routes() (rows []WayChange, rewritten []string) {
	for _, s := range d.is.Stages {
		was, is := d.was.Stage(s.Name), s
		changes := d.ways(s.Name, was, is)
		rows = append(rows, changes...)
		if len(changes) == 0 && was != nil && !slices.Equal(sideOf(d.was, was).written(), sideOf(d.is, is).written()) {
			rewritten = append(rewritten, s.Name)
		}
	}
	for _, s := range d.was.Stages {
		if d.is.Stage(s.Name) == nil {
			rows = append(rows, d.ways(s.Name, s, nil)...)
		}
	}
	return rows, rewritten
}

// ways compares the ways out of one stage; one of the two may be missing.
func (d *differ) ways(name string, was, is *Stage) []WayChange {
	old, new := sideOf(d.was, was), sideOf(d.is, is)
	var outcomes []string
	for _, side := range []waySide{new, old} {
		for _, o := range side.outcomes {
			if !slices.Contains(outcomes, o) {
				outcomes = append(outcomes, o)
			}
		}
	}
	byOutcome := make([][]WayChange, len(outcomes))
	alike := true
	for i, o := range outcomes {
		byOutcome[i] = compareArms(old.arm(o), new.arm(o))
		alike = alike && slices.Equal(byOutcome[0], byOutcome[i])
	}
	var rows []WayChange
	for i, o := range outcomes {
		if alike && i > 0 {
			break
		}
		for _, row := range byOutcome[i] {
			row.Stage = name
			if !alike {
				row.On = o
			}
			rows = append(rows, row)
		}
	}
	for _, code := range failCodes(old.route, new.route) {
		for _, row := range compareArms(old.fail(code), new.fail(code)) {
			row.Stage, row.On = name, strings.TrimSuffix("fail "+string(code), " ")
			rows = append(rows, row)
		}
	}
	return append(rows, counters(name, old.route, new.route)...)
}

// waySide is the way out of a stage in one of the pipelines.
type waySide struct {
	graph    *Graph
	outcomes []string
	route    *Route // nil: there is none
}

func sideOf(g *Graph, s *Stage) waySide {
	if s == nil {
		return waySide{graph: g}
	}
	return waySide{g, s.Outcomes, g.RouteFrom(s)}
}

// arm is the arm taken on an outcome, none where the stage has no such outcome.
func (w waySide) arm(outcome string) way {
	switch {
	case w.route == nil || !slices.Contains(w.outcomes, outcome):
		return way{}
	case w.route.On != nil:
		return way{w.graph, w.route.On[outcome]}
	}
	return way{w.graph, w.route.To}
}

// written is what the ways of all outcomes and failures are, resolved.
func (w waySide) written() []string {
	var all []string
	for _, o := range slices.Sorted(slices.Values(w.outcomes)) {
		all = append(all, w.arm(o).describe(true))
	}
	for _, code := range slices.Sorted(slices.Values(failCodes(w.route))) {
		all = append(all, string(code), w.fail(code).describe(true))
	}
	return all
}

// fail is the arm of a content failure, which is of no code in particular where
// the code is empty. One that no arm takes ends the item as failed.
func (w waySide) fail(code Code) way {
	if w.route == nil {
		return way{}
	}
	for _, f := range w.route.Fail {
		if f.Code == code || f.Code == "" {
			return way{w.graph, f.Arm}
		}
	}
	return way{w.graph, &Arm{Kind: ArmStop, End: Failed}}
}

func failCodes(routes ...*Route) []Code {
	var codes []Code
	for _, r := range routes {
		if r == nil {
			continue
		}
		for _, f := range r.Fail {
			if !slices.Contains(codes, f.Code) {
				codes = append(codes, f.Code)
			}
		}
	}
	return codes
}

// counters tells that the arms of a stage with a `max` share their count with
// other stages than before.
func counters(name string, was, is *Route) []WayChange {
	if was == nil || is == nil || !bounded(was) || !bounded(is) {
		return nil
	}
	names := func(r *Route) string {
		return strings.Join(slices.Sorted(slices.Values(stageRefs(r.From))), ", ")
	}
	if names(was) == names(is) {
		return nil
	}
	return []WayChange{{Stage: name, When: "`max` is counted over", Old: names(was), New: names(is)}}
}

func bounded(r *Route) bool {
	x := &index{counter: map[*Arm]int{}}
	for _, a := range r.arms() {
		x.number(a, map[*Arm]bool{})
	}
	return len(x.counters) > 0
}

// compareArms compares two arms, by value where what their conditions tell apart
// can be listed, else condition by condition.
func compareArms(was, is way) []WayChange {
	if was.same(is) {
		return nil
	}
	old, new := &decision{way: was}, &decision{way: is}
	if old.listed() && new.listed() {
		if rows, ok := compareCases(old, new); ok {
			return rows
		}
	}
	return compareBranches(was, is)
}

// compareBranches compares two arms condition by condition.
func compareBranches(was, is way) []WayChange {
	old, new := branchesOf(was), branchesOf(is)
	find := func(list []branch, key string) *branch {
		for i := range list {
			if list[i].key == key {
				return &list[i]
			}
		}
		return nil
	}
	// The same words may stand for something else, by a variable or a local that
	// has another value: then they are told resolved.
	text := func(b *branch, others []branch) string {
		for _, o := range others {
			if o.text == b.text && o.key != b.key {
				return b.resolved
			}
		}
		return b.text
	}
	var rows []WayChange
	for i := range new {
		b := &new[i]
		before, after := "", b.describe(false)
		if o := find(old, b.key); o != nil {
			if o.same(b.way) {
				continue
			}
			before, after = describeBoth(o.way, b.way)
		}
		rows = append(rows, WayChange{When: text(b, old), Old: before, New: after})
	}
	for i := range old {
		if o := &old[i]; find(new, o.key) == nil {
			rows = append(rows, WayChange{When: text(o, new), Old: o.describe(false)})
		}
	}
	for _, a := range compareOrder("", keysOf(old), keysOf(new)) {
		words := func(list []branch, keys string) string {
			var out []string
			for _, key := range strings.Split(keys, ", ") {
				out = append(out, find(list, key).text)
			}
			return strings.Join(out, "; ")
		}
		rows = append(rows, WayChange{When: "the first that holds, of", Old: words(old, a.Old), New: words(new, a.New)})
	}
	return rows
}

// branch is one way through the conditions of an arm.
type branch struct {
	key, text, resolved string
	way
}

func keysOf(list []branch) []string {
	keys := make([]string, len(list))
	for i, b := range list {
		keys[i] = b.key
	}
	return keys
}

// branchesOf flattens the conditions of an arm, as far as nothing hangs on them
// but where the item goes.
func branchesOf(from way) []branch {
	var list []branch
	var walk func(a *Arm, b branch)
	walk = func(a *Arm, b branch) {
		if a.Kind != ArmWhen || a.Mode != nil || len(a.Findings) > 0 {
			b.way = way{from.graph, a}
			list = append(list, b)
			return
		}
		and := func(key, text, resolved string) branch {
			if b.key == "" {
				return branch{key: key, text: text, resolved: resolved}
			}
			return branch{key: b.key + "&" + key, text: b.text + " and " + text, resolved: b.resolved + " and " + resolved}
		}
		for _, x := range a.Branches {
			walk(x.Arm, and(x.If.Digest().String(), x.If.String(), normalOf(x.If)))
		}
		if a.Else != nil {
			walk(a.Else, and("else", "else", "else"))
		}
	}
	if from.arm != nil {
		walk(from.arm, branch{})
	}
	return list
}
