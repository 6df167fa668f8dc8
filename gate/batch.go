package gate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// batch is what one commit is going to write, and what those of it that come
// later must see of those before.
type batch struct {
	g        *Gate
	now      time.Time
	at       string            // now, as rows have it
	writes   map[string][]byte // by path, lines in order
	accepts  map[key]*Verdict
	ids      map[string]dag.Digest // of records, by id
	uniques  map[key]string        // ids of records
	breakers map[string]Breaker
	sequence uint64
	previous dag.Digest
	evidence []evidenceNote // of the lines of the evidence
	shelves  []*shelf       // texts of the records of this batch; nil: none yet
	shelved  []string       // ids of those records
	lines    []Line         // of the candidate at hand
}

func (g *Gate) newBatch() *batch {
	b := &batch{
		g: g, now: g.o.Now(), writes: map[string][]byte{}, accepts: map[key]*Verdict{},
		ids: map[string]dag.Digest{}, uniques: map[key]string{}, breakers: map[string]Breaker{},
	}
	b.at = timestamp(b.now)
	b.sequence, b.previous = g.ledger.tip()
	return b
}

func (b *batch) append(path string, row any) error {
	line, err := rowOf(row)
	if err == nil {
		b.appendLine(path, line)
	}
	return err
}

func (b *batch) appendLine(path string, line []byte) {
	lines, ok := b.writes[path]
	if !ok {
		lines = b.g.rooms.take(path)
	}
	if len(lines)+len(line) > cap(lines) { // doubled: append's own growth would copy each line five times
		lines = slices.Grow(lines, max(len(lines), len(line), 64<<10))
	}
	b.writes[path] = append(lines, line...)
	b.lines = append(b.lines, Line{path, line[:len(line)-1]})
}

// rooms are the buffers of the last batch, for the next one: what a corpus
// appends to, it mostly appends to again. They are used under the lock.
type rooms map[string][]byte

// roomsMost and roomMost bound what is kept: files, and bytes of a file.
const (
	roomsMost = 16
	roomMost  = 2 << 20
)

func (r rooms) take(path string) []byte {
	room := r[path]
	delete(r, path)
	return room
}

// give keeps the buffers of a batch whose writes have been made.
func (r rooms) give(writes map[string][]byte) {
	clear(r)
	for path, lines := range writes {
		if len(r) < roomsMost && cap(lines) <= roomMost {
			r[path] = lines[:0]
		}
	}
}

// unique finds the record with a key, in the corpus or in this batch.
func (b *batch) unique(k key) (id string, err error) {
	if id, ok := b.uniques[k]; ok {
		return id, nil
	}
	row, err := b.g.ledger.unique(k)
	if err != nil || row == nil {
		return "", err
	}
	return row.ID, nil
}

// record finds the digest of the record with the id of this one.
func (b *batch) record(r *recordParts) (digest string, err error) {
	if d, ok := b.ids[r.id]; ok {
		return d.String(), nil
	}
	row, err := b.g.ledger.record(r.id, r.idKey)
	if err != nil || row == nil {
		return "", err
	}
	return row.Digest, nil
}

// decide brings an evaluation to its verdict and notes what is to be written. A
// panic on the way is an error of this candidate: rows are noted last, so it has
// noted none.
func (b *batch) decide(e *Evaluation) (v Verdict, err error) {
	defer recovered(&err, e.c)
	b.lines = nil
	if known, ok := b.accepts[e.key]; ok {
		v := *known
		v.Known = true
		return v, nil
	}
	known, err := b.g.ledger.verdict(e.key)
	if err != nil {
		return Verdict{}, err
	}
	if known != nil && !(e.c.Anew && known.End != dag.Accepted) {
		return *known, nil
	}
	j := e.j.fork()
	if j.c.Stop != nil {
		return b.stop(e.key, j)
	}
	if err := b.lockedPhase(j); err != nil {
		return Verdict{}, err
	}
	triage, by := j.triage()
	if why, parks := j.undecidedParks(); parks {
		return Verdict{}, fmt.Errorf("could not tell: %s", why)
	}
	switch {
	case j.refused != nil:
		return b.refuse(e.key, j)
	case j.c.As != "":
		return b.decline(e.key, j, j.c.As, nil)
	case triage != dag.Accept:
		return b.decline(e.key, j, triage, by)
	}
	admission, err := j.admit()
	if err != nil {
		return Verdict{}, &dag.Error{Op: "admit the candidate", Subject: j.c.Key, Kind: dag.KindBug, Err: err}
	}
	return b.accept(e.key, admission)
}

// lockedPhase asks the locked checks against what is on disk now; the first that
// fails ends the phase.
func (b *batch) lockedPhase(j *judgement) error {
	if j.record == nil || j.c.As != "" || j.refused != nil {
		return nil
	}
	// The same record a second time is no duplicate of itself: decline and accept
	// come to that by its id, so it is left to them.
	have, err := b.record(j.record)
	if j.recorded = have != "" && have == j.record.digest.String(); err != nil || j.recorded {
		return err
	}
	for i, done := range j.states {
		check, ok := done.check.run.(lockedChecker)
		if !ok || done.result.state != held {
			continue
		}
		r, err := check.locked(done.result, b)
		if err != nil {
			return err
		}
		if r = sound(r); r.state != held {
			j.set(i, done.check, r)
			if !shadowed(done.check.spec.Mode) {
				return nil
			}
		}
		j.states[i].asked = true
	}
	return nil
}

// accept writes a record and its evidence.
func (b *batch) accept(k key, admission Admission) (Verdict, error) {
	j := admission.j
	if j == nil {
		return Verdict{}, &dag.Error{Op: "write a record", Kind: dag.KindBug, Err: errors.New("the admission is not of a judgement")}
	}
	r := j.record
	have, err := b.record(r)
	if err != nil {
		return Verdict{}, err
	}
	v := b.verdict(j, dag.Accepted, nil)
	v.Record = r.id
	switch have {
	case "":
		if j.recorded {
			return Verdict{}, &dag.Error{Op: "write a record", Subject: r.id, Kind: dag.KindBug, Err: errors.New("it was in the corpus, and is not there")}
		}
	case r.digest.String():
		v.Known = true
		return v, nil
	default:
		return b.sameID(k, j)
	}
	if r.late {
		if r.evidence, err = j.makeEvidence(k, r); err != nil {
			if err := j.content(err); err != nil {
				return Verdict{}, err
			}
			return b.refuse(k, j)
		}
	}
	line := r.evidence.line(b.at, b.previous, b.sequence+1)
	if err := b.shelve(r.id, r.novel); err != nil {
		return Verdict{}, err
	}
	b.sequence++
	b.previous = dag.Sum(line[:len(line)-1])
	b.evidence = append(b.evidence, evidenceNote{
		accept: k, id: r.id, idKey: r.idKey, keys: r.keys, sequence: b.sequence, digest: b.previous, size: len(line), novel: r.novel,
	})
	b.appendLine(b.g.spec.Corpus.Evidence, line)
	b.appendLine(r.path, r.line)
	b.ids[r.id] = r.digest
	for _, key := range r.keys {
		b.uniques[key] = r.id
	}
	return b.done(k, j, v)
}

// sameID refuses a record whose id another record has.
func (b *batch) sameID(k key, j *judgement) (Verdict, error) {
	code := dag.EDuplicateKey
	for _, done := range j.states {
		if done.check.spec.Kind == "unique" {
			code = done.check.spec.Code
			break
		}
	}
	why := fmt.Sprintf("another accepted record has the id %s", j.record.id)
	j.findings = append(j.findings, dag.Finding{Code: code, Triage: dag.Reject, Stage: b.g.spec.Name, Evidence: why})
	j.details = append(j.details, Detail{Code: code, At: "id", Why: why})
	j.message = why
	triage, by := j.triage()
	return b.decline(k, j, triage, by)
}

// refuse records a candidate that could not be made.
func (b *batch) refuse(k key, j *judgement) (Verdict, error) {
	v := b.verdict(j, dag.Failed, nil)
	v.Codes = []dag.Code{j.refused.Code}
	v.Message = j.refused.Message
	v.Details = append([]Detail{{Code: j.refused.Code, Why: j.refused.Message, Cause: j.refused.Cause}}, v.Details...)
	if err := b.append(b.rejections(), b.row(k, j, v)); err != nil {
		return Verdict{}, err
	}
	return b.done(k, j, v)
}

var endOf = map[dag.Triage]dag.End{
	dag.Review: dag.Reviewed, dag.Quarantine: dag.Quarantined, dag.Skip: dag.Skipped, dag.Reject: dag.Rejected,
}

// decline records a candidate that is not accepted.
func (b *batch) decline(k key, j *judgement, triage dag.Triage, by *dag.Finding) (Verdict, error) {
	end, ok := endOf[triage]
	if !ok {
		return Verdict{}, &dag.Error{Op: "record an item", Subject: j.c.Key, Kind: dag.KindBug, Err: fmt.Errorf("%q is no triage", triage)}
	}
	v := b.verdict(j, end, by)
	var err error
	if v.Kept, err = b.keeps(j); err != nil {
		return Verdict{}, err
	}
	row := b.row(k, j, v)
	path := verdictsPath
	switch end {
	case dag.Rejected:
		path = b.rejections()
	case dag.Reviewed, dag.Quarantined:
		path = reviewPath
		row.ID = "r-" + k.String()[:12]
		row.Findings = v.Findings
		row.Candidate = j.candidateObject()
	}
	if err := b.append(path, row); err != nil {
		return Verdict{}, err
	}
	return b.done(k, j, v)
}

// keeps reports whether the record of a candidate that is not accepted is in the corpus.
func (b *batch) keeps(j *judgement) (bool, error) {
	r := cmp.Or(j.record, j.former)
	if r == nil {
		return false, nil
	}
	have, err := b.record(r)
	return have == r.digest.String(), err
}

// stop records an item that a route ended. Ends that are none, and failures of the
// world, are not recorded and count for nothing.
func (b *batch) stop(k key, j *judgement) (Verdict, error) {
	s := j.c.Stop
	v := Verdict{End: s.End, Findings: j.c.Findings, Message: s.Message}
	if s.Code != "" {
		v.Codes = []dag.Code{s.Code}
		v.Details = []Detail{{Code: s.Code, Why: s.Message, Cause: s.Cause}}
	}
	if s.End != dag.Rejected && s.End != dag.Failed {
		return v, nil
	}
	if s.Code.Class() == dag.Infrastructure || s.Cause.Class() == dag.Infrastructure {
		return Verdict{}, fmt.Errorf("the item stopped for want of infrastructure (%s): %s", s.Code, s.Message)
	}
	row := b.row(k, j, v)
	row.Stage, row.Pass, row.Status = s.Stage, s.Pass, s.Status
	if err := b.append(b.rejections(), row); err != nil {
		return Verdict{}, err
	}
	return b.done(k, j, v)
}

// done counts an end that is recorded for the first time.
func (b *batch) done(k key, j *judgement, v Verdict) (Verdict, error) {
	b.accepts[k] = &v
	spec := b.g.spec.Breaker
	if spec == nil || j.c.Bucket == "" { // an item that has none counts in none
		return v, nil
	}
	state, ok := b.breakers[j.c.Bucket]
	if !ok {
		state = b.g.breaker.get(j.c.Bucket)
	}
	if next, changed := state.after(v.End, spec, b.now); changed {
		b.breakers[j.c.Bucket] = next
	}
	return v, nil
}

// countBreakers writes a row for each breaker that the batch moved.
func (b *batch) countBreakers() error {
	for _, bucket := range slices.Sorted(maps.Keys(b.breakers)) {
		row := b.breakers[bucket].row(b.now)
		line, err := row.line()
		if err != nil {
			return err
		}
		b.appendLine(breakersPath, line)
	}
	return nil
}

// rejections is where rejection records go; without one, verdicts are kept all
// the same, so that nothing is counted twice.
func (b *batch) rejections() string {
	if b.g.spec.Rejections != "" {
		return b.g.spec.Rejections
	}
	return verdictsPath
}

// verdict is what a judgement says, the decisive code first.
func (b *batch) verdict(j *judgement, end dag.End, by *dag.Finding) Verdict {
	v := Verdict{End: end, Findings: j.findings, Details: j.details, Checks: j.results, Message: j.message}
	if j.c.As != "" && j.c.Code != "" {
		v.Codes = append(v.Codes, j.c.Code)
		v.Details = append([]Detail{{Code: j.c.Code}}, v.Details...)
	}
	if by != nil {
		v.Codes = append(v.Codes, by.Code)
		if v.Message == "" || by.Stage != b.g.spec.Name {
			v.Message = by.Evidence
		}
	}
	for _, f := range j.findings {
		if f.Triage != dag.Accept && f.Code != "" && !slices.Contains(v.Codes, f.Code) {
			v.Codes = append(v.Codes, f.Code)
		}
	}
	return v
}

func (b *batch) row(k key, j *judgement, v Verdict) decisionRow {
	row := decisionRow{
		AcceptKey: k.String(), Anew: j.c.Anew, At: b.at, Bucket: j.c.Bucket, Codes: v.Codes, Detail: v.Details, End: v.End,
		Item: j.c.Key, Message: v.Message, Pass: 1, Run: b.g.o.RunID, Stage: b.g.spec.Name,
	}
	if row.Codes == nil {
		row.Codes = []dag.Code{}
	}
	if row.Detail == nil {
		row.Detail = []Detail{}
	}
	return row
}

// candidateObject is the candidate as one object, members without a value null.
func (j *judgement) candidateObject() jsontext.Value {
	out := []byte{'{'}
	for i, m := range j.g.spec.Candidate {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(canon.Quote(out, m.Name), ':')
		if doc := j.members[i]; doc.Bytes != nil {
			out = append(out, doc.Bytes...)
		} else {
			out = append(out, "null"...)
		}
	}
	return append(out, '}')
}
