package gate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"math/bits"
)

// key is what rows are found by: 128 bits of a SHA-256.
type key [16]byte

func keyOf(text string) key {
	sum := sha256.Sum256([]byte(text))
	return key(sum[:16])
}

func (k key) String() string { return hex.EncodeToString(k[:]) }

func (k key) hash() uint64 { return binary.BigEndian.Uint64(k[:8]) }

func parseKey(s string) (key, error) {
	var k key
	if len(s) != 2*len(k) {
		return key{}, fmt.Errorf("a key has %d hex digits", 2*len(k))
	}
	_, err := hex.Decode(k[:], []byte(s))
	return k, err
}

// place is where a row stands: in which log, at which offset.
type place uint64

const placeBits = 56

func placeOf(log uint8, off int64) place { return place(log)<<placeBits | place(off) }

func (p place) log() uint8    { return uint8(p >> placeBits) }
func (p place) offset() int64 { return int64(p & (1<<placeBits - 1)) }

// index finds the places of rows by the first 64 bits of their keys. It only
// proposes: whoever looks something up reads the row and compares the whole key,
// so 16 bytes an entry are enough and no two keys are ever taken for one.
type index struct {
	slots []slot // open addressing; a place of zero is free
	n     int
}

type slot struct {
	hash  uint64
	place place // never zero: logs are numbered from 1
}

func (x *index) add(k key, p place) {
	if x.n >= len(x.slots)-len(x.slots)/8 {
		x.grow()
	}
	x.insert(slot{k.hash(), p})
	x.n++
}

func (x *index) insert(s slot) {
	for i := x.start(s.hash); ; i = x.after(i) {
		if x.slots[i].place == 0 {
			x.slots[i] = s
			return
		}
	}
}

// start spreads a hash over the slots, of which there need not be a power of two:
// growing by half keeps memory near what is used.
func (x *index) start(hash uint64) int {
	high, _ := bits.Mul64(hash, uint64(len(x.slots)))
	return int(high)
}

func (x *index) after(i int) int {
	if i++; i == len(x.slots) {
		return 0
	}
	return i
}

func (x *index) grow() {
	old := x.slots
	x.slots = make([]slot, max(64, len(old)+len(old)/2))
	for _, s := range old {
		if s.place != 0 {
			x.insert(s)
		}
	}
}

// places proposes where rows of a key may stand.
func (x *index) places(k key) iter.Seq[place] {
	return func(yield func(place) bool) {
		if len(x.slots) == 0 {
			return
		}
		hash := k.hash()
		for i := x.start(hash); x.slots[i].place != 0; i = x.after(i) {
			if x.slots[i].hash == hash && !yield(x.slots[i].place) {
				return
			}
		}
	}
}
