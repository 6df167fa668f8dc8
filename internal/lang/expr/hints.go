package expr

import (
	"fmt"
	"io/fs"
	slashpath "path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/internal/diag"
)

// Missing is what the diagnostic of an unknown name carries: which name it is,
// for a caller who knows why it could not be declared.
type Missing struct {
	Root   string
	Member string // empty: the root itself is unknown
}

// unknownName complains of a name that names nothing.
func (c *compiler) unknownName(at hcl.Range, name Missing, detail string) {
	before := len(c.diags)
	c.error(at, sumUnknownName, detail)
	if len(c.diags) > before {
		c.diags[before].Extra = name
	}
}

// otherNames are words that other languages have taught, and what is written
// for them.
var otherNames = map[string]string{
	"yes": "Write true.", "on": "Write true.", "True": "Write true.", "TRUE": "Write true.",
	"no": "Write false.", "off": "Write false.", "False": "Write false.", "FALSE": "Write false.",
	"nil": "Write null.", "None": "Write null.", "NULL": "Write null.", "Null": "Write null.", "undefined": "Write null.", "none": "Write null.",
	"path":      "Paths are relative to the pipeline's directory, and written alone: file(\"prompts/x.md\").",
	"self":      "The document of an item is `item`, and as its source gave it `origin`.",
	"row":       "The document of an item is `item`, and as its source gave it `origin`.",
	"record":    "The document of an item is `item`, and as its source gave it `origin`.",
	"doc":       "The document of an item is `item`, and as its source gave it `origin`.",
	"document":  "The document of an item is `item`, and as its source gave it `origin`.",
	"input":     "The document of an item is `item`, and as its source gave it `origin`.",
	"count":     "Every stage runs once for each item, so there is nothing to count by.",
	"variables": "A variable is read as var.NAME.",
	"vars":      "A variable is read as var.NAME.",
	"locals":    "A local is read as local.NAME.",
	"stages":    "What a stage gave is artifact.NAME, how it ended outcome.NAME.",
	"steps":     "What a stage gave is artifact.NAME, how it ended outcome.NAME.",
}

// instead is what to write for a first word that names nothing here.
func (c *compiler) instead(root string, whole bool, roots []string) string {
	for _, known := range []string{"var", "local"} {
		if v, ok := c.env.Consts[known]; ok && v.Type().IsObjectType() && v.Type().HasAttribute(root) {
			return fmt.Sprintf("Write %s.%s.", known, root)
		}
	}
	if hint, ok := otherNames[root]; ok {
		return hint
	}
	hint := diag.DidYouMean(root, roots)
	if whole && len(diag.Nearest(root, roots)) == 0 {
		if !slices.ContainsFunc(roots, func(r string) bool { return r != "var" && r != "local" }) {
			hint = ""
		}
		hint = join(fmt.Sprintf("A text is written in quotes, %q; a variable is read as var.%s.", root, root), hint)
	}
	return hint
}

// declareIt is how a variable or a local is declared that is read and is not there.
func declareIt(root, name string, names []string) string {
	if len(names) > 0 {
		return diag.DidYouMean(name, names)
	}
	if root == "local" {
		return fmt.Sprintf("The pipeline has no locals. Write\n    locals { %s = … }", name)
	}
	return fmt.Sprintf("The pipeline declares no variables. Write\n    variable %q { type = string }", name)
}

// otherFunctions are functions that other languages have, and what is written
// for them.
var otherFunctions = map[string]string{
	"len": "How many elements a list has is length(…), how many characters a text runes(…).", "count": "How many elements a list has is length(…).",
	"str": "Write tostring(…), or the value in a text: \"${…}\".", "int": "Write tonumber(…).", "float": "Write tonumber(…).",
	"map": "Write [for x in LIST : RESULT].", "filter": "Write [for x in LIST : x if CONDITION].",
	"now": "The time of a run is run.started_at, where run can be read.", "date": "The time of a run is run.started_at, where run can be read.",
	"random": "A function gives the same for the same arguments, so none is random.", "rand": "A function gives the same for the same arguments, so none is random.",
	"fileexists": "Files are read by file(\"PATH\"); one that is not there is an error before the run.",
	"if":         "Write CONDITION ? A : B.", "print": "What a run read and decided is shown by `penstock why`.",
	"coalesce": "Write x == null ? … : x, or get(OBJECT, \"a.b\", DEFAULT).", "lookup": "Write get(OBJECT, \"name\", DEFAULT).",
}

// NearFile is a sentence about the file beside the one that is not there whose
// name is nearest, "" where none is near.
func NearFile(fsys fs.FS, name string) string {
	dir := slashpath.Dir(name)
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, slashpath.Join(dir, e.Name()))
		}
	}
	if len(diag.Nearest(name, names)) == 0 {
		return ""
	}
	meant, _, _ := strings.Cut(diag.DidYouMean(name, names), "?")
	return meant + "?"
}

// looksLikeName tells whether a text could be a name that was meant without quotes.
func looksLikeName(v cty.Value) bool {
	if v.IsMarked() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return false
	}
	root, rest, dotted := strings.Cut(v.AsString(), ".")
	switch root {
	case "item", "origin", "output", "artifact", "outcome", "var", "local", "finding", "failed":
		return dotted && rest != "" && !strings.ContainsAny(rest, " \n")
	}
	return false
}

// OfDocuments tells whether a summary is of what documents hold at a place: it
// says nothing where it is not sure which documents come there.
func OfDocuments(summary string) bool {
	return summary == sumAttribute || summary == sumNull || summary == sumNever
}
