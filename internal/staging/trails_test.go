package staging

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock-run/penstock/dag"
)

func exampleTrail(i int, refs ...Ref) *Trail {
	t := &Trail{Key: digest("trail %d", i), Source: "buckets", ItemKey: fmt.Sprintf("item/%d", i), Intake: digest("record %d", i), Origin: digest("origin %d", i), Run: "r1", Final: true,
		Ends: Tally{0: 4, 4: 1, 8: 300}, Body: []byte("body \x00 " + strings.Repeat("b", i%50))}
	for _, ref := range refs {
		t.Need(ref, dag.Digest{})
	}
	return t
}

// TestTakenIn: the trail of a record tells what it was taken in as.
func TestTakenIn(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	refused := exampleTrail(2)
	refused.Intake, refused.Origin = dag.Digest{}, dag.Digest{}
	for _, trail := range []*Trail{exampleTrail(1), refused} {
		check(t, s.PutTrail(trail))
	}
	older := exampleTrail(3).append(nil) // from before trails told the document
	_, _, err := s.trails.log.add(kindTrail, func(b []byte) []byte { return append(b, older[:len(older)-len(dag.Digest{})]...) })
	check(t, err)
	check(t, s.Close())
	s = open(t, dir, Options{ReadOnly: true})
	for _, test := range []struct {
		intake, origin dag.Digest
		key            string
	}{
		{digest("record 1"), digest("origin 1"), "item/1"},
		{digest("record 3"), dag.Digest{}, "item/3"},
		{digest("record 2"), dag.Digest{}, ""},
		{dag.Digest{}, dag.Digest{}, ""},
	} {
		key, origin, ok := s.TakenIn(test.intake)
		if ok != (test.key != "") || ok && key != KeyHash(test.key) || origin != test.origin {
			t.Errorf("%s: %v, key %x, origin %s, want %q and %s", test.intake.Short(), ok, key, origin.Short(), test.key, test.origin.Short())
		}
	}
	if got, ok := s.TrailOfIntake(digest("record 3")); !ok || got.ItemKey != "item/3" || !got.Origin.IsZero() {
		t.Errorf("an older trail: %v, %v", ok, got)
	}
}

func TestTallyHasAnEntryForEachEnd(t *testing.T) {
	if len(Tally{}) != len(dag.Ends) {
		t.Errorf("a tally has %d entries, there are %d ends", len(Tally{}), len(dag.Ends))
	}
}

var trailFields = cmp.AllowUnexported(Trail{}, segmentEnd{}, looseNeed{})

func TestTrails(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	ref := must[Ref](t)(s.Put(document(1)))
	one, two := exampleTrail(1, ref), exampleTrail(2)
	two.Final = false
	check(t, s.PutTrail(one))
	check(t, s.PutTrail(two))
	see := func(when string, s *Store, want ...*Trail) {
		t.Helper()
		for _, want := range want {
			head, ok := s.Trail(want.Key)
			if diff := cmp.Diff(want.Ends, head.Ends); !ok || head.Final != want.Final || head.KeyHash != KeyHash(want.ItemKey) || diff != "" {
				t.Fatalf("%s: %v %v %s", when, ok, head, diff)
			}
			if s.Settled(want.Key) != want.Final {
				t.Errorf("%s: settled is not final", when)
			}
			got, err := s.LoadTrail(head)
			if diff := cmp.Diff(want, got, trailFields); err != nil || diff != "" {
				t.Errorf("%s: %v %s", when, err, diff)
			}
			got, ok = s.TrailByItem(want.Source, want.ItemKey)
			if diff := cmp.Diff(want, got, trailFields); !ok || diff != "" {
				t.Errorf("%s, by item: %v %s", when, ok, diff)
			}
		}
		var all []*Trail
		check(t, s.Trails(func(trail *Trail) bool { all = append(all, trail); return true }))
		if diff := cmp.Diff(want, all, trailFields); diff != "" {
			t.Errorf("%s, all: %s", when, diff)
		}
		if _, ok := s.Trail(digest("none")); ok {
			t.Errorf("%s: a trail that was never put", when)
		}
		if _, ok := s.TrailByItem("bucket", "sitem/1"); ok {
			t.Errorf("%s: source and key run together", when)
		}
	}
	see("before the flush", s, one, two)
	check(t, s.Flush())
	see("after the flush", s, one, two)
	check(t, s.Close())
	see("after a restart", open(t, dir, Options{}), one, two)
	see("read only", open(t, dir, Options{ReadOnly: true}), one, two)

	s = open(t, dir, Options{})
	again := exampleTrail(1, ref)
	again.Body = []byte("later")
	other := exampleTrail(1, ref) // the item under another key: after an edit
	other.Key = digest("edited")
	check(t, s.PutTrail(again))
	see("the same key again", s, two, again)
	check(t, s.PutTrail(other))
	see("another key", s, two, other)
	check(t, s.Close())
	s = open(t, dir, Options{})
	see("another key, after a restart", s, two, other)
	if head, ok := s.Trail(again.Key); !ok {
		t.Error("the older key is not known any more")
	} else if got, err := s.LoadTrail(head); err != nil || string(got.Body) != "later" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestTrailNeedsItsArtifacts(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	first := must[Ref](t)(s.Put(document(1)))
	last := must[Ref](t)(s.Put(document(2)))
	large := dag.NewDoc([]byte(`"` + strings.Repeat("l", looseSize) + `"`))
	loose := must[Ref](t)(s.Put(large))
	short, long, withFile := exampleTrail(1, first), exampleTrail(2, last, first), exampleTrail(3)
	withFile.Need(loose, large.Digest)
	withFile.Need(loose, large.Digest)
	many := exampleTrail(4) // more than a page of needs
	for i := range 300 {
		many.Need(Ref{Segment: looseSegment, Length: 5}, digest("no such %d", i))
	}
	lots := exampleTrail(5, first)
	for i := range 300 {
		lots.Need(Ref{Segment: uint32(i + 100), Length: 5}, dag.Digest{})
	}
	for _, trail := range []*Trail{short, long, withFile, many, lots} {
		check(t, s.PutTrail(trail))
	}
	found := func(s *Store) (keys []bool) {
		for i := range 5 {
			_, ok := s.Trail(digest("trail %d", i+1))
			keys = append(keys, ok)
		}
		return keys
	}
	see := func(when string, s *Store, want ...bool) {
		t.Helper()
		if diff := cmp.Diff(want, found(s)); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	see("whole, not flushed", s, true, true, true, false, false)
	check(t, s.Close())
	see("whole", open(t, dir, Options{}), true, true, true, false, false)

	segment := filepath.Join(dir, "artifacts/000001.jsonl")
	info := must[fs.FileInfo](t)(os.Stat(segment))
	check(t, os.Truncate(segment, info.Size()-1))
	see("the last line is torn", open(t, dir, Options{ReadOnly: true}), true, false, true, false, false)
	check(t, os.Remove(segment))
	check(t, os.RemoveAll(filepath.Join(dir, "artifacts", large.Digest.String()[:2])))
	see("all gone", open(t, dir, Options{ReadOnly: true}), false, false, false, false, false)
}
