package main

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/penstock-run/penstock/dag"
)

// forbids tells the rules of the trivia cards once more, slowly and without any of
// the packages that the gate stands on. What it knows of a rule is exact for plain
// texts (lower-case ASCII words) and silent for all others, so that it never
// forbids what the gate may accept.
func forbids(h handed) error {
	card, err := strictCard(h.card)
	if err != nil {
		return err
	}
	var report struct {
		Status       string
		Codes        any   // a list, or what the schema of the verifier's stage refuses
		UniqueAnswer *bool `json:"unique_answer"`
		Disproof     *struct{ Found *bool }
		Sources      []struct {
			URL, Quote string
			Supports   []string
		}
	}
	if err := json.Unmarshal([]byte(h.report), &report, json.MatchCaseInsensitiveNames(true)); err != nil {
		return fmt.Errorf("the report cannot be read: %w", err)
	}
	switch {
	case report.Status != "accept" || length(report.Codes) != 0:
		return errors.New("the report is no clean accept")
	case report.UniqueAnswer == nil || !*report.UniqueAnswer:
		return errors.New("the answer is not unique")
	case report.Disproof == nil || report.Disproof.Found == nil || *report.Disproof.Found:
		return errors.New("a disproof may have been found")
	}
	if err := errors.Join(choicesForbid(card), leakForbids(card), lengthForbids(card.X), timeForbids(card.Q), timeForbids(card.X)); err != nil {
		return err
	}
	hosts := map[string]bool{}
	usable := 0
	for _, s := range report.Sources {
		if invisible(s.URL) {
			return errors.New("a source has no URL")
		}
		if page, ok := h.pages[s.URL]; ok && page.Verdict != dag.PageLive {
			return fmt.Errorf("%s is not live", s.URL)
		}
		u, err := url.Parse(s.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || invisible(s.Quote) || !slices.Contains(s.Supports, "claim") || !slices.Contains(s.Supports, "answer") {
			continue
		}
		usable++
		hosts[strings.ToLower(u.Hostname())] = true
	}
	if usable < 2 || len(hosts) < 2 {
		return fmt.Errorf("%d sources on %d hosts are usable", usable, len(hosts))
	}
	return nil
}

// length of a list or an object; -1 of anything else.
func length(v any) int {
	switch v := v.(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return -1
}

type plainCard struct {
	Q     string   `json:"q"`
	A     string   `json:"a"`
	W     []string `json:"w"`
	X     string   `json:"x"`
	Cat   string   `json:"cat"`
	Diff  string   `json:"diff"`
	Topic string   `json:"topic_id"`
}

func strictCard(text string) (*plainCard, error) {
	var card plainCard
	if err := json.Unmarshal([]byte(text), &card, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("the card cannot be read: %w", err)
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) != 7 {
		return nil, fmt.Errorf("the card has %d members", len(all))
	}
	for _, s := range append([]string{card.Q, card.A}, card.W...) {
		if invisible(s) {
			return nil, errors.New("a text of the card is blank")
		}
	}
	for _, s := range append([]string{card.Q, card.A, card.X}, card.W...) {
		if strings.ContainsFunc(s, unicode.IsControl) {
			return nil, errors.New("a text of the card has a control character")
		}
	}
	if len(card.W) != 3 || card.Cat != "history" || card.Diff != "easy" || card.Topic != topicID("history", "Fall of Constantinople") {
		return nil, errors.New("the card is of another shape, bucket or topic")
	}
	return &card, nil
}

// invisible reports whether nothing of a text can be seen.
func invisible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.In(r, unicode.Z, unicode.C) })
}

var plainText = regexp.MustCompile(`^[a-z]+( [a-z]+)*$`)

// choicesForbid compares choices that are plain, all letters small.
func choicesForbid(card *plainCard) error {
	all := append([]string{card.A}, card.W...)
	for i, a := range all {
		for _, b := range all[:i] {
			if a == b {
				return fmt.Errorf("the choice %q is there twice", a)
			}
			if plainText.MatchString(a) && plainText.MatchString(b) && edits(bare(a), bare(b)) <= 2 {
				return fmt.Errorf("the choices %q and %q are at distance %d", b, a, edits(bare(a), bare(b)))
			}
		}
	}
	return nil
}

// bare is a plain text without its article.
func bare(s string) string {
	for _, article := range []string{"the ", "a ", "an "} {
		if rest, ok := strings.CutPrefix(s, article); ok {
			return rest
		}
	}
	return s
}

// edits is the distance in its textbook form.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
		}
		row = next
	}
	return row[len(b)]
}

// leakForbids looks for an answer of one plain word, too long to be a function word.
func leakForbids(card *plainCard) error {
	if plainText.MatchString(card.A) && !strings.Contains(card.A, " ") && len(card.A) > 6 {
		for _, word := range strings.Fields(card.Q) {
			if word == card.A {
				return fmt.Errorf("the answer %q stands in the question", card.A)
			}
		}
	}
	return nil
}

func lengthForbids(x string) error {
	n := 0
	for _, field := range strings.Fields(x) {
		if strings.ContainsFunc(field, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			n++
		}
	}
	if n < 1 || n > 20 {
		return fmt.Errorf("the explainer has %d words", n)
	}
	return nil
}

// timeForbids looks for three words that are of their day in any sentence, in texts
// without quotes and emphasis.
func timeForbids(s string) error {
	if strings.ContainsAny(s, "\"“”«»*_") {
		return nil
	}
	for _, word := range strings.Fields(s) {
		if word == "currently" || word == "nowadays" || word == "recently" {
			return fmt.Errorf("%q will not stay true", word)
		}
	}
	return nil
}
