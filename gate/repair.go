package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/penstock-run/penstock/dag"
)

// Mended is one thing that a repair did.
type Mended struct {
	Path string `json:"path"`
	Line int    `json:"line,omitzero"` // from 1, as the file was; 0: the file
	What string `json:"what"`
	More int    `json:"more,omitzero"` // further lines of the file with which the same was done
}

func (m Mended) String() string {
	return Fault{Path: m.Path, Line: m.Line, What: m.What, More: m.More}.String()
}

// Repair mends what is safe to mend, and reports what it did and what is
// still wrong. It writes only what is proven to be what was accepted: a row whose
// digest the chain of the evidence names, a record whose digest its evidence names,
// what waits in the journal. It deletes nothing: whatever does not belong into a
// file is moved, byte for byte, to one beside it. What it cannot prove it leaves,
// and the report says what a person can do. A second repair does nothing; one that
// was interrupted is finished by the next.
func Repair(ctx context.Context, o Options) (Report, error) {
	return repairCorpus(ctx, o, func(string) {})
}

// repairCorpus is Repair with a hook at the points where a crash is told apart.
func repairCorpus(ctx context.Context, o Options, at func(point string)) (Report, error) {
	if err := validate(o.Gate); err != nil {
		return Report{}, &dag.Error{Op: "repair", Kind: dag.KindConfig, Err: err}
	}
	if o.ReadOnly || o.DryRun {
		return Report{}, &dag.Error{Op: "repair", Kind: dag.KindBug, Err: errors.New("the corpus was opened for reading")}
	}
	if _, err := os.Stat(filepath.Join(o.Dir, metaDir)); errors.Is(err, os.ErrNotExist) {
		return Audit(ctx, o) // nothing of a corpus is here, or its folder is
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &repair{ctx: ctx, o: o, d: osDisk{o.Dir}, at: at, told: map[telling]int{}}
	l := o.newLocker()
	defer l.close()
	held, err := l.Lock(ctx)
	if err != nil {
		return Report{}, corpusError(err)
	}
	defer held.Unlock()
	err = r.lockBuckets(held)
	if err == nil {
		err = r.run()
	}
	if err != nil {
		return Report{}, corpusError(err)
	}
	report := r.a.report
	report.Repairs = r.done
	return report, nil
}

// repair is one repair under the locks of the whole corpus.
type repair struct {
	ctx  context.Context
	o    Options
	d    osDisk
	at   func(string)
	a    *audit // the last look at the corpus
	done []Mended
	told map[telling]int // how many of each kind, by file
}

// lockBuckets locks every data file that there is or was. A folder that is gone is
// not made for it: what was mounted there is not, and that is no edit.
func (r *repair) lockBuckets(held *heldState) error {
	a := newAudit(r.ctx, r.o)
	for _, step := range []func() error{a.readIdentity, a.readState, a.readJournal, a.readEvidence} {
		if err := step(); err != nil {
			return err
		}
	}
	names, err := a.dataFiles()
	if err != nil {
		return err
	}
	full := make([]string, len(names))
	for i, name := range names {
		if err := folderGone(r.o.Dir, name); err != nil {
			return err
		}
		full[i] = filepath.Join(r.o.Dir, name)
	}
	return held.LockBuckets(r.ctx, full, func(string) bool { return false })
}

// run mends file by file, and looks again where what comes next depends on it.
func (r *repair) run() error {
	for _, step := range []func() (changed bool, err error){nil, r.journal, r.evidence, r.data, r.logs, r.identity, r.state} {
		changed := true
		if step != nil {
			var err error
			if changed, err = step(); err != nil {
				return err
			}
		}
		if !changed {
			continue
		}
		a, err := runAudit(r.ctx, r.o)
		if err != nil {
			return err
		}
		if r.a = a; a.facts.unmendable {
			return nil // of another version: its rules are not known here
		}
	}
	return nil
}

// did notes what was done, and counts what is like it.
func (r *repair) did(kind, path string, line int, what string, args ...any) {
	t := telling{path, kind}
	if r.told[t]++; r.told[t] > shown {
		for i := len(r.done) - 1; i >= 0; i-- {
			if r.done[i].Path == path {
				r.done[i].More++
				return
			}
		}
	}
	r.done = append(r.done, Mended{Path: path, Line: line, What: fmt.Sprintf(what, args...)})
}

// journal finishes what was committed. It is what every Open does.
func (r *repair) journal() (changed bool, err error) {
	if !r.a.facts.journalWaits || r.a.facts.journalStuck {
		return false, nil
	}
	s, err := openStore(r.d, func(what string) { r.did("journal", journalPath, 0, "%s", what) }, r.at)
	if err != nil {
		return false, err
	}
	defer s.close()
	err = s.begin()
	var edited *errEdited
	if errors.As(err, &edited) {
		return true, nil // it keeps the rows until the file is mended
	}
	return true, err
}

// identity makes what was deleted and can be made anew.
func (r *repair) identity() (changed bool, err error) {
	if r.a.facts.noIdentity && r.a.report.Evidence > 0 {
		if _, err := makeIdentity(r.d, r.o.Gate.Corpus.Evidence, r.o.Now()); err != nil {
			return false, err
		}
		r.did("identity", identityPath, 0, "a new identity was made")
		changed = true
	}
	if r.a.facts.noJournal && (r.a.haveState || r.a.report.Evidence > 0) {
		s, err := openStore(r.d, func(string) {}, r.at)
		if err != nil {
			return changed, err
		}
		s.close()
		r.did("journal", journalPath, 0, "a new journal was made")
		changed = true
	}
	return changed, nil
}

// moving gathers the lines that leave a file.
type moving struct {
	r     *repair
	name  string
	aside bytes.Buffer
	torn  []byte
}

// move takes a line out, as it is.
func (m *moving) move(kind string, line int, raw []byte, what string, args ...any) {
	m.aside.Write(raw)
	if !bytes.HasSuffix(raw, []byte{'\n'}) {
		m.aside.WriteByte('\n')
	}
	m.r.did(kind, m.name, line, what+"; the line as it was is in "+m.name+asideExt, args...)
}

// moveTorn takes out a last line that is not whole.
func (m *moving) moveTorn(line int, raw []byte) {
	m.torn = append(bytes.Clone(raw), '\n')
	m.r.did("torn", m.name, line, "the last line, which is not whole, was moved to %s.torn", m.name)
}

// finish makes what was moved durable beside the file, and only then replaces it.
func (m *moving) finish(content func(io.Writer) error) error {
	if err := m.r.keep(m.name+asideExt, m.aside.Bytes()); err != nil {
		return err
	}
	if err := m.r.keep(m.name+".torn", m.torn); err != nil {
		return err
	}
	m.r.at("aside")
	return m.r.replace(m.name, content)
}

// keep appends lines to a file beside another. Where its last lines are these, an
// interrupted repair has appended them.
func (r *repair) keep(name string, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	f, err := r.d.open(name, true)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.size()
	if err != nil {
		return err
	}
	if size >= int64(len(b)) {
		have := make([]byte, len(b))
		if err := readFull(f, have, size-int64(len(b))); err != nil {
			return err
		}
		if bytes.Equal(have, b) {
			return nil
		}
	}
	if size > 0 {
		var last [1]byte
		if err := readFull(f, last[:], size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			b = append([]byte{'\n'}, b...) // it was itself interrupted
		}
	}
	if _, err := f.WriteAt(b, size); err != nil {
		return err
	}
	if err := f.sync(); err != nil {
		return err
	}
	return r.d.syncDir(path.Dir(name))
}

// replace gives a file another content: as before or as after, whatever happens.
func (r *repair) replace(name string, content func(io.Writer) error) error {
	full := filepath.Join(r.o.Dir, name)
	if err := writeNew(full, true, content); err != nil {
		return err
	}
	r.at("rewritten")
	if err := takePlace(full); err != nil {
		return err
	}
	r.at("replaced")
	return r.d.syncDir(path.Dir(name))
}
