package wire

import (
	"net/http"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

const (
	invalid     = proto.ProviderError_INVALID_REQUEST
	unavailable = proto.ProviderError_UNAVAILABLE
)

// statuses of complaints that come without one of their own, such as an event in
// the middle of a stream.
var statuses = map[string]int{
	"invalid_request_error": 400, "invalid_argument": 400, "failed_precondition": 400, "invalid_prompt": 400,
	"authentication_error": 401, "unauthenticated": 401, "invalid_api_key": 401,
	"billing_error": 402, "permission_error": 403, "permission_denied": 403,
	"not_found_error": 404, "not_found": 404, "model_not_found": 404,
	"timeout_error": 504, "deadline_exceeded": 504, "request_too_large": 413,
	"rate_limit_error": 429, "rate_limit_exceeded": 429, "resource_exhausted": 429, "insufficient_quota": 429,
	"overloaded_error": 529, "slow_down": 503, "unavailable": 503, "server_overloaded": 503,
}

func statusOf(c Complaint) int {
	for _, word := range []string{c.Code, c.Kind} {
		if status, ok := statuses[strings.ToLower(word)]; ok {
			return status
		}
	}
	return http.StatusInternalServerError
}

// usedUp are the codes of an account that waiting does not fill.
var usedUp = []string{
	"insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded", "project_spend_limit_exceeded",
	"organization_usage_limit_exceeded", "enforced_spend_limit_reached", "billing_hard_limit_reached", "billing_not_active", "billing_error",
}

// Words by which servers that have no code for it say what does not fit.
var (
	tooLong = []string{
		"context_length_exceeded", "context length", "maximum context", "context window", "prompt is too long", "too many tokens",
		"input token count", "exceeds the available context", "request_too_large",
	}
	noSchema = []string{"compiled grammar", "grammar is too", "invalid schema", "too many states for serving", "invalid json schema", "json_schema", "response_format", "responsejsonschema", "output_config.format", "text.format"}
	withheld = []string{"content_policy_violation", "content_filter", "content management policy", "prohibited_content"}
	spent    = []string{"credit balance is too low", "spend limit", "usage limits", "exceeded your current quota, please check your plan"}
)

// kindOf tells what a refusal is about, by its status first: the words beside it
// differ from server to server.
func kindOf(status int, c Complaint) proto.ProviderError_Kind {
	says := strings.ToLower(c.Kind + " " + c.Code + " " + c.Message)
	has := func(words []string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(says, word) })
	}
	switch {
	case status == 402 || slices.Contains(usedUp, c.Code) || slices.Contains(usedUp, c.Kind):
		return proto.ProviderError_QUOTA
	case status == 429 && (perDay(c) || has(spent) && c.retry == ""):
		return proto.ProviderError_QUOTA
	case status == 429:
		return proto.ProviderError_RATE_LIMITED
	case status == 401 || status == 403:
		return proto.ProviderError_AUTH
	case status == 404 || status == 405 || status == 410:
		return proto.ProviderError_NOT_FOUND
	case status == 408 || status == 504:
		return proto.ProviderError_TIMEOUT
	case status == 409:
		return unavailable
	case status == 503 || status == 529:
		return proto.ProviderError_OVERLOADED
	case status == 413 || status < 500 && has(tooLong):
		return proto.ProviderError_CONTEXT_TOO_LONG
	case status < 500 && has(withheld):
		return proto.ProviderError_CONTENT_FILTERED
	case status < 500 && has(spent):
		return proto.ProviderError_QUOTA
	case status < 500 && has(noSchema):
		return proto.ProviderError_SCHEMA_UNSUPPORTED
	case status < 500:
		return invalid
	}
	return unavailable
}

// billed tells whether a call that was refused with a status may be on the bill:
// a gateway that gave up on the server behind it does not know what that one went
// on to write. All other refusals come instead of an answer, and cost nothing.
func billed(status int) sdk.Billed {
	switch status {
	case 408, 499, 502, 504, 520, 522, 524:
		return sdk.PerhapsBilled
	}
	return sdk.NotBilled
}

// perDay tells that a limit was met which a minute does not lift.
func perDay(c Complaint) bool {
	return slices.ContainsFunc(c.quota, func(id string) bool { return strings.Contains(id, "PerDay") })
}

// passes tells which errors the host asks again after.
func passes(kind proto.ProviderError_Kind) bool {
	switch kind {
	case proto.ProviderError_RATE_LIMITED, proto.ProviderError_OVERLOADED, proto.ProviderError_TIMEOUT, unavailable:
		return true
	}
	return false
}
