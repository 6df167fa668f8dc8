package expr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// normal is an expression in normal form: what it computes, written in one
// way. Comments, layout, parentheses and names of lets are gone, the values of
// variables, locals and files stand in it. Two expressions with the same
// normal form do the same.
func normal(x hclsyntax.Expression) string {
	var sb strings.Builder
	writeNormal(&sb, x)
	return sb.String()
}

func writeNormal(sb *strings.Builder, x hclsyntax.Expression) {
	switch x := x.(type) {
	case *hclsyntax.LiteralValueExpr:
		if x.Val.ContainsMarked() {
			sb.WriteString("(sensitive)")
		} else if b, err := Canonical(x.Val); err == nil {
			sb.Write(b)
		} else {
			sb.WriteString(x.Val.GoString())
		}
	case *roundNode:
		writeNormal(sb, x.Expression)
	case *pathNode:
		sb.WriteString(x.p.text)
	case *splatNode:
		sb.WriteString(x.p.text + "[*]" + stepsText(x.steps))
	case *getNode:
		writeCall(sb, "get", x.fallback, x.p.text+"/"+strconv.Itoa(x.hard))
	case *ownTextNode:
		sb.WriteString(x.Name + "(" + x.p.text + ")")
	case *stepsNode:
		writeNormal(sb, x.source)
		sb.WriteString(stepsText(x.steps))
	case *hclsyntax.ScopeTraversalExpr: // a variable of for
		sb.WriteString(x.Traversal.RootName())
	case *hclsyntax.AnonSymbolExpr:
		sb.WriteString("*")
	case *hclsyntax.FunctionCallExpr:
		name := x.Name
		if x.ExpandFinal {
			name += "..."
		}
		writeParts(sb, name, parts(x))
	case *hclsyntax.ForExpr:
		writeParts(sb, fmt.Sprintf("for %s,%s group=%t key=%t if=%t", x.KeyVar, x.ValVar, x.Group, x.KeyExpr != nil, x.CondExpr != nil), parts(x))
	default:
		writeParts(sb, operator(x), parts(x))
	}
}

func writeCall(sb *strings.Builder, name string, arg hclsyntax.Expression, first string) {
	sb.WriteString(name + "(" + first + ",")
	writeNormal(sb, arg)
	sb.WriteByte(')')
}

func writeParts(sb *strings.Builder, name string, parts []hclsyntax.Expression) {
	sb.WriteString(name + "(")
	for i, p := range parts {
		if i > 0 {
			sb.WriteByte(',')
		}
		writeNormal(sb, p)
	}
	sb.WriteByte(')')
}

// operator names a node that is told by what it does.
func operator(x hclsyntax.Expression) string {
	switch x := x.(type) {
	case *logicNode:
		return symbols[x.Op]
	case *notNode:
		return "!"
	case *condNode:
		return "?:"
	case *compareNode:
		return symbols[x.Op]
	case *arithNode:
		return operator(x.Expression)
	case *partNode:
		return "part"
	case *hclsyntax.BinaryOpExpr:
		return symbols[x.Op]
	case *hclsyntax.UnaryOpExpr:
		return "neg"
	case *textNode:
		return "text"
	case *hclsyntax.TemplateExpr:
		return "template"
	case *joinNode:
		return "join"
	case *hclsyntax.IndexExpr:
		return "index"
	case *hclsyntax.SplatExpr:
		return "splat"
	case *hclsyntax.TupleConsExpr:
		return "list"
	case *hclsyntax.ObjectConsExpr:
		return "object"
	}
	return fmt.Sprintf("%T", x)
}

var symbols = map[*hclsyntax.Operation]string{
	hclsyntax.OpLogicalAnd: "&&", hclsyntax.OpLogicalOr: "||", hclsyntax.OpEqual: "==", hclsyntax.OpNotEqual: "!=",
	hclsyntax.OpLessThan: "<", hclsyntax.OpLessThanOrEqual: "<=", hclsyntax.OpGreaterThan: ">", hclsyntax.OpGreaterThanOrEqual: ">=",
	hclsyntax.OpAdd: "+", hclsyntax.OpSubtract: "-", hclsyntax.OpMultiply: "*", hclsyntax.OpDivide: "/", hclsyntax.OpModulo: "%",
}

// collapse writes source text on one line: comments go, what was white space
// is one space, a line break between the members of an object is a comma, and
// one inside a heredoc is written as \n.
func collapse(src []byte, r hcl.Range) string {
	tokens, diags := hclsyntax.LexExpression(src, r.Filename, hcl.InitialPos)
	if diags.HasErrors() {
		return strings.Join(strings.Fields(string(src)), " ")
	}
	var sb strings.Builder
	var open []hclsyntax.TokenType
	last, end, newline := hclsyntax.TokenNil, 0, false
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenComment: // a comment to the end of its line has the line break in it
			newline = newline || strings.HasSuffix(string(t.Bytes), "\n")
			continue
		case hclsyntax.TokenNewline:
			newline = true
			continue
		case hclsyntax.TokenEOF:
			continue
		case hclsyntax.TokenCBrace, hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenTemplateSeqEnd:
			open = open[:max(0, len(open)-1)]
			newline = false
		}
		inObject := len(open) > 0 && open[len(open)-1] == hclsyntax.TokenOBrace
		if newline && inObject && last != hclsyntax.TokenOBrace && last != hclsyntax.TokenComma {
			sb.WriteByte(',')
		}
		if t.Range.Start.Byte > end && sb.Len() > 0 {
			sb.WriteByte(' ')
		}
		sb.WriteString(strings.ReplaceAll(string(t.Bytes), "\n", `\n`))
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			open = append(open, t.Type)
		}
		last, end, newline = t.Type, t.Range.End.Byte, false
	}
	return sb.String()
}
