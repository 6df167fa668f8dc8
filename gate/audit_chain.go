package gate

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/penstock-run/penstock/dag"
)

// Where the evidence is not one chain from its first line to its last, the lines
// are read again as what they may have become, and the breaks are explained: each
// is a row that is gone, a row that was changed, or lines that another hand added.

// link is a row of the evidence as a link of its chain.
type link struct {
	sum, prev key // of its canonical form; of the row before it
	seq, n    uint32
	lines     uint32
	form      form
}

// explained gathers what the lines of a broken chain are.
type explained struct {
	a         *audit
	name      string
	links     []link
	strangers []stranger
	conflicts [][2]int
	first     map[key]uint32 // line of each row
	unsure    uint32         // a line that the next may not follow for either's sake
}

// stranger is a line that is no row.
type stranger struct {
	n    int
	what string
}

func (a *audit) explainEvidence(v *view) error {
	name, e := a.o.Gate.Corpus.Evidence, &a.evidence
	x := &explained{a: a, name: name, first: map[key]uint32{}}
	e.rows, e.marks, a.report.Evidence = entries{}, nil, 0
	var row auditRow
	err := v.eachUnit(a.ctx, func(u *unit) error {
		if x.conflict(u) {
			return nil
		}
		if u.torn {
			a.tornTail(name, u, v.size(), "")
		}
		if u.text == nil || !row.read(u.text) {
			if !u.torn {
				x.strangers = append(x.strangers, stranger{u.n, a.strangeRow(u)})
			}
			return nil
		}
		a.report.Evidence++
		return x.row(u, &row)
	})
	if err != nil {
		return err
	}
	x.explain()
	var forms spans
	for i, l := range x.links {
		// Of the last row, which none follows, it is not known beside another that was changed.
		if !e.changed[l.n] && (len(e.changed) == 0 || i+1 < len(x.links)) {
			forms.add(&unit{n: int(l.n), lines: int(l.lines), form: l.form})
		}
	}
	forms.flush(a, name)
	for _, s := range x.strangers {
		a.fault("stranger", name, s.n, hintForeign, "%s", s.what)
	}
	for _, c := range x.conflicts {
		a.fault("conflict", name, c[0], hintConflict, "lines %d to %d are a merge that was not resolved: both sides had accepted records", c[0], c[1])
	}
	return nil
}

// tornTail tells of a last line without its line feed. lost is what the file lacks
// for it, if that is known.
func (a *audit) tornTail(name string, u *unit, size int64, lost string) {
	left := a.state.Files[name].Size
	switch {
	case size < left && u.text == nil:
		if lost != "" {
			lost = "; " + lost
		}
		a.fault("torn", name, u.n, hintCopyFile, "the file was cut in this line: it had %d bytes and has %d%s", left, size, lost)
	case isZero(u.raw):
		a.fault("torn", name, u.n, "the next `penstock run` cuts them off, and so does `penstock audit --repair`", "%d zero bytes stand behind the last line", len(u.raw))
	case u.text != nil:
		a.fault("torn", name, u.n, "the next `penstock run` ends it, and so does `penstock audit --repair`", "the last line has no line feed")
	default:
		a.fault("torn", name, u.n, "the next `penstock run` moves it to "+name+".torn, and so does `penstock audit --repair`", "the last line is not whole and has no line feed")
	}
}

func (a *audit) strangeRow(u *unit) string {
	if u.text == nil {
		return strange(u)
	}
	return "the line is no evidence of this gate"
}

// conflict takes in the lines of a merge conflict, from its first mark to its last.
func (x *explained) conflict(u *unit) bool {
	open := len(x.conflicts) > 0 && x.conflicts[len(x.conflicts)-1][1] == 0
	if u.form == marker {
		if !open {
			x.conflicts = append(x.conflicts, [2]int{u.n, 0})
		}
		if mark := conflictMark(u.line()); mark == '>' {
			x.conflicts[len(x.conflicts)-1][1] = u.n
		}
	}
	return u.form == marker || u.form == theirs
}

func (x *explained) row(u *unit, row *auditRow) error {
	sum := dag.Sum(u.text)
	l := link{sum: key(sum[:16]), seq: uint32(min(row.Sequence, 1<<32-1)), n: uint32(u.n), lines: uint32(u.lines), form: u.form}
	if _, err := hex.Decode(l.prev[:], []byte(row.Previous[:2*len(l.prev)])); err != nil {
		l.prev = key{0xff}
	}
	if earlier, again := x.first[l.sum]; again {
		x.a.fault("repeated", x.name, u.n, hintRepair, "the line is line %d a second time", earlier)
		x.a.evidence.repeated[l.n] = true
		return nil
	}
	x.first[l.sum] = l.n
	x.links = append(x.links, l)
	return x.a.noteEvidence(u.n, row)
}

// explain finds the breaks.
func (x *explained) explain() {
	if sorted := x.inOrder(); sorted {
		return
	}
	t := uint32(0) // the number that the row at hand must have
	last := link{}
	for i, l := range x.links {
		follows := l.prev == last.sum
		switch {
		case follows && i+1 == len(x.links) && l.seq != t+1:
			x.changed(l.n, "the line has the number %d and follows number %d", l.seq, t)
		case follows:
		case i > 0 && l.prev == (key{}) && l.seq == 1:
			x.a.fault("another", x.name, int(l.n), "take the file from a copy, and hand in to the gate again what the other corpus had",
				"another chain begins here: the evidence of another corpus was added")
		case l.seq > t+1:
			x.gap(last, l, t)
		case i == 0:
			x.changed(l.n, "the line is not as it was written: the first row follows none")
		case x.first[l.prev] != 0 && l.seq <= t:
			x.a.fault("fork", x.name, int(l.n), hintConflict, "the line follows line %d, and so does line %d: two copies of the corpus went on apart", x.first[l.prev], x.next(l.prev))
		default:
			x.broken(last, l, i)
		}
		if t++; !follows {
			t = max(l.seq, 1)
		}
		last = l
	}
}

// broken tells of a row that the next does not follow, though none is gone
// between them.
func (x *explained) broken(last, l link, i int) {
	intact := func(i int) bool { return i >= len(x.links) || i < 1 || x.links[i].prev == x.links[i-1].sum }
	switch {
	case x.unsure == last.n && i > 1:
		x.changed(last.n, "the line is not as it was written: line %d follows another, and it follows another than line %d", l.n, x.links[i-2].n)
	case i+1 < len(x.links) && !intact(i+1) && intact(i-1) && intact(i+2):
		x.unsure = l.n // the next break tells of both
	case i+1 == len(x.links) || !intact(i+1):
		x.changed(last.n, "the line is not as it was written, or `previous` in line %d is not", l.n)
	default:
		x.changed(last.n, "the line is not as it was written: line %d follows another", l.n)
	}
}

func (x *explained) changed(n uint32, what string, args ...any) {
	if !x.a.evidence.changed[n] {
		x.a.evidence.changed[n] = true
		x.a.fault("changed", x.name, int(n), hintCopy, what, args...)
	}
}

// gap tells of rows that are gone. Where as many lines stand in their place that
// are no rows, those are what became of them.
func (x *explained) gap(last, l link, t uint32) {
	x.a.evidence.gaps = append(x.a.evidence.gaps, gap{last.n, l.n})
	between := func(s stranger) bool { return s.n > int(last.n) && s.n < int(l.n) }
	became := 0
	for _, s := range x.strangers {
		if between(s) {
			became++
		}
	}
	if became == int(l.seq-t-1) {
		for _, s := range x.strangers {
			if between(s) {
				x.changed(uint32(s.n), "the line is not as it was written: %s", afterColon(s.what))
			}
		}
		x.strangers = slices.DeleteFunc(x.strangers, between)
		return
	}
	x.a.fault("gap", x.name, int(l.n), "put them back from a copy: what they said stands nowhere else", "before this line %s", goneRows(t+1, l.seq-1))
}

func goneRows(from, to uint32) string {
	if from == to {
		return fmt.Sprintf("the row with the number %d is gone", from)
	}
	return fmt.Sprintf("the rows with the numbers %d to %d are gone", from, to)
}

// next is the line of the first row that follows a row.
func (x *explained) next(sum key) uint32 {
	for _, l := range x.links {
		if l.prev == sum {
			return l.n
		}
	}
	return 0
}

// inOrder brings the rows into the order of their numbers where that mends more
// of the chain than it breaks, and tells of that; true: nothing else is wrong.
func (x *explained) inOrder() bool {
	sorted := slices.Clone(x.links)
	slices.SortStableFunc(sorted, func(a, b link) int { return int(a.seq) - int(b.seq) })
	have, better := whole(x.links), whole(sorted)
	if have == len(x.links) {
		return true
	}
	if better <= have {
		return false
	}
	elsewhere, first := 0, -1
	rank := make(map[uint32]int, len(sorted))
	for i := range sorted {
		rank[sorted[i].n] = i
		if sorted[i].n != x.links[i].n {
			if elsewhere++; first < 0 {
				first = i
			}
		}
	}
	hint := hintRepair
	if better < len(sorted) {
		hint = hintCopyFile
	}
	x.a.fault("order", x.name, int(x.links[first].n), hint, "the row with the number %d stands where number %d belongs; %d of %d rows are not in their place",
		x.links[first].seq, sorted[first].seq, elsewhere, len(sorted))
	x.links = sorted
	x.a.evidence.rows.sort(func(a, b entry) int { return rank[a.line] - rank[b.line] })
	return better == len(sorted)
}

// whole counts the rows that follow the one before them.
func whole(links []link) (n int) {
	last := key{}
	for _, l := range links {
		if l.prev == last {
			n++
		}
		last = l.sum
	}
	return n
}

// spans gathers lines that are written in another form, run by run.
type spans []span

type span struct {
	form        form
	first, last int
	units       int
}

func (s *spans) add(u *unit) {
	if u.form == asWritten || u.form >= noJSON {
		return
	}
	if all := *s; len(all) > 0 {
		if run := &all[len(all)-1]; run.form == u.form && run.last == u.n-1 {
			run.last, run.units = u.n+u.lines-1, run.units+1
			return
		}
	}
	*s = append(*s, span{u.form, u.n, u.n + u.lines - 1, 1})
}

// flush tells of the runs.
func (s *spans) flush(a *audit, name string) {
	for _, run := range *s {
		what := "the line " + forms[run.form]
		switch {
		case run.units > 1:
			what = fmt.Sprintf("each of the %d rows in lines %d to %d %s", run.units, run.first, run.last, forms[run.form])
		case run.last > run.first:
			what = fmt.Sprintf("the row in lines %d to %d %s", run.first, run.last, forms[run.form])
		}
		a.fault("form", name, run.first, "what it says is the same; `penstock audit --repair` writes it as it was", "%s", what)
	}
}
