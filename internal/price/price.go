// Package price tells what a model's tokens cost: by a table of the vendors' list
// prices that comes with Penstock, and by a table of the user's own.
//
// internal/lang asks it, for the providers whose blocks say nothing themselves.
//
// It refuses to guess: a model that no table names has no price, a server that is
// not the vendor's own has none, and nor has a request of another service tier.
package price

import (
	_ "embed"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

//go:embed prices.json
var builtin []byte

// Table is a file of prices.
type Table struct {
	// Version is the day that the prices are of, such as "2026-01-31".
	Version string  `json:"version"`
	Prices  []Group `json:"prices"`
}

// Group is the prices of one plugin's models at the servers that it names.
type Group struct {
	// Plugin is the `source` of the plugin's block, such as "builtin/openai".
	Plugin string `json:"plugin"`
	// Hosts are the hosts that base_url may name, with the port where it names one;
	// none: any host.
	Hosts []string `json:"hosts,omitempty"`
	// NotHosts are hosts that the prices are not of.
	NotHosts []string `json:"not_hosts,omitempty"`
	// Models are the prices by model; that of "*" is the price of those that are not
	// named. The name of a model stands for its dated versions, too.
	Models map[string]Model `json:"models"`
}

// Model is what a model's tokens cost, in US dollars for a million of them.
type Model struct {
	// Input is the price of tokens that are read.
	Input *float64 `json:"input"`
	// CachedInput is the price of those that the server had kept; absent: as Input.
	CachedInput *float64 `json:"cached_input,omitempty"`
	// CacheWrite is the price of those that the server keeps; absent: as Input.
	CacheWrite *float64 `json:"cache_write,omitempty"`
	// Output is the price of tokens that are written, those of thought among them.
	Output *float64 `json:"output"`
}

// Tables are asked in their order: the first that knows a model has the word.
type Tables []*Named

// Named is a table with what it is called where a price is shown.
type Named struct {
	Table *Table
	Name  string // "prices" for the one that comes with Penstock, else the file
}

// Builtin is the table that comes with Penstock. It is read when it is first asked
// for: a pipeline without providers does not pay for it.
func Builtin() *Named { return readBuiltin() }

var readBuiltin = sync.OnceValue(func() *Named {
	t, err := Read(builtin)
	if err != nil {
		panic("price: the table that comes with Penstock: " + err.Error())
	}
	return &Named{Table: t, Name: "prices"}
})

// Of is the price of a provider's tokens; nil: it is not known.
func (all Tables) Of(p *dag.Provider) *dag.Price {
	if p.Plugin == nil {
		return nil
	}
	at, ok := serverOf(p.Config.Bytes)
	if !ok {
		return nil
	}
	for _, t := range all {
		for i := range t.Table.Prices {
			g := &t.Table.Prices[i]
			if g.Plugin != p.Plugin.Source || !g.at(at) {
				continue
			}
			if m, ok := g.model(p.Model); ok {
				return m.price(t.Name + " of " + t.Table.Version)
			}
		}
	}
	return nil
}

// serverOf is the host that a provider's configuration names; empty: the plugin
// has none, or its usual one. False: what is asked for there has no list price.
func serverOf(config []byte) (host string, ok bool) {
	var c struct {
		BaseURL string `json:"base_url"`
		Dialect struct {
			Body string `json:"body"`
		} `json:"dialect"`
	}
	if len(config) > 0 && json.Unmarshal(config, &c) != nil {
		return "", false // it may name a server in a way that is not known here
	}
	if strings.Contains(c.Dialect.Body, "service_tier") {
		return "", false
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return "", false
	}
	return strings.ToLower(u.Host), true
}

func (g *Group) at(host string) bool {
	if slices.Contains(g.NotHosts, host) {
		return false
	}
	return len(g.Hosts) == 0 || slices.Contains(g.Hosts, host)
}

// model finds a model by its name, else by its name without the date at its end,
// else as any other.
func (g *Group) model(name string) (Model, bool) {
	for _, name := range []string{name, undated(name), "*"} {
		if m, ok := g.Models[name]; ok && name != "" {
			return m, true
		}
	}
	return Model{}, false
}

// undated is a name without a date at its end, -2025-08-07 or -20250807; empty
// where there is none.
func undated(name string) string {
	for _, form := range []string{"-dddd-dd-dd", "-dddddddd"} {
		if at := len(name) - len(form); at > 0 && matches(name[at:], form) {
			return name[:at]
		}
	}
	return ""
}

func matches(s, form string) bool {
	for i := range form {
		if digit := s[i] >= '0' && s[i] <= '9'; form[i] == 'd' && !digit || form[i] != 'd' && s[i] != form[i] {
			return false
		}
	}
	return true
}

func (m Model) price(from string) *dag.Price {
	p := &dag.Price{Input: *m.Input, CachedInput: *m.Input, CacheWrite: m.Input, Output: *m.Output, From: from}
	if m.CachedInput != nil {
		p.CachedInput = *m.CachedInput
	}
	if m.CacheWrite != nil {
		p.CacheWrite = m.CacheWrite
	}
	return p
}
