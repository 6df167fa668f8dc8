// Package canon reads JSON strictly and writes it in the one form that is
// stored and hashed, that of RFC 8785.
//
// Everything that takes a document from outside calls it: the sources, the
// engine for what plugins answer, the gate for what stands in a corpus.
//
// It refuses what two readers could understand in two ways, or what it could
// not give back: duplicate names, bad UTF-8, lone surrogates, a byte order
// mark, trailing data, NaN, nesting past 1,000, numbers beyond a double, and
// integers that a double would change.
package canon

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 1000

// Error says why a text is not one strict JSON document, and where.
type Error struct {
	Offset  int    // in bytes, from 0
	Line    int    // from 1
	Column  int    // in characters, from 1
	Pointer string // JSON Pointer of the value that is wrong, or that holds what is wrong; empty: the whole document
	Reason  string // what is wrong, and where it helps what to write instead
}

func (e *Error) Error() string {
	s := fmt.Sprintf("line %d, column %d", e.Line, e.Column)
	if e.Pointer != "" {
		s += " (" + clip(e.Pointer) + ")"
	}
	return s + ": " + e.Reason
}

// clip keeps a pointer into a hostile document from filling the screen.
func clip(pointer string) string {
	const most = 120
	if len(pointer) <= most {
		return pointer
	}
	head := bytes.ToValidUTF8([]byte(pointer[:most/2]), nil)
	tail := bytes.ToValidUTF8([]byte(pointer[len(pointer)-most/2:]), nil)
	return string(head) + "…" + string(tail)
}

// The set is built once: joining options for each document is a third of the
// cost of a small one.
var canonicalForm = json.JoinOptions(
	jsontext.CanonicalizeRawInts(true),
	jsontext.CanonicalizeRawFloats(true),
	jsontext.ReorderRawObjects(true),
)

// Canonical appends to dst the canonical form of raw, which must be exactly
// one JSON document (white space around it is allowed). Where it is not, dst
// comes back as it was, with an *Error. What Canonical wrote, it reads again
// to the same bytes. dst and raw must not overlap.
func Canonical(dst, raw []byte) ([]byte, error) {
	if out, ok := fast(dst, raw); ok {
		return out, nil
	}
	return general(dst, raw)
}

// general reads any document, and is the judge of what is refused.
func general(dst, raw []byte) ([]byte, error) {
	out, err := jsontext.AppendFormat(dst, raw, canonicalForm)
	if err != nil || !withinBounds(raw) {
		return dst, locate(raw)
	}
	return out, nil
}

// Valid reports, as an *Error, why Canonical would refuse raw.
func Valid(raw []byte) error {
	if jsontext.Value(raw).IsValid() && withinBounds(raw) {
		return nil
	}
	return locate(raw)
}

// Quote appends s to dst as a JSON string in canonical form. Bytes of s that
// are not UTF-8 become U+FFFD: a caller that must know has looked before.
func Quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
