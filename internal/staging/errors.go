package staging

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/penstock-run/penstock/dag"
)

// ErrAbsent is in every error that says: this document is not in the store, or
// no longer as it was. It is made again and put again; nothing else is lost.
var ErrAbsent = errors.New("absent")

// ErrReadOnly answers a write to a store that was opened to read.
var ErrReadOnly = errors.New("the store was opened to read only")

func storeError(op, subject string, err error) *dag.Error {
	e := &dag.Error{Op: op, Subject: subject, Kind: dag.KindInfrastructure, Code: dag.EStore, Err: err}
	switch {
	case errors.Is(err, syscall.EFBIG):
		e.Hint = "raise the limit on the size of files (ulimit -f), then run again: what was stored is kept"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Hint = "free some disk space, then run again: what was stored is kept"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Hint = "make staging/ writable for this user, then run again"
	}
	return e
}

func absent(digest dag.Digest, why string) *dag.Error {
	return storeError("read artifact", digest.String(), fmt.Errorf("%w: %s", ErrAbsent, why))
}
