package gate

import (
	"bytes"
	"io"
	"maps"
	"slices"

	"github.com/penstock-run/penstock/internal/canon"
)

// data brings the data files to what the evidence says, as far as the records are
// there to be had.
func (r *repair) data() (changed bool, err error) {
	if r.a.evidence.broken || len(r.a.evidence.changed) > 0 {
		return false, nil // by what would a line be judged
	}
	whole := r.a.evidenceIsWhole()
	for _, name := range slices.Sorted(maps.Keys(r.a.diffs)) {
		d := r.a.diffs[name]
		if d.utf16 {
			continue
		}
		f := &dataRepair{r: r, d: d, whole: whole, m: &moving{r: r, name: name}}
		did, err := f.run()
		if err != nil {
			return changed, err
		}
		changed = changed || did
	}
	return changed, nil
}

// dataRepair is what becomes of one data file.
type dataRepair struct {
	r     *repair
	d     *dataDiff
	whole bool // the evidence is
	m     *moving
	v     *view // nil: the file is gone

	put    map[uint32][]byte // records that come back, by entry
	stays  map[int32][]int32 // lines that no record is made of and that stay, by the line of the record before; -1: the start
	writes bool              // the file will not be what it is
}

func (f *dataRepair) run() (changed bool, err error) {
	if !f.d.gone {
		if f.v, err = f.r.a.view(f.d.name); err != nil {
			return false, err
		}
		defer f.v.close()
	}
	f.restore()
	if err := f.lines(); err != nil || !f.writes {
		return false, err
	}
	return true, f.m.finish(f.content)
}

// restore finds the records that come back. Of a run of missing records all come
// or none: a hole is told of once, and is not made two.
func (f *dataRepair) restore() {
	f.put = map[uint32][]byte{}
	for entry, at := range f.d.edited {
		if s, ok := f.r.a.elsewhere[entry]; ok {
			f.put[entry], f.writes = s.text, true
			f.r.did("restored", f.d.name, int(f.d.lines[at].n), "the record was put back: it stood in %s", s.path)
		}
	}
	for i := 0; i < len(f.d.missing); {
		j := i + 1
		for j < len(f.d.missing) && (f.d.gone || f.d.next[j] == f.d.next[i]) {
			j++
		}
		run := f.d.missing[i:j]
		if !slices.ContainsFunc(run, func(entry uint32) bool { _, ok := f.r.a.elsewhere[entry]; return !ok }) {
			for _, entry := range run {
				f.put[entry], f.writes = f.r.a.elsewhere[entry].text, true
			}
			line := 0
			if !f.d.gone && f.d.next[i] >= 0 {
				line = int(f.d.lines[f.d.next[i]].n)
			}
			f.r.did("restored", f.d.name, line, recordsWere(len(run)), f.r.a.elsewhere[run[0]].path)
		}
		i = j
	}
}

func recordsWere(n int) string {
	if n == 1 {
		return "the record that was missing here was put back: it stood in %s"
	}
	return "the records that were missing here were put back: they stood in %s"
}

// lines decides of every line whether it stays, moves, or is written anew.
func (f *dataRepair) lines() error {
	f.stays = map[int32][]int32{}
	before, highest := int32(-1), int32(-1)
	for i := range f.d.lines {
		at, l := int32(i), &f.d.lines[i]
		n := int(l.n)
		raw := make([]byte, l.size)
		if l.class != isRecord || l.form != asWritten || l.torn {
			if err := readFull(f.v, raw, l.off); err != nil {
				return err
			}
		}
		switch {
		case l.class == isRecord && l.form != theirs:
			f.record(l, raw, highest)
			highest, before = max(highest, l.entry), at
			continue
		case l.class == isRecord:
			f.writes, before = true, at // the marks around it go, or stay and it with them
			highest = max(highest, l.entry)
			continue
		case l.class == isEdited:
			if _, back := f.put[uint32(l.entry)]; back {
				f.m.move("edited", n, raw, "a record that was changed was taken out")
				continue
			}
		case l.torn && l.class == isNoRecord:
			f.m.moveTorn(n, raw)
			f.writes = true
			continue
		case l.class == isAgain:
			f.m.move("again", n, raw, "a record that stands here twice was taken out once")
			f.writes = true
			continue
		case l.class == isElse:
			f.m.move("else", n, raw, "a record of another file was taken out")
			f.writes = true
			continue
		case f.whole:
			f.m.move("foreign", n, raw, "what the gate did not accept was taken out")
			f.writes = true
			continue
		}
		f.stays[before] = append(f.stays[before], at)
		if l.torn {
			f.writes = true
			f.r.did("torn", f.d.name, n, "the last line was ended")
		}
	}
	return nil
}

// record notes what is done to the line of a record.
func (f *dataRepair) record(l *dataLine, raw []byte, highest int32) {
	switch {
	case l.form != asWritten:
		f.m.move("form", int(l.n), raw, "the record was written as it was accepted")
		f.writes = true
	case l.torn:
		f.r.did("torn", f.d.name, int(l.n), "the last line was ended")
		f.writes = true
	}
	if l.entry < highest {
		f.r.did("order", f.d.name, int(l.n), "the record was put in its place")
		f.writes = true
	}
}

// content writes the file: the records in the order of their evidence, and behind
// each what stays there.
func (f *dataRepair) content(w io.Writer) error {
	if err := f.staying(w, -1); err != nil {
		return err
	}
	for _, entry := range f.d.rows {
		at, found := f.d.found[entry]
		text, back := f.put[entry]
		switch {
		case back:
		case found:
			l := &f.d.lines[at]
			raw := make([]byte, l.size)
			if err := readFull(f.v, raw, l.off); err != nil {
				return err
			}
			if text = bytes.TrimSuffix(raw, []byte{'\n'}); l.form != asWritten {
				var err error
				if text, err = canon.Canonical(nil, bytes.TrimPrefix(raw, bom)); err != nil {
					return err
				}
			}
		default:
			continue
		}
		if _, err := w.Write(append(text, '\n')); err != nil {
			return err
		}
		if found {
			if err := f.staying(w, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// staying writes the lines that stay behind a record.
func (f *dataRepair) staying(w io.Writer, before int32) error {
	for _, at := range f.stays[before] {
		l := &f.d.lines[at]
		raw := make([]byte, l.size)
		if err := readFull(f.v, raw, l.off); err != nil {
			return err
		}
		if !bytes.HasSuffix(raw, []byte{'\n'}) {
			raw = append(raw, '\n')
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
	}
	return nil
}
