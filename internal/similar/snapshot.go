package similar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"
	"slices"
)

// A snapshot is a head of 64-bit numbers, flat arrays of little-endian numbers, and
// a CRC-32C of all of it. The postings of recent sets are not in it.
//
//	magic · version · num · den · frozen · words · bytes of text · scopes · bytes of their names · sets · codes
//	sets, low, starts and postings of the base, the latter two counted
//	text, ends and codes of the words; names, ends of the scopes; codes, starts, scope, refs, signatures of the sets;
//	starts, postings of the base

const (
	magic   = 0x52414c494d495350 // "PSIMILAR"
	version = 1
	numbers = 15 // of the head
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errSnapshot = errors.New("it is no snapshot of an index that this version understands, or it is not whole")

// WriteTo writes a snapshot.
func (x *Index) WriteTo(w io.Writer) (int64, error) {
	var names []byte
	ends := make([]uint32, len(x.names))
	for i, name := range x.names {
		names = append(names, name...)
		ends[i] = uint32(len(names))
	}
	if len(names) > math.MaxUint32 {
		return 0, errFull
	}
	out := &writer{w: w}
	for _, n := range [numbers]uint64{
		magic, version, x.num, x.den, uint64(x.frozen), uint64(x.words.len()), uint64(len(x.words.text)),
		uint64(len(x.names)), uint64(len(names)), uint64(x.Len()), uint64(len(x.codes)),
		uint64(x.base.sets), uint64(x.base.low), uint64(len(x.base.starts)), uint64(len(x.base.posts)),
	} {
		out.buf = binary.LittleEndian.AppendUint64(out.buf, n)
	}
	out.bytes(x.words.text)
	for _, w := range x.words.words {
		out.buf = binary.LittleEndian.AppendUint32(out.buf, w.end)
		out.buf = binary.LittleEndian.AppendUint32(out.buf, w.code)
		out.flush(writeRoom)
	}
	out.bytes(names)
	out.words(ends)
	out.words(x.codes)
	out.words(x.starts[1:])
	out.words(x.scope)
	for _, ref := range x.refs {
		out.buf = binary.LittleEndian.AppendUint64(out.buf, ref)
		out.flush(writeRoom)
	}
	for _, sign := range x.signs {
		out.buf = binary.LittleEndian.AppendUint64(out.buf, uint64(sign))
		out.flush(writeRoom)
	}
	out.words(x.base.starts)
	for i := range x.base.posts {
		p := &x.base.posts[i]
		out.buf = binary.LittleEndian.AppendUint32(out.buf, p.scope)
		out.buf = binary.LittleEndian.AppendUint32(out.buf, p.set)
		out.buf = binary.LittleEndian.AppendUint16(out.buf, p.size)
		out.buf = binary.LittleEndian.AppendUint16(out.buf, p.pos)
		out.buf = binary.LittleEndian.AppendUint32(out.buf, p.sign)
		out.flush(writeRoom)
	}
	out.flush(0)
	out.buf = binary.LittleEndian.AppendUint32(out.buf, out.crc)
	out.flush(0)
	return out.n, out.err
}

// writer gathers what is written, and keeps the first error.
type writer struct {
	w   io.Writer
	buf []byte
	crc uint32
	n   int64
	err error
}

const writeRoom = 64 << 10

// flush writes what is gathered, if it is more than room.
func (o *writer) flush(room int) {
	if len(o.buf) <= room {
		return
	}
	o.crc = crc32.Update(o.crc, castagnoli, o.buf)
	if o.err == nil {
		n, err := o.w.Write(o.buf)
		o.n, o.err = o.n+int64(n), err
	}
	o.buf = o.buf[:0]
}

func (o *writer) bytes(b []byte) {
	o.flush(0)
	for part := range slices.Chunk(b, writeRoom) {
		o.buf = append(o.buf, part...)
		o.flush(0)
	}
}

func (o *writer) words(list []uint32) {
	for _, n := range list {
		o.buf = binary.LittleEndian.AppendUint32(o.buf, n)
		o.flush(writeRoom)
	}
}

// Read makes an index of the snapshot that b begins with, and gives what stands
// behind it. It keeps nothing of b.
func Read(b []byte) (x *Index, rest []byte, err error) {
	if len(b) < numbers*8+4 {
		return nil, nil, errSnapshot
	}
	var head [numbers]uint64
	for i := range head {
		head[i] = binary.LittleEndian.Uint64(b[i*8:])
	}
	if head[0] != magic || head[1] != version {
		return nil, nil, errSnapshot
	}
	for _, n := range head[4:] {
		if n > math.MaxUint32 {
			return nil, nil, errSnapshot
		}
	}
	words, text, scopes, names, sets, codes := head[5], head[6], head[7], head[8], head[9], head[10]
	starts, posts := head[13], head[14]
	size := numbers*8 + text + 8*words + names + 4*scopes + 4*codes + 24*sets + 4*starts + postSize*posts
	if uint64(len(b)) < size+4 || words > maxWords {
		return nil, nil, errSnapshot
	}
	if crc32.Checksum(b[:size], castagnoli) != binary.LittleEndian.Uint32(b[size:]) {
		return nil, nil, fmt.Errorf("%w: its CRC is wrong", errSnapshot)
	}
	if x, err = New(head[2], head[3]); err != nil {
		return nil, nil, err
	}
	x.frozen = int(head[4])
	in := reader{b[numbers*8 : size]}
	x.words.text = slices.Clone(in.bytes(text))
	x.words.words = make([]word, words)
	for i, b := 0, in.bytes(8*words); i < len(x.words.words); i++ {
		x.words.words[i] = word{binary.LittleEndian.Uint32(b[8*i:]), binary.LittleEndian.Uint32(b[8*i+4:])}
	}
	named, ends := in.bytes(names), in.words(scopes)
	x.codes = in.words(codes)
	x.starts = append(make([]uint32, 0, sets+1), 0)
	x.starts = append(x.starts, in.words(sets)...)
	x.scope = in.words(sets)
	x.refs, x.signs = longs[uint64](&in, sets), longs[signature](&in, sets)
	x.base = base{sets: int(head[11]), low: uint32(head[12]), starts: in.words(starts), posts: in.posts(posts)}
	if !x.restore(named, ends) {
		return nil, nil, fmt.Errorf("%w: its parts do not fit together", errSnapshot)
	}
	return x, b[size+4:], nil
}

type reader struct{ b []byte }

func (r *reader) bytes(n uint64) []byte {
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) words(n uint64) []uint32 {
	out := make([]uint32, n)
	b := r.bytes(4 * n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[i*4:])
	}
	return out
}

// postSize is the size of a posting.
const postSize = 16

func (r *reader) posts(n uint64) []post {
	out := make([]post, n)
	b := r.bytes(postSize * n)
	for i := range out {
		p := b[i*postSize : (i+1)*postSize]
		out[i] = post{binary.LittleEndian.Uint32(p), entry{
			binary.LittleEndian.Uint32(p[4:]), binary.LittleEndian.Uint16(p[8:]), binary.LittleEndian.Uint16(p[10:]), binary.LittleEndian.Uint32(p[12:]),
		}}
	}
	return out
}

func longs[T ~uint64](r *reader, n uint64) []T {
	out := make([]T, n)
	b := r.bytes(8 * n)
	for i := range out {
		out[i] = T(binary.LittleEndian.Uint64(b[i*8:]))
	}
	return out
}

// restore makes all that is not in a snapshot, and reports whether what is in it
// fits together: nothing may make a search go astray.
func (x *Index) restore(names []byte, ends []uint32) bool {
	d := &x.words
	if !d.rises() || !ascending(ends, len(names), 0) || !ascending(x.starts[1:], len(x.codes), 1) {
		return false
	}
	for _, w := range d.words {
		d.low = min(d.low, w.code)
	}
	// Words are without a gap from low, and those that came late are below middle.
	if d.byCode() == nil || x.frozen > x.Len() || !d.spread(1<<bits.Len(uint(max(47, d.len()*4/3)))) {
		return false
	}
	start := uint32(0)
	for i, end := range ends {
		name := string(names[start:end])
		if _, twice := x.scopes[name]; twice {
			return false
		}
		x.scopes[name] = uint32(i)
		x.names = append(x.names, name)
		start = end
	}
	if !x.fits() {
		return false
	}
	for n := x.base.sets; n < x.Len(); n++ {
		x.index(uint32(n))
	}
	return true
}

// fits looks at the sets and the postings.
func (x *Index) fits() bool {
	d, b := &x.words, &x.base
	for n := range uint32(x.Len()) {
		if int64(x.scope[n]) >= int64(len(x.names)) {
			return false
		}
		last := uint32(0)
		set := x.set(n)
		for _, code := range set {
			if code <= last {
				return false
			}
			last = code
		}
		// Ascending, so that the first and the last tell of all.
		if set[0] < d.low || int64(last-d.low) >= int64(d.len()) {
			return false
		}
	}
	if len(b.starts) == 0 {
		return b.sets == 0 && len(b.posts) == 0
	}
	if b.sets > x.Len() || b.low < d.low || uint64(b.low-d.low)+uint64(len(b.starts)-1) != uint64(d.len()) ||
		b.starts[0] != 0 || !ascending(b.starts[1:], len(b.posts), 0) {
		return false
	}
	for i := range b.posts {
		if int64(b.posts[i].set) >= int64(b.sets) {
			return false
		}
	}
	return true
}

// rises reports whether the words divide their text.
func (d *dictionary) rises() bool {
	last := uint32(0)
	for _, w := range d.words {
		if w.end < last {
			return false
		}
		last = w.end
	}
	return int(last) == len(d.text)
}

// ascending reports whether ends rise by at least step each to the length of what
// they divide.
func ascending(ends []uint32, length, step int) bool {
	last := 0
	for _, end := range ends {
		if int(end) < last+step {
			return false
		}
		last = int(end)
	}
	return last == length
}
