package prompt

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const document = `{"big":9007199254740991,"card":{"choices":["a","b"],"hint":null,"q":"Who wrote \"Faust\"?","title":"Öl & <b>"},"diff":"hard","empty":[],"n":3,"ok":true,"score":0.5,"sources":[{"url":"https://a.example"},{"url":"https://b.example"}],"tiny":1e-7}`

func TestRender(t *testing.T) {
	tests := []struct{ name, template, want string }{
		{"text alone", "No action.\n", "No action.\n"},
		{"a text", `{{ .card.q }}`, `Who wrote "Faust"?`},
		{"nothing is escaped", `{{ .card.title }}`, "Öl & <b>"},
		{"numbers and bools", `{{ .n }} {{ .score }} {{ .ok }} {{ .big }} {{ .tiny }}`, "3 0.5 true 9007199254740991 1e-7"},
		{"a document", `{{ json .card }}`, `{"choices":["a","b"],"hint":null,"q":"Who wrote \"Faust\"?","title":"Öl & <b>"}`},
		{"the whole input", `{{ json . }}`, document},
		{"by a pipe", `{{ .card.choices | json }}`, `["a","b"]`},
		{"a text as JSON", `{{ json .card.q }}`, `"Who wrote \"Faust\"?"`},
		{"null as JSON", `{{ json .card.hint }}`, "null"},
		{"indented", `{{ pretty .sources }}`, "[\n  {\n    \"url\": \"https://a.example\"\n  },\n  {\n    \"url\": \"https://b.example\"\n  }\n]"},
		{"range", "{{ range .sources }}- {{ .url }}\n{{ end }}", "- https://a.example\n- https://b.example\n"},
		{"range with an index", `{{ range $i, $s := .sources }}{{ $i }}={{ $s.url }};{{ end }}`, "0=https://a.example;1=https://b.example;"},
		{"range over nothing", `{{ range .empty }}x{{ else }}none{{ end }}`, "none"},
		{"the root within a range", `{{ range .sources }}{{ $.diff }} {{ end }}`, "hard hard "},
		{"break", `{{ range .sources }}{{ .url }}{{ break }}{{ end }}`, "https://a.example"},
		{"if and else", `{{ if eq .diff "hard" "brutal" }}H{{ else }}E{{ end }}`, "H"},
		{"if null", `{{ if .card.hint }}{{ .card.hint }}{{ else }}no hint{{ end }}`, "no hint"},
		{"numbers of both kinds compare", `{{ if gt .n 2.5 }}a{{ end }}{{ if lt .score 1 }}b{{ end }}{{ if eq .n 3 }}c{{ end }}{{ if ne .n 4 }}d{{ end }}`, "abcd"},
		{"texts compare", `{{ if le "a" .diff }}x{{ end }}{{ if ge "a" .diff }}y{{ end }}`, "x"},
		{"and, or, not", `{{ if and .ok (not (eq .diff "easy")) (or .card.hint .ok) }}yes{{ end }}`, "yes"},
		{"and stops at the first", `{{ if and .card.hint .card.hint.text }}x{{ else }}none{{ end }}`, "none"},
		{"with", `{{ with .card }}{{ .q }}{{ end }}`, `Who wrote "Faust"?`},
		{"a variable", `{{ $c := .card }}{{ $c.title }}`, "Öl & <b>"},
		{"a chain", `{{ (index .sources 1).url }}`, "https://b.example"},
		{"index", `{{ index .card.choices 1 }} {{ index . "card" "q" }}`, `b Who wrote "Faust"?`},
		{"length in characters", `{{ len .card.title }} {{ len .card.choices }} {{ len . }}`, "8 2 9"},
		{"get what is there", `{{ get . "card.q" "none" }}`, `Who wrote "Faust"?`},
		{"get what is absent", `{{ get . "card.source.url" "none" }}`, "none"},
		{"get what is null", `{{ get . "card.hint" "none" }}`, "none"},
		{"get through a text", `{{ get . "diff.x" 0 }}`, "0"},
		{"white space and comments", "a\n{{- /* note */ -}}\nb", "ab"},
		{"two braces", `{{ "{{" }} .x }}`, "{{ .x }}"},
		{"braces of JSON", `{"a": {"b": 1}}`, `{"a": {"b": 1}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tmpl, err := CompileTemplate(test.template)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Render([]byte(document))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRenderRefuses(t *testing.T) {
	tests := []struct{ name, template, want string }{
		{"a missing member", "Q:\n  {{ .card.titel }}", `line 2, column 11: .card has no member "titel"; did you mean "title"? There are "choices", "hint", "q" and "title"`},
		{"a missing member of the input", `{{ .dif }}`, `line 1, column 4: the document at this place has no member "dif"; did you mean "diff"?`},
		{"nothing near", `{{ .elsewhere }}`, `line 1, column 4: the document at this place has no member "elsewhere"`},
		{"after letters of two bytes", `Öl {{ .card.x }}`, `line 1, column 12: .card has no member "x"; did you mean "q"? There are "choices", "hint", "q" and "title"`},
		{"a missing member of a variable", `{{ $c := .card }}{{ $c.titel }}`, `line 1, column 23: $c has no member "titel"; did you mean "title"? There are "choices", "hint", "q" and "title"`},
		{"a missing member of an element", `{{ range .sources }}{{ .uri }}{{ end }}`, `line 1, column 24: the document at this place has no member "uri"; did you mean "url"?`},
		{"a missing member in a condition", `{{ if .card.hnt }}x{{ end }}`, `line 1, column 12: .card has no member "hnt"; did you mean "hint"? There are "choices", "hint", "q" and "title"`},
		{"a missing member of a chain", `{{ (index .sources 0).uri }}`, `line 1, column 22: (index .sources 0) has no member "uri"; did you mean "url"?`},
		{"a member of null", `{{ .card.hint.text }}`, `line 1, column 14: .card.hint is null, so it has no member "text"`},
		{"a member of a text", `{{ .diff.text }}`, `line 1, column 9: .diff is a text, so it has no member "text"`},
		{"null", `{{ .card.hint }}`, `line 1, column 4: .card.hint is null: test it with if, or write json to show it as null`},
		{"an object", `{{ .card }}`, `line 1, column 4: .card is an object: write {{ json .card }}`},
		{"a list", `{{ index .sources 0 }}{{ .sources }}`, `line 1, column 4: index .sources 0 is an object: write {{ json (index .sources 0) }}`},
		{"past the end", `{{ index .sources 2 }}`, `line 1, column 4: error calling index: the list has 2 elements, counted from 0: there is no 2`},
		{"before the start", `{{ index .sources -1 }}`, `line 1, column 4: error calling index: the list has 2 elements, counted from 0: there is no -1`},
		{"no such name", `{{ index . "x" }}`, `line 1, column 4: error calling index: the object has no member "x"`},
		{"a range over a number", `{{ range .score }}x{{ end }}`, `line 1, column 10: .score is a number: only a list or an object can be ranged over`},
		{"a range over a number that is written", `{{ range $i, $x := 99999999999 }}x{{ end }}`, `line 1, column 10: 99999999999 is a number: only a list or an object can be ranged over`},
		{"a text compared with a number", `{{ if eq .diff 3 }}x{{ end }}`, `line 1, column 7: error calling eq: a text cannot be compared with a number`},
		{"null before a number", `{{ if lt .card.hint 3 }}x{{ end }}`, `line 1, column 7: error calling lt: null is neither before nor after a number`},
		{"the length of a number", `{{ len .n }}`, `line 1, column 4: error calling len: a number has no length`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tmpl, err := CompileTemplate(test.template)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Render([]byte(document))
			var at *TemplateError
			if !errors.As(err, &at) {
				t.Fatalf("got %q and %v, want a *TemplateError", got, err)
			}
			if at.Error() != test.want {
				t.Errorf("got  %s\nwant %s", at.Error(), test.want)
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	tests := []struct{ name, template, want string }{
		{"an open action", "a\n{{ .card", "line 2: unclosed action"},
		{"an open if", "{{ if .ok }}x", "line 1: unexpected EOF"},
		{"an unknown function", "a\n  {{ jsn .card }}", `line 2, column 6: there is no function "jsn"; did you mean "json"?`},
		{"an unknown function in a pipe", `{{ .card | html }}`, `line 1, column 12: there is no function "html"`},
		{"printf, which prints Go", `{{ printf "%v" .card }}`, `line 1, column 4: there is no function "printf"`},
		{"a function of this package's own", `{{ _print 1 "x" .card }}`, `line 1, column 4: there is no function "_print"`},
		{"an unknown function as an argument", `{{ json (nope .x) }}`, `line 1, column 10: there is no function "nope"`},
		{"an unknown function in a condition", `{{ if has . "x" }}{{ end }}`, `line 1, column 7: there is no function "has"`},
		{"too few arguments", `{{ get . "x" }}`, "line 1, column 4: get takes 3 arguments, not 2"},
		{"too many by a pipe", `{{ .card | json .card }}`, "line 1, column 12: json takes 1 argument, not 2"},
		{"no argument at all", `{{ json }}`, "line 1, column 4: json takes 1 argument, not 0"},
		{"a function as an argument without its own", `{{ get . json 1 }}`, "line 1, column 10: json takes 1 argument, not 0"},
		{"a call of what is no function", `{{ .card .x }}`, "line 1, column 4: .card is not a function and takes no argument"},
		{"a variable that is not declared", `{{ $x.q }}`, `line 1: undefined variable "$x"`},
		{"define", `{{ define "x" }}a{{ end }}`, `line 1: define and block are not supported: a prompt is one template ("x" is defined in it)`},
		{"template", "{{ template \"x\" }}", "line 1, column 13: template is not supported: a prompt is one template"},
		{"not UTF-8", "a\xff", "line 1: the text is not UTF-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := CompileTemplate(test.template)
			var at *TemplateError
			if !errors.As(err, &at) {
				t.Fatalf("got %v, want a *TemplateError", err)
			}
			if at.Error() != test.want {
				t.Errorf("got  %s\nwant %s", at.Error(), test.want)
			}
		})
	}
}

func TestPromptIsBounded(t *testing.T) {
	silent, err := CompileTemplate(strings.Repeat("{{ range $.l }}", 4) + strings.Repeat("{{ end }}", 4))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := silent.Render([]byte(`{"l":[` + strings.Repeat("1,", 999) + `1]}`)); err == nil || err.Error() != "line 1, column 55: the ranges come to more than 1000000 rounds" {
		t.Errorf("got %v", err)
	}
	long, err := CompileTemplate("{{ range .l }}{{ range $.l }}{{ $.t }}{{ end }}{{ end }}")
	if err != nil {
		t.Fatal(err)
	}
	input := `{"l":[` + strings.Repeat("1,", 999) + `1],"t":"` + strings.Repeat("x", 100) + `"}`
	if _, err := long.Render([]byte(input)); err == nil || err.Error() != "the prompt is longer than 16 MiB" {
		t.Errorf("got %v", err)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		`{{ .card.q }}`, `{{ range $i, $s := .sources }}{{ $s.url | json }}{{ else }}{{ . }}{{ end }}`, `{{ (index .sources 1).url }}`,
		`{{ with $x := .card }}{{ $x }}{{ end }}`, `{{- if and .ok (not .n) -}}{{ get . "a.b" 1 }}{{ end }}`, `{{ json . | len }}`, `{{ nil }}`, `{{ (json) }}`, `{{ 1 | eq 2 }}`,
		`{{ .a.b.c }}`, `{{ true }}`, `{{ 'x' }}`, "{{ `raw` }}", `{{ 1i }}`, `{{ break }}`, `{{ $ }}`, `{{ range 3 }}{{ . }}{{ end }}`,
	} {
		f.Add(seed, document)
	}
	f.Fuzz(func(t *testing.T, source, input string) {
		tmpl, err := CompileTemplate(source)
		if err != nil {
			if at := new(TemplateError); !errors.As(err, &at) || at.Line < 1 {
				t.Fatalf("%q: %v has no place", source, err)
			}
			return
		}
		first, firstErr := tmpl.Render([]byte(input))
		second, secondErr := tmpl.Render([]byte(input))
		if first != second || (firstErr == nil) != (secondErr == nil) {
			t.Fatalf("%q renders differently: %q (%v), then %q (%v)", source, first, firstErr, second, secondErr)
		}
		if strings.Contains(first, "<no value>") && !strings.Contains(source+input, "no value") {
			t.Fatalf("%q has a hole: %q", source, first)
		}
	})
}
