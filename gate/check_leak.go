package gate

import (
	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/text"
)

// leakCheck holds when the needle does not occur in the haystack by whole tokens.
type leakCheck struct{ needle, haystack dag.Expr }

func newLeakCheck(c *dag.Check) (checker, error) {
	return &leakCheck{c.Args["needle"], c.Args["haystack"]}, nil
}

func (c *leakCheck) judge(s *scope) (result, error) {
	needle, err := c.needle.Text(s)
	if err != nil {
		return result{}, err
	}
	haystack, err := c.haystack.Text(s)
	if err != nil {
		return result{}, err
	}
	if text.Leak(needle, haystack) {
		return refused("", "%s can be read in %s", clipped(needle), clipped(haystack)), nil
	}
	return passed(nil), nil
}
