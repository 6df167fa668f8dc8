package diag

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

// TestRenderStops: who has very many complaints has one cause for most of them.
func TestRenderStops(t *testing.T) {
	for _, test := range []struct {
		name             string
		errors, warnings int
		printed          int
		last             string
	}{
		{"as many as fit", 20, 0, 20, ""},
		{"one more is printed, too", 20, 1, 21, ""},
		{"the rest is counted", 60, 0, 20, "… and 40 more complaints. Mend those above first; --json lists all."},
		{"errors before warnings", 19, 5, 20, "… and 4 more complaints. Mend those above first; --json lists all."},
	} {
		t.Run(test.name, func(t *testing.T) {
			var diags hcl.Diagnostics
			for i := range test.warnings {
				diags = append(diags, Warning(at(1, 1, 2), "W", fmt.Sprint(i)))
			}
			for i := range test.errors {
				diags = append(diags, Error(at(2, 1, 2), "E", fmt.Sprint(i)))
			}
			var b strings.Builder
			if err := Render(&b, diags, Options{}); err != nil {
				t.Fatal(err)
			}
			errors := strings.Count(b.String(), "error: E\n")
			if got := errors + strings.Count(b.String(), "warning: W\n"); got != test.printed || errors != min(test.errors, 20) {
				t.Errorf("%d printed, %d of them errors; want %d and %d", got, errors, test.printed, min(test.errors, 20))
			}
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			if last := lines[len(lines)-1]; test.last != "" && last != test.last || test.last == "" && strings.HasPrefix(last, "…") {
				t.Errorf("ends with %q, want %q", last, test.last)
			}
		})
	}
}
