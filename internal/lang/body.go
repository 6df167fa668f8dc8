package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/penstock-run/penstock/internal/diag"
)

// topLevel are the blocks of a pipeline file, each with what its label is, ""
// for none.
var topLevel = map[string]*struct{ label string }{
	"pipeline":  {"name"},
	"variable":  {"name"},
	"locals":    {""},
	"plugin":    {"name"},
	"provider":  {"name"},
	"source":    {"name"},
	"stage":     {"name"},
	"route":     {"name"},
	"failure":   {"CODE"},
	"gate":      {"name"},
	"mode":      {"name"},
	"invariant": {"text"},
}

var topNames = []string{"pipeline", "variable", "locals", "plugin", "provider", "source", "stage", "route", "failure", "gate", "mode", "invariant"}

// shape is what may stand in a body.
type shape struct {
	need   []string // attributes that must be there
	may    []string // attributes that may be there
	blocks []blockShape
	// free bodies hold attributes of any name: locals, let.
	free bool
}

// blockShape is a block in a body.
type blockShape struct {
	name  string
	label string // what its label is; empty: it has none
	many  bool
	need  bool
}

func one(names ...string) []blockShape {
	var shapes []blockShape
	for _, name := range names {
		shapes = append(shapes, blockShape{name: name})
	}
	return shapes
}

// body is a body that was checked against its shape: what is not in it is absent.
type body struct {
	l      *loader
	at     hcl.Range // header of the block
	what   string    // `stage`, for messages: "a stage block"
	attrs  map[string]*hclsyntax.Attribute
	blocks map[string][]*hclsyntax.Block
	// inherited are the lets of the block and of those around it.
	inherited map[string]hcl.Expression
	// ok is false where something was complained of; what is absent then may
	// only be absent for that.
	ok bool
	// strange tells that something stands here under a name that nothing is
	// near to: it may be what seems to be missing.
	strange bool
	misused map[string]bool // blocks written as attributes and the reverse
}

// open checks the body of a block.
func (l *loader) open(b *hclsyntax.Block, s shape) *body {
	return l.openBody(b.Body, b.DefRange(), b.Type, s)
}

func (l *loader) openBody(syntax *hclsyntax.Body, at hcl.Range, what string, s shape) *body {
	if l.opts.opened != nil {
		l.opts.opened(what, s)
	}
	b := &body{l: l, at: at, what: what, attrs: map[string]*hclsyntax.Attribute{}, blocks: map[string][]*hclsyntax.Block{}, ok: true, misused: map[string]bool{}}
	b.takeNear(syntax, s)
	for _, attr := range inOrder(syntax.Attributes) {
		b.takeAttribute(attr, s)
	}
	for _, block := range syntax.Blocks {
		b.takeBlock(block, s)
	}
	for _, name := range s.need {
		if b.attrs[name] == nil && !b.strange && !b.misused[name] {
			b.missing(name)
		}
	}
	for _, block := range s.blocks {
		if block.need && len(b.blocks[block.name]) == 0 && !b.strange && !b.misused[block.name] {
			b.fail(at, missingBlock, fmt.Sprintf("%s block needs a block %s in it. Write\n    %s", indefinite(what), block.name, blockForms[block.name]))
		}
	}
	return b
}

// blockForms are the blocks that must be there as they may be written.
var blockForms = map[string]string{
	"corpus": "corpus \"jsonl\" {\n      data     = \"data/items.jsonl\"\n      evidence = \"meta/evidence.jsonl\"\n      record   = item\n    }",
	"else":   "else { outcome = \"ok\" }",
	"expect": "expect { outcome = \"ok\" }",
}

// takeNear takes what is misspelt as what it was meant to be, where that is
// missing: the complaint about the name comes alone then, without those about
// what lacks for it.
func (b *body) takeNear(syntax *hclsyntax.Body, s shape) {
	if s.free {
		return
	}
	attrs := slices.Concat(s.need, s.may)
	for _, attr := range inOrder(syntax.Attributes) {
		if meant := only(diag.Nearest(attr.Name, attrs)); meant != "" && !slices.Contains(attrs, attr.Name) && syntax.Attributes[meant] == nil && b.attrs[meant] == nil && habit(b.what, attr.Name) == "" {
			b.attrs[meant] = attr
		}
	}
	blocks := blockNames(s.blocks)
	for _, block := range syntax.Blocks {
		meant := only(diag.Nearest(block.Type, blocks))
		if meant == "" || slices.Contains(blocks, block.Type) || findBlock(syntax, meant) != nil || len(b.blocks[meant]) > 0 || habit(b.what, block.Type) != "" {
			continue
		}
		if i := slices.Index(blocks, meant); (s.blocks[i].label != "") == (len(block.Labels) == 1) {
			b.blocks[meant] = append(b.blocks[meant], block)
		}
	}
}

// only is the one element of a list, "" where there are none or several.
func only(list []string) string {
	if len(list) != 1 {
		return ""
	}
	return list[0]
}

func (b *body) takeAttribute(attr *hclsyntax.Attribute, s shape) {
	if s.free || slices.Contains(s.may, attr.Name) || slices.Contains(s.need, attr.Name) {
		b.attrs[attr.Name] = attr
		return
	}
	if i := slices.IndexFunc(s.blocks, func(bs blockShape) bool { return bs.name == attr.Name }); i >= 0 {
		label := ""
		if s.blocks[i].label != "" {
			label = ` "` + s.blocks[i].label + `"`
		}
		b.misused[attr.Name] = true
		b.fail(attr.SrcRange, notAnAttribute, fmt.Sprintf("Here %s is a block, without an equals sign:\n    %s%s { … }", attr.Name, attr.Name, label))
		return
	}
	b.fail(attr.NameRange, unknownAttribute, sentence(
		fmt.Sprintf("%s block has no attribute %q.", indefinite(b.what), attr.Name),
		b.instead(attr.Name, slices.Concat(s.need, s.may, blockNames(s.blocks)))))
}

// instead is what to write for a name that the block does not have.
func (b *body) instead(name string, names []string) string {
	if hint := habit(b.what, name); hint != "" {
		b.strange = true
		return hint
	}
	if len(diag.Nearest(name, names)) == 0 {
		b.strange = true
	}
	return meantOrAll(name, names)
}

// meantOrAll is the name that was most likely meant; where none is near, all
// that there are.
func meantOrAll(name string, names []string) string {
	if hint := diag.DidYouMean(name, names); hint != "" || len(names) == 0 {
		return hint
	}
	return "There are " + diag.List(names) + "."
}

func (b *body) takeBlock(block *hclsyntax.Block, s shape) {
	i := slices.IndexFunc(s.blocks, func(bs blockShape) bool { return bs.name == block.Type })
	if i < 0 {
		if slices.Contains(s.may, block.Type) || slices.Contains(s.need, block.Type) {
			b.misused[block.Type] = true
			b.fail(block.DefRange(), notABlock, fmt.Sprintf("Here %s is an attribute, with an equals sign:\n    %s = …", block.Type, block.Type))
			return
		}
		b.fail(block.TypeRange, unknownBlock, sentence(
			fmt.Sprintf("%s block has no block %q in it.", indefinite(b.what), block.Type),
			b.instead(block.Type, slices.Concat(blockNames(s.blocks), s.need, s.may))))
		return
	}
	if !b.l.checkLabels(block, s.blocks[i].label) {
		b.ok = false
		return
	}
	if first := b.blocks[block.Type]; len(first) > 0 && !s.blocks[i].many {
		b.ok = false
		b.l.twice(block.DefRange(), first[0].DefRange(), duplicateBlock, fmt.Sprintf("%s block holds one %s block. Move what this one says into the first.", indefinite(b.what), block.Type))
		return
	}
	b.blocks[block.Type] = append(b.blocks[block.Type], block)
}

func blockNames(shapes []blockShape) []string {
	var names []string
	for _, s := range shapes {
		names = append(names, s.name)
	}
	return names
}

func (b *body) fail(at hcl.Range, summary, detail string) {
	b.ok = false
	b.l.error(at, summary, detail)
}

func (b *body) missing(name string) {
	detail := fmt.Sprintf("%s block needs the attribute %s.", indefinite(b.what), name)
	if form, ok := forms[name]; ok {
		detail += fmt.Sprintf(" Write\n    %s = %s", name, form)
	}
	b.fail(b.at, missingAttribute, detail)
}

// forms are the attributes that must be there as they may be written.
var forms = map[string]string{
	"input": "2.5", "output": "10",
	"candidate": "{ card = item }", "code": "failure.X", "codes": "{ thin = failure.THIN }", "consecutive": "20",
	"data": `"data/${bucket}.jsonl"`, "each": "output.items", "evidence": `"meta/evidence.jsonl"`, "files": `["data/*.jsonl"]`, "from": "stage.x",
	"if": `item.x == "y"`, "key": "each.id", "max": "2", "meaning": `"What is wrong with an item that fails so."`, "message": `"n must be above 0"`,
	"model": `"MODEL"`, "outcome": `"ok"`, "plugin": "plugin.x", "question": `"Is ${item.name} right?"`, "record": "card", "resume": "stage.x",
	"schema": `"schemas/x.json"`, "size": "20", "stage": "stage.x",
}

// has reports whether the attribute stands there.
func (b *body) has(name string) bool { return b.attrs[name] != nil }

// expr is the attribute's expression, nil where it is absent.
func (b *body) expr(name string) hclsyntax.Expression {
	if attr := b.attrs[name]; attr != nil {
		return attr.Expr
	}
	return nil
}

// block is the only block of that name, nil where it is absent.
func (b *body) block(name string) *hclsyntax.Block {
	if list := b.blocks[name]; len(list) > 0 {
		return list[0]
	}
	return nil
}

// rangeOf is where the attribute stands, the header of the block where it does not.
func (b *body) rangeOf(name string) hcl.Range {
	if attr := b.attrs[name]; attr != nil {
		return attr.SrcRange
	}
	return b.at
}

// together complains where more than one of the names stands, and reports
// which one does.
func (b *body) together(names ...string) string {
	found := ""
	for _, name := range names {
		if !b.has(name) && b.block(name) == nil {
			continue
		}
		if found != "" {
			b.fail(b.place(name), oneOfSeveral, fmt.Sprintf("%s block has `%s` or `%s`, not both. Remove one.", indefinite(b.what), found, name))
			continue
		}
		found = name
	}
	return found
}

// place is where an attribute or a block of that name stands.
func (b *body) place(name string) hcl.Range {
	if block := b.block(name); block != nil {
		return block.DefRange()
	}
	return b.rangeOf(name)
}

// checkLabels reports whether a block has the one label that it should have,
// or none.
func (l *loader) checkLabels(b *hclsyntax.Block, label string) bool {
	want := 1
	if label == "" {
		want = 0
	}
	if len(b.Labels) == want {
		return true
	}
	at := b.DefRange()
	if len(b.LabelRanges) > want {
		at = b.LabelRanges[want]
	}
	form := b.Type + " { … }"
	if label != "" {
		form = fmt.Sprintf("%s %q { … }", b.Type, label)
	}
	l.error(at, wrongLabels, fmt.Sprintf("%s block is written\n    %s", indefinite(b.Type), form))
	return false
}

// indefinite begins a sentence about a kind of block: "An ask", "A stage".
func indefinite(what string) string {
	if strings.ContainsRune("aeiou", rune(what[0])) {
		return "An " + what
	}
	return "A " + what
}

// sentence joins what is not empty with a blank.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}
