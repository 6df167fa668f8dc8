package gate

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The tests below run this test binary again as a process that repairs a corpus and
// kills itself at a point.
const (
	repairDir   = "GATE_TEST_REPAIR"
	repairPoint = "GATE_TEST_REPAIR_POINT" // the how many-th
)

func init() {
	dir := os.Getenv(repairDir)
	if dir == "" {
		return
	}
	left, _ := strconv.Atoi(os.Getenv(repairPoint))
	_, err := repairCorpus(context.Background(), Options{Dir: dir, Gate: plain(uniqueQuestion())}, func(string) {
		if left--; left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal is there
		}
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// muchEdited upsets every kind of file of a corpus, each so that a repair mends it.
func muchEdited(c *corpus) {
	c.edit(evidenceFile, sortLines)
	c.edit(evidenceFile, insertLine(3, "# mine"))
	c.edit(artFile, crlf)
	c.edit(musicFile, insertLine(2, c.line(artFile, 2)))
	c.edit(artFile, cutLine(2))
	c.edit(artFile, func(s string) string { return s + `{"id":"a9","q":"Ni` })
	c.edit(rejectedFile, insertLine(2, c.line(rejectedFile, 1)))
	c.edit(breakersPath, insertLine(1, "[]"))
	c.check(os.Remove(c.full(identityPath)))
	c.edit(statePath, replaceIn(`"size":`, `"size":1`))
}

// A repair that is killed at any of its steps is finished by the next, and nothing
// is lost on the way.
func TestKillInRepair(t *testing.T) {
	base := newCorpus(t)
	muchEdited(base)
	want := base.copied(t)
	var points []string
	report, err := repairCorpus(context.Background(), Options{Dir: want.dir, Gate: want.spec}, func(point string) { points = append(points, point) })
	if err != nil || !report.Clean() {
		t.Fatalf("%v\n%s", err, said(report))
	}
	for _, point := range []string{"aside", "rewritten", "replaced", "state kept", "synced", "state", "emptied"} {
		if !slices.Contains(points, point) {
			t.Fatalf("the repair does not come to %q: %q", point, points)
		}
	}
	before := kept(t, base.dir)
	for n, point := range points {
		t.Run(fmt.Sprintf("%d %s", n+1, point), func(t *testing.T) {
			c := base.copied(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), repairDir+"="+c.dir, repairPoint+"="+strconv.Itoa(n+1))
			if out, err := cmd.CombinedOutput(); !killed(err) {
				t.Fatalf("the process did not die there: %v\n%s", err, out)
			}
			if gone := lost(before, kept(t, c.dir)); len(gone) > 0 {
				t.Errorf("lost where it was killed: %q", gone)
			}
			report, broken := mends(c)
			if len(broken) > 0 || !report.Clean() {
				t.Errorf("%q\n%s", broken, said(report))
			}
			if gone := lost(before, kept(t, c.dir)); len(gone) > 0 {
				t.Errorf("lost: %q", gone)
			}
			if diff := cmp.Diff(tree(t, want.dir), tree(t, c.dir)); diff != "" {
				t.Errorf("the corpus is not what one repair makes of it:\n%s", diff)
			}
			goesOn(t, c)
		})
	}
}

// What waits in the journal is finished, also where other things are to be mended.
func TestRepairFinishesTheJournal(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := startChild(t, dir, "committed:2", 1)
	if err := cmd.Wait(); !killed(err) {
		t.Fatalf("the process did not die there: %v", err)
	}
	c := &corpus{t: t, dir: dir, spec: crashGate()}
	found, err := Audit(context.Background(), Options{Dir: dir, Gate: c.spec})
	if err != nil || len(found.Faults) != 1 || !strings.Contains(found.Faults[0].What, "a batch is committed and not in its files yet") {
		t.Fatalf("%v\n%s", err, said(found))
	}
	report, broken := mends(c)
	if len(broken) > 0 || !report.Clean() || len(report.Repairs) == 0 || report.Repairs[0].What != "finished a commit that was interrupted" {
		t.Errorf("%q\n%s", broken, said(report))
	}
	finish(t, dir)
}

// TestRandomEdits edits corpora at random, several times over: whatever was done to
// one, a repair loses nothing, makes nothing worse, and has nothing left to do.
func TestRandomEdits(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	base := newCorpus(t)
	old := slices.Sorted(maps.Keys(base.old))
	rapid.Check(t, func(rt *rapid.T) {
		c := base.copied(t)
		for range rapid.IntRange(1, 4).Draw(rt, "edits") {
			path := rapid.SampledFrom([]string{evidenceFile, artFile, musicFile, rejectedFile, reviewPath, breakersPath}).Draw(rt, "file")
			from := rapid.SampledFrom([]string{evidenceFile, artFile, musicFile, rejectedFile}).Draw(rt, "other file")
			do := rapid.SampledFrom([]string{
				"cut", "insert", "foreign", "swap", "again", "letter", "crlf", "bom", "spaces", "end", "older", "remove", "sort", "conflict", "state", "identity", "journal",
			}).Draw(rt, "edit")
			a, b := rapid.IntRange(0, 5).Draw(rt, "line"), rapid.IntRange(0, 5).Draw(rt, "other line")
			randomEdit(c, do, path, from, a, b, old)
		}
		if _, broken := mends(c); len(broken) > 0 {
			rt.Fatalf("%s", strings.Join(broken, "\n"))
		}
	})
}

func randomEdit(c *corpus, do, path, from string, a, b int, old []string) {
	full := c.full(path)
	content, err := os.ReadFile(full)
	if err != nil {
		return // removed by the edit before
	}
	all := strings.SplitAfter(string(content), "\n")
	a, b = a%len(all), b%len(all)
	other := "{}"
	if lines := lines(c.t, c.dir, from); len(lines) > 0 {
		other = lines[b%len(lines)]
	}
	set := func(s string) { c.check(os.WriteFile(full, []byte(s), 0o644)) }
	join := func() { set(strings.Join(all, "")) }
	switch do {
	case "cut":
		set(cutLine(a + 1)(string(content)))
	case "insert":
		set(insertLine(a+1, other)(string(content)))
	case "foreign":
		set(insertLine(a+1, `{"id":"x","q":"Mine?"}`)(string(content)))
	case "swap":
		all[a], all[b] = all[b], all[a]
		join()
	case "again":
		set(insertLine(b+1, strings.TrimSuffix(all[a], "\n"))(string(content)))
	case "letter":
		if n := len(all[a]); n > 1 {
			all[a] = all[a][:n/2] + "e" + all[a][n/2+1:]
		}
		join()
	case "crlf":
		set(crlf(string(content)))
	case "bom":
		set("\xef\xbb\xbf" + string(content))
	case "spaces":
		all[a] = strings.ReplaceAll(all[a], `":`, `": `)
		join()
	case "end":
		set(string(content[:len(content)-min(len(content), 1+7*b)]))
	case "older":
		if slices.Contains(old, path) {
			set(c.old[path])
		}
	case "remove":
		c.check(os.Remove(full))
	case "sort":
		set(sortLines(string(content)))
	case "conflict":
		if len(all) > a+1 {
			set(conflictAt(a+1, other)(string(content)))
		}
	default:
		_ = os.Remove(c.full(map[string]string{"state": statePath, "identity": identityPath, "journal": journalPath}[do]))
	}
}
