package main

import (
	"fmt"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
)

// expr is an expression as the language would make it: the item, the same text
// always, or a list of one text of the item.
type expr struct {
	name string
	doc  func(dag.Scope) (dag.Doc, error)
}

func (e expr) Doc(s dag.Scope) (dag.Doc, error) { return e.doc(s) }

func (e expr) Text(s dag.Scope) (string, error) {
	doc, err := e.doc(s)
	return strings.Trim(string(doc.Bytes), `"`), err
}

func (e expr) Bool(dag.Scope, *[]dag.Seen) (bool, error) {
	return false, dag.Fail(dag.EExpr, "%s is not a bool", e.name)
}

func (e expr) Names() []dag.Name  { return nil }
func (e expr) Digest() dag.Digest { return dag.Sum([]byte(e.name)) }
func (e expr) Pos() dag.Pos       { return dag.Pos{} }
func (e expr) String() string     { return e.name }

func constant(doc string) dag.Expr {
	return expr{doc, func(dag.Scope) (dag.Doc, error) { return dag.NewDoc([]byte(doc)), nil }}
}

func item() dag.Expr {
	return expr{"item", func(s dag.Scope) (dag.Doc, error) { return s.Lookup(dag.Name{Root: "item"}) }}
}

// question is the list of the item's question, what the check "unique" compares.
func question() dag.Expr {
	return expr{"[item.q]", func(s dag.Scope) (dag.Doc, error) {
		doc, err := s.Lookup(dag.Name{Root: "item"})
		if err != nil {
			return dag.Doc{}, err
		}
		_, after, _ := strings.Cut(string(doc.Bytes), `"q":`)
		text, _, _ := strings.Cut(after, `,`)
		return dag.NewDoc([]byte("[" + strings.TrimSuffix(text, "}") + "]")), nil
	}}
}

// spec is a gate that keeps an item as its record, asks that no question was there
// before, and has a breaker.
func spec() *dag.Gate {
	return &dag.Gate{
		Name:      "accept",
		Candidate: []dag.Member{{Name: "card", Expr: item()}},
		Checks:    []*dag.Check{{Kind: "unique", Code: "R_DUPLICATE", Triage: dag.Reject, Args: map[string]dag.Expr{"keys": question()}}},
		Corpus: &dag.Corpus{
			Kind: "jsonl", Evidence: "meta/verification.jsonl", Record: item(), Data: constant(`"data/bench.jsonl"`),
			EvidenceRecord: constant(`{"claim":"a claim of some length that a source supports","sources":["https://one.example/","https://two.example/"]}`),
		},
		Rejections: "meta/rejections.jsonl",
		Breaker:    &dag.Breaker{Consecutive: 20, Counts: []dag.End{dag.Rejected, dag.Failed}},
	}
}

type scope struct{ doc dag.Doc }

func (s scope) Lookup(name dag.Name) (dag.Doc, error) {
	if name.Root == "item" {
		return s.doc, nil
	}
	return dag.Doc{}, nil
}

func candidate(n, size int) *gate.Candidate {
	doc := fmt.Sprintf(`{"q":"Question number %d?","x":"%s"}`, n, strings.Repeat("x", max(0, size-40)))
	return &gate.Candidate{Key: fmt.Sprintf("item/%d", n), Bucket: "bench", Scope: scope{dag.NewDoc([]byte(doc))}}
}
