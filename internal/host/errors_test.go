package host_test

import "errors"

func asError[T error](err error, target *T) bool { return errors.As(err, target) }

// asIs is errors.Is for an error of a type of its own, which may be nil.
func asIs[T error](err T, target error) bool { return errors.Is(err, target) }
