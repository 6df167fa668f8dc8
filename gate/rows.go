package gate

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// evidenceRow are the members that the gate adds to the evidence of a record. The
// members of the pipeline's evidence_record stand beside them.
type evidenceRow struct {
	AcceptKey  string   `json:"accept_key"`
	AcceptedAt string   `json:"accepted_at"`
	Bucket     string   `json:"bucket"`
	Data       string   `json:"data"`             // the file that the record is in
	Digest     string   `json:"digest"`           // SHA-256 of the record's line, without its line feed
	Exempt     []string `json:"exempt,omitempty"` // hosts that only allow_hosts let past the address rule
	ID         string   `json:"id"`
	Item       string   `json:"item"`
	Keys       []string `json:"keys,omitempty"` // of the checks "unique"
	// Novel is the text of the record for each check "novel": an array of novelText.
	Novel    jsontext.Value `json:"novel,omitempty"`
	Previous string         `json:"previous"` // SHA-256 of the line before this one; zeros in the first
	RunID    string         `json:"run_id"`
	Sequence uint64         `json:"sequence"`
}

// decisionRow is every verdict that is no accept: a rejection record, an entry of
// the review queue, a skip.
type decisionRow struct {
	AcceptKey string         `json:"accept_key"`
	Anew      bool           `json:"anew,omitzero"` // asked again on purpose
	At        string         `json:"at"`
	Bucket    string         `json:"bucket"`
	Candidate jsontext.Value `json:"candidate,omitempty"` // review queue: all that a person, and a later accept, need
	Codes     []dag.Code     `json:"codes"`
	Detail    []Detail       `json:"detail"`
	End       dag.End        `json:"end"`
	Findings  []dag.Finding  `json:"findings,omitempty"`
	ID        string         `json:"id,omitempty"` // review queue
	Item      string         `json:"item"`
	Message   string         `json:"message,omitempty"`
	Pass      int            `json:"pass"`
	Run       string         `json:"run"`
	Stage     string         `json:"stage"`
	Status    string         `json:"status,omitempty"`
}

// breakerRow is the state of a bucket's breaker; the last row of a bucket counts.
type breakerRow struct {
	Accepted    int    `json:"accepted"`
	At          string `json:"at"`
	Bucket      string `json:"bucket"`
	Consecutive int    `json:"consecutive"`
	Reset       bool   `json:"reset,omitzero"`
	Stopped     int    `json:"stopped"`
	TrippedAt   string `json:"tripped_at,omitempty"`
}

// line writes the row in canonical form, with its line feed. Every commit has one,
// and to encode it took as long as a write of the file.
func (r *breakerRow) line() ([]byte, error) {
	if !utf8.ValidString(r.Bucket) || !utf8.ValidString(r.At) || !utf8.ValidString(r.TrippedAt) {
		return rowOf(r) // which complains
	}
	b := append(make([]byte, 0, 160+len(r.Bucket)), `{"accepted":`...)
	b = strconv.AppendInt(b, int64(r.Accepted), 10)
	b = canon.Quote(append(b, `,"at":`...), r.At)
	b = canon.Quote(append(b, `,"bucket":`...), r.Bucket)
	b = strconv.AppendInt(append(b, `,"consecutive":`...), int64(r.Consecutive), 10)
	if r.Reset {
		b = append(b, `,"reset":true`...)
	}
	b = strconv.AppendInt(append(b, `,"stopped":`...), int64(r.Stopped), 10)
	if r.TrippedAt != "" {
		b = canon.Quote(append(b, `,"tripped_at":`...), r.TrippedAt)
	}
	return append(b, '}', '\n'), nil
}

// timestamp is RFC 3339 in UTC with milliseconds: always as long, so that it sorts.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// rowOf writes a row in canonical form, with its line feed.
func rowOf(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	line, err := canon.Canonical(make([]byte, 0, len(raw)+1), raw)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// evidenceLine writes a row of the evidence: the gate's members, and those of the
// pipeline's object, in canonical form, where it has one.
func evidenceLine(row *evidenceRow, object []byte) ([]byte, error) {
	own, ok := row.append(make([]byte, 0, 1<<10))
	if !ok {
		var err error
		if own, err = rowOf(row); err != nil {
			return nil, err
		}
		own = own[:len(own)-1]
	}
	if object == nil {
		return append(own, '\n'), nil
	}
	return mergedLine(own, object)
}

// evidenceForm is a row of the evidence that lacks what only its place in the chain
// tells: the time, the row before it and its number. Everything else is made before
// the locks are taken, by whoever judges the candidate.
type evidenceForm struct {
	row                    []byte // canonical, with its line feed; in the holes stands what is to be replaced
	at, previous, sequence int    // where the holes begin
}

// What stands in the holes.
const (
	noTime     = "0000-00-00T00:00:00.000Z"
	noDigest   = "0000000000000000000000000000000000000000000000000000000000000000"
	noSequence = 0 // of one digit
)

// formOf makes the form of a row. object is as in evidenceLine.
func formOf(row evidenceRow, object []byte) (*evidenceForm, error) {
	row.AcceptedAt, row.Previous, row.Sequence = noTime, noDigest, noSequence
	line, err := evidenceLine(&row, object)
	if err != nil {
		return nil, err
	}
	f := &evidenceForm{row: line}
	at := 0 // where the value of the member at hand begins
	eachMember(line[:len(line)-1], func(name, value []byte) bool {
		at += len(",") + len(name) + len(":")
		switch string(name) {
		case `"accepted_at"`:
			f.at = at + 1
		case `"previous"`:
			f.previous = at + 1
		case `"sequence"`:
			f.sequence = at
		}
		at += len(value)
		return true
	})
	if f.at == 0 || f.previous == 0 || f.sequence < f.previous || f.previous < f.at {
		return nil, fmt.Errorf("the row %s is not as the gate writes it", line)
	}
	return f, nil
}

// line is the row at its place.
func (f *evidenceForm) line(at string, previous dag.Digest, sequence uint64) []byte {
	if len(at) != len(noTime) {
		panic("a time in a row has 24 bytes, and this one is " + at)
	}
	line := append(make([]byte, 0, len(f.row)+20), f.row[:f.sequence]...)
	copy(line[f.at:f.at+len(noTime)], at)
	hex.Encode(line[f.previous:f.previous+len(noDigest)], previous[:])
	line = strconv.AppendUint(line, sequence, 10)
	return append(line, f.row[f.sequence+1:]...)
}

// append writes the row in canonical form, in a third of the time that it takes
// to encode it and bring it into that form. ok is false where a text of it is not
// UTF-8, which the encoder complains of.
func (r *evidenceRow) append(b []byte) (row []byte, ok bool) {
	b = append(b, '{')
	text := func(name, s string) {
		ok = utf8.ValidString(s)
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), '"', ':')
		b = canon.Quote(b, s)
	}
	texts := func(name string, list []string) {
		if len(list) == 0 {
			return
		}
		b = append(append(append(b, ',', '"'), name...), `":[`...)
		for i, s := range list {
			ok = ok && utf8.ValidString(s)
			if i > 0 {
				b = append(b, ',')
			}
			b = canon.Quote(b, s)
		}
		b = append(b, ']')
	}
	for _, member := range [...][2]string{
		{"accept_key", r.AcceptKey}, {"accepted_at", r.AcceptedAt}, {"bucket", r.Bucket}, {"data", r.Data}, {"digest", r.Digest},
	} {
		if text(member[0], member[1]); !ok {
			return nil, false
		}
	}
	if texts("exempt", r.Exempt); !ok {
		return nil, false
	}
	for _, member := range [...][2]string{{"id", r.ID}, {"item", r.Item}} {
		if text(member[0], member[1]); !ok {
			return nil, false
		}
	}
	texts("keys", r.Keys) // hex digits
	if len(r.Novel) > 0 {
		b = append(append(b, `,"novel":`...), r.Novel...) // canonical
	}
	text("previous", r.Previous)
	if text("run_id", r.RunID); !ok {
		return nil, false
	}
	b = strconv.AppendUint(append(b, `,"sequence":`...), r.Sequence, 10)
	return append(b, '}'), true
}

// mergedLine makes a row of two objects in canonical form.
func mergedLine(a, b []byte) ([]byte, error) {
	if line, ok := spliced(make([]byte, 0, len(a)+len(b)+1), a, b); ok {
		return append(line, '\n'), nil
	}
	raw := joinObjects(a, b)
	line, err := canon.Canonical(make([]byte, 0, len(raw)+1), raw)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// spliced appends an object with the members of two canonical ones, in the order of
// their names; values are copied as they are. ok is false where the two share a name,
// and where their order is not plain to see: that is for the canonical form to judge.
func spliced(dst, a, b []byte) (out []byte, ok bool) {
	as, bs := memberScan{object: a}, memberScan{object: b}
	if !as.next() || !bs.next() {
		return dst, false
	}
	dst = append(dst, '{')
	for first := true; as.member != nil || bs.member != nil; first = false {
		from := &as
		if as.member == nil {
			from = &bs
		} else if bs.member != nil {
			switch order := bytes.Compare(as.name, bs.name); {
			case order == 0:
				return dst, false
			case order > 0:
				from = &bs
			}
		}
		if !first {
			dst = append(dst, ',')
		}
		dst = append(dst, from.member...)
		if !from.next() {
			return dst, false
		}
	}
	return append(dst, '}'), true
}

// joinObjects puts the members of two objects into one; a name that both have
// stands there twice, and the canonical form refuses it.
func joinObjects(a, b []byte) []byte {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	out := append(make([]byte, 0, len(a)+len(b)), a[:len(a)-1]...)
	if len(a) > 2 && len(b) > 2 {
		out = append(out, ',')
	}
	return append(out, b[1:]...)
}

func isObject(doc []byte) bool { return len(doc) > 0 && doc[0] == '{' }

// member finds a member of a canonical object.
func member(object []byte, name string) (value jsontext.Value, found bool, err error) {
	quoted := canon.Quote(nil, name)
	if whole := eachMember(object, func(n, v []byte) bool {
		if bytes.Equal(n, quoted) {
			value = v
		}
		return value == nil
	}); whole || value != nil && value[0] > ' ' && value[len(value)-1] > ' ' {
		return value, value != nil, nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := dec.ReadToken(); err != nil {
		return nil, false, err
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, false, err
		}
		if token.String() == name {
			value, err := dec.ReadValue()
			return value.Clone(), err == nil, err
		}
		if err := dec.SkipValue(); err != nil {
			return nil, false, err
		}
	}
	return nil, false, nil
}

func isText(value []byte) bool { return len(value) > 2 && value[0] == '"' }

func unquote(value []byte) (string, error) {
	text, err := jsontext.AppendUnquote(nil, value)
	return string(text), err
}

// recordLine makes the data row of a record: the record with its id in it. The
// record is in canonical form, own is its member "id", and the line may be made
// of the record's bytes.
func recordLine(record, own []byte, id string) ([]byte, error) {
	if !isObject(record) {
		return nil, dag.Fail(dag.EExpr, "record is not an object")
	}
	quoted := canon.Quote(nil, id)
	if own != nil {
		if !bytes.Equal(own, quoted) {
			return nil, dag.Fail(dag.EExpr, "record has an id of its own, %s, and the corpus gives it %s; leave one of them out", own, quoted)
		}
		return append(record, '\n'), nil
	}
	own = append(append(append(make([]byte, 0, len(quoted)+7), `{"id":`...), quoted...), '}')
	return mergedLine(own, record)
}
