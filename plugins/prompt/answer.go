package prompt

import (
	"fmt"
	"strings"

	"github.com/penstock-run/penstock/internal/canon"
	"github.com/penstock-run/penstock/internal/schema"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// answer is what a reply comes to: a document, or what is wrong with it.
type answer struct {
	document []byte // canonical; nil where misfit is set
	fenced   string // a note on what was taken off; empty: nothing
	misfit   *misfit
}

// misfit is a whole answer that cannot be used: the model is told and asked again.
type misfit struct {
	code string // where the re-asks are used up: E_MALFORMED or E_OUTPUT
	text string
}

// judge looks at a reply in an order that matters: a refusal is not JSON
// either, and neither is what was cut off, so they are told apart before
// anything is parsed.
func judge(reply *sdk.CompletionReply, want *schema.Schema) (answer, error) {
	switch reason := reply.GetFinishReason(); {
	case reply.GetRefusal() != "":
		return answer{}, sdk.Fail("E_REFUSED", "the model refused: %s", oneLine(reply.GetRefusal()))
	case reason == "refusal":
		return answer{}, sdk.Fail("E_REFUSED", "the model refused: %s", oneLine(reply.GetText()))
	case reason == "content_filter":
		return answer{}, sdk.Fail("E_REFUSED", "the provider's content filter withheld the answer")
	case reason == "length":
		return answer{}, sdk.Fail("E_TRUNCATED", "the answer was cut off after %d tokens; raise max_tokens, or ask for less", reply.GetUsage().GetOutput())
	case reason != "stop":
		return answer{}, sdk.Infra("E_PLUGIN", "the provider's finish reason is %q, which is none of stop, length, refusal and content_filter", reason)
	}
	text := reply.GetText()
	if strings.TrimSpace(text) == "" && len(reply.GetJson()) > 0 {
		text = string(reply.GetJson())
	}
	return read(text, want), nil
}

// read takes a text as JSON that fits.
func read(text string, want *schema.Schema) answer {
	var a answer
	document, err := canon.Canonical(nil, []byte(strings.TrimSpace(text)))
	if err != nil {
		if inner, note, ok := unfence(text); ok {
			a.fenced = note
			document, err = canon.Canonical(nil, []byte(inner))
		}
	}
	switch {
	case strings.TrimSpace(text) == "":
		a.misfit = &misfit{"E_MALFORMED", "the answer is empty"}
	case err != nil:
		a.misfit = &misfit{"E_MALFORMED", fmt.Sprintf("the answer is not one strict JSON document: %v", err)}
	case want == nil:
		a.document = document
	default:
		if err := want.Validate(document); err != nil {
			a.misfit = &misfit{"E_OUTPUT", fmt.Sprintf("the answer does not fit the schema: %v", err)}
			break
		}
		a.document = document
	}
	return a
}

// unfence takes the text out of the one code fence that it stands in. More
// fences than one, or one that never closes, are left alone: which of them is
// the answer, or whether all of it is there, would be a guess.
func unfence(text string) (inner, note string, ok bool) {
	var open string
	var body []string
	fences, around := 0, false
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		run := fenceRun(bare)
		switch {
		case open == "" && run != "" && !strings.Contains(bare[len(run):], run[:1]):
			open, body = run, nil
			fences++
		case open != "" && len(run) >= len(open) && run[0] == open[0] && bare == run:
			open = ""
		case open != "":
			body = append(body, line)
		case bare != "":
			around = true
		}
	}
	if fences != 1 || open != "" {
		return "", "", false
	}
	note = "the answer came in a code fence, which was taken off"
	if around {
		note = "the answer came in a code fence with text around it, which was taken off"
	}
	return strings.TrimSpace(strings.Join(body, "")), note, true
}

// fenceRun is the run of at least three backticks or tildes that a line begins with.
func fenceRun(line string) string {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// oneLine shortens a text for a failure's message.
func oneLine(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
