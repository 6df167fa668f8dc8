package wire

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestWhatIsToldOfAnError: the status that came, or where the error stood; and of
// what was not found, where it was looked for.
func TestWhatIsToldOfAnError(t *testing.T) {
	for _, tt := range []struct {
		name, kind, body string
		status           int
		want             string // of which BASE is the server's address
	}{
		{"a failure", "application/json", `{"error":{"type":"server_error","message":"m"}}`, 500,
			"unavailable: HTTP 500 Internal Server Error, server_error: m"},
		{"in place of an answer", "application/json", `{"error":{"type":"server_error","message":"m"}}`, 200,
			"unavailable: an error in place of an answer, server_error: m"},
		{"inside a stream", "text/event-stream", `{"error":{"type":"overloaded_error","message":"m"}}`, 200,
			"overloaded: an error inside the stream, overloaded_error: m"},
		{"inside lines", "application/x-ndjson", `{"error":"m"}`, 200,
			"unavailable: an error inside the stream: m"},
		{"nothing there", "text/html", `<html></html>`, 404,
			"not_found: HTTP 404 Not Found; BASE/v1/chat was asked: look at base_url and model"},
		{"no such model", "application/json", `{"error":{"code":"model_not_found","message":"No x."}}`, 404,
			"not_found: HTTP 404 Not Found, model_not_found: No x; BASE/v1/chat was asked: look at base_url and model"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.kind)
				w.WriteHeader(tt.status)
				w.Write([]byte(tt.body))
			}))
			defer server.Close()
			answer, err := NewServer(server.URL+"/v1/", nil, time.Minute).Post(t.Context(), "/chat", nil)
			if err == nil {
				defer answer.Close()
				c, _ := ReadComplaint([]byte(tt.body))
				err = answer.Complain(c)
			}
			if want := strings.ReplaceAll(tt.want, "BASE", server.URL); err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// TestASchemeThatTheServerDoesNotSpeak: asking again would not change it.
func TestASchemeThatTheServerDoesNotSpeak(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	_, err := NewServer("https://"+host, nil, time.Minute).Post(t.Context(), "/chat", nil)
	want := "not_found: the server at " + host + " speaks http, not https: write http:// in base_url"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestAddresses: what cannot be one is refused before anything is sent.
func TestAddresses(t *testing.T) {
	const (
		none  = `"ADDRESS" is not the address of a server; write one like "http://127.0.0.1:8000/v1".`
		parts = "base_url takes no user, query or fragment: a key belongs into api_key or headers, where it is kept secret."
	)
	for address, want := range map[string]string{
		"https://gateway.example/v1": "",
		"http://127.0.0.1:65535":     "",
		"http://127.0.0.1:99999/v1":  none,
		"http://127.0.0.1:0/v1":      none,
		"http://:8000/v1":            none,
		"localhost:8000":             none,
		"http://user:pw@host/v1":     parts,
		"http://user:pw@host:0/v1":   parts,
		"http://host/v1?key=x":       parts,
		"http://host/v1#x":           parts,
	} {
		var c Check
		(&Settings{BaseURL: &address}).Server(&c, "", nil)
		got := ""
		if len(c.said) > 0 {
			got = c.said[0].Detail
		}
		if want = strings.ReplaceAll(want, "ADDRESS", address); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

// TestAHeaderInPlaceOfTheKey: it is what is sent, and its user is told so.
func TestAHeaderInPlaceOfTheKey(t *testing.T) {
	key := "k-1 \n"
	for name, want := range map[string]string{
		"authorization": `"authorization" of headers takes the place of the header that would bear api_key: write one of the two.`,
		"X-Version":     "",
		"X-Team":        "",
	} {
		var c Check
		s := &Settings{APIKey: &key, Headers: map[string]string{name: "mine"}}
		server := s.Server(&c, "http://host/v1", http.Header{"Authorization": {"Bearer k-1"}, "X-Version": {"3"}})
		got := ""
		if len(c.said) > 0 {
			got = c.said[0].Detail
		}
		if got != want || c.Refused() || server.header.Get(name) != "mine" {
			t.Errorf("%s: warned %q, refused %t, sent %v", name, got, c.Refused(), server.header)
		}
	}
}

func TestAnEmptyBodyIsSaidToBeOne(t *testing.T) {
	const want = "unavailable: the server answered with what is no JSON of its API: an empty body"
	if got := Garbled([]byte(" \n")).Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
