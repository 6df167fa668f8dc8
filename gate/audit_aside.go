package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
)

// standing is where the line of a missing record stands.
type standing struct {
	path string
	line int
	text []byte // in canonical form: the bytes that were accepted
}

// findMissing looks for the records that are missing where they may have come to:
// in another data file, beside their own in what was set aside, and in the journal.
// A line with the digest that the evidence names is the record, wherever it is.
func (a *audit) findMissing() error {
	a.elsewhere = map[uint32]standing{}
	wanted := map[key]uint32{}
	for _, d := range a.diffs {
		if d.utf16 {
			continue
		}
		for _, entry := range d.missing {
			wanted[a.evidence.rows.at(int(entry)).digest] = entry
		}
		for entry := range d.edited {
			wanted[a.evidence.rows.at(int(entry)).digest] = entry
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	found := func(path string, n int, text []byte) {
		digest := dag.Sum(text)
		if entry, ok := wanted[key(digest[:16])]; ok {
			if _, again := a.elsewhere[entry]; !again {
				a.elsewhere[entry] = standing{path, n, bytes.Clone(text)}
			}
		}
	}
	for name := range a.diffs {
		if err := a.eachDocument(name, found); err != nil {
			return err
		}
	}
	for name := range a.diffs {
		for _, beside := range a.besides(name) {
			if err := a.eachDocument(beside, found); err != nil {
				return err
			}
		}
		for _, w := range a.pending[name] {
			for text := range bytes.Lines(w.data) {
				found(journalPath, 0, bytes.TrimSuffix(text, []byte{'\n'}))
			}
		}
	}
	return nil
}

// eachDocument reads every line of a file that is a JSON document.
func (a *audit) eachDocument(name string, each func(path string, n int, text []byte)) error {
	v, err := a.view(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer v.close()
	return v.eachUnit(a.ctx, func(u *unit) error {
		if u.text != nil {
			each(name, u.n, u.text)
		}
		return nil
	})
}

// besides are the files beside one in which lines of it were set aside.
func (a *audit) besides(name string) []string {
	all := []string{name + ".torn", name + asideExt}
	entries, err := os.ReadDir(filepath.Join(a.o.Dir, path.Dir(name)))
	if err != nil {
		return all
	}
	for _, entry := range entries {
		beside := path.Join(path.Dir(name), entry.Name())
		if strings.HasPrefix(beside, name+".") && strings.HasSuffix(beside, newSuffix) && !slices.Contains(all, beside) {
			all = append(all, beside)
		}
	}
	return all
}

// hintMissing says where missing records are to be found.
func (a *audit) hintMissing(run []uint32) string {
	var at []string
	have := 0
	for _, entry := range run {
		if s, ok := a.elsewhere[entry]; ok {
			have++
			if !slices.Contains(at, s.path) {
				at = append(at, s.path)
			}
		}
	}
	slices.Sort(at)
	switch {
	case have == 0 && len(run) == 1:
		return "put it back from a copy: it stands nowhere else in the corpus"
	case have == 0:
		return "put them back from a copy: they stand nowhere else in the corpus"
	case have < len(run):
		return "put the others back from a copy: some of them stand in " + strings.Join(at, " and in ") + ", from where `penstock audit --repair` takes them"
	case len(run) == 1 && a.elsewhere[run[0]].line > 0:
		return fmt.Sprintf("`penstock audit --repair` puts it back: it stands in %s, line %d", at[0], a.elsewhere[run[0]].line)
	}
	return "`penstock audit --repair` puts them back from " + strings.Join(at, " and ")
}

// evidenceIsWhole reports whether no row of the evidence can be missing. Only then
// is a record without evidence one that the gate did not accept.
func (a *audit) evidenceIsWhole() bool {
	e, name := &a.evidence, a.o.Gate.Corpus.Evidence
	if a.faulty(name) || e.broken || e.gone || e.short {
		return false
	}
	left, ok := a.state.Files[name]
	if !a.haveState || !ok {
		return false
	}
	if _, ok := a.state.Seals[name].sum(); ok {
		return e.sealed
	}
	v, err := a.view(name)
	if err != nil {
		return false
	}
	defer v.close()
	tail, err := tailAt(v, left.Size)
	return err == nil && tail.String() == left.Tail
}

// hintForeign says what to do about lines that the gate did not accept.
func (a *audit) hintForeign() string {
	switch {
	case a.evidence.broken || len(a.evidence.changed) > 0:
		return "mend the evidence first: what is wrong there decides what is wrong here"
	case !a.evidenceIsWhole():
		return "move the line elsewhere by hand: without the last checkpoint it cannot be told whether the evidence is whole, so a repair leaves it"
	}
	return hintForeign
}
