package dag

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// independence proves that a stage and those that it declares itself
// independent of do not ask the same model through the same plugin. Names of
// blocks do not count: two blocks may configure one and the same thing.
func (p *prover) independence() {
	for _, s := range p.g.Stages {
		for _, other := range s.Independent {
			switch {
			case s.Provider == nil && other.Provider == nil:
				problem := p.complain(s.Pos, sumDependent,
					"stage.%s is declared independent of stage.%s, and neither is lent a provider, so nothing tells them apart. Give one of them a `provider`, or take stage.%s out of `independent_of`.",
					s.Name, other.Name, other.Name)
				problem.Related = append(problem.Related, other.Pos)
			case s.Provider == nil || other.Provider == nil:
			case s.Provider.same(other.Provider):
				problem := p.complain(s.Pos, sumDependent,
					"stage.%s is declared independent of stage.%s, and both ask model %q through %s. Give one of them a provider with another model or another plugin; another name for the block changes nothing.",
					s.Name, other.Name, s.Provider.Model, s.Provider.Plugin.program())
				problem.Related = append(problem.Related, other.Pos)
			}
		}
	}
}

// same reports whether two providers are one model behind one plugin.
func (p *Provider) same(o *Provider) bool {
	return p.Model == o.Model && CleanProgram(p.Plugin.program()) == CleanProgram(o.Plugin.program())
}

// program is what a plugin runs, by whatever name: its source or its command.
func (p *Plugin) program() string {
	switch {
	case p == nil:
		return ""
	case len(p.Command) > 0:
		return strings.Join(p.Command, " ")
	}
	return p.Source
}

// CleanProgram gives the source or the command of a plugin the one spelling in
// which two are compared, so that ./x and ././x are one program. It knows no file
// system: a link to a file is another program than the file.
func CleanProgram(program string) string {
	words := strings.Fields(program)
	for i, word := range words {
		if !strings.Contains(word, "/") || strings.HasPrefix(word, "builtin/") {
			continue // a program on the search path, a plain argument, one of Penstock's own
		}
		clean := path.Clean(word)
		if clean[0] != '/' && !strings.HasPrefix(clean, "..") {
			clean = "./" + clean
		}
		words[i] = clean
	}
	return strings.Join(words, " ")
}

// holding proves that an item which holds its bucket waits neither for a
// person nor for other items: they might wait for the bucket.
func (p *prover) holding() {
	if p.g.Gate == nil || p.g.Gate.Hold == nil {
		return
	}
	hold := p.g.Gate.Hold
	held := p.g.Downstream(hold)
	if !slices.Contains(held, hold) {
		held = append(held, hold)
	}
	asks := map[*Arm]bool{}
	for _, s := range p.x.stages {
		if !slices.Contains(held, s) {
			continue
		}
		since := fmt.Sprintf("its way comes from stage.%s", hold.Name)
		if s == hold {
			since = "it is the stage of `hold`"
		}
		if s.Batch > 0 {
			problem := p.complain(s.Pos, sumHeldBatch,
				"stage.%s waits until its batch is full, and an item holds its bucket there already (%s), so the items that it waits for could not come. Take `batch` out, or hold from a later stage.",
				s.Name, since)
			problem.Related = append(problem.Related, p.g.Gate.Pos)
		}
		for _, i := range p.x.out[p.x.num[s]] {
			for _, a := range p.x.asksOn(i) {
				if asks[a] {
					continue
				}
				asks[a] = true
				problem := p.complain(a.Pos, sumHeldQuestion,
					"After stage.%s an item holds its bucket already (%s), and a person may take days to answer: nothing else could enter that bucket. Ask before it, or hold from a later stage.",
					s.Name, since)
				problem.Related = append(problem.Related, p.g.Gate.Pos)
			}
		}
	}
}

// asksOn lists the questions that are asked, or were exhausted, on an edge.
func (x *index) asksOn(i int) []*Arm {
	var asks []*Arm
	for _, c := range append(append([]int(nil), x.edges[i].takes...), x.edges[i].after...) {
		if a := x.counters[c]; a.Kind == ArmAsk {
			asks = append(asks, a)
		}
	}
	return asks
}
