package similar

import (
	"hash/maphash"
	"slices"
)

// Codes of words: those of the words that made the order ascend from middle, with
// their frequency; those of later words descend from it.
const (
	middle   = 1 << 31
	maxWords = middle - 1
)

// dictionary gives words numbers, from 0 in the order of their coming, and codes.
// All words stand in one piece of memory: a million strings would each cost the
// collector a look.
type dictionary struct {
	text  []byte
	words []word // by number
	low   uint32 // the lowest code; they are without a gap

	seed  maphash.Seed
	slots []wordSlot // open addressing; a power of two
}

// word is found with one look at memory: a search asks for every word's text and code.
type word struct {
	end  uint32 // in text
	code uint32
}

type wordSlot struct {
	hash   uint32
	number uint32 // plus one; zero: free
}

func (d *dictionary) init() {
	d.low = middle
	d.seed = maphash.MakeSeed()
	d.slots = make([]wordSlot, 64)
}

func (d *dictionary) len() int { return len(d.words) }

func (d *dictionary) word(number uint32) []byte {
	start := uint32(0)
	if number > 0 {
		start = d.words[number-1].end
	}
	return d.text[start:d.words[number].end]
}

func (d *dictionary) find(word string) (number uint32, ok bool) {
	slot := slotOf(d, word, uint32(maphash.String(d.seed, word)))
	return slot.number - 1, slot.number > 0
}

// slotOf is where a word stands, or belongs.
func slotOf[T string | []byte](d *dictionary, word T, hash uint32) *wordSlot {
	mask := uint32(len(d.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &d.slots[i]
		if s.number == 0 || s.hash == hash && string(d.word(s.number-1)) == string(word) {
			return s
		}
	}
}

// add gives the number of a word, which is new or not.
func (d *dictionary) add(text string) uint32 {
	hash := uint32(maphash.String(d.seed, text))
	slot := slotOf(d, text, hash)
	if slot.number > 0 {
		return slot.number - 1
	}
	number := uint32(d.len())
	d.text = append(d.text, text...)
	d.low--
	d.words = append(d.words, word{uint32(len(d.text)), d.low})
	*slot = wordSlot{hash, number + 1}
	if d.len() > len(d.slots)/4*3 {
		d.spread(2 * len(d.slots))
	}
	return number
}

// spread puts all words into a table of so many slots, and reports whether each
// is there once.
func (d *dictionary) spread(slots int) bool {
	d.slots = make([]wordSlot, slots)
	for number := range uint32(d.len()) {
		word := d.word(number)
		hash := uint32(maphash.Bytes(d.seed, word))
		slot := slotOf(d, word, hash)
		if slot.number > 0 {
			return false
		}
		*slot = wordSlot{hash, number + 1}
	}
	return true
}

// byCode gives the numbers of the words by their codes, less the lowest; nil where
// the codes are not what they must be, each once and without a gap.
func (d *dictionary) byCode() []uint32 {
	numbers := make([]uint32, d.len())
	seen := make([]bool, d.len())
	for number, w := range d.words {
		i := w.code - d.low
		if w.code < d.low || int64(i) >= int64(len(numbers)) || seen[i] {
			return nil
		}
		numbers[i], seen[i] = uint32(number), true
	}
	return numbers
}

// reorder gives all words codes by the number of sets that have them, and the
// sets those codes.
func (x *Index) reorder() {
	d := &x.words
	counts := make([]uint32, d.len())
	for _, code := range x.codes {
		counts[code-d.low]++
	}
	order := d.byCode()
	slices.SortFunc(order, func(a, b uint32) int {
		if ca, cb := counts[d.words[a].code-d.low], counts[d.words[b].code-d.low]; ca != cb {
			return int(ca) - int(cb)
		}
		return int(a) - int(b)
	})
	next := make([]uint32, d.len()) // by the old code, less the lowest
	for rank, number := range order {
		next[d.words[number].code-d.low] = middle + uint32(rank)
		d.words[number].code = middle + uint32(rank)
	}
	for i, code := range x.codes {
		x.codes[i] = next[code-d.low]
	}
	d.low = middle
	for n := range uint32(x.Len()) {
		slices.Sort(x.set(n))
	}
	x.frozen = x.Len()
}
