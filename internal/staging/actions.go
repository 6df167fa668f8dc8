package staging

import (
	"github.com/penstock-run/penstock/dag"
)

// Action is what a visit came to, under the digest of all that it depended on.
type Action struct {
	Digest    dag.Digest
	Recipe    dag.Digest // the part of the digest that does not depend on the item
	Stage     string     // for people; it is no part of the identity
	Input     dag.Digest
	Output    dag.Digest // zero where Failure is set
	OutputRef Ref        // as Put gave it
	Word      string     // the outcome as the plugin said it
	Failure   *dag.Failure
	Findings  []dag.PluginFinding
	Notes     []string
	Facts     dag.Facts
	Run       string // that paid for it
	Sample    int

	Completions []dag.Completion // that it was given, in the order in which they came
}

const kindAction = 'a'

type actionIndex struct {
	store *Store
	log   appendLog
	table table // digest → offset in the log
}

func (x *actionIndex) open(s *Store) {
	x.store, x.log = s, s.newLog("actions.log")
	x.log.apply = func(kind byte, payload []byte, at int64) {
		if kind == kindAction && len(payload) >= len(dag.Digest{}) {
			x.enter(payload, uint64(at))
		}
	}
	x.log.expect = func(bytes int64) { x.table.reserve(int(bytes / 320)) }
	x.log.placed = func(kind byte, payload []byte, pending uint64, at int64) {
		if at == 0 {
			x.enter(payload, pending)
			return
		}
		hash := hash32(dag.Digest(payload))
		for c := x.table.first(hash); c.pos != 0; c = x.table.next(hash, c) {
			if c.pos == pending {
				x.table.set(c, uint64(at))
				return
			}
		}
	}
}

// enter adds an entry, or lets that of an action made anew point at the later
// record.
func (x *actionIndex) enter(payload []byte, pos uint64) {
	digest := dag.Digest(payload)
	if c, _ := x.seek(digest); c.pos != 0 {
		x.table.set(c, pos)
		return
	}
	x.table.add(hash32(digest), pos)
}

// seek finds an action's entry, and its record, which lasts until the next read.
// The record is read to compare it; two digests that begin alike are rare enough.
func (x *actionIndex) seek(digest dag.Digest) (c cursor, payload []byte) {
	hash := hash32(digest)
	for c = x.table.first(hash); c.pos != 0; c = x.table.next(hash, c) {
		if payload = x.payload(c.pos); len(payload) >= len(digest) && dag.Digest(payload) == digest {
			return c, payload
		}
	}
	return c, nil
}

// payload reads the record at a position, until the next read; nil where it is
// damaged.
func (x *actionIndex) payload(pos uint64) []byte {
	kind, payload, scratch := x.log.record(pos, x.store.scratch)
	x.store.scratch = scratch
	if kind != kindAction {
		return nil
	}
	return payload
}

// PutAction records what a visit came to. Its output has been Put.
func (s *Store) PutAction(a *Action) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.recipes.use(a.Recipe); err != nil {
		return err
	}
	payload, pending, err := s.actions.log.add(kindAction, a.append)
	if err != nil {
		return err
	}
	if s.actions.log.loaded {
		s.actions.enter(payload, pending)
	}
	return nil
}

// Action finds what a visit came to before. An action whose output is absent
// counts as absent, as far as lengths tell: whoever then reads the output may
// still meet ErrAbsent, and from then on the action is absent too.
func (s *Store) Action(digest dag.Digest) (*Action, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.actions.log.load(); err != nil {
		return nil, false, err
	}
	a := s.actions.find(digest)
	if a == nil || a.Failure == nil && !s.present(a.OutputRef, a.Output) {
		return nil, false, nil
	}
	return a, true, nil
}

// Actions calls yield with every action, at its latest record, in the order of
// those, until it returns false. Whether the outputs are still there is not
// looked at. yield must not use the store.
func (s *Store) Actions(yield func(*Action) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &s.actions
	if err := x.log.load(); err != nil {
		return err
	}
	more := true
	take := func(kind byte, payload []byte, at uint64) {
		if !more || kind != kindAction || len(payload) < len(dag.Digest{}) || !x.stands(dag.Digest(payload), at) {
			return
		}
		if a := decodeAction(payload); a != nil {
			more = yield(a)
		}
	}
	if x.log.f != nil {
		if _, err := x.log.read(logHead, x.log.known, func(kind byte, payload []byte, at int64) { take(kind, payload, uint64(at)) }); err != nil {
			return err
		}
	}
	for _, start := range x.log.starts {
		frame := x.log.frame(start)
		take(frame[3], frame[frameHead:], x.log.pendingAt(start))
	}
	return nil
}

// stands reports whether the record at a position is an action's latest.
func (x *actionIndex) stands(digest dag.Digest, at uint64) bool {
	hash := hash32(digest)
	for c := x.table.first(hash); c.pos != 0; c = x.table.next(hash, c) {
		if c.pos == at {
			return true
		}
	}
	return false
}

// find gives the latest record of an action, nil where there is none.
func (x *actionIndex) find(digest dag.Digest) *Action {
	c, payload := x.seek(digest)
	if c.pos == 0 {
		return nil
	}
	return decodeAction(payload)
}

func (a *Action) append(b []byte) []byte {
	b = append(b, a.Digest[:]...)
	b = append(b, a.Recipe[:]...)
	b = append(b, a.Input[:]...)
	b = append(b, a.Output[:]...)
	b = putRef(b, a.OutputRef)
	b = putText(b, a.Stage)
	b = putText(b, a.Word)
	b = putText(b, a.Run)
	b = putUint(b, uint64(a.Sample))
	if a.Failure == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1)
		b = putText(b, string(a.Failure.Code))
		b = putText(b, string(a.Failure.Cause))
		b = putText(b, a.Failure.Message)
	}
	b = putUint(b, uint64(len(a.Findings)))
	for _, f := range a.Findings {
		b = putText(b, f.Word)
		b = putText(b, string(f.Triage))
		b = putFigure(b, f.Figure)
		b = putText(b, f.Evidence)
	}
	b = putUint(b, uint64(len(a.Notes)))
	for _, note := range a.Notes {
		b = putText(b, note)
	}
	return putCompletions(putFacts(b, a.Facts), a.Completions)
}

// Bits of what is true of a visit.
const (
	factReused = 1 << iota
	factRecorded
	factUnpaid
	factPaid // what it cost stands behind all else
)

func putFacts(b []byte, f dag.Facts) []byte {
	b = putText(b, f.Model)
	b = putTime(b, f.StartedAt)
	b = putTime(b, f.EndedAt)
	var flags byte
	if f.Reused {
		flags |= factReused
	}
	if f.Recorded {
		flags |= factRecorded
	}
	if f.Unpaid {
		flags |= factUnpaid
	}
	if f.Paid.Attempts > 0 {
		flags |= factPaid
	}
	b = append(b, flags)
	for _, n := range [...]int{f.Calls, f.Input, f.Cached, f.OutTokens} {
		b = putUint(b, uint64(max(0, n)))
	}
	if flags&factPaid != 0 {
		b = putBill(b, &f.Paid)
	}
	return b
}

func putBill(b []byte, bill *dag.Bill) []byte {
	for _, n := range [...]int{bill.Attempts, bill.Input, bill.Cached, bill.Written, bill.Output, bill.Estimated, bill.Unpriced} {
		b = putUint(b, uint64(max(0, n)))
	}
	return putText(putFigure(b, &bill.USD), bill.Price)
}

// decodeAction is nil for a record that does not read as one.
func decodeAction(payload []byte) *Action {
	r := reader{b: payload}
	a := &Action{
		Digest: r.digest(), Recipe: r.digest(), Input: r.digest(), Output: r.digest(), OutputRef: r.ref(),
		Stage: r.text(), Word: r.text(), Run: r.text(), Sample: int(r.uint()),
	}
	if r.byte() == 1 {
		a.Failure = &dag.Failure{Code: dag.Code(r.text()), Cause: dag.Code(r.text()), Message: r.text()}
	}
	if n := r.count(); n > 0 {
		a.Findings = make([]dag.PluginFinding, 0, n)
		for range n {
			a.Findings = append(a.Findings, dag.PluginFinding{Word: r.text(), Triage: dag.Triage(r.text()), Figure: r.figure(), Evidence: r.text()})
		}
	}
	if n := r.count(); n > 0 {
		a.Notes = make([]string, 0, n)
		for range n {
			a.Notes = append(a.Notes, r.text())
		}
	}
	a.Facts = r.facts()
	a.Completions = r.completions()
	if r.short {
		return nil
	}
	return a
}

func (r *reader) facts() dag.Facts {
	f := dag.Facts{Model: r.text(), StartedAt: r.time(), EndedAt: r.time()}
	flags := r.byte()
	f.Reused, f.Recorded, f.Unpaid = flags&factReused != 0, flags&factRecorded != 0, flags&factUnpaid != 0
	f.Calls, f.Input, f.Cached, f.OutTokens = int(r.uint()), int(r.uint()), int(r.uint()), int(r.uint())
	if flags&factPaid != 0 {
		f.Paid = r.bill()
	}
	return f
}

func (r *reader) bill() (b dag.Bill) {
	for _, n := range [...]*int{&b.Attempts, &b.Input, &b.Cached, &b.Written, &b.Output, &b.Estimated, &b.Unpriced} {
		*n = int(r.uint())
	}
	if usd := r.figure(); usd != nil {
		b.USD = *usd
	}
	b.Price = r.text()
	return b
}
