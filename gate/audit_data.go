package gate

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
)

// readData compares the data files with the evidence. A file that is as it was
// written has a line for each row of its evidence, in their order, with their
// digests: reading it is hashing it. Only one that is not is looked into.
func (a *audit) readData() error {
	if a.evidence.gone {
		return nil // nothing can be said of records without it
	}
	names, err := a.dataFiles()
	if err != nil {
		return err
	}
	of := make([][]uint32, len(a.evidence.files))
	for i := range a.evidence.rows.n {
		e := a.evidence.rows.at(i)
		of[e.file] = append(of[e.file], uint32(i))
	}
	var global map[key]uint32
	for _, name := range names {
		var rows []uint32
		if no, ok := a.evidence.byNo[name]; ok {
			rows = of[no]
		}
		same, n, err := a.sameData(name, rows)
		if err != nil {
			return err
		}
		a.report.Records += n
		if same {
			continue
		}
		if global == nil {
			global = a.byDigest()
		}
		d := &dataDiff{a: a, name: name, rows: rows, global: global}
		if err := d.read(); err != nil {
			return err
		}
		a.diffs[name] = d
	}
	if err := a.findMissing(); err != nil {
		return err
	}
	for _, name := range names {
		if d := a.diffs[name]; d != nil {
			if err := d.tell(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *audit) byDigest() map[key]uint32 {
	all := make(map[key]uint32, a.evidence.rows.n)
	for i := range a.evidence.rows.n {
		all[a.evidence.rows.at(i).digest] = uint32(i)
	}
	return all
}

// dataFiles are the data files that the evidence names, that the last checkpoint
// names, and that lie beside those.
func (a *audit) dataFiles() ([]string, error) {
	own := a.ownFiles()
	all := map[string]bool{}
	for _, name := range a.evidence.files {
		all[name] = true
	}
	for name := range a.state.Files {
		if !own[name] {
			all[name] = true
		}
	}
	dirs := map[string]bool{}
	for name := range all {
		dirs[path.Dir(name)] = true
	}
	for dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(a.o.Dir, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, entry := range entries {
			if name := path.Join(dir, entry.Name()); !own[name] && entry.Type().IsRegular() && strings.HasSuffix(name, ".jsonl") {
				all[name] = true
			}
		}
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// ownFiles are the files of the corpus that hold no records.
func (a *audit) ownFiles() map[string]bool {
	return map[string]bool{a.o.Gate.Corpus.Evidence: true, a.o.Gate.Rejections: true, verdictsPath: true, reviewPath: true, breakersPath: true}
}

// sameData reports whether a data file is what its evidence says, line for line,
// and how many lines it has.
func (a *audit) sameData(name string, rows []uint32) (same bool, n int, err error) {
	v, err := a.view(name)
	if errors.Is(err, fs.ErrNotExist) {
		return len(rows) == 0 && a.state.Files[name].Size == 0, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	defer v.close()
	same = true
	err = v.eachLine(a.ctx, 0, 1, func(l line) error {
		if l.torn {
			same = false
			return nil
		}
		if n++; same {
			digest := dag.Sum(l.text)
			same = n <= len(rows) && key(digest[:16]) == a.evidence.rows.at(int(rows[n-1])).digest
		}
		return nil
	})
	return same && n == len(rows), n, err
}

// dataDiff is a data file that is not what its evidence says.
type dataDiff struct {
	a      *audit
	name   string
	rows   []uint32       // the entries of its evidence, in order
	global map[key]uint32 // of all files, by digest

	hintForeign string

	gone    bool
	utf16   bool // nothing else is known of it
	size    int64
	lines   []dataLine
	found   map[uint32]int32 // of each entry, the line that holds its record
	edited  map[uint32]int32 // of each entry, the line that it has become
	byID    map[uint64]uint32
	forms   spans
	before  []uint32 // of each line, that of the evidence of the record before it; 0: there is none
	after   []uint32 // and behind it
	toldEnd bool     // what is missing at the end has been told
	missing []uint32 // entries
	next    []int32  // of each missing entry, the line that it stood before
}

// dataLine is a document of a data file: a line, as a rule.
type dataLine struct {
	off   int64
	size  int32 // with its line feed
	n     uint32
	entry int32 // of the evidence; -1: none
	form  form
	class class
	torn  bool
}

type class uint8

const (
	isRecord   class = iota // that the evidence names
	isAgain                 // the same a second time
	isEdited                // it has the id or the place of a record, and is not it
	isElse                  // the record of another file
	isForeign               // JSON that has no evidence
	isNoRecord              // no object with an id
)

// read classes the lines.
func (d *dataDiff) read() error {
	d.found, d.edited = map[uint32]int32{}, map[uint32]int32{}
	v, err := d.a.view(d.name)
	if errors.Is(err, fs.ErrNotExist) {
		d.gone, d.missing = true, d.rows
		return nil
	}
	if err != nil {
		return err
	}
	defer v.close()
	d.size = v.size()
	if d.utf16 = v.isUTF16(); d.utf16 {
		return nil
	}
	mine := d.indexes()
	x := &explained{a: d.a, name: d.name}
	var foreign []int32 // lines that nothing but their id or their place can tell
	ids := map[int32]uint64{}
	err = v.eachUnit(d.a.ctx, func(u *unit) error {
		l := dataLine{off: u.off, size: int32(len(u.raw)), n: uint32(u.n), entry: -1, form: u.form, class: isNoRecord, torn: u.torn}
		at := int32(len(d.lines))
		conflict := x.conflict(u)
		if u.text != nil {
			digest := dag.Sum(u.text)
			k := key(digest[:16])
			if entry, ok := mine[k]; ok {
				d.hold(&l, at, entry)
			} else if entry, ok := d.global[k]; ok {
				l.class, l.entry = isElse, int32(entry)
			} else if id, ok := idIn(u.text); ok {
				l.class, ids[at] = isForeign, id.hash()
				foreign = append(foreign, at)
			}
			if !conflict && !u.torn && l.class == isRecord {
				d.forms.add(u)
			}
		}
		d.lines = append(d.lines, l)
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range x.conflicts {
		d.a.fault("conflict", d.name, c[0], hintConflict, "lines %d to %d are a merge that was not resolved: both sides had accepted records", c[0], c[1])
	}
	for _, at := range foreign {
		if entry, ok := d.byID[ids[at]]; ok && d.lines[at].form < noJSON {
			if _, whole := d.found[entry]; !whole && !d.became(entry) {
				d.become(at, entry)
			}
		}
	}
	d.place()
	return nil
}

// indexes finds the entries of the file by digest and by id.
func (d *dataDiff) indexes() (byDigest map[key]uint32) {
	byDigest, d.byID = make(map[key]uint32, len(d.rows)), make(map[uint64]uint32, len(d.rows))
	for _, i := range d.rows {
		e := d.a.evidence.rows.at(int(i))
		byDigest[e.digest], d.byID[e.id] = i, i
	}
	return byDigest
}

// neighbours finds the records before and behind each line.
func (d *dataDiff) neighbours() {
	d.before, d.after = make([]uint32, len(d.lines)), make([]uint32, len(d.lines))
	near := uint32(0)
	step := func(to []uint32, at int) {
		to[at] = near
		if l := &d.lines[at]; l.class == isRecord {
			near = d.a.evidence.rows.at(int(l.entry)).line
		}
	}
	for at := range d.lines {
		step(d.before, at)
	}
	near = 0
	for at := range slices.Backward(d.lines) {
		step(d.after, at)
	}
}

// hold notes the line of a record. One that is written as it was comes before one
// that is not.
func (d *dataDiff) hold(l *dataLine, at int32, entry uint32) {
	l.class, l.entry = isRecord, int32(entry)
	earlier, again := d.found[entry]
	switch {
	case !again:
		d.found[entry] = at
	case d.lines[earlier].form != asWritten && l.form == asWritten:
		d.lines[earlier].class, d.found[entry] = isAgain, at
	default:
		l.class = isAgain
	}
}

func (d *dataDiff) became(entry uint32) bool { _, ok := d.edited[entry]; return ok }

func (d *dataDiff) become(at int32, entry uint32) {
	d.edited[entry] = at
	d.lines[at].class, d.lines[at].entry = isEdited, int32(entry)
}

func idIn(text []byte) (key, bool) {
	id := ownID(text)
	if !isText(id) {
		return key{}, false
	}
	s, err := unquote(id)
	return keyOf(s), err == nil
}

// place finds the records that are missing and where they stood. Between two
// records that are there, as many strange lines as missing records are what those
// have become.
func (d *dataDiff) place() {
	order := map[uint32]int{}
	for i, entry := range d.rows {
		order[entry] = i
	}
	rank := 0 // in rows, of the next record
	var strange []int32
	pair := func(until int, before int32) {
		var absent []uint32
		for ; rank < until; rank++ {
			entry := d.rows[rank]
			if _, ok := d.found[entry]; !ok && !d.became(entry) {
				absent = append(absent, entry)
			}
		}
		if len(absent) == len(strange) {
			for i, at := range strange {
				d.become(at, absent[i])
			}
			absent = nil
		}
		for _, entry := range absent {
			d.missing, d.next = append(d.missing, entry), append(d.next, before)
		}
		strange = strange[:0]
	}
	for at := range d.lines {
		l := &d.lines[at]
		switch l.class {
		case isRecord, isEdited:
			if i := order[uint32(l.entry)]; i >= rank {
				pair(i, int32(at))
				rank = i + 1
			}
		case isForeign, isNoRecord:
			if l.form != marker && l.form != theirs && !l.torn && !isBlank(l) {
				strange = append(strange, int32(at))
			}
		}
	}
	pair(len(d.rows), -1)
}

// isBlank reports whether a line is at most a line end.
func isBlank(l *dataLine) bool { return l.size <= 2 && l.class == isNoRecord }

// tell reports what is wrong with the file, each cause once.
func (d *dataDiff) tell() error {
	a := d.a
	if d.utf16 {
		a.fault("utf16", d.name, 0, hintUTF16, "the file is written in UTF-16")
		return nil
	}
	if d.gone {
		d.tellGone()
		return nil
	}
	names, err := d.describe()
	if err != nil {
		return err
	}
	d.forms.flush(a, d.name)
	d.tellOrder()
	d.neighbours()
	d.hintForeign = a.hintForeign()
	orphans := 0
	for at := range d.lines {
		d.tellLine(at, names, &orphans)
	}
	if orphans > 0 {
		a.blame(d.name, orphans)
	}
	d.tellMissing(names)
	return nil
}
