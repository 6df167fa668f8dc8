package gate

import (
	"fmt"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/text"
)

// wordsCheck holds when the number of words lies within.
type wordsCheck struct {
	text      dag.Expr
	least     int
	most      int
	unbounded bool
}

func newWordsCheck(c *dag.Check) (checker, error) {
	check := &wordsCheck{text: c.Args["text"], unbounded: c.Args["max"] == nil}
	var err error
	if check.least, err = constantInt(c, "min", 0, 0); err != nil {
		return nil, err
	}
	if check.most, err = constantInt(c, "max", 0, 0); err != nil {
		return nil, err
	}
	if !check.unbounded && check.most < check.least {
		return nil, fmt.Errorf("max is %d and min is %d: no text fits", check.most, check.least)
	}
	return check, nil
}

func (c *wordsCheck) judge(s *scope) (result, error) {
	t, err := c.text.Text(s)
	if err != nil {
		return result{}, err
	}
	n := text.Words(t)
	found := map[string]any{"words": n}
	switch {
	case n < c.least:
		r := refused("", "the text has %s, at least %d are asked for", wordCount(n), c.least).withFigure(n)
		r.found = found
		return r, nil
	case !c.unbounded && n > c.most:
		r := refused("", "the text has %s, at most %d are allowed", wordCount(n), c.most).withFigure(n)
		r.found = found
		return r, nil
	}
	return passed(found).withFigure(n), nil
}

func wordCount(n int) string {
	if n == 1 {
		return "1 word"
	}
	return fmt.Sprintf("%d words", n)
}
