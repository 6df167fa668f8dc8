package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang/expr"
)

var stageShape = shape{
	may: []string{
		"plugin", "provider", "input", "outcomes", "outcome", "code", "forward", "may_change", "must_change", "reads",
		"timeout", "concurrency", "samples", "max_age", "cache", "volatile", "rescue", "independent_of",
	},
	blocks: []blockShape{
		{name: "config"}, {name: "decide"}, {name: "output"}, {name: "batch"}, {name: "fan_out"}, {name: "findings"}, {name: "retry"},
		{name: "let", many: true},
	},
}

func (l *loader) loadStages() {
	for i, block := range l.blocks["stage"] {
		s := l.names["stage"].nodes[block.Labels[0]].(*dag.Stage)
		s.Index = i
		l.loadStage(s, block)
		l.graph.Stages = append(l.graph.Stages, s)
	}
	if len(l.blocks["stage"]) == 0 && !l.broken {
		l.error(hcl.Range{Filename: l.mainFile()}, missingBlock, "A pipeline has at least one stage. Write\n    stage \"NAME\" { plugin = plugin.x }")
		l.broken = true
	}
}

func (l *loader) loadStage(s *dag.Stage, block *hclsyntax.Block) {
	b := l.open(block, stageShape)
	b.inherited = b.lets(nil)
	l.stageOutcomes(s, b)
	if output := b.block("output"); output != nil {
		s.Schema = l.open(output, shape{need: []string{"schema"}}).schema("schema")
	}
	switch b.together("plugin", "decide") {
	case "plugin":
		l.stagePlugin(s, b)
	case "decide":
		l.stageDecide(s, b)
	default:
		if b.ok {
			b.fail(b.at, missingAttribute, "A stage is a plugin or pure rules. Write\n    plugin = plugin.x\nor a block\n    decide { … }")
		}
	}
	s.Code = b.code("code")
	before, after := place{kind: atStage, stage: s}, place{kind: atOutput, stage: s}
	b.later("input", expr.WantDocument, before, func(x dag.Expr) { s.Input = x })
	l.compileLater(task{then: func() { l.checkReads(s, b) }})
	b.later("outcome", expr.WantText, after, func(x dag.Expr) {
		s.Outcome = x
		l.outcomeWords(s, b, x)
	})
	s.ForwardItem = isName(b.expr("forward"), "item")
	b.later("forward", expr.WantDocument, after, func(x dag.Expr) { s.Forward = x })
	b.later("may_change", expr.WantTexts, before, func(x dag.Expr) { s.MayChange = x })
	l.stageMustChange(s, b)
	l.stageFanOut(s, b)
	l.stageFindings(s, b)
	l.stageScheduling(s, b)
	if e := b.expr("independent_of"); e != nil {
		s.Independent = refList[dag.Stage](b, "independent_of", "stage")
		if slices.Contains(s.Independent, s) {
			b.fail(e.Range(), dependsOnItself, "A stage cannot be independent of itself. Remove it from the list.")
			s.Independent = slices.DeleteFunc(s.Independent, func(other *dag.Stage) bool { return other == s })
		}
	}
}

// isName reports whether e is plainly that name.
func isName(e hclsyntax.Expression, name string) bool {
	return e != nil && hcl.ExprAsKeyword(e) == name
}

func (l *loader) stageOutcomes(s *dag.Stage, b *body) {
	s.Outcomes = []string{"ok"}
	if !b.has("outcomes") {
		l.vague[s] = b.strange || b.misused["outcomes"]
		if e := b.expr("outcome"); e != nil && !l.vague[s] {
			b.fail(e.Range(), strayAttribute, "`outcome` tells which of several outcomes a visit ends with, and the stage declares none. Write\n    outcomes = [\"…\", \"…\"]")
		}
		return
	}
	words := b.distinctWords("outcomes")
	if b.ok && len(words) == 0 {
		b.fail(b.expr("outcomes").Range(), emptyList, "A visit ends with some outcome. List at least one, or leave `outcomes` out: then it is \"ok\".")
	}
	if len(words) > 0 {
		s.Outcomes = words
	} else {
		l.broken, l.vague[s] = true, true
	}
}

// stagePlugin resolves the plugin, what it is lent and what it is told.
func (l *loader) stagePlugin(s *dag.Stage, b *body) {
	s.Plugin = refAttr[dag.Plugin](b, "plugin", "plugin")
	s.Provider = refAttr[dag.Provider](b, "provider", "provider")
	if s.Plugin == nil {
		l.broken = true
		return
	}
	s.Info = l.describe(s.Plugin, "stage", b.expr("plugin").Range())
	if s.Info == nil {
		l.broken = true
		return
	}
	c := l.decodeConfig(b, s.Info, false)
	s.Config, s.Unkeyed = c.doc, c.unkeyed
	l.checkConfig(s, b)
	l.checkModel(s, b)
	l.checkAnswers(s, b)
	uses := func(service string) bool { return slices.Contains(s.Info.Services, service) }
	switch {
	case uses("complete") && !b.has("provider"):
		b.fail(b.at, missingAttribute, sentence(fmt.Sprintf("The plugin %q asks a model, so the stage must lend it one: provider = provider.x.", s.Plugin.Name), diag.DidYouMean("", l.names["provider"].names)))
	case !uses("complete") && s.Provider != nil:
		l.warn(b.attrs["provider"].SrcRange, unusedProvider, fmt.Sprintf("The plugin %q never asks a model, so the provider changes nothing. Remove the line.", s.Plugin.Name))
	}
	if uses("fetch") {
		l.unsupportedAt("a plugin that fetches", b.expr("plugin").Range())
		if !b.has("max_age") && !b.has("cache") {
			b.fail(b.at, missingAttribute, fmt.Sprintf("The plugin %q fetches, and what it reads may change. Say how long an answer may be used again, with `max_age = \"24h\"`, or with `cache` whether it may at all.", s.Plugin.Name))
		}
	}
	if uses("corpus") {
		l.unsupportedAt("a plugin that asks the corpus", b.expr("plugin").Range())
		if !b.has("reads") && !b.has("cache") {
			b.fail(b.at, missingAttribute, fmt.Sprintf("The plugin %q asks the corpus, so its answers depend on it. Write `reads = gate.x`, or `cache = true` where an old answer will do.", s.Plugin.Name))
		}
	}
	if !uses("corpus") && b.has("reads") {
		l.warn(b.attrs["reads"].SrcRange, unusedReads, fmt.Sprintf("The plugin %q never asks the corpus, so `reads` changes nothing. Remove the line.", s.Plugin.Name))
	}
	l.pluginOutcomes(s, b)
	for _, code := range s.Info.Codes {
		l.pluginCode(s, code, b.expr("plugin").Range())
	}
}

// pluginCode is a code that the plugin gives by itself: it must be declared as
// every other.
func (l *loader) pluginCode(s *dag.Stage, code dag.Code, at hcl.Range) {
	if strings.HasPrefix(string(code), "E_") {
		return
	}
	l.usedCodes[code] = true
	if _, ok := l.names["failure"].nodes[string(code)]; !ok {
		l.error(at, undeclaredCode, fmt.Sprintf("The plugin %q can fail with the code %s, which the pipeline does not declare. Write\n    failure %q { meaning = \"…\" }", s.Plugin.Name, code, string(code)))
	}
}

// pluginOutcomes compares the words that the stage declares with those that
// the plugin can say, where nothing stands between the two.
func (l *loader) pluginOutcomes(s *dag.Stage, b *body) {
	if len(s.Info.Outcomes) == 0 || b.has("outcome") {
		return
	}
	for i, word := range s.Outcomes {
		if slices.Contains(s.Info.Outcomes, word) {
			continue
		}
		if !b.has("outcomes") {
			b.fail(b.at, outcomeNeverSaid, fmt.Sprintf("The plugin %q ends its visits with %s. List those words:\n    outcomes = [%s]", s.Plugin.Name, diag.List(s.Info.Outcomes), quoted(s.Info.Outcomes)))
			return
		}
		b.fail(elementRange(b.expr("outcomes"), i), outcomeNeverSaid, sentence(fmt.Sprintf("The plugin %q never says %q.", s.Plugin.Name, word), diag.DidYouMean(word, s.Info.Outcomes)))
	}
	if !b.has("outcomes") {
		return
	}
	for _, word := range s.Info.Outcomes {
		if !slices.Contains(s.Outcomes, word) {
			b.fail(b.expr("outcomes").Range(), outcomeNotListed, fmt.Sprintf("The plugin %q can say %q, which the list lacks: a visit that ends so would fail with E_OUTCOME. Add it, and a way for it.", s.Plugin.Name, word))
		}
	}
}

// outcomeWords complains of outcomes that the expression never gives, where the
// schema says all that it can be.
func (l *loader) outcomeWords(s *dag.Stage, b *body, x dag.Expr) {
	words := expr.Words(x)
	if words == nil || !b.has("outcomes") || l.vague[s] {
		return
	}
	if text, ok := plainText(b.expr("outcome")); ok && len(s.Outcomes) > 1 {
		b.fail(b.expr("outcome").Range(), outcomeNeverSaid, fmt.Sprintf("This is the text %q, so every visit would end with it. What the output says is read without quotes:\n    outcome = output.%s", text, word(text)))
		return
	}
	for i, word := range s.Outcomes {
		if !slices.Contains(words, word) {
			l.error(elementRange(b.expr("outcomes"), i), outcomeNeverSaid, sentence(fmt.Sprintf("%s is never %q.", x, word), diag.DidYouMean(word, words)))
		}
	}
}

// word is a text as a name, NAME where it cannot be one.
func word(text string) string {
	if text = strings.TrimPrefix(text, "output."); hclsyntax.ValidIdentifier(text) {
		return text
	}
	return "NAME"
}

func quoted(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(list, ", ")
}

// stageMustChange reads true, false, or the code of an unchanged output.
func (l *loader) stageMustChange(s *dag.Stage, b *body) {
	e := b.expr("must_change")
	if e == nil {
		return
	}
	if t, diags := hcl.AbsTraversalForExpr(e); !diags.HasErrors() && t.RootName() == "failure" {
		s.MustCode = b.code("must_change")
		s.MustChange = true
		return
	}
	s.MustChange = b.flag("must_change", false)
}

func (l *loader) stageFanOut(s *dag.Stage, b *body) {
	block := b.block("fan_out")
	if block == nil {
		return
	}
	f := l.open(block, shape{need: []string{"each", "key"}, may: []string{"exactly", "min", "max", "code"}})
	f.inherited = b.inherited
	out := &dag.FanOut{Code: f.code("code"), Pos: l.pos(block.DefRange())}
	f.later("each", expr.WantList, place{kind: atOutput, stage: s}, func(x dag.Expr) { out.Each = x })
	f.later("key", expr.WantText, place{kind: atEach, stage: s}, func(x dag.Expr) { out.Key = x })
	if f.has("exactly") {
		if f.has("min") || f.has("max") {
			f.fail(f.attrs["exactly"].SrcRange, oneOfSeveral, "`exactly` says both bounds. Write it alone, or `min` and `max` instead.")
		}
		out.Min = f.count("exactly", 1, 1)
		out.Max = out.Min
	} else {
		out.Min, out.Max = f.count("min", 0, 0), f.count("max", 1, 0)
		if out.Max > 0 && out.Max < out.Min {
			f.fail(f.attrs["max"].SrcRange, numberOutOfRange, fmt.Sprintf("The most, %d, is less than the least, %d: no number would do. Give `max` the greater one.", out.Max, out.Min))
		}
	}
	s.FanOut = out
}

func (l *loader) stageFindings(s *dag.Stage, b *body) {
	block := b.block("findings")
	if block == nil {
		return
	}
	f := l.open(block, shape{need: []string{"codes"}, may: []string{"mode"}})
	m := &dag.FindingMap{Codes: map[string]dag.Code{}, Mode: refAttr[dag.Mode](f, "mode", "mode")}
	s.Findings = m
	if s.Decide != nil || b.block("decide") != nil {
		f.fail(f.at, strayAttribute, "A `findings` block maps the words of a plugin's findings, and this stage is no plugin. Write `finding` blocks in `decide`.")
	}
	object, ok := f.expr("codes").(*hclsyntax.ObjectConsExpr)
	if !ok {
		if f.has("codes") {
			f.fail(f.expr("codes").Range(), wrongType, "The words are mapped in an object:\n    codes = { thin = failure.THIN }")
		}
		return
	}
	for _, item := range object.Items {
		word, ok := literalKey(item.KeyExpr)
		if !ok {
			f.fail(item.KeyExpr.Range(), wrongType, "A word of the plugin's is written out, not computed:\n    codes = { thin = failure.THIN }")
			continue
		}
		code := reference[dag.FailureCode](l, item.ValueExpr, "failure")
		if code == nil {
			continue
		}
		l.useCode(code, item.ValueExpr.Range())
		m.Codes[word] = code.Code
	}
}

// stageScheduling reads what decides when and how often, never what.
func (l *loader) stageScheduling(s *dag.Stage, b *body) {
	s.Timeout = b.duration("timeout")
	s.Concurrency = b.count("concurrency", 1, 0)
	s.Samples = b.count("samples", 1, 0)
	l.stageSamples(s, b)
	s.MaxAge, s.HasMaxAge = b.duration("max_age"), b.has("max_age")
	if b.has("cache") {
		cache := b.flag("cache", true)
		s.Cache = &cache
	}
	s.Volatile = b.distinctWords("volatile")
	s.ReadsCorpus = refAttr[dag.Gate](b, "reads", "gate") != nil
	s.Retry = dag.Retry{Attempts: 4}
	if block := b.block("retry"); block != nil {
		r := l.open(block, shape{may: []string{"attempts", "backoff", "max_backoff"}})
		s.Retry = dag.Retry{Attempts: r.count("attempts", 1, 4), Backoff: r.durationIf("backoff"), MaxBackoff: r.durationIf("max_backoff")}
	}
	if block := b.block("batch"); block != nil {
		q := l.open(block, shape{need: []string{"size"}})
		s.Batch = q.count("size", 1, 0)
		l.unsupportedAt("batch", block.DefRange())
		if s.Info != nil && !s.Info.Batches {
			q.fail(q.at, pluginWithoutBatches, fmt.Sprintf("The plugin %q takes one item a visit. Remove the block.", s.Plugin.Name))
		}
	}
	if s.Rescue = b.text("rescue"); s.Rescue != "" {
		l.unsupportedAt("rescue", b.attrs["rescue"].SrcRange)
		if !slices.Contains(s.Outcomes, s.Rescue) {
			b.fail(b.expr("rescue").Range(), unknownOutcome, sentence(fmt.Sprintf("The stage %q has no outcome %q.", s.Name, s.Rescue), diag.DidYouMean(s.Rescue, s.Outcomes)))
		}
	}
}

// stageSamples refuses what is said of one output where the output is a list
// of several.
func (l *loader) stageSamples(s *dag.Stage, b *body) {
	if s.Samples == 0 || s.Decide != nil {
		return
	}
	if b.has("outcomes") && !b.has("outcome") {
		b.fail(b.attrs["outcomes"].SrcRange, missingAttribute, "Each sample ends with a word of its own, and the visit with one. Say with `outcome`, over the list that `output` is, which:\n    outcome = length([for o in output : o if o.ok]) > 1 ? \"yes\" : \"no\"")
	}
	for _, name := range []string{"may_change", "must_change"} {
		if b.has(name) {
			b.fail(b.attrs[name].SrcRange, strayAttribute, fmt.Sprintf("`%s` compares the output with the item, and of several samples the output is the list. Remove it, or change the item in a stage that comes after.", name))
		}
	}
}
