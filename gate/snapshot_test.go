package gate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
)

// keeping opens a gate that keeps a snapshot of any number of rows, and what it said.
func keeping(t testing.TB, dir string, spec *dag.Gate) (*Gate, *[]string) {
	t.Helper()
	said := new([]string)
	o := options(t, dir, spec)
	o.Log = func(s string) { *said = append(*said, s) }
	g := mustOpen(t, o)
	g.ledger.indexRows = 1
	return g, said
}

// withSnapshot is a corpus of four records and a rejection, with its snapshot.
func withSnapshot(t testing.TB, spec *dag.Gate) string {
	t.Helper()
	dir := t.TempDir()
	g, _ := keeping(t, dir, spec)
	for i := range 4 {
		if v := judge(t, g, cardIn(fmt.Sprint(i), "history", numbered(30*i, 20)))[0]; v.End != dag.Accepted {
			t.Fatalf("%+v", v)
		}
	}
	if v := judge(t, g, cardIn("4", "history", numbered(30, 19)))[0]; codes(v) != "R_DUP_NEAR" {
		t.Fatalf("%+v", v)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(inDir(dir, indexPath)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// answersAsBefore asks what the corpus must say, whatever became of the snapshot.
func answersAsBefore(t *testing.T, g *Gate) {
	t.Helper()
	v := judge(t, g,
		cardIn("0", "history", numbered(0, 20)),    // accepted already
		cardIn("4", "history", numbered(30, 19)),   // rejected already
		cardIn("5", "history", numbered(90, 20)),   // the question of another
		cardIn("6", "history", numbered(91, 19)),   // nearly
		cardIn("7", "history", numbered(1000, 19)), // new
	)
	var got []string
	for _, v := range v {
		got = append(got, fmt.Sprintf("%s %t %s", v.End, v.Known, codes(v)))
	}
	want := []string{"accepted true ", "rejected true R_DUP_NEAR", "rejected false R_DUP_EXACT", "rejected false R_DUP_NEAR", "accepted false "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if sequence, err := g.Sequence(); err != nil || sequence != 5 {
		t.Errorf("sequence %d, %v", sequence, err)
	}
}

func TestSnapshotIsUsed(t *testing.T) {
	dir := withSnapshot(t, novelGate())
	g, said := keeping(t, dir, novelGate())
	if err := g.ledger.load(); err != nil {
		t.Fatal(err)
	}
	if g.ledger.kept != 5 || g.ledger.shelves[0].index.Len() != 4 {
		t.Errorf("%d rows and %d texts are from the snapshot", g.ledger.kept, g.ledger.shelves[0].index.Len())
	}
	answersAsBefore(t, g)
	if len(*said) > 0 {
		t.Errorf("it said %q", *said)
	}
}

// TestSnapshotsThatAreNotUsed: what does not fit is said once, and all is read anew.
func TestSnapshotsThatAreNotUsed(t *testing.T) {
	change := func(f func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			b, err := os.ReadFile(inDir(dir, indexPath))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(inDir(dir, indexPath), f(b), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := func(t *testing.T, dir string, spec *dag.Gate) {
		copyFile(t, inDir(withSnapshot(t, spec), indexPath), inDir(dir, indexPath))
	}
	for _, tt := range []struct {
		name   string
		damage func(*testing.T, string)
		say    string // empty: nothing
	}{
		{"it is gone", func(t *testing.T, dir string) { _ = os.Remove(inDir(dir, indexPath)) }, ""},
		{"it is empty", change(func([]byte) []byte { return nil }), "it is no snapshot that this version understands"},
		{"it is something else", change(func([]byte) []byte { return bytes.Repeat([]byte("{}"), 500) }), "it is no snapshot that this version understands"},
		{"a later version wrote it", change(func(b []byte) []byte { b[8]++; return b }), "it is no snapshot that this version understands"},
		{"a byte of the head is another", change(func(b []byte) []byte { b[150] ^= 1; return b }), ""},
		{"a byte of a slot is another", change(func(b []byte) []byte { b[400] ^= 1; return b }), "it is not whole: its CRC is wrong"},
		{"the last byte is another", change(func(b []byte) []byte { b[len(b)-1] ^= 1; return b }), "it is no snapshot of an index that this version understands, or it is not whole: its CRC is wrong"},
		{"there is more of it", change(func(b []byte) []byte { return append(b, 0) }), "there is more in it than belongs there"},
		{"it is of another corpus", func(t *testing.T, dir string) { other(t, dir, novelGate()) }, "it was made of other files or for other checks"},
		{"it is a folder", func(t *testing.T, dir string) {
			_ = os.Remove(inDir(dir, indexPath))
			if err := os.Mkdir(inDir(dir, indexPath), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "read " + indexPath},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := withSnapshot(t, novelGate())
			tt.damage(t, dir)
			g, said := keeping(t, dir, novelGate())
			answersAsBefore(t, g)
			if g.ledger.kept != 0 {
				t.Errorf("%d rows are from the snapshot", g.ledger.kept)
			}
			if tt.name == "a byte of the head is another" {
				return // which byte it is decides what is said
			}
			want := 1
			if tt.say == "" {
				want = 0
			}
			if len(*said) != want || want == 1 && !strings.Contains(strings.ReplaceAll((*said)[0], dir+"/", ""), tt.say) {
				t.Errorf("it said %q", *said)
			}
		})
	}
}

func TestSnapshotOfOtherChecks(t *testing.T) {
	for name, spec := range map[string]*dag.Gate{
		"another threshold": novelGate(sameQuestion(), nearQuestion("card.cat", 0.9)),
		"another part":      novelGate(sameQuestion(), nearQuestion("", 0.85)),
		"none":              novelGate(sameQuestion()),
	} {
		t.Run(name, func(t *testing.T) {
			dir := withSnapshot(t, novelGate())
			g, said := keeping(t, dir, spec)
			if err := g.ledger.load(); err != nil {
				t.Fatal(err)
			}
			want := []string{indexPath + " is not used, and all is read anew: it was made of other files or for other checks"}
			if diff := cmp.Diff(want, *said); diff != "" || g.ledger.rows() != 5 || g.ledger.kept != 0 {
				t.Errorf("%d rows, %d kept (-want +got)\n%s", g.ledger.rows(), g.ledger.kept, diff)
			}
		})
	}
}

// TestSnapshotCutAnywhere: cut at any byte it is not used, and nothing goes wrong.
func TestSnapshotCutAnywhere(t *testing.T) {
	dir := withSnapshot(t, novelGate())
	whole, err := os.ReadFile(inDir(dir, indexPath))
	if err != nil {
		t.Fatal(err)
	}
	g := mustOpen(t, options(t, dir, novelGate()))
	for n := range whole {
		l := newLedger(dir, novelGate())
		l.bind(g.Corpus(), func(string) {})
		if err := l.take(whole[:n]); err == nil {
			t.Fatalf("cut to %d of %d bytes it is used", n, len(whole))
		}
		l.close()
	}
}

// TestSealedSnapshots: what a CRC cannot tell is found by looking at the parts, or
// does no harm to those who search.
func TestSealedSnapshots(t *testing.T) {
	dir := withSnapshot(t, novelGate())
	whole, err := os.ReadFile(inDir(dir, indexPath))
	if err != nil {
		t.Fatal(err)
	}
	g := mustOpen(t, options(t, dir, novelGate()))
	l := newLedger(dir, novelGate())
	l.bind(g.Corpus(), func(string) {})
	head, err := func() ([]byte, error) {
		if err := l.take(whole); err != nil {
			return nil, err
		}
		return l.head()
	}()
	if err != nil || !bytes.HasPrefix(whole, head) {
		t.Fatal("the head is not made as it was", err)
	}
	l.close()
	for n := range len(head) - 4 {
		bad := bytes.Clone(whole)
		bad[n] ^= 0xFF
		binary.LittleEndian.PutUint32(bad[len(head)-4:], crc32.Checksum(bad[:len(head)-4], castagnoli))
		l := newLedger(dir, novelGate())
		l.bind(g.Corpus(), func(string) {})
		if l.take(bad) == nil {
			for i := range 40 {
				_, _ = l.verdict(keyOf(fmt.Sprint(i)))
				_, _ = l.unique(keyOf(fmt.Sprint(i)))
			}
			for _, s := range l.shelves {
				s.index.Nearest("history", strings.Fields(numbered(30, 20)))
			}
		}
		l.close()
	}
}

// TestSnapshotOfFilesThatMoved: a file that is shorter than the snapshot says, or
// ends otherwise, makes it useless; the files themselves decide what that means.
func TestSnapshotOfFilesThatMoved(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		edit       func(string) string
		rows       int
	}{
		{"a rejection is cut off", "meta/rejections.jsonl", func(string) string { return "" }, 4},
		{"a rejection reads otherwise", "meta/rejections.jsonl", replaceIn(`"stage":"accept"`, `"stage":"others"`), 5},
		{"the last row of the evidence reads otherwise", "meta/verification.jsonl", func(s string) string {
			at := strings.LastIndex(s, `"run_id":"2026`)
			return s[:at] + `"run_id":"3026` + s[at+len(`"run_id":"2026`):]
		}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := withSnapshot(t, novelGate())
			edit(t, dir, tt.path, tt.edit)
			o := options(t, dir, novelGate())
			o.ReadOnly = true // for writing, the last checkpoint tells of the edit
			var said []string
			o.Log = func(s string) { said = append(said, s) }
			g := mustOpen(t, o)
			if err := g.ledger.load(); err != nil {
				t.Fatal(err)
			}
			want := []string{indexPath + " is not used, and all is read anew: " + tt.path + " is not the file that it was made of"}
			if diff := cmp.Diff(want, said); diff != "" || g.ledger.rows() != tt.rows {
				t.Errorf("%d rows (-want +got)\n%s", g.ledger.rows(), diff)
			}
		})
	}
}

// TestSnapshotAndWhatCameLater: only what was appended since is read.
func TestSnapshotAndWhatCameLater(t *testing.T) {
	dir := withSnapshot(t, novelGate())
	before, err := os.ReadFile(inDir(dir, indexPath))
	if err != nil {
		t.Fatal(err)
	}
	g := mustOpen(t, options(t, dir, novelGate())) // keeps none
	judge(t, g, cardIn("late", "history", numbered(2000, 20)))
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(inDir(dir, indexPath)); err != nil || !bytes.Equal(before, after) {
		t.Fatal("the snapshot was written again", err)
	}
	g, said := keeping(t, dir, novelGate())
	v := judge(t, g, cardIn("8", "history", numbered(2001, 19)), cardIn("9", "history", numbered(31, 19)))
	if codes(v[0]) != "R_DUP_NEAR" || codes(v[1]) != "R_DUP_NEAR" || len(*said) > 0 || g.ledger.kept != 5 {
		t.Errorf("%+v\n%q", v, *said)
	}
}

func TestSnapshotIsReadByAll(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*Options)
	}{{"a dry run", func(o *Options) { o.DryRun = true }}, {"a reader", func(o *Options) { o.ReadOnly = true }}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := withSnapshot(t, novelGate())
			before := tree(t, dir)
			o := options(t, dir, novelGate())
			tt.set(&o)
			g := mustOpen(t, o)
			g.ledger.indexRows = 1
			if err := g.ledger.load(); err != nil || g.ledger.kept != 5 {
				t.Errorf("%d rows are from the snapshot, %v", g.ledger.kept, err)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("it wrote: (-before +after)\n%s", diff)
			}
		})
	}
}

// TestSnapshotWhenDue: a small corpus has none, and a large one is not written
// whole for each row.
func TestSnapshotWhenDue(t *testing.T) {
	dir := t.TempDir()
	g := mustOpen(t, options(t, dir, novelGate()))
	judge(t, g, cardIn("1", "history", numbered(1, 20)))
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(inDir(dir, indexPath)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a corpus of one row has a snapshot: %v", err)
	}
	g, _ = keeping(t, dir, novelGate())
	g.ledger.indexRows = 100
	for i := range 99 {
		judge(t, g, cardIn(fmt.Sprint("n", i), "history", numbered(100*i, 20)))
		if want := i == 98; g.ledger.due(indexShareAtEnd) != want {
			t.Fatalf("with %d rows it is due: %t", g.ledger.rows(), !want)
		}
	}
	g.ledger.kept = 95
	if g.ledger.due(indexShareAtEnd) || g.ledger.due(indexShareInRun) {
		t.Error("with 95 of 100 rows in the last one it is due")
	}
	g.ledger.kept = 90
	if !g.ledger.due(indexShareAtEnd) || g.ledger.due(indexShareInRun) {
		t.Error("with 90 of 100 rows it must be due at the end, and not before")
	}
}

// TestSnapshotCannotBeWritten: that is said, and costs no record.
func TestSnapshotCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	g, said := keeping(t, dir, novelGate())
	if err := os.MkdirAll(inDir(dir, indexPath+".new/x"), 0o755); err != nil {
		t.Fatal(err)
	}
	judge(t, g, cardIn("1", "history", numbered(1, 20)))
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if len(*said) != 1 || !strings.HasPrefix((*said)[0], indexPath+" could not be written: ") {
		t.Errorf("it said %q", *said)
	}
	clean(t, dir, novelGate())
}

// TestSnapshotDecidesNothing: a gate that keeps and reads snapshots, whatever
// becomes of them, says what a gate without says.
func TestSnapshotDecidesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parent, err := os.MkdirTemp("", "gate")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(parent)
		at := clock()
		openOne := func(name string, rows int) *Gate {
			dir := filepath.Join(parent, name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				rt.Fatal(err)
			}
			g, err := Open(context.Background(), Options{Dir: dir, Pipeline: "test", Gate: novelGate(), Now: at})
			if err != nil {
				rt.Fatal(err)
			}
			g.ledger.indexRows = rows
			return g
		}
		with, without := openOne("with", 1), openOne("without", 1<<40)
		commit := func(g *Gate, c *Candidate) Verdict {
			v, err := g.Commit(context.Background(), []*Evaluation{g.Evaluate(context.Background(), c)})
			if err != nil || v[0].Err != nil {
				rt.Fatal(err, v)
			}
			return v[0]
		}
		for i := range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				if err := errors.Join(with.Close(), without.Close()); err != nil {
					rt.Fatal(err)
				}
				harm(rt, filepath.Join(parent, "with", indexPath))
				with, without = openOne("with", 1), openOne("without", 1<<40)
			default:
				from, n := rapid.IntRange(0, 6).Draw(rt, "from"), rapid.SampledFrom([]int{17, 18, 19, 20, 21}).Draw(rt, "words")
				cat := rapid.SampledFrom([]string{"history", "music"}).Draw(rt, "cat")
				key := rapid.SampledFrom([]string{"same", fmt.Sprint(i)}).Draw(rt, "key")
				got, want := commit(with, cardIn(key, cat, numbered(from, n))), commit(without, cardIn(key, cat, numbered(from, n)))
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					rt.Fatalf("(-without +with)\n%s", diff)
				}
			}
		}
		if err := errors.Join(with.Close(), without.Close()); err != nil {
			rt.Fatal(err)
		}
	})
}

// harm does something to a file, or nothing.
func harm(t *rapid.T, name string) {
	b, err := os.ReadFile(name)
	if err != nil || len(b) == 0 {
		return
	}
	switch rapid.IntRange(0, 3).Draw(t, "harm") {
	case 0:
		b = b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]
	case 1:
		b[rapid.IntRange(0, len(b)-1).Draw(t, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
	case 2:
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// clean audits a corpus.
func clean(t *testing.T, dir string, spec *dag.Gate) Report {
	t.Helper()
	report, err := Audit(context.Background(), Options{Dir: dir, Gate: spec})
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range report.Faults {
		t.Errorf("audit: %s", fault)
	}
	return report
}

// Processes of their own, for kills and for two at a time: this test binary runs
// TestNovelProcess, which is told by the environment what to do.
const (
	processDir   = "GATE_NOVEL_DIR"
	processPoint = "GATE_NOVEL_POINT"
	processOrder = "GATE_NOVEL_ORDER"
)

// pairs of cards, of which both have nearly the same question.
const pairs = 24

func pairCards() []*Candidate {
	var out []*Candidate
	for i := range pairs {
		out = append(out, cardIn(fmt.Sprintf("a%d", i), "history", numbered(40*i, 20)), cardIn(fmt.Sprintf("b%d", i), "history", numbered(40*i, 18)+" x"+strconv.Itoa(i)))
	}
	return out
}

// pairProcess is the other process: it commits the pairs, and kills itself at a point.
func pairProcess(dir string) error {
	point, nth, _ := strings.Cut(os.Getenv(processPoint), ":")
	left, _ := strconv.Atoi(nth)
	ctx := context.Background()
	spec := novelGate()
	if os.Getenv(processOrder) == "older" {
		spec = novelGate(sameQuestion())
	}
	g, err := open(ctx, Options{Dir: dir, Pipeline: "pairs", Gate: spec, LockTimeout: 20 * time.Second}, func(here string) {
		if here != point {
			return
		}
		if left--; left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal is there
		}
	})
	if err != nil {
		return err
	}
	g.store.every, g.ledger.indexRows = 2, 1
	cards := pairCards()
	if os.Getenv(processOrder) == "backward" {
		slices.Reverse(cards)
	}
	for batch := range slices.Chunk(cards, 3) {
		evals := make([]*Evaluation, len(batch))
		for i, c := range batch {
			evals[i] = g.Evaluate(ctx, c)
		}
		verdicts, err := g.Commit(ctx, evals)
		if err != nil {
			return err
		}
		for _, v := range verdicts {
			if v.Err != nil {
				return v.Err
			}
		}
	}
	return g.Close()
}

func startProcess(t *testing.T, dir, point, order string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), processDir+"="+dir, processPoint+"="+point, processOrder+"="+order)
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// onceOfEachPair checks that of each pair one is in the corpus, and that the ledger
// is the same with the snapshot and without.
func onceOfEachPair(t *testing.T, dir string) {
	t.Helper()
	if report := clean(t, dir, novelGate()); report.Records != pairs || report.Evidence != pairs {
		t.Errorf("%d records and %d rows of evidence of %d pairs", report.Records, report.Evidence, pairs)
	}
	for range 2 {
		o := options(t, dir, novelGate())
		o.Pipeline, o.ReadOnly = "pairs", true
		g := mustOpen(t, o)
		for _, c := range pairCards() {
			if e := g.Evaluate(context.Background(), c); e.Err() != nil || !e.Known() {
				t.Errorf("%s has no verdict: %v", c.Key, e.Err())
			}
		}
		if sequence, err := g.Sequence(); err != nil || sequence != pairs || g.ledger.shelves[0].index.Len() != pairs {
			t.Errorf("sequence %d, %d texts, %v", sequence, g.ledger.shelves[0].index.Len(), err)
		}
		if err := os.Remove(inDir(dir, indexPath)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

func TestKillAroundTheSnapshot(t *testing.T) {
	for _, point := range []string{"committed:3", "written:5", "synced:1", "state:2", "emptied:2", "index written:1", "index written:2", "index kept:1", "index kept:2"} {
		t.Run(point, func(t *testing.T) {
			dir := t.TempDir()
			cmd, out := startProcess(t, dir, point, "forward")
			if err := cmd.Wait(); !killed(err) {
				t.Fatalf("it never came there: %v\n%s", err, out)
			}
			cmd, out = startProcess(t, dir, "", "forward")
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			onceOfEachPair(t, dir)
		})
	}
}

// TestTwoProcessesNearDuplicates: of two cards that are handed in at once by two
// processes, one is accepted, and the other sees it under the lock.
func TestTwoProcessesNearDuplicates(t *testing.T) {
	for range 3 {
		dir := t.TempDir()
		first, out1 := startProcess(t, dir, "", "forward")
		second, out2 := startProcess(t, dir, "", "backward")
		if err := errors.Join(first.Wait(), second.Wait()); err != nil {
			t.Fatalf("%v\n%s\n%s", err, out1, out2)
		}
		onceOfEachPair(t, dir)
	}
}
