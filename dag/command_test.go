package dag_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
)

func TestCommandQuotesWhatAShellWouldRead(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"penstock", "run", "-o", "out/plan.json"}, "penstock run -o out/plan.json"},
		{[]string{"penstock", "logs", "verifier[card-7]"}, "penstock logs 'verifier[card-7]'"},
		{[]string{"penstock", "show", "it's"}, `penstock show 'it'\''s'`},
		{[]string{"penstock", "show", ""}, "penstock show ''"},
		{[]string{"penstock", "show", "~root"}, "penstock show '~root'"},
		{[]string{"penstock", "show", "münze 1"}, "penstock show 'münze 1'"},
	} {
		if got := dag.Command(c.words...); got != c.want {
			t.Errorf("Command(%q) = %s, want %s", c.words, got, c.want)
		}
	}
}

// What a real shell makes of it is the words that went in.
func TestCommandIsReadBackByAShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringOf(rapid.RuneFrom([]rune("ab~[]{}*?'\"\\$`!#&;|<>()= \t\nüあ-%"))), 1, 5).Draw(t, "words")
		out, err := exec.Command("sh", "-c", `printf '%s\0' `+dag.Command(words...)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(words, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")); diff != "" {
			t.Error(diff)
		}
	})
}
