package staging

import (
	"encoding/binary"

	"github.com/penstock-run/penstock/dag"
)

// recent remembers where this process has put documents lately. What one visit
// gives is the next one's input and is put again as such: to look it up in the
// segment, read it back and compare it costs as much as to hash it.
//
// It has one place for each 13 bits of a digest, and the latest wins: what was
// forgotten is looked up the long way.
type recent [recentSize]recentPut

type recentPut struct {
	digest dag.Digest
	ref    Ref
}

const recentSize = 1 << 13

func (r *recent) place(digest dag.Digest) *recentPut {
	return &r[binary.LittleEndian.Uint16(digest[4:])%recentSize]
}

func (r *recent) find(digest dag.Digest) (Ref, bool) {
	p := r.place(digest)
	return p.ref, p.digest == digest && !p.ref.IsZero()
}

func (r *recent) put(digest dag.Digest, ref Ref) { *r.place(digest) = recentPut{digest, ref} }

// forget is for what was found damaged: the next Put looks again.
func (r *recent) forget(digest dag.Digest) {
	if p := r.place(digest); p.digest == digest {
		*p = recentPut{}
	}
}
