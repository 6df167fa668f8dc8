package gate

import (
	"fmt"
	"slices"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/text"
)

// sourcesCheck holds when enough sources are usable and none is without a URL. A
// usable source has an http or https URL with a registrable domain, a quote that
// is not blank, and supports all that is asked for.
type sourcesCheck struct {
	sources  dag.Expr
	least    int
	supports []string
}

func newSourcesCheck(c *dag.Check) (checker, error) {
	check := &sourcesCheck{sources: c.Args["sources"]}
	var err error
	if check.least, err = constantInt(c, "min", 2, 1); err != nil {
		return nil, err
	}
	check.supports, err = constant(c, "supports", []string(nil))
	return check, err
}

// source is what the check reads of one.
type source struct {
	URL      string   `json:"url"`
	Quote    string   `json:"quote"`
	Supports []string `json:"supports"`
}

func (c *sourcesCheck) judge(s *scope) (result, error) {
	sources, err := decode[[]source](s, c.sources, "sources")
	if err != nil {
		return result{}, err
	}
	usable := 0
	var details []Detail
	missing := false
	byURL := map[string]int{}
	for i, source := range sources {
		at, why := c.unusable(s, source)
		if why == "" {
			usable++
			byURL[source.URL]++
			continue
		}
		missing = missing || text.Blank(source.URL)
		byURL[source.URL] += 0 // known, and of no use so far
		details = append(details, Detail{At: fmt.Sprintf("sources[%d].%s", i, at), Why: why})
	}
	found := map[string]any{"usable": usable, "given": len(sources)}
	if usable >= c.least && !missing {
		r := passed(found).withFigure(usable)
		r.usable = byURL
		return r, nil
	}
	why := fmt.Sprintf("%d of %d sources are usable, at least %d must be", usable, len(sources), c.least)
	if usable >= c.least {
		why = "a source has no URL"
	}
	if len(details) == 0 {
		details = []Detail{{At: "sources", Why: why}}
	}
	return result{state: failed, details: details, evidence: why, found: found, usable: byURL}.withFigure(usable), nil
}

// unusable says what a source lacks, and where.
func (c *sourcesCheck) unusable(scope *scope, s source) (at, why string) {
	if text.Blank(s.URL) {
		return "url", "there is no URL"
	}
	if _, err := scope.domain(s.URL); err != nil {
		return "url", err.Error()
	}
	if text.Blank(s.Quote) {
		return "quote", "the quote is blank"
	}
	for _, what := range c.supports {
		if !slices.Contains(s.Supports, what) {
			return "supports", "it does not support the " + what
		}
	}
	return "", ""
}
