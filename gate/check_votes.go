package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock-run/penstock/dag"
)

// votesCheck holds when there are so many verdicts and enough of them are the one
// that is asked for. A verdict that is null or another word is a vote against: what
// a judge did not say is never for the candidate.
type votesCheck struct {
	verdicts dag.Expr
	verdict  string
	of       int // 0: any number
	agree    int // 0: more than half of them
}

func newVotesCheck(c *dag.Check) (checker, error) {
	check := &votesCheck{verdicts: c.Args["verdicts"]}
	var err error
	if check.verdict, err = constant(c, "verdict", "accept"); err != nil {
		return nil, err
	}
	if strings.TrimSpace(check.verdict) == "" {
		return nil, fmt.Errorf("verdict is blank: a vote that says nothing would be for the candidate; write the word that is, such as \"accept\"")
	}
	if check.of, err = constantInt(c, "of", 0, 1); err != nil {
		return nil, err
	}
	if check.agree, err = constantInt(c, "agree", 0, 1); err != nil {
		return nil, err
	}
	if check.of > 0 && check.agree > check.of {
		return nil, fmt.Errorf("agree is %d of %d: no candidate would pass", check.agree, check.of)
	}
	return check, nil
}

func (c *votesCheck) judge(s *scope) (result, error) {
	verdicts, err := decode[[]*string](s, c.verdicts, "verdicts")
	if err != nil {
		return result{}, err
	}
	spread := map[string]int{}
	agree := 0
	for _, v := range verdicts {
		word := "none"
		if v != nil {
			word = shortWord(*v)
			if *v == c.verdict {
				agree++
			}
		}
		spread[word]++
	}
	need := c.agree
	if need == 0 {
		need = max(len(verdicts), c.of)/2 + 1
	}
	found := map[string]any{"agree": agree, "of": len(verdicts), "spread": spread}
	if c.of > 0 && len(verdicts) != c.of {
		r := refused("verdicts", "there are %d verdicts, not %d", len(verdicts), c.of).withFigure(agree)
		r.found = found
		return r, nil
	}
	said := fmt.Sprintf("%d of %d votes are %q (%s)", agree, len(verdicts), c.verdict, spreadText(spread))
	if agree < need {
		r := refused("verdicts", "%s; %d must be", said, need).withFigure(agree)
		r.found = found
		return r, nil
	}
	r := passed(found).withFigure(agree)
	r.evidence = said
	return r, nil
}

// shortWord is a verdict in one short line: a judge may say anything.
func shortWord(s string) string {
	const most = 40
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "none"
	}
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most]) + "…"
	}
	return s
}

// spreadText tells how often each verdict was given, in the order of the words.
func spreadText(spread map[string]int) string {
	const most = 8
	var parts []string
	for _, word := range slices.Sorted(maps.Keys(spread)) {
		if len(parts) == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", word, spread[word]))
	}
	if len(parts) == 0 {
		return "there is none"
	}
	return strings.Join(parts, ", ")
}
