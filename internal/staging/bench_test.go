package staging

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// benchDocs are of the size that the workload has.
func benchDocs(n int) []dag.Doc {
	docs := make([]dag.Doc, n)
	for i := range docs {
		docs[i] = dag.NewDoc(fmt.Appendf(nil, `{"n":%d,"text":"%s"}`, i, strings.Repeat("the quick brown fox ", 100)))
	}
	return docs
}

// BenchmarkVisit is what the store costs a visit of a first run: its output,
// its action, a fifth of a trail, and a flush every 2,000.
func BenchmarkVisit(b *testing.B) {
	docs := benchDocs(20000)
	s := open(b, b.TempDir(), Options{RunID: "r"})
	recipe := digest("recipe")
	body := []byte(strings.Repeat("b", 500))
	if _, _, err := s.Action(recipe); err != nil { // the index is loaded, as in a run
		b.Fatal(err)
	}
	var trail Trail
	i := 0
	for b.Loop() {
		if i%len(docs) == 0 && i > 0 { // the same bytes a second time would not be stored
			b.StopTimer()
			for d := range docs {
				docs[d] = dag.NewDoc(append(docs[d].Bytes[:len(docs[d].Bytes)-1], `,"r":1}`...))
			}
			b.StartTimer()
		}
		doc := docs[i%len(docs)]
		ref, err := s.Put(doc)
		if err != nil {
			b.Fatal(err)
		}
		key := dag.Sum(binary.LittleEndian.AppendUint64(nil, uint64(i)))
		if err := s.PutAction(&Action{Digest: key, Recipe: recipe, Stage: "stage_3", Input: key, Output: doc.Digest, OutputRef: ref, Word: "ok", Run: "20260115T101500Z-4f2a91"}); err != nil {
			b.Fatal(err)
		}
		trail.Need(ref, doc.Digest)
		if i++; i%5 == 0 {
			trail.Key, trail.Source, trail.ItemKey, trail.Run, trail.Final, trail.Body = key, "items", "items.jsonl:12345", "20260115T101500Z-4f2a91", true, body
			trail.Ends = Tally{1}
			if err := s.PutTrail(&trail); err != nil {
				b.Fatal(err)
			}
			trail = Trail{needs: trail.needs[:0]}
		}
		if i%2000 == 0 {
			if err := s.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func fill(b testing.TB, dir string, items int) []dag.Digest {
	s := open(b, dir, Options{RunID: "r"})
	recipe := digest("recipe")
	body := []byte(strings.Repeat("b", 500))
	keys := make([]dag.Digest, items)
	for i := range items {
		trail := &Trail{Key: digest("t %d", i), Source: "items", ItemKey: fmt.Sprintf("items.jsonl:%d", i), Run: "20260115T101500Z-4f2a91", Final: true, Ends: Tally{1}, Body: body}
		for v := range 5 {
			doc := dag.NewDoc(fmt.Appendf(nil, `{"i":%d,"v":%d}`, i, v))
			ref, err := s.Put(doc)
			check(b, err)
			check(b, s.PutAction(&Action{Digest: digest("a %d %d", i, v), Recipe: recipe, Stage: "stage_3", Output: doc.Digest, OutputRef: ref, Word: "ok", Run: trail.Run}))
			trail.Need(ref, doc.Digest)
		}
		check(b, s.PutTrail(trail))
		keys[i] = trail.Key
		if i%400 == 0 {
			check(b, s.Flush())
		}
	}
	check(b, s.Close())
	return keys
}

func BenchmarkOpen20000Trails(b *testing.B) {
	dir := b.TempDir()
	keys := fill(b, dir, 20000)
	for b.Loop() {
		s := open(b, dir, Options{ReadOnly: true})
		if _, ok := s.Trail(keys[0]); !ok {
			b.Fatal("no trail")
		}
		_ = s.Close()
	}
}

func BenchmarkOpen100000Actions(b *testing.B) {
	dir := b.TempDir()
	fill(b, dir, 20000)
	for b.Loop() {
		s := open(b, dir, Options{ReadOnly: true})
		if _, ok, err := s.Action(digest("a 17 3")); !ok || err != nil {
			b.Fatal("no action", err)
		}
		_ = s.Close()
	}
}

func BenchmarkTrail(b *testing.B) {
	dir := b.TempDir()
	keys := fill(b, dir, 20000)
	s := open(b, dir, Options{ReadOnly: true})
	i := 0
	for b.Loop() {
		if !s.Settled(keys[i%len(keys)]) {
			b.Fatal("no trail")
		}
		i++
	}
}

func BenchmarkAction(b *testing.B) {
	dir := b.TempDir()
	fill(b, dir, 20000)
	s := open(b, dir, Options{ReadOnly: true})
	keys := make([]dag.Digest, 20000)
	for i := range keys {
		keys[i] = digest("a %d 3", i)
	}
	i := 0
	for b.Loop() {
		if _, ok, _ := s.Action(keys[i%len(keys)]); !ok {
			b.Fatal("no action")
		}
		i++
	}
}

func BenchmarkGet(b *testing.B) {
	docs := benchDocs(10000)
	s := open(b, b.TempDir(), Options{})
	for _, doc := range docs {
		if _, err := s.Put(doc); err != nil {
			b.Fatal(err)
		}
	}
	check(b, s.Flush())
	i := 0
	for b.Loop() {
		if _, err := s.Get(docs[i%len(docs)].Digest); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// What a finished item of five visits leaves in memory.
func TestMemoryOfFinishedItems(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{RunID: "r"})
	if _, _, err := s.Action(digest("none")); err != nil { // so that actions are indexed too
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	outside := func() int {
		slots := len(s.lines.slots) + len(s.actions.table.slots) + len(s.trails.byKey.slots)
		return slots*12 + s.trails.heads.end
	}
	const warm, items = 2000, 20000 // the first ones pay for buffers, which do not grow
	var atWarm int
	for i := range warm + items {
		if i == warm {
			runtime.GC()
			runtime.ReadMemStats(&before)
			atWarm = outside()
		}
		trail := exampleTrail(i)
		for v := range 5 {
			doc := dag.NewDoc(fmt.Appendf(nil, `{"i":%d,"v":%d}`, i, v))
			ref, err := s.Put(doc)
			check(t, err)
			a := exampleAction(5*i+v, ref, doc.Digest)
			check(t, s.PutAction(a))
			trail.Need(ref, doc.Digest)
		}
		if _, ok := s.Trail(trail.Key); ok {
			t.Fatal("known before it was put")
		}
		check(t, s.PutTrail(trail))
		if i%400 == 0 {
			check(t, s.Flush())
		}
	}
	check(t, s.Flush())
	runtime.GC()
	runtime.ReadMemStats(&after)
	heap := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	each := (int(heap) + outside() - atWarm) / items
	if each > 300 {
		t.Errorf("a finished item takes %d bytes (%d of them on the heap)", each, heap/items)
	}
	if perEntry := float64(len(s.lines.slots)*12) / float64(s.lines.used); perEntry > 24 {
		t.Errorf("an artifact takes %.1f bytes of index", perEntry)
	}
	t.Logf("%d bytes an item, %d on the heap", each, heap/items)
}
