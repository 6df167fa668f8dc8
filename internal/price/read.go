package price

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Fault is what is wrong with a file of prices.
type Fault struct {
	Offset int    // of the byte that it is found at, from 0
	Text   string // a sentence: what it is, and what to write
}

func (f *Fault) Error() string { return f.Text }

// Read reads a table strictly. Its error is a *Fault.
func Read(src []byte) (*Table, error) {
	var t Table
	if err := json.Unmarshal(src, &t, json.RejectUnknownMembers(true)); err != nil {
		return nil, unread(src, err)
	}
	at := placesOf(src)
	fault := func(pointer, format string, args ...any) error {
		return &Fault{at.of(pointer), fmt.Sprintf(format, args...)}
	}
	if _, err := time.Parse(time.DateOnly, t.Version); err != nil {
		return nil, fault("/version", "The version is the day that the prices are of, such as %q, not %q.", "2026-01-31", t.Version)
	}
	for i := range t.Prices {
		g, here := &t.Prices[i], fmt.Sprintf("/prices/%d", i)
		if g.Plugin == "" {
			return nil, fault(here+"/plugin", "A list of prices names its plugin, as the `source` of the plugin's block does: \"plugin\": \"builtin/openai\".")
		}
		for _, list := range []struct {
			name  string
			hosts []string
		}{{"hosts", g.Hosts}, {"not_hosts", g.NotHosts}} {
			for j, host := range list.hosts {
				if host == "" || strings.ContainsAny(host, "/ ") || strings.ToLower(host) != host {
					return nil, fault(fmt.Sprintf("%s/%s/%d", here, list.name, j), "%q is no host. Write it in small letters, with its port where base_url has one, and without \"https://\": \"models.example.com:8000\".", host)
				}
			}
		}
		if len(g.Models) == 0 {
			return nil, fault(here+"/models", "A list of prices has models: \"models\": {\"gpt-5-mini\": {\"input\": 0.25, \"output\": 2}}.")
		}
		for _, name := range sortedNames(g.Models) {
			m, here := g.Models[name], here+"/models/"+escape(name)
			if m.Input == nil || m.Output == nil {
				return nil, fault(here, "The price of the model %q has to tell \"input\" and \"output\", in dollars for a million tokens.", name)
			}
			for _, p := range []struct {
				name string
				usd  *float64
			}{{"input", m.Input}, {"cached_input", m.CachedInput}, {"cache_write", m.CacheWrite}, {"output", m.Output}} {
				if p.usd != nil && (*p.usd < 0 || math.IsInf(*p.usd, 0) || *p.usd > Dearest) {
					return nil, fault(here+"/"+p.name, "A price is in dollars for a million tokens, from 0 to %d; this is %v.", Dearest, *p.usd)
				}
			}
		}
	}
	return &t, nil
}

// Dearest is the most that a table may ask for a million tokens, in US dollars:
// more is a price of something else.
const Dearest = 5000

func sortedNames(models map[string]Model) []string {
	names := make([]string, 0, len(models))
	for name := range models {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unread is the fault of a text that is no table.
func unread(src []byte, err error) *Fault {
	f := &Fault{Text: "This is no table of prices. One has the members \"version\" and \"prices\"."}
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		f.Offset = len(src)
		f.Text = "The file ends before its JSON does."
	case errors.As(err, &syntax):
		f.Offset = int(syntax.ByteOffset)
		f.Text = fmt.Sprintf("This is no JSON: %v.", syntax.Err)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			f.Text = "This name stands there twice. Keep the one that is meant."
		}
	case errors.As(err, &semantic):
		f.Offset = int(semantic.ByteOffset)
		switch last := semantic.JSONPointer.LastToken(); {
		case errors.Is(err, json.ErrUnknownName):
			f.Text = fmt.Sprintf("A table of prices has no member %q here.", last)
		default:
			f.Text = fmt.Sprintf("The value of %q is of another type than it has in a table of prices.", last)
		}
	}
	if f.Offset = min(f.Offset, len(src)); syntax == nil {
		f.Offset = next(src, f.Offset) // the decoder stops in front of what it complains of
	}
	return f
}

// places are the offsets of the values of a document, by JSON Pointer.
type places map[string]int

// placesOf walks a document that was read before.
func placesOf(src []byte) places {
	all := places{}
	d := jsontext.NewDecoder(bytes.NewReader(src))
	for {
		at := next(src, int(d.InputOffset()))
		token, err := d.ReadToken()
		if err != nil {
			return all
		}
		if kind := token.Kind(); kind != '}' && kind != ']' {
			all[string(d.StackPointer())] = at // a member's name first, then its value
		}
	}
}

// next is where the next token begins.
func next(src []byte, at int) int {
	for at < len(src) && strings.IndexByte(" \t\r\n,:", src[at]) >= 0 {
		at++
	}
	return at
}

// of is where a value stands, or the nearest one around it.
func (p places) of(pointer string) int {
	for {
		if at, ok := p[pointer]; ok {
			return at
		}
		cut := strings.LastIndexByte(pointer, '/')
		if cut < 0 {
			return 0
		}
		pointer = pointer[:cut]
	}
}

func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
