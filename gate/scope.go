package gate

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/weburl"
)

// scope is what expressions of a gate may read: the members of the candidate and
// what the gate itself knows, before the names of the item's traversal.
type scope struct {
	base    dag.Scope
	load    dag.Load
	names   []dag.Member
	members []dag.Doc          // of the candidate, as far as they were evaluated, in the order of names
	visits  map[string]dag.Doc // by stage; filled on demand
	facts   []dag.VisitFacts
	checks  *[]checkState // what the checks came to, of the judgement; nil: there are none
	domains []ownDomain   // of the addresses that were asked about
	bucket  dag.Doc
	run     dag.Doc
}

// ownDomain is what weburl.Domain says of an address: several checks ask it.
type ownDomain struct {
	url, domain string
	err         error
}

// domain is the registrable domain of an address.
func (s *scope) domain(url string) (string, error) {
	for i := range s.domains {
		if s.domains[i].url == url {
			return s.domains[i].domain, s.domains[i].err
		}
	}
	domain, err := weburl.Domain(url)
	const most = 16 // more are not worth a search
	if len(s.domains) < most {
		s.domains = append(s.domains, ownDomain{url, domain, err})
	}
	return domain, err
}

func (g *Gate) newScope(c *Candidate) *scope {
	return &scope{
		base: c.Scope, load: c.Load, facts: c.Facts,
		names: g.spec.Candidate, members: make([]dag.Doc, 0, len(g.spec.Candidate)),
		bucket: dag.Doc{Bytes: canon.Quote(nil, c.Bucket)},
		run:    g.run,
	}
}

// runDoc is `run`.
func runDoc(o Options) (dag.Doc, error) {
	run, err := rowOf(struct {
		ID        string `json:"id"`
		StartedAt string `json:"started_at"`
	}{o.RunID, timestamp(o.StartedAt)})
	if err != nil {
		return dag.Doc{}, err
	}
	return dag.Doc{Bytes: run[:len(run)-1]}, nil
}

// Lookup implements dag.Scope.
func (s *scope) Lookup(name dag.Name) (dag.Doc, error) {
	switch {
	case name.Root == "visit" && name.Member != "":
		return s.visit(name.Member)
	case name.Root == "checks" && name.Member != "":
		if r := s.result(name.Member); r != nil {
			return foundDoc(*r)
		}
		return dag.Doc{}, nil
	case name == dag.Name{Root: "bucket"}:
		return s.bucket, nil
	case name == dag.Name{Root: "run"}:
		return s.run, nil
	}
	if name.Member == "" {
		for i := len(s.members) - 1; i >= 0; i-- {
			if s.names[i].Name == name.Root {
				return s.members[i], nil
			}
		}
	}
	if s.base == nil {
		return dag.Doc{}, fmt.Errorf("%s is asked for and the candidate has no scope", name)
	}
	return s.base.Lookup(name)
}

// result is what the check of a name came to; nil where it was not asked.
func (s *scope) result(name string) *result {
	if s.checks == nil {
		return nil
	}
	states := *s.checks
	for i := len(states) - 1; i >= 0; i-- {
		if states[i].check.name == name {
			return &states[i].result
		}
	}
	return nil
}

// latest is the last visit of a stage that is not stale.
func (s *scope) latest(stage string) (dag.VisitFacts, bool) {
	for i := len(s.facts) - 1; i >= 0; i-- {
		if s.facts[i].Stage == stage && !s.facts[i].Stale {
			return s.facts[i], true
		}
	}
	return dag.VisitFacts{}, false
}

func (s *scope) visit(stage string) (dag.Doc, error) {
	if doc, ok := s.visits[stage]; ok {
		return doc, nil
	}
	var doc dag.Doc
	if facts, ok := s.latest(stage); ok {
		row := visitRow{
			Digest: facts.Output, EndedAt: timestamp(facts.EndedAt), Input: facts.Input, Model: facts.Model,
			Pass: facts.Pass, Plugin: facts.Plugin, Provider: facts.Provider, StartedAt: timestamp(facts.StartedAt),
		}
		var err error
		if doc.Bytes, err = row.document(); err != nil {
			return dag.Doc{}, err
		}
	}
	if s.visits == nil {
		s.visits = map[string]dag.Doc{}
	}
	s.visits[stage] = doc
	return doc, nil
}

// visitRow is `visit.<stage>`.
type visitRow struct {
	Digest    dag.Digest `json:"digest"`
	EndedAt   string     `json:"ended_at"`
	Input     dag.Digest `json:"input"`
	Model     string     `json:"model,omitempty"`
	Pass      int        `json:"pass"`
	Plugin    string     `json:"plugin"`
	Provider  string     `json:"provider,omitempty"`
	StartedAt string     `json:"started_at"`
}

// document writes the row in canonical form.
func (r *visitRow) document() ([]byte, error) {
	if !utf8.ValidString(r.Model) || !utf8.ValidString(r.Plugin) || !utf8.ValidString(r.Provider) {
		_, err := rowOf(r) // which complains
		return nil, err
	}
	digest := func(b []byte, d dag.Digest) []byte {
		if b = append(b, '"'); !d.IsZero() {
			b = hex.AppendEncode(b, d[:])
		}
		return append(b, '"')
	}
	b := append(make([]byte, 0, 384), `{"digest":`...)
	b = digest(b, r.Digest)
	b = canon.Quote(append(b, `,"ended_at":`...), r.EndedAt)
	b = digest(append(b, `,"input":`...), r.Input)
	if r.Model != "" {
		b = canon.Quote(append(b, `,"model":`...), r.Model)
	}
	b = strconv.AppendInt(append(b, `,"pass":`...), int64(r.Pass), 10)
	b = canon.Quote(append(b, `,"plugin":`...), r.Plugin)
	if r.Provider != "" {
		b = canon.Quote(append(b, `,"provider":`...), r.Provider)
	}
	b = canon.Quote(append(b, `,"started_at":`...), r.StartedAt)
	return append(b, '}'), nil
}

// doc evaluates an expression to a document with its bytes and its digest.
func (s *scope) doc(e dag.Expr) (dag.Doc, error) {
	doc, err := e.Doc(s)
	if err != nil {
		return dag.Doc{}, err
	}
	return s.whole(doc)
}

// whole gives a document what it lacks of bytes and digest.
func (s *scope) whole(doc dag.Doc) (dag.Doc, error) {
	if doc.IsNull() {
		return doc, nil
	}
	if doc.Bytes == nil {
		if s.load == nil {
			return dag.Doc{}, fmt.Errorf("the document %s is asked for and nothing loads it", doc.Digest.Short())
		}
		b, err := s.load(doc.Digest)
		if err != nil {
			return dag.Doc{}, err
		}
		doc.Bytes = b
	}
	if doc.Digest.IsZero() {
		doc.Digest = dag.Sum(doc.Bytes)
	}
	return doc, nil
}

// isNull reports whether a value is absent, or null, which no check tells apart.
func isNull(doc dag.Doc) bool { return doc.IsNull() || string(doc.Bytes) == "null" }

// decode evaluates an expression and reads its JSON into a Go value. A value of
// another shape is a failure of the candidate; absent is null.
func decode[T any](s *scope, e dag.Expr, what string) (T, error) {
	var v T
	doc, err := s.doc(e)
	if err != nil {
		return v, err
	}
	if isNull(doc) {
		return v, dag.Fail(dag.EExpr, "%s is null", what)
	}
	if readPlain(doc.Bytes, any(&v)) {
		return v, nil
	}
	if err := json.Unmarshal(doc.Bytes, &v); err != nil {
		return v, dag.Fail(dag.EExpr, "%s is not what the check reads: %v", what, err)
	}
	return v, nil
}
