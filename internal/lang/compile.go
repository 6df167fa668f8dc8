package lang

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
	"github.com/penstock-run/penstock/internal/schema"
)

// noType tells isPlain that any type will do.
var noType = cty.NilType

// task is an expression that waits until it is known what flows where.
type task struct {
	e    hcl.Expression
	want expr.Want
	at   place
	lets map[string]hcl.Expression
	set  func(dag.Expr)
	then func() // instead of all that: run when its turn comes
}

// cover is a choice whose conditions are proved to cover every case.
type cover struct {
	arm      *dag.Arm
	at       hcl.Range
	branches []hcl.Range
	elseAt   hcl.Range // zero: no else
}

// later puts an attribute off until names have types; nothing happens where it
// is absent.
func (b *body) later(name string, want expr.Want, at place, set func(dag.Expr)) {
	if e := b.expr(name); e != nil {
		b.l.compileLater(task{e: e, want: want, at: at, lets: b.inherited, set: set})
	}
}

func (l *loader) compileLater(t task) { l.later = append(l.later, t) }

// lets are the names that `let` blocks give to parts of expressions, those of
// the block around added.
func (b *body) lets(outer map[string]hcl.Expression) map[string]hcl.Expression {
	blocks := b.blocks["let"]
	if len(blocks) == 0 {
		return outer
	}
	lets := maps.Clone(outer)
	if lets == nil {
		lets = map[string]hcl.Expression{}
	}
	first := map[string]hcl.Range{}
	for _, block := range blocks {
		for _, attr := range inOrder(b.l.open(block, shape{free: true}).attrs) {
			if isReserved(attr.Name) {
				b.fail(attr.NameRange, reservedName, fmt.Sprintf("%q is a name of the language, and would be hidden by this one. Give it another name.", attr.Name))
				continue
			}
			if at, ok := first[attr.Name]; ok {
				b.ok = false
				b.l.twice(attr.NameRange, at, duplicateName, fmt.Sprintf("There is a `let` called %q here already. Give one of them another name.", attr.Name))
				continue
			}
			first[attr.Name] = attr.NameRange
			lets[attr.Name] = attr.Expr
		}
	}
	return lets
}

// compileAll compiles what was put off, then proves that choices cover every case.
func (l *loader) compileAll() {
	l.types = l.newFlow()
	for _, t := range l.later {
		if t.then != nil {
			t.then()
			continue
		}
		if l.readsPoisoned(t.e) || l.letsPoisoned(t.lets) {
			continue
		}
		env := *l.types.env(t.at)
		env.Lets = t.lets
		x, diags := expr.Compile(t.e, &env, t.want)
		if l.gate != nil && l.gate.vague && t.at.kind > atCandidate {
			for _, d := range diags {
				if m, ok := hcl.DiagnosticExtra[expr.Missing](d); ok && m.Member == "" {
					diag.With(d, diag.Info{Cascade: true}) // it may be a member of the candidate
				}
			}
		}
		l.take(diags)
		if x != nil && !diags.HasErrors() {
			t.set(x)
		}
	}
	for _, c := range l.covers {
		l.proveCover(c)
	}
}

func (l *loader) letsPoisoned(lets map[string]hcl.Expression) bool {
	for _, e := range lets {
		if l.readsPoisoned(e) {
			return true
		}
	}
	return false
}

func (l *loader) proveCover(c cover) {
	var conds []dag.Expr
	for _, b := range c.arm.Branches {
		if b.If == nil {
			return // complained of
		}
		conds = append(conds, b.If)
	}
	coverage := expr.Cover(conds)
	for _, i := range coverage.Dead {
		l.error(c.branches[i], deadArm, "This condition can never be the first to hold: those before it take every case that it names. Remove it, or move it forward.")
	}
	hasElse := c.arm.Else != nil
	switch {
	case hasElse && coverage.Always:
		l.error(c.elseAt, deadArm, "The conditions before it cover every case, so the `else` is never taken. Remove it.")
	case !hasElse && c.elseAt == (hcl.Range{}) && !coverage.Complete:
		missing := coverage.Missing
		if missing == "" {
			missing = "some case is left"
		}
		l.error(c.at, openWhen, fmt.Sprintf("The conditions are not proved to cover every case: %s. Write an `else { … }`, or a `when` for what is left.", missing))
	}
}

// schema reads and compiles the JSON Schema that an attribute names.
func (b *body) schema(name string) dag.Schema {
	if _, written := b.expr(name).(*hclsyntax.ObjectConsExpr); written {
		b.fail(b.expr(name).Range(), wrongType, fmt.Sprintf("A schema stands in a file of its own, in JSON. Write its name here:\n    %s = \"schemas/x.json\"", name))
		b.l.schemaless = true
		return nil
	}
	path := b.file(name)
	if path == "" {
		b.l.schemaless = b.l.schemaless || b.has(name)
		return nil
	}
	if s, ok := b.l.schemas[path]; ok {
		return s
	}
	s := b.l.readSchema(path, b.expr(name).Range())
	b.l.schemas[path] = s
	b.l.schemaless = b.l.schemaless || s == nil
	return s
}

const maxSchema = 4 << 20 // bytes of one schema file

func (l *loader) readSchema(path string, at hcl.Range) dag.Schema {
	src, err := readBounded(l.fsys, path, maxSchema)
	if err != nil {
		detail := fmt.Sprintf("The schema %s could not be read: %s.", path, reason(err))
		if info, statErr := fs.Stat(l.fsys, path); statErr == nil && info.IsDir() {
			detail = fmt.Sprintf("%s is a directory. Name a file in it, such as\n    schema = \"%[1]s/x.json\"", path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			detail = fmt.Sprintf("There is no file %s. %s", path, cmp.Or(expr.NearFile(l.fsys, path), "Paths are relative to the pipeline's directory."))
		}
		l.error(at, badSchema, detail)
		return nil
	}
	s, err := schema.Compile(path, src)
	if err != nil {
		l.error(at, badSchema, fmt.Sprintf("%s.", err))
		return nil
	}
	return s
}

// addresses gives each diagnostic the block that it is about, found by its place.
func (l *loader) addresses() {
	for _, d := range l.diags {
		if d.Subject == nil || diag.InfoOf(d).Address != "" {
			continue
		}
		if address := l.address(*d.Subject); address != "" {
			diag.With(d, diag.Info{Address: address})
		}
	}
}

// address names the block at a place, and for a large block the part of it.
func (l *loader) address(r hcl.Range) string {
	for _, body := range l.bodies {
		if body.SrcRange.Filename != r.Filename {
			continue
		}
		if b := blockAt(body.Blocks, r); b != nil {
			address := blockName(b)
			if inner := blockAt(b.Body.Blocks, r); inner != nil && len(inner.Labels) > 0 {
				address += ", " + blockName(inner)
			}
			return address
		}
	}
	return ""
}

func blockAt(blocks hclsyntax.Blocks, r hcl.Range) *hclsyntax.Block {
	for _, b := range blocks {
		// An empty range of a proof has no byte, only line and column.
		start, end := b.Range().Start, b.CloseBraceRange.End
		if before(start, r.Start) && before(r.Start, end) {
			return b
		}
	}
	return nil
}

func before(a, b hcl.Pos) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Column <= b.Column
}

func blockName(b *hclsyntax.Block) string {
	if len(b.Labels) == 0 {
		return b.Type
	}
	return fmt.Sprintf("%s %q", b.Type, b.Labels[0])
}
