package dag

import (
	"fmt"
	"slices"
	"strings"
)

// Changes is what differs in meaning between two pipelines: what they declare
// is compared resolved, so that layout, comments, the order of blocks, the files
// they stand in and the names of plugins, providers, routes, locals and lets make
// no difference. Lists are in the order of the newer pipeline; what is gone from
// it comes after that.
type Changes struct {
	Pipeline   []Attribute `json:"pipeline,omitempty"`
	Stages     []Change    `json:"stages,omitempty"`
	Routes     []WayChange `json:"routes,omitempty"`
	Codes      []Change    `json:"codes,omitempty"`
	Checks     []Change    `json:"checks,omitempty"`
	Gate       []Attribute `json:"gate,omitempty"` // bucket, hold, candidate, corpus, breaker and what else is no check
	Sources    []Change    `json:"sources,omitempty"`
	Variables  []Change    `json:"variables,omitempty"`
	Modes      []Change    `json:"modes,omitempty"`
	Plugins    []Change    `json:"plugins,omitempty"`
	Providers  []Change    `json:"providers,omitempty"`
	Invariants []Change    `json:"invariants,omitempty"`
	// Rewritten lists stages whose way out is written otherwise and leads every
	// value to where it went before. That is no change.
	Rewritten []string `json:"rewritten,omitempty"`
}

// How says what became of a block.
type How string

const (
	Added   How = "added"
	Removed How = "removed"
	Changed How = "changed"
)

// Change is a block that is not what it was.
type Change struct {
	Name       string      `json:"name"`
	How        How         `json:"how"`
	Attributes []Attribute `json:"attributes,omitempty"` // of a new block all that it sets; of one that is gone none
	Stages     []string    `json:"stages,omitempty"`     // of a plugin or provider: those that it serves now
}

// Attribute is a value of a block that is not what it was.
type Attribute struct {
	Name  string       `json:"name"`            // "config.template", "retry.attempts"
	Old   string       `json:"old,omitempty"`   // for people; empty: not set
	New   string       `json:"new,omitempty"`   // for people; empty: not set
	Lines *Lines       `json:"lines,omitempty"` // of a text of several lines, in the place of Old and New
	Paths []PathChange `json:"paths,omitempty"` // of a JSON Schema, besides Old and New
}

// WayChange is a row of the table of routes: where an item goes that went
// elsewhere before.
type WayChange struct {
	Stage string `json:"stage"`          // that it comes from
	On    string `json:"on,omitempty"`   // the outcome, or "fail" with a code or without; empty: whatever the outcome
	When  string `json:"when,omitempty"` // for which values; empty: for all
	Old   string `json:"old,omitempty"`  // empty: there was no such way
	New   string `json:"new,omitempty"`  // empty: there is no such way any more
}

// Empty reports whether nothing has changed in meaning.
func (c *Changes) Empty() bool {
	return len(c.Pipeline)+len(c.Stages)+len(c.Routes)+len(c.Codes)+len(c.Checks)+len(c.Gate)+len(c.Sources)+
		len(c.Variables)+len(c.Modes)+len(c.Plugins)+len(c.Providers)+len(c.Invariants) == 0
}

// Diff compares two pipelines, both without errors.
func Diff(was, is *Graph) *Changes {
	d := newDiffer(was, is)
	c := &Changes{
		Pipeline:   compareFacts(pipelineFacts(&was.Pipeline), pipelineFacts(&is.Pipeline)),
		Codes:      compareBlocks(blocksOf(was.Codes, codeBlock), blocksOf(is.Codes, codeBlock)),
		Sources:    compareBlocks(blocksOf(was.Sources, sourceBlock), blocksOf(is.Sources, sourceBlock)),
		Variables:  compareBlocks(blocksOf(was.Variables, variableBlock), blocksOf(is.Variables, variableBlock)),
		Modes:      compareBlocks(blocksOf(was.Modes, modeBlock), blocksOf(is.Modes, modeBlock)),
		Invariants: compareBlocks(invariantBlocks(was), invariantBlocks(is)),
		Plugins:    compareBlocks(d.plugins(was), d.plugins(is)),
		Providers:  compareBlocks(d.providers(was), d.providers(is)),
		Stages:     compareBlocks(d.stages(was), d.stages(is)),
	}
	d.served(c.Plugins, servedByPlugin)
	d.served(c.Providers, servedByProvider)
	c.Routes, c.Rewritten = d.routes()
	c.Checks, c.Gate = d.gate()
	return c
}

// fact is one value of a block, with its name.
type fact struct {
	name string
	text string // for people
	// key is equal where the meaning is. Empty: text is.
	key string
	// same is a second key, one of which suffices: a triage that is inherited and
	// one that is written out may be the same, and may both have changed with the code.
	same     string
	resolved string // the text with all that is known in it, shown where text alone tells no difference
	changed  string // told instead of text where it has changed, and must not be told
	standard bool   // it has this value where nothing is written
	raw      string // a text as it is, not quoted: of several lines it is compared line by line
	doc      []byte // a JSON document whose paths are compared
	// order names parts that stand as values of their own: it has changed where
	// those that both have stand in another order.
	order []string
}

func (f fact) equal(g fact) bool {
	if f.same != "" && f.same == g.same {
		return true
	}
	return f.identity() == g.identity()
}

func (f fact) identity() string {
	if f.key != "" {
		return f.key
	}
	return f.text
}

// factBlock is a block with its values, in order.
type factBlock struct {
	id    string // by which it is found in the other pipeline
	name  string // for people
	facts []fact
}

// blocksOf describes all blocks of a kind.
func blocksOf[T any](list []T, describe func(T) factBlock) []factBlock {
	blocks := make([]factBlock, len(list))
	for i, b := range list {
		blocks[i] = describe(b)
	}
	return blocks
}

// compareBlocks pairs blocks by their id.
func compareBlocks(was, is []factBlock) []Change {
	var changes []Change
	find := func(list []factBlock, id string) int {
		return slices.IndexFunc(list, func(b factBlock) bool { return b.id == id })
	}
	for _, b := range is {
		i := find(was, b.id)
		if i < 0 {
			changes = append(changes, Change{Name: b.name, How: Added, Attributes: newFacts(b.facts)})
		} else if attributes := compareFacts(was[i].facts, b.facts); len(attributes) > 0 {
			changes = append(changes, Change{Name: b.name, How: Changed, Attributes: attributes})
		}
	}
	for _, b := range was {
		if find(is, b.id) < 0 {
			changes = append(changes, Change{Name: b.name, How: Removed})
		}
	}
	return changes
}

// newFacts is what a block sets that was not there before.
func newFacts(facts []fact) []Attribute {
	var set []Attribute
	for _, f := range facts {
		if !f.standard && f.order == nil {
			set = append(set, Attribute{Name: f.name, New: oneLine(f)})
		}
	}
	return set
}

// oneLine is a value in a cell; a long text is told by its size.
func oneLine(f fact) string {
	if n := len(splitLines(f.raw)); n > 1 {
		return fmt.Sprintf("%d lines", n)
	}
	return f.text
}

// compareFacts compares the values of one block, in the order of the newer one.
func compareFacts(was, is []fact) []Attribute {
	var changes []Attribute
	find := func(list []fact, name string) (fact, bool) {
		i := slices.IndexFunc(list, func(f fact) bool { return f.name == name })
		if i < 0 {
			return fact{name: name}, false
		}
		return list[i], true
	}
	for _, f := range is {
		old, ok := find(was, f.name)
		switch {
		case f.order != nil:
			changes = append(changes, compareOrder(f.name, old.order, f.order)...)
		case !ok || !old.equal(f):
			changes = append(changes, attribute(old, f))
		}
	}
	for _, old := range was {
		if f, ok := find(is, old.name); !ok && old.order == nil {
			changes = append(changes, attribute(old, f))
		}
	}
	return changes
}

func attribute(old, f fact) Attribute {
	a := Attribute{Name: f.name, Old: oneLine(old), New: oneLine(f)}
	switch {
	case old.raw != "" && f.raw != "" && len(splitLines(old.raw))+len(splitLines(f.raw)) > 2:
		a.Old, a.New, a.Lines = "", "", compareLines(old.raw, f.raw)
	case old.doc != nil && f.doc != nil:
		a.Paths = compareDocs(old.doc, f.doc)
	case a.Old == a.New && f.changed != "":
		a.New = f.changed
	case a.Old == a.New && (old.resolved != "" || f.resolved != ""):
		a.Old, a.New = old.resolved, f.resolved
	}
	return a
}

// compareOrder tells that what is in both lists stands in another order.
func compareOrder(name string, was, is []string) []Attribute {
	both := func(list, other []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !slices.Contains(other, s) })
	}
	before, after := both(was, is), both(is, was)
	if slices.Equal(before, after) {
		return nil
	}
	return []Attribute{{Name: name, Old: strings.Join(before, ", "), New: strings.Join(after, ", ")}}
}
