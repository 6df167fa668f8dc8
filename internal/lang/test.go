package lang

import (
	"strconv"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/penstock-run/penstock/dag"
)

// Test is a test block, resolved against its pipeline: items go in, stages are
// answered for, and what comes of it is compared with what is expected.
type Test struct {
	Name string
	// Graph is the pipeline with the test's variables and modes.
	Graph   *dag.Graph
	Replay  string // cassette that answers; empty: nothing is recorded
	Given   Given
	Mocks   []*Mock
	Expects []*Expect
	Total   *Total // nil: nothing is expected of all items together
	Pos     dag.Pos
}

// Given are items that a test starts with, of one source.
type Given struct {
	Source *dag.Source
	Docs   []dag.Doc // written out; nil: those of Files
	Files  []string  // globs, relative to the pipeline's directory; nil: the source's own
	Keys   []string  // of the items that are meant; nil: all
	At     Place
}

// Mock answers for a stage, where its condition holds, as the stage's plugin
// would: with an output, or a failure.
type Mock struct {
	Stage    *dag.Stage
	If       dag.Expr // over the names of the stage, and key; nil: always
	Output   dag.Expr // nil: it fails
	Outcome  string   // the plugin's word; empty: none
	Code     dag.Code // of the failure
	Message  string   // of the failure
	Findings []dag.PluginFinding
	Shared   bool // by all tests of its file, behind their own
	At       Place
}

// Expect is what must come of some items.
type Expect struct {
	Key     string   // of the one item that is meant; empty: every item, but those that a fan-out replaced
	Where   dag.Expr // which of them; nil: all
	Wants   []Want
	Asserts []Assert
	At      Place
	// Body is where an attribute can be added: behind the opening brace.
	Body int
}

// Total is what must come of all items together.
type Total struct {
	Wants []Want
	At    Place
	Body  int
}

// Want is one value that is expected: "route", or "outcome" with the member
// "verifier".
type Want struct {
	Name   string
	Member string // of an object: a stage, a check, a code, an end, a provider; else empty
	// Text is the value as it is written in a test, in one form for equal values;
	// of a record it is the JSON in canonical form.
	Text string
	// List tells, of an outcome, that those of all passes are listed.
	List bool
	At   Place
}

// Assert is a condition over the names of an item that came to its end.
type Assert struct {
	If      dag.Expr
	Message string
	At      Place
}

// Place is a part of a file.
type Place struct {
	File       string
	Line       int // from 1
	Start, End int // bytes
}

// Names of an item that came to its end, which its conditions may read besides
// the language's.
var testNames = []string{"key", "end", "code", "codes", "cause", "status", "message", "record", "route", "visits", "calls", "checks"}

// Literal is a text as it is written in a test.
func Literal(s string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
}

// LiteralNumber is a number as it is written in a test.
func LiteralNumber(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

// LiteralDocument is a JSON document as it is written in a test.
func LiteralDocument(canonical []byte) (string, error) {
	t, err := ctyjson.ImpliedType(canonical)
	if err != nil {
		return "", err
	}
	v, err := ctyjson.Unmarshal(canonical, t)
	if err != nil {
		return "", err
	}
	return string(hclwrite.Format(hclwrite.TokensForValue(v).Bytes())), nil
}
