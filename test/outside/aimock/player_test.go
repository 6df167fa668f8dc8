package aimock

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// fixture is how the mock answers a request; the first that matches does.
type fixture struct {
	Match     match          `json:"match"`
	Response  map[string]any `json:"response"`
	ChunkSize int            `json:"chunkSize,omitempty"`           // characters of a piece
	Truncate  int            `json:"truncateAfterChunks,omitempty"` // closes the connection after so many events
	Timings   *timings       `json:"recordedTimings,omitempty"`
	Chaos     *chaos         `json:"chaos,omitempty"`
}

type match struct {
	User     string `json:"userMessage,omitempty"` // part of the last thing that the user said
	Sequence *int   `json:"sequenceIndex,omitempty"`
}

// timings are milliseconds before the first event, and between the later ones.
type timings struct {
	First   int   `json:"ttftMs"`
	Between []int `json:"interChunkDelaysMs"`
	Total   int   `json:"totalDurationMs"`
}

// chaos are probabilities of what goes wrong.
type chaos struct {
	Drop       float64 `json:"dropRate,omitempty"`
	Malformed  float64 `json:"malformedRate,omitempty"`
	Disconnect float64 `json:"disconnectRate,omitempty"`
	RateLimit  float64 `json:"rateLimitRate,omitempty"`
}

// garbage is what the mock sends in place of JSON.
const garbage = `{malformed json: <<<chaos>>>`

// player plays the suite's steps on the mock, in the words of one wire.
type player struct {
	mock    *mock
	streams bool              // the provider asks for streams
	ends    map[string]string // ends of an answer that the mock can tell, and its names for them
	model   bool              // it can name another model than the one asked for
	usage   bool              // it tells the tokens that a fixture gives
}

func (p player) Plays(name string, s wiretest.Step) bool {
	if name == "usage/none" {
		return false // it always tells some
	}
	_, ok := p.fixture(s)
	return ok
}

func (p player) Play(t *testing.T, steps ...wiretest.Step) wiretest.Played {
	var fixtures []fixture
	for i, step := range steps {
		f, _ := p.fixture(step)
		if i < len(steps)-1 {
			f.Match.Sequence = &i
		}
		fixtures = append(fixtures, f)
	}
	p.mock.script(t, fixtures...)
	return wiretest.Played{URL: p.mock.url, Asked: func() []wiretest.Request {
		var asked []wiretest.Request
		for _, e := range p.mock.journal(t) {
			header := http.Header{}
			for name, value := range e.Headers {
				header.Set(name, strings.ReplaceAll(value, "[REDACTED]", wiretest.Canary))
			}
			asked = append(asked, wiretest.Request{Path: e.Path, Header: header, Body: e.Body})
		}
		return asked
	}}
}

// fixture is a step in the mock's words; false where it has none for it.
func (p player) fixture(s wiretest.Step) (fixture, bool) {
	f := fixture{ChunkSize: max(1, (len([]rune(s.Text))+s.Pieces)/max(s.Pieces, 3))}
	switch {
	case s.Fault == wiretest.Reset:
		f.Response, f.Chaos = map[string]any{"content": "-"}, &chaos{Disconnect: 1}
		return f, true
	case s.Body == garbage && s.Status == http.StatusOK && s.Header == nil:
		f.Response, f.Chaos = map[string]any{"content": "-"}, &chaos{Malformed: 1}
		return f, true
	case s.Status != 0 || s.Body != "":
		return f, f.refuse(s)
	}
	const ever = 600_000
	switch s.Fault {
	case wiretest.None:
	case wiretest.Cut:
		f.Truncate = 1 + s.After
	case wiretest.Stall:
		f.Timings = &timings{First: ever, Between: []int{}, Total: ever}
		if s.After > 0 {
			f.Timings = &timings{Between: []int{0, ever}, Total: ever}
		}
	default:
		return f, false
	}
	f.Response = map[string]any{"content": s.Text}
	if s.Thoughts != "" {
		f.Response["reasoning"] = s.Thoughts
	}
	if s.Model != "" {
		f.Response["model"] = s.Model
	}
	if u := s.Usage; u != nil {
		f.Response["usage"] = map[string]int64{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output}
	}
	if s.Finish != "" {
		f.Response["finishReason"] = p.ends[s.Finish]
	}
	parts := s.Usage != nil && *s.Usage != wiretest.Usage{Input: s.Usage.Input, Output: max(0, s.Usage.Output)}
	form := !p.streams && s.Fault == wiretest.None || p.streams && !s.Whole // an answer in one piece is what a request without a stream gets
	return f, form && !s.Bytes && !parts && s.Text != "" &&
		(s.Finish == "" || p.ends[s.Finish] != "") && (s.Model == "" || p.model) && (s.Usage == nil || p.usage)
}

// refuse has the fixture answer with an error: the mock writes its body itself,
// around a message, a type and a code, and knows one header.
func (f *fixture) refuse(s wiretest.Step) bool {
	var body struct {
		Error map[string]string `json:"error"`
	}
	if json.Unmarshal([]byte(s.Body), &body) != nil || body.Error["message"] == "" || s.Status < 400 {
		return false
	}
	f.Response = map[string]any{"error": body.Error, "status": s.Status}
	switch wait := s.Header.Get("Retry-After"); {
	case wait != "" && s.Status == http.StatusTooManyRequests && len(s.Header) == 1:
		seconds, err := strconv.Atoi(wait)
		f.Response["retryAfter"] = seconds
		return err == nil
	default:
		return len(s.Header) == 0
	}
}
