package staging

import (
	"io/fs"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"golang.org/x/sys/unix"
)

// History gives every trail that was ever recorded of the source item that key
// names: the item itself, or one whose fan-out made it, whose key begins the
// other at a slash. The oldest comes first.
//
// The log is read once and no index is built: a person asks once, and the index
// of all items takes longer to make than the log to read.
func (s *Store) History(key string) ([]*Trail, error) {
	var found []*Trail
	err := s.scan(&s.trails.log, func(kind byte, payload []byte) {
		n := headLen(payload)
		if kind != kindTrail || n == 0 {
			return
		}
		r := reader{b: payload[n:]}
		r.take(r.count())
		item := r.take(r.count())
		if r.short || !begins(string(item), key) {
			return
		}
		if t := decodeTrail(payload); t != nil {
			found = append(found, t)
		}
	})
	return found, err
}

// begins reports whether a key is that of an item, or of what it fanned out into.
func begins(item, key string) bool {
	return strings.HasPrefix(key, item) && (len(key) == len(item) || key[len(item)] == '/')
}

// Bodies shows the body of every trail that was ever recorded. A body lasts until
// see returns.
func (s *Store) Bodies(see func(body []byte)) error {
	return s.scan(&s.trails.log, func(kind byte, payload []byte) {
		n := headLen(payload)
		if kind != kindTrail || n == 0 {
			return
		}
		r := reader{b: payload[n:]}
		for range 3 { // source, item, run
			r.take(r.count())
		}
		r.digest()
		if body := r.take(r.count()); !r.short {
			see(body)
		}
	})
}

// TrailPlace is where a trail stands in its log. It holds for as long as the
// store is open: nothing is collected meanwhile.
type TrailPlace uint64

// TrailsOf shows where every trail that a run recorded stands, in the order in
// which they were. As History it reads the log once.
func (s *Store) TrailsOf(run string, see func(source, item string, at TrailPlace)) error {
	return s.scanAt(&s.trails.log, func(kind byte, payload []byte, at int64) {
		n := headLen(payload)
		if kind != kindTrail || n == 0 {
			return
		}
		r := reader{b: payload[n:]}
		source, item, by := r.take(r.count()), r.take(r.count()), r.take(r.count())
		if !r.short && string(by) == run {
			see(string(source), string(item), TrailPlace(at))
		}
	})
}

// TrailAt reads the trail at a place; nil where it is damaged by now.
func (s *Store) TrailAt(at TrailPlace) *Trail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trails.at(uint64(at))
}

// ActionsOf shows every action that a run recorded, in that order, whether or not
// the outputs are still there.
func (s *Store) ActionsOf(run string, see func(*Action)) error {
	return s.scan(&s.actions.log, func(kind byte, payload []byte) {
		if kind != kindAction || !isOf(payload, run) {
			return
		}
		if a := decodeAction(payload); a != nil {
			see(a)
		}
	})
}

// isOf reports whether an action was recorded by a run.
func isOf(payload []byte, run string) bool {
	r := reader{b: payload}
	r.take(4 * len(dag.Digest{}))
	r.ref()
	r.take(r.count()) // stage
	r.take(r.count()) // word
	by := r.take(r.count())
	return !r.short && string(by) == run
}

// FindActions gives the latest record of each of these actions that has one, by
// its digest, whether or not its output is still there. With first not zero it
// also gives the latest action of a stage that was recorded before first: one of
// the same input where there is any, nil where there is none.
//
// As History it reads the log once.
func (s *Store) FindActions(wanted map[dag.Digest]bool, first dag.Digest, stage string, input dag.Digest) (found map[dag.Digest]*Action, before *Action, err error) {
	found = map[dag.Digest]*Action{}
	var last, same []byte
	passed := first.IsZero()
	err = s.scan(&s.actions.log, func(kind byte, payload []byte) {
		if kind != kindAction || len(payload) < 4*len(dag.Digest{}) {
			return
		}
		digest := dag.Digest(payload)
		if wanted[digest] {
			found[digest] = decodeAction(payload)
		}
		if passed = passed || digest == first; passed {
			return
		}
		r := reader{b: payload[4*len(digest):]}
		r.ref()
		if name := r.take(r.count()); r.short || string(name) != stage {
			return
		}
		last = append(last[:0], payload...)
		if dag.Digest(payload[2*len(digest):]) == input {
			same = append(same[:0], payload...)
		}
	})
	if len(same) > 0 {
		last = same
	}
	if len(last) > 0 {
		before = decodeAction(last)
	}
	return found, before, err
}

// scan shows every record of a log that is in its file.
func (s *Store) scan(l *appendLog, see func(kind byte, payload []byte)) error {
	return s.scanAt(l, func(kind byte, payload []byte, _ int64) { see(kind, payload) })
}

func (s *Store) scanAt(l *appendLog, see func(kind byte, payload []byte, at int64)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return storeError("read", l.path, fs.ErrClosed)
	}
	if err := l.open(); err != nil || l.f == nil {
		return err
	}
	return l.locked(unix.LOCK_SH, func(size int64) error {
		if size < logHead {
			return nil
		}
		_, err := l.read(logHead, size, see)
		return err
	})
}
