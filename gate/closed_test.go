package gate

import (
	"context"
	"errors"
	"math"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
)

// broken is a check that does what no check may.
type broken struct{ f func() (result, error) }

func (b broken) judge(*scope) (result, error)          { return b.f() }
func (b broken) locked(result, *batch) (result, error) { return b.f() }

// Every check of a gate, replaced by one that breaks, never accepts: neither the
// result nor what is written.
func TestBrokenChecksNeverAccept(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name string
		f    func() (result, error)
	}{
		{"panics", func() (result, error) { panic("boom") }},
		{"panics with an error", func() (result, error) { panic(errors.New("boom")) }},
		{"says nothing", func() (result, error) { return result{}, nil }},
		{"says a word that is none", func() (result, error) { return result{state: 77}, nil }},
		{"says a negative word", func() (result, error) { return result{state: -1}, nil }},
		{"holds with a figure that is none", func() (result, error) { return result{state: held, figure: &nan}, nil }},
		{"fails without a reason", func() (result, error) { return result{state: failed}, nil }},
		{"fails by content", func() (result, error) { return result{state: held}, dag.Fail(dag.EExpr, "no such name") }},
		{"fails by the world", func() (result, error) { return result{state: held}, errors.New("the disk is gone") }},
		{"is cancelled", func() (result, error) { return result{state: held}, context.Canceled }},
		{"fails by the world in a failure", func() (result, error) { return result{state: held}, dag.Fail(dag.EStore, "gone") }},
	} {
		for i, check := range triviaGate(t).Checks {
			name := check.Name
			if name == "" {
				name = string(check.Kind)
			}
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				g := mustOpen(t, options(t, dir, triviaGate(t)))
				g.checks[i].run = broken{tt.f}
				v := judge(t, g, goodCard().candidate(t))[0]
				if v.Err == nil && v.End != dag.Rejected && v.End != dag.Reviewed {
					t.Errorf("%+v", v)
				}
				if n := len(lines(t, dir, "data/history/easy.jsonl")) + len(lines(t, dir, "meta/verification.jsonl")); n != 0 {
					t.Errorf("%d lines were written", n)
				}
				if v.Err != nil {
					if n := len(lines(t, dir, "meta/rejections.jsonl")) + len(lines(t, dir, breakersPath)); n != 0 {
						t.Errorf("an error was counted: %d lines", n)
					}
				}
			})
		}
	}
}

// The locked phase may break as well, after a check prepared well.
func TestBrokenLockedPhase(t *testing.T) {
	for name, f := range map[string]func() (result, error){
		"panics":       func() (result, error) { panic("boom") },
		"says nothing": func() (result, error) { return result{}, nil },
		"errs":         func() (result, error) { return result{state: held}, errors.New("gone") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			g := mustOpen(t, options(t, dir, plain(uniqueQuestion())))
			e := g.Evaluate(context.Background(), cardCandidate("1", "art", `{"q":"One?"}`))
			g.checks[0].run, e.j.states[0].check.run = broken{f}, broken{f}
			v, err := g.Commit(context.Background(), []*Evaluation{e})
			if err != nil {
				t.Fatal(err)
			}
			if v[0].End == dag.Accepted || len(lines(t, dir, "data/art.jsonl")) != 0 {
				t.Errorf("%+v", v[0])
			}
		})
	}
}

func TestUndecided(t *testing.T) {
	for _, tt := range []struct{ undecided, want string }{{"", "review"}, {"review", "review"}, {"parked", ""}} {
		spec := plain(uniqueQuestion())
		spec.Undecided = tt.undecided
		g := mustOpen(t, options(t, t.TempDir(), spec))
		g.checks[0].run = broken{func() (result, error) { return result{evidence: "no answer"}, nil }}
		v := judge(t, g, cardCandidate("1", "art", `{"q":"One?"}`))[0]
		if string(v.End) != tt.want || (v.Err == nil) != (tt.want != "") {
			t.Errorf("undecided = %q: %s, %v", tt.undecided, v.End, v.Err)
		}
		if tt.want != "" && v.Findings[0].Evidence != "undecided: no answer" {
			t.Errorf("%+v", v.Findings)
		}
	}
}

func TestZeroAdmission(t *testing.T) {
	g := mustOpen(t, options(t, t.TempDir(), plain()))
	b := g.newBatch()
	if v, err := b.accept(key{}, Admission{}); dag.KindOf(err) != dag.KindBug || len(b.writes) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// Whatever the documents are, an accept means that the rules hold.
func TestNoAcceptOnGarbage(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir, triviaGate(t))
	o.DryRun = true
	g := mustOpen(t, o)
	garbage := []string{"null", "{}", "[]", `""`, "0", "true", `{"q":null}`, "", "{", "\xff", `{"a":1,"a":2}`, "NaN"}
	names := []string{"item", "artifact.verifier", "artifact.topic_miner", "origin"}
	rapid.Check(t, func(rt *rapid.T) {
		c := goodCard().candidate(t)
		replaced := map[string]dag.Doc{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 4, rapid.ID[string]).Draw(rt, "names") {
			replaced[name] = dag.NewDoc([]byte(rapid.SampledFrom(garbage).Draw(rt, name)))
		}
		c.Scope = replacing{c.Scope, replaced}
		v := judge(t, g, c)[0]
		if v.Err == nil && v.End == dag.Accepted {
			rt.Fatalf("accepted with %v", replaced)
		}
	})
}

type replacing struct {
	dag.Scope
	docs map[string]dag.Doc
}

func (r replacing) Lookup(name dag.Name) (dag.Doc, error) {
	if doc, ok := r.docs[name.String()]; ok {
		return doc, nil
	}
	return r.Scope.Lookup(name)
}

func TestOpenRefuses(t *testing.T) {
	stage := &dag.Stage{Name: "verifier"}
	for _, tt := range []struct {
		name   string
		change func(*dag.Gate)
		want   string
	}{
		{"a kind that is not run yet", func(g *dag.Gate) {
			g.Checks = []*dag.Check{{Kind: "score", Code: "R"}}
		}, `open the gate: check "score": it is not supported yet`},
		{"an unknown kind", func(g *dag.Gate) { g.Checks = []*dag.Check{{Kind: "nice", Code: "R"}} }, `open the gate: check "nice": there is no such kind`},
		{"a check without a code", func(g *dag.Gate) { g.Checks[0].Code = "" }, `open the gate: check "unique": it has no code`},
		{"a check that accepts", func(g *dag.Gate) { g.Checks[0].Triage = dag.Accept }, `open the gate: check "unique": its triage is "accept"; a check that fails cannot accept`},
		{"an unknown triage", func(g *dag.Gate) { g.Checks[0].Triage = "maybe" }, `open the gate: check "unique": its triage is "maybe"; a check that fails cannot accept`},
		{"a missing argument", func(g *dag.Gate) { g.Checks[0].Args = nil }, `open the gate: check "unique": it has no keys`},
		{"mixed phases", func(g *dag.Gate) {
			g.Checks = append(g.Checks, &dag.Check{Kind: "leak", Code: "R", Args: map[string]dag.Expr{"needle": val("a"), "haystack": val("b")}})
		}, `open the gate: check "leak" stands after a check of a later phase; the order is static, network, locked`},
		{"a distance of nothing", func(g *dag.Gate) {
			g.Checks = []*dag.Check{{Kind: "distinct", Code: "R", Args: map[string]dag.Expr{"values": val(nil), "min_distance": val(0)}}}
		}, `open the gate: check "distinct": min_distance is 0; it must be a whole number of at least 1`},
		{"a reading that is none", func(g *dag.Gate) {
			g.Checks = []*dag.Check{{Kind: "distinct", Code: "R", Args: map[string]dag.Expr{"values": val(nil), "min_distance": val(3), "numbers": val("loosely")}}}
		}, `open the gate: check "distinct": numbers is "loosely"; it may be "by_value" or "literal", which it is where it is left out`},
		{"a minimum above the maximum", func(g *dag.Gate) {
			g.Checks = []*dag.Check{{Kind: "words", Code: "R", Args: map[string]dag.Expr{"text": val(""), "min": val(5), "max": val(3)}}}
		}, `open the gate: check "words": max is 3 and min is 5: no text fits`},
		{"a count that depends on the item", func(g *dag.Gate) {
			g.Checks = []*dag.Check{{Kind: "words", Code: "R", Args: map[string]dag.Expr{"text": val(""), "max": get("card.n")}}}
		}, `open the gate: check "words": max: card is read; this argument must be known before the run`},
		{"a path that is none", func(g *dag.Gate) {
			g.Checks = []*dag.Check{{Kind: "fresh", Code: "R", Stage: stage, Args: map[string]dag.Expr{"of": val(""), "at": val("a..b")}}}
		}, `open the gate: check "fresh": at: "a..b" is not a plain path such as card or report.sources[0]`},
		{"another corpus", func(g *dag.Gate) { g.Corpus.Kind = "postgres" }, `open the gate: a corpus of the kind "postgres" is not supported yet; use "jsonl"`},
		{"a path outside", func(g *dag.Gate) { g.Corpus.Evidence = "../evidence.jsonl" }, `open the gate: evidence: the path "../evidence.jsonl" must be relative, without . and .. in it`},
		{"one file for two things", func(g *dag.Gate) { g.Rejections = g.Corpus.Evidence }, `open the gate: rejections and evidence are the same file, meta/verification.jsonl`},
		{"a breaker that counts accepts", func(g *dag.Gate) { g.Breaker.Counts = []dag.End{dag.Accepted} }, `open the gate: breaker: counts holds "accepted"; it may hold "rejected" and "failed"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := plain(uniqueQuestion())
			tt.change(spec)
			g, err := Open(context.Background(), options(t, t.TempDir(), spec))
			if err == nil {
				_ = g.Close()
			}
			if err == nil || err.Error() != tt.want || dag.KindOf(err) != dag.KindConfig {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// A candidate that cannot be made is a failure of the item; a document that is
// gone is not.
func TestContentAndWorld(t *testing.T) {
	failing := func(err error) dag.Expr { return calc("failing", func(dag.Scope) (any, error) { return nil, err }) }
	content, world := dag.Fail(dag.EExpr, "item has no attribute q"), errors.New("document is gone")
	for _, tt := range []struct {
		name   string
		change func(*dag.Gate)
		bucket string
		codes  string // empty: an error
	}{
		{"a member by content", func(g *dag.Gate) { g.Candidate[0].Expr = failing(content) }, "art", "E_EXPR"},
		{"a member by the world", func(g *dag.Gate) { g.Candidate[0].Expr = failing(world) }, "art", ""},
		{"the record by content", func(g *dag.Gate) { g.Corpus.Record = failing(content) }, "art", "E_EXPR"},
		{"the record by the world", func(g *dag.Gate) { g.Corpus.Record = failing(world) }, "art", ""},
		{"the record is a list", func(g *dag.Gate) { g.Corpus.Record = val([]int{1}) }, "art", "E_EXPR"},
		{"the record is null", func(g *dag.Gate) { g.Corpus.Record = val(nil) }, "art", "E_EXPR"},
		{"the record has another id", func(g *dag.Gate) {
			g.Corpus.Record, g.Corpus.ID = val(map[string]string{"id": "x"}), val("y")
		}, "art", "E_EXPR"},
		{"an empty id", func(g *dag.Gate) { g.Corpus.ID = val("") }, "art", "E_EXPR"},
		{"the evidence by content", func(g *dag.Gate) { g.Corpus.EvidenceRecord = failing(content) }, "art", "E_EXPR"},
		{"the evidence has a member of the gate's", func(g *dag.Gate) { g.Corpus.EvidenceRecord = val(map[string]string{"digest": "x"}) }, "art", "E_EXPR"},
		{"the data path climbs", func(g *dag.Gate) { g.Corpus.Data = val("../x.jsonl") }, "art", "E_BUCKET"},
		{"the data path is the evidence", func(g *dag.Gate) { g.Corpus.Data = val("meta/verification.jsonl") }, "art", "E_BUCKET"},
		{"the bucket climbs", func(*dag.Gate) {}, "../art", "E_BUCKET"},
		{"the bucket is in capitals", func(*dag.Gate) {}, "Art", "E_BUCKET"},
		{"if by content", func(g *dag.Gate) { g.Checks[0].If = failing(content) }, "art", "R_DUP_EXACT"},
		{"if is no bool", func(g *dag.Gate) { g.Checks[0].If = val("true") }, "art", "R_DUP_EXACT"},
		{"if by the world", func(g *dag.Gate) { g.Checks[0].If = failing(world) }, "art", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, spec := t.TempDir(), plain(uniqueQuestion())
			tt.change(spec)
			g := mustOpen(t, options(t, dir, spec))
			v := judge(t, g, cardCandidate("1", tt.bucket, `{"q":"One?"}`))[0]
			if tt.codes == "" {
				if dag.KindOf(v.Err) != dag.KindInfrastructure || len(lines(t, dir, "meta/rejections.jsonl")) != 0 {
					t.Errorf("%+v", v)
				}
				return
			}
			if v.Err != nil || codes(v) != tt.codes || v.End == dag.Accepted || v.Message == "" {
				t.Errorf("%s %q %q %v", v.End, codes(v), v.Message, v.Err)
			}
			if got := len(lines(t, dir, "meta/rejections.jsonl")); got != 1 {
				t.Errorf("%d rejection records", got)
			}
		})
	}
}

// fullDisk fails writes to one file.
type fullDisk struct {
	disk
	path string
	full bool
}

func (d *fullDisk) open(path string, create bool) (diskFile, error) {
	f, err := d.disk.open(path, create)
	if err != nil {
		return nil, err
	}
	return &fullFile{f, d, path}, nil
}

type fullFile struct {
	diskFile
	d    *fullDisk
	path string
}

func (f *fullFile) WriteAt(b []byte, off int64) (int, error) {
	if f.d.full && f.path == f.d.path {
		n, _ := f.diskFile.WriteAt(b[:len(b)/2], off) // half of it still fits
		return n, syscall.ENOSPC
	}
	return f.diskFile.WriteAt(b, off)
}

func TestFullDisk(t *testing.T) {
	for _, tt := range []struct {
		path      string
		committed bool // by the time that the disk is full
	}{{journalPath, false}, {"meta/verification.jsonl", true}, {"data/art.jsonl", true}} {
		t.Run(strings.ReplaceAll(tt.path, "/", "_"), func(t *testing.T) {
			dir, spec := t.TempDir(), plain(uniqueQuestion())
			g := mustOpen(t, options(t, dir, spec))
			full := &fullDisk{disk: g.store.d, path: tt.path}
			g.store.d, g.store.journal = full, &fullFile{g.store.journal, full, journalPath}
			judge(t, g, cardCandidate("1", "art", `{"q":"One?"}`))
			g.store.dropTargets()
			g.store.files = map[string]fileState{}
			full.full = true
			for range 2 {
				e := g.Evaluate(context.Background(), cardCandidate("2", "art", `{"q":"Two?"}`))
				if v, err := g.Commit(context.Background(), []*Evaluation{e}); dag.KindOf(err) != dag.KindInfrastructure {
					t.Fatalf("%+v %v", v, err)
				}
			}
			full.full = false
			v := judge(t, g, cardCandidate("2", "art", `{"q":"Two?"}`))[0]
			if v.End != dag.Accepted || v.Known != tt.committed {
				t.Errorf("once there is room: %s, known %v, %v", v.End, v.Known, v.Err)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			report, err := Audit(context.Background(), Options{Dir: dir, Gate: spec})
			if err != nil || !report.Clean() || report.Records != 2 {
				t.Errorf("%+v %v", report, err)
			}
		})
	}
}
