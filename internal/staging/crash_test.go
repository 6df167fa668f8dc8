package staging

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock-run/penstock/dag"
)

// writeItem stores what an item leaves behind: an artifact, an action, a trail.
func writeItem(s *Store, i int) error {
	doc := document(i)
	ref, err := s.Put(doc)
	if err != nil {
		return err
	}
	if err := s.PutAction(exampleAction(i, ref, doc.Digest)); err != nil {
		return err
	}
	return s.PutTrail(exampleTrail(i, ref))
}

// hasItem reports what of it is found again, in that order.
func hasItem(t testing.TB, s *Store, i int) [3]bool {
	t.Helper()
	b, err := s.Get(document(i).Digest)
	if err == nil && !bytes.Equal(b, document(i).Bytes) {
		t.Fatalf("item %d reads as %s", i, b)
	}
	a, action, err2 := s.Action(digest("action %d", i))
	if err2 != nil {
		t.Fatal(err2)
	}
	if action && a.Input != digest("in %d", i) {
		t.Fatalf("item %d has another action", i)
	}
	head, trail := s.Trail(digest("trail %d", i))
	if trail {
		full, err := s.LoadTrail(head)
		if err != nil || full.ItemKey != exampleTrail(i).ItemKey {
			t.Fatalf("item %d has another trail, or %v", i, err)
		}
	}
	return [3]bool{err == nil, action, trail}
}

var all = [3]bool{true, true, true}

// lines checks that each segment is whole lines of JSON documents.
func wantWholeLines(t testing.TB, dir string) {
	t.Helper()
	for name, content := range files(t, dir) {
		if !strings.HasSuffix(name, ".jsonl") {
			continue
		}
		for line := range strings.Lines(content) {
			if !strings.HasPrefix(line, "{") || !strings.HasSuffix(line, "}\n") {
				t.Fatalf("%s holds a torn line: %q", name, line)
			}
		}
	}
}

// useMemory lets a test of very many small stores skip the disk: these tests
// are about what the files hold, and a sync on a disk takes a millisecond.
func useMemory(t *testing.T) {
	const shared = "/dev/shm"
	if dir, err := os.MkdirTemp(shared, "penstock-staging-"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		t.Setenv("TMPDIR", dir)
	}
}

// A crash may leave any prefix of what was being appended. Whatever is cut off
// a file, the store opens, keeps what lay before the cut, and goes on.
func TestR61CutAtEveryByte(t *testing.T) {
	useMemory(t)
	const items = 3
	base := t.TempDir()
	s := open(t, base, Options{})
	var ends []map[string]int // of each file after each item
	for i := range items {
		check(t, writeItem(s, i))
		check(t, s.Flush())
		sizes := map[string]int{}
		for name, content := range files(t, base) {
			sizes[name] = len(content)
		}
		ends = append(ends, sizes)
	}
	check(t, s.Close())
	whole := files(t, base)

	for _, test := range []struct {
		file  string
		index bool // whether the segment's index survives
		lost  func(item int, l int) [3]bool
	}{
		{"trails.log", true, func(item, l int) [3]bool { return [3]bool{true, true, l >= ends[item]["trails.log"]-commitSize} }},
		{"actions.log", true, func(item, l int) [3]bool { return [3]bool{true, l >= ends[item]["actions.log"]-commitSize, true} }},
		{"recipes.log", true, func(item, l int) [3]bool { return all }},
		{"runs.log", true, func(item, l int) [3]bool { return all }},
		{"artifacts/000001.idx", true, func(item, l int) [3]bool { return all }},
		{"artifacts/000001.jsonl", true, nil},
		{"artifacts/000001.jsonl", false, nil},
	} {
		t.Run(fmt.Sprintf("%s, index %v", test.file, test.index), func(t *testing.T) {
			lost := test.lost
			if lost == nil {
				lost = func(item, l int) [3]bool {
					there := l >= ends[item][test.file]
					return [3]bool{there, there, there}
				}
			}
			for l := range whole[test.file] {
				dir := t.TempDir()
				for name, content := range whole {
					path := filepath.Join(dir, name)
					check(t, os.MkdirAll(filepath.Dir(path), 0o755))
					if name == test.file {
						content = content[:l]
					}
					if strings.HasSuffix(name, ".idx") && !test.index {
						continue
					}
					check(t, os.WriteFile(path, []byte(content), 0o644))
				}
				goOn(t, dir, items, func(item int) [3]bool { return lost(item, l) })
			}
		})
	}
}

// goOn opens a damaged store, checks what is left, writes on, and checks again.
func goOn(t *testing.T, dir string, items int, left func(item int) [3]bool) {
	t.Helper()
	s, err := Open(dir, Options{})
	check(t, err)
	for i := range items {
		if diff := cmp.Diff(left(i), hasItem(t, s, i)); diff != "" {
			t.Fatalf("item %d before: %s", i, diff)
		}
	}
	for i := range items + 2 { // the old ones are made again where they are lost
		if hasItem(t, s, i) != all {
			check(t, writeItem(s, i))
		}
	}
	check(t, s.Close())
	s, err = Open(dir, Options{ReadOnly: true})
	check(t, err)
	for i := range items + 2 {
		if got := hasItem(t, s, i); got != all {
			t.Fatalf("item %d after: %v", i, got)
		}
	}
	check(t, s.Close())
	wantWholeLines(t, dir)
}

// Damage anywhere in a file costs what it hits, and is healed by the next run.
func TestR61FlipEveryByte(t *testing.T) {
	useMemory(t)
	const items = 3
	base := t.TempDir()
	s := open(t, base, Options{})
	for i := range items {
		check(t, writeItem(s, i))
		check(t, s.Flush())
	}
	check(t, s.Close())
	whole := files(t, base)
	for _, file := range []string{"trails.log", "actions.log", "recipes.log", "artifacts/000001.jsonl", "artifacts/000001.idx"} {
		t.Run(file, func(t *testing.T) {
			for at := range whole[file] {
				if at%3 != 0 {
					continue // each byte of a frame is hit in one of the frames
				}
				dir := t.TempDir()
				for name, content := range whole {
					path := filepath.Join(dir, name)
					check(t, os.MkdirAll(filepath.Dir(path), 0o755))
					b := []byte(content)
					if name == file {
						b[at] ^= 0x15
					}
					check(t, os.WriteFile(path, b, 0o644))
				}
				flipped(t, dir, items)
			}
		})
	}
}

func flipped(t *testing.T, dir string, items int) {
	t.Helper()
	s, err := Open(dir, Options{})
	check(t, err)
	hurt := 0
	for i := range items {
		got := hasItem(t, s, i)
		if !got[0] { // found out only by reading: from now on its action is absent too
			got = hasItem(t, s, i)
		}
		if got != all {
			hurt++
			check(t, writeItem(s, i))
		}
	}
	if hurt > 1 {
		t.Fatalf("one byte hurt %d items", hurt)
	}
	check(t, s.Close())
	s, err = Open(dir, Options{ReadOnly: true})
	check(t, err)
	defer func() { _ = s.Close() }()
	for i := range items {
		if got := hasItem(t, s, i); got != all {
			t.Fatalf("item %d is not healed: %v", i, got)
		}
	}
}

func TestTornTailsAreKeptAside(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	check(t, writeItem(s, 1))
	check(t, s.Close())
	for _, name := range []string{"trails.log", "artifacts/000001.jsonl"} {
		check(t, appendFile(filepath.Join(dir, name), []byte("torn off")))
	}
	var notes []string
	s = open(t, dir, Options{Log: func(msg string) { notes = append(notes, strings.ReplaceAll(msg, dir, "staging")) }})
	check(t, writeItem(s, 2))
	check(t, s.Close())
	after := files(t, dir)
	for _, name := range []string{"trails.log.torn", "artifacts/000001.jsonl.torn"} {
		if after[name] != "torn off" {
			t.Errorf("%s holds %q", name, after[name])
		}
	}
	want := []string{
		"staging/artifacts/000001.jsonl: the last 8 bytes were torn; they were moved to 000001.jsonl.torn",
		"staging/trails.log: the last 8 bytes were torn; they were moved to trails.log.torn",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
}

func TestDamageInsideALogIsReported(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	for i := range 3 {
		check(t, writeItem(s, i))
	}
	check(t, s.Close())
	path := filepath.Join(dir, "trails.log")
	b := must[[]byte](t)(os.ReadFile(path))
	b[logHead+20] ^= 1
	check(t, os.WriteFile(path, b, 0o644))
	var notes []string
	s = open(t, dir, Options{ReadOnly: true, Log: func(msg string) { notes = append(notes, strings.ReplaceAll(msg, dir, "staging")) }})
	if got := []bool{s.Settled(digest("trail 0")), s.Settled(digest("trail 1")), s.Settled(digest("trail 2"))}; got[0] || !got[1] || !got[2] {
		t.Errorf("found: %v", got)
	}
	n := frameHead + len(exampleTrail(0, Ref{Segment: 1}).append(nil))
	want := []string{fmt.Sprintf("staging/trails.log: %d bytes at offset 16 are damaged; what they recorded counts as not there", n)}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
}

func TestFolderVanishes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "staging")
	s := open(t, dir, Options{RunID: "r"})
	check(t, writeItem(s, 1))
	check(t, s.Flush())
	check(t, os.RemoveAll(dir))
	check(t, writeItem(s, 2))
	if err := s.Flush(); !errors.Is(err, &dag.Error{Kind: dag.KindInfrastructure, Code: dag.EStore}) {
		t.Errorf("written into a folder that is gone: %v", err)
	}
	if _, err := s.Claim([]dag.Digest{digest("k")}); err == nil {
		t.Error("claimed in a folder that is gone")
	}
}

func TestFolderIsReadOnly(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root writes anywhere")
	}
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o555))
	_, err := Open(filepath.Join(dir, "staging"), Options{RunID: "r"})
	var e *dag.Error
	if !errors.As(err, &e) || e.Kind != dag.KindInfrastructure || e.Hint == "" {
		t.Errorf("opened, or %v", err)
	}
}
