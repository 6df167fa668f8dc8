package prompt

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/internal/schema"
	"github.com/penstock-run/penstock/plugins/sdk"
)

const cardSchema = `{"type":"object","required":["q"],"properties":{"q":{"type":"string","minLength":3}},"additionalProperties":false}`

func mustSchema(t testing.TB, source string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile("the output schema", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The wrappers that models are known to put around JSON.
func TestUnfence(t *testing.T) {
	tests := []struct{ name, text, inner, note string }{
		{"with its language", "```json\n{\"a\":1}\n```", `{"a":1}`, "the answer came in a code fence, which was taken off"},
		{"without", "```\n[1,\n2]\n```\n", "[1,\n2]", "the answer came in a code fence, which was taken off"},
		{"a space before the language", "``` json\n{}\n```", `{}`, "the answer came in a code fence, which was taken off"},
		{"CRLF", "```json\r\n{}\r\n```\r\n", `{}`, "the answer came in a code fence, which was taken off"},
		{"tildes", "~~~json\n{}\n~~~", `{}`, "the answer came in a code fence, which was taken off"},
		{"longer fence around a shorter", "````\n```\n````", "```", "the answer came in a code fence, which was taken off"},
		{"indented", "  ```json\n  {}\n  ```", `{}`, "the answer came in a code fence, which was taken off"},
		{"text before and after", "Here is the card:\n\n```json\n{\"a\":1}\n```\nEnjoy!", `{"a":1}`, "the answer came in a code fence with text around it, which was taken off"},
		{"no fence", `{"a":1}`, "", ""},
		{"inline code is no fence", "```{}```", "", ""},
		{"two backticks", "``\n{}\n``", "", ""},
		{"never closed", "```json\n{\"a\":1", "", ""},
		{"closed by another mark", "```json\n{}\n~~~", "", ""},
		{"closed by a shorter one", "````json\n{}\n```", "", ""},
		{"two fences", "```json\n{}\n```\nor\n```json\n[]\n```", "", ""},
		{"one whole, one open", "```json\n{}\n```\n```json\n[", "", ""},
		{"empty", "", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inner, note, ok := unfence(test.text)
			if inner != test.inner || note != test.note || ok != (test.note != "") {
				t.Errorf("got %q, %q, %v; want %q, %q", inner, note, ok, test.inner, test.note)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name  string
		reply *sdk.CompletionReply
		want  string // the document, or what is wrong
	}{
		{"fits", &sdk.CompletionReply{Text: " {\"q\" : \"Who?\"}\n", FinishReason: "stop"}, `{"q":"Who?"}`},
		{"fits in a fence", &sdk.CompletionReply{Text: "```json\n{\"q\":\"Who?\"}\n```", FinishReason: "stop"}, `{"q":"Who?"} (the answer came in a code fence, which was taken off)`},
		{"parsed by the provider", &sdk.CompletionReply{Json: []byte(`{"q":"Who?"}`), FinishReason: "stop"}, `{"q":"Who?"}`},
		{"refusal before all else", &sdk.CompletionReply{Text: `{"q":"Who?"}`, Refusal: "I cannot\nhelp.", FinishReason: "length"}, "E_REFUSED: the model refused: I cannot help."},
		{"refusal by its reason", &sdk.CompletionReply{Text: "I cannot help.", FinishReason: "refusal"}, "E_REFUSED: the model refused: I cannot help."},
		{"filtered", &sdk.CompletionReply{FinishReason: "content_filter"}, "E_REFUSED: the provider's content filter withheld the answer"},
		{"cut off", &sdk.CompletionReply{Text: `{"q":"Wh`, FinishReason: "length", Usage: &sdk.Usage{Output: 16}}, "E_TRUNCATED: the answer was cut off after 16 tokens; raise max_tokens, or ask for less"},
		{"cut off though it looks whole", &sdk.CompletionReply{Text: `{"q":"Who?"}`, FinishReason: "length"}, "E_TRUNCATED: the answer was cut off after 0 tokens; raise max_tokens, or ask for less"},
		{"no finish reason", &sdk.CompletionReply{Text: `{"q":"Who?"}`}, `infrastructure E_PLUGIN: the provider's finish reason is "", which is none of stop, length, refusal and content_filter`},
		{"not JSON", &sdk.CompletionReply{Text: "Who wrote Faust?", FinishReason: "stop"}, "misfit E_MALFORMED: the answer is not one strict JSON document: line 1, column 1: expected a value, found 'W'"},
		{"a name twice", &sdk.CompletionReply{Text: `{"q":"Who?","q":"When?"}`, FinishReason: "stop"}, "misfit E_MALFORMED: the answer is not one strict JSON document: line 1, column 13, at /q: the name \"q\" occurs a second time"},
		{"text after", &sdk.CompletionReply{Text: `{"q":"Who?"} Done.`, FinishReason: "stop"}, "misfit E_MALFORMED: the answer is not one strict JSON document: line 1, column 14: unexpected 'D' after the document"},
		{"empty", &sdk.CompletionReply{Text: " \n", FinishReason: "stop"}, "misfit E_MALFORMED: the answer is empty"},
		{"does not fit", &sdk.CompletionReply{Text: `{"q":"W"}`, FinishReason: "stop"}, "misfit E_OUTPUT: the answer does not fit the schema: /q: "},
	}
	want := mustSchema(t, cardSchema)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, err := judge(test.reply, want)
			got := string(a.document)
			var f *sdk.Failure
			switch {
			case errors.As(err, &f) && f.Infrastructure:
				got = "infrastructure " + err.Error()
			case err != nil:
				got = err.Error()
			case a.misfit != nil:
				got = "misfit " + a.misfit.code + ": " + a.misfit.text
			case a.fenced != "":
				got += " (" + a.fenced + ")"
			}
			// How canon and schema word their part is theirs.
			if test.want != got && !strings.HasPrefix(got, prefix(test.want)) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func prefix(want string) string {
	for _, cut := range []string{"strict JSON document: ", "fit the schema: "} {
		if i := strings.Index(want, cut); i >= 0 {
			return want[:i+len(cut)]
		}
	}
	return want
}

func TestAnyJSONWithoutASchema(t *testing.T) {
	for _, text := range []string{`null`, `"x"`, `[1]`, `{"b":1,"a":2}`} {
		a, err := judge(&sdk.CompletionReply{Text: text, FinishReason: "stop"}, nil)
		if err != nil || a.misfit != nil {
			t.Errorf("%s: %v, %v", text, a.misfit, err)
		}
	}
	a, _ := judge(&sdk.CompletionReply{Text: `{"b":1,"a":2}`, FinishReason: "stop"}, nil)
	if diff := cmp.Diff(`{"a":2,"b":1}`, string(a.document)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzUnfence(f *testing.F) {
	for _, seed := range []string{"```json\n{}\n```", "a\n~~~\n[]\n~~~\nb", "````\n```\n````", "```\n```\n```", "```{}```", "` ``\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		inner, note, ok := unfence(text)
		if ok != (note != "") {
			t.Fatalf("%q: note %q, ok %v", text, note, ok)
		}
		if !strings.Contains(strings.ReplaceAll(text, "\r", ""), strings.ReplaceAll(inner, "\r", "")) {
			t.Fatalf("%q: %q is not a piece of it", text, inner)
		}
		// What is JSON by itself is never taken apart.
		if a := read(text, nil); a.misfit == nil && a.fenced != "" && read(inner, nil).misfit != nil {
			t.Fatalf("%q: accepted, but %q is not JSON", text, inner)
		}
	})
}
