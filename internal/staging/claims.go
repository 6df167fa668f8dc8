package staging

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/penstock-run/penstock/dag"
	"golang.org/x/sys/unix"
)

const (
	kindClaim    = 'c'
	kindRelease  = 'f'
	kindFarewell = 'd' // a run gives up all that it holds
)

// claimsTidy is the size from which the log of claims is started anew when
// nobody holds any.
const claimsTidy = 1 << 20

// claimBook knows who works on what. A claim is a record in a log that is
// written under an exclusive lock; it holds for as long as its owner lives.
type claimBook struct {
	store  *Store
	log    appendLog
	owners []owner
	held   map[dag.Digest]int // index in owners
	// asked are keys whose release was asked for; the next Flush moves them to
	// leaving, and gives them up when all that was put before is written.
	asked, leaving map[dag.Digest]struct{}
	life           *lifeline
}

type owner struct {
	run string
	pid int
}

func (x *claimBook) open(s *Store) {
	x.store, x.log = s, s.newLog("claims.log")
	x.held, x.asked, x.leaving = map[dag.Digest]int{}, map[dag.Digest]struct{}{}, map[dag.Digest]struct{}{}
	x.log.apply = func(kind byte, payload []byte, at int64) { x.enter(kind, payload) }
	x.log.placed = func(kind byte, payload []byte, pending uint64, at int64) {
		if at != 0 {
			x.enter(kind, payload)
		}
	}
	x.log.reset = func() { x.owners, x.held = nil, map[dag.Digest]int{} }
}

func (x *claimBook) enter(kind byte, payload []byte) {
	r := reader{b: payload}
	who := owner{run: r.text(), pid: int(r.uint())}
	if r.short {
		return
	}
	i := 0
	for i < len(x.owners) && x.owners[i] != who {
		i++
	}
	if i == len(x.owners) {
		x.owners = append(x.owners, who)
	}
	if kind == kindFarewell {
		for key, by := range x.held {
			if by == i {
				delete(x.held, key)
			}
		}
		return
	}
	for n := r.count(); n > 0; n-- {
		key := r.digest()
		if kind == kindClaim {
			x.held[key] = i
		} else if by, ok := x.held[key]; ok && by == i {
			delete(x.held, key)
		}
	}
}

// Claim asks for the right to work on each of the keys. A key is granted
// unless a run that is alive holds it; one that this run holds already is
// granted again. Afterwards the indexes know all that earlier holders wrote:
// look again before working on what was granted, it may be done.
func (s *Store) Claim(keys []dag.Digest) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.claimable(); err != nil {
		return nil, err
	}
	got := make([]bool, len(keys))
	x := &s.claims
	err := x.change(kindClaim, func() []dag.Digest {
		alive := map[int]bool{}
		var granted []dag.Digest
		for i, key := range keys {
			by, held := x.held[key]
			if held && x.owners[by] == x.me() {
				got[i] = true
				delete(x.asked, key)
				delete(x.leaving, key)
				continue
			}
			if held {
				living, known := alive[by]
				if !known {
					living = s.alive(x.owners[by].run)
					alive[by] = living
				}
				if living {
					continue
				}
			}
			got[i] = true
			granted = append(granted, key)
		}
		return granted
	})
	if err != nil {
		return nil, err
	}
	return got, s.refresh()
}

// Release gives keys up, with the next Flush: whoever claims them then finds
// what was put before this call.
func (s *Store) Release(keys []dag.Digest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.claimable(); err != nil {
		return err
	}
	for _, key := range keys {
		s.claims.asked[key] = struct{}{}
	}
	return nil
}

// depart marks what the Flush that begins now will give up.
func (x *claimBook) depart() {
	for key := range x.asked {
		x.leaving[key] = struct{}{}
	}
	clear(x.asked)
}

// giveUp writes that the keys that are leaving are free.
func (x *claimBook) giveUp() error {
	if len(x.leaving) == 0 {
		return nil
	}
	keys := make([]dag.Digest, 0, len(x.leaving))
	for key := range x.leaving {
		keys = append(keys, key)
	}
	err := x.change(kindRelease, func() []dag.Digest { return keys })
	if err == nil {
		clear(x.leaving)
	}
	return err
}

func (s *Store) claimable() error {
	if err := s.writable(); err != nil {
		return err
	}
	if s.claims.life == nil {
		return &dag.Error{Op: "claim", Subject: s.dir, Kind: dag.KindBug, Err: errors.New("the store was opened without a run id")}
	}
	return nil
}

func (x *claimBook) me() owner { return owner{run: x.store.runID, pid: os.Getpid()} }

// change appends a record about the keys that choose gives, all under one
// exclusive lock: nobody else can decide in between.
func (x *claimBook) change(kind byte, choose func() []dag.Digest) error {
	if err := x.log.load(); err != nil {
		return err
	}
	if err := x.log.unmoved(); err != nil {
		return err
	}
	return x.log.locked(unix.LOCK_EX, func(size int64) error {
		at, err := x.log.settle(size)
		if err != nil {
			return err
		}
		if at > claimsTidy && x.idle() {
			if at, err = x.log.begin(); err != nil {
				return err
			}
			x.log.reset()
		}
		keys := choose()
		if len(keys) == 0 && kind != kindFarewell {
			return nil
		}
		_, _, err = x.log.add(kind, func(b []byte) []byte {
			b = putUint(putText(b, x.store.runID), uint64(x.me().pid))
			b = putUint(b, uint64(len(keys)))
			for _, key := range keys {
				b = append(b, key[:]...)
			}
			return b
		})
		if err != nil {
			return err
		}
		if err = x.log.append(len(x.log.starts), at); err != nil {
			x.log.drop(len(x.log.starts), len(x.log.pending))
		}
		return err
	})
}

// idle reports whether no claim of a living run is left.
func (x *claimBook) idle() bool {
	seen := map[int]bool{}
	for _, by := range x.held {
		if !seen[by] && (x.owners[by] == x.me() || x.store.alive(x.owners[by].run)) {
			return false
		}
		seen[by] = true
	}
	return true
}

// releaseAll gives up what this run holds, if it ever claimed anything.
func (x *claimBook) releaseAll() error {
	if x.life == nil || !x.log.loaded || x.log.readOnly {
		return nil
	}
	for _, by := range x.held {
		if x.owners[by] == x.me() {
			return x.change(kindFarewell, func() []dag.Digest { return nil })
		}
	}
	return nil
}

// Holder tells who holds a key; the empty run: nobody. A holder that is not
// alive holds nothing any more.
func (s *Store) Holder(key dag.Digest) (run string, pid int, alive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, ok, err := s.holder(key)
	if err != nil || !ok {
		return "", 0, false
	}
	return who.run, who.pid, s.alive(who.run)
}

func (s *Store) holder(key dag.Digest) (owner, bool, error) {
	x := &s.claims
	if err := x.log.load(); err != nil {
		return owner{}, false, err
	}
	if _, err := x.log.refresh(); err != nil {
		return owner{}, false, err
	}
	by, held := x.held[key]
	if !held {
		return owner{}, false, nil
	}
	return x.owners[by], true, nil
}

// WaitClaims returns when at least one of the keys is held by no other living
// run, or when ctx ends. It grants nothing: Claim does.
func (s *Store) WaitClaims(ctx context.Context, keys []dag.Digest) error {
	const longest = 100 * time.Millisecond
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, longest) {
		free, err := s.anyFree(keys)
		if free || err != nil {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

func (s *Store) anyFree(keys []dag.Digest) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(keys) == 0 {
		return true, nil
	}
	alive := map[owner]bool{}
	for _, key := range keys {
		who, held, err := s.holder(key)
		if err != nil {
			return false, err
		}
		if !held || who.run == s.runID {
			return true, nil
		}
		living, known := alive[who]
		if !known {
			living = s.alive(who.run)
			alive[who] = living
		}
		if !living {
			return true, nil
		}
	}
	return false, nil
}
