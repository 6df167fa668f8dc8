package lang

import (
	"fmt"
	"maps"
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
		values[name] = given{text: l.opts.Vars[name], source: "--var " + name}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := l.names["variable"].at[name]; !ok && !l.opts.AnyVars {
			l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: unknownVariable,
				Detail: sentence(fmt.Sprintf("%s sets a variable %q, which the pipeline does not declare.", values[name].source, name), diag.DidYouMean(name, l.names["variable"].names))})
		}
	}
	var loaded []*body
	for _, block := range l.blocks["variable"] {
		name := block.Labels[0]
		value, ok := values[name]
		if !ok {
			if text, set := l.opts.Environ("PENSTOCK_VAR_" + name); set {
				value, ok = given{text: text, source: "PENSTOCK_VAR_" + name}, true
			}
		}
		loaded = append(loaded, l.loadVariable(block, value, ok))
	}
	// A validation may read every variable, whatever their order.
	for i, block := range l.blocks["variable"] {
		if !l.poisoned["var."+block.Labels[0]] {
			l.validateVariable(loaded[i], block.Labels[0])
		}
	}
}

func (l *loader) loadVariable(block *hclsyntax.Block, value given, isSet bool) *body {
	name := block.Labels[0]
	b := l.open(block, variableShape)
	v := dag.Variable{Name: name, Description: b.text("description"), Sensitive: b.flag("sensitive", false), Type: "any", Pos: l.pos(block.DefRange())}
	typ := cty.DynamicPseudoType
	var defaults *typeexpr.Defaults
	if e := b.expr("type"); e != nil {
		t, d, diags := typeexpr.TypeConstraintWithDefaults(e)
		for _, bad := range diags {
			b.fail(*bad.Subject, badType, typeComplaint(e, bad, l.files.Source(bad.Subject.Filename)))
		}
		typ, defaults, v.Type = t, d, typeexpr.TypeString(t)
	}
	poison := func() { l.poisoned["var."+name] = true }
	if !b.ok {
		poison()
		return b
	}
	result, ok := l.variableValue(b, name, value, isSet, typ)
	if ok {
		result, ok = l.convertVariable(b, result, typ, defaults, value)
	}
	if !ok {
		poison()
		return b
	}
	if v.Sensitive {
		result = result.Mark(sensitive)
	} else if !result.IsNull() {
		canonical, err := expr.Canonical(result)
		if err != nil {
			l.error(value.place(b), badVariable, fmt.Sprintf("The value that %s gives cannot be held as JSON: %s.", value.words(), err))
			poison()
			return b
		}
		v.Value = dag.NewDoc(canonical)
	}
	l.vars[name] = result
	l.graph.Variables = append(l.graph.Variables, v)
	return b
}

// typeComplaint says what may be written instead of something that is no type.
func typeComplaint(e hcl.Expression, bad *hcl.Diagnostic, src []byte) string {
	if bad.Subject.CanSliceBytes(src) {
		if word := string(bad.Subject.SliceBytes(src)); hclsyntax.ValidIdentifier(word) {
			return sentence(fmt.Sprintf("%q is no type.", word), diag.DidYouMean(word, typeWords), typeForms)
		}
	}
	if text, ok := plainText(e); ok {
		return sentence("A type is written without quotes.", diag.DidYouMean(text, typeWords), typeForms)
	}
	return sentence(strings.TrimSuffix(bad.Detail, ".")+".", typeForms)
}

var typeWords = []string{"string", "number", "bool", "any", "list", "set", "map", "object", "tuple"}

const typeForms = "Types are string, number, bool, any, and of these list(string), set(string), map(number), object({ a = string, b = optional(number) }) and tuple([string, number])."

// place is where a value is complained of: its default, or the variable, for
// what was set from outside has no place in the pipeline.
func (g given) place(b *body) hcl.Range {
	if g.source == "" {
		return b.place("default")
	}
	return b.at
}

func (g given) words() string {
	if g.source == "" {
		return "the default"
	}
	return g.source
}

// variableValue is what the variable was set to, before its type is looked at.
func (l *loader) variableValue(b *body, name string, value given, isSet bool, typ cty.Type) (cty.Value, bool) {
	switch {
	case isSet && value.value != cty.NilVal:
		return value.value, true
	case isSet && (typ == cty.String || typ == cty.DynamicPseudoType):
		return cty.StringVal(value.text), true
	case isSet:
		return l.parseGiven(b, name, value, typ)
	case b.has("default"):
		return l.constantIn(b.expr("default"), l.variableEnv(true))
	}
	l.error(b.at, variableNotSet, fmt.Sprintf("The variable %q has no default, so it must be set, by one of\n    --var %s=VALUE\n    --var-file FILE, with a line %s = VALUE\n    PENSTOCK_VAR_%s=VALUE", name, name, name, name))
	return cty.NilVal, false
}

// parseGiven reads the text of a flag as an expression without names.
func (l *loader) parseGiven(b *body, name string, value given, typ cty.Type) (cty.Value, bool) {
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
		l.error(b.at, badVariable, fmt.Sprintf("The value that %s gives cannot be read. Written as in a pipeline file, quoted for the shell, it could be\n    --var '%s=%s'", value.source, name, example(typ)))
		return cty.NilVal, false
	}
	return v, true
}

// example is a value of a type, as it is written.
func example(t cty.Type) string {
	switch {
	case t == cty.Number:
		return "1.5"
	case t == cty.Bool:
		return "true"
	case t.IsListType() || t.IsSetType():
		return "[" + example(t.ElementType()) + "]"
	case t.IsMapType():
		return "{ a = " + example(t.ElementType()) + " }"
	case t.IsTupleType():
		var elems []string
		for _, e := range t.TupleElementTypes() {
			elems = append(elems, example(e))
		}
		return "[" + strings.Join(elems, ", ") + "]"
	case t.IsObjectType():
		var members []string
		for _, name := range slices.Sorted(maps.Keys(t.AttributeTypes())) {
			members = append(members, name+" = "+example(t.AttributeType(name)))
		}
		return "{ " + strings.Join(members, ", ") + " }"
	}
	return `"text"`
}

func (l *loader) convertVariable(b *body, v cty.Value, typ cty.Type, defaults *typeexpr.Defaults, value given) (cty.Value, bool) {
	if defaults != nil && !v.IsNull() {
		v = defaults.Apply(v)
	}
	out, err := convert.Convert(v, typ)
	if err == nil && v.Type().IsPrimitiveType() && typ.IsPrimitiveType() && !v.IsNull() && v.Type() != typ {
		err = fmt.Errorf("%s is needed, and this is %s", article(typ), article(v.Type()))
	}
	if err != nil {
		l.error(value.place(b), badVariable, fmt.Sprintf("The value that %s gives does not fit the type: %s. It could be\n    %s", value.words(), err, example(typ)))
		return cty.NilVal, false
	}
	return out, true
}

func (l *loader) validateVariable(b *body, name string) {
	for _, block := range b.blocks["validation"] {
		v := l.open(block, shape{need: []string{"condition", "message"}})
		message := v.required("message")
		if !v.has("condition") {
			continue
		}
		condition, ok := l.constantIn(v.expr("condition"), l.variableEnv(false))
		if !ok || !v.ok {
			continue
		}
		at := v.expr("condition").Range()
		// A sensitive variable makes its condition sensitive; that it failed is no secret.
		condition, _ = condition.UnmarkDeep()
		if !v.isPlain(at, "condition", condition, cty.Bool) {
			continue
		}
		if condition.False() {
			l.error(at, validationFailed, fmt.Sprintf("The value of the variable %q is refused: %s", name, message))
		}
		if i := slices.IndexFunc(l.graph.Variables, func(v dag.Variable) bool { return v.Name == name }); i >= 0 {
			of := &l.graph.Variables[i]
			of.Validations = append(of.Validations, dag.Validation{Condition: expr.SourceText(at, l.files.Source), Message: message})
		}
	}
}

// readVarFiles reads the files of variables; a later file wins.
func (l *loader) readVarFiles() map[string]given {
	values := map[string]given{}
	for _, file := range l.opts.VarFiles {
		name, src := file.Name, file.Source
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
