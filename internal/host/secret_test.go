package host

import "testing"

func TestRedact(t *testing.T) {
	var s secrets
	if got := s.redact("plugins"); got != "plugins" {
		t.Errorf("got %q where nothing is secret", got)
	}
	for range 12 { // as often as a process starts
		s.tell(map[string]string{"short": "s", "key": "sesame", "pem": "BEGIN\nabc123\n\nEND\n", "none": "", "headers.authorization": "Bearer sk-abcdefgh"})
	}
	for text, want := range map[string]string{
		"open sesame":                     "open (sensitive)",
		"plug in":                         "plug in",
		"is":                              "i(sensitive)",
		"line abc123.":                    "line (sensitive).",
		"the key sk-abcdefgh, the Bearer": "the key (sensitive), the Bearer",
	} {
		if got := s.redact(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
