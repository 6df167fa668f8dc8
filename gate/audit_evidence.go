package gate

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// evidenceSeen is what an audit keeps of the evidence: of each row 32 bytes, and
// 48 more until duplicates are looked for.
type evidenceSeen struct {
	rows  entries
	files []string // data files, by the number in an entry
	byNo  map[string]uint32
	marks []mark

	last     dag.Digest
	broken   bool            // the lines are not one chain from the first to the last
	gone     bool            // the file is not there
	short    bool            // rows at its end are gone
	sealed   bool            // its first bytes are those of the last checkpoint
	gaps     []gap           // rows that are gone between others
	changed  map[uint32]bool // lines that are not as they were written
	repeated map[uint32]bool // lines that stand in the file already
}

// entry is a row of the evidence on the way to its record.
type entry struct {
	digest key    // the first half of the record's digest
	id     uint64 // of the record, hashed
	line   uint32 // of the evidence
	file   uint32
}

// entries is a list that grows without being copied.
type entries struct {
	blocks [][]entry
	n      int
}

const entryBlock = 8 << 10

func (e *entries) add(x entry) {
	if e.n%entryBlock == 0 {
		e.blocks = append(e.blocks, make([]entry, 0, entryBlock))
	}
	e.blocks[len(e.blocks)-1] = append(e.blocks[len(e.blocks)-1], x)
	e.n++
}

// sort brings the entries into another order.
func (e *entries) sort(compare func(a, b entry) int) {
	all := slices.Concat(e.blocks...)
	slices.SortStableFunc(all, compare)
	*e = entries{}
	for _, x := range all {
		e.add(x)
	}
}

func (e *entries) at(i int) *entry { return &e.blocks[i/entryBlock][i%entryBlock] }

// mark is one of the things that no two rows of the evidence may share.
type mark struct {
	hash uint64
	line uint32
	kind uint8
}

const (
	markID uint8 = iota
	markAccept
	markUnique
)

// gap are rows of the evidence that are gone, between two lines of it; 0 is its start.
type gap struct{ after, before uint32 }

// auditRow is what an audit reads of a row of the evidence.
type auditRow struct {
	evidenceRow
	accept key
	keys   []key
}

// read takes a line of the evidence; false: it is no row of the gate's.
func (r *auditRow) read(text []byte) bool {
	*r = auditRow{keys: r.keys[:0]}
	seen, ok := 0, true
	whole := eachMember(text, func(name, value []byte) bool {
		var to *string
		switch string(name) {
		case `"accept_key"`:
			seen |= 1
			return skimKey(&r.accept, value)
		case `"data"`:
			to = &r.Data
		case `"digest"`:
			to = &r.Digest
		case `"id"`:
			to = &r.ID
		case `"previous"`:
			to = &r.Previous
		case `"keys"`:
			var n evidenceNote
			n.keys = r.keys
			ok = n.skimKeys(value)
			r.keys = n.keys
			return ok
		case `"sequence"`:
			seen |= 2
			return skimNumber(&r.Sequence, value)
		default:
			return true
		}
		plain, ok := plainText(value)
		*to = string(plain)
		return ok
	})
	if !whole || !ok || seen != 3 {
		*r = auditRow{keys: r.keys[:0]}
		if json.Unmarshal(text, &r.evidenceRow) != nil {
			return false
		}
		accept, err := parseKey(r.AcceptKey)
		if err != nil {
			return false
		}
		r.accept = accept
		for _, text := range r.evidenceRow.Keys {
			if k, err := parseKey(text); err == nil {
				r.keys = append(r.keys, k)
			}
		}
	}
	return r.ID != "" && r.Data != "" && len(r.Previous) == 2*len(dag.Digest{}) && r.accept != (key{})
}

// readEvidence walks the chain and notes which records there must be.
func (a *audit) readEvidence() error {
	name, e := a.o.Gate.Corpus.Evidence, &a.evidence
	e.byNo, e.changed, e.repeated = map[string]uint32{}, map[uint32]bool{}, map[uint32]bool{}
	left := a.state.Files[name]
	v, err := a.view(name)
	if errors.Is(err, fs.ErrNotExist) {
		if e.gone = left.Size > 0; e.gone {
			a.fault("gone", name, 0, hintCopyFile, "the file had %d bytes and is gone; without it no record has evidence", left.Size)
			return nil
		}
		return a.recordsWithoutEvidence()
	}
	if err != nil {
		return err
	}
	defer v.close()
	if v.isUTF16() {
		e.gone = true
		a.fault("utf16", name, 0, hintUTF16, "the file is written in UTF-16")
		return nil
	}
	h, from := sealing(a.state.Seals[name])
	sealed := from
	h.Reset()
	var row auditRow
	var follows [2 * len(e.last)]byte
	err = v.eachLine(a.ctx, 0, 1, func(l line) error {
		if whole := l.text[:len(l.text):cap(l.text)]; sealed > l.off {
			if !l.torn {
				whole = whole[:len(l.text)+1]
			}
			h.Write(whole[:min(int64(len(whole)), sealed-l.off)])
		}
		hex.Encode(follows[:], e.last[:])
		e.last = dag.Sum(l.text)
		if l.torn || !row.read(l.text) {
			e.broken = true
			return nil
		}
		a.report.Evidence++
		if row.Previous != string(follows[:]) || row.Sequence != uint64(l.n) {
			e.broken = true
		}
		return a.noteEvidence(l.n, &row)
	})
	if err != nil {
		return err
	}
	want, ok := a.state.Seals[name].sum()
	e.sealed = ok && v.size() >= sealed && bytes.Equal(h.Sum(nil), want[:])
	if e.short = v.size() < left.Size; e.short && !e.broken {
		a.fault("short", name, 0, hintCopyFile, "the file had %d bytes and has %d: rows at its end are gone, or an older copy was put in its place", left.Size, v.size())
	}
	if e.broken {
		if err := a.explainEvidence(v); err != nil {
			return err
		}
	}
	if e.short && e.broken {
		// A row that is gone from the middle makes the file shorter as well.
		tail, err := tailAt(v, v.size())
		e.short = err != nil || tail.String() != left.Tail
	}
	if ok && !e.sealed && !a.faulty(name) {
		// The chain covers every row but the last, which none follows.
		n := v.lineAt(a.ctx, sealed-1)
		a.fault("changed", name, n, hintCopy, "the line is not as it was written")
		e.changed[uint32(n)] = true
	}
	return a.duplicates(v)
}

// recordsWithoutEvidence tells of data files where there is no evidence at all and no
// checkpoint that knew of one: nothing names them then but the lock files beside them,
// which are never deleted.
func (a *audit) recordsWithoutEvidence() error {
	var files []string
	err := filepath.WalkDir(a.o.Dir, func(full string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil // it is no data file of ours
		case err != nil:
			return err
		case entry.IsDir() && full != a.o.Dir && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "staging"):
			return filepath.SkipDir
		}
		data, isLock := strings.CutSuffix(full, ".lock")
		if !isLock || !strings.HasSuffix(data, ".jsonl") || entry.IsDir() {
			return a.ctx.Err()
		}
		if info, err := os.Stat(data); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			name, err := filepath.Rel(a.o.Dir, data)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		return err
	}
	const most = 3
	if len(files) > most {
		files = append(files[:most], "…")
	}
	a.evidence.gone = true
	a.fault("gone", a.o.Gate.Corpus.Evidence, 0, hintCopyFile, "the file is not there, and data files are (%s): without it no record has evidence", strings.Join(files, ", "))
	return nil
}

func (a *audit) noteEvidence(n int, row *auditRow) error {
	e := &a.evidence
	digest, err := dag.ParseDigest(row.Digest)
	if err != nil {
		e.broken = true // whatever made it so has changed the line
	}
	file, ok := e.byNo[row.Data]
	if !ok {
		file = uint32(len(e.files))
		e.byNo[row.Data], e.files = file, append(e.files, row.Data)
	}
	id := keyOf(row.ID)
	e.rows.add(entry{key(digest[:16]), id.hash(), uint32(n), file})
	e.marks = append(e.marks, mark{id.hash(), uint32(n), markID}, mark{row.accept.hash(), uint32(n), markAccept})
	for _, k := range row.keys {
		e.marks = append(e.marks, mark{k.hash(), uint32(n), markUnique})
	}
	return nil
}

// duplicates tells of records with the same id, accept key or unique key. The marks
// only propose, for they are halves of keys: the rows are read and compared.
func (a *audit) duplicates(v *view) error {
	marks := a.evidence.marks
	a.evidence.marks = nil
	slices.SortFunc(marks, func(x, y mark) int {
		switch {
		case x.hash != y.hash && x.hash < y.hash:
			return -1
		case x.hash != y.hash:
			return 1
		}
		return int(x.line) - int(y.line)
	})
	suspects := map[uint32]bool{}
	for i := 1; i < len(marks); i++ {
		if x, y := marks[i-1], marks[i]; x.hash == y.hash && x.kind == y.kind && x.line != y.line {
			suspects[x.line], suspects[y.line] = true, true
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	type claim struct {
		id   string
		line int
	}
	name := a.o.Gate.Corpus.Evidence
	ids, accepts, keys := map[string]claim{}, map[key]claim{}, map[key]claim{}
	var row auditRow
	return v.eachLine(a.ctx, 0, 1, func(l line) error {
		n := uint32(l.n)
		if !suspects[n] || a.evidence.repeated[n] || a.evidence.changed[n] || !row.read(l.text) {
			return nil
		}
		mine := claim{row.ID, l.n}
		const hint = "two corpora were put together, or a program wrote without the locks: take the corpus from a copy, and hand in again what it lacks"
		if first, ok := ids[row.ID]; ok {
			a.fault("same id", name, l.n, hint, "the record %s has its evidence in line %d already", row.ID, first.line)
			return nil
		}
		if first, ok := accepts[row.accept]; ok {
			a.fault("same verdict", name, l.n, hint, "the verdict on the record %s is that on %s in line %d", row.ID, first.id, first.line)
		}
		ids[row.ID], accepts[row.accept] = mine, mine
		for _, k := range row.keys {
			if first, ok := keys[k]; ok && first.line != l.n {
				a.fault("same key", name, l.n, hint, "the record %s has a key that the record %s in line %d has", row.ID, first.id, first.line)
				continue
			}
			keys[k] = mine
		}
		return nil
	})
}
