package gate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// fn is an expression written in Go, over the same scope as one of the language.
type fn struct {
	name string
	eval func(dag.Scope) (any, error)
	raw  func(dag.Scope) (dag.Doc, error) // instead of eval
}

func (f *fn) Doc(s dag.Scope) (dag.Doc, error) {
	if f.raw != nil {
		return f.raw(s)
	}
	v, err := f.eval(s)
	if err != nil {
		return dag.Doc{}, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return dag.Doc{}, err
	}
	b, err := canon.Canonical(nil, raw)
	return dag.NewDoc(b), err
}

func (f *fn) Bool(s dag.Scope, _ *[]dag.Seen) (bool, error) {
	doc, err := f.Doc(s)
	if err != nil {
		return false, err
	}
	switch string(doc.Bytes) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, dag.Fail(dag.EExpr, "%s is not a bool", f.name)
}

func (f *fn) Text(s dag.Scope) (string, error) {
	doc, err := f.Doc(s)
	if err != nil {
		return "", err
	}
	var text string
	if doc.IsNull() || string(doc.Bytes) == "null" || json.Unmarshal(doc.Bytes, &text) != nil {
		return "", dag.Fail(dag.EExpr, "%s is not a text", f.name)
	}
	return text, nil
}

func (f *fn) Names() []dag.Name  { return nil }
func (f *fn) Digest() dag.Digest { return dag.Sum([]byte(f.name)) }
func (f *fn) Pos() dag.Pos       { return dag.Pos{} }
func (f *fn) String() string     { return f.name }

// val is a constant.
func val(v any) dag.Expr {
	return &fn{name: fmt.Sprintf("%#v", v), eval: func(dag.Scope) (any, error) { return v, nil }}
}

// get is a plain path: "card.q", "artifact.verifier.sources". A part "*" collects
// from each element.
func get(path string) dag.Expr {
	return &fn{name: path, raw: func(s dag.Scope) (dag.Doc, error) {
		parts := strings.Split(path, ".")
		name, rest := dag.Name{Root: parts[0]}, parts[1:]
		switch name.Root {
		case "artifact", "outcome", "visit", "checks", "finding":
			name.Member, rest = parts[1], parts[2:]
		}
		doc, err := s.Lookup(name)
		if err != nil || len(rest) == 0 {
			return doc, err
		}
		b, found, err := walk(doc.Bytes, rest)
		if err != nil || !found {
			return dag.Doc{}, err
		}
		return dag.NewDoc(b), nil
	}}
}

func walk(doc []byte, parts []string) ([]byte, bool, error) {
	if len(parts) == 0 {
		return doc, true, nil
	}
	if parts[0] == "*" {
		var list []jsontext.Value
		if err := json.Unmarshal(doc, &list); err != nil {
			return nil, false, dag.Fail(dag.EExpr, "not a list")
		}
		out := []jsontext.Value{}
		for _, element := range list {
			v, found, err := walk(element, parts[1:])
			if err != nil {
				return nil, false, err
			}
			if !found {
				v = []byte("null")
			}
			out = append(out, v)
		}
		b, err := json.Marshal(out)
		return b, true, err
	}
	v, found, err := step(doc, parts[0])
	if err != nil || !found {
		return nil, false, err
	}
	return walk(v, parts[1:])
}

// calc is an expression in Go over named texts.
func calc(name string, f func(s dag.Scope) (any, error)) dag.Expr { return &fn{name: name, eval: f} }

// object is an object constructor of expressions.
func object(members map[string]dag.Expr) dag.Expr {
	return calc("{…}", func(s dag.Scope) (any, error) {
		out := map[string]jsontext.Value{}
		for name, e := range members {
			doc, err := e.Doc(s)
			if err != nil {
				return nil, err
			}
			out[name] = doc.Bytes
			if doc.IsNull() {
				out[name] = jsontext.Value("null")
			}
		}
		return out, nil
	})
}

// docs is the scope of an item in tests: names to JSON.
type docs map[string]string

func (d docs) Lookup(name dag.Name) (dag.Doc, error) {
	text, ok := d[name.String()]
	if !ok {
		return dag.Doc{}, nil
	}
	b, err := canon.Canonical(nil, []byte(text))
	if err != nil {
		return dag.Doc{}, err
	}
	return dag.NewDoc(b), nil
}

// load finds the documents of d by digest.
func (d docs) load(digest dag.Digest) ([]byte, error) {
	for _, text := range d {
		b, err := canon.Canonical(nil, []byte(text))
		if err == nil && dag.Sum(b) == digest {
			return b, nil
		}
	}
	return nil, fmt.Errorf("no document %s", digest.Short())
}

// plain is a gate without checks: an item {"q": …, "id"?: …} becomes a record.
func plain(checks ...*dag.Check) *dag.Gate {
	return &dag.Gate{
		Name:      "accept",
		Candidate: []dag.Member{{Name: "card", Expr: get("item")}},
		Checks:    checks,
		Corpus: &dag.Corpus{
			Kind: "jsonl", Evidence: "meta/verification.jsonl", Record: get("card"),
			Data: calc("data", func(s dag.Scope) (any, error) {
				doc, err := s.Lookup(dag.Name{Root: "bucket"})
				return "data/" + strings.Trim(string(doc.Bytes), `"`) + ".jsonl", err
			}),
			EvidenceRecord: object(map[string]dag.Expr{"claim": get("card.q")}),
		},
		Rejections: "meta/rejections.jsonl",
		Breaker:    &dag.Breaker{Consecutive: 3, Counts: []dag.End{dag.Rejected, dag.Failed}},
	}
}

// uniqueQuestion is the check that no accepted card has the same question.
func uniqueQuestion() *dag.Check {
	return &dag.Check{Kind: "unique", Code: "R_DUP_EXACT", Triage: dag.Reject, Args: map[string]dag.Expr{
		"keys": calc("[card.q]", func(s dag.Scope) (any, error) {
			q, err := get("card.q").Text(s)
			return []string{q}, err
		}),
	}}
}

func cardCandidate(key, bucket, card string) *Candidate {
	d := docs{"item": card}
	return &Candidate{Key: key, Bucket: bucket, Scope: d, Load: d.load}
}

// clock is a fixed time that moves a second a call.
func clock() func() time.Time {
	t := time.Date(2026, 1, 15, 10, 15, 0, 0, time.UTC)
	return func() time.Time {
		t = t.Add(time.Second)
		return t
	}
}

func options(t testing.TB, dir string, g *dag.Gate) Options {
	return Options{
		Dir: dir, Pipeline: "test", Gate: g, RunID: "20260115T101500Z-4f2a91", StartedAt: time.Date(2026, 1, 15, 10, 15, 0, 0, time.UTC),
		LockTimeout: 5 * time.Second,
		Log:         func(s string) { t.Log(s) },
	}
}

func mustOpen(t testing.TB, o Options) *Gate {
	t.Helper()
	g, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// judge evaluates and commits candidates, one batch.
func judge(t testing.TB, g *Gate, candidates ...*Candidate) []Verdict {
	t.Helper()
	evals := make([]*Evaluation, len(candidates))
	for i, c := range candidates {
		evals[i] = g.Evaluate(context.Background(), c)
	}
	verdicts, err := g.Commit(context.Background(), evals)
	if err != nil {
		t.Fatal(err)
	}
	return verdicts
}

func codes(v Verdict) string {
	var out []string
	for _, code := range v.Codes {
		out = append(out, string(code))
	}
	return strings.Join(out, " ")
}

func lines(t testing.TB, dir, path string) []string {
	t.Helper()
	b, err := osDisk{dir}.read(path)
	if err != nil {
		return nil
	}
	text := strings.TrimSuffix(string(b), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func inDir(dir, path string) string { return filepath.Join(dir, path) }

// reads is an expression that says which names it reads.
type reads struct {
	*fn
	names []dag.Name
}

func (r reads) Names() []dag.Name { return r.names }

func jsonPointer(name string) jsontext.Pointer { return jsontext.Pointer("").AppendToken(name) }
