package completion

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// Whatever an answer is, the server's own bytes are kept, the request that they
// answer, and the schema as it was sent. Only a whole one answers the next run.
func TestEveryAnswerIsKept(t *testing.T) {
	raw := "data: {\"a\":1}\n\xff\x00"
	for name, reply := range map[string]*proto.CompletionReply{
		"whole":     {Text: "{}", FinishReason: "stop"},
		"malformed": {Text: "{", FinishReason: "stop"},
		"cut off":   {Text: "{", FinishReason: "length"},
		"refused":   {FinishReason: "refusal", Refusal: "no"},
		"withheld":  {FinishReason: "content_filter"},
		"empty":     {FinishReason: "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := &memory{}
			var given []dag.Completion
			s, _ := newService(t, Options{Cache: cache, Given: func(_ context.Context, c dag.Completion) { given = append(given, c) }})
			reply.Raw, reply.WireSchema, reply.RequestId, reply.Notes = []byte(raw), []byte(`{"type": "object"}`), "r1", []string{"n"}
			got := s.Complete(t.Context(), writer, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) { return reply, nil }, userSays("hi"))
			if len(got.GetRaw())+len(got.GetWireSchema()) > 0 {
				t.Errorf("the stage was sent what only the trail needs: %v", got)
			}
			if len(cache.kept) != 1 || len(given) != 1 || given[0].Origin != OriginLive {
				t.Fatalf("kept %v, given %v", cache.kept, given)
			}
			kept := cache.kept[0]
			if b, err := RawBytes(kept.Raw); err != nil || string(b) != raw {
				t.Errorf("the server's bytes came back as %q (%v) from %s", b, err, kept.Raw)
			}
			if string(kept.Schema) != `{"type":"object"}` || string(kept.Request) != `{"messages":[{"role":"user","text":"hi"}]}` {
				t.Errorf("kept the schema %s and the request %s", kept.Schema, kept.Request)
			}
			a, err := ReadAnswer(kept.Answer)
			if err != nil || a.Asked != "m" || a.RequestID != "r1" || a.FinishReason != reply.FinishReason || a.Refusal != reply.Refusal || a.text() != reply.Text {
				t.Errorf("the answer is kept as %s (%v)", kept.Answer, err)
			}
			if wantKeys := name == "whole" || name == "malformed"; len(cache.m) > 0 != wantKeys {
				t.Errorf("it answers %d later requests", len(cache.m))
			}
		})
	}
}

func TestRawBytes(t *testing.T) {
	for _, raw := range []string{"{}", "a\u2028\n\x00", "\xff", "\xed\xa0\x80", `{"base64":"x"}`, "\r\n"} {
		got, err := RawBytes(rawDocument([]byte(raw)))
		if err != nil || string(got) != raw {
			t.Errorf("%q came back as %q (%v)", raw, got, err)
		}
	}
	if _, err := RawBytes([]byte(`{"messages":[]}`)); err == nil {
		t.Error("a request was taken for the bytes of a server")
	}
}

// A server that shows its caller's headers shows the key: it is blotted out of all
// that the server said, however it is written.
func TestNothingThatIsKeptHoldsASecret(t *testing.T) {
	const key = `sk-"canary"-0123`
	p := &dag.Provider{Name: "p", Model: "m", Plugin: writer.Plugin, Secrets: map[string]string{"api_key": key, "headers.authorization": "Bearer token-0123", "pin": "no"}}
	cache := &memory{}
	s, _ := newService(t, Options{Cache: cache})
	echo := key + ` sk-\"canary\"-0123 token-0123 Bearer token-0123 no`
	got := s.Complete(t.Context(), p, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		return &proto.CompletionReply{
			Text: echo, FinishReason: "stop", Refusal: echo, Model: echo, RequestId: echo, Notes: []string{echo}, Raw: []byte(echo),
			WireSchema: []byte(`{"title":"token-0123"}`), Usage: &proto.Usage{Raw: []byte(`{"for":"token-0123"}`)},
		}, nil
	}, userSays("hi"))
	const want = "(sensitive) (sensitive) (sensitive) (sensitive) no"
	if diff := cmp.Diff(want, got.GetText()); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	for _, text := range []string{fmt.Sprint(got), string(cache.kept[0].Answer), string(cache.kept[0].Raw), string(cache.kept[0].Schema)} {
		if strings.Contains(text, "0123") || !strings.Contains(text, "(sensitive)") {
			t.Errorf("it stands in %s", text)
		}
	}
}

// So does what it said of a request that failed.
func TestNoErrorHoldsASecret(t *testing.T) {
	p := &dag.Provider{Name: "p", Model: "m", Plugin: writer.Plugin, Secrets: map[string]string{"headers.authorization": "Bearer token-0123", "pin": "0000"}}
	s, _ := newService(t, Options{})
	got := s.Complete(t.Context(), p, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		return &proto.CompletionReply{
			Error: &proto.ProviderError{Kind: proto.ProviderError_AUTH, Message: "the key token-0123 is not known, nor is 0000"},
			Text:  "token-0123", Raw: []byte("token-0123"), Notes: []string{"token-0123"},
		}, nil
	}, userSays("hi"))
	if text := fmt.Sprint(got); strings.Contains(text, "0123") {
		t.Errorf("it stands in %s", text)
	}
	if diff := cmp.Diff("the key (sensitive) is not known, nor is (sensitive)", got.GetError().GetMessage()); diff != "" {
		t.Errorf("the message (-want +got):\n%s", diff)
	}
}

// A key alone is a secret, too, where it was given behind another word.
func TestAKeyWithinAHeaderIsNotRecorded(t *testing.T) {
	p := &dag.Provider{Name: "p", Secrets: map[string]string{"headers.authorization": "Bearer token-0123"}}
	for text, want := range map[string]bool{"see token-0123": true, "Bearer of good news": false, "see token-012": false} {
		if got := leaks(p, "", text); got != want {
			t.Errorf("leaks(%q) is %v", text, got)
		}
	}
}
