package main

import (
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// What becomes of the corpus of the trivia cards when runs meet, are killed, or find
// its files not as they left them.

// Two runs of two workspaces with one corpus, at once, on the same questions.
func TestTriviaConcurrentRuns(t *testing.T) {
	t.Parallel()
	p := newPlay()
	var buckets []string
	for _, cat := range []string{"history", "science", "nature"} {
		buckets = append(buckets, p.batch(cat, "easy", 1, accepted(cat)...))
	}
	w := newWorkspace(t, buckets, p, unlimited...)
	// The other workspace asks the same in a second batch with another explainer.
	other := newPlay()
	var others []string
	for _, cat := range []string{"history", "science", "nature"} {
		cases := five(cat+" again", triviaCase{card: object{"x": "So they say."}})
		for i := range cases {
			cases[i].card = object{"x": "So they say.", "q": strings.ToUpper(question(cat, "easy", 1, i+1))}
		}
		others = append(others, other.batch(cat, "easy", 2, cases...))
	}
	o := newWorkspace(t, others, other, unlimited...)
	for _, folder := range []string{"data", "meta"} {
		if err := os.MkdirAll(w.path(folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(w.path(folder), o.path(folder)); err != nil {
			t.Fatal(err)
		}
	}
	var running sync.WaitGroup
	for _, each := range []*workspace{w, o} {
		running.Go(func() {
			if said, err := each.command("run", "--live").CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, said)
			}
		})
	}
	running.Wait()
	if n := len(w.lines("meta/verification.jsonl")); n != 15 {
		t.Errorf("%d rows of evidence, want 15", n)
	}
	if n := len(w.lines("meta/rejections.jsonl")); n != 15 {
		t.Errorf("%d rejections, want 15", n)
	}
	for _, row := range w.lines("meta/rejections.jsonl") {
		if _, said := rejection(t, row); said != "rejected accept 1 R_DUP_EXACT" {
			t.Error(said)
		}
	}
	w.audit()
}

// Nine buckets, four at a time, and inside a bucket one request at a time.
func TestTriviaFourBuckets(t *testing.T) {
	t.Parallel()
	p := newPlay()
	var buckets []string
	for _, cat := range plainCats {
		buckets = append(buckets, p.batch(cat, "easy", 1, accepted(cat+" easy")...))
	}
	buckets = append(buckets, p.batch("music", "hard", 1, accepted("music hard")...))
	bucketOf := regexp.MustCompile(`"cat":"([^"]*)","diff":"([^"]*)"`)
	var mu sync.Mutex
	four := sync.NewCond(&mu)
	left := map[string]int{} // verdicts that are still to come, by bucket
	busy := map[string]bool{}
	most, miners := 0, 0
	p.Asked = asked(t, func(request string) string {
		mu.Lock()
		defer mu.Unlock()
		bucket := bucketOf.FindString(request)
		if busy[bucket] {
			t.Errorf("two requests at once of %s", bucket)
		}
		busy[bucket] = true
		defer delete(busy, bucket)
		switch {
		case strings.HasPrefix(request, "# Topic miner"):
			miners++
			left[bucket] = 5
			most = max(most, len(left))
			// The first four wait for each other: four are at work at once.
			for four.Broadcast(); miners < 4; {
				four.Wait()
			}
		case strings.HasPrefix(request, "# Verifier"):
			if left[bucket]--; left[bucket] == 0 {
				delete(left, bucket)
			}
		}
		return "go"
	})
	w := newWorkspace(t, buckets, p, unlimited...)
	// The batch stands first in the miner's input; there as in a card cat comes before diff.
	w.run(0)
	if most != 4 || miners != 9 {
		t.Errorf("%d buckets of %d were at work at once, want 4 of 9", most, miners)
	}
	if n := len(w.lines("meta/verification.jsonl")); n != 45 {
		t.Errorf("%d cards", n)
	}
}

// Killed at any moment, then run again: each card once, with its evidence.
func TestTriviaKilled(t *testing.T) {
	t.Parallel()
	p := newPlay()
	var buckets []string
	for _, cat := range []string{"history", "science", "nature", "society"} {
		buckets = append(buckets, p.batch(cat, "easy", 1, accepted(cat)...))
	}
	w := newWorkspace(t, buckets, p, unlimited...)
	for _, rows := range []int{1, 6, 13} {
		cmd := w.command("run", "--live")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() { over <- cmd.Wait() }()
		for len(w.lines("meta/verification.jsonl")) < rows {
			select {
			case err := <-over:
				t.Fatalf("the run ended by itself: %v", err)
			case <-time.After(time.Millisecond):
			}
		}
		_ = cmd.Process.Kill()
		<-over
	}
	w.run(0)
	if n := len(w.lines("meta/verification.jsonl")); n != 20 {
		t.Errorf("%d rows of evidence", n)
	}
	n := 0
	for _, cat := range []string{"history", "science", "nature", "society"} {
		n += len(w.lines("data/" + cat + "/easy.jsonl"))
	}
	if n != 20 {
		t.Errorf("%d cards", n)
	}
	w.audit()
}

// What other hands have done to the files of the corpus.
func TestTriviaFiles(t *testing.T) {
	t.Parallel()
	p := newPlay()
	first := p.batch("history", "easy", 1, accepted("one")...)
	second := p.batch("history", "easy", 2, accepted("two")...)
	w := newWorkspace(t, []string{first}, p, unlimited...)
	w.run(0)
	w.write("examples/trivia-cards/buckets.jsonl", first+"\n"+second+"\n")
	const cards, evidence = "data/history/easy.jsonl", "meta/verification.jsonl"
	whole := w.snapshot()
	restore := func() {
		for name, content := range whole {
			w.write(name, content)
		}
	}

	// A file that was edited stops the gate; nothing is written.
	for _, edit := range []struct{ name, file, content, says string }{
		{"the last card", cards, strings.Replace(whole[cards], "5 of batch", "6 of batch", 1), cards + " was changed by something other than the gate: the bytes before byte"},
		{"a card less", cards, whole[cards][strings.IndexByte(whole[cards], '\n')+1:], cards + " was changed by something other than the gate: it had"},
		{"all cards", cards, "", cards + " was changed by something other than the gate: it had"},
		{"a row of evidence", evidence, strings.Replace(whole[evidence], "It is so.", "It is no.", 1), evidence + " was changed by something other than the gate: line 2 does not follow the line before it"},
		{"the evidence", evidence, "", evidence + " was changed by something other than the gate: it had"},
	} {
		w.write(edit.file, edit.content)
		edited := w.snapshot()
		stdout, stderr := w.run(5)
		if !strings.Contains(stderr, edit.says) || !strings.Contains(stderr, "penstock audit") {
			t.Errorf("%s:\n%s%s", edit.name, stdout, stderr)
		}
		if diff := cmp.Diff(edited, w.snapshot()); diff != "" {
			t.Errorf("%s: %s", edit.name, diff)
		}
		restore()
	}

	// Half a line is set aside, and said.
	half := `{"a":"Mehmed II","cat":"hist`
	w.write(cards, whole[cards]+half)
	w.write(evidence, whole[evidence]+`{"accept_key":`)
	_, stderr := w.run(0)
	for _, want := range []string{cards + ": 28 bytes that are no whole line were moved to " + cards + ".torn", evidence + ": 14 bytes that are no whole line were moved to " + evidence + ".torn"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("nothing says %q:\n%s", want, stderr)
		}
	}
	if got := w.read(cards); !strings.HasPrefix(got, whole[cards]) || strings.Count(got, "\n") != 10 || w.read(cards+".torn") != half+"\n" {
		t.Errorf("the cards are\n%s", got)
	}
	w.audit()
}

// Another program's lock is honoured, by flock.
func TestTriviaLocks(t *testing.T) {
	t.Parallel()
	p := newPlay()
	w := newWorkspace(t, []string{p.batch("history", "easy", 1, accepted("one")...)}, p, unlimited...)
	for _, name := range []string{"meta/.state.lock", "data/history/easy.jsonl.lock"} {
		w.write(name, "")
	}
	f, err := os.OpenFile(w.path("data/history/easy.jsonl.lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	verified := make(chan bool, 5)
	p.Asked = asked(t, func(request string) string {
		if strings.HasPrefix(request, "# Verifier") {
			verified <- true
		}
		return "go"
	})
	w.play(p)
	cmd := w.command("run", "--live")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-verified // the first card is on its way to the gate, and cannot come in
	if rows := w.lines("meta/verification.jsonl"); len(rows) > 0 {
		t.Errorf("written without the lock: %s", rows)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if rows := w.lines("meta/verification.jsonl"); len(rows) != 5 {
		t.Errorf("%d rows of evidence", len(rows))
	}
}
