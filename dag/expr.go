package dag

import "github.com/go-json-experiment/json"

// Name is what an expression may read, split after the first dot:
// {"item", ""}, {"artifact", "verifier"}, {"finding", "R_SCHEMA"}.
type Name struct {
	Root   string
	Member string
}

// String is the name as it is written in a pipeline.
func (n Name) String() string {
	if n.Member == "" {
		return n.Root
	}
	return n.Root + "." + n.Member
}

// Scope answers the names that an expression reads. Variables and locals are
// folded into the expression when the pipeline is loaded; a Scope never sees them.
type Scope interface {
	// Lookup gives the document of a name, the zero Doc for null. A value that
	// is no stored document (outcome.x, pass, finding.X, run) comes as its JSON
	// with a zero Digest. An error is infrastructure: a document that is gone.
	Lookup(Name) (Doc, error)
}

// Seen is one value that a decision read: the path as written and its JSON.
type Seen struct {
	Path string // "item.cat"
	JSON []byte // "\"music\""; "null" where it is absent; cut at 256 bytes
}

// seenJSON is the JSON form of Seen: the value stands as a text, for what was
// cut at 256 bytes is no JSON any more.
type seenJSON struct {
	Path string `json:"path"`
	JSON string `json:"json"`
}

// MarshalJSON writes {"path": "item.cat", "json": "\"music\""}.
func (s Seen) MarshalJSON() ([]byte, error) {
	return json.Marshal(seenJSON{Path: s.Path, JSON: string(s.JSON)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Seen) UnmarshalJSON(b []byte) error {
	var in seenJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*s = Seen{Path: in.Path, JSON: []byte(in.JSON)}
	return nil
}

// Expr is an expression of a pipeline, checked against everything that is known
// before a run. internal/lang implements it; it is immutable and may be used by
// several goroutines. Errors of evaluation are *Failure with code E_EXPR
// (content), errors of the Scope are passed on as they are.
type Expr interface {
	// Bool evaluates to a bool that is one, not something that converts to it.
	// With seen not nil, what was read is appended to it.
	Bool(s Scope, seen *[]Seen) (bool, error)
	// Text evaluates to a text.
	Text(Scope) (string, error)
	// Doc evaluates to a document: plain names and object constructors of plain
	// paths are spliced byte for byte, and a plain name keeps its digest.
	Doc(Scope) (Doc, error)
	// Names lists what it reads, in order of appearance, each once.
	Names() []Name
	// Digest identifies the expression in normal form: source text without
	// comments and layout, with the values of variables and locals in it.
	Digest() Digest
	// Pos is where it stands.
	Pos() Pos
	// String is the source text, one line.
	String() string
}

// Shaped is an Expr that tells its Shape.
type Shaped interface {
	Expr
	Shape() Shape
}

// Normal is an Expr that tells its normal form: source text without comments and
// layout, with the values of variables and locals in it.
type Normal interface {
	Expr
	Normal() string
}

// normalOf is the normal form of an expression, or its source where it tells none.
func normalOf(e Expr) string {
	if n, ok := e.(Normal); ok {
		return n.Normal()
	}
	return e.String()
}

// Chooser is an Expr that may be a Choice.
type Chooser interface {
	Expr
	Choice() *Choice // nil: what it comes to cannot be listed
}

// Choice is a condition that hangs on paths alone, of which every value is
// known that it tells apart: what it comes to can be listed.
type Choice struct {
	Paths []ChoicePath
	// Holds decides for values as JSON, Other among them. It gives false for known
	// where the condition cannot be evaluated on them.
	Holds func(value func(path string) string) (holds, known bool)
}

// ChoicePath is a path that a choice reads.
type ChoicePath struct {
	Path   string   // as written: "item.cat"
	Values []string // as JSON; with Other among them it can be something else, too
}

// Other stands for every value that no condition names.
const Other = ""

// Shape is what is known of an expression's form without evaluating it: it is a
// plain path, an object of named parts, or neither, and then nothing is known.
type Shape struct {
	Name    Name     // of a path: what it reads; the zero Name: it is no path
	Steps   []string // of a path: names of members, from there
	Members []MemberShape
}

// MemberShape is the form of a part of an object.
type MemberShape struct {
	Name  string
	Shape Shape
}

// ShapeOf is the form of an expression, as far as it tells.
func ShapeOf(e Expr) Shape {
	if s, ok := e.(Shaped); ok {
		return s.Shape()
	}
	return Shape{}
}

// Pos is a place in a file of the pipeline.
type Pos struct {
	File   string `json:"file"` // relative to the pipeline's directory
	Line   int    `json:"line"` // from 1
	Column int    `json:"column"`
}

// String is "file:line,column", the form that diagnostics print.
func (p Pos) String() string {
	if p.File == "" {
		return ""
	}
	return p.File + ":" + itoa(p.Line) + "," + itoa(p.Column)
}

// Schema is a compiled JSON Schema (2020-12).
type Schema interface {
	// Validate checks a document in canonical form. The error says what is
	// wrong, where (JSON Pointer) and what was expected; nil means it fits.
	Validate(canonical []byte) error
	// Source is the schema's own text in canonical form, its digest with it.
	Source() Doc
	// Name is the file it came from, for messages.
	Name() string
}
