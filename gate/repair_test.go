package gate

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kept lists every line of every file of a corpus but of those that are derived,
// each with how often it stands there.
func kept(t testing.TB, dir string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || d.IsDir() || name == ".journal" || strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, ".new") {
			return err
		}
		b, err := os.ReadFile(path)
		for line := range bytes.Lines(b) {
			all[string(bytes.TrimSuffix(line, []byte{'\n'}))] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func lost(before, after map[string]bool) (lost []string) {
	for line := range before {
		if !after[line] {
			lost = append(lost, line)
		}
	}
	slices.Sort(lost)
	return lost
}

// mends repairs a corpus and holds the repair against what it promises: nothing is
// lost, there are no more faults than before, and a second repair does nothing.
func mends(c *corpus) (report Report, broken []string) {
	breaks := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	ctx, o := context.Background(), Options{Dir: c.dir, Gate: c.spec, Now: clock()}
	found, err := Audit(ctx, o)
	c.check(err)
	before := kept(c.t, c.dir)
	report, err = Repair(ctx, o)
	c.check(err)
	if gone := lost(before, kept(c.t, c.dir)); len(gone) > 0 {
		breaks("the repair lost %q", gone)
	}
	if len(report.Faults) > len(found.Faults) {
		breaks("%d faults after the repair, %d before it:\n%s\n%s", len(report.Faults), len(found.Faults), said(found), said(report))
	}
	again, err := Audit(ctx, o)
	c.check(err)
	if diff := cmp.Diff(report.Faults, again.Faults); diff != "" {
		breaks("an audit after the repair says otherwise:\n%s", diff)
	}
	files := contents(c.t, c.dir)
	second, err := Repair(ctx, o)
	c.check(err)
	if len(second.Repairs) > 0 {
		breaks("a second repair did:\n%s", said(second))
	}
	if diff := cmp.Diff(files, contents(c.t, c.dir)); diff != "" {
		breaks("a second repair changed files:\n%s", diff)
	}
	return report, broken
}

// contents are the files of a corpus.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		b, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// goesOn has the gate accept another record.
func goesOn(t testing.TB, c *corpus) {
	t.Helper()
	copied := (&corpus{t: t, dir: c.dir, spec: c.spec}).copied(t)
	g, err := Open(context.Background(), options(t, copied.dir, c.spec))
	if err != nil {
		t.Errorf("the corpus cannot be used: %v", err)
		return
	}
	defer g.Close()
	e := g.Evaluate(context.Background(), cardCandidate("new", "art", `{"q":"New?"}`))
	if e.Err() != nil {
		t.Errorf("the corpus cannot be used: %v", e.Err())
		return
	}
	v, err := g.Commit(context.Background(), []*Evaluation{e})
	if err == nil {
		err = v[0].Err
	}
	if err != nil {
		t.Errorf("the corpus cannot be used: %v", err)
		return
	}
	c.check(g.Close())
	report, err := Audit(context.Background(), Options{Dir: copied.dir, Gate: c.spec})
	if err != nil || !report.Clean() {
		t.Errorf("after the next commit: %v\n%s", err, said(report))
	}
}

// TestRepairs compares what a repair does about every edit, whole.
func TestRepairs(t *testing.T) {
	var got bytes.Buffer
	base := newCorpus(t)
	for _, edit := range edits {
		fmt.Fprintf(&got, "== %s\n", edit.name)
		t.Run(edit.name, func(t *testing.T) {
			c := base.copied(t)
			edit.do(c)
			report, broken := mends(c)
			for _, what := range broken {
				t.Error(what)
			}
			if report.Clean() {
				goesOn(t, c)
			}
			got.WriteString(said(report))
		})
	}
	golden(t, "testdata/repairs.golden", got.Bytes())
}
