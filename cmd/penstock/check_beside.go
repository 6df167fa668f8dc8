package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
)

// What stands in a file of `penstock check` beside the arguments: visits, a corpus
// and pages, as a check would find them in a run.

// elements takes a list of objects apart and refuses members that are none of known.
func (f *checkFile) elements(name string, value jsontext.Value, known ...string) ([]jsontext.Value, error) {
	var list []jsontext.Value
	if err := json.Unmarshal(value, &list); err != nil {
		return nil, f.mistyped(name, name, nil)
	}
	for i, element := range list {
		at := fmt.Sprintf("%s[%d]", name, i)
		given, err := f.object(at, element)
		if err != nil {
			return nil, err
		}
		for _, m := range given {
			if !slices.Contains(known, m.name) {
				return nil, f.fail("%s", nearest(m.name, known, "%s has no member %q", at, m.name))
			}
		}
	}
	return list, nil
}

// fileVisit is an element of `visits`: what a gate may know of a stage's visit.
type fileVisit struct {
	Stage     string         `json:"stage"`
	Pass      int            `json:"pass"`
	Plugin    string         `json:"plugin"`
	Provider  string         `json:"provider"`
	Model     string         `json:"model"`
	Input     jsontext.Value `json:"input"`  // the document that the stage was given, or its digest
	Digest    string         `json:"digest"` // of what it gave
	StartedAt time.Time      `json:"started_at"`
	EndedAt   time.Time      `json:"ended_at"`
	Stale     bool           `json:"stale"` // the item has changed since
}

func (f *checkFile) visits(value jsontext.Value) error {
	list, err := f.elements("visits", value, "stage", "pass", "plugin", "provider", "model", "input", "digest", "started_at", "ended_at", "stale")
	if err != nil {
		return err
	}
	for i, element := range list {
		var v fileVisit
		if err := json.Unmarshal(element, &v); err != nil {
			return f.mistyped("visits", "visits", err)
		}
		if v.Stage == "" {
			return f.fail(`visits[%d] has no "stage": write "stage": "verifier"`, i)
		}
		facts := dag.VisitFacts{Stage: v.Stage, Pass: v.Pass, Plugin: v.Plugin, Provider: v.Provider, Model: v.Model, StartedAt: v.StartedAt, EndedAt: v.EndedAt, Stale: v.Stale}
		if v.Digest != "" {
			if facts.Output, err = dag.ParseDigest(v.Digest); err != nil {
				return f.fail(`visits[%d].digest must be the SHA-256 of what the stage gave, 64 hex digits: %v`, i, err)
			}
		}
		if v.Input != nil {
			facts.Input = f.input(v.Input)
		}
		f.out.Visits = append(f.out.Visits, facts)
	}
	return nil
}

// input is the digest of what a stage was given: the file has the document, or
// names it by its digest.
func (f *checkFile) input(value jsontext.Value) dag.Digest {
	var text string
	if value.Kind() == '"' && json.Unmarshal(value, &text) == nil {
		if digest, err := dag.ParseDigest(text); err == nil {
			return digest
		}
	}
	doc := dag.NewDoc(value) // a part of a canonical document is canonical
	f.out.Documents = append(f.out.Documents, doc)
	return doc.Digest
}

// corpus reads the accepted records: of each, the arguments that are not constant.
func (f *checkFile) corpus(value jsontext.Value) error {
	var corpus struct {
		Accepted *jsontext.Value `json:"accepted"`
	}
	if err := json.Unmarshal(value, &corpus, json.RejectUnknownMembers(true)); err != nil || corpus.Accepted == nil {
		return f.mistyped("corpus", "corpus", nil)
	}
	var names []string
	kinds := map[string]checkMember{}
	for _, a := range f.info.Args {
		if !a.Constant {
			names = append(names, a.Name)
			kinds[a.Name] = checkMember{a.Name, a.Type, a.Required, ""}
		}
	}
	list, err := f.elements("corpus.accepted", *corpus.Accepted, names...)
	if err != nil {
		return err
	}
	for i, element := range list {
		given, err := f.object(fmt.Sprintf("corpus.accepted[%d]", i), element)
		if err != nil {
			return err
		}
		record := map[string]jsontext.Value{}
		for _, m := range given {
			kind := kinds[m.name]
			kind.name = fmt.Sprintf("corpus.accepted[%d].%s", i, m.name)
			if err := f.fits(kind, m.value); err != nil {
				return err
			}
			record[m.name] = m.value
		}
		for _, name := range names {
			if _, ok := record[name]; !ok && kinds[name].required {
				return f.fail("corpus.accepted[%d] has no %q: write %s", i, name, memberForms[kinds[name].kind])
			}
		}
		f.out.Accepted = append(f.out.Accepted, record)
	}
	return nil
}

// filePage is an element of `pages`.
type filePage struct {
	URL      string          `json:"url"`
	FinalURL string          `json:"final_url"`
	Status   int             `json:"status"`
	Verdict  dag.PageVerdict `json:"verdict"`
	Why      string          `json:"why"`
	At       time.Time       `json:"at"`
	NoAnswer bool            `json:"no_answer"`
	Text     string          `json:"text"`
}

func (f *checkFile) pages(value jsontext.Value) error {
	list, err := f.elements("pages", value, "url", "final_url", "status", "verdict", "why", "at", "no_answer", "text")
	if err != nil {
		return err
	}
	all := givenPages{}
	for i, element := range list {
		var p filePage
		if err := json.Unmarshal(element, &p); err != nil {
			return f.mistyped("pages", "pages", err)
		}
		switch {
		case p.URL == "":
			return f.fail(`pages[%d] has no "url": write the address that the check asks for`, i)
		case p.Verdict != dag.PageLive && p.Verdict != dag.PageDead && p.Verdict != dag.PageBlocked:
			return f.fail(`pages[%d].verdict must be "live", "dead" or "blocked"`, i)
		}
		if p.FinalURL == "" {
			p.FinalURL = p.URL
		}
		all[p.URL] = dag.Page{URL: p.URL, FinalURL: p.FinalURL, Status: p.Status, Verdict: p.Verdict, Why: p.Why, At: p.At, NoAnswer: p.NoAnswer, Recorded: true, Text: p.Text, Digest: dag.Sum([]byte(p.Text)).String()}
	}
	f.out.Pages = all
	return nil
}

// givenPages are the pages of the file, by address.
type givenPages map[string]dag.Page

// Read implements gate.Pages.
func (g givenPages) Read(_ context.Context, address string, _ time.Duration) (*dag.Page, error) {
	p, ok := g[address]
	if !ok {
		return nil, &dag.Error{Op: "read a page", Subject: address, Kind: dag.KindConfig, Err: errors.New("it is not among the pages of the file"),
			Hint: `add it to "pages", or leave "pages" out to read the web`}
	}
	return &p, nil
}

// Source implements gate.Pages.
func (g givenPages) Source() dag.Digest { return dag.Sum([]byte("pages of a file")) }
