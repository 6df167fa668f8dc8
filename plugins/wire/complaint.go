package wire

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// Complaint is what a server says is wrong. The four APIs and the servers that
// imitate them differ in where they say it, not in what.
type Complaint struct {
	Status  int    // as in the body; 0: it names none
	Kind    string // "rate_limit_error", "RESOURCE_EXHAUSTED"
	Code    string // "context_length_exceeded"
	Message string

	retry string   // a wait that the body names
	quota []string // the limits that were met, by name
}

// complaintJSON is every place in which a server may say it.
type complaintJSON struct {
	Error   json.RawMessage `json:"error"`
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail"`
}

type errorJSON struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Status  json.RawMessage `json:"status"`
	Code    json.RawMessage `json:"code"`
	Details json.RawMessage `json:"details"`
}

// ReadComplaint finds what a body says is wrong; false where it says nothing of
// the kind, as an answer does.
func ReadComplaint(body []byte) (Complaint, bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) == 1 {
		body = list[0]
	}
	var outer complaintJSON
	if err := json.Unmarshal(body, &outer); err != nil {
		return Complaint{}, false
	}
	switch inner := (errorJSON{}); {
	case len(outer.Error) > 0 && string(outer.Error) != "null":
		var c Complaint
		if json.Unmarshal(outer.Error, &c.Message) == nil {
			return c, true
		}
		if json.Unmarshal(outer.Error, &inner) != nil {
			return Complaint{}, false
		}
		c.Message, c.Kind = inner.Message, inner.Type
		c.number(inner.Code)
		c.number(inner.Status)
		c.details(inner.Details)
		return c, true
	case len(outer.Detail) > 0 && string(outer.Detail) != "null":
		var text string
		if json.Unmarshal(outer.Detail, &text) != nil {
			text = string(outer.Detail)
		}
		return Complaint{Message: text}, true
	}
	return Complaint{Message: outer.Message}, outer.Message != ""
}

// number takes a code or a status, which may be a number or a word.
func (c *Complaint) number(raw json.RawMessage) {
	var word string
	if json.Unmarshal(raw, &word) != nil {
		word = string(raw)
	}
	if n, err := strconv.Atoi(word); err == nil {
		if n >= 300 && n < 600 {
			c.Status = n
		}
		return
	}
	switch {
	case word == "" || word == "null":
	case c.Kind == "" && strings.ToUpper(word) == word:
		c.Kind = word
	case c.Code == "":
		c.Code = word
	}
}

// details reads a list of typed details, or an object with the code that
// caused it.
func (c *Complaint) details(raw json.RawMessage) {
	var cause struct {
		Code string `json:"error_code"`
	}
	if json.Unmarshal(raw, &cause) == nil && cause.Code != "" {
		c.Code = cause.Code
		return
	}
	var details []struct {
		RetryDelay string `json:"retryDelay"`
		Reason     string `json:"reason"`
		Violations []struct {
			ID    string `json:"quotaId"`
			Value string `json:"quotaValue"`
		} `json:"violations"`
	}
	if json.Unmarshal(raw, &details) != nil {
		return
	}
	for _, d := range details {
		if d.RetryDelay != "" {
			c.retry = d.RetryDelay
		}
		if c.Code == "" {
			c.Code = d.Reason
		}
		for _, v := range d.Violations {
			if v.Value == "0" {
				v.ID += " PerDay" // a limit of none is not over in a minute
			}
			c.quota = append(c.quota, v.ID)
		}
	}
}

// Err is a complaint that came with, or inside, an answer: its headers tell when
// to come again.
func (c Complaint) Err(status int, header http.Header, now time.Time) *sdk.ProviderError {
	said := httpStatus(status)
	if status < 300 {
		said = insteadOfAnswer(header)
		if status = c.Status; status == 0 {
			status = statusOf(c)
		}
	}
	e := &sdk.ProviderError{Kind: kindOf(status, c), RequestID: requestID(header), Status: status, Billed: billed(status)}
	e.Message = c.text(said)
	if passes(e.Kind) {
		e.RetryAfter = hint(header, c, now)
	}
	switch should := header.Get("X-Should-Retry"); {
	case should == "false" && passes(e.Kind):
		e.Kind = invalid
		e.Message += " (the server says that asking again will not help)"
	case should == "true" && e.Kind == invalid:
		e.Kind = unavailable
	}
	return e
}

// httpStatus is a status as it is told.
func httpStatus(status int) string {
	text := "HTTP " + strconv.Itoa(status)
	if word := http.StatusText(status); word != "" {
		text += " " + word
	}
	return text
}

// insteadOfAnswer says where a complaint stood whose answer has a status of
// success: no status is told then, for whoever looks for it finds another.
func insteadOfAnswer(header http.Header) string {
	kind := header.Get("Content-Type")
	if strings.Contains(kind, "event-stream") || strings.Contains(kind, "ndjson") {
		return "an error inside the stream"
	}
	return "an error in place of an answer"
}

// text is the complaint in one line, after where it stood.
func (c Complaint) text(text string) string {
	for _, part := range []string{c.Kind, c.Code} {
		if part != "" {
			text += ", " + part
		}
	}
	if said := OneLine(c.Message); said != "" {
		text += ": " + said
	}
	return text
}

// OneLine shortens what a server says to what a message has room for.
func OneLine(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// refusal is what an answer with a status of failure means.
func refusal(status int, header http.Header, body []byte, now time.Time) *sdk.ProviderError {
	if status < 400 {
		e := sdk.InvalidRequest("the server sends its callers to another address (HTTP %d): write that one as base_url, a key does not follow", status)
		e.Billed = sdk.NotBilled
		return e
	}
	c, ok := ReadComplaint(body)
	if !ok && !strings.Contains(header.Get("Content-Type"), "html") {
		c.Message = string(body)
	}
	return c.Err(status, header, now)
}
