package completion

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxCompared bounds how many recorded requests a miss is compared with, so
// that a run whose every request misses does not spend its time on excuses.
const maxCompared = 10_000

// explain says that a request is not recorded, and how the nearest recorded
// one differs: in which message, and where its text first does.
func (c *Cassette) explain(r *Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "no recorded completion answers this request (%s holds %d)", c.path, len(c.entries))
	near := c.nearest(r)
	if near == nil {
		return b.String()
	}
	b.WriteString("\nnearest: ")
	if near.line > 0 {
		fmt.Fprintf(&b, "line %d", near.line)
	} else {
		fmt.Fprintf(&b, "recorded in this run, key %s", near.Key.Short())
	}
	if near.Reply.Model != "" {
		fmt.Fprintf(&b, ", recorded with %s", near.Reply.Model)
	}
	for _, d := range differences(&near.Request, r) {
		b.WriteString("\ndiffers: " + d)
	}
	return b.String()
}

// nearest is the recorded request that shares most text with r.
func (c *Cassette) nearest(r *Request) *Entry {
	var best *Entry
	bestScore := -1.0
	for i, e := range c.Entries() {
		if i == maxCompared {
			break
		}
		if s := similarity(&e.Request, r); s > bestScore {
			best, bestScore = e, s
		}
	}
	return best
}

// similarity is the share of text that both requests begin and end with:
// prompts from one template differ in their middle. The rest of a request
// weighs next to nothing, enough to prefer an equal one.
func similarity(a, b *Request) float64 {
	score := 0.0
	for i := range max(len(a.Messages), len(b.Messages)) {
		if i < len(a.Messages) && i < len(b.Messages) {
			score += shared(a.Messages[i].content(), b.Messages[i].content())
		} else {
			score--
		}
	}
	score += shared(a.System, b.System) / 2
	if a.Schema == b.Schema {
		score += 0.01
	}
	if len(samplingDifferences(a.Sampling, b.Sampling)) == 0 && a.Sample == b.Sample {
		score += 0.01
	}
	return score
}

func shared(a, b string) float64 {
	longer := max(len(a), len(b))
	if longer == 0 {
		return 1
	}
	prefix := commonPrefix(a, b)
	suffix := 0
	for suffix < min(len(a), len(b))-prefix && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	return float64(prefix+suffix) / float64(longer)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// differences lists in words what sets the asked request apart from the recorded one.
func differences(recorded, asked *Request) []string {
	var all []string
	if recorded.System != asked.System {
		all = append(all, "system, "+textDifference(recorded.System, asked.System))
	}
	for i := range min(len(recorded.Messages), len(asked.Messages)) {
		r, a := &recorded.Messages[i], &asked.Messages[i]
		if r.Role != a.Role {
			all = append(all, fmt.Sprintf("message %d, role: recorded %q, asked %q", i+1, r.Role, a.Role))
		}
		switch rt, at := r.content(), a.content(); {
		case rt != at:
			all = append(all, fmt.Sprintf("message %d (%s), %s", i+1, a.Role, textDifference(rt, at)))
		case len(r.Parts) != len(a.Parts):
			all = append(all, fmt.Sprintf("message %d (%s): the same text in %d parts recorded, in %d asked", i+1, a.Role, max(1, len(r.Parts)), max(1, len(a.Parts))))
		}
	}
	if len(recorded.Messages) != len(asked.Messages) {
		all = append(all, fmt.Sprintf("number of messages: recorded %d, asked %d", len(recorded.Messages), len(asked.Messages)))
	}
	if recorded.Schema != asked.Schema {
		name := func(r *Request) string {
			if r.Schema.IsZero() {
				return "none"
			}
			return r.Schema.Short()
		}
		all = append(all, fmt.Sprintf("schema of the answer: recorded %s, asked %s", name(recorded), name(asked)))
	}
	if d := samplingDifferences(recorded.Sampling, asked.Sampling); len(d) > 0 {
		all = append(all, "sampling: "+strings.Join(d, ", "))
	}
	if recorded.Sample != asked.Sample {
		all = append(all, fmt.Sprintf("sample: recorded %d, asked %d", recorded.Sample, asked.Sample))
	}
	return all
}

// textDifference points at the first place where two texts part.
func textDifference(recorded, asked string) string {
	at := commonPrefix(recorded, asked)
	for at > 0 && (at < len(recorded) && !utf8.RuneStart(recorded[at]) || at < len(asked) && !utf8.RuneStart(asked[at])) {
		at--
	}
	before := asked[:at]
	line := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("line %d, column %d:\n  recorded: %s\n  asked:    %s", line, column, excerpt(recorded, at), excerpt(asked, at))
}

// excerpt shows the text around a place on one line, quoted.
func excerpt(s string, at int) string {
	const lead, tail = 24, 56
	from := strings.LastIndexByte(s[:at], '\n') + 1
	left, right := "", ""
	for n := utf8.RuneCountInString(s[from:at]); n > lead; n-- {
		_, width := utf8.DecodeRuneInString(s[from:])
		from += width
		left = "…"
	}
	to := at
	for n := 0; to < len(s) && n < tail; n++ {
		_, width := utf8.DecodeRuneInString(s[to:])
		to += width
	}
	if to < len(s) {
		right = "…"
	}
	if at == len(s) {
		return left + strconv.Quote(s[from:at]) + " and ends there"
	}
	return left + strconv.Quote(s[from:to]) + right
}

func samplingDifferences(recorded, asked *Sampling) []string {
	r, a := &Sampling{}, &Sampling{}
	if recorded != nil {
		r = recorded
	}
	if asked != nil {
		a = asked
	}
	var all []string
	add := func(name, recorded, asked string) {
		if recorded != asked {
			all = append(all, fmt.Sprintf("%s: recorded %s, asked %s", name, recorded, asked))
		}
	}
	add("temperature", number(r.Temperature), number(a.Temperature))
	add("top_p", number(r.TopP), number(a.TopP))
	add("seed", number(r.Seed), number(a.Seed))
	add("max_tokens", number(r.MaxTokens), number(a.MaxTokens))
	add("stop", stops(r.Stop), stops(a.Stop))
	return all
}

func number[N int64 | float64](n *N) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

func stops(s []string) string {
	if len(s) == 0 {
		return "none"
	}
	return fmt.Sprintf("%q", s)
}
