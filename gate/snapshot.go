package gate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/similar"
	"github.com/penstock-run/penstock/internal/text"
)

// The snapshot of the ledger, meta/.index: all that is derived from the logs, as
// far as they had been read, so that a large corpus is not read whole each time.
// It may be deleted at any time, and decides nothing: one that is not whole, or not
// of these files and these checks, is not used.
//
//	magic · version · what it was made of · for each log: offset, rows, digest of the tail
//	sequence and digest of the last row of the evidence
//	for each of three indexes: entries, slots, the slots
//	CRC-32C of all so far
//	for each subject of the checks "novel": its index, with a CRC of its own
//
// Numbers have 64 bits and are little-endian.

const (
	indexPath    = "meta/.index"
	indexMagic   = 0x3158444e49475350 // "PSGINDX1"
	indexVersion = 1
	// indexRows is the number of rows from which a snapshot is worth its bytes.
	indexRows = 100_000
	// A snapshot is made when this part of all rows is not in the last one: more
	// often at the end of a run than in the midst of it, where others wait.
	indexShareAtEnd, indexShareInRun = 16, 2
)

// bind tells the ledger which corpus it is of; without that no snapshot is used.
func (l *ledger) bind(corpus dag.Digest, say func(string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.corpus, l.say = corpus, say
}

// madeOf is what a snapshot must have been made of to be used: this corpus, these
// logs, and these subjects of checks.
func (l *ledger) madeOf() dag.Digest {
	d := newDigester("index")
	d.digest(l.corpus)
	d.number(text.Version)
	for _, log := range l.logs {
		if log == nil {
			d.text("")
			continue
		}
		d.text(log.path)
	}
	for _, s := range l.shelves {
		d.text(s.of)
		d.number(int(s.num))
		d.number(int(s.den))
	}
	return d.sum()
}

// due reports whether so large a part of the rows is not in a snapshot that one is
// worth making.
func (l *ledger) due(share int) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	rows := l.rows()
	return l.loaded && len(l.older) == 0 && !l.corpus.IsZero() && rows >= l.indexRows && rows-l.kept > rows/share
}

func (l *ledger) rows() int {
	rows := 0
	for _, log := range l.logs {
		if log != nil {
			rows += log.rows
		}
	}
	return rows
}

// save writes a snapshot. It is called under the locks of the corpus, after a
// checkpoint: what is in the snapshot is durable in its files. The snapshot itself
// is not synced; what a loss of power leaves of it has a wrong CRC.
func (l *ledger) save(at func(point string)) error {
	l.mu.Lock()
	for _, s := range l.shelves {
		s.index.Merge()
	}
	l.mu.Unlock()
	l.mu.RLock()
	defer l.mu.RUnlock()
	head, err := l.head()
	if err != nil {
		return err
	}
	full := filepath.Join(l.dir, indexPath)
	err = writeNew(full, false, func(w io.Writer) error {
		if _, err := w.Write(head); err != nil {
			return err
		}
		for _, s := range l.shelves {
			if _, err := s.index.WriteTo(w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	at("index written")
	if err := takePlace(full); err != nil {
		return err
	}
	at("index kept")
	return nil
}

// head is the snapshot without the shelves.
func (l *ledger) head() ([]byte, error) {
	size := 4096
	for _, x := range l.indexes() {
		size += 16 * len(x.slots)
	}
	b := make([]byte, 0, size)
	number := func(n uint64) { b = binary.LittleEndian.AppendUint64(b, n) }
	number(indexMagic)
	number(indexVersion)
	made := l.madeOf()
	b = append(b, made[:]...)
	for _, log := range l.logs {
		if log == nil {
			continue
		}
		tail, err := log.tail()
		if err != nil {
			return nil, err
		}
		number(uint64(log.read))
		number(uint64(log.rows))
		b = append(b, tail[:]...)
	}
	number(l.sequence)
	b = append(b, l.last[:]...)
	for _, x := range l.indexes() {
		number(uint64(x.n))
		number(uint64(len(x.slots)))
		for _, s := range x.slots {
			number(s.hash)
			number(uint64(s.place))
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)), nil
}

func (l *ledger) indexes() [3]*index { return [3]*index{&l.accepts, &l.ids, &l.uniques} }

// errOther says that a snapshot is whole and of something else.
var errOther = errors.New("it was made of other files or for other checks")

// restore takes in the snapshot, where there is one. What it refuses leaves the
// ledger empty, to be filled by reading the logs.
func (l *ledger) restore() {
	if l.corpus.IsZero() {
		return
	}
	b, err := os.ReadFile(filepath.Join(l.dir, indexPath))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = l.take(b)
	}
	if err == nil {
		return
	}
	l.empty()
	l.say(fmt.Sprintf("%s is not used, and all is read anew: %v", indexPath, err))
}

// empty forgets all that was read.
func (l *ledger) empty() {
	for _, log := range l.logs {
		if log != nil {
			log.read, log.rows = 0, 0
		}
	}
	for _, x := range l.indexes() {
		*x = index{}
	}
	for _, s := range l.shelves {
		s.clear()
	}
	l.sequence, l.last, l.kept, l.older = 0, dag.Digest{}, 0, nil
}

// take fills the ledger from a snapshot.
func (l *ledger) take(b []byte) error {
	r := &snapshotReader{b: b}
	if r.number() != indexMagic || r.number() != indexVersion {
		return errors.New("it is no snapshot that this version understands")
	}
	if r.digest() != l.madeOf() {
		return errOther
	}
	for _, log := range l.logs {
		if log == nil {
			continue
		}
		log.read, log.rows = int64(r.number()), int(r.number())
		if err := log.fits(l.dir, r.digest()); err != nil {
			return err
		}
	}
	l.sequence, l.last = r.number(), r.digest()
	for _, x := range l.indexes() {
		x.n, x.slots = int(r.number()), r.slots()
	}
	sum := crc32.Checksum(b[:len(b)-len(r.b)], castagnoli)
	if rest := r.take(4); r.short || binary.LittleEndian.Uint32(rest) != sum {
		return errors.New("it is not whole: its CRC is wrong")
	}
	for _, x := range l.indexes() {
		if !l.sound(x) {
			return errors.New("its parts do not fit together")
		}
	}
	for _, s := range l.shelves {
		x, rest, err := similar.Read(r.b)
		if err != nil {
			return err
		}
		if num, den := x.Threshold(); num != s.num || den != s.den {
			return errOther
		}
		s.index, r.b = x, rest
	}
	if len(r.b) > 0 {
		return errors.New("there is more in it than belongs there")
	}
	l.kept = l.rows()
	return nil
}

// fits opens a log and compares it with what the snapshot says of it.
func (log *rowLog) fits(dir string, tail dag.Digest) error {
	left := log.read
	log.read = 0 // that the file is shorter, or gone, is for others to say
	if left < 0 || left >= 1<<placeBits || log.rows < 0 {
		return errors.New("its parts do not fit together")
	}
	if err := log.open(dir); err != nil {
		return err
	}
	if left == 0 {
		return nil
	}
	other := fmt.Errorf("%s is not the file that it was made of", log.path)
	if log.f == nil {
		return other
	}
	log.read = left
	if have, err := log.tail(); errors.Is(err, io.EOF) || err == nil && have != tail {
		return other
	} else if err != nil {
		return err
	}
	return nil
}

// sound reports whether an index of a snapshot can be searched, and proposes only
// rows that were read.
func (l *ledger) sound(x *index) bool {
	n := 0
	for _, s := range x.slots {
		if s.place == 0 {
			continue
		}
		n++
		number := s.place.log()
		if number == 0 || number >= logs || l.logs[number] == nil || s.place.offset() >= l.logs[number].read {
			return false
		}
	}
	return n == x.n && (n < len(x.slots) || n == 0)
}

// snapshotReader takes parts off the front; what is not there is zero, and noted.
type snapshotReader struct {
	b     []byte
	short bool
}

func (r *snapshotReader) take(n int) []byte {
	if n > len(r.b) {
		r.b, r.short = nil, true
		return make([]byte, n)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *snapshotReader) number() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

func (r *snapshotReader) digest() (d dag.Digest) {
	copy(d[:], r.take(len(d)))
	return d
}

func (r *snapshotReader) slots() []slot {
	n := r.number()
	if n > uint64(len(r.b)/16) {
		r.b, r.short = nil, true
		return nil
	}
	out := make([]slot, n)
	b := r.take(16 * int(n))
	for i := range out {
		out[i] = slot{binary.LittleEndian.Uint64(b[16*i:]), place(binary.LittleEndian.Uint64(b[16*i+8:]))}
	}
	return out
}

// keepIndex makes a snapshot where one is due. It is derived, so that whatever goes
// wrong with it is said and no more.
func (g *Gate) keepIndex(share int) {
	if !g.ledger.due(share) {
		return
	}
	if err := g.ledger.save(g.store.at); err != nil {
		g.o.Log(indexPath + " could not be written: " + err.Error())
		return
	}
	g.ledger.mu.Lock()
	g.ledger.kept = g.ledger.rows()
	g.ledger.mu.Unlock()
}
