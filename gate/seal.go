package gate

import (
	"crypto/sha256"
	"encoding"
	"fmt"
	"hash"
	"io"
)

// seal covers a file from its first byte to its size at a checkpoint. A tail tells
// that a file is the one that was left, in no time; a seal tells an audit of a byte
// that was changed anywhere, in rows that neither the chain of the evidence nor
// the digest of a record covers.
type seal struct {
	Size int64 `json:"size"`
	// State is the SHA-256 of the file, stopped where the next checkpoint goes on:
	// each byte is hashed once in the life of a corpus.
	State []byte `json:"state"`
}

// sealing goes on where a seal stopped.
func sealing(last seal) (h hash.Hash, from int64) {
	h = sha256.New()
	if h.(encoding.BinaryUnmarshaler).UnmarshalBinary(last.State) != nil {
		return sha256.New(), 0 // of no earlier checkpoint, or of one that cannot be read
	}
	return h, last.Size
}

// sum is the digest of the bytes that are sealed; ok is false where the seal is none.
func (s seal) sum() (sum [sha256.Size]byte, ok bool) {
	h := sha256.New()
	if h.(encoding.BinaryUnmarshaler).UnmarshalBinary(s.State) != nil {
		return sum, false
	}
	return [sha256.Size]byte(h.Sum(nil)), true
}

// seal covers what was written to a file since the last checkpoint.
func (s *store) seal(name string, t *target) error {
	h, from := sealing(s.seals[name])
	if from > t.size {
		h, from = sha256.New(), 0
	}
	if _, err := io.CopyN(h, io.NewSectionReader(t.f, from, t.size-from), t.size-from); err != nil {
		return fmt.Errorf("read back %s: %w", name, err)
	}
	state, err := h.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return err
	}
	s.seals[name] = seal{t.size, state}
	return nil
}
