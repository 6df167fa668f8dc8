package lang

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/penstock-run/penstock/internal/diag"
)

// read finds the files of the pipeline, guards them and parses them. It
// reports whether anything can be made of them.
func (l *loader) read() bool {
	if l.opts.FS == nil {
		l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: noPipeline, Detail: "No directory was given to read it from."})
		return false
	}
	dir, main := path.Split(path.Clean(l.opts.File))
	l.fsys.under = l.opts.FS
	if dir != "" {
		sub, err := fs.Sub(l.opts.FS, path.Clean(dir))
		if err != nil {
			l.fileError(l.opts.File, err)
			return false
		}
		l.fsys.under = sub
	}
	names, err := l.list(main)
	if err != nil {
		l.fileError(main, err)
		return false
	}
	ok := true
	for _, name := range names {
		if l.opts.Tests || !isTest(name) {
			ok = l.readFile(name) && ok
		}
	}
	ok = l.readLock(main) && ok
	clear(l.fsys.seen)
	return ok
}

// testsFolder may hold tests, beside those that lie by the pipeline.
const testsFolder = "tests"

func isTest(name string) bool { return strings.HasSuffix(name, ".test.hcl") }

// list names the files of the pipeline: the main file first, then those beside
// it, its tests among them, then those of tests/.
func (l *loader) list(main string) ([]string, error) {
	entries, err := fs.ReadDir(l.fsys.under, ".")
	if err != nil {
		return nil, err
	}
	names := []string{main}
	add := func(folder string, e fs.DirEntry, wanted bool) {
		name := path.Join(folder, e.Name())
		if name == main || e.IsDir() || strings.HasPrefix(e.Name(), ".") { // as a shell's *: editors keep locks there
			return
		}
		if wanted {
			names = append(names, name)
		}
	}
	for _, e := range entries {
		add("", e, strings.HasSuffix(e.Name(), ".pipeline.hcl") || isTest(e.Name()))
	}
	// What is no folder of tests, or cannot be read, holds none.
	entries, err = fs.ReadDir(l.fsys.under, testsFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && l.opts.Tests {
		if info, statErr := fs.Stat(l.fsys.under, testsFolder); statErr == nil && info.IsDir() {
			return nil, err
		}
	}
	for _, e := range entries {
		add(testsFolder, e, isTest(e.Name()))
	}
	return names, nil
}

func (l *loader) fileError(name string, err error) {
	detail := fmt.Sprintf("%s could not be read: %s.", name, reason(err))
	if info, statErr := fs.Stat(l.fsys.under, name); statErr == nil && info.IsDir() {
		detail = fmt.Sprintf("%s is a directory. Name a file in it with -f FILE, or the directory of a pipeline with -C DIR.", name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		detail = fmt.Sprintf("There is no file %s here. Write one, start with\n    penstock init\nor name another with -f FILE or -C DIR.", name)
	}
	l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: noPipeline, Detail: detail})
}

// reason is the cause of a file error without the path, which is said already.
func reason(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err.Error()
	}
	return err.Error()
}

func (l *loader) readFile(name string) bool {
	src, err := readBounded(l.fsys, name, maxFile+1)
	if err != nil {
		l.fileError(name, err)
		return false
	}
	l.files.Sources[name] = src
	if d := guard(name, src); d != nil {
		l.diags = append(l.diags, d)
		return false
	}
	body, diags := parse(name, src, formPipeline)
	l.diags = append(l.diags, diags...)
	if diags.HasErrors() {
		return false
	}
	l.bodies = append(l.bodies, body)
	l.duplicateKeys(body)
	if isTest(name) {
		l.sortTests(name, body)
	} else {
		l.sortBlocks(body)
	}
	return true
}

func readBounded(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// sortBlocks takes the top level of a file apart.
func (l *loader) sortBlocks(body *hclsyntax.Body) {
	for _, attr := range inOrder(body.Attributes) {
		l.error(attr.NameRange, strayAttribute, fmt.Sprintf("At the top of a file stand blocks. A named value is written in a block:\n    locals {\n      %s = …\n    }", attr.Name))
	}
	for _, b := range body.Blocks {
		switch {
		case b.Type == "test":
			l.error(b.TypeRange, misplacedBlock, "A test block stands in a file of its own, called *.test.hcl.")
		default:
			l.takeTop(b)
		}
	}
}

// takeTop takes a block of the top level. One that is misspelt is taken as what
// it was meant to be, so that what refers to it is not complained of.
func (l *loader) takeTop(b *hclsyntax.Block) {
	if topLevel[b.Type] == nil {
		hint := habit("top", b.Type)
		meant := ""
		if hint == "" {
			meant = only(diag.Nearest(b.Type, topNames))
			hint = meantOrAll(b.Type, topNames)
		}
		l.error(b.TypeRange, unknownBlock, sentence(fmt.Sprintf("There is no block called %q at the top of a pipeline.", b.Type), hint))
		if topLevel[meant] == nil || len(b.Labels) == 1 != (topLevel[meant].label != "") {
			l.broken, l.misnamed = true, true
			for _, label := range b.Labels {
				l.strays[label] = true
			}
			return
		}
		renamed := *b
		renamed.Type = meant
		b = &renamed
	}
	if !l.checkLabels(b, topLevel[b.Type].label) {
		l.broken = true
		l.holes[b.Type] = true
		return
	}
	l.blocks[b.Type] = append(l.blocks[b.Type], b)
}

// excused tells whether a name of a kind may be unknown only because its block
// could not be read, which is complained of already.
func (l *loader) excused(kind, name string) bool {
	return l.strays[name] || l.holes[kind] && len(diag.Nearest(name, l.names[kind].names)) == 0
}

// duplicateKeys finds object constructors that name a key twice: HCL lets the
// last one win silently.
func (l *loader) duplicateKeys(body *hclsyntax.Body) {
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		object, ok := n.(*hclsyntax.ObjectConsExpr)
		if !ok {
			return nil
		}
		first := map[string]hcl.Range{}
		for _, item := range object.Items {
			key, ok := literalKey(item.KeyExpr)
			if !ok {
				continue
			}
			if at, seen := first[key]; seen {
				l.keys[item.KeyExpr.Range()] = true
				l.twice(item.KeyExpr.Range(), at, duplicateKey, fmt.Sprintf("This object has the key %q already; the second value would silently replace the first. Remove one.", key))
				continue
			}
			first[key] = item.KeyExpr.Range()
		}
		return nil
	})
}

// literalKey is the key of an object constructor where it is written out.
func literalKey(e hclsyntax.Expression) (string, bool) {
	if word := hcl.ExprAsKeyword(e); word != "" {
		return word, true
	}
	if wrapped, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		e = wrapped.Wrapped
	}
	if len(e.Variables()) > 0 {
		return "", false
	}
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() {
		return "", false
	}
	v, diags := t.Value(nil)
	if diags.HasErrors() {
		return "", false
	}
	return v.AsString(), true
}

// inOrder gives attributes in the order of the file.
func inOrder(attrs hclsyntax.Attributes) []*hclsyntax.Attribute {
	list := make([]*hclsyntax.Attribute, 0, len(attrs))
	for _, a := range attrs {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte })
	return list
}
