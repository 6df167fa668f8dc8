package staging

import (
	"encoding/binary"
	"slices"

	"github.com/penstock-run/penstock/dag"
)

// Tally counts ends, in the order of dag.Ends.
type Tally [10]uint32

// Trail is the record of one source item and of all that it fanned out into.
type Trail struct {
	Key     dag.Digest // the whole-trail key: all that the outcome depends on
	Source  string     // name of the source block
	ItemKey string     // of the source item
	Intake  dag.Digest // names the record and the source that it was read from; zero where the item was refused
	Origin  dag.Digest // of the document that the record was taken in as; zero where it was refused
	Run     string
	Final   bool  // nothing is left to do for any of them
	Ends    Tally // how they ended
	Body    []byte
	needs   []segmentEnd
	loose   []looseNeed
}

type segmentEnd struct {
	segment uint32
	end     uint32
}

type looseNeed struct {
	digest dag.Digest
	length uint32
}

// Need says that the trail is worth nothing without this artifact: Trail finds
// a trail only while all of them are there.
func (t *Trail) Need(ref Ref, digest dag.Digest) {
	if ref.Loose() {
		need := looseNeed{digest, ref.Length}
		if !slices.Contains(t.loose, need) {
			t.loose = append(t.loose, need)
		}
		return
	}
	end := uint32(ref.end())
	for i := range t.needs {
		if t.needs[i].segment == ref.Segment {
			t.needs[i].end = max(t.needs[i].end, end)
			return
		}
	}
	t.needs = append(t.needs, segmentEnd{ref.Segment, end})
}

// TrailHead is what a look-up tells without reading the trail's body.
type TrailHead struct {
	KeyHash uint64 // KeyHash of the item's key
	Final   bool
	Ends    Tally
	key     dag.Digest
}

const (
	kindTrail = 't'

	longHead      = 4 << 10
	headElsewhere = 2 // in the place of the flag
)

type trailIndex struct {
	store *Store
	log   appendLog

	// A head, in the arena: position in the log (8 bytes), then the record's
	// payload up to its texts: key, flag, key's hash, ends, needs. Where that is longer than
	// a page the key stands alone, and the rest is read from the log.
	heads arena
	head  []byte // to build one in
	byKey table  // key → offset in heads, plus 1

	byItem      table // source and item key → position in the log; newest only
	itemsLoaded bool
}

func (x *trailIndex) open(s *Store) {
	x.store, x.log = s, s.newLog("trails.log")
	x.log.apply = func(kind byte, payload []byte, at int64) {
		if kind == kindTrail {
			x.enter(payload, uint64(at))
		}
	}
	x.log.expect = func(bytes int64) { x.byKey.reserve(int(bytes / 1200)) }
	x.log.placed = func(kind byte, payload []byte, pending uint64, at int64) {
		if at == 0 {
			x.enter(payload, pending)
			return
		}
		x.settle(payload, pending, uint64(at))
	}
}

func (x *trailIndex) free() {
	x.byKey.free()
	x.byItem.free()
	x.heads.close()
}

// enter adds a trail to the indexes that are loaded.
func (x *trailIndex) enter(payload []byte, pos uint64) {
	n := headLen(payload)
	if n == 0 {
		return
	}
	b := binary.LittleEndian.AppendUint64(x.head[:0], pos)
	if 8+n < longHead {
		b = append(b, payload[:n]...)
	} else {
		b = append(append(b, payload[:len(dag.Digest{})]...), headElsewhere)
	}
	x.head = b
	at := uint64(x.heads.add(b)) + 1
	key := dag.Digest(payload)
	if c := x.findKey(key); c.pos != 0 {
		x.byKey.set(c, at)
	} else {
		x.byKey.add(hash32(key), at)
	}
	if x.itemsLoaded {
		x.enterItem(payload[n:], pos)
	}
}

func (x *trailIndex) enterItem(rest []byte, pos uint64) {
	r := reader{b: rest}
	source, item := r.take(r.count()), r.take(r.count())
	if r.short {
		return
	}
	hash := itemHash(string(source), string(item))
	for c := x.byItem.first(hash); c.pos != 0; c = x.byItem.next(hash, c) {
		if t := x.at(c.pos); t == nil || t.Source == string(source) && t.ItemKey == string(item) {
			x.byItem.set(c, pos)
			return
		}
	}
	x.byItem.add(hash, pos)
}

// settle replaces a pending position by the one in the file.
func (x *trailIndex) settle(payload []byte, pending, at uint64) {
	if c := x.findKey(dag.Digest(payload)); c.pos != 0 {
		if head := x.heads.at(int(c.pos - 1)); binary.LittleEndian.Uint64(head) == pending {
			binary.LittleEndian.PutUint64(head, at)
		}
	}
	if !x.itemsLoaded {
		return
	}
	r := reader{b: payload[headLen(payload):]}
	hash := itemHash(string(r.take(r.count())), string(r.take(r.count())))
	for c := x.byItem.first(hash); c.pos != 0; c = x.byItem.next(hash, c) {
		if c.pos == pending {
			x.byItem.set(c, at)
			return
		}
	}
}

func (x *trailIndex) findKey(key dag.Digest) cursor {
	hash := hash32(key)
	c := x.byKey.first(hash)
	for c.pos != 0 && dag.Digest(x.heads.at(int(c.pos - 1))[8:]) != key {
		c = x.byKey.next(hash, c)
	}
	return c
}

// PutTrail records a trail. Everything that it needs has been Put.
func (s *Store) PutTrail(t *Trail) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	payload, pending, err := s.trails.log.add(kindTrail, t.append)
	if err != nil {
		return err
	}
	if s.trails.log.loaded {
		s.trails.enter(payload, pending)
	}
	return nil
}

// Trail looks a trail up by its whole-trail key. One of whose artifacts is
// missing, as far as lengths tell, counts as not there.
func (s *Store) Trail(key dag.Digest) (TrailHead, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trails.log.load() != nil {
		return TrailHead{}, false
	}
	c := s.trails.findKey(key)
	if c.pos == 0 {
		return TrailHead{}, false
	}
	b := s.trails.heads.at(int(c.pos - 1))
	h := TrailHead{key: key}
	r := reader{b: b[8+len(key):]}
	flag := r.byte()
	if flag == headElsewhere {
		payload := s.trails.payload(binary.LittleEndian.Uint64(b))
		r = reader{b: payload}
		r.take(len(key))
		flag = r.byte()
	}
	if hash := r.take(8); hash != nil {
		h.KeyHash = binary.LittleEndian.Uint64(hash)
	}
	h.Final = flag == 1
	for n := r.byte(); n > 0; n-- {
		i := r.byte()
		h.Ends[i%byte(len(h.Ends))] = uint32(r.uint())
	}
	return h, s.needsMet(&r)
}

// Settled reports whether nothing is left to do for the item with this key.
func (s *Store) Settled(key dag.Digest) bool {
	head, ok := s.Trail(key)
	return ok && head.Final
}

func (s *Store) needsMet(r *reader) bool {
	for n := r.uint(); n > 0; n-- {
		number, end := uint32(r.uint()), int64(r.uint())
		if !s.reaches(number, end) {
			return false
		}
	}
	for n := r.uint(); n > 0; n-- {
		digest, length := r.digest(), r.uint()
		if !s.present(Ref{Segment: looseSegment, Length: uint32(length)}, digest) {
			return false
		}
	}
	return !r.short
}

// LoadTrail reads the whole of a trail that was looked up.
func (s *Store) LoadTrail(head TrailHead) (*Trail, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.trails.findKey(head.key); c.pos != 0 {
		if t := s.trails.at(binary.LittleEndian.Uint64(s.trails.heads.at(int(c.pos - 1)))); t != nil {
			return t, nil
		}
	}
	return nil, storeError("read trail", s.trails.log.path, ErrAbsent)
}

// at reads the trail at a position; nil where it is damaged.
func (x *trailIndex) at(pos uint64) *Trail { return decodeTrail(x.payload(pos)) }

// payload reads the record at a position, until the next read; nil where it is
// damaged.
func (x *trailIndex) payload(pos uint64) []byte {
	kind, payload, scratch := x.log.record(pos, x.store.scratch)
	x.store.scratch = scratch
	if kind != kindTrail {
		return nil
	}
	return payload
}

// loadItems builds the index by item, which only people's questions need.
func (x *trailIndex) loadItems() error {
	if err := x.log.load(); err != nil {
		return err
	}
	if x.itemsLoaded {
		return nil
	}
	x.itemsLoaded = true
	enter := func(kind byte, payload []byte, at int64) {
		if n := headLen(payload); kind == kindTrail && n > 0 {
			x.enterItem(payload[n:], uint64(at))
		}
	}
	if x.log.f != nil {
		if _, err := x.log.read(logHead, x.log.known, enter); err != nil {
			x.itemsLoaded = false
			return err
		}
	}
	for _, start := range x.log.starts {
		payload := x.log.frame(start)[frameHead:]
		x.enterItem(payload[headLen(payload):], x.log.pendingAt(start))
	}
	return nil
}

// TrailByItem gives the latest trail of a source item, whether or not its
// artifacts are still there.
func (s *Store) TrailByItem(source, itemKey string) (*Trail, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trails.loadItems() != nil {
		return nil, false
	}
	hash := itemHash(source, itemKey)
	for c := s.trails.byItem.first(hash); c.pos != 0; c = s.trails.byItem.next(hash, c) {
		if t := s.trails.at(c.pos); t != nil && t.Source == source && t.ItemKey == itemKey {
			return t, true
		}
	}
	return nil, false
}

// Trails calls yield with the latest trail of each item, in the order in which
// they were recorded, until it returns false. yield may use the store.
func (s *Store) Trails(yield func(*Trail) bool) error {
	all, waiting, err := s.latest()
	if err != nil {
		return err
	}
	for _, pos := range all {
		s.mu.Lock()
		t := s.trails.at(pos)
		s.mu.Unlock()
		if t != nil && !yield(t) {
			return nil
		}
	}
	for _, t := range waiting {
		if !yield(t) {
			return nil
		}
	}
	return nil
}

// latest lists where the newest trail of each item stands, and gives those
// that are not in the file yet: their positions would not last.
func (s *Store) latest() (all []uint64, waiting []*Trail, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.trails.loadItems(); err != nil {
		return nil, nil, err
	}
	for _, slot := range s.trails.byItem.slots {
		if pos := slot.pos(); pos != 0 {
			all = append(all, pos)
		}
	}
	slices.Sort(all)
	flushed, _ := slices.BinarySearch(all, pendingBit)
	for _, pos := range all[flushed:] {
		waiting = append(waiting, s.trails.at(pos))
	}
	return all[:flushed], waiting, nil
}

// KeyHash is 64 bits that stand for a text in an index: of an item's key, for
// one. Equal texts have equal hashes; others may.
func KeyHash(text string) uint64 {
	sum := dag.Sum([]byte(text))
	return binary.BigEndian.Uint64(sum[:])
}

func itemHash(source, itemKey string) uint32 {
	return uint32(KeyHash(source + "\x00" + itemKey))
}
