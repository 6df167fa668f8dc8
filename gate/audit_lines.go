package gate

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/penstock-run/penstock/internal/canon"
)

// lineNames are the ids and the strange contents of lines that are told of.
type lineNames struct {
	ids     map[int]string // by index of the line
	strange map[int]string
	entries map[uint32]string // ids of missing records
	torn    []byte            // the last line, where it has no line feed
}

// describe reads the ids of what will be told of, up to what is shown.
func (d *dataDiff) describe() (lineNames, error) {
	names := lineNames{ids: map[int]string{}, strange: map[int]string{}, entries: map[uint32]string{}}
	v, err := d.a.view(d.name)
	if err != nil {
		return names, err
	}
	defer v.close()
	var each [isNoRecord + 1]int
	for at := range d.lines {
		l := &d.lines[at]
		if l.class == isRecord && !l.torn || l.form == marker || l.form == theirs {
			continue
		}
		if each[l.class]++; each[l.class] > 100*shown {
			continue
		}
		raw := make([]byte, l.size)
		if err := readFull(v, raw, l.off); err != nil {
			return names, err
		}
		if l.torn {
			names.torn = raw
		}
		u := &unit{raw: raw}
		u.read(nil, u.line())
		if l.form == spread {
			u.text, _ = canon.Canonical(nil, bytes.TrimPrefix(raw, bom))
		}
		if id := ownID(u.text); isText(id) {
			names.ids[at], _ = unquote(id)
		} else if u.text == nil {
			names.strange[at] = strange(u)
		}
	}
	if len(d.missing) == 0 {
		return names, nil
	}
	return names, d.a.idsOf(d.missing, names.entries)
}

// idsOf reads the ids of entries from the evidence, of those that are shown.
func (a *audit) idsOf(wanted []uint32, ids map[uint32]string) error {
	if len(wanted) > 100*shown {
		wanted = wanted[:100*shown]
	}
	byLine := map[uint32]uint32{}
	for _, entry := range wanted {
		byLine[a.evidence.rows.at(int(entry)).line] = entry
	}
	v, err := a.view(a.o.Gate.Corpus.Evidence)
	if err != nil {
		return err
	}
	defer v.close()
	var row auditRow
	return v.eachUnit(a.ctx, func(u *unit) error {
		if entry, ok := byLine[uint32(u.n)]; ok && u.text != nil && row.read(u.text) {
			ids[entry] = row.ID
		}
		return nil
	})
}

// tellOrder compares the order of the records with that of their evidence.
func (d *dataDiff) tellOrder() {
	highest, first, elsewhere, records := int32(-1), 0, 0, 0
	var late, behind int32
	for i := range d.lines {
		l := &d.lines[i]
		if l.class != isRecord {
			continue
		}
		records++
		if l.entry < highest {
			if elsewhere++; first == 0 {
				first, late, behind = int(l.n), l.entry, highest
			}
		}
		highest = max(highest, l.entry)
	}
	if elsewhere > 0 {
		line := func(entry int32) uint32 { return d.a.evidence.rows.at(int(entry)).line }
		d.a.fault("order", d.name, first, hintRepair, "the record of evidence line %d stands here, behind that of evidence line %d; %d of %d records stand too late",
			line(late), line(behind), elsewhere, records)
	}
}

// tellLine tells of a line that is no record of the file.
func (d *dataDiff) tellLine(at int, names lineNames, orphans *int) {
	a, l := d.a, &d.lines[at]
	n := int(l.n)
	if l.form == marker || l.form == theirs || l.class == isRecord && !l.torn {
		return
	}
	if l.torn && l.class != isEdited {
		d.tellTorn(l, names)
		return
	}
	id := names.ids[at]
	switch l.class {
	case isAgain:
		a.fault("again", d.name, n, hintRepair, "the record %s stands in line %d already", id, d.lines[d.found[uint32(l.entry)]].n)
	case isEdited:
		d.tellEdited(l, n, id, names.strange[at])
	case isElse:
		e := a.evidence.rows.at(int(l.entry))
		if at, ok := a.elsewhere[uint32(l.entry)]; ok && at.path == d.name || a.evidence.changed[e.line] {
			return // it is told of where it is missing, or of its evidence
		}
		a.fault("else", d.name, n, hintRepair, "the record %s belongs to %s (evidence line %d)", id, a.evidence.files[e.file], e.line)
	case isForeign:
		if d.lostEvidence(at) {
			*orphans++
			return
		}
		if entry, ok := d.sameID(id); ok {
			a.fault("foreign", d.name, n, d.hintForeign, "the line is a second record with the id %s, which the gate did not accept (evidence line %d is of line %d)",
				id, a.evidence.rows.at(int(entry)).line, d.lines[d.found[entry]].n)
			return
		}
		a.fault("foreign", d.name, n, d.hintForeign, "the record %s has no evidence: the gate did not accept it", id)
	case isNoRecord:
		what := names.strange[at]
		if what == "" {
			what = "the line is no object with an id"
		}
		a.fault("no record", d.name, n, d.hintForeign, "%s", what)
	}
}

// tellEdited tells of a line that was a record, unless it is the evidence that was
// changed.
func (d *dataDiff) tellEdited(l *dataLine, n int, id, strange string) {
	e := d.a.evidence.rows.at(int(l.entry))
	if d.a.evidence.changed[e.line] {
		return
	}
	switch {
	case strange != "":
		d.a.fault("edited", d.name, n, hintRecord, "the line was the record of evidence line %d, and is not JSON any more: %s", e.line, afterColon(strange))
	case id == "":
		d.a.fault("edited", d.name, n, hintRecord, "the line was the record of evidence line %d, and has no id any more", e.line)
	case keyOf(id).hash() != e.id:
		d.a.fault("edited", d.name, n, hintRecord, "the record %s has no evidence; the record of evidence line %d stood here", id, e.line)
	default:
		d.a.fault("edited", d.name, n, hintRecord, "the record %s is not the one that was accepted (evidence line %d)", id, e.line)
	}
}

func (d *dataDiff) sameID(id string) (entry uint32, ok bool) {
	if entry, ok = d.byID[keyOf(id).hash()]; ok {
		_, ok = d.found[entry]
	}
	return entry, ok
}

// lostEvidence reports whether a record without evidence stands where rows of the
// evidence are gone: then those are what is wrong.
func (d *dataDiff) lostEvidence(at int) bool {
	e := &d.a.evidence
	before, after := d.before[at], d.after[at]
	if after == 0 && e.short {
		return true
	}
	for _, g := range e.gaps {
		if g.before > before && (after == 0 || g.after < after) {
			return true
		}
	}
	return false
}

// blame adds to what is said of the evidence how many records have lost theirs.
func (a *audit) blame(data string, orphans int) {
	for i := range a.report.Faults {
		f := &a.report.Faults[i]
		if f.Path == a.o.Gate.Corpus.Evidence {
			what := fmt.Sprintf("; %d records in %s have no evidence now", orphans, data)
			if orphans == 1 {
				what = fmt.Sprintf("; one record in %s has no evidence now", data)
			}
			f.What += what
			return
		}
	}
}

// tellMissing tells of records that are gone, run by run.
func (d *dataDiff) tellMissing(names lineNames) {
	a := d.a
	for i := 0; i < len(d.missing); {
		j := i + 1
		for j < len(d.missing) && d.next[j] == d.next[i] {
			j++
		}
		run := slices.DeleteFunc(slices.Clone(d.missing[i:j]), func(entry uint32) bool { return a.evidence.changed[a.evidence.rows.at(int(entry)).line] })
		if len(run) == 0 || d.next[i] < 0 && d.toldEnd {
			i = j
			continue
		}
		hint := a.hintMissing(run)
		what := d.areGone(run, names)
		switch at := d.next[i]; {
		case at >= 0:
			a.fault("missing", d.name, int(d.lines[at].n), hint, "before this line %s", what)
		case len(d.lines) == 0:
			a.fault("missing", d.name, 0, hint, "the file is empty; %s", what)
		default:
			a.fault("missing", d.name, 0, hint, "at the end %s: the file was cut, or an older copy was put in its place", what)
		}
		i = j
	}
}

// areGone says which records are gone.
func (d *dataDiff) areGone(run []uint32, names lineNames) string {
	a := d.a
	first, last := a.evidence.rows.at(int(run[0])), a.evidence.rows.at(int(run[len(run)-1]))
	if len(run) == 1 {
		return fmt.Sprintf("the record %s (evidence line %d) is gone", names.entries[run[0]], first.line)
	}
	return fmt.Sprintf("%d records (evidence lines %d to %d, the first is %s) are gone", len(run), first.line, last.line, names.entries[run[0]])
}

// tellGone tells of a file that is not there.
func (d *dataDiff) tellGone() {
	var rows []uint32
	for _, entry := range d.rows {
		if !d.a.evidence.changed[d.a.evidence.rows.at(int(entry)).line] {
			rows = append(rows, entry)
		}
	}
	left := d.a.state.Files[d.name].Size
	switch {
	case len(rows) == 1:
		d.a.fault("gone", d.name, 0, d.a.hintMissing(rows), "the file is gone, and the one record in it")
	case len(rows) > 1:
		d.a.fault("gone", d.name, 0, d.a.hintMissing(rows), "the file is gone, and the %d records in it", len(rows))
	case left > 0 && len(d.rows) == 0:
		d.a.fault("gone", d.name, 0, hintCopyFile, "the file had %d bytes and is gone", left)
	}
}

// tellTorn tells of a last line without its line feed, and of the records that are
// gone with it.
func (d *dataDiff) tellTorn(l *dataLine, names lineNames) {
	u := &unit{n: int(l.n), raw: names.torn}
	if l.class != isNoRecord {
		u.text = names.torn
	}
	lost := ""
	if left := d.a.state.Files[d.name].Size; d.size < left && u.text == nil {
		if i := slices.Index(d.next, -1); i >= 0 {
			lost, d.toldEnd = d.areGone(d.missing[i:], names), true
		}
	}
	d.a.tornTail(d.name, u, d.size, lost)
}

// afterColon is what stands behind the first colon of a text, or all of it.
func afterColon(s string) string {
	for i := range s {
		if s[i] == ':' && i+2 < len(s) {
			return s[i+2:]
		}
	}
	return s
}
