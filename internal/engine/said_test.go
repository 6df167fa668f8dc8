package engine

import (
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// What a plugin says is kept without secrets, and without the key alone of a header.
func TestWhatIsKeptOfSayingsHoldsNoSecret(t *testing.T) {
	e := &engine{Options: Options{Graph: &dag.Graph{Providers: []*dag.Provider{
		{Name: "model", Secrets: map[string]string{"headers.authorization": "Bearer sk-abcdefgh"}},
	}}}}
	for text, want := range map[string]string{
		"sent Bearer sk-abcdefgh": "sent (headers.authorization of provider model)",
		"the key is sk-abcdefgh":  "the key is (headers.authorization of provider model)",
		"a Bearer is wanted":      "a Bearer is wanted",
	} {
		if got := e.withoutSecrets(text); got != want {
			t.Errorf("%q is kept as %q, want %q", text, got, want)
		}
	}
}
