package lang

import (
	"bytes"
	"errors"
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
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// given is the value of a variable as it was set from outside.
type given struct {
	value  cty.Value // of a file; NilVal: text
	text   string    // of a flag or the environment
	source string    // in words, for messages
	bad    bool      // it was complained of already
	at     hcl.Range // where it was set; zero: in no file of the pipeline
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
	maps.Copy(values, l.opts.under.values())
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := l.names["variable"].at[name]; !ok && !l.opts.AnyVars && !l.excused("variable", name) {
			l.unknownVariable(name, values[name].source)
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

func (l *loader) unknownVariable(name, source string) {
	hint := meantOrAll(name, l.names["variable"].names)
	if len(l.names["variable"].names) == 0 {
		hint = fmt.Sprintf("It declares none. Write\n    variable %q { type = string }", name)
	}
	l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: unknownVariable,
		Detail: sentence(fmt.Sprintf("%s sets a variable %q, which the pipeline does not declare.", source, name), hint)})
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
	if !b.ok || value.bad {
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
		word := string(bad.Subject.SliceBytes(src))
		switch word {
		case "list", "set", "map":
			return fmt.Sprintf("It is said of what: %s(string), %s(number) or %s(any).", word, word, word)
		case "object", "tuple":
			return "It is said of what: object({ a = string }) or tuple([string, number])."
		}
		if meant := map[string]string{"int": "number", "integer": "number", "float": "number", "str": "string", "text": "string", "boolean": "bool", "array": "list(any)", "dict": "map(any)"}[word]; meant != "" {
			return fmt.Sprintf("%q is no type. Write\n    type = %s", word, meant)
		}
		if hclsyntax.ValidIdentifier(word) {
			return sentence(fmt.Sprintf("%q is no type.", word), diag.DidYouMean(word, typeWords), typeForms)
		}
	}
	if text, ok := plainText(e); ok && slices.Contains(typeWords, text) {
		return fmt.Sprintf("A type is written without quotes:\n    type = %s", text)
	} else if ok {
		return sentence("A type is written without quotes.", diag.DidYouMean(text, typeWords), typeForms)
	}
	return sentence(strings.TrimSuffix(bad.Detail, ".")+".", typeForms)
}

var typeWords = []string{"string", "number", "bool", "any", "list", "set", "map", "object", "tuple"}

const typeForms = "Types are string, number, bool, any, and of these list(string), set(string), map(number), object({ a = string, b = optional(number) }) and tuple([string, number])."

// place is where a value is complained of: its default, or the variable, for
// what was set from outside has no place in the pipeline.
func (g given) place(b *body) hcl.Range {
	switch {
	case g.source == "":
		return b.place("default")
	case g.at != hcl.Range{}:
		return g.at
	}
	return b.at
}

// form is how a value is written where this one came from.
func (g given) form(b *body, value string) string {
	switch {
	case g.source == "":
		return "default = " + value
	case strings.HasPrefix(g.source, "--var "):
		return fmt.Sprintf("--var '%s=%s'", strings.TrimPrefix(g.source, "--var "), value)
	}
	return value
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
	if l.unreadVars { // it may stand in the file that could not be read
		return cty.NilVal, false
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
		l.error(b.at, badVariable, fmt.Sprintf("%s, and its type is %s. Written as in a pipeline file, quoted for the shell, it could be\n    --var '%s=%s'", value.sets(b, name), inWords(typ), name, example(typ)))
		return cty.NilVal, false
	}
	return v, true
}

// sets says what was given, but for a secret.
func (g given) sets(b *body, name string) string {
	if b.flag("sensitive", false) {
		return fmt.Sprintf("%s gives the variable %q a value that cannot be read", g.source, name)
	}
	text := []rune(g.text)
	if len(text) > 40 {
		text = append(text[:40], '…')
	}
	return fmt.Sprintf("%s gives the variable %q the value %s", g.source, name, string(text))
}

// inWords is a type as it is written in a variable block.
func inWords(t cty.Type) string { return strings.Join(strings.Fields(typeexpr.TypeString(t)), " ") }

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
		l.error(value.place(b), badVariable, fmt.Sprintf("The value that %s gives does not fit the type: %s. It could be\n    %s", value.words(), err, value.form(b, example(typ))))
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
			l.unreadVars = true
			continue
		}
		read := l.readVarFile
		if strings.HasSuffix(name, ".json") {
			read = l.readVarJSON
		}
		if !read(name, src, values) {
			l.unreadVars = true
		}
	}
	return values
}

// readVarFile reads lines NAME = VALUE.
func (l *loader) readVarFile(name string, src []byte, values map[string]given) bool {
	body, diags := parse(name, src, formVariables)
	l.diags = append(l.diags, diags...)
	if diags.HasErrors() {
		return false
	}
	for _, b := range body.Blocks {
		l.error(b.DefRange(), strayBlock, fmt.Sprintf("A file of variables holds values, no blocks. Write\n    %s = …", b.Type))
	}
	ok := len(body.Blocks) == 0
	for _, attr := range inOrder(body.Attributes) {
		v, diags := attr.Expr.Value(nil)
		if diags.HasErrors() {
			ok = false
			values[attr.Name] = given{value: cty.NullVal(cty.DynamicPseudoType), source: name, bad: true}
			l.error(attr.Expr.Range(), badVariable, fmt.Sprintf("What a file of variables gives to %q is written out: no names and no functions can be read in it. A text is written in quotes.", attr.Name))
			continue
		}
		values[attr.Name] = given{value: v, source: name}
	}
	return ok
}

// readVarJSON reads one object in JSON, whose members are the values.
func (l *loader) readVarJSON(name string, src []byte, values map[string]given) bool {
	doc, err := canon.Canonical(nil, src)
	if err != nil {
		at := hcl.Range{Filename: name}
		var place *canon.Error
		if errors.As(err, &place) {
			at = rangeOf(name, src, min(place.Offset, len(src)), min(1, len(src)-min(place.Offset, len(src))))
			err = errors.New(place.Reason)
		}
		l.error(at, badVariable, fmt.Sprintf("The file is not JSON: %s.", err))
		return false
	}
	if !bytes.HasPrefix(doc, []byte("{")) {
		l.error(rangeOf(name, src, 0, 1), badVariable, "A file of variables in JSON is one object:\n    { \"name\": \"value\" }")
		return false
	}
	f, diags := hcljson.Parse(src, name)
	if !diags.HasErrors() {
		attrs, more := f.Body.JustAttributes()
		diags = append(diags, more...)
		for _, attr := range attrs {
			v, more := attr.Expr.Value(nil)
			diags = append(diags, more...)
			values[attr.Name] = given{value: v, source: name}
		}
	}
	for _, d := range diags { // a member whose name is no name, or a text with ${ in it
		l.error(*d.Subject, badVariable, fmt.Sprintf("This member cannot be the value of a variable: %s", d.Detail))
	}
	return !diags.HasErrors()
}
