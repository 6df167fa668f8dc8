package similar

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// MaxDenominator bounds the denominator of a threshold, so that no product of it
// and a set's size overflows.
const MaxDenominator = 1_000_000_000

// errFull says that an index can hold no more.
var errFull = errors.New("the index is full: it holds less than 2^32 words in all")

// Index holds sets of words. Nearest and WriteTo may be called by several
// goroutines; Add needs the index for itself.
type Index struct {
	num, den uint64
	words    dictionary
	scopes   map[string]uint32
	names    []string // of the scopes, by number

	// The sets, in the order in which they were added.
	codes  []uint32    // of all sets, one after the other; ascending in each
	starts []uint32    // of each set in codes, and the end of the last
	scope  []uint32    // of each set
	refs   []uint64    // what the caller calls it
	signs  []signature // of each set

	base   base
	recent recent
	frozen int // sets whose words made the order
	least  int // fewer recent sets than this are not merged into the base
}

// New makes an index for the threshold num/den: above 0, at most 1.
func New(num, den uint64) (*Index, error) {
	if num == 0 || num > den || den > MaxDenominator {
		return nil, fmt.Errorf("the threshold %d/%d must lie above 0 and be at most 1, in units of at least 1/%d", num, den, MaxDenominator)
	}
	x := &Index{num: num, den: den, scopes: map[string]uint32{}, starts: []uint32{0}, least: 1024}
	x.words.init()
	return x, nil
}

// Threshold is what the index was made for.
func (x *Index) Threshold() (num, den uint64) { return x.num, x.den }

// Len is the number of sets.
func (x *Index) Len() int { return len(x.refs) }

// Add adds the set of words under a scope; words that occur twice count once. An
// empty set is similar to nothing and is not kept. On an error nothing was added.
func (x *Index) Add(scope string, words []string, ref uint64) error {
	if len(words) == 0 {
		return nil
	}
	total := 0
	for _, w := range words {
		total += len(w)
	}
	if len(x.codes)+len(words) > math.MaxUint32 || len(x.words.text)+total > math.MaxUint32 || x.words.len()+len(words) > maxWords {
		return errFull
	}
	from := len(x.codes)
	var sign signature
	for _, w := range words {
		id := x.words.add(w)
		sign |= signOf(id)
		x.codes = append(x.codes, x.words.words[id].code)
	}
	set := x.codes[from:]
	slices.Sort(set)
	x.codes = x.codes[:from+len(slices.Compact(set))]
	x.starts = append(x.starts, uint32(len(x.codes)))
	number, ok := x.scopes[scope]
	if !ok {
		number = uint32(len(x.names))
		x.scopes[scope] = number
		x.names = append(x.names, scope)
	}
	x.scope = append(x.scope, number)
	x.refs = append(x.refs, ref)
	x.signs = append(x.signs, sign)
	x.index(uint32(len(x.refs) - 1))
	return nil
}

// index makes the last set findable.
func (x *Index) index(n uint32) {
	set := x.set(n)
	for pos, code := range set[:x.prefix(uint64(len(set)))] {
		x.recent.add(code, x.scope[n], entryOf(n, len(set), pos, x.signs[n]))
	}
	x.recent.sets++
	if x.recent.sets >= max(x.least, x.base.sets/recentShare) {
		x.Merge()
	}
}

// recentShare is the part of all sets that may be recent: their postings are
// slower, and merging costs time for all sets.
const recentShare = 16

// Merge brings all sets into the form that is searched and read back fastest, as
// adding does from time to time. It needs the index for itself.
func (x *Index) Merge() {
	switch {
	case x.recent.sets == 0:
		return
	case x.Len() >= 2*x.frozen:
		x.reorder()
		x.base = x.build(0)
	default:
		x.base = x.merge(x.build(x.base.sets))
	}
	x.recent = recent{}
}

// set gives the codes of a set.
func (x *Index) set(n uint32) []uint32 { return x.codes[x.starts[n]:x.starts[n+1]] }

// fewest is the size of the smallest set that n words can match, and most of the largest.
func (x *Index) fewest(n uint64) uint64 { return ceil(x.num*n, x.den) }
func (x *Index) most(n uint64) uint64   { return x.den * n / x.num }

// prefix is how many of n words, the rarest first, meet every match: with one
// more left out, too few would be left to reach the threshold.
func (x *Index) prefix(n uint64) uint64 { return n - x.fewest(n) + 1 }

// overlap is how many words sets of n and m words must share to reach num/den.
func overlap(num, den, n, m uint64) uint64 { return ceil(num*(n+m), num+den) }

func ceil(a, b uint64) uint64 { return (a + b - 1) / b }

// query is a search on its way.
type query struct {
	x        *Index
	codes    []uint32 // of the words that some set has, ascending
	unknown  uint64   // words that no set has: they stand before all others
	n        uint64   // words altogether
	scope    uint32
	sign     signature
	num, den uint64 // what is still of use: the threshold, then the best so far
	budget   int    // postings that may still be walked

	found bool
	best  uint32
	inter uint64
	union uint64
}

// Nearest finds the set of a scope that is most similar to words, if one reaches
// the threshold; among several the one that was added first. inter is how many
// words both have, union how many they have altogether.
func (x *Index) Nearest(scope string, words []string) (ref uint64, inter, union int, found bool) {
	number, ok := x.scopes[scope]
	if !ok || len(words) == 0 {
		return 0, 0, 0, false
	}
	var room [64]uint32
	q := query{x: x, scope: number, num: x.num, den: x.den, codes: room[:0]}
	q.take(words)
	if !q.walk() {
		q.scan()
	}
	if !q.found {
		return 0, 0, 0, false
	}
	return x.refs[q.best], int(q.inter), int(q.union), true
}

// take notes the words that are searched for. Those that no set has count, and
// need no bit in the signature: they are left over on this side in any case.
func (q *query) take(words []string) {
	var room [16]string
	unknown := room[:0]
	for _, w := range words {
		id, ok := q.x.words.find(w)
		if !ok {
			unknown = append(unknown, w)
			continue
		}
		q.sign |= signOf(id)
		q.codes = append(q.codes, q.x.words.words[id].code)
	}
	slices.Sort(q.codes)
	q.codes = slices.Compact(q.codes)
	if len(unknown) > 1 {
		slices.Sort(unknown)
		unknown = slices.Compact(unknown)
	}
	q.unknown = uint64(len(unknown))
	q.n = q.unknown + uint64(len(q.codes))
}

// walk goes through the postings of the rarest words. It gives up, with false,
// where going through all sets is cheaper.
func (q *query) walk() bool {
	q.budget = 1024 + q.x.Len()/walkShare
	prefix := q.x.prefix(q.n)
	low, high := q.x.fewest(q.n), q.x.most(q.n)
	for i, code := range q.codes {
		if q.unknown+uint64(i) >= prefix {
			break
		}
		if !q.x.base.each(code, q.scope, low, high, func(e entry) bool { return q.meet(i, e) }) ||
			!q.x.recent.each(code, q.scope, low, high, func(e entry) bool { return q.meet(i, e) }) {
			return false
		}
	}
	return true
}

// walkShare is the part of all sets whose postings take as long to walk as going
// through the signatures of all sets.
const walkShare = 32

// meet compares with a set that has the word i of the query at e.pos.
func (q *query) meet(i int, e entry) bool {
	if q.budget--; q.budget < 0 {
		return false
	}
	size := uint64(e.size)
	if e.size == math.MaxUint16 {
		size = uint64(len(q.x.set(e.set)))
	}
	need := overlap(q.num, q.den, q.n, size)
	if !q.within(need, size, bits.OnesCount32(q.sign.half()^e.sign)) {
		return true
	}
	// If they share a word before this one, the set was met there, and this bound is
	// about what follows only: nothing is lost.
	if shared := 1 + min(uint64(len(q.codes)-i-1), size-uint64(e.pos)-1); shared >= need {
		q.compare(e.set, need, i, e.pos)
	}
	return true
}

// within reports whether a set of so many words can share as many as it must when
// so many bits of the signatures differ: each is a word that one of the two has
// alone.
func (q *query) within(need, size uint64, differ int) bool {
	both := q.n + size
	return 2*need <= both && uint64(differ) <= both-2*need
}

// scan goes through all sets.
func (q *query) scan() {
	low, high := q.x.fewest(q.n), q.x.most(q.n)
	for n, scope := range q.x.scope {
		size := uint64(q.x.starts[n+1] - q.x.starts[n])
		if scope != q.scope || size < low || size > high {
			continue
		}
		need := overlap(q.num, q.den, q.n, size)
		if q.within(need, size, bits.OnesCount64(uint64(q.sign^q.x.signs[n]))) {
			q.compare(uint32(n), need, -1, 0)
		}
	}
}

// compare counts the words in common, stopping where need is out of reach. With i
// not negative it stops where a word before the word i is common: the set was
// compared when that one was met.
func (q *query) compare(n uint32, need uint64, i int, pos uint16) {
	set := q.x.set(n)
	a, b, inter := 0, 0, uint64(0)
	for a < len(q.codes) && b < len(set) {
		switch {
		case q.codes[a] < set[b]:
			a++
		case q.codes[a] > set[b]:
			b++
		default:
			if inter == 0 && i >= 0 && (a != i || clamp(b) != pos) {
				return
			}
			inter++
			a++
			b++
			continue
		}
		if inter+uint64(min(len(q.codes)-a, len(set)-b)) < need {
			return
		}
	}
	union := q.n + uint64(len(set)) - inter
	switch {
	case q.x.den*inter < q.x.num*union:
		return
	case !q.found, inter*q.union > q.inter*union, inter*q.union == q.inter*union && n < q.best:
		q.found, q.best, q.inter, q.union = true, n, inter, union
		q.num, q.den = inter, union
	}
}

// signature has a bit set for each word, one of 64.
type signature uint64

func signOf(id uint32) signature { return 1 << (id * 0x9E3779B1 >> 26) }

// half is the signature with one of 32 bits for each word.
func (s signature) half() uint32 { return uint32(s) | uint32(s>>32) }

// clamp is n, or the largest number of 16 bits, which stands for all from there on.
func clamp[T int | uint64](n T) uint16 { return uint16(min(n, math.MaxUint16)) }
