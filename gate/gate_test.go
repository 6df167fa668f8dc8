package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func question(key, q string) *Candidate {
	return cardCandidate(key, "art", fmt.Sprintf(`{"q":%q}`, q))
}

func TestKnownVerdicts(t *testing.T) {
	dir, spec := t.TempDir(), plain(uniqueQuestion())
	withFinding := question("found", "Found?")
	withFinding.Findings = []dag.Finding{{Code: "THIN", Triage: dag.Review, Stage: "quality", Evidence: "thin"}}
	all := func() []*Candidate {
		return []*Candidate{
			question("accepted", "One?"), question("rejected", "One ?"), question("failed", "Two?"), withFinding,
			{Key: "stopped", Bucket: "art", Scope: docs{}, Stop: &Stop{End: dag.Rejected, Code: "R_STOP", Stage: "verifier", Pass: 2}},
			{Key: "skipped", Bucket: "art", Scope: docs{}, As: dag.Skip, Code: "OFF_TOPIC"},
			{Key: "reviewed", Bucket: "art", Scope: docs{"item": `{"q":"?"}`}, As: dag.Review, Code: "DOUBT"},
		}
	}
	candidates := all()
	candidates[1].Scope = docs{"item": `{"q":"One?","n":2}`}
	candidates[2].Bucket = "Not a bucket"
	o := options(t, dir, spec)
	first := judge(t, mustOpen(t, o), candidates...)
	var ends []string
	for _, v := range first {
		if v.Known || v.Err != nil {
			t.Fatalf("%+v", v)
		}
		ends = append(ends, string(v.End)+" "+codes(v))
	}
	want := []string{"accepted ", "rejected R_DUP_EXACT", "failed E_BUCKET", "review THIN", "rejected R_STOP", "skipped OFF_TOPIC", "review DOUBT"}
	if diff := cmp.Diff(want, ends); diff != "" {
		t.Fatal(diff)
	}
	before := tree(t, dir)

	second := judge(t, mustOpen(t, o), candidates...)
	for i, v := range second {
		if !v.Known || v.End != first[i].End || codes(v) != codes(first[i]) || v.Record != first[i].Record || v.Message != first[i].Message {
			t.Errorf("%s: %+v, was %+v", candidates[i].Key, v, first[i])
		}
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("known verdicts wrote:\n%s", diff)
	}

	// Asked anew, only the accepted one is known.
	for _, c := range candidates {
		c.Anew = true
	}
	for i, v := range judge(t, mustOpen(t, o), candidates...) {
		if v.Known != (i == 0) || v.End != first[i].End {
			t.Errorf("%s anew: known %v, %s", candidates[i].Key, v.Known, v.End)
		}
	}
	report, err := Audit(context.Background(), Options{Dir: dir, Gate: spec})
	if err != nil || !report.Clean() {
		t.Errorf("%+v %v", report, err)
	}
}

// tree reads every file of a corpus that is data.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		b, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Whatever decides belongs to the accept key, and nothing else does.
func TestAcceptKey(t *testing.T) {
	base := func() (*dag.Gate, *Candidate) { return plain(uniqueQuestion()), question("1", "One?") }
	keyOfCase := func(change func(*dag.Gate, *Candidate)) string {
		spec, c := base()
		change(spec, c)
		g := mustOpen(t, options(t, t.TempDir(), spec))
		return g.Evaluate(context.Background(), c).AcceptKey()
	}
	same := keyOfCase(func(*dag.Gate, *Candidate) {})
	for _, tt := range []struct {
		name   string
		change func(*dag.Gate, *Candidate)
		equal  bool
	}{
		{"nothing", func(*dag.Gate, *Candidate) {}, true},
		{"item key", func(_ *dag.Gate, c *Candidate) { c.Key = "2" }, false},
		{"document", func(_ *dag.Gate, c *Candidate) { c.Scope = docs{"item": `{"q":"Two?"}`} }, false},
		{"finding", func(_ *dag.Gate, c *Candidate) { c.Findings = []dag.Finding{{Code: "X", Triage: dag.Review}} }, false},
		{"model of a visit", func(_ *dag.Gate, c *Candidate) { c.Facts = []dag.VisitFacts{{Stage: "a", Model: "m"}} }, false},
		{"stale visit", func(_ *dag.Gate, c *Candidate) { c.Facts = []dag.VisitFacts{{Stage: "a", Stale: true}} }, true},
		{"code of a check", func(g *dag.Gate, _ *Candidate) { g.Checks[0].Code = "OTHER" }, false},
		{"argument", func(g *dag.Gate, _ *Candidate) { g.Checks[0].Args["keys"] = val([]string{"x"}) }, false},
		{"shadow", func(g *dag.Gate, _ *Candidate) { g.Checks[0].Mode = &dag.Mode{Name: "m"} }, false},
		{"one check more", func(g *dag.Gate, _ *Candidate) { g.Checks = append(g.Checks, g.Checks[0]) }, false},
		{"message", func(g *dag.Gate, _ *Candidate) { g.Checks[0].Message = "other words" }, true},
		{"breaker", func(g *dag.Gate, _ *Candidate) { g.Breaker = nil }, true},
		{"evidence", func(g *dag.Gate, _ *Candidate) { g.Corpus.EvidenceRecord = nil }, true},
		{"bucket", func(_ *dag.Gate, c *Candidate) { c.Bucket = "music" }, true},
	} {
		if got := keyOfCase(tt.change); (got == same) != tt.equal {
			t.Errorf("%s: the key is the same: %v", tt.name, got == same)
		}
	}
}

func TestR46R47FindingsMerge(t *testing.T) {
	always := func(code dag.Code, triage dag.Triage, mode *dag.Mode) *dag.Check {
		return &dag.Check{Kind: "assert", Name: string(code), Code: code, Triage: triage, Mode: mode, Args: map[string]dag.Expr{"condition": val(false)}}
	}
	apply, shadow := &dag.Mode{Name: "m", Apply: true}, &dag.Mode{Name: "m"}
	found := func(code dag.Code, triage dag.Triage) dag.Finding {
		return dag.Finding{Code: code, Triage: triage, Stage: "quality"}
	}
	for _, tt := range []struct {
		name     string
		checks   []*dag.Check
		findings []dag.Finding
		want     string
	}{
		{"none", nil, nil, "accepted "},
		{"a note accepts", nil, []dag.Finding{found("NOTE", dag.Accept)}, "accepted "},
		{"the item's finding", nil, []dag.Finding{found("THIN", dag.Quarantine)}, "quarantined THIN"},
		{"the most severe", []*dag.Check{always("C", dag.Review, nil)}, []dag.Finding{found("A", dag.Review), found("B", dag.Skip)}, "skipped B A C"},
		{"on a tie the earlier", []*dag.Check{always("C", dag.Review, nil)}, []dag.Finding{found("A", dag.Review)}, "review A C"},
		{"a check's default is reject", []*dag.Check{always("C", "", nil)}, []dag.Finding{found("A", dag.Review)}, "rejected C A"},
		{"an unknown word rejects", nil, []dag.Finding{found("A", "perhaps")}, "rejected A"},
		{"applied", []*dag.Check{always("C", dag.Quarantine, apply)}, nil, "quarantined C"},
		{"in shadow", []*dag.Check{always("C", dag.Quarantine, shadow)}, nil, "review C"},
		{"shadow does not end a phase", []*dag.Check{{Kind: "assert", Name: "C", Code: "C", Ends: true, Mode: shadow, Args: map[string]dag.Expr{"condition": val(false)}}, always("D", "", nil)}, nil, "rejected D C"},
		{"if false", []*dag.Check{{Kind: "assert", Code: "C", If: val(false), Args: map[string]dag.Expr{"condition": val(false)}}}, nil, "accepted "},
		{"if true", []*dag.Check{{Kind: "assert", Code: "C", If: val(true), Args: map[string]dag.Expr{"condition": val(false)}}}, nil, "rejected C"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := mustOpen(t, options(t, t.TempDir(), plain(tt.checks...)))
			c := question("1", "One?")
			c.Findings = tt.findings
			v := judge(t, g, c)[0]
			if got := string(v.End) + " " + codes(v); got != tt.want || v.Err != nil {
				t.Errorf("%q, want %q (%v)", got, tt.want, v.Err)
			}
		})
	}
}

func TestShadowNotes(t *testing.T) {
	check := uniqueQuestion()
	check.Mode = &dag.Mode{Name: "m"}
	g := mustOpen(t, options(t, t.TempDir(), plain(check)))
	a, b := question("1", "One?"), question("2", "One?")
	b.Scope = docs{"item": `{"q":"One?","n":2}`}
	v := judge(t, g, a, b)[1]
	want := []dag.Finding{{Code: "R_DUP_EXACT", Triage: dag.Review, Stage: "accept", Shadow: true, Noted: dag.Reject, Evidence: v.Findings[0].Evidence}}
	if diff := cmp.Diff(want, v.Findings); diff != "" || v.End != dag.Reviewed {
		t.Errorf("%s\n%s", v.End, diff)
	}
}

// What is not accepted is kept whole, so that a person can decide.
func TestReviewQueue(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir, plain())
	o.Now = func() time.Time { return time.Date(2026, 1, 15, 10, 15, 4, 0, time.UTC) }
	g := mustOpen(t, o)
	c := question("1", "One?")
	c.Findings = []dag.Finding{{Code: "THIN", Triage: dag.Quarantine, Stage: "quality", Evidence: "three lines"}}
	e := g.Evaluate(context.Background(), c)
	if _, err := g.Commit(context.Background(), []*Evaluation{e}); err != nil {
		t.Fatal(err)
	}
	want := `{"accept_key":"KEY","at":"2026-01-15T10:15:04.000Z","bucket":"art","candidate":{"card":{"q":"One?"}},"codes":["THIN"],"detail":[],"end":"quarantined",` +
		`"findings":[{"code":"THIN","evidence":"three lines","stage":"quality","triage":"quarantine"}],"id":"r-ID","item":"1","message":"three lines","pass":1,"run":"20260115T101500Z-4f2a91","stage":"accept"}`
	want = strings.NewReplacer("KEY", e.AcceptKey(), "ID", e.AcceptKey()[:12]).Replace(want)
	if diff := cmp.Diff([]string{want}, lines(t, dir, reviewPath)); diff != "" {
		t.Error(diff)
	}
}

func TestStops(t *testing.T) {
	stop := func(end dag.End, code, cause dag.Code) *Candidate {
		return &Candidate{Key: "1", Bucket: "art", Scope: docs{}, Stop: &Stop{End: end, Code: code, Cause: cause, Status: "repair", Message: "said so", Stage: "verifier", Pass: 2}}
	}
	for _, tt := range []struct {
		name string
		c    *Candidate
		row  string // without its changing parts; empty: none
		err  bool
	}{
		{"rejected", stop(dag.Rejected, "R_X", ""), `"codes":["R_X"],"detail":[{"code":"R_X","why":"said so"}],"end":"rejected","item":"1","message":"said so","pass":2,"run":"20260115T101500Z-4f2a91","stage":"verifier","status":"repair"}`, false},
		{"failed with a cause", stop(dag.Failed, "R_X", dag.EOutput), `"codes":["R_X"],"detail":[{"cause":"E_OUTPUT","code":"R_X","why":"said so"}],"end":"failed","item":"1",`, false},
		{"without a code", stop(dag.Failed, "", ""), `"codes":[],"detail":[],"end":"failed"`, false},
		{"parked", stop(dag.Parked, "", ""), "", false},
		{"waiting", stop(dag.Waiting, "", ""), "", false},
		{"for want of infrastructure", stop(dag.Failed, dag.ETimeout, ""), "", true},
		{"with such a cause", stop(dag.Failed, "R_X", dag.EUnavailable), "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			g := mustOpen(t, options(t, dir, plain()))
			v := judge(t, g, tt.c)[0]
			if (v.Err != nil) != tt.err || v.Err == nil && v.End != tt.c.Stop.End {
				t.Errorf("%+v", v)
			}
			rows := strings.Join(lines(t, dir, "meta/rejections.jsonl"), "\n")
			if !strings.Contains(rows, tt.row) || (rows == "") != (tt.row == "") {
				t.Errorf("the row is %s", rows)
			}
			if counted := len(g.Breakers()) > 0; counted != (tt.row != "") {
				t.Errorf("counted: %v", counted)
			}
		})
	}
}

func TestStopsWithoutRejections(t *testing.T) {
	dir, spec := t.TempDir(), plain()
	spec.Rejections = ""
	c := &Candidate{Key: "1", Bucket: "art", Scope: docs{}, Stop: &Stop{End: dag.Rejected, Code: "R_X", Stage: "verifier", Pass: 1}}
	for i := range 2 {
		g := mustOpen(t, options(t, dir, spec))
		if v := judge(t, g, c)[0]; v.Known != (i == 1) {
			t.Errorf("time %d: known %v", i, v.Known)
		}
		if b := g.Breakers(); len(b) != 1 || b[0].Consecutive != 1 {
			t.Errorf("%+v", b)
		}
		_ = g.Close()
	}
	if got := len(lines(t, dir, verdictsPath)); got != 1 {
		t.Errorf("%d verdicts", got)
	}
}

func TestBreaker(t *testing.T) {
	dir, spec := t.TempDir(), plain()
	spec.Breaker.Consecutive = 20
	ctx := context.Background()
	n := 0
	stops := func(g *Gate, bucket string, count int, end dag.End) {
		for range count {
			n++
			judge(t, g, &Candidate{Key: fmt.Sprint(n), Bucket: bucket, Scope: docs{}, Stop: &Stop{End: end, Code: "R_X"}})
		}
	}
	g := mustOpen(t, options(t, dir, spec))
	stops(g, "art", 19, dag.Rejected)
	judge(t, g, question("good", "Good?"))
	stops(g, "art", 1, dag.Failed)
	if g.Tripped("art") {
		t.Error("19 failures, an accept, a failure: open")
	}
	// An error of the world neither counts nor resets.
	stops(g, "music", 10, dag.Rejected)
	judge(t, g, &Candidate{Key: "infra", Bucket: "music", Scope: docs{}, Stop: &Stop{End: dag.Failed, Code: dag.ETimeout}})
	judge(t, g, &Candidate{Key: "skip", Bucket: "music", Scope: docs{}, As: dag.Skip, Code: "X"})
	judge(t, g, &Candidate{Key: "parked", Bucket: "music", Scope: docs{}, Stop: &Stop{End: dag.Parked}})
	stops(g, "music", 9, dag.Failed)
	if g.Tripped("music") {
		t.Error("open at 19")
	}
	stops(g, "music", 1, dag.Failed)
	if !g.Tripped("music") || g.Tripped("art") {
		t.Error("20 stops do not open the bucket, or open another")
	}
	// Still open in another process, whatever is accepted meanwhile.
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	g = mustOpen(t, options(t, dir, spec))
	late := question("late", "Late?")
	late.Bucket = "music"
	judge(t, g, late)
	if !g.Tripped("music") {
		t.Error("the breaker did not outlive its process, or an accept closed it")
	}
	reader := options(t, dir, spec)
	reader.ReadOnly = true
	if !mustOpen(t, reader).Tripped("music") {
		t.Error("a reader does not see it")
	}
	if err := g.ResetBreaker(ctx, "music"); err != nil {
		t.Fatal(err)
	}
	if g.Tripped("music") || mustOpen(t, reader).Tripped("music") {
		t.Error("the reset does not close it")
	}
	var rows []string
	for _, b := range g.Breakers() {
		rows = append(rows, fmt.Sprintf("%s %d of %d, %d accepted", b.Bucket, b.Consecutive, b.Stopped, b.Accepted))
	}
	if diff := cmp.Diff([]string{"art 1 of 20, 1 accepted", "music 0 of 20, 1 accepted"}, rows); diff != "" {
		t.Error(diff)
	}
}

func TestDryRun(t *testing.T) {
	dir, spec := t.TempDir(), plain(uniqueQuestion())
	judge(t, mustOpen(t, options(t, dir, spec)), question("old", "Old?"))
	before := tree(t, dir)
	o := options(t, dir, spec)
	o.DryRun = true
	g := mustOpen(t, o)
	twin := question("twin", "New?")
	twin.Scope = docs{"item": `{"q":"New?","n":1}`}
	v := judge(t, g, question("new", "New?"), question("old", "Old?"))
	v = append(v, judge(t, g, twin)...)
	var got []string
	for _, v := range v {
		got = append(got, fmt.Sprintf("%s %s known %v dry %v rows %d", v.End, codes(v), v.Known, v.Dry, len(v.Would)))
	}
	want := []string{"accepted  known false dry true rows 2", "accepted  known true dry true rows 0", "rejected R_DUP_EXACT known false dry true rows 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if line := v[0].Would[1]; line.Path != "data/art.jsonl" || !strings.Contains(string(line.JSON), `"q":"New?"`) {
		t.Errorf("%s %s", line.Path, line.JSON)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("a dry run wrote:\n%s", diff)
	}
	// In a folder without a corpus it makes none.
	empty := t.TempDir()
	o.Dir = empty
	g = mustOpen(t, o)
	if v := judge(t, g, question("new", "New?"))[0]; v.End != dag.Accepted || !g.Corpus().IsZero() {
		t.Errorf("%+v, corpus %s", v, g.Corpus())
	}
	if entries, _ := os.ReadDir(empty); len(entries) != 0 {
		t.Errorf("a dry run made %v", entries)
	}
	if v := judge(t, mustOpen(t, options(t, dir, spec)), question("new", "New?"))[0]; v.Known {
		t.Error("a dry verdict became an accept key")
	}
}

func TestCorpusIdentity(t *testing.T) {
	dir, spec := t.TempDir(), plain()
	first := mustOpen(t, options(t, dir, spec)).Corpus()
	if first.IsZero() {
		t.Fatal("a corpus that is open for writing has no identity")
	}
	if again := mustOpen(t, options(t, dir, spec)).Corpus(); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if other := mustOpen(t, options(t, t.TempDir(), spec)).Corpus(); other == first {
		t.Error("two corpora have one identity")
	}
	reader := options(t, dir, spec)
	reader.ReadOnly = true
	g := mustOpen(t, reader)
	if g.Corpus() != first {
		t.Error("a reader sees another")
	}
	e := g.Evaluate(context.Background(), question("1", "One?"))
	if _, err := g.Commit(context.Background(), []*Evaluation{e}); err == nil {
		t.Error("a reader committed")
	}
}

// A directory holds one corpus: a gate with another file of evidence would share
// the locks, the journal and the verdicts of the first.
func TestOneCorpusInADirectory(t *testing.T) {
	dir, spec := t.TempDir(), plain()
	_ = mustOpen(t, options(t, dir, spec)).Close()
	corpus := *spec.Corpus
	corpus.Evidence = "meta/other.jsonl"
	other := *spec
	other.Corpus = &corpus
	o := options(t, dir, &other)
	want := "open the corpus: the evidence of the corpus in this directory is meta/verification.jsonl, and the gate names meta/other.jsonl"
	_, err := Open(t.Context(), o)
	if err == nil || err.Error() != want || dag.KindOf(err) != dag.KindConfig {
		t.Errorf("for writing: %v", err)
	}
	if _, err := Audit(t.Context(), o); err == nil || err.Error() != want {
		t.Errorf("an audit: %v", err)
	}
	o.ReadOnly = true
	if _, err := Open(t.Context(), o); err == nil || err.Error() != want {
		t.Errorf("for reading: %v", err)
	}
}

// Two gates, as two processes would be, and the same card at once.
func TestTwoGatesOneCard(t *testing.T) {
	dir, spec := t.TempDir(), plain(uniqueQuestion())
	a, b := mustOpen(t, options(t, dir, spec)), mustOpen(t, options(t, dir, spec))
	ctx := context.Background()
	other := question("2", "One?")
	other.Scope = docs{"item": `{"q":"One?","n":2}`}
	ea, eb, ec := a.Evaluate(ctx, question("1", "One?")), b.Evaluate(ctx, question("1", "One?")), b.Evaluate(ctx, other)
	va, err := a.Commit(ctx, []*Evaluation{ea})
	if err != nil || va[0].End != dag.Accepted || va[0].Known {
		t.Fatalf("%+v %v", va, err)
	}
	vb, err := b.Commit(ctx, []*Evaluation{eb, ec})
	if err != nil || vb[0].End != dag.Accepted || !vb[0].Known {
		t.Errorf("the same card: %+v %v", vb, err)
	}
	if codes(vb[1]) != "R_DUP_EXACT" {
		t.Errorf("the same question by another item: %+v", vb[1])
	}
}

// Many callers of one gate: every candidate has its verdict, in one chain.
func TestConcurrentCommits(t *testing.T) {
	dir, spec := t.TempDir(), plain(uniqueQuestion())
	g := mustOpen(t, options(t, dir, spec))
	ctx := context.Background()
	var wg sync.WaitGroup
	var mu sync.Mutex
	ends := map[string]int{}
	for i := range 64 {
		wg.Go(func() {
			for k := range 4 {
				c := question(fmt.Sprintf("%d/%d", i, k), fmt.Sprintf("Question %d?", (i*4+k)%200))
				c.Scope = docs{"item": fmt.Sprintf(`{"q":"Question %d?","n":"%s"}`, (i*4+k)%200, c.Key)}
				v, err := g.Commit(ctx, []*Evaluation{g.Evaluate(ctx, c)})
				if err != nil || v[0].Err != nil {
					t.Errorf("%v %v", v, err)
					return
				}
				mu.Lock()
				ends[string(v[0].End)]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(map[string]int{"accepted": 200, "rejected": 56}, ends); diff != "" {
		t.Error(diff)
	}
	if sequence, err := g.Sequence(); err != nil || sequence != 200 {
		t.Errorf("sequence %d, %v", sequence, err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := Audit(ctx, Options{Dir: dir, Gate: spec}); err != nil || !report.Clean() || report.Records != 200 {
		t.Errorf("%+v %v", report, err)
	}
	if _, err := g.Commit(ctx, []*Evaluation{g.Evaluate(ctx, question("late", "Late?"))}); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestCancelledCommit(t *testing.T) {
	dir := t.TempDir()
	g := mustOpen(t, options(t, dir, plain()))
	ctx, cancel := context.WithCancel(context.Background())
	e := g.Evaluate(ctx, question("1", "One?"))
	cancel()
	if _, err := g.Commit(ctx, []*Evaluation{e}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if v, err := g.Commit(context.Background(), []*Evaluation{e}); err != nil || v[0].End != dag.Accepted {
		t.Errorf("the same evaluation again: %+v %v", v, err)
	}
}

func TestValidBucket(t *testing.T) {
	for name, want := range map[string]bool{
		"history/easy": true, "a": true, "visual-arts/hard": true, "0_x": true,
		"": false, "/a": false, "a/": false, "a//b": false, "../a": false, "A": false, "a.b": false, "-a": false, "a b": false, "a\n": false,
		strings.Repeat("a", 201): false,
	} {
		if got := ValidBucket(name) == nil; got != want {
			t.Errorf("ValidBucket(%q): usable %v", name, got)
		}
	}
}
