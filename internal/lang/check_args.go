package lang

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/fetch"
	"github.com/penstock-run/penstock/internal/weburl"
)

// What the gate would refuse when it is opened is refused here, with its place:
// a pipeline that is valid opens its gate.

// gateHosts looks at the hosts that a gate lets its checks read.
func (b *body) gateHosts(hosts []string) {
	for i, host := range hosts {
		if err := fetch.CheckAllowHost(host); host != "" && err != nil {
			b.fail(elementRange(b.expr("allow_hosts"), i), badAddress, ended(upper(err.Error())))
		}
	}
}

// gateOwners looks at the domains of the table same_owner.
func (b *body) gateOwners(groups [][]string) {
	for i, group := range groups {
		for j, domain := range group {
			if _, err := weburl.Domain("https://" + domain); err != nil {
				at := elementRange(element(b.expr("same_owner"), i), j)
				b.fail(at, badAddress, fmt.Sprintf("%q is not a domain that somebody owns: %s. Write it as in [[\"example.org\", \"example.net\"]].", domain, err))
			}
		}
	}
}

// canary looks at the address that a live check reads first.
func (b *body) canary() {
	address := b.required("canary")
	if address == "" {
		return
	}
	if _, err := weburl.Key(address); err != nil {
		b.fail(b.expr("canary").Range(), badAddress, fmt.Sprintf("%q cannot be read: %s. Write an address that answers whenever this side is well:\n    canary = \"https://example.org/\"", address, err))
	}
}

var (
	plainPath   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^.\[]+(\[\d{1,9}\])*(\.[^.\[]+(\[\d{1,9}\])*)*$`) })
	jsonPointer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(/([^~/]|~[01])*)*$`) })
)

// inputPath looks at the path of a fresh check into a stage's input.
func (b *body) inputPath() {
	path := b.text("at")
	if path != "" && !plainPath().MatchString(path) && !jsonPointer().MatchString(path) {
		b.fail(b.expr("at").Range(), badPath, fmt.Sprintf("%q is no path into a document. Write it plainly, or as a JSON Pointer:\n    at = \"report.sources[0]\"\n    at = \"/report/sources/0\"", path))
	}
}

// similarity looks at the bound of a novel check, which is compared exactly: as a
// fraction of decimals.
func (b *body) similarity() {
	v, ok := b.typed("max_similarity", cty.Number)
	if !ok {
		return
	}
	at := b.expr("max_similarity").Range()
	switch f, _ := v.AsBigFloat().Float64(); {
	case f < 0 || f > 1:
		b.fail(at, numberOutOfRange, fmt.Sprintf("A similarity lies between 0 and 1; this is %s. Write a number such as 0.85.", v.AsBigFloat().Text('g', 12)))
	case f == 0:
		b.fail(at, numberOutOfRange, "Every text is as similar as 0 to every other, so none would pass. Write a number above 0, such as 0.85.")
	default:
		if _, decimals, _ := strings.Cut(strconv.FormatFloat(f, 'f', -1, 64), "."); len(decimals) > 9 {
			b.fail(at, numberOutOfRange, "A similarity has at most nine decimals, so that it is compared exactly. Write a number such as 0.85.")
		}
	}
}

// noAcceptance refuses the triage that no failed check can come to.
func (b *body) noAcceptance(c *dag.Check) {
	if c.Triage != dag.Accept {
		return
	}
	at := b.at
	if b.has("triage") {
		at = b.expr("triage").Range()
	} else if b.has("code") {
		at = b.expr("code").Range()
	}
	b.fail(at, unknownWord, fmt.Sprintf("A check that fails cannot accept, and the triage here is \"accept\". Give the check one of its own:\n    triage = \"review\"\nor change that of the code %s.", c.Code))
}
