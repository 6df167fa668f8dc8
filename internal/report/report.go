// Package report writes the report of a run: one HTML page that needs nothing
// besides itself, or the JSON document behind it.
//
// `penstock report` calls it. It refuses to fetch or to link anything from
// elsewhere, and to take what items hold for markup: all of it is data of
// strangers. It keeps no state and reads no store; what it shows is handed to it.
package report

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/internal/engine"
)

// Items calls yield with each item of a run, in order.
type Items func(yield func(*engine.ReportItem) error) error

// Options say how a page is made.
type Options struct {
	Penstock string // version of the program
	// Most is how many items the page has at most; what is left out is said.
	// 0: DefaultMost.
	Most int
}

// DefaultMost is how many items a page has where nobody says: a browser opens
// such a page in a few seconds.
const DefaultMost = 200_000

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// page is a template that has no state: escaping depends on the place alone. It is
// read for the first report, since every command and plugin would pay for it else.
var page = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageHTML)) })

// HTML writes the page.
func HTML(w io.Writer, r *engine.RunReport, items Items, o Options) error {
	if o.Most == 0 {
		o.Most = DefaultMost
	}
	out := bufio.NewWriterSize(w, 1<<16)
	v, err := newView(r, o)
	if err != nil {
		return err
	}
	if err := page().ExecuteTemplate(out, "top", v); err != nil {
		return err
	}
	if err := writePacks(out, items, o.Most); err != nil {
		return err
	}
	if err := page().ExecuteTemplate(out, "bottom", v); err != nil {
		return err
	}
	return out.Flush()
}

// policy lets the page's own style and script run, and nothing else happen: no
// request, no form, no frame, whatever an item holds.
func policy() string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", hash(pageStyle), hash(pageScript))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Document is the JSON behind a page. JSON writes it without having all of it in
// memory.
type Document struct {
	*engine.RunReport `json:",inline"`
	// Items are all items of the run with their ways, in the order of their keys,
	// what one fanned out into behind it.
	Items []*engine.ReportItem `json:"items"`
}

// JSON writes the document behind the page. Items stand last and are written as
// they come: there may be many.
func JSON(w io.Writer, r *engine.RunReport, items Items) error {
	out := bufio.NewWriterSize(w, 1<<16)
	head, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return err
	}
	if _, err := out.Write(bytes.TrimSuffix(head, []byte("}"))); err != nil {
		return err
	}
	lead := `,"items":[` + "\n"
	err = items(func(it *engine.ReportItem) error {
		if _, err := out.WriteString(lead); err != nil {
			return err
		}
		lead = ",\n"
		return json.MarshalWrite(out, it, json.Deterministic(true))
	})
	if err != nil {
		return err
	}
	if lead != ",\n" {
		if _, err := out.WriteString(lead); err != nil {
			return err
		}
	}
	if _, err := out.WriteString("]}\n"); err != nil {
		return err
	}
	return out.Flush()
}
