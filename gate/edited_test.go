package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/penstock-run/penstock/dag"
)

// filled makes a corpus of three records in one bucket and one rejection.
func filled(t *testing.T) (dir string, spec *dag.Gate) {
	t.Helper()
	dir, spec = t.TempDir(), plain(uniqueQuestion())
	g := mustOpen(t, options(t, dir, spec))
	v := judge(t, g,
		cardCandidate("1", "art", `{"id":"a1","q":"One?"}`), cardCandidate("2", "art", `{"id":"a2","q":"Two?"}`),
		cardCandidate("3", "art", `{"id":"a3","q":"Three?"}`), cardCandidate("4", "art", `{"id":"a4","q":"Three?"}`))
	if v[2].End != dag.Accepted || v[3].End != dag.Rejected {
		t.Fatalf("%+v", v)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, spec
}

func edit(t *testing.T, dir, path string, change func(string) string) {
	t.Helper()
	full := filepath.Join(dir, path)
	b, err := os.ReadFile(full)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(change(string(b))), 0o644); err != nil {
		t.Fatal(err)
	}
}

func replaceIn(old, new string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, new, 1) }
}

func cutLine(n int) func(string) string {
	return func(s string) string {
		all := strings.SplitAfter(s, "\n")
		return strings.Join(append(all[:n-1:n-1], all[n:]...), "")
	}
}

// A file that a person edited stops the gate, which says what to run.
func TestEditedFilesStopTheGate(t *testing.T) {
	const evidence, data = "meta/verification.jsonl", "data/art.jsonl"
	for _, tt := range []struct {
		name, path string
		change     func(string) string
		err        string
		faults     []string
	}{
		{"a row of evidence is changed", evidence, replaceIn(`"claim":"Two?"`, `"claim":"Too?"`),
			"meta/verification.jsonl was changed by something other than the gate: line 3 does not follow the line before it",
			[]string{"meta/verification.jsonl:2: the line is not as it was written, or `previous` in line 3 is not"}},
		{"a row of evidence is gone", evidence, cutLine(2),
			"meta/verification.jsonl was changed by something other than the gate: it had %d bytes and has %d",
			[]string{"meta/verification.jsonl:2: before this line the row with the number 2 is gone; one record in data/art.jsonl has no evidence now"}},
		{"the last record is changed", data, replaceIn("Three?", "Thre??"),
			"data/art.jsonl was changed by something other than the gate: the bytes before byte %d are not those that were written",
			[]string{"data/art.jsonl:3: the record a3 is not the one that was accepted (evidence line 3)"}},
		{"a record is gone", data, cutLine(1),
			"data/art.jsonl was changed by something other than the gate: it had %d bytes and has %d",
			[]string{"data/art.jsonl:1: before this line the record a1 (evidence line 1) is gone"}},
		{"a record stands twice", data, func(s string) string { return s + strings.SplitAfter(s, "\n")[0] }, "",
			[]string{"data/art.jsonl:4: the record a1 stands in line 1 already"}},
		{"a rejection is gone", "meta/rejections.jsonl", cutLine(1),
			"meta/rejections.jsonl was changed by something other than the gate: it had %d bytes and has 0",
			[]string{"meta/rejections.jsonl: the file had %d bytes and has 0: rows are gone, or an older copy was put in its place"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, spec := filled(t)
			before, _ := os.Stat(filepath.Join(dir, tt.path))
			edit(t, dir, tt.path, tt.change)
			after, _ := os.Stat(filepath.Join(dir, tt.path))
			fill := func(s string) string {
				switch strings.Count(s, "%d") {
				case 2:
					return fmt.Sprintf(s, before.Size(), after.Size())
				case 1:
					return fmt.Sprintf(s, before.Size())
				}
				return s
			}

			report, err := Audit(context.Background(), Options{Dir: dir, Gate: spec})
			if err != nil {
				t.Fatal(err)
			}
			var faults, want []string
			for _, f := range report.Faults {
				faults = append(faults, f.String())
			}
			for _, f := range tt.faults {
				want = append(want, fill(f))
			}
			if diff := cmp.Diff(want, faults); diff != "" {
				t.Error(diff)
			}

			err = openAndJudge(t, dir, spec)
			if tt.err == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var known *dag.Error
			if !errors.As(err, &known) || known.Kind != dag.KindDiffers || known.Err.Error() != fill(tt.err) {
				t.Fatalf("%v; want %s", err, fill(tt.err))
			}
			if want := "penstock audit says which lines are wrong and what to do about them"; known.Hint != want {
				t.Errorf("hint %q", known.Hint)
			}
		})
	}
}

// An edit is told of the same way however often it is come upon.
func TestEditedEvidenceIsToldAgain(t *testing.T) {
	dir, spec := filled(t)
	edit(t, dir, "meta/verification.jsonl", replaceIn(`"claim":"Two?"`, `"claim":"Too?"`))
	g := mustOpen(t, options(t, dir, spec))
	const want = "use the corpus: meta/verification.jsonl was changed by something other than the gate: line 3 does not follow the line before it"
	for range 3 {
		if err := g.Evaluate(context.Background(), cardCandidate("new", "art", `{"q":"New?"}`)).Err(); err == nil || err.Error() != want {
			t.Fatalf("%v", err)
		}
	}
}

// openAndJudge commits one more record and gives the error that stops it.
func openAndJudge(t *testing.T, dir string, spec *dag.Gate) error {
	t.Helper()
	g, err := Open(context.Background(), options(t, dir, spec))
	if err != nil {
		return err
	}
	defer g.Close()
	e := g.Evaluate(context.Background(), cardCandidate("new", "art", `{"q":"New?"}`))
	if e.Err() != nil {
		return e.Err()
	}
	v, err := g.Commit(context.Background(), []*Evaluation{e})
	if err != nil {
		return err
	}
	return v[0].Err
}

// The last line of each file, cut at every byte.
func TestTornTails(t *testing.T) {
	dir, spec := filled(t)
	files := map[string]string{}
	for _, path := range []string{"data/art.jsonl", "meta/verification.jsonl", "meta/rejections.jsonl", statePath, identityPath, journalPath, breakersPath} {
		b, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		files[path] = string(b)
	}
	const half = `{"id":"a9","q":"Né?"}`
	for cut := 1; cut <= len(half); cut++ {
		for path, content := range files {
			if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_ = os.Remove(filepath.Join(dir, "data/art.jsonl.torn"))
		if err := os.WriteFile(filepath.Join(dir, "data/art.jsonl"), []byte(files["data/art.jsonl"]+half[:cut]), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := openAndJudge(t, dir, spec); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		want, wantTorn := files["data/art.jsonl"], half[:cut]+"\n"
		if cut == len(half) {
			want, wantTorn = want+half+"\n", ""
		}
		have := strings.Join(lines(t, dir, "data/art.jsonl"), "\n") + "\n"
		torn, _ := os.ReadFile(filepath.Join(dir, "data/art.jsonl.torn"))
		if !strings.HasPrefix(have, want) || strings.Count(have, "\n") != strings.Count(want, "\n")+1 || string(torn) != wantTorn {
			t.Fatalf("cut at %d: the file holds %q, set aside is %q", cut, have, torn)
		}
	}
}

func TestStateMayBeDeleted(t *testing.T) {
	dir, spec := filled(t)
	if err := os.Remove(filepath.Join(dir, statePath)); err != nil {
		t.Fatal(err)
	}
	if err := openAndJudge(t, dir, spec); err != nil {
		t.Fatal(err)
	}
	report, err := Audit(context.Background(), Options{Dir: dir, Gate: spec})
	if err != nil || !report.Clean() || report.Records != 4 {
		t.Errorf("%+v %v", report, err)
	}
}

// A file that goes between the last look at it and the commit is not made again:
// rows at their offsets would stand behind a hole.
func TestFileGoesUnderTheLock(t *testing.T) {
	dir, spec := filled(t)
	data := filepath.Join(dir, "data/art.jsonl")
	g, err := open(context.Background(), options(t, dir, spec), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	e := g.Evaluate(context.Background(), cardCandidate("new", "art", `{"q":"New?"}`))
	held, err := g.locker.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := g.catchUp()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(data, data+".away"); err != nil {
		t.Fatal(err)
	}
	b := g.newBatch()
	b.decideAll([]*Evaluation{e}, nil)
	var edited *errEdited
	if err := g.write(b, sizes); !errors.As(err, &edited) || edited.path != "data/art.jsonl" || !strings.HasSuffix(edited.why, "and is gone") {
		t.Errorf("%v", err)
	}
	held.Unlock()
	if _, err := os.Stat(data); err == nil {
		t.Error("the file was made again")
	}
	if err := os.Rename(data+".away", data); err != nil {
		t.Fatal(err)
	}
	if v := judge(t, g, cardCandidate("new", "art", `{"q":"New?"}`))[0]; v.End != dag.Accepted || v.Known {
		t.Errorf("once it is back: %s, known %v", v.End, v.Known)
	}
}

// Who opens a corpus hears of files that are gone or shorter, though nothing is
// written to them: else a run with nothing to do would say that all is well.
func TestMissingFilesAreTold(t *testing.T) {
	cut := func(t *testing.T, path string) {
		if err := os.Truncate(path, 3); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		edit func(t *testing.T, dir string)
		want []string
	}{
		{"none", func(*testing.T, string) {}, nil},
		{"one", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "data/art.jsonl")) },
			[]string{"data/art.jsonl is gone: penstock audit says what was in there"}},
		{"one is shorter", func(t *testing.T, dir string) { cut(t, filepath.Join(dir, "data/art.jsonl")) },
			[]string{"data/art.jsonl had 71 bytes and has 3: penstock audit says what was in there"}},
		{"two", func(t *testing.T, dir string) {
			cut(t, filepath.Join(dir, "data/art.jsonl"))
			remove(t, filepath.Join(dir, "data/music.jsonl"))
		}, []string{"data/art.jsonl had 71 bytes and has 3, and 1 more is gone or shorter: penstock audit says what was in there"}},
		{"the state, too", func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "data/art.jsonl"))
			remove(t, filepath.Join(dir, statePath))
		}, nil}, // the files are taken as they are
	} {
		for _, readOnly := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, read only %v", test.name, readOnly), func(t *testing.T) {
				dir, spec := filled(t)
				g := mustOpen(t, options(t, dir, spec))
				judge(t, g, cardCandidate("5", "music", `{"id":"m1","q":"Five?"}`))
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
				test.edit(t, dir)
				o := options(t, dir, spec)
				var told []string
				o.Log, o.ReadOnly = func(line string) { told = append(told, line) }, readOnly
				mustOpen(t, o)
				if diff := cmp.Diff(test.want, told); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A data folder that is gone is not made again, for what it held.
func TestVanishedDataFolder(t *testing.T) {
	dir, spec := filled(t)
	g := mustOpen(t, options(t, dir, spec))
	e := g.Evaluate(context.Background(), cardCandidate("new", "art", `{"q":"New?"}`))
	away := filepath.Join(dir, "away")
	if err := os.Rename(filepath.Join(dir, "data"), away); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Commit(context.Background(), []*Evaluation{e}); dag.KindOf(err) != dag.KindInfrastructure || !strings.HasSuffix(err.Error(), "/data is gone") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("the folder was made again, without what was in it")
	}
	if err := os.Rename(away, filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	if v, err := g.Commit(context.Background(), []*Evaluation{e}); err != nil || v[0].End != dag.Accepted {
		t.Errorf("once it is back: %+v, %v", v, err)
	}
}

// Whoever reads a file finds whole lines, also where a row did not fit any more.
func TestFullDiskLeavesWholeLines(t *testing.T) {
	for _, path := range []string{"meta/verification.jsonl", "data/art.jsonl"} {
		dir, spec := filled(t)
		g := mustOpen(t, options(t, dir, spec))
		full := &fullDisk{disk: g.store.d, path: path, full: true}
		g.store.d = full
		g.store.dropTargets()
		e := g.Evaluate(context.Background(), cardCandidate("new", "art", `{"q":"New?"}`))
		if _, err := g.Commit(context.Background(), []*Evaluation{e}); dag.KindOf(err) != dag.KindInfrastructure {
			t.Fatalf("%s: %v", path, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, path)); err != nil || !strings.HasSuffix(string(b), "}\n") {
			t.Errorf("%s ends in %q, %v", path, b[max(0, len(b)-40):], err)
		}
	}
}

func TestVanishedFolder(t *testing.T) {
	dir, spec := filled(t)
	g := mustOpen(t, options(t, dir, spec))
	e := g.Evaluate(context.Background(), cardCandidate("new", "art", `{"q":"New?"}`))
	if err := os.RemoveAll(filepath.Join(dir, "meta")); err != nil {
		t.Fatal(err)
	}
	_, err := g.Commit(context.Background(), []*Evaluation{e})
	if dag.KindOf(err) != dag.KindInfrastructure {
		t.Errorf("%v", err)
	}
	if err := g.ledger.refresh(func(*rowLog) (int64, error) { return -1, nil }); dag.KindOf(corpusError(err)) != dag.KindInfrastructure {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "meta")); err == nil {
		t.Error("the folder was made again, without what was in it")
	}
	if got := len(lines(t, dir, "data/art.jsonl")); got != 3 {
		t.Errorf("%d records", got)
	}
}

func TestReadOnlyFile(t *testing.T) {
	if os.Geteuid() == 0 {
		// To the superuser no file is read-only; a folder in its place is as unwritable.
		dir, spec := filled(t)
		if err := os.MkdirAll(filepath.Join(dir, "data/new.jsonl"), 0o755); err != nil {
			t.Fatal(err)
		}
		refuses(t, dir, spec)
		return
	}
	dir, spec := filled(t)
	if err := os.WriteFile(filepath.Join(dir, "data/new.jsonl"), nil, 0o444); err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, spec)
}

// What is wrong with one bucket's file or lock holds up no other bucket.
func TestOneBucketDown(t *testing.T) {
	for _, tt := range []struct {
		name  string
		upset func(dir string) (mend func())
	}{
		{"a folder in the place of its file", func(dir string) func() {
			if err := os.MkdirAll(filepath.Join(dir, "data/new.jsonl"), 0o755); err != nil {
				t.Fatal(err)
			}
			return func() { _ = os.Remove(filepath.Join(dir, "data/new.jsonl")) }
		}},
		{"a lock that does not come", func(dir string) func() {
			f, err := os.Create(filepath.Join(dir, "data/new.jsonl.lock"))
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			return func() { _ = f.Close() }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, spec := filled(t)
			o := options(t, dir, spec)
			o.LockTimeout = 20 * time.Millisecond
			g := mustOpen(t, o)
			mend := tt.upset(dir)
			candidates := []*Candidate{
				cardCandidate("5", "new", `{"q":"Five?"}`), cardCandidate("6", "art", `{"q":"Six?"}`), cardCandidate("7", "new", `{"q":"Seven?"}`),
				cardCandidate("8", "art", `{"q":"One?"}`), cardCandidate("9", "art", `{"n":9,"q":"Five?"}`),
			}
			var ends []dag.End
			for _, v := range judge(t, g, candidates...) {
				if v.Err != nil && dag.KindOf(v.Err) != dag.KindInfrastructure {
					t.Errorf("%v", v.Err)
				}
				ends = append(ends, v.End)
			}
			// What is not committed is nobody's duplicate.
			if diff := cmp.Diff([]dag.End{"", dag.Accepted, "", dag.Rejected, dag.Accepted}, ends); diff != "" {
				t.Error(diff)
			}
			mend()
			ends = nil
			for _, v := range judge(t, g, candidates...) {
				ends = append(ends, v.End)
			}
			if diff := cmp.Diff([]dag.End{dag.Rejected, dag.Accepted, dag.Accepted, dag.Rejected, dag.Accepted}, ends); diff != "" {
				t.Error(diff)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			report, err := Audit(context.Background(), Options{Dir: dir, Gate: spec})
			if err != nil || !report.Clean() || report.Records != 6 {
				t.Errorf("%+v %v", report, err)
			}
		})
	}
}

func refuses(t *testing.T, dir string, spec *dag.Gate) {
	t.Helper()
	g := mustOpen(t, options(t, dir, spec))
	e := g.Evaluate(context.Background(), cardCandidate("new", "new", `{"q":"New?"}`))
	if _, err := g.Commit(context.Background(), []*Evaluation{e}); dag.KindOf(err) != dag.KindInfrastructure {
		t.Errorf("%v", err)
	}
	if got := len(lines(t, dir, "meta/verification.jsonl")); got != 3 {
		t.Errorf("%d rows of evidence", got)
	}
}
