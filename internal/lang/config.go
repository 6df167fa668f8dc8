package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

// config is a decoded config block.
type config struct {
	doc     dag.Doc           // canonical, without secrets, what is unkeyed, and what is null
	unkeyed dag.Doc           // members that belong to no action; null: there are none
	secrets map[string]string // by path: "api_key", "headers.authorization"
	absent  []string          // paths of texts that come from variables that are not set
}

// decodeConfig decodes the config block of a stage or a provider with the
// schema that the plugin gave.
func (l *loader) decodeConfig(b *body, info *dag.PluginInfo, secretsAllowed bool) config {
	block := b.block("config")
	if block == nil && (b.strange || b.misused["config"]) {
		return config{} // it may be what is written under another name
	}
	var syntax *hclsyntax.Body
	at := b.at
	if block != nil {
		syntax, at = block.Body, block.DefRange()
	} else {
		syntax = &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: b.at, EndRange: b.at}
	}
	d := &configDecoder{l: l, secretsAllowed: secretsAllowed, secrets: map[string]string{}, ctx: &hcl.EvalContext{Variables: l.consts(), Functions: l.funcs}}
	spec, known := l.configs[info]
	if !known {
		spec = configSpec(info.Config)
		l.configs[info] = spec
	}
	if !d.check(syntax, at, info.Config, spec, "config") {
		return config{}
	}
	value, diags := hcldec.Decode(syntax, spec, d.ctx)
	l.diags = append(l.diags, diags...)
	if diags.HasErrors() {
		return config{}
	}
	value = d.takeSecrets(value, info.Config, "", at)
	keyed, unkeyed := apart(value, info.Config)
	c := config{secrets: d.secrets, absent: d.absent}
	for to, value := range map[*dag.Doc]cty.Value{&c.doc: keyed, &c.unkeyed: unkeyed} {
		canonical, err := expr.Canonical(value)
		if err != nil {
			l.error(at, badConfig, fmt.Sprintf("The configuration cannot be held as JSON: %s.", err))
			return config{}
		}
		*to = dag.NewDoc(canonical)
	}
	if unkeyed.LengthInt() == 0 {
		c.unkeyed = dag.Doc{}
	}
	return c
}

// apart parts the members of a configuration that belong to actions from those that
// belong to none. A block with such members stands in both.
func apart(v cty.Value, fields []dag.ConfigField) (keyed, unkeyed cty.Value) {
	in, out := map[string]cty.Value{}, map[string]cty.Value{}
	members := v.AsValueMap()
	for _, f := range fields {
		member, ok := members[f.Name]
		switch {
		case !ok:
		case f.Block != nil:
			var aside cty.Value
			if in[f.Name], aside = apart(member, f.Block); aside.LengthInt() > 0 {
				out[f.Name] = aside
			}
		case f.Unkeyed:
			out[f.Name] = member
		default:
			in[f.Name] = member
		}
	}
	return cty.ObjectVal(in), cty.ObjectVal(out)
}

// checkModel refuses what a stage asks of a model that does not take it: the
// provider would have to leave it out, and the answers would be others than the
// pipeline says.
func (l *loader) checkModel(s *dag.Stage, b *body) {
	if s.Info.Asks == nil || s.Config.IsNull() || s.Provider == nil {
		return
	}
	l.modelTakes(s.Provider, s.Info.Asks(s.Config.Bytes), b)
}

// modelTakes complains of each thing that is asked in the config of b of a
// provider's model that does not take it, and of answers longer than it gives.
func (l *loader) modelTakes(p *dag.Provider, asked dag.Asked, b *body) {
	info := l.plugins[p.Plugin]
	if info == nil || info.Model == nil {
		return
	}
	model := info.Model(p.Model, p.Config.Bytes)
	places := configPlaces(b)
	for _, name := range asked.Of {
		at, named := places[name]
		if named && model.Known && !slices.Contains(model.Takes, name) {
			l.error(at, modelCannot, fmt.Sprintf("The model %q of provider %q takes no %s. Remove the line, or name another model.", p.Model, p.Name, name))
		}
	}
	at, named := places["max_tokens"]
	switch most := model.MaxOutputTokens; {
	case !named || !model.Known:
	case most > 0 && asked.MaxTokens > most:
		l.error(at, modelCannot, fmt.Sprintf("The model %q of provider %q gives answers of %d tokens at most. Write\n    max_tokens = %d\nor less, or name another model.", p.Model, p.Name, most, most))
	case model.ContextTokens > 0 && asked.MaxTokens >= model.ContextTokens:
		l.error(at, modelCannot, fmt.Sprintf("The context of model %q of provider %q is %d tokens, prompt and answer together, so that %d of answer leave no room for a prompt. Write less, or make the context larger.", p.Model, p.Name, model.ContextTokens, asked.MaxTokens))
	}
}

// checkAnswers shows what the provider has to say of the schema that a stage's
// answers are asked for with.
func (l *loader) checkAnswers(s *dag.Stage, b *body) {
	if s.Provider == nil || s.Schema == nil || !slices.Contains(s.Info.Services, "complete") {
		return
	}
	info := l.plugins[s.Provider.Plugin]
	if info == nil || info.CheckSchema == nil || s.Provider.Config.IsNull() {
		return
	}
	at := b.block("output").Body.Attributes["schema"].Expr.Range()
	for _, problem := range info.CheckSchema(s.Provider.Model, s.Provider.Config.Bytes, s.Schema.Source().Bytes) {
		said := fmt.Sprintf("Provider %q, model %q: %s", s.Provider.Name, s.Provider.Model, problem.Detail)
		if problem.Warning {
			l.unheld = append(l.unheld, unheld{at, said})
		} else {
			l.error(at, modelCannot, said)
		}
	}
}

// unheld is what a provider says of a schema that its server will not hold answers to.
type unheld struct {
	at   hcl.Range
	said string
}

// warnOfSchemas says it where a server is asked at all, and nothing worse is to be said.
func (l *loader) warnOfSchemas() {
	if l.diags.HasErrors() || !l.calls() && l.graph.Pipeline.Replay != "" {
		return
	}
	for _, u := range l.unheld {
		l.warn(u.at, schemaNotHeld, u.said)
	}
}

// checkConfig notes where a stage's configuration stands, and shows what its
// plugin has to say of it where it can be asked without a start.
func (l *loader) checkConfig(s *dag.Stage, b *body) {
	places := configPlaces(b)
	s.ConfigPos = make(map[string]dag.Pos, len(places))
	for name, at := range places {
		s.ConfigPos[name] = l.pos(at)
	}
	if s.Info.CheckConfig == nil || s.Config.IsNull() {
		return // what could not be decoded is complained of already
	}
	var schema []byte
	if s.Schema != nil {
		schema = s.Schema.Source().Bytes
	}
	whole, err := dag.WholeConfig(s.Config, s.Unkeyed, nil)
	if err != nil {
		l.error(b.at, badConfig, fmt.Sprintf("The configuration cannot be held as JSON: %s.", err))
		return
	}
	l.showProblems(s.Info.CheckConfig(whole, schema), places)
}

// checkReads shows which names a stage's configuration reads that its input never has.
func (l *loader) checkReads(s *dag.Stage, b *body) {
	if s.Info == nil || s.Info.Reads == nil || s.Config.IsNull() {
		return
	}
	whole, err := dag.WholeConfig(s.Config, s.Unkeyed, nil)
	if err != nil {
		return // it is complained of already
	}
	input, places := l.types.given(s, b.expr("input")), configPlaces(b)
	for _, read := range s.Info.Reads(whole) {
		if lacks := input.t.Lacks("the input", read.Names); lacks != "" {
			at := places[strings.Join(read.Path, ".")]
			l.error(at, unknownAttribute, fmt.Sprintf("line %d, column %d: %s", read.Line, read.Column, lacks))
		}
	}
}

// checkProvider shows what the plugin of a provider block has to say of it where it
// can be asked without a start. A variable that is not set stands for any text: that
// it is missing is told elsewhere, where it matters.
func (l *loader) checkProvider(p *dag.Provider, info *dag.PluginInfo, c config, b *body) {
	if info.CheckProvider == nil || c.doc.IsNull() {
		return // what could not be decoded is complained of already
	}
	secrets := maps.Clone(c.secrets)
	for _, path := range c.absent {
		secrets[path] = "unset"
	}
	whole, err := dag.WholeConfig(c.doc, c.unkeyed, secrets)
	if err != nil {
		l.error(b.at, badConfig, fmt.Sprintf("The configuration cannot be held as JSON: %s.", err))
		return
	}
	l.showProblems(info.CheckProvider(p.Model, whole), configPlaces(b))
}

// showProblems shows what a plugin says of a config block, at the places of its values.
func (l *loader) showProblems(problems []dag.ConfigProblem, places map[string]hcl.Range) {
	for _, problem := range problems {
		at := places[""]
		for i := range problem.Path {
			if named, ok := places[strings.Join(problem.Path[:i+1], ".")]; ok {
				at = named
			}
		}
		if problem.Warning {
			l.warn(at, problem.Summary, problem.Detail)
		} else {
			l.error(at, problem.Summary, problem.Detail)
		}
	}
}

// configPlaces tells where the values of a config block stand, by the name of
// the attribute or block, or by that of the block, a point and that of the attribute;
// the whole block's place has no name.
func configPlaces(b *body) map[string]hcl.Range {
	block := b.block("config")
	if block == nil {
		return map[string]hcl.Range{"": b.at}
	}
	places := map[string]hcl.Range{"": block.DefRange()}
	for name, attribute := range block.Body.Attributes {
		places[name] = attribute.Expr.Range()
	}
	for _, nested := range block.Body.Blocks {
		places[nested.Type] = nested.DefRange()
		for name, attribute := range nested.Body.Attributes {
			places[nested.Type+"."+name] = attribute.Expr.Range()
		}
	}
	return places
}

type configDecoder struct {
	l              *loader
	ctx            *hcl.EvalContext
	secretsAllowed bool
	secrets        map[string]string
	absent         []string
}

// check finds what hcldec would find with poorer words, or not at all: names
// that the schema lacks, what is missing, and values that would be converted
// behind the user's back.
func (d *configDecoder) check(syntax *hclsyntax.Body, at hcl.Range, fields []dag.ConfigField, spec hcldec.ObjectSpec, what string) bool {
	var s shape
	for _, f := range fields {
		if f.Block == nil {
			s.may = append(s.may, f.Name)
		} else {
			s.blocks = append(s.blocks, blockShape{name: f.Name})
		}
	}
	b := d.l.openBody(syntax, at, what, s)
	ok := b.ok
	for _, f := range fields {
		switch {
		case f.Block != nil && b.block(f.Name) != nil:
			nested := spec[f.Name].(*hcldec.BlockSpec).Nested.(hcldec.ObjectSpec)
			ok = d.check(b.block(f.Name).Body, b.block(f.Name).DefRange(), f.Block, nested, f.Name) && ok
		case f.Block == nil && b.has(f.Name):
			ok = d.checkValue(b.expr(f.Name), f, specType(spec[f.Name])) && ok
		case f.Required && (b.strange || b.misused[f.Name]):
			ok = false // complained of under another name
		case f.Required:
			d.l.error(at, missingAttribute, sentence(fmt.Sprintf("The plugin needs %q in its %s.", f.Name, what), fieldHint(f), "Write\n    "+f.Name+" = "+example(configType(f))))
			ok = false
		}
	}
	return ok
}

func (d *configDecoder) checkValue(e hclsyntax.Expression, f dag.ConfigField, want cty.Type) bool {
	if d.l.readsPoisoned(e) {
		return false
	}
	env := d.l.constEnv()
	v, ok := d.l.constantIn(e, env)
	if !ok {
		return false
	}
	if v.ContainsMarked() && !d.secretsAllowed {
		d.l.error(e.Range(), sensitiveValue, "This value is sensitive, and a stage's plugin holds no secret: it borrows completions from a provider. Put the secret into the config of a provider block.")
		return false
	}
	plain, _ := v.UnmarkDeep()
	if why := misfit(plain, want); why != "" {
		d.l.error(e.Range(), wrongType, sentence(fmt.Sprintf("The value of %s must be %s; %s.", f.Name, wanted(want), why), fieldHint(f), "It could be\n    "+f.Name+" = "+example(want)))
		return false
	}
	if f.Required && plain.IsNull() {
		d.l.error(e.Range(), wrongType, sentence(fmt.Sprintf("The value of %s is null, and the plugin needs one.", f.Name), fieldHint(f)))
		return false
	}
	return true
}

// misfit says why a value is none of a type; nothing is converted. Empty: it fits.
func misfit(v cty.Value, want cty.Type) string {
	switch {
	case v.IsNull() || want.HasDynamicTypes() && !want.IsCollectionType():
		return ""
	case want.IsPrimitiveType() && v.Type() != want:
		return "this is " + article(v.Type())
	case want.IsPrimitiveType():
		return ""
	case !want.IsCollectionType():
		if _, err := convert.Convert(v, want); err != nil {
			return "here " + err.Error()
		}
		return ""
	}
	isList := v.Type().IsTupleType() || v.Type().IsListType() || v.Type().IsSetType()
	if isList == want.IsMapType() || !v.CanIterateElements() {
		return "this is " + article(v.Type())
	}
	for it := v.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		if why := misfit(elem, want.ElementType()); why != "" {
			var at string
			if key.Type() == cty.String {
				at = fmt.Sprintf("the member %q", key.AsString())
			} else {
				n, _ := key.AsBigFloat().Int64()
				at = fmt.Sprintf("element %d", n)
			}
			return at + " " + strings.TrimPrefix(strings.TrimPrefix(why, "this "), "here ")
		}
	}
	return ""
}

// wanted names a type that a configuration asks for, with what is in it.
func wanted(t cty.Type) string {
	if !t.IsCollectionType() {
		return article(t)
	}
	of := map[cty.Type]string{cty.String: " of texts", cty.Number: " of numbers", cty.Bool: " of bools"}[t.ElementType()]
	if t.IsMapType() {
		return "an object" + of
	}
	return "a list" + of
}

func fieldHint(f dag.ConfigField) string {
	if f.Doc == "" {
		return ""
	}
	return fmt.Sprintf("It is: %s.", lowerFirst(strings.TrimSuffix(f.Doc, ".")))
}

// lowerFirst lets a sentence follow a colon; a name in capitals stays as it is.
func lowerFirst(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if first == "A" || len(first) > 1 && first[1:] == strings.ToLower(first[1:]) {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// configType is the type of a field's value. That it can be read was seen when
// the plugin described itself.
func configType(f dag.ConfigField) cty.Type {
	t, err := parseType(f)
	if err != nil {
		return cty.DynamicPseudoType
	}
	return t
}

func parseType(f dag.ConfigField) (cty.Type, error) {
	e, diags := hclsyntax.ParseExpression([]byte(f.Type), f.Name, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilType, diags
	}
	t, diags := typeexpr.TypeConstraint(e)
	if diags.HasErrors() {
		return cty.NilType, diags
	}
	return t, nil
}

// configSpec is the schema as hcldec has it. What is required was looked at already.
func configSpec(fields []dag.ConfigField) hcldec.ObjectSpec {
	object := hcldec.ObjectSpec{}
	for _, f := range fields {
		if f.Block != nil {
			object[f.Name] = &hcldec.BlockSpec{TypeName: f.Name, Nested: configSpec(f.Block)}
			continue
		}
		var spec hcldec.Spec = &hcldec.AttrSpec{Name: f.Name, Type: configType(f)}
		if v, ok, _ := parseDefault(f); ok { // it was read when the plugin described itself
			spec = &hcldec.DefaultSpec{Primary: spec, Default: &hcldec.LiteralSpec{Value: v}}
		}
		object[f.Name] = spec
	}
	return object
}

// specType is the type of an attribute's value, with a default or without.
func specType(spec hcldec.Spec) cty.Type {
	if withDefault, ok := spec.(*hcldec.DefaultSpec); ok {
		spec = withDefault.Primary
	}
	return spec.(*hcldec.AttrSpec).Type
}

// parseDefault is a field's default; false where it has none.
func parseDefault(f dag.ConfigField) (cty.Value, bool, error) {
	if f.Default == "" {
		return cty.NilVal, false, nil
	}
	t := configType(f)
	if t.HasDynamicTypes() {
		implied, err := ctyjson.ImpliedType([]byte(f.Default))
		if err != nil {
			return cty.NilVal, false, err
		}
		t = implied
	}
	v, err := ctyjson.Unmarshal([]byte(f.Default), t)
	return v, err == nil, err
}

// takeSecrets moves what is sensitive, by its mark or by the schema, out of
// the value, and leaves out what is null.
func (d *configDecoder) takeSecrets(v cty.Value, fields []dag.ConfigField, path string, at hcl.Range) cty.Value {
	kept := map[string]cty.Value{}
	members := v.AsValueMap()
	for _, f := range fields {
		member, ok := members[f.Name]
		if !ok || member.IsNull() {
			continue
		}
		if f.Block != nil {
			kept[f.Name] = d.takeSecrets(member, f.Block, path+f.Name+".", at)
			continue
		}
		if !f.Sensitive && !member.ContainsMarked() {
			kept[f.Name] = member
			continue
		}
		if rest, keep := d.takeSecret(member, path+f.Name, at); keep {
			kept[f.Name] = rest
		}
	}
	return cty.ObjectVal(kept)
}

// takeSecret takes a text, or the sensitive members of a map of texts. A text
// that is missing is complained of elsewhere.
func (d *configDecoder) takeSecret(v cty.Value, path string, at hcl.Range) (cty.Value, bool) {
	plain, marks := v.Unmark()
	_, absent := marks[missing]
	switch {
	case absent || !plain.IsKnown() || plain.IsNull():
		if plain.Type() == cty.String {
			d.absent = append(d.absent, path)
		}
		return cty.NilVal, false
	case plain.Type() == cty.String:
		d.secrets[path] = plain.AsString()
		return cty.NilVal, false
	case plain.Type().IsMapType() || plain.Type().IsObjectType():
		kept := map[string]cty.Value{}
		members := plain.AsValueMap()
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if !v.IsMarked() && !members[name].ContainsMarked() {
				kept[name] = members[name]
				continue
			}
			if rest, keep := d.takeSecret(members[name], path+"."+name, at); keep {
				kept[name] = rest
			}
		}
		return cty.ObjectVal(kept), true
	}
	d.l.error(at, sensitiveValue, fmt.Sprintf("%s is sensitive, and only a text, or a text in an object, can be kept secret. Write it so.", path))
	return cty.NilVal, false
}
