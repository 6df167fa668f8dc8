package expr

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/penstock-run/penstock/dag"
)

// frame is one evaluation: the scope that it reads, what it has read so far,
// and the error of the scope, if one came up.
type frame struct {
	scope dag.Scope // nil: a constant is computed
	names []dag.Name
	docs  []slot
	room  []slot // where docs lies
	seen  *[]dag.Seen
	err   error // not the item's fault: passed on as it is

	rounds int  // of all loops so far, each as large as what it made
	spent  bool // there were too many rounds, and it was said
}

type slot struct {
	doc    dag.Doc
	loaded bool
	// Names of an object are in order, and conditions read them often in that
	// order too: a search for a later name begins where the last one ended.
	last string // the attribute that was found last
	next int    // where the name after it begins
}

// frames are those that nobody uses: an item is asked a few dozen expressions, and
// what a frame takes of memory was a fifth of what judging it took.
var frames = sync.Pool{New: func() any { return &frame{room: make([]slot, 4)} }}

func newFrame(s dag.Scope, names []dag.Name, seen *[]dag.Seen) *frame {
	f := frames.Get().(*frame)
	if len(f.room) < len(names) {
		f.room = make([]slot, len(names))
	}
	f.scope, f.names, f.docs, f.seen = s, names, f.room[:len(names)], seen
	return f
}

// done gives a frame back. What was made in it may not read it any more.
func (f *frame) done() {
	clear(f.docs)
	*f = frame{room: f.room}
	frames.Put(f)
}

// doc looks up a name, once in an evaluation: a name must not change its value
// half-way through a condition.
func (f *frame) doc(i int) (dag.Doc, bool) {
	s := &f.docs[i]
	if s.loaded {
		return s.doc, true
	}
	if f.err != nil {
		return dag.Doc{}, false
	}
	d, err := f.scope.Lookup(f.names[i])
	if err != nil {
		f.err = err
		return dag.Doc{}, false
	}
	s.doc, s.loaded = d, true
	return d, true
}

// bytes gives the JSON of a name; null where there is nothing.
func (f *frame) bytes(i int) ([]byte, bool) {
	d, ok := f.doc(i)
	switch {
	case !ok:
		return nil, false
	case d.IsNull():
		return rawNull, true
	case d.Bytes == nil:
		f.err = &dag.Error{Op: "read", Subject: f.names[i].String(), Kind: dag.KindInfrastructure, Code: dag.EStore,
			Err: fmt.Errorf("the document %s is named but not loaded", d.Digest.Short())}
		return nil, false
	}
	return d.Bytes, true
}

// read gives the raw value at a path and notes that it was read.
func (f *frame) read(p *path) (raw []byte, prob *problem, ok bool) {
	b, ok := f.bytes(p.slot)
	if !ok {
		return nil, nil, false
	}
	raw, prob = f.docs[p.slot].follow(b, p.steps)
	if f.seen != nil {
		if prob != nil {
			f.note(p.text, rawNull)
		} else {
			f.note(p.text, raw)
		}
	}
	return raw, prob, prob == nil
}

// follow takes steps in a document, and remembers where the first one led.
func (s *slot) follow(b []byte, steps []step) ([]byte, *problem) {
	if len(steps) == 0 || steps[0].isIndex {
		return follow(b, steps)
	}
	from := 1
	if s.next > 0 && s.next < len(b) && steps[0].attr > s.last {
		from = s.next
	}
	value, next, ok := memberFrom(b, steps[0].quoted, from)
	if !ok || value == nil { // not there, or the names are not in order: look at all, and say what is wrong
		return follow(b, steps)
	}
	s.last, s.next = steps[0].attr, next
	raw, prob := follow(value, steps[1:])
	if prob != nil {
		prob.at++
	}
	return raw, prob
}

// readSoft is read as get does it: only the first hard steps must be there.
func (f *frame) readSoft(p *path, hard int) (raw []byte, prob *problem, ok bool) {
	b, ok := f.bytes(p.slot)
	if !ok {
		return nil, nil, false
	}
	if raw, prob = follow(b, p.steps[:hard]); prob != nil {
		raw = rawNull
	} else {
		raw = soft(raw, p.steps[hard:])
	}
	if f.seen != nil {
		f.note(p.text, raw)
	}
	return raw, prob, prob == nil
}

func (f *frame) note(text string, raw []byte) {
	for _, s := range *f.seen {
		if s.Path == text {
			return
		}
	}
	*f.seen = append(*f.seen, dag.Seen{Path: text, JSON: shorten(raw)})
}

// HCL's evaluator hands its context down to every node. The frame travels in
// it as a variable that no expression can name.
const frameVariable = "\x00frame"

var frameType = cty.Capsule("frame", reflect.TypeFor[frame]())

func (f *frame) context(functions map[string]function.Function) *hcl.EvalContext {
	return &hcl.EvalContext{
		Variables: map[string]cty.Value{frameVariable: cty.CapsuleVal(frameType, f)},
		Functions: functions,
	}
}

func frameOf(ctx *hcl.EvalContext) *frame {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[frameVariable]; ok {
			return v.EncapsulatedValue().(*frame)
		}
	}
	return nil
}

// value evaluates a node the general way. A failure is content.
func (x *compiled) value(f *frame, n hclsyntax.Expression) (v cty.Value, err error) {
	// big.Float panics on inf - inf and the like, and cty on some values that
	// were never meant to meet. An item must not be able to stop the engine.
	defer func() {
		if r := recover(); r != nil {
			v, err = cty.NilVal, x.fail(n.Range(), fmt.Sprintf("It cannot be computed: %v.", r))
		}
	}()
	v, diags := n.Value(f.context(x.functions))
	if f.err != nil {
		return cty.NilVal, f.err
	}
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			rng := n.Range()
			if d.Subject != nil {
				rng = *d.Subject
			}
			_, detail := wordsOf(d)
			return cty.NilVal, x.fail(rng, detail)
		}
	}
	switch {
	case !v.IsKnown():
		return cty.NilVal, x.fail(n.Range(), "Its value is not known.")
	case v.ContainsMarked():
		return cty.NilVal, x.fail(n.Range(), "It is sensitive, and a sensitive value may not be read here.")
	}
	return v, nil
}

// fail is a failure of the item, with the place of the expression in it.
func (x *compiled) fail(rng hcl.Range, detail string) *dag.Failure {
	return dag.Fail(dag.EExpr, "%s: %s", posOf(rng), strings.Join(strings.Fields(detail), " "))
}

func posOf(r hcl.Range) dag.Pos {
	return dag.Pos{File: r.Filename, Line: r.Start.Line, Column: r.Start.Column}
}
