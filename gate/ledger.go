package gate

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// The logs that verdicts are read back from, by the number in a place.
const (
	evidenceLog = iota + 1
	rejectionsLog
	verdictsLog
	reviewLog
	logs
)

// ledger answers what is recorded: verdicts by accept key, records by id and by
// the keys of the checks "unique". It is derived from the logs: filled by one
// scan, brought up to date by reading what was appended.
type ledger struct {
	dir string

	mu      sync.RWMutex
	begun   bool // the snapshot was looked for
	loaded  bool
	logs    [logs]*rowLog // nil where the gate has none
	accepts index
	ids     index
	uniques index
	// sequence and last belong to the evidence: its highest number, and the digest
	// of its last line.
	sequence uint64
	last     dag.Digest
	note     evidenceNote // of the row that is being read

	shelves []*shelf   // texts for the checks "novel"
	older   []olderRow // rows without those texts, whose records are still to be read

	corpus    dag.Digest   // zero: not known, and no snapshot is used
	say       func(string) // what people should know
	kept      int          // rows that are in the snapshot
	indexRows int          // fewer rows are not worth one
}

func newLedger(dir string, g *dag.Gate) *ledger {
	l := &ledger{dir: dir, shelves: shelvesOf(g), indexRows: indexRows}
	l.logs[evidenceLog] = &rowLog{path: g.Corpus.Evidence}
	if g.Rejections != "" {
		l.logs[rejectionsLog] = &rowLog{path: g.Rejections}
	}
	l.logs[verdictsLog] = &rowLog{path: verdictsPath}
	l.logs[reviewLog] = &rowLog{path: reviewPath}
	return l
}

// load reads the logs once, without a lock: what is there in whole lines stands.
func (l *ledger) load() error {
	l.mu.RLock()
	loaded := l.loaded
	l.mu.RUnlock()
	if loaded {
		return nil
	}
	return l.refresh(func(*rowLog) (int64, error) { return -1, nil })
}

// refresh reads what was appended to each log, up to the size that upTo gives;
// -1 is the last whole line.
func (l *ledger) refresh(upTo func(*rowLog) (int64, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		l.begun = true
		l.restore()
	}
	for number, log := range l.logs {
		if log == nil {
			continue
		}
		size, err := upTo(log)
		if err == nil {
			err = l.readOn(uint8(number), log, size)
		}
		if err != nil {
			return err
		}
	}
	if len(l.older) > 0 {
		if err := l.readOlder(); err != nil {
			return err
		}
	}
	l.loaded = true
	return nil
}

func (l *ledger) readOn(number uint8, log *rowLog, upTo int64) error {
	if upTo == log.read && (upTo == 0 || log.f != nil) {
		return nil // whoever knows the size has looked at the file
	}
	if err := log.open(l.dir); err != nil || log.f == nil {
		return err
	}
	if upTo < 0 {
		info, err := log.f.Stat()
		if err != nil {
			return err
		}
		upTo = info.Size()
	}
	if upTo < log.read {
		return &errEdited{log.path, fmt.Sprintf("it had %d bytes and has %d", log.read, upTo)}
	}
	buf := make([]byte, 0, min(upTo-log.read, 1<<20)+1)
	for log.read < upTo {
		buf = buf[:cap(buf)]
		n, err := log.f.ReadAt(buf[:min(int64(len(buf)), upTo-log.read)], log.read)
		if err != nil && !(errors.Is(err, io.EOF) && n > 0) {
			return fmt.Errorf("read %s: %w", log.path, err)
		}
		end := bytes.LastIndexByte(buf[:n], '\n') + 1
		if end == 0 {
			if log.read+int64(n) >= upTo {
				return nil // a line that is still being written, or torn
			}
			buf = make([]byte, 0, 2*cap(buf)) // a line longer than the buffer
			continue
		}
		for line := range bytes.Lines(buf[:end]) {
			if err := l.row(number, log, line[:len(line)-1]); err != nil {
				return err
			}
			log.read += int64(len(line))
		}
	}
	return nil
}

// row takes a line into the indexes. A line that is no row of the gate's is left
// alone: another program may add to the files, and an audit tells of it.
func (l *ledger) row(number uint8, log *rowLog, line []byte) error {
	at := placeOf(number, log.read)
	if number != evidenceLog {
		log.rows++
		if k, ok := acceptKeyOf(line); ok {
			l.accepts.add(k, at)
		}
		return nil
	}
	previous, keyed, ok := l.note.read(line)
	var follows [2 * len(l.last)]byte
	hex.Encode(follows[:], l.last[:])
	if ok && keyed && string(previous) != string(follows[:]) {
		// It is not taken in: whoever asks again is told of the same line.
		return &errEdited{log.path, fmt.Sprintf("line %d does not follow the line before it", log.rows+1)}
	}
	if keyed && len(l.shelves) > 0 {
		if err := l.shelve(&l.note, line, at); err != nil {
			return err
		}
	}
	log.rows++
	l.last = dag.Sum(line)
	if ok {
		l.addEvidence(&l.note, at)
	}
	return nil
}

// shelve takes the texts of a row for the checks "novel".
func (l *ledger) shelve(note *evidenceNote, line []byte, at place) error {
	older, err := shelve(l.shelves, note.novel, uint64(at))
	if err != nil || older == nil {
		return err
	}
	var row evidenceRow
	if err := json.Unmarshal(line, &row); err != nil {
		return &errEdited{l.logs[evidenceLog].path, fmt.Sprintf("the row at byte %d is not as the gate writes it: %v", at.offset(), err)}
	}
	return l.noteOlder(&row, at, older)
}

func acceptKeyOf(line []byte) (key, bool) {
	if k, ok := skimAcceptKey(line); ok {
		return k, true
	}
	var row struct {
		AcceptKey string `json:"accept_key"`
	}
	if json.Unmarshal(line, &row) != nil {
		return key{}, false
	}
	k, err := parseKey(row.AcceptKey)
	return k, err == nil
}

// read takes a line of the evidence. keyed tells that it is a row of the gate's,
// and follows the row with the digest previous; ok is false for what is no row at all.
func (n *evidenceNote) read(line []byte) (previous []byte, keyed, ok bool) {
	if previous, ok = n.skim(line); ok {
		return previous, true, true
	}
	var row evidenceRow
	if json.Unmarshal(line, &row) != nil {
		return nil, false, false
	}
	*n = evidenceNote{id: row.ID, idKey: keyOf(row.ID), keys: n.keys[:0], sequence: row.Sequence, novel: row.Novel}
	n.accept, _ = parseKey(row.AcceptKey)
	for _, text := range row.Keys {
		if k, err := parseKey(text); err == nil {
			n.keys = append(n.keys, k)
		}
	}
	return []byte(row.Previous), row.AcceptKey != "", true
}

// evidenceNote is what the indexes take of a line of the evidence.
type evidenceNote struct {
	accept   key // zero: none
	id       string
	idKey    key
	keys     []key
	sequence uint64
	digest   dag.Digest // of the line without its line feed
	size     int        // of the line with it
	novel    []byte     // texts for the checks "novel"; nil: the row has none
}

// addEvidence indexes a row of the evidence.
func (l *ledger) addEvidence(note *evidenceNote, at place) {
	l.sequence = max(l.sequence, note.sequence)
	if note.accept != (key{}) {
		l.accepts.add(note.accept, at)
	}
	if note.id != "" {
		l.ids.add(note.idKey, at)
	}
	for _, k := range note.keys {
		l.uniques.add(k, at)
	}
}

// wroteEvidence takes in lines of the evidence that this process has just
// committed: what they say is known, so they are not read.
func (l *ledger) wroteEvidence(file fileID, off int64, notes []evidenceNote) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.logs[evidenceLog]
	if err := log.at(l.dir, file, off); err != nil {
		return err
	}
	for i := range notes {
		at := placeOf(evidenceLog, log.read)
		if _, err := shelve(l.shelves, notes[i].novel, uint64(at)); err != nil {
			return err
		}
		log.rows++
		l.last = notes[i].digest
		l.addEvidence(&notes[i], at)
		log.read += int64(notes[i].size)
	}
	return nil
}

// wrote takes in rows that this process has just committed.
func (l *ledger) wrote(number uint8, file fileID, off int64, lines []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.logs[number]
	if err := log.at(l.dir, file, off); err != nil {
		return err
	}
	for line := range bytes.Lines(lines) {
		if err := l.row(number, log, line[:len(line)-1]); err != nil {
			return err
		}
		log.read += int64(len(line))
	}
	return nil
}

// tip is what the next row of the evidence follows.
func (l *ledger) tip() (sequence uint64, last dag.Digest) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.sequence, l.last
}

// verdict finds the verdict that is recorded under a key: an accept if there is
// one, else the latest. It is nil where there is none.
func (l *ledger) verdict(k key) (*Verdict, error) {
	var best *Verdict
	var at string
	err := l.find(&l.accepts, k, func(number uint8, line []byte) error {
		if number == evidenceLog {
			var row evidenceRow
			if err := json.Unmarshal(line, &row); err != nil || row.AcceptKey != k.String() {
				return nil
			}
			best = &Verdict{End: dag.Accepted, Record: row.ID, Known: true}
			return nil
		}
		var row decisionRow
		if err := json.Unmarshal(line, &row); err != nil || row.AcceptKey != k.String() {
			return nil
		}
		if best == nil || best.End != dag.Accepted && row.At >= at {
			at = row.At
			best = &Verdict{End: row.End, Codes: row.Codes, Findings: row.Findings, Details: row.Detail, Message: row.Message, Known: true}
		}
		return nil
	})
	return best, err
}

// record finds an accepted record by its id.
func (l *ledger) record(id string, k key) (row *evidenceRow, err error) {
	return l.evidence(&l.ids, k, func(row *evidenceRow) bool { return row.ID == id })
}

// unique finds an accepted record by a key of a check "unique".
func (l *ledger) unique(k key) (*evidenceRow, error) {
	text := k.String()
	return l.evidence(&l.uniques, k, func(row *evidenceRow) bool {
		for _, have := range row.Keys {
			if have == text {
				return true
			}
		}
		return false
	})
}

func (l *ledger) evidence(x *index, k key, is func(*evidenceRow) bool) (found *evidenceRow, err error) {
	err = l.find(x, k, func(_ uint8, line []byte) error {
		row := new(evidenceRow)
		if json.Unmarshal(line, row) == nil && found == nil && is(row) {
			found = row
		}
		return nil
	})
	return found, err
}

// find reads the rows that an index proposes for a key.
func (l *ledger) find(x *index, k key, row func(number uint8, line []byte) error) error {
	type source struct {
		at place
		f  *os.File
	}
	var sources []source
	l.mu.RLock()
	for at := range x.places(k) {
		sources = append(sources, source{at, l.logs[at.log()].f})
	}
	l.mu.RUnlock()
	for _, s := range sources {
		line, err := readLine(s.f, s.at.offset())
		if err != nil {
			return fmt.Errorf("read back a row of %s: %w", l.logs[s.at.log()].path, err)
		}
		if err := row(s.at.log(), line); err != nil {
			return err
		}
	}
	return nil
}

func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, log := range l.logs {
		if log != nil && log.f != nil {
			_ = log.f.Close()
			log.f = nil
		}
	}
}
