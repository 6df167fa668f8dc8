package staging

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// table maps 32 bits of a digest to a position that is not zero. It may hold
// several positions for the same bits: whoever looks compares what lies there.
//
// A slot takes 12 bytes and the load of a large table stays between 64 and 80
// in a hundred, so an entry costs 15 to 19. The slots lie outside the Go heap: there they would
// cost the same again as room for the garbage collector, and an index of
// millions is the largest thing that a run holds.
//
// An entry's home is proportional to its bits, not their remainder: so any
// size will do, and growing is one pass in order.
type table struct {
	slots   []slot
	used    int
	release func()
}

type slot struct{ hash, hi, lo uint32 }

func (s slot) pos() uint64 { return uint64(s.hi)<<32 | uint64(s.lo) }

const minSlots = 1 << 10

func (t *table) home(hash uint32) int { return int(uint64(hash) * uint64(len(t.slots)) >> 32) }

// cursor walks the entries with the same bits.
type cursor struct {
	at  int
	pos uint64 // 0: no more
}

// first finds the first entry with these bits.
func (t *table) first(hash uint32) cursor {
	if t.used == 0 {
		return cursor{}
	}
	return t.seek(hash, t.home(hash))
}

// next finds the entry after c.
func (t *table) next(hash uint32, c cursor) cursor { return t.seek(hash, t.after(c.at)) }

func (t *table) seek(hash uint32, at int) cursor {
	for ; ; at = t.after(at) {
		s := &t.slots[at]
		if pos := s.pos(); pos == 0 || s.hash == hash {
			return cursor{at: at, pos: pos}
		}
	}
}

func (t *table) after(at int) int {
	if at++; at == len(t.slots) {
		return 0
	}
	return at
}

// set gives the entry that c points at another position.
func (t *table) set(c cursor, pos uint64) {
	t.slots[c.at].hi, t.slots[c.at].lo = uint32(pos>>32), uint32(pos)
}

// add makes a new entry.
func (t *table) add(hash uint32, pos uint64) {
	if pos == 0 {
		panic("staging: position 0 in an index")
	}
	if t.used >= room(len(t.slots)) {
		t.grow(t.used + 1)
	}
	t.place(hash, pos)
	t.used++
}

func (t *table) place(hash uint32, pos uint64) {
	at := t.home(hash)
	for t.slots[at].pos() != 0 {
		at = t.after(at)
	}
	t.slots[at] = slot{hash: hash, hi: uint32(pos >> 32), lo: uint32(pos)}
}

// room is how many entries so many slots may hold.
func room(slots int) int { return slots / 5 * 4 }

// grow makes room for n entries.
func (t *table) grow(n int) {
	size := max(minSlots, len(t.slots))
	for room(size) < n {
		if size < 1<<16 { // memory does not matter yet, passes do
			size *= 2
		} else {
			size += size / 4
		}
	}
	old, release := t.slots, t.release
	t.slots, t.release = offHeap[slot](size)
	for _, s := range old {
		if pos := s.pos(); pos != 0 {
			t.place(s.hash, pos)
		}
	}
	if release != nil {
		release()
	}
}

// reserve makes room for n entries more, so that a load need not grow step by step.
func (t *table) reserve(n int) {
	if t.used+n > room(len(t.slots)) {
		t.grow(t.used + n)
	}
}

func (t *table) free() {
	if t.release != nil {
		t.release()
	}
	*t = table{}
}

// arena holds small records, addressed by offset, outside the Go heap.
type arena struct {
	chunks [][]byte
	free   []func()
	end    int // offset of the next record
}

const arenaChunk = 1 << 20

// add copies b and gives its offset. A record does not cross a chunk.
func (a *arena) add(b []byte) int {
	if len(b) > arenaChunk {
		panic("staging: a record that does not fit the arena")
	}
	if used := a.end % arenaChunk; a.end == len(a.chunks)*arenaChunk || used+len(b) > arenaChunk {
		chunk, release := offHeap[byte](arenaChunk)
		a.end = len(a.chunks) * arenaChunk
		a.chunks, a.free = append(a.chunks, chunk), append(a.free, release)
	}
	at := a.end
	copy(a.at(at), b)
	a.end += len(b)
	return at
}

// at is the memory from offset on, to the end of its chunk.
func (a *arena) at(offset int) []byte { return a.chunks[offset/arenaChunk][offset%arenaChunk:] }

func (a *arena) close() {
	for _, release := range a.free {
		release()
	}
	*a = arena{}
}

// offHeap gives zeroed memory that the garbage collector does not count, and
// what returns it. T must hold no pointers.
func offHeap[T slot | byte](n int) ([]T, func()) {
	bytes := n * int(sizeOf[T]())
	if bytes < 1<<16 { // a mapping is whole pages
		return make([]T, n), func() {}
	}
	mem, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Sprintf("staging: no memory for an index of %d bytes: %v", bytes, err))
	}
	return viewAs[T](mem, n), func() { _ = unix.Munmap(mem) }
}
