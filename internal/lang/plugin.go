package lang

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/lang/expr"
	"github.com/penstock-run/penstock/internal/price"
)

var pluginShape = shape{may: []string{"source", "command", "files", "processes", "env", "network"}}

func (l *loader) loadPlugins() {
	for _, block := range l.blocks["plugin"] {
		p := l.names["plugin"].nodes[block.Labels[0]].(*dag.Plugin)
		l.withEnv(fmt.Sprintf("plugin %q", p.Name), block.DefRange(), func() { l.loadPlugin(p, block) })
		l.graph.Plugins = append(l.graph.Plugins, p)
	}
}

func (l *loader) loadPlugin(p *dag.Plugin, block *hclsyntax.Block) {
	b := l.open(block, pluginShape)
	switch b.together("source", "command") {
	case "source":
		p.Source = b.required("source")
		if b.ok && !isSource(p.Source) {
			b.fail(b.expr("source").Range(), badSource, fmt.Sprintf("%q is no source of a plugin. Write \"builtin/NAME\" for one that comes with Penstock, \"./path\" for a program of yours beside the pipeline, or instead\n    command = [\"program\", \"argument\"]", p.Source))
		}
		if b.has("files") {
			b.fail(b.attrs["files"].NameRange, oneOfSeveral, "`files` belongs to `command`: the digest of a source covers the program itself.")
		}
	case "command":
		p.Command = b.texts("command")
		p.Files = b.texts("files")
		if b.ok && (len(p.Command) == 0 || p.Command[0] == "") {
			b.fail(b.expr("command").Range(), emptyList, "A command is a program and its arguments: command = [\"python3\", \"stage.py\"]")
		}
		for i, glob := range p.Files {
			if !inside(glob) {
				b.fail(elementRange(b.expr("files"), i), pathOutside, fmt.Sprintf("%q leads out of the pipeline's directory. Paths are relative to it, with forward slashes, and stay in it.", glob))
			}
		}
	default:
		if b.ok {
			b.fail(b.at, missingAttribute, "A plugin block needs `source` (\"builtin/NAME\" or \"./path\") or `command` (a list of a program and its arguments).")
		}
	}
	p.Processes = b.count("processes", 1, 1)
	p.Env = b.distinctWords("env")
	p.Network = b.flag("network", false)
	if !b.ok {
		l.plugins[p] = nil
	}
}

func isSource(s string) bool {
	name, builtin := strings.CutPrefix(s, "builtin/")
	if builtin {
		return name != "" && !strings.Contains(name, "/")
	}
	return strings.HasPrefix(s, "./") && inside(s) && len(s) > len("./")
}

// describe asks a plugin once what it says of itself, and checks its kind. Nil
// means that it was complained of.
func (l *loader) describe(p *dag.Plugin, kind string, at hcl.Range) *dag.PluginInfo {
	info, asked := l.plugins[p]
	if !asked {
		info = l.askPlugin(p)
		l.plugins[p] = info
	}
	if info == nil {
		return nil
	}
	if info.Kind != kind {
		detail := fmt.Sprintf("The plugin %q answers for a provider, and here a stage's is needed. What asks a model is the plugin \"builtin/prompt\"; lend it this one:\n    plugin   = plugin.prompt\n    provider = provider.x", p.Name)
		if info.Kind == "stage" {
			detail = fmt.Sprintf("The plugin %q does the work of a stage, and here one is needed that answers prompts, such as\n    plugin \"openai\" { source = \"builtin/openai\" }", p.Name)
		}
		l.error(at, wrongPluginKind, detail)
		return nil
	}
	return info
}

// describeBundled asks the bundled plugins that nothing uses, too: it costs
// nothing, and a misspelt name is found before somebody uses it.
func (l *loader) describeBundled() {
	for _, p := range l.graph.Plugins {
		if _, asked := l.plugins[p]; !asked && strings.HasPrefix(p.Source, "builtin/") {
			l.plugins[p] = l.askPlugin(p)
		}
	}
}

func (l *loader) askPlugin(p *dag.Plugin) *dag.PluginInfo {
	at := l.ranges[p.Pos]
	if info := l.lockedInfo(p); info != nil {
		return info
	}
	if l.opts.Describe == nil {
		l.error(at, pluginUndescribed, "Nothing is known of this plugin: no one is there to ask it.")
		return nil
	}
	info, err := l.opts.Describe(p)
	if err == nil && info == nil {
		err = fmt.Errorf("it said nothing")
	}
	if err != nil {
		l.undescribed(p, at, err)
		return nil
	}
	if faults := descriptionFaults(info); len(faults) > 0 {
		l.error(at, badDescription, fmt.Sprintf("What the plugin %q says of itself cannot be used:\n    %s\nIts Describe has to be mended.", p.Name, strings.Join(faults, "\n    ")))
		return nil
	}
	return info
}

// undescribed complains of a plugin that is not there, or is none.
func (l *loader) undescribed(p *dag.Plugin, at hcl.Range, err error) {
	if block := l.block("plugin", p.Name); block != nil {
		for _, name := range []string{"source", "command"} {
			if attr := block.Body.Attributes[name]; attr != nil {
				at = attr.Expr.Range()
			}
		}
	}
	why := ""
	var own *dag.Error
	if errors.As(err, &own) && own.Err != nil {
		err, why = own.Err, own.Hint
	}
	switch text := err.Error(); {
	case strings.HasPrefix(p.Source, "builtin/"):
		l.error(at, unknownBundled, ended(upper(text)))
		return
	case strings.Contains(text, "handshake"):
		err = errors.New(strings.ReplaceAll(text, "before its handshake", "before it said that it is a plugin"))
		why = "A plugin is a program that is built to be one, with the SDK or by docs/protocol.md. Any program that reads a document and writes one is run by the plugin exec:\n    plugin \"exec\" { source = \"builtin/exec\" }\n    stage \"x\" {\n      plugin = plugin.exec\n      config { command = [\"python3\", \"step.py\"] }\n    }"
	case strings.Contains(text, "not executable"):
		why = fmt.Sprintf("Make it so with\n    chmod +x %s", p.Source)
	case strings.Contains(text, "executable file not found"):
		why = "Install it, or write its path: \"./x\" is beside the pipeline."
	}
	text := fmt.Sprintf("The plugin %q cannot be asked what it is: ", p.Name)
	if said := err.Error(); strings.Contains(said, "\n") && why != "" { // what a process printed last stays as it was
		text += said + "\n" + ended(upper(why))
	} else {
		text += sentence(ended(said), ended(upper(why)))
	}
	l.error(at, pluginUndescribed, text)
}

// ended is a sentence with its end.
func ended(s string) string {
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") || strings.Contains(s, "\n    ") {
		return s
	}
	return s + "."
}

// block is a declared block, nil where there is none.
func (l *loader) block(kind, name string) *hclsyntax.Block {
	for _, b := range l.blocks[kind] {
		if len(b.Labels) == 1 && b.Labels[0] == name {
			return b
		}
	}
	return nil
}

// descriptionFaults is what is wrong with a plugin's description: a pipeline
// cannot be held to a schema that says nothing.
func descriptionFaults(info *dag.PluginInfo) []string {
	var faults []string
	if info.Name == "" {
		faults = append(faults, "it has no name")
	}
	for _, code := range info.Codes {
		if !isCode(string(code)) {
			faults = append(faults, fmt.Sprintf("%q is no failure code: capitals, digits and _, a letter first", code))
		}
	}
	return append(faults, fieldFaults("config", info.Config)...)
}

func fieldFaults(block string, fields []dag.ConfigField) []string {
	var faults []string
	seen := map[string]bool{}
	for _, f := range fields {
		complain := func(format string, args ...any) {
			faults = append(faults, fmt.Sprintf("%s, field %q: ", block, f.Name)+fmt.Sprintf(format, args...))
		}
		switch {
		case !hclsyntax.ValidIdentifier(f.Name):
			complain("it has no name that can be written in a pipeline")
		case seen[f.Name]:
			complain("it stands there twice")
		case f.Block != nil:
			faults = append(faults, fieldFaults(f.Name, f.Block)...)
		default:
			if _, err := parseType(f); err != nil {
				complain("%q is no type, as string, list(string) or any are", f.Type)
			} else if _, _, err := parseDefault(f); err != nil {
				complain("its default %s is no JSON of type %s", f.Default, f.Type)
			}
		}
		seen[f.Name] = true
	}
	return faults
}

var providerShape = shape{
	need:   []string{"plugin", "model"},
	blocks: one("config", "limits", "price"),
}

func (l *loader) loadProviders() {
	for _, block := range l.blocks["provider"] {
		p := l.names["provider"].nodes[block.Labels[0]].(*dag.Provider)
		p.Replaying = !l.calls()
		name := fmt.Sprintf("provider %q", p.Name)
		l.withEnv(name, block.DefRange(), func() { l.loadProvider(p, block) })
		l.graph.Providers = append(l.graph.Providers, p)
	}
}

func (l *loader) loadProvider(p *dag.Provider, block *hclsyntax.Block) {
	b := l.open(block, providerShape)
	p.Plugin = refAttr[dag.Plugin](b, "plugin", "plugin")
	p.Model = b.required("model")
	if limits := b.block("limits"); limits != nil {
		q := l.open(limits, shape{may: []string{"requests_per_minute", "tokens_per_minute", "concurrency", "max_wait", "patience", "ignore_latency"}})
		p.Limits = dag.Limits{
			RequestsPerMinute: q.count("requests_per_minute", 1, 0),
			TokensPerMinute:   q.count("tokens_per_minute", 1, 0),
			Concurrency:       q.count("concurrency", 1, 0),
			MaxWait:           q.durationIf("max_wait"),
			Patience:          q.durationIf("patience"),
			IgnoreLatency:     q.flag("ignore_latency", false),
		}
	}
	p.Price = l.ownPrice(b)
	if p.Plugin == nil {
		return
	}
	info := l.describe(p.Plugin, "provider", b.expr("plugin").Range())
	if info == nil {
		return
	}
	c := l.decodeConfig(b, info, true)
	p.Config, p.Unkeyed, p.Secrets = c.doc, c.unkeyed, c.secrets
	l.checkProvider(p, info, c, b)
	asked := dag.Asked{Of: []string{"temperature", "top_p", "seed", "stop"}, MaxTokens: maxTokens(p)}
	p.Longest = longest(p, info, asked.MaxTokens)
	if p.Price == nil {
		p.Price = append(l.prices, price.Builtin()).Of(p)
	}
	l.modelTakes(p, asked, b)
}

// calls reports whether a provider may be called.
func (l *loader) calls() bool {
	return l.opts.Live || l.opts.Visits && l.graph.Pipeline.Replay == ""
}

// checkSecrets complains of all missing secrets at once: an error where a live
// call could need them, a warning where a run would make one.
func (l *loader) checkSecrets() {
	for _, s := range l.secrets {
		missing := dag.MissingSecret{Name: s.name, Block: s.block}
		for _, p := range l.graph.Providers {
			if s.block == fmt.Sprintf("provider %q", p.Name) {
				missing.Provider = p
			}
		}
		if !slices.Contains(l.graph.Missing, missing) {
			l.graph.Missing = append(l.graph.Missing, missing)
		}
	}
	if len(l.secrets) == 0 || !l.calls() && l.graph.Pipeline.Replay != "" {
		return
	}
	var lines []string
	for _, s := range l.secrets {
		line := fmt.Sprintf("    %s  (%s)", s.name, s.block)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	what, it := "This variable of the environment is not set", "it"
	if len(lines) > 1 {
		what, it = "These variables of the environment are not set", "them"
	}
	detail := fmt.Sprintf("%s, and a live run needs %s:\n%s\nSet %s, or run against recorded answers, with `replay` in the pipeline block and without --live.", what, it, strings.Join(lines, "\n"), it)
	if l.calls() {
		l.error(l.secrets[0].at, missingSecrets, detail)
	} else if !l.diags.HasErrors() {
		l.warn(l.secrets[0].at, missingSecrets, detail)
	}
}

var sourceShape = shape{
	need: []string{"files"},
	may:  []string{"format", "key", "limit", "schema", "code"},
}

var formats = []string{"json", "jsonl", "csv", "tsv", "lines", "markdown", "text"}

func (l *loader) loadSources() {
	for _, block := range l.blocks["source"] {
		s := l.names["source"].nodes[block.Labels[0]].(*dag.Source)
		b := l.open(block, sourceShape)
		s.Files = b.distinctWords("files")
		for i, glob := range s.Files {
			if glob != "" && !inside(glob) {
				b.fail(elementRange(b.expr("files"), i), pathOutside, fmt.Sprintf("%q leads out of the pipeline's directory. Paths are relative to it, with forward slashes, and stay in it.", glob))
			}
		}
		if b.has("files") && b.ok && len(s.Files) == 0 {
			b.fail(b.expr("files").Range(), emptyList, "The list of files is empty, so no item would ever come from here.")
		}
		s.Format = b.word("format", formats...)
		s.Limit = b.count("limit", 1, 0)
		s.Schema = b.schema("schema")
		s.Code = b.code("code")
		if s.Code != "" && s.Schema == nil && !b.has("schema") {
			b.fail(b.attrs["code"].NameRange, strayAttribute, "`code` is what an item fails with that does not fit the source's schema, and there is no `schema` here. Add one, or remove `code`.")
		}
		if e := b.expr("key"); e != nil {
			if text, ok := plainText(e); ok {
				b.fail(e.Range(), sameKey, fmt.Sprintf("Every item would have the key %q, and of items with one key the first alone is taken. Read it from the item, as in\n    key = origin.id", text))
			}
			l.compileLater(task{e: e, want: expr.WantText, at: place{kind: atSource, source: s}, set: func(x dag.Expr) { s.Key = x }})
		}
		l.graph.Sources = append(l.graph.Sources, s)
	}
	if len(l.blocks["source"]) == 0 && !l.broken {
		l.error(hcl.Range{Filename: l.mainFile()}, missingBlock, "Nothing says where items come from. Write\n    source \"NAME\" { files = [\"data/*.jsonl\"] }")
	}
}
