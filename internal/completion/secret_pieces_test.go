package completion

import (
	"testing"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// A stream has a secret of its answer in pieces, where nothing finds it: its bytes are
// not kept.
func TestBytesOfAnAnswerThatHoldsASecret(t *testing.T) {
	p := &dag.Provider{Secrets: map[string]string{"api_key": "sk-canary-0123456789"}}
	for text, kept := range map[string]bool{"It is sk-canary-0123456789.": false, "It is none.": true} {
		reply := &proto.CompletionReply{Text: text, Raw: []byte(`{"t":"sk-canary-01"}{"t":"23456789"}`)}
		redactReply(p, reply)
		if (string(reply.Raw) != blotted) != kept || len(reply.Notes) > 0 == kept {
			t.Errorf("%q: the bytes are %q, the notes %q", text, reply.Raw, reply.Notes)
		}
	}
}
