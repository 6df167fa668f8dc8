package dag

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest is the SHA-256 of a document in canonical form (RFC 8785), or of the
// parts of an action. The zero Digest names nothing.
type Digest [sha256.Size]byte

// Sum is the digest of b.
func Sum(b []byte) Digest { return sha256.Sum256(b) }

// IsZero reports whether d names nothing.
func (d Digest) IsZero() bool { return d == Digest{} }

// String is d as 64 lower-case hex digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Short is the first 12 hex digits, for people.
func (d Digest) Short() string { return hex.EncodeToString(d[:6]) }

// MarshalText writes d as hex, the zero Digest as the empty text.
func (d Digest) MarshalText() ([]byte, error) {
	if d.IsZero() {
		return nil, nil
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	parsed, err := ParseDigest(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// ParseDigest reads 64 hex digits.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if len(s) != 2*len(d) {
		return Digest{}, fmt.Errorf("a digest has %d hex digits, this has %d characters", 2*len(d), len(s))
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil {
		return Digest{}, fmt.Errorf("a digest is written in hex digits: %w", err)
	}
	return d, nil
}

// Doc is an immutable JSON document in canonical form with its digest.
//
// The zero Doc stands for null: nothing there. A Doc with a digest and no
// Bytes is a reference whose bytes were let go; whoever needs them loads them
// by digest (see Load).
type Doc struct {
	Digest Digest
	Bytes  []byte // canonical JSON; shared, never written to
}

// NewDoc names canonical bytes. It does not canonicalise: the caller has.
func NewDoc(canonical []byte) Doc { return Doc{Digest: Sum(canonical), Bytes: canonical} }

// IsNull reports whether there is no document.
func (d Doc) IsNull() bool { return d.Digest.IsZero() && d.Bytes == nil }

// Load gives the canonical bytes of a stored document. An error means that the
// document is gone or damaged, which is infrastructure, never content.
type Load func(Digest) ([]byte, error)
