package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// What ended a run is told once, however often it was met on the way out.
func TestJoinOnce(t *testing.T) {
	full := func() error {
		return &dag.Error{Op: "append to", Subject: "trails.log", Kind: dag.KindInfrastructure, Err: errors.New("the disk is full")}
	}
	other := errors.New("the corpus is locked")
	for _, test := range []struct {
		name string
		errs []error
		want string
	}{
		{"none", []error{nil, nil}, ""},
		{"one", []error{nil, full()}, "append to trails.log: the disk is full"},
		{"the same again", []error{full(), full(), other, full()}, "append to trails.log: the disk is full\nthe corpus is locked"},
		{"joined before", []error{errors.Join(full(), other), errors.Join(nil, full(), errors.Join(other))},
			"append to trails.log: the disk is full\nthe corpus is locked"},
		{"joined with words", []error{full(), fmt.Errorf("%w; %w", full(), other)},
			"append to trails.log: the disk is full\nappend to trails.log: the disk is full; the corpus is locked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := joinOnce(test.errs...)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if test.want != "" && dag.KindOf(err) != dag.KindInfrastructure {
				t.Errorf("the kind is %v", dag.KindOf(err))
			}
		})
	}
}
