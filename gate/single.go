package gate

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
)

// Single is one check with all that it is asked about: no pipeline, no corpus.
type Single struct {
	Kind   dag.CheckKind
	Args   map[string]jsontext.Value // by name; of the types stage and stages too; a schema is in Schema
	Schema dag.Schema                // of an argument of the type schema

	Visits    []dag.VisitFacts // for the checks that read the trail
	Documents []dag.Doc        // what those visits were given, where the check looks into it

	// Accepted are the records of a corpus, for the checks of the locked phase: what
	// each had for the arguments that are not constant.
	Accepted []map[string]jsontext.Value

	SameOwner  [][]string
	AllowHosts []string
	Pages      Pages // nil: the web
}

// SingleResult is what a check alone came to.
type SingleResult struct {
	CheckResult
	// Found is what a pipeline reads as checks.<name>: an object with the state, the
	// figure, and what else the check found. Nil for a check of the locked phase.
	Found jsontext.Value
}

// singleCode stands for the code that a pipeline gives a check.
const singleCode = "CHECK"

// RunCheck runs one check alone. It goes the way of a candidate through a gate that
// has this check and no other, in a dry run over an empty corpus, so that it comes
// to what it would come to in a pipeline. The error is about the world, or about
// arguments that the check refuses whatever the candidate is.
func RunCheck(ctx context.Context, s Single) (SingleResult, error) {
	spec, err := s.gate()
	if err != nil {
		return SingleResult{}, err
	}
	// A gate stands in a directory. This one is empty and stays so: a dry run
	// writes nothing.
	dir, err := os.MkdirTemp("", "penstock-check-")
	if err != nil {
		return SingleResult{}, &dag.Error{Op: "make an empty corpus", Kind: dag.KindInfrastructure, Err: err}
	}
	defer os.RemoveAll(dir)
	g, err := Open(ctx, Options{Dir: dir, Pipeline: "check", Gate: spec, Pages: s.Pages, DryRun: true})
	if err != nil {
		return SingleResult{}, err
	}
	defer g.Close()
	if err := g.ledger.load(); err != nil {
		return SingleResult{}, corpusError(err)
	}
	if g.dry, err = s.earlier(ctx, g); err != nil {
		return SingleResult{}, err
	}
	e := g.Evaluate(ctx, s.candidate(len(s.Accepted)+1, s.Args))
	verdicts, err := g.Commit(ctx, []*Evaluation{e})
	if err == nil {
		err = verdicts[0].Err
	}
	if err != nil {
		return SingleResult{}, err
	}
	if len(verdicts[0].Checks) != 1 {
		return SingleResult{}, &dag.Error{Op: "run the check", Subject: string(s.Kind), Kind: dag.KindBug, Err: fmt.Errorf("%d checks have answered", len(verdicts[0].Checks))}
	}
	out := SingleResult{CheckResult: verdicts[0].Checks[0]}
	if info, _ := dag.LookupCheck(s.Kind); info.Phase == dag.Locked {
		return out, nil
	}
	found, err := e.j.scope.Lookup(dag.Name{Root: "checks", Member: out.Name})
	out.Found = found.Bytes
	return out, err
}

// gate is a gate with the check and no other.
func (s *Single) gate() (*dag.Gate, error) {
	info, ok := dag.LookupCheck(s.Kind)
	if !ok {
		return nil, &dag.Error{Op: "run a check", Subject: string(s.Kind), Kind: dag.KindConfig, Err: fmt.Errorf("there is no such kind")}
	}
	check := &dag.Check{Kind: s.Kind, Code: singleCode, Schema: s.Schema, Args: map[string]dag.Expr{}}
	for _, arg := range info.Args {
		value, given := s.Args[arg.Name]
		switch {
		case arg.Type == "schema" || !given:
		case arg.Type == "stage":
			var name string
			if err := json.Unmarshal(value, &name); err != nil {
				return nil, s.misfit(arg, err)
			}
			check.Stage = &dag.Stage{Name: name}
		case arg.Type == "stages":
			var names []string
			if err := json.Unmarshal(value, &names); err != nil {
				return nil, s.misfit(arg, err)
			}
			for _, name := range names {
				check.Of = append(check.Of, &dag.Stage{Name: name})
			}
		case arg.Constant:
			doc, err := documentOf(value)
			if err != nil {
				return nil, s.misfit(arg, err)
			}
			check.Args[arg.Name] = literal{doc}
		default:
			check.Args[arg.Name] = argument(arg.Name)
		}
	}
	return &dag.Gate{
		Name: "check", Checks: []*dag.Check{check}, SameOwner: s.SameOwner, AllowHosts: s.AllowHosts,
		Corpus: &dag.Corpus{Kind: "jsonl", Data: literal{dag.NewDoc([]byte(`"records.jsonl"`))}, Evidence: "evidence.jsonl", ID: argument(singleID), Record: argument(singleRecord)},
	}, nil
}

func (s *Single) misfit(arg dag.CheckArg, err error) error {
	return &dag.Error{Op: "run the check", Subject: string(s.Kind), Kind: dag.KindConfig, Err: fmt.Errorf("%s: %w", arg.Name, err)}
}

// Names of what a candidate has beside its arguments. No argument is called so.
const (
	singleID     = "record id"
	singleRecord = "record"
)

// candidate is the n-th candidate of the check's life, the accepted records first.
func (s *Single) candidate(n int, args map[string]jsontext.Value) *Candidate {
	given := maps.Clone(args)
	if given == nil {
		given = map[string]jsontext.Value{}
	}
	name := "accepted[" + strconv.Itoa(n-1) + "]"
	if n > len(s.Accepted) {
		name = "the candidate"
	}
	given[singleID] = canon.Quote(nil, name)
	given[singleRecord] = jsontext.Value(`{"n":` + strconv.Itoa(n) + `}`)
	return &Candidate{Key: name, Bucket: "check", Scope: givenArgs(given), Facts: s.Visits, Load: s.load}
}

// earlier is the batch that a dry run has come to when all accepted records are in.
func (s *Single) earlier(ctx context.Context, g *Gate) (*batch, error) {
	b := g.newBatch()
	for i, args := range s.Accepted {
		e := g.Evaluate(ctx, s.candidate(i+1, args))
		if e.Err() != nil {
			return nil, e.Err()
		}
		if e.j.record != nil {
			e.j.recorded = true // it is in the corpus, whatever the locked check would say of it
		}
		admission, err := e.j.admit()
		if err != nil {
			if checks := e.Checks(); len(checks) > 0 && checks[0].Evidence != "" {
				err = fmt.Errorf("%s", checks[0].Evidence)
			}
			return nil, &dag.Error{Op: "take in a record", Subject: e.c.Key, Kind: dag.KindConfig, Err: err}
		}
		e.j.recorded = false
		if _, err := b.accept(e.key, admission); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// load finds a document that a visit was given.
func (s *Single) load(digest dag.Digest) ([]byte, error) {
	i := slices.IndexFunc(s.Documents, func(d dag.Doc) bool { return d.Digest == digest })
	if i < 0 {
		return nil, &dag.Error{Op: "look into what a stage was given", Kind: dag.KindConfig, Err: fmt.Errorf("there is a digest, %s, and no document", digest.Short())}
	}
	return s.Documents[i].Bytes, nil
}

// givenArgs is the scope of a single check: its arguments.
type givenArgs map[string]jsontext.Value

// Lookup implements dag.Scope.
func (g givenArgs) Lookup(name dag.Name) (dag.Doc, error) {
	value, ok := g[name.Member]
	if !ok || name.Root != argumentRoot {
		return dag.Doc{}, nil
	}
	return documentOf(value)
}

// documentOf is a value as a document. What is no strict JSON stays as it is: the
// checks are to see it.
func documentOf(value []byte) (dag.Doc, error) {
	b, err := canon.Canonical(nil, value)
	if err != nil {
		b = slices.Clone(value)
	}
	return dag.NewDoc(b), nil
}

// argumentRoot is the name that arguments are read by.
const argumentRoot = "argument"

// argument is the expression that reads an argument of the candidate at hand.
type argument string

func (a argument) Doc(s dag.Scope) (dag.Doc, error) { return s.Lookup(a.name()) }
func (a argument) Bool(s dag.Scope, _ *[]dag.Seen) (bool, error) {
	return boolOf(a, s, string(a))
}
func (a argument) Text(s dag.Scope) (string, error) { return textOf(a, s, string(a)) }
func (a argument) name() dag.Name                   { return dag.Name{Root: argumentRoot, Member: string(a)} }
func (a argument) Names() []dag.Name                { return []dag.Name{a.name()} }
func (a argument) Digest() dag.Digest               { return dag.Sum([]byte("argument " + a)) }
func (a argument) Pos() dag.Pos                     { return dag.Pos{} }
func (a argument) String() string                   { return string(a) }

// literal is the expression of a value that is known.
type literal struct{ doc dag.Doc }

func (l literal) Doc(dag.Scope) (dag.Doc, error) { return l.doc, nil }
func (l literal) Bool(s dag.Scope, _ *[]dag.Seen) (bool, error) {
	return boolOf(l, s, "the value")
}
func (l literal) Text(s dag.Scope) (string, error) { return textOf(l, s, "the value") }
func (l literal) Names() []dag.Name                { return nil }
func (l literal) Digest() dag.Digest               { return l.doc.Digest }
func (l literal) Pos() dag.Pos                     { return dag.Pos{} }
func (l literal) String() string                   { return string(l.doc.Bytes) }

func boolOf(e dag.Expr, s dag.Scope, what string) (bool, error) {
	doc, err := e.Doc(s)
	if err != nil {
		return false, err
	}
	switch string(doc.Bytes) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, dag.Fail(dag.EExpr, "%s is not true or false", what)
}

func textOf(e dag.Expr, s dag.Scope, what string) (string, error) {
	doc, err := e.Doc(s)
	if err != nil {
		return "", err
	}
	var text string
	if doc.IsNull() || string(doc.Bytes) == "null" || json.Unmarshal(doc.Bytes, &text) != nil {
		return "", dag.Fail(dag.EExpr, "%s is not a text", what)
	}
	return text, nil
}
