package dag

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Lookup answers the names that expressions read, at the place where the item
// stands. What a bounded edge made stale reads as null. `failed` is not made
// stale: it tells of the latest failure on this trail, whatever came after it.
func (t *Traversal) Lookup(n Name) (Doc, error) {
	switch n.Root {
	case "item":
		return t.held(&t.item)
	case "output":
		return t.held(&t.output)
	case "origin":
		return t.held(&t.origin)
	case "artifact", "outcome", "failed":
		return t.ofStage(n)
	case "pass":
		return jsonDoc(strconv.AppendInt(nil, int64(t.stages[t.at.Index].pass), 10)), nil
	case "finding":
		if f := t.finding(Code(n.Member)); f != nil {
			return jsonDoc(f.canonical()), nil
		}
		return Doc{}, nil
	case "triage":
		return jsonDoc(quote(string(t.Triage()))), nil
	case "answer":
		return t.answered()
	case "run":
		// Only routes and decide rules read it, so that nothing that depends on
		// the run is ever answered from staging.
		if !t.deciding && t.phase != phaseGate {
			return Doc{}, bug(t.key, "`run` was read outside of a route and of decide")
		}
		return t.run, nil
	}
	return Doc{}, bug(t.key, "%s is no name of an item", n)
}

func (t *Traversal) ofStage(n Name) (Doc, error) {
	if n.Root == "outcome" && n.Member == "" { // the decided one, in a finding of decide
		if t.word == "" {
			return Doc{}, nil
		}
		return jsonDoc(quote(t.word)), nil
	}
	s := t.g.index.byName[n.Member]
	if s == nil {
		return Doc{}, bug(t.key, "%s: there is no stage of that name", n)
	}
	st := &t.stages[s.Index]
	switch n.Root {
	case "artifact":
		d, err := t.bytes(st.artifact)
		if err == nil {
			st.artifact = t.kept(s.Index, d)
		}
		return d, err
	case "outcome":
		if st.outcome != "" {
			return jsonDoc(quote(st.outcome)), nil
		}
	case "failed":
		if st.failed != nil {
			return jsonDoc(st.failed.canonical()), nil
		}
	}
	return Doc{}, nil
}

// answered is `answer`: the latest accepted answer with its question.
func (t *Traversal) answered() (Doc, error) {
	if t.answers == 0 {
		return Doc{}, nil
	}
	value, err := t.held(&t.answer)
	if err != nil {
		return Doc{}, err
	}
	question, err := t.held(&t.asked)
	if err != nil {
		return Doc{}, err
	}
	b := strconv.AppendInt([]byte(`{"count":`), int64(t.answers), 10)
	b = append(b, `,"question":`...)
	if question.IsNull() {
		b = append(b, "null"...)
	}
	b = append(append(b, question.Bytes...), `,"value":`...)
	return jsonDoc(append(append(b, value.Bytes...), '}')), nil
}

// held is a document of the traversal with its bytes, which it then keeps.
func (t *Traversal) held(d *Doc) (Doc, error) {
	if d.Bytes == nil && !d.Digest.IsZero() {
		loaded, err := t.bytes(*d)
		if err != nil {
			return Doc{}, err
		}
		*d = loaded
	}
	return *d, nil
}

// bytes is the document with its bytes, loaded where they were let go.
func (t *Traversal) bytes(d Doc) (Doc, error) {
	if d.Bytes != nil || d.Digest.IsZero() {
		return d, nil
	}
	err := fmt.Errorf("its bytes were let go, and there is nothing to load them with")
	if t.load != nil {
		var b []byte
		if b, err = t.load(d.Digest); err == nil {
			return Doc{Digest: d.Digest, Bytes: b}, nil
		}
	}
	return Doc{}, &Error{
		Op: "read document", Subject: d.Digest.String(), Kind: KindInfrastructure, Code: EStore, Err: err,
		Hint: "run the pipeline again: the item is replayed, and what is gone is made anew",
	}
}

// jsonDoc is a value that is no stored document.
func jsonDoc(b []byte) Doc { return Doc{Bytes: b} }

func quote(s string) []byte { return appendQuoted(nil, s) }

func appendQuoted(b []byte, s string) []byte {
	// An error tells of invalid UTF-8 only, which is replaced all the same.
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// canonical is the failure as expressions read it.
func (f *Failure) canonical() []byte {
	b := []byte(`{"cause":`)
	if f.Cause == "" {
		b = append(b, "null"...)
	} else {
		b = appendQuoted(b, string(f.Cause))
	}
	b = appendQuoted(append(b, `,"code":`...), string(f.Code))
	b = appendQuoted(append(b, `,"message":`...), f.Message)
	return append(b, '}')
}

// canonical is the finding as expressions read it.
func (f *Finding) canonical() []byte {
	b := appendQuoted([]byte(`{"code":`), string(f.Code))
	b = appendQuoted(append(b, `,"evidence":`...), f.Evidence)
	b = append(b, `,"figure":`...)
	if f.Figure == nil {
		b = append(b, "null"...)
	} else {
		b = appendNumber(b, *f.Figure)
	}
	b = append(b, `,"mode":`...)
	if f.Shadow {
		b = append(b, `"shadow"`...)
	} else {
		b = append(b, `"apply"`...)
	}
	b = appendQuoted(append(b, `,"stage":`...), f.Stage)
	b = appendQuoted(append(b, `,"triage":`...), string(f.Triage))
	return append(b, '}')
}

// appendNumber writes a finite number as RFC 8785 does.
func appendNumber(b []byte, n float64) []byte {
	v := jsontext.Value(strconv.AppendFloat(nil, n, 'g', -1, 64))
	if err := v.Canonicalize(); err != nil {
		panic(fmt.Sprintf("dag: invariant broken: a figure is not a number: %v", err))
	}
	return append(b, v...)
}
