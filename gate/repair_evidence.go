package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/penstock-run/penstock/dag"
)

// evidenceRows are the rows of the evidence wherever they stand: each is found by
// its digest, and follows the one whose digest it names, so that there is one way
// to put them together, and it proves itself.
type evidenceRows struct {
	texts map[dag.Digest][]byte
	next  map[dag.Digest][]dag.Digest // rows that follow a row
	own   map[dag.Digest]bool         // rows that stand in the file itself
}

// evidence puts the chain of the evidence together.
func (r *repair) evidence() (changed bool, err error) {
	e, name := &r.a.evidence, r.o.Gate.Corpus.Evidence
	if !r.a.faulty(name) || e.gone && len(r.a.besides(name)) == 0 {
		return false, nil
	}
	rows := &evidenceRows{map[dag.Digest][]byte{}, map[dag.Digest][]dag.Digest{}, map[dag.Digest]bool{}}
	if err := r.gather(rows); err != nil {
		return false, err
	}
	chain, proven := r.proven(rows)
	if !proven && !rows.allOwn(chain) {
		return false, nil
	}
	content := func(w io.Writer) error {
		for _, sum := range chain {
			if _, err := w.Write(append(rows.texts[sum], '\n')); err != nil {
				return err
			}
		}
		return nil
	}
	m := &moving{r: r, name: name}
	if same, err := r.leaving(m, chain, rows); err != nil || same {
		return false, err
	}
	return true, m.finish(content)
}

// gather reads the rows of the evidence, of what was set aside, and of the journal.
func (r *repair) gather(rows *evidenceRows) error {
	name := r.o.Gate.Corpus.Evidence
	var row auditRow
	add := func(text []byte) (dag.Digest, bool) {
		if !row.read(text) {
			return dag.Digest{}, false
		}
		var previous dag.Digest
		if _, err := hex.Decode(previous[:], []byte(row.Previous)); err != nil {
			return dag.Digest{}, false
		}
		sum := dag.Sum(text)
		if _, again := rows.texts[sum]; !again {
			rows.texts[sum] = bytes.Clone(text)
			rows.next[previous] = append(rows.next[previous], sum)
		}
		return sum, true
	}
	for _, file := range append([]string{name}, r.a.besides(name)...) {
		err := r.a.eachDocument(file, func(_ string, _ int, text []byte) {
			if sum, ok := add(text); ok && file == name {
				rows.own[sum] = true
			}
		})
		if err != nil {
			return err
		}
	}
	for _, w := range r.a.pending[name] {
		for text := range bytes.Lines(w.data) {
			add(bytes.TrimSuffix(text, []byte{'\n'}))
		}
	}
	return nil
}

// most bounds the ways that are tried where rows follow the same row.
const most = 64

// proven finds the chain whose first bytes are those of the last checkpoint; else,
// where there is but one, that one.
func (r *repair) proven(rows *evidenceRows) (chain []dag.Digest, proven bool) {
	var chains [][]dag.Digest
	var walk func(from dag.Digest, so []dag.Digest)
	walk = func(from dag.Digest, so []dag.Digest) {
		for len(rows.next[from]) == 1 {
			from = rows.next[from][0]
			so = append(so, from)
		}
		if len(rows.next[from]) == 0 {
			chains = append(chains, so)
			return
		}
		for _, sum := range rows.next[from] {
			if len(chains) < most {
				walk(sum, append(so[:len(so):len(so)], sum))
			}
		}
	}
	walk(dag.Digest{}, nil)
	for _, chain := range chains {
		if r.fitsState(chain, rows) {
			return chain, true
		}
	}
	if len(chains) == 1 {
		return chains[0], false
	}
	return nil, false
}

// fitsState reports whether a chain begins with the bytes of the last checkpoint.
func (r *repair) fitsState(chain []dag.Digest, rows *evidenceRows) bool {
	name := r.o.Gate.Corpus.Evidence
	sealed := r.a.state.Seals[name]
	want, ok := sealed.sum()
	if !ok || sealed.Size < r.a.state.Files[name].Size {
		return false
	}
	h, size := sha256.New(), int64(0)
	for _, sum := range chain {
		if size >= sealed.Size {
			break
		}
		h.Write(append(rows.texts[sum], '\n'))
		size += int64(len(rows.texts[sum])) + 1
	}
	return size == sealed.Size && bytes.Equal(h.Sum(nil), want[:])
}

// allOwn reports whether every row that stands in the file is in the chain.
func (rows *evidenceRows) allOwn(chain []dag.Digest) bool {
	if len(chain) == 0 {
		return false
	}
	left := len(rows.own)
	for _, sum := range chain {
		if rows.own[sum] {
			left--
		}
	}
	return left == 0
}

// leaving finds the lines of the file that will not be in it as they are; same: the
// file is the chain already.
func (r *repair) leaving(m *moving, chain []dag.Digest, rows *evidenceRows) (same bool, err error) {
	place := make(map[dag.Digest]int, len(chain))
	for i, sum := range chain {
		place[sum] = i
	}
	v, err := r.a.view(m.name)
	if errors.Is(err, fs.ErrNotExist) {
		r.did("restored", m.name, 0, "%d rows were put back from where they stood", len(chain))
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer v.close()
	held, order := map[dag.Digest]bool{}, -1
	same = true
	err = v.eachUnit(r.ctx, func(u *unit) error {
		sum := dag.Sum(u.text)
		i, in := place[sum]
		switch in = in && u.text != nil; {
		case !in && u.torn && u.text == nil:
			m.moveTorn(u.n, u.raw)
		case !in && u.text != nil && rows.own[sum]:
			m.move("changed", u.n, u.raw, "a row that is none of this chain was taken out")
		case !in:
			m.move("stranger", u.n, u.raw, "what is no row was taken out")
		case held[sum]:
			m.move("repeated", u.n, u.raw, "a row that stands here twice was taken out once")
		case u.form != asWritten && u.form != theirs:
			m.move("form", u.n, u.raw, "the row was written as it was")
		case u.torn:
			r.did("torn", m.name, u.n, "the last line was ended")
		default:
			if i == order+1 {
				order, held[sum] = i, true
				return nil
			}
			if i < order {
				r.did("order", m.name, u.n, "the row was put in its place")
			}
		}
		held[sum], order, same = held[sum] || in, max(order, i), false
		return nil
	})
	if restored := len(chain) - len(held); err == nil && restored > 0 {
		same = false
		r.did("restored", m.name, 0, "%s put back from where they stood", rowsWere(restored))
	}
	return same, err
}

func rowsWere(n int) string {
	if n == 1 {
		return "one row was"
	}
	return fmt.Sprintf("%d rows were", n)
}
