package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/weburl"
)

// unrelatedCheck holds when the URLs belong to enough registrable domains, as they
// are given and, once a check has read them, by where they lead: two short links
// to one house are one source. Domains that the gate's same_owner joins are one. A
// URL lends a domain as often as a check "sources" before it found it usable: a
// source that proves nothing must not be what tells two others apart, nor make one
// that stands alone look like two of one house. One that is null or blank is no
// address and lends none.
type unrelatedCheck struct {
	urls  dag.Expr
	least int
	owner owners
}

func newUnrelatedCheck(c *dag.Check, sameOwner [][]string) (checker, error) {
	check := &unrelatedCheck{urls: c.Args["urls"]}
	var err error
	if check.owner, err = newOwners(sameOwner); err != nil {
		return nil, err
	}
	check.least, err = constantInt(c, "min", 2, 1)
	return check, err
}

func (c *unrelatedCheck) judge(s *scope) (result, error) {
	urls, err := decode[[]string](s, c.urls, "urls")
	if err != nil {
		return result{}, err
	}
	asked := make([]source, len(urls))
	domains := make([]string, len(urls))
	usable := 0
	seen := map[string]int{}
	for i, url := range urls {
		domain, err := s.domain(url)
		seen[url]++
		if most, told := s.usable(url); err != nil || told && seen[url] > most {
			continue
		}
		usable++
		asked[i].URL, domains[i] = url, domain
	}
	r := c.count(domains, "the sources belong to")
	r.asked, r.found = asked, map[string]any{"domains": domains}
	if r.state == failed {
		r.found["too_few_urls"] = usable < c.least
	}
	return r, nil
}

// again counts the domains in which the URLs end. One that was not read, or is not
// live, keeps the domain that it was given with; one that ends where nobody has a
// domain lends none.
func (c *unrelatedCheck) again(given result, w *web) (result, error) {
	domains := make([]string, len(given.asked))
	for i, s := range given.asked {
		final := s.URL
		if page := w.page(s.URL); page.Verdict == dag.PageLive && page.FinalURL != "" {
			final = page.FinalURL
		}
		if domain, err := weburl.Domain(final); err == nil {
			domains[i] = domain
		}
	}
	r := c.count(domains, "the sources lead to")
	r.asked, r.found = given.asked, maps.Clone(given.found)
	r.found["final_domains"] = domains
	return r, nil
}

// count compares the number of owners with what is asked for. An empty domain has
// no owner.
func (c *unrelatedCheck) count(domains []string, they string) result {
	houses := map[string]bool{}
	for _, domain := range domains {
		if domain != "" {
			houses[c.owner.of(domain)] = true
		}
	}
	if len(houses) >= c.least {
		return passed(nil).withFigure(len(houses))
	}
	return refused("urls", "%s %s, at least %d domains are asked for", they, counted(houses), c.least).withFigure(len(houses))
}

// owners joins domains: each names another of the same owner, or nothing does.
type owners map[string]string

// newOwners reads the table same_owner. Lists that share a domain are one list.
func newOwners(sameOwner [][]string) (owners, error) {
	o := owners{}
	for _, domains := range sameOwner {
		first := ""
		for _, written := range domains {
			domain, err := weburl.Domain("https://" + written)
			if err != nil {
				return nil, fmt.Errorf("same_owner: %q is not a domain that somebody owns: %w", written, err)
			}
			if first == "" {
				first = o.of(domain)
			}
			if last := o.of(domain); last != first {
				o[last] = first
			}
		}
	}
	return o, nil
}

// of is the domain that stands for all those of its owner.
func (o owners) of(domain string) string {
	for {
		next, joined := o[domain]
		if !joined {
			return domain
		}
		domain = next
	}
}

// usable is how many usable sources a check "sources" has found with a URL; told is
// false where no such check knows the URL.
func (s *scope) usable(url string) (most int, told bool) {
	if s.checks == nil {
		return 0, false
	}
	for i := range *s.checks {
		if n, known := (*s.checks)[i].result.usable[url]; known && (!told || n < most) {
			most, told = n, true
		}
	}
	return most, told
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
