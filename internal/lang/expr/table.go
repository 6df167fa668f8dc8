package expr

import (
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
)

// Case is a condition of several that are tried in order, with the values for
// which it is the first to hold.
type Case struct {
	Index int      // in the conditions; their number: none holds
	When  []string // one for each group of values: `item.cat = "music" or "film"`
	Sure  bool     // the values are proved; else When is how the condition reads
}

// Cases tells for which values each condition is the first to hold, and for
// which none does: by going through every combination of what the paths can be,
// as Cover does. Where a condition cannot be told so, it and all after it stand
// as they are written.
func Cases(conds []dag.Expr) []Case {
	r := &reader{index: map[string]int{}}
	holds := make([]formula, len(conds))
	for i, c := range conds {
		if x, ok := c.(*compiled); ok {
			holds[i] = r.formula(x.root)
		}
	}
	known := slices.IndexFunc(holds, func(f formula) bool { return f == nil })
	if known < 0 {
		known = len(conds)
	}
	if r.combinations() > maxCombinations {
		known = 0
	}
	first := make([][][]string, len(conds)+1)
	r.each(func(values []string) {
		for i := range known {
			switch holds[i](values) {
			case yes:
				first[i] = append(first[i], slices.Clone(values))
				return
			case fails:
				return // the item fails with E_EXPR
			}
		}
		if known == len(conds) {
			first[known] = append(first[known], slices.Clone(values))
		}
	})
	var cases []Case
	for i := range len(conds) + 1 {
		switch {
		case i < known || i == len(conds) && known == len(conds):
			if len(first[i]) > 0 {
				cases = append(cases, Case{Index: i, When: r.grouped(first[i]), Sure: true})
			}
		case i < len(conds):
			cases = append(cases, Case{Index: i, When: []string{conds[i].String()}})
		default:
			cases = append(cases, Case{Index: i, When: []string{"else"}})
		}
	}
	return cases
}

// grouped writes combinations: those that differ in one value only are one, and
// a variable that can be anything is left out.
func (r *reader) grouped(rows [][]string) []string {
	sets := make([][][]string, len(rows)) // by row and variable: the values
	for i, row := range rows {
		for _, v := range row {
			sets[i] = append(sets[i], []string{v})
		}
	}
	for v := range r.vars {
		sets = joined(sets, v)
	}
	var words []string
	for _, set := range sets {
		words = append(words, r.wordsOf(set))
	}
	return words
}

// joined unites the sets that agree in all variables but one.
func joined(sets [][][]string, at int) [][][]string {
	var out [][][]string
	for _, set := range sets {
		same := slices.IndexFunc(out, func(o [][]string) bool {
			for v := range o {
				if v != at && !slices.Equal(o[v], set[v]) {
					return false
				}
			}
			return true
		})
		if same < 0 {
			out = append(out, slices.Clone(set))
			continue
		}
		out[same][at] = append(slices.Clone(out[same][at]), set[at]...)
	}
	return out
}

func (r *reader) wordsOf(set [][]string) string {
	var parts []string
	for i, v := range r.vars {
		if len(set[i]) == len(v.values) {
			continue
		}
		var words []string
		for _, value := range set[i] {
			if value == other {
				value = "anything else"
			}
			words = append(words, value)
		}
		parts = append(parts, v.text+" = "+strings.Join(words, " or "))
	}
	if len(parts) == 0 {
		return "always"
	}
	return strings.Join(parts, ", ")
}
