package staging

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock-run/penstock/dag"
	"pgregory.net/rapid"
)

// frameAt makes a whole frame for an offset.
func frameAt(kind byte, payload string, at int64) []byte {
	frame := endFrame(append(beginFrame(nil, kind), payload...), 0)
	sealFrame(frame, at)
	return frame
}

type found struct {
	Kind    byte
	Payload string
	At      int64
}

// scanAll scans b, which stands at base, in windows of so many bytes.
func scanAll(b []byte, base int64, step int) (list []found, good int64, damaged []span) {
	s := scanner{size: base + int64(len(b)), good: base, apply: func(kind byte, payload []byte, at int64) {
		list = append(list, found{kind, string(payload), at})
	}}
	from, to := 0, 0
	for to < len(b) {
		to = min(to+step, len(b))
		from += s.scan(b[from:to], base+int64(from), to == len(b))
	}
	return list, s.good, s.damaged
}

func TestScan(t *testing.T) {
	a, b := frameAt('a', "one", 16), frameAt('b', "", 31)
	if len(a) != 15 {
		t.Fatalf("a frame of 3 bytes has %d", len(a))
	}
	commit := commitFrame(16, 2, 43)
	whole := bytes.Join([][]byte{a, b, commit}, nil)
	one, two := found{'a', "one", 16}, found{'b', "", 31}
	forged := append(bytes.Clone(a[:frameHead]), frameAt('x', "forged", 16)...) // as a payload that looks like a frame
	for _, test := range []struct {
		name    string
		b       []byte
		want    []found
		good    int64
		damaged []span
	}{
		{"nothing", nil, nil, 16, nil},
		{"whole", whole, []found{one, two}, 16 + int64(len(whole)), nil},
		{"torn in the commit", whole[:len(whole)-1], []found{one, two}, 43, nil},
		{"torn in a frame", whole[:20], []found{one}, 31, nil},
		{"torn in a head", whole[:15+5], []found{one}, 31, nil},
		{"damage in front", append([]byte{a[0] ^ 1}, whole[1:]...), []found{two}, 16 + int64(len(whole)), []span{{16, 31}}},
		{"a length that reaches past the end", append(bytes.Join([][]byte{a[:4], {0, 0, 1, 0}, a[8:]}, nil), whole[15:]...), []found{two}, 16 + int64(len(whole)), []span{{16, 31}}},
		{"zeros", make([]byte, 100), nil, 16, nil},
		{"a frame that stands elsewhere", forged, nil, 16, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, step := range []int{1, 7, 1000} {
				got, good, damaged := scanAll(test.b, 16, step)
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("in steps of %d: %s", step, diff)
				}
				if good != test.good {
					t.Errorf("in steps of %d: good up to %d, want %d", step, good, test.good)
				}
				if diff := cmp.Diff(test.damaged, damaged, cmp.AllowUnexported(span{})); diff != "" {
					t.Errorf("in steps of %d: %s", step, diff)
				}
			}
		})
	}
}

// FuzzScan: whatever the bytes, a scan ends, in windows it finds what it finds
// at once, and frames that the damage did not touch are found.
func FuzzScan(f *testing.F) {
	a, b := frameAt('a', "payload", 16), frameAt('b', "more", 16+19)
	f.Add(append(bytes.Clone(a), b...), 5, 3, []byte("damage"))
	f.Add(append([]byte{0xA7, 0, 0, 'x', 0xff, 0xff, 0xff, 0xff}, make([]byte, 20)...), 1, 0, []byte{})
	f.Add(bytes.Repeat([]byte{0xA7, 'P', 'S'}, 30), 4, 7, []byte{0xA7})
	f.Fuzz(func(t *testing.T, raw []byte, step, at int, damage []byte) {
		raw = raw[:min(len(raw), 4<<10)]
		if step < 1 || step > 1<<16 {
			step = 1
		}
		once, goodOnce, damagedOnce := scanAll(raw, 16, len(raw)+1)
		list, good, damaged := scanAll(raw, 16, step)
		if diff := cmp.Diff(once, list); diff != "" || good != goodOnce || len(damaged) != len(damagedOnce) {
			t.Fatalf("in windows of %d: %s, good %d and %d", step, diff, goodOnce, good)
		}

		// A log of frames with raw cut up as payloads, then damaged in one place.
		var log []byte
		var want []found
		var ends []int64
		for rest := raw; len(rest) > 0; {
			n := min(len(rest), 1+int(rest[0])%9)
			pos := 16 + int64(len(log))
			log = append(log, frameAt('p', string(rest[:n]), pos)...)
			want = append(want, found{'p', string(rest[:n]), pos})
			ends = append(ends, 16+int64(len(log)))
			rest = rest[n:]
		}
		if len(log) == 0 {
			return
		}
		at = int(uint(at) % uint(len(log)))
		hit := copy(log[at:], damage)
		list, _, _ = scanAll(log, 16, step)
		left := map[int64]found{}
		for _, one := range list {
			left[one.At] = one
		}
		for i, one := range want {
			if ends[i] <= 16+int64(at) || one.At >= 16+int64(at+hit) {
				if left[one.At] != one {
					t.Fatalf("frame at %d was not touched, and is not found", one.At)
				}
			}
		}
	})
}

// FuzzRecords: what is no record reads as none, and never panics.
func FuzzRecords(f *testing.F) {
	f.Add(exampleAction(1, Ref{1, 2, 3}, digest("o")).append(nil))
	trail := exampleTrail(1, Ref{1, 2, 3})
	trail.Need(Ref{Segment: looseSegment, Length: 9}, digest("l"))
	f.Add(trail.append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		if a := decodeAction(payload); a != nil {
			if again := decodeAction(a.append(nil)); !cmp.Equal(a, again) {
				t.Fatalf("an action changes by being written: %s", cmp.Diff(a, again))
			}
		}
		n := headLen(payload)
		if n < 0 || n > len(payload) {
			t.Fatalf("a head of %d bytes in %d", n, len(payload))
		}
		if got := decodeTrail(payload); got != nil && n == 0 {
			t.Fatal("a trail without a head")
		} else if got != nil {
			if again := decodeTrail(got.append(nil)); !cmp.Equal(got, again, trailFields) {
				t.Fatalf("a trail changes by being written: %s", cmp.Diff(got, again, trailFields))
			}
		}
	})
}

func TestTableAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x table
		defer x.free()
		want := map[uint32]map[uint64]bool{}
		bits := rapid.SampledFrom([]int{2, 12, 32}).Draw(t, "bits") // few bits: many with the same
		n := rapid.IntRange(0, 3000).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		for i := range n {
			d := digest("%d %d", seed, i)
			hash := hash32(d) >> (32 - bits)
			if i%7 == 6 { // let an entry point elsewhere
				if c := x.first(hash); c.pos != 0 {
					delete(want[hash], c.pos)
					x.set(c, uint64(n+i+1))
					want[hash][uint64(n+i+1)] = true
					continue
				}
			}
			x.add(hash, uint64(i+1)<<20)
			if want[hash] == nil {
				want[hash] = map[uint64]bool{}
			}
			want[hash][uint64(i+1)<<20] = true
		}
		for hash, positions := range want {
			got := map[uint64]bool{}
			for c := x.first(hash); c.pos != 0; c = x.next(hash, c) {
				got[c.pos] = true
			}
			if diff := cmp.Diff(positions, got); diff != "" {
				t.Fatalf("hash %x: %s", hash, diff)
			}
		}
	})
}

func TestArena(t *testing.T) {
	var a arena
	defer a.close()
	var at []int
	record := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 1+(i*7919)%(arenaChunk/3)) }
	for i := range 40 {
		at = append(at, a.add(record(i)))
	}
	for i, offset := range at {
		want := record(i)
		if got := a.at(offset)[:len(want)]; !bytes.Equal(want, got) {
			t.Fatalf("record %d at %d is not what it was", i, offset)
		}
	}
}

// Somebody empties a log under a run that has it open: the run goes on, and
// loses no more than was taken.
func TestLogIsCutUnderUs(t *testing.T) {
	for _, left := range []int64{0, 5, logHead, 200} {
		dir := t.TempDir()
		s := open(t, dir, Options{})
		for i := range 5 {
			check(t, writeItem(s, i))
			check(t, s.Flush())
			hasItem(t, s, i)
		}
		for _, name := range []string{"actions.log", "trails.log"} {
			check(t, os.Truncate(filepath.Join(dir, name), left))
		}
		if _, ok, err := s.Action(digest("action 4")); ok || err != nil {
			t.Errorf("cut to %d: an action that is gone: %v %v", left, ok, err)
		}
		check(t, writeItem(s, 10))
		check(t, s.Flush())
		for i := range 5 {
			check(t, writeItem(s, i))
		}
		check(t, s.Close())
		reader := open(t, dir, Options{ReadOnly: true})
		for _, i := range []int{0, 1, 2, 3, 4, 10} {
			if got := hasItem(t, reader, i); got != all {
				t.Errorf("cut to %d, item %d: %v", left, i, got)
			}
		}
	}
}

func TestRecordThatIsTooLong(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	trail := exampleTrail(1)
	trail.Body = make([]byte, maxPayload)
	if err := s.PutTrail(trail); dag.KindOf(err) != dag.KindInfrastructure || s.Dirty() != 0 {
		t.Errorf("%v, %d waiting", err, s.Dirty())
	}
	check(t, writeItem(s, 1))
	check(t, s.Flush())
	if got := hasItem(t, s, 1); got != all {
		t.Error(got)
	}
}
