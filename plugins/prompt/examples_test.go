package prompt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// folder is a directory with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mustConfigureIn(t *testing.T, files map[string]string, config, outputSchema string) *asker {
	t.Helper()
	a, err := configure(sdk.Config{JSON: []byte(config), OutputSchema: []byte(outputSchema), Directory: folder(t, files)})
	if err != nil {
		t.Fatalf("%v: %+v", err, err)
	}
	return a
}

// fewShot are files of examples: two a line, two in an array, one alone.
var fewShotFiles = map[string]string{
	"few/a.jsonl":     "{\"input\":{\"cat\":\"art\"},\"output\":{\"q\": \"One?\"}}\n\n{\"output\":{\"q\":\"Two?\"},\"input\":{\"cat\":\"law\"}}",
	"few/b.json":      "[\n  {\"input\": {\"cat\": \"war\"},\n   \"output\": {\"q\": \"Three?\"}},\n  {\"input\":{\"cat\":\"sea\"},\"output\":{\"q\":\"Four?\"}}\n]",
	"few/deep/c.json": `{"input":{"cat":"sun"},"output":{"q":"Five?"}}`,
	"few/notes.txt":   "no example",
}

// Examples are turns before the item's own, in the order of the patterns and names.
func TestExamplesAreTurns(t *testing.T) {
	tests := []struct {
		name, config string
		want         []string
	}{
		{"each turn is the template, filled", `{"template":"Card on {{ .cat }}.","examples":["few/*.json*"]}`, []string{
			"user: Card on art.", `assistant: {"q":"One?"}`, "user: Card on law.", `assistant: {"q":"Two?"}`,
			"user: Card on war.", `assistant: {"q":"Three?"}`, "user: Card on sea.", `assistant: {"q":"Four?"}`, "user: Card on music."}},
		{"in the order of the patterns, each file once", `{"template":"{{ .cat }}","examples":["few/deep/**","few/a.jsonl","few/**/*.json","few/a.*"]}`, []string{
			"user: sun", `assistant: {"q":"Five?"}`, "user: art", `assistant: {"q":"One?"}`, "user: law", `assistant: {"q":"Two?"}`,
			"user: war", `assistant: {"q":"Three?"}`, "user: sea", `assistant: {"q":"Four?"}`, "user: music"}},
		{"as data the template stands once", `{"template":"Write a card.","data":true,"examples":["few/a.jsonl"]}`, []string{
			"user: Write a card.", "user: <data>\n{\"cat\":\"art\"}\n</data>", `assistant: {"q":"One?"}`,
			"user: <data>\n{\"cat\":\"law\"}\n</data>", `assistant: {"q":"Two?"}`, "user: <data>\n{\"cat\":\"music\"}\n</data>"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := mustConfigureIn(t, fewShotFiles, test.config, cardSchema)
			for range 2 { // the second visit finds the turns as the first did
				if diff := cmp.Diff(test.want, said(rendered(t, a, []byte(`{"cat":"music"}`)))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A re-ask bears the prompt with its examples, the latest answer and its misfit,
// however often it was asked before.
func TestReaskKeepsExamples(t *testing.T) {
	a := mustConfigureIn(t, fewShotFiles, `{"template":"Card on {{ .cat }}.","examples":["few/a.jsonl"],"reasks":3}`, cardSchema)
	m := &model{texts: []string{"one", "two", `{"q":"3"}`, `{"q":"Who?"}`}}
	if _, err := a.ask(t.Context(), []byte(`{"cat":"music"}`), 0, m.complete); err != nil {
		t.Fatal(err)
	}
	original := said(m.requests[0])
	if len(original) != 5 {
		t.Fatalf("the prompt has the turns %q", original)
	}
	for i, answer := range []string{"one", "two", `{"q":"3"}`} {
		got := said(m.requests[i+1])
		if diff := cmp.Diff(append(original[:5:5], "assistant: "+answer), got[:6]); diff != "" || len(got) != 7 || !strings.HasPrefix(got[6], "user: That answer cannot be used: ") {
			t.Errorf("re-ask %d has %d turns (-want +got):\n%s", i+1, len(got), diff)
		}
	}
}

func TestExamplesThatCannotBeUsed(t *testing.T) {
	many := strings.Repeat(`{"input":{"cat":"a"},"output":{"q":"One?"}}`+"\n", maxExamples+1)
	long := fmt.Sprintf(`{"input":{"cat":%q},"output":{"q":"One?"}}`, strings.Repeat("x", maxExampleBytes))
	tests := []struct{ name, files, content, want string }{
		{"no such file", "none.jsonl", "", `no file matches "none.jsonl"`},
		{"no pattern", "[", "", `"[" is not a pattern of file names: syntax error in pattern`},
		{"another directory", "../x.jsonl", "", `"../x.jsonl" leads out of the pipeline's directory; paths are relative to it`},
		{"another kind of file", "x.txt", "", "x.txt: examples stand in a file that ends in .jsonl, one a line, or in .json, as an array"},
		{"nothing in it", "x.jsonl", "\n\n", `x.jsonl: there is no example in it; leave the attribute out, or write {"input": …, "output": …}`},
		{"an empty array", "x.json", "[]", `x.json: there is no example in it; leave the attribute out, or write {"input": …, "output": …}`},
		{"no JSON in a line", "x.jsonl", "\n{\"input\":1,\"output\":{\"q\":\"One?\"}}\n{oops}\n", "x.jsonl:3: column 2: …"},
		{"no JSON in an array", "x.json", "[\n {\"input\":1,,\"output\":2}\n]", "x.json:2: column 13: …"},
		{"a name twice", "x.jsonl", `{"input":1,"input":2,"output":3}`, "x.jsonl:1: column 12: …"},
		{"no example", "x.jsonl", "[1]", `x.jsonl:1: an example is an object with the members "input" and "output", and no others`},
		{"no output", "x.json", "[\n\n{\"input\":{\"cat\":\"a\"}}]", `x.json:3: an example is an object with the members "input" and "output", and no others`},
		{"one member more", "x.jsonl", `{"input":{},"output":{},"note":""}`, `x.jsonl:1: an example is an object with the members "input" and "output", and no others`},
		{"an output that does not fit", "x.json", "[{\"input\":{\"cat\":\"a\"},\"output\":{\"q\":\"One?\"}},\n{\"input\":{\"cat\":\"a\"},\"output\":{\"q\":\"O\"}}]",
			"x.json:2: its output does not fit the schema of the stage's output: /q: expected at least 3 characters, found 1"},
		{"an input that does not fill the template", "x.jsonl", `{"input":{"kat":"a"},"output":{"q":"One?"}}`,
			`x.jsonl:1: its input does not fill the template: the template, line 1, column 4: the document at this place has no member "cat"; did you mean "kat"?`},
		{"too many", "x.jsonl", many, "these are 65 examples, and every request would bear them all; give at most 64"},
		{"too long", "x.jsonl", long, "the examples have 1048598 bytes, and every request would bear them all; give at most 1048576"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := folder(t, map[string]string{"x" + filepath.Ext(test.files): test.content})
			_, err := configure(sdk.Config{
				JSON:         configOf(t, map[string]any{"template": "{{ .cat }}", "examples": []string{test.files}}),
				OutputSchema: []byte(cardSchema), Directory: dir,
			})
			diags, _ := err.(sdk.Diagnostics)
			if len(diags) != 1 || diags[0].Summary != "The examples cannot be used" || diags[0].Path[0] != "examples" {
				t.Fatalf("got %v, %+v", err, diags)
			}
			if head, _, cut := strings.Cut(test.want, "…"); !strings.HasPrefix(diags[0].Detail, head) || !cut && diags[0].Detail != test.want {
				t.Errorf("got  %s\nwant %s", diags[0].Detail, test.want)
			}
		})
	}
}
