package staging

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/penstock-run/penstock/dag"
)

// layout gives every line that stays its place. A segment of which all stays is
// left as it is; what stays of the others goes into new ones.
func (c *collector) layout() {
	for i := range c.lines {
		l := &c.lines[i]
		p := c.segments[l.segment]
		if l.segment == looseSegment || p == nil {
			continue
		}
		if l.keep || p.fixed {
			p.live++
			p.liveBytes += int64(l.length) + 1
		}
	}
	for _, p := range c.segments {
		p.stays = p.fixed || p.lines > 0 && p.liveBytes == p.size
	}
	for i, l := range c.lines {
		if p := c.segments[l.segment]; l.keep && p != nil && !p.stays {
			c.moved = append(c.moved, move{int32(i), l.segment, l.offset})
		}
	}
	slices.SortFunc(c.moved, func(a, b move) int {
		return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.offset, b.offset))
	})
	var size int64
	for i, m := range c.moved {
		l := &c.lines[m.line]
		if i == 0 || size+int64(l.length)+1 > segmentSize {
			c.highest++
			size = 0
		}
		l.segment, l.offset = c.highest, uint32(size)
		size += int64(l.length) + 1
	}
}

// ref is where an artifact lies after the collection.
func (c *collector) ref(key uint64) (Ref, bool) {
	i := c.find(key)
	if i < 0 || !c.lines[i].keep {
		return Ref{}, false
	}
	l := c.lines[i]
	return Ref{Segment: l.segment, Offset: l.offset, Length: l.length}, true
}

// measure counts what stays and what goes, and finds the logs to write anew.
func (c *collector) measure() error {
	r := c.report
	r.Kinds = make([]KindCount, len(kindNames))
	for i, name := range kindNames {
		r.Kinds[i].Kind = name
		r.Before += c.sizes[i]
	}
	c.countRecords()
	c.countArtifacts()
	files := &r.Kinds[kindOfLeftovers]
	for _, f := range c.leftover {
		if f.gone {
			files.Remove++
		} else {
			files.Keep++
			files.KeepBytes += f.size
		}
	}
	logs := &r.Kinds[kindOfLogs]
	for _, l := range c.runLogs {
		logs.count(!l.gone)
		if !l.gone {
			logs.KeepBytes += l.size
		}
	}
	r.Kinds[kindOfOthers].KeepBytes = c.sizes[kindOfOthers]
	if c.sizes[kindOfClaims] > logHead { // of runs that are over, else we had no say here
		r.Kinds[kindOfClaims].Remove = 1
	} else {
		r.Kinds[kindOfClaims].KeepBytes = c.sizes[kindOfClaims]
	}
	if err := c.measureLogs(); err != nil {
		return err
	}
	for i := range r.Kinds {
		k := &r.Kinds[i]
		k.RemoveBytes = max(0, c.sizes[i]-k.KeepBytes)
		r.After += k.KeepBytes
	}
	r.Over = c.MaxBytes > 0 && r.After > c.MaxBytes
	return nil
}

// measureLogs decides which logs are written anew, and how long they become.
func (c *collector) measureLogs() error {
	r := c.report
	places := len(c.moved) > 0
	segments := places || slices.ContainsFunc(c.places(), func(n uint32) bool { return !c.segments[n].stays })
	logs := []struct {
		gcLog
		kind int
		must bool
	}{
		{gcLog{name: "runs.log", each: c.runFrames}, kindOfRuns, segments},
		{gcLog{name: "recipes.log", each: c.recipeFrames}, kindOfRecipes, false},
		{gcLog{name: "actions.log", each: c.actionFrames}, kindOfActions, segments},
		{gcLog{name: "trails.log", each: c.trailFrames}, kindOfTrails, segments},
	}
	total := int64(0)
	for i := range logs {
		l := &logs[i]
		size, err := logSize(l.each)
		if err != nil {
			return err
		}
		l.size = size
		total += c.sizes[l.kind]
	}
	for _, k := range r.Kinds {
		total += k.KeepBytes
	}
	tight := c.MaxBytes > 0 && total > c.MaxBytes
	for _, l := range logs {
		k := &r.Kinds[l.kind]
		old := c.sizes[l.kind]
		if l.must || k.Remove > 0 || tight && l.size < old || l.size+l.size/8+1<<16 < old {
			c.newLogs = append(c.newLogs, l.gcLog)
			k.KeepBytes = l.size
			continue
		}
		k.KeepBytes = old
	}
	return nil
}

// places are the numbers of the segments, in order.
func (c *collector) places() []uint32 {
	var numbers []uint32
	for n := range c.segments {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

func (k *KindCount) count(keep bool) {
	if keep {
		k.Keep++
	} else {
		k.Remove++
	}
}

func (c *collector) countRecords() {
	kinds := c.report.Kinds
	for i := range c.trails {
		kinds[kindOfTrails].count(c.trails[i].flags&trailKeep != 0)
	}
	for i := range c.actions {
		kinds[kindOfActions].count(c.actions[i].keep)
	}
	for _, r := range c.recipes {
		kinds[kindOfRecipes].count(r.keep)
	}
	for _, r := range c.runs {
		if r.kind == kindRunStart {
			kinds[kindOfRuns].count(r.keep)
		}
	}
}

func (c *collector) countArtifacts() {
	k := &c.report.Kinds[kindOfArtifacts]
	for _, m := range c.moved {
		k.KeepBytes += int64(c.lines[m.line].length) + 1 + indexEntry
	}
	for _, p := range c.segments {
		if p.stays {
			k.KeepBytes += p.size + p.index
		}
	}
	for _, l := range c.lines {
		p := c.segments[l.segment]
		k.count(l.keep || p != nil && p.fixed)
		if l.keep && l.segment == looseSegment {
			k.KeepBytes += int64(l.length)
		}
	}
}

// frames gives the records of a log, in order.
type frames func(yield func(kind byte, payload []byte) error) error

func logSize(each frames) (int64, error) {
	size, n := int64(logHead), int64(0)
	err := each(func(_ byte, payload []byte) error {
		size += int64(frameHead + len(payload))
		n++
		return nil
	})
	return size + (n+commitEvery-1)/commitEvery*commitSize, err
}

func (c *collector) runFrames(yield func(byte, []byte) error) error {
	if err := yield(kindSegment, binary.LittleEndian.AppendUint32(nil, c.highest)); err != nil {
		return err
	}
	for _, r := range c.runs {
		if r.keep {
			if err := yield(r.kind, r.payload); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *collector) recipeFrames(yield func(byte, []byte) error) error {
	for _, r := range c.recipes {
		if r.keep {
			if err := yield(r.kind, r.payload); err != nil {
				return err
			}
		}
	}
	return nil
}

// actionFrames are the actions that stay, each with the new place of its output.
func (c *collector) actionFrames(yield func(byte, []byte) error) error {
	const refAt = 4 * len(dag.Digest{}) // what stands before OutputRef
	var failed error
	i := 0
	var b []byte
	err := c.scanLog("actions.log", func(kind byte, payload []byte, at int64) {
		if failed != nil || i == len(c.actions) || c.actions[i].pos != at {
			return
		}
		a := &c.actions[i]
		i++
		if !a.keep {
			return
		}
		b = append(b[:0], payload...)
		if ref, ok := c.ref(a.out); ok && !a.failed {
			putRef(b[refAt:refAt], ref)
		}
		failed = yield(kind, b)
	})
	if err == nil {
		err = failed
	}
	return err
}

// trailFrames are the trails that stay, each with the new places of what it needs.
func (c *collector) trailFrames(yield func(byte, []byte) error) error {
	var failed error
	i := 0
	err := c.scanLog("trails.log", func(kind byte, payload []byte, at int64) {
		if failed != nil || i == len(c.trails) || c.trails[i].pos != at {
			return
		}
		g := &c.trails[i]
		i++
		if g.flags&trailKeep == 0 {
			return
		}
		if g.flags&trailForeign != 0 {
			failed = yield(kind, payload)
			return
		}
		t := decodeTrail(payload)
		c.newNeeds(t, g)
		failed = yield(kind, t.append(nil))
	})
	if err == nil {
		err = failed
	}
	return err
}

// newNeeds lets a trail need what it stands on where that lies now. One whose
// artifacts were gone before stays one that counts as not there: it needs a
// segment of the number that none has.
func (c *collector) newNeeds(t *Trail, g *gcTrail) {
	loose := t.loose
	t.needs, t.loose = nil, nil
	if g.flags&trailDangling != 0 {
		t.needs = []segmentEnd{{looseSegment, 1}}
		return
	}
	for _, key := range c.refs[g.split:g.to] {
		if ref, ok := c.ref(key); ok && !ref.Loose() {
			t.Need(ref, dag.Digest{})
		}
	}
	t.loose = loose
}
