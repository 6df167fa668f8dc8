package prompt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	pb "google.golang.org/protobuf/proto"

	"github.com/penstock-run/penstock/plugins/sdk"
)

func mustConfigure(t *testing.T, config, outputSchema string) *asker {
	t.Helper()
	a, err := configure(sdk.Config{JSON: []byte(config), OutputSchema: []byte(outputSchema)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// model answers each request with the next text, and keeps the requests.
type model struct {
	texts    []string
	requests []*sdk.CompletionRequest
}

func (m *model) complete(_ context.Context, r *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
	m.requests = append(m.requests, pb.Clone(r).(*sdk.CompletionRequest))
	if len(m.requests) > len(m.texts) {
		return nil, errors.New("asked once too often")
	}
	text := m.texts[len(m.requests)-1]
	if reason, rest, ok := strings.Cut(text, "!"); ok {
		return &sdk.CompletionReply{Text: rest, FinishReason: reason}, nil
	}
	return &sdk.CompletionReply{Text: text, FinishReason: "stop"}, nil
}

// What a provider notes of an answer stands in the trail of the visit.
func TestNotesOfTheProvider(t *testing.T) {
	a := mustConfigure(t, `{"template":"Card on {{ .cat }}."}`, "")
	result, err := a.ask(context.Background(), []byte(`{"cat":"music"}`), 0, func(context.Context, *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
		return &sdk.CompletionReply{Text: "{}", FinishReason: "stop", Notes: []string{"the schema was sent as a hint"}}, nil
	})
	if want := []string{"the schema was sent as a hint"}; err != nil || !slices.Equal(result.Notes, want) {
		t.Errorf("got %q, %v, want %q", result.Notes, err, want)
	}
}

func TestAsk(t *testing.T) {
	const good, short, prose = `{"q":"Who?"}`, `{"q":"W"}`, "Who?"
	tests := []struct {
		name   string
		reasks string
		texts  []string
		want   string
		notes  int
	}{
		{"at once", "2", []string{good}, good, 0},
		{"in a fence", "2", []string{"```\n" + good + "\n```"}, good, 1},
		{"after a misfit", "2", []string{short, good}, good, 1},
		{"after prose and a misfit", "2", []string{prose, short, good}, good, 2},
		{"a misfit to the end", "2", []string{short, short, short}, "E_OUTPUT: the answer does not fit the schema: … (asked again 2 times)", 0},
		{"prose to the end", "2", []string{prose, prose, prose}, "E_MALFORMED: the answer is not one strict JSON document: … (asked again 2 times)", 0},
		{"the last word counts", "1", []string{prose, short}, "E_OUTPUT: the answer does not fit the schema: … (asked again once)", 0},
		{"no re-ask", "0", []string{prose}, "E_MALFORMED: the answer is not one strict JSON document: …", 0},
		{"refused at once", "2", []string{"refusal!No."}, "E_REFUSED: the model refused: No.", 0},
		{"cut off at once", "2", []string{"length!" + good}, "E_TRUNCATED: the answer was cut off after 0 tokens; raise max_tokens, or ask for less", 0},
		{"refused after a misfit", "2", []string{short, "refusal!No."}, "E_REFUSED: the model refused: No.", 0},
		{"cut off after a misfit", "2", []string{short, "length!{"}, "E_TRUNCATED: the answer was cut off after 0 tokens; raise max_tokens, or ask for less", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := mustConfigure(t, `{"template":"Card on {{ .cat }}.","reasks":`+test.reasks+`}`, cardSchema)
			m := &model{texts: test.texts}
			result, err := a.ask(context.Background(), []byte(`{"cat":"music"}`), 0, m.complete)
			got, _ := result.Output.([]byte)
			text := string(got)
			if err != nil {
				text = err.Error()
			}
			if head, tail, cut := strings.Cut(test.want, "…"); !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || !cut && text != test.want {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
			if len(m.requests) != len(test.texts) {
				t.Errorf("asked %d times, want %d", len(m.requests), len(test.texts))
			}
			if len(result.Notes) != test.notes {
				t.Errorf("notes are %q, want %d", result.Notes, test.notes)
			}
		})
	}
}

// The model hears its misfit, and the conversation does not grow.
func TestReaskTellsTheMisfit(t *testing.T) {
	a := mustConfigure(t, `{"template":"Card on {{ .cat }}.","system":"Be brief."}`, cardSchema)
	m := &model{texts: []string{"Who?", "", `{"q":"Who?"}`}}
	if _, err := a.ask(context.Background(), []byte(`{"cat":"music"}`), 3, m.complete); err != nil {
		t.Fatal(err)
	}
	type turn struct{ Role, Text string }
	var last []turn
	for _, message := range m.requests[2].Messages {
		last = append(last, turn{message.Role, message.Parts[0].Text})
	}
	want := []turn{
		{"user", "Card on music."},
		{"assistant", "(an empty answer)"},
		{"user", "That answer cannot be used: the answer is empty.\n\nAnswer again, with the whole answer: one JSON document and nothing else."},
	}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Errorf("the second re-ask (-want +got):\n%s", diff)
	}
	for i, r := range m.requests {
		if r.System != "Be brief." || string(r.Schema) != cardSchema || r.Sample != 3 {
			t.Errorf("request %d lacks the system text, the schema or the sample: %v", i, r)
		}
	}
}

func TestProviderErrorsPassThrough(t *testing.T) {
	a := mustConfigure(t, `{"template":"x"}`, "")
	want := sdk.RateLimited(0, "slow down")
	_, err := a.ask(context.Background(), []byte(`{}`), 0, func(context.Context, *sdk.CompletionRequest) (*sdk.CompletionReply, error) { return nil, want })
	if !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}

func TestMissingNameFailsTheVisit(t *testing.T) {
	a := mustConfigure(t, `{"template":"ok","system":"On\n{{ .catt }}"}`, "")
	m := &model{}
	_, err := a.ask(context.Background(), []byte(`{"cat":"music"}`), 0, m.complete)
	if err == nil || err.Error() != `E_EXPR: the system template, line 2, column 4: the document at this place has no member "catt"; did you mean "cat"?` {
		t.Errorf("got %v", err)
	}
	if len(m.requests) != 0 {
		t.Error("the model was asked all the same")
	}
}

func TestConfigureRefuses(t *testing.T) {
	tests := []struct{ name, config, schema, want string }{
		{"syntax of the template", `{"template":"a\n{{ .x"}`, "", "template: The template cannot be read: line 2: unclosed action"},
		{"syntax of the system text", `{"template":"a","system":"{{ jsn . }}"}`, "", `system: The template cannot be read: line 1, column 4: there is no function "jsn"; did you mean "json"?`},
		{"nothing to send", `{"template":""}`, "", "template: The template is empty: A prompt needs a text to send."},
		{"numbers", `{"template":"a","temperature":-1,"top_p":1.5,"seed":0.5,"max_tokens":0,"reasks":11}`, "",
			"temperature: The number is out of range: temperature is a number from 0 to 2, not -1.\n" +
				"top_p: The number is out of range: top_p is a number from 0 to 1, not 1.5.\n" +
				"seed: The number is out of range: seed is a whole number from -9007199254740992 to 9007199254740992, not 0.5.\n" +
				"max_tokens: The number is out of range: max_tokens is a whole number from 1 to 9007199254740992, not 0.\n" +
				"reasks: The number is out of range: reasks is a whole number from 0 to 10, not 11."},
		{"the schema", `{"template":"a"}`, `{"type":7}`, ": The output schema cannot be used: …"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := configure(sdk.Config{JSON: []byte(test.config), OutputSchema: []byte(test.schema)})
			var diags sdk.Diagnostics
			if !errors.As(err, &diags) {
				t.Fatalf("got %v, want diagnostics", err)
			}
			var lines []string
			for _, d := range diags {
				lines = append(lines, strings.Join(d.Path, ".")+": "+d.Summary+": "+d.Detail)
			}
			got := strings.Join(lines, "\n")
			if head, _, cut := strings.Cut(test.want, "…"); !strings.HasPrefix(got, head) || !cut && got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestCallsPerVisit(t *testing.T) {
	for config, want := range map[string]int{
		`{"template":"x"}`:             3,
		`{"template":"x","reasks":0}`:  1,
		`{"template":"x","reasks":10}`: 11,
		`{"template":"x","reasks":99}`: 11,
		`not JSON`:                     3,
	} {
		if got := CallsPerVisit([]byte(config)); got != want {
			t.Errorf("%s: %d calls, want %d", config, got, want)
		}
	}
}

// The requests that fixed inputs give, and what fixed answers come to, may
// change only together with Behaviour: recordings and caches hang on them.
func TestBehaviour(t *testing.T) {
	golden(t, Behaviour, behaviour(t,
		`{"template":"Card on {{ .cat }}: {{ json . }}\n{{ pretty .tags }}{{ range .tags }}\n- {{ . }}{{ end }}"}`,
		`{"template":"x","system":"S {{ .n }} {{ .score }}","temperature":0,"top_p":0.25,"seed":7,"max_tokens":100,"stop":["END"],"reasks":3}`,
	))
}

// So may those of a stage that sends data, or examples.
func TestBehaviourOfData(t *testing.T) {
	golden(t, Behaviour+"-data", behaviour(t,
		`{"template":"Write a card.\n","data":true}`,
		`{"template":"Write a card.","system":"You are brief.","data":true,"examples":["few/a.jsonl"]}`,
		`{"template":"Card on {{ .cat }}.","examples":["few/a.jsonl"]}`,
	))
}

// behaviour is what fixed configurations ask, and take, of a fixed model.
func behaviour(t *testing.T, configs ...string) string {
	t.Helper()
	var out strings.Builder
	for _, config := range configs {
		a := mustConfigureIn(t, fewShotFiles, config, cardSchema)
		m := &model{texts: []string{"Who?", `{"q":"W"}`, "Here:\n```json\n{ \"q\" : \"Who?\" }\n```"}}
		result, err := a.ask(context.Background(), []byte(`{"cat":"music","n":3,"score":0.5,"tags":["a","<b>"]}`), 1, m.complete)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range m.requests {
			b, err := protojson.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			value := jsontext.Value(b) // protojson varies its white space on purpose
			if err := value.Canonicalize(); err != nil {
				t.Fatal(err)
			}
			out.WriteString(string(value) + "\n")
		}
		notes, err := json.Marshal(result.Notes)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(string(result.Output.([]byte)) + " " + string(notes) + "\n")
	}
	return out.String()
}

// golden compares with what was kept for this behaviour. A behaviour that is
// kept is never written again: changed outputs need a new one.
func golden(t *testing.T, behaviour, got string) {
	t.Helper()
	path := filepath.Join("testdata", "behaviour", strings.ReplaceAll(behaviour, "/", "-")+".golden")
	want, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("KEEP_BEHAVIOUR") != "" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatalf("nothing is kept for behaviour %s (KEEP_BEHAVIOUR=1 go test keeps it): %v", behaviour, err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("behaviour %s gives other outputs than it gave: raise Behaviour, then KEEP_BEHAVIOUR=1 go test (-kept +got):\n%s", behaviour, diff)
	}
}
