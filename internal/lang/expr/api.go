// Package expr is the expression boundary of the language: it compiles an HCL
// expression, checked against all that is known before a run, to a dag.Expr
// that evaluates on documents as bytes.
//
// It is called by internal/lang for every expression of a pipeline file. It
// refuses try and can, impure functions, names that are not readable at a
// place, and every value that is null, unknown, marked or not finite where it
// would be converted.
package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/penstock-run/penstock/dag"
)

// Want is what an expression must give.
type Want int

const (
	WantBool     Want = iota + 1 // a bool that is one
	WantText                     // a text (numbers and bools are converted only inside a template)
	WantNumber                   // a finite number
	WantDocument                 // any JSON; plain paths and object constructors are spliced byte for byte
	WantTexts                    // a list of texts (tuple, list or set)
	WantList                     // a list of any
	WantAny
	WantFigure    // a finite number, or null: none
	WantAddresses // a list of texts, of which each may be null: none
)

// Env says what names mean at one place of a pipeline.
type Env struct {
	// Names are readable here, each with what is known of its value. A root
	// with members stands as {"artifact","crafter"}, {"failed","crafter"};
	// a root without as {"item",""}.
	Names map[dag.Name]*Type
	// Elsewhere explains roots of the language, or names with their member, that
	// are not readable here: "output" → "can be read in its own stage and in
	// that stage's routes", "artifact.late" → "is visited only after this place".
	Elsewhere map[string]string
	// Consts are folded when compiled: "var" and "local" as objects, and
	// reference objects such as "stage" where they are wanted. Names come before
	// them, Lets before both.
	Consts map[string]cty.Value
	// Lets are names for parts of an expression, substituted when compiled.
	Lets map[string]hcl.Expression
	// Functions by name; see Functions.
	Functions map[string]function.Function
	// Source gives a file's bytes, for the normal form and positions.
	Source func(filename string) []byte
	// Untyped is called once for each name of type any that an attribute is
	// read through; may be nil.
	Untyped func(dag.Name, hcl.Range)
}
