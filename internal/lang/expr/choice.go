package expr

import "github.com/penstock-run/penstock/dag"

var (
	_ dag.Normal  = (*compiled)(nil)
	_ dag.Chooser = (*compiled)(nil)
)

// Normal is the expression with all that is known before a run in it.
func (x *compiled) Normal() string { return normal(x.root) }

// Choice lists what the condition tells apart, by the rules of Cover.
func (x *compiled) Choice() *dag.Choice {
	r := &reader{index: map[string]int{}}
	holds := r.formula(x.root)
	if holds == nil || r.combinations() > maxCombinations {
		return nil
	}
	c := &dag.Choice{}
	for _, v := range r.vars {
		c.Paths = append(c.Paths, dag.ChoicePath{Path: v.text, Values: v.values})
	}
	c.Holds = func(value func(string) string) (bool, bool) {
		values := make([]string, len(c.Paths))
		for i, p := range c.Paths {
			values[i] = value(p.Path)
		}
		t := holds(values)
		return t == yes, t != fails
	}
	return c
}
