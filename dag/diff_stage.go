package dag

import (
	"maps"
	"slices"
	"strconv"
)

// differ compares two graphs. Blocks whose names mean nothing are known by an
// id that a block of the other graph shares: of the same name, or else, where a
// block was renamed, with the same content.
type differ struct {
	was, is    *Graph
	pluginID   map[*Plugin]string
	providerID map[*Provider]string
}

func newDiffer(was, is *Graph) *differ {
	d := &differ{was: was, is: is, pluginID: map[*Plugin]string{}, providerID: map[*Provider]string{}}
	pairNames(d.pluginID, was.Plugins, is.Plugins, func(p *Plugin) string { return p.Name }, pluginFacts)
	pairNames(d.providerID, was.Providers, is.Providers, func(p *Provider) string { return p.Name }, d.providerFacts)
	return d
}

// pairNames gives every block an id: its name, or that of the block of the other
// graph which it was before it was renamed.
func pairNames[T comparable](ids map[T]string, was, is []T, name func(T) string, facts func(T) []fact) {
	for _, b := range slices.Concat(was, is) {
		ids[b] = name(b)
	}
	named := func(list []T, n string) bool {
		return slices.ContainsFunc(list, func(b T) bool { return name(b) == n })
	}
	taken := map[T]bool{}
	for _, b := range is {
		if named(was, name(b)) {
			continue
		}
		for _, old := range was {
			if !taken[old] && !named(is, name(old)) && len(compareFacts(facts(old), facts(b))) == 0 {
				ids[b], taken[old] = name(old), true
				break
			}
		}
	}
}

func pluginFacts(p *Plugin) []fact {
	var l factList
	l.word("source", p.Source)
	l.list("command", p.Command)
	l.set("files", p.Files)
	l.standard("processes", p.Processes, 1)
	l.set("env", p.Env)
	l.flag("network", p.Network)
	return l
}

func (d *differ) providerFacts(p *Provider) []fact {
	var l factList
	l = append(l, fact{name: "plugin", text: "plugin." + p.Plugin.Name, key: d.pluginID[p.Plugin]})
	l.text("model", p.Model)
	l.doc("config", p.Config)
	l.doc("config", p.Unkeyed)
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		l = append(l, fact{name: "config." + name, text: "(sensitive)", key: Sum([]byte(p.Secrets[name])).String(), changed: "(sensitive, another one)"})
	}
	l.count("limits.requests_per_minute", p.Limits.RequestsPerMinute)
	l.count("limits.tokens_per_minute", p.Limits.TokensPerMinute)
	l.count("limits.concurrency", p.Limits.Concurrency)
	l.durationIf("limits.max_wait", p.Limits.MaxWait)
	l.durationIf("limits.patience", p.Limits.Patience)
	l.flag("limits.ignore_latency", p.Limits.IgnoreLatency)
	if p.Price != nil && p.Price.From == OwnPrice { // else nobody wrote it here
		for _, price := range []struct {
			name string
			usd  float64
		}{{"input", p.Price.Input}, {"cached_input", p.Price.CachedInput}, {"cache_write", p.Price.Written()}, {"output", p.Price.Output}} {
			l.word("price."+price.name, strconv.FormatFloat(price.usd, 'g', -1, 64))
		}
	}
	return l
}

func (d *differ) plugins(g *Graph) []factBlock {
	return blocksOf(g.Plugins, func(p *Plugin) factBlock { return factBlock{d.pluginID[p], p.Name, pluginFacts(p)} })
}

func (d *differ) providers(g *Graph) []factBlock {
	return blocksOf(g.Providers, func(p *Provider) factBlock { return factBlock{d.providerID[p], p.Name, d.providerFacts(p)} })
}

// served tells of each change of a plugin or a provider which stages it serves now.
func (d *differ) served(changes []Change, by func(s *Stage, name string) bool) {
	for i := range changes {
		for _, s := range d.is.Stages {
			if changes[i].How != Removed && by(s, changes[i].Name) {
				changes[i].Stages = append(changes[i].Stages, s.Name)
			}
		}
	}
}

func servedByPlugin(s *Stage, name string) bool {
	return s.Plugin != nil && s.Plugin.Name == name || s.Provider != nil && s.Provider.Plugin.Name == name
}

func servedByProvider(s *Stage, name string) bool {
	return s.Provider != nil && s.Provider.Name == name
}

func (d *differ) stages(g *Graph) []factBlock {
	return blocksOf(g.Stages, func(s *Stage) factBlock { return factBlock{s.Name, s.Name, d.stageFacts(g, s)} })
}

func (d *differ) stageFacts(g *Graph, s *Stage) []fact {
	var l factList
	if s.Plugin != nil {
		l = append(l, fact{name: "plugin", text: "plugin." + s.Plugin.Name, key: d.pluginID[s.Plugin]})
	}
	if s.Provider != nil {
		l = append(l, fact{name: "provider", text: "provider." + s.Provider.Name, key: d.providerID[s.Provider]})
	}
	l.doc("config", s.Config)
	l.doc("config", s.Unkeyed)
	if s.Decide != nil {
		l.decide(g, s.Decide)
	}
	l.expr("input", s.Input)
	l.schema("output.schema", s.Schema)
	l.set("outcomes", s.Outcomes)
	l[len(l)-1].standard = len(s.Outcomes) == 1 && s.Outcomes[0] == "ok"
	l.expr("outcome", s.Outcome)
	l.code("code", s.Code)
	l.expr("forward", s.Forward)
	l.expr("may_change", s.MayChange)
	if s.MustCode != "" {
		l.code("must_change", s.MustCode)
	} else {
		l.flag("must_change", s.MustChange)
	}
	if f := s.FanOut; f != nil {
		l.expr("fan_out.each", f.Each)
		l.expr("fan_out.key", f.Key)
		l.count("fan_out.min", f.Min)
		l.count("fan_out.max", f.Max)
		l.code("fan_out.code", f.Code)
	}
	if f := s.Findings; f != nil {
		for _, word := range slices.Sorted(maps.Keys(f.Codes)) {
			l.code("findings.codes."+word, f.Codes[word])
		}
		l.mode("findings.mode", f.Mode)
	}
	l.flag("reads", s.ReadsCorpus)
	l.scheduling(s)
	return l
}

// scheduling is what decides when and how often, and what is reused.
func (l *factList) scheduling(s *Stage) {
	l.duration("timeout", s.Timeout)
	if s.Plugin != nil {
		l.standard("retry.attempts", s.Retry.Attempts, 4)
		l.durationIf("retry.backoff", s.Retry.Backoff)
		l.durationIf("retry.max_backoff", s.Retry.MaxBackoff)
	}
	l.count("concurrency", s.Concurrency)
	l.count("batch.size", s.Batch)
	l.count("samples", s.Samples)
	if s.HasMaxAge {
		l.word("max_age", s.MaxAge.String())
	}
	if s.Cache != nil {
		l.word("cache", strconv.FormatBool(*s.Cache))
	}
	l.set("volatile", s.Volatile)
	l.text("rescue", s.Rescue)
	l.stages("independent_of", s.Independent)
}

func (l *factList) decide(g *Graph, d *Decide) {
	var order []string
	for _, r := range d.Rules {
		at := "decide." + r.Reason
		if r.Reason != "else" {
			order = append(order, r.Reason)
		}
		l.expr(at+".if", r.If)
		l.text(at+".outcome", r.Outcome)
		l.expr(at+".output", r.Output)
	}
	l.order("decide.order", order)
	var findings []string
	for _, f := range d.Findings {
		l.finding(g, "decide.finding."+f.Name, f)
		findings = append(findings, f.Name)
	}
	l.order("decide.finding.order", findings)
}

func (l *factList) finding(g *Graph, at string, f FindingRule) {
	l.expr(at+".if", f.If)
	l.code(at+".code", f.Code)
	l.triage(at+".triage", f.Triage, f.Code, g)
	l.expr(at+".figure", f.Figure)
	l.expr(at+".evidence", f.Evidence)
	l.mode(at+".mode", f.Mode)
}
