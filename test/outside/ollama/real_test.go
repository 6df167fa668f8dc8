package ollama

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-run/penstock/plugins/anthropic"
	"github.com/penstock-run/penstock/plugins/ollama"
	"github.com/penstock-run/penstock/plugins/openai"
	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// door is a way to the server's models.
type door struct {
	provider func() sdk.Provider
	base     string
	config   string // besides, as members of an object
}

var (
	native = door{ollama.Provider, "", `"num_ctx":512`}
	chat   = door{openai.Provider, "/v1", `"api_key":"k"`}
	whole  = door{openai.Provider, "/v1", `"api_key":"k","dialect":{"stream":false}`}
)

func (s *server) completer(t *testing.T, d door, model string) sdk.Completer {
	t.Helper()
	complete, err := d.provider().Configure(t.Context(), sdk.ProviderConfig{Model: model, JSON: []byte(`{"base_url":"` + s.url + d.base + `",` + d.config + `}`)})
	if err != nil {
		t.Fatal(err)
	}
	return complete
}

func says(text string, sampling *sdk.Sampling, schema string) *sdk.CompletionRequest {
	return &sdk.CompletionRequest{
		System: "Be brief.", Messages: []*sdk.Message{{Role: "user", Parts: []*sdk.Part{{Type: "text", Text: text}}}},
		Sampling: sampling, Schema: []byte(schema),
	}
}

func ptr[T any](v T) *T { return &v }

func cold(most int64) *sdk.Sampling {
	s := &sdk.Sampling{Temperature: ptr(0.0)}
	if most > 0 {
		s.MaxTokens = &most
	}
	return s
}

// TestReal asks one server all there is to ask, since starting one takes longer
// than to ask it.
func TestReal(t *testing.T) {
	s := start(t)
	doors := map[string]door{"native": native, "chat": chat, "chat, whole": whole}
	for name, d := range s.later(t) {
		doors[name] = d
	}
	for name, d := range doors {
		t.Run("an answer, "+name, func(t *testing.T) {
			reply, err := s.completer(t, d, "probe-chain")(t.Context(), says("a card", cold(0), ""))
			if err != nil {
				t.Fatal(err)
			}
			if reply.Text != card || reply.FinishReason != "stop" || !strings.HasPrefix(reply.Model, "probe-chain") {
				t.Errorf("got %q, %s, of %s", reply.Text, reply.FinishReason, reply.Model)
			}
			if u := reply.GetUsage(); u.GetInput() < 10 || u.GetOutput() < 7 || u.GetOutput() > 9 || len(reply.Notes) > 0 {
				t.Errorf("got usage %v, notes %q", u, reply.Notes)
			}
		})
		t.Run("a fence, "+name, func(t *testing.T) {
			reply, err := s.completer(t, d, "probe-fenced")(t.Context(), says("a card", cold(0), ""))
			if want := "Here is a card:\n```json\n{\"title\": \"Tides\"}\n```\nI hope it helps."; err != nil || reply.Text != want {
				t.Errorf("got %q, %v", reply.GetText(), err)
			}
		})
		t.Run("cut off, "+name, func(t *testing.T) {
			reply, err := s.completer(t, d, "probe-chain")(t.Context(), says("a card", cold(4), ""))
			if err != nil || reply.FinishReason != "length" || !strings.HasPrefix(card, reply.Text) || reply.Text == "" || reply.GetUsage().GetOutput() != 4 {
				t.Errorf("got %v, %v", reply, err)
			}
		})
		t.Run("no such model, "+name, func(t *testing.T) {
			_, err := s.completer(t, d, "nope")(t.Context(), says("a card", cold(0), ""))
			var p *sdk.ProviderError
			if !errors.As(err, &p) || p.Kind != proto.ProviderError_NOT_FOUND || !strings.Contains(p.Message, "nope") {
				t.Errorf("got %v, want NOT_FOUND", err)
			}
		})
	}
	t.Run("held to a schema", func(t *testing.T) { s.schema(t) })
	t.Run("a prompt longer than the context", func(t *testing.T) { s.context(t) })
	t.Run("an answer longer than the context", func(t *testing.T) {
		d := native
		d.config = `"num_ctx":64`
		reply, err := s.completer(t, d, "probe-long")(t.Context(), says("a page", cold(300), ""))
		if err != nil || reply.FinishReason != "length" || len(reply.Notes) != 1 {
			t.Errorf("got %v, %v, want one that was cut", reply, err)
		}
	})
	t.Run("twenty at once", func(t *testing.T) { s.queue(t) })
	t.Run("the same seed, the same answer", func(t *testing.T) {
		complete := s.completer(t, native, "probe-noise")
		var said [2]string
		for i := range said {
			reply, err := complete(t.Context(), says("noise", &sdk.Sampling{Temperature: ptr(1.0), Seed: ptr(int64(7)), MaxTokens: ptr(int64(20))}, ""))
			if err != nil {
				t.Fatal(err)
			}
			said[i] = reply.Text
		}
		if said[0] != said[1] {
			t.Errorf("got %q and %q", said[0], said[1])
		}
	})
}

// schema: a model of noise writes what fits a schema, where it is held to one.
func (s *server) schema(t *testing.T) {
	const schema = `{"type":"object","properties":{"ok":{"type":"boolean"},"answer":{"enum":["Mars","Jupiter"]}},"required":["ok","answer"],"additionalProperties":false}`
	for name, d := range map[string]door{"native": native, "chat": chat} {
		fit := 0
		for seed := range int64(3) {
			sampling := &sdk.Sampling{Temperature: ptr(1.0), Seed: &seed, MaxTokens: ptr(int64(100))}
			reply, err := s.completer(t, d, "probe-noise")(t.Context(), says("anything", sampling, schema))
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				OK     *bool
				Answer string
			}
			if reply.FinishReason == "length" {
				continue // white space and digits have no end in the grammar
			}
			if err := json.Unmarshal([]byte(reply.Text), &got); err != nil || got.OK == nil || got.Answer != "Mars" && got.Answer != "Jupiter" {
				t.Errorf("%s, seed %d: got %q (%v)", name, seed, reply.Text, err)
				continue
			}
			fit++
		}
		if fit == 0 {
			t.Errorf("%s: no answer came to its end", name)
		}
	}
}

// context: the server cuts a prompt that does not fit, and says nothing of it but
// the count.
func (s *server) context(t *testing.T) {
	d := native
	d.config = `"num_ctx":128`
	reply, err := s.completer(t, d, "probe-chain")(t.Context(), says(strings.Repeat("many words ", 200), cold(0), ""))
	if err != nil {
		t.Fatal(err)
	}
	if reply.FinishReason != "length" || len(reply.Notes) != 1 || !strings.Contains(reply.Notes[0], "num_ctx") {
		t.Errorf("got %q, %q, want an answer that counts as cut off", reply.FinishReason, reply.Notes)
	}
}

// queue: more calls than the server does at once wait, and are answered.
func (s *server) queue(t *testing.T) {
	complete := s.completer(t, native, "probe-chain")
	var all sync.WaitGroup
	wrong := make(chan string, 20)
	for i := range 20 {
		all.Go(func() {
			reply, err := complete(t.Context(), says(fmt.Sprintf("card %d", i), cold(0), ""))
			if err != nil || reply.Text != card {
				wrong <- fmt.Sprintf("%d: got %q, %v", i, reply.GetText(), err)
			}
		})
	}
	all.Wait()
	close(wrong)
	for what := range wrong {
		t.Error(what)
	}
}

// later are the doors that only later versions have: those of Anthropic's
// messages and OpenAI's responses.
func (s *server) later(t *testing.T) map[string]door {
	t.Helper()
	response, err := http.Post(s.url+"/v1/messages", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return nil
	}
	return map[string]door{
		"messages":         {anthropic.Provider, "", `"api_key":"k"`},
		"responses":        {openai.Provider, "/v1", `"api_key":"k","dialect":{"api":"responses"}`},
		"responses, whole": {openai.Provider, "/v1", `"api_key":"k","dialect":{"api":"responses","stream":false}`},
	}
}
