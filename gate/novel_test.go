package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/text"
)

// shaped is an expression that tells its form.
type shaped struct {
	*fn
	shape dag.Shape
}

func (s shaped) Shape() dag.Shape { return s.shape }

// plainPath is get, and says that it is a path.
func plainPath(p string) dag.Expr {
	name, rest, _ := strings.Cut(p, ".")
	shape := dag.Shape{Name: dag.Name{Root: name}}
	if rest != "" {
		shape.Steps = strings.Split(rest, ".")
	}
	return shaped{get(p).(*fn), shape}
}

// nearQuestion is the check that no accepted card of the category has nearly the same question.
func nearQuestion(within string, most any) *dag.Check {
	c := &dag.Check{Kind: "novel", Code: "R_DUP_NEAR", Triage: dag.Reject, Args: map[string]dag.Expr{"text": plainPath("card.q"), "max_similarity": val(most)}}
	if within != "" {
		c.Args["within"] = plainPath(within)
	}
	return c
}

// sameQuestion is the check that no accepted card has the same question in normal form.
func sameQuestion() *dag.Check {
	return &dag.Check{Kind: "unique", Code: "R_DUP_EXACT", Triage: dag.Reject, Args: map[string]dag.Expr{
		"keys": calc("[fingerprint(card.q)]", func(s dag.Scope) (any, error) {
			q, err := get("card.q").Text(s)
			return []string{text.Fingerprint(q)}, err
		}),
	}}
}

func novelGate(checks ...*dag.Check) *dag.Gate {
	if checks == nil {
		checks = []*dag.Check{sameQuestion(), nearQuestion("card.cat", 0.85)}
	}
	g := plain(checks...)
	g.Breaker = nil
	g.Corpus.Record = plainPath("card")
	return g
}

// cardIn is a candidate with a question in a category.
func cardIn(key, cat, q string) *Candidate {
	return cardCandidate(key, cat+"/easy", fmt.Sprintf(`{"cat": %q, "key": %q, "q": %q}`, cat, key, q))
}

// numbered are n words, from the word number from on.
func numbered(from, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("w%d", from+i)
	}
	return strings.Join(out, " ")
}

const sultan = "Which sultan took Constantinople in 1453?"

func TestNovel(t *testing.T) {
	type card struct{ cat, q string }
	for _, tt := range []struct {
		name     string
		accepted card
		later    card
		codes    string // empty: accepted
		evidence string
	}{
		{"the same in other case, quotes and spacing, in another category", card{"history", sultan}, card{"music", "which  SULTAN took “Constantinople”, in 1453"}, "R_DUP_EXACT",
			"the accepted record %s has this key"},
		{"an apostrophe more", card{"history", "Who is O'Brien?"}, card{"history", "Who is OBrien?"}, "R_DUP_EXACT", "the accepted record %s has this key"},
		{"other order of words in the same category", card{"history", sultan}, card{"history", "In 1453 which sultan took Constantinople?"}, "R_DUP_NEAR",
			"6 of 6 words are those of the accepted record %s"},
		{"other order of words in another category", card{"history", sultan}, card{"music", "In 1453 which sultan took Constantinople?"}, "", ""},
		{"17 of 20 words", card{"history", numbered(1, 20)}, card{"history", numbered(1, 17)}, "R_DUP_NEAR", "17 of 20 words are those of the accepted record %s"},
		{"17 of 20 words, the longer one later", card{"history", numbered(1, 17)}, card{"history", numbered(1, 20)}, "R_DUP_NEAR", "17 of 20 words are those of the accepted record %s"},
		{"17 of 21 words", card{"history", numbered(1, 21)}, card{"history", numbered(1, 17)}, "", ""},
		{"17 of 20 words in another category", card{"history", numbered(1, 20)}, card{"music", numbered(1, 17)}, "", ""},
		{"a word more often counts once", card{"history", numbered(1, 20)}, card{"history", numbered(1, 17) + " w1 w1 w2"}, "R_DUP_NEAR", "17 of 20 words are those of the accepted record %s"},
		{"no words at all", card{"history", "?"}, card{"history", "!"}, "R_DUP_EXACT", "the accepted record %s has this key"},
		{"no words beside some", card{"history", "Who?"}, card{"history", "…"}, "", ""},
		{"Japanese in pairs of runes", card{"history", "日本の首都は東京です"}, card{"history", "日本の首都は東京です か"}, "R_DUP_NEAR", "9 of 10 words are those of the accepted record %s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := mustOpen(t, options(t, t.TempDir(), novelGate()))
			first := judge(t, g, cardIn("1", tt.accepted.cat, tt.accepted.q))[0]
			if first.End != dag.Accepted {
				t.Fatalf("%+v", first)
			}
			v := judge(t, g, cardIn("2", tt.later.cat, tt.later.q))[0]
			if codes(v) != tt.codes || (v.End == dag.Accepted) != (tt.codes == "") {
				t.Fatalf("%s %s: %s, want %q", v.End, codes(v), v.Message, tt.codes)
			}
			if tt.codes != "" && v.Message != fmt.Sprintf(tt.evidence, first.Record) {
				t.Errorf("it says %q", v.Message)
			}
		})
	}
}

// TestNovelIsNotBesideUnique: what has the same key is told of once.
func TestNovelIsNotBesideUnique(t *testing.T) {
	g := mustOpen(t, options(t, t.TempDir(), novelGate()))
	judge(t, g, cardIn("1", "history", sultan))
	v := judge(t, g, cardIn("2", "history", strings.ToUpper(sultan)))[0]
	want := []Detail{{Code: "R_DUP_EXACT", At: "keys[0]", Why: v.Message}}
	if diff := cmp.Diff(want, v.Details); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNovelSaysWhatItFound(t *testing.T) {
	spec := novelGate(nearQuestion("card.cat", 0.8))
	g := mustOpen(t, options(t, t.TempDir(), spec))
	far := judge(t, g, cardIn("1", "history", numbered(3, 20)))[0]
	near := judge(t, g, cardIn("2", "history", numbered(30, 3)+" "+numbered(3, 16)))[0]
	if near.End != dag.Accepted {
		t.Fatalf("%+v", near)
	}
	v := judge(t, g, cardIn("3", "history", numbered(4, 19)+" w30"))[0]
	why := "19 of 21 words are those of the accepted record " + far.Record
	figure := 19.0 / 21
	want := []CheckResult{{
		Name: "novel", Kind: "novel", Code: "R_DUP_NEAR", State: "failed", Figure: &figure, Evidence: why,
		Details: []Detail{{Code: "R_DUP_NEAR", At: "text", Why: why}},
	}}
	if diff := cmp.Diff(want, v.Checks); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestNovelInOneBatch: those that are committed together are compared with each other.
func TestNovelInOneBatch(t *testing.T) {
	for _, dry := range []bool{false, true} {
		o := options(t, t.TempDir(), novelGate())
		o.DryRun = dry
		g := mustOpen(t, o)
		verdicts := judge(t, g, cardIn("1", "history", numbered(1, 20)), cardIn("2", "history", numbered(1, 19)), cardIn("3", "music", numbered(1, 19)), cardIn("4", "history", numbered(9, 20)))
		var got []string
		for _, v := range verdicts {
			got = append(got, string(v.End)+" "+codes(v))
		}
		if diff := cmp.Diff([]string{"accepted ", "rejected R_DUP_NEAR", "accepted ", "accepted "}, got); diff != "" {
			t.Errorf("dry %t: (-want +got)\n%s", dry, diff)
		}
		if want := "19 of 20 words are those of the accepted record " + verdicts[0].Record; verdicts[1].Message != want {
			t.Errorf("dry %t: it says %q", dry, verdicts[1].Message)
		}
		// And with what comes later.
		if v := judge(t, g, cardIn("5", "music", numbered(2, 18)))[0]; codes(v) != "R_DUP_NEAR" {
			t.Errorf("dry %t: %+v", dry, v)
		}
	}
}

// TestNovelAcrossGates: a gate sees what another one committed a moment before.
func TestNovelAcrossGates(t *testing.T) {
	dir := t.TempDir()
	spec := novelGate()
	a, b := mustOpen(t, options(t, dir, spec)), mustOpen(t, options(t, dir, spec))
	ctx := context.Background()
	// Both are evaluated before either is committed.
	first, second := a.Evaluate(ctx, cardIn("1", "history", numbered(1, 20))), b.Evaluate(ctx, cardIn("2", "history", numbered(2, 18)))
	v, err := a.Commit(ctx, []*Evaluation{first})
	if err != nil || v[0].End != dag.Accepted {
		t.Fatal(v, err)
	}
	w, err := b.Commit(ctx, []*Evaluation{second})
	if err != nil || codes(w[0]) != "R_DUP_NEAR" || !strings.Contains(w[0].Message, v[0].Record) {
		t.Fatal(w, err)
	}
}

func TestNovelRefusesValues(t *testing.T) {
	g := mustOpen(t, options(t, t.TempDir(), novelGate(nearQuestion("card.cat", 0.85))))
	for _, card := range []string{`{"cat": "history"}`, `{"cat": "history", "q": null}`, `{"cat": "history", "q": 5}`, `{"q": "Who?"}`, `{"cat": ["history"], "q": "Who?"}`} {
		v := judge(t, g, cardCandidate(card, "history/easy", card))[0]
		if v.End != dag.Rejected || codes(v) != "R_DUP_NEAR" {
			t.Errorf("%s: %+v", card, v)
		}
	}
}

func TestSimilaritiesAsWritten(t *testing.T) {
	for _, tt := range []struct {
		text     string
		num, den uint64
	}{
		{"0.85", 17, 20}, {"0.8", 4, 5}, {"0.9", 9, 10}, {"1", 1, 1}, {"0.5", 1, 2}, {"0.123456789", 123456789, 1000000000}, {"0.3", 3, 10}, {"1.0", 1, 1},
	} {
		if num, den, err := ratioOf(tt.text); err != nil || num != tt.num || den != tt.den {
			t.Errorf("%s is %d/%d, %v", tt.text, num, den, err)
		}
	}
	for _, bad := range []string{"0", "0.0", "1.1", "2", "-0.5", "1e-7", "0.1234567891", "", "null", `"0.85"`, ".5", "17/20", "NaN"} {
		if num, den, err := ratioOf(bad); err == nil {
			t.Errorf("%q is %d/%d", bad, num, den)
		}
	}
	_, err := Open(context.Background(), options(t, t.TempDir(), novelGate(nearQuestion("card.cat", 1.5))))
	const want = `open the gate: check "novel": max_similarity is 1.5; write a number above 0 and at most 1, such as 0.85`
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestOlderRecords: records that were accepted before the check was there are compared with.
func TestOlderRecords(t *testing.T) {
	older := func(t *testing.T, checks ...*dag.Check) (dir, id string) {
		dir = t.TempDir()
		g := mustOpen(t, options(t, dir, novelGate(append([]*dag.Check{sameQuestion()}, checks...)...)))
		v := judge(t, g, cardIn("1", "history", numbered(1, 20)), cardIn("2", "music", numbered(30, 20)))
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		return dir, v[0].Record
	}
	record := shaped{object(map[string]dag.Expr{"question": get("card.q"), "in": object(map[string]dag.Expr{"cat": get("card.cat")})}).(*fn), dag.Shape{Members: []dag.MemberShape{
		{Name: "question", Shape: dag.Shape{Name: dag.Name{Root: "card"}, Steps: []string{"q"}}},
		{Name: "in", Shape: dag.Shape{Members: []dag.MemberShape{{Name: "cat", Shape: dag.Shape{Name: dag.Name{Root: "card"}, Steps: []string{"cat"}}}}}},
	}}}

	t.Run("a check is added", func(t *testing.T) {
		dir, id := older(t)
		for range 2 { // the second time there are rows of both kinds
			g := mustOpen(t, options(t, dir, novelGate()))
			v := judge(t, g, cardIn("3", "history", numbered(1, 18)), cardIn("4", "music", numbered(1, 18)))
			if codes(v[0]) != "R_DUP_NEAR" || !strings.Contains(v[0].Message, id) || v[1].End != dag.Accepted {
				t.Fatalf("%+v", v)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("it compares within something else", func(t *testing.T) {
		dir, id := older(t, nearQuestion("card.cat", 0.85))
		g := mustOpen(t, options(t, dir, novelGate(nearQuestion("", 0.85))))
		v := judge(t, g, cardIn("3", "art", numbered(1, 18)))[0]
		if codes(v) != "R_DUP_NEAR" || !strings.Contains(v.Message, id) {
			t.Fatalf("%+v", v)
		}
	})
	t.Run("the record is put together", func(t *testing.T) {
		dir := t.TempDir()
		spec := novelGate(sameQuestion())
		spec.Corpus.Record = record
		g := mustOpen(t, options(t, dir, spec))
		judge(t, g, cardIn("1", "history", numbered(1, 20)))
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		spec = novelGate()
		spec.Corpus.Record = record
		g = mustOpen(t, options(t, dir, spec))
		if v := judge(t, g, cardIn("3", "history", numbered(1, 18)), cardIn("4", "music", numbered(1, 18))); codes(v[0]) != "R_DUP_NEAR" || v[1].End != dag.Accepted {
			t.Fatalf("%+v", v)
		}
	})
	for _, tt := range []struct {
		name string
		text dag.Expr
		want string
	}{
		{"the text is computed", calc("lower(card.q)", func(s dag.Scope) (any, error) { return get("card.q").Text(s) }),
			`use the corpus: it has records that were accepted before the check "novel" on lower(card.q) within card.cat stood in the gate, and corpus.record does not tell what they have there`},
		{"the text is not in the record", plainPath("topic.title"),
			`use the corpus: it has records that were accepted before the check "novel" on topic.title within card.cat stood in the gate, and corpus.record does not tell what they have there`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, _ := older(t)
			check := nearQuestion("card.cat", 0.85)
			check.Args["text"] = tt.text
			_, err := Open(context.Background(), options(t, dir, novelGate(check)))
			var known *dag.Error
			if err == nil || err.Error() != tt.want || !errors.As(err, &known) || known.Kind != dag.KindConfig || known.Hint == "" {
				t.Errorf("%v", err)
			}
			// Where there is nothing yet, nothing is missing.
			mustOpen(t, options(t, t.TempDir(), novelGate(check)))
		})
	}
	t.Run("a record is gone", func(t *testing.T) {
		dir, _ := older(t)
		if err := os.Remove(inDir(dir, statePath)); err != nil { // it would tell of the edit before
			t.Fatal(err)
		}
		edit(t, dir, "data/history/easy.jsonl", func(string) string { return "" })
		g := mustOpen(t, options(t, dir, novelGate()))
		for range 2 {
			e := g.Evaluate(context.Background(), cardIn("3", "history", numbered(1, 18)))
			const want = "use the corpus: data/history/easy.jsonl was changed by something other than the gate: 1 records of which there is evidence are not in it as they were accepted"
			if e.Err() == nil || e.Err().Error() != want {
				t.Fatal(e.Err())
			}
		}
	})
}

// TestNovelWhereItDoesNotApply: a record that the check did not apply to is one that
// others are compared with.
func TestNovelWhereItDoesNotApply(t *testing.T) {
	check := nearQuestion("card.cat", 0.85)
	check.If = calc("applies", func(s dag.Scope) (any, error) {
		key, err := get("card.key").Text(s)
		return key != "free" && key != "empty", err
	})
	spec := novelGate(check)
	dir := t.TempDir()
	for range 2 {
		g := mustOpen(t, options(t, dir, spec))
		v := judge(t, g, cardIn("free", "history", numbered(1, 20)), cardCandidate("empty", "history/easy", `{"key": "empty", "n": 1}`))
		if v[0].End != dag.Accepted || v[1].End != dag.Accepted {
			t.Fatalf("%+v", v)
		}
		if v := judge(t, g, cardIn("3", "history", numbered(1, 19)))[0]; codes(v) != "R_DUP_NEAR" {
			t.Fatalf("%+v", v)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := `[{"of":"` + subjectOf(check).of + `","text":null}]`
	if row := lines(t, dir, "meta/verification.jsonl")[1]; !strings.Contains(row, `"novel":`+want) {
		t.Errorf("the second row is %s", row)
	}
}

// TestNovelDryRunAfterCrash: a dry run compares with what a dead process committed,
// whether it stands in its file or only in the journal.
func TestNovelDryRunAfterCrash(t *testing.T) {
	for _, tt := range []struct {
		point, want string
		older       bool // the dead process's gate had no check "novel"
	}{
		{"committed:1", "R_DUP_NEAR", false},
		{"written:2", "R_DUP_NEAR", false},
		{"written:2", "R_DUP_NEAR", true},
		{"committed:1", "", true},
	} {
		t.Run(fmt.Sprintf("%s, older %t", tt.point, tt.older), func(t *testing.T) {
			dir := t.TempDir()
			order := "forward"
			if tt.older {
				order = "older"
			}
			cmd, out := startProcess(t, dir, tt.point, order)
			if err := cmd.Wait(); !killed(err) {
				t.Fatalf("it never came there: %v\n%s", err, out)
			}
			o := options(t, dir, novelGate())
			o.DryRun = true
			g := mustOpen(t, o)
			v, err := g.Commit(context.Background(), []*Evaluation{g.Evaluate(context.Background(), cardIn("new", "history", numbered(1, 19)))})
			if tt.want == "" {
				const why = `use the corpus: the record %s waits in the journal without the text that the check "novel" compares; run once without --dry, then it stands in its file`
				if id, _, _ := strings.Cut(strings.TrimPrefix(fmt.Sprint(err), "use the corpus: the record "), " "); err == nil || err.Error() != fmt.Sprintf(why, id) {
					t.Fatal(v, err)
				}
				return
			}
			if err != nil || codes(v[0]) != tt.want {
				t.Fatalf("%+v %v", v, err)
			}
		})
	}
}

// TestNovelTextsAreCanonical: what is written by hand is what is encoded.
func TestNovelTextsAreCanonical(t *testing.T) {
	quote, none := "say \"no\" – é\n", ""
	for _, texts := range [][]novelText{
		{{Of: "a"}},
		{{Of: "a", Text: &quote, Within: "art"}, {Of: "b"}, {Of: "c", Text: &none}},
	} {
		row, err := rowOf(texts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(row), string(appendNovel(nil, texts))+"\n"); diff != "" {
			t.Error(diff)
		}
	}
}
