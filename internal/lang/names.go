package lang

import (
	"fmt"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// placeKind is where an expression stands; it decides which names it may read.
type placeKind int

const (
	atLoad      placeKind = iota + 1 // nothing but variables and locals
	atSource                         // key: origin
	atBucket                         // bucket: origin
	atMode                           // a mode that a run decides
	atStage                          // before a visit: input, may_change
	atOutput                         // after a visit: outcome, forward, each
	atEach                           // key of a fan-out
	atDecide                         // rules
	atDecided                        // findings beside the rules: the outcome is known
	atRoute                          // arms
	atCandidate                      // members of the candidate
	atGate                           // checks, review
	atCorpus                         // data, id, record
	atEvidence                       // evidence_record
	atMock                           // of a test: before a visit, as atStage
	atExpect                         // of a test: an item that came to its end
)

// place is where an expression stands.
type place struct {
	kind        placeKind
	source      *dag.Source
	stage       *dag.Stage
	route       *dag.Route
	failed      bool // an arm of `fail`
	answered    bool // `resume`: the answer is there
	stageVisits bool // visit.<stage> may be read: an assert
}

// env says what names mean at a place.
func (f *flow) env(p place) *expr.Env {
	if env, ok := f.envs[p]; ok {
		return env
	}
	b := &names{f: f, p: p, names: make(map[dag.Name]*expr.Type, 4*len(f.l.graph.Stages)+len(f.l.graph.Codes)+16), elsewhere: maps.Clone(everywhereElse), keys: make(map[dag.Name]string, len(f.l.graph.Stages)+8)}
	b.fill()
	for name := range b.names {
		delete(b.elsewhere, name.Root)
	}
	env := &expr.Env{
		Names: b.names, Elsewhere: b.elsewhere, Consts: f.l.consts(), Functions: f.l.funcs, Source: f.l.files.Source,
		Untyped: b.untyped,
	}
	switch {
	case p.answered:
		env.Consts["stage"] = f.l.namesOf("stage")
	case p.kind == atMode:
		env.Consts["gate"] = f.l.namesOf("gate")
		env.Functions = maps.Clone(env.Functions)
		env.Functions["labels"] = labelsFunction
	}
	f.envs[p] = env
	return env
}

// namesOf gives each declared name as a text: an expression that chooses among
// references gives the name of one.
func (l *loader) namesOf(kind string) cty.Value {
	m := map[string]cty.Value{}
	for _, name := range l.names[kind].names {
		m[name] = cty.StringVal(name)
	}
	return cty.ObjectVal(m)
}

// everywhereElse explains the names of the language where they cannot be read.
var everywhereElse = map[string]string{
	"origin":    "is an item's first document; no item is known here",
	"item":      "can be read in stages, routes and the gate",
	"output":    "can be read in its own stage, after the visit (`outcome`, `forward`, `fan_out`), and in that stage's routes; elsewhere it is artifact.STAGE",
	"artifact":  "can be read in stages, routes and the gate",
	"outcome":   "can be read in stages, routes and the gate, as outcome.STAGE",
	"failed":    "can be read in stages, routes and the gate, as failed.STAGE",
	"pass":      "can be read in stages and routes",
	"finding":   "can be read in stages, routes and the gate, as finding.CODE",
	"triage":    "can be read in stages, routes and the gate",
	"answer":    "can be read after an `ask`",
	"run":       "can be read in routes and `decide` blocks only, so that nothing that depends on the run is answered from staging; in a corpus also in `evidence_record`",
	"each":      "can be read in the `key` of a `fan_out`",
	"bucket":    "can be read in the corpus block",
	"checks":    "can be read in `evidence_record`, as checks.NAME",
	"visit":     "can be read in an `assert` and in `evidence_record`, as visit.STAGE",
	"requested": "can be read in the value of a mode",
	"env":       "is a function: env(\"NAME\"), allowed in provider, plugin and corpus blocks",
	"stage":     "is a reference, and stands where a stage is named; what a stage gave is artifact.NAME, how it ended is outcome.NAME",
	"gate":      "is a reference, and stands where the gate is named",
	"failure":   "is a reference, and stands where a code is named",
	"mode":      "is a reference, and stands where a mode is named",
	"provider":  "is a reference, and stands where a provider is named",
	"plugin":    "is a reference, and stands where a plugin is named",
}

// names collects what may be read at one place.
type names struct {
	f         *flow
	p         place
	names     map[dag.Name]*expr.Type
	elsewhere map[string]string
	keys      map[dag.Name]string // whom to name in a warning that a document has no type
}

func (n *names) fill() {
	f, p := n.f, n.p
	switch p.kind {
	case atLoad:
		n.elsewhere = f.l.constElsewhere()
	case atSource:
		n.document("origin", f.schema(p.source.Schema), fmt.Sprintf("source %q", p.source.Name))
	case atBucket:
		n.origin()
		n.elsewhere["item"] = "is not known when the bucket is: an item belongs to its bucket from its start, so read origin, variables and locals"
		n.elsewhere["artifact"] = n.elsewhere["item"]
	case atMode:
		n.root("requested", expr.Nullable(expr.Enum("apply", "shadow")))
	case atStage, atDecide, atDecided:
		n.travelling(f.item(f.before[p.stage]), n.makersLabel(f.before[p.stage]))
		n.visited(f.beforeVisit(p.stage))
		n.root("pass", expr.Number())
		n.decided()
	case atMock:
		n.travelling(f.item(f.before[p.stage]), n.makersLabel(f.before[p.stage]))
		n.visited(f.beforeVisit(p.stage))
		n.root("pass", expr.Number())
		n.root("key", expr.String())
	case atExpect:
		n.ended()
	case atOutput, atEach:
		n.travelling(f.item(f.before[p.stage]), n.makersLabel(f.before[p.stage]))
		n.visited(f.beforeVisit(p.stage))
		n.root("pass", expr.Number())
		n.document("output", f.gives(p.stage), stageLabel(p.stage))
		if p.kind == atEach {
			n.document("each", f.each[p.stage], stageLabel(p.stage))
		}
	case atRoute:
		n.route()
	default:
		n.gate()
	}
}

func (n *names) root(name string, t *expr.Type) { n.names[dag.Name{Root: name}] = t }

func (n *names) document(name string, k known, label string) {
	n.root(name, k.t)
	n.keys[dag.Name{Root: name}] = label
}

func (n *names) origin() {
	n.document("origin", n.f.origin, n.sourceLabel())
}

func stageLabel(s *dag.Stage) string { return fmt.Sprintf("stage %q", s.Name) }

// makersLabel names who made an item of which nothing is known.
func (n *names) makersLabel(m makers) string {
	for _, s := range m {
		if s != nil && s.Schema == nil {
			return stageLabel(s)
		}
	}
	for _, s := range m {
		if s != nil {
			return stageLabel(s)
		}
	}
	return n.sourceLabel()
}

// sourceLabel names a source of which nothing is known.
func (n *names) sourceLabel() string {
	label := "the source"
	for _, s := range n.f.l.graph.Sources {
		if s.Schema == nil {
			label = fmt.Sprintf("source %q", s.Name)
		}
	}
	return label
}

// travelling are the names of an item on its way.
func (n *names) travelling(item known, label string) {
	n.origin()
	n.document("item", item, label)
	n.root("triage", expr.Enum(triages...))
	n.elsewhere["finding"] = "tells of a failure code, and the pipeline declares none"
	for _, code := range n.f.l.graph.Codes {
		n.names[dag.Name{Root: "finding", Member: string(code.Code)}] = findingType
	}
	if n.f.l.asks() {
		n.root("answer", expr.Nullable(answerType))
	}
}

var (
	failureObject = expr.Object(map[string]*expr.Type{"code": expr.String(), "cause": expr.Nullable(expr.String()), "message": expr.String()})
	findingObject = expr.Object(map[string]*expr.Type{
		"code": expr.String(), "triage": expr.Enum(triages...), "stage": expr.String(), "mode": expr.Enum("apply", "shadow"),
		"figure": expr.Nullable(expr.Number()), "evidence": expr.String(),
	})
	failureType = expr.Nullable(failureObject)
	findingType = expr.Nullable(findingObject)
	answerType  = expr.Object(map[string]*expr.Type{"value": expr.Any(), "question": expr.String(), "count": expr.Number()})
	runType     = expr.Object(map[string]*expr.Type{"id": expr.String(), "started_at": expr.String(), "dry": expr.Bool(), "live": expr.Bool()})
	// A record's evidence is written by live runs and replays alike, never by dry ones.
	rowRunType = expr.Object(map[string]*expr.Type{"id": expr.String(), "started_at": expr.String()})
	visitType  = expr.Object(map[string]*expr.Type{
		"pass": expr.Number(), "plugin": expr.String(), "provider": expr.Nullable(expr.String()), "model": expr.Nullable(expr.String()),
		"started_at": expr.String(), "ended_at": expr.String(), "input": expr.String(), "digest": expr.String(),
	})
)

// asks reports whether some arm asks a person.
func (l *loader) asks() bool {
	for _, u := range l.wants {
		if u.what == "ask" {
			return true
		}
	}
	return false
}

// visited are the names of the stages that came before. Nothing is said where
// the graph has holes: then every stage counts as visited.
func (n *names) visited(at dag.Place, whole bool) {
	for _, root := range []string{"artifact", "outcome", "failed"} {
		n.elsewhere[root] = "tells of a stage before this place, and there is none"
	}
	for _, s := range n.f.l.graph.Stages {
		artifact, outcome := dag.Name{Root: "artifact", Member: s.Name}, dag.Name{Root: "outcome", Member: s.Name}
		if whole && !at.Ever[s] {
			never := "is never there: no way to this place visits the stage"
			for _, name := range []string{artifact.String(), outcome.String(), "failed." + s.Name} {
				n.elsewhere[name] = never
			}
			continue
		}
		t, o := n.f.output[s].t, expr.Enum(s.Outcomes...)
		if whole && !at.Always[s] {
			t = expr.Nullable(t)
		}
		if whole && !at.Outcome[s] {
			o = expr.Nullable(o)
		}
		n.names[artifact], n.names[outcome] = t, o
		n.keys[artifact] = stageLabel(s)
		n.names[dag.Name{Root: "failed", Member: s.Name}] = failureType
	}
}

func (f *flow) beforeVisit(s *dag.Stage) (dag.Place, bool) {
	if f.ways == nil {
		return dag.Place{}, false
	}
	return f.ways.Before(s), true
}

// decided adds what rules may read.
func (n *names) decided() {
	switch n.p.kind {
	case atDecided:
		for name := range n.names {
			if name.Root == "outcome" {
				delete(n.names, name)
			}
		}
		n.root("outcome", expr.Enum(n.p.stage.Outcomes...))
		n.root("run", runType)
	case atDecide:
		n.root("run", runType)
	}
}

// route are the names in the arms of a route, which may lead out of several
// stages: what holds there holds after each.
func (n *names) route() {
	f, r := n.f, n.p.route
	var item makers
	output := unknown
	var at dag.Place
	for i, s := range r.From {
		item, _ = item.with(f.leaving(s, n.p.failed))
		if i == 0 {
			output = f.output[s]
		} else {
			output = output.join(f.output[s])
		}
		if f.ways == nil {
			continue
		}
		after := f.ways.After(s)
		if n.p.failed {
			after = f.ways.AfterFailure(s)
		}
		if i == 0 {
			at = dag.Place{Always: maps.Clone(after.Always), Outcome: maps.Clone(after.Outcome), Ever: maps.Clone(after.Ever)}
			continue
		}
		keepShared(at.Always, after.Always)
		keepShared(at.Outcome, after.Outcome)
		maps.Copy(at.Ever, after.Ever)
	}
	n.travelling(f.item(item), n.makersLabel(item))
	n.visited(at, f.ways != nil && len(r.From) > 0)
	n.root("pass", expr.Number())
	n.root("run", runType)
	if n.p.failed {
		n.elsewhere["output"] = "is not there after a failure; what went wrong is failed.STAGE"
	} else {
		label := ""
		for _, s := range r.From {
			label = stageLabel(s)
		}
		n.document("output", output, label)
	}
	if n.p.answered {
		n.root("answer", answerType)
	}
}

func keepShared(all, other map[*dag.Stage]bool) {
	for s := range all {
		if !other[s] {
			delete(all, s)
		}
	}
}

// gate are the names in a gate block: those of the item, and the candidate's.
func (n *names) gate() {
	f, p := n.f, n.p
	n.travelling(f.item(f.gate), n.makersLabel(f.gate))
	var at dag.Place
	if f.ways != nil {
		at = f.ways.AtGate()
	}
	n.visited(at, f.ways != nil)
	if p.kind == atCandidate {
		return
	}
	n.members()
	if p.kind == atCorpus || p.kind == atEvidence {
		n.root("bucket", expr.String())
	}
	if p.kind == atEvidence {
		n.root("run", rowRunType)
		for _, name := range f.l.gate.checks {
			n.names[dag.Name{Root: "checks", Member: name}] = expr.Any()
		}
	}
	if p.kind != atEvidence && !p.stageVisits {
		return
	}
	for _, s := range f.l.graph.Stages {
		t := visitType
		if f.ways == nil || !at.Always[s] {
			t = expr.Nullable(t)
		}
		n.names[dag.Name{Root: "visit", Member: s.Name}] = t
	}
}

// members are typed where they are plainly another name.
func (n *names) members() {
	for i, name := range n.f.l.gate.members {
		t, label := expr.Any(), ""
		if traversal, diags := hcl.AbsTraversalForExpr(n.f.l.gate.exprs[i]); !diags.HasErrors() {
			whole := dag.Name{Root: traversal.RootName()}
			if step, ok := second(traversal); ok {
				whole.Member = step
			}
			if known, ok := n.names[whole]; ok && len(traversal) <= 2 {
				t, label = known, n.keys[whole]
			}
		}
		n.root(name, t)
		n.keys[dag.Name{Root: name}] = label
	}
}

// untyped warns once for each stage whose documents are read without a schema.
func (n *names) untyped(name dag.Name, at hcl.Range) {
	label := n.keys[name]
	if label == "" || n.f.ways == nil || n.f.l.schemaless || n.f.l.warned[label] {
		return
	}
	n.f.l.warned[label] = true
	n.f.l.warn(at, untypedDocument, fmt.Sprintf("Nothing is known of what %s gives (%s), so a misspelt name in it is found only while items run. Give it a schema.", label, name))
}
