package staging

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/penstock-run/penstock/dag"
)

// Records are fixed fields first (so that a scan needs no decoding), then
// varints and texts with their length before them.

func putUint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }
func putText(dst []byte, s string) []byte { return append(putUint(dst, uint64(len(s))), s...) }
func putRef(dst []byte, r Ref) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, r.Segment)
	dst = binary.LittleEndian.AppendUint32(dst, r.Offset)
	return binary.LittleEndian.AppendUint32(dst, r.Length)
}

// putTime writes nanoseconds since 1970; 0 is the zero time.
func putTime(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.AppendVarint(dst, 0)
	}
	return binary.AppendVarint(dst, t.UnixNano())
}

// reader takes a record apart. A record that ends too early sets short, and
// whatever is read then is zero.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.b, r.short = nil, true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) digest() (d dag.Digest) {
	copy(d[:], r.take(len(d)))
	return d
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.short = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads the number of things that follow, each of at least one byte.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.b, r.short = nil, true
		return 0
	}
	return int(n)
}

func (r *reader) text() string { return string(r.take(r.count())) }

func (r *reader) ref() Ref {
	b := r.take(12)
	if b == nil {
		return Ref{}
	}
	return Ref{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])}
}

func (r *reader) time() time.Time {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.b, r.short = nil, true
		return time.Time{}
	}
	r.b = r.b[n:]
	if v == 0 {
		return time.Time{}
	}
	return time.Unix(0, v).UTC()
}

func putFigure(dst []byte, f *float64) []byte {
	if f == nil {
		return append(dst, 0)
	}
	return binary.LittleEndian.AppendUint64(append(dst, 1), math.Float64bits(*f))
}

func (r *reader) figure() *float64 {
	if r.byte() == 0 {
		return nil
	}
	b := r.take(8)
	if b == nil {
		return nil
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(b))
	return &f
}
