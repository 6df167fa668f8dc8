package gate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// Report is what an audit found.
type Report struct {
	Records    int     `json:"records"`    // lines of the data files
	Evidence   int     `json:"evidence"`   // rows of the evidence
	Rejections int     `json:"rejections"` // rows of the rejection records
	Review     int     `json:"review"`     // rows of the review queue
	Faults     []Fault `json:"faults"`     // none: the corpus is what the gate promised
}

// Clean reports whether nothing is wrong.
func (r *Report) Clean() bool { return len(r.Faults) == 0 }

// Fault is one thing that is wrong, and what to do about it.
type Fault struct {
	Path string `json:"path"`
	Line int    `json:"line,omitzero"` // from 1; 0: the file
	What string `json:"what"`
	Hint string `json:"hint,omitempty"`
}

func (f Fault) String() string {
	if f.Line == 0 {
		return f.Path + ": " + f.What
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.What)
}

// Audit compares a corpus with what the gate promised: the chain of the evidence,
// every record against its evidence and its digest, duplicates, orphans, torn
// tails, and a journal that waits. It mends nothing and writes nothing but its
// lock. The error is about the audit itself.
func Audit(ctx context.Context, o Options) (Report, error) {
	if err := validate(o.Gate); err != nil {
		return Report{}, &dag.Error{Op: "audit", Kind: dag.KindConfig, Err: err}
	}
	a := &audit{ctx: ctx, o: o, d: osDisk{o.Dir}, records: map[key]*audited{}, data: map[string]bool{}}
	unlock, err := a.lock()
	if err != nil {
		return Report{}, corpusError(err)
	}
	defer unlock()
	if _, err := readIdentity(a.d, o.Gate.Corpus.Evidence); dag.KindOf(err) == dag.KindConfig {
		return Report{}, err // another corpus: all in it would be a fault
	}
	err = a.run()
	return a.report, corpusError(err)
}

type audit struct {
	ctx     context.Context
	o       Options
	d       osDisk
	report  Report
	records map[key]*audited // by data file and id
	data    map[string]bool  // data files
}

// audited is an evidence row on the way to its record.
type audited struct {
	digest key // the first half of the record's digest
	line   int // of the evidence
	found  int // lines of the data file with this id
}

func (a *audit) fault(path string, line int, hint, what string, args ...any) {
	a.report.Faults = append(a.report.Faults, Fault{Path: path, Line: line, What: fmt.Sprintf(what, args...), Hint: hint})
}

// lock keeps commits out while the files are compared.
func (a *audit) lock() (unlock func(), err error) {
	lock := filepath.Join(a.o.Dir, lockPath)
	if _, err := os.Stat(lock); errors.Is(err, fs.ErrNotExist) || a.o.ReadOnly {
		return func() {}, nil
	}
	timeout, now := a.o.LockTimeout, a.o.Now
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	if now == nil {
		now = time.Now
	}
	l := newLocker(lock, timeout, now)
	held, err := l.Lock(a.ctx)
	if err != nil {
		l.close()
		return nil, err
	}
	return func() { held.Unlock(); l.close() }, nil
}

func (a *audit) run() error {
	steps := []func() error{a.journal, a.evidence, a.dataFiles, a.orphans, a.decisions, a.states}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

const (
	hintRun    = "the next `penstock run` finishes it"
	hintEdited = "restore the file from a copy, or take the edit back; then audit again"
)

// journal looks for batches that are committed and not in their files.
func (a *audit) journal() error {
	return eachPending(a.d, func(r record) {
		for _, w := range r.writes {
			if !a.holds(w) {
				a.fault(w.path, 0, hintRun, "batch %d is committed and not in the file at byte %d", r.sequence, w.off)
			}
		}
	})
}

func (a *audit) holds(w write) bool {
	f, err := a.d.openRead(w.path)
	if err != nil {
		return false
	}
	defer f.Close()
	have := make([]byte, len(w.data))
	return readFull(f, have, w.off) == nil && bytes.Equal(have, w.data)
}

// evidence walks the chain and notes which records there must be.
func (a *audit) evidence() error {
	name := a.o.Gate.Corpus.Evidence
	var last dag.Digest
	var sequence uint64
	rows, err := a.eachLine(name, func(n int, line []byte) {
		var row evidenceRow
		if err := json.Unmarshal(line, &row); err != nil || row.ID == "" || row.AcceptKey == "" {
			a.fault(name, n, "another program wrote it; move the line elsewhere", "the line is no evidence of this gate")
			last = dag.Sum(line)
			return
		}
		if row.Previous != last.String() {
			a.fault(name, n, hintEdited, "the line does not follow the line before it: one of the two was changed, or a line between them is gone")
		}
		if row.Sequence != sequence+1 && row.Previous == last.String() {
			a.fault(name, n, hintEdited, "the line has number %d and follows number %d", row.Sequence, sequence)
		}
		last, sequence = dag.Sum(line), row.Sequence
		a.noteEvidence(name, n, &row)
	})
	a.report.Evidence = rows
	return err
}

func (a *audit) noteEvidence(name string, n int, row *evidenceRow) {
	digest, err := dag.ParseDigest(row.Digest)
	if err != nil {
		a.fault(name, n, hintEdited, "the record's digest is none: %v", err)
		return
	}
	k := keyOf(row.Data + "\n" + row.ID)
	if earlier := a.records[k]; earlier != nil {
		a.fault(name, n, hintEdited, "the record %s has its evidence in line %d already", row.ID, earlier.line)
		return
	}
	a.records[k] = &audited{digest: key(digest[:16]), line: n}
	a.data[row.Data] = true
}

// dataFiles compares every record with its evidence.
func (a *audit) dataFiles() error {
	if err := a.otherDataFiles(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.data)) {
		rows, err := a.eachLine(name, func(n int, line []byte) { a.record(name, n, line) })
		if errors.Is(err, fs.ErrNotExist) {
			continue // its records are missing, each is told
		}
		if err != nil {
			return err
		}
		a.report.Records += rows
	}
	return nil
}

// otherDataFiles finds data files that no evidence names: beside those that are
// named, and in the state of the last checkpoint.
func (a *audit) otherDataFiles() error {
	own := map[string]bool{a.o.Gate.Corpus.Evidence: true, a.o.Gate.Rejections: true, verdictsPath: true, reviewPath: true, breakersPath: true}
	s := store{d: a.d}
	st, _, err := s.readState()
	if err != nil {
		a.fault(statePath, 0, "delete it: it is derived", "%v", err)
	}
	for name := range st.Files {
		if !own[name] {
			a.data[name] = true
		}
	}
	dirs := map[string]bool{}
	for name := range a.data {
		dirs[path.Dir(name)] = true
	}
	for dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(a.o.Dir, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			if name := path.Join(dir, entry.Name()); !own[name] && entry.Type().IsRegular() && strings.HasSuffix(name, ".jsonl") {
				a.data[name] = true
			}
		}
	}
	return nil
}

func (a *audit) record(name string, n int, line []byte) {
	if err := canon.Valid(line); err != nil {
		a.fault(name, n, hintEdited, "the line is not JSON: %v", err)
		return
	}
	var row struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(line, &row); err != nil || row.ID == "" {
		a.fault(name, n, "another program wrote it; hand it in to the gate instead", "the record has no id")
		return
	}
	evidence := a.records[keyOf(name+"\n"+row.ID)]
	if evidence == nil {
		a.fault(name, n, "another program wrote it; hand it in to the gate instead", "the record %s has no evidence", row.ID)
		return
	}
	if evidence.found++; evidence.found > 1 {
		a.fault(name, n, hintEdited, "the record %s is in the file a second time", row.ID)
		return
	}
	if digest := dag.Sum(line); key(digest[:16]) != evidence.digest {
		a.fault(name, n, hintEdited, "the record %s is not the one that was accepted (evidence line %d)", row.ID, evidence.line)
	}
}

// orphans tells of evidence without a record.
func (a *audit) orphans() error {
	var missing []int
	for _, record := range a.records {
		if record.found == 0 {
			missing = append(missing, record.line)
		}
	}
	slices.Sort(missing)
	for _, n := range missing {
		a.fault(a.o.Gate.Corpus.Evidence, n, hintEdited, "the record of this line is not in its data file")
	}
	return nil
}

// decisions reads what else the gate has recorded.
func (a *audit) decisions() error {
	for _, log := range []struct {
		name  string
		count *int
	}{{a.o.Gate.Rejections, &a.report.Rejections}, {verdictsPath, new(int)}, {reviewPath, &a.report.Review}, {breakersPath, new(int)}} {
		if log.name == "" {
			continue
		}
		seen := map[key]int{}
		rows, err := a.eachLine(log.name, func(n int, line []byte) {
			if err := canon.Valid(line); err != nil {
				a.fault(log.name, n, hintEdited, "the line is not JSON: %v", err)
				return
			}
			var row struct {
				AcceptKey string `json:"accept_key"`
				Anew      bool   `json:"anew"`
				Item      string `json:"item"`
			}
			if json.Unmarshal(line, &row) != nil || row.Anew {
				return
			}
			k, err := parseKey(row.AcceptKey)
			if err != nil {
				return
			}
			if earlier := seen[k]; earlier > 0 {
				a.fault(log.name, n, hintEdited, "the verdict on %s is recorded in line %d already", row.Item, earlier)
			}
			seen[k] = n
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		*log.count = rows
	}
	return nil
}

// states compares the files with the last checkpoint.
func (a *audit) states() error {
	s := store{d: a.d}
	st, _, err := s.readState()
	if err != nil {
		return nil // told already
	}
	for _, name := range slices.Sorted(maps.Keys(st.Files)) {
		left := st.Files[name]
		f, err := a.d.openRead(name)
		if errors.Is(err, fs.ErrNotExist) {
			a.fault(name, 0, hintEdited, "the file had %d bytes and is gone", left.Size)
			continue
		}
		if err != nil {
			return err
		}
		size, err := f.size()
		if err == nil && size < left.Size {
			a.fault(name, 0, hintEdited, "the file had %d bytes and has %d", left.Size, size)
		} else if err == nil {
			var tail dag.Digest
			if tail, err = tailOf(f, left.Size); err == nil && left.Size > 0 && tail.String() != left.Tail {
				a.fault(name, 0, hintEdited, "the bytes before byte %d are not those that were written", left.Size)
			}
		}
		_ = f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// eachLine reads a file line by line and tells of a torn tail.
func (a *audit) eachLine(name string, line func(n int, line []byte)) (rows int, err error) {
	f, err := os.Open(filepath.Join(a.o.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		b, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(b) > 0 {
				a.fault(name, rows+1, "the next `penstock run` keeps it if it is whole, or moves it to "+name+".torn", "the last line has no line feed")
			}
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows++
		if rows%1024 == 0 && a.ctx.Err() != nil {
			return rows, a.ctx.Err()
		}
		line(rows, b[:len(b)-1])
	}
}
