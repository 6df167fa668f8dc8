package lang

import (
	"slices"

	"github.com/penstock-run/penstock/dag"
)

// Effect is what an edit of an attribute does to what was done before the edit.
type Effect string

// Effects, the furthest first.
const (
	OnVisits   Effect = "visits"   // it belongs to actions: visits are made anew
	OnVerdicts Effect = "verdicts" // it belongs to accept keys: the gate judges anew, and no visit is made
	OnWays     Effect = "ways"     // it belongs to whole ways: items are walked again, answered from staging
	OnItems    Effect = "items"    // it decides which records are items
	OnReaders  Effect = "readers"  // it is a value: what reads it is edited
	OnNothing  Effect = "nothing"  // it stands in no digest
	Refused    Effect = "refused"  // this version does not run it
)

// effects are those of all attributes that a pipeline may have, by the block that
// they stand in. A test fails while an attribute is missing here, and another
// while an edit of it does something else.
var effects = []struct {
	block string
	of    map[Effect][]string
}{
	{"pipeline", map[Effect][]string{OnVisits: {"replay"}, OnNothing: {"description", "requires", "prices"}}},
	{"budget", map[Effect][]string{OnNothing: {"calls", "tokens", "usd"}}},
	{"variable", map[Effect][]string{OnReaders: {"default", "type"}, OnNothing: {"description", "sensitive"}}},
	{"validation", map[Effect][]string{OnNothing: {"condition", "message"}}},
	{"plugin", map[Effect][]string{OnVisits: {"source", "command", "files"}, OnNothing: {"processes", "env", "network"}}},
	{"provider", map[Effect][]string{OnVisits: {"plugin", "model"}}},
	{"limits", map[Effect][]string{OnNothing: {"requests_per_minute", "tokens_per_minute", "concurrency", "max_wait", "patience", "ignore_latency"}}},
	{"price", map[Effect][]string{OnNothing: {"input", "output", "cached_input", "cache_write"}}},
	{"source", map[Effect][]string{OnItems: {"files", "format", "key", "limit"}, OnWays: {"schema", "code"}}},
	{"stage", map[Effect][]string{
		OnVisits:  {"plugin", "provider", "input", "samples", "volatile"},
		OnWays:    {"outcomes", "outcome", "code", "forward", "may_change", "must_change", "reads"},
		OnNothing: {"timeout", "concurrency", "max_age", "cache", "independent_of"},
		Refused:   {"rescue"},
	}},
	{"rule", map[Effect][]string{OnWays: {"if", "outcome", "output"}}},
	{"finding", map[Effect][]string{OnWays: {"if", "code", "triage", "figure", "evidence", "mode"}}},
	{"output", map[Effect][]string{OnVisits: {"schema"}}},
	{"fan_out", map[Effect][]string{OnWays: {"each", "key", "exactly", "min", "max", "code"}}},
	{"findings", map[Effect][]string{OnWays: {"codes", "mode"}}},
	{"retry", map[Effect][]string{OnNothing: {"attempts", "backoff", "max_backoff"}}},
	{"batch", map[Effect][]string{Refused: {"size"}}},
	{"route", map[Effect][]string{OnWays: {"from"}}},
	{"arm", map[Effect][]string{OnWays: {"if", "to", "max", "as", "code", "stop", "status", "mode", "outcome", "output"}}},
	{"ask", map[Effect][]string{Refused: {"question", "resume", "max", "expires", "answer_schema"}}},
	{"failure", map[Effect][]string{OnVerdicts: {"triage"}, OnNothing: {"meaning", "retired"}}},
	{"mode", map[Effect][]string{OnReaders: {"value"}}},
	{"invariant", map[Effect][]string{OnNothing: {"from", "to", "through", "condition"}}},
	{"gate", map[Effect][]string{
		OnVerdicts: {"undecided", "allow_hosts", "same_owner"},
		OnWays:     {"candidate", "bucket"},
		OnNothing:  {"hold", "concurrency", "rejections"},
	}},
	{"check", map[Effect][]string{OnVerdicts: {"code", "mode", "if", "triage", "ends"}, OnWays: {"name"}, OnNothing: {"message"}}},
	{"breaker", map[Effect][]string{OnNothing: {"consecutive", "counts"}}},
	{"review", map[Effect][]string{Refused: {"subject", "target", "question", "purpose"}}},
	{"skipped", map[Effect][]string{Refused: {"codes", "row"}}},
	{"corpus", map[Effect][]string{
		OnWays:  {"data", "evidence", "record", "id", "evidence_record"},
		Refused: {"path", "body", "front_matter", "quarantine_path", "dsn", "table", "evidence_table"},
	}},
	{"outbox", map[Effect][]string{Refused: {"event"}}},
}

// Attribute is an attribute of the language with what an edit of it does.
type Attribute struct {
	Block  string // "arm" for all blocks that lead somewhere, "check" for all kinds
	Name   string
	Effect Effect
}

// Attributes lists all attributes that a pipeline may have but those of plugins'
// own configuration, which are all OnVisits, in the order of the language. Tests
// ask it, to hold it to what plans say.
func Attributes() []Attribute {
	var all []Attribute
	for _, b := range effects {
		for _, effect := range []Effect{OnVisits, OnVerdicts, OnWays, OnItems, OnReaders, OnNothing, Refused} {
			for _, name := range b.of[effect] {
				all = append(all, Attribute{b.block, name, effect})
			}
		}
		if b.block != "check" {
			continue
		}
		var args []string
		for _, kind := range dag.CheckKinds() {
			for _, arg := range kind.Args {
				if !slices.Contains(args, arg.Name) {
					args = append(args, arg.Name)
					all = append(all, Attribute{"check", arg.Name, OnVerdicts})
				}
			}
		}
	}
	return all
}
