package wire

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRefusals: what the servers of the four APIs answer, and what it means.
func TestRefusals(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name, body, header string
		status             int
		want               string
		after              time.Duration
	}{
		{"openai rate", `{"error":{"message":"slow","type":"requests","code":"rate_limit_exceeded"}}`, "Retry-After: 1", 429, "RATE_LIMITED", time.Second},
		{"milliseconds before seconds", `{"error":{"message":"slow"}}`, "Retry-After: 9\nRetry-After-Ms: 250.5", 429, "RATE_LIMITED", 250500 * time.Microsecond},
		{"a date by the server's clock", `{}`, "Date: Fri, 02 Jan 2026 00:00:00 GMT\nRetry-After: Fri, 02 Jan 2026 00:00:20 GMT", 429, "RATE_LIMITED", 20 * time.Second},
		{"a date by our clock", `{}`, "Retry-After: Fri, 02 Jan 2026 03:04:15 GMT", 429, "RATE_LIMITED", 10 * time.Second},
		{"a date that is past", `{}`, "Retry-After: Fri, 02 Jan 2026 03:00:00 GMT", 503, "OVERLOADED", 0},
		{"a day", `{}`, "Retry-After: 86400", 429, "RATE_LIMITED", 24 * time.Hour},
		{"more than a duration holds", `{}`, "Retry-After: 99999999999999999999", 429, "RATE_LIMITED", 876000 * time.Hour},
		{"more than a number holds", `{}`, "Retry-After-Ms: 1e999", 503, "OVERLOADED", 876000 * time.Hour},
		{"a body's wait that no duration holds", `{"error":{"code":429,"details":[{"retryDelay":"99999999999999999999s"}]}}`, "", 429, "RATE_LIMITED", 876000 * time.Hour},
		{"nonsense", `{}`, "Retry-After: soon", 429, "RATE_LIMITED", 0},
		{"a limit that is used up", `{}`, "X-Ratelimit-Remaining-Requests: 0\nX-Ratelimit-Reset-Requests: 1m2s\nX-Ratelimit-Remaining-Tokens: 7\nX-Ratelimit-Reset-Tokens: 6m0s", 429, "RATE_LIMITED", 62 * time.Second},
		{"anthropic's limits", `{}`, "Anthropic-Ratelimit-Tokens-Remaining: 0\nAnthropic-Ratelimit-Tokens-Reset: 2026-01-02T03:04:35Z", 429, "RATE_LIMITED", 30 * time.Second},
		{"gemini's wait stands in the body", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"x/RetryInfo","retryDelay":"34.5s"}]}}`, "", 429, "RATE_LIMITED", 34500 * time.Millisecond},
		{"gemini's day", `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]},{"retryDelay":"3600s"}]}}]`, "", 429, "QUOTA", 0},
		{"gemini's limit of none", `{"error":{"code":429,"details":[{"violations":[{"quotaId":"PerMinute","quotaValue":"0"}]}]}}`, "", 429, "QUOTA", 0},
		{"openai's quota", `{"error":{"message":"You exceeded your current quota, please check your plan","type":"insufficient_quota","code":"insufficient_quota"}}`, "Retry-After: 5", 429, "QUOTA", 0},
		{"openai's spend", `{"error":{"code":"organization_spend_limit_exceeded"}}`, "", 429, "QUOTA", 0},
		{"anthropic's spend", `{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"enforced_spend_limit_reached"}}}`, "", 429, "QUOTA", 0},
		{"anthropic's credit", `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}`, "", 400, "QUOTA", 0},
		{"billing", `{"type":"error","error":{"type":"billing_error"}}`, "", 402, "QUOTA", 0},
		{"overloaded", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "", 529, "OVERLOADED", 0},
		{"overloaded in an answer", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "", 200, "OVERLOADED", 0},
		{"a number for a code", `{"error":{"message":"busy","code":503}}`, "", 200, "OVERLOADED", 0},
		{"an error that says nothing", `{"error":{}}`, "", 200, "UNAVAILABLE", 0},
		{"gemini's grammar", `{"error":{"code":400,"message":"The specified schema produces a constraint that has too many states for serving.","status":"INVALID_ARGUMENT"}}`, "", 400, "SCHEMA_UNSUPPORTED", 0},
		{"ollama's grammar", `{"error":"invalid JSON schema in format"}`, "", 400, "SCHEMA_UNSUPPORTED", 0},
		{"down", `<html><h1>502</h1></html>`, "Content-Type: text/html", 502, "UNAVAILABLE", 0},
		{"no use", `{"error":{"message":"m"}}`, "X-Should-Retry: false", 500, "INVALID_REQUEST", 0},
		{"some use", `{"error":{"message":"m"}}`, "X-Should-Retry: true", 422, "UNAVAILABLE", 0},
		{"late", `{}`, "", 408, "TIMEOUT", 0},
		{"conflict", `{}`, "", 409, "UNAVAILABLE", 0},
		{"key", `{"error":{"message":"Incorrect API key"}}`, "", 401, "AUTH", 0},
		{"rights", `{"type":"error","error":{"type":"permission_error"}}`, "", 403, "AUTH", 0},
		{"ollama's model", `{"error":"model \"nope\" not found, try pulling it first"}`, "", 404, "NOT_FOUND", 0},
		{"too long", `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`, "", 400, "CONTEXT_TOO_LONG", 0},
		{"anthropic's too long", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, "", 400, "CONTEXT_TOO_LONG", 0},
		{"too large", `{}`, "", 413, "CONTEXT_TOO_LONG", 0},
		{"schema", `{"type":"error","error":{"type":"invalid_request_error","message":"The compiled grammar is too large"}}`, "", 400, "SCHEMA_UNSUPPORTED", 0},
		{"openai's schema", `{"error":{"message":"Invalid schema for response_format 'answer'","code":null}}`, "", 400, "SCHEMA_UNSUPPORTED", 0},
		{"policy", `{"error":{"message":"m","code":"content_policy_violation"}}`, "", 400, "CONTENT_FILTERED", 0},
		{"field", `{"error":{"message":"Unsupported parameter: 'max_tokens'"}}`, "", 400, "INVALID_REQUEST", 0},
		{"vllm", `{"detail":[{"msg":"m"}]}`, "", 422, "INVALID_REQUEST", 0},
		{"moved", ``, "Location: https://elsewhere.example/v1", 302, "INVALID_REQUEST", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header := http.Header{}
			for line := range strings.Lines(tt.header) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				header.Set(name, value)
			}
			e := refusal(tt.status, header, []byte(tt.body), now)
			if tt.status == 200 {
				c, ok := ReadComplaint([]byte(tt.body))
				if !ok {
					t.Fatal("the complaint was not found")
				}
				e = c.Err(200, header, now)
			}
			if e.Kind.String() != tt.want || e.RetryAfter != tt.after {
				t.Errorf("got %s after %s (%s), want %s after %s", e.Kind, e.RetryAfter, e.Message, tt.want, tt.after)
			}
		})
	}
}

func TestAnswersAreNoComplaints(t *testing.T) {
	for _, body := range []string{`{"choices":[],"error":null}`, `{"output":[]}`, `[1,2]`, `nonsense`, ``} {
		if c, ok := ReadComplaint([]byte(body)); ok {
			t.Errorf("%s is taken for a complaint: %+v", body, c)
		}
	}
}

func TestWhatAServerSaysIsShort(t *testing.T) {
	e := refusal(500, http.Header{}, []byte(strings.Repeat("x\n", 1000)), time.Time{})
	if n := len([]rune(e.Message)); n > 400 || strings.Contains(e.Message, "\n") {
		t.Errorf("a message of %d characters", n)
	}
}
