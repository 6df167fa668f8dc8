package staging

import (
	"cmp"
	"slices"

	"github.com/penstock-run/penstock/dag"
)

// Sizes are known exactly only when everything has its place, so what is
// chosen is reckoned too dear, never too cheap.
const (
	dearAction   = 1  // its share of a commit frame
	dearTrail    = 32 // commit frame, counts and lengths that may grow
	dearNeed     = 10 // a segment and an end, if it were the only one there
	dearLogs     = 3 * (logHead + commitSize)
	commitEvery  = 4096 // records between commit frames
	fewestRuns   = 5    // that the journal keeps, whatever their age
	dearLastRuns = 64   // header, commit and segment number of the journal
)

// chooser adds up what stays.
type chooser struct {
	*collector
	bytes   int64
	pinned  map[uint64]bool // groups of samples of which one is a root
	samples bool
	parts   map[dag.Digest][]uint64 // what a recipe's parts stand for, until one of its actions stays
}

// choose marks what stays: the roots, then of the rest what was used last, as
// long as it is young enough and fits.
func (c *collector) choose() {
	h := &chooser{collector: c, pinned: map[uint64]bool{}, parts: map[dag.Digest][]uint64{}}
	for _, r := range c.recipes {
		h.recipe(r)
	}
	h.samples = slices.ContainsFunc(c.actions, func(a gcAction) bool { return a.samples })
	h.bytes = c.sizes[kindOfOthers] + c.sizes[kindOfLogs] + c.sizes[kindOfRuns] + dearLastRuns + c.recipesSize() + dearLogs
	for _, f := range c.leftover {
		if !f.gone {
			h.bytes += f.size
		}
	}
	h.roots()
	c.report = &Collected{Roots: h.bytes, Bound: c.MaxBytes}
	h.rest()
	c.keepRuns()
	c.keepRecipes()
}

// recipesSize is what the log of recipes may come to.
func (c *collector) recipesSize() int64 {
	size := c.sizes[kindOfRecipes]
	known := map[dag.Digest]bool{}
	for _, r := range c.recipes {
		known[r.recipe] = true
	}
	for i := range c.actions {
		if r := c.actions[i].recipe; !known[r] {
			known[r] = true
			size += int64(frameHead + len(r))
		}
	}
	return size
}

func (h *chooser) roots() {
	for i := range h.runs { // few differ, and without them nobody can tell why an item went where it did
		h.artifact(h.runs[i].outline)
	}
	for d := range h.Artifacts {
		h.artifact(key64(d))
	}
	for d := range h.Actions {
		if at, ok := h.byAction[key64(d)]; ok {
			h.action(at, true)
		}
	}
	last := h.lastRuns(h.KeepRuns)
	unfinished := map[uint64]bool{} // runs that left something to do
	current := map[uint64]struct{}{}
	for d := range h.Trails {
		current[key64(d)] = struct{}{}
	}
	byKey, accepted, latest := h.latest()
	for i := range h.trails {
		t := &h.trails[i]
		_, now := current[t.key]
		open := latest[t.item] == int32(i) && unfinishedEnds(t.ends)
		if open {
			unfinished[t.run] = true
		}
		newest := byKey[t.key] == int32(i)
		best, ever := accepted[t.item]
		if t.flags&trailRoot != 0 || newest && (now || last[t.run]) || open || ever && best == int32(i) {
			h.trail(t, true)
		}
	}
	for i := range h.actions {
		a := &h.actions[i]
		// What was paid for an item that was interrupted in the middle of a visit
		// belongs to no visit yet.
		if last[a.run] || a.completion && unfinished[a.run] || h.pinned[a.group] {
			h.action(int32(i), true)
		}
	}
}

// latest finds the records that count: of each whole-trail key, and of each item
// the last with an accepted member, and the last of all.
func (h *chooser) latest() (byKey, accepted, latest map[uint64]int32) {
	byKey, accepted, latest = map[uint64]int32{}, map[uint64]int32{}, map[uint64]int32{}
	for i := range h.trails {
		t := &h.trails[i]
		byKey[t.key], latest[t.item] = int32(i), int32(i)
		// A dry run's is not final though nothing is left to do.
		if t.ends[acceptedEnd] > 0 && (t.flags&trailFinal != 0 || unfinishedEnds(t.ends)) {
			accepted[t.item] = int32(i)
		}
	}
	return byKey, accepted, latest
}

var acceptedEnd = slices.Index(dag.Ends[:], dag.Accepted)

func unfinishedEnds(ends Tally) bool {
	for i, n := range ends {
		if n > 0 && i < len(dag.Ends) && !dag.Ends[i].Final() {
			return true
		}
	}
	return false
}

// lastRuns are the hashes of the n latest runs.
func (c *collector) lastRuns(n int) map[uint64]bool {
	last := map[uint64]bool{}
	for i := len(c.runs) - 1; i >= 0 && len(last) < n; i-- {
		if c.runs[i].kind == kindRunStart {
			last[c.runs[i].hash] = true
		}
	}
	return last
}

// rest keeps the latest of what is no root. A record that stands behind a newer
// one of the same digest is of no use to anybody.
func (h *chooser) rest() {
	type candidate struct {
		when  int64
		trail bool
		at    int32
	}
	byKey, _, _ := h.latest()
	used := make([]int64, len(h.actions))
	for i := range h.trails {
		t := &h.trails[i]
		for _, key := range h.refs[t.from:t.split] {
			if at, ok := h.byAction[key]; ok {
				used[at] = max(used[at], t.when)
			}
		}
	}
	var all []candidate
	for i := range h.actions {
		a := &h.actions[i]
		if !a.keep && !a.dangling && h.byAction[a.key] == int32(i) {
			all = append(all, candidate{max(a.when, used[i]), false, int32(i)})
		}
	}
	for i := range h.trails {
		t := &h.trails[i]
		if t.flags&(trailKeep|trailDangling) == 0 && byKey[t.key] == int32(i) {
			all = append(all, candidate{t.when, true, int32(i)})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		order := cmp.Compare(b.when, a.when)
		if order == 0 && a.trail != b.trail { // a trail is worth little without its actions
			order = 1
			if b.trail {
				order = -1
			}
		}
		return cmp.Or(order, cmp.Compare(b.at, a.at))
	})
	oldest := h.Now.Add(-h.MaxAge).Unix()
	for _, x := range all {
		if h.MaxAge > 0 && x.when < oldest {
			return
		}
		var cost int64
		if x.trail {
			cost = h.trailCost(&h.trails[x.at])
		} else {
			cost = h.actionCost(x.at)
		}
		if h.MaxBytes > 0 && h.bytes+cost > h.MaxBytes {
			return
		}
		if x.trail {
			h.trail(&h.trails[x.at], false)
		} else {
			h.action(x.at, false)
		}
	}
}

func (h *chooser) actionCost(at int32) int64 {
	a := &h.actions[at]
	cost := int64(a.size) + dearAction + h.artifactCost(a.in)
	for _, part := range h.parts[a.recipe] {
		cost += h.artifactCost(part)
	}
	if a.out != a.in {
		cost += h.artifactCost(a.out)
	}
	for _, key := range h.refs[a.from:a.to] {
		cost += h.artifactCost(key)
	}
	return cost
}

func (h *chooser) trailCost(t *gcTrail) int64 {
	cost := int64(t.size) + dearTrail
	seen := map[uint64]bool{}
	for _, key := range h.refs[t.split:t.to] {
		cost += dearNeed
		if !seen[key] {
			seen[key] = true
			cost += h.artifactCost(key)
		}
	}
	return cost + h.fixedCost(t)
}

// artifactCost is what an artifact adds, if it does not stay anyway.
func (h *chooser) artifactCost(key uint64) int64 {
	i := h.find(key)
	if key == 0 || i < 0 || h.lines[i].keep {
		return 0
	}
	if h.lines[i].segment == looseSegment {
		return int64(h.lines[i].length)
	}
	return int64(h.lines[i].length) + 1 + indexEntry
}

func (h *chooser) artifact(key uint64) {
	if cost := h.artifactCost(key); cost > 0 {
		h.bytes += cost
		h.lines[h.find(key)].keep = true
	}
}

func (h *chooser) action(at int32, root bool) {
	a := &h.actions[at]
	if a.keep || a.dangling || h.byAction[a.key] != at {
		return
	}
	h.bytes += int64(a.size) + dearAction
	h.artifact(a.in)
	h.artifact(a.out)
	for _, key := range h.refs[a.from:a.to] {
		h.artifact(key)
	}
	for _, part := range h.parts[a.recipe] {
		h.artifact(part)
	}
	delete(h.parts, a.recipe)
	a.keep = true
	if root && h.samples && !a.completion {
		h.pinned[a.group] = true
	}
}

func (h *chooser) trail(t *gcTrail, root bool) {
	if t.flags&trailKeep != 0 {
		return
	}
	t.flags |= trailKeep
	h.bytes += int64(t.size) + dearTrail + dearNeed*int64(t.to-t.split) + h.fixedCost(t)
	for _, key := range h.refs[t.split:t.to] {
		h.artifact(key)
	}
	h.fix(t)
	if !root {
		return
	}
	for _, key := range h.refs[t.from:t.split] {
		if at, ok := h.byAction[key]; ok {
			h.action(at, true)
		}
	}
}

// fixedCost is what it costs that the segments of a trail which cannot be
// rewritten stay as they are: no more than all that lies in them.
func (h *chooser) fixedCost(t *gcTrail) (cost int64) {
	for _, need := range t.needs {
		if p := h.segments[need.segment]; p != nil && !p.fixed {
			cost += p.size + p.index
		}
	}
	return cost
}

func (h *chooser) fix(t *gcTrail) {
	for _, need := range t.needs {
		if p := h.segments[need.segment]; p != nil {
			p.fixed = true
		}
	}
}

// recipe notes what the parts of a recipe stand for, as far as that is stored.
func (h *chooser) recipe(r gcRecipe) {
	if r.kind != kindRecipe {
		return
	}
	in := reader{b: r.payload[len(r.recipe):]}
	for n := in.count(); n > 0; n-- {
		in.text()
		if part := key64(in.digest()); !in.short && h.find(part) >= 0 {
			h.parts[r.recipe] = append(h.parts[r.recipe], part)
		}
	}
}

// keepRecipes keeps what is known of the recipes of actions that stay.
func (c *collector) keepRecipes() {
	used := map[dag.Digest]bool{}
	for i := range c.actions {
		if c.actions[i].keep {
			used[c.actions[i].recipe] = true
		}
	}
	type entry struct {
		kind   byte
		recipe dag.Digest
	}
	done := map[entry]bool{}
	for i := len(c.recipes) - 1; i >= 0; i-- { // the last of several counts
		r := &c.recipes[i]
		id := entry{r.kind, r.recipe}
		r.keep = used[r.recipe] && !done[id]
		done[id] = true
	}
	for i := range c.actions { // of a log that was lost
		a := &c.actions[i]
		if id := (entry{kindUsed, a.recipe}); a.keep && !done[id] {
			done[id] = true
			c.recipes = append(c.recipes, gcRecipe{kind: kindUsed, payload: a.recipe[:], recipe: a.recipe, keep: true})
		}
	}
}

// keepLogs lets a log stay with an action that its run made, and those of the last
// runs, in which the visits stand that came to no action.
func (c *collector) keepLogs() {
	if len(c.runLogs) == 0 {
		return
	}
	keep := c.lastRuns(max(fewestRuns, c.KeepRuns))
	for i := range c.actions {
		if c.actions[i].keep {
			keep[c.actions[i].run] = true
		}
	}
	for i := range c.runLogs {
		c.runLogs[i].gone = !keep[c.runLogs[i].run]
	}
}

// keepRuns keeps the journal of the runs that are young or that something which
// stays was made by, and of the last ones.
func (c *collector) keepRuns() {
	named := c.lastRuns(max(fewestRuns, c.KeepRuns))
	for i := range c.trails {
		if c.trails[i].flags&trailKeep != 0 {
			named[c.trails[i].run] = true
		}
	}
	for i := range c.actions {
		if c.actions[i].keep {
			named[c.actions[i].run] = true
		}
	}
	c.keepLogs()
	oldest := c.Now.Add(-c.MaxAge).Unix()
	for i := range c.runs {
		r := &c.runs[i]
		at, known := c.runAt[r.hash]
		r.keep = named[r.hash] || known && (c.MaxAge == 0 || c.runs[at].when >= oldest)
	}
}
