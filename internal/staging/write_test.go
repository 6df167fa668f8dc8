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

// Write does not wait for a Flush that syncs, which then goes on from its own marks.
func TestWriteDuringFlush(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(name string) {
		doc := dag.NewDoc([]byte(`{"paid":"` + name + `"}`))
		ref, err := s.Put(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.PutAction(&Action{Digest: dag.Sum([]byte(name)), Stage: "completion", Output: doc.Digest, OutputRef: ref}); err != nil {
			t.Fatal(err)
		}
	}
	put("before")
	s.flushing.Lock() // as Flush has it while it syncs
	_, marks, err := s.flushArtifacts()
	if err != nil {
		t.Fatal(err)
	}
	put("meanwhile")
	if err := s.Write(); err != nil {
		t.Fatal(err)
	}
	put("after")
	if _, err := s.flushLogs(marks); err != nil {
		t.Fatal(err)
	}
	s.flushing.Unlock()
	if n := s.unwritten(); n != 2 {
		t.Errorf("%d artifacts and records are unwritten, want the 2 of what came after", n)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	other, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, name := range []string{"before", "meanwhile", "after"} {
		found, ok, err := other.Action(dag.Sum([]byte(name)))
		if err != nil || !ok {
			t.Errorf("%s: not found: %v", name, err)
		} else if b, err := other.Read(found.OutputRef, found.Output); err != nil || string(b) != `{"paid":"`+name+`"}` {
			t.Errorf("%s: reads %s, %v", name, b, err)
		}
	}
}
