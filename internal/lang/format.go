package lang

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/penstock-run/penstock/internal/diag"
)

// FormatFiles names the files of a pipeline whose layout Format knows, the main
// file first.
func FormatFiles(opts Options) ([]string, error) {
	l := newLoader(opts)
	l.fsys.under = opts.FS
	return l.list(l.opts.File)
}

// Format gives the text of a pipeline file in the one layout. Only white space
// within lines changes: a text that does not parse is refused, and a block that
// cannot be laid out is left as it is, with a warning.
func Format(name string, src []byte) ([]byte, hcl.Diagnostics) {
	if d := guard(name, src); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	body, diags := parse(name, src, formPipeline)
	if diags.HasErrors() {
		return nil, diags
	}
	src = endsLine(src)
	if out, ok := laidOut(name, src); ok {
		return out, nil
	}
	// Block by block, so that only the one that cannot be laid out stays.
	var out []byte
	var kept hcl.Diagnostics
	done := 0
	for _, part := range parts(src, body) {
		chunk := src[part.start:part.end]
		formatted, ok := laidOut(name, chunk)
		if !ok {
			formatted = chunk
			kept = append(kept, diag.Warning(part.at, notLaidOut, "A heredoc in it holds an expression of several lines, which cannot be laid out. Move the text to a file of its own and read it with file, or write the expression in one line."))
		}
		out = append(append(out, src[done:part.start]...), formatted...)
		done = part.end
	}
	return append(out, src[done:]...), kept
}

// endsLine gives a text its last line feed.
func endsLine(src []byte) []byte {
	if len(src) == 0 || bytes.HasSuffix(src, []byte("\n")) {
		return src
	}
	return append(slices.Clone(src), '\n')
}

// laidOut is the layout of a text; ok is false where it must be left as it is.
func laidOut(name string, src []byte) (out []byte, ok bool) {
	if breaksLayout(tokens(name, src)) {
		return nil, false
	}
	out = hclwrite.Format(src)
	return out, sameTokens(name, src, out)
}

// breaksLayout reports whether a heredoc holds an interpolation of several lines:
// the layout takes those lines for lines of the block, moves them, and loses the
// indent of all that follows.
func breaksLayout(all hclsyntax.Tokens) bool {
	heredocs := 0
	var open []int // lines on which templates in a heredoc began
	for _, t := range all {
		switch t.Type {
		case hclsyntax.TokenOHeredoc:
			heredocs++
		case hclsyntax.TokenCHeredoc:
			heredocs--
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			open = append(open, t.Range.Start.Line)
		case hclsyntax.TokenTemplateSeqEnd:
			if len(open) == 0 {
				return true // no text that parses
			}
			if heredocs > 0 && open[len(open)-1] != t.Range.Start.Line {
				return true
			}
			open = open[:len(open)-1]
		}
	}
	return false
}

// part is a top-level block in whole lines.
type part struct {
	start, end int
	at         hcl.Range
}

func parts(src []byte, body *hclsyntax.Body) []part {
	var all []part
	for _, b := range body.Blocks {
		r := b.Range()
		start := bytes.LastIndexByte(src[:r.Start.Byte], '\n') + 1
		end := len(src)
		if i := bytes.IndexByte(src[b.CloseBraceRange.End.Byte:], '\n'); i >= 0 {
			end = b.CloseBraceRange.End.Byte + i + 1
		}
		if n := len(all); n > 0 && start < all[n-1].end { // two blocks in one line
			all[n-1].end = end
			continue
		}
		all = append(all, part{start, end, b.DefRange()})
	}
	return all
}

// sameTokens reports whether two texts differ in nothing but white space between
// tokens. Heredocs and comments are tokens, byte for byte.
func sameTokens(name string, a, b []byte) bool {
	left, right := tokens(name, a), tokens(name, b)
	return slices.EqualFunc(left, right, func(x, y hclsyntax.Token) bool {
		return x.Type == y.Type && bytes.Equal(trimmed(x), trimmed(y))
	})
}

func tokens(name string, src []byte) hclsyntax.Tokens {
	all, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos) // what it would say, the parser has said
	return all
}

// trimmed is a token's text; the mark that ends a heredoc may stand anywhere in
// its line, and a comment may end in blanks.
func trimmed(t hclsyntax.Token) []byte {
	switch t.Type {
	case hclsyntax.TokenCHeredoc:
		return bytes.TrimSpace(t.Bytes)
	case hclsyntax.TokenComment:
		return bytes.TrimRight(t.Bytes, " \t\n")
	}
	return t.Bytes
}
