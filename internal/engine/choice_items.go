package engine

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/source"
)

// chosen reports whether a record is one of those that the run was asked for.
// The limit counts records, as that of a source does, so that a plan and a run
// count alike.
func (e *engine) chosen(record *source.Record) bool {
	c := e.choice
	if len(c.only) > 0 && !matchesAny(c.only, RecordKey(record)) {
		e.tally.LeftOut.Only++
		return false
	}
	if c.limit > 0 && c.taken == c.limit {
		e.tally.LeftOut.Limit++
		return false
	}
	c.taken++
	return true
}

func matchesAny(patterns []string, text string) bool {
	for _, p := range patterns {
		if matches(p, text) {
			return true
		}
	}
	return false
}

// RecordKey is the key that a record's item has, or would have if it were in order.
func RecordKey(record *source.Record) string {
	place := record.Place()
	if validKey(place) != nil {
		place = placeKey(place)
	}
	if record.Source.Key == nil {
		return place
	}
	doc, err := record.Document()
	if err == nil {
		doc, err = canon.Canonical(make([]byte, 0, len(doc)), doc)
	}
	if err != nil {
		return place
	}
	if key, err := itemKey(record.Source, dag.NewDoc(doc)); err == nil {
		return key
	}
	return place
}

// itemKey evaluates the key that a source gives its items.
func itemKey(s *dag.Source, origin dag.Doc) (string, error) {
	key, err := s.Key.Text(originScope{origin})
	if err == nil {
		err = validKey(key)
	}
	return key, err
}

// namedItem is an item, or a pattern of some, that a flag names.
type namedItem struct {
	flag, pattern string
	family        bool // items that were fanned out of another may be meant
}

// named lists what flags say of items and can be looked up in the sources.
func (c *choice) named() []namedItem {
	var named []namedItem
	for _, pattern := range c.only {
		named = append(named, namedItem{"--only " + pattern, pattern, false})
	}
	for _, r := range c.rules {
		if plain(r.item) {
			named = append(named, namedItem{r.flag, r.item, true})
		}
	}
	return named
}

// nearMost bounds how many keys are compared with one that is unknown.
const nearMost = 10_000

// checkItems refuses a flag that names items which no source has, before
// anything is started. It reads the sources no further than it must.
func (e *engine) checkItems() error {
	left := e.choice.named()
	if e.planning != nil && e.planning.how.item != "" {
		left = append(left, namedItem{"plan " + e.planning.how.item, e.planning.how.item, true})
	}
	if len(left) == 0 {
		return nil
	}
	reader, err := source.OpenAll(e.Dir, e.Graph.Sources)
	if err != nil {
		return err
	}
	var keys []string
	parents := map[string]string{} // of what --only names
	for len(left) > 0 {
		record, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, reader.Close())
		}
		key := RecordKey(record)
		if len(keys) < nearMost {
			keys = append(keys, key)
		}
		kept := left[:0]
		for _, n := range left {
			below := strings.HasPrefix(n.pattern, key+"/")
			if matches(n.pattern, key) || n.family && below {
				continue
			}
			if below {
				parents[n.pattern] = key
			}
			kept = append(kept, n)
		}
		left = kept
	}
	if err := reader.Close(); err != nil || len(left) == 0 {
		return err
	}
	return noSuchItem(left[0], keys, parents)
}

func noSuchItem(n namedItem, keys []string, parents map[string]string) error {
	const hint = "penstock plan --items"
	parent, child := parents[n.pattern]
	switch {
	case child:
		return wrong(n.flag, "--only "+parent, "an item that is fanned out runs with the one that it came of, %q", parent)
	case !plain(n.pattern):
		return wrong(n.flag, hint, "no item matches it")
	}
	return wrong(n.flag, hint, "%s", likely(fmt.Sprintf("no source has an item %q", n.pattern), n.pattern, keys))
}
