package host_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/plugins/proto"
)

func chatProvider(plugin, config string, secrets map[string]string) *dag.Provider {
	return &dag.Provider{Name: "writer", Model: "m", Plugin: &dag.Plugin{Name: plugin, Source: "builtin/" + plugin},
		Config: dag.NewDoc([]byte(config)), Secrets: secrets}
}

func ask(t *testing.T, caller *host.Caller, system string) *proto.CompletionReply {
	t.Helper()
	reply, err := caller.Complete(t.Context(), &proto.CompletionRequest{System: system})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestProvider(t *testing.T) {
	r := newRig(t, nil)
	caller, err := r.Provider(t.Context(), chatProvider("chat", `{}`, map[string]string{"api_key": `k"1`}))
	if err != nil {
		t.Fatal(err)
	}
	if reply := ask(t, caller, "hello"); reply.Text != `m knows k"1` || reply.Model != "m-1" {
		t.Errorf("%v", reply)
	}
	limit := ask(t, caller, "limit").Error
	if limit.GetKind() != proto.ProviderError_RATE_LIMITED || limit.Message != "not so fast" || limit.RetryAfterMillis != 2000 {
		t.Errorf("%v", limit)
	}
	broken := ask(t, caller, "broken").Error
	if broken.GetKind() != proto.ProviderError_UNAVAILABLE || broken.Message != "connection refused" {
		t.Errorf("%v", broken)
	}
}

// What a plugin's model does not take is refused before it is asked; of a model that
// it does not know nothing is.
func TestProviderWhoseModelTakesLess(t *testing.T) {
	r := newRig(t, nil)
	number, whole := 0.5, int64(1)
	for model, want := range map[string]string{
		"plain": `schema: the model "plain" of provider "writer" takes no schema, as its plugin says; ask without, or name another model
seed: the model "plain" of provider "writer" takes no seed, as its plugin says; ask without, or name another model
stop: the model "plain" of provider "writer" takes no stop, as its plugin says; ask without, or name another model
temperature: the model "plain" of provider "writer" takes no temperature, as its plugin says; ask without, or name another model
top_p: plain knows k
`,
		"other": `schema: other knows k
seed: other knows k
stop: other knows k
temperature: other knows k
top_p: other knows k
`,
	} {
		provider := chatProvider("chat", `{}`, map[string]string{"api_key": "k"})
		provider.Model = model
		caller, err := r.Provider(t.Context(), provider)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range []struct {
			name    string
			request *proto.CompletionRequest
		}{
			{"schema", &proto.CompletionRequest{Schema: []byte(`{}`)}},
			{"seed", &proto.CompletionRequest{Sampling: &proto.Sampling{Seed: &whole}}},
			{"stop", &proto.CompletionRequest{Sampling: &proto.Sampling{Stop: []string{"."}}}},
			{"temperature", &proto.CompletionRequest{Sampling: &proto.Sampling{Temperature: &number}}},
			{"top_p", &proto.CompletionRequest{Sampling: &proto.Sampling{TopP: &number, MaxTokens: &whole}}},
		} {
			reply, err := caller.Complete(t.Context(), c.request)
			if err != nil {
				t.Fatal(err)
			}
			if e := reply.Error; e != nil && e.Kind != proto.ProviderError_INVALID_REQUEST {
				t.Errorf("%s: got %v", c.name, e)
			}
			got += c.name + ": " + reply.Text + reply.GetError().GetMessage() + "\n"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A provider that dies is started anew by the next call.
func TestProviderDies(t *testing.T) {
	r := newRig(t, nil)
	caller, err := r.Provider(t.Context(), chatProvider("chat", `{}`, map[string]string{"api_key": "k"}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = caller.Complete(t.Context(), &proto.CompletionRequest{System: "die"})
	want := "complete by provider writer: builtin/chat ended by itself (exit status 9)"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if reply := ask(t, caller, "hello"); reply.Text != "m knows k" {
		t.Errorf("%v", reply)
	}
}

func TestProviderRefusesItsConfiguration(t *testing.T) {
	r := newRig(t, nil)
	_, err := r.Provider(t.Context(), chatProvider("chat", `{}`, nil))
	var refused *host.ConfigError
	if !asError(err, &refused) {
		t.Fatal(err)
	}
	want := []dag.ConfigProblem{{Summary: "No key", Path: []string{"api_key"}}}
	if diff := cmp.Diff(want, refused.Problems); diff != "" {
		t.Error(diff)
	}
	if _, err := r.Provider(t.Context(), chatProvider("echo", `{}`, nil)); err == nil || !asIs(err, error(&dag.Error{Code: dag.EPlugin})) {
		t.Errorf("a stage plugin is no provider: %v", err)
	}
}

// What a provider says of itself does not repeat the secrets that it was told:
// not in its log, not in its last words, not in what it refuses.
func TestR72SecretsAreTakenOutOfWhatAPluginSays(t *testing.T) {
	r := newRig(t, nil)
	caller, err := r.Provider(t.Context(), chatProvider("chat", `{}`, map[string]string{"api_key": "sk-canary"}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = caller.Complete(t.Context(), &proto.CompletionRequest{System: "tell"})
	if err == nil || !strings.Contains(err.Error(), "my key is (sensitive)") || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
	r.untilLogged("my key is (sensitive)")
	r.until("no line with the key", func() bool { return !r.logged("canary") })
	_, err = r.Provider(t.Context(), chatProvider("chat", `{}`, map[string]string{"api_key": "a bad key"}))
	var refused *host.ConfigError
	if !asError(err, &refused) || len(refused.Problems) != 1 || refused.Problems[0].Detail != "(sensitive) is not accepted." {
		t.Errorf("got %v", err)
	}
}
