package engine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// What is known under a number of docs/requirements.md and needs a director. The
// test's name has the number.

// digests are those of all recipes of a pipeline.
func (w *workspace) digests() map[string]dag.Digest {
	w.t.Helper()
	o := w.options(nil)
	e, err := open(w.t.Context(), o, newPlanned(o.Graph, looking{}))
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string]dag.Digest{}
	for i, s := range o.Graph.Stages {
		all[s.Name] = e.recipes[i].digest
	}
	if err := e.close(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// However the blocks of a pipeline are ordered, spread over files, commented and
// laid out, each action has the digest that it had.
func TestR20DigestsAreThoseOfAnyOrder(t *testing.T) {
	times := 1000
	if testing.Short() {
		times = 50
	}
	w := newWorkspace(t, chain("one", "two", "three"), numbered(1, ""), keep)
	want := w.digests()
	var blocks []string
	for _, block := range strings.Split(w.read("pipeline.hcl"), "\n}\n") {
		if strings.TrimSpace(block) != "" {
			blocks = append(blocks, block+"\n}\n")
		}
	}
	for range times {
		rand.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		var files [3]strings.Builder
		for _, block := range blocks {
			f := &files[rand.IntN(3)]
			f.WriteString(fmt.Sprintf("# note %d\n%s%s", rand.IntN(1000), strings.Repeat("\n", rand.IntN(3)), block))
		}
		for i, name := range []string{"pipeline.hcl", "a.pipeline.hcl", "b.pipeline.hcl"} {
			w.write(name, files[i].String())
		}
		if diff := cmp.Diff(want, w.digests()); diff != "" {
			t.Fatalf("digests (-want +got):\n%s\nof\n%s", diff, strings.Join(blocks, ""))
		}
	}
}

// Whatever stands in a text of the configuration: after the run there is nothing
// to do.
func TestR19AnyTextIsWrittenAndReadAlike(t *testing.T) {
	texts := []string{" a  b ", "\ta", "a\\", "a\n", "\n\n", "$${x} %%{y}", "ä\u00a0b", "a\u0301", "\u2028", "\U0001F600", "'\\\"", "", "\x7f", "null", "1.0"}
	for range 10 {
		var b strings.Builder
		for range 1 + rand.IntN(12) {
			b.WriteRune([]rune(" \t\\\"'${}%\né\u0301x#")[rand.IntN(14)])
		}
		texts = append(texts, b.String())
	}
	w := newWorkspace(t, one, numbered(2, ""), keep)
	pipeline := w.read("pipeline.hcl")
	for _, text := range texts {
		quoted := strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n", "\t", "\\t", "${", "$${", "%{", "%%{").Replace(text)
		w.write("pipeline.hcl", strings.Replace(pipeline, "plugin = plugin.actor\n", "plugin = plugin.actor\n  config { note = \""+quoted+"\" }\n", 1))
		if s := w.run(); s.Kind != 0 {
			t.Fatalf("%q: %+v", text, s)
		}
		plan, err := Plan(t.Context(), w.options(nil))
		if err != nil || !plan.Empty() {
			t.Errorf("%q: %v, and after the run the plan is %+v", text, err, plan)
		}
	}
}

// One of a hundred fails for want of infrastructure, on its second attempt, too:
// the next run, over the items in any order, makes that one visit. Which attempt
// answered, and where the item stands, is in no digest.
func TestR43R24OneVisitIsLeft(t *testing.T) {
	items := numbered(100, "")
	w := newWorkspace(t, retrying(chain("work"), "work", 2, ""), items, nil)
	play := func(good bool) func(*call) answer {
		return func(c *call) answer {
			first := w.tries("work")[c.Key] == 1
			if c.Key == "i0004" && !good || c.Key == "i0007" && first {
				return answer{Infra: true, Code: "E_UNAVAILABLE", Message: "not now"}
			}
			return answer{}
		}
	}
	w.direct(play(false))
	s := w.run(func(o *Options) { o.KeepGoing = true })
	if s.Tally.Ends[dag.Accepted] != 99 || s.Tally.Ends[dag.Parked] != 1 || w.tries("work")["i0007"] != 2 {
		t.Fatalf("%+v", s)
	}
	rand.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	w.write("items.jsonl", strings.Join(items, "\n")+"\n")
	w.forget()
	w.direct(play(true))
	s = w.run()
	if diff := cmp.Diff(map[string]int{"i0004": 1}, w.tries("work")); diff != "" || s.Tally.Ends[dag.Accepted] != 100 {
		t.Errorf("visits (-want +got):\n%s%+v", diff, s)
	}
}

// A failure is never there to be answered with as a success: one of content ends
// its item in the same way again, one of infrastructure is visited anew, and
// whichever stage it was, no record comes of it.
func TestR28NoFailureIsReusedAsSuccess(t *testing.T) {
	content := []string{"E_OUTPUT", "E_OUTCOME", "E_REFUSED", "E_TRUNCATED", "E_MALFORMED", "E_EXEC", "E_DOCUMENT_SIZE"}
	world := []string{"E_TIMEOUT", "E_UNAVAILABLE", "E_RATE_LIMITED", "E_OVERLOADED", "E_PLUGIN"}
	items := numbered(len(content)+len(world), "")
	for _, at := range []string{"one", "two"} {
		w := newWorkspace(t, chain("one", "two"), items, nil)
		w.direct(func(c *call) answer {
			if c.Stage != at {
				return answer{}
			}
			i := slices.IndexFunc(items, func(item string) bool { return strings.Contains(item, c.Key) })
			if i < len(content) {
				return answer{Code: content[i], Message: "by its content"}
			}
			return answer{Infra: true, Code: world[i-len(content)], Message: "by the world"}
		})
		keepGoing := func(o *Options) { o.KeepGoing = true }
		first := w.run(keepGoing)
		want := map[dag.End]int{dag.Failed: len(content), dag.Parked: len(world)}
		if diff := cmp.Diff(want, first.Tally.Ends); diff != "" || first.Kind != dag.KindInfrastructure {
			t.Fatalf("%s: ends (-want +got):\n%s%+v", at, diff, first)
		}
		w.forget()
		second := w.run(keepGoing)
		if diff := cmp.Diff(want, second.Tally.Ends); diff != "" || second.Kind != dag.KindInfrastructure {
			t.Errorf("%s, again: ends (-want +got):\n%s", at, diff)
		}
		for key := range w.tries(at) {
			if i := slices.IndexFunc(items, func(item string) bool { return strings.Contains(item, key) }); i < len(content) {
				t.Errorf("%s: %s is visited again, although %s is an answer", at, key, content[i])
			}
		}
		if rows := w.rows("data/cards.jsonl"); len(rows) != 0 {
			t.Errorf("%s: %d records", at, len(rows))
		}
		w.direct(keep)
		if last := w.run(); last.Tally.Ends[dag.Accepted] != len(world) || last.Tally.Ends[dag.Failed] != len(content) {
			t.Errorf("%s, in a better world: %+v", at, last.Tally)
		}
	}
}

// An attempt that fails stops nothing; the last of a visit's attempts does. In
// either order.
func TestR48OnlyTheLastAttemptStopsTheIntake(t *testing.T) {
	const all = 1500 // more than is taken in at a time
	for name, lasting := range map[string]bool{"passes": false, "lasts": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, retrying(chain("work"), "work", 3, ""), numbered(all, ""), nil)
			w.direct(func(c *call) answer {
				if c.Key == "i0000" && (lasting || w.tries("work")[c.Key] < 3) {
					return answer{Infra: true, Code: "E_UNAVAILABLE", Message: "no"}
				}
				return answer{}
			})
			s := w.run(jobs(4))
			if n := w.tries("work")["i0000"]; n != 3 {
				t.Errorf("it was tried %d times", n)
			}
			if stopped := s.Tally.TakenIn < all; lasting && s.Kind != dag.KindInfrastructure || !lasting && (stopped || s.Kind != 0) {
				t.Errorf("%+v", s.Tally)
			}
		})
	}
}

// A fan-out none of whose children has begun is not done: the next run makes them.
func TestR42ChildrenThatNeverBeganAreMadeByTheNextRun(t *testing.T) {
	w := newWorkspace(t, strings.Replace(cards, "$GATE", "", 1), topics(4, 2, 2), nil)
	interrupt := make(chan struct{})
	once := false
	w.direct(func(c *call) answer {
		if c.Stage == "miner" {
			w.mu.Lock()
			if !once {
				once = true
				close(interrupt)
			}
			w.mu.Unlock()
		}
		return playCards(c)
	})
	first := w.run(func(o *Options) { o.Interrupt = interrupt; o.Jobs = 1 })
	if first.Kind != dag.KindInterrupted || first.Tally.Ends[dag.Parked] == 0 {
		t.Fatalf("%+v", first)
	}
	w.direct(playCards)
	last := w.run()
	undisturbed := newWorkspace(t, strings.Replace(cards, "$GATE", "", 1), topics(4, 2, 2), playCards)
	undisturbed.run()
	if diff := cmp.Diff(undisturbed.ends(), w.ends()); diff != "" {
		t.Errorf("ends (-undisturbed +resumed):\n%s%+v", diff, last)
	}
}

// What is kept of a visit beyond its documents is small, however large its
// configuration and its documents are.
func TestR13WhatIsKeptOfAVisitIsSmall(t *testing.T) {
	const n, most = 200, 1024
	w := newWorkspace(t, chain("one", "two"), numbered(n, fmt.Sprintf(`,"long":%q`, strings.Repeat("x", 20_000))), keep)
	w.edit(`note = "one"`, fmt.Sprintf("note = %q", strings.Repeat("a long prompt. ", 20_000)))
	w.run()
	logs, err := filepath.Glob(filepath.Join(w.dir, "staging", "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	size := int64(0)
	for _, name := range logs {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if each := size / (2 * n); each > most {
		t.Errorf("%d bytes are kept of each visit, want at most %d", each, most)
	}
}

// Killed before and after each of its visits, a run is resumed to what an
// undisturbed one comes to.
func TestR41KilledAtEachVisit(t *testing.T) {
	pipeline, items := strings.Replace(cards, "$GATE", "hold = stage.miner", 1), topics(8, 2, 3)
	want := refer(t, pipeline, items, 2)
	kills := 0
	for _, answered := range []bool{false, true} {
		w := newWorkspace(t, pipeline, items, playCards)
		known := map[visitID]bool{}
		for at := 1; at <= 6; at++ {
			w.forget()
			p := w.start(flags{Jobs: 1})
			w.wait(func() bool {
				select {
				case <-p.done:
					return true
				default:
					return !answered && w.count("") >= at || answered && w.done >= at
				}
			})
			p.kill()
			kills++
			if again := w.repeated(known, w.all()); again > 0 {
				t.Fatalf("kill %d: %d visits were made anew although their results were kept", at, again)
			}
			w.kept(known, w.all())
		}
		if end := w.start(flags{}).result(); end.Exit != 0 {
			t.Fatalf("the last run: %+v", end)
		}
		w.sound()
		w.same(want, 2)
	}
	if kills != 12 {
		t.Errorf("%d kills", kills)
	}
}
