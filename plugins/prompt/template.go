package prompt

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"github.com/penstock-run/penstock/internal/diag"
)

// A range in a range over a large document must neither fill the memory nor
// run for ever.
const (
	maxPrompt = 16 << 20 // bytes that a template renders to
	maxRounds = 1_000_000
)

// Template is a compiled template. It may be used by several goroutines.
type Template struct {
	source string
	tmpl   *template.Template
	reads  *parse.Pos // where it first reads its document; nil: nowhere
	names  []named    // that it reads of the document itself
}

// named is a path of names into the document, at a byte offset of the source.
type named struct {
	at   parse.Pos
	path []string
}

// TemplateError says where in a template something is wrong, and what.
type TemplateError struct {
	Line   int
	Column int // 0: not known
	Reason string
}

func (e *TemplateError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// CompileTemplate reads a template; the error is a *TemplateError.
func CompileTemplate(source string) (*Template, error) {
	const name = "template"
	if !utf8.ValidString(source) {
		return nil, &TemplateError{Line: 1, Reason: "the text is not UTF-8"}
	}
	tree := parse.New(name)
	// Names of functions are checked below, where their place is known.
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(source, "", "", trees); err != nil {
		return nil, parseError(err)
	}
	for other := range trees {
		if other != name {
			return nil, &TemplateError{Line: 1, Reason: fmt.Sprintf("define and block are not supported: a prompt is one template (%q is defined in it)", other)}
		}
	}
	r := &rewriter{source: source}
	r.node(tree.Root)
	if r.err != nil {
		return nil, r.err
	}
	t := &Template{source: source, reads: r.reads, names: r.names}
	tmpl, err := template.New(name).Funcs(t.functions()).AddParseTree(name, tree)
	if err != nil {
		return nil, &TemplateError{Line: 1, Reason: err.Error()}
	}
	t.tmpl = tmpl
	return t, nil
}

// readsInput complains of a template that reads its document; nil for one that is
// the same text for all documents, and for no template.
func (t *Template) readsInput() error {
	if t == nil || t.reads == nil {
		return nil
	}
	return errorAt(t.source, int(*t.reads), "with data = true the input stands in its own document behind the template, and no part of it in the template or the system text; name it in words (\"the card\", \"its field q\") instead, or set data = false")
}

var parsePrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^template: template:(\d+): `) })

// parseError takes the place out of the message of text/template, which has it
// nowhere else.
func parseError(err error) *TemplateError {
	text := err.Error()
	if m := parsePrefix().FindStringSubmatch(text); m != nil {
		if line, convErr := strconv.Atoi(m[1]); convErr == nil {
			return &TemplateError{Line: line, Reason: text[len(m[0]):]}
		}
	}
	return &TemplateError{Line: 1, Reason: text}
}

// Render fills the template with a JSON document. The error is a
// *TemplateError where the document lacks what the template names.
func (t *Template) Render(document []byte) (string, error) {
	root, err := decode(document)
	if err != nil {
		return "", fmt.Errorf("the input: %w", err)
	}
	tmpl, err := t.tmpl.Clone()
	if err != nil {
		return "", err
	}
	rounds := 0
	tmpl.Funcs(template.FuncMap{"_range": t.ranger(&rounds)})
	out := &bounded{}
	if err := tmpl.Execute(out, root); err != nil {
		var own *TemplateError
		if errors.As(err, &own) {
			return "", own
		}
		if errors.Is(err, errTooLong) {
			return "", fmt.Errorf("the prompt is longer than %d MiB", maxPrompt>>20)
		}
		return "", executionError(err)
	}
	return out.text.String(), nil
}

var executionPrefix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^template: template:(\d+):(\d+): executing "template" at .*?: `)
})

// executionError takes the place out of a message of text/template itself,
// such as a range over a number that is none.
func executionError(err error) *TemplateError {
	text := err.Error()
	if m := executionPrefix().FindStringSubmatch(text); m != nil {
		line, lineErr := strconv.Atoi(m[1])
		column, columnErr := strconv.Atoi(m[2])
		if lineErr == nil && columnErr == nil {
			return &TemplateError{Line: line, Column: column + 1, Reason: text[len(m[0]):]}
		}
	}
	return &TemplateError{Line: 1, Reason: text}
}

var errTooLong = errors.New("too long")

type bounded struct{ text strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxPrompt {
		return 0, errTooLong
	}
	return b.text.Write(p)
}

// place is a byte offset of the source in lines and columns.
func place(source string, offset int) (line, column int) {
	before := source[:min(max(offset, 0), len(source))]
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

func errorAt(source string, offset int, format string, args ...any) *TemplateError {
	line, column := place(source, offset)
	return &TemplateError{Line: line, Column: column, Reason: fmt.Sprintf(format, args...)}
}

// rewriter checks a parsed template and puts this package's own look-up and
// printing into it, since those of text/template are silent about what is
// missing and know no nearest name.
type rewriter struct {
	source string
	err    error      // the first
	reads  *parse.Pos // of the document, the first
	names  []named    // of the document
	inner  int        // how many with and range are around, in which the dot is another
}

func (r *rewriter) read(at parse.Pos, path []string) {
	if r.reads == nil {
		r.reads = &at
	}
	if len(path) > 0 {
		r.names = append(r.names, named{at, path})
	}
}

func (r *rewriter) fail(at parse.Pos, format string, args ...any) {
	if r.err == nil {
		r.err = errorAt(r.source, int(at), format, args...)
	}
}

func (r *rewriter) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				r.node(child)
			}
		}
	case *parse.ActionNode:
		text := source(n.Pipe)
		r.pipe(n.Pipe)
		if len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, call(n.Pipe.Pos, "_print", number(n.Pipe.Pos), literal(n.Pipe.Pos, text)))
		}
	case *parse.IfNode:
		r.branch(&n.BranchNode)
	case *parse.RangeNode:
		text := source(n.Pipe)
		r.inside(&n.BranchNode)
		n.Pipe.Cmds = append(n.Pipe.Cmds, call(n.Pipe.Pos, "_range", number(n.Pipe.Pos), literal(n.Pipe.Pos, text)))
	case *parse.WithNode:
		r.inside(&n.BranchNode)
	case *parse.TemplateNode:
		r.fail(n.Pos, "template is not supported: a prompt is one template")
	}
}

// source is a pipe as it is written, without the variables that it sets.
func source(p *parse.PipeNode) string {
	commands := make([]string, len(p.Cmds))
	for i, c := range p.Cmds {
		commands[i] = c.String()
	}
	return strings.Join(commands, " | ")
}

func (r *rewriter) branch(n *parse.BranchNode) {
	r.pipe(n.Pipe)
	r.node(n.List)
	r.node(n.ElseList)
}

// inside is a branch whose list has a dot of its own.
func (r *rewriter) inside(n *parse.BranchNode) {
	r.pipe(n.Pipe)
	r.inner++
	r.node(n.List)
	r.inner--
	r.node(n.ElseList)
}

func (r *rewriter) pipe(p *parse.PipeNode) {
	for i, command := range p.Cmds {
		piped := 0
		if i > 0 {
			piped = 1
		}
		r.command(command, piped)
	}
}

func (r *rewriter) command(c *parse.CommandNode, piped int) {
	if function, ok := c.Args[0].(*parse.IdentifierNode); ok {
		r.call(function, len(c.Args)-1+piped)
	} else if n := len(c.Args) - 1 + piped; n > 0 {
		r.fail(c.Args[0].Position(), "%s is not a function and takes no argument", c.Args[0])
	}
	for i, arg := range c.Args {
		c.Args[i] = r.argument(arg, i == 0)
	}
}

func (r *rewriter) call(function *parse.IdentifierNode, args int) {
	bounds, ok := arity[function.Ident]
	if !ok {
		reason := fmt.Sprintf("there is no function %q", function.Ident)
		if did := diag.DidYouMean(function.Ident, functionNames()); did != "" {
			reason += "; " + strings.TrimSuffix(lowerFirst(did), ".")
		} else if args == 0 {
			reason += fmt.Sprintf("; what the input has is read with a dot before it, as in {{ .%s }}", function.Ident)
		}
		r.fail(function.Pos, "%s", reason)
		return
	}
	if args < bounds.min || bounds.max > 0 && args > bounds.max {
		r.fail(function.Pos, "%s takes %s, not %d", function.Ident, bounds, args)
	}
}

// argument replaces a look-up by a call of _at, which knows its place.
func (r *rewriter) argument(n parse.Node, first bool) parse.Node {
	switch n := n.(type) {
	case *parse.FieldNode:
		start := n.Pos
		if len(n.Ident) > 1 { // the parser gives such a node the place of its second name
			start -= parse.Pos(1 + len(n.Ident[0]))
		}
		path := n.Ident
		if r.inner > 0 {
			path = nil // of a part of the document
		}
		r.read(start, path)
		return lookUp(start, &parse.DotNode{NodeType: parse.NodeDot, Pos: n.Pos}, "", n.Ident)
	case *parse.DotNode:
		r.read(n.Pos, nil)
	case *parse.VariableNode:
		if start := n.Pos; n.Ident[0] == "$" {
			if len(n.Ident) > 1 { // it has the place of its second name
				start--
			}
			r.read(start, n.Ident[1:])
		}
		if len(n.Ident) > 1 {
			return lookUp(n.Pos, &parse.VariableNode{NodeType: parse.NodeVariable, Pos: n.Pos, Ident: n.Ident[:1]}, n.Ident[0], n.Ident[1:])
		}
	case *parse.ChainNode:
		label := n.Node.String()
		if root, ok := n.Node.(*parse.IdentifierNode); ok {
			path := strings.Join(n.Field, ".")
			r.fail(root.Pos, "there is no name %q: what the input has is read with a dot before it, as in {{ .%s }}; the whole input is {{ json . }}", root.Ident, path)
			return n
		}
		if _, ok := n.Node.(*parse.PipeNode); ok {
			label = "(" + label + ")"
		}
		return lookUp(n.Pos, r.argument(n.Node, true), label, n.Field)
	case *parse.PipeNode:
		r.pipe(n)
	case *parse.IdentifierNode:
		if !first { // a function without arguments, as an argument
			r.call(n, 0)
		}
	}
	return n
}

func lookUp(at parse.Pos, base parse.Node, label string, path []string) parse.Node {
	args := []parse.Node{number(at), literal(at, label), base}
	for _, name := range path {
		args = append(args, literal(at, name))
	}
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: at, Cmds: []*parse.CommandNode{call(at, "_at", args...)}}
}

func call(at parse.Pos, function string, args ...parse.Node) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at, Args: append([]parse.Node{parse.NewIdentifier(function).SetPos(at)}, args...)}
}

func number(at parse.Pos) parse.Node {
	return &parse.NumberNode{NodeType: parse.NodeNumber, Pos: at, IsInt: true, Int64: int64(at), Text: strconv.Itoa(int(at))}
}

func literal(at parse.Pos, s string) parse.Node {
	return &parse.StringNode{NodeType: parse.NodeString, Pos: at, Quoted: strconv.Quote(s), Text: s}
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
