package prompt

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

func TestReads(t *testing.T) {
	tests := []struct {
		name, template string
		want           []Read
	}{
		{"nothing", `Write.`, nil},
		{"the whole", `{{ json . }}{{ json $ }}`, nil},
		{"names and paths", "{{ .a }}\n {{ .b.c }}", []Read{{"template", []string{"a"}, 1, 4}, {"template", []string{"b", "c"}, 2, 5}}},
		{"in a condition and what it guards", `{{ if .a }}{{ .b }}{{ else }}{{ .c }}{{ end }}`,
			[]Read{{"template", []string{"a"}, 1, 7}, {"template", []string{"b"}, 1, 15}, {"template", []string{"c"}, 1, 33}}},
		{"in what a range looks at, and not inside", `{{ range .a }}{{ .b }}{{ else }}{{ .c }}{{ end }}{{ .d }}`,
			[]Read{{"template", []string{"a"}, 1, 10}, {"template", []string{"c"}, 1, 36}, {"template", []string{"d"}, 1, 53}}},
		{"inside, of the whole", `{{ with .a }}{{ if .b }}{{ $.c.d }}{{ end }}{{ end }}`,
			[]Read{{"template", []string{"a"}, 1, 9}, {"template", []string{"c", "d"}, 1, 28}}},
		{"of a variable", `{{ $x := .a }}{{ $x.b }}`, []Read{{"template", []string{"a"}, 1, 10}}},
		{"as an argument", `{{ get .a "b" "" }}{{ len (index .c 0) }}`, []Read{{"template", []string{"a"}, 1, 8}, {"template", []string{"c"}, 1, 34}}},
		{"of one that is none", `{{ .a }}{{ end }}`, nil},
	}
	for _, test := range tests {
		document, err := json.Marshal(map[string]any{"template": test.template})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, Reads(document)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	if got := Reads([]byte(`{"template":"{{ .b }}","system":"{{ .a }}"}`)); len(got) != 2 || got[0].Attribute != "system" {
		t.Errorf("got %+v, want what both texts read", got)
	}
	if got := Reads([]byte(`{"template":1}`)); got != nil {
		t.Errorf("got %+v of what is no configuration", got)
	}
}
