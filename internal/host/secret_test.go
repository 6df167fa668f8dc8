package host

import "testing"

func TestSecretsGoBackToTheirPlaces(t *testing.T) {
	for _, tt := range []struct {
		name, config, want string
		secrets            map[string]string
	}{
		{"none", `{"a":1}`, `{"a":1}`, nil},
		{"an attribute", `{"a":1}`, `{"a":1,"api_key":"k\"y"}`, map[string]string{"api_key": `k"y`}},
		{"no configuration", ``, `{"api_key":"k"}`, map[string]string{"api_key": "k"}},
		{"a member of a map", `{"headers":{"x":"y"}}`, `{"headers":{"authorization":"k","x":"y"}}`, map[string]string{"headers.authorization": "k"}},
		{"a name with a point", `{"headers":{}}`, `{"headers":{"x.y":"k"}}`, map[string]string{"headers.x.y": "k"}},
		{"a block in a block", `{"a":{"b":{}}}`, `{"a":{"b":{"c":"k"}}}`, map[string]string{"a.b.c": "k"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := withSecrets([]byte(tt.config), tt.secrets)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	var s secrets
	if got := s.redact("plugins"); got != "plugins" {
		t.Errorf("got %q where nothing is secret", got)
	}
	for range 12 { // as often as a process starts
		s.tell(map[string]string{"short": "s", "key": "sesame", "pem": "BEGIN\nabc123\n\nEND\n", "none": ""})
	}
	for text, want := range map[string]string{
		"open sesame":  "open (sensitive)",
		"plug in":      "plug in",
		"is":           "i(sensitive)",
		"line abc123.": "line (sensitive).",
	} {
		if got := s.redact(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
