package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/go-json-experiment/json"
)

// The files of a corpus that are the gate's own, below the pipeline's directory.
const (
	metaDir      = "meta"
	journalPath  = "meta/.journal"
	statePath    = "meta/.state.json"
	lockPath     = "meta/.state.lock"
	identityPath = "meta/.corpus.json"
	breakersPath = "meta/breakers.jsonl"
	verdictsPath = "meta/verdicts.jsonl"
	reviewPath   = ".decisions/review.jsonl"
)

// store makes batches of writes to append-only files durable: all of a batch or
// nothing of it, whatever happens, with one sync.
//
// All but open and close is called under the lock on the corpus's state.
type store struct {
	d       disk
	report  func(string)       // what was mended, for people
	at      func(point string) // where a test may kill the process; never nil
	journal diskFile

	epoch    uint64 // of the journal; a checkpoint begins the next
	sequence uint64 // of the last committed batch
	state    fileID // of the state that the epoch was read from or written to
	end      int64  // of the records that are read
	room     int64  // up to here the journal has blocks of its own, at least
	buffer   []byte // for the next record

	targets map[string]*target
	touched map[string]bool // since the last checkpoint, by any process
	records int             // committed since the last checkpoint, by this process
	every   int             // checkpoint after so many
	first   int64           // the journal's first room
	files   map[string]fileState
	seals   map[string]seal
	named   map[string]bool // files whose names are durable

	broken error // a sync failed: only a new process knows what the disk holds
	redo   bool  // a batch is committed, but its writes could not all be made
}

// tailSize is how much of a file's end tells whether it is the file that was left.
const tailSize = 256

// keptBuffer is the largest buffer that is kept from one commit to the next.
const keptBuffer = 4 << 20

// maxOpenTargets bounds the data files that are kept open from one commit to the next.
const maxOpenTargets = 256

// checkpointed is meta/.state.json: what the files were at the last checkpoint. It is
// derived; without it the files are taken as they are.
type checkpointed struct {
	Version  int                  `json:"version"`
	Epoch    uint64               `json:"epoch"`
	Sequence uint64               `json:"sequence"`
	Files    map[string]fileState `json:"files"`
	Seals    map[string]seal      `json:"seals,omitempty"` // of the same files; an earlier version made none
}

type fileState struct {
	Size int64  `json:"size"`
	Tail string `json:"tail"` // hex of target.tail
}

// errEdited says that a file is not what the gate left.
type errEdited struct{ path, why string }

func (e *errEdited) Error() string {
	return fmt.Sprintf("%s was changed by something other than the gate: %s", e.path, e.why)
}

// openStore opens the journal, making it where there is none. What it holds is
// read by begin, under the lock.
func openStore(d disk, report, at func(string)) (*store, error) {
	s := &store{d: d, report: report, at: at, targets: map[string]*target{}, touched: map[string]bool{}, every: checkpointBatches, first: roomFirst}
	var err error
	if s.journal, err = d.open(journalPath, true); err != nil {
		return nil, err
	}
	size, err := s.journal.size()
	if err == nil && size == 0 { // perhaps just made, and its folder with it
		if err = d.syncDir(metaDir); err == nil {
			err = d.syncDir(".")
		}
	}
	if err != nil {
		_ = s.journal.Close()
		return nil, err
	}
	return s, nil
}

// begin brings the store up to date: it finishes what was committed and not
// written, by this process or another, and notes what others have written.
func (s *store) begin() error {
	if s.broken != nil {
		return fmt.Errorf("an earlier sync failed, and what the disk holds is not known: %w", s.broken)
	}
	if len(s.targets) > maxOpenTargets {
		s.forgetTargets() // not later: a batch needs those that it writes to
	}
	_, current, err := s.journal.named()
	if err != nil {
		return err
	}
	if !current {
		return fmt.Errorf("%s is gone or was replaced: the corpus was moved or deleted while it was open", journalPath)
	}
	epoch, ok, err := readHeader(s.journal)
	if err != nil {
		return err
	}
	state, err := s.d.id(statePath)
	if err != nil {
		return err
	}
	// The state is compared as well: a process that died in a checkpoint may have
	// left a new state and the header of the epoch before, in which nothing more
	// may be committed.
	if !ok || epoch != s.epoch || state != s.state || s.redo {
		if err := s.reload(epoch, ok); err != nil {
			return err
		}
	}
	return s.replay()
}

// reload reads the state of the last checkpoint and starts the journal over from
// its first record. A journal of an older epoch holds nothing: a checkpoint was
// interrupted after its state was durable. So does one without a header, unless
// batches stand in it.
func (s *store) reload(epoch uint64, haveHeader bool) error {
	id, err := s.d.id(statePath)
	if err != nil {
		return err
	}
	st, found, err := s.readState()
	if err != nil {
		return err
	}
	if !haveHeader {
		if epoch, haveHeader, err = s.mendHeader(st.Epoch); err != nil {
			return err
		}
	}
	if !found {
		st.Epoch = 1
		if haveHeader {
			st.Epoch = epoch // the state was deleted; the journal still knows
		}
	}
	if haveHeader && epoch > st.Epoch {
		return fmt.Errorf("%s is of epoch %d and %s of epoch %d: one of the two was put back from a copy", journalPath, epoch, statePath, st.Epoch)
	}
	s.epoch, s.sequence, s.files, s.state, s.end, s.room = st.Epoch, st.Sequence, st.Files, id, headerSize, 0
	if s.seals = st.Seals; s.seals == nil {
		s.seals = map[string]seal{}
	}
	s.named = map[string]bool{}
	for name := range st.Files {
		s.named[name] = true
	}
	s.dropTargets()
	clear(s.touched)
	switch {
	case !haveHeader && !found:
		return s.restart()
	case !haveHeader || epoch < st.Epoch:
		return s.reset()
	case !found:
		if r, _, err := readRecord(s.journal, headerSize, s.epoch); err == nil {
			s.sequence = r.sequence - 1
		}
	}
	return nil
}

// mendHeader gives a journal its header back where the first batch tells what it
// was. atLeast is the epoch of the state, 0 where there is none: batches of older
// epochs are in their files.
func (s *store) mendHeader(atLeast uint64) (epoch uint64, ok bool, err error) {
	epoch, ok, err = epochBehind(s.journal)
	switch {
	case err != nil:
		return 0, false, err
	case !ok:
		holds, err := holdsRecord(s.journal, atLeast)
		switch {
		case err == nil && holds && atLeast == 0:
			// Without the state it cannot be told whether they are of an older epoch.
			text, err := s.d.read(journalPath)
			if err == nil {
				err = s.d.replace(journalPath+asideExt, text)
			}
			if err != nil {
				return 0, false, err
			}
			s.report(journalPath + " has no header, and no state tells of which epoch its batches are: the files are taken as they are, and the journal as it was is in " + journalPath + asideExt)
		case err == nil && holds:
			err = errHeadless()
		}
		return 0, false, err
	case epoch != atLeast && atLeast > 0:
		return epoch, true, nil // it is older and passed over, or newer and refused
	}
	if _, err := s.journal.WriteAt(encodeHeader(epoch), 0); err != nil {
		return 0, false, err
	}
	s.report(journalPath + " had no header; it was made anew from the batches that stand behind it")
	return epoch, true, nil
}

// restart makes a journal of which nothing is known, neither its epoch nor the
// state's, an empty one: the epoch that it begins with may be that of records in it.
func (s *store) restart() error {
	size, err := s.journal.size()
	if err == nil && size > 0 {
		if err = s.journal.Truncate(0); err == nil {
			err = s.journal.sync()
		}
	}
	if err != nil {
		s.broken = err
		return err
	}
	return s.reset()
}

func (s *store) readState() (st checkpointed, found bool, err error) {
	text, err := s.d.read(statePath)
	if errors.Is(err, fs.ErrNotExist) {
		return checkpointed{Files: map[string]fileState{}}, false, nil
	}
	if err != nil {
		return checkpointed{}, false, err
	}
	if err := json.Unmarshal(text, &st); err != nil || st.Version != 1 {
		return checkpointed{}, false, &errEdited{statePath, "it is not the state of a corpus that this version understands"}
	}
	if st.Files == nil {
		st.Files = map[string]fileState{}
	}
	return st, true, nil
}

// replay finishes the records that this process has not seen. The bytes of each
// write are compared with the file's: a process that died left them unwritten or
// torn, and a machine that lost power may have kept the size and not the bytes.
func (s *store) replay() error {
	mended := false
	for {
		r, end, err := readRecord(s.journal, s.end, s.epoch)
		if errors.Is(err, errNoRecord) {
			break // what else is there was not finished, and never committed
		}
		if err != nil {
			return err
		}
		if r.sequence != s.sequence+1 {
			return fmt.Errorf("%s goes on with batch %d after batch %d: it does not belong to %s", journalPath, r.sequence, s.sequence, statePath)
		}
		for _, w := range r.writes {
			wrote, err := s.redoWrite(w, mended)
			if err != nil {
				return err
			}
			mended = mended || wrote
		}
		s.sequence, s.end = r.sequence, end
	}
	s.redo = false
	if !mended {
		return nil
	}
	s.report("finished a commit that was interrupted")
	s.at("recovered")
	for name := range s.touched {
		if _, err := s.settle(name); err != nil {
			return err
		}
	}
	return s.checkpoint()
}

// redoWrite makes one write of a committed batch, if the file does not hold it.
// synced tells that the journal is, in this recovery.
func (s *store) redoWrite(w write, synced bool) (wrote bool, err error) {
	t, size, err := s.target(w.path, !s.knows(w.path))
	if err != nil {
		return false, err
	}
	s.touched[w.path] = true
	if size < w.off {
		return false, &errEdited{w.path, fmt.Sprintf("it had %d bytes and has %d", w.off, size)}
	}
	if t.size == w.off && t.size > 0 {
		if err := s.holdsTail(w.path, t); err != nil {
			return false, err
		}
	}
	have := make([]byte, min(int64(len(w.data)), size-w.off))
	if err := readFull(t.f, have, w.off); err != nil {
		return false, err
	}
	same := 0
	for same < len(have) && have[same] == w.data[same] {
		same++
	}
	if same == len(w.data) {
		return false, s.advance(t, w)
	}
	if !synced {
		// The process that wrote the record may have died before its sync. Rows that
		// stand in a file are taken for committed by every process that looks on.
		if err := s.journal.sync(); err != nil {
			s.broken = err
			return false, fmt.Errorf("sync %s: %w", journalPath, err)
		}
	}
	if !isZero(have[same:]) {
		// Another program has written where the batch belongs, after the batch was
		// committed and before it was there.
		foreign := make([]byte, size-w.off)
		if err := readFull(t.f, foreign, w.off); err != nil {
			return false, err
		}
		if err := s.setAside(w.path, foreign); err != nil {
			return false, err
		}
		if err := t.f.Truncate(w.off); err != nil {
			return false, err
		}
		same = 0
	}
	s.at("redo")
	if _, err := t.f.WriteAt(w.data[same:], w.off+int64(same)); err != nil {
		return false, err
	}
	s.at("redone")
	return true, s.advance(t, w)
}

// commit makes a batch durable. Until the journal is synced nothing has happened
// and every error leaves things as they were; afterwards the batch stands, and an
// error only means that its writes are made later (errCommitted).
func (s *store) commit(writes []write) error {
	for _, w := range writes {
		// The blocks are taken before anything is promised, so that a disk that fills
		// up says so now.
		t, err := s.settled(w)
		if err == nil {
			err = t.f.reserve(w.end())
		}
		if err != nil {
			return &errDataFile{w.path, err}
		}
	}
	b, err := encodeRecord(s.buffer, record{epoch: s.epoch, sequence: s.sequence + 1, writes: writes})
	if err != nil {
		return err
	}
	if s.buffer = b; cap(b) > keptBuffer {
		s.buffer = nil
	}
	if err := s.makeRoom(s.end + int64(len(b))); err != nil {
		return err
	}
	s.at("begun")
	if _, err := s.journal.WriteAt(b, s.end); err != nil {
		// All of it may be there in spite of the error, and whoever reads it would
		// take it for committed.
		_, _ = s.journal.WriteAt(make([]byte, recordFixed), s.end)
		return err
	}
	s.at("journaled")
	if err := s.journal.sync(); err != nil {
		// The kernel reports a failed sync once and may have dropped the pages:
		// trying again would prove nothing.
		s.broken = err
		return fmt.Errorf("sync %s: %w", journalPath, err)
	}
	s.at("committed")
	s.end += int64(len(b))
	s.sequence++
	s.records++
	for _, w := range writes {
		t := s.targets[w.path]
		s.touched[w.path] = true
		if _, err := t.f.WriteAt(w.data, w.off); err != nil {
			// On a full disk a part of it may be there: readers find whole lines, and
			// the journal has the bytes.
			_ = t.f.Truncate(w.off)
			s.redo = true
			return &errCommitted{err}
		}
		if err := s.advance(t, w); err != nil {
			s.redo = true
			return &errCommitted{err}
		}
		s.at("written")
	}
	return nil
}

// settled gives the file of a write that settle has looked at for this batch. It is
// made only where nothing was: written at its offset, a row in a new file would
// stand behind a hole.
func (s *store) settled(w write) (*target, error) {
	if t := s.targets[w.path]; t != nil {
		return t, nil
	}
	t, size, err := s.target(w.path, w.off == 0)
	if err == nil && size != w.off {
		err = &errEdited{w.path, fmt.Sprintf("it had %d bytes and has %d", w.off, size)}
	}
	return t, err
}

// makeRoom gives the journal blocks up to an offset. They are written as zeros and
// not only asked for: blocks that were never written cost the commit that writes
// them first another write of the disk. Nothing depends on it but the speed.
func (s *store) makeRoom(need int64) error {
	if need <= s.room {
		return nil
	}
	size, err := s.journal.size()
	if err != nil {
		return err
	}
	if s.room = size; need <= size {
		return nil
	}
	to := s.first
	for to < need {
		to *= 2
	}
	zeros := make([]byte, min(to-size, 1<<20))
	for off := size; off < to; off += int64(len(zeros)) {
		if _, err := s.journal.WriteAt(zeros[:min(int64(len(zeros)), to-off)], off); err != nil {
			_ = s.journal.Truncate(size) // what little there is belongs to others now
			return fmt.Errorf("make room in %s: %w", journalPath, err)
		}
		s.at("room")
	}
	if err := s.journal.sync(); err != nil {
		s.broken = err
		return fmt.Errorf("sync %s: %w", journalPath, err)
	}
	s.room = to
	return nil
}

// errCommitted is a failed write after the commit point.
type errCommitted struct{ err error }

func (e *errCommitted) Error() string {
	return "the batch is committed, and its rows will be written when the corpus is next opened: " + e.err.Error()
}

func (e *errCommitted) Unwrap() error { return e.err }

// checkpoint makes the files durable, and only then empties the journal.
func (s *store) checkpoint() error {
	if s.broken != nil || s.redo || len(s.touched) == 0 && s.end <= headerSize {
		return nil
	}
	dirs := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.touched)) {
		// One that is gone is not made anew, for then it would be empty; the journal
		// keeps its rows until it is back.
		t, _, err := s.target(name, false)
		if err != nil {
			return err
		}
		if err := t.f.sync(); err != nil {
			s.broken = err
			return fmt.Errorf("sync %s: %w", name, err)
		}
		s.files[name] = t.state()
		if err := s.seal(name, t); err != nil {
			return err
		}
		// The folders above may be new as well: a synced folder that is not in its
		// synced parent is lost.
		for dir := name; !s.named[name] && dir != "."; {
			dir = path.Dir(dir)
			dirs[dir] = true
		}
	}
	for dir := range dirs {
		if err := s.d.syncDir(dir); err != nil {
			s.broken = err
			return err
		}
	}
	s.at("synced")
	text, err := json.Marshal(checkpointed{1, s.epoch + 1, s.sequence, s.files, s.seals}, json.Deterministic(true))
	if err != nil {
		return err
	}
	if err := s.d.replace(statePath, append(text, '\n')); err != nil {
		return err
	}
	s.at("state")
	if s.state, err = s.d.id(statePath); err != nil {
		return err
	}
	for name := range s.touched {
		s.named[name] = true
	}
	s.epoch++
	s.records = 0
	clear(s.touched)
	return s.reset()
}

// reset begins the present epoch at the start of the journal. The sync of its
// first commit makes the header durable; until then the state tells that what is
// in the journal is of an older epoch.
func (s *store) reset() error {
	s.end = headerSize
	if _, err := s.journal.WriteAt(encodeHeader(s.epoch), 0); err != nil {
		s.broken = err
		return err
	}
	s.at("emptied")
	if s.room > roomLast {
		if err := s.journal.Truncate(roomLast); err != nil {
			s.broken = err
			return err
		}
		s.room = roomLast
	}
	return nil
}

// close checkpoints nothing: that needs the lock. It gives the files back.
func (s *store) close() {
	s.dropTargets()
	_ = s.journal.Close()
}
