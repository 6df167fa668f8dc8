package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/fetch"
)

// readsPages tells whether a check of the gate belongs to the network phase.
func readsPages(g *dag.Gate) bool {
	return slices.ContainsFunc(g.Checks, func(c *dag.Check) bool {
		info, _ := dag.LookupCheck(c.Kind)
		return info.Phase == dag.Network
	})
}

// openPages gives what the gate reads pages with: nothing where no check reads
// any, the cassette while one is replayed, else the web.
func (e *engine) openPages() gate.Pages {
	switch {
	case !readsPages(e.Graph.Gate):
		return nil
	case e.planning != nil && e.completions == nil:
		return unread{}
	case e.planning != nil:
		return unread{e.completions.Pages(nil).Source()}
	case e.replaying():
		return e.completions.Pages(nil)
	}
	o := e.Web
	o.AllowHosts = e.Graph.Gate.AllowHosts
	if e.Version != "" {
		o.UserAgent = "penstock/" + e.Version + " (+https://github.com/penstock-run/penstock)"
	}
	e.web = fetch.New(o)
	return e.completions.Pages(e.web)
}

// unread are pages that a plan knows the source of and reads none of: whether a
// verdict is on record is told before the first page.
type unread struct{ source dag.Digest }

func (u unread) Source() dag.Digest { return u.source }

func (u unread) Read(context.Context, string, time.Duration) (*dag.Page, error) {
	return nil, errors.New("a plan reads no page")
}
