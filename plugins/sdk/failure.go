package sdk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/penstock-run/penstock/plugins/proto"
)

// Failure ends a visit without an output.
type Failure struct {
	Code           string
	Message        string // one line for people
	Details        []byte // JSON, or empty
	Infrastructure bool   // about the world, not about the item: it may be retried
	RetryAfter     time.Duration
}

func (f *Failure) Error() string {
	if f.Message == "" {
		return f.Code
	}
	return f.Code + ": " + f.Message
}

// Fail is a failure by content: about the item, routed and counted, never
// retried. The code is one of Info.Codes.
func Fail(code, format string, args ...any) *Failure {
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Infra is a failure of the world: a server that does not answer, a disk that
// is full. The stage's retry decides whether the visit is tried again. The code
// is one of the engine's: "E_UNAVAILABLE", "E_TIMEOUT", "E_RATE_LIMITED",
// "E_OVERLOADED"; empty is "E_UNAVAILABLE".
func Infra(code, format string, args ...any) *Failure {
	if code == "" {
		code = "E_UNAVAILABLE"
	}
	return &Failure{Code: code, Message: fmt.Sprintf(format, args...), Infrastructure: true}
}

// After tells the host not to try again before d.
func (f *Failure) After(d time.Duration) *Failure {
	f.RetryAfter = d
	return f
}

// ProviderError is a typed error of a completion.
type ProviderError struct {
	Kind       proto.ProviderError_Kind
	Message    string
	RetryAfter time.Duration // of a rate limit or an overload; 0: unknown
	RequestID  string        // the server's own name of the call; empty: none
	Status     int           // of HTTP; 0: none came
	Usage      *Usage        // what the call has cost all the same; nil: unknown
	Billed     Billed        // whether it may be on the vendor's bill without a Usage
}

// Billed says whether a call that failed is on the vendor's bill.
type Billed = proto.ProviderError_Billed

// What is known of it. Zero: the kind of the error decides.
const (
	NotBilled     = proto.ProviderError_BILLED_NOT     // it was never sent, or refused before an answer began
	PerhapsBilled = proto.ProviderError_BILLED_PERHAPS // counted as the most that it may have cost
)

func (e *ProviderError) Error() string {
	kind := strings.ToLower(e.Kind.String())
	if e.Message == "" {
		return kind
	}
	return kind + ": " + e.Message
}

func providerError(kind proto.ProviderError_Kind, after time.Duration, format string, args []any) *ProviderError {
	return &ProviderError{Kind: kind, Message: fmt.Sprintf(format, args...), RetryAfter: after}
}

// RateLimited, Overloaded, Timeout and Unavailable are retried by the host.

// RateLimited says that the provider wants fewer requests.
func RateLimited(after time.Duration, format string, args ...any) *ProviderError {
	return providerError(proto.ProviderError_RATE_LIMITED, after, format, args)
}

// Overloaded says that the provider has too much to do.
func Overloaded(after time.Duration, format string, args ...any) *ProviderError {
	return providerError(proto.ProviderError_OVERLOADED, after, format, args)
}

// Timeout says that the provider did not answer in time.
func Timeout(format string, args ...any) *ProviderError {
	return providerError(proto.ProviderError_TIMEOUT, 0, format, args)
}

// Unavailable says that the provider could not be reached, or failed.
func Unavailable(format string, args ...any) *ProviderError {
	return providerError(proto.ProviderError_UNAVAILABLE, 0, format, args)
}

// Auth says that the key is missing, wrong or without rights. Never retried,
// as all that follow.
func Auth(format string, args ...any) *ProviderError {
	return providerError(proto.ProviderError_AUTH, 0, format, args)
}

// InvalidRequest says that the provider refuses the request's form.
func InvalidRequest(format string, args ...any) *ProviderError {
	return providerError(proto.ProviderError_INVALID_REQUEST, 0, format, args)
}

// ContentFiltered says that the provider refuses the content.
func ContentFiltered(format string, args ...any) *ProviderError {
	return providerError(proto.ProviderError_CONTENT_FILTERED, 0, format, args)
}

// ContextTooLong says that the request does not fit the model.
func ContextTooLong(format string, args ...any) *ProviderError {
	return providerError(proto.ProviderError_CONTEXT_TOO_LONG, 0, format, args)
}

// NotFound says that the server has no such model, or nothing at this address.
func NotFound(format string, args ...any) *ProviderError {
	return providerError(proto.ProviderError_NOT_FOUND, 0, format, args)
}

// SchemaUnsupported says that the server cannot use the schema of the answer.
func SchemaUnsupported(format string, args ...any) *ProviderError {
	return providerError(proto.ProviderError_SCHEMA_UNSUPPORTED, 0, format, args)
}

// Quota says that the account is used up.
func Quota(format string, args ...any) *ProviderError {
	return providerError(proto.ProviderError_QUOTA, 0, format, args)
}

// failureOf turns what an author's function returned into a Failure.
func failureOf(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	var p *ProviderError
	if errors.As(err, &p) {
		return failureOfProvider(p, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Infra("E_TIMEOUT", "%v", err)
	}
	return Infra("", "%v", err)
}

// failureOfProvider keeps the type of a completion's error: what is about the
// item becomes content, the rest is about the world.
func failureOfProvider(p *ProviderError, err error) *Failure {
	switch p.Kind {
	case proto.ProviderError_CONTENT_FILTERED:
		return Fail("E_REFUSED", "%v", err)
	case proto.ProviderError_CONTEXT_TOO_LONG:
		return Fail("E_DOCUMENT_SIZE", "%v", err)
	}
	code := map[proto.ProviderError_Kind]string{
		proto.ProviderError_RATE_LIMITED: "E_RATE_LIMITED",
		proto.ProviderError_OVERLOADED:   "E_OVERLOADED",
		proto.ProviderError_TIMEOUT:      "E_TIMEOUT",
		proto.ProviderError_AUTH:         "E_AUTH",
		proto.ProviderError_QUOTA:        "E_QUOTA",
		proto.ProviderError_REPLAY_MISS:  "E_REPLAY_MISS",

		proto.ProviderError_INVALID_REQUEST:    "E_PLUGIN",
		proto.ProviderError_NOT_FOUND:          "E_PLUGIN",
		proto.ProviderError_SCHEMA_UNSUPPORTED: "E_PLUGIN",
	}[p.Kind]
	return Infra(code, "%v", err).After(p.RetryAfter)
}

func (f *Failure) proto() *proto.Failure {
	return &proto.Failure{
		Code: clean(f.Code), Message: clean(f.Message), Details: f.Details,
		Infrastructure: f.Infrastructure, RetryAfterMillis: f.RetryAfter.Milliseconds(),
	}
}

// clean keeps a text sendable: protobuf refuses a message with bytes that are
// not UTF-8, and the whole stream would end for one bad byte.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
