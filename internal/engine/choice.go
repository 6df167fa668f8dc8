package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
)

// Choice narrows a run to some of its items, and has some of what was done
// before made anew. The zero Choice is a run as any other.
//
// Patterns are matched with the whole of a name: * stands for any text, ? for
// one character, and \ takes the next character as it is.
type Choice struct {
	Only     []string // patterns of keys of source items; empty: all
	Limit    int      // of those the first so many records; 0: all
	Rerun    []string // STAGE or STAGE[ITEM], each a pattern: stored answers are not used
	Resample []string // as Rerun, and cached completions are not used either
	Retry    []string // classes: ends, failure codes and "transient"
}

// words are the choice as it stands on a command line.
func (c Choice) words() []string {
	var words []string
	for _, list := range []struct {
		flag   string
		values []string
	}{{"--only", c.Only}, {"--rerun", c.Rerun}, {"--resample", c.Resample}, {"--retry", c.Retry}} {
		for _, v := range list.values {
			words = append(words, dag.Command(list.flag, v))
		}
	}
	if c.Limit > 0 {
		words = append(words, "--limit "+strconv.Itoa(c.Limit))
	}
	return words
}

// LeftOut counts the records that a run does not look at, because it was asked
// not to. They are no items of the run, finished or not.
type LeftOut struct {
	Only  int `json:"only,omitzero"`  // records whose key no pattern matches
	Limit int `json:"limit,omitzero"` // records beyond the first so many
}

// choice is a Choice that was found to make sense for a graph.
type choice struct {
	only   []string
	limit  int
	taken  int // records that were let in
	rules  []*anewRule
	stages map[string][]*anewRule // by the stage that they speak of
	retry  []string
	met    map[string]bool // classes that an item belongs to
}

// anewRule has visits made anew, whatever staging holds.
type anewRule struct {
	flag  string // as it was written: "--rerun writer[a]"
	item  string // a pattern
	model bool   // cached completions are not used either
	retry bool   // of one item's last visit
	met   bool   // by a visit, of this run or of a trail before
}

// why is what a plan says of a visit that only the rule has made.
func (r *anewRule) why() string {
	if r.model {
		return r.flag + ": the model is asked anew"
	}
	return r.flag + ": what it gave is not used"
}

// everyItem is the pattern of a rule that names a stage alone.
const everyItem = "*"

// Ends that a retry can take up again, and the word for what was the world's fault.
var retriedEnds = []dag.End{dag.Failed, dag.Rejected, dag.Quarantined, dag.Skipped, dag.Reviewed, dag.Parked}

const transient = "transient"

// wrong is a mistake in a flag.
func wrong(flag, hint, format string, args ...any) error {
	return &dag.Error{Op: flag, Kind: dag.KindConfig, Err: fmt.Errorf(format, args...), Hint: hint}
}

// likely adds what a name was most likely meant to be.
func likely(text, name string, known []string) string {
	if near := diag.DidYouMean(name, known); near != "" {
		text += ". " + near
	}
	return text
}

// compile finds what a choice speaks of in a graph; replaying tells that a
// cassette answers in the place of the models.
func (c Choice) compile(g *dag.Graph, replaying bool) (*choice, error) {
	out := &choice{only: c.Only, limit: c.Limit, retry: c.Retry, stages: map[string][]*anewRule{}, met: map[string]bool{}}
	if c.Limit < 0 {
		return nil, wrong("--limit "+strconv.Itoa(c.Limit), "", "it takes a whole number from 1")
	}
	for _, list := range []struct {
		flag   string
		values []string
		model  bool
	}{{"--rerun", c.Rerun, false}, {"--resample", c.Resample, true}} {
		for _, value := range list.values {
			if err := out.add(g, list.flag, value, list.model, replaying); err != nil {
				return nil, err
			}
		}
	}
	for _, class := range c.Retry {
		if err := checkClass(g, class); err != nil {
			return nil, err
		}
	}
	if slices.Contains(c.Only, "") {
		return nil, wrong("--only", "penstock plan --items", "an item's key is not empty")
	}
	return out, nil
}

// add is one --rerun or --resample.
func (c *choice) add(g *dag.Graph, flag, value string, model, replaying bool) error {
	rule := &anewRule{flag: flag + " " + value, item: everyItem, model: model}
	pattern, item, narrow := strings.Cut(value, "[")
	if narrow {
		inside, closed := strings.CutSuffix(item, "]")
		if !closed || inside == "" {
			return wrong(rule.flag, "", "write it as STAGE or STAGE[ITEM], quoted for the shell")
		}
		rule.item = inside
	}
	exact := plain(pattern)
	var known []string
	var none error
	found := 0
	for _, s := range g.Stages {
		if s.Plugin == nil {
			if s.Name == pattern {
				return wrong(rule.flag, "", "stage %s is rules, and these are evaluated in every run", s.Name)
			}
			continue
		}
		known = append(known, s.Name)
		if !matches(pattern, s.Name) {
			continue
		}
		if model && s.Provider == nil {
			none = wrong(rule.flag, dag.Command("penstock", "run", "--rerun", value), "stage %s asks no model", s.Name)
			continue
		}
		found++
		c.stages[s.Name] = append(c.stages[s.Name], rule)
	}
	switch {
	case found == 0 && none != nil:
		return none
	case found == 0 && exact:
		return wrong(rule.flag, "", "%s", likely(fmt.Sprintf("the pipeline has no stage %q", pattern), pattern, known))
	case found == 0:
		return wrong(rule.flag, "", "no stage of the pipeline matches %q", pattern)
	case model && replaying:
		return wrong(rule.flag, "--live asks the models", "a cassette answers (%s), so there is no new sample to be had", g.Pipeline.Replay)
	}
	c.rules = append(c.rules, rule)
	return nil
}

// checkClass refuses a class that nothing can belong to.
func checkClass(g *dag.Graph, class string) error {
	known := []string{transient}
	for _, end := range retriedEnds {
		known = append(known, string(end))
	}
	words := len(known)
	for _, code := range g.Codes {
		known = append(known, string(code.Code))
	}
	for _, code := range dag.EngineCodes() {
		known = append(known, string(code.Code))
	}
	if slices.Contains(known, class) {
		return nil
	}
	text := fmt.Sprintf("there is no class %q.", class)
	if near := diag.Nearest(class, known); len(near) > 0 {
		text += " Did you mean " + diag.List(near[:1]) + "?"
	}
	return wrong("--retry "+class, "penstock codes", "%s A class is %s, or a failure code", text, strings.Join(known[:words], ", "))
}

// narrows tells whether the choice may have something made anew that is done.
func (c *choice) narrows() bool { return len(c.rules) > 0 || len(c.retry) > 0 }

// rule finds what has a stage's visits of an item made anew; root is the source
// item that it came of.
func (c *choice) rule(stage, item, root string) *anewRule {
	var found *anewRule
	for _, r := range c.stages[stage] {
		if !matches(r.item, item) && !matches(r.item, root) {
			continue
		}
		r.met = true
		if found == nil || r.model {
			found = r
		}
	}
	return found
}

// unmet says which flags had nothing made anew.
func (c *choice) unmet() []string {
	var said []string
	for _, r := range c.rules {
		if !r.met {
			said = append(said, r.flag+" names no visit: nothing was made anew by it")
		}
	}
	for _, class := range c.retry {
		// What is parked for the world's fault is taken up by every run.
		if !c.met[class] && class != string(dag.Parked) && class != transient {
			said = append(said, "--retry "+class+": no item ended so")
		}
	}
	return said
}

// plain reports whether a pattern names one thing.
func plain(pattern string) bool { return !strings.ContainsAny(pattern, `*?\`) }

// matches compares the whole of a text with a pattern. Where a * was given too
// little, it is given one character more, and no other: so the time is bounded by
// the product of the lengths.
func matches(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
			continue
		case i+1 < len(p) && p[i] == '\\' && p[i+1] == t[j]:
			i, j = i+2, j+1
			continue
		case i < len(p) && p[i] != '\\' && (p[i] == '?' || p[i] == t[j]):
			i, j = i+1, j+1
			continue
		case star < 0:
			return false
		}
		mark++
		i, j = star+1, mark
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
