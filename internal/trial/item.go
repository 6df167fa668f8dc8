package trial

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/lang"
)

// item is an item that came to its end, as expectations see it. It is a
// dag.Scope of all that a condition may read.
type item struct {
	end    *engine.Ended
	trail  *dag.Trail // never nil
	record []byte     // canonical; nil: none was accepted
}

func (t *trial) item(e *engine.Ended) (*item, error) {
	it := &item{end: e, trail: &dag.Trail{}}
	if e.Traversal != nil {
		it.trail = e.Traversal.WithLoad(t.store.Get).Trail()
	}
	if e.Record == "" {
		return it, nil
	}
	var err error
	it.record, err = t.recordOf(e.Record)
	return it, err
}

// recordOf finds an accepted record in the workspace's corpus, by its evidence.
func (t *trial) recordOf(id string) ([]byte, error) {
	var row struct {
		ID     string `json:"id"`
		Data   string `json:"data"`
		Digest string `json:"digest"`
	}
	found, err := t.line(t.test.Graph.Gate.Corpus.Evidence, func(line []byte) bool {
		return json.Unmarshal(line, &row) == nil && row.ID == id
	})
	if err != nil || found == nil {
		return nil, err
	}
	return t.line(row.Data, func(line []byte) bool { return dag.Sum(line).String() == row.Digest })
}

// line is the first line of a file of the workspace for which a condition holds.
func (t *trial) line(name string, holds func([]byte) bool) ([]byte, error) {
	f, err := os.Open(filepath.Join(t.space, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		if line = []byte(strings.TrimSuffix(string(line), "\n")); len(line) > 0 && holds(line) {
			return line, nil
		}
		if err == io.EOF {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// value is what an item came to, as it is written in a test.
func (it *item) value(w *lang.Want) string {
	switch w.Name {
	case "route":
		return "[" + strings.Join(it.route(), ", ") + "]"
	case "outcome":
		return it.outcome(w.Member, w.List)
	case "end":
		return lang.Literal(string(it.end.End))
	case "code":
		return lang.CodeText(it.code())
	case "codes":
		return codeTexts(it.end.Codes)
	case "cause":
		return lang.CodeText(it.cause())
	case "status":
		return orNull(it.end.Status)
	case "triage":
		return lang.Literal(string(it.triage()))
	case "checks":
		if c := it.check(w.Member); c != nil {
			return lang.Literal(c.State)
		}
	case "figures":
		if figure := it.figure(w.Member); figure != nil {
			return lang.LiteralNumber(*figure)
		}
	case "visits":
		return strconv.Itoa(it.visits(w.Member))
	case "calls":
		return strconv.Itoa(it.calls(w.Member))
	case "record":
		if it.record != nil {
			return string(it.record)
		}
	}
	return "null"
}

func codeTexts(codes []dag.Code) string {
	texts := []string{}
	for _, c := range codes {
		texts = append(texts, lang.CodeText(c))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return lang.Literal(s)
}

// route lists the stages that were visited, and the gate.
func (it *item) route() []string {
	way := []string{}
	for _, v := range it.trail.Visits {
		way = append(way, "stage."+v.Stage)
	}
	if to := it.gate(); to != "" {
		way = append(way, to)
	}
	return way
}

// gate is the gate that the item came to; empty: none.
func (it *item) gate() string {
	if n := len(it.trail.Decisions); n > 0 && strings.HasPrefix(it.trail.Decisions[n-1].To, "gate.") {
		return it.trail.Decisions[n-1].To
	}
	return ""
}

// outcome is the latest of a stage, or those of all its passes.
func (it *item) outcome(stage string, list bool) string {
	passes := []string{}
	for _, v := range it.trail.Visits {
		if v.Stage == stage {
			passes = append(passes, orNull(v.Outcome))
		}
	}
	switch {
	case list:
		return "[" + strings.Join(passes, ", ") + "]"
	case len(passes) > 0:
		return passes[len(passes)-1]
	case it.end.Traversal == nil:
		return "null"
	}
	// Of the item that it was fanned out of.
	doc, err := it.end.Traversal.Lookup(dag.Name{Root: "outcome", Member: stage})
	if err != nil || doc.IsNull() {
		return "null"
	}
	return textOf(doc)
}

func textOf(doc dag.Doc) string {
	var s string
	if json.Unmarshal(doc.Bytes, &s) != nil {
		return string(doc.Bytes)
	}
	return lang.Literal(s)
}

func (it *item) code() dag.Code {
	if len(it.end.Codes) == 0 {
		return ""
	}
	return it.end.Codes[0]
}

// cause is the engine's code for which a stage's or a source's own stands.
func (it *item) cause() dag.Code {
	switch {
	case it.end.Refused != nil:
		return it.end.Refused.Cause
	case it.trail.Failed != nil:
		return it.trail.Failed.Cause
	}
	return ""
}

// triages are what the gate's verdicts were merged to.
var triages = map[dag.End]dag.Triage{
	dag.Accepted: dag.Accept, dag.Reviewed: dag.Review, dag.Quarantined: dag.Quarantine, dag.Skipped: dag.Skip, dag.Rejected: dag.Reject,
}

// triage is the gate's, of an item that came to it; else what its findings come to.
func (it *item) triage() dag.Triage {
	if triage, ok := triages[it.end.End]; ok && it.gate() != "" {
		return triage
	}
	if it.end.Traversal == nil {
		return dag.Accept
	}
	return it.end.Traversal.Triage()
}

func (it *item) visits(stage string) int {
	n := 0
	for _, v := range it.trail.Visits {
		if v.Stage == stage {
			n++
		}
	}
	return n
}

func (it *item) calls(stage string) int {
	n := 0
	for _, v := range it.trail.Visits {
		if v.Stage == stage {
			n += v.Facts.Calls
		}
	}
	return n
}

// Lookup implements dag.Scope.
func (it *item) Lookup(n dag.Name) (dag.Doc, error) {
	switch n.Root {
	case "key":
		return text(it.end.Key), nil
	case "end":
		return text(string(it.end.End)), nil
	case "code":
		return textOrNull(string(it.code())), nil
	case "codes":
		return document(slices.Concat([]dag.Code{}, it.end.Codes))
	case "cause":
		return textOrNull(string(it.cause())), nil
	case "status":
		return textOrNull(it.end.Status), nil
	case "message":
		return textOrNull(it.end.Reason), nil
	case "triage":
		return text(string(it.triage())), nil
	case "record":
		return dag.Doc{Bytes: it.record}, nil
	case "route":
		return document(it.stages())
	case "visits":
		return document(it.visits(n.Member))
	case "calls":
		return document(it.calls(n.Member))
	case "checks":
		return it.checkDoc(n.Member)
	case "finding":
		return it.findingDoc(dag.Code(n.Member))
	}
	if it.end.Traversal == nil {
		return originScope{it.end.Origin}.Lookup(n)
	}
	return it.end.Traversal.Lookup(n)
}

// stages are the names of the stages that were visited.
func (it *item) stages() []string {
	names := []string{}
	for _, v := range it.trail.Visits {
		names = append(names, v.Stage)
	}
	return names
}

func text(s string) dag.Doc {
	b, _ := jsontext.AppendQuote(nil, s) // what is not UTF-8 is replaced
	return dag.Doc{Bytes: b}
}

func textOrNull(s string) dag.Doc {
	if s == "" {
		return dag.Doc{}
	}
	return text(s)
}

func document(v any) (dag.Doc, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	return dag.Doc{Bytes: b}, err
}

// originScope is a scope of nothing but an item's origin.
type originScope struct{ origin dag.Doc }

func (s originScope) Lookup(n dag.Name) (dag.Doc, error) {
	if n.Root == "origin" || n.Root == "item" {
		return s.origin, nil
	}
	return dag.Doc{}, fmt.Errorf("%s is not known of an item that was refused before its first visit", n)
}
