package gate

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// takePending takes in the rows of batches that a dead process committed and did
// not write: a dry run mends nothing, and must not promise what is there already.
func (b *batch) takePending(d osDisk) error {
	var failed error
	err := eachPending(d, func(r record) {
		for _, w := range r.writes {
			failed = errors.Join(failed, b.takeRows(w))
		}
	})
	return errors.Join(err, failed)
}

// takeRows takes in rows whether they are in their file or not: what is found
// twice is found the same.
func (b *batch) takeRows(w write) error {
	for line := range bytes.Lines(w.data) {
		if w.path != b.g.spec.Corpus.Evidence {
			var row decisionRow
			if json.Unmarshal(line, &row) == nil && row.AcceptKey != "" {
				b.takeVerdict(row.AcceptKey, &Verdict{
					End: row.End, Codes: row.Codes, Findings: row.Findings, Details: row.Detail, Message: row.Message, Known: true,
				})
			}
			continue
		}
		var row evidenceRow
		if json.Unmarshal(line, &row) != nil {
			continue
		}
		b.takeVerdict(row.AcceptKey, &Verdict{End: dag.Accepted, Record: row.ID, Known: true})
		if digest, err := dag.ParseDigest(row.Digest); err == nil {
			b.ids[row.ID] = digest
		}
		for _, text := range row.Keys {
			if k, err := parseKey(text); err == nil {
				b.uniques[k] = row.ID
			}
		}
		if row.AcceptKey == "" {
			continue
		}
		// What is in its file has been read, and its texts with it.
		read, err := b.g.ledger.record(row.ID, keyOf(row.ID))
		if err == nil && read == nil {
			err = b.shelve(row.ID, row.Novel)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) takeVerdict(acceptKey string, v *Verdict) {
	if k, err := parseKey(acceptKey); err == nil {
		b.accepts[k] = v
	}
}
