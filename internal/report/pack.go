package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
)

// packSize is how many items are unpacked at once in the page.
const packSize = 200

// index is what the page searches: one entry an item in each of the lists.
type index struct {
	Pack  int       `json:"pack"`
	Ends  []dag.End `json:"end_words"`
	Codes []string  `json:"code_words"`

	Keys   []string `json:"keys"`
	End    []int    `json:"ends"` // places in Ends
	CodeOf [][]int  `json:"codes"`
	Why    []string `json:"why"`
}

// errEnough ends the reading of items.
var errEnough = errors.New("enough items")

// writePacks writes the items as compressed blocks, which hold no character that
// means anything in HTML: first the index, then the ways.
func writePacks(w io.Writer, items Items, most int) error {
	x := index{Pack: packSize, Ends: []dag.End{}, Codes: []string{}, Keys: []string{}, End: []int{}, CodeOf: [][]int{}, Why: []string{}}
	var ways bytes.Buffer
	pack := make([]*packed, 0, packSize)
	flush := func() error {
		if len(pack) == 0 {
			return nil
		}
		err := writePack(&ways, pack)
		pack = pack[:0]
		return err
	}
	err := items(func(it *engine.ReportItem) error {
		if len(x.Keys) == most {
			return errEnough
		}
		x.add(it)
		pack = append(pack, shorten(it))
		if len(pack) == packSize {
			return flush()
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	if err := writePack(w, &x); err != nil {
		return err
	}
	_, err = ways.WriteTo(w)
	return err
}

func (x *index) add(it *engine.ReportItem) {
	x.Keys = append(x.Keys, it.Item)
	x.End = append(x.End, place(&x.Ends, it.End))
	codes := []int{}
	for _, c := range it.Codes {
		codes = append(codes, place(&x.Codes, string(c.Code)))
	}
	x.CodeOf = append(x.CodeOf, codes)
	why := it.Reason
	if why == "" && it.Status != "" {
		why = "status " + it.Status
	}
	x.Why = append(x.Why, clip(why, 160))
}

// place is where a word stands in a list, which it is added to.
func place[T comparable](list *[]T, word T) int {
	i := slices.Index(*list, word)
	if i < 0 {
		i = len(*list)
		*list = append(*list, word)
	}
	return i
}

func writePack(w io.Writer, v any) error {
	if _, err := io.WriteString(w, `<script type="application/gzip" class="pack">`); err != nil {
		return err
	}
	encoder := base64.NewEncoder(base64.StdEncoding, w)
	zip := gzip.NewWriter(encoder)
	if err := json.MarshalWrite(zip, v, json.Deterministic(true)); err != nil {
		return err
	}
	if err := errors.Join(zip.Close(), encoder.Close()); err != nil {
		return err
	}
	_, err := io.WriteString(w, "</script>\n")
	return err
}

// packed is an item as the page has it: of digests so much as `penstock show`
// asks for.
type packed struct {
	*engine.ReportItem `json:",inline"`
	Way                []packedStep `json:"way"`
}

type packedStep struct {
	Visit *packedVisit     `json:"visit,omitempty"`
	Route *engine.RouteWhy `json:"route,omitempty"`
}

type packedVisit struct {
	*engine.VisitFacts `json:",inline"`
	Action             string `json:"action,omitempty"`
	Input              string `json:"input,omitempty"`
	Output             string `json:"output,omitempty"`
}

func shorten(it *engine.ReportItem) *packed {
	p := &packed{ReportItem: it, Way: make([]packedStep, 0, len(it.Way))}
	for _, step := range it.Way {
		if r := step.Route; r != nil {
			p.Way = append(p.Way, packedStep{Route: r})
			continue
		}
		v := step.Visit
		p.Way = append(p.Way, packedStep{Visit: &packedVisit{VisitFacts: v, Input: short(v.Input), Output: short(v.Output)}})
	}
	return p
}

func short(d dag.Digest) string {
	if d.IsZero() {
		return ""
	}
	return d.Short()
}
