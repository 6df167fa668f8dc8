package trial

import (
	"fmt"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/lang"
)

// answer answers for a stage with the first mock of it that holds.
func (t *trial) answer(key string, step dag.Step, scope dag.Scope) (*engine.Answer, error) {
	scope = keyScope{scope, key}
	for _, m := range t.test.Mocks {
		if m.Stage.Name != step.Stage.Name {
			continue
		}
		if m.If != nil {
			holds, err := m.If.Bool(scope, nil)
			if err != nil {
				return nil, mockError(m, "if", err)
			}
			if !holds {
				continue
			}
		}
		t.used[m] = true
		if m.Output == nil {
			message := m.Message
			if message == "" {
				message = "mocked"
			}
			return &engine.Answer{Failure: dag.Fail(m.Code, "%s", message)}, nil
		}
		doc, err := m.Output.Doc(scope)
		if err != nil {
			return nil, mockError(m, "output", err)
		}
		return &engine.Answer{Word: m.Outcome, Output: doc, Findings: m.Findings}, nil
	}
	return nil, nil
}

// mockError is a mock that could not be evaluated: the test is at fault, and no item.
func mockError(m *lang.Mock, attribute string, err error) error {
	return &dag.Error{Op: "mock of stage", Subject: m.Stage.Name, Kind: dag.KindInfrastructure,
		Err: fmt.Errorf("%s:%d, %s: %w", m.At.File, m.At.Line, attribute, err)}
}

// keyScope adds the item's key to what a stage may read.
type keyScope struct {
	dag.Scope
	key string
}

func (s keyScope) Lookup(n dag.Name) (dag.Doc, error) {
	if n.Root == "key" {
		return text(s.key), nil
	}
	return s.Scope.Lookup(n)
}
