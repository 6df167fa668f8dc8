package gate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/text"
)

// distinctCheck holds when there are so many texts and each two are far enough
// apart, in runes of the form in which choices are compared.
//
// The milder readings are off unless asked for: with numbers = "by_value" two
// texts whose numbers differ are apart, with short = "by_letter" two texts of at
// most four runes are apart when they differ in a letter.
type distinctCheck struct {
	values   dag.Expr
	count    int // 0: any
	distance int
	byValue  bool
	byLetter bool
}

func newDistinctCheck(c *dag.Check) (checker, error) {
	check := &distinctCheck{values: c.Args["values"]}
	var err error
	if check.count, err = constantInt(c, "count", 0, 1); err != nil {
		return nil, err
	}
	if check.distance, err = constantInt(c, "min_distance", 1, 1); err != nil {
		return nil, err
	}
	if check.byValue, err = constantWord(c, "numbers", "by_value"); err != nil {
		return nil, err
	}
	check.byLetter, err = constantWord(c, "short", "by_letter")
	return check, err
}

// constantWord reads an argument that may only be one word.
func constantWord(c *dag.Check, name, word string) (bool, error) {
	got, err := constant(c, name, "")
	if err != nil {
		return false, err
	}
	if got != "" && got != word && got != "literal" {
		return false, fmt.Errorf("%s is %q; it may be %q or \"literal\", which it is where it is left out", name, got, word)
	}
	return got == word, nil
}

func (c *distinctCheck) judge(s *scope) (result, error) {
	values, err := decode[[]string](s, c.values, "values")
	if err != nil {
		return result{}, err
	}
	if c.count > 0 && len(values) != c.count {
		return refused("values", "there are %d values, not %d", len(values), c.count), nil
	}
	forms := make([]string, len(values))
	for i, v := range values {
		if forms[i] = text.Choice(v); forms[i] == "" {
			return refused(fmt.Sprintf("values[%d]", i), "the value is blank"), nil
		}
	}
	out := passed(nil)
	var milder []string
	for i := range forms {
		for j := range i {
			distance, closer := text.Closer(forms[i], forms[j], c.distance)
			if !closer {
				continue
			}
			if reading := c.milder(values[i], values[j], forms[i], forms[j]); reading != "" {
				if len(milder) < maxPairs {
					milder = append(milder, reading)
				}
				continue
			}
			why := fmt.Sprintf("%s and %s are at distance %d", clipped(values[j]), clipped(values[i]), distance)
			if distance == 0 {
				why = fmt.Sprintf("%s and %s are the same", clipped(values[j]), clipped(values[i]))
			}
			if out.state == held {
				out = result{state: failed, evidence: why}.withFigure(distance)
			}
			out.details = append(out.details, Detail{At: fmt.Sprintf("values[%d]", i), Why: why})
			if len(out.details) == maxPairs {
				return out, nil // it is plain by now, and a long list has a great many pairs
			}
		}
	}
	if len(milder) > 0 {
		out.found = map[string]any{"readings": milder}
	}
	return out, nil
}

// maxPairs is how many pairs are told of one candidate.
const maxPairs = 100

// clipped is a text in quotation marks, for messages: its beginning where it is long.
func clipped(s string) string {
	const most = 200
	for i := range s {
		if i >= most {
			return strconv.Quote(s[:i]) + "…"
		}
	}
	return strconv.Quote(s)
}

// milder names the reading by which two close texts are apart all the same.
func (c *distinctCheck) milder(a, b, formA, formB string) string {
	if c.byValue && text.DifferInNumbers(a, b) {
		return "numbers by_value"
	}
	if c.byLetter && max(utf8.RuneCountInString(formA), utf8.RuneCountInString(formB)) <= 4 && letters(formA) != letters(formB) {
		return "short by_letter"
	}
	return ""
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, s)
}
