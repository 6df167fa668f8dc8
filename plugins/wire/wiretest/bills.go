package wiretest

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// bills are about what a failure has cost. Nothing, where the server refused or was
// never reached; what was under way may be on the bill.
func (s *suite) bills(t *testing.T) {
	is := func(want sdk.Billed) func(*testing.T, *sdk.ProviderError) {
		return func(t *testing.T, p *sdk.ProviderError) {
			// Of a call that was under way a kind that is always counted says the same.
			if unsaid := p.Billed == 0 && p.Kind == proto.ProviderError_UNAVAILABLE; p.Billed != want && !(unsaid && want == sdk.PerhapsBilled) {
				t.Errorf("got %s (%s), want %s", p.Billed, p.Message, want)
			}
			if p.Usage != nil {
				t.Errorf("got a usage that no server told: %v", p.Usage)
			}
		}
	}
	for _, tt := range []struct {
		status int
		kind   string
		want   sdk.Billed
	}{
		{400, "INVALID_REQUEST", sdk.NotBilled}, {401, "AUTH", sdk.NotBilled}, {402, "QUOTA", sdk.NotBilled}, {403, "AUTH", sdk.NotBilled},
		{404, "NOT_FOUND", sdk.NotBilled}, {409, "UNAVAILABLE", sdk.NotBilled}, {413, "CONTEXT_TOO_LONG", sdk.NotBilled}, {422, "INVALID_REQUEST", sdk.NotBilled},
		{429, "RATE_LIMITED", sdk.NotBilled}, {500, "UNAVAILABLE", sdk.NotBilled}, {503, "OVERLOADED", sdk.NotBilled}, {529, "OVERLOADED", sdk.NotBilled},
		{307, "INVALID_REQUEST", sdk.NotBilled},
		{408, "TIMEOUT", sdk.PerhapsBilled}, {502, "UNAVAILABLE", sdk.PerhapsBilled}, {504, "TIMEOUT", sdk.PerhapsBilled}, {524, "UNAVAILABLE", sdk.PerhapsBilled},
	} {
		s.fails(t, strconv.Itoa(tt.status), tt.kind, Step{Status: tt.status, Body: `{"error":{"message":"no"}}`}, is(tt.want))
	}
	s.fails(t, "an error in place of an answer", "RATE_LIMITED", Step{Status: 200, Body: `{"error":{"message":"busy","type":"rate_limit_error"}}`}, is(sdk.NotBilled))
	for name, fault := range map[string]Fault{"a stream without its end": Unmarked, "a stream that is cut": Cut} {
		s.fails(t, name, "UNAVAILABLE", Step{Text: "abc", Fault: fault, After: 2}, is(sdk.PerhapsBilled))
	}
	s.fails(t, "an error after a part of the answer", s.Overload, Step{Text: "abc", Fault: Event, After: 2}, is(sdk.PerhapsBilled))
	s.fails(t, "a reset after the request", "UNAVAILABLE", Step{Fault: Reset}, is(sdk.PerhapsBilled))
	stalls := map[string]any{"stall_timeout": "50ms"}
	s.run(t, "a stream that stalls", func(t *testing.T, at Played) { s.failing(t, at.URL, stalls, is(sdk.PerhapsBilled)) }, Step{Text: "abc", Fault: Stall, After: 1})
	t.Run("no server", func(t *testing.T) {
		nobody := httptest.NewServer(http.NotFoundHandler())
		nobody.Close()
		s.failing(t, nobody.URL, nil, is(sdk.NotBilled))
	})
	t.Run("no certificate", func(t *testing.T) {
		unproven := httptest.NewUnstartedServer(http.NotFoundHandler())
		unproven.Config.ErrorLog = log.New(io.Discard, "", 0)
		unproven.StartTLS()
		t.Cleanup(unproven.Close)
		s.failing(t, unproven.URL, nil, is(sdk.NotBilled))
	})
	t.Run("a handshake that never ends", func(t *testing.T) {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { silent.Close() })
		s.failing(t, "https://"+silent.Addr().String(), stalls, is(sdk.NotBilled))
	})
}

// failing asks a server of which nothing but an error can come.
func (s *suite) failing(t *testing.T, base string, config map[string]any, check func(*testing.T, *sdk.ProviderError)) {
	t.Helper()
	_, err := s.completer(t, base, config)(t.Context(), Prompt())
	var p *sdk.ProviderError
	if !errors.As(err, &p) {
		t.Fatalf("got %v, want a *sdk.ProviderError", err)
	}
	check(t, p)
}
