package trial

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/diag"
	"github.com/penstock-run/penstock/internal/lang"
)

// itemsShown bounds how many items one expectation complains of.
const itemsShown = 5

// expect compares what came of the items that an expect block means.
func (t *trial) expect(x *lang.Expect) error {
	chosen, why, err := t.chosen(x)
	if err != nil {
		return err
	}
	counted := false
	for i := range x.Wants {
		if w := &x.Wants[i]; w.Name == "count" {
			counted = true
			t.compare(w, "number of items", "", strconv.Itoa(len(chosen)))
		}
	}
	if len(chosen) == 0 && !counted {
		t.fail(Failure{At: x.At, What: "items", Message: why})
		return nil
	}
	for i := range x.Wants {
		if w := &x.Wants[i]; w.Name != "count" {
			t.compareItems(w, chosen)
		}
	}
	for i := range x.Asserts {
		if err := t.assert(&x.Asserts[i], chosen); err != nil {
			return err
		}
	}
	t.fill(x, chosen)
	return nil
}

// chosen are the items that are meant, or why there is none.
func (t *trial) chosen(x *lang.Expect) (items []*item, why string, err error) {
	var keys []string
	for _, it := range t.items {
		keys = append(keys, it.end.Key)
		if x.Key != "" && it.end.Key != x.Key || x.Key == "" && it.end.End == dag.Expanded {
			continue
		}
		if x.Where == nil {
			items = append(items, it)
			continue
		}
		holds, err := x.Where.Bool(it, nil)
		var unreadable *dag.Failure
		switch {
		case errors.As(err, &unreadable): // it lacks what is asked for
			if why == "" {
				why = fmt.Sprintf("of %s the condition cannot be told: %s", it.end.Key, unreadable.Message)
			}
		case err != nil:
			return nil, "", err
		case holds:
			items = append(items, it)
		}
	}
	switch {
	case len(items) > 0:
		return items, "", nil
	case x.Key != "":
		return nil, strings.TrimSpace(fmt.Sprintf("no item has the key %s. %s", lang.Literal(x.Key), diag.DidYouMean(x.Key, keys))), nil
	case why != "":
		return nil, "no item is meant; " + why, nil
	}
	return nil, "no item is meant: " + ended(t.items), nil
}

// ended lists what items there are.
func ended(items []*item) string {
	var lines []string
	for i, it := range items {
		if i == itemsShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(items)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%s is %s", it.end.Key, it.end.End))
	}
	return strings.Join(lines, ", ")
}

// compareItems compares one value of each item.
func (t *trial) compareItems(w *lang.Want, items []*item) {
	told := 0
	got := map[string]bool{}
	for _, it := range items {
		value := it.value(w)
		got[value] = true
		if value == w.Text {
			continue
		}
		if told++; told <= itemsShown {
			t.fail(Failure{At: w.At, What: what(w), Item: it.end.Key, Want: w.Text, Got: value, Message: it.why(w)})
		}
	}
	if told > itemsShown {
		t.fail(Failure{At: w.At, What: what(w), Message: fmt.Sprintf("and of %d more items", told-itemsShown)})
	}
	if told > 0 {
		t.propose(w, got)
	}
}

// why says more of a value that is not as expected, where that helps.
func (it *item) why(w *lang.Want) string {
	switch w.Name {
	case "end", "code", "codes", "cause", "route", "triage":
		return it.end.Reason
	case "checks":
		if c := it.check(w.Member); c != nil {
			return c.Evidence
		}
	}
	return ""
}

// what names what is compared.
func what(w *lang.Want) string {
	switch {
	case w.Member == "":
		return w.Name
	case w.Name == "checks":
		return "check " + w.Member
	case w.Name == "figures":
		return "figure of " + w.Member
	case w.Name == "ends":
		return "items " + w.Member
	case w.Name == "provider_calls":
		return "calls of provider " + w.Member
	}
	return w.Name + " of " + w.Member
}

func (t *trial) compare(w *lang.Want, name, key, got string) {
	if got == w.Text {
		return
	}
	t.fail(Failure{At: w.At, What: name, Item: key, Want: w.Text, Got: got})
	t.propose(w, map[string]bool{got: true})
}

func (t *trial) fail(f Failure) { t.result.Failures = append(t.result.Failures, f) }

// assert asks a condition of each item.
func (t *trial) assert(a *lang.Assert, items []*item) error {
	told := 0
	for _, it := range items {
		var seen []dag.Seen
		holds, err := a.If.Bool(it, &seen)
		var unreadable *dag.Failure
		message := a.Message
		switch {
		case errors.As(err, &unreadable):
			message = strings.TrimPrefix(message+": "+unreadable.Message, ": ")
		case err != nil:
			return err
		case holds:
			continue
		}
		if told++; told > itemsShown {
			continue
		}
		t.fail(Failure{At: a.At, What: "condition", Item: it.end.Key, Want: a.If.String(), Got: values(seen), Message: message})
	}
	if told > itemsShown {
		t.fail(Failure{At: a.At, What: "condition", Message: fmt.Sprintf("and of %d more items", told-itemsShown)})
	}
	return nil
}

// values are what a condition read.
func values(seen []dag.Seen) string {
	var parts []string
	for _, s := range seen {
		parts = append(parts, s.Path+" = "+string(s.JSON))
	}
	return strings.Join(parts, ", ")
}

// total compares what came of all items together.
func (t *trial) total() {
	if t.test.Total == nil {
		return
	}
	for i := range t.test.Total.Wants {
		w := &t.test.Total.Wants[i]
		t.compare(w, what(w), "", strconv.Itoa(t.sum(w)))
	}
}

// sum counts over all items. A call that several items share was made once.
func (t *trial) sum(w *lang.Want) int {
	if w.Name == "items" {
		return len(t.items)
	}
	n := 0
	asked := map[dag.Digest]bool{}
	for _, it := range t.items {
		switch w.Name {
		case "ends":
			if string(it.end.End) == w.Member {
				n++
			}
		case "visits":
			n += it.visits(w.Member)
		default:
			for _, v := range it.trail.Visits {
				if !asked[v.Action] && t.countsFor(w, v.Stage) {
					asked[v.Action] = !v.Action.IsZero()
					n += v.Facts.Calls
				}
			}
		}
	}
	return n
}

// countsFor reports whether the calls of a stage are those that are counted.
func (t *trial) countsFor(w *lang.Want, stage string) bool {
	if w.Name == "calls" {
		return stage == w.Member
	}
	s := t.test.Graph.Stage(stage)
	return s != nil && s.Provider != nil && s.Provider.Name == w.Member
}
