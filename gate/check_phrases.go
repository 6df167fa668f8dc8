package gate

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/text"
)

// phrasesCheck holds when none of the phrase rules matches one of the texts. A text
// that is not there cannot be said to be free of them, and fails.
type phrasesCheck struct {
	texts dag.Expr
	rules *text.Rules
}

func newPhrasesCheck(c *dag.Check) (checker, error) {
	raw, err := constant(c, "reject", jsontext.Value(nil))
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, errors.New("reject is null; it must hold phrase rules")
	}
	rules, err := text.CompileRules(raw)
	if err != nil {
		return nil, fmt.Errorf("reject: %w", err)
	}
	return &phrasesCheck{c.Args["texts"], rules}, nil
}

func (c *phrasesCheck) judge(s *scope) (result, error) {
	texts, err := decode[[]*string](s, c.texts, "texts")
	if err != nil {
		return result{}, err
	}
	out := passed(nil)
	refuse := func(i int, why string) {
		if out.state == held {
			out = result{state: failed, evidence: why}
		}
		out.details = append(out.details, Detail{At: fmt.Sprintf("texts[%d]", i), Why: why})
	}
	for i, t := range texts {
		if t == nil {
			refuse(i, "the text is null")
		} else if m, found := c.rules.Find(*t); found {
			refuse(i, fmt.Sprintf("%q is refused by the rule %q (%s)", m.Text, m.Rule, m.Phrase))
		}
	}
	return out, nil
}
