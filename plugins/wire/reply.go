package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/penstock-run/penstock/plugins/sdk"
)

// mostBlank is how much white space in a row is believed to be part of an
// answer. A model that is held to a grammar which it cannot follow may write
// nothing else until its limit, at its owner's cost.
const mostBlank = 2000

// mostRaw bounds what is kept of a server's own words.
const mostRaw = 256 << 10

// Gathered puts an answer together out of its pieces.
type Gathered struct {
	text  strings.Builder
	blank int
	raw   bytes.Buffer
	cut   bool
}

// Add adds a piece of the answer's text. False: the rest is not worth waiting
// for, since white space comes and nothing else; the answer counts as cut off.
func (g *Gathered) Add(piece string) bool {
	g.text.WriteString(piece)
	if kept := strings.TrimRight(piece, " \t\r\n"); kept == "" {
		g.blank += len(piece)
	} else {
		g.blank = len(piece) - len(kept)
	}
	return !g.Flooded()
}

// Keep keeps what the server sent besides pieces of the text, as it was sent.
func (g *Gathered) Keep(raw []byte) {
	if g.raw.Len()+len(raw) > mostRaw {
		g.cut = true
		return
	}
	if g.raw.Len() > 0 {
		g.raw.WriteByte('\n')
	}
	g.raw.Write(raw)
}

// Text is what came so far.
func (g *Gathered) Text() string { return g.text.String() }

// Flooded tells that white space came and nothing else.
func (g *Gathered) Flooded() bool { return g.blank > mostBlank }

// Reply is the answer: its text, what the server said besides, and a note of
// what was left out of that.
func (g *Gathered) Reply(finish string) *sdk.CompletionReply {
	reply := &sdk.CompletionReply{Text: g.Text(), FinishReason: finish, Raw: g.raw.Bytes()}
	if g.Flooded() {
		reply.FinishReason = "length"
		reply.Notes = append(reply.Notes, fmt.Sprintf("the model wrote nothing but white space from byte %d on, and was left", g.text.Len()-g.blank))
	}
	if g.cut {
		reply.Notes = append(reply.Notes, fmt.Sprintf("of what the server said besides its answer %d KiB are kept", mostRaw>>10))
	}
	return reply
}

// Usage counts tokens as the server told them. What cannot be, more of a part
// than of the whole or less than none, is taken as far as it can be, and told.
func Usage(u *sdk.Usage, raw json.RawMessage) (*sdk.Usage, []string) {
	u.Raw = raw
	notes := append(Tokens("input", &u.Input), Tokens("output", &u.Output)...)
	bound := func(name string, n *int64, most int64, whole string) {
		switch {
		case *n < 0:
			notes = append(notes, fmt.Sprintf("the server's usage tells %d tokens of %s, which is taken as none", *n, name))
			*n = 0
		case *n > most:
			notes = append(notes, fmt.Sprintf("the server's usage tells %d tokens of %s, more than its %d of %s", *n, name, most, whole))
			*n = most
		}
	}
	bound("cached input", &u.CachedInput, u.Input, "input")
	bound("input written to the cache", &u.CacheWrite, u.Input-u.CachedInput, "input that was not cached")
	bound("reasoning", &u.Reasoning, u.Output, "output")
	u.Adjusted = len(notes) > 0
	return u, notes
}

// mostTokens is more than any call has. It is what the host's own sums take at most
// of one, so that all who tell of it tell one number.
const mostTokens = 1 << 40

// Tokens puts a number of tokens that cannot be into the bounds of what can, and
// tells of it.
func Tokens(name string, n *int64) []string {
	told := *n
	switch *n = min(max(*n, 0), mostTokens); {
	case told < 0:
		return []string{fmt.Sprintf("the server's usage tells %d tokens of %s, which is taken as none", told, name)}
	case told > mostTokens:
		return []string{fmt.Sprintf("the server's usage tells %d tokens of %s, which cannot be: it is taken as %d", told, name, *n)}
	}
	return nil
}

// Unfinished is a stream that ended without its end mark, after so many bytes of
// the answer: nothing of it can be used.
func Unfinished(after int) error {
	return sdk.Unavailable("the server's stream ended after %d bytes of the answer, without its end mark", after)
}

// Garbled is a body with a status of success that is not the API's.
func Garbled(body []byte) error {
	said := OneLine(string(body))
	if said == "" {
		said = "an empty body"
	}
	return sdk.Unavailable("the server answered with what is no JSON of its API: %s", said)
}
