package engine

import (
	"encoding/binary"
	"errors"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/staging"
)

// Member is one item of a family as the store keeps it.
type Member struct {
	Key    string     `json:"key"`
	End    dag.End    `json:"end"`
	Codes  []dag.Code `json:"codes,omitempty"`
	Status string     `json:"status,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Record string     `json:"record,omitempty"`
	Dry    bool       `json:"dry,omitzero"`  // a dry run judged it: the end is what would be, and nothing was committed
	Kept   bool       `json:"kept,omitzero"` // its record is in the corpus: an earlier run accepted it
	Trail  *dag.Trail `json:"trail,omitempty"`
	// Checks are what the gate's checks came to, in the order in which they ran;
	// none where the item met none, or where the verdict was on record before.
	Checks []gate.CheckResult `json:"checks,omitempty"`
}

// familyVersion 3 has a byte of bits for each member, 2 its checks; 1 and 2 stay
// readable.
const familyVersion = 3

// Bits of a member.
const (
	memberDry = 1 << iota
	memberKept
)

// pack puts the family's trails into a record of the store.
func (e *engine) pack(f *family, record *staging.Trail) {
	b := append([]byte(nil), familyVersion)
	b = binary.AppendUvarint(b, uint64(len(f.members)))
	for _, m := range f.members {
		p := problemOf(m)
		b = appendText(b, m.key)
		b = appendText(b, string(m.end))
		b = binary.AppendUvarint(b, uint64(len(p.Codes)))
		for _, c := range p.Codes {
			b = appendText(b, string(c))
		}
		b = appendText(b, p.Status)
		b = appendText(b, p.Reason)
		b = appendText(b, m.verdict.Record)
		var trail []byte
		if m.t != nil {
			trail = dag.AppendTrail(nil, m.t.Trail())
		}
		b = binary.AppendUvarint(b, uint64(len(trail)))
		b = append(b, trail...)
		b = appendChecks(b, m.verdict.Checks)
		var bits byte
		if m.verdict.Dry && !m.verdict.Known { // one that is on record was meant when it was made
			bits |= memberDry
		}
		if p.Kept {
			bits |= memberKept
		}
		b = append(b, bits)
	}
	record.Body = b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// DecodeFamily reads what a run packed into a staging.Trail's body.
func DecodeFamily(b []byte) ([]Member, error) {
	r := unpacker{b: b}
	version := r.byte()
	if version == 0 || version > familyVersion {
		return nil, errors.New("this record was written by another version of Penstock")
	}
	n := r.uint()
	var members []Member
	for range n {
		m := Member{Key: r.text(), End: dag.End(r.text())}
		for range r.uint() {
			m.Codes = append(m.Codes, dag.Code(r.text()))
		}
		m.Status, m.Reason, m.Record = r.text(), r.text(), r.text()
		if packed := r.text(); packed != "" && !r.bad {
			trail, err := dag.DecodeTrail([]byte(packed))
			if err != nil {
				return nil, err
			}
			m.Trail = trail
		}
		if version > 1 {
			m.Checks = r.checks()
		}
		if version > 2 {
			bits := r.byte()
			m.Dry, m.Kept = bits&memberDry != 0, bits&memberKept != 0
		}
		if r.bad {
			return nil, errors.New("the record is cut off")
		}
		members = append(members, m)
	}
	return members, nil
}

// familyKeys reads no more of a body than the keys of its members.
func familyKeys(b []byte) []string {
	r := unpacker{b: b}
	version := r.byte()
	var keys []string
	for range r.uint() {
		keys = append(keys, r.text())
		r.text()
		for range r.uint() {
			r.text()
		}
		for range 4 { // status, reason, record, trail
			r.text()
		}
		if version > 1 {
			r.checks()
		}
		if version > 2 {
			r.byte()
		}
		if version > familyVersion || r.bad {
			return nil
		}
	}
	return keys
}

// unpacker reads a packed record; bad stays set after the first misfit.
type unpacker struct {
	b   []byte
	bad bool
}

func (r *unpacker) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// uint reads a count: never more than bytes are left, so that a damaged record
// cannot ask for the machine's memory.
func (r *unpacker) uint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 || n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *unpacker) text() string {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
