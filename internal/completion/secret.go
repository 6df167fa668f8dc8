package completion

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

// shortest is the length below which a secret is not looked for in what a model
// writes: a word like "none" would be taken out of answers that mean it.
const shortest = 8

const blotted = "(sensitive)"

// redact takes a provider's secrets out of a text: some servers repeat the key
// that they refuse.
func redact(p *dag.Provider, text string) string {
	for _, secret := range p.Secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, blotted)
		}
	}
	return text
}

// redactReply takes them out of all that a server said, before anyone sees it: out
// of the answer's text, too, since a server that shows its caller's headers shows
// the key.
func redactReply(p *dag.Provider, reply *proto.CompletionReply) {
	forms := secretForms(p)
	if len(forms) == 0 {
		return
	}
	blot := strings.NewReplacer(forms...)
	before := reply.Text + "\x00" + reply.Refusal + "\x00" + string(reply.Json)
	for _, text := range []*string{&reply.Text, &reply.Refusal, &reply.Model, &reply.RequestId, &reply.FinishReason} {
		*text = blot.Replace(*text)
	}
	for i, note := range reply.Notes {
		reply.Notes[i] = blot.Replace(note)
	}
	for _, document := range []*[]byte{&reply.Json, &reply.Raw, &reply.WireSchema} {
		if len(*document) > 0 {
			*document = []byte(blot.Replace(string(*document)))
		}
	}
	if len(reply.Raw) > 0 && before != reply.Text+"\x00"+reply.Refusal+"\x00"+string(reply.Json) {
		// A stream has the answer in pieces, and nothing finds the secret there.
		reply.Raw = []byte(blotted)
		reply.Notes = append(reply.Notes, "the server's own bytes are not kept: its answer held a secret of the provider")
	}
	if reply.Usage != nil && len(reply.Usage.Raw) > 0 {
		reply.Usage.Raw = []byte(blot.Replace(string(reply.Usage.Raw)))
	}
}

// secretForms are pairs for a strings.Replacer: each secret, the key alone of one
// that is a header's "Bearer KEY", and how both are written within JSON. The longest
// come first, since one may be part of another.
func secretForms(p *dag.Provider) []string {
	var found []string
	add := func(form string) {
		if len(form) >= shortest && !slices.Contains(found, form) {
			found = append(found, form)
		}
	}
	for _, secret := range p.Secrets {
		for _, form := range append(strings.Fields(secret), secret) {
			add(form)
			if b, err := json.Marshal(form); err == nil {
				add(string(b[1 : len(b)-1]))
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(found))
	for _, form := range found {
		pairs = append(pairs, form, blotted)
	}
	return pairs
}

// leaks tells whether one of the texts holds one of the provider's secrets.
func leaks(p *dag.Provider, texts ...string) bool {
	for _, secret := range p.Secrets {
		for _, text := range texts {
			if secret != "" && strings.Contains(text, secret) {
				return true
			}
		}
	}
	return false
}
