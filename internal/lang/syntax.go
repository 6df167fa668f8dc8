package lang

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/penstock-run/penstock/internal/diag"
)

// parse reads a file that was guarded. Of what the parser could not read only
// the first is kept: behind it its guesses are about what is not there.
func parse(name string, src []byte, of form) (*hclsyntax.Body, hcl.Diagnostics) {
	f, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	var first *hcl.Diagnostic
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil && (first == nil || d.Subject.Start.Byte < first.Subject.Start.Byte) {
			first = d
		}
	}
	if first == nil {
		return f.Body.(*hclsyntax.Body), nil
	}
	if d := foreign(name, src, first.Subject.Start.Line, of); d != nil {
		return nil, hcl.Diagnostics{d}
	}
	return nil, hcl.Diagnostics{newUnread(src, first).plain()}
}

// unread is what the parser could not read, with the words around it: its own
// texts speak of tokens and sequences, and seldom of what to write.
type unread struct {
	d      *hcl.Diagnostic
	src    []byte
	tokens hclsyntax.Tokens
	i      int // of the token that the complaint starts at
}

func newUnread(src []byte, d *hcl.Diagnostic) *unread {
	tokens, _ := hclsyntax.LexConfig(src, d.Subject.Filename, hcl.InitialPos)
	u := &unread{d: d, src: src, tokens: tokens, i: len(tokens) - 1}
	for i, t := range tokens {
		if t.Range.End.Byte > d.Subject.Start.Byte {
			u.i = i
			break
		}
	}
	return u
}

// token is the one that stands so many behind the complaint's, or before it.
func (u *unread) token(offset int) hclsyntax.Token {
	if i := u.i + offset; i >= 0 && i < len(u.tokens) {
		return u.tokens[i]
	}
	return hclsyntax.Token{Type: hclsyntax.TokenEOF}
}

func (u *unread) word(offset int) string { return string(u.token(offset).Bytes) }

// rest is what follows on the line after the token that stands at offset.
func (u *unread) rest(offset int) string {
	line, _, _ := bytes.Cut(u.src[min(u.token(offset).Range.End.Byte, len(u.src)):], []byte("\n"))
	return strings.TrimSpace(string(line))
}

// isEnd tells whether the line, or the file, ends there.
func (u *unread) isEnd(offset int) bool {
	switch u.token(offset).Type {
	case hclsyntax.TokenNewline, hclsyntax.TokenComment, hclsyntax.TokenEOF:
		return true
	}
	return false
}

func (u *unread) say(summary, detail string) *hcl.Diagnostic {
	return diag.Error(*u.d.Subject, summary, detail)
}

func (u *unread) at(r hcl.Range, summary, detail string) *hcl.Diagnostic {
	return diag.Error(r, summary, detail)
}

// before finds the nearest token of a type before the complaint.
func (u *unread) before(types ...hclsyntax.TokenType) (hcl.Range, string) {
	for i := min(u.i, len(u.tokens)-1); i >= 0; i-- {
		for _, t := range types {
			if u.tokens[i].Type == t && u.tokens[i].Range.Start.Byte <= u.d.Subject.Start.Byte {
				return u.tokens[i].Range, string(u.tokens[i].Bytes)
			}
		}
	}
	return *u.d.Subject, ""
}

// plain says it in the words of the language.
func (u *unread) plain() *hcl.Diagnostic {
	switch s := u.d.Summary; s {
	case "Attribute redefined":
		return u.twice()
	case "Invalid multi-line string", "Unterminated template string", "Unterminated string literal":
		return u.unclosedText()
	case "Unclosed template interpolation sequence", "Extra characters after interpolation expression":
		return u.interpolation()
	case "Unclosed configuration block", "Unclosed configuration body":
		return u.say(unclosed, "The { of this block has no } to it. Add one at the block's end; where blocks stand in one another, the indentation shows which lacks it.")
	case "Unbalanced parentheses", "Missing closing parenthesis", "Unterminated function call", "Unterminated tuple constructor expression",
		"Unterminated object constructor expression", "Missing close bracket on index", "Missing close bracket on splat index":
		return u.unclosedBracket()
	case "Missing item separator", "Missing argument separator", "Missing attribute separator":
		return u.separator()
	case "Missing attribute value", "Missing key/value separator":
		return u.say(badSyntax, "A member of an object is written with an equals sign:\n    { name = \"value\" }")
	case "Missing newline after argument", "Unexpected comma after argument":
		return u.afterAttribute()
	case "Invalid single-argument block definition", "Argument definition required":
		return u.say(badSyntax, "A block on one line holds one attribute and no block. Write each on a line of its own:\n    config {\n      a = 1\n      b = 2\n    }")
	case "Missing newline after block definition":
		if u.word(0) == "}" {
			return u.say(badSyntax, "This } closes nothing: there is one more } than there are {. Remove it.")
		}
		return u.say(badSyntax, "What follows a block starts on a new line. Break the line after its }.")
	case "Argument or block definition required", "Invalid argument name":
		return u.noDefinition()
	case "Invalid block definition":
		return u.noBlock()
	case "Invalid expression", "Missing expression":
		return u.noValue()
	case "Invalid character", "Unsupported operator":
		return u.character()
	case "Missing false expression in conditional":
		return u.say(badSyntax, "A choice has two results, the second behind a colon:\n    CONDITION ? IF_TRUE : IF_FALSE")
	case "Invalid escape sequence":
		return u.say(badEscape, fmt.Sprintf("%s means nothing in a text in quotes. A backslash itself is written \\\\, a quote \\\", a new line \\n, a tab \\t.", strings.TrimSpace(string(u.d.Subject.SliceBytes(u.src)))))
	case "Invalid attribute name", "Invalid legacy index syntax":
		return u.say(badSyntax, "After the dot stands a name. An element of a list is list[0], a member whose name is no plain word object[\"the name\"].")
	case "Invalid 'for' expression", "Invalid 'for' directive":
		return u.say(badSyntax, "A list is made of another by\n    [for x in LIST : RESULT if CONDITION]\nand an object by\n    {for x in LIST : KEY => RESULT}")
	}
	if strings.Contains(u.d.Summary, "directive") || strings.Contains(u.d.Summary, "template") || strings.Contains(u.d.Summary, "marker") || u.d.Summary == "Invalid template control keyword" {
		return u.say(badSyntax, "%{ begins a directive in a text: %{ if CONDITION }…%{ else }…%{ endif } or %{ for x in LIST }…%{ endfor }. A plain %{ is written %%{.")
	}
	return u.say(badSyntax, "This cannot be read here. An attribute is written NAME = VALUE on a line of its own, a block NAME \"label\" { … }.")
}

var firstPlace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^The argument "(.+)" was already set at .*:(\d+),(\d+)-`)
})

// twice shows both places of an attribute that stands twice.
func (u *unread) twice() *hcl.Diagnostic {
	d := u.say(duplicateName, "This attribute stands in the block already. Remove one of the two.")
	if m := firstPlace().FindStringSubmatch(u.d.Detail); m != nil {
		d.Detail = fmt.Sprintf("The attribute %s stands in this block already. Remove one of the two.", m[1])
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		at := hcl.Range{Filename: u.d.Subject.Filename, Start: hcl.Pos{Line: line, Column: column}, End: hcl.Pos{Line: line, Column: column + len([]rune(m[1]))}}
		diag.With(d, diag.Info{Related: []diag.Related{{Label: "first here", Range: at}}})
	}
	return d
}

// unclosedText points at where the text starts: it is missed at its end.
func (u *unread) unclosedText() *hcl.Diagnostic {
	start, mark := u.before(hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc)
	if word := strings.Trim(mark, "<-\n"); strings.HasPrefix(mark, "<<") {
		return u.at(hcl.Range{Filename: start.Filename, Start: start.Start, End: hcl.Pos{Line: start.Start.Line, Column: start.Start.Column + len(mark) - 1}}, unclosed,
			fmt.Sprintf("The text that starts with <<%s ends with a line that holds %s and nothing else, no } and no comma behind it.", word, word))
	}
	start.End = u.d.Subject.Start
	return u.at(start, unclosed, "The text that starts here has no closing quote on its line. Add a \" where it ends; a text of several lines is written\n    <<-TEXT\n      first line\n      second line\n    TEXT")
}

func (u *unread) interpolation() *hcl.Diagnostic {
	if u.d.Summary == "Extra characters after interpolation expression" {
		return u.say(badSyntax, fmt.Sprintf("In ${ … } stands one expression, and %q does not go on with it. Close the } before it; a plain ${ is written $${.", u.word(0)))
	}
	return u.say(unclosed, "The ${ that starts here has no } to it. Write ${NAME}; a plain ${ in a text is written $${.")
}

func (u *unread) unclosedBracket() *hcl.Diagnostic {
	at, open := u.before(hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOBrace)
	if u.d.Subject.Start.Byte < len(u.src) && strings.ContainsAny(string(u.src[u.d.Subject.Start.Byte]), "([{") {
		at, open = *u.d.Subject, string(u.src[u.d.Subject.Start.Byte])
	}
	return u.at(at, unclosed, fmt.Sprintf("The %s that stands here has no %s to it. Add it where the value ends.", open, closing[open]))
}

var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

// separator is what stands between elements, or a bracket that was forgotten.
func (u *unread) separator() *hcl.Diagnostic {
	what := map[string]string{"Missing item separator": "[", "Missing argument separator": "(", "Missing attribute separator": "{"}[u.d.Summary]
	switch {
	case u.word(0) == "(" && u.token(-1).Type == hclsyntax.TokenIdent && u.word(-2) == ".":
		return u.say(badSyntax, fmt.Sprintf("A value has no functions of its own. Write %s(…) around it, if there is such a function: `penstock functions` lists all.", u.word(-1)))
	case u.isEnd(0) || strings.Contains(")]}", u.word(0)) && u.word(0) != closing[what],
		u.token(-1).Range.Start.Line < u.token(0).Range.Start.Line && u.token(1).Type == hclsyntax.TokenEqual:
		at, _ := u.before(map[string]hclsyntax.TokenType{"[": hclsyntax.TokenOBrack, "(": hclsyntax.TokenOParen, "{": hclsyntax.TokenOBrace}[what])
		return u.at(at, unclosed, fmt.Sprintf("The %s that stands here has no %s to it. Add it where the value ends.", what, closing[what]))
	case u.token(0).Type == hclsyntax.TokenEqual:
		return u.operator("==", "")
	}
	return u.say(missingComma, fmt.Sprintf("A comma is missing before %s. Elements are written with commas between them:\n    %s", u.shown(), map[string]string{
		"[": `["a", "b"]`, "(": "name(a, b)", "{": "{ a = 1, b = 2 }",
	}[what]))
}

// shown is the word that the complaint starts at, as a reader sees it.
func (u *unread) shown() string {
	if u.token(0).Type == hclsyntax.TokenOQuote {
		return strconv.Quote(u.word(1))
	}
	return u.word(0)
}

var words = map[string]string{"and": "&&", "or": "||", "not": "!", "is": "==", "in": "contains(LIST, x)"}

// afterAttribute is what follows a value on its line.
func (u *unread) afterAttribute() *hcl.Diagnostic {
	word := u.word(0)
	switch {
	case u.token(0).Type == hclsyntax.TokenComma:
		return u.say(badSyntax, "Attributes of a block have no commas between them: each stands on a line of its own. Remove the comma.")
	case u.token(0).Type == hclsyntax.TokenEqual:
		return u.operator("==", "")
	case words[word] != "":
		return u.operator(words[word], word)
	case u.word(-1) == "not":
		return u.operator("!", "not")
	case u.token(-1).Type == hclsyntax.TokenNumberLit && u.token(0).Type == hclsyntax.TokenIdent && u.token(-1).Range.End.Byte == u.token(0).Range.Start.Byte:
		return u.say(badNumber, "A number is written in digits alone, such as 60000 or 0.5. What has a unit is a text in quotes: \"30s\".")
	case u.token(0).Type == hclsyntax.TokenIdent && strings.HasPrefix(u.rest(0), "="), u.rest(0) == "{":
		return u.say(badSyntax, fmt.Sprintf("%s starts here on the line of another attribute. Each stands on a line of its own: break the line before it.", word))
	case u.token(-1).Type == hclsyntax.TokenIdent && u.token(0).Type == hclsyntax.TokenOQuote, u.token(-1).Type == hclsyntax.TokenIdent && u.token(0).Type == hclsyntax.TokenIdent:
		return u.say(badSyntax, fmt.Sprintf("Two values stand here side by side. A text is written in quotes: \"%s …\".", u.word(-1)))
	}
	return u.say(badSyntax, fmt.Sprintf("The value ends before %s, and behind it nothing else stands on the line. A text is written in quotes; what follows starts on a new line.", u.shown()))
}

// operator says how something is written that another language writes otherwise.
func (u *unread) operator(write, instead string) *hcl.Diagnostic {
	how := map[string]string{
		"==": "To compare, write two equals signs: a == b.", "&&": "Write && for and: a && b.", "||": "Write || for or: a || b.",
		"!": "Write ! for not: !a.", "contains(LIST, x)": "Whether x is in a list is contains(LIST, x).",
	}[write]
	at := *u.d.Subject
	if instead == "not" && u.word(-1) == "not" {
		at = u.token(-1).Range
	}
	return u.at(at, badOperator, how)
}

// noDefinition is where an attribute or a block should start.
func (u *unread) noDefinition() *hcl.Diagnostic {
	name := u.word(0)
	if u.d.Summary == "Invalid argument name" {
		return u.say(badSyntax, fmt.Sprintf("The name of an attribute or a block has no quotes. Write\n    %s = …", strings.Trim(u.word(1), `"`)))
	}
	switch rest := u.rest(0); {
	case name == "}":
		return u.say(badSyntax, "This } closes nothing: there is one more } than there are {. Remove it.")
	case strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, ":="):
		return u.say(badSyntax, fmt.Sprintf("An attribute is written with an equals sign, not a colon:\n    %s = …", name))
	case strings.HasPrefix(rest, ":=") || strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, "=>") || strings.HasPrefix(rest, "+="):
		return u.say(badSyntax, fmt.Sprintf("An attribute is written with one equals sign:\n    %s = …", name))
	case u.token(0).Type == hclsyntax.TokenIdent && rest == "":
		return u.say(badSyntax, fmt.Sprintf("%s stands here alone. Give it a value, or a body where it is a block:\n    %s = …\n    %s { … }", name, name, name))
	}
	return u.say(badSyntax, "Here an attribute or a block was expected:\n    NAME = VALUE\n    NAME \"label\" { … }")
}

// noBlock is a name with something behind it that makes it neither an attribute
// nor a block.
func (u *unread) noBlock() *hcl.Diagnostic {
	name := ""
	for i := 0; i >= -8; i-- {
		if t := u.token(i - 1); t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComment || t.Type == hclsyntax.TokenOBrace || t.Type == hclsyntax.TokenEOF {
			name = u.word(i)
			break
		}
	}
	switch {
	case u.token(0).Type == hclsyntax.TokenEqual:
		return u.say(badSyntax, fmt.Sprintf("A block has no equals sign. Write\n    %s \"label\" { … }", name))
	case u.isEnd(0) && u.token(1).Type == hclsyntax.TokenOBrace:
		return u.say(badSyntax, fmt.Sprintf("The { of a block stands on the line of its name:\n    %s \"label\" {", name))
	case u.isEnd(0):
		return u.say(badSyntax, fmt.Sprintf("This line is neither an attribute nor a block. Write one of\n    %s = …\n    %s \"label\" { … }", name, name))
	}
	return u.say(badSyntax, fmt.Sprintf("Here the label of the block was expected, or its {. A label is a word or a text in quotes:\n    %s \"label\" { … }", name))
}

// noValue is where a value should start.
func (u *unread) noValue() *hcl.Diagnostic {
	previous := u.token(-1)
	switch {
	case u.token(0).Type == hclsyntax.TokenEOF && previous.Type == hclsyntax.TokenComma:
		return u.unclosedBracket()
	case u.word(0) == "*" && string(previous.Bytes) == "*":
		return u.at(previous.Range, badOperator, "A power is written pow(a, b).")
	case previous.Type == hclsyntax.TokenPercent:
		return u.at(previous.Range, badNumber, "There are no percentages. Write the share of one: 60 % is 0.6.")
	case u.token(0).Type == hclsyntax.TokenEqual && (previous.Type == hclsyntax.TokenEqualOp || previous.Type == hclsyntax.TokenNotEqual):
		return u.at(previous.Range, badOperator, "Values are compared with == and !=. There is no === and no !==.")
	case u.isEnd(0) && previous.Type == hclsyntax.TokenEqual:
		at := previous.Range
		return u.at(at, missingValue, "After the equals sign a value is missing. It starts on the same line; a list or an object may go on over several:\n    names = [\n      \"a\",\n    ]")
	case u.token(0).Type == hclsyntax.TokenComma:
		return u.say(missingValue, "Before the comma a value is missing. Write it, or remove the comma.")
	case u.isEnd(0):
		return u.at(previous.Range, missingValue, fmt.Sprintf("After %s a value is missing. Write it on the same line, or put the whole into parentheses and go on below.", previous.Bytes))
	}
	return u.say(badSyntax, fmt.Sprintf("Here a value was expected, and %s is none. A text is written in quotes, a list in [ ], an object in { }.", u.shown()))
}

// character is a sign that the language does not have.
func (u *unread) character() *hcl.Diagnostic {
	word := strings.TrimSpace(string(u.d.Subject.SliceBytes(u.src)))
	next := u.word(1)
	switch word {
	case "'":
		return u.say(badCharacter, "A text is written in double quotes:\n    \"text\"")
	case "`":
		return u.say(badCharacter, "A text is written in double quotes; one of several lines as\n    <<-TEXT\n      first line\n      second line\n    TEXT")
	case "“", "”", "„", "‘", "’", "«", "»":
		return u.say(badCharacter, fmt.Sprintf("%s is a quote as word processors write it. A text is written in straight double quotes:\n    \"text\"", word))
	case ";":
		return u.say(badCharacter, "Nothing ends with a semicolon: attributes stand on lines of their own. Remove it.")
	case "&":
		return u.operator("&&", "")
	case "|":
		return u.operator("||", "")
	case "~":
		return u.operator("!", "")
	case "$":
		if hclsyntax.ValidIdentifier(next) {
			return u.say(badCharacter, fmt.Sprintf("$%s is not how a value is read here. A variable that the pipeline declares is var.%s, and in a text \"${var.%s}\"; from outside, PENSTOCK_VAR_%s=… sets it.", next, next, next, next))
		}
		return u.say(badCharacter, "A $ stands in texts only: \"${var.NAME}\".")
	case "@", "\\", "^", "<", ">":
		return u.say(badCharacter, fmt.Sprintf("%s means nothing here. In a text it is written in quotes.", word))
	}
	return u.say(badCharacter, fmt.Sprintf("The character %q means nothing here. In a text it is written in quotes; a comment starts with #.", word))
}
