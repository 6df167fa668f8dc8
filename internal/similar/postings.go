package similar

// entry tells that a set has a word, among the first of its words. What else is in
// it leaves out most sets without a look at them.
type entry struct {
	set  uint32
	size uint16 // of the set, clamped
	pos  uint16 // of the word in it, clamped
	sign uint32 // half of the set's signature
}

func entryOf(set uint32, size, pos int, sign signature) entry {
	return entry{set, clamp(size), clamp(pos), sign.half()}
}

// base has the postings of most sets: for each code those of one scope together,
// of one size together. It is made at once and not changed.
type base struct {
	sets   int // the first so many sets
	low    uint32
	starts []uint32 // by code less low, and the end of the last
	posts  []post
}

type post struct {
	scope uint32
	entry
}

// group are the postings of a code.
func (b *base) group(code uint32) []post {
	i := code - b.low
	if code < b.low || int64(i) >= int64(len(b.starts))-1 {
		return nil
	}
	return b.posts[b.starts[i]:b.starts[i+1]]
}

// each calls f with the entries of a code in a scope whose sets have from low to
// high words, until f says false, which it passes on.
func (b *base) each(code, scope uint32, low, high uint64, f func(entry) bool) bool {
	posts := b.group(code)
	from, to := clamp(low), clamp(high)
	lo, hi := 0, len(posts)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if p := &posts[mid]; p.scope < scope || p.scope == scope && p.size < from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for _, p := range posts[lo:] {
		if p.scope != scope || p.size > to {
			break
		}
		if !f(p.entry) {
			return false
		}
	}
	return true
}

// build makes a base of the sets from one on.
func (x *Index) build(from int) base {
	b := base{sets: x.Len(), low: x.words.low}
	b.starts = make([]uint32, x.words.len()+1)
	for n := uint32(from); int(n) < x.Len(); n++ {
		set := x.set(n)
		for _, code := range set[:x.prefix(uint64(len(set)))] {
			b.starts[code-b.low]++
		}
	}
	end := uint32(0)
	for i, count := range b.starts {
		b.starts[i] = end
		end += count
	}
	// Sets in the order of scope and size leave the entries of each code in it.
	// starts moves on with each entry, until it is where the next code starts.
	b.posts = make([]post, end)
	for _, n := range x.inOrder(from) {
		set := x.set(n)
		for pos, code := range set[:x.prefix(uint64(len(set)))] {
			at := &b.starts[code-b.low]
			b.posts[*at] = post{x.scope[n], entryOf(n, len(set), pos, x.signs[n])}
			*at++
		}
	}
	copy(b.starts[1:], b.starts)
	b.starts[0] = 0
	return b
}

// merge makes one base of the present one and that of later sets, which knows all
// codes of now.
func (x *Index) merge(later base) base {
	old := x.base
	b := base{sets: later.sets, low: later.low, starts: make([]uint32, len(later.starts)), posts: make([]post, 0, len(old.posts)+len(later.posts))}
	for i := range len(b.starts) - 1 {
		b.starts[i] = uint32(len(b.posts))
		a, c := old.group(later.low+uint32(i)), later.posts[later.starts[i]:later.starts[i+1]]
		for len(a) > 0 && len(c) > 0 {
			// On a tie the older set stands first.
			if a[0].scope < c[0].scope || a[0].scope == c[0].scope && a[0].size <= c[0].size {
				b.posts, a = append(b.posts, a[0]), a[1:]
			} else {
				b.posts, c = append(b.posts, c[0]), c[1:]
			}
		}
		b.posts = append(append(b.posts, a...), c...)
	}
	b.starts[len(b.starts)-1] = uint32(len(b.posts))
	return b
}

// inOrder are the sets from one on by scope, then size, then age.
func (x *Index) inOrder(from int) []uint32 {
	largest := 0
	order := make([]uint32, 0, x.Len()-from)
	for n := uint32(from); int(n) < x.Len(); n++ {
		largest = max(largest, int(clamp(len(x.set(n)))))
		order = append(order, n)
	}
	order = sortedBy(order, largest+1, func(n uint32) int { return int(clamp(len(x.set(n)))) })
	if len(x.names) > 1 {
		order = sortedBy(order, len(x.names), func(n uint32) int { return int(x.scope[n]) })
	}
	return order
}

// sortedBy sorts stably by a small number.
func sortedBy(sets []uint32, keys int, key func(uint32) int) []uint32 {
	next := make([]uint32, keys+1)
	for _, n := range sets {
		next[key(n)+1]++
	}
	for i := 1; i <= keys; i++ {
		next[i] += next[i-1]
	}
	out := make([]uint32, len(sets))
	for _, n := range sets {
		k := key(n)
		out[next[k]] = n
		next[k]++
	}
	return out
}

// recent has the postings of the sets that came after the base was made, chained
// by code and scope.
type recent struct {
	sets  int
	nodes []node
	slots []chain // open addressing; a power of two
	used  int
}

type node struct {
	entry
	next uint32 // in nodes, plus one; zero: none
}

type chain struct {
	code, scope uint32
	first       uint32 // in nodes, plus one; zero: a free slot
}

func (r *recent) add(code, scope uint32, e entry) {
	if r.used >= len(r.slots)/4*3 {
		r.grow()
	}
	c := r.chain(code, scope)
	if c.first == 0 {
		c.code, c.scope = code, scope
		r.used++
	}
	r.nodes = append(r.nodes, node{e, c.first})
	c.first = uint32(len(r.nodes))
}

func (r *recent) chain(code, scope uint32) *chain {
	mask := uint64(len(r.slots) - 1)
	hash := (uint64(code)<<32 | uint64(scope)) * 0x9E3779B97F4A7C15
	for i := hash >> 32 & mask; ; i = (i + 1) & mask {
		if c := &r.slots[i]; c.first == 0 || c.code == code && c.scope == scope {
			return c
		}
	}
}

func (r *recent) grow() {
	old := r.slots
	r.slots = make([]chain, max(64, 2*len(old)))
	for _, c := range old {
		if c.first > 0 {
			*r.chain(c.code, c.scope) = c
		}
	}
}

// each is base.each for the recent sets.
func (r *recent) each(code, scope uint32, low, high uint64, f func(entry) bool) bool {
	if r.sets == 0 {
		return true
	}
	from, to := clamp(low), clamp(high)
	for at := r.chain(code, scope).first; at > 0; at = r.nodes[at-1].next {
		if e := r.nodes[at-1].entry; e.size >= from && e.size <= to && !f(e) {
			return false
		}
	}
	return true
}
