package lang

import (
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
	"github.com/penstock-run/penstock/internal/price"
)

// DefaultFile is the pipeline that a directory holds.
const DefaultFile = "pipeline.hcl"

// Options say what to load and what is known of the world: lang itself looks
// at nothing but FS.
type Options struct {
	FS   fs.FS  // the pipeline's directory
	File string // in FS; empty: DefaultFile. Every *.pipeline.hcl beside it belongs to it
	// Vars are values of variables as written on a command line; they win over
	// VarFiles, those over PENSTOCK_VAR_x, that over a default.
	Vars     map[string]string
	VarFiles []VarFile // later files win
	// AnyVars leaves values alone whose variables the pipeline does not declare:
	// they are another's, that it is compared with.
	AnyVars bool
	// Environ looks up a variable of the environment; nil: none is set.
	Environ func(string) (string, bool)
	// Describe gives what a plugin says of itself; it is asked once a plugin.
	Describe func(*dag.Plugin) (*dag.PluginInfo, error)
	// Pin gives what identifies the files of a plugin that is not bundled, to be
	// compared with the lock; nil: they are not compared.
	Pin func(*dag.Plugin) (dag.Pin, error)
	// Relock asks the plugins what they are, whatever the lock says of them.
	Relock  bool
	Retire  []dag.Code // failure codes that may vanish
	Live    bool       // the providers are called, whatever the pipeline replays
	Visits  bool       // stages are visited: without a cassette that means live calls
	Version string     // of Penstock, for `requires`; empty: not compared
	// Tests reads the files *.test.hcl beside the pipeline, and in tests/, too.
	Tests bool
	// Blank lets an expect block expect nothing: what it lacks is to be found out.
	Blank bool
	under *underTest // the test that the pipeline is loaded for; nil: none

	opened func(block string, s shape) // hears of each block what may stand in it; nil: nobody does
}

// VarFile is a file of variables. The caller reads it: unlike all that a
// pipeline names, it may lie anywhere.
type VarFile struct {
	Name   string // as the user wrote it; .json: in JSON
	Source []byte
}

// Files are the texts that a pipeline was read from.
type Files struct {
	// Sources are the pipeline's own files by name, also those with errors.
	Sources map[string][]byte
	// Read are the other files that the pipeline names and that were read when
	// it was loaded (prompts, schemas, data), sorted.
	Read []string
	// Tests are the test blocks of *.test.hcl, where they were asked for.
	Tests []*Test
	// Lock is the lock file's text; nil: there is none.
	Lock     []byte
	lockName string
	beside   map[string][]byte // other files that complaints point into
}

// Source gives the bytes of a pipeline file, nil where there is none; it is
// what diag.Options asks for.
func (f *Files) Source(name string) []byte {
	if src, ok := f.Sources[name]; ok {
		return src
	}
	if name == f.lockName {
		return f.Lock
	}
	return f.beside[name]
}

// Load reads a pipeline and proves it. The graph is nil where there are
// errors; Files is never nil, so that diagnostics can be shown.
func Load(opts Options) (*dag.Graph, *Files, hcl.Diagnostics) {
	l := newLoader(opts)
	if l.read() {
		l.declare()
		l.resolve()
		before := len(l.diags)
		l.compileAll()
		l.prove(before)
	}
	l.files.Read = slices.Sorted(maps.Keys(l.fsys.seen))
	l.loadUnderTests()
	l.warnOfSchemas()
	l.addresses()
	l.graph.Unsupported = l.unsupported()
	if l.diags.HasErrors() {
		return nil, l.files, l.diags
	}
	return l.graph, l.files, l.diags
}

// loader is one Load. Its steps: read the files, declare every name, resolve
// every block but for its expressions, compile the expressions once it is known
// what flows where, prove the graph.
type loader struct {
	opts  Options
	fsys  *seenFS
	files *Files
	diags hcl.Diagnostics
	graph *dag.Graph

	blocks map[string][]*hclsyntax.Block        // by type, in order
	tests  []*hclsyntax.Block                   // of *.test.hcl, in order
	shared map[string]map[string]hcl.Expression // by test file: its lets
	mocks  map[string][]*hclsyntax.Block        // by test file: those that its tests share
	bodies []*hclsyntax.Body                    // of the files, for addresses
	names  map[string]*scope                    // "stage": what stage.x may name
	ranges map[dag.Pos]hcl.Range
	wants  []unsupported

	prices   price.Tables // the user's own, asked before the built-in table
	budgetAt hcl.Range    // where the budget's dollars stand; zero: nowhere

	vars   map[string]cty.Value
	locals map[string]cty.Value
	// localNames are the locals as declared.
	localNames []string
	funcs      map[string]function.Function
	// poisoned names failed to load, which is complained of already: what reads
	// them fails silently. "local.x", "var.y".
	poisoned map[string]bool
	// broken tells that the graph has holes, so that proofs and types along it
	// would complain of what is not there.
	broken bool
	// misnamed tells that some code was misspelt: one that seems unused may be
	// the one that was meant.
	misnamed bool
	// schemaless tells that a schema could not be read, so that documents lack
	// a type for that.
	schemaless bool
	unreadVars bool // a file of variables could not be read
	// vague are the stages whose outcomes could not be read.
	vague map[*dag.Stage]bool
	keys  map[hcl.Range]bool // of duplicate keys that were complained of
	// strays are the labels of blocks that are none, holes the kinds of which a
	// block could not be read: who names them is not complained of.
	strays, holes map[string]bool

	plugins   map[*dag.Plugin]*dag.PluginInfo
	configs   map[*dag.PluginInfo]hcldec.ObjectSpec
	schemas   map[string]dag.Schema
	usedCodes map[dag.Code]bool
	secrets   []missingSecret
	unheld    []unheld
	under     []*underTest // tests that set something for the pipeline
	later     []task
	covers    []cover
	types     *flow
	env       environment
	warned    map[string]bool // of which documents it was said that they have no schema
	gate      *gateNames
}

func newLoader(opts Options) *loader {
	if opts.File == "" {
		opts.File = DefaultFile
	}
	if opts.Environ == nil {
		opts.Environ = func(string) (string, bool) { return "", false }
	}
	return &loader{
		opts:      opts,
		fsys:      &seenFS{seen: map[string]bool{}},
		files:     &Files{Sources: map[string][]byte{}, beside: map[string][]byte{}},
		graph:     &dag.Graph{},
		blocks:    map[string][]*hclsyntax.Block{},
		mocks:     map[string][]*hclsyntax.Block{},
		shared:    map[string]map[string]hcl.Expression{},
		names:     map[string]*scope{},
		ranges:    map[dag.Pos]hcl.Range{},
		vars:      map[string]cty.Value{},
		locals:    map[string]cty.Value{},
		poisoned:  map[string]bool{},
		plugins:   map[*dag.Plugin]*dag.PluginInfo{},
		configs:   map[*dag.PluginInfo]hcldec.ObjectSpec{},
		schemas:   map[string]dag.Schema{},
		usedCodes: map[dag.Code]bool{},
		warned:    map[string]bool{},
		keys:      map[hcl.Range]bool{},
		strays:    map[string]bool{},
		vague:     map[*dag.Stage]bool{},
		holes:     map[string]bool{},
	}
}

// resolve decodes the blocks in the order in which one needs the other.
func (l *loader) resolve() {
	l.setFunctions()
	l.loadVariables()
	l.loadLocals()
	l.loadPipeline()
	l.loadFailures()
	l.loadModes()
	l.loadPlugins()
	l.loadProviders()
	l.loadSources()
	l.loadStages()
	l.describeBundled()
	l.loadRoutes()
	l.loadGate()
	l.loadInvariants()
	l.loadTests()
	l.checkCodes()
	l.checkLock()
	l.checkSecrets()
	l.checkBudget()
}

// prove asks the graph for its proofs, where it is whole enough to be asked.
// Where ways are missing or wrong, what was said since then of the documents
// that travel them cascades.
func (l *loader) prove(since int) {
	if l.broken {
		return
	}
	problems := l.graph.Prove()
	if slices.ContainsFunc(problems, dag.Problem.OfWays) {
		for _, d := range l.diags[since:] {
			if expr.OfDocuments(d.Summary) || d.Summary == untypedDocument {
				diag.With(d, diag.Info{Cascade: true})
			}
		}
	}
	for _, p := range problems {
		d := diag.FromProblem(p)
		if r, ok := l.ranges[p.Pos]; ok {
			d.Subject = &r
		}
		info := diag.InfoOf(d)
		for i, related := range p.Related {
			if r, ok := l.ranges[related]; ok {
				info.Related[i].Range = r
			}
		}
		l.diags = append(l.diags, diag.With(d, info))
	}
}

func (l *loader) error(at hcl.Range, summary, detail string) *hcl.Diagnostic {
	d := diag.Error(at, summary, detail)
	l.diags = append(l.diags, d)
	return d
}

func (l *loader) warn(at hcl.Range, summary, detail string) {
	l.diags = append(l.diags, diag.Warning(at, summary, detail))
}

// twice complains of something that stands a second time, and shows the first.
func (l *loader) twice(at, first hcl.Range, summary, detail string) {
	diag.With(l.error(at, summary, detail), diag.Info{
		Related: []diag.Related{{Label: "first here", Range: first}},
	})
}

// kindOf is the kind of block that declares what stands behind a first word.
var kindOf = map[string]string{
	"artifact": "stage", "outcome": "stage", "failed": "stage", "visit": "stage", "finding": "failure", "var": "variable",
}

// take keeps the diagnostics of an expression, less what was found in the
// syntax tree already. A name that is unknown because what would declare it
// could not be read is not complained of a second time.
func (l *loader) take(diags hcl.Diagnostics) {
	for _, d := range diags {
		if d.Summary == duplicateKey && d.Subject != nil && l.keys[*d.Subject] {
			continue
		}
		if m, ok := hcl.DiagnosticExtra[expr.Missing](d); ok && m.Member != "" && kindOf[m.Root] != "" && l.excused(kindOf[m.Root], m.Member) {
			diag.With(d, diag.Info{Cascade: true})
		}
		l.diags = append(l.diags, d)
	}
}

// pos is a range as dag knows it; the way back is kept for what dag finds wrong.
func (l *loader) pos(r hcl.Range) dag.Pos {
	p := dag.Pos{File: r.Filename, Line: r.Start.Line, Column: r.Start.Column}
	l.ranges[p] = r
	return p
}

// seenFS is the pipeline's directory; it remembers what was read.
type seenFS struct {
	under fs.FS
	seen  map[string]bool
}

// Open implements fs.FS.
func (s *seenFS) Open(name string) (fs.File, error) {
	f, err := s.under.Open(name)
	if err == nil {
		s.seen[path.Clean(name)] = true
	}
	return f, err
}
