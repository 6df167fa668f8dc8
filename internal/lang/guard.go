package lang

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/penstock-run/penstock/internal/diag"
)

const (
	maxFile = 1 << 20 // bytes of one file
	// maxNesting is how deep brackets may stand in brackets. The parser
	// recurses, and a stack overflow cannot be caught.
	maxNesting = 256
	// maxChain is how many operators, indexes, attributes and template
	// directives may follow one another in one expression: what is parsed in a
	// loop is still a tree that leans to one side, and evaluation recurses.
	maxChain = 2000
)

// guard refuses what must not reach the parser. It gives the first fault only:
// behind it nothing can be trusted.
func guard(name string, src []byte) *hcl.Diagnostic {
	at := func(offset, length int) hcl.Range { return rangeOf(name, src, offset, length) }
	if len(src) > maxFile {
		return diag.Error(hcl.Range{Filename: name}, fileTooLarge, "A pipeline file is at most 1 MiB. Move data to files of their own and read them with file, jsondecode or a source block.")
	}
	if bytes.HasPrefix(src, []byte("\xFF\xFE")) || bytes.HasPrefix(src, []byte("\xFE\xFF")) {
		return diag.Error(hcl.Range{Filename: name}, notText, "The file is saved as UTF-16. Save it as UTF-8.")
	}
	if bytes.IndexByte(src, 0) >= 0 {
		return diag.Error(hcl.Range{Filename: name}, notText, "The file holds bytes that no text has. Is it another file than the one that was meant? A pipeline is text in UTF-8.")
	}
	if bytes.HasPrefix(src, []byte("\xEF\xBB\xBF")) {
		return diag.Error(at(0, 3), byteOrderMark, "The file starts with a byte order mark. Save it as UTF-8 without one.")
	}
	if i := bytes.IndexByte(src, '\r'); i >= 0 {
		return diag.Error(at(i, 1), carriageReturn, "Lines end with LF alone, else texts in the file, and so the digests of what is made from them, would differ from machine to machine. Convert it with\n    sed -i 's/\\r$//' "+name+"\nand tell git with a line in .gitattributes:\n    *.hcl text eol=lf")
	}
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 {
			return diag.Error(at(i, 1), notUTF8, fmt.Sprintf("Byte %d of the file, 0x%02X, is not UTF-8. Save the file as UTF-8.", i, src[i]))
		}
		i += n
	}
	return guardNesting(name, src)
}

// rangeOf is the range of a part of src, counted as HCL counts.
func rangeOf(name string, src []byte, offset, length int) hcl.Range {
	line := 1 + bytes.Count(src[:offset], []byte("\n"))
	start := bytes.LastIndexByte(src[:offset], '\n') + 1
	column := 1 + utf8.RuneCount(src[start:offset])
	return hcl.Range{
		Filename: name,
		Start:    hcl.Pos{Line: line, Column: column, Byte: offset},
		End:      hcl.Pos{Line: line, Column: column + 1, Byte: offset + length},
	}
}

// guardNesting counts on the tokens, which are found without recursion.
func guardNesting(name string, src []byte) *hcl.Diagnostic {
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	type level struct {
		chain int
		block bool // newlines end an expression here
	}
	levels := []level{{block: true}}
	total := 0
	for _, t := range tokens {
		top := &levels[len(levels)-1]
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp,
			hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			top.chain++
			total++
			levels = append(levels, level{block: t.Type == hclsyntax.TokenOBrace})
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd,
			hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			if len(levels) > 1 {
				total -= top.chain
				levels = levels[:len(levels)-1]
			}
		case hclsyntax.TokenNewline:
			if top.block {
				total -= top.chain
				top.chain = 0
			}
		case hclsyntax.TokenComma:
			total -= top.chain
			top.chain = 0
		case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit,
			hclsyntax.TokenEqual, hclsyntax.TokenComment, hclsyntax.TokenEOF:
		case hclsyntax.TokenTemplateControl:
			top.chain++
			total++
			levels = append(levels, level{})
		default:
			top.chain++
			total++
		}
		if len(levels) > maxNesting+1 {
			return diag.Error(t.Range, nestedTooDeep, fmt.Sprintf("Brackets and templates may stand in one another up to %d deep. Name the inner parts in a locals block, or read them from a file.", maxNesting))
		}
		if total > maxChain {
			return diag.Error(t.Range, expressionTooLong, fmt.Sprintf("One expression may hold up to %d operators, indexes and template directives. Name its parts in a locals or let block, or read them from a file.", maxChain))
		}
	}
	return nil
}
