package engine

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
)

// A visit that waits for its provider leaves its place to others, and is first to have
// one again; but only so many wait for one provider.
func TestSlots(t *testing.T) {
	slow, quick := &dag.Provider{Name: "slow"}, &dag.Provider{Name: "quick"}
	s := newSlots(2, 2)
	begins := func(visit uint64, p *dag.Provider, want bool) {
		t.Helper()
		if got := s.take(p); got != want {
			t.Fatalf("visit %d begins: %v, want %v", visit, got, want)
		}
		if want {
			s.begin(visit, p)
		}
	}
	begins(1, slow, true)
	begins(2, slow, true)
	begins(3, slow, false)
	for visit := range uint64(2) {
		s.asked(visit+1, 1)
		s.waits(visit+1, 1)
	}
	begins(3, slow, false) // two wait for it
	begins(4, quick, true)
	begins(5, quick, true)
	begins(6, quick, false)
	var heard int
	if s.Take(func() { heard++ }) {
		t.Error("a request has a place although there is none")
	}
	s.end(4)
	if heard != 1 || !s.Take(func() { heard++ }) {
		t.Errorf("heard of %d places", heard)
	}
	s.waits(1, -1) // it is sent
	s.Give()
	begins(7, quick, false)
	begins(8, slow, false)
	s.end(5)
	begins(8, slow, true) // one waits
	s.end(8)
	s.end(1)
	s.end(2)
	if s.taken != 0 || s.waiting[slow] != 0 || len(s.of) != 0 {
		t.Errorf("%d are taken, %d wait, %d are known", s.taken, s.waiting[slow], len(s.of))
	}
	running := s.queued(context.Background()) // of no visit
	running()
}

// Whatever happens in which order, the book is right, and nobody is left waiting for a
// place that is free.
func TestSlotsAddUp(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		most := rapid.IntRange(1, 4).Draw(r, "most")
		s := newSlots(most, 1)
		p := &dag.Provider{}
		type visit struct{ asked, waits int }
		visits := map[uint64]*visit{}
		var last uint64
		given, wanting := 0, 0
		pick := func() uint64 { return rapid.Uint64Range(1, last+1).Draw(r, "visit") }
		r.Repeat(map[string]func(*rapid.T){
			"begin": func(*rapid.T) {
				if s.take(p) {
					last++
					visits[last] = &visit{}
					s.begin(last, p)
				}
			},
			"ask": func(*rapid.T) { // a completion is asked for, or answered
				id := pick()
				switch v := visits[id]; {
				case v == nil:
					s.asked(id, 1)
				case v.asked > v.waits && rapid.Bool().Draw(r, "answered"):
					v.asked--
					s.asked(id, -1)
				default:
					v.asked++
					s.asked(id, 1)
				}
			},
			"wait": func(*rapid.T) { // one waits, or does no longer
				id := pick()
				switch v := visits[id]; {
				case v == nil:
					s.waits(id, -1)
				case v.waits < v.asked:
					v.waits++
					s.waits(id, 1)
				case v.waits > 0:
					v.waits--
					s.waits(id, -1)
				}
			},
			"end": func(*rapid.T) {
				id := pick()
				delete(visits, id)
				s.end(id)
			},
			"want": func(*rapid.T) {
				if s.Take(func() { wanting-- }) {
					given++
				} else {
					wanting++
				}
			},
			"give": func(*rapid.T) {
				if given > 0 {
					given--
					s.Give()
				}
			},
			"": func(r *rapid.T) {
				taken, waiting := given, 0
				for _, v := range s.of {
					if v.waits {
						waiting++
					} else {
						taken++
					}
				}
				if s.taken != taken || s.waiting[p] != waiting || len(s.wanted) != wanting {
					r.Fatalf("%d taken, %d wait, %d want; by the book %d, %d, %d", taken, waiting, wanting, s.taken, s.waiting[p], len(s.wanted))
				}
				if s.taken < most && wanting > 0 {
					r.Fatalf("%d want one of %d places that are free", wanting, most-s.taken)
				}
			},
		})
	})
}
