package dag

import (
	"slices"
	"strings"
)

// decision is an arm whose conditions are looked at value by value.
type decision struct {
	way
	choices map[Expr]*Choice
	domain  map[string][]string // by path
	paths   []string            // in order of appearance
}

// listed gathers what the conditions read, and reports whether all of it can be listed.
func (d *decision) listed() bool {
	d.choices, d.domain = map[Expr]*Choice{}, map[string][]string{}
	if d.arm == nil {
		return true
	}
	var walk func(a *Arm) bool
	walk = func(a *Arm) bool {
		if a.Kind != ArmWhen {
			return true
		}
		if a.Mode != nil || len(a.Findings) > 0 {
			return false
		}
		for _, b := range a.Branches {
			c, ok := b.If.(Chooser)
			if !ok {
				return false
			}
			choice := c.Choice()
			if choice == nil {
				return false
			}
			d.choices[b.If] = choice
			for _, p := range choice.Paths {
				d.read(p)
			}
			if !walk(b.Arm) {
				return false
			}
		}
		return a.Else == nil || walk(a.Else)
	}
	return walk(d.arm)
}

func (d *decision) read(p ChoicePath) {
	if _, ok := d.domain[p.Path]; !ok {
		d.paths = append(d.paths, p.Path)
	}
	for _, v := range p.Values {
		if !slices.Contains(d.domain[p.Path], v) {
			d.domain[p.Path] = append(d.domain[p.Path], v)
		}
	}
}

// impossible reports whether the document cannot have these values, by the
// schema that this side has.
func (d *decision) impossible(value func(string) string) bool {
	for path, values := range d.domain {
		if v := value(path); !slices.Contains(values, v) && (v == Other || !slices.Contains(values, Other)) {
			return true
		}
	}
	return false
}

// take is the way that is taken for some values: none where a document cannot
// have them.
func (d *decision) take(value func(string) string) way {
	if d.arm == nil || d.impossible(value) {
		return way{}
	}
	return way{d.graph, d.arm.choose(d.choices, value)}
}

func (a *Arm) choose(choices map[Expr]*Choice, value func(string) string) *Arm {
	// A bool that is null fails the item, as does a choice without an else that the
	// schema was proved to cover.
	unevaluated := &Arm{Kind: ArmStop, Code: EExpr}
	for a.Kind == ArmWhen {
		next := a.Else
		for _, b := range a.Branches {
			holds, known := choices[b.If].Holds(value)
			if !known {
				return unevaluated
			}
			if holds {
				next = b.Arm
				break
			}
		}
		if next == nil {
			return unevaluated
		}
		a = next
	}
	return a
}

// waySwitch is where values go and went.
type waySwitch struct {
	old, new string // for people
	key      string
	cases    [][]string // values by path
}

// compareCases goes through all values that conditions tell apart. It reports
// false where there are too many.
func compareCases(old, new *decision) ([]WayChange, bool) {
	paths := slices.Clone(new.paths)
	for _, p := range old.paths {
		if !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	domain, n := make([][]string, len(paths)), 1
	for i, p := range paths {
		for _, v := range slices.Concat(new.domain[p], old.domain[p]) {
			if !slices.Contains(domain[i], v) {
				domain[i] = append(domain[i], v)
			}
		}
		// What is anything else stands last, null before it.
		slices.SortStableFunc(domain[i], func(a, b string) int { return rank(a) - rank(b) })
		if n *= len(domain[i]); n > maxCases {
			return nil, false
		}
	}
	var switches []*waySwitch
	eachCase(domain, func(values []string) {
		value := func(path string) string { return values[slices.Index(paths, path)] }
		was, is := old.take(value), new.take(value)
		if was.same(is) {
			return
		}
		before, after := describeBoth(was, is)
		key := before + "\x00" + after
		i := slices.IndexFunc(switches, func(s *waySwitch) bool { return s.key == key })
		if i < 0 {
			i = len(switches)
			switches = append(switches, &waySwitch{old: before, new: after, key: key})
		}
		switches[i].cases = append(switches[i].cases, slices.Clone(values))
	})
	var rows []WayChange
	for _, s := range switches {
		rows = append(rows, WayChange{When: casesText(paths, domain, s.cases), Old: s.old, New: s.new})
	}
	return rows, true
}

func rank(value string) int {
	switch value {
	case Other:
		return 2
	case "null":
		return 1
	}
	return 0
}

func eachCase(domain [][]string, f func(values []string)) {
	values := make([]string, len(domain))
	var from func(i int)
	from = func(i int) {
		if i == len(domain) {
			f(values)
			return
		}
		for _, v := range domain[i] {
			values[i] = v
			from(i + 1)
		}
	}
	from(0)
}

// shownCases bounds the combinations that one cell lists.
const shownCases = 12

// casesText tells a set of cases in words: path by path where every combination
// of those values is in it, else one by one.
func casesText(paths []string, domain, cases [][]string) string {
	by := make([][]string, len(paths))
	product := 1
	for i := range paths {
		for _, v := range domain[i] {
			if slices.ContainsFunc(cases, func(c []string) bool { return c[i] == v }) {
				by[i] = append(by[i], v)
			}
		}
		product *= len(by[i])
	}
	if product == len(cases) {
		var parts []string
		for i, p := range paths {
			if len(by[i]) == len(domain[i]) {
				continue // it does not matter
			}
			words := make([]string, len(by[i]))
			for j, v := range by[i] {
				words[j] = scalarText(v)
			}
			parts = append(parts, p+" is "+enumerate(words, "or"))
		}
		return strings.Join(parts, " and ")
	}
	var all []string
	for _, c := range cases[:min(len(cases), shownCases)] {
		var parts []string
		for i, p := range paths {
			parts = append(parts, p+" is "+scalarText(c[i]))
		}
		all = append(all, strings.Join(parts, " and "))
	}
	if more := len(cases) - len(all); more > 0 {
		all = append(all, "and "+itoa(more)+" more cases")
	}
	return strings.Join(all, "; ")
}
