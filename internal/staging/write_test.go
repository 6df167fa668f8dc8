package staging

import (
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// What was written is found by another process before it is durable, and Flush still
// has it to sync.
func TestWrittenBeforeItIsDurable(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	doc := dag.NewDoc([]byte(`{"paid":1}`))
	ref, err := s.Put(doc)
	if err != nil {
		t.Fatal(err)
	}
	key := dag.Sum([]byte("key"))
	if err := s.PutAction(&Action{Digest: key, Stage: "completion", Output: doc.Digest, OutputRef: ref}); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(); err != nil {
		t.Fatal(err)
	}
	if s.Dirty() == 0 {
		t.Error("nothing waits to be synced")
	}
	other, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	found, ok, err := other.Action(key)
	if err != nil || !ok {
		t.Fatalf("another process does not find it: %v", err)
	}
	if b, err := other.Read(found.OutputRef, found.Output); err != nil || string(b) != `{"paid":1}` {
		t.Errorf("another process reads %s, %v", b, err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := s.Dirty(); n != 0 {
		t.Errorf("%d still wait after Flush", n)
	}
}
