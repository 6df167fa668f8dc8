package staging

import (
	"encoding/binary"

	"github.com/penstock-run/penstock/dag"
)

// intakeIndex finds what a record of a source was taken in as. Only a plan of a
// changed pipeline asks, so it is made by the first question, from the log.
type intakeIndex struct {
	table  table // intake → offset in known, plus 1
	known  arena // intake, hash of the item's key, position of the trail in the log, origin
	loaded bool
}

// TakenIn reports whether the very same record of the very same source was taken
// in by an earlier run, and not refused, and gives the hash of the item's key and
// the digest of its document, zero where that was not recorded. What is recorded
// after the first question is not found.
func (s *Store) TakenIn(intake dag.Digest) (keyHash uint64, origin dag.Digest, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &s.intakes
	if !x.loaded {
		x.load(&s.trails)
	}
	hash := hash32(intake)
	for c := x.table.first(hash); c.pos != 0; c = x.table.next(hash, c) {
		if b := x.known.at(int(c.pos - 1)); dag.Digest(b) == intake {
			return binary.LittleEndian.Uint64(b[len(intake):]), dag.Digest(b[len(intake)+16:]), true
		}
	}
	return 0, dag.Digest{}, false
}

// TrailOfIntake gives the latest trail of the very same record of the very same
// source, as TakenIn finds it. Who asks TakenIn anyway is spared the index by item.
func (s *Store) TrailOfIntake(intake dag.Digest) (*Trail, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &s.intakes
	if !x.loaded {
		x.load(&s.trails)
	}
	latest := uint64(0)
	hash := hash32(intake)
	for c := x.table.first(hash); c.pos != 0; c = x.table.next(hash, c) {
		if b := x.known.at(int(c.pos - 1)); dag.Digest(b) == intake {
			latest = max(latest, binary.LittleEndian.Uint64(b[len(intake)+8:]))
		}
	}
	if latest == 0 {
		return nil, false
	}
	t := s.trails.at(latest)
	return t, t != nil
}

// load reads the log once. What cannot be read is not known, and is taken in anew.
func (x *intakeIndex) load(trails *trailIndex) {
	x.loaded = true
	if trails.log.load() != nil || trails.log.f == nil {
		return
	}
	x.table.reserve(trails.byKey.used)
	var b []byte
	_, _ = trails.log.read(logHead, trails.log.known, func(kind byte, payload []byte, at int64) {
		n := headLen(payload)
		if kind != kindTrail || n == 0 {
			return
		}
		r := reader{b: payload[n:]}
		r.take(r.count()) // source
		key := r.take(r.count())
		r.take(r.count()) // run
		intake := r.digest()
		if r.short || intake.IsZero() {
			return
		}
		r.take(r.count()) // body
		origin := r.digest()
		b = binary.LittleEndian.AppendUint64(append(b[:0], intake[:]...), KeyHash(string(key)))
		b = append(binary.LittleEndian.AppendUint64(b, uint64(at)), origin[:]...)
		x.table.add(hash32(intake), uint64(x.known.add(b))+1)
	})
}

func (x *intakeIndex) free() {
	x.table.free()
	x.known.close()
}
