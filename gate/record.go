package gate

import (
	"fmt"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// recordParts is a record as far as it is known before the locks.
type recordParts struct {
	path     string // of its data file
	id       string
	idKey    key    // of id
	line     []byte // with its line feed
	digest   dag.Digest
	evidence *evidenceForm // nil: evidence_record reads a locked check
	late     bool          // evidence_record is evaluated under the locks
	keys     []key
	novel    []byte // texts for the checks "novel", canonical; nil: there are none
}

// makeRecord evaluates what goes into the corpus. Whatever cannot be made is a
// failure of the candidate.
func (j *judgement) makeRecord(k key) error {
	record, err := j.makeParts(k)
	if err != nil {
		return j.content(err)
	}
	j.record = record
	return nil
}

func (j *judgement) makeParts(k key) (*recordParts, error) {
	corpus := j.g.spec.Corpus
	r, err := j.makeLine()
	if err != nil {
		return nil, err
	}
	for _, done := range j.states {
		r.keys = append(r.keys, done.result.keys...)
	}
	if r.novel, err = j.makeNovel(); err != nil {
		return nil, err
	}
	if corpus.EvidenceRecord != nil {
		for _, name := range corpus.EvidenceRecord.Names() {
			r.late = r.late || name.Root == "checks" && j.isLocked(name.Member)
		}
	}
	if !r.late {
		r.evidence, err = j.makeEvidence(k, r)
	}
	return r, err
}

// makeLine makes the record itself: its file, its id and its line.
func (j *judgement) makeLine() (*recordParts, error) {
	corpus := j.g.spec.Corpus
	r := &recordParts{}
	if err := j.strictMembers(); err != nil {
		return nil, err
	}
	var err error
	if r.path, err = corpus.Data.Text(j.scope); err != nil {
		return nil, fmt.Errorf("corpus.data: %w", err)
	}
	if err := usablePath(r.path); err != nil {
		return nil, dag.Fail(dag.EBucket, "corpus.data: %v", err)
	}
	if r.path == corpus.Evidence || r.path == j.g.spec.Rejections || r.path == verdictsPath || r.path == breakersPath || r.path == reviewPath {
		return nil, dag.Fail(dag.EBucket, "corpus.data: %s is another file of the corpus", r.path)
	}
	doc, err := j.scope.doc(corpus.Record)
	if err != nil {
		return nil, fmt.Errorf("corpus.record: %w", err)
	}
	canonical, err := canon.Canonical(make([]byte, 0, len(doc.Bytes)+1), doc.Bytes)
	if err != nil {
		return nil, dag.Fail(dag.EExpr, "corpus.record: %v", err)
	}
	own := ownID(canonical)
	if r.id, err = j.recordID(canonical, own); err != nil {
		return nil, err
	}
	if r.line, err = recordLine(canonical, own, r.id); err != nil {
		return nil, err
	}
	r.digest = dag.Sum(r.line[:len(r.line)-1])
	r.idKey = keyOf(r.id)
	return r, nil
}

// strictMembers refuses a candidate that holds bytes which are no strict JSON and
// that no check "schema" has looked at: parts of it go into the record as they are.
func (j *judgement) strictMembers() error {
	for i, m := range j.g.spec.Candidate {
		if doc := j.members[i]; doc.Bytes != nil {
			if err := canon.Valid(doc.Bytes); err != nil {
				return dag.Fail(dag.EInput, "candidate.%s is not one strict JSON document: %v", m.Name, err)
			}
		}
	}
	return nil
}

func (j *judgement) isLocked(name string) bool {
	for _, check := range j.g.checks {
		if check.name == name && check.phase == dag.Locked {
			return true
		}
	}
	return false
}

// makeEvidence makes the row of the evidence as far as it is known before the
// record has its place in the chain.
func (j *judgement) makeEvidence(k key, r *recordParts) (*evidenceForm, error) {
	var object []byte
	if of := j.g.spec.Corpus.EvidenceRecord; of != nil {
		doc, err := j.scope.doc(of)
		if err != nil {
			return nil, fmt.Errorf("corpus.evidence_record: %w", err)
		}
		if !isObject(doc.Bytes) {
			return nil, dag.Fail(dag.EExpr, "corpus.evidence_record is not an object")
		}
		if object, err = canon.Canonical(make([]byte, 0, len(doc.Bytes)), doc.Bytes); err != nil {
			return nil, dag.Fail(dag.EExpr, "corpus.evidence_record: %v", err)
		}
	}
	row := evidenceRow{
		AcceptKey: k.String(), Bucket: j.c.Bucket, Data: r.path, Digest: r.digest.String(), Exempt: j.exempt,
		ID: r.id, Item: j.c.Key, Novel: r.novel, RunID: j.g.o.RunID,
	}
	for _, k := range r.keys {
		row.Keys = append(row.Keys, k.String())
	}
	form, err := formOf(row, object)
	if err != nil {
		return nil, dag.Fail(dag.EExpr, "corpus.evidence_record has a member that the gate writes itself; call it otherwise: %v", err)
	}
	return form, nil
}

// recordID is the id of a record: as the corpus declares it, else the record's
// own, else the first 16 hex digits of the record's digest.
func (j *judgement) recordID(record, own []byte) (string, error) {
	if j.g.spec.Corpus.ID == nil {
		if isText(own) {
			return unquote(own)
		}
		return dag.Sum(record).String()[:16], nil
	}
	id, err := j.g.spec.Corpus.ID.Text(j.scope)
	if err != nil {
		return "", fmt.Errorf("corpus.id: %w", err)
	}
	if id == "" {
		return "", dag.Fail(dag.EExpr, "corpus.id is empty")
	}
	return id, nil
}
