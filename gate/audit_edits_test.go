package gate

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

var updateEdits = flag.Bool("update", false, "write what audits and repairs say into testdata, for a person to look through")
var auditRecords = flag.Int("audit.records", 100_000, "how many records BenchmarkAudit looks at")

const (
	evidenceFile = "meta/verification.jsonl"
	artFile      = "data/art.jsonl"
	musicFile    = "data/music.jsonl"
	rejectedFile = "meta/rejections.jsonl"
)

// edits are the ways in which people and scripts change a corpus. What an audit
// says of each, and a repair does about it, stands in testdata/edits.golden.
var edits = []struct {
	name string
	do   func(c *corpus)
}{
	{"nothing", func(*corpus) {}},
	{"touch", func(c *corpus) {
		for _, path := range []string{evidenceFile, artFile, musicFile, rejectedFile, statePath, journalPath} {
			c.check(os.Chtimes(c.full(path), time.Unix(1, 0), time.Unix(2, 0)))
		}
	}},

	{"a word of a record", func(c *corpus) { c.edit(artFile, replaceIn("Two?", "Too?")) }},
	{"a word of the last record", func(c *corpus) { c.edit(artFile, replaceIn("Four?", "Flour?")) }},
	{"a word of every record", func(c *corpus) { c.edit(artFile, func(s string) string { return strings.ReplaceAll(s, `?"`, `!"`) }) }},
	{"the id of a record", func(c *corpus) { c.edit(artFile, replaceIn(`"a2"`, `"b2"`)) }},
	{"the quotes of a record", func(c *corpus) { c.edit(artFile, replaceIn(`"Two?"`, `Two?`)) }},
	{"a record is deleted", func(c *corpus) { c.edit(artFile, cutLine(2)) }},
	{"the first record is deleted", func(c *corpus) { c.edit(artFile, cutLine(1)) }},
	{"the last record is deleted", func(c *corpus) { c.edit(artFile, cutLine(4)) }},
	{"two records are deleted", func(c *corpus) { c.edit(artFile, cutLine(2)); c.edit(artFile, cutLine(2)) }},
	{"a record is inserted", func(c *corpus) { c.edit(artFile, insertLine(2, `{"id":"x","q":"Mine?"}`)) }},
	{"a record is appended", func(c *corpus) { c.edit(artFile, insertLine(5, `{"id":"x","q":"Mine?"}`)) }},
	{"many records are appended", func(c *corpus) {
		for i := range 40 {
			c.edit(artFile, insertLine(5+i, fmt.Sprintf(`{"id":"x%d","q":"Mine?"}`, i)))
		}
	}},
	{"a record with the id of another", func(c *corpus) { c.edit(artFile, insertLine(3, `{"id":"a2","q":"Mine?"}`)) }},
	{"a line without id", func(c *corpus) { c.edit(artFile, insertLine(2, `{"q":"Mine?"}`)) }},
	{"a blank line", func(c *corpus) { c.edit(artFile, insertLine(2, "")) }},
	{"a line of words", func(c *corpus) { c.edit(artFile, insertLine(2, "# the good ones")) }},
	{"two records change places", func(c *corpus) { c.edit(artFile, swapLines(2, 3)) }},
	{"a record stands twice", func(c *corpus) { c.edit(artFile, func(s string) string { return s + strings.SplitAfter(s, "\n")[0] }) }},
	{"a record is in another file as well", func(c *corpus) { c.edit(musicFile, insertLine(2, c.line(artFile, 2))) }},
	{"a record is moved to another file", func(c *corpus) {
		c.edit(musicFile, insertLine(2, c.line(artFile, 2)))
		c.edit(artFile, cutLine(2))
	}},
	{"the records are sorted", func(c *corpus) { c.edit(artFile, sortLines) }},
	{"the records are formatted over lines", func(c *corpus) {
		c.edit(artFile, func(s string) string {
			return strings.NewReplacer(`{"`, "{\n  \"", `":`, `": `, `,"`, ",\n  \"", "}", "\n}").Replace(s)
		})
	}},
	{"the records are formatted with spaces", func(c *corpus) {
		c.edit(artFile, func(s string) string { return strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(s) })
	}},
	{"the members of a record change places", func(c *corpus) { c.edit(artFile, replaceIn(`{"id":"a2","q":"Two?"}`, `{"q":"Two?","id":"a2"}`)) }},
	{"a letter of a record is escaped", func(c *corpus) { c.edit(artFile, replaceIn(`"Two?"`, `"\u0054wo?"`)) }},
	{"the records have CR LF", func(c *corpus) { c.edit(artFile, crlf) }},
	{"the records have a byte order mark", func(c *corpus) { c.edit(artFile, func(s string) string { return "\xef\xbb\xbf" + s }) }},
	{"the records have both", func(c *corpus) { c.edit(artFile, func(s string) string { return "\xef\xbb\xbf" + crlf(s) }) }},
	{"the records are in UTF-16", func(c *corpus) {
		c.edit(artFile, func(s string) string {
			b := []byte("\xff\xfe")
			for _, r := range s {
				b = append(b, byte(r), 0)
			}
			return string(b)
		})
	}},
	{"the data file is deleted", func(c *corpus) { c.check(os.Remove(c.full(artFile))) }},
	{"the data file is emptied", func(c *corpus) { c.edit(artFile, func(string) string { return "" }) }},
	{"the data file is cut in a line", func(c *corpus) { c.edit(artFile, func(s string) string { return s[:len(s)-9] }) }},
	{"the data file lacks its last byte", func(c *corpus) { c.edit(artFile, func(s string) string { return s[:len(s)-1] }) }},
	{"half a line is appended to the data file", func(c *corpus) { c.edit(artFile, func(s string) string { return s + `{"id":"a9","q":"Ni` }) }},
	{"zero bytes are appended to the data file", func(c *corpus) { c.edit(artFile, func(s string) string { return s + "\x00\x00\x00\x00" }) }},
	{"the data file is renamed", func(c *corpus) { c.check(os.Rename(c.full(artFile), c.full("data/arts.jsonl"))) }},
	{"an older copy of the data file", func(c *corpus) { c.older(artFile) }},
	{"a merge conflict in the data file", func(c *corpus) { c.edit(artFile, conflictAt(3, `{"id":"x","q":"Theirs?"}`)) }},

	{"a word of the evidence", func(c *corpus) { c.edit(evidenceFile, replaceIn(`"claim":"Two?"`, `"claim":"Too?"`)) }},
	{"a word of the first row of evidence", func(c *corpus) { c.edit(evidenceFile, replaceIn(`"claim":"One?"`, `"claim":"Uno?"`)) }},
	{"a word of the last row of evidence", func(c *corpus) { c.edit(evidenceFile, replaceIn(`"claim":"Sechs?"`, `"claim":"Sachs?"`)) }},
	{"the time in the last row of evidence", func(c *corpus) {
		c.edit(evidenceFile, func(s string) string {
			i := strings.LastIndex(s, `"accepted_at":"2`)
			return s[:i] + `"accepted_at":"1` + s[i+len(`"accepted_at":"2`):]
		})
	}},
	{"a word of every row of evidence", func(c *corpus) {
		c.edit(evidenceFile, func(s string) string { return strings.ReplaceAll(s, `"claim":`, `"thesis":`) })
	}},
	{"the digest in a row of evidence", func(c *corpus) { c.onLine(evidenceFile, 2, replaceIn(`"digest":"`, `"digest":"0`)) }},
	{"the id in a row of evidence", func(c *corpus) { c.onLine(evidenceFile, 2, replaceIn(`"id":"a2"`, `"id":"b2"`)) }},
	{"the data file in a row of evidence", func(c *corpus) { c.onLine(evidenceFile, 2, replaceIn(artFile, "data/film.jsonl")) }},
	{"the number in a row of evidence", func(c *corpus) { c.onLine(evidenceFile, 2, replaceIn(`"sequence":2`, `"sequence":9`)) }},
	{"the number in the last row of evidence", func(c *corpus) { c.onLine(evidenceFile, 6, replaceIn(`"sequence":6`, `"sequence":9`)) }},
	{"the digest of the row before", func(c *corpus) { c.onLine(evidenceFile, 3, replaceIn(`"previous":"`, `"previous":"00`)) }},
	{"another digest of the row before", func(c *corpus) { c.onLine(evidenceFile, 3, otherPrevious) }},
	{"another digest of the row before in the last row", func(c *corpus) { c.onLine(evidenceFile, 6, otherPrevious) }},
	{"another digest of the row before in the first row", func(c *corpus) { c.onLine(evidenceFile, 1, otherPrevious) }},
	{"a row of evidence is deleted", func(c *corpus) { c.edit(evidenceFile, cutLine(2)) }},
	{"the first row of evidence is deleted", func(c *corpus) { c.edit(evidenceFile, cutLine(1)) }},
	{"the last row of evidence is deleted", func(c *corpus) { c.edit(evidenceFile, cutLine(6)) }},
	{"three rows of evidence are deleted", func(c *corpus) {
		c.edit(evidenceFile, cutLine(2))
		c.edit(evidenceFile, cutLine(2))
		c.edit(evidenceFile, cutLine(2))
	}},
	{"a row of evidence is repeated", func(c *corpus) { c.edit(evidenceFile, insertLine(4, c.line(evidenceFile, 2))) }},
	{"the last row of evidence is repeated", func(c *corpus) { c.edit(evidenceFile, insertLine(7, c.line(evidenceFile, 6))) }},
	{"two rows of evidence change places", func(c *corpus) { c.edit(evidenceFile, swapLines(2, 3)) }},
	{"the evidence is sorted", func(c *corpus) { c.edit(evidenceFile, sortLines) }},
	{"a blank line in the evidence", func(c *corpus) { c.edit(evidenceFile, insertLine(2, "")) }},
	{"a foreign row in the evidence", func(c *corpus) { c.edit(evidenceFile, insertLine(2, `{"id":"x","claim":"Mine?"}`)) }},
	{"the quotes of a row of evidence", func(c *corpus) { c.onLine(evidenceFile, 2, replaceIn(`"Two?"`, "Two?")) }},
	{"the evidence has CR LF", func(c *corpus) { c.edit(evidenceFile, crlf) }},
	{"the evidence has a byte order mark", func(c *corpus) { c.edit(evidenceFile, func(s string) string { return "\xef\xbb\xbf" + s }) }},
	{"the evidence is formatted with spaces", func(c *corpus) {
		c.edit(evidenceFile, func(s string) string { return strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(s) })
	}},
	{"the evidence is formatted over lines", func(c *corpus) {
		c.edit(evidenceFile, func(s string) string {
			return strings.NewReplacer(`{"`, "{\n  \"", `,"`, ",\n  \"", "}", "\n}").Replace(s)
		})
	}},
	{"the evidence is deleted", func(c *corpus) { c.check(os.Remove(c.full(evidenceFile))) }},
	{"the evidence is emptied", func(c *corpus) { c.edit(evidenceFile, func(string) string { return "" }) }},
	{"the evidence is cut in a line", func(c *corpus) { c.edit(evidenceFile, func(s string) string { return s[:len(s)-40] }) }},
	{"the evidence lacks its last byte", func(c *corpus) { c.edit(evidenceFile, func(s string) string { return s[:len(s)-1] }) }},
	{"an older copy of the evidence", func(c *corpus) { c.older(evidenceFile) }},
	{"an older copy of all files but the dotfiles", func(c *corpus) {
		for _, path := range []string{evidenceFile, artFile, musicFile, rejectedFile, breakersPath} {
			c.older(path)
		}
	}},
	{"a merge conflict in the evidence", func(c *corpus) {
		c.edit(evidenceFile, conflictAt(3, strings.Replace(c.line(evidenceFile, 3), "a3", "x3", 1)))
	}},
	{"two corpora in one", func(c *corpus) {
		for _, path := range []string{evidenceFile, artFile, rejectedFile} {
			more := c.other(path)
			c.edit(path, func(s string) string { return s + more })
		}
	}},

	{"a word of a rejection", func(c *corpus) { c.edit(rejectedFile, replaceIn("R_DUP_EXACT", "R_DUP_EXACX")) }},
	{"a rejection is deleted", func(c *corpus) { c.edit(rejectedFile, cutLine(1)) }},
	{"a rejection stands twice", func(c *corpus) { c.edit(rejectedFile, insertLine(2, c.line(rejectedFile, 1))) }},
	{"a line of words in the rejections", func(c *corpus) { c.edit(rejectedFile, insertLine(2, "why?")) }},
	{"a foreign row in the rejections", func(c *corpus) { c.edit(rejectedFile, insertLine(2, `{"why":"because"}`)) }},
	{"the rejections have CR LF", func(c *corpus) { c.edit(rejectedFile, crlf) }},
	{"the rejections are formatted with spaces", func(c *corpus) {
		c.edit(rejectedFile, func(s string) string { return strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(s) })
	}},
	{"the rejections are deleted", func(c *corpus) { c.check(os.Remove(c.full(rejectedFile))) }},
	{"a merge conflict in the rejections", func(c *corpus) { c.edit(rejectedFile, conflictAt(2, c.line(rejectedFile, 1))) }},
	{"the id of a row in the review queue", func(c *corpus) { c.edit(reviewPath, replaceIn(`"id":"r-`, `"id":"r-0`)) }},
	{"a breaker's count", func(c *corpus) { c.edit(breakersPath, replaceIn(`"accepted":`, `"accepted":7`)) }},
	{"the breakers are deleted", func(c *corpus) { c.check(os.Remove(c.full(breakersPath))) }},

	{"the dotfiles of meta are deleted", func(c *corpus) {
		for _, path := range []string{statePath, journalPath, identityPath, lockPath} {
			c.check(os.Remove(c.full(path)))
		}
	}},
	{"the state is deleted", func(c *corpus) { c.check(os.Remove(c.full(statePath))) }},
	{"the state is deleted and a record appended", func(c *corpus) {
		c.check(os.Remove(c.full(statePath)))
		c.edit(artFile, insertLine(5, `{"id":"x","q":"Mine?"}`))
	}},
	{"the state is deleted, and the evidence", func(c *corpus) {
		c.check(os.Remove(c.full(statePath)))
		c.check(os.Remove(c.full(evidenceFile)))
	}},
	{"the state is nonsense", func(c *corpus) { c.edit(statePath, func(string) string { return "{" }) }},
	{"the journal is deleted", func(c *corpus) { c.check(os.Remove(c.full(journalPath))) }},
	{"the identity is deleted", func(c *corpus) { c.check(os.Remove(c.full(identityPath))) }},
	{"the identity is nonsense", func(c *corpus) { c.edit(identityPath, func(string) string { return "{" }) }},
	{"a write of the state was interrupted", func(c *corpus) { c.check(os.WriteFile(c.full(statePath+".new"), []byte(`{"fi`), 0o644)) }},
	{"something was set aside", func(c *corpus) { c.check(os.WriteFile(c.full(artFile+".torn"), []byte("{\"id\"\n"), 0o644)) }},
	{"a record is deleted that was set aside", func(c *corpus) {
		c.check(os.WriteFile(c.full(artFile+".torn"), []byte("old\n"+c.line(artFile, 2)+"\n"), 0o644))
		c.edit(artFile, cutLine(2))
	}},
	{"a row of evidence is edited that was set aside", func(c *corpus) {
		c.check(os.WriteFile(c.full(evidenceFile+".aside"), []byte(c.line(evidenceFile, 2)+"\n"), 0o644))
		c.onLine(evidenceFile, 2, replaceIn("Two?", "Too?"))
	}},
}

// corpus is one that is there to be edited: four records of art and two of music,
// two rejections, and one that waits for review.
type corpus struct {
	t    testing.TB
	dir  string
	spec *dag.Gate
	old  map[string]string // the files after the first half
}

func newCorpus(t testing.TB) *corpus {
	t.Helper()
	dir := memoryDir(t)
	c := &corpus{t: t, dir: dir, spec: plain(uniqueQuestion()), old: map[string]string{}}
	c.spec.Checks[0].Triage = dag.Reject
	c.grow("", "One?", "Two?", "Three?")
	for _, path := range []string{evidenceFile, artFile, musicFile, rejectedFile, breakersPath} {
		b, err := os.ReadFile(c.full(path))
		c.check(err)
		c.old[path] = string(b)
	}
	c.grow("b", "Four?", "Five?", "Sechs?")
	return c
}

// memoryDir is a folder on a disk in memory, where there is one: these tests ask what
// is written, and not whether it lasts, and they write much.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "gate")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// copied is the corpus once more, to be edited.
func (c *corpus) copied(t testing.TB) *corpus {
	t.Helper()
	dir := memoryDir(t)
	c.check(os.CopyFS(dir, os.DirFS(c.dir)))
	return &corpus{t: t, dir: dir, spec: c.spec, old: c.old}
}

// grow has a gate accept two records of art and one of music, and refuse one.
func (c *corpus) grow(run, first, second, third string) {
	o := options(c.t, c.dir, c.spec)
	o.Now, o.RunID = clock(), "20260115T101500Z-4f2a91"
	g, err := Open(context.Background(), o)
	c.check(err)
	n := map[string]int{"": 0, "b": 3}[run]
	card := func(i int, q string) string { return fmt.Sprintf(`{"id":"a%d","q":%q}`, n+i, q) }
	waits := cardCandidate(run+"5", "art", card(9, "Sure?"))
	waits.As = dag.Review
	v := judge(c.t, g,
		cardCandidate(run+"1", "art", card(1, first)), cardCandidate(run+"2", "art", card(2, second)),
		cardCandidate(run+"3", "music", card(3, third)), cardCandidate(run+"4", "art", card(8, first)), waits)
	if v[2].End != dag.Accepted || v[3].End != dag.Rejected || v[4].End != dag.Reviewed {
		c.t.Fatalf("%+v", v)
	}
	c.check(g.Close())
}

func (c *corpus) full(path string) string { return filepath.Join(c.dir, path) }

func (c *corpus) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *corpus) edit(path string, change func(string) string) {
	c.t.Helper()
	b, err := os.ReadFile(c.full(path))
	c.check(err)
	changed := change(string(b))
	if changed == string(b) {
		c.t.Fatalf("the edit changes nothing in %s", path)
	}
	c.check(os.WriteFile(c.full(path), []byte(changed), 0o644))
}

func (c *corpus) line(path string, n int) string { return lines(c.t, c.dir, path)[n-1] }

func (c *corpus) onLine(path string, n int, change func(string) string) {
	c.edit(path, func(s string) string {
		all := strings.SplitAfter(s, "\n")
		all[n-1] = change(all[n-1])
		return strings.Join(all, "")
	})
}

func (c *corpus) older(path string) { c.edit(path, func(string) string { return c.old[path] }) }

// other is a file of another corpus of the same gate.
func (c *corpus) other(path string) string {
	o := &corpus{t: c.t, dir: c.t.TempDir(), spec: c.spec}
	g, err := Open(context.Background(), options(c.t, o.dir, o.spec))
	c.check(err)
	judge(c.t, g, cardCandidate("o1", "art", `{"id":"o1","q":"Uno?"}`), cardCandidate("o2", "art", `{"id":"o2","q":"Due?"}`),
		cardCandidate("o3", "art", `{"id":"o3","q":"Due?"}`))
	c.check(g.Close())
	return strings.Join(lines(c.t, o.dir, path), "\n") + "\n"
}

func insertLine(n int, text string) func(string) string {
	return func(s string) string {
		all := strings.SplitAfter(s, "\n")
		return strings.Join(all[:n-1], "") + text + "\n" + strings.Join(all[n-1:], "")
	}
}

func swapLines(a, b int) func(string) string {
	return func(s string) string {
		all := strings.SplitAfter(s, "\n")
		all[a-1], all[b-1] = all[b-1], all[a-1]
		return strings.Join(all, "")
	}
}

func sortLines(s string) string {
	all := strings.SplitAfter(s, "\n")
	for i, j := 0, len(all)-2; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return strings.Join(all, "")
}

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func conflictAt(n int, theirs string) func(string) string {
	return func(s string) string {
		all := strings.SplitAfter(s, "\n")
		return strings.Join(all[:n-1], "") + "<<<<<<< HEAD\n" + all[n-1] + "=======\n" + theirs + "\n>>>>>>> branch\n" + strings.Join(all[n:], "")
	}
}

func otherPrevious(s string) string {
	i := strings.Index(s, `"previous":"`) + len(`"previous":"`)
	digit := byte('0')
	if s[i] == '0' {
		digit = '1'
	}
	return s[:i] + string(digit) + s[i+1:]
}

// said is a report as people read it.
func said(r Report) string {
	var b strings.Builder
	for _, rep := range r.Repairs {
		fmt.Fprintf(&b, "did    %s\n", rep)
	}
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "fault  %s\n       hint: %s\n", f, f.Hint)
	}
	for _, f := range r.Notes {
		fmt.Fprintf(&b, "note   %s\n       hint: %s\n", f, f.Hint)
	}
	return b.String()
}

// TestEdits compares what an audit says of every edit, whole.
func TestEdits(t *testing.T) {
	var got bytes.Buffer
	base := newCorpus(t)
	for _, edit := range edits {
		fmt.Fprintf(&got, "== %s\n", edit.name)
		c := base.copied(t)
		edit.do(c)
		report, err := Audit(context.Background(), Options{Dir: c.dir, Gate: c.spec})
		if err != nil {
			t.Fatalf("%s: %v", edit.name, err)
		}
		got.WriteString(said(report))
	}
	golden(t, "testdata/edits.golden", got.Bytes())
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *updateEdits {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("what is said differs (-update writes it anew):\n%s", diff)
	}
}
