package oracle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// read is what a client makes of an answer.
type read struct {
	Text, Finish, Model                string
	Input, Output, Cached, Wrote, Mind int64
}

// client is a vendor's client, and the provider for the same API.
type client struct {
	provider  func() sdk.Provider
	model     string
	base      string // of the API's paths, after the server's address
	config    string // besides, as members of an object
	sampling  *sdk.Sampling
	differ    []string // "the path: ours, theirs" of each difference of the requests
	ask       func(t *testing.T, url string) read
	finish    map[string]string // the vendor's names for ends, as ours
	noCaching bool              // the API does not tell what was read from a cache and written to it
	noWriting bool              // nor what was written
}

const schema = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`

func prompt(s *sdk.Sampling) *sdk.CompletionRequest {
	r := wiretest.Prompt()
	r.Schema, r.Sampling = []byte(schema), s
	return r
}

func ptr[T any](v T) *T { return &v }

// TestClients asks with the vendor's client and with ours.
func TestClients(t *testing.T) {
	for name, c := range clients {
		t.Run(name, func(t *testing.T) {
			for ending, finish := range map[string]string{"stop": "stop", "length": "length"} {
				usage := &wiretest.Usage{Input: 100, Output: 20, CacheRead: 60, CacheWrite: 30, Reasoning: 5}
				if c.noCaching {
					usage = &wiretest.Usage{Input: 100, Output: 20}
				}
				if c.noWriting {
					usage.CacheWrite = 0
				}
				s := wiretest.Serve(t, wiretest.Step{Text: `{"a": "ü🙂"}`, Model: "another-2026", Thoughts: "hm", Usage: usage, Finish: ending})
				theirs := c.ask(t, s.URL)
				complete, err := c.provider().Configure(t.Context(), sdk.ProviderConfig{
					Model: c.model, JSON: []byte(`{"api_key":"k","base_url":"` + s.URL + c.base + `"` + c.config + `}`),
				})
				if err != nil {
					t.Fatal(err)
				}
				reply, err := complete(t.Context(), prompt(c.sampling))
				if err != nil {
					t.Fatal(err)
				}
				u := reply.GetUsage()
				ours := read{
					Text: reply.Text, Finish: reply.FinishReason, Model: reply.Model,
					Input: u.GetInput(), Output: u.GetOutput(), Cached: u.GetCachedInput(), Wrote: u.GetCacheWrite(), Mind: u.GetReasoning(),
				}
				theirs.Finish = c.finish[theirs.Finish]
				if diff := cmp.Diff(theirs, ours); diff != "" || ours.Finish != finish {
					t.Errorf("%s: the answer (-theirs +ours):\n%s", ending, diff)
				}
				asked := s.Asked()
				if len(asked) != 2 || asked[0].Path != asked[1].Path {
					t.Fatalf("asked %v", asked)
				}
				if diff := cmp.Diff(c.differ, differences("", asked[1].Body, asked[0].Body)); diff != "" {
					t.Errorf("%s: the differences of the requests (-want +got):\n%s", ending, diff)
				}
			}
		})
	}
}
