package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/weburl"
)

// unrelatedCheck holds when the URLs belong to enough registrable domains. Domains
// that the gate's same_owner joins are one. A URL that a check "sources" before it
// found unusable lends no domain: a source that proves nothing must not be what
// tells two others apart.
type unrelatedCheck struct {
	urls  dag.Expr
	least int
	owner map[string]string // domain → the first of those that one owner has
}

func newUnrelatedCheck(c *dag.Check, sameOwner [][]string) (checker, error) {
	check := &unrelatedCheck{urls: c.Args["urls"], owner: map[string]string{}}
	for _, domains := range sameOwner {
		for _, domain := range domains {
			check.owner[strings.ToLower(domain)] = strings.ToLower(domains[0])
		}
	}
	var err error
	check.least, err = constantInt(c, "min", 2, 1)
	return check, err
}

func (c *unrelatedCheck) judge(s *scope) (result, error) {
	urls, err := decode[[]string](s, c.urls, "urls")
	if err != nil {
		return result{}, err
	}
	owners := map[string]bool{}
	domains := make([]string, len(urls))
	usable := 0
	for i, url := range urls {
		domain, err := weburl.Domain(url)
		if err != nil || s.unusable(url) {
			continue
		}
		usable++
		domains[i] = domain
		if joined, ok := c.owner[domain]; ok {
			domain = joined
		}
		owners[domain] = true
	}
	found := map[string]any{"domains": domains}
	if len(owners) >= c.least {
		return passed(found).withFigure(len(owners)), nil
	}
	why := fmt.Sprintf("the sources belong to %s, at least %d domains are asked for", counted(owners), c.least)
	r := refused("urls", "%s", why).withFigure(len(owners))
	r.found = found
	r.found["too_few_urls"] = usable < c.least
	return r, nil
}

// unusable reports whether a check "sources" found a URL to be of no use.
func (s *scope) unusable(url string) bool {
	for _, r := range s.checks {
		if r.unusable[url] {
			return true
		}
	}
	return false
}

func counted(owners map[string]bool) string {
	names := slices.Sorted(maps.Keys(owners))
	switch len(names) {
	case 0:
		return "no domain"
	case 1:
		return "one domain, " + names[0]
	}
	return fmt.Sprintf("%d domains, %s", len(names), strings.Join(names, ", "))
}
