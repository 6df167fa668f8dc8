package gate

import "github.com/penstock-run/penstock/dag"

// assertCheck holds when its condition is true.
type assertCheck struct {
	condition dag.Expr
	message   string
}

func newAssertCheck(c *dag.Check) (checker, error) {
	return &assertCheck{c.Args["condition"], c.Message}, nil
}

func (c *assertCheck) judge(s *scope) (result, error) {
	ok, err := c.condition.Bool(s, nil)
	if err != nil {
		return result{}, err
	}
	if !ok {
		if c.message != "" {
			return refused("", "%s", c.message), nil
		}
		return refused("", "it is not true that %s", c.condition), nil
	}
	return passed(nil), nil
}
