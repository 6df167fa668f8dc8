package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// readIdentity looks for which corpus this is.
func (a *audit) readIdentity() error {
	id, err := readIdentity(a.d, a.o.Gate.Corpus.Evidence)
	var edited *errEdited
	switch {
	case errors.As(err, &edited):
		a.facts.unmendable = true
		a.fault("identity", identityPath, 0, hintCopyFile, "%s", edited.why)
		return nil
	case err != nil:
		return err // another corpus: all in it would be a fault
	}
	a.facts.noIdentity = id.IsZero()
	return nil
}

// readState reads what the files were at the last checkpoint.
func (a *audit) readState() error {
	s := store{d: a.d}
	st, found, err := s.readState()
	var edited *errEdited
	switch {
	case errors.As(err, &edited):
		a.facts.stateUnfit = true
		a.fault("state", statePath, 0, "`penstock audit --repair` sets it aside: it is derived", "%s", edited.why)
		st = checkpointed{}
	case err != nil:
		return err
	}
	a.state, a.haveState = st, found && err == nil
	return nil
}

// readJournal looks for batches that are committed and not in their files.
func (a *audit) readJournal() error {
	if _, err := os.Stat(filepath.Join(a.o.Dir, journalPath)); errors.Is(err, fs.ErrNotExist) {
		a.facts.noJournal = true
	}
	if headless, err := a.headless(); err != nil || headless {
		return err
	}
	batches, missing := 0, map[string]bool{}
	var first write
	err := eachPending(a.d, func(r record) {
		if a.haveState && r.epoch < a.state.Epoch {
			return // the last checkpoint has them in their files
		}
		waits := false
		for _, w := range r.writes {
			a.pending[w.path] = append(a.pending[w.path], w)
			if !a.holds(w) {
				if len(missing) == 0 {
					first = w
				}
				waits, missing[w.path] = true, true
			}
		}
		if waits {
			batches++
		}
	})
	if err != nil || batches == 0 {
		return err
	}
	a.facts.journalWaits = true
	what := "a batch is committed and not in its files yet"
	if batches > 1 {
		what = fmt.Sprintf("%d batches are committed and not in their files yet", batches)
	}
	what += fmt.Sprintf(": the first belongs into %s at byte %d", first.path, first.off)
	hint := "the next `penstock run` finishes it, and so does `penstock audit --repair`"
	for name := range missing {
		f, err := os.Open(filepath.Join(a.o.Dir, name))
		if err != nil {
			continue // it is made
		}
		info, err := f.Stat()
		if err == nil && !a.redoable(name, &view{f: f, base: info.Size()}) {
			a.facts.journalStuck = true
			what += "; " + name + " was edited meanwhile, so it cannot be put there"
			hint = "mend what is wrong with " + name + "; the journal keeps the rows until then"
		}
		_ = f.Close()
	}
	a.fault("journal", journalPath, 0, hint, "%s", what)
	return nil
}

// headless tells of a journal that holds batches and cannot be read.
func (a *audit) headless() (bool, error) {
	f, err := a.d.openRead(journalPath)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, ok, err := readHeader(f)
	if err == nil && !ok {
		_, ok, err = epochBehind(f)
	}
	if err != nil || ok {
		return false, err
	}
	if a.state.Epoch == 0 {
		return false, nil // the files are taken as they are
	}
	holds, err := holdsRecord(f, a.state.Epoch)
	if err == nil && holds {
		a.facts.journalStuck = true
		a.fault("journal", journalPath, 0, "put it back from a copy; without one, move it away: `penstock audit` then says what of the corpus is not there", "%s", errHeadless().(*errEdited).why)
	}
	return holds, err
}

// holds reports whether a committed write is in its file.
func (a *audit) holds(w write) bool {
	f, err := a.d.openRead(w.path)
	if err != nil {
		return false
	}
	defer f.Close()
	have := make([]byte, len(w.data))
	return readFull(f, have, w.off) == nil && string(have) == string(w.data)
}

// compareStates compares the files with the last checkpoint, where nothing else was
// found: an edit has been told of by what it did.
func (a *audit) compareStates() error {
	for _, name := range slices.Sorted(maps.Keys(a.state.Files)) {
		if err := a.compareState(name, a.state.Files[name]); err != nil {
			return err
		}
	}
	a.olderCorpus()
	noIdentity := a.facts.noIdentity && a.report.Evidence > 0
	noJournal := a.facts.noJournal && (a.haveState || a.report.Evidence > 0)
	const identityHint, journalHint = "the corpus is a new one then, to who knew it", "what waited in it is lost"
	switch {
	case noIdentity && noJournal:
		a.fault("gone", metaDir, 0, "put them back from a copy, else `penstock audit --repair` makes new ones: "+identityHint+", and "+journalHint,
			"%s and %s are gone", identityPath, journalPath)
	case noIdentity:
		a.fault("gone", identityPath, 0, "put it back from a copy, else `penstock audit --repair` makes a new one: "+identityHint, "the file is gone")
	case noJournal:
		a.fault("gone", journalPath, 0, "put it back from a copy, else `penstock audit --repair` makes a new one: "+journalHint, "the file is gone")
	}
	return nil
}

// olderCorpus tells as one thing of files that are all older than the last
// checkpoint, and fit together.
func (a *audit) olderCorpus() {
	if len(a.report.Faults) < 2 || a.told[telling{a.o.Gate.Corpus.Evidence, "short"}] == 0 {
		return
	}
	for t := range a.told {
		if t.kind != "short" {
			return
		}
	}
	first, others := a.report.Faults[0], []string{}
	for _, f := range a.report.Faults[1:] {
		others = append(others, f.Path)
	}
	first.What += "; so are " + strings.Join(others, ", ")
	if len(others) == 1 {
		first.What = strings.Replace(first.What, "; so are", "; so is", 1)
	}
	first.Hint = "put the newer files back; `penstock audit --repair` takes the corpus as it is, for what is left fits together"
	a.report.Faults = append(a.report.Faults[:0], first)
}

func (a *audit) compareState(name string, left fileState) error {
	v, err := a.view(name)
	if errors.Is(err, fs.ErrNotExist) {
		a.facts.stateUnfit = true
		if left.Size > 0 && !a.faulty(name) && a.diffs[name] == nil {
			a.fault("gone", name, 0, hintCopyFile, "the file had %d bytes and is gone", left.Size)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer v.close()
	what, kind := "", "state"
	switch tail, err := tailAt(v, min(left.Size, v.size())); {
	case v.size() < left.Size:
		kind, what = "short", fmt.Sprintf("the file had %d bytes and has %d: rows are gone, or an older copy was put in its place", left.Size, v.size())
	case err != nil:
		return err
	case left.Size > 0 && tail.String() != left.Tail:
		what = fmt.Sprintf("the bytes before byte %d are not those that were written", left.Size)
	default:
		log := a.logs[name]
		if _, ok := a.state.Seals[name].sum(); ok && log != nil && !log.sealed {
			what = fmt.Sprintf("among the first %d bytes some are not those that were written; in which line cannot be told, for no row here bears a digest", a.state.Seals[name].Size)
		}
	}
	if what == "" {
		return nil
	}
	a.facts.stateUnfit = true
	if !a.faulty(name) && a.diffs[name] == nil { // a difference has been told of, here or where it came from
		a.fault(kind, name, 0, hintState, "%s", what)
	}
	return nil
}

const hintState = "put the file back from a copy; `penstock audit --repair` takes it as it is, where nothing else is wrong"

// leftovers tells of files beside those of the corpus that an accident has left.
func (a *audit) leftovers() error {
	dirs := map[string]bool{metaDir: true, path.Dir(reviewPath): true}
	for name := range a.ownFiles() {
		if name != "" {
			dirs[path.Dir(name)] = true
		}
	}
	for _, name := range a.evidence.files {
		dirs[path.Dir(name)] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(filepath.Join(a.o.Dir, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() {
				continue
			}
			switch name := path.Join(dir, entry.Name()); path.Ext(name) {
			case ".torn":
				a.note(name, "bytes that were no whole line were set aside here", "look whether they are of use, then delete the file")
			case asideExt:
				a.note(name, "a repair has set aside here what did not belong into the corpus", "look whether it is of use, then delete the file")
			case newSuffix:
				a.note(name, "a write to a new file was interrupted; nothing reads it", "it may be deleted")
			}
		}
	}
	return nil
}

// asideExt ends the names of files that hold what a repair has set aside.
const asideExt = ".aside"
