package lang

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// given is the value of a variable as it was set from outside.
type given struct {
	value  cty.Value // of a file; NilVal: text
	text   string    // of a flag or the environment
	source string    // in words, for messages
}

var variableShape = shape{
	may:    []string{"type", "default", "description", "sensitive"},
	blocks: []blockShape{{name: "validation", many: true}},
}

// loadVariables decides what each variable is: a flag wins over a file, a file
// over the environment, the environment over the default.
func (l *loader) loadVariables() {
	values := l.readVarFiles()
	for _, name := range slices.Sorted(maps.Keys(l.opts.Vars)) {
		values[name] = given{text: l.opts.Vars[name], source: "-var " + name}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := l.names["variable"].at[name]; !ok {
			l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: unknownVariable,
				Detail: sentence(fmt.Sprintf("%s sets a variable %q, which the pipeline does not declare.", values[name].source, name), diag.DidYouMean(name, l.names["variable"].names))})
		}
	}
	for _, block := range l.blocks["variable"] {
		name := block.Labels[0]
		value, ok := values[name]
		if !ok {
			if text, set := l.opts.Environ("PENSTOCK_VAR_" + name); set {
				value, ok = given{text: text, source: "PENSTOCK_VAR_" + name}, true
			}
		}
		l.loadVariable(block, value, ok)
	}
}

func (l *loader) loadVariable(block *hclsyntax.Block, value given, isSet bool) {
	name := block.Labels[0]
	b := l.open(block, variableShape)
	v := dag.Variable{Name: name, Description: b.text("description"), Sensitive: b.flag("sensitive", false), Type: "any", Pos: l.pos(block.DefRange())}
	typ := cty.DynamicPseudoType
	var defaults *typeexpr.Defaults
	if e := b.expr("type"); e != nil {
		t, d, diags := typeexpr.TypeConstraintWithDefaults(e)
		l.diags = append(l.diags, diags...)
		b.ok = b.ok && !diags.HasErrors()
		typ, defaults, v.Type = t, d, typeexpr.TypeString(t)
	}
	poison := func() { l.poisoned["var."+name] = true }
	if !b.ok {
		poison()
		return
	}
	result, ok := l.variableValue(b, name, value, isSet, typ)
	if ok {
		result, ok = l.convertVariable(b, name, result, typ, defaults, value.source)
	}
	if !ok {
		poison()
		return
	}
	if v.Sensitive {
		result = result.Mark(sensitive)
	} else if !result.IsNull() {
		canonical, err := expr.Canonical(result)
		if err != nil {
			l.error(b.place("default"), badVariable, fmt.Sprintf("The value of the variable cannot be held as JSON: %s.", err))
			poison()
			return
		}
		v.Value = dag.NewDoc(canonical)
	}
	l.vars[name] = result
	l.validateVariable(b, name)
	l.graph.Variables = append(l.graph.Variables, v)
}

// variableValue is what the variable was set to, before its type is looked at.
func (l *loader) variableValue(b *body, name string, value given, isSet bool, typ cty.Type) (cty.Value, bool) {
	switch {
	case isSet && value.value != cty.NilVal:
		return value.value, true
	case isSet && (typ == cty.String || typ == cty.DynamicPseudoType):
		return cty.StringVal(value.text), true
	case isSet:
		return l.parseGiven(value, name)
	case b.has("default"):
		return b.value("default")
	}
	l.error(b.at, variableNotSet, fmt.Sprintf("The variable %q has no default, so it must be set, by one of\n    -var %s=VALUE\n    -var-file FILE, with a line %s = VALUE\n    PENSTOCK_VAR_%s=VALUE", name, name, name, name))
	return cty.NilVal, false
}

// parseGiven reads the text of a flag as an expression without names.
func (l *loader) parseGiven(value given, name string) (cty.Value, bool) {
	src := []byte(value.text)
	file := value.source
	if d := guard(file, src); d != nil {
		l.diags = append(l.diags, d)
		return cty.NilVal, false
	}
	e, diags := hclsyntax.ParseExpression(src, file, hcl.InitialPos)
	var v cty.Value
	if !diags.HasErrors() {
		v, diags = e.Value(nil)
	}
	if diags.HasErrors() {
		l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: badVariable,
			Detail: fmt.Sprintf("The value that %s gives is no value of its type: %s. Write it as in a pipeline file, quoted for the shell, a text in its quotes too:\n    -var '%s=[\"a\", \"b\"]'", value.source, strings.TrimSuffix(diags[0].Detail, "."), name)})
		return cty.NilVal, false
	}
	return v, true
}

func (l *loader) convertVariable(b *body, name string, v cty.Value, typ cty.Type, defaults *typeexpr.Defaults, source string) (cty.Value, bool) {
	if defaults != nil && !v.IsNull() {
		v = defaults.Apply(v)
	}
	out, err := convert.Convert(v, typ)
	if err == nil && v.Type().IsPrimitiveType() && typ.IsPrimitiveType() && !v.IsNull() && v.Type() != typ {
		err = fmt.Errorf("%s is needed, and this is %s", article(typ), article(v.Type()))
	}
	if err != nil {
		at := b.place("default")
		if source == "" {
			source = "the default"
		}
		l.error(at, badVariable, fmt.Sprintf("The value that %s gives does not fit the type: %s.", source, err))
		return cty.NilVal, false
	}
	return out, true
}

func (l *loader) validateVariable(b *body, name string) {
	for _, block := range b.blocks["validation"] {
		v := l.open(block, shape{need: []string{"condition", "message"}})
		condition, ok := v.value("condition")
		message := v.required("message")
		if !ok || !v.ok {
			continue
		}
		at := v.expr("condition").Range()
		// A sensitive variable makes its condition sensitive; that it failed is no secret.
		condition, _ = condition.UnmarkDeep()
		if v.isPlain(at, "condition", condition, cty.Bool) && condition.False() {
			l.error(at, validationFailed, fmt.Sprintf("The value of the variable %q is refused: %s", name, message))
		}
	}
}

// readVarFiles reads the files of variables; a later file wins.
func (l *loader) readVarFiles() map[string]given {
	values := map[string]given{}
	for _, name := range l.opts.VarFiles {
		name = path.Clean(name)
		src, err := readBounded(l.opts.FS, name, maxFile+1)
		if err != nil {
			detail := fmt.Sprintf("%s could not be read: %s.", name, reason(err))
			if !fs.ValidPath(name) {
				detail = fmt.Sprintf("%s lies outside the pipeline's directory, which alone is read. Put it there.", name)
			}
			l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: badVarFile, Detail: detail})
			continue
		}
		l.files.Sources[name] = src
		if d := guard(name, src); d != nil {
			l.diags = append(l.diags, d)
			continue
		}
		var f *hcl.File
		var diags hcl.Diagnostics
		if strings.HasSuffix(name, ".json") {
			f, diags = hcljson.Parse(src, name)
		} else {
			f, diags = hclsyntax.ParseConfig(src, name, hcl.InitialPos)
		}
		l.diags = append(l.diags, diags...)
		if diags.HasErrors() {
			continue
		}
		attrs, diags := f.Body.JustAttributes()
		l.diags = append(l.diags, diags...)
		for _, attr := range attrs {
			v, diags := attr.Expr.Value(nil)
			l.diags = append(l.diags, diags...)
			if !diags.HasErrors() {
				values[attr.Name] = given{value: v, source: name}
			}
		}
	}
	return values
}
