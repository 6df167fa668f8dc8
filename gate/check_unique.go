package gate

import (
	"fmt"

	"github.com/penstock-run/penstock/dag"
)

// uniqueCheck holds when no accepted record has one of the keys, which are looked
// up in order. Before the locks it only makes the keys: another process may be
// committing the same record at this moment.
type uniqueCheck struct{ keys dag.Expr }

func newUniqueCheck(c *dag.Check) (checker, error) { return &uniqueCheck{c.Args["keys"]}, nil }

func (c *uniqueCheck) judge(s *scope) (result, error) {
	texts, err := decode[[]string](s, c.keys, "keys")
	if err != nil {
		return result{}, err
	}
	if len(texts) == 0 {
		return refused("keys", "there are no keys"), nil
	}
	out := passed(nil)
	for i, text := range texts {
		if text == "" {
			return refused(fmt.Sprintf("keys[%d]", i), "the key is empty"), nil
		}
		out.keys = append(out.keys, keyOf(text))
	}
	return out, nil
}

// locked looks the keys up against what is on disk now, and against what goes
// into the corpus in the same batch.
func (c *uniqueCheck) locked(prepared result, b *batch) (result, error) {
	if len(prepared.keys) == 0 {
		return result{evidence: "no key was made"}, nil
	}
	for i, k := range prepared.keys {
		twin, err := b.unique(k)
		if err != nil {
			return result{}, err
		}
		if twin != "" {
			r := refused(fmt.Sprintf("keys[%d]", i), "the accepted record %s has this key", twin)
			r.found = map[string]any{"twin": twin}
			return r, nil
		}
	}
	return prepared, nil
}
