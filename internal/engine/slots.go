package engine

import (
	"context"
	"sync"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/plugins/proto"
)

// slots are the places of the run: so many visits are at work at a time as `-j` says.
//
// A visit all of whose completions wait for a provider is not at work. Its place is
// others' meanwhile, or a provider that is paused would hold up the stages of all the
// others; before one of its requests is sent it must have one again. So that such
// visits do not pile up in the plugins' processes, only so many may wait for each
// provider.
//
// The loop gives places to visits, the goroutines of the completions do the rest.
type slots struct {
	most, mostWaiting int
	freed             chan struct{} // holds one where the loop should look again

	mu      sync.Mutex
	taken   int
	waiting map[*dag.Provider]int // visits that have given up their place
	of      map[uint64]*slotted   // by the visit's id
	wanted  []func()              // who hears of a free place, first come first
}

// slotted is a visit that was given a place.
type slotted struct {
	provider     *dag.Provider // nil: of a stage without one
	asked, queue int           // completions that it asked for, and those of them that wait
	waits        bool          // it has given up its place
}

func newSlots(jobs int, providers int) *slots {
	return &slots{
		most: jobs,
		// A process holds proto.Window visits: those that wait for all providers together
		// must leave room in it.
		mostWaiting: max(1, min(jobs, proto.Window/(1+providers))),
		freed:       make(chan struct{}, 1), waiting: map[*dag.Provider]int{}, of: map[uint64]*slotted{},
	}
}

// take takes a place for a visit that is to begin. Visits that have begun come first.
func (s *slots) take(p *dag.Provider) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= s.most || len(s.wanted) > 0 || p != nil && s.waiting[p] >= s.mostWaiting {
		return false
	}
	s.taken++
	return true
}

// begin gives the place that was taken to a visit; end takes it back.
func (s *slots) begin(visit uint64, p *dag.Provider) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[visit] = &slotted{provider: p}
}

func (s *slots) end(visit uint64) {
	s.change(visit, func(v *slotted) {
		delete(s.of, visit)
		if v.waits {
			s.waiting[v.provider]--
		} else {
			s.taken--
		}
	})
}

// change changes what is known of a visit, unless it has ended, and lets others hear of
// what is free now.
func (s *slots) change(visit uint64, change func(*slotted)) {
	s.mu.Lock()
	if v := s.of[visit]; v != nil {
		change(v)
	}
	s.mu.Unlock()
	s.tell()
}

// settle takes or gives up the place of a visit as its completions say.
func (s *slots) settle(v *slotted) {
	waits := v.queue > 0 && v.queue == v.asked
	switch {
	case waits == v.waits:
	case waits:
		s.taken--
		s.waiting[v.provider]++
	default:
		s.taken++ // beyond the most, if need be: it goes on, and nothing begins before others have ended
		s.waiting[v.provider]--
	}
	v.waits = waits
}

// asks hears of a completion that a visit asks for, and of its end.
func (s *slots) asks(ctx context.Context) (answered func()) {
	visit := host.VisitID(ctx)
	s.asked(visit, 1)
	return func() { s.asked(visit, -1) }
}

func (s *slots) asked(visit uint64, more int) {
	s.change(visit, func(v *slotted) { v.asked += more; s.settle(v) })
}

func (s *slots) waits(visit uint64, more int) {
	s.change(visit, func(v *slotted) { v.queue += more; s.settle(v) })
}

// queued hears of a completion that waits, and of its being sent. So does the visit's
// time, which stands still meanwhile.
func (s *slots) queued(ctx context.Context) (running func()) {
	visit, goesOn := host.VisitID(ctx), host.Queued(ctx)
	s.waits(visit, 1)
	return func() {
		s.waits(visit, -1)
		goesOn()
	}
}

// Take and Give are a place for a request that waited: completion.Room.
func (s *slots) Take(free func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= s.most {
		s.wanted = append(s.wanted, free)
		return false
	}
	s.taken++
	return true
}

// Give gives a place back.
func (s *slots) Give() {
	s.mu.Lock()
	s.taken--
	s.mu.Unlock()
	s.tell()
}

// tell lets those hear of free places who want one, and then the loop.
func (s *slots) tell() {
	for {
		s.mu.Lock()
		var free func()
		if s.taken < s.most && len(s.wanted) > 0 {
			free, s.wanted = s.wanted[0], s.wanted[1:]
		}
		s.mu.Unlock()
		if free == nil {
			break
		}
		free()
	}
	select {
	case s.freed <- struct{}{}:
	default:
	}
}
