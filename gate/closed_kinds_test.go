package gate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/schema"
)

// Each kind of check, broken in every way in each of its calls, over candidates
// that are wrong in every way: none of it is an accept. The tests go by the table
// of kinds, so that a kind which is not here fails them.

// sample is a check and a candidate for which it holds. The arguments that are not
// constant are members of the candidate's document.
type sample struct {
	check *dag.Check
	item  string
	facts []dag.VisitFacts
	input string // what the visits were given
}

const sampleSources = `[{"url":"https://www.nps.gov/a","quote":"It is so.","supports":["claim"]},{"url":"https://www.nasa.gov/b","quote":"It is so.","supports":["claim"]}]`

// samples has one for each kind that this version runs.
func samples(t testing.TB) map[dag.CheckKind]sample {
	t.Helper()
	compiled, err := schema.Compile("schema.json", []byte(`{"const":{"a":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	phrases := val(jsontext.Value(`{"rules":[{"name":"now","phrases":["now"]}]}`))
	input := `{"card":"seen"}`
	facts := []dag.VisitFacts{
		{Stage: "writer", Pass: 1, Plugin: "builtin/prompt", Provider: "builtin/openai", Model: "m-1"},
		{Stage: "judge", Pass: 1, Plugin: "builtin/prompt", Provider: "builtin/openai", Model: "m-2", Input: dag.Sum([]byte(input))},
	}
	writer, judge := &dag.Stage{Name: "writer"}, &dag.Stage{Name: "judge"}
	return map[dag.CheckKind]sample{
		"schema":      {check: &dag.Check{Schema: compiled}, item: `{"value":{"a":"x"}}`},
		"assert":      {check: &dag.Check{}, item: `{"condition":true}`},
		"fresh":       {check: &dag.Check{Stage: judge, Args: map[string]dag.Expr{"at": val("card")}}, item: `{"of":"seen"}`, facts: facts, input: input},
		"independent": {check: &dag.Check{Stage: judge, Of: []*dag.Stage{writer}}, item: `{}`, facts: facts},
		"distinct":    {check: &dag.Check{Args: map[string]dag.Expr{"min_distance": val(3), "count": val(3)}}, item: `{"values":["Bern","Copenhagen","Amsterdam"]}`},
		"leak":        {check: &dag.Check{}, item: `{"needle":"Mars","haystack":"Who marshalled the forces?"}`},
		"words":       {check: &dag.Check{Args: map[string]dag.Expr{"min": val(1), "max": val(20)}}, item: `{"text":"So it was."}`},
		"phrases":     {check: &dag.Check{Args: map[string]dag.Expr{"reject": phrases}}, item: `{"texts":["So it was."]}`},
		"sources":     {check: &dag.Check{Args: map[string]dag.Expr{"min": val(2), "supports": val([]string{"claim"})}}, item: `{"sources":` + sampleSources + `}`},
		"unrelated":   {check: &dag.Check{Args: map[string]dag.Expr{"min": val(2)}}, item: `{"urls":["https://www.nps.gov/a","https://www.nasa.gov/b"]}`},
		"live":        {check: &dag.Check{}, item: `{"urls":["https://www.nps.gov/a","https://www.nasa.gov/b"]}`},
		"quoted":      {check: &dag.Check{}, item: `{"sources":` + sampleSources + `}`},
		"unique":      {check: &dag.Check{}, item: `{"keys":["a","b"]}`},
		"votes":       {check: &dag.Check{Args: map[string]dag.Expr{"of": val(3), "agree": val(2), "verdict": val("keep")}}, item: `{"verdicts":["keep","drop","keep"]}`},
		"novel":       {check: &dag.Check{Args: map[string]dag.Expr{"max_similarity": val(0.85)}}, item: `{"text":"Who took the town of Izmir?","within":"history"}`},
	}
}

// gate is a gate with the sample's check, and, for a check that is asked again once
// pages were read, one that reads pages behind it.
func (s sample) gate(t testing.TB, kind dag.CheckKind) *dag.Gate {
	t.Helper()
	info, _ := dag.LookupCheck(kind)
	check := *s.check
	check.Kind, check.Code, check.Args = kind, "R", maps.Clone(check.Args)
	if check.Args == nil {
		check.Args = map[string]dag.Expr{}
	}
	for _, arg := range info.Args {
		if _, found, _ := member([]byte(s.item), arg.Name); found {
			check.Args[arg.Name] = get("card." + arg.Name)
		}
	}
	checks := []*dag.Check{&check}
	if kind == "unrelated" {
		checks = append(checks, &dag.Check{Kind: "live", Code: "R_LIVE", Args: map[string]dag.Expr{"urls": get("card.urls")}})
	}
	return plain(checks...)
}

func (s sample) candidate(item string) *Candidate {
	d := docs{"item": item, "input": s.input}
	if s.input == "" {
		delete(d, "input")
	}
	return &Candidate{Key: "1", Bucket: "art", Scope: d, Load: d.load, Facts: s.facts}
}

// allLive is a web where every page is there and says the same.
type allLive struct{}

func (allLive) Read(_ context.Context, address string, _ time.Duration) (*dag.Page, error) {
	return &dag.Page{URL: address, FinalURL: address, Status: 200, Verdict: dag.PageLive, Text: "It is so."}, nil
}
func (allLive) Source() dag.Digest { return dag.Sum([]byte("all live")) }

// outcome evaluates and commits one candidate in a dry run, which is a commit but
// for the disk, and tells whether anything of it would be in the corpus.
func outcome(t testing.TB, ctx context.Context, spec *dag.Gate, pages Pages, c *Candidate, change func(*Gate)) (v Verdict, written bool) {
	t.Helper()
	o := options(t, t.TempDir(), spec)
	o.Pages, o.DryRun = pages, true
	g := mustOpen(t, o)
	change(g)
	verdicts, err := g.Commit(ctx, []*Evaluation{g.Evaluate(ctx, c)})
	if err != nil {
		return Verdict{Err: err}, false
	}
	for _, line := range verdicts[0].Would {
		written = written || line.Path == "data/art.jsonl" || line.Path == "meta/verification.jsonl"
	}
	return verdicts[0], written
}

// 11.1: each kind that is run has a sample here, and each sample is accepted.
func TestEveryKindHasASample(t *testing.T) {
	all := samples(t)
	for _, info := range dag.CheckKinds() {
		if !info.Supported {
			continue
		}
		s, ok := all[info.Kind]
		if !ok {
			t.Errorf("the kind %q has no sample: give it one, so that it is broken here, too", info.Kind)
			continue
		}
		if v, written := outcome(t, t.Context(), s.gate(t, info.Kind), allLive{}, s.candidate(s.item), func(*Gate) {}); v.End != dag.Accepted || !written {
			t.Errorf("%s: the sample ends %q: %s %v", info.Kind, v.End, v.Message, v.Err)
		}
	}
}

// breaks is a check that goes well up to one of its calls.
type breaks struct {
	checker
	at string
	f  func(good result) (result, error)
}

func (b breaks) judge(s *scope) (result, error) {
	r, err := b.checker.judge(s)
	if b.at == "judge" && err == nil {
		return b.f(r)
	}
	return r, err
}

func (b breaks) call(at string, r result, err error) (result, error) {
	if b.at == at && err == nil {
		return b.f(r)
	}
	return r, err
}

type (
	breaksOnline struct{ breaks }
	breaksAgain  struct{ breaks }
	breaksLocked struct{ breaks }
)

func (b breaksOnline) online(ctx context.Context, prepared result, w *web) (result, error) {
	r, err := b.checker.(webChecker).online(ctx, prepared, w)
	return b.call("online", r, err)
}

func (b breaksAgain) again(given result, w *web) (result, error) {
	r, err := b.checker.(againChecker).again(given, w)
	return b.call("again", r, err)
}

func (b breaksLocked) locked(prepared result, batch *batch) (result, error) {
	r, err := b.checker.(lockedChecker).locked(prepared, batch)
	return b.call("locked", r, err)
}

// breaking wraps a checker so that it breaks at a call; nil where it has no such
// call.
func breaking(c checker, at string, f func(result) (result, error)) checker {
	b := breaks{c, at, f}
	var wrapped []checker
	calls := map[string]bool{"judge": true}
	if _, ok := c.(webChecker); ok {
		wrapped, calls["online"] = append(wrapped, breaksOnline{b}), true
	}
	if _, ok := c.(againChecker); ok {
		wrapped, calls["again"] = append(wrapped, breaksAgain{b}), true
	}
	if _, ok := c.(lockedChecker); ok {
		wrapped, calls["locked"] = append(wrapped, breaksLocked{b}), true
	}
	switch {
	case !calls[at]:
		return nil
	case len(wrapped) > 1:
		panic(fmt.Sprintf("%T is of two phases; give the tests a wrapper for both", c))
	case len(wrapped) == 1:
		return wrapped[0]
	}
	return b
}

// 11.2: a check of any kind that breaks in any of its calls accepts nothing.
func TestBrokenKindsNeverAccept(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	ways := map[string]func(good result) (result, error){
		"panics":                     func(result) (result, error) { panic("boom") },
		"panics with an error":       func(result) (result, error) { panic(errors.New("boom")) },
		"reads past a list":          func(r result) (result, error) { return r, errors.New(r.details[len(r.details)].Why) },
		"says nothing":               func(result) (result, error) { return result{}, nil },
		"could not tell":             func(r result) (result, error) { r.state = undecided; return r, nil },
		"says a word that is none":   func(r result) (result, error) { r.state = 77; return r, nil },
		"says a negative word":       func(r result) (result, error) { r.state = -1; return r, nil },
		"holds by a NaN":             func(r result) (result, error) { r.figure = &nan; return r, nil },
		"holds by infinity":          func(r result) (result, error) { r.figure = &inf; return r, nil },
		"fails":                      func(r result) (result, error) { r.state = failed; return r, nil },
		"fails without a reason":     func(result) (result, error) { return result{state: failed}, nil },
		"fails by content":           func(r result) (result, error) { return r, dag.Fail(dag.EExpr, "no such name") },
		"fails by the world":         func(r result) (result, error) { return r, errors.New("the disk is gone") },
		"calls the world a content":  func(r result) (result, error) { return r, dag.Fail(dag.EStore, "gone") },
		"is cancelled":               func(r result) (result, error) { return r, context.Canceled },
		"comes past its time":        func(r result) (result, error) { return r, context.DeadlineExceeded },
		"holds and forgets the rest": nil, // below: only where a later call needs what it prepared
	}
	for kind, s := range samples(t) {
		if info, _ := dag.LookupCheck(kind); !info.Supported {
			continue
		}
		checks, err := compileChecks(s.gate(t, kind))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{"judge", "online", "again", "locked"} {
			if breaking(checks[0].run, at, nil) == nil {
				continue // it has no such call
			}
			for way, f := range ways {
				if f == nil {
					if at != "judge" {
						continue
					}
					f = func(result) (result, error) { return result{state: held}, nil }
				}
				t.Run(fmt.Sprintf("%s/%s/%s", kind, at, way), func(t *testing.T) {
					forgetful := false
					change := func(g *Gate) {
						c := breaking(g.checks[0].run, at, f)
						_, plain := c.(breaks)
						forgetful = plain && way == "holds and forgets the rest"
						g.checks[0].run = c
					}
					v, written := outcome(t, t.Context(), s.gate(t, kind), allLive{}, s.candidate(s.item), change)
					if forgetful {
						return // nothing is asked of it later: that it holds is all that it has to say
					}
					if written || v.Err == nil && v.End == dag.Accepted {
						t.Errorf("it ends %q, written %v", v.End, written)
					}
				})
			}
		}
	}
}

// 11.3: whatever the reader of pages does, a page that was not read is not live.
func TestBrokenPagesNeverAccept(t *testing.T) {
	type reader = func(ctx context.Context, page *dag.Page) (*dag.Page, error)
	for name, read := range map[string]reader{
		"gives nothing":             func(context.Context, *dag.Page) (*dag.Page, error) { return nil, nil },
		"gives a page and an error": func(_ context.Context, p *dag.Page) (*dag.Page, error) { return p, errors.New("gone") },
		"gives an empty page":       func(context.Context, *dag.Page) (*dag.Page, error) { return &dag.Page{}, nil },
		"says no verdict":           func(_ context.Context, p *dag.Page) (*dag.Page, error) { p.Verdict = ""; return p, nil },
		"says a verdict of its own": func(_ context.Context, p *dag.Page) (*dag.Page, error) { p.Verdict = "alive"; return p, nil },
		"says LIVE":                 func(_ context.Context, p *dag.Page) (*dag.Page, error) { p.Verdict = "LIVE"; return p, nil },
		"says dead":                 func(_ context.Context, p *dag.Page) (*dag.Page, error) { p.Verdict = dag.PageDead; return p, nil },
		"says blocked":              func(_ context.Context, p *dag.Page) (*dag.Page, error) { p.Verdict = dag.PageBlocked; return p, nil },
		"fails":                     func(context.Context, *dag.Page) (*dag.Page, error) { return nil, errors.New("no network") },
		"fails by content":          func(context.Context, *dag.Page) (*dag.Page, error) { return nil, dag.Fail(dag.EExpr, "no") },
		"has no recording":          func(context.Context, *dag.Page) (*dag.Page, error) { return nil, dag.Fail(dag.EReplayMiss, "no") },
		"panics":                    func(context.Context, *dag.Page) (*dag.Page, error) { panic("boom") },
		"panics with an error":      func(context.Context, *dag.Page) (*dag.Page, error) { panic(errors.New("boom")) },
		"waits until nobody waits":  func(ctx context.Context, _ *dag.Page) (*dag.Page, error) { <-ctx.Done(); return nil, ctx.Err() },
		"comes too late with a page": func(ctx context.Context, p *dag.Page) (*dag.Page, error) {
			<-ctx.Done()
			return p, nil
		},
	} {
		for kind, s := range samples(t) {
			if info, _ := dag.LookupCheck(kind); info.Phase != dag.Network {
				continue
			}
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				pages := readerOf(func(ctx context.Context, address string) (*dag.Page, error) {
					page, _ := allLive{}.Read(ctx, address, 0)
					if address != "https://www.nasa.gov/b" { // one of two is enough to break it
						return page, nil
					}
					if strings.Contains(name, "wait") || strings.Contains(name, "late") {
						cancel()
					}
					return read(ctx, page)
				})
				v, written := outcome(t, ctx, s.gate(t, kind), pages, s.candidate(s.item), func(*Gate) {})
				if written || v.Err == nil && v.End == dag.Accepted {
					t.Errorf("it ends %q, written %v", v.End, written)
				}
			})
		}
	}
}

type readerOf func(ctx context.Context, address string) (*dag.Page, error)

func (f readerOf) Read(ctx context.Context, address string, _ time.Duration) (*dag.Page, error) {
	return f(ctx, address)
}
func (readerOf) Source() dag.Digest { return dag.Sum([]byte("reader of a test")) }

// wrong are what an argument may be in place of a value of its type.
func wrong() map[string]string {
	return map[string]string{
		"null": `null`, "false": `false`, "zero": `0`, "a number": `1.5`, "a huge number": `1e308`, "an empty text": `""`, "a blank": `"\u200b"`,
		"NaN": `"NaN"`, "true as a text": `"true"`, "a huge text": `"` + strings.Repeat("x ", 50_000) + `"`, "an empty list": `[]`, "a list of nulls": `[null,null,null]`,
		"a list of lists": `[[],[],[]]`, "a list of objects": `[{},{},{}]`, "an empty object": `{}`, "an object": `{"a":"y"}`, "a noncharacter": `"\uffff"`,
	}
}

// fitting tells whether a value is of the type of an argument. Two types have one
// value that holds in the samples, and no other does.
func fitting(kind string, v jsontext.Value, good jsontext.Value) bool {
	switch kind {
	case "text":
		return v.Kind() == '"'
	case "texts", "sources":
		return v.Kind() == '['
	}
	return string(v) == string(good) // value, bool
}

// 11.4: no check holds for an argument of another type, or for one that is missing.
// Bytes that are no JSON are no argument at all.
func TestWrongArgumentsNeverAccept(t *testing.T) {
	n := 0
	for kind, s := range samples(t) {
		info, _ := dag.LookupCheck(kind)
		if !info.Supported {
			continue
		}
		var item map[string]jsontext.Value
		if err := json.Unmarshal([]byte(s.item), &item); err != nil {
			t.Fatal(err)
		}
		spec := s.gate(t, kind)
		try := func(what, doc string) {
			n++
			c := s.candidate(s.item)
			c.Scope = replacing{c.Scope, map[string]dag.Doc{"item": dag.NewDoc([]byte(doc))}}
			if v, written := outcome(t, t.Context(), spec, allLive{}, c, func(*Gate) {}); written || v.Err == nil && v.End == dag.Accepted {
				t.Errorf("%s: accepted where %s", kind, what)
			}
		}
		for _, arg := range info.Args {
			good, ok := item[arg.Name]
			if !ok || arg.Name == "within" { // which may be anything: it only narrows
				continue
			}
			for how, value := range wrong() {
				if v := jsontext.Value(value); !fitting(arg.Type, v, good) {
					changed := maps.Clone(item)
					changed[arg.Name] = v
					row, err := json.Marshal(changed, json.Deterministic(true))
					if err != nil {
						t.Fatal(err)
					}
					doc, err := canon.Canonical(nil, row)
					if err != nil {
						t.Fatal(err)
					}
					try(arg.Name+" is "+how, string(doc))
				}
			}
			missing := maps.Clone(item)
			delete(missing, arg.Name)
			row, _ := json.Marshal(missing, json.Deterministic(true))
			try(arg.Name+" is missing", string(row))
		}
		if len(item) == 0 {
			continue
		}
		for how, doc := range map[string]string{
			"nothing": "", "half": s.item[:len(s.item)/2], "two": s.item + s.item, "not UTF-8": strings.Replace(s.item, ":", ":\"\xff\",\"z\":", 1),
			"a key twice": strings.Replace(s.item, "{", `{"z":1,"z":2,`, 1), "a lone surrogate": strings.Replace(s.item, "{", `{"z":"\ud800",`, 1), "NaN": strings.Replace(s.item, "{", `{"z":NaN,`, 1),
			"1e400": strings.Replace(s.item, "{", `{"z":1e400,`, 1), "deep": strings.Replace(s.item, "{", `{"z":`+strings.Repeat("[", 1001)+strings.Repeat("]", 1001)+`,`, 1), "a list": "[" + s.item + "]",
		} {
			try("the candidate is "+how, doc)
		}
	}
	if n < 300 {
		t.Errorf("only %d candidates were tried", n)
	}
}

// 11.5: an admission needs the result of every check that is declared, in its place,
// and each held or did not apply.
func TestAdmissionNeedsEveryResult(t *testing.T) {
	g := mustOpen(t, options(t, t.TempDir(), triviaGate(t)))
	e := g.Evaluate(t.Context(), goodCard().candidate(t))
	whole := func() *judgement {
		j := e.j.fork()
		asked(j)
		return j
	}
	if _, err := whole().admit(); err != nil {
		t.Fatal(err)
	}
	refuses := func(what string, change func(*judgement)) {
		t.Helper()
		j := whole()
		change(j)
		if _, err := j.admit(); err == nil {
			t.Errorf("admitted although %s", what)
		}
	}
	for i, check := range g.checks {
		refuses(check.name+" is left out", func(j *judgement) { j.states = slices.Delete(j.states, i, i+1) })
		refuses(check.name+" is there twice", func(j *judgement) { j.states = slices.Insert(j.states, i, j.states[i]) })
		refuses(check.name+" stands for another", func(j *judgement) { j.states[i].check = g.checks[(i+1)%len(g.checks)] })
		for _, s := range []state{undecided, failed, 77, -1} {
			refuses(fmt.Sprintf("%s is %d", check.name, s), func(j *judgement) { j.states[i].result.state = s })
		}
		if check.phase == dag.Locked {
			refuses(check.name+" was not asked under the locks", func(j *judgement) { j.states[i].asked = false })
		}
	}
	refuses("no check was run", func(j *judgement) { j.states = nil })
	refuses("there is no record", func(j *judgement) { j.record = nil })
	refuses("the record has no id", func(j *judgement) { j.record.id = "" })
	refuses("the record is empty", func(j *judgement) { j.record.line = nil })
	refuses("the candidate could not be made", func(j *judgement) { j.refused = dag.Fail(dag.EExpr, "no") })
	refuses("the item was stopped", func(j *judgement) { c := *j.c; c.Stop = &Stop{}; j.c = &c })
	refuses("the item is only recorded", func(j *judgement) { c := *j.c; c.As = dag.Review; j.c = &c })
	for _, word := range []dag.Triage{dag.Review, dag.Quarantine, dag.Skip, dag.Reject, "", "approve", "ACCEPT", "accept "} {
		refuses(fmt.Sprintf("a finding says %q", word), func(j *judgement) { j.findings = append(j.findings, dag.Finding{Code: "R", Triage: word}) })
	}
}

// asked marks the locked checks as asked, as a commit does.
func asked(j *judgement) {
	for i := range j.states {
		j.states[i].asked = j.states[i].check.phase == dag.Locked
	}
}

// 11.6: a finding whose triage is no word of the language is as bad as can be.
func TestUnknownTriageNeverAccepts(t *testing.T) {
	for _, word := range []dag.Triage{"", "approve", "ACCEPT", "accept ", "null"} {
		c := cardCandidate("1", "art", `{"q":"One?"}`)
		c.Findings = []dag.Finding{{Code: "R", Triage: word, Stage: "judge"}}
		if v, written := outcome(t, t.Context(), plain(uniqueQuestion()), nil, c, func(*Gate) {}); written || v.End != dag.Rejected {
			t.Errorf("a finding that says %q: %q, written %v, %v", word, v.End, written, v.Err)
		}
	}
}

// 11.7: a check that the gate loses on the way, or gets out of its turn, ends in an
// error, not in an accept.
func TestLostChecksNeverAccept(t *testing.T) {
	for i := range triviaGate(t).Checks {
		dir := t.TempDir()
		g := mustOpen(t, options(t, dir, triviaGate(t)))
		e := g.Evaluate(t.Context(), goodCard().candidate(t))
		if e.Err() != nil || len(e.j.states) != len(g.checks) {
			t.Fatalf("%v, %d states", e.Err(), len(e.j.states))
		}
		e.j.states = slices.Delete(e.j.states, i, i+1)
		e.j.results = slices.Delete(e.j.results, i, i+1)
		v, err := g.Commit(t.Context(), []*Evaluation{e})
		if err != nil {
			t.Fatal(err)
		}
		if dag.KindOf(v[0].Err) != dag.KindBug || len(lines(t, dir, "data/history/easy.jsonl")) != 0 {
			t.Errorf("without %s: %q, %v", g.checks[i].name, v[0].End, v[0].Err)
		}
	}
}
