package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/penstock-run/penstock/dag"
)

// state brings the state of the last checkpoint up to what the files are, where
// they fit together and it does not fit them. It is the last step: until then it
// tells what the files were.
func (r *repair) state() (changed bool, err error) {
	a := r.a
	missing := !a.haveState && a.report.Evidence > 0 && !a.facts.stateUnfit
	if !a.facts.stateUnfit && !missing || !a.fitsTogether() {
		return false, nil
	}
	if in, err := r.journalIsIn(); err != nil || !in {
		return false, err
	}
	old, err := r.d.read(statePath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := r.keep(statePath+asideExt, lineOf(old)); err != nil {
		return false, err
	}
	r.at("state kept")
	if err := r.checkpoint(); err != nil {
		return false, err
	}
	for _, f := range a.report.Faults {
		if f.Path != statePath {
			r.did("state", f.Path, f.Line, "it was taken as it is: %s", f.What)
		}
	}
	if missing {
		r.did("state", statePath, 0, "it was made anew from the files as they are")
	} else {
		r.did("state", statePath, 0, "it was brought up to the files as they are; the one before is in %s", statePath+asideExt)
	}
	return true, nil
}

func lineOf(b []byte) []byte {
	if len(b) == 0 || bytes.HasSuffix(b, []byte{'\n'}) {
		return b
	}
	return append(bytes.Clone(b), '\n')
}

// fitsTogether reports whether nothing is wrong but that files are not what the last
// checkpoint says: the evidence is a chain, and each record is where it says.
func (a *audit) fitsTogether() bool {
	if a.facts.unmendable || a.evidence.broken || a.evidence.gone || len(a.diffs) > 0 || a.facts.journalStuck {
		return false
	}
	for t := range a.told {
		switch {
		case t.kind == "short" || t.kind == "state":
		case t.kind == "gone" && a.ownFiles()[t.path] && t.path != a.o.Gate.Corpus.Evidence:
		default:
			return false
		}
	}
	return true
}

// journalIsIn reports whether every row of the journal stands in its file, if not
// at its offset: then the journal is no longer needed.
func (r *repair) journalIsIn() (bool, error) {
	for name, writes := range r.a.pending {
		lines := map[dag.Digest]bool{}
		for _, w := range writes {
			if r.a.holds(w) {
				continue
			}
			for text := range bytes.Lines(w.data) {
				lines[dag.Sum(bytes.TrimSuffix(text, []byte{'\n'}))] = true
			}
		}
		if len(lines) == 0 {
			continue
		}
		err := r.a.eachDocument(name, func(_ string, _ int, text []byte) { delete(lines, dag.Sum(text)) })
		if err != nil || len(lines) > 0 {
			return false, err
		}
	}
	return true, nil
}

// checkpoint writes a new state over all files as they are, and empties the journal.
func (r *repair) checkpoint() error {
	s, err := openStore(r.d, func(what string) { r.did("settled", metaDir, 0, "%s", what) }, r.at)
	if err != nil {
		return err
	}
	defer s.close()
	epoch, ok, err := readHeader(s.journal)
	if err != nil {
		return err
	}
	last := r.a.state.Sequence
	err = eachPending(r.d, func(rec record) { last = max(last, rec.sequence) })
	if err != nil {
		return err
	}
	if err := s.startOver(max(epoch, r.a.state.Epoch), last, ok); err != nil {
		return err
	}
	names, err := r.a.dataFiles()
	if err != nil {
		return err
	}
	for name := range r.a.ownFiles() {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if _, err := s.settle(name); err != nil {
			return err
		}
	}
	if err := s.checkpoint(); err != nil {
		return err
	}
	if len(s.files) == 0 {
		return fmt.Errorf("%s was not written", statePath)
	}
	return nil
}

// startOver has a store take the files as they are, after the last epoch that the
// journal or the state knows of.
func (s *store) startOver(epoch, sequence uint64, haveHeader bool) error {
	s.epoch, s.sequence, s.end = epoch, sequence, headerSize
	s.files, s.seals, s.named = map[string]fileState{}, map[string]seal{}, map[string]bool{}
	if haveHeader {
		return nil
	}
	return s.restart() // what is behind a header that is gone may be of any epoch
}
