package dag

import "time"

// Pipeline is what one pipeline.hcl declares, besides its graph.
type Pipeline struct {
	Name        string
	Description string
	Requires    string // version constraint on Penstock, as written
	Replay      string // cassette to answer from; empty: none
	Prices      string // file of prices over the built-in ones; empty: none
	Budget      Budget
	Pos         Pos
}

// Budget bounds a run; zero means no bound.
type Budget struct {
	Calls  int
	Tokens int
	USD    float64
}

// Graph is a pipeline, whole: everything resolved, checked and proved.
// It is immutable. internal/lang builds the fields, Prove fills in the rest.
type Graph struct {
	Pipeline   Pipeline
	Plugins    []*Plugin
	Providers  []*Provider
	Sources    []*Source
	Stages     []*Stage // in order of declaration
	Routes     []*Route
	Codes      []*FailureCode
	Gate       *Gate
	Modes      []*Mode
	Invariants []*Invariant
	Variables  []Variable

	// Lock is what the lock file beside the pipeline holds; nil: there is none.
	Lock *Lock

	// Unsupported lists what the file asks for that this version does not run
	// yet: a warning of validate, a refusal of plan and run.
	Unsupported []Unsupported

	// Missing lists the secrets that blocks ask the environment for and that are
	// not set: a live run refuses to start.
	Missing []MissingSecret

	// First is the stage where an item starts: the only one that no route leads
	// to, loops back to it aside.
	First *Stage
	// Arms are all arms of all routes; Arm.ID is the index.
	Arms []*Arm
	// LongestTrail bounds the visits of one item, known before the run.
	LongestTrail int

	index *index // made by Prove; see index.go
}

// Unsupported names a construct that is understood and checked, but not run.
type Unsupported struct {
	What string // "ask", "batch", "check \"novel\""
	Pos  Pos
}

// MissingSecret is a variable of the environment that is not set.
type MissingSecret struct {
	Name     string
	Block    string    // that asks: `provider "writer"`
	Provider *Provider // where the block is one
}

// Variable is an input of the pipeline, with the value that this run has.
type Variable struct {
	Name        string
	Description string
	Type        string // as written: "string", "list(string)"
	Sensitive   bool
	Value       Doc // null where sensitive
	Validations []Validation
	Pos         Pos
}

// Validation is what the value of a variable was held to when it was set.
type Validation struct{ Condition, Message string } // as written

// Plugin is a program that serves stages or providers.
type Plugin struct {
	Name      string
	Source    string   // "builtin/prompt", "./path"; empty where Command is set
	Command   []string // program and arguments, relative to the pipeline's directory
	Files     []string // globs whose content belongs to the plugin's digest
	Processes int      // at least 1
	Env       []string // names of variables that the process may see
	Network   bool     // whether a stage plugin may open TCP connections
	Pos       Pos
}

// PluginInfo is what a plugin says of itself.
type PluginInfo struct {
	Name          string
	Version       string
	Behaviour     string        // stands in the action digest of a bundled plugin: "prompt/1"
	Kind          string        // "stage" or "provider"
	Config        []ConfigField // schema of `config {}`
	Outcomes      []string      // words it can end a visit with; empty: any
	Codes         []Code        // failure codes that it can name
	Deterministic bool
	Services      []string // "complete", "fetch", "corpus"
	Batches       bool
	WireVersion   string // of a provider: stands in the action digest of what it answers
	// CallsPerVisit bounds the completions that one visit asks for, by the
	// stage's configuration; nil: the plugin does not say.
	CallsPerVisit func(config []byte) int `json:"-"`
	// CheckConfig finds what the plugin will not take of a stage's configuration
	// without a start, by that and the schema of the stage's output (empty: none);
	// nil: only its process can tell.
	CheckConfig func(config, outputSchema []byte) []ConfigProblem `json:"-"`
	// Reads tells which names a stage's configuration reads of the input of a visit;
	// nil: the plugin does not say.
	Reads func(config []byte) []ConfigRead `json:"-"`
	// CheckProvider is what CheckConfig is, of a provider: by the model and the
	// configuration of a block, with its secrets in it.
	CheckProvider func(model string, config []byte) []ConfigProblem `json:"-"`
	// Asks tells what a stage's configuration asks of its model; nil: the plugin
	// does not say.
	Asks func(config []byte) Asked `json:"-"`
	// Model tells what a model of the provider can do, by its name and a
	// configuration without secrets; nil: nothing is known.
	Model func(name string, config []byte) Model `json:"-"`
	// CheckSchema tells what there is to say of a stage that asks a model of the
	// provider for answers of a schema, by the model's name and a configuration
	// without secrets; nil: nothing.
	CheckSchema func(name string, config, schema []byte) []ConfigProblem `json:"-"`
	// Peer tells whom a block of the provider calls, by its configuration without
	// secrets; nil: that is known once it is started.
	Peer func(config []byte) Peer `json:"-"`
}

// Peer is whom a provider block calls, for telemetry to name.
type Peer struct {
	System  string // a name of OpenTelemetry's conventions: "openai", "gcp.gemini"
	Address string // empty: no server is called
	Port    uint32
}

// Asked is what is asked of a model besides an answer.
type Asked struct {
	Of        []string // of "seed", "temperature", "top_p" and "stop", as the attributes are named
	MaxTokens int64    // the longest answer, in tokens; 0: not said
}

// Model is what a model can do.
type Model struct {
	Known           bool     // false: nothing is known, and nothing refused
	Takes           []string // of "schema", "seed", "temperature", "top_p", "stop"
	ContextTokens   int64    // 0: unknown
	MaxOutputTokens int64    // 0: unknown
}

// ConfigProblem is what a plugin has to say of a configuration.
type ConfigProblem struct {
	Path    []string // attribute path in config; empty: the block itself
	Summary string
	Detail  string
	Warning bool
}

// ConfigRead is what a configuration reads of the input of a visit.
type ConfigRead struct {
	Path         []string // as that of a ConfigProblem
	Names        []string // of an attribute of the input, of one in that, …
	Line, Column int      // of the configuration's text, from 1
}

// ConfigField is one attribute, or nested block, of a plugin's configuration.
type ConfigField struct {
	Name      string
	Type      string // cty type expression: "string", "number", "bool", "list(string)", "map(string)", "any"
	Required  bool
	Default   string // JSON; empty: null
	Doc       string
	Sensitive bool
	// Content tells that the value is a list of globs, relative to the pipeline's
	// directory, of files whose content belongs to the action.
	Content bool
	// Unkeyed tells that the value changes how the plugin works, and never what comes
	// of it: it belongs to no action, and a change of it makes nothing anew.
	Unkeyed bool
	Block   []ConfigField `json:",omitzero"` // not nil: a nested block with these fields, Type is empty; JSON keeps nil apart
}

// Provider is a configured LLM provider plugin.
type Provider struct {
	Name    string
	Plugin  *Plugin
	Model   string
	Config  Doc // resolved; sensitive values are absent here and stand in Secrets
	Unkeyed Doc // what the plugin is told besides and belongs to no action, as members of Config; null: nothing
	Secrets map[string]string
	Limits  Limits
	Price   *Price // nil: unknown
	// Longest is how many tokens an answer of the model has at most, where its stage
	// does not say; 0: nobody knows.
	Longest   int
	Replaying bool // no live call is possible, so missing secrets are no error
	Pos       Pos
}

// Limits bound a provider over all stages that it is lent to; zero: no bound.
type Limits struct {
	RequestsPerMinute int
	TokensPerMinute   int
	Concurrency       int            // at a time; 0: 64
	MaxWait           *time.Duration // the longest that a server may ask to be waited for; nil: a minute
	Patience          *time.Duration // how long a server may refuse every call; nil: ten minutes
	IgnoreLatency     bool           // slower answers are no reason for fewer calls at a time
}

// Source is where items come from.
type Source struct {
	Name   string
	Files  []string // globs, relative to the pipeline's directory
	Format string   // "json", "jsonl", "csv", "tsv", "lines", "markdown", "text"; empty: by the ending
	Key    Expr     // over origin; nil: "<file>:<line>"
	Limit  int      // 0: no limit
	Schema Schema   // of origin; may be nil
	Code   Code     // of a misfit; empty: E_INPUT
	Pos    Pos
}

// Stage is a named step.
type Stage struct {
	Name     string
	Index    int // in Graph.Stages
	Plugin   *Plugin
	Info     *PluginInfo // what the plugin said of itself; nil for a decide stage
	Provider *Provider   // nil: none
	Config   Doc         // resolved, prompts by content, canonical
	Unkeyed  Doc         // as a provider's
	// ConfigPos is where the values of config stand, by the name of the attribute.
	ConfigPos map[string]Pos
	Decide    *Decide // instead of a plugin: pure rules

	Input    Expr     // nil: item
	Schema   Schema   // of the output; nil: any JSON
	Outcomes []string // never empty; {"ok"} where none are declared
	Outcome  Expr     // over output; nil: the plugin's own word, or "ok"
	Code     Code     // replaces the engine's content codes; empty: it does not
	Forward  Expr     // what travels on; nil: output
	// ForwardItem tells that Forward is plainly `item`: the item is not changed here.
	ForwardItem bool
	MayChange   Expr // JSON Pointers or bare names; nil: no mask
	MustChange  bool
	MustCode    Code // of no change at all; empty: E_MASK
	FanOut      *FanOut
	Findings    *FindingMap
	ReadsCorpus bool

	Timeout     time.Duration // of one attempt; 0: none
	Retry       Retry
	Concurrency int // visits at a time; 0: only -j bounds it
	Batch       int // 0: no batches
	Samples     int // 0: one visit with its own output; else so many, and the output is the list of theirs
	MaxAge      time.Duration
	HasMaxAge   bool
	Cache       *bool // nil: by default
	Volatile    []string
	Rescue      string
	Independent []*Stage
	Pos         Pos
}

// Retry is for infrastructure errors only.
type Retry struct {
	Attempts   int            // in all; at least 1
	Backoff    *time.Duration // at most, before the second; nil: a second
	MaxBackoff *time.Duration // at most, before any; nil: half a minute
}

// Decide is a stage of pure rules: first match wins.
type Decide struct {
	Rules    []DecideRule // the last is the else, with If nil
	Findings []FindingRule
}

// DecideRule is a rule of a decide stage.
type DecideRule struct {
	Reason  string // "else" for the else
	If      Expr   // nil: always
	Outcome string
	Output  Expr // nil: the input
	Pos     Pos
}

// FindingRule leaves a finding where it holds.
type FindingRule struct {
	Name     string
	If       Expr // nil: always; may read the decided outcome
	Code     Code
	Triage   Triage
	Figure   Expr // number; nil: none
	Evidence Expr // text; nil: none
	Mode     *Mode
	Pos      Pos
}

// FindingMap maps the words of a plugin's findings to declared codes.
type FindingMap struct {
	Codes map[string]Code
	Mode  *Mode
}

// FanOut makes the elements of an output into items.
type FanOut struct {
	Each     Expr // list, over output
	Key      Expr // text, over each
	Min, Max int  // Max 0: no bound
	Code     Code // of a wrong count or a key twice; empty: E_FAN_OUT
	Pos      Pos
}

// Route is a rule: from these stages, on this outcome or when this holds, there.
type Route struct {
	Name  string
	From  []*Stage
	To    *Arm            // an unconditional way, or when/else; nil where On is set
	On    map[string]*Arm // by outcome
	Order []string        // the outcomes of On as written
	Fail  []FailArm       // content failures, in order
	Pos   Pos
}

// FailArm is taken on a content failure.
type FailArm struct {
	Code Code // empty: every failure not named
	Arm  *Arm
}

// ArmKind says what an arm does.
type ArmKind int

const (
	ArmWhen ArmKind = iota + 1 // try Branches in order, then Else
	ArmStage
	ArmGate
	ArmStop
	ArmAsk
)

// Arm is one way out of a stage.
type Arm struct {
	ID   int // index in Graph.Arms
	Kind ArmKind

	Branches []Branch // ArmWhen
	Else     *Arm     // ArmWhen; nil where the branches are proved to be all

	Stage     *Stage // ArmStage
	Bounded   bool   // ArmStage with max
	Max       int    // times that this edge may be taken by one item
	Exhausted *Arm   // taken after Max; nil: the item fails with E_EXHAUSTED

	As     Triage // ArmGate: only record this; empty: run the checks
	End    End    // ArmStop: Rejected or Failed
	Code   Code   // ArmGate with As, ArmStop; may be empty
	Status string // ArmStop: a free word; may be empty
	Ask    *Ask   // ArmAsk

	Findings []FindingRule
	Mode     *Mode // in shadow, Shadow is taken instead
	Shadow   *Arm
	Pos      Pos
}

// Branch is one condition of a when arm.
type Branch struct {
	If  Expr
	Arm *Arm
}

// Ask suspends an item until a person answers.
type Ask struct {
	Question  Expr
	Resume    []*Stage // every stage that the resume expression can give
	ResumeTo  Expr     // text: the name of the stage; nil where Resume has one
	Max       int
	Expires   time.Duration
	Schema    Schema
	Exhausted *Arm
	Expired   *Arm
}

// Triage is what becomes of a candidate at the gate.
type Triage string

const (
	Accept     Triage = "accept"
	Review     Triage = "review"
	Quarantine Triage = "quarantine"
	Skip       Triage = "skip"
	Reject     Triage = "reject"
)

// Severity orders triages: accept 0 to reject 4; -1 for a word that is none.
func (t Triage) Severity() int {
	switch t {
	case Accept:
		return 0
	case Review:
		return 1
	case Quarantine:
		return 2
	case Skip:
		return 3
	case Reject:
		return 4
	}
	return -1
}

// End is how an item of a run ends. The list is closed: a run's items add up.
type End string

const (
	Accepted    End = "accepted"
	Reviewed    End = "review"
	Quarantined End = "quarantined"
	Skipped     End = "skipped"
	Rejected    End = "rejected"
	Failed      End = "failed"
	Parked      End = "parked"  // infrastructure, resumable
	Waiting     End = "waiting" // for a person
	Expanded    End = "expanded"
	NotStarted  End = "not_started" // a breaker, a budget, a limit
)

// Ends lists every end in the order in which tallies print them.
var Ends = []End{Accepted, Reviewed, Quarantined, Skipped, Rejected, Failed, Parked, Waiting, Expanded, NotStarted}

// Final reports whether an item with this end needs nothing more from a later run.
func (e End) Final() bool { return e != Parked && e != Waiting && e != NotStarted && e != "" }

// FailureCode is a code that the pipeline declares.
type FailureCode struct {
	Code    Code
	Meaning string
	Triage  Triage // default reject
	Retired bool
	Pos     Pos
}

// Mode applies or shadows the findings that name it.
type Mode struct {
	Name  string
	Apply bool
	Value Expr // for modes that are decided at the start of a run; nil where known
	Pos   Pos
}

// Invariant is a property of paths that is proved over the graph, or a static
// condition, which held when the pipeline was loaded.
type Invariant struct {
	Text      string
	From      []*Stage
	To        *Gate
	Through   *Stage
	Condition string // as written; empty: a property of paths
	Pos       Pos
}

// Finding is what a check or a stage proposes about an item. It belongs to its
// visit: the next visit of that stage replaces all that it left.
type Finding struct {
	Code     Code     `json:"code"`
	Triage   Triage   `json:"triage"`
	Stage    string   `json:"stage,omitempty"`
	Shadow   bool     `json:"shadow,omitzero"`
	Noted    Triage   `json:"noted,omitempty"` // what shadow lowered
	Figure   *float64 `json:"figure,omitempty"`
	Evidence string   `json:"evidence,omitempty"`
}
