package dag

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Gate is the end of the pipeline as declared: what is checked, and where an
// accepted record goes. Package gate runs it.
type Gate struct {
	Name        string
	Candidate   []Member // in order of declaration
	Bucket      Expr     // over origin; nil: one bucket called "all"
	Hold        *Stage   // nil: only the gate itself
	Concurrency int      // buckets at a time; 0: no bound
	Checks      []*Check
	Corpus      *Corpus
	Rejections  string // path; empty: none
	Breaker     *Breaker
	Review      *ReviewBlock
	Undecided   string   // "review" or "parked"
	AllowHosts  []string // exempt from the address rule
	SameOwner   [][]string
	Pos         Pos
}

// CheckNames are the names of the checks, in their order: as results have them.
// A second check of a name has its number besides.
func (g *Gate) CheckNames() []string {
	names := make([]string, len(g.Checks))
	for i, c := range g.Checks {
		name := cmp.Or(c.Name, string(c.Kind))
		if slices.Contains(names[:i], name) {
			name += "_" + strconv.Itoa(i+1)
		}
		names[i] = name
	}
	return names
}

// Member is a named part of a candidate, or of a let.
type Member struct {
	Name string
	Expr Expr
}

// Check is one rule of a gate.
type Check struct {
	Kind    CheckKind
	Name    string // as `checks.<name>`; the kind where none is given
	Code    Code
	If      Expr // nil: always applies
	Triage  Triage
	Ends    bool // failing, it ends its phase
	Mode    *Mode
	Message string
	Args    map[string]Expr // those of the kind's arguments that are values of the candidate
	Schema  Schema          // check "schema"
	Stage   *Stage          // fresh, independent
	Of      []*Stage        // independent
	Pos     Pos
}

// Corpus says where accepted records and their evidence go.
type Corpus struct {
	Kind     string // "jsonl"
	Data     Expr   // text: path, may read bucket
	Evidence string // path
	ID       Expr   // text; nil: first 16 hex digits of the record's digest
	Record   Expr
	// EvidenceRecord may read checks.<name>, visit.<stage> and run. Nil: none of the pipeline's own.
	EvidenceRecord Expr
	Pos            Pos
}

// EvidenceNames are the members that the gate writes itself into each row of
// evidence; an evidence_record has none of them.
var EvidenceNames = []string{
	"accept_key", "accepted_at", "bucket", "data", "digest", "exempt", "id", "item", "keys", "novel", "previous", "run_id", "sequence",
}

// Breaker opens a bucket after so many bad ends in a row.
type Breaker struct {
	Consecutive int
	Counts      []End // of Rejected, Failed
}

// ReviewBlock is where items that a person must see are told apart.
type ReviewBlock struct {
	Subject, Target, Question, Purpose Expr
}

// CheckKind is the word after `check`.
type CheckKind string

// Phase is when a check runs.
type Phase int

const (
	Static  Phase = iota + 1 // no lock, no network
	Network                  // only when all static checks passed; never under a lock
	Locked                   // against what is on disk now
)

// CheckArg is one argument of a check kind.
type CheckArg struct {
	Name     string
	Type     string // "value", "text", "texts", "addresses", "number", "bool", "sources", "stage", "stages", "schema", "path", "duration", "rules", "word"
	Required bool
	Constant bool   // known when the pipeline is loaded
	Default  string // for people
	Doc      string
}

// CheckInfo describes a check kind: the language checks arguments by it, the
// gate implements it, the reference prints it.
type CheckInfo struct {
	Kind      CheckKind
	Phase     Phase
	Args      []CheckArg
	Holds     string // "holds when …"
	Supported bool   // whether this version runs it
}

// CheckKinds lists every kind in the order of the reference.
func CheckKinds() []CheckInfo { return checkKinds }

// LookupCheck finds a kind.
func LookupCheck(kind CheckKind) (CheckInfo, bool) {
	for _, info := range checkKinds {
		if info.Kind == kind {
			return info, true
		}
	}
	return CheckInfo{}, false
}

var checkKinds = []CheckInfo{
	{Kind: "schema", Phase: Static, Supported: true, Holds: "the value fits the JSON Schema (2020-12)", Args: []CheckArg{
		{Name: "value", Type: "value", Required: true}, {Name: "schema", Type: "schema", Required: true, Constant: true}}},
	{Kind: "assert", Phase: Static, Supported: true, Holds: "the condition is true", Args: []CheckArg{
		{Name: "condition", Type: "bool", Required: true}}},
	{Kind: "fresh", Phase: Static, Supported: true, Holds: "the value at the path `at` of the input of that stage's latest visit that is not stale has the digest of `of`", Args: []CheckArg{
		{Name: "stage", Type: "stage", Required: true}, {Name: "of", Type: "value", Required: true}, {Name: "at", Type: "path", Constant: true, Default: "all"}}},
	{Kind: "independent", Phase: Static, Supported: true, Holds: "by the trail, provider plugin and model differ from each", Args: []CheckArg{
		{Name: "stage", Type: "stage", Required: true}, {Name: "of", Type: "stages", Required: true}}},
	{Kind: "distinct", Phase: Static, Supported: true, Holds: "`count` texts, pairwise at Levenshtein distance `min_distance` or more on runes of the normal form", Args: []CheckArg{
		{Name: "values", Type: "texts", Required: true}, {Name: "count", Type: "number", Constant: true, Default: "any"}, {Name: "min_distance", Type: "number", Required: true, Constant: true},
		{Name: "numbers", Type: "word", Constant: true, Doc: `"by_value"`}, {Name: "short", Type: "word", Constant: true, Doc: `"by_letter"`}}},
	{Kind: "leak", Phase: Static, Supported: true, Holds: "the needle does not occur in the haystack by whole tokens", Args: []CheckArg{
		{Name: "needle", Type: "text", Required: true}, {Name: "haystack", Type: "text", Required: true}}},
	{Kind: "words", Phase: Static, Supported: true, Holds: "the word count lies within", Args: []CheckArg{
		{Name: "text", Type: "text", Required: true}, {Name: "min", Type: "number", Constant: true, Default: "0"}, {Name: "max", Type: "number", Constant: true, Default: "no bound"}}},
	{Kind: "phrases", Phase: Static, Supported: true, Holds: "none of the phrase rules matches", Args: []CheckArg{
		{Name: "texts", Type: "texts", Required: true}, {Name: "reject", Type: "rules", Required: true, Constant: true}}},
	{Kind: "sources", Phase: Static, Supported: true, Holds: "at least `min` usable sources, none without a URL", Args: []CheckArg{
		{Name: "sources", Type: "sources", Required: true}, {Name: "min", Type: "number", Constant: true, Default: "2"}, {Name: "supports", Type: "texts", Constant: true, Default: "[]"}}},
	{Kind: "unrelated", Phase: Static, Supported: true, Holds: "at least `min` registrable domains", Args: []CheckArg{
		{Name: "urls", Type: "addresses", Required: true}, {Name: "min", Type: "number", Constant: true, Default: "2"}}},
	{Kind: "score", Phase: Static, Holds: "a number in [0,1] against the bands", Args: []CheckArg{
		{Name: "value", Type: "number", Required: true}, {Name: "quarantine", Type: "number", Constant: true}, {Name: "review", Type: "number", Constant: true}}},
	{Kind: "votes", Phase: Static, Supported: true, Holds: "`of` verdicts, of which at least `agree` are `verdict`", Args: []CheckArg{
		{Name: "verdicts", Type: "texts", Required: true}, {Name: "verdict", Type: "text", Constant: true, Default: `"accept"`},
		{Name: "of", Type: "number", Constant: true, Default: "any"}, {Name: "agree", Type: "number", Constant: true, Default: "more than half"}}},
	{Kind: "live", Phase: Network, Supported: true, Holds: "every URL answers its live check", Args: []CheckArg{
		{Name: "urls", Type: "addresses", Required: true}, {Name: "timeout", Type: "duration", Constant: true, Default: "20s"}, {Name: "blocked", Type: "word", Constant: true, Default: `"dead"`},
		{Name: "canary", Type: "text", Constant: true, Doc: "an address that answers whenever this side is well"}}},
	{Kind: "quoted", Phase: Network, Supported: true, Holds: "each quote occurs in the page that the live check read", Args: []CheckArg{
		{Name: "sources", Type: "sources", Required: true}}},
	{Kind: "unique", Phase: Locked, Supported: true, Holds: "no accepted record has one of the keys", Args: []CheckArg{
		{Name: "keys", Type: "texts", Required: true}}},
	{Kind: "novel", Phase: Locked, Supported: true, Holds: "no accepted record of the same `within` reaches `max_similarity`", Args: []CheckArg{
		{Name: "text", Type: "text", Required: true}, {Name: "within", Type: "text"}, {Name: "max_similarity", Type: "number", Required: true, Constant: true}}},
}

// VisitFacts is what a gate may know of a stage's visit: it knows nothing of stages.
type VisitFacts struct {
	Stage     string    `json:"-"`
	Pass      int       `json:"pass"`
	Plugin    string    `json:"plugin"`             // the plugin's source or command
	Provider  string    `json:"provider,omitempty"` // the provider plugin's source or command
	Model     string    `json:"model,omitempty"`    // as the server, or the cassette, gave it
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	Input     Digest    `json:"input"`
	Output    Digest    `json:"digest"`
	Stale     bool      `json:"-"`
}
