package dag

import (
	"errors"
	"fmt"
	"strconv"
)

// Code is a failure code: a stable machine token. E_ codes are the engine's.
type Code string

// The engine's codes. Class tells content from infrastructure.
const (
	EOutput       Code = "E_OUTPUT"        // the output does not fit the stage's schema, or is not JSON
	EOutcome      Code = "E_OUTCOME"       // an outcome that the stage does not declare
	ERefused      Code = "E_REFUSED"       // the model refused
	ETruncated    Code = "E_TRUNCATED"     // the answer was cut off
	EMalformed    Code = "E_MALFORMED"     // the answer is not JSON
	EMask         Code = "E_MASK"          // a change outside may_change, or none where one must be
	EExpr         Code = "E_EXPR"          // an expression could not be evaluated on this item
	EExec         Code = "E_EXEC"          // a command ended with a status that `exits` does not list
	EFinding      Code = "E_FINDING"       // a finding's word is not mapped
	EMissing      Code = "E_MISSING"       // a batch came back without this item
	EBucket       Code = "E_BUCKET"        // the bucket's name is not usable as a path
	EInput        Code = "E_INPUT"         // the item is not one strict JSON document, or misfits its schema
	EDuplicateKey Code = "E_DUPLICATE_KEY" // a key a second time with other bytes
	EFanOut       Code = "E_FAN_OUT"       // a fan-out with a wrong count or a key twice
	EExhausted    Code = "E_EXHAUSTED"     // a bounded edge was asked for once too often
	EPluginCrash  Code = "E_PLUGIN_CRASH"  // the same item crashed its plugin twice
	EDocument     Code = "E_DOCUMENT_SIZE" // a document over the message limit

	ETimeout     Code = "E_TIMEOUT"     // infrastructure from here on
	EUnavailable Code = "E_UNAVAILABLE" // a plugin, provider or server that does not answer
	ERateLimited Code = "E_RATE_LIMITED"
	EOverloaded  Code = "E_OVERLOADED"
	EAuth        Code = "E_AUTH"
	EQuota       Code = "E_QUOTA"
	EPlugin      Code = "E_PLUGIN" // a plugin that breaks the protocol
	EStore       Code = "E_STORE"  // a document that is gone or damaged, or a disk that fails
	EReplayMiss  Code = "E_REPLAY_MISS"
)

// Class tells what may be done about a failure.
type Class int

const (
	Content        Class = iota // about the item: routed, counted, never retried behind the user's back
	Infrastructure              // about the world: retried by the stage's retry, never routed, never counted
)

// Class of an engine code; every other code is a pipeline's own and content.
func (c Code) Class() Class {
	switch c {
	case ETimeout, EUnavailable, ERateLimited, EOverloaded, EAuth, EQuota, EPlugin, EStore, EReplayMiss:
		return Infrastructure
	}
	return Content
}

// Failure is a visit or an item that failed by content.
type Failure struct {
	Code    Code   `json:"code"`              // as routed and recorded: the stage's own code where it declares one
	Cause   Code   `json:"cause,omitempty"`   // the engine's code, where Code replaced it
	Message string `json:"message,omitempty"` // one line for people
}

func (f *Failure) Error() string {
	if f.Message == "" {
		return string(f.Code)
	}
	return fmt.Sprintf("%s: %s", f.Code, f.Message)
}

// Fail is an error that ends an item, or its visit, by content.
func Fail(code Code, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Kind sorts errors by what the process exits with. The list is closed and
// only ever grows at its end.
type Kind int

const (
	KindConfig         Kind = iota + 1 // exit 1: the pipeline, the flags or the files are wrong; nothing was started
	KindInfrastructure                 // exit 2: a plugin, a provider, the disk
	KindStopped                        // exit 3: a breaker, a budget, no quota
	KindChanged                        // exit 4: only asked for with --detailed-exitcode
	KindDiffers                        // exit 5: reality differs from what was promised
	KindBug                            // exit 70: an invariant of Penstock itself is broken
	KindInterrupted                    // exit 130
)

// ExitStatus is what a process exits with for this kind; 0 for no kind.
func (k Kind) ExitStatus() int {
	switch k {
	case 0:
		return 0
	case KindInfrastructure:
		return 2
	case KindStopped:
		return 3
	case KindChanged:
		return 4
	case KindDiffers:
		return 5
	case KindBug:
		return 70
	case KindInterrupted:
		return 130
	}
	return 1
}

// Error is every error of Penstock that is not a diagnostic of a pipeline file.
type Error struct {
	Op      string // what was being done: "open store"
	Subject string // to what: a path, a stage, an item key; may be empty
	Kind    Kind
	Code    Code   // for infrastructure met by one item; may be empty
	Hint    string // what to do about it, a sentence or a command; may be empty
	Err     error  // the cause; may be nil
}

func (e *Error) Error() string {
	s := e.Op
	if e.Subject != "" {
		s += " " + e.Subject
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Is matches another *Error by the fields that it sets.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && (t.Op == "" || t.Op == e.Op) && (t.Subject == "" || t.Subject == e.Subject) &&
		(t.Kind == 0 || t.Kind == e.Kind) && (t.Code == "" || t.Code == e.Code)
}

// KindOf is the kind of the outermost *Error in err; KindInfrastructure where
// there is none, 0 for nil.
func KindOf(err error) Kind {
	if err == nil {
		return 0
	}
	var e *Error
	if errors.As(err, &e) && e.Kind != 0 {
		return e.Kind
	}
	return KindInfrastructure
}

func itoa(n int) string { return strconv.Itoa(n) }
