package staging

import (
	"os"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// TestR62PutAgain: what was put is found where it lies, whatever was put since; and
// a copy that was found damaged is not taken for granted again.
func TestR62PutAgain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{RunID: "r"})
	docs := benchDocs(3 * recentSize)
	refs := make([]Ref, len(docs))
	for i, doc := range docs {
		var err error
		refs[i], err = s.Put(doc)
		check(t, err)
		again, err := s.Put(doc)
		check(t, err)
		if again != refs[i] {
			t.Fatalf("document %d: put at %+v, then at %+v", i, refs[i], again)
		}
	}
	for i, doc := range docs {
		again, err := s.Put(doc)
		check(t, err)
		if again != refs[i] {
			t.Fatalf("document %d: put at %+v, much later at %+v", i, refs[i], again)
		}
	}
	check(t, s.Flush())

	last := len(docs) - 1
	damage(t, s.segmentPath(refs[last].Segment), refs[last])
	if _, err := s.Read(refs[last], docs[last].Digest); err == nil {
		t.Fatal("a damaged document was read")
	}
	ref, err := s.Put(docs[last])
	check(t, err)
	if got, err := s.Read(ref, docs[last].Digest); err != nil || dag.Sum(got) != docs[last].Digest || ref == refs[last] {
		t.Errorf("put anew at %+v, read %v", ref, err)
	}
}

func damage(t *testing.T, path string, ref Ref) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	check(t, err)
	_, err = f.WriteAt([]byte{'!'}, int64(ref.Offset)+int64(ref.Length)/2)
	check(t, err)
	check(t, f.Close())
}
