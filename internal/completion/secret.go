package completion

import (
	"slices"
	"strings"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

const blotted = "(sensitive)"

// redact takes a provider's secrets out of a text that is about a call: some servers
// repeat the key that they refuse.
func redact(p *dag.Provider, text string) string {
	for _, form := range dag.SecretForms(p.Secrets) {
		text = strings.ReplaceAll(text, form, blotted)
	}
	return text
}

// redactReply takes them out of all that a server said, before anyone sees it: out
// of the answer's text, too, since a server that shows its caller's headers shows
// the key. A secret as short as a word like "none" is left in it: it would be taken
// out of answers that mean the word.
func redactReply(p *dag.Provider, reply *proto.CompletionReply) {
	forms := longForms(p)
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

// longForms are pairs for a strings.Replacer, of the forms that are no usual word.
func longForms(p *dag.Provider) []string {
	var pairs []string
	for _, form := range dag.SecretForms(p.Secrets) {
		if len(form) >= dag.ShortestSecret {
			pairs = append(pairs, form, blotted)
		}
	}
	return pairs
}

// leaks tells whether one of the texts holds one of the provider's secrets.
func leaks(p *dag.Provider, texts ...string) bool {
	return slices.ContainsFunc(dag.SecretForms(p.Secrets), func(form string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, form) })
	})
}
