package completion

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

const recorded = `{"request":{"messages":[{"role":"user","text":"Write five topics.\nCategory: history, easy.\nAnswer as JSON."}],"sampling":{"temperature":0.2},"system":"You write trivia."},"reply":{"json":{"topics":[]},"finish_reason":"stop","model":"gpt-5-mini"}}
{"request":{"messages":[{"role":"user","text":"Verify this card: {\"q\":\"Who?\"}"},{"role":"assistant","text":"No."},{"role":"user","text":"JSON, please."}]},"reply":{"text":"ok","finish_reason":"stop"}}
`

func TestMissNamesTheNearest(t *testing.T) {
	topics := func(text string) *proto.CompletionRequest {
		r := userSays(text)
		r.System = "You write trivia."
		r.Sampling = &proto.Sampling{Temperature: ptr(0.2)}
		return r
	}
	tests := []struct {
		name    string
		request *proto.CompletionRequest
		want    string
	}{
		{"one word of a message", topics("Write five topics.\nCategory: history, hard.\nAnswer as JSON."),
			`no recorded completion answers this request (FILE holds 2)
nearest: line 1, recorded with gpt-5-mini
differs: message 1 (user), line 2, column 20:
  recorded: "Category: history, easy.\nAnswer as JSON."
  asked:    "Category: history, hard.\nAnswer as JSON."`},
		{"the text goes on", topics("Write five topics.\nCategory: history, easy.\nAnswer as JSON. " + strings.Repeat("Please. ", 20)),
			`no recorded completion answers this request (FILE holds 2)
nearest: line 1, recorded with gpt-5-mini
differs: message 1 (user), line 3, column 16:
  recorded: "Answer as JSON." and ends there
  asked:    "Answer as JSON. Please. Please. Please. Please. Please. Please. Please."…`},
		{"everything but the text", func() *proto.CompletionRequest {
			r := topics("Write five topics.\nCategory: history, easy.\nAnswer as JSON.")
			r.System = "You write quizzes."
			r.Sampling = &proto.Sampling{TopP: ptr(0.5), Stop: []string{"END"}}
			r.Schema = []byte(`{"type":"object"}`)
			r.Sample = 3
			return r
		}(),
			`no recorded completion answers this request (FILE holds 2)
nearest: line 1, recorded with gpt-5-mini
differs: system, line 1, column 11:
  recorded: "You write trivia."
  asked:    "You write quizzes."
differs: schema of the answer: recorded none, asked ` + dag.Sum([]byte(`{"type":"object"}`)).Short() + `
differs: sampling: temperature: recorded 0.2, asked none, top_p: recorded none, asked 0.5, stop: recorded none, asked ["END"]
differs: sample: recorded 0, asked 3`},
		{"a re-ask that is not recorded", &proto.CompletionRequest{Messages: []*proto.Message{
			{Role: "user", Parts: []*proto.Part{{Text: "Verify this card: {\"q\":\"Wer?\"}"}}}, {Role: "assistant", Parts: []*proto.Part{{Text: "No."}}}}},
			`no recorded completion answers this request (FILE holds 2)
nearest: line 2
differs: message 1 (user), line 1, column 26:
  recorded: …"erify this card: {\"q\":\"Who?\"}"
  asked:    …"erify this card: {\"q\":\"Wer?\"}"
differs: number of messages: recorded 3, asked 2`},
		{"within a letter of two bytes", topics("Write five topics.\nCategory: historÿ"),
			`no recorded completion answers this request (FILE holds 2)
nearest: line 1, recorded with gpt-5-mini
differs: message 1 (user), line 2, column 17:
  recorded: "Category: history, easy.\nAnswer as JSON."
  asked:    "Category: historÿ"`},
	}
	path := write(t, "cassette.jsonl", recorded)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := New(Options{Replay: path})
			if err != nil {
				t.Fatal(err)
			}
			reply := s.Complete(context.Background(), &dag.Provider{Name: "writer"}, nil, test.request)
			if reply.GetError().GetKind() != proto.ProviderError_REPLAY_MISS {
				t.Fatalf("got %v, want a replay miss", reply)
			}
			if diff := cmp.Diff(test.want, strings.Replace(reply.GetError().GetMessage(), path, "FILE", 1)); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if got := s.Counters(); got != (Counters{Misses: 1}) {
				t.Errorf("counters are %+v", got)
			}
		})
	}
}

func TestMissOfAnEmptyCassette(t *testing.T) {
	path := write(t, "cassette.jsonl", "")
	s, err := New(Options{Replay: path})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * 100 {
		if got, want := s.Complete(context.Background(), &dag.Provider{}, nil, userSays("hi")).GetError().GetMessage(), "no recorded completion answers this request ("+path; !strings.HasPrefix(got, want) {
			t.Fatalf("got %q", got)
		}
	}
}
