package staging

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/penstock-run/penstock/dag"
)

// open opens a store and closes it with the test.
func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func document(i int) dag.Doc {
	return dag.NewDoc(fmt.Appendf(nil, `{"i":%d,"text":"%s"}`, i, strings.Repeat("x", i%300)))
}

func digest(format string, args ...any) dag.Digest { return dag.Sum(fmt.Appendf(nil, format, args...)) }

func wantDoc(t testing.TB, s *Store, doc dag.Doc) {
	t.Helper()
	got, err := s.Get(doc.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, doc.Bytes) {
		t.Fatalf("got %s, want %s", got, doc.Bytes)
	}
}

func wantAbsent(t testing.TB, s *Store, digest dag.Digest) {
	t.Helper()
	b, err := s.Get(digest)
	if !errors.Is(err, ErrAbsent) || !errors.Is(err, &dag.Error{Kind: dag.KindInfrastructure, Code: dag.EStore}) {
		t.Fatalf("got %q and %v, want an absent artifact", b, err)
	}
}

// files is every file under dir with its content.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[rel] = string(b)
		return err
	})
	check(t, err)
	return all
}

func TestArtifacts(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	a, b := document(1), document(2)
	ref := must[Ref](t)(s.Put(a))
	must[Ref](t)(s.Put(b))
	if again := must[Ref](t)(s.Put(a)); again != ref {
		t.Errorf("the same document lies at %v and at %v", ref, again)
	}
	wantDoc(t, s, a) // from the buffer
	wantDoc(t, s, b)
	wantAbsent(t, s, digest("never put"))
	check(t, s.Flush())
	wantDoc(t, s, a)
	if got := must[[]byte](t)(s.Read(ref, a.Digest)); !bytes.Equal(got, a.Bytes) {
		t.Errorf("Read gives %s", got)
	}
	if got := must[[]byte](t)(s.Read(Ref{}, b.Digest)); !bytes.Equal(got, b.Bytes) {
		t.Errorf("Read without a place gives %s", got)
	}
	check(t, s.Close())

	segment := files(t, dir)["artifacts/000001.jsonl"]
	if want := string(a.Bytes) + "\n" + string(b.Bytes) + "\n"; segment != want {
		t.Errorf("the segment holds %q, want %q", segment, want)
	}

	s = open(t, dir, Options{})
	wantDoc(t, s, a)
	if again := must[Ref](t)(s.Put(a)); again != ref {
		t.Errorf("after a restart the same document lies at %v, before at %v", again, ref)
	}
	must[Ref](t)(s.Put(document(3)))
	check(t, s.Close())
	if numbers := must[[]uint32](t)(s.numbers()); len(numbers) != 1 {
		t.Errorf("a second run began another segment: %v", numbers)
	}
}

func TestLooseDocuments(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	small := dag.NewDoc([]byte(`"` + strings.Repeat("s", looseSize-2) + `"`))
	large := dag.NewDoc([]byte(`"` + strings.Repeat("l", looseSize-1) + `"`))
	if ref := must[Ref](t)(s.Put(small)); ref.Loose() {
		t.Error("64 KiB are a file of their own")
	}
	ref := must[Ref](t)(s.Put(large))
	if !ref.Loose() {
		t.Error("more than 64 KiB are a line")
	}
	wantDoc(t, s, small)
	wantDoc(t, s, large)
	name := large.Digest.String()
	path := filepath.Join(dir, "artifacts", name[:2], name+".json")
	check(t, os.WriteFile(path, []byte("other"), 0o644))
	wantAbsent(t, s, large.Digest)
	must[Ref](t)(s.Put(large))
	wantDoc(t, s, large)
	for name := range files(t, dir) {
		if strings.Contains(name, ".put-") {
			t.Errorf("a temporary file is left: %s", name)
		}
	}
}

func TestSegmentsRotate(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	var docs []dag.Doc
	for i := range 1100 { // 1,100 × 63 KiB is more than one segment
		docs = append(docs, dag.NewDoc(fmt.Appendf(nil, `"%05d%s"`, i, strings.Repeat("r", 63<<10))))
		must[Ref](t)(s.Put(docs[i]))
	}
	for _, doc := range docs {
		wantDoc(t, s, doc)
	}
	check(t, s.Close())
	for _, n := range []uint32{1, 2} {
		info, err := os.Stat(s.segmentPath(n))
		check(t, err)
		if info.Size() > segmentSize {
			t.Errorf("segment %d has %d bytes", n, info.Size())
		}
	}
	s = open(t, dir, Options{})
	must[Ref](t)(s.Put(document(1)))
	for _, doc := range docs {
		wantDoc(t, s, doc)
	}
	if s.own.number != 2 {
		t.Errorf("the next run writes segment %d, want 2", s.own.number)
	}
}

func exampleAction(i int, ref Ref, output dag.Digest) *Action {
	figure := 0.25
	return &Action{
		Digest: digest("action %d", i), Recipe: digest("recipe"), Stage: "verifier", Input: digest("in %d", i),
		Output: output, OutputRef: ref, Word: "accept", Run: "20260115T101500Z-4f2a91", Sample: i % 3,
		Findings: []dag.PluginFinding{{Word: "thin", Triage: dag.Review, Figure: &figure, Evidence: "one line"}, {Word: "odd"}},
		Notes:    []string{"fences stripped"},
		Facts: dag.Facts{Model: "m-1", StartedAt: time.Unix(1768471200, 5).UTC(), EndedAt: time.Unix(1768471201, 0).UTC(),
			Reused: true, Calls: 2, Input: 1000, Cached: 10, OutTokens: 300,
			Paid: dag.Bill{Attempts: 3, Tokens: dag.Tokens{Input: 2000, Cached: 20, Written: 5, Output: 600}, Estimated: 1, USD: 0.025, Unpriced: 1, Price: "price block"}},
	}
}

func TestActions(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	doc := document(1)
	ref := must[Ref](t)(s.Put(doc))
	want := exampleAction(1, ref, doc.Digest)
	failed := &Action{Digest: digest("failed"), Recipe: digest("other recipe"), Stage: "s",
		Failure: &dag.Failure{Code: "R_SCHEMA", Cause: dag.EOutput, Message: "no"}}

	if s.HasRecipe(want.Recipe) {
		t.Error("a recipe that was never used is known")
	}
	check(t, s.PutAction(want))
	check(t, s.PutAction(failed))
	see := func(when string, s *Store) {
		t.Helper()
		for _, want := range []*Action{want, failed} {
			got, ok, err := s.Action(want.Digest)
			if err != nil || !ok {
				t.Fatalf("%s: %v, %v", when, ok, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", when, diff)
			}
			if !s.HasRecipe(want.Recipe) {
				t.Errorf("%s: the recipe is not known", when)
			}
		}
		if _, ok, _ := s.Action(digest("none")); ok {
			t.Errorf("%s: an action that was never made", when)
		}
		if s.HasRecipe(digest("none")) {
			t.Errorf("%s: a recipe that was never used", when)
		}
	}
	see("before the flush", s)
	check(t, s.Flush())
	see("after the flush", s)
	check(t, s.Close())
	see("after a restart", open(t, dir, Options{}))
	see("read only", open(t, dir, Options{ReadOnly: true}))

	s = open(t, dir, Options{})
	want.Word = "reject"
	check(t, s.PutAction(want))
	see("made anew, before the flush", s)
	check(t, s.Flush())
	see("made anew", s)
	check(t, s.Close())
	see("made anew, after a restart", open(t, dir, Options{}))
}

func TestR38ActionWithoutOutput(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	doc := document(7)
	ref := must[Ref](t)(s.Put(doc))
	a := exampleAction(1, ref, doc.Digest)
	check(t, s.PutAction(a))
	check(t, s.Close())
	segment := filepath.Join(dir, "artifacts/000001.jsonl")
	b := must[[]byte](t)(os.ReadFile(segment))
	for i := range b[:len(b)-1] {
		b[i] ^= 1
	}
	check(t, os.WriteFile(segment, b, 0o644))

	s = open(t, dir, Options{})
	if _, ok, _ := s.Action(a.Digest); !ok {
		t.Fatal("by its length the output is there")
	}
	wantAbsent(t, s, doc.Digest)
	if _, ok, _ := s.Action(a.Digest); ok {
		t.Error("the output was found damaged, and the action is still there")
	}
	a.OutputRef = must[Ref](t)(s.Put(doc))
	if a.OutputRef == ref {
		t.Error("the damaged copy was taken for the document")
	}
	check(t, s.PutAction(a))
	wantDoc(t, s, doc)
	got, ok, err := s.Action(a.Digest)
	if diff := cmp.Diff(a, got); !ok || err != nil || diff != "" {
		t.Errorf("made again: %v %v %s", ok, err, diff)
	}
	check(t, s.Close())

	check(t, os.Truncate(segment, 3))
	s = open(t, dir, Options{ReadOnly: true})
	if _, ok, _ := s.Action(a.Digest); ok {
		t.Error("the segment is cut, and the action is still there")
	}
}

func TestRecipes(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	parts := []dag.Part{{Name: "plugin", Digest: digest("p")}, {Name: "config", Digest: digest("c")}, {}}
	check(t, s.PutRecipe(digest("r"), parts))
	check(t, s.PutRecipe(digest("r"), parts))
	if s.Dirty() != 1 {
		t.Errorf("the same recipe twice leaves %d records", s.Dirty())
	}
	for _, s := range []*Store{s, func() *Store { check(t, s.Flush()); return open(t, dir, Options{ReadOnly: true}) }()} {
		got, ok := s.Recipe(digest("r"))
		if diff := cmp.Diff(parts, got); !ok || diff != "" {
			t.Errorf("%v %s", ok, diff)
		}
		if _, ok := s.Recipe(digest("none")); ok {
			t.Error("a recipe that was never put")
		}
	}
}

// When the log of recipes is lost, no paid answer may be.
func TestRecipesLost(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	ref := must[Ref](t)(s.Put(document(1)))
	check(t, s.PutAction(exampleAction(1, ref, document(1).Digest)))
	check(t, s.Close())
	path := filepath.Join(dir, "recipes.log")
	whole := must[[]byte](t)(os.ReadFile(path))
	for at := range whole {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x40
		check(t, os.WriteFile(path, damaged, 0o644))
		if !open(t, dir, Options{ReadOnly: true}).HasRecipe(digest("recipe")) {
			t.Fatalf("byte %d flipped: a used recipe reads as never used", at)
		}
	}
	check(t, os.Remove(path))
	if !open(t, dir, Options{ReadOnly: true}).HasRecipe(digest("recipe")) {
		t.Error("the log is gone: a used recipe reads as never used")
	}
}

// Records of a segment that was deleted must not come to point into a new one.
func TestSegmentNumbersAreNotUsedTwice(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	ref := must[Ref](t)(s.Put(document(1)))
	check(t, s.PutTrail(exampleTrail(1, ref)))
	check(t, s.Close())
	check(t, os.RemoveAll(filepath.Join(dir, "artifacts")))
	s = open(t, dir, Options{})
	for i := range 10 {
		must[Ref](t)(s.Put(document(100 + i)))
	}
	check(t, s.Flush())
	if _, ok := s.Trail(digest("trail 1")); ok {
		t.Error("a trail over a deleted segment is taken for whole")
	}
}

func TestR02ReadOnlyWritesNothing(t *testing.T) {
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	empty := open(t, none, Options{ReadOnly: true})
	use := func(s *Store) {
		_, _ = s.Get(digest("x"))
		_, _, _ = s.Action(digest("x"))
		_, _ = s.Trail(digest("x"))
		_, _ = s.TrailByItem("a", "b")
		_ = s.HasRecipe(digest("x"))
		_, _ = s.Runs()
		_, _, _ = s.Holder(digest("x"))
		if _, err := s.Put(document(1)); !errors.Is(err, ErrReadOnly) {
			t.Errorf("Put: %v", err)
		}
		for op, err := range map[string]error{
			"PutAction": s.PutAction(&Action{}), "PutTrail": s.PutTrail(&Trail{}), "PutRecipe": s.PutRecipe(digest("x"), nil),
			"StartRun": s.StartRun(Run{}), "EndRun": s.EndRun(RunEnd{}), "Release": s.Release(nil),
		} {
			if !errors.Is(err, ErrReadOnly) {
				t.Errorf("%s: %v", op, err)
			}
		}
		check(t, s.Flush())
		check(t, s.Close())
	}
	use(empty)
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading made the folder: %v", err)
	}

	s := open(t, dir, Options{RunID: "r1"})
	ref := must[Ref](t)(s.Put(document(1)))
	check(t, s.PutAction(exampleAction(1, ref, document(1).Digest)))
	check(t, s.PutTrail(exampleTrail(1, ref)))
	check(t, s.StartRun(Run{ID: "r1", Started: time.Unix(1, 0)}))
	must[[]bool](t)(s.Claim([]dag.Digest{digest("x")}))
	check(t, s.Flush())
	for _, name := range []string{"trails.log", "actions.log", "artifacts/000001.jsonl"} {
		check(t, appendFile(filepath.Join(dir, name), []byte("torn")))
	}
	before := files(t, dir)
	use(open(t, dir, Options{ReadOnly: true}))
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestR75Version(t *testing.T) {
	for _, test := range []struct{ text, want, hint string }{
		{"penstock staging 2\n", "its layout is version 2, newer than the 1 of this Penstock", "upgrade Penstock, or move the folder away (mv DIR DIR.new)"},
		{"penstock staging 0\n", "its layout is version 0, older than the 1 of this Penstock", "move it away (mv DIR DIR.old) and run again: everything in it is made anew"},
		{"hello", "this is not the version of a staging folder", "write `penstock staging 1` into it if the folder is Penstock's, else move the folder away"},
		{"", "this is not the version of a staging folder", "write `penstock staging 1` into it if the folder is Penstock's, else move the folder away"},
	} {
		t.Run(test.text, func(t *testing.T) {
			dir := t.TempDir()
			check(t, os.WriteFile(filepath.Join(dir, "VERSION"), []byte(test.text), 0o644))
			before := files(t, dir)
			_, err := Open(dir, Options{RunID: "r"})
			var e *dag.Error
			if !errors.As(err, &e) {
				t.Fatalf("opened, or %v", err)
			}
			if dag.KindOf(err) != dag.KindConfig || e.Err.Error() != test.want || strings.ReplaceAll(e.Hint, dir, "DIR") != test.hint {
				t.Errorf("kind %d, %s, hint %s", e.Kind, e.Err, e.Hint)
			}
			if diff := cmp.Diff(before, files(t, dir)); diff != "" {
				t.Errorf("refused, and touched: %s", diff)
			}
		})
	}
}

func TestRuns(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{RunID: "r1"})
	if _, ok, err := s.LastRun(); ok || err != nil {
		t.Errorf("before the first run: %v %v", ok, err)
	}
	start := time.Unix(1768471200, 0).UTC()
	check(t, s.StartRun(Run{ID: "r1", PID: 10, Host: "h", Pipeline: "p", Started: start, Flags: []string{"-j", "4"}}))
	reader := open(t, dir, Options{ReadOnly: true})
	states := func(want ...RunState) {
		t.Helper()
		var got []RunState
		for _, run := range must[[]Run](t)(reader.Runs()) {
			got = append(got, run.State)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	states(RunRunning)
	check(t, s.EndRun(RunEnd{ID: "r1", Ended: start.Add(time.Minute), Tally: map[dag.End]int{dag.Accepted: 3}, Exit: 2}))
	states(RunDone)
	check(t, s.Close())
	s = open(t, dir, Options{RunID: "r2"})
	check(t, s.StartRun(Run{ID: "r2", Started: start}))
	check(t, s.Close()) // without EndRun
	states(RunDone, RunInterrupted)
	got, ok, err := reader.LastRun()
	if !ok || err != nil || got.ID != "r2" {
		t.Errorf("last run: %v %v %v", got, ok, err)
	}
	want := Run{ID: "r1", PID: 10, Host: "h", Pipeline: "p", Started: start, Flags: []string{"-j", "4"},
		Ended: start.Add(time.Minute), Tally: map[dag.End]int{dag.Accepted: 3}, Exit: 2, State: RunDone}
	if diff := cmp.Diff(want, must[[]Run](t)(reader.Runs())[0], cmpopts.EquateApproxTime(0)); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{RunID: "r"})
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 300 {
				doc := document(i) // the same ones from each goroutine
				ref, err := s.Put(doc)
				if err != nil {
					t.Error(err)
					return
				}
				a := exampleAction(g*1000+i, ref, doc.Digest)
				trail := exampleTrail(g*1000+i, ref)
				for _, err := range []error{s.PutAction(a), s.PutTrail(trail)} {
					if err != nil {
						t.Error(err)
					}
				}
				if i%50 == g {
					if err := s.Flush(); err != nil {
						t.Error(err)
					}
				}
				if _, ok, err := s.Action(a.Digest); !ok || err != nil {
					t.Errorf("action %v %v", ok, err)
				}
				if head, ok := s.Trail(trail.Key); !ok {
					t.Error("no trail")
				} else if _, err := s.LoadTrail(head); err != nil {
					t.Error(err)
				}
				if _, err := s.Read(ref, doc.Digest); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	check(t, s.Close())
	lines := strings.Count(files(t, dir)["artifacts/000001.jsonl"], "\n")
	if lines != 300 {
		t.Errorf("300 documents are %d lines", lines)
	}
}
