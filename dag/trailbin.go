package dag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// trailVersion is the first byte of a packed trail. Old versions stay readable: 1
// does not tell what visits cost.
const trailVersion = 2

// AppendTrail packs a trail behind dst, for a store that keeps one for each
// item. A text or a digest that occurs again is a back reference, numbers are
// varints. It is about a third of the JSON form.
func AppendTrail(dst []byte, t *Trail) []byte {
	p := &packer{b: append(dst, trailVersion)}
	p.text(t.Item)
	p.text(t.Parent)
	p.digest(t.Origin)
	p.digest(t.First)
	p.count(len(t.Visits))
	for i := range t.Visits {
		p.visit(&t.Visits[i])
	}
	p.count(len(t.Decisions))
	for i := range t.Decisions {
		p.decision(&t.Decisions[i])
	}
	p.text(string(t.End))
	p.text(string(t.As))
	p.text(string(t.Code))
	p.text(t.Status)
	p.failure(t.Failed)
	p.count(len(t.Codes))
	for _, c := range t.Codes {
		p.text(string(c))
	}
	p.findings(t.Findings)
	p.text(t.Record)
	p.text(t.Message)
	p.count(len(t.Children))
	for _, c := range t.Children {
		p.text(c.Key)
		p.digest(c.Item)
	}
	return p.b
}

// DecodeTrail unpacks what AppendTrail packed. What is damaged is an error,
// never a panic and never more memory than its size warrants.
func DecodeTrail(b []byte) (*Trail, error) {
	u := &unpacker{b: b}
	if u.version = u.byte(); u.err == nil && (u.version < 1 || u.version > trailVersion) {
		return nil, fmt.Errorf("a packed trail has version %d, this program reads versions up to %d", u.version, trailVersion)
	}
	t := &Trail{Item: u.text(), Parent: u.text(), Origin: u.digest(), First: u.digest()}
	t.Visits = make([]Visit, u.count(minVisit))
	for i := range t.Visits {
		u.visit(&t.Visits[i])
	}
	t.Decisions = make([]Decision, u.count(minDecision))
	for i := range t.Decisions {
		u.decision(&t.Decisions[i])
	}
	t.End, t.As, t.Code, t.Status = End(u.text()), Triage(u.text()), Code(u.text()), u.text()
	t.Failed = u.failure()
	t.Codes = make([]Code, u.count(1))
	for i := range t.Codes {
		t.Codes[i] = Code(u.text())
	}
	t.Findings = u.findings()
	t.Record, t.Message = u.text(), u.text()
	t.Children = make([]ChildRef, u.count(2))
	for i := range t.Children {
		t.Children[i] = ChildRef{Key: u.text(), Item: u.digest()}
	}
	if len(t.Codes) == 0 {
		t.Codes = nil
	}
	if len(t.Children) == 0 {
		t.Children = nil
	}
	if u.err == nil && len(u.b) > 0 {
		u.err = fmt.Errorf("%d bytes follow it", len(u.b))
	}
	if u.err != nil {
		return nil, fmt.Errorf("a packed trail is damaged: %w", u.err)
	}
	return t, nil
}

// The least bytes that one of a list takes: a count that claims more than the
// rest can hold is refused before memory is taken for it.
const (
	minVisit    = 9
	minDecision = 7
	minSeen     = 2
	minFinding  = 6
)

// What a visit has, as bits of one byte: most have none of these.
const (
	hasFailure = 1 << iota
	hasFindings
	hasRule
	hasSeen
	hasFacts
	hasReused
	hasRecorded
	hasUnpaid
)

// packer writes a trail. texts and digests are those that it wrote so far; a
// trail has few, so they are looked through and not hashed.
type packer struct {
	b       []byte
	texts   [mostRefs]string
	digests [mostRefs]Digest
	nt, nd  int
}

// mostRefs is how many texts, and how many digests, can be referred back to.
const mostRefs = 24

func (p *packer) count(n int) { p.b = binary.AppendUvarint(p.b, uint64(n)) }

func (p *packer) signed(n int64) { p.b = binary.AppendVarint(p.b, n) }

// text is 0 for the empty text, 1 and the text for a new one, else 2 + the
// number of the one that it repeats.
func (p *packer) text(s string) {
	if s == "" {
		p.b = append(p.b, 0)
		return
	}
	for i := range p.nt {
		if p.texts[i] == s {
			p.b = append(p.b, byte(2+i))
			return
		}
	}
	if p.nt < mostRefs {
		p.texts[p.nt] = s
		p.nt++
	}
	p.b = append(p.b, 1)
	p.count(len(s))
	p.b = append(p.b, s...)
}

// digest is as text, with 32 bytes for a new one.
func (p *packer) digest(d Digest) {
	if d.IsZero() {
		p.b = append(p.b, 0)
		return
	}
	for i := p.nd - 1; i >= 0; i-- { // most repeat the one before
		if p.digests[i] == d {
			p.b = append(p.b, byte(2+i))
			return
		}
	}
	if p.nd < mostRefs {
		p.digests[p.nd] = d
		p.nd++
	}
	p.b = append(append(p.b, 1), d[:]...)
}

func (p *packer) visit(v *Visit) {
	var has byte
	set := func(bit byte, ok bool) {
		if ok {
			has |= bit
		}
	}
	facts := v.Facts
	facts.Reused, facts.Recorded, facts.Unpaid = false, false, false
	set(hasFailure, v.Failure != nil)
	set(hasFindings, len(v.Findings) > 0)
	set(hasRule, v.Rule != "")
	set(hasSeen, len(v.Seen) > 0)
	set(hasFacts, facts != Facts{})
	set(hasReused, v.Facts.Reused)
	set(hasRecorded, v.Facts.Recorded)
	set(hasUnpaid, v.Facts.Unpaid)
	p.b = append(p.b, has)
	p.text(v.Stage)
	p.count(v.Pass)
	p.digest(v.Input)
	p.digest(v.Output)
	p.digest(v.Item)
	p.digest(v.Action)
	p.text(v.Outcome)
	if has&hasFailure != 0 {
		p.failure(v.Failure)
	}
	if has&hasFindings != 0 {
		p.findings(v.Findings)
	}
	if has&hasRule != 0 {
		p.text(v.Rule)
	}
	if has&hasSeen != 0 {
		p.seen(v.Seen)
	}
	if has&hasFacts != 0 {
		p.text(facts.Model)
		p.time(facts.StartedAt)
		p.time(facts.EndedAt)
		for _, n := range [...]int{facts.Calls, facts.Input, facts.Cached, facts.OutTokens} {
			p.count(n)
		}
		p.bill(&facts.Paid)
	}
}

// bill is one byte for a visit that nobody was paid for.
func (p *packer) bill(b *Bill) {
	p.count(b.Attempts)
	if b.Attempts == 0 {
		return
	}
	for _, n := range [...]int{b.Input, b.Cached, b.Written, b.Output, b.Estimated, b.Unpriced} {
		p.count(n)
	}
	p.b = binary.LittleEndian.AppendUint64(p.b, math.Float64bits(b.USD))
	p.text(b.Price)
}

func (p *packer) decision(d *Decision) {
	p.signed(int64(d.After))
	p.text(d.Route)
	p.text(d.Stage)
	p.signed(int64(d.Arm))
	p.text(d.Pos.File)
	p.count(d.Pos.Line)
	p.count(d.Pos.Column)
	p.seen(d.Seen)
	p.text(d.To)
	p.findings(d.Findings)
}

func (p *packer) seen(list []Seen) {
	p.count(len(list))
	for _, s := range list {
		p.text(s.Path)
		p.count(len(s.JSON))
		p.b = append(p.b, s.JSON...)
	}
}

// failure is 0 for none; its message is never repeated, so it stands as it is.
func (p *packer) failure(f *Failure) {
	if f == nil {
		p.b = append(p.b, 0)
		return
	}
	p.b = append(p.b, 1)
	p.text(string(f.Code))
	p.text(string(f.Cause))
	p.count(len(f.Message))
	p.b = append(p.b, f.Message...)
}

func (p *packer) findings(list []Finding) {
	p.count(len(list))
	for _, f := range list {
		p.text(string(f.Code))
		p.text(string(f.Triage))
		p.text(f.Stage)
		p.text(string(f.Noted))
		var bits byte
		if f.Shadow {
			bits |= 1
		}
		if f.Figure != nil {
			bits |= 2
		}
		p.b = append(p.b, bits)
		if f.Figure != nil {
			p.b = binary.LittleEndian.AppendUint64(p.b, math.Float64bits(*f.Figure))
		}
		p.text(f.Evidence)
	}
}

// time is nanoseconds, since the zero time for a first one and since the time
// before for the next: visits of one item lie close together.
func (p *packer) time(t time.Time) {
	if t.IsZero() {
		p.signed(0)
		p.count(0)
		return
	}
	p.signed(t.Unix())
	p.count(t.Nanosecond() + 1)
}

// unpacker reads a trail. After the first error it gives zero values.
type unpacker struct {
	b       []byte
	version byte
	texts   []string
	digests []Digest
	err     error
}

var errShort = errors.New("it ends too early")

func (u *unpacker) fail(err error) {
	if u.err == nil {
		u.err = err
	}
	u.b = nil
}

func (u *unpacker) take(n int) []byte {
	if n < 0 || n > len(u.b) {
		u.fail(errShort)
		return nil
	}
	taken := u.b[:n:n]
	u.b = u.b[n:]
	return taken
}

func (u *unpacker) byte() byte {
	if b := u.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (u *unpacker) number() int {
	n, size := binary.Uvarint(u.b)
	if size <= 0 || n > math.MaxInt {
		u.fail(errors.New("a number is none"))
		return 0
	}
	u.b = u.b[size:]
	return int(n)
}

func (u *unpacker) signed() int64 {
	n, size := binary.Varint(u.b)
	if size <= 0 {
		u.fail(errors.New("a number is none"))
		return 0
	}
	u.b = u.b[size:]
	return n
}

// count is the length of a list whose elements take at least so many bytes.
func (u *unpacker) count(least int) int {
	n := u.number()
	if n > len(u.b)/least {
		u.fail(errors.New("a list is longer than what there is"))
		return 0
	}
	return n
}

func (u *unpacker) text() string {
	switch ref := int(u.byte()); {
	case ref == 0:
		return ""
	case ref == 1:
		s := string(u.take(u.number()))
		if len(u.texts) < mostRefs {
			u.texts = append(u.texts, s)
		}
		return s
	case ref-2 < len(u.texts):
		return u.texts[ref-2]
	}
	u.fail(errors.New("a text repeats one that is not there"))
	return ""
}

func (u *unpacker) digest() Digest {
	var d Digest
	switch ref := int(u.byte()); {
	case ref == 0:
	case ref == 1:
		copy(d[:], u.take(len(d)))
		if len(u.digests) < mostRefs {
			u.digests = append(u.digests, d)
		}
	case ref-2 < len(u.digests):
		d = u.digests[ref-2]
	default:
		u.fail(errors.New("a digest repeats one that is not there"))
	}
	return d
}

func (u *unpacker) visit(v *Visit) {
	has := u.byte()
	v.Stage, v.Pass = u.text(), u.number()
	v.Input, v.Output, v.Item, v.Action = u.digest(), u.digest(), u.digest(), u.digest()
	v.Outcome = u.text()
	if has&hasFailure != 0 {
		v.Failure = u.failure()
	}
	if has&hasFindings != 0 {
		v.Findings = u.findings()
	}
	if has&hasRule != 0 {
		v.Rule = u.text()
	}
	if has&hasSeen != 0 {
		v.Seen = u.seen()
	}
	if has&hasFacts != 0 {
		v.Facts = Facts{Model: u.text(), StartedAt: u.time(), EndedAt: u.time(), Calls: u.number(), Input: u.number(), Cached: u.number(), OutTokens: u.number()}
		if u.version > 1 {
			v.Facts.Paid = u.bill()
		}
	}
	v.Facts.Reused, v.Facts.Recorded, v.Facts.Unpaid = has&hasReused != 0, has&hasRecorded != 0, has&hasUnpaid != 0
}

func (u *unpacker) bill() (b Bill) {
	if b.Attempts = u.number(); b.Attempts == 0 {
		return b
	}
	for _, n := range [...]*int{&b.Input, &b.Cached, &b.Written, &b.Output, &b.Estimated, &b.Unpriced} {
		*n = u.number()
	}
	if usd := u.take(8); len(usd) == 8 {
		b.USD = math.Float64frombits(binary.LittleEndian.Uint64(usd))
	}
	b.Price = u.text()
	return b
}

func (u *unpacker) decision(d *Decision) {
	*d = Decision{After: int(u.signed()), Route: u.text(), Stage: u.text(), Arm: int(u.signed()),
		Pos: Pos{File: u.text(), Line: u.number(), Column: u.number()}, Seen: u.seen(), To: u.text(), Findings: u.findings()}
}

func (u *unpacker) seen() []Seen {
	n := u.count(minSeen)
	if n == 0 {
		return nil
	}
	list := make([]Seen, n)
	for i := range list {
		list[i].Path = u.text()
		list[i].JSON = append([]byte(nil), u.take(u.number())...)
	}
	return list
}

func (u *unpacker) failure() *Failure {
	if u.byte() == 0 {
		return nil
	}
	return &Failure{Code: Code(u.text()), Cause: Code(u.text()), Message: string(u.take(u.number()))}
}

func (u *unpacker) findings() []Finding {
	n := u.count(minFinding)
	if n == 0 {
		return nil
	}
	list := make([]Finding, n)
	for i := range list {
		f := &list[i]
		f.Code, f.Triage, f.Stage, f.Noted = Code(u.text()), Triage(u.text()), u.text(), Triage(u.text())
		bits := u.byte()
		f.Shadow = bits&1 != 0
		if bits&2 != 0 {
			if b := u.take(8); b != nil {
				figure := math.Float64frombits(binary.LittleEndian.Uint64(b))
				f.Figure = &figure
			}
		}
		f.Evidence = u.text()
	}
	return list
}

func (u *unpacker) time() time.Time {
	seconds, nanos := u.signed(), u.number()
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, int64(nanos-1)).UTC()
}
