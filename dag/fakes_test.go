package dag

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fake is an expression for tests: a function over a scope.
type fake struct {
	src   string
	names []Name
	eval  func(Scope) (any, error)
	doc   func(Scope) (Doc, error) // instead of eval where a document is wanted
	pos   Pos
}

func (f *fake) Bool(s Scope, seen *[]Seen) (bool, error) {
	v, err := f.eval(s)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, Fail(EExpr, "%s is no bool", f.src)
	}
	if seen != nil {
		for _, n := range f.names {
			d, err := s.Lookup(n)
			if err != nil {
				return false, err
			}
			value := d.Bytes
			if d.IsNull() {
				value = []byte("null")
			}
			*seen = append(*seen, Seen{Path: n.String(), JSON: value})
		}
	}
	return b, nil
}

func (f *fake) Text(s Scope) (string, error) {
	v, err := f.eval(s)
	if err != nil {
		return "", err
	}
	t, ok := v.(string)
	if !ok {
		return "", Fail(EExpr, "%s is no text", f.src)
	}
	return t, nil
}

func (f *fake) Doc(s Scope) (Doc, error) {
	if f.doc != nil {
		return f.doc(s)
	}
	v, err := f.eval(s)
	if err != nil {
		return Doc{}, err
	}
	if v == nil {
		return Doc{}, nil
	}
	return NewDoc(canonical(v)), nil
}

func (f *fake) Names() []Name  { return f.names }
func (f *fake) Digest() Digest { return Sum([]byte(f.src)) }
func (f *fake) Pos() Pos       { return f.pos }
func (f *fake) String() string { return f.src }

func canonical(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	value := jsontext.Value(b)
	if err := value.Canonicalize(); err != nil {
		panic(err)
	}
	return value
}

// lit is the document that a JSON text stands for.
func lit(text string) Doc {
	value := jsontext.Value(text)
	if err := value.Canonicalize(); err != nil {
		panic(err)
	}
	return NewDoc(value)
}

// name splits "artifact.verifier" after its first dot.
func name(s string) Name {
	root, member, _ := strings.Cut(s, ".")
	return Name{Root: root, Member: member}
}

// whole is an expression that is a plain name.
func whole(n string) *fake {
	nm := name(n)
	f := &fake{src: n, names: []Name{nm}}
	f.doc = func(s Scope) (Doc, error) { return s.Lookup(nm) }
	f.eval = func(s Scope) (any, error) { return value(s, nm) }
	return f
}

func value(s Scope, n Name) (any, error) {
	d, err := s.Lookup(n)
	if err != nil || d.IsNull() {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(d.Bytes, &v); err != nil {
		panic(fmt.Sprintf("%s is no JSON: %s", n, d.Bytes))
	}
	return v, nil
}

// path is a plain path: get("item", "cat") is item.cat.
func get(n string, members ...string) *fake {
	nm := name(n)
	f := &fake{src: strings.Join(append([]string{n}, members...), "."), names: []Name{nm}, pos: Pos{File: "pipeline.hcl", Line: 7, Column: 9}}
	f.eval = func(s Scope) (any, error) {
		v, err := value(s, nm)
		for _, m := range members {
			o, ok := v.(map[string]any)
			if !ok && err == nil {
				return nil, Fail(EExpr, "%s is not there", f.src)
			}
			v = o[m]
		}
		return v, err
	}
	return f
}

// is is `expression == value`.
func is(f *fake, want any) *fake {
	return &fake{
		src: f.src + " == " + fmt.Sprint(want), names: f.names, pos: f.pos,
		eval: func(s Scope) (any, error) {
			v, err := f.eval(s)
			return v == want, err
		},
	}
}

// constant is an expression that reads nothing.
func constant(v any) *fake {
	return &fake{src: string(canonical(v)), eval: func(Scope) (any, error) { return v, nil }}
}

// broken is an expression that cannot be evaluated on any item.
func broken(src string) *fake {
	return &fake{src: src, pos: Pos{File: "pipeline.hcl", Line: 3, Column: 5}, eval: func(Scope) (any, error) {
		return nil, Fail(EExpr, "item has no attribute %q", src)
	}}
}

// object is an object constructor: object("card", whole("item")).
func object(parts ...any) *fake {
	f := &fake{}
	var src []string
	for i := 0; i < len(parts); i += 2 {
		part := parts[i+1].(*fake)
		src = append(src, parts[i].(string)+" = "+part.src)
		f.names = append(f.names, part.names...)
	}
	f.src = "{ " + strings.Join(src, ", ") + " }"
	f.doc = func(s Scope) (Doc, error) {
		o := map[string]jsontext.Value{}
		for i := 0; i < len(parts); i += 2 {
			d, err := parts[i+1].(*fake).Doc(s)
			if err != nil {
				return Doc{}, err
			}
			if d.IsNull() {
				d = lit("null")
			}
			o[parts[i].(string)] = jsontext.Value(d.Bytes)
		}
		return NewDoc(canonical(o)), nil
	}
	f.eval = func(s Scope) (any, error) {
		d, err := f.doc(s)
		if err != nil {
			return nil, err
		}
		var v any
		err = json.Unmarshal(d.Bytes, &v)
		return v, err
	}
	return f
}

// shape is a schema that asks for one member.
type shape struct{ member string }

// Validate wants the member to be there.
func (s shape) Validate(b []byte) error {
	var o map[string]any
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	if _, ok := o[s.member]; !ok {
		return fmt.Errorf("at '': %q is missing", s.member)
	}
	return nil
}

func (s shape) Source() Doc  { return lit(`{"required":[` + strconv.Quote(s.member) + `]}`) }
func (s shape) Name() string { return s.member + ".json" }

// build is a graph under construction. Positions are counted: each thing stands
// on a line of its own.
type build struct {
	*Graph
	line int
}

func newBuild() *build {
	b := &build{Graph: &Graph{}}
	b.Gate = &Gate{Name: "accept", Pos: b.pos()}
	b.Codes = []*FailureCode{{Code: "THIN", Triage: Review}, {Code: "BAD"}, {Code: "DUP", Triage: Skip}}
	return b
}

func (b *build) pos() Pos {
	b.line++
	return Pos{File: "pipeline.hcl", Line: b.line, Column: 1}
}

// stage declares a stage that forwards its item and ends with these outcomes.
func (b *build) stage(name string, outcomes ...string) *Stage {
	if len(outcomes) == 0 {
		outcomes = []string{"ok"}
	}
	s := &Stage{Name: name, Outcomes: outcomes, Plugin: &Plugin{Name: "p", Source: "builtin/prompt"}, Pos: b.pos(), Index: len(b.Stages)}
	b.Stages = append(b.Stages, s)
	return s
}

func (b *build) route(to *Arm, from ...*Stage) *Route {
	r := &Route{Name: "from_" + from[0].Name, From: from, To: to, Pos: b.pos()}
	b.Routes = append(b.Routes, r)
	return r
}

// on is a route by outcome: words and arms in turn.
func (b *build) on(from *Stage, wordsAndArms ...any) *Route {
	r := b.route(nil, from)
	r.On = map[string]*Arm{}
	for i := 0; i < len(wordsAndArms); i += 2 {
		word := wordsAndArms[i].(string)
		r.Order = append(r.Order, word)
		r.On[word], _ = wordsAndArms[i+1].(*Arm)
	}
	return r
}

func (b *build) to(s *Stage) *Arm { return &Arm{Kind: ArmStage, Stage: s, Pos: b.pos()} }

func (b *build) max(s *Stage, n int) *Arm {
	return &Arm{Kind: ArmStage, Stage: s, Bounded: true, Max: n, Pos: b.pos()}
}

func (b *build) gate() *Arm { return &Arm{Kind: ArmGate, Pos: b.pos()} }

func (b *build) as(t Triage, code Code) *Arm {
	return &Arm{Kind: ArmGate, As: t, Code: code, Pos: b.pos()}
}

func (b *build) stop(e End, status string) *Arm {
	return &Arm{Kind: ArmStop, End: e, Status: status, Pos: b.pos()}
}

func (b *build) when(condition Expr, yes, no *Arm) *Arm {
	return &Arm{Kind: ArmWhen, Branches: []Branch{{If: condition, Arm: yes}}, Else: no, Pos: b.pos()}
}

// trivia is the trivia-card pipeline, so far as the graph goes.
func trivia() *build {
	b := newBuild()
	b.Gate.Candidate = []Member{{"card", whole("item")}, {"topic", whole("artifact.topic_miner")}, {"report", whole("artifact.verifier")}}
	miner, crafter, mme := b.stage("topic_miner"), b.stage("crafter"), b.stage("mme_crafter")
	verifier, repairer := b.stage("verifier", "accept", "repair", "reject", "abstain"), b.stage("repairer")
	miner.Code = "BAD"
	miner.FanOut = &FanOut{Each: get("output", "topics"), Key: get("each", "topic_id"), Min: 2, Max: 2, Code: "BAD"}
	verifier.Input = object("card", whole("item"))
	verifier.Outcome = get("output", "status")
	verifier.Forward, verifier.ForwardItem = whole("item"), true
	repairer.Input = object("card", whole("item"), "report", whole("artifact.verifier"))
	repairer.MayChange = get("artifact.verifier", "repair_fields")
	repairer.MustChange, repairer.Code = true, "BAD"
	b.route(b.when(is(get("item", "cat"), "music"), b.to(mme), b.to(crafter)), miner)
	b.route(b.to(verifier), crafter, mme)
	repair := b.max(repairer, 1)
	repair.Exhausted = b.stop(Failed, "repair")
	b.on(verifier, "accept", b.gate(), "repair", repair, "reject", b.stop(Rejected, "reject"), "abstain", b.stop(Rejected, "abstain"))
	b.route(b.to(verifier), repairer)
	b.Invariants = []*Invariant{{Text: "every card is verified after its last change", From: []*Stage{crafter, mme, repairer}, To: b.Gate, Through: verifier, Pos: b.pos()}}
	return b
}
