package gate

import (
	"errors"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/schema"
)

// schemaCheck holds when the value fits a JSON Schema. The schema sees canonical
// bytes only: what is no strict JSON is refused before, because schema libraries
// are not built for it.
type schemaCheck struct {
	value  dag.Expr
	schema dag.Schema
}

func newSchemaCheck(c *dag.Check) (checker, error) {
	if c.Schema == nil {
		return nil, errors.New("it has no schema")
	}
	return &schemaCheck{c.Args["value"], c.Schema}, nil
}

func (c *schemaCheck) judge(s *scope) (result, error) {
	doc, err := s.doc(c.value)
	if err != nil {
		return result{}, err
	}
	if isNull(doc) {
		return refused("", "the value is null"), nil
	}
	canonical, err := canon.Canonical(nil, doc.Bytes)
	if err != nil {
		return refused("", "the value is not one strict JSON document: %v", err), nil
	}
	if err := c.schema.Validate(canonical); err != nil {
		at := ""
		var misfit *schema.Misfit
		if errors.As(err, &misfit) {
			at = misfit.Pointer
		}
		return refused(at, "%v", err), nil
	}
	return passed(nil), nil
}
